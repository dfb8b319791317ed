"""Comparisons of methods on a user's conversations, by ``theanine compare`` in a process."""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from subprocess import DEVNULL, PIPE
from urllib.parse import quote

import anyio
from anyio.abc import Process
from pydantic import BaseModel, ValidationError

from theanine.client import OpenOptions
from theanine.errors import BENCH_INSTALLATION, SettingsError, StoreError, TheanineError
from theanine.private_files import make_folder, owner_only, write_text
from theanine.store.sql.store import SqlStore
from theanine.store.sql.versions import load_store_id
from theanine.types import Scope
from theanine_server.problems import Refused

_log = logging.getLogger(__name__)

LOOK = 1.0
"""Seconds between checks of a comparison's progress."""
CLEANING = 60.0
"""Seconds between searches for runs that still contain erased data."""
_SOURCE = ".source.json"
GRACE = 5.0
"""Seconds that the process gets to end before it is killed."""


class _Source(BaseModel):
    """The scope whose turns a run contains, and its epoch when they were read."""

    user: str
    agent: str
    tenant: str
    epoch: int


def is_installed() -> bool:
    """Return whether ``theanine-bench`` is installed."""
    return find_spec("theanine_bench") is not None


def require_bench() -> None:
    """Answer 409 where ``theanine-bench`` is not installed."""
    if not is_installed():
        raise Refused(409, "not_installed", f"comparing needs theanine-bench: {BENCH_INSTALLATION}")


def all_runs() -> Path:
    """Return the folder of this machine's runs: ``runs`` where the service was started."""
    return Path("runs").absolute()


async def runs_folder(store: SqlStore, tenant: str) -> Path:
    """Return where the comparisons of a tenant are, apart from all other runs."""
    return await _runs_of_store(store) / f"tenant-{quote(tenant, safe='')}"


async def _runs_of_store(store: SqlStore) -> Path:
    """Return a folder of the store's own: services of other stores may start in the same folder."""
    return all_runs() / await store.read(load_store_id)


async def compare(
    store: SqlStore,
    options: OpenOptions,
    scope: Scope,
    run: str,
    methods: Sequence[str],
    *,
    questions: int,
    max_cost: float | None,
    progress: Callable[[int], None],
) -> None:
    """Remember all that a user said by each of some methods, and ask each the same questions.

    The run, with what was said, stays in its folder until something of the user is erased or
    replaced (:func:`remove_outdated_runs`); one that was stopped is resumed.

    Args:
        run: the name of the folder.
        questions: how many, at most.
        max_cost: dollars after which no other question is asked; None for no limit.
        progress: called with the number of recalls so far.
    """
    await remove_outdated_runs(store)
    folder = await runs_folder(store, scope.tenant)
    make_folder(folder)
    history, out = folder / f"{run}.jsonl", folder / run
    epoch = (await store.scope_version(scope)).epoch
    source = _Source(user=scope.user, agent=scope.agent, tenant=scope.tenant, epoch=epoch)
    write_text(_source_of(out), source.model_dump_json())
    private = os.fdopen(owner_only(str(history), os.O_CREAT | os.O_WRONLY | os.O_TRUNC), "w")
    async with anyio.wrap_file(private) as file:
        async for record in store.export(scope):
            await file.write(f"{json.dumps(record)}\n")
    command = [sys.executable, "-m", "theanine", "compare", "--data", str(history)]
    command += ["--methods", ",".join(methods), "--limit", str(questions), "--out", str(out)]
    command += [] if max_cost is None else ["--max-cost", str(max_cost)]
    command += _model_options(options)
    said: list[bytes] = []
    try:
        process = await anyio.open_process(command, stdout=DEVNULL, stderr=PIPE)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_follow, out / "items.jsonl", progress)
                if process.stderr:
                    said = [part async for part in process.stderr]
                await process.wait()
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)
    finally:
        history.unlink(missing_ok=True)
    progress(_count(out / "items.jsonl"))
    if await _is_outdated(store, out):
        raise TheanineError(
            "something of this user was erased or replaced meanwhile, so the run was removed; "
            "compare again"
        )
    if process.returncode and not (out / "summary.json").exists():
        reason = b"".join(said).decode(errors="replace").strip()
        raise TheanineError(f"theanine compare failed: {reason}")


async def keep_removing_outdated_runs(store: SqlStore, stopped: anyio.Event) -> None:
    """Call :func:`remove_outdated_runs` once a minute until the service stops."""
    while not stopped.is_set():
        try:
            await remove_outdated_runs(store)
        except (StoreError, OSError) as error:  # it may pass
            _log.warning("evaluation runs could not be checked: %s", error)
        with anyio.move_on_after(CLEANING):
            await stopped.wait()


async def remove_outdated_runs(store: SqlStore) -> None:
    """Delete comparisons on this machine whose data was erased from the store, or replaced."""
    for source in (await _runs_of_store(store)).glob(f"tenant-*/*{_SOURCE}"):
        run = source.with_name(source.name.removesuffix(_SOURCE))
        if await _is_outdated(store, run):
            run.with_name(f"{run.name}.jsonl").unlink(missing_ok=True)
            if run.exists():
                await anyio.to_thread.run_sync(shutil.rmtree, run)
            source.unlink(missing_ok=True)


async def _is_outdated(store: SqlStore, run: Path) -> bool:
    try:
        source = _Source.model_validate_json(_source_of(run).read_bytes())
    except (FileNotFoundError, ValidationError):
        return True
    scope = Scope(user=source.user, agent=source.agent, tenant=source.tenant)
    return (await store.scope_version(scope)).epoch != source.epoch


def _source_of(run: Path) -> Path:
    """Return the file that names the scope of a run; it is next to the run's folder."""
    return run.with_name(f"{run.name}{_SOURCE}")


async def _end(process: Process) -> None:
    """End a process if it still runs; it saves the replies that were paid for."""
    with suppress(ProcessLookupError):
        process.terminate()
    with anyio.move_on_after(GRACE):
        await process.wait()
    if process.returncode is None:
        process.kill()
    await process.aclose()


async def _follow(file: Path, progress: Callable[[int], None]) -> None:
    while True:
        progress(_count(file))
        await anyio.sleep(LOOK)


def _count(file: Path) -> int:
    """Return how many recalls of a run are done."""
    try:
        return file.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def _model_options(options: OpenOptions) -> list[str]:
    """Return the models of the service as options of the command line."""
    given = {
        "--model": options.model,
        "--base-url": options.base_url,
        "--memory-model": options.memory_model,
        "--memory-base-url": options.memory_base_url,
        "--embedder": options.embedder,
    }
    if any(not isinstance(value, str) for value in given.values() if value is not None):
        raise SettingsError("methods are compared only with models that are named by a text")
    named = {name: str(value) for name, value in given.items() if value is not None}
    return [text for pair in named.items() for text in pair]
