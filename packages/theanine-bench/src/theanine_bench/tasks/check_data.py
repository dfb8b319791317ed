"""Check a data set: read it as the benches do and count contents, faults and oddities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from theanine.errors import BadInput
from theanine.importers import read_histories
from theanine.types import History
from theanine_bench.datasets.labels import UNLABELED
from theanine_bench.datasets.qa import read_qa
from theanine_bench.datasets.responses import read_responses
from theanine_bench.datasets.segmentation import read_segmented
from theanine_bench.samples import Group
from theanine_bench.teafarm.teabag import is_teabag, read_teabag

Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetReport:
    """What a bench reads from a file or folder, as counts.

    Attributes:
        contents: histories, sessions and turns, or dialogues and segments.
        samples: by category.
        dropped: what can't be used, by reason.
        warnings: what is used but looks wrong, by reason.
        fields: the fields that were read, for a format without a published description.
    """

    bench: str
    contents: Counts
    samples: Counts
    dropped: Counts
    warnings: Counts
    fields: Sequence[str] = ()


def check_dataset(path: Path, benches: Iterable[str] = ()) -> list[DatasetReport]:
    """Read a path as these benches do, by default as the first bench that can.

    Raises BadInput if no bench can read it, or with the place of a fault if a bench knows its
    format.
    """
    named = [bench for bench in dict.fromkeys(map(_reader, benches)) if bench in _CHECKS]
    if named:
        return [_CHECKS[bench](path) for bench in named]
    faults: list[str] = []
    for read in _CHECKS.values():
        try:
            report = read(path)
        except BadInput as fault:
            if _is_inside(fault.where, path):  # the format is right, an item is not
                raise
            faults.append(str(fault))
            continue
        if any(report.contents.values()):
            return [report]
        faults.append(f"bench {report.bench} finds nothing in it")
    raise BadInput(f"no bench can read it: {'; '.join(dict.fromkeys(faults))}", str(path))


def _is_inside(where: str, path: Path) -> bool:
    """Return whether a fault is in an item of a list or in a file of a folder."""
    return where != str(path) if path.is_dir() else where.startswith(f"{path}, [")


def _reader(bench: str) -> str:
    return "qa" if bench == "retrieval" else bench  # one reader serves both


def _qa(path: Path) -> DatasetReport:
    return _report_groups("qa", read_qa(path))


def _responses(path: Path) -> DatasetReport:
    return _report_groups("responses", read_responses(path))


def _report_groups(bench: str, groups: Sequence[Group]) -> DatasetReport:
    histories = [h for group in groups for stage in group.stages for h in stage.histories]
    dropped = sum((Counter(group.dropped) for group in groups), Counter[str]())
    warnings = sum((Counter(history.notes) for history in histories), Counter[str]())
    samples = Counter[str]()
    for group in groups:
        texts = {sample.dialogue[-1].text.casefold() for sample in group.samples}
        if bench == "qa":
            warnings["questions asked twice"] += len(group.samples) - len(texts)
        for sample in group.samples:
            samples[sample.category or "uncategorized"] += 1
            answerable = sample.extra.get("answerable", True)
            warnings["questions without a reference answer"] += answerable and not sample.reference
            warnings[UNLABELED] += sample.extra.get("gold") == []
    return DatasetReport(
        bench=bench,
        contents={**_count_turns(histories), "memories of their own": len(groups)},
        samples=samples,
        dropped=+dropped,
        warnings=+warnings,
    )


def _count_turns(histories: Sequence[History]) -> dict[str, int]:
    return {
        "histories": len({history.name for history in histories}),
        "sessions": sum(len(history.transcripts) for history in histories),
        "turns": sum(len(t.turns) for history in histories for t in history.transcripts),
    }


def _segmentation(path: Path) -> DatasetReport:
    dropped = Counter[str]()
    dialogues = read_segmented(path, dropped)
    single = sum(len(dialogue.lengths) == 1 for dialogue in dialogues)
    blank = sum(not text.strip() for dialogue in dialogues for text in dialogue.texts)
    return DatasetReport(
        bench="segmentation",
        contents={
            "dialogues": len(dialogues),
            "turns": sum(len(dialogue.texts) for dialogue in dialogues),
            "segments": sum(len(dialogue.lengths) for dialogue in dialogues),
        },
        samples=Counter(dialogue.part or "whole" for dialogue in dialogues),
        dropped=+dropped,
        warnings=+Counter({"dialogues of one segment": single, "empty turns": blank}),
    )


def _teafarm(path: Path) -> DatasetReport:
    if path.is_file() and is_teabag(path):
        teabag = read_teabag(path)
        return DatasetReport(
            bench="teafarm",
            contents=_count_turns(teabag.histories),
            samples=Counter(one.data_set or "unnamed" for one in teabag.question_file.questions),
            dropped={},
            warnings={f"episodes with {name!r}, not read": n for name, n in teabag.unread.items()},
            fields=sorted(teabag.read),
        )
    reading = read_histories(path, keep_going=True)
    return DatasetReport(
        bench="teafarm",
        contents=_count_turns(reading.histories),
        samples={},
        dropped=+Counter({"turns or sessions that can't be read": len(reading.rejected)}),
        warnings=reading.notes,
    )


_CHECKS: Mapping[str, Callable[[Path], DatasetReport]] = {
    "qa": _qa,
    "segmentation": _segmentation,
    "responses": _responses,
    "teafarm": _teafarm,
}
