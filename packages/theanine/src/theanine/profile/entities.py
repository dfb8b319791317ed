"""Who and what a person speaks of: names from their own words, and who they are to the person.

A name counts with what introduces it ("my sister Marta", "a dog called Bura", "we moved to
Delft"), or if it comes up in several turns. Nothing is taken from questions or others' words.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, pairwise
from typing import Literal, NamedTuple

from theanine.profile.profile import Entity, Quote, quoted
from theanine.profile.statements import Frames, ReadTurn, turn_order
from theanine.recall.claims import calendar_words
from theanine.retrieval.kinds import things_of
from theanine.retrieval.languages import Language
from theanine.sentences import Span, sentence_spans
from theanine.stop_words import STOP_WORDS
from theanine.text.cues import normal
from theanine.types import Turn

MENTIONED = 2
"""Turns in which a name must come up that nothing introduces."""
_NAME = r"[A-ZÀ-ÖØ-Þ][\w'’-]*[^\W\d_](?: (?:(?:van|von|de|del|da|di|la|le) )?[A-ZÀ-ÖØ-Þ][\w-]+)?"
_MID_NAME = re.compile(r"(?<=[^\W\d_,;:] )" + _NAME)
_FIRST_NAME = re.compile(_NAME)
Kind = Literal["person", "animal", "place", "thing", "unknown"]
_QUESTION = re.compile(r"[?？؟]\W*$")
_WORD = re.compile(r"[^\W\d_]+")
_NO_NAMES = things_of("language") | frozenset(
    "christmas easter god ok mr mrs ms dr mum mom mama dad papa everyone everybody someone "
    "somebody anyone anybody nobody one people".split()
)
_AFTER_PERSON = re.compile(
    r"(?:['’]s (?:\w+ )?(?:husband|wife|son|daughter|mother|father|sister|brother|birthday|idea)\b|"
    r"(?:['’]s|,)? ?(?:whom?\b|says?|said|told|tells|asked|asks|thinks|wants|came|comes|called|"
    r"calls|rang|writes|wrote|met|gave|helped|loves|likes|hates|lives|lived|works|plays|cried|laughed|"
    r"found|has (?:been|got|rung|sent|bought)|carried|made|is (?:getting|coming|a|my))\b)"
)
_BEFORE_PERSON = re.compile(
    r"\b(?:with|met|tell|told|ask|asked|gave|rang|ring|call|visit|visited|thank|love|hug|marry|"
    r"married|called|named|nephew|cousin|aunt|uncle|brother|sister) $"
)
_BEFORE_PLACE = re.compile(r"\b(?:in|near|through|around|outside|from|to|at|via) $")
_BEFORE_THING = re.compile(r"\b(?:the|a|an|my|our|this|that|his|her|their) (?:[a-z-]+ )?$")


class _Introduced(NamedTuple):
    """A name that a sentence introduces."""

    name: str
    relation: str
    kind: Kind
    sentence: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadNames:
    """The names in a turn of the user's.

    Attributes:
        introduced: those that its sentences introduce.
        aliases: pairs of a name and another one of the same.
        within: names within its sentences, each with its sentence and the kind that is told of it.
        words: all its capitalized words, one and two together.
        small: its words in small letters.
    """

    turn: Turn
    language: Language
    introduced: tuple[_Introduced, ...]
    aliases: tuple[tuple[str, str], ...]
    within: tuple[tuple[str, Span, Kind], ...]
    words: frozenset[str]
    small: frozenset[str]


def read_names(read: ReadTurn) -> ReadNames:
    """Return the names in a turn."""
    *related, place, alias = _patterns(read.frames)
    introduced: list[_Introduced] = []
    aliases: list[tuple[str, str]] = []
    within: list[tuple[str, Span, Kind]] = []
    for start, end in sentence_spans(read.masked):
        sentence = " ".join(read.masked[start:end].split())
        if _QUESTION.search(sentence):
            continue
        for match in chain.from_iterable(pattern.finditer(sentence) for pattern in related):
            relation = match["relation"].casefold()
            kind: Kind = "animal" if re.fullmatch(read.frames.animal, relation) else "person"
            introduced.append(_Introduced(_plain(match["name"]), relation, kind, (start, end)))
        for match in place.finditer(sentence):
            introduced.append(_Introduced(_plain(match["name"]), "", "place", (start, end)))
        for match in alias.finditer(sentence):
            aliases.append((_plain(match["name"]), _plain(match["other"])))
        if read.frames.language != "de":  # which has capitals for all nouns
            # All sentences begin with a capital: what follows must tell that it is a person.
            first = _FIRST_NAME.match(sentence)
            end_of_first = 0
            if first and _AFTER_PERSON.match(sentence, first.end()):
                end_of_first = first.end()
                within.append((_plain(first[0]), (start, end), "person"))
            for match in _MID_NAME.finditer(sentence, end_of_first):
                kind = _kind_around(sentence, match)
                within.append((_plain(match[0]), (start, end), kind))
    written = _WORD.findall(read.masked)
    capitalized = [word for word in written if word[0].isupper()]
    pairs = {" ".join(pair) for pair in pairwise(written) if pair[0][0].isupper()}
    return ReadNames(
        turn=read.turn,
        language=read.frames.language,
        introduced=tuple(introduced),
        aliases=tuple(aliases),
        within=tuple(within),
        words=frozenset(capitalized) | pairs,
        small=frozenset(word for word in written if word.islower()),
    )


@dataclass(slots=True)
class _Name:
    """A name, with what is known of who or what has it."""

    relation: str = ""
    kind: Kind | None = None
    introduced: tuple[Turn, Span] | None = None
    first: tuple[Turn, Span] | None = None
    turns: list[Turn] = field(default_factory=list[Turn])
    aliases: dict[str, None] = field(default_factory=dict[str, None])
    kinds: Counter[Kind] = field(default_factory=Counter["Kind"])


def find_entities(reads: Sequence[ReadNames]) -> tuple[Entity, ...]:
    """Return who and what comes up in a user's turns, the most mentioned first."""
    no_names = {word for read in reads for word in read.turn.speaker.split()}
    no_names.update(*(read.small for read in reads))
    names: defaultdict[str, _Name] = defaultdict(_Name)
    for read in reads:
        _collect(read, names, no_names)
    for read in reads:
        for name in read.words & names.keys():
            names[name].turns.append(read.turn)
    _join_full_names(names)
    found = [entity for name, entry in names.items() if (entity := _entity(name, entry))]
    return tuple(sorted(found, key=lambda entity: (-entity.mentions, entity.name)))


def _collect(read: ReadNames, names: defaultdict[str, _Name], no_names: set[str]) -> None:
    """Add the names of a turn, with what it tells of them."""
    for name, relation, kind, sentence in read.introduced:
        if _is_name(name, no_names, read.language):
            entry = names[name]
            if relation or not entry.introduced:
                entry.introduced = read.turn, sentence
            entry.relation = relation or entry.relation
            if kind != "place" or not entry.relation:
                entry.kind = kind
    for name, sentence, kind in read.within:
        if _is_name(name, no_names, read.language):
            entry = names[name]
            entry.kinds[kind] += 1
            entry.first = entry.first or (read.turn, sentence)
    for name, other in read.aliases:
        if _is_name(other, no_names, read.language):
            names[name].aliases[other] = None


@lru_cache
def _patterns(frames: Frames) -> tuple[re.Pattern[str], ...]:
    """Return what introduces a name: after a relation, before one, as called, of a place, alias."""
    own, relation = frames.possessive, f"{frames.relation}|{frames.animal}"
    return tuple(
        re.compile(pattern)
        for pattern in (
            rf"\b(?i:{own}|have an?|'ve an?)\b (?:[a-zà-ÿ-]+ ){{0,2}}"
            rf"(?P<relation>(?i:{relation})),? (?P<name>{_NAME})",
            rf"(?P<name>{_NAME}),? (?P<verb>(?:who|she|he|it)? ?(?:is|was|'s|’s) )?(?:{own}) "
            # Without a verb, an apposition ends there: not "no DJ, my mother wants a priest".
            rf"(?:[a-zà-ÿ-]+ ){{0,1}}(?P<relation>{relation})\b"
            rf"(?(verb)|(?=\W*$|[,.;:!?)–—]| (?:who|and|from|in|at|und|y|et)\b))",
            rf"\b(?i:{own}|an?|eine?n?|une?|una?) (?:[a-zà-ÿ-]+ ){{0,3}}"
            rf"(?P<relation>(?i:{relation}))(?:[^.!?]{{0,60}}?)?,? ?\b{frames.called} "
            rf"(?P<name>{_NAME})",
            rf"\b(?i:{frames.place}) (?P<name>{_NAME})(?!['’]s)\b",
            rf"(?P<name>{_NAME})(?i:{frames.other_name}),? ?(?P<other>{_NAME})",
        )
    )


def _kind_around(sentence: str, match: re.Match[str]) -> Kind:
    """Return what the words around a name tell of its kind."""
    before = sentence[: match.start()]
    is_genitive = sentence.startswith(("'s", "’s"), match.end())
    if _BEFORE_PLACE.search(before) and not is_genitive:
        return "place"
    if _AFTER_PERSON.match(sentence, match.end()) or _BEFORE_PERSON.search(before):
        return "person"
    return "thing" if _BEFORE_THING.search(before) else "unknown"


def _most_likely(kinds: Counter[Kind]) -> Kind:
    """Return the kind that was told most often."""
    for kind, _ in kinds.most_common():
        if kind != "unknown":
            return kind
    return "unknown"


def _plain(name: str) -> str:
    """Return a name without a genitive."""
    return re.sub(r"['’]s?$", "", name)


def _is_name(name: str, no_names: set[str], language: Language) -> bool:
    """Whether it is no speaker, month or language, and no word that is also written small."""
    word = name.split()[0]
    plain = normal(word)
    return (
        len(word) > 1
        and not {name, word, plain} & no_names
        and plain not in calendar_words(language)
        and plain not in _NO_NAMES
        and plain.partition("'")[0] not in STOP_WORDS[language]
    )


def _join_full_names(names: dict[str, _Name]) -> None:
    """Join a full name with its first name, if only one full name begins with it.

    A last name that is never said without the first one is no other person's.
    """
    full: defaultdict[str, list[str]] = defaultdict(list)
    for name in [*names]:
        first, _, rest = name.partition(" ")
        if rest:
            full[first].append(name)
            said = {turn.id for turn in names[name].turns}
            if rest in names and all(turn.id in said for turn in names[rest].turns):
                del names[rest]
    for first, longer in full.items():
        if len(longer) == 1 and first in names and names[first].kind != "place":
            other = names.pop(longer[0])
            entry = names[first]
            entry.aliases[longer[0]] = None
            entry.turns = sorted(
                {t.id: t for t in entry.turns + other.turns}.values(), key=turn_order
            )
            entry.relation = entry.relation or other.relation
            entry.kind = entry.kind or other.kind
            entry.introduced = entry.introduced or other.introduced


def _entity(name: str, entry: _Name) -> Entity | None:
    """Return an entity; None for a name that neither is introduced nor comes up often."""
    said = entry.introduced or entry.first
    if said is None or not entry.turns or (not entry.introduced and len(entry.turns) < MENTIONED):
        return None
    turn, (start, end) = said
    return Entity(
        name=name,
        kind=entry.kind or _most_likely(entry.kinds),
        relation=entry.relation,
        aliases=tuple(entry.aliases),
        introduced=Quote(**quoted(" ".join(turn.text[start:end].split()), turn)),
        mentions=len(entry.turns),
        turns=tuple(each.id for each in reversed(entry.turns)),
        last_at=entry.turns[-1].at,
    )
