"""An approximate index of vectors, and how it is kept in a file.

A hierarchical navigable small world graph (Malkov and Yashunin, 2018) by usearch, over float16. It
only proposes rows, which are then compared as they are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from importlib.util import find_spec
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theanine.errors import MissingExtra
from theanine.retrieval.neighbors import Positions

CONNECTIONS, EXPANSION = 16, 64
"""Edges a node, and nodes that are looked at as one is added."""

_MAGIC = b"theanine vector index 1\n"
_HASH = 16  # bytes


def is_available() -> bool:
    """Whether the extra ``ann`` is installed; without it every search is exact."""
    return find_spec("usearch") is not None


class VectorIndex:
    """Over the first ``rows`` of vectors that keep arriving. Raises MissingExtra without ``ann``.

    The same rows, added in the same order, give the same index.
    """

    def __init__(self, width: int) -> None:
        try:
            from usearch.index import Index
        except ImportError:
            raise MissingExtra("ann", "an approximate index of vectors") from None
        self.width, self.rows = width, 0
        self._index: Any = Index(
            ndim=width,
            metric="ip",
            dtype="f16",
            connectivity=CONNECTIONS,
            expansion_add=EXPANSION,
        )
        self._searching = Lock()  # the library has one working space for calls of one thread each

    def extend(self, vectors: NDArray[np.float32]) -> None:
        """Add rows, ``(n, d)``, behind those it has. Not while others search it."""
        self._index.add(np.arange(self.rows, self.rows + len(vectors)), vectors, threads=1)
        self.rows += len(vectors)

    def nearest(self, vector: NDArray[np.float32], k: int) -> Positions:
        """About the ``k`` rows of highest inner product, best first."""
        with self._searching:
            found = self._index.search(vector, min(k, self.rows), threads=1)
        return np.asarray(found.keys, np.int64)

    def dump(self) -> bytes:
        """The index as bytes that :meth:`load` takes back."""
        return bytes(self._index.save())

    @classmethod
    def load(cls, width: int, rows: int, data: bytes | memoryview) -> VectorIndex:
        """What was dumped: over so many rows of this width. Only for bytes known to be whole."""
        made = cls(width)
        made._index.load(data)
        made.rows = rows
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Whose vectors an index is of, as of which erasure, and how neighbours count in it."""

    scope_id: int
    epoch: int
    method: str
    embedder: str
    windows: str

    @property
    def name(self) -> str:
        """Of the file, beside the scope's number."""
        return blake2b(self.method.encode(), digest_size=8).hexdigest()


def pack(index: VectorIndex, stamp: Stamp, vectors: NDArray[np.float32]) -> Sequence[bytes]:
    """A file's parts: a hash of the rest, a line that says what it is, and the index."""
    head = asdict(stamp) | {
        "width": index.width,
        "rows": index.rows,
        "vectors": _hash_rows(vectors[: index.rows]),
    }
    line, body = json.dumps(head).encode() + b"\n", index.dump()
    return _MAGIC, _hash(line, body), line, body


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredIndex:
    """What a file holds: an index over the first ``rows`` of vectors with this hash."""

    rows: int
    width: int
    vectors: str
    body: memoryview

    @classmethod
    def read(cls, data: bytes | None, stamp: Stamp, width: int) -> StoredIndex | None:
        """None for a file that is missing, torn, stale or of something else."""
        start = len(_MAGIC) + _HASH
        if data is None or not data.startswith(_MAGIC):
            return None
        rest = memoryview(data)[start:]
        if data[len(_MAGIC) : start] != _hash(rest):
            return None
        end = data.index(b"\n", start) + 1
        head: dict[str, Any] = json.loads(data[start:end])
        expected = asdict(stamp) | {"width": width}
        if any(head[name] != value for name, value in expected.items()):
            return None
        body = rest[end - start :]
        return cls(rows=head["rows"], width=width, vectors=head["vectors"], body=body)

    def load(self, vectors: NDArray[np.float32]) -> VectorIndex | None:
        """The index; None when it is of other vectors than the first of these."""
        if self.rows > len(vectors) or self.vectors != _hash_rows(vectors[: self.rows]):
            return None
        return VectorIndex.load(self.width, self.rows, self.body)


def _hash(*parts: bytes | memoryview) -> bytes:
    made = blake2b(digest_size=_HASH)
    for part in parts:
        made.update(part)
    return made.digest()


def _hash_rows(vectors: NDArray[np.float32]) -> str:
    rows: Any = np.ascontiguousarray(vectors)
    return _hash(rows).hex()
