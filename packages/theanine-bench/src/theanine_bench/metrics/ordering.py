"""Whether an answer puts events in their order: Kendall's tau-b, as BEAM scores such questions.

Source: Tavakoli et al., Beyond a Million Tokens (2025), and ``event_ordering_score`` of BEAM's
``evaluation.py``. Each event of an answer is aligned with one of the points in their true order, or
with none. What only one side names is ranked after everything on the other, in a tie.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from theanine.llm.chat import ScopedChat
from theanine.text.words import content_words, sentences
from theanine_bench.samples import SampleResult, Score

ORDER = "order:words"
MIN_SIMILARITY = 0.2
"""From what share of words in common (Dice) an event is a point: it is a title of few words."""
_NUMBER = re.compile(r"(?<!\S)\(?(\d{1,2})[.)]\s+")
_BULLET = re.compile(r"\s*[-*•]\s+")


def kendall_tau_b(one: Sequence[float], other: Sequence[float]) -> float | None:
    """How far two rankings of the same things agree, -1 to 1, with ties; SciPy's ``kendalltau``.

    None where one of them ranks nothing above anything else. Raises ValueError where they are not
    of one length.
    """
    pairs = combinations(zip(one, other, strict=True), 2)
    signs = [(_sign(a, c), _sign(b, d)) for (a, b), (c, d) in pairs]
    told = math.prod(sum(1 for pair in signs if pair[side]) for side in (0, 1))
    return sum(a * b for a, b in signs) / math.sqrt(told) if told else None


def order_score(points: int, events: Sequence[int | None]) -> float:
    """Tau-b of an answer's order and the true one, from 0 (reversed) to 1, as BEAM reports it.

    ``events`` are the answer's in its order: the number of the point that each is, from 0 and each
    once, or None for what is none. 0 where the answer gives no order at all.
    """
    strangers = iter(range(points, points + len(events)))
    said = [next(strangers) if event is None else event for event in events]
    things = [*range(points), *(one for one in said if one >= points)]
    last = len(things) + 1
    places = {one: place for place, one in enumerate(said, 1)}
    truth = [one + 1 if one < points else last for one in things]
    tau = kendall_tau_b(truth, [places.get(one, last) for one in things])
    return 0.0 if tau is None else (tau + 1) / 2


def event_f1(points: int, events: Sequence[int | None]) -> float:
    """F1 of the points that the answer has among its events, whatever their order."""
    found = sum(event is not None for event in events)
    return 2 * found / (points + len(events)) if found else 0.0


def split_events(answer: str) -> list[str]:
    """What an answer lists: its numbered parts, else its lines, else its sentences.

    Words before the first number, and a first line that ends with a colon, announce the list.
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
    return [answer[start:end] for start, end in sentences(answer)]


def align(points: Sequence[str], events: Sequence[str]) -> list[int | None]:
    """The point that each event is by the words that they share, the likest pairs first."""
    wanted, said = list(map(content_words, points)), list(map(content_words, events))
    alike = [
        (2 * len(a & b) / max(1, len(a) + len(b)), -e, -p)
        for e, a in enumerate(said)
        for p, b in enumerate(wanted)
    ]
    aligned: list[int | None] = [None] * len(events)
    for share, event, point in sorted(alike, reverse=True):
        if share >= MIN_SIMILARITY and aligned[-event] is None and -point not in aligned:
            aligned[-event] = -point
    return aligned


@dataclass(frozen=True, slots=True)
class OrderByWords:
    """The order of the answer's events, aligned by their words: the local version, asks nobody.

    ``order:words`` is :func:`order_score` and ``order:words/found`` :func:`found_score`. Only
    questions of order have them, whose ``extra["ordered"]`` is true and whose rubric is the order.
    """

    name: str = ORDER
    needs_judge: bool = False
    worst: Mapping[str, float] = field(default_factory=lambda: {ORDER: 0.0, f"{ORDER}/found": 0.0})

    async def score(self, result: SampleResult, judge: ScopedChat | None = None) -> Score:
        """Both values, or none for another question."""
        points = [str(point) for point in result.extra.get("rubric") or ()]
        if not points or not result.extra.get("ordered"):
            return Score(values={})
        events = align(points, split_events(result.answer or ""))
        scores = (order_score(len(points), events), event_f1(len(points), events))
        return Score(values=dict(zip(self.worst, scores, strict=True)))


def _sign(a: float, b: float) -> int:
    return (a > b) - (a < b)
