"""A run's folder: its settings, its store with the journal, its results and summary."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from theanine.errors import BadInput, SettingsError
from theanine.private_files import make_folder
from theanine_bench.files import append_line, read_json, read_lines, write_atomically
from theanine_bench.runs.legacy import upgrade_result, upgrade_settings, upgrade_summary
from theanine_bench.runs.schema import GroupFacts, Result, SampleTime, Settings, Summary
from theanine_bench.samples import SampleResult
from theanine_bench.validation import validate

SETTINGS, ITEMS, SUMMARY, REPORT, STORE, COMMAND, TIMES, FACTS = (
    "settings.json",
    "items.jsonl",
    "summary.json",
    "report.html",
    "memory.db",
    "command.txt",
    "times.jsonl",
    "facts.jsonl",
)
BINARY = "binary"
"""Key in the file of settings of the metrics that declare binary scores, which is no setting."""
STORES = "stores"
"""Folder of the stores of targets that need several."""


class RunFolder:
    """The files of one run. Results are appended one by one, so an interrupted run resumes.

    Args:
        path: the folder.
        store: the run's store, with the journal; by default a file of the folder.
    """

    def __init__(self, path: Path, store: Path | None = None) -> None:
        self.path = path
        self.store = store or path / STORE

    @property
    def stores(self) -> list[Path]:
        """All stores of the run that exist, each with a journal."""
        return [
            file
            for file in (self.store, *sorted((self.path / STORES).glob("*.db")))
            if file.exists()
        ]

    def begin(self, settings: Mapping[str, Any], binary: Sequence[str] = ()) -> None:
        """Create the folder, or check that it holds a run with the same settings.

        ``binary`` are the names of the run's metrics whose scores are 0 or 1 by definition.

        Raises SettingsError, naming what differs, for the folder of another run, and where no
        folder can be made.
        """
        try:
            make_folder(self.path)
            wanted = json.loads(json.dumps(dict(settings)))
            file = self.path / SETTINGS
            if not file.exists():
                if strangers := sorted(entry.name for entry in self.path.iterdir()):
                    raise SettingsError(
                        f"{self.path} contains {strangers[0]} and no run; name an empty or new "
                        "folder"
                    )
                write_atomically(file, _pretty({**wanted, BINARY: list(binary)}))
                return
            existing = upgrade_settings(_read_object(file))
            existing.pop(BINARY, None)
        except OSError as error:
            raise SettingsError(
                f"{self.path} can't be a run's folder: {error.strerror}; name another"
            ) from None
        for name, old, new in _differences(existing, wanted):
            raise SettingsError(
                f"{self.path} contains a run with other settings ({name}: {old!r}, now {new!r}); "
                "use the same settings to resume it, or name a new folder"
            )

    def settings(self) -> dict[str, Any]:
        """Return the run's settings. Raises BadInput where there is no run."""
        settings = self._read_settings()
        settings.pop(BINARY, None)
        return settings

    def binary(self) -> list[str] | None:
        """Return the names of the run's metrics whose scores are 0 or 1 by definition.

        None for a run of an earlier release, which doesn't say so. Raises BadInput where there is
        no run.
        """
        return self._read_settings().get(BINARY)

    def _read_settings(self) -> dict[str, Any]:
        file = self.path / SETTINGS
        if not file.exists():
            raise BadInput("not a run's folder: settings.json is missing", str(self.path))
        settings = upgrade_settings(_read_object(file))
        validate(Settings, settings, str(file))
        return settings

    def results(self) -> dict[str, SampleResult]:
        """Return the results so far, by sample id; the last of each counts.

        A last line that a kill cut off is skipped. Raises BadInput for any other damaged line.
        """
        results = (parse_result(*line) for line in read_lines(self.path / ITEMS, appended=True))
        return {result.id: result for result in results}

    def results_for(self, ids: Collection[str]) -> dict[str, SampleResult]:
        """Return :meth:`results`. Raises BadInput if there are any of other samples."""
        results = self.results()
        if others := [id for id in results if id not in ids]:
            raise BadInput(
                f"it contains {len(others)} results of samples that this run doesn't have, such "
                f"as {others[0]!r}; name another folder, or move {ITEMS} away",
                str(self.path),
            )
        return results

    def append(self, result: SampleResult) -> None:
        """Append a result durably."""
        append_line(self.path / ITEMS, results_to_jsonl([result])[:-1])

    def sort_results(self, order: Iterable[str]) -> list[SampleResult]:
        """Rewrite the results in the order of these ids, each once, and return them."""
        by_id = self.results()
        results = [by_id[id] for id in order if id in by_id]
        write_atomically(self.path / ITEMS, results_to_jsonl(results))
        return results

    def append_time(self, sample: str, seconds: float) -> None:
        """Record how long an answer took; apart from the results, as replays take other times."""
        line = {"id": sample, "seconds": round(seconds, 6)}
        append_line(self.path / TIMES, json.dumps(line))

    def times(self) -> dict[str, float]:
        """Return the seconds each answer took, by sample id. Raises BadInput."""
        lines = read_lines(self.path / TIMES, appended=True)
        times = (validate(SampleTime, *line) for line in lines)
        return {time.id: time.seconds for time in times}

    def append_facts(self, group: str, facts: Mapping[str, Any]) -> None:
        """Record what the target reports about a group."""
        append_line(self.path / FACTS, json.dumps({"group": group, **facts}))

    def facts(self) -> dict[str, dict[str, Any]]:
        """Return what the target reported, by group. Raises BadInput."""
        facts: dict[str, dict[str, Any]] = {}
        for line, where in read_lines(self.path / FACTS, appended=True):
            group = validate(GroupFacts, line, where).group
            facts[group] = {name: value for name, value in line.items() if name != "group"}
        return facts

    def write(self, name: str, text: str) -> Path:
        """Write a file of the folder atomically, and return its path."""
        write_atomically(self.path / name, text)
        return self.path / name

    def dataset(self) -> str:
        """Return the name of the run's data set; empty if it has none, several or no summary."""
        if not (self.path / SUMMARY).exists():
            return ""
        sets: list[str] = self.summary().get("sets", [])
        return sets[0] if len(sets) == 1 else ""

    def summary(self) -> dict[str, Any]:
        """Return the summary. Raises BadInput where the run isn't finished."""
        file = self.path / SUMMARY
        if not file.exists():
            raise BadInput("the run is not finished: summary.json is missing", str(self.path))
        summary = upgrade_summary(_read_object(file))
        validate(Summary, summary, str(file))
        return summary


def parse_result(record: object, where: str) -> SampleResult:
    """Return a result from its JSON. Raises BadInput, with the place, if it is malformed."""
    if not isinstance(record, dict):
        raise BadInput("not a result: it is no object", where)
    values = upgrade_result(cast("dict[str, Any]", record))
    if unknown := set(values) - {field.name for field in fields(SampleResult)}:
        raise BadInput(f"not a result: {', '.join(sorted(unknown))} unknown", where)
    validate(Result, values, where)
    return SampleResult(**values)


def results_to_jsonl(results: Iterable[SampleResult]) -> str:
    """Return results as JSON Lines; equal results give equal bytes."""
    return "".join(
        json.dumps(result.record(), ensure_ascii=False, sort_keys=True) + "\n" for result in results
    )


def _differences(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[tuple[str, object, object]]:
    """Yield each setting that differs, under its innermost name."""
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _differences(cast("dict[str, Any]", before), cast("dict[str, Any]", after))
        elif before != after:
            yield name, before, after


def _pretty(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def _read_object(file: Path) -> dict[str, Any]:
    """Return the JSON object in a file. Raises BadInput for anything else."""
    value = read_json(file)
    if not isinstance(value, dict):
        raise BadInput("not written by a run: it is no JSON object", str(file))
    return cast("dict[str, Any]", value)
