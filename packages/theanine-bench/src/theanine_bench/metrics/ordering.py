"""Event-ordering metrics by Kendall's tau-b, as BEAM scores such questions.

Source: Tavakoli et al., Beyond a Million Tokens (2025), and ``event_ordering_score`` of BEAM's
``evaluation.py``. Each event of an answer is aligned with one of the points in their true order, or
with none. What only one side names is ranked after everything on the other, in a tie.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from theanine.llm.chat import ScopedChat
from theanine.sentences import sentence_spans
from theanine.text.words import content_words
from theanine_bench.metrics.optional_imports import library
from theanine_bench.samples import SampleResult, Score

ORDER = "order:words"
MIN_SIMILARITY = 0.2
"""Minimum Dice similarity of an event and a point; points are titles of few words."""
_NUMBER = re.compile(r"(?<!\S)\(?(\d{1,2})[.)]\s+")
_BULLET = re.compile(r"\s*[-*•]\s+")


def kendall_tau_b(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return SciPy's Kendall tau-b of two rankings of the same things, -1 to 1.

    None if one of them ranks nothing above anything else. Raises ValueError for rankings of
    different lengths.
    """
    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return float(library("scipy.stats").kendalltau(first, second, variant="b").statistic)


def order_score(points: int, events: Sequence[int | None]) -> float:
    """Return (tau-b + 1) / 2 of an answer's order and the true one, 0 (reversed) to 1, as BEAM.

    ``events`` are the answer's in its order: the index of the point that each matches, each index
    at most once, or None. 0 if the answer gives no order.
    """
    unmatched = iter(range(points, points + len(events)))
    answered = [next(unmatched) if event is None else event for event in events]
    things = [*range(points), *(one for one in answered if one >= points)]
    last = len(things) + 1
    ranks = {thing: rank for rank, thing in enumerate(answered, 1)}
    truth = [thing + 1 if thing < points else last for thing in things]
    tau = kendall_tau_b(truth, [ranks.get(thing, last) for thing in things])
    return 0.0 if tau is None else (tau + 1) / 2


def event_f1(points: int, events: Sequence[int | None]) -> float:
    """Return the F1 of the points among the answer's events, in any order, 0 to 1."""
    matched = sum(event is not None for event in events)
    return 2 * matched / (points + len(events)) if matched else 0.0


def split_events(answer: str) -> list[str]:
    """Split an answer into its numbered parts, else its lines, else its sentences.

    Words before the first number and a first line that ends with a colon are left out.
    """
    starts = list(_NUMBER.finditer(answer))
    starts = [match for match in starts if int(match[1]) <= len(starts)]
    lines = [_BULLET.sub("", line, count=1).strip() for line in answer.splitlines()]
    lines = [line for line in lines if line]
    if len(starts) > 1:
        ends = [match.start() for match in starts[1:]] + [len(answer)]
        return [answer[m.end() : end].strip() for m, end in zip(starts, ends, strict=True)]
    if len(lines) > 1:
        return lines[1:] if lines[0].endswith(":") else lines
    return [answer[start:end] for start, end in sentence_spans(answer)]


def align(points: Sequence[str], events: Sequence[str]) -> list[int | None]:
    """Return the index of the point that each event matches by shared words, or None; greedily."""
    point_words = list(map(content_words, points))
    event_words = list(map(content_words, events))
    similarities = [
        (2 * len(a & b) / max(1, len(a) + len(b)), -e, -p)
        for e, a in enumerate(event_words)
        for p, b in enumerate(point_words)
    ]
    aligned: list[int | None] = [None] * len(events)
    for share, event, point in sorted(similarities, reverse=True):
        if share >= MIN_SIMILARITY and aligned[-event] is None and -point not in aligned:
            aligned[-event] = -point
    return aligned


@dataclass(frozen=True, slots=True)
class OrderByWords:
    """The order of the answer's events, aligned with the true ones by their words.

    ``order:words`` is :func:`order_score` and ``order:words/found`` :func:`found_score`. Only
    questions of order have them, whose ``extra["ordered"]`` is true and whose rubric is the order.
    """

    name: str = ORDER
    needs_judge: bool = False
    worst: Mapping[str, float] = field(default_factory=lambda: {ORDER: 0.0, f"{ORDER}/found": 0.0})

    async def score(self, result: SampleResult, judge: ScopedChat | None = None) -> Score:
        """Return both scores; none for other questions."""
        points = [str(point) for point in result.extra.get("rubric") or ()]
        if not points or not result.extra.get("ordered"):
            return Score(values={})
        events = align(points, split_events(result.answer or ""))
        scores = (order_score(len(points), events), event_f1(len(points), events))
        return Score(values=dict(zip(self.worst, scores, strict=True)))


METRICS = {ORDER: OrderByWords()}
