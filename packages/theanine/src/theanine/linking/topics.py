"""Group memories into topics: what is told of one matter, each with a title from its own words.

This alone decides which memories stand together in a timeline, in which order and under which
title: on the command line, on the page, in the API and in exports.

Memories belong together by their links and by the words that they share. The two groups that are
tied most, for the number of pairs between them, become one, again and again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from heapq import heapify, heappop, heappush
from itertools import combinations, zip_longest
from math import exp
from typing import NamedTuple

from theanine.linking.reading import (
    MAX_IDF,
    intended,
    is_only_by,
    word_weights,
)
from theanine.quotes import without_attribution
from theanine.retrieval import languages
from theanine.retrieval.languages import GRAMMAR, UNSPACED, Language, everyday_words, guess_language
from theanine.stop_words import STOP_WORDS
from theanine.text.words import FUNCTION_WORDS, stem
from theanine.types import IMPORTED, REPLACED, STATE, Link, Memory, Relation, Timeline

MAX_MEMORIES = 14
"""Maximum memories of a topic."""
MIN_TIE = 0.45
"""Least tie between two groups that joins them: the sum of the ties between their memories, divided
by a power of the number of pairs."""
PAIRS_POWER = 0.75
"""That power: with 1, a long story falls apart; with 0.5, it takes in what only touches it."""
LEAST_CHANCE = 0.3
"""Least chance of two memories that counts as a tie."""
MAX_SHARING = 16
"""Maximum memories with a word that ties them; a more frequent word says little."""
RARITY, SAME_SPEAKER, INTERCEPT = 0.182, 1.35, -3.55
"""Logistic regression of the chance that two statements are of one matter, on the sum of the
rarities of the terms that they share and on whether one speaker says both (380 labeled pairs of
similar statements, area under the curve .81 on histories that it was not fitted on)."""
GRAM = 0.6
"""Weight of two characters of a script without spaces, as a share of a word's."""
LINKED, RELATED, CHANGED = 0.8, 1.0, 2.0
"""Ties of memories that are linked, by a relation, by a change: in a long story, too, a state is
with what it changed to."""

TITLE_TERMS = 3
"""Maximum terms in a title: words and pairs of words."""
MAX_TITLE = 44
"""Maximum characters of a title."""
MIN_SHARE = 1 / 3
"""Least score of a further term of a title, as a share of the best term's score."""
MIN_CLAUSE = 4
"""Least words of a clause that is a title."""
READ_LENGTH = 600
"""Characters of a memory that are read for terms."""

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_BETWEEN_CLAUSES = re.compile(
    r"[,;:!?…–—“”\"()]+|(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bSt)(?<!\bMrs)\.(?=\s|$)|"
    r"\b(?:and|but|because|so|since|when|which|who|while)\b"
)
_WORD_OR_NUMBER = re.compile(r"\w+")
_ABBREVIATED = re.compile(r"\b(?:[A-HJ-Z]|Dr|Fr|Hr|Mr|Mrs|Ms|Prof|Sr|Sra|St)\.$")
"""Words with a period that doesn't end a sentence."""
_ATTACHMENT = re.compile(r"\(shares? [^()]*\)?|\[shares? [^\]]*\]?")
_ELIDING = ("fr", "it")
"""Languages in which a function word is written before an apostrophe: j'ai, l'amica."""
_GRAM_LENGTHS = (4, 3, 2)
"""Lengths, in characters, of terms in scripts without spaces."""
_BEFORE_NOUNS = frozenset(
    "a an the my your his her its our their this these those some each every another of in on at "
    "for with about from into by over during without".split()
)
"""Words of English that a noun may follow directly; a verb or an adverb makes no title."""
_ONES = ("one", "ones")
"""Words of English before which a word describes, and names nothing."""
_UNTELLING = frozenset(
    """
    able absolutely accept across actually add against agree agreed almost along already
    apologise apologised apologize apologized apology away behind below bless cried cries cry
    crying down famous laugh laughed laughing laughs near past popular smile smiled sorry till
    under upon
    amazing amount another anyone anything anyway appreciate april around ask asked august
    awesome awful awhile beautiful become before began believe best bet better big biggest bit
    boost bring brings brought build busy call called came cause certain chance chat check
    choose come comes coming completely continue cool couple course crazy cute day days deal
    december decided definitely determined difference different difficult during each easy else
    end enjoy enjoyed enough even event everyone exactly excellent excited exciting experience
    express extra fact fantastic far fave favorite february feel feeling feels felt few finally find
    finished first focus forward friday full fun funny future gave give given glad go goes
    going gonna good gotta grateful great grow half hand hands happen happened happens happy
    hard hear heard help helped helping hey highly honestly hope however huge idea imagine
    impact important improve incredible inspiring instead interested interesting january joy
    july june keep keeps kept key kind kinda know last lately later learn learned least leave
    left less let lets life list little live living long look looking looks lost love loved
    lovely main making march matter matters may maybe mean means meant memories memory mention
    mind mine moment monday month months morning motivated moved myself name need needed new
    next nice november number october often okay one onto open ourselves own part particular
    past people perfect person personal pic pics piece place plan please plus point positive
    possible
    powerful pretty priceless probably problem proud push put putting question quite reach
    ready real reason recently remember remind reminds rest ride right rough sad said saturday
    say says see seeing seen sense sent september several share shared show showed side similar
    simple simply since small someone sometimes soon sort sound sounds special spoke stand
    start started staying still stop strong stuff sunday super sure surely tackle take taken
    takes taking talk talked tell thank thanks themselves think thinking thought thrilled
    throughout thursday time times today together told tomorrow tonight took totally touch
    three four five six seven eight nine ten hundred thousand minute minutes hour hours
    tough toward true try trying tuesday turn turned two type understand until use used useful
    usually visit visited wait walk want wanted wants watch wednesday week weekend weeks
    whatever whenever whether whole wild wish within without wonder wonderful wondering word
    words work working works worth wow write wrong yeah year years yesterday yet yours yup
    """.split()
)
"""Words that never make a title, besides function words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Memories about one subject.

    Attributes:
        title: a few words that they have in common, or how the first one begins; empty for a single
            memory.
        memories: their ids, oldest first.
        repeats: ids of further memories that only say again what one of these says.
    """

    title: str
    memories: tuple[int, ...]
    repeats: tuple[int, ...] = ()


def find_topics(
    memories: Sequence[Memory], links: Collection[Link], assistants: frozenset[str] = frozenset()
) -> list[Topic]:
    """Return topics, the one with the newest memory first; each memory is in exactly one.

    ``assistants`` are names of speakers whose words tie nothing: what an assistant advises, asks
    and echoes is not told of a matter. A relation can still join them to one. A state only repeats
    what the memories say of which it was made.
    """
    # Formerly, the correction of a state was one, too, although it rests on nothing else.
    states = [memory for memory in memories if memory.kind == STATE and memory.derived_from]
    made = {state.id for state in states}
    memories = [memory for memory in memories if memory.id not in made]
    by_id = {memory.id: memory for memory in memories}
    told = {
        id: each
        for id, each in by_id.items()
        if each.made_by == IMPORTED or not is_only_by(each.speakers, assistants)
    }
    links = [
        link
        for link in links
        if link.older in by_id
        and link.newer in by_id
        and (_is_relation(link) or (link.older in told and link.newer in told))
    ]
    terms = _Terms(memories)
    groups = _group(by_id, _find_ties(terms, links, told))
    groups = _without_doubtful_pairs(groups, links)
    telling = {id for link in links if _is_relation(link) for id in (link.older, link.newer)}
    topics: list[Topic] = []
    for group in groups:
        ordered = sorted((by_id[id] for id in group), key=lambda memory: memory.order)
        lines, repeats = _without_repetitions(ordered, telling)
        title = terms.title(ordered) or (_beginning(lines[0]) if len(lines) > 1 else "")
        topics.append(
            Topic(title=title, memories=tuple(memory.id for memory in lines), repeats=repeats)
        )
    topics = [_with_states(topic, states) for topic in topics]
    topics.sort(key=lambda topic: by_id[topic.memories[-1]].order, reverse=True)
    return topics


def _with_states(topic: Topic, states: Sequence[Memory]) -> Topic:
    own = {*topic.memories, *topic.repeats}
    told = [state.id for state in states if state.derived_from and state.derived_from[-1] in own]
    return replace(topic, repeats=(*topic.repeats, *told)) if told else topic


def find_timelines(
    memories: Sequence[Memory],
    links: Collection[Link],
    memory: int | None = None,
    assistants: frozenset[str] = frozenset(),
) -> list[Timeline]:
    """Return each topic of several memories as a timeline, the one with the newest memory first.

    With ``memory``, return the timeline of that one, even if nothing else is on its matter.
    """
    by_id = {each.id: each for each in memories}
    return [
        Timeline(
            title=topic.title,
            memories=tuple(by_id[id] for id in topic.memories),
            links=_links_among(topic.memories, links),
            retrieved=topic.memories[-1] if memory is None else memory,
        )
        for topic in find_topics(memories, links, assistants)
        if (
            len(topic.memories) > 1
            if memory is None
            else memory in topic.memories or memory in topic.repeats
        )
    ]


def _links_among(memories: Sequence[int], links: Iterable[Link]) -> tuple[Link, ...]:
    """Return the links between memories that are in order, in that of the newer and older ones."""
    position = {memory: number for number, memory in enumerate(memories)}
    among = [link for link in links if link.older in position and link.newer in position]
    return tuple(sorted(among, key=lambda link: (position[link.newer], position[link.older])))


def _is_relation(link: Link) -> bool:
    return link.relation not in (None, Relation.SAME_TOPIC)


def _without_repetitions(
    group: Sequence[Memory], telling: Collection[int]
) -> tuple[list[Memory], tuple[int, ...]]:
    """Return the memories that say something new, and the ids of those that repeat one of them.

    What a relation joins with something else is no repetition: it may hold again.
    """
    lines, repeats = list[Memory](), list[int]()
    said = set[tuple[tuple[str, ...], str]]()
    for memory in group:
        words = " ".join(_WORD_OR_NUMBER.findall(without_attribution(memory.text).casefold()))
        if memory.id in telling:
            lines.append(memory)
        elif (memory.speakers, words) in said:
            repeats.append(memory.id)
        else:
            lines.append(memory)
            said.add((memory.speakers, words))
    return lines, tuple(repeats)


def _beginning(memory: Memory) -> str:
    """Return the first words of a memory, as the title of what shares no word."""
    words = " ".join(without_attribution(memory.text).strip(" “”").split())
    words = words[:1].upper() + words[1:]
    if len(words) <= MAX_TITLE:
        return words
    cut = words[:MAX_TITLE]
    return (cut.rpartition(" ")[0] or cut[:-1]).rstrip(" ,.;:") + "…"


Ties = Mapping[tuple[int, int], float]


def _find_ties(terms: _Terms, links: Iterable[Link], told: Mapping[int, Memory]) -> Ties:
    """Return how surely pairs of memories are of one matter, by pairs of ids in order.

    Only the words of ``told`` count, if a noun is among those that two share; links do of all
    memories.
    """
    shared: defaultdict[tuple[int, int], float] = defaultdict(float)
    named: set[tuple[int, int]] = set()
    for term, having in terms.memories.items():
        sharing = [id for id in having if id in told]
        if 2 <= len(sharing) <= MAX_SHARING and (weight := terms.weight(term)):
            pairs = [*combinations(sharing, 2)]
            for pair in pairs:
                shared[pair] += weight
            if term in terms.nouns:
                named.update(pairs)
    ties: dict[tuple[int, int], float] = {}
    for pair, weight in shared.items():
        if pair not in named:
            continue
        one, other = (told[id].speakers for id in pair)
        same = not {*one}.isdisjoint(other)
        logit = RARITY * weight + SAME_SPEAKER * same + INTERCEPT
        if (chance := 1 / (1 + exp(-logit))) >= LEAST_CHANCE:
            ties[pair] = chance
    for link in links:
        pair = (min(link.older, link.newer), max(link.older, link.newer))
        tie = RELATED if _is_relation(link) else LINKED
        ties[pair] = max(ties.get(pair, 0), CHANGED if link.relation in REPLACED else tie)
    return ties


def _group(memories: Iterable[int], ties: Ties) -> list[list[int]]:
    """Join memories into groups by their ties."""
    groups = {memory: [memory] for memory in memories}
    between: defaultdict[int, dict[int, float]] = defaultdict(dict)
    for (a, b), weight in ties.items():
        between[a][b] = between[b][a] = weight

    def strength(a: int, b: int) -> float:
        return between[a][b] / float(len(groups[a]) * len(groups[b])) ** PAIRS_POWER

    heap = [(-weight, a, b) for (a, b), weight in ties.items() if weight >= MIN_TIE]
    heapify(heap)
    while heap:
        negative, a, b = heappop(heap)
        # An entry is outdated once one of its groups has grown: there is another one for it.
        if a not in groups or b not in groups or strength(a, b) != -negative:
            continue
        if len(groups[a]) + len(groups[b]) > MAX_MEMORIES:
            continue
        groups[a] += groups.pop(b)
        del between[a][b]
        for other, weight in between.pop(b).items():
            if other != a:
                del between[other][b]
                between[a][other] = between[other][a] = between[a].get(other, 0.0) + weight
        for other in between[a]:
            if (joined := strength(a, other)) >= MIN_TIE:
                heappush(heap, (-joined, a, other))
    return list(groups.values())


def _without_doubtful_pairs(groups: Iterable[list[int]], links: Iterable[Link]) -> list[list[int]]:
    """Return the groups, those of two apart that are not linked: only words tie them."""
    linked = {frozenset((link.older, link.newer)) for link in links}
    result: list[list[int]] = []
    for group in groups:
        is_doubtful = len(group) == 2 and frozenset(group) not in linked
        result += [[memory] for memory in group] if is_doubtful else [group]
    return result


class _Terms:
    """The informative words and pairs of words of memories.

    Attributes:
        memories: for each term, the ids of the memories that have it, ascending.
        nouns: the terms that are a noun or a name in one of them.
    """

    def __init__(self, memories: Sequence[Memory]) -> None:
        speakers = {name for memory in memories for name in memory.speakers}
        # A person's own name names no matter of theirs.
        names = {stem(word.casefold()) for name in speakers for word in _WORD.findall(name)}
        self._found = {memory.id: _find_terms(memory.text) for memory in memories}
        self.memories: defaultdict[str, list[int]] = defaultdict(list)
        self.nouns: set[str] = set()
        for memory in sorted(self._found):
            for term, found in self._found[memory].items():
                self.memories[term].append(memory)
                if found.is_noun:
                    self.nouns.add(term)
        for term in [each for each in self.memories if not names.isdisjoint(each.split(" "))]:
            del self.memories[term]
        self._rarities: dict[str, float] = {}

    def rarity(self, term: str) -> float:
        """Return how informative a term is, by how rare it is in other people's conversations."""
        if (rarity := self._rarities.get(term)) is None:
            idf = word_weights()
            parts = [idf.get(part, MAX_IDF) for part in term.split(" ")]
            # Two words that stand together name a matter better than each of them.
            rarity = parts[0] if len(parts) == 1 else min(MAX_IDF, 1.2 * max(parts))
            self._rarities[term] = rarity
        return rarity

    def weight(self, term: str) -> float:
        """Return the rarity of a term as it ties memories; of longer runs, the pairs in them do."""
        if UNSPACED.search(term):
            return GRAM * MAX_IDF if len(term) == min(_GRAM_LENGTHS) else 0.0
        return self.rarity(term)

    def title(self, group: Sequence[Memory]) -> str:
        """Return a title for memories; empty for a single one, and if no words make one.

        A single word, and names alone, name no matter to a stranger: the clause in which the first
        of them is told does.
        """
        forms: defaultdict[str, list[str]] = defaultdict(list)
        nouns: set[str] = set()
        for memory in group:
            for term, found in self._found[memory.id].items():
                forms[term].append(found.form)
                if found.is_noun:
                    nouns.add(term)
        shared = {
            term: min(len(seen), 6)
            * self.rarity(term)
            / (1 + len(self.memories[term]) / (4 * len(seen)))
            for term, seen in forms.items()
            if len(seen) >= 2 and term in self.memories
        }
        scores = {term: score for term, score in shared.items() if term in nouns}
        least = MIN_SHARE * max(scores.values(), default=0.0)
        chosen: list[str] = []
        used: set[str] = set()
        for term in sorted(scores, key=lambda term: (-scores[term], -len(term), term)):
            form = max(forms[term], key=lambda form: (form.istitle(), forms[term].count(form)))
            if not used.isdisjoint(term.split(" ")) or any(
                form in other or other in form for other in chosen
            ):
                continue
            is_full = len(chosen) == TITLE_TERMS or len(", ".join([*chosen, form])) > MAX_TITLE
            if is_full or (chosen and scores[term] < least):
                break
            used.update(term.split(" "))
            chosen.append(form)
        title = ", ".join(chosen)
        if len(chosen) < 2 and " " not in title and not UNSPACED.search(title):
            words = chosen or [forms[term][0] for term in sorted(shared, key=shared.__getitem__)]
            title = _find_clause(group, words[-1]) if words else ""
        elif all(form[0].isupper() for form in chosen) and guess_language(group[0].text) != "de":
            title = _find_clause(group, chosen[0]) or title
        return title[:1].upper() + title[1:]


def _find_clause(group: Iterable[Memory], word: str) -> str:
    """Return the first short clause with a word; empty without any."""
    for memory in group:
        for clause in _BETWEEN_CLAUSES.split(without_attribution(memory.text)[:READ_LENGTH]):
            clause = " ".join(clause.split()).rstrip(".")
            if (
                len(clause) <= MAX_TITLE
                and len(_WORD.findall(clause)) >= MIN_CLAUSE
                and word.casefold() in map(_without_ending, _WORD.findall(clause.casefold()))
            ):
                return clause
    return ""


def _without_ending(word: str) -> str:
    return word.removesuffix("'s").removesuffix("’s")


class _Term(NamedTuple):
    """A term in a text: the form in which it first occurs, and whether it may be a noun or name."""

    form: str
    is_noun: bool


@lru_cache(maxsize=20_000)
def _find_terms(text: str) -> Mapping[str, _Term]:
    """Return the terms of a text."""
    text = _ATTACHMENT.sub(" ", without_attribution(text)[:READ_LENGTH])
    language = guess_language(text)
    terms: dict[str, _Term] = {}

    def add(term: str, form: str, is_noun: bool) -> None:
        first = terms.get(term)
        terms[term] = _Term(first.form, first.is_noun or is_noun) if first else _Term(form, is_noun)

    words = [*_read_words(text, language)]
    before, leads_to_noun = None, False
    for word, following in zip_longest(words, words[1:]):
        if not word.is_next:
            before, leads_to_noun = None, False
        if UNSPACED.search(word.form):
            for run in _untelling(language).split(word.form):
                for gram in _split_grams(run):
                    add(gram, gram, True)
            before = None
        elif not word.term:
            before, leads_to_noun = None, word.form in _BEFORE_NOUNS
        else:
            plain = _without_ending(word.form)
            is_name = language != "en" or plain != plain.casefold()
            leads_to_noun = leads_to_noun or is_name
            describes = (
                following and following.is_next and (following.term or following.form in _ONES)
            )
            add(word.term, plain, is_name or (leads_to_noun and not describes))
            if before:
                add(f"{before.term} {word.term}", f"{before.form} {plain}", leads_to_noun)
            before = word
    return terms


class _Word(NamedTuple):
    """A word of a text.

    Attributes:
        form: as it is written, in lower case if it tells nothing or only begins a sentence.
        term: its stem; empty if it tells nothing.
        is_next: whether nothing but a space stands between it and the word before.
    """

    form: str
    term: str
    is_next: bool


def _read_words(text: str, language: Language) -> Iterator[_Word]:
    stop = _stop_words(language)
    end = -1
    for match in _WORD.finditer(text):
        form, start = match[0], match.start()
        folded = form.casefold().replace("’", "'")
        if language in _ELIDING and "'" in folded:  # j'ai, l'amie
            form, folded = (each.rpartition("'")[2] for each in (form.replace("’", "'"), folded))
        if language == "en" and form.islower():
            form = folded = intended(folded)
        is_next = text[max(0, end) : start].isspace()
        end = match.end()
        term = _stem(folded, language)
        if UNSPACED.search(form):
            yield _Word(form, form, is_next)
        elif len(folded) < 3 or not stop.isdisjoint((folded, _without_ending(folded), term)):
            yield _Word(folded, "", is_next)
        else:
            yield _Word(_plain_form(form, text[max(0, start - 8) : start]), term, is_next)


def _stem(word: str, language: Language) -> str:
    """Return the stem of a word; of an English one, as the background has it."""
    return stem(word) if language == "en" else languages.stem(word, language)


@cache
def _stop_words(language: Language) -> frozenset[str]:
    english = FUNCTION_WORDS | STOP_WORDS["en"] | _UNTELLING
    everyday = everyday_words(language).items()
    return (
        english | STOP_WORDS[language] | {word for word, its in everyday if english.issuperset(its)}
    )


@cache
def _untelling(language: Language) -> re.Pattern[str]:
    """Return a pattern of the words that name nothing, for scripts without spaces."""
    # A single character is part of too many words; those that carry no meaning are in the grammar.
    words = [word for word in _stop_words(language) if len(word) > 1 and UNSPACED.fullmatch(word)]
    patterns = [re.escape(word) for word in sorted(words, key=len, reverse=True)]
    if language in GRAMMAR:
        patterns.append(GRAMMAR[language].pattern)
    return re.compile("|".join(patterns) or r"(?!)")


def _plain_form(form: str, before: str) -> str:
    """Return a word in lower case if it is capitalized only because it begins a sentence."""
    before = before.rstrip(" “\"'(*-")
    is_first = not before or (before[-1] in ".?!:…\n" and not _ABBREVIATED.search(before))
    return form[0].lower() + form[1:] if is_first and form[1:].islower() else form


def _split_grams(run: str) -> Iterator[str]:
    for length in _GRAM_LENGTHS:
        for start in range(len(run) - length + 1):
            yield run[start : start + length]
