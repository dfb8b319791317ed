"""The results of a TeaFarm run, question by question, for terminals and failed tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from theanine_bench.metrics.evidence import EVIDENCE
from theanine_bench.samples import ANSWER, SampleResult
from theanine_bench.statistics.intervals import Interval, mean_interval
from theanine_bench.targets.external import EXTERNAL
from theanine_bench.teafarm.metrics import SUCCESS, SUCCESS_BY_PAPER, SUCCESS_BY_RULE

MAX_GROUPS = 12
"""Results are only grouped by values of which there are at most this many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportLine:
    """Success over some of the questions.

    Attributes:
        success: over the questions with a verdict; None if there are none. A judged reply that
            leaves the question open is incorrect.
        success_by_paper: the same by the paper's rule, which leaves open answers to the judge; None
            where phrases decided.
        unanswered: questions that the agent failed to answer; they count as incorrect.
        unjudged: questions that the judge failed on; they are not in ``success``.
    """

    name: str
    success: Interval | None
    success_by_paper: Interval | None
    unanswered: int
    unjudged: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Report:
    """A TeaFarm run.

    Attributes:
        total: how many questions the run has, finished or not.
        folder: the run's folder.
        method: the target's id.
    """

    results: Sequence[SampleResult]
    total: int
    folder: str = ""
    method: str = ""

    @property
    def success(self) -> float:
        """The share of all questions answered correctly; unanswered and unjudged ones count as 0.

        Raises ValueError without questions.
        """
        if not self.total:
            raise ValueError("the run has no questions, so there is no share of correct answers")
        return sum(result.scores.get(self._metric, 0.0) for result in self.results) / self.total

    @property
    def success_by_paper(self) -> float | None:
        """:attr:`success` by the paper's rule, which leaves open answers to the judge.

        None where phrases decided.
        """
        scores = [r.scores[SUCCESS_BY_PAPER] for r in self.results if SUCCESS_BY_PAPER in r.scores]
        return sum(scores) / self.total if scores else None

    @property
    def by_rule(self) -> bool:
        """Whether phrases decided instead of a judge."""
        return any(SUCCESS_BY_RULE in result.scores for result in self.results)

    @property
    def incorrect(self) -> list[SampleResult]:
        """The questions answered incorrectly or not at all."""
        return [result for result in self.results if result.scores.get(self._metric) == 0]

    @property
    def errors(self) -> list[SampleResult]:
        """The questions on which the agent or the judge failed."""
        return [result for result in self.results if result.failures]

    @property
    def lines(self) -> list[ReportLine]:
        """Success over all questions, then by data set and by asker where these differ."""
        lines = [self._line("all", self.results)]
        for key in (_data_set, _asker):
            groups = self._group_by(key)
            groups.pop("", None)
            if 1 < len(groups) <= MAX_GROUPS:
                lines += [self._line(name, group) for name, group in groups.items()]
        return lines

    @property
    def data_sets(self) -> list[ReportLine]:
        """Success by data set and over all (``Avg.``); empty if a question names no data set."""
        groups = self._group_by(_data_set)
        if not groups or "" in groups:
            return []
        lines = [self._line(name, group) for name, group in groups.items()]
        return [*lines, self._line("Avg.", self.results)] if len(lines) > 1 else lines

    @property
    def heading(self) -> str:
        """The number of correct answers, in words."""
        by = " (by rule: no judge read the replies)" if self.by_rule else ""
        if (by_paper := self.success_by_paper) is not None:
            count = round(by_paper * self.total)
            by = f", open answers counted as incorrect; {count} by the paper's rule"
        correct = round(self.success * self.total)
        return f"{correct} of {self.total} questions answered correctly{by}"

    @property
    def _metric(self) -> str:
        return SUCCESS_BY_RULE if self.by_rule else SUCCESS

    def _group_by(self, key: Callable[[SampleResult], str]) -> dict[str, list[SampleResult]]:
        groups: dict[str, list[SampleResult]] = {}
        for result in sorted(self.results, key=key):
            groups.setdefault(key(result), []).append(result)
        return groups

    def _line(self, name: str, results: Sequence[SampleResult]) -> ReportLine:
        return ReportLine(
            name=name,
            success=_interval(results, self._metric),
            success_by_paper=_interval(results, SUCCESS_BY_PAPER),
            unanswered=sum(ANSWER in result.failures for result in results),
            unjudged=sum(bool(set(result.failures) - {ANSWER}) for result in results),
        )

    def __repr__(self) -> str:
        return f"<TeaFarm: {self.heading}>"

    def __str__(self) -> str:
        lines = [self.heading]
        for result in {r.id: r for r in (*self.incorrect, *self.errors)}.values():
            lines += ["", *describe_result(result, external=self.method == EXTERNAL)]
        return "\n".join([*lines, *([f"\n{self.folder}"] if self.folder else [])])


def describe_result(
    result: SampleResult, *, external: bool = False, max_recalled: int = 3
) -> Iterator[str]:
    """Yield lines about a question: reply, right answer, verdict, evidence, what was recalled.

    ``external`` is for an agent whose recollections are unknown.
    """
    yield f"[{result.id}] {result.extra.get('asks', '')} asked {result.speaker}: {result.question}"
    if result.extra.get("assumes"):
        yield f"  falsely assumed: {result.extra['assumes']}"
    yield f"  right answer: {result.reference}"
    if result.answer is not None:
        yield f"  {result.speaker} said: {' '.join(result.answer.split())}"
    for name, verdict in result.verdicts.items():
        by_paper = verdict.get("by_paper", verdict.get("verdict"))
        rule = "" if by_paper == verdict.get("verdict") else f" ({by_paper} by the paper's rule)"
        yield f"  {verdict.get('verdict', name)}{rule}: {verdict.get('reason', '')}"
    for name, reason in result.failures.items():
        yield f"  failed ({name}): {reason}"
    for turn in result.extra.get("evidence", ()):
        yield f"  evidence: {_format_evidence(turn)}"
    if EVIDENCE in result.scores:
        yield f"  {result.scores[EVIDENCE]:.0%} of the evidence was recalled"
    yield from _describe_recalled(result.recalled, max_recalled)
    if result.answer is not None and not result.recalled and not external:
        yield "  nothing was recalled"


def _describe_recalled(parts: Sequence[Mapping[str, Any]], max_recalled: int) -> Iterator[str]:
    for part in parts[:max_recalled]:
        yield f"  recalled: {_shorten(part['text'])}"
        for turn in part["sources"][:max_recalled]:
            yield (
                f"    from turn {turn['turn']} of session {turn['session']}, {turn['speaker']}: "
                f"{_shorten(turn['text'])}"
            )
    if len(parts) > max_recalled:
        yield f"  and {len(parts) - max_recalled} more recalled"


def _interval(results: Sequence[SampleResult], metric: str) -> Interval | None:
    values = [result.scores[metric] for result in results if metric in result.scores]
    return mean_interval(values, binary=True) if values else None


def _data_set(result: SampleResult) -> str:
    return result.category


def _asker(result: SampleResult) -> str:
    asker = result.extra.get("asks", "")
    return f"{asker} asks" if asker else ""


def _format_evidence(turn: Mapping[str, Any]) -> str:
    if not turn.get("speaker"):
        return str(turn["text"])
    return f"{turn['session']}, turn {turn['turn']}, {turn['speaker']}: {turn['text']}"


def _shorten(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 160 else f"{flat[:160].rstrip()}…"
