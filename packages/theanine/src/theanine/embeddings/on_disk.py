"""Where the files of a model that runs here are, and a name that tells such models apart."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from theanine.errors import SettingsError

_HUB = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
_STORED = re.compile(r"(?P<folder>.+)@[0-9a-f]{12}")
_READ = frozenset({".bin", ".json", ".model", ".onnx", ".onnx_data", ".py", ".safetensors", ".txt"})
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model comes from.

    Attributes:
        name: the full name. That of a model in a folder holds a fingerprint of its files: two
            models never share a name, and one keeps its name where its folder is moved.
        model: the folder's path or the name on the hub, as the library takes it.
        folder: the folder, or None for a model of the hub.
    """

    name: str
    model: str
    folder: Path | None


def source_of(kind: str, model: str) -> Source:
    """The source of ``kind:model``, a folder where there is one of that path, else a hub's name.

    Raises SettingsError for an empty name, a path with no folder and files that can't be read.
    """
    place = os.path.expanduser(model)  # Path.expanduser raises for an unknown user
    if os.path.isdir(place):
        return _in_folder(kind, Path(place).resolve())
    if _HUB.fullmatch(model):
        return Source(f"{kind}:{model}", model, None)
    if stored := _STORED.fullmatch(model):
        raise SettingsError(
            f"{kind}:{model} is how a model from a folder called {stored['folder']} is noted: "
            f"give the path of that folder, as in {kind}:models/{stored['folder']}"
        )
    raise SettingsError(
        f"{kind}:{model} names no model: there is no such folder. Give the path of a folder that "
        "holds a model, or a model's name on the hub"
    )


def _in_folder(kind: str, folder: Path) -> Source:
    try:
        return Source(f"{kind}:{folder.name}@{fingerprint(folder)}", str(folder), folder)
    except OSError as error:
        raise SettingsError(f"the model in {folder} can't be read: {error}") from error


def asked_as(name: str) -> str:
    """How to ask for the model of a full name: by its folder's path, if it came from a folder."""
    kind, _, model = name.partition(":")
    stored = _STORED.fullmatch(model)
    return f"{kind}:…/{stored['folder']}" if stored else name


def fingerprint(folder: Path) -> str:
    """Twelve hexadecimal digits over the names and the contents of a model's files.

    Readmes, pictures and hidden files don't count. Some 0.1 s for 100 MB.
    """
    digest = hashlib.sha256()
    for path in _files(folder):
        name = path.relative_to(folder).as_posix().encode("utf-8", "surrogateescape")
        digest.update(b"%d:%s:%d:" % (len(name), name, path.stat().st_size))
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:_DIGITS]


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix in _READ and not hidden and path.is_file():
            yield path
