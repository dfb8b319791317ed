"""Decide on two statements without a model: by cue words, and by shared content words.

A change or an end counts only in a sentence of the newer statement that shares content words with
the older one, and only if both are about the same people. Greetings, thanks and questions say
nothing that could replace anything. In doubt: append.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from theanine.methods.shared.pairs import Pair
from theanine.quotes import without_attribution
from theanine.sentences import sentence_spans
from theanine.text import cues
from theanine.text.words import containment, content_words, is_unspaced, words
from theanine.types import Memory, NewMemory
from theanine_methods.memory_update.operations import Decision, Operation

MIN_SIMILARITY = 0.65
"""Cosine below which the newer statement is appended, whatever the words: the lowest, in steps
of 0.05, at which at least 80 % of the other decisions on the development half of the labeled pairs
are right (``theanine bench links`` prints their share, and that of the other half)."""
CONTAINED = 0.9
"""Minimum share of a statement's content words in another that contains it."""
MIN_CONTAINED_WORDS = 3
"""Content words that a statement must have for another to contain it."""
SAME_BUT_DENIED = 2 / 3
"""Minimum mutual share of content words of two sentences of which one denies the other."""
_ROLES = frozenset("speaker user agent assistant both".split())
_VAGUE = content_words(
    "absolutely actually amazing bad best better big certainly cool currently day definitely "
    "different enjoy family feel find fun give glad good great happy help here's hope keep know "
    "last lately life little live long look love mean mention need new next nice one people "
    "person place really recently right see start still support take talk thank think time today "
    "try use want way week work world year"
)
"""Words too common to relate two statements."""
_CUE = r"(?<![\w'])(?:{})(?![\w'])"
_ENDED = re.compile(
    _CUE.format(
        r"(?:(?:is|are|was|were|it's|that's|finally) (?:finally |all )?(?:over|done|gone|fixed|"
        r"finished|settled|solved|resolved|sorted out|healed|cured))|(?:(?:have|has|i've|we've|"
        r"he's|she's|they've|finally|just|fully|completely) )*(?:recovered|healed|finished|"
        r"completed|solved|resolved|(?:got|gotten) over|cleared up|handed in|turned in)"
    )
)
"""Something has ended."""
_PASSING = re.compile(
    _CUE.format(
        r"sick|ill|flu|cold|fever|sore|pains?|ach(?:es?|ing)|hurts?|injur(?:y|ed)|broken?|"
        r"surgery|waiting|working on|work on|trying to|have to|has to|need to|needs to|preparing|"
        r"studying|looking for|searching|deadline|due(?! to)|exams?|homework|project|"
        r"repairs?|thesis"
    )
)
"""Something that will end."""
_WEAK_CHANGES = frozenset({"instead", "rather than", "used to", "became"})
"""Change words that as often only compare."""
_QUOTES = " \"“”'"
_ASKS = ("?", "？")
_POINTING = re.compile(r"\b(?:it|that|this|there|them|those|these)\b")
_IDIOM = re.compile(
    r"(?:can't|cannot|couldn't) (?:wait|help|believe)|no (?:matter|problem|worries|doubt)|not only"
)
"""Negations that deny nothing."""


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement, preprocessed for the cues.

    Attributes:
        text: normalized text.
        content: content words, without speakers' names and vague words.
        sentences: text and content words of each sentence.
        min_shared: how many content words two statements on one subject share at least.
    """

    text: str
    content: frozenset[str]
    sentences: tuple[tuple[str, frozenset[str]], ...]
    min_shared: int

    @property
    def denies(self) -> bool:
        """Whether it contains a negation."""
        return cues.NEGATION.search(self.text) is not None


_Verdict = tuple[Operation, str]
"""An operation and the reason for it."""


def local_decide(pair: Pair) -> Decision:
    """Return the operation for a pair and the reason for it. Deterministic."""
    operation, explanation = _verdict(pair)
    return Decision(pair=pair, operation=operation, explanation=explanation)


def _verdict(pair: Pair) -> _Verdict:
    if pair.similarity < MIN_SIMILARITY:
        return Operation.APPEND, "too little alike"
    speakers = set(pair.older.speakers), set(pair.newer.speakers)
    if all(speakers) and speakers[0] != speakers[1]:
        return Operation.APPEND, "about different people"
    older, newer = _read(pair.older), _read(pair.newer)
    verdict = next(_cue_verdicts(older, newer), None)
    if verdict is None:
        verdict = _containment_verdict(older, newer)
    return verdict or (Operation.APPEND, "no cue, and neither holds the other")


def _read(memory: Memory | NewMemory) -> _Statement:
    said = without_attribution(memory.text)
    spoken = [_plain(said[a:b]).strip(_QUOTES) for a, b in sentence_spans(said)]
    texts = [text for text in spoken if not (text.endswith(_ASKS) or cues.COURTESY.match(text))]
    ignored = content_words(" ".join(memory.speakers)) | _VAGUE | _ROLES
    parts = tuple((text, content_words(text) - ignored) for text in texts)
    content = frozenset[str]().union(*(words_of_part for _, words_of_part in parts))
    return _Statement(_plain(said), content, parts, 4 if is_unspaced(said) else 2)


def _plain(text: str) -> str:
    return _IDIOM.sub("", cues.normal(text))


def _cue_verdicts(older: _Statement, newer: _Statement) -> Iterator[_Verdict]:
    """Yield ends and changes in the newer statement's sentences on the older one's subject."""
    for text, content in newer.sentences:
        shared = content & older.content
        if len(shared) < newer.min_shared:
            continue
        named = dict.fromkeys(word for word in words(text) if content_words(word) & shared)
        mention = f"both mention {', '.join(list(named)[:4])}"
        will_end = any(p.search(older.text) for p in (_PASSING, cues.DESIRE, cues.HINDRANCE))
        if will_end and (ended := _new_cue(_ENDED, older, text)):
            yield Operation.DELETE, f"over, “{ended}”; {mention}"
        if changed := _new_cue(cues.NO_LONGER, older, text) or _new_cue(cues.CHANGE, older, text):
            yield Operation.CHANGE, f"a change, “{changed}”; {mention}"
        if older.denies != newer.denies and _denies_a_sentence(older, text, content):
            yield Operation.CHANGE, f"denied on one side; {mention}"


def _new_cue(pattern: re.Pattern[str], older: _Statement, text: str) -> str | None:
    """Return a cue in a text whose clause is about the older statement's subject.

    None if the older statement has such a cue, or the cue is negated or weak.
    """
    if pattern.search(older.text):
        return None
    for match in pattern.finditer(text):
        before = cues.CLAUSE.split(text[: match.start()])[-1]
        clause = before + match[0] + cues.CLAUSE.split(text[match.end() :])[0]
        related = bool(content_words(clause) & older.content) or _POINTING.search(clause)
        ignored = match[0] in _WEAK_CHANGES or cues.denied(text, match.start())
        if related and not ignored:
            return match[0].strip()
    return None


def _denies_a_sentence(older: _Statement, text: str, content: frozenset[str]) -> bool:
    """Whether a sentence says the same as one of the older statement, but for a negation."""
    negated = cues.NEGATION.search(text) is not None
    return any(
        min(containment(content, other), containment(other, content)) >= SAME_BUT_DENIED
        and negated != (cues.NEGATION.search(other_text) is not None)
        for other_text, other in older.sentences
    )


def _containment_verdict(older: _Statement, newer: _Statement) -> _Verdict | None:
    """Return PASS or REPLACE if one statement contains the other, with the same negation.

    None if either names a time: "next month" is another month each time.
    """
    min_shared = max(older.min_shared, newer.min_shared, MIN_CONTAINED_WORDS)
    if older.denies != newer.denies or min(len(older.content), len(newer.content)) < min_shared:
        return None
    if cues.TIME.search(older.text) or cues.TIME.search(newer.text):
        return None
    if containment(newer.content, older.content) >= CONTAINED:
        return Operation.PASS, "the older one says all of it"
    if containment(older.content, newer.content) >= CONTAINED:
        return Operation.REPLACE, "the newer one says all of it and more"
    return None
