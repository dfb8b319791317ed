"""pydantic-ai-harness: the files of its ``Memory`` capability in a user's memory.

::

    agent = Agent(model, capabilities=[Memory(store=TheanineMemoryStore(client.user("ana")))])
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import re

from theanine.errors import BadInput
from theanine.types import Metadata
from theanine_adapters.files import FileConflict, Files, StoredFile
from theanine_adapters.handles import UserHandle, call, needs_extra

with needs_extra("pydantic-ai-harness"):
    from pydantic_ai_harness.memory import (
        MemoryConflictError,
        MemoryFile,
        MemoryMutation,
        MemoryOperation,
        MemoryOperationConflictError,
    )

_SEGMENT = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_FOLDER = "harness_memory"
_OPERATION, _FINGERPRINT = "harness_operation", "harness_fingerprint"
_EXISTED = "harness_existed"


class TheanineMemoryStore:
    """A ``MemoryStore`` of pydantic-ai-harness whose files are in a user's memory.

    A change logs the lines that are new in the file as a turn of the assistant, so that
    ``user.recall`` finds each line once, from when it was written; ``delete`` erases the file from
    the store. A write or deletion whose operation is known is not repeated, as long as the file
    that a write made exists. Search is the harness's own.

    Args:
        user: the handle of the user, of either kind of client.
    """

    def __init__(self, user: UserHandle) -> None:
        self._user, self._files = user, Files(user, _FOLDER)

    async def read(self, path: str, *, max_chars: int) -> MemoryFile | None:
        """Return at most ``max_chars`` of a file; None if there is none."""
        _check(path)
        if max_chars <= 0:
            raise BadInput("max_chars must be positive")
        file = await self._files.read(path, call)
        if file is None:
            return None
        return MemoryFile(
            content=file.text[:max_chars],
            version=str(file.versions[-1]),
            operation_id=str(file.metadata.get(_OPERATION) or "") or None,
            truncated=len(file.text) > max_chars,
        )

    async def get_operation(self, operation: MemoryOperation) -> MemoryMutation | None:
        """Return what an operation did; None if it is unknown."""
        turns = await call(self._user.turns, where={_OPERATION: operation.id})
        if not turns:
            return None
        receipt = turns[-1]
        if receipt.metadata[_FINGERPRINT] != operation.fingerprint:
            raise MemoryOperationConflictError(
                f"operation id {operation.id!r} was reused with different arguments"
            )
        return MemoryMutation(
            version=str(receipt.id) if _FOLDER in receipt.metadata else None,
            replayed=True,
            existed=bool(receipt.metadata[_EXISTED]),
        )

    async def write(
        self,
        path: str,
        content: str,
        *,
        expected_version: str | None,
        operation: MemoryOperation | None = None,
    ) -> MemoryMutation:
        """Write a file whose version is ``expected_version``, None for a new one.

        Raises MemoryConflictError if it isn't.
        """
        _check(path)
        if operation and (known := await self.get_operation(operation)):
            return known
        before = await self._expect(path, expected_version)
        receipt = _receipt(operation, before)
        try:
            version = await self._files.write(path, content, before, call, receipt)
        except FileConflict as error:
            raise MemoryConflictError(str(error)) from error
        return MemoryMutation(version=str(version), replayed=False, existed=before is not None)

    async def delete(
        self, path: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        """Erase a file whose version is ``expected_version``. Raises MemoryConflictError."""
        _check(path)
        if operation and (known := await self.get_operation(operation)):
            return known
        before = await self._expect(path, expected_version)
        if before:
            await self._files.delete([before], call)
        if operation:
            note = {"role": "tool", "content": "[deleted a file]"}
            receipt = _receipt(operation, before)
            await call(self._user.add, note, session=f"{_FOLDER}:deleted files", metadata=receipt)
        return MemoryMutation(version=None, replayed=False, existed=before is not None)

    async def list_paths(self, prefix: str = "", *, limit: int) -> list[str]:
        """Return the paths that begin with a prefix, sorted, at most ``limit``."""
        if prefix:
            _check(prefix.removesuffix("/"))
        if limit <= 0:
            raise BadInput("limit must be positive")
        return [*await self._files.list(prefix, call)][:limit]

    async def _expect(self, path: str, version: str | None) -> StoredFile | None:
        file = await self._files.read(path, call)
        if (str(file.versions[-1]) if file else None) != version:
            raise MemoryConflictError(f"{path!r} was changed meanwhile; read it again")
        return file


def _check(path: str) -> None:
    """Raise BadInput for a path that could lead out of its folder."""
    names = path.split("/")
    if not all(_SEGMENT.fullmatch(name) and ".." not in name for name in names):
        raise BadInput(f"invalid memory path: {path!r}")


def _receipt(operation: MemoryOperation | None, before: StoredFile | None) -> Metadata:
    if operation is None:
        return {}
    return {
        _OPERATION: operation.id,
        _FINGERPRINT: operation.fingerprint,
        _EXISTED: before is not None,
    }
