"""Relate two memories without a language model, by cue words.

A cue counts only in a sentence of the newer memory that shares content words with the older one,
and only if both memories are about the same person. Otherwise they may be on the same topic.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from theanine.methods.shared.pairs import Pair
from theanine.methods.theanine.judgement import Judgement
from theanine.text import cues
from theanine.text.attribution import without_attribution
from theanine.text.words import containment, content_words, is_unspaced, sentences, stem, words
from theanine.types import Relation

CUE_FLOOR = 0.40
"""Minimum cosine similarity for a cue to count."""
TOPIC_FLOOR = 0.55
"""Minimum cosine similarity of two memories on the same topic."""
SHARED_TOPIC = 0.25
"""Minimum share of the shorter memory's content words in common, for the same topic."""
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
"""Words too common in conversation to relate two memories."""
_ATTACHMENT = re.compile(r" \(shares .*\)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    content: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Reading:
    """A memory's text, preprocessed for the cues."""

    sentences: tuple[_Sentence, ...]
    content: frozenset[str]
    text: str
    unspaced: bool


def local_relate(pairs: Sequence[Pair]) -> list[Judgement]:
    """Return one judgement for each pair; its explanation names the cue."""
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
    plain = cues.normal(_ATTACHMENT.sub("", without_attribution(text)))
    common = content_words(" ".join(speakers)) | _VAGUE | _ROLES
    parts = tuple(
        _Sentence(plain[a:b], content_words(plain[a:b]) - common) for a, b in sentences(plain)
    )
    content = frozenset[str]().union(*(part.content for part in parts))
    return _Reading(parts, content, plain, is_unspaced(plain))


def _judge(pair: Pair, older: _Reading, newer: _Reading) -> Judgement:
    min_shared = 1 if pair.similarity >= TOPIC_FLOOR else 2
    related = [s for s in newer.sentences if len(s.content & older.content) >= min_shared]
    for sentence in related if _same_subject(pair) else ():
        match = _relation(older, sentence)
        if match is not None:
            relation, cue = match
            shared = sentence.content & older.content
            return Judgement(relation=relation, explanation=f"{cue}; {_mentioned(newer, shared)}")
    return _topic(pair, older, newer)


def _mentioned(newer: _Reading, shared: frozenset[str]) -> str:
    mentioned = [word for word in words(newer.text) if stem(word) in shared]
    return "both mention " + ", ".join(list(dict.fromkeys(mentioned))[:4])


def _same_subject(pair: Pair) -> bool:
    older, newer = set(pair.older.speakers), set(pair.newer.speakers)
    if older and newer:
        return bool(older & newer)
    return _subject(pair.older.text) == _subject(pair.newer.text)


def _subject(text: str) -> list[str]:
    """Return the first words of a statement: ``["ana"]``, ``["speaker", "b"]``."""
    first = [word for word in words(text[:80]) if word != "the"][:2]
    return first if first[:1] and first[0] in _ROLES else first[:1]


_Match = tuple[Relation, str]
"""A relation, and its cue in words."""


def _relation(older: _Reading, sentence: _Sentence) -> _Match | None:
    """Return the strongest cue of the sentence: an end, a cause, a change, then the others."""
    ended = _new_cue(cues.NO_LONGER, older, sentence.text)
    if ended is not None:
        return Relation.CHANGED, f"a change, “{ended}”"
    connected = _by_connective(older, sentence)
    if connected is not None and connected[0] is Relation.CAUSE:
        return connected
    cue = _by_cue(older, sentence)
    if cue is not None and cue[0] is Relation.CHANGED:
        return cue
    return connected or cue or _negated(older, sentence)


def _new_cue(pattern: re.Pattern[str], older: _Reading, text: str) -> str | None:
    """Return the cue in a text, unless it is negated or the older memory has one of its kind."""
    match = pattern.search(text)
    if match is None or cues.denied(text, match.start()) or pattern.search(older.text):
        return None
    return match[0]


def _by_connective(older: _Reading, sentence: _Sentence) -> _Match | None:
    """Return cause or reason, by the side of a causal connective that the older memory is about."""
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


def _by_cue(older: _Reading, sentence: _Sentence) -> _Match | None:
    """Return the first cue that the older memory doesn't have as well."""
    for relation, pattern, name in _CUES:
        cue = _new_cue(pattern, older, sentence.text)
        if cue is not None:
            return relation, f"{name}, “{cue}”"
    return None


def _negated(older: _Reading, sentence: _Sentence) -> _Match | None:
    """Return a change if both say the same, but only one negates it."""
    for earlier in older.sentences:
        overlap = min(
            containment(earlier.content, sentence.content),
            containment(sentence.content, earlier.content),
        )
        if overlap >= 0.5 and len(earlier.content & sentence.content) >= 2:
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
    min_shared = 4 if newer.unspaced else 2
    if pair.similarity >= TOPIC_FLOOR and len(shared) >= min_shared and share >= SHARED_TOPIC:
        return Judgement(relation=Relation.SAME_TOPIC, explanation=_mentioned(newer, shared))
    return Judgement(relation=None, explanation="no cue, and too little in common")
