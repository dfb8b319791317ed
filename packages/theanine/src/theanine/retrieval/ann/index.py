"""An approximate vector index and its file format.

The index is a hierarchical navigable small world graph (Malkov and Yashunin, 2018) from usearch,
over float16 vectors. It only proposes rows; these are then scored exactly.
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
"""Edges per node, and nodes examined when one is added."""

_MAGIC = b"theanine vector index 1\n"
_HASH_BYTES = 16


def is_available() -> bool:
    """Whether the extra ``ann`` is installed; without it every search is exact."""
    return find_spec("usearch") is not None


class VectorIndex:
    """An index of the first ``rows`` of a growing array of vectors.

    The same rows, added in the same order, give the same index. Raises MissingExtra without the
    extra ``ann``.
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
        self._search_lock = Lock()  # a search with one thread uses the library's only workspace

    def extend(self, vectors: NDArray[np.float32]) -> None:
        """Append rows, ``(n, d)``. Not while other threads search."""
        self._index.add(np.arange(self.rows, self.rows + len(vectors)), vectors, threads=1)
        self.rows += len(vectors)

    def nearest(self, vector: NDArray[np.float32], k: int) -> Positions:
        """Return approximately the ``k`` rows of highest inner product, best first."""
        with self._search_lock:
            matches = self._index.search(vector, min(k, self.rows), threads=1)
        return np.asarray(matches.keys, np.int64)

    def dump(self) -> bytes:
        """Serialize the index for :meth:`load`."""
        return bytes(self._index.save())

    @classmethod
    def load(cls, width: int, rows: int, data: bytes | memoryview) -> VectorIndex:
        """Load a dumped index of so many rows. Only for data that is known to be intact."""
        index = cls(width)
        index._index.load(data)
        index.rows = rows
        return index


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What the contents of an index depend on; a file with another stamp is stale.

    Attributes:
        epoch: the scope's erasure epoch.
        windows: settings of the neighbor smoothing.
    """

    scope_id: int
    epoch: int
    method: str
    embedder: str
    windows: str

    @property
    def name(self) -> str:
        """Index file name without the scope prefix."""
        return blake2b(self.method.encode(), digest_size=8).hexdigest()


def pack(index: VectorIndex, stamp: Stamp, vectors: NDArray[np.float32]) -> Sequence[bytes]:
    """Return the parts of an index file: magic, hash of the rest, JSON header line, index."""
    header = asdict(stamp) | {
        "width": index.width,
        "rows": index.rows,
        "vectors": _hash_vectors(vectors[: index.rows]),
    }
    line, body = json.dumps(header).encode() + b"\n", index.dump()
    return _MAGIC, _hash(line, body), line, body


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredIndex:
    """The contents of an index file.

    Attributes:
        vectors: hash of the ``rows`` vectors that were indexed.
    """

    rows: int
    width: int
    vectors: str
    body: memoryview

    @classmethod
    def read(cls, data: bytes | None, stamp: Stamp, width: int) -> StoredIndex | None:
        """Parse a file; None if it is missing, damaged or stale."""
        start = len(_MAGIC) + _HASH_BYTES
        if data is None or not data.startswith(_MAGIC):
            return None
        rest = memoryview(data)[start:]
        if data[len(_MAGIC) : start] != _hash(rest):
            return None
        end = data.index(b"\n", start) + 1
        header: dict[str, Any] = json.loads(data[start:end])
        expected = asdict(stamp) | {"width": width}
        if any(header[name] != value for name, value in expected.items()):
            return None
        body = rest[end - start :]
        return cls(rows=header["rows"], width=width, vectors=header["vectors"], body=body)

    def load(self, vectors: NDArray[np.float32]) -> VectorIndex | None:
        """Load the index; None if it was not made of the first of these vectors."""
        if self.rows > len(vectors) or self.vectors != _hash_vectors(vectors[: self.rows]):
            return None
        return VectorIndex.load(self.width, self.rows, self.body)


def _hash(*parts: bytes | memoryview) -> bytes:
    digest = blake2b(digest_size=_HASH_BYTES)
    for part in parts:
        digest.update(part)
    return digest.digest()


def _hash_vectors(vectors: NDArray[np.float32]) -> str:
    rows: Any = np.ascontiguousarray(vectors)
    return _hash(rows).hex()
