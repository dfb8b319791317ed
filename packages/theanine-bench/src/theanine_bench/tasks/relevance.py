"""The relevance bench: whether a method knows that it knows nothing.

A memory is asked its own questions, those of another history's memory with the speakers' names
replaced, and questions about matters that it never mentions. The method recalls with its own floor
and without one; what other floors would do is computed from the relevance of the latter's parts.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from statistics import fmean

from theanine.errors import BadInput, SettingsError
from theanine.methods.registry import open_method
from theanine.text.words import content_words, stem, words
from theanine.types import History, Turn
from theanine_bench.datasets.qa import read_qa
from theanine_bench.files import hash_files
from theanine_bench.metrics.registry import find_metrics
from theanine_bench.metrics.relevance import (
    OWN,
    area_under_curve,
    best_relevance,
    evidence_above,
    held_out_floors,
    lost_evidence,
)
from theanine_bench.runs.saved_run import SavedRun
from theanine_bench.runs.task import Task
from theanine_bench.samples import Group, Sample, SampleResult, Stage, limit_samples
from theanine_bench.statistics.intervals import mean_interval
from theanine_bench.targets.target import ClientTarget, Output, TargetContext, turns_by_key
from theanine_bench.tasks.export import ResultTable

BENCH = "relevance"
OTHERS = "another's"
UNMENTIONED = "never mentioned"
QUESTIONS = "unmentioned.toml"
FLOORS = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, *(n / 10 for n in range(2, 10)))
"""Floors of the table of the whole curve."""


def relevance_task(
    data: Mapping[str, Path], limit: int | None = None, *, joined: bool = False
) -> Task:
    """Return a task with a group for each history of some data sets, by name.

    The kinds of questions (``extra["kind"]``) are ``own``, with evidence in the history;
    ``another's`` and ``never mentioned``; and the categories that the set itself calls
    unanswerable. A sample's category is its data set and kind. ``limit`` is the most samples of a
    data set, evenly spaced. With ``joined``, all histories of a data set share one memory, which
    shows how the floor does in a large one; it has no questions of another's.

    Raises BadInput if a data set has no question with usable evidence.
    """
    groups: list[Group] = []
    for name, path in data.items():
        read = [group for group in read_qa(path) if group.samples]
        if not any(_is_own(sample) for group in read for sample in group.samples):
            raise BadInput("no question has evidence: nothing can be measured", str(path))
        if joined:
            read = [_join(read)]
        asked = [_ask(group, read, at, name) for at, group in enumerate(read)]
        groups += limit_samples(asked, limit)
    return Task(
        bench=BENCH,
        data=sha256(" ".join(map(hash_files, data.values())).encode()).hexdigest(),
        groups=groups,
        metrics=find_metrics(["relevance"])[0],
        corpus_metrics=find_metrics(["floor"])[1],
        target=RelevanceTarget,
    )


def _join(groups: Sequence[Group]) -> Group:
    """Return one group with the histories and questions of all, told apart by their keys."""
    histories: list[History] = []
    samples: list[Sample] = []
    for group in groups:
        for stage in group.stages:
            histories += [_prefix_keys(history, group.id) for history in stage.histories]
        for sample in group.samples:
            gold = [
                (session and f"{group.id}/{session}", _prefix_key(key, group.id))
                for session, key in sample.extra["gold"]
            ]
            samples.append(replace(sample, extra={**sample.extra, "gold": gold}))
    stage = Stage(histories=tuple(histories), samples=tuple(samples))
    dropped = sum((Counter(group.dropped) for group in groups), Counter[str]())
    return Group(id="joined", stages=(stage,), dropped=dropped)


def _prefix_keys(history: History, prefix: str) -> History:
    transcripts = [
        replace(
            transcript,
            key=f"{prefix}/{transcript.key}",
            turns=[
                replace(turn, key=turn.key and _prefix_key(turn.key, prefix))
                for turn in transcript.turns
            ],
        )
        for transcript in history.transcripts
    ]
    return replace(history, transcripts=tuple(transcripts))


def _prefix_key(key: str, prefix: str) -> str:
    """Return a turn's key with a prefix; a number in its session stays as it is."""
    return key if key.startswith("#") else f"{prefix}/{key}"


def _is_own(sample: Sample) -> bool:
    return bool(sample.extra["gold"]) and sample.extra["answerable"]


def _ask(group: Group, groups: Sequence[Group], at: int, data: str) -> Group:
    """Return a group with questions of each kind, all asked after everything is remembered."""
    histories = [history for stage in group.stages for history in stage.histories]
    first = group.samples[0].dialogue[-1]
    latest = replace(first, at=max(sample.dialogue[-1].at for sample in group.samples))
    speakers = _speakers(histories)
    samples = [
        _sample(one, data, OWN if _is_own(one) else one.category)
        for one in group.samples
        if _is_own(one) or not one.extra["answerable"]
    ]
    own_texts = {one.dialogue[-1].text.casefold() for one in group.samples}
    questions = [
        (OTHERS, f"of {id}", text)
        for id, text in _others_questions(groups, at, speakers)
        if text.casefold() not in own_texts
    ]
    questions += [
        (UNMENTIONED, str(number), text)
        for number, text in enumerate(_unmentioned(histories, speakers), 1)
    ]
    for kind, id, text in questions:
        one = Sample(id=f"{group.id}/{kind} {id}", dialogue=(replace(latest, text=text),))
        samples.append(_sample(one, data, kind))
    stage = Stage(histories=tuple(histories), samples=tuple(samples))
    return Group(id=f"{data}/{group.id}", stages=(stage,), dropped=group.dropped)


def _sample(one: Sample, data: str, kind: str) -> Sample:
    extra = {"data": data, "kind": kind, "gold": one.extra.get("gold", [])}
    return replace(one, id=f"{data}/{one.id}", category=f"{data}, {kind}", extra=extra)


def _speakers(histories: Iterable[History]) -> list[str]:
    """Return the people who speak, the most frequent first, or only ``I`` with an assistant."""
    turns = [turn for one in histories for t in one.transcripts for turn in t.turns]
    if any(turn.role == "assistant" for turn in turns):
        return ["I"]
    return [name for name, _ in Counter(turn.speaker for turn in turns).most_common()]


def _others_questions(
    groups: Sequence[Group], at: int, speakers: list[str]
) -> Iterator[tuple[str, str]]:
    """Yield id and text of other groups' own questions, with this group's names in them.

    The questions of each group are dealt out evenly among all others.
    """
    others = len(groups) - 1
    for offset in range(1, others + 1):
        group = groups[(at - offset) % len(groups)]
        names = _speakers(history for stage in group.stages for history in stage.histories)
        own = [sample for sample in group.samples if _is_own(sample)]
        for sample in own[offset - 1 :: others]:
            yield sample.id, _rename(sample.dialogue[-1].text, names, speakers)


def _rename(text: str, names: Sequence[str], speakers: list[str]) -> str:
    """Replace each name by the speaker at the same place of the other list."""
    new = dict(zip(names, speakers, strict=False))
    pattern = "|".join(rf"\b{re.escape(name)}\b" for name in sorted(new, key=len, reverse=True))
    return re.sub(pattern, lambda match: new[match[0]], text)


def _unmentioned(histories: Iterable[History], speakers: list[str]) -> list[str]:
    """Return the questions of the package whose matter no turn mentions, about each speaker."""
    said = {
        stem(word)
        for one in histories
        for transcript in one.transcripts
        for turn in transcript.turns
        for word in words(turn.full_text)
    }
    content = files("theanine_bench.datasets").joinpath(QUESTIONS).read_text("utf-8")
    questions: dict[str, str] = tomllib.loads(content)["questions"]
    left = [text for text, matter in questions.items() if not content_words(matter) & said]
    return [
        text.replace("{name's}", "my" if name == "I" else f"{name}'s").replace("{name}", name)
        for text, name in zip(left, speakers * len(left), strict=False)
    ]


class RelevanceTarget(ClientTarget):
    """A memory client that recalls; of each part its relevance and its gold turns are kept.

    Raises SettingsError for a method that doesn't estimate relevance.
    """

    def __init__(self, context: TargetContext) -> None:
        config = context.config
        method = open_method(config.method, dict(config.settings) or None)
        if not getattr(method, "estimates_relevance", False):
            raise SettingsError(
                f"the method {config.method} doesn't estimate relevance with these settings: take "
                "theanine with its defaults"
            )
        super().__init__(context)
        self._turns: dict[str, dict[tuple[str, str], Turn]] = {}

    async def remember(self, user: str, histories: Sequence[History]) -> str | None:
        """Log and remember the histories."""
        failure = await super().remember(user, histories)
        self._turns[user] = await turns_by_key(self.client.user(user))
        return failure

    async def answer(self, sample: Sample, user: str) -> Output:
        """Recall with the method's own floor, and without any."""
        memory = self.client.user(user)
        gold = {self._turns[user][session, key].id for session, key in sample.extra["gold"]}
        own = await memory.recall(sample.dialogue, budget=self._budget)
        every = await memory.recall(sample.dialogue, budget=self._budget, min_relevance=0.0)
        parts = [
            (part.relevance or 0.0, sorted(gold & {turn.id for turn in part.source_turns}))
            for part in every.parts
        ]
        return Output(
            data={
                "gold": sorted(gold),
                "own": sorted(gold & {turn.id for turn in own.source_turns}),
                "own_floor": own.min_relevance,
                "own_empty": not own.parts,
                "best": every.best_relevance or 0.0,
                "parts": parts,
            }
        )


def result_table(run: SavedRun) -> ResultTable:
    """Return a row for each data set and kind of question.

    AUC is against the own questions; shares of empty recollections and of lost evidence are those
    at the method's own floor, and at a floor chosen for each history on all others.
    """
    results = list(run.results.values())
    floors = held_out_floors(results)
    own_floor = max((r.output["own_floor"] for r in results if r.output), default=0.0)
    columns = ["questions", "n", "AUC", f"empty at {own_floor:.2g} (its own)", "evidence lost"]
    if floors:
        span = f"{min(floors.values()):.3f}–{max(floors.values()):.3f}"
        columns += [f"empty at {span} (held out)", "evidence lost"]
    by_category: dict[str, list[SampleResult]] = {}
    for result in results:
        by_category.setdefault(result.category, []).append(result)
    rows: list[list[str]] = []
    for category, some in by_category.items():
        own = by_category.get(f"{some[0].extra['data']}, {OWN}", [])
        auc = f"{area_under_curve(own, some):.3f}" if own and own != some else ""
        labeled = [result for result in some if result.extra["gold"]]
        empty = [result.output.get("own_empty", True) for result in some]
        lost = [evidence_above(r) - _own_evidence(r) for r in labeled]
        shares = [_share(empty, binary=True), _share(lost)]
        if floors:
            empty = [_is_empty(result, floors[result.group]) for result in some]
            lost = [lost_evidence(result, floors[result.group]) for result in labeled]
            shares += [_share(empty, binary=True), _share(lost)]
        rows.append([category, str(len(some)), auc, *shares])
    return ResultTable(columns, rows)


def _share(values: Sequence[float], *, binary: bool = False) -> str:
    return str(mean_interval(values, binary=binary)) if values else ""


def curve_table(run: SavedRun, data: str) -> ResultTable:
    """Return a row for each of :data:`FLOORS`: evidence kept, and the share of empty recollections.

    "kept" is the evidence of own questions where only a whole recollection can be cut, "in parts"
    that where each part below the floor is.
    """
    kinds: dict[str, list[SampleResult]] = {}
    for result in run.results.values():
        if result.extra["data"] == data:
            kinds.setdefault(result.extra["kind"], []).append(result)
    rows: list[list[str]] = []
    for floor in FLOORS:
        own = kinds.get(OWN, [])
        whole = [evidence_above(result) - lost_evidence(result, floor) for result in own]
        parts = [evidence_above(result, floor) for result in own]
        empty = [[_is_empty(result, floor) for result in some] for some in kinds.values()]
        shares = (f"{fmean(values):.3f}" if values else "" for values in (whole, parts, *empty))
        rows.append([f"{floor:g}", *shares])
    return ResultTable(["floor", "kept", "in parts", *(f"{kind}: empty" for kind in kinds)], rows)


def _own_evidence(result: SampleResult) -> float:
    """Return the share of a question's evidence that is recalled with the method's own floor."""
    return len(result.output.get("own", ())) / len(result.extra["gold"])


def _is_empty(result: SampleResult, floor: float) -> bool:
    return not result.output.get("parts") or best_relevance(result) < floor
