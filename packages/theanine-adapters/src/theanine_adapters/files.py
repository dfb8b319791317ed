"""Text files that a model keeps for itself: each a thread of a user, whose newest turn counts."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from theanine.errors import NotFound, TheanineError
from theanine.types import Metadata, Scalar, Turn
from theanine_adapters.handles import Call, UserHandle
from theanine_adapters.words import new_lines

_LAST = chr(0x10FFFF)
"""Follows all other characters, so that it ends the range of strings with a prefix."""


class FileConflict(TheanineError):
    """A file was changed or deleted since the version that a change is based on."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file.

    Attributes:
        path: its name in its folder.
        versions: numbers of the turns that it was written by, the newest last.
        size: bytes of its text in UTF-8.
        text: its text; empty in a list of files.
        metadata: what its newest version was written with.
    """

    path: str
    versions: tuple[int, ...]
    size: int
    text: str = ""
    metadata: Metadata = field(default_factory=dict[str, Scalar])


class Files:
    """The files of one folder in a user's memory.

    Each version is a turn of the assistant whose words are the lines that are new in it, so that
    recall finds each line once, from when it was written; a version without any is the tool's.

    Args:
        user: the user's handle.
        folder: a name that tells these files from those of other adapters.
    """

    def __init__(self, user: UserHandle, folder: str) -> None:
        self._user, self._folder = user, folder

    async def list(self, prefix: str, call: Call) -> dict[str, StoredFile]:
        """Return the files whose path begins with a prefix, by path, without their texts."""
        where = {self._folder: {">=": prefix, "<": prefix + _LAST}}
        versions: dict[str, list[Turn]] = {}
        for turn in await call(self._user.turns, where=where):
            versions.setdefault(str(turn.metadata[self._folder]), []).append(turn)
        files = {path: _stored_file(path, versions[path]) for path in sorted(versions)}
        return {path: file for path, file in files.items() if file}

    async def read(self, path: str, call: Call) -> StoredFile | None:
        """Return a file; None if there is none."""
        turns = await call(self._user.turns, thread=self._thread(path), with_content=True)
        return _stored_file(path, turns)

    async def write(
        self,
        path: str,
        text: str,
        before: StoredFile | None,
        call: Call,
        metadata: Metadata = MappingProxyType({}),
    ) -> int:
        """Write a file, with metadata of its version, and return the number of that.

        Raises FileConflict unless the file is as it was ``before`` (None for a new one).
        """
        lines = new_lines(before.text.split("\n") if before else (), text.split("\n"))
        message: dict[str, Any] = {
            "role": "assistant",
            "content": [{"type": "item", "text": "\n".join(lines), "value": text}],
        }
        if not lines:
            message = {"role": "tool", "content": "[edited a file]", "value": text}
        # Of two changes of one version, which have one id, the second is logged as an edit of the
        # first: under another id.
        message["id"] = _change_of(before.versions[-1] if before else 0)
        own = {self._folder: path, "size": len(text.encode("utf-8", "surrogatepass"))}
        thread = self._thread(path)
        report = await call(self._user.add, message, session=thread, metadata={**metadata, **own})
        if report.turns and report.turns[0].key == message["id"]:
            return report.turns[0].id
        if report.turns:
            await call(self._user.forget, turn=report.turns[0].id)
        raise FileConflict(f"{path} was changed meanwhile; read it again")

    async def delete(self, files: Iterable[StoredFile], call: Call) -> None:
        """Erase files with all their versions."""
        for file in files:  # whole threads, so that no trace is in the way of a new file
            with suppress(NotFound):  # another process has erased it
                await call(self._user.forget, thread=self._thread(file.path))

    def _thread(self, path: str) -> str:
        return f"{self._folder}:{path}"


def _change_of(version: int) -> str:
    """Return the id of the message that changes a version; 0 is before the first."""
    return f"after {version}"


def _stored_file(path: str, logged: list[Turn]) -> StoredFile | None:
    turns: list[Turn] = []
    for turn in logged:  # each changes the one before; what doesn't is a change that was refused
        if turn.key == _change_of(turns[-1].id if turns else 0):
            turns.append(turn)
    if not turns:
        return None
    last = turns[-1]
    return StoredFile(
        path=path,
        versions=tuple(turn.id for turn in turns),
        size=int(str(last.metadata["size"])),
        text=str(last.content[0]["value"]) if last.content else "",
        metadata=last.metadata,
    )
