"""Rows of a table in a file: CSV, TSV or Parquet, with lists and objects in cells."""

from __future__ import annotations

import ast
import csv
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

from theanine.errors import BadInput, SettingsError
from theanine_bench.files import read_text

SEPARATORS = {".csv": ",", ".tsv": "\t"}
PARQUET = ".parquet"


def is_table(file: Path) -> bool:
    """Return whether a file's name says that it is a table."""
    return file.suffix.lower() in (*SEPARATORS, PARQUET)


def read_rows(file: Path) -> list[dict[str, Any]]:
    """Return the rows of a table, each cell by its column; empty cells are left out.

    A cell that is a JSON or Python list or object is read as one. Raises BadInput for a file that
    can't be read, SettingsError for Parquet without pyarrow.
    """
    if file.suffix.lower() == PARQUET:
        rows = _read_parquet(file)
    else:
        csv.field_size_limit(sys.maxsize)
        separator = SEPARATORS[file.suffix.lower()]
        reader = csv.DictReader(StringIO(read_text(file)), delimiter=separator, strict=True)
        try:
            rows = list(reader)
        except csv.Error as error:
            raise BadInput(f"line {reader.line_num}: {error}", str(file)) from None
        if any(None in row for row in rows):
            raise BadInput("a row has more cells than there are columns", str(file))
    if not rows:
        raise BadInput("it has no rows", str(file))
    return [
        {key: _parse_cell(cell) for key, cell in row.items() if cell not in (None, "")}
        for row in rows
    ]


def _read_parquet(file: Path) -> list[Mapping[str, Any]]:
    if find_spec("pyarrow") is None:
        raise SettingsError(f"reading {file.name} needs pyarrow: pip install pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    error: type[Exception] = import_module("pyarrow").ArrowException
    try:
        return parquet.read_table(file).to_pylist()
    except (OSError, error) as fault:
        raise BadInput(f"can't be read as Parquet: {fault}", str(file)) from None


def _parse_cell(cell: Any) -> Any:
    if isinstance(cell, str) and cell.lstrip().startswith(("[", "{")):
        with suppress(ValueError, RecursionError):
            return json.loads(cell)
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            return ast.literal_eval(cell.strip())
    return cell
