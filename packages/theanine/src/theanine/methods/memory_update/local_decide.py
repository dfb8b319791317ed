"""Decide about two statements without a language model: cue words, and what one holds of the other.

A change or an end counts only in a sentence of the newer statement that shares content words with
the older one, and only where both are about one subject. When in doubt: append.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from theanine.methods.memory_update.decision import Decision, Operation, Pair
from theanine.text import cues
from theanine.text.attribution import without_attribution
from theanine.text.words import containment, content_words, is_unspaced, sentences, words
from theanine.types import Memory, NewMemory

FLOOR = 0.50
"""Cosine similarity below which two statements are left alone."""
HOLDING_FLOOR = 0.60
"""Cosine similarity below which neither is believed to say all that the other says."""
HELD = 0.9
"""Share of a statement's content words in another from which that one holds it."""
ALIKE = 2 / 3
"""Share of each sentence's content words in the other, for a denial to turn it round."""
_ROLES = frozenset("speaker user agent assistant both".split())
_VAGUE = content_words(
    "amazing bad best better big cool day different enjoy family feel find fun give glad good "
    "great happy help here's hope keep know life little live long look love mean mention need new "
    "nice one people person place really right see start support take talk thank think time today "
    "try use want way week work world year last next lately recently currently still"
)
"""Words too common in talk to tie two statements together."""
_CUE = r"(?<![\w'])(?:{})(?![\w'])"
_ENDED = re.compile(
    _CUE.format(
        r"(?:(?:is|are|was|were|it's|that's|finally) (?:finally |all )?(?:over|done|gone|fixed|"
        r"finished|settled|solved|resolved|sorted out|healed|cured))|(?:(?:have|has|i've|we've|"
        r"he's|she's|they've|finally|just|fully|completely) )*(?:recovered|healed|finished|"
        r"completed|solved|resolved|(?:got|gotten) over|cleared up|handed in|turned in)"
    )
)
"""Words that say that something has come to its end."""
_PASSING = re.compile(
    _CUE.format(
        r"sick|ill|flu|cold|fever|sore|pains?|ach(?:es?|ing)|hurts?|injur(?:y|ed)|broken?|"
        r"surgery|waiting|working on|work on|trying to|have to|has to|need to|needs to|preparing|"
        r"studying|looking for|searching|deadline|due(?! to)|exams?|homework|project|"
        r"repairs?|thesis"
    )
)
"""Words that say that something will come to an end."""
_WEAK_CHANGES = frozenset({"instead", "rather than", "used to", "became"})
"""Change words that compare as often as they tell of a change."""
_POINTING = re.compile(r"\b(?:it|that|this|there|them|those|these)\b")
_IDIOM = re.compile(
    r"(?:can't|cannot|couldn't) (?:wait|help|believe)|no (?:matter|problem|worries|doubt)|not only"
)
"""What denies nothing."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """A statement as the cues see it: its text, its content words, and those of each sentence.

    ``enough`` is how many content words make a subject: more where each is a single character.
    """

    text: str
    content: frozenset[str]
    sentences: tuple[tuple[str, frozenset[str]], ...]
    enough: int

    @property
    def denies(self) -> bool:
        """Whether anything in it is negated."""
        return cues.NEGATION.search(self.text) is not None


def local_decide(pair: Pair) -> Decision:
    """The operation for a pair; deterministic, the explanation names what decided."""
    if pair.similarity < FLOOR:
        return _append(pair, "too little alike")
    if not _one_subject(pair):
        return _append(pair, "about different people")
    older, newer = _read(pair.older), _read(pair.newer)
    found = next(_by_cue(older, newer), None)
    if found is None and pair.similarity >= HOLDING_FLOOR:
        found = _by_holding(older, newer)
    if found is None:
        return _append(pair, "no cue, and neither holds the other")
    return Decision(pair=pair, operation=found[0], explanation=found[1])


def _append(pair: Pair, why: str) -> Decision:
    return Decision(pair=pair, operation=Operation.APPEND, explanation=why)


def _read(memory: Memory | NewMemory) -> _Reading:
    said = _IDIOM.sub("", cues.normal(without_attribution(memory.text)))
    common = content_words(" ".join(memory.speakers)) | _VAGUE | _ROLES
    pieces = tuple((said[a:b], content_words(said[a:b]) - common) for a, b in sentences(said))
    whole = frozenset[str]().union(*(about for _, about in pieces))
    return _Reading(said, whole, pieces, 4 if is_unspaced(said) else 2)


def _one_subject(pair: Pair) -> bool:
    older, newer = set(pair.older.speakers), set(pair.newer.speakers)
    return older == newer or not older or not newer


_Found = tuple[Operation, str]


def _by_cue(older: _Reading, newer: _Reading) -> Iterator[_Found]:
    """An end or a change, in a sentence that speaks of what the older statement speaks of."""
    for text, about in newer.sentences:
        shared = about & older.content
        if len(shared) < newer.enough:
            continue
        named = dict.fromkeys(word for word in words(text) if content_words(word) & shared)
        mention = f"both mention {', '.join(list(named)[:4])}"
        if _passing(older) and (ended := _fresh(_ENDED, older, text)):
            yield Operation.DELETE, f"over, “{ended}”; {mention}"
        if changed := _fresh(cues.NO_LONGER, older, text) or _fresh(cues.CHANGE, older, text):
            yield Operation.CHANGE, f"a change, “{changed}”; {mention}"
        if older.denies != newer.denies and _same(older, text, about):
            yield Operation.CHANGE, f"denied on one side; {mention}"


def _passing(older: _Reading) -> bool:
    """Whether a statement is about something that comes to an end."""
    return any(p.search(older.text) for p in (_PASSING, cues.DESIRE, cues.HINDRANCE))


def _fresh(pattern: re.Pattern[str], older: _Reading, text: str) -> str | None:
    """The cue in a text, if its clause is about what the older statement is about.

    Not one that is denied there, or like one that the older statement shows.
    """
    if pattern.search(older.text):
        return None
    for match in pattern.finditer(text):
        idle = match[0] in _WEAK_CHANGES or cues.denied(text, match.start())
        if not idle and _tied(older, _clause(text, match)):
            return match[0].strip()
    return None


def _clause(text: str, match: re.Match[str]) -> str:
    """The clause of a sentence in which a cue stands."""
    before = cues.CLAUSE.split(text[: match.start()])[-1]
    return before + match[0] + cues.CLAUSE.split(text[match.end() :])[0]


def _tied(older: _Reading, clause: str) -> bool:
    """Whether a clause speaks of what the older statement speaks of, or points back to it."""
    return bool(content_words(clause) & older.content) or _POINTING.search(clause) is not None


def _same(older: _Reading, text: str, about: frozenset[str]) -> bool:
    """Whether a sentence says what a sentence of the older statement says, but for a denial."""
    denied = cues.NEGATION.search(text) is not None
    return any(
        min(containment(about, earlier), containment(earlier, about)) >= ALIKE
        and denied != (cues.NEGATION.search(said) is not None)
        for said, earlier in older.sentences
    )


def _by_holding(older: _Reading, newer: _Reading) -> _Found | None:
    """One statement that says all that the other says, with the same denial.

    Not where one names a time: "next month" is another month each time that it is said.
    """
    enough = max(older.enough, newer.enough)
    if older.denies != newer.denies or min(len(older.content), len(newer.content)) < enough:
        return None
    if cues.TIME.search(older.text) or cues.TIME.search(newer.text):
        return None
    if containment(newer.content, older.content) >= HELD:
        return Operation.PASS, "the older one says all of it"
    if containment(older.content, newer.content) >= HELD:
        return Operation.REPLACE, "the newer one says all of it and more"
    return None
