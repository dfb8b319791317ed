"""Summarize without a language model: quote what discloses something about its speaker.

Extractive: a memory is ``Ana said on 8 May 2023: “her own words”``, and nothing else is added.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from theanine.text import cues
from theanine.text.formatting import NO_MODEL_NOTICE
from theanine.text.words import (
    FUNCTION_WORDS,
    format_date,
    is_unspaced,
    sentences,
    words,
)
from theanine.types import NewMemory, Turn

KEEP_TURN = 2.6
"""A turn is remembered when its best sentence scores this much."""
KEEP_SENTENCE = 1.6
"""In a remembered turn, a sentence is quoted when it scores this much."""
LONGEST_QUOTE = 400
"""Characters of quoted words in one memory; a longer turn gives several."""
_FRAME = re.compile(r"(?s).{1,200}? (?:said|shared)(?: on \d{1,2} [A-Z][a-z]+ \d{1,4})?: (.+)")
MOST_PER_TURN = 8
"""Memories that one turn may give: the best-scoring ones."""

_ENGLISH = frozenset(
    "the and i i'm i've to of is it it's my you that with this your we for have was are".split()
)
_QUESTION = re.compile(r"[?？؟\u037e][\"'”’)\]」』]*$")
_NAMED = re.compile(r"(?<=[a-z,;:] )[A-Z]\w+|[\"“]\w")
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class _Sentence:
    start: int
    end: int
    score: float


def only_repeats(turn: Turn) -> bool:
    """Whether an agent's turn may only repeat what was recalled, or says that there is no model."""
    return turn.role == "assistant" and (bool(turn.recalled) or NO_MODEL_NOTICE in turn.text)


def local_summarize(turns: Sequence[Turn], *, dated: bool = True) -> list[NewMemory]:
    """Memories of one session, in the order of its turns; the same turns give the same memories.

    An agent's turn that had memories in front of it is never remembered: it may only repeat them.
    ``dated=False`` leaves dates out of the text.
    """
    made: list[NewMemory] = []
    asked_by: str | None = None
    seen: set[tuple[str, str]] = set()
    for turn in turns:
        said = (turn.speaker, turn.full_text)
        if not only_repeats(turn) and said not in seen:
            seen.add(said)
            made += _of_turn(turn, asked_by not in (None, turn.speaker), dated)
        asked_by = turn.speaker if _QUESTION.search(turn.text.rstrip()) else None
    return made


def _of_turn(turn: Turn, answers: bool, dated: bool) -> Iterator[NewMemory]:
    scored = _scored(turn.text, answers)
    best = max((sentence.score for sentence in scored), default=0.0)
    if turn.attachment:
        best += 1.0  # what is shown says more than the words beside it
    if best < KEEP_TURN and not (turn.attachment and not turn.text.strip()):
        return
    kept = [sentence for sentence in scored if sentence.score >= KEEP_SENTENCE]
    for position, chunk in enumerate(_chunks(kept) or [[]]):
        quote = _quoted(turn.text, chunk)
        shared = turn.attachment[:LONGEST_QUOTE].strip() if position == 0 else ""
        if quote or shared:
            yield _memory(turn, quote, shared, dated)


def _memory(turn: Turn, quote: str, shared: str, dated: bool) -> NewMemory:
    verb = "said" if quote else "shared"
    on = f" on {format_date(turn.at)}" if dated else ""
    what = f"{quote} (shares {shared})" if quote and shared else quote or shared
    return NewMemory(
        text=f"{turn.speaker} {verb}{on}: {what}",
        at=turn.at,
        source_turns=(turn.id,),
        speakers=(turn.speaker,),
    )


def _scored(text: str, answers: bool) -> list[_Sentence]:
    spans = list(sentences(text))
    score = _english_score if _is_english(text) else _plain_score
    bonus = 0.8 if answers else 0.0
    return [_Sentence(a, b, score(text[a:b]) + bonus) for a, b in spans]


def _is_english(text: str) -> bool:
    found = words(text[:2_000])
    return 8 * sum(word in _ENGLISH for word in found) >= len(found) > 0


def _english_score(sentence: str) -> float:
    """How much an English sentence discloses, from its wording; about 0 to 8."""
    text = cues.normal(sentence)
    score = 0.4 * min(8, sum(word not in FUNCTION_WORDS for word in words(text)))
    score += 2.0 * bool(cues.FIRST_PERSON.search(text))
    score += 1.0 * bool(_DIGIT.search(text))
    score += 0.8 * bool(cues.TIME.search(text))
    score += 0.7 * bool(_NAMED.search(sentence))
    score += 0.4 * bool(cues.DESIRE.search(text))
    score += 0.3 * bool(cues.CHANGE.search(text))
    score -= 1.2 * bool(cues.SECOND_PERSON.search(text))
    score -= 1.0 * bool(cues.COURTESY.match(text))
    return score - 2.0 * bool(_QUESTION.search(text))


def _plain_score(sentence: str) -> float:
    """The same for any other language, from form alone: length, figures, question mark."""
    weight = 0.3 if is_unspaced(sentence) else 0.4
    score = weight * min(12, len(words(sentence)))
    return score + bool(_DIGIT.search(sentence)) - 2.0 * bool(_QUESTION.search(sentence))


def _chunks(kept: Sequence[_Sentence]) -> list[list[_Sentence]]:
    """Sentences in runs of at most ``LONGEST_QUOTE`` characters; the best runs, in order."""
    runs: list[list[_Sentence]] = []
    for sentence in kept:
        if runs and sentence.end - runs[-1][0].start <= LONGEST_QUOTE:
            runs[-1].append(sentence)
        else:
            runs.append([sentence])
    if len(runs) <= MOST_PER_TURN:
        return runs
    ranked = sorted(range(len(runs)), key=lambda i: (-max(s.score for s in runs[i]), i))
    return [runs[i] for i in sorted(ranked[:MOST_PER_TURN])]


def _quoted(text: str, chunk: Sequence[_Sentence]) -> str:
    """The sentences verbatim, neighbours in one pair of quotation marks, gaps shown by ``…``."""
    spans: list[tuple[int, int]] = []
    for sentence in chunk:
        if spans and not text[spans[-1][1] : sentence.start].strip():
            spans[-1] = (spans[-1][0], sentence.end)
        else:
            spans.append((sentence.start, sentence.end))
    return " … ".join(f"“{_clipped(text[a:b])}”" for a, b in spans)


def _clipped(quote: str) -> str:
    if len(quote) <= LONGEST_QUOTE:
        return quote
    cut = quote[:LONGEST_QUOTE]
    return cut[: cut.rfind(" ")] if " " in cut[LONGEST_QUOTE // 2 :] else cut


def without_attribution(text: str) -> str:
    """What a local memory quotes, without who said it and when; any other text as it is."""
    frame = _FRAME.fullmatch(text)
    return frame[1] if frame else text
