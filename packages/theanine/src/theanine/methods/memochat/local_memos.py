"""Memos without a language model: the local segments, their most telling words, their best quotes.

Extractive: a topic is made of words of the segment, a summary of quotes from it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from theanine.methods.memochat.memos import Memo
from theanine.segmentation.segments import Span
from theanine.summarization import local_summarize, repeats_memories
from theanine.text.attribution import attribute_quote, without_attribution
from theanine.text.cues import COURTESY
from theanine.text.words import FUNCTION_WORDS, content_words, is_unspaced, stem
from theanine.types import Turn

TOPIC_WORDS = 4
LONGEST_OPENING = 40
"""Characters of a topic where no word tells anything."""
QUOTES = 2
"""Quotes in one summary at most."""
UNSPACED_TOPIC = 16
"""Characters of a topic in a script that writes no spaces."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def local_memos(
    turns: Sequence[Turn],
    spans: Sequence[Span],
) -> list[Memo]:
    """A memo for each span of turns (first and last, from 0), in order.

    None for a span without words, nor for one in which an agent only repeats what it recalled.
    """
    pieces = [(span, telling(turns[span[0] : span[1] + 1])) for span in spans]
    spread = Counter(word for _, piece in pieces for word in content_words(_text(piece)))
    return [
        Memo(
            topic=local_topic(piece, spread),
            summary=local_summary(piece),
            first=span[0],
            last=span[1],
        )
        for span, piece in pieces
        if piece
    ]


def telling(turns: Sequence[Turn]) -> list[Turn]:
    """The turns with words of their own: not blank, and no agent's that only repeats a memory."""
    return [turn for turn in turns if turn.full_text.strip() and not repeats_memories(turn)]


def local_topic(turns: Sequence[Turn], spread: Counter[str]) -> str:
    """The segment's most telling words: said often in it, and in few of the session's segments.

    ``spread`` counts the segments of the session that each word's stem is in.
    """
    text = _text(turns)
    if is_unspaced(text):
        return _opening(turns, UNSPACED_TOPIC)
    names = content_words(" ".join(turn.speaker for turn in turns))
    shown: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for match in _WORD.finditer(text):
        word = match[0].lower().replace("’", "'")
        root = stem(word)
        if _tells(word) and root not in names:
            counts[root] += 1
            shown.setdefault(root, match[0])
    segments = max(spread.values(), default=0)
    weight = {
        root: n * math.log1p((1 + segments) / (1 + spread[root])) for root, n in counts.items()
    }
    best = sorted(weight, key=lambda root: -weight[root])[:TOPIC_WORDS]
    return " · ".join(shown[root] for root in best) or _opening(turns, LONGEST_OPENING)


def local_summary(
    turns: Sequence[Turn],
) -> str:
    """The quotes that say most of what the turns are about; else the turn with most to say.

    ``turns`` are at least one, each with words.
    """
    made = local_summarize(turns)
    if not made:
        return attribute_quote(_fullest(turns))
    about = Counter(word for turn in turns for word in content_words(turn.full_text))
    weight = [
        sum(about[word] for word in content_words(without_attribution(one.text))) for one in made
    ]
    best = sorted(range(len(made)), key=lambda place: -weight[place])[:QUOTES]
    return " ".join(made[place].text for place in sorted(best))


def _tells(word: str) -> bool:
    return len(word) > 2 and word not in FUNCTION_WORDS and not COURTESY.match(word)


def _text(turns: Sequence[Turn]) -> str:
    return " ".join(turn.full_text.strip() for turn in turns).strip()


def _opening(turns: Sequence[Turn], most: int) -> str:
    words = " ".join(_fullest(turns).full_text.split())
    return words if len(words) <= most else f"{words[:most].rstrip()}…"


def _fullest(turns: Sequence[Turn]) -> Turn:
    """The turn with most words that tell something; of equal ones the longest, then the first."""
    return max(
        turns, key=lambda turn: (len(content_words(turn.full_text)), len(turn.full_text.strip()))
    )
