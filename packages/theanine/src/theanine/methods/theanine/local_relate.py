"""Relate two memories without a language model: cue words, tied to what both speak of.

A cue counts only in a sentence of the newer memory that shares content words with the older one,
and only where both are about one subject; a topic may be shared by two. When in doubt: none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from theanine.methods.theanine.judgement import Judgement, Pair
from theanine.text import cues
from theanine.text.attribution import without_attribution
from theanine.text.words import containment, content_words, is_unspaced, sentences, stem, words
from theanine.types import Relation

CUE_FLOOR = 0.40
"""Cosine similarity below which no cue is believed."""
TOPIC_FLOOR = 0.55
"""Cosine similarity from which two memories without a cue are on the same topic."""
SHARED_TOPIC = 0.25
"""Share of the shorter memory's content words that a common topic needs."""
_ROLES = frozenset("speaker user agent assistant both".split())
_VAGUE = frozenset(
    stem(word)
    for word in """
    amazing awesome bad best better big cool day days different enjoy fam family feel feeling
    find fun give glad good great happy help hope hard keep know life little live long look love
    man mention need new nice one people person place right see start support take talk thank
    think time today try two use want way week work world year
    """.split()
)
"""Words too common in talk to tie two memories together."""
_SHOWN = re.compile(r" \(shares .*\)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    content: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Reading:
    """A memory as the cues see it."""

    sentences: tuple[_Sentence, ...]
    content: frozenset[str]
    text: str
    unspaced: bool


def local_relate(pairs: Sequence[Pair]) -> list[Judgement]:
    """One judgement for each pair; deterministic, the explanation names the cue that fired."""
    readings: dict[tuple[str, tuple[str, ...]], _Reading] = {}

    def read(text: str, speakers: tuple[str, ...]) -> _Reading:
        key = (text, speakers)
        if key not in readings:
            readings[key] = _read(text, speakers)
        return readings[key]

    return [
        _judge(
            pair,
            read(pair.older.text, pair.older.speakers),
            read(pair.newer.text, pair.newer.speakers),
        )
        if pair.similarity >= CUE_FLOOR
        else Judgement(relation=None, explanation="too little alike")
        for pair in pairs
    ]


def _read(text: str, speakers: tuple[str, ...]) -> _Reading:
    said = cues.normal(_SHOWN.sub("", without_attribution(text)))
    common = content_words(" ".join(speakers)) | _VAGUE | _ROLES
    pieces = tuple(
        _Sentence(said[a:b], content_words(said[a:b]) - common) for a, b in sentences(said)
    )
    whole = frozenset[str]().union(*(piece.content for piece in pieces))
    return _Reading(pieces, whole, said, is_unspaced(said))


def _judge(pair: Pair, older: _Reading, newer: _Reading) -> Judgement:
    needed = 1 if pair.similarity >= TOPIC_FLOOR else 2
    tied = [s for s in newer.sentences if len(s.content & older.content) >= needed]
    for sentence in tied if _one_subject(pair) else ():
        found = _relation(older, sentence)
        if found is not None:
            relation, cue = found
            shared = sentence.content & older.content
            return Judgement(relation=relation, explanation=f"{cue}; {_mentioned(newer, shared)}")
    return _topic(pair, older, newer)


def _mentioned(newer: _Reading, shared: frozenset[str]) -> str:
    said = [word for word in words(newer.text) if stem(word) in shared]
    return "both mention " + ", ".join(list(dict.fromkeys(said))[:4])


def _one_subject(pair: Pair) -> bool:
    older, newer = set(pair.older.speakers), set(pair.newer.speakers)
    if older and newer:
        return bool(older & newer)
    return _subject(pair.older.text) == _subject(pair.newer.text)


def _subject(text: str) -> list[str]:
    """The word or words that a statement begins with: ``["ana"]``, ``["speaker", "b"]``."""
    first = [word for word in words(text[:80]) if word != "the"][:2]
    return first if first[:1] and first[0] in _ROLES else first[:1]


_Found = tuple[Relation, str]
"""A relation and the cue for it, in words."""


def _relation(older: _Reading, sentence: _Sentence) -> _Found | None:
    """The strongest cue of the sentence: a cause outdoes a change, a change outdoes a reason."""
    ended = _fresh(cues.NO_LONGER, older, sentence.text)
    if ended is not None:
        return Relation.CHANGED, f"a change, “{ended}”"
    connected = _by_connective(older, sentence)
    if connected is not None and connected[0] is Relation.CAUSE:
        return connected
    cue = _by_cue(older, sentence)
    if cue is not None and cue[0] is Relation.CHANGED:
        return cue
    return connected or cue or _turned_round(older, sentence)


def _fresh(pattern: re.Pattern[str], older: _Reading, text: str) -> str | None:
    """The cue in a text, unless it is denied there or the older memory shows one like it."""
    match = pattern.search(text)
    if match is None or cues.denied(text, match.start()) or pattern.search(older.text):
        return None
    return match[0]


def _by_connective(older: _Reading, sentence: _Sentence) -> _Found | None:
    """A causal connective: which side of it does the older memory speak of?"""
    text = sentence.text
    match = cues.EFFECT_THEN_CAUSE.search(text)
    cause_first = match is None
    match = match or cues.CAUSE_THEN_EFFECT.search(text)
    if match is None:
        return None
    before = len(content_words(cues.CLAUSE.split(text[: match.start()])[-1]) & older.content)
    after = len(content_words(text[match.end() :]) & older.content)
    if before == after:
        return None
    if (before > after) == cause_first:
        return Relation.CAUSE, f"“{match[0]}” makes it the cause"
    return Relation.REASON, f"“{match[0]}” explains it"


_CUES: tuple[tuple[Relation, re.Pattern[str], str], ...] = (
    (Relation.HINDERED_BY, cues.HINDRANCE, "a hindrance"),
    (Relation.CHANGED, cues.CHANGE, "a change"),
    (Relation.REACT, cues.FEELING, "a feeling"),
    (Relation.WANT, cues.DESIRE, "a wish"),
)


def _by_cue(older: _Reading, sentence: _Sentence) -> _Found | None:
    """The first cue that the older memory does not show as well."""
    for relation, pattern, name in _CUES:
        cue = _fresh(pattern, older, sentence.text)
        if cue is not None:
            return relation, f"{name}, “{cue}”"
    return None


def _turned_round(older: _Reading, sentence: _Sentence) -> _Found | None:
    """The same said with a negation on one side only."""
    for earlier in older.sentences:
        alike = min(
            containment(earlier.content, sentence.content),
            containment(sentence.content, earlier.content),
        )
        if alike >= 0.5 and len(earlier.content & sentence.content) >= 2:
            now, then = (
                cues.NEGATION.search(sentence.text),
                cues.NEGATION.search(earlier.text),
            )
            if (now is None) != (then is None):
                word = now or then
                return (
                    Relation.CHANGED,
                    f"denied on one side, “{word[0] if word else ''}”",
                )
    return None


def _topic(pair: Pair, older: _Reading, newer: _Reading) -> Judgement:
    shared = older.content & newer.content
    share = len(shared) / max(1, min(len(older.content), len(newer.content)))
    enough = 4 if newer.unspaced else 2
    if pair.similarity >= TOPIC_FLOOR and len(shared) >= enough and share >= SHARED_TOPIC:
        return Judgement(relation=Relation.SAME_TOPIC, explanation=_mentioned(newer, shared))
    return Judgement(relation=None, explanation="no cue, and too little in common")
