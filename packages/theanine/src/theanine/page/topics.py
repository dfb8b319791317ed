"""Group memories into topics, each with a title from their own words.

Memories belong together by their links and by rare words that they share. Each keeps its strongest
ties; then the two groups that are tied most, for their sizes, become one, again and again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from heapq import heapify, heappop, heappush
from itertools import combinations
from math import sqrt

from theanine.linking.reading import MAX_IDF, load_background
from theanine.retrieval.languages import UNSPACED, Language, guess_language
from theanine.stop_words import STOP_WORDS
from theanine.text.attribution import without_attribution
from theanine.text.words import FUNCTION_WORDS, stem
from theanine.types import Link, Memory, Relation

MAX_MEMORIES = 14
"""Maximum memories of a topic."""
MIN_TIE = 0.24
"""Least tie between two groups that joins them, divided by the root of their sizes' product."""
TIES = 4
"""Number of strongest ties that each memory keeps."""
MAX_SHARING = 16
"""Maximum memories with a word that ties them; a more frequent word says little."""
WORD_TIE = 0.3
"""Weight of a shared word that no other memory has."""

TITLE_TERMS = 3
"""Maximum terms in a title: words and pairs of words."""
MAX_TITLE = 44
"""Maximum characters of a title."""
MIN_SHARE = 1 / 3
"""Least score of a further term of a title, as a share of the best term's score."""
READ_LENGTH = 600
"""Characters of a memory that are read for terms."""

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ABBREVIATED = re.compile(r"\b(?:[A-HJ-Z]|Dr|Fr|Hr|Mr|Mrs|Ms|Prof|Sr|Sra|St)\.$")
"""Words with a period that doesn't end a sentence."""
_ATTACHMENT = re.compile(r"\(shares? [^()]*\)?|\[shares? [^\]]*\]?")
_GRAM_LENGTHS = (4, 3, 2)
"""Lengths, in characters, of terms in scripts without spaces."""
_UNTELLING = frozenset(
    """
    able absolutely accept across actually add against agree agreed almost along already
    amazing amount another anyone anything anyway appreciate april around ask asked august
    awesome awful awhile beautiful become before began believe best bet better big biggest bit
    boost bring brings brought build busy call called came cause certain chance chat check
    choose come comes coming completely continue cool couple course crazy cute day days deal
    december decided definitely determined difference different difficult during each easy else
    end enjoy enjoyed enough even event everyone exactly excellent excited exciting experience
    express extra fact fantastic far favorite february feel feeling feels felt few finally find
    finished first focus forward friday full fun funny future gave give given glad go goes
    going gonna good gotta grateful great grow half hand hands happen happened happens happy
    hard hear heard help helped helping hey highly honestly hope however huge idea imagine
    impact important improve incredible inspiring instead interested interesting january joy
    july june keep keeps kept key kind kinda know last lately later learn learned least leave
    left less let lets life list little live living long look looking looks lost love loved
    lovely main making march matter matters may maybe mean means meant memories memory mention
    mind mine moment monday month months morning motivated moved myself name need needed new
    next nice november number october often okay one onto open ourselves own part particular
    past people perfect person personal piece place plan please plus point positive possible
    powerful pretty priceless probably problem proud push put putting question quite reach
    ready real reason recently remember remind reminds rest ride right rough sad said saturday
    say says see seeing seen sense sent september several share shared show showed side similar
    simple simply since small someone sometimes soon sort sound sounds special spoke stand
    start started staying still stop strong stuff sunday super sure surely tackle take taken
    takes taking talk talked tell thank thanks themselves think thinking thought thrilled
    throughout thursday time times today together told tomorrow tonight took totally touch
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
        title: a few words that they have in common; empty if they have none.
        memories: their ids, oldest first.
    """

    title: str
    memories: tuple[int, ...]


def find_topics(memories: Sequence[Memory], links: Iterable[Link]) -> list[Topic]:
    """Return topics, the one with the newest memory first; each memory is in exactly one."""
    by_id = {memory.id: memory for memory in memories}
    terms = _Terms(memories)
    groups = _group(by_id, _find_ties(terms, links, by_id))
    ordered = [sorted((by_id[id] for id in group), key=lambda m: m.order) for group in groups]
    ordered.sort(key=lambda group: group[-1].order, reverse=True)
    return [
        Topic(title=terms.title(group), memories=tuple(memory.id for memory in group))
        for group in ordered
    ]


Ties = Mapping[tuple[int, int], float]


def _find_ties(terms: _Terms, links: Iterable[Link], known: Mapping[int, Memory]) -> Ties:
    """Return the strongest ties of each memory, by pairs of ids in order."""
    weights: defaultdict[tuple[int, int], float] = defaultdict(float)
    for link in links:
        if link.older in known and link.newer in known:
            is_relation = link.relation not in (None, Relation.SAME_TOPIC)
            pair = (min(link.older, link.newer), max(link.older, link.newer))
            weights[pair] += 0.15 + 0.15 * is_relation + 1.2 * max(0.0, link.similarity)
    for term, sharing in terms.memories.items():
        if 2 <= len(sharing) <= MAX_SHARING:
            weight = WORD_TIE * (terms.rarity(term) / MAX_IDF) ** 2
            for pair in combinations(sharing, 2):
                weights[pair] += weight
    of_each: defaultdict[int, list[tuple[float, tuple[int, int]]]] = defaultdict(list)
    for pair, weight in weights.items():
        for memory in pair:
            of_each[memory].append((weight, pair))
    return {
        pair: weight
        for ties in of_each.values()
        for weight, pair in sorted(ties, reverse=True)[:TIES]
    }


def _group(memories: Iterable[int], ties: Ties) -> list[list[int]]:
    """Join memories into groups by their ties."""
    groups = {memory: [memory] for memory in memories}
    between: defaultdict[int, dict[int, float]] = defaultdict(dict)
    for (a, b), weight in ties.items():
        between[a][b] = between[b][a] = weight

    def strength(a: int, b: int) -> float:
        return between[a][b] / sqrt(len(groups[a]) * len(groups[b]))

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


class _Terms:
    """The informative words and pairs of words of memories.

    Attributes:
        memories: for each term, the ids of the memories that have it, ascending.
    """

    def __init__(self, memories: Sequence[Memory]) -> None:
        speakers = {name for memory in memories for name in memory.speakers}
        # A person's own name names no matter of theirs.
        names = {stem(word.casefold()) for name in speakers for word in _WORD.findall(name)}
        self._forms = {memory.id: _find_terms(memory.text) for memory in memories}
        self.memories: defaultdict[str, list[int]] = defaultdict(list)
        for memory in sorted(self._forms):
            for term in self._forms[memory]:
                self.memories[term].append(memory)
        for term in [each for each in self.memories if not names.isdisjoint(each.split(" "))]:
            del self.memories[term]
        self._rarities: dict[str, float] = {}

    def rarity(self, term: str) -> float:
        """Return how informative a term is, by how rare it is in other people's conversations."""
        if (rarity := self._rarities.get(term)) is None:
            idf = load_background().idf
            parts = [idf.get(part, MAX_IDF) for part in term.split(" ")]
            # Two words that stand together name a matter better than each of them.
            rarity = parts[0] if len(parts) == 1 else min(MAX_IDF, 1.2 * max(parts))
            self._rarities[term] = rarity
        return rarity

    def title(self, group: Sequence[Memory]) -> str:
        """Return a title for memories; empty for a single one, and if no two share a term."""
        forms: defaultdict[str, list[str]] = defaultdict(list)
        for memory in group:
            for term, form in self._forms[memory.id].items():
                forms[term].append(form)
        scores = {
            term: min(len(seen), 6)
            * self.rarity(term)
            / (1 + len(self.memories[term]) / (4 * len(seen)))
            for term, seen in forms.items()
            if len(seen) >= 2 and term in self.memories
        }
        least = MIN_SHARE * max(scores.values(), default=0.0)
        chosen: list[str] = []
        used: set[str] = set()
        for term in sorted(scores, key=lambda term: (-scores[term], -len(term), term)):
            form = max(forms[term], key=forms[term].count)
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
        return title[:1].upper() + title[1:]


@lru_cache(maxsize=20_000)
def _find_terms(text: str) -> Mapping[str, str]:
    """Return the terms of a text, each with the form in which it first occurs."""
    text = _ATTACHMENT.sub(" ", without_attribution(text)[:READ_LENGTH])
    stop = _stop_words(guess_language(text))
    is_unspaced = UNSPACED.search(text) is not None
    terms: dict[str, str] = {}
    before, before_form, end = "", "", -1
    for match in _WORD.finditer(text):
        form = match[0]
        folded = form.casefold().replace("’", "'")
        if is_unspaced and UNSPACED.search(form):
            for gram in _split_grams(form):
                terms.setdefault(gram, gram)
            before = ""
        elif len(folded) < 3 or folded in stop or folded.removesuffix("'s") in stop:
            before = ""
        else:
            start = match.start()
            form, term = _plain_form(form, text[max(0, start - 8) : start]), stem(folded)
            plain = form.removesuffix("'s").removesuffix("’s")
            terms.setdefault(term, plain)
            if before and text[end:start] == " ":
                terms.setdefault(f"{before} {term}", f"{before_form} {plain}")
            before, before_form, end = term, form, match.end()
    return terms


@cache
def _stop_words(language: Language) -> frozenset[str]:
    return FUNCTION_WORDS | STOP_WORDS[language] | _UNTELLING


def _plain_form(form: str, before: str) -> str:
    """Return a word in lower case if it is capitalized only because it begins a sentence."""
    before = before.rstrip(" “\"'(*-")
    is_first = not before or (before[-1] in ".?!:…\n" and not _ABBREVIATED.search(before))
    return form[0].lower() + form[1:] if is_first and form[1:].islower() else form


def _split_grams(run: str) -> Iterator[str]:
    for length in _GRAM_LENGTHS:
        for start in range(len(run) - length + 1):
            yield run[start : start + length]
