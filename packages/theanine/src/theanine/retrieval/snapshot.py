"""Keep a scope's log index in a file next to the store, so that a new process need not build it.

A file that is missing, damaged, or made by other code, of other settings or of other turns is
ignored, and the index is built from the store.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from math import prod
from threading import Thread
from typing import Any, cast
from zlib import crc32

import anyio
import numpy as np
from anyio import to_thread
from numpy.typing import NDArray

from theanine.cancellation import finish
from theanine.errors import TheanineError
from theanine.store.base import Store
from theanine.types import Scope

MIN_LAG, MAX_LAG = 150, 10
"""A file is written again when it lacks ``MIN_LAG`` candidates and a ``MAX_LAG``-th of all."""

_MAGIC = b"theanine log index 9\n"
_CHECK_BYTES = 4
_INLINE_BYTES = 2_000_000
"""Up to this size unpacking takes some 4 ms, less than moving to a worker thread is worth."""
_ALIGNMENT = 64

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotStamp:
    """What a snapshot depends on besides the turns and memories; others are ignored.

    Attributes:
        epoch: the scope's erasure epoch.
        settings: those on which the index depends.
        stand_in: whether it is only used while another one is made.
    """

    scope_id: int
    epoch: int
    method: str
    embedder: str
    settings: str
    stand_in: bool = False

    @property
    def name(self) -> str:
        """File name without the scope prefix."""
        digest = blake2b(self.method.encode(), digest_size=8).hexdigest()
        return ("words-" if self.stand_in else "log-") + digest


def pack(state: Mapping[str, Any], stamp: SnapshotStamp) -> list[bytes]:
    """Return the parts of a file: magic, checksum of the rest, JSON header line, arrays.

    Args:
        state: arrays, JSON values without mappings, and dicts of these. Whole numbers are stored in
            as few bytes as the largest one needs.
    """
    arrays = list[NDArray[Any]]()

    def describe(value: Any) -> Any:
        if isinstance(value, dict):
            parts = cast("dict[str, Any]", value)
            return {name: describe(part) for name, part in parts.items()}
        if not isinstance(value, np.ndarray):
            return value
        arrays.append(_narrow(np.ascontiguousarray(cast("NDArray[Any]", value))))
        return {"array": len(arrays) - 1}

    header = {
        "stamp": asdict(stamp) | {"code": _code_hash()},
        "state": describe(dict(state)),
        "arrays": [(array.dtype.str, array.shape) for array in arrays],
    }
    line = json.dumps(header).encode()
    line += b" " * (-(_PREFIX + len(line) + 1) % _ALIGNMENT) + b"\n"
    body: list[bytes] = []
    for array in arrays:
        body += [array.tobytes(), bytes(-array.nbytes % _ALIGNMENT)]
    return [_MAGIC, _checksum(line, *body), line, *body]


def unpack(data: bytes | None, stamp: SnapshotStamp) -> dict[str, Any] | None:
    """Return the state in a file; None if it is missing, damaged or of another stamp.

    Arrays of whole numbers can have a narrower type than they were packed with.
    """
    if data is None or not data.startswith(_MAGIC) or len(data) <= _PREFIX:
        return None
    if data[len(_MAGIC) : _PREFIX] != _checksum(memoryview(data)[_PREFIX:]):
        return None
    end = data.index(b"\n", _PREFIX) + 1
    header: dict[str, Any] = json.loads(data[_PREFIX:end])
    if header["stamp"] != asdict(stamp) | {"code": _code_hash()}:
        return None
    layout = [(np.dtype(dtype), tuple(shape)) for dtype, shape in header["arrays"]]
    arrays: list[NDArray[Any]] = []
    for dtype, shape in layout:
        count = prod(shape)
        arrays.append(np.frombuffer(data, dtype, count, end).reshape(shape))
        end += count * dtype.itemsize
        end += -end % _ALIGNMENT

    def restore(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        parts = cast("dict[str, Any]", value)
        if parts.keys() == {"array"}:
            return arrays[int(parts["array"])]
        return {name: restore(part) for name, part in parts.items()}

    return cast("dict[str, Any]", restore(header["state"]))


async def read_snapshot(store: Store, scope: Scope, stamp: SnapshotStamp) -> dict[str, Any] | None:
    """Return the stored state of a scope's log index; None if there is none of this stamp."""
    try:
        data = await store.read_sidecar(scope, stamp.name)
        if data is None or len(data) <= _INLINE_BYTES:
            return unpack(data, stamp)
        return await to_thread.run_sync(unpack, data, stamp)
    except TheanineError as error:
        _log.warning("the log index of %s could not be read: %s", scope, error)
        return None


class SnapshotWriter:
    """Writes snapshots in the background, one at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._thread: Thread | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a snapshot is being written."""
        return self._thread is not None and self._thread.is_alive()

    def write(
        self,
        scope: Scope,
        state: Mapping[str, Any],
        stamp: SnapshotStamp,
        *,
        ends_stand_in: bool = False,
    ) -> None:
        """Start writing; the arrays of the state must not change, only grow."""

        def run() -> None:
            write = self._store.write_sidecar
            try:
                anyio.run(write, scope, stamp.name, stamp.epoch, pack(state, stamp))
                if ends_stand_in:
                    name = replace(stamp, stand_in=True).name
                    anyio.run(write, scope, name, stamp.epoch, ())
            except (TheanineError, OSError, MemoryError, RuntimeError) as error:
                _log.warning("the log index of %s could not be stored: %s", scope, error)

        self._thread = Thread(target=run, name="theanine-snapshot")
        self._thread.start()

    async def wait(self) -> None:
        """Wait for the current snapshot."""
        if self._thread is not None:
            await finish(to_thread.run_sync(self._thread.join))


_PREFIX = len(_MAGIC) + _CHECK_BYTES


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers in the narrowest type that holds them; other arrays as they are."""
    if array.dtype.kind != "i" or not array.size:
        return array
    largest = max(int(array.max()), -1 - int(array.min()))
    return array.astype(np.min_scalar_type(-1 - largest))


def _checksum(*parts: bytes | memoryview) -> bytes:
    """Return a CRC of the parts: against damage, in a fifth of the time of a hash."""
    check = 0
    for part in parts:
        check = crc32(part, check)
    return check.to_bytes(_CHECK_BYTES, "big")


@cache
def _code_hash() -> str:
    """Return a hash of the code that makes the state: after a change it is made again."""
    sources = sorted(files("theanine.retrieval").iterdir(), key=lambda path: path.name)
    content = b"".join(path.read_bytes() for path in sources if path.is_file())
    return blake2b(content, digest_size=16).hexdigest()
