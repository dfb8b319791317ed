"""The memory bench: what a method remembers, against gold memories and its own source turns.

A sample is a history: all its sessions are remembered, then the live memories are listed with their
source turns. Each row of a verdict names the memory, its turns and what it says.
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
QUESTION = "What is remembered?"
NEAR, NEAR_BACK = 4, 2
"""The number of memories that a judge reads for each gold memory, and of gold memories for each
memory."""


def memory_task(
    histories: Sequence[GoldHistory],
    data: str,
    judge: str = LOCAL_MODEL,
    kinds: Sequence[str] = (),
    limit: int | None = None,
) -> Task:
    """Return a task with a sample for each history, scored by rule and by the judge, if any.

    ``data`` is the hash of its files; ``kinds`` are the kinds of memories that count, by default
    all.
    """
    judged: list[Metric] = [] if judge == LOCAL_MODEL else [MATCHED, SUPPORTED, REPEATED]
    content = f"{data}\0{','.join(sorted(kinds))}"
    return Task(
        bench=BENCH,
        data=hashlib.sha256(content.encode()).hexdigest(),
        groups=limit_samples([_group(one) for one in histories], limit),
        metrics=[ByRule(), *judged],
        target=partial(MemoryLister, kinds=kinds),
    )


def _group(gold: GoldHistory) -> Group:
    history = gold.history
    turns = [turn for transcript in history.transcripts for turn in transcript.turns]
    at = max(turn.at for turn in turns) + timedelta(minutes=1)
    sample = Sample(
        id=history.name,
        dialogue=(Utterance(text=QUESTION, speaker="bench", at=at),),
        reference="\n".join(memory.text for memory in gold.memories),
        extra={
            "gold": [asdict(memory) for memory in gold.memories],
            "speakers": sorted({turn.speaker for turn in turns}),
        },
    )
    stage = Stage(histories=(history,), samples=(sample,))
    return Group(id=history.name, stages=(stage,), dropped=gold.dropped)


class MemoryLister(ClientTarget):
    """A memory client that answers every sample with all its live memories and their turns.

    With ``kinds``, memories of other kinds don't count.
    """

    def __init__(self, context: TargetContext, kinds: Collection[str] = ()) -> None:
        if context.config.budget is not None:
            raise SettingsError("bench memory reads all memories: leave --budget out")
        super().__init__(context)
        self._kinds = frozenset(kinds)

    async def answer(self, sample: Sample, user: str) -> Output:
        """Return the live memories, one per line, without asking a model."""
        client = self.client.user(user)
        memories = await client.memories()
        marked = {mark.memory for mark in await client.marks()}
        turns = {turn.id: turn for turn in await client.turns()}
        by_id = {memory.id: memory for memory in memories}
        parts = [
            Part(
                text=memory.text,
                memories=(memory,),
                source_turns=tuple(turns[id] for id in _source_turns(memory, by_id) if id in turns),
                made_by=memory.made_by,
            )
            for memory in memories
            if memory.id not in marked and (not self._kinds or memory.kind in self._kinds)
        ]
        recollection = Recollection(query=sample.dialogue[-1].full_text, parts=tuple(parts))
        return Output(
            text=recollection.text, recollection=recollection, made_by=self.client.model_name
        )


def _source_turns(memory: Memory, by_id: Mapping[int, Memory]) -> list[int]:
    """Return the ids of all source turns, including those of ``derived_from``, ascending."""
    turns, seen, waiting = set[int](), {memory.id}, [memory]
    while waiting:
        one = waiting.pop()
        turns.update(one.source_turns)
        new = [id for id in one.derived_from if id not in seen and id in by_id]
        seen.update(new)
        waiting += [by_id[id] for id in new]
    return sorted(turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Memories:
    """A result's memories, and the gold memories as ``(text, speaker)``."""

    written: list[WrittenMemory]
    gold: list[tuple[str, str]]
    names: frozenset[str]

    @classmethod
    def from_result(cls, result: SampleResult) -> _Memories:
        names = [content_stems(name) for name in result.extra["speakers"]]
        return cls(
            written=[
                WrittenMemory(id=part["memories"][0], text=part["text"], sources=part["sources"])
                for part in result.recalled
            ],
            gold=[(one["text"], one["speaker"]) for one in result.extra["gold"]],
            names=frozenset[str]().union(*names),
        )

    def by_rule(self) -> list[list[int]]:
        """Return, for each gold memory, the indexes of memories that have most of its words."""
        table = coverage(self.written, self.gold, self.names)
        return [[i for i, share in enumerate(row) if share >= COVERAGE_THRESHOLD] for row in table]

    def near(self) -> list[list[int]]:
        """Return, for each gold memory, the indexes of memories that a judge should read."""
        table = coverage(self.written, self.gold, self.names)
        near = [_best(row, NEAR) for row in table]
        for index in range(len(self.written)):
            for row in _best([row[index] for row in table], NEAR_BACK):
                near[row] = sorted({*near[row], index})
        return near

    def rate(self, count: int) -> float:
        """Return the share of the memories; 0 if there are none."""
        return count / len(self.written) if self.written else 0.0

    def row(self, index: int, **more: object) -> dict[str, object]:
        """Return a verdict's row on a memory, with the ids of its turns."""
        one = self.written[index]
        turns = [source["turn"] for source in one.sources]
        return {"memory": one.id, "text": one.text, "turns": turns, **more}

    def score_matches(
        self, matches: Sequence[Sequence[int]]
    ) -> tuple[dict[str, float], dict[str, Any]]:
        """Return precision, recall and F1 of a matching, and its rows.

        ``matches`` are the indexes of the memories that say each gold memory.
        """
        precision = self.rate(len({index for indexes in matches for index in indexes}))
        recall = sum(bool(indexes) for indexes in matches) / len(matches)
        values = {"precision": precision, "recall": recall, "f1": f1(precision, recall)}
        gold = [
            {"gold": n, "text": text, "said by": [self.written[index].id for index in indexes]}
            for n, ((text, _), indexes) in enumerate(zip(self.gold, matches, strict=True), 1)
        ]
        rows = [
            self.row(index, says=[n for n, indexes in enumerate(matches, 1) if index in indexes])
            for index in range(len(self.written))
        ]
        return values, {"gold": gold, "memories": rows}


def _best(row: Sequence[float], most: int) -> list[int]:
    """Return the indexes of the highest values above 0, ascending; of equal ones, the first."""
    indexes = [index for index, value in enumerate(row) if value]
    return sorted(sorted(indexes, key=lambda index: (-row[index], index))[:most])


@dataclass(frozen=True, slots=True)
class ByRule:
    """Scores by shared words: the baseline that needs no judge.

    ``rule/words-*`` compare all written words with all gold words as bags (LLM-Rsum's figure 4);
    ``rule/written`` is the number of memories.
    """

    name: str = "rule"
    needs_judge: bool = False

    @property
    def worst(self) -> Mapping[str, float]:
        """0: nothing is found; nothing is written, so nothing is wrong."""
        names = ("precision", "recall", "f1", "words-precision", "words-recall", "words-f1")
        rates = ("unsupported", "duplicate", "empty", "written")
        return {f"rule/{name}": 0.0 for name in (*names, *rates)}

    async def score(self, result: SampleResult, judge: ScopedChat | None) -> Score:
        """Return the scores, with a row for each memory and each gold memory."""
        memories = _Memories.from_result(result)
        values, rows = memories.score_matches(memories.by_rule())
        bags = bag_overlap(
            [one.text for one in memories.written], [text for text, _ in memories.gold]
        )
        values |= dict(zip(("words-precision", "words-recall", "words-f1"), bags, strict=True))
        stems = [content_stems(one.text, memories.names) for one in memories.written]
        shares = [
            grounding(one, memory.source_texts) if memory.sources else 0.0
            for one, memory in zip(stems, memories.written, strict=True)
        ]
        duplicates = find_duplicates(stems)
        values["unsupported"] = memories.rate(sum(share < GROUNDING_THRESHOLD for share in shares))
        values["duplicate"] = memories.rate(len(duplicates))
        values["empty"] = memories.rate(sum(not one for one in stems))
        values["written"] = float(len(memories.written))
        for index, row in enumerate(rows["memories"]):
            row["in its turns"] = round(shares[index], 3)
            if index in duplicates:
                row["repeats"] = memories.written[duplicates[index]].id
        return Score(values={f"rule/{name}": value for name, value in values.items()}, verdict=rows)


Judged = tuple[Mapping[str, float], Mapping[str, Any]]
"""Scores by name, and a verdict's rows."""


@dataclass(frozen=True, slots=True)
class ByJudge:
    """Scores by a judge who reads the memories.

    Attributes:
        numbers: names of its scores. Each is 0 if nothing is written.
        ask: asks the judge.
    """

    name: str
    numbers: tuple[str, ...]
    ask: Callable[[_Memories, ScopedChat], Awaitable[Judged]]
    needs_judge: bool = True

    @property
    def worst(self) -> Mapping[str, float]:
        """0: nothing is found; nothing is written, so nothing is wrong."""
        return {f"{self.name}/{name}": 0.0 for name in self.numbers}

    async def score(self, result: SampleResult, judge: ScopedChat | None) -> Score:
        """Return the scores, with a row for each memory. Raises ModelError if the judge fails."""
        if judge is None:
            raise SettingsError("memories are judged by a model: name one with --judge")
        values, rows = await self.ask(_Memories.from_result(result), judge)
        named = {f"{self.name}/{name}": value for name, value in values.items()}
        return Score(values=named, verdict=rows)


async def _match(memories: _Memories, judge: ScopedChat) -> Judged:
    gold = [f"{speaker}: {text}" if speaker else text for text, speaker in memories.gold]
    texts = [one.text for one in memories.written]
    return memories.score_matches(await match(gold, texts, memories.near(), judge))


async def _support(memories: _Memories, judge: ScopedChat) -> Judged:
    verdicts = await supports(memories.written, judge)
    labels = [one.label for one in verdicts]
    rows = [
        memories.row(index, label=one.label, explanation=one.explanation)
        for index, one in enumerate(verdicts)
    ]
    return {name: memories.rate(labels.count(name)) for name in UNSUPPORTED}, {"memories": rows}


async def _repeat(memories: _Memories, judge: ScopedChat) -> Judged:
    texts = [one.text for one in memories.written]
    table = coverage(memories.written, [(text, "") for text in texts], memories.names)
    near = [_best(row[:index], NEAR_BACK) for index, row in enumerate(table)]
    rows = [
        memories.row(index, repeats=[memories.written[earlier].id for earlier in repeated])
        for index, repeated in enumerate(await match(texts, texts, near, judge))
        if repeated
    ]
    return {"duplicate": memories.rate(len(rows))}, {"memories": rows}


UNSUPPORTED = ("unsupported", "partly", "empty")
MATCHED = ByJudge("match", ("precision", "recall", "f1"), _match)
"""Which memories say which gold memory."""
SUPPORTED = ByJudge("support", UNSUPPORTED, _support)
"""Shares of memories that their own source turns don't support."""
REPEATED = ByJudge("repeat", ("duplicate",), _repeat)
"""The share of memories that repeat an earlier one."""


def data_hash(data: Path, gold: Path | None) -> str:
    """Return the hash of the data and of the file with gold memories."""
    return hash_files(data) + ("" if gold is None else hash_files(gold))
