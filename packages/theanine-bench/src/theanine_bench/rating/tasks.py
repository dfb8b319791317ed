"""Rating tasks: drawn once from runs, the same for every rater."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any, cast

from theanine.errors import BadInput, SettingsError
from theanine.methods.registry import stored_method
from theanine.private_files import make_folder
from theanine.store import Store, open_store
from theanine.text.words import format_date
from theanine.types import STATE, Memory, Scope
from theanine_bench.files import read_json, write_atomically
from theanine_bench.judges.judge import Unjudged
from theanine_bench.judges.rendering import NOTHING, past_lines
from theanine_bench.rating.forms import RatingForm
from theanine_bench.runs.folder import RunFolder
from theanine_bench.samples import SampleResult

TASKS_FILE = "tasks.json"
NEEDS_PAST = "needs-past"
"""The metric by which turns are selected before entailment is rated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A titled block of lines."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingTask:
    """One thing to rate.

    Attributes:
        id: unique in its form.
        blocks: what the rater sees, in order.
        sides: in a comparison, the run shown first and the one shown second.
    """

    id: str
    blocks: tuple[Block, ...]
    sides: tuple[str, ...] = field(default=())


def ratings_folder(folder: Path, form: RatingForm) -> Path:
    """Return the folder of a form's tasks and ratings in a run's folder."""
    return folder / "ratings" / form.name


async def draw_tasks(
    runs: Sequence[RunFolder], form: RatingForm, sample: int = 100, seed: int = 0
) -> list[RatingTask]:
    """Draw at most ``sample`` tasks of a form and save them with the first run.

    Later calls return the saved tasks. Raises SettingsError for another number of runs than the
    form compares, BadInput if the runs have nothing to rate with this form.
    """
    if len(runs) != form.runs:
        plural = "" if form.runs == 1 else "s"
        raise SettingsError(f"form {form.name} takes {form.runs} run{plural}; you gave {len(runs)}")
    file = ratings_folder(runs[0].path, form) / TASKS_FILE
    if file.exists():
        return _load_tasks(file)
    tasks = [task async for task in _make_tasks(runs, form, seed)]
    if not tasks:
        raise BadInput(f"there is nothing to rate with the form {form.name}", str(runs[0].path))
    drawn = Random(seed).sample(tasks, min(sample, len(tasks)))
    make_folder(file.parent)
    records = [asdict(task) for task in drawn]
    write_atomically(file, json.dumps(records, ensure_ascii=False, indent=1))
    return drawn


def _load_tasks(file: Path) -> list[RatingTask]:
    try:
        records = cast("list[dict[str, Any]]", read_json(file))
        return [
            RatingTask(
                id=record["id"],
                blocks=tuple(
                    Block(title=block["title"], lines=tuple(block["lines"]))
                    for block in record["blocks"]
                ),
                sides=tuple(record["sides"]),
            )
            for record in records
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"the tasks can't be read: {error}", str(file)) from None


async def _make_tasks(
    runs: Sequence[RunFolder], form: RatingForm, seed: int
) -> AsyncIterator[RatingTask]:
    results = runs[0].results()
    if form.name == "summaries":
        async for task in _summary_tasks(runs[0]):
            yield task
    elif form.name == "linking":
        async for task in _link_tasks(runs[0]):
            yield task
    elif form.name == "refinement":
        async for task in _refinement_tasks(runs[0], results):
            yield task
    elif form.name == "helpfulness":
        names = [str(run.path) for run in runs]
        for task in _comparison_tasks(results, runs[1].results(), names, seed):
            yield task
    else:
        answered = [result for result in results.values() if result.answer is not None]
        for result in needing_past(answered) if form.name == "entailment" else answered:
            blocks = (_past_block(result), _dialogue_block(result), _reply_block(result))
            yield RatingTask(id=result.id, blocks=blocks)


def needing_past(results: Sequence[SampleResult]) -> Sequence[SampleResult]:
    """Return the results whose turn needs the past, or all if the run has no such verdicts.

    The metric ``needs-past`` gives the verdicts. Theanine (appendix E.2) has a model select so, as
    not every turn needs something of the past.
    """
    if not any(NEEDS_PAST in result.scores for result in results):
        return results
    return [result for result in results if result.scores.get(NEEDS_PAST)]


async def _summary_tasks(run: RunFolder) -> AsyncIterator[RatingTask]:
    """Yield a task for each session that memories were made of."""
    method = stored_method(run.settings()["config"]["method"])
    async with _open_store(run) as store:
        for scope in await store.scopes():
            memories: dict[int, list[str]] = {}
            for memory in await store.memories(scope, method=method):
                if memory.kind != STATE:  # linking made it, of statements that are shown already
                    memories.setdefault(memory.session, []).append(memory.text)
            for session, texts in memories.items():
                turns = await store.turns(scope, session=session)
                said = tuple(f"{turn.speaker}: {turn.full_text}" for turn in turns)
                yield RatingTask(
                    id=f"{scope.user}/{session}",
                    blocks=(
                        Block(title="Session", lines=said),
                        Block(title="Memories of it", lines=tuple(texts)),
                    ),
                )


async def _link_tasks(run: RunFolder) -> AsyncIterator[RatingTask]:
    """Yield a task for each link between memories."""
    method = stored_method(run.settings()["config"]["method"])
    async with _open_store(run) as store:
        for scope in await store.scopes():
            memories = {m.id: m for m in await store.memories(scope, method=method)}
            for link in await store.links(scope, method=method):
                relation = Block(title="Relation", lines=(str(link.relation or "unnamed"),))
                yield RatingTask(
                    id=f"{scope.user}/{link.older}-{link.newer}",
                    blocks=(
                        await _memory_block(store, scope, memories[link.older], "First"),
                        await _memory_block(store, scope, memories[link.newer], "Second"),
                        relation,
                    ),
                )


async def _memory_block(store: Store, scope: Scope, memory: Memory, ordinal: str) -> Block:
    turns = await store.turns(scope, ids=memory.source_turns)
    return Block(
        title=f"{ordinal} memory, {format_date(memory.at)}",
        lines=(memory.text, *(f"↳ {turn.speaker}: {turn.full_text}" for turn in turns)),
    )


async def _refinement_tasks(
    run: RunFolder, results: Mapping[str, SampleResult]
) -> AsyncIterator[RatingTask]:
    """Yield a task for each recalled part that was made of several memories."""
    method = stored_method(run.settings()["config"]["method"])
    async with _open_store(run) as store:
        for group in dict.fromkeys(result.group for result in results.values()):
            memories = {m.id: m for m in await store.memories(Scope(group), method=method)}
            relations = {
                (link.older, link.newer): str(link.relation or "unnamed")
                for link in await store.links(Scope(group), method=method)
            }
            for result in results.values():
                for number, part in enumerate(result.recalled if result.group == group else (), 1):
                    if len(part["memories"]) < 2:
                        continue
                    timeline = [memories[id] for id in part["memories"]]
                    yield RatingTask(
                        id=f"{result.id}/{number}",
                        blocks=(
                            _dialogue_block(result),
                            Block(
                                title="The timeline as it is",
                                lines=tuple(timeline_lines(timeline, relations)),
                            ),
                            Block(title="Refined for this dialogue", lines=(part["text"],)),
                        ),
                    )


def timeline_lines(
    timeline: Sequence[Memory], relations: Mapping[tuple[int, int], str]
) -> Iterator[str]:
    """Yield a line for each memory, below the relation of the one before it if they are linked.

    ``relations`` are the names of relations by the ids of the older and the newer memory.
    """
    for earlier, memory in zip([None, *timeline], timeline, strict=False):
        if earlier and (relation := relations.get((earlier.id, memory.id))):
            yield f"↓ {relation}"
        yield f"{format_date(memory.at)}: {memory.text}"


def _comparison_tasks(
    ours: Mapping[str, SampleResult],
    theirs: Mapping[str, SampleResult],
    names: Sequence[str],
    seed: int,
) -> Iterator[RatingTask]:
    """Yield a task for each sample of both runs, in random order of the runs.

    Samples for which neither run recalled anything are left out.
    """
    for id, result in ours.items():
        other = theirs.get(id)
        if other is None or not (result.recalled or other.recalled):
            continue
        shown = [(names[0], result), (names[1], other)]
        Random(f"{seed} {id}").shuffle(shown)
        recollections = [
            Block(
                title=f"{ordinal} recollection",
                lines=tuple(part["text"] for part in recalling.recalled) or (NOTHING,),
            )
            for ordinal, (_, recalling) in zip(("First", "Second"), shown, strict=True)
        ]
        yield RatingTask(
            id=id,
            blocks=(_dialogue_block(result), *recollections),
            sides=tuple(name for name, _ in shown),
        )


def _past_block(result: SampleResult) -> Block:
    """Return the sample's past, the same for every method. Raises BadInput if it isn't known."""
    try:
        lines = past_lines(result)
    except Unjudged as error:
        raise BadInput(str(error)) from None
    return Block(title="What is known of the past", lines=tuple(lines) or (NOTHING,))


def _dialogue_block(result: SampleResult) -> Block:
    lines = tuple(f"{turn['speaker']}: {turn['text']}" for turn in result.dialogue)
    return Block(title="Dialogue", lines=lines)


def _reply_block(result: SampleResult) -> Block:
    return Block(title=f"Reply of {result.speaker}", lines=(result.answer or "",))


@asynccontextmanager
async def _open_store(run: RunFolder) -> AsyncGenerator[Store]:
    store = open_store(str(run.store))
    await store.open()
    try:
        yield store
    finally:
        await store.close()
