"""Write memos of a session: topic, summary and run of turns, by the model or locally.

Source: the paper's memorization stage.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.bounds import ReplyBounds, number_between
from theanine.llm.prompt import load_prompt
from theanine.quotes import without_attribution
from theanine.summarization import local_summarize, repeats_memories
from theanine.text.attribution import attribute_quote
from theanine.text.cues import COURTESY
from theanine.text.numbering import Line, ask_windows, most_notes
from theanine.text.words import FUNCTION_WORDS, content_words, is_unspaced, stem
from theanine.types import Turn
from theanine_methods.segmentation import Span

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

TOPIC_LIMIT = 120
"""Maximum characters of a topic; the prompt asks for 8 words."""
SUMMARY_LIMIT = 600
"""Maximum characters of a summary; the prompt asks for 60 words."""

LOCAL_TOPIC_WORDS = 4
LOCAL_TOPIC_LIMIT = 40
"""Characters of a local topic that is the beginning of a turn."""
UNSPACED_TOPIC_LIMIT = 16
"""The same in a script without spaces."""
LOCAL_QUOTES = 2
"""Maximum quotes in a local summary."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


class MemoOfTurns(BaseModel):
    """One memo of the model's reply; turns are numbered from 1."""

    topic: str = Field(description="what the run is about, in a few words")
    summary: str = Field(description="what was said about it")
    first: int = Field(description="number of its first turn")
    last: int = Field(description="number of its last turn")


class MemosOfSession(BaseModel):
    """The model's reply for one window of a session."""

    memos: list[MemoOfTurns]


MEMOS = load_prompt("theanine_methods.memochat", "memos", 1, MemosOfSession)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memo:
    """Topic and summary of a run of turns; ``first`` and ``last`` are positions from 0."""

    topic: str
    summary: str
    first: int
    last: int


async def write_memos(turns: Sequence[Turn], chat: ScopedChat) -> list[Memo]:
    """Return the model's memos of a session, in order; small talk may be in none.

    A very long session is shown in windows. Raises ModelError when the model fails.
    """
    replies = await ask_windows(MEMOS, turns, chat, _fault, _bounds)
    return [
        Memo(
            topic=" ".join(memo.topic.split()),
            summary=" ".join(memo.summary.split()),
            first=memo.first - 1,
            last=memo.last - 1,
        )
        for reply in replies
        for memo in sorted(reply.memos, key=lambda memo: memo.first)
    ]


def uncovered_turns(turns: Sequence[Turn], memos: Sequence[Memo]) -> list[Turn]:
    """Return the turns with text that no memo covers, in order."""
    covered = {position for memo in memos for position in range(memo.first, memo.last + 1)}
    return [
        turn
        for position, turn in enumerate(turns)
        if position not in covered and turn.full_text.strip()
    ]


def _bounds(window: Sequence[Line]) -> ReplyBounds:
    most = most_notes(window)
    number = number_between(window[0].number, window[-1].number)
    return ReplyBounds(
        50 + 140 * most,
        {
            "memos": {"maxItems": most},
            "memos[].topic": {"minLength": 1, "maxLength": TOPIC_LIMIT},
            "memos[].summary": {"minLength": 1, "maxLength": SUMMARY_LIMIT},
            "memos[].first": number,
            "memos[].last": number,
        },
    )


def _fault(window: Sequence[Line], reply: MemosOfSession) -> str | None:
    lowest, highest = window[0].number, window[-1].number
    last = lowest - 1
    for memo in sorted(reply.memos, key=lambda memo: memo.first):
        span = f"the memo of turns {memo.first} to {memo.last}"
        if memo.last < memo.first:
            return f"{span} ends before it begins"
        if memo.first < lowest or memo.last > highest:
            return f"{span} passes the turns shown, {lowest} to {highest}"
        for name, text, limit in (
            ("topic", memo.topic, TOPIC_LIMIT),
            ("summary", memo.summary, SUMMARY_LIMIT),
        ):
            if not text.strip():
                return f"{span} has an empty {name}"
            if len(text) > limit:
                return f"the {name} of {span} is too long, keep it under {limit} characters"
        if memo.first <= last:
            return f"turn {memo.first} is in two memos; give each turn to one at most"
        last = memo.last
    return None


def local_write_memos(turns: Sequence[Turn], spans: Sequence[Span]) -> list[Memo]:
    """Return a memo for each span of turns (first and last, from 0), in order.

    Spans without a turn that :func:`informative_turns` keeps have none.
    """
    segments = [(span, informative_turns(turns[span[0] : span[1] + 1])) for span in spans]
    segment_counts = Counter(
        word for _, segment in segments for word in content_words(_text(segment))
    )
    return [
        Memo(
            topic=local_topic(segment, segment_counts),
            summary=local_summary(segment),
            first=span[0],
            last=span[1],
        )
        for span, segment in segments
        if segment
    ]


def informative_turns(turns: Sequence[Turn]) -> list[Turn]:
    """Drop turns without text, and the assistant's that only repeat memories."""
    return [turn for turn in turns if turn.full_text.strip() and not repeats_memories(turn)]


def local_topic(turns: Sequence[Turn], segment_counts: Counter[str]) -> str:
    """Return the segment's words of highest TF-IDF over the session's segments.

    ``segment_counts`` counts the segments with each stem. Without such a word, or in a script
    without spaces, the beginning of the longest turn is the topic.
    """
    text = _text(turns)
    if is_unspaced(text):
        return _opening(turns, UNSPACED_TOPIC_LIMIT)
    names = content_words(" ".join(turn.speaker for turn in turns))
    surface: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for match in _WORD.finditer(text):
        word = match[0].lower().replace("’", "'")
        root = stem(word)
        informative = len(word) > 2 and word not in FUNCTION_WORDS and not COURTESY.match(word)
        if informative and root not in names:
            counts[root] += 1
            surface.setdefault(root, match[0])
    segments = max(segment_counts.values(), default=0)
    weights = {
        root: count * math.log1p((1 + segments) / (1 + segment_counts[root]))
        for root, count in counts.items()
    }
    best = sorted(weights, key=lambda root: -weights[root])[:LOCAL_TOPIC_WORDS]
    return " · ".join(surface[root] for root in best) or _opening(turns, LOCAL_TOPIC_LIMIT)


def local_summary(turns: Sequence[Turn]) -> str:
    """Quote the disclosures with the most frequent words of the turns, or else the longest turn.

    ``turns`` must not be empty.
    """
    quotes = local_summarize(turns)
    if not quotes:
        return attribute_quote(_longest(turns))
    counts = Counter(word for turn in turns for word in content_words(turn.full_text))
    weights = [
        sum(counts[word] for word in content_words(without_attribution(quote.text)))
        for quote in quotes
    ]
    best = sorted(range(len(quotes)), key=lambda i: -weights[i])[:LOCAL_QUOTES]
    return " ".join(quotes[i].text for i in sorted(best))


def _text(turns: Sequence[Turn]) -> str:
    return " ".join(turn.full_text.strip() for turn in turns).strip()


def _opening(turns: Sequence[Turn], limit: int) -> str:
    text = " ".join(_longest(turns).full_text.split())
    return text if len(text) <= limit else f"{text[:limit].rstrip()}…"


def _longest(turns: Sequence[Turn]) -> Turn:
    """Return the turn with the most content words; of equal ones the longest, then the first."""
    return max(
        turns, key=lambda turn: (len(content_words(turn.full_text)), len(turn.full_text.strip()))
    )
