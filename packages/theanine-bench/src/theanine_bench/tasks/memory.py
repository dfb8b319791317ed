"""What a method writes of histories, held against gold memories and against its own source turns.

A case is a history: all its sessions are remembered, then the live memories are read out with the
turns behind them. Each row of a verdict names the memory, its turns and what it says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from theanine.errors import SettingsError
from theanine.llm.chat import ScopedChat
from theanine.types import LOCAL_MODEL, Memory, Part, Recollection, Utterance
from theanine_bench.datasets.gold import GoldHistory
from theanine_bench.files import hash_files
from theanine_bench.judges.memories import match, supports
from theanine_bench.metrics.base import Metric
from theanine_bench.metrics.memory_rules import (
    COVERAGE_THRESHOLD,
    GROUNDING_THRESHOLD,
    WrittenMemory,
    bag_overlap,
    content_stems,
    coverage,
    f1,
    find_duplicates,
    grounding,
)
from theanine_bench.runs.task import Task
from theanine_bench.samples import Group, Sample, SampleResult, Score, Stage, limit_samples
from theanine_bench.targets.target import ClientTarget, Output, TargetContext

BENCH = "memory"
ASKED = "What is remembered?"
NEAR, NEAR_BACK = 4, 2
"""How many memories a judge reads of each gold memory, and gold memories of each memory."""


def memory_task(
    golden: Sequence[GoldHistory],
    data: str,
    judge: str = LOCAL_MODEL,
    kinds: Sequence[str] = (),
    limit: int | None = None,
) -> Task:
    """A case a history; measured by rule, and by a judge where the run has one.

    ``data`` is the hash of its files; ``kinds`` are the kinds of memories that count.
    """
    judged: list[Metric] = [] if judge == LOCAL_MODEL else [MATCHED, SUPPORTED, REPEATED]
    told = f"{data}\0{','.join(sorted(kinds))}"
    return Task(
        bench=BENCH,
        data=hashlib.sha256(told.encode()).hexdigest(),
        groups=limit_samples([_group(one) for one in golden], limit),
        metrics=[ByRule(), *judged],
        target=partial(ReadOut, kinds=kinds),
    )


def _group(one: GoldHistory) -> Group:
    history = one.history
    last = max(turn.at for transcript in history.transcripts for turn in transcript.turns)
    names = {turn.speaker for transcript in history.transcripts for turn in transcript.turns}
    case = Sample(
        id=history.name,
        dialogue=(Utterance(text=ASKED, speaker="bench", at=last + timedelta(minutes=1)),),
        reference="\n".join(wanted.text for wanted in one.memories),
        extra={"gold": [asdict(wanted) for wanted in one.memories], "speakers": sorted(names)},
    )
    stage = Stage(histories=(history,), samples=(case,))
    return Group(id=history.name, stages=(stage,), dropped=one.dropped)


class ReadOut(ClientTarget):
    """A memory client that answers every sample with all its live memories and their turns.

    With ``kinds``, memories of other kinds don't count.
    """

    def __init__(self, context: TargetContext, kinds: Collection[str] = ()) -> None:
        if context.config.budget is not None:
            raise SettingsError("bench memory reads all memories: leave --budget out")
        super().__init__(context)
        self._kinds = frozenset(kinds)

    async def answer(self, sample: Sample, user: str) -> Output:
        """Return the live memories, one a line. Asks no model."""
        memory = self.client.user(user)
        memories = await memory.memories()
        marked = {mark.memory for mark in await memory.marks()}
        turns = {turn.id: turn for turn in await memory.turns()}
        by_id = {memory.id: memory for memory in memories}
        parts = [
            Part(
                text=memory.text,
                memories=(memory,),
                source_turns=tuple(turns[id] for id in _grounds(memory, by_id) if id in turns),
                made_by=memory.made_by,
            )
            for memory in memories
            if memory.id not in marked and (not self._kinds or memory.kind in self._kinds)
        ]
        recollection = Recollection(query=sample.dialogue[-1].full_text, parts=tuple(parts))
        return Output(
            text=recollection.text, recollection=recollection, made_by=self.client.model_name
        )


def _grounds(memory: Memory, known: Mapping[int, Memory]) -> list[int]:
    """The turns behind a memory and behind all that it was made of, ascending."""
    turns, seen, waiting = set[int](), {memory.id}, [memory]
    while waiting:
        one = waiting.pop()
        turns.update(one.source_turns)
        fresh = [origin for origin in one.derived_from if origin not in seen and origin in known]
        seen.update(fresh)
        waiting += [known[origin] for origin in fresh]
    return sorted(turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class _MemoryCase:
    """An item as its measures need it."""

    written: list[WrittenMemory]
    wanted: list[tuple[str, str]]
    names: frozenset[str]

    @classmethod
    def from_result(cls, item: SampleResult) -> _MemoryCase:
        return cls(
            written=[
                WrittenMemory(id=part["memories"][0], text=part["text"], sources=part["sources"])
                for part in item.recalled
            ],
            wanted=[(one["text"], one["speaker"]) for one in item.extra["gold"]],
            names=frozenset[str]().union(*(content_stems(name) for name in item.extra["speakers"])),
        )

    def by_rule(self) -> list[list[int]]:
        """For each wanted statement the places of the memories that have most of its words."""
        table = coverage(self.written, self.wanted, self.names)
        return [[i for i, share in enumerate(row) if share >= COVERAGE_THRESHOLD] for row in table]

    def near(self) -> list[list[int]]:
        """For each wanted statement the places of the memories that a judge should read."""
        table = coverage(self.written, self.wanted, self.names)
        found = [_best(row, NEAR) for row in table]
        for place in range(len(self.written)):
            for row in _best([row[place] for row in table], NEAR_BACK):
                found[row] = sorted({*found[row], place})
        return found

    def row(self, place: int, **more: object) -> dict[str, object]:
        """A verdict's row on a memory, with the numbers of its turns."""
        one = self.written[place]
        turns = [source["turn"] for source in one.sources]
        return {"memory": one.id, "text": one.text, "turns": turns, **more}


def _best(row: Sequence[float], most: int) -> list[int]:
    """The places of the highest values above 0, the first of alike ones."""
    ordered = sorted(
        (place for place, value in enumerate(row) if value), key=lambda p: (-row[p], p)
    )
    return sorted(ordered[:most])


def _found(
    case: _MemoryCase, said: Sequence[Sequence[int]]
) -> tuple[dict[str, float], dict[str, Any]]:
    """Precision, recall and F1 of a matching, and its rows."""
    hits = {place for places in said for place in places}
    precision = len(hits) / len(case.written) if case.written else 0.0
    recall = sum(bool(places) for places in said) / len(said)
    values = {"precision": precision, "recall": recall, "f1": f1(precision, recall)}
    gold = [
        {"gold": number, "text": text, "said by": [case.written[place].id for place in places]}
        for number, ((text, _), places) in enumerate(zip(case.wanted, said, strict=True), 1)
    ]
    rows = [
        case.row(place, says=[n for n, places in enumerate(said, 1) if place in places])
        for place in range(len(case.written))
    ]
    return values, {"gold": gold, "memories": rows}


def _rate(count: int, case: _MemoryCase) -> float:
    """A share of what was written; 0 where nothing was."""
    return count / len(case.written) if case.written else 0.0


@dataclass(frozen=True, slots=True)
class ByRule:
    """All of it by words alone: the baseline that needs no judge.

    ``rule/words-*`` are of all words written against all words wanted, as bags (LLM-Rsum's figure
    4); ``rule/written`` is how many memories there are.
    """

    name: str = "rule"
    needs_judge: bool = False

    @property
    def worst(self) -> Mapping[str, float]:
        """Nothing found; nothing written, so nothing wrong in it."""
        names = ("precision", "recall", "f1", "words-precision", "words-recall", "words-f1")
        rates = ("unsupported", "duplicate", "empty", "written")
        return {f"rule/{name}": 0.0 for name in (*names, *rates)}

    async def score(self, result: SampleResult, judge: ScopedChat | None) -> Score:
        """The values, with a row for each memory and each gold memory."""
        case = _MemoryCase.from_result(result)
        values, rows = _found(case, case.by_rule())
        texts = [text for text, _ in case.wanted]
        bags = bag_overlap([one.text for one in case.written], texts)
        values |= dict(zip(("words-precision", "words-recall", "words-f1"), bags, strict=True))
        about = [content_stems(one.text, case.names) for one in case.written]
        shares = [
            grounding(one, memory.source_texts) if memory.sources else 0.0
            for one, memory in zip(about, case.written, strict=True)
        ]
        twice = find_duplicates(about)
        values["unsupported"] = _rate(sum(share < GROUNDING_THRESHOLD for share in shares), case)
        values["duplicate"] = _rate(len(twice), case)
        values["empty"] = _rate(sum(not one for one in about), case)
        values["written"] = float(len(case.written))
        for place, row in enumerate(rows["memories"]):
            row["in its turns"] = round(shares[place], 3)
            if place in twice:
                row["repeats"] = case.written[twice[place]].id
        return Score(values={f"rule/{name}": one for name, one in values.items()}, verdict=rows)


Judged = tuple[Mapping[str, float], Mapping[str, Any]]
"""Numbers by name, and a verdict's rows."""


@dataclass(frozen=True, slots=True)
class ByJudge:
    """What a judge reads of it.

    Attributes:
        numbers: the names of its values. Each is 0 where nothing was written: nothing is found
            then, and nothing is wrong.
        read: asks the judge.
    """

    name: str
    numbers: tuple[str, ...]
    judge_case: Callable[[_MemoryCase, ScopedChat], Awaitable[Judged]]
    needs_judge: bool = True

    @property
    def worst(self) -> Mapping[str, float]:
        """Nothing found; nothing written, so nothing wrong in it."""
        return self._named(dict.fromkeys(self.numbers, 0.0))

    async def score(self, result: SampleResult, judge: ScopedChat | None) -> Score:
        """The values, with a row for each memory. Raises ModelError when the judge fails."""
        if judge is None:
            raise SettingsError("memories are judged by a model: name one with --judge")
        values, rows = await self.judge_case(_MemoryCase.from_result(result), judge)
        return Score(values=self._named(values), verdict=rows)

    def _named(self, values: Mapping[str, float]) -> dict[str, float]:
        return {f"{self.name}/{name}": value for name, value in values.items()}


async def _match(case: _MemoryCase, judge: ScopedChat) -> Judged:
    wanted = [f"{speaker}: {text}" if speaker else text for text, speaker in case.wanted]
    texts = [one.text for one in case.written]
    return _found(case, await match(wanted, texts, case.near(), judge))


async def _support(case: _MemoryCase, judge: ScopedChat) -> Judged:
    verdicts = await supports(case.written, judge)
    labels = [one.label for one in verdicts]
    rows = [
        case.row(place, label=one.label, explanation=one.explanation)
        for place, one in enumerate(verdicts)
    ]
    return {name: _rate(labels.count(name), case) for name in UNSUPPORTED}, {"memories": rows}


async def _repeat(case: _MemoryCase, judge: ScopedChat) -> Judged:
    texts = [one.text for one in case.written]
    table = coverage(case.written, [(text, "") for text in texts], case.names)
    near = [_best(row[:place], NEAR_BACK) for place, row in enumerate(table)]
    rows = [
        case.row(place, repeats=[case.written[one].id for one in places])
        for place, places in enumerate(await match(texts, texts, near, judge))
        if places
    ]
    return {"duplicate": _rate(len(rows), case)}, {"memories": rows}


UNSUPPORTED = ("unsupported", "partly", "empty")
MATCHED = ByJudge("match", ("precision", "recall", "f1"), _match)
"""Which memories say which gold memory."""
SUPPORTED = ByJudge("support", UNSUPPORTED, _support)
"""Shares of memories that their own source turns do not bear out."""
REPEATED = ByJudge("repeat", ("duplicate",), _repeat)
"""The share of memories that say again what an earlier one says."""


def data_hash(data: Path, gold: Path | None) -> str:
    """Of the data and of the file with gold memories."""
    return hash_files(data) + ("" if gold is None else hash_files(gold))
