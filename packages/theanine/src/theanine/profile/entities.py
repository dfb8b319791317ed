"""Who and what a person speaks of: names from their own words, and who they are to the person.

A name counts with what introduces it ("my sister Marta", "a dog called Bura", "we moved to
Delft"), or if it comes up in several turns. Nothing is taken from questions or others' words.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from theanine.profile.profile import Entity, Said
from theanine.profile.statements import Frames, ReadTurn
from theanine.recall.claims import calendar_words
from theanine.retrieval.kinds import things_of
from theanine.sentences import sentence_spans
from theanine.stop_words import STOP_WORDS
from theanine.text.cues import normal
from theanine.types import Turn

MENTIONED = 3
"""Turns in which a name must come up that nothing introduces."""
LATEST = 20
"""Turns of an entity that are listed, at most."""
_NAME = r"[A-ZÀ-ÖØ-Þ][\w'’-]*[^\W\d_](?: (?:(?:van|von|de|del|da|di|la|le) )?[A-ZÀ-ÖØ-Þ][\w-]+)?"
_MID_NAME = re.compile(r"(?<=[^\W\d_,;:] )" + _NAME)
_QUESTION = re.compile(r"[?？؟]\W*$")
_WORD = re.compile(r"[^\W\d_]+")
_NO_NAMES = things_of("language") | {"christmas", "easter", "god", "ok", "mr", "mrs", "ms", "dr"}
_ANIMALS = things_of("pet", "breed") | {"pet", "kater", "hund", "katze", "perro", "gato", "chien"}
_PERSONAL = re.compile(
    r"(?:'s|’s)? (?:says?|said|told|tells|asked|asks|thinks|wants|came|comes|called|calls|rang|"
    r"writes|wrote|met|gave|helped|loves|likes|hates|lives|lived|works|plays|cried|laughed)\b"
)
Kind = Literal["person", "animal", "place", "thing"]


@dataclass(slots=True)
class _Name:
    """A name, with what is known of who or what has it."""

    relation: str = ""
    kind: Kind | None = None
    introduced: tuple[Turn, str] | None = None
    first: tuple[Turn, str] | None = None
    turns: list[Turn] = field(default_factory=list[Turn])
    aliases: dict[str, None] = field(default_factory=dict[str, None])
    personal: bool = False


def find_entities(reads: Sequence[ReadTurn]) -> tuple[Entity, ...]:
    """Return who and what comes up in a user's turns, the most mentioned first."""
    words = {word for read in reads for word in _WORD.findall(read.masked) if word.islower()}
    speakers = {word for read in reads for word in read.turn.speaker.split()}
    no_names = speakers | words
    names: defaultdict[str, _Name] = defaultdict(_Name)
    for read in reads:
        for name, relation, kind, sentence in _introduced(read):
            if _is_name(name, no_names, read):
                entry = names[name]
                if relation or not entry.introduced:
                    entry.introduced = read.turn, sentence
                entry.relation = relation or entry.relation
                if kind != "place" or not entry.relation:
                    entry.kind = kind
        for name, other in _aliases(read):
            if _is_name(other, no_names, read):
                names[name].aliases[other] = None
    for read in reads:
        _count(read, names, no_names)
    _join_full_names(names)
    found = [entity for name, entry in names.items() if (entity := _entity(name, entry))]
    return tuple(sorted(found, key=lambda entity: (-entity.mentions, entity.name)))


def _sentences(read: ReadTurn) -> Iterator[str]:
    for start, end in sentence_spans(read.masked):
        sentence = " ".join(read.masked[start:end].split())
        if not _QUESTION.search(sentence):
            yield sentence


@lru_cache
def _patterns(frames: Frames) -> tuple[re.Pattern[str], ...]:
    """Return what introduces a name: after a relation, before one, as called, and of a place."""
    own, relation = frames.possessive, frames.relation
    return tuple(
        re.compile(pattern)
        for pattern in (
            rf"\b(?i:{own})\b (?:[a-zà-ÿ-]+ ){{0,2}}(?P<relation>(?i:{relation})),? (?P<name>{_NAME})",
            rf"(?P<name>{_NAME}),? (?:(?:who|she|he|it)? ?(?:is|was|'s|’s) )?(?:{own}) "
            rf"(?:[a-zà-ÿ-]+ ){{0,1}}(?P<relation>{relation})\b",
            rf"\b(?i:{own}|an?|eine?n?|une?|una?) (?:[a-zà-ÿ-]+ ){{0,3}}(?P<relation>(?i:{relation}))"
            rf"(?:[^.!?]{{0,60}}?)?,? ?\b{frames.called} (?P<name>{_NAME})",
            rf"\b(?i:{frames.place}) (?P<name>{_NAME})(?!['’]s)\b",
        )
    )


def _introduced(read: ReadTurn) -> Iterator[tuple[str, str, Kind, str]]:
    """Yield the names that a turn introduces: name, relation, kind, sentence."""
    *related, place = _patterns(read.frames)
    for sentence in _sentences(read):
        for pattern in related:
            for match in pattern.finditer(sentence):
                relation = match["relation"].casefold()
                kind: Kind = "animal" if relation in _ANIMALS else "person"
                yield _plain(match["name"]), relation, kind, sentence
        for match in place.finditer(sentence):
            yield _plain(match["name"]), "", "place", sentence


def _aliases(read: ReadTurn) -> Iterator[tuple[str, str]]:
    pattern = _alias_pattern(read.frames)
    for sentence in _sentences(read):
        for match in pattern.finditer(sentence):
            yield _plain(match["name"]), _plain(match["other"])


@lru_cache
def _alias_pattern(frames: Frames) -> re.Pattern[str]:
    return re.compile(rf"(?P<name>{_NAME})(?i:{frames.other_name}),? ?(?P<other>{_NAME})")


def _plain(name: str) -> str:
    """Return a name without a genitive."""
    return re.sub(r"['’]s?$", "", name)


def _is_name(name: str, no_names: set[str], read: ReadTurn) -> bool:
    """Whether it is no speaker, month or language, and no word that is also written small."""
    word = name.split()[0]
    plain = normal(word)
    return (
        len(word) > 1
        and not {name, word, plain} & no_names
        and plain not in calendar_words(read.frames.language)
        and plain not in _NO_NAMES
        and plain.partition("'")[0] not in STOP_WORDS[read.frames.language]
    )


def _count(read: ReadTurn, names: defaultdict[str, _Name], no_names: set[str]) -> None:
    """Count a turn for each name in it; names within sentences can be new ones, but for German."""
    masked = read.masked
    found = {name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", masked)}
    if read.frames.language != "de":
        for sentence in _sentences(read):
            for match in _MID_NAME.finditer(sentence):
                name = _plain(match[0])
                if _is_name(name, no_names, read):
                    found.add(name)
                    entry = names[name]
                    entry.personal |= bool(_PERSONAL.match(sentence, match.end()))
                    entry.first = entry.first or (read.turn, sentence)
    for name in found:
        names[name].turns.append(read.turn)


def _join_full_names(names: dict[str, _Name]) -> None:
    """Join a full name with its first name, if only one full name begins with it."""
    full: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        if " " in name:
            full[name.split()[0]].append(name)
    for first, longer in full.items():
        if len(longer) == 1 and first in names and names[first].kind != "place":
            other = names.pop(longer[0])
            entry = names[first]
            entry.aliases[longer[0]] = None
            entry.turns = sorted({t.id: t for t in entry.turns + other.turns}.values(), key=_order)
            entry.relation = entry.relation or other.relation
            entry.kind = entry.kind or other.kind
            entry.introduced = entry.introduced or other.introduced


def _order(turn: Turn) -> tuple[object, int]:
    return turn.at, turn.id


def _entity(name: str, entry: _Name) -> Entity | None:
    """Return an entity; None for a name that neither is introduced nor comes up often."""
    said = entry.introduced or entry.first
    if said is None or not entry.turns or (not entry.introduced and len(entry.turns) < MENTIONED):
        return None
    turn, sentence = said
    start = next(
        (a for a, b in sentence_spans(turn.text) if name in turn.text[a:b]), 0
    )  # as it was written, with what is quoted in it
    end = next((b for a, b in sentence_spans(turn.text) if a == start), len(turn.text))
    return Entity(
        name=name,
        kind=entry.kind or ("person" if entry.personal else "thing"),
        relation=entry.relation,
        aliases=tuple(entry.aliases),
        introduced=Said(
            text=" ".join(turn.text[start:end].split()) or sentence,
            turn=turn.id,
            session=turn.session,
            at=turn.at,
            dated=turn.dated,
        ),
        mentions=len(entry.turns),
        turns=tuple(each.id for each in entry.turns[: -LATEST - 1 : -1]),
        last_at=entry.turns[-1].at,
    )
