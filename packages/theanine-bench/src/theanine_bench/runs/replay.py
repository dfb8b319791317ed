"""Doing a run again from its journal alone: the same items, to the byte, with no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from theanine.errors import BadInput
from theanine.store import open_store
from theanine_bench.runs.folder import RunFolder, lines_of
from theanine_bench.runs.item import Item
from theanine_bench.runs.runner import Opener, Running, ours
from theanine_bench.runs.setup import Plan, Setup, recorded_models, settings_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What a replay gave: all items, and the ids of those that differ from the run's."""

    items: Sequence[Item]
    different: Sequence[str]


async def replay(
    plan: Plan,
    setup: Setup,
    folder: RunFolder,
    *,
    tested: Opener = ours,
) -> Replay:
    """Run the plan anew in an empty store that holds the run's journal and nothing else.

    What failed in the run has no reply in the journal: where the replay fails in the same place,
    the run's own words for it are kept. Raises BadInput where the plan is not the run's.
    """
    settings = folder.settings()
    models = recorded_models(settings)
    if settings_of(plan, setup, models) != settings:
        raise BadInput("the data or the settings are not those of this run", str(folder.path))
    if not folder.items():
        raise BadInput("the run has no items yet: let it run first", str(folder.path))
    with TemporaryDirectory() as place:
        copy = RunFolder(Path(place) / "run")
        copy.begin(settings)
        await _copy_journal(folder.store, copy.store)
        running = Running(plan=plan, setup=setup, models=models, folder=copy, tested=tested)
        items = await running.run()
    known = folder.items()
    same = [_with_its_words(item, known.get(item.id)) for item in items]
    return Replay(items=same, different=_different(same, folder))


async def _copy_journal(source: Path, target: Path) -> None:
    one, two = open_store(str(source)), open_store(str(target))
    await one.open()
    await two.open()
    try:
        await two.restore([record async for record in one.export() if record["type"] == "journal"])
    finally:
        await one.close()
        await two.close()


def _with_its_words(item: Item, known: Item | None) -> Item:
    if known is None or set(known.failures) != set(item.failures):
        return item
    return replace(item, failures=known.failures)


def _different(items: Sequence[Item], folder: RunFolder) -> list[str]:
    lines = {item.id: lines_of([item]) for item in items}
    known = {item.id: lines_of([item]) for item in folder.items().values()}
    return sorted(id for id in {*lines, *known} if lines.get(id) != known.get(id))
