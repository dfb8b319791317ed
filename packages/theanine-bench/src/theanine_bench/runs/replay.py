"""Repeating a run from its journal alone: the same results, to the byte, without a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from theanine.errors import BadInput
from theanine.private_files import make_folder
from theanine.store import open_store
from theanine_bench.config import RunConfig
from theanine_bench.runs.folder import RunFolder, results_to_jsonl
from theanine_bench.runs.runner import Runner
from theanine_bench.runs.task import Task, recorded_models, run_settings
from theanine_bench.samples import SampleResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The results of a replay, and the ids of those that differ from the run's."""

    results: Sequence[SampleResult]
    different: Sequence[str]


async def replay(task: Task, config: RunConfig, folder: RunFolder) -> Replay:
    """Repeat a run in empty stores that contain the run's journal and nothing else.

    A call that failed in the run has no reply in the journal, so it fails in the replay as well,
    with another message; the run's own message is then kept. Raises BadInput if the task or the
    configuration is not the run's.
    """
    settings = folder.settings()
    models = recorded_models(settings)
    if run_settings(task, config, models) != settings:
        raise BadInput("the data or the settings are not those of this run", str(folder.path))
    original = folder.results()
    if not original:
        raise BadInput("the run has no results yet", str(folder.path))
    with TemporaryDirectory() as temporary:
        copy = RunFolder(Path(temporary) / "run")
        copy.begin(settings)
        for store in folder.stores:
            await _copy_journal(store, copy.path / store.relative_to(folder.path))
        repeated = await Runner(task=task, config=config, models=models, folder=copy).run()
    results = [_with_original_failures(result, original.get(result.id)) for result in repeated]
    return Replay(results=results, different=_differing_ids(results, original.values()))


async def _copy_journal(source: Path, target: Path) -> None:
    make_folder(target.parent)
    old, new = open_store(str(source)), open_store(str(target))
    await old.open()
    await new.open()
    try:
        journal = [record async for record in old.export() if record["type"] == "journal"]
        await new.restore(journal, partial=True)
    finally:
        await old.close()
        await new.close()


def _with_original_failures(result: SampleResult, original: SampleResult | None) -> SampleResult:
    if original is None or set(original.failures) != set(result.failures):
        return result
    return replace(result, failures=original.failures)


def _differing_ids(results: Iterable[SampleResult], original: Iterable[SampleResult]) -> list[str]:
    lines = {result.id: results_to_jsonl([result]) for result in results}
    originals = {result.id: results_to_jsonl([result]) for result in original}
    return sorted(id for id in {*lines, *originals} if lines.get(id) != originals.get(id))
