"""Load the word lists and layouts of the readers, which are data files beside the code."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_data(name: str) -> Mapping[str, Any]:
    """Return the content of a TOML file of this package."""
    return tomllib.loads((files("theanine.importers") / name).read_text("utf-8"))


def wording(table: str) -> Mapping[str, Any]:
    """Return a table of ``wording.toml``."""
    return read_data("wording.toml")[table]
