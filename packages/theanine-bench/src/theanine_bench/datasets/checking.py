"""Reads a set as the benches do, and counts what is in it, what was dropped and what is odd."""

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
    """What one bench finds in a file or folder.

    Attributes:
        held: histories, sessions and turns, or dialogues and segments.
        asked: cases by category.
        dropped: what could not be used, by reason.
        odd: what is used as it is but looks wrong, by reason.
    """

    bench: str
    contents: Counts
    samples: Counts
    dropped: Counts
    warnings: Counts


def check_dataset(path: Path, benches: Iterable[str] = ()) -> list[DatasetReport]:
    """What each of these benches finds; without any named, what the first finds that can read it.

    Raises BadInput where it can't be read, and for the first that knows its shape, at the place
    where it is faulty.
    """
    named = [bench for bench in dict.fromkeys(map(_reader, benches)) if bench in _CHECKS]
    if named:
        return [_CHECKS[bench](path) for bench in named]
    faults: list[str] = []
    for one in _CHECKS.values():
        try:
            found = one(path)
        except BadInput as fault:
            if _is_inside(fault.where, path):  # it is this bench's, and faulty
                raise
            faults.append(str(fault))
            continue
        if any(found.contents.values()):
            return [found]
        faults.append(f"bench {found.bench} finds nothing in it")
    raise BadInput(f"no bench can read it: {'; '.join(dict.fromkeys(faults))}", str(path))


def _is_inside(where: str, path: Path) -> bool:
    """Whether a fault is of one item of a list, or of one file of a folder."""
    return where != str(path) if path.is_dir() else where.startswith(f"{path}, [")


def _reader(bench: str) -> str:
    return "qa" if bench == "retrieval" else bench  # one reader serves both


def _qa(path: Path) -> DatasetReport:
    return _of_groups("qa", read_qa(path))


def _responses(path: Path) -> DatasetReport:
    return _of_groups("responses", read_responses(path))


def _of_groups(bench: str, groups: Sequence[Group]) -> DatasetReport:
    histories = [h for group in groups for stage in group.stages for h in stage.histories]
    dropped = sum((Counter(group.dropped) for group in groups), Counter[str]())
    odd = sum((Counter(history.notes) for history in histories), Counter[str]())
    asked = Counter[str]()
    for group in groups:
        texts = Counter(case.dialogue[-1].text.casefold() for case in group.samples)
        odd["questions asked twice"] += len(group.samples) - len(texts) if bench == "qa" else 0
        for case in group.samples:
            asked[case.category or "uncategorized"] += 1
            answerable = case.extra.get("answerable", True)
            odd["questions without a reference answer"] += answerable and not case.reference
            odd[UNLABELED] += case.extra.get("gold") == []
    return DatasetReport(
        bench=bench,
        contents={**_held(histories), "memories of their own": len(groups)},
        samples=asked,
        dropped=+dropped,
        warnings=+odd,
    )


def _held(histories: Sequence[History]) -> dict[str, int]:
    return {
        "histories": len({history.name for history in histories}),
        "sessions": sum(len(history.transcripts) for history in histories),
        "turns": sum(len(t.turns) for history in histories for t in history.transcripts),
    }


def _segmentation(path: Path) -> DatasetReport:
    dropped = Counter[str]()
    dialogues = read_segmented(path, dropped)
    single = sum(len(one.lengths) == 1 for one in dialogues)
    blank = sum(not text.strip() for one in dialogues for text in one.texts)
    return DatasetReport(
        bench="segmentation",
        contents={
            "dialogues": len(dialogues),
            "turns": sum(len(one.texts) for one in dialogues),
            "segments": sum(len(one.lengths) for one in dialogues),
        },
        samples=Counter(one.part or "whole" for one in dialogues),
        dropped=+dropped,
        warnings=+Counter({"dialogues of one segment": single, "empty turns": blank}),
    )


def _teafarm(path: Path) -> DatasetReport:
    if path.is_file() and is_teabag(path):
        bag = read_teabag(path)
        asked = Counter(one.data_set or "unnamed" for one in bag.question_file.questions)
        return DatasetReport(
            bench="teafarm", contents=_held(bag.histories), samples=asked, dropped={}, warnings={}
        )
    reading = read_histories(path, keep_going=True)
    dropped = Counter({"turns or sessions that can't be read": len(reading.rejected)})
    return DatasetReport(
        bench="teafarm",
        contents=_held(reading.histories),
        samples={},
        dropped=+dropped,
        warnings=reading.notes,
    )


_CHECKS: Mapping[str, Callable[[Path], DatasetReport]] = {
    "qa": _qa,
    "segmentation": _segmentation,
    "responses": _responses,
    "teafarm": _teafarm,
}
