"""Read data sets whose questions are labeled with the turns that answer them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from theanine.errors import BadInput
from theanine_bench.datasets.formats import LabeledFormat, load_formats
from theanine_bench.datasets.labels import LabeledHistory
from theanine_bench.files import read_json


def read_evidence(path: Path) -> list[LabeledHistory]:
    """Return the labeled histories of a file or folder.

    Raises BadInput if it has none of the known formats, or with the place of a fault.
    """
    return parse_labeled(path, None if path.is_dir() else read_json(path))


def parse_labeled(path: Path, document: Any) -> list[LabeledHistory]:
    """Return the labeled histories of a parsed file, which may be emptied to save memory."""
    for format in load_formats():
        if isinstance(format, LabeledFormat) and format.matches(path, document):
            return format.read(path, document)
    names = [format.name for format in load_formats() if isinstance(format, LabeledFormat)]
    raise BadInput(
        f"no questions with evidence in it; it has none of the formats {', '.join(names)}",
        str(path),
    )
