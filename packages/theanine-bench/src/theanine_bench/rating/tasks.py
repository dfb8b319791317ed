"""What is rated: tasks drawn from runs, the same for every rater."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any, cast

from theanine.errors import BadInput, SettingsError
from theanine.store import Store, open_store
from theanine.text.words import format_date
from theanine.types import Memory, Scope, Turn
from theanine_bench.files import write_atomically
from theanine_bench.rating.forms import RatingForm
from theanine_bench.runs.folder import RunFolder
from theanine_bench.samples import SampleResult

TASKS_FILE = "tasks.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A heading and lines below it; a line may begin with who said it."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingTask:
    """One thing to rate.

    Attributes:
        id: unique in its form.
        blocks: what the rater sees, in order.
        sides: for a comparison, the run that is shown first and the one shown second.
    """

    id: str
    blocks: tuple[Block, ...]
    sides: tuple[str, ...] = field(default=())


def ratings_folder(folder: Path, form: RatingForm) -> Path:
    """Where the form's tasks and ratings of a run are kept."""
    return folder / "ratings" / form.name


async def draw_tasks(
    runs: Sequence[RunFolder], form: RatingForm, sample: int = 100, seed: int = 0
) -> list[RatingTask]:
    """The tasks of the form, drawn once and kept with the first run.

    Raises SettingsError for another number of runs than the form compares, and BadInput where the
    runs hold nothing that the form asks about.
    """
    if len(runs) != form.runs:
        raise SettingsError(f"the form {form.name} is about {form.runs} run(s), not {len(runs)}")
    file = ratings_folder(runs[0].path, form) / TASKS_FILE
    if file.exists():
        return _read(file)
    found = [task async for task in _made(runs, form, seed)]
    if not found:
        raise BadInput(f"it holds nothing for the form {form.name}", str(runs[0].path))
    rng = Random(seed)
    kept = rng.sample(found, min(sample, len(found)))
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(
        file, json.dumps([asdict(task) for task in kept], ensure_ascii=False, indent=1)
    )
    return kept


def _read(file: Path) -> list[RatingTask]:
    try:
        return [
            _task(one) for one in cast("list[dict[str, Any]]", json.loads(file.read_text("utf-8")))
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"no tasks: {error}", str(file)) from None


def _task(read: Mapping[str, Any]) -> RatingTask:
    blocks = [Block(title=one["title"], lines=tuple(one["lines"])) for one in read["blocks"]]
    return RatingTask(id=read["id"], blocks=tuple(blocks), sides=tuple(read["sides"]))


async def _made(
    runs: Sequence[RunFolder], form: RatingForm, seed: int
) -> AsyncIterator[RatingTask]:
    items = runs[0].results()
    if form.name == "linking":
        async for task in _links(runs[0]):
            yield task
    elif form.name == "refinement":
        async for task in _refinements(runs[0], items):
            yield task
    elif form.name == "helpfulness":
        for task in _pairs(items, runs[1].results(), [str(run.path) for run in runs], seed):
            yield task
    else:
        for item in items.values():
            if item.answer is not None:
                yield RatingTask(
                    id=item.id, blocks=(_remembered(item), _dialogue(item), _reply(item))
                )


async def _links(run: RunFolder) -> AsyncIterator[RatingTask]:
    method = run.settings()["config"]["method"]
    async with _opened(run) as store:
        for scope in await store.scopes():
            memories = {one.id: one for one in await store.memories(scope, method=method)}
            for link in await store.links(scope, method=method):
                pair = [memories[link.older], memories[link.newer]]
                blocks = [await _memory(store, scope, one, place) for place, one in enumerate(pair)]
                relation = Block(title="Relation", lines=(str(link.relation or "none named"),))
                id = f"{scope.user}/{link.older}-{link.newer}"
                yield RatingTask(id=id, blocks=(*blocks, relation))


async def _memory(store: Store, scope: Scope, memory: Memory, place: int) -> Block:
    turns = await store.turns(scope, ids=memory.source_turns)
    title = f"{('First', 'Second')[place]} memory, {format_date(memory.at)}"
    return Block(title=title, lines=(memory.text, *(f"↳ {_said(turn)}" for turn in turns)))


async def _refinements(
    run: RunFolder, items: Mapping[str, SampleResult]
) -> AsyncIterator[RatingTask]:
    """Parts that rest on several memories: before them the memories, after them the words."""
    method = run.settings()["config"]["method"]
    async with _opened(run) as store:
        for group in dict.fromkeys(item.group for item in items.values()):
            memories = {one.id: one for one in await store.memories(Scope(group), method=method)}
            for item in items.values():
                for place, part in enumerate(item.recalled if item.group == group else (), 1):
                    if len(part["memories"]) > 1:
                        line = [memories[id] for id in part["memories"]]
                        before = tuple(f"{format_date(one.at)}: {one.text}" for one in line)
                        yield RatingTask(
                            id=f"{item.id}/{place}",
                            blocks=(
                                _dialogue(item),
                                Block(title="The timeline as it is", lines=before),
                                Block(title="Refined for this dialogue", lines=(part["text"],)),
                            ),
                        )


def _pairs(
    ours: Mapping[str, SampleResult],
    theirs: Mapping[str, SampleResult],
    names: Sequence[str],
    seed: int,
) -> Iterator[RatingTask]:
    """Cases that both recalled something for, each run first as often as second, by chance."""
    for id, item in ours.items():
        other = theirs.get(id)
        if other is None or not (item.recalled or other.recalled):
            continue
        shown = [(names[0], item), (names[1], other)]
        Random(f"{seed} {id}").shuffle(shown)
        recalled = [
            Block(
                title=f"{('First', 'Second')[place]} recollection",
                lines=tuple(part["text"] for part in one.recalled) or ("(nothing)",),
            )
            for place, (_, one) in enumerate(shown)
        ]
        sides = tuple(name for name, _ in shown)
        yield RatingTask(id=id, blocks=(_dialogue(item), *recalled), sides=sides)


def _remembered(item: SampleResult) -> Block:
    turns = {source["turn"]: source for part in item.recalled for source in part["sources"]}
    ordered = sorted(turns.values(), key=lambda source: (source["at"], source["turn"]))
    lines = tuple(f"{one['at'][:10]} {one['speaker']}: {one['text']}" for one in ordered)
    return Block(title="What is remembered, oldest first", lines=lines or ("(nothing)",))


def _dialogue(item: SampleResult) -> Block:
    lines = tuple(f"{one['speaker']}: {one['text']}" for one in item.dialogue)
    return Block(title="Dialogue", lines=lines)


def _reply(item: SampleResult) -> Block:
    return Block(title=f"Reply of {item.speaker}", lines=(item.answer or "",))


def _said(turn: Turn) -> str:
    return f"{turn.speaker}: {turn.full_text}"


@asynccontextmanager
async def _opened(run: RunFolder) -> AsyncGenerator[Store]:
    store = open_store(str(run.store))
    await store.open()
    try:
        yield store
    finally:
        await store.close()
