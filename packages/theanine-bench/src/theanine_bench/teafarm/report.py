"""What a run came to, question by question: for a terminal, and for a test that failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from theanine_bench.metrics.evidence import EVIDENCE
from theanine_bench.metrics.intervals import Interval, bootstrap_interval
from theanine_bench.samples import ANSWER, SampleResult
from theanine_bench.targets.external import EXTERNAL
from theanine_bench.teafarm.run import measure_of, success_of
from theanine_bench.teafarm.verdicts import RULED

SHOWN = 12
"""Groups of one kind that are told apart; more of them would be noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Success over some of the questions.

    Attributes:
        of: which ones.
        success: with its 95 % bootstrap interval, over those that have a verdict; None for none.
        unanswered: how many the agent failed to answer: they are in it, as wrong.
        unjudged: how many the judge failed on: they are not in it.
    """

    of: str
    success: Interval | None
    unanswered: int
    unjudged: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Report:
    """A run of TeaFarm.

    Attributes:
        items: what became of each question.
        total: how many questions there were to be asked.
        folder: where the run is kept.
        method: who was asked; of an agent from elsewhere nobody knows what it recalled.
    """

    items: Sequence[SampleResult]
    total: int
    folder: str = ""
    method: str = ""

    @property
    def success(self) -> float:
        """Right answers of all questions; what failed or is left counts as none."""
        return success_of(self.items, self.total)

    @property
    def ruled(self) -> bool:
        """Whether phrases decided, and no judge read the replies."""
        return measure_of(self.items) == RULED

    @property
    def fooled(self) -> list[SampleResult]:
        """The questions that were answered wrongly, or not at all."""
        name = measure_of(self.items)
        return [item for item in self.items if item.scores.get(name) == 0]

    @property
    def failed(self) -> list[SampleResult]:
        """The questions on which the agent or the judge failed."""
        return [item for item in self.items if item.failures]

    @property
    def lines(self) -> list[Line]:
        """All, by data set, and by who asks, where these differ."""
        lines = [self._line("all", self.items)]
        for key in (_data_set, _asks):
            names = sorted({key(item) for item in self.items} - {""})
            if 1 < len(names) <= SHOWN:
                lines += [self._line(n, [i for i in self.items if key(i) == n]) for n in names]
        return lines

    @property
    def sets(self) -> list[Line]:
        """Each data set where every question names one; of several also all, as ``Avg.``."""
        names = sorted({_data_set(item) for item in self.items})
        if not names or "" in names:
            return []
        lines = [self._line(n, [i for i in self.items if _data_set(i) == n]) for n in names]
        return [*lines, self._line("Avg.", self.items)] if len(lines) > 1 else lines

    def _line(self, of: str, items: Sequence[SampleResult]) -> Line:
        name = measure_of(self.items)
        values = [item.scores[name] for item in items if name in item.scores]
        return Line(
            of=of,
            success=bootstrap_interval(values) if values else None,
            unanswered=sum(ANSWER in item.failures for item in items),
            unjudged=sum(bool(set(item.failures) - {ANSWER}) for item in items),
        )

    @property
    def heading(self) -> str:
        """How many were answered rightly."""
        by = " (by rule: no judge read the replies)" if self.ruled else ""
        right = round(self.success * self.total)
        return f"{right} of {self.total} questions answered rightly{by}"

    def __repr__(self) -> str:
        return f"<TeaFarm: {self.heading}>"

    def __str__(self) -> str:
        told = [self.heading]
        for item in {item.id: item for item in (*self.fooled, *self.failed)}.values():
            told += ["", *story(item, outside=self.method == EXTERNAL)]
        return "\n".join([*told, *([f"\n{self.folder}"] if self.folder else [])])


def story(item: SampleResult, *, outside: bool = False, recalled: int = 3) -> Iterator[str]:
    """A question with what was said, what is right, why, and what was recalled for it."""
    yield f"[{item.id}] {item.extra.get('asks', '')} asked {item.speaker}: {item.question}"
    if item.extra.get("assumes"):
        yield f"  falsely assumed: {item.extra['assumes']}"
    yield f"  right answer: {item.reference}"
    if item.answer is not None:
        yield f"  {item.speaker} said: {' '.join(item.answer.split())}"
    for name, verdict in item.verdicts.items():
        yield f"  {verdict.get('verdict', name)}: {verdict.get('reason', '')}"
    for name, why in item.failures.items():
        yield f"  failed ({name}): {why}"
    for one in item.extra.get("evidence", ()):
        yield f"  evidence: {_evidence(one)}"
    if EVIDENCE in item.scores:
        yield f"  {item.scores[EVIDENCE]:.0%} of the evidence was recalled"
    for part in item.recalled[:recalled]:
        yield f"  recalled: {_short(part['text'])}"
        yield from (f"    from {_source(source)}" for source in part["sources"][:recalled])
    if len(item.recalled) > recalled:
        yield f"  and {len(item.recalled) - recalled} more recalled"
    if item.answer is not None and not item.recalled and not outside:
        yield "  nothing was recalled"


def _data_set(item: SampleResult) -> str:
    return item.category


def _asks(item: SampleResult) -> str:
    asks = item.extra.get("asks", "")
    return f"{asks} asks" if asks else ""


def _evidence(one: Mapping[str, Any]) -> str:
    if not one.get("speaker"):
        return str(one["text"])
    return f"{one['session']}, turn {one['turn']}, {one['speaker']}: {one['text']}"


def _source(one: Mapping[str, Any]) -> str:
    return (
        f"turn {one['turn']} of session {one['session']}, {one['speaker']}: {_short(one['text'])}"
    )


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 160 else f"{flat[:160].rstrip()}…"
