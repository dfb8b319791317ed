"""Kill maintenance inside its work: the store is as before or as after, and a second run finishes.

Each kill gets a copy of a prepared store. The child is forked from a process that has imported
everything, and killed at a random moment of the time that the work took without a kill.
"""

from __future__ import annotations

import json
import multiprocessing
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import theanine
from theanine.demo import HARBOUR
from theanine.embeddings.hashing import HashEmbedder
from theanine.errors import BadInput
from theanine.importers import read_export, read_histories

USER = "ana"
OLD_STORE = Path(__file__).parents[1] / "fixtures" / "store-0.1.sqlite"
ATOMIC = frozenset({"restore", "copy", "forget", "migration", "export"})
"""Work of which nothing is visible before all of it is."""
TIMEOUT = 60.0
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([__name__])


def rebuild(folder: Path) -> None:
    with theanine.open(folder / "memory.db") as client:
        client.user(USER).rebuild(again=True)


def restore(folder: Path) -> None:
    with theanine.open(folder / "memory.db") as client:
        client.restore(read_export(folder / "later.jsonl"))


def copy(folder: Path) -> None:
    theanine.copy_store(folder / "later.db", folder / "memory.db")


def reembed(folder: Path) -> None:
    with theanine.open(folder / "memory.db", embedder=HashEmbedder()) as client:
        client.reembed()


def forget(folder: Path) -> None:
    with theanine.open(folder / "memory.db") as client:
        if any(session.id == 1 for session in client.user(USER).sessions()):
            client.user(USER).forget(session=1)


def migration(folder: Path) -> None:
    theanine.open(folder / "memory.db").close()


def export(folder: Path) -> None:
    with theanine.open(folder / "memory.db") as client, (folder / "out.jsonl").open("w") as out:
        for record in client.export():
            out.write(json.dumps(record) + "\n")


WORK: dict[str, Callable[[Path], None]] = {
    work.__name__: work for work in (rebuild, restore, copy, reembed, forget, migration, export)
}


def _work(kind: str, folder: Path) -> None:
    (folder / "ready").touch()
    WORK[kind](folder)


def crash_maintenance(
    kills: int, seed: int, progress: Callable[[Counter[str]], None] = lambda _: None
) -> tuple[Counter[str], list[str]]:
    """Kill each work ``kills`` times; return the kills by work, and the violations."""
    rng, tally, violations = Random(seed), Counter[str](), list[str]()
    with TemporaryDirectory() as name:
        root = Path(name)
        _prepare(root)
        for kind in WORK:
            run = _Run(kind, root, rng)
            while tally[kind] < kills:
                if run.kill():
                    tally[kind] += 1
                    progress(tally)
                violations += [f"{kind}, kill {tally[kind]}: {each}" for each in run.check()]
    return tally, violations


def _prepare(root: Path) -> None:
    """Make the store that the work starts from, for each kind of work."""
    with theanine.open(root / "source.db") as client:
        client.user(USER).log(read_histories(HARBOUR).histories[0])
    for kind in ("restore", "copy"):
        shutil.copy(root / "source.db", root / f"{kind}.db")
    with theanine.open(root / "source.db") as client:
        client.user(USER).remember()
        with (root / "later.jsonl").open("w") as out:
            out.writelines(json.dumps(record) + "\n" for record in client.export())
    for kind in WORK.keys() - {"restore", "copy", "migration"}:
        shutil.copy(root / "source.db", root / f"{kind}.db")
    shutil.copy(OLD_STORE, root / "migration.db")


class _Run:
    """One kind of work, and what the store is before and after it."""

    def __init__(self, kind: str, root: Path, rng: Random) -> None:
        self._kind, self._root, self._rng = kind, root, rng
        self._before = self._read(self._copy())
        folder = self._copy()
        start = time.monotonic()
        WORK[kind](folder)
        self._seconds = time.monotonic() - start
        self._after = self._read(folder)
        self._folder = folder

    def _copy(self) -> Path:
        folder = self._root / self._kind
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        shutil.copy(self._root / f"{self._kind}.db", folder / "memory.db")
        shutil.copy(self._root / "later.jsonl", folder)
        shutil.copy(self._root / "source.db", folder / "later.db")
        return folder

    def _read(self, folder: Path) -> list[Any]:
        """Return what users see of a store, without the numbers of memories."""
        with theanine.open(folder / "memory.db") as client:
            if damage := client.check():
                return [damage]
            user = client.user(USER)
            memories = [(m.text, m.at, m.source_turns) for m in user.memories()]
            turns = [(turn.id, turn.text) for turn in user.turns()]
            counts = len(user.links()), len(user.pending()), client.stored_embedder()
            return [sorted(memories), turns, *counts]

    def kill(self) -> bool:
        """Start the work on a copy and kill it; False if it was done before."""
        self._folder = self._copy()
        child = _CONTEXT.Process(target=_work, args=(self._kind, self._folder))
        child.start()
        deadline = time.monotonic() + TIMEOUT
        while not (self._folder / "ready").exists():
            assert time.monotonic() < deadline, "the child did not start"
            time.sleep(0.001)
        child.join(self._rng.uniform(0, self._seconds))
        alive = child.is_alive()
        if alive:
            child.kill()
        child.join()
        assert alive or not child.exitcode, f"{self._kind} failed"
        child.close()
        return alive

    def check(self) -> Iterator[str]:
        """Check the store as it is, and after the work was done again."""
        if self._kind == "export":
            yield from self._check_export()
        found = self._read(self._folder)
        if self._kind in ATOMIC and found not in (self._before, self._after):
            yield "the store is neither as before nor as after"
        if found[0] and isinstance(found[0], str):
            yield f"the store is damaged: {found[0]}"
        WORK[self._kind](self._folder)
        if self._read(self._folder) != self._after:
            yield "a second run ended otherwise than one without a kill"
        if self._kind == "forget":
            kept = {text for _, text in self._after[1]}
            erased = {text for _, text in self._before[1]} - kept
            content = b"".join(
                path.read_bytes() for path in self._folder.glob("memory.db*") if path.is_file()
            )
            yield from (
                f"{text!r} is left in a file" for text in erased if text.encode() in content
            )

    def _check_export(self) -> Iterator[str]:
        out = self._folder / "out.jsonl"
        if not out.exists():
            return
        whole = '"type": "end"' in out.read_text("utf-8")
        with theanine.open(self._folder / "copy.db") as copy, suppress(BadInput):
            copy.restore(read_export(out))
            if not whole:
                yield "a part of an export was restored"
