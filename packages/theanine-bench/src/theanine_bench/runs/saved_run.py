"""Runs as their folders have them, finished or not, and the cases that several have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theanine.errors import SettingsError
from theanine.store import open_store
from theanine.store.values import CostLine
from theanine_bench.runs.folder import COMMAND, SUMMARY, RunFolder
from theanine_bench.runs.item import Item
from theanine_bench.runs.runner import times
from theanine_bench.runs.summary import Summary, summarize_run


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A run that was made.

    Attributes:
        name: the folder's, or its whole path where several runs are read of the same name.
        settings: what it was begun with.
        items: its items so far, by case.
        summary: as :func:`theanine_bench.runs.summary.summarize_run` gives it.
        seconds: what each answer took, by case.
        undated: by group, numbers of its sessions whose times only keep their order.
        command: what repeats it; empty where a program made it.
    """

    name: str
    path: Path
    settings: Mapping[str, Any]
    items: Mapping[str, Item]
    summary: Summary
    seconds: Mapping[str, float]
    undated: Mapping[str, frozenset[int]]
    command: str = ""

    @property
    def finished(self) -> bool:
        """Whether every case is done."""
        return self.summary["done"] >= self.summary["cases"]


async def read_run(path: Path, name: str = "") -> Kept:
    """The run in a folder. Raises BadInput where there is none.

    Of a run that was cut off, which has no summary or an old one, it is made of what there is:
    measures over the whole run and dropped labels are not known then.
    """
    folder = RunFolder(path)
    settings, items = folder.settings(), folder.items()
    seconds, command = times(path), path / COMMAND
    costs, undated = await _stored(folder, settings["setup"]["method"])
    summary = folder.summary() if (path / SUMMARY).exists() else None
    if summary is None or summary["done"] != len(items):
        summary = summarize_run(
            list(items.values()),
            total=settings["cases"],
            costs=costs,
            seconds=list(seconds.values()),
            stopped="it was cut off",
        )
    return Kept(
        name=name or _name(path),
        path=path,
        settings=settings,
        items=items,
        summary=summary,
        seconds=seconds,
        undated=undated,
        command=command.read_text("utf-8").strip() if command.exists() else "",
    )


async def read_runs(folders: Sequence[Path]) -> list[Kept]:
    """Two runs or more. Raises BadInput for a folder without one, SettingsError for too few."""
    if len(folders) < 2:
        raise SettingsError("name two runs or more to compare")
    names = [_name(folder) for folder in folders]
    if len(set(names)) < len(names):
        names = [str(folder) for folder in folders]
    return [await read_run(folder, name) for folder, name in zip(folders, names, strict=True)]


def common(runs: Sequence[Mapping[str, Item]]) -> tuple[list[tuple[Item, ...]], dict[str, int]]:
    """Each common case's items, a run each, and how many cases are left out, by reason."""
    found: list[tuple[Item, ...]] = []
    left: Counter[str] = Counter()
    for id in dict.fromkeys(id for run in runs for id in run):
        items = tuple(run[id] for run in runs if id in run)
        if len(items) < len(runs):
            left["cases that not every run has"] += 1
        elif len({(one.asked, len(one.dialogue), one.reference) for one in items}) > 1:
            left["cases that the runs put in other words"] += 1
        else:
            found.append(items)
    return found, dict(left)


def ordered(names: Iterable[str], measures: Sequence[str]) -> list[str]:
    """Names of values in the order of the measures that they are of."""
    places = {name: place for place, name in enumerate(measures)}
    return sorted(names, key=lambda name: places.get(name, places.get(name.split("/")[0], -1)))


def _name(folder: Path) -> str:
    return folder.resolve().name


async def _stored(
    folder: RunFolder, method: str
) -> tuple[Sequence[CostLine], dict[str, frozenset[int]]]:
    """What the run's calls cost, and which sessions have no dates."""
    if not folder.store.exists():
        return (), {}
    store = open_store(str(folder.store))
    await store.open()
    try:
        found = {scope.user: await store.sessions(scope, method) for scope in await store.scopes()}
        undated = {
            user: frozenset(session.id for session in sessions if not session.dated)
            for user, sessions in found.items()
        }
        return await store.costs(), undated
    finally:
        await store.close()
