"""Search for erased texts in the raw bytes of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

PROBE_BYTES = 24
"""Length of a probe: a page boundary may cut a text, but hardly each of its probes."""

MIN_BYTES = 8
"""Shorter texts are not searched for, because vectors contain such bytes by chance."""

_BLOCK_BYTES = 8 * 1024 * 1024
_TABLE_BITS = 20
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: Fibonacci hashing


def make_probes(texts: Iterable[str]) -> set[bytes]:
    """Return up to five slices of each text, spread from its first byte to its last."""
    probes: set[bytes] = set()
    for text in texts:
        data = text.encode("utf-8")
        if len(data) >= MIN_BYTES:
            last = max(len(data) - PROBE_BYTES, 0)
            starts = (last * i // 4 for i in range(5))
            probes.update(data[start : start + PROBE_BYTES] for start in starts)
    return probes


def find_probes(blocks: Iterable[bytes], probes: set[bytes]) -> set[bytes]:
    """Return the probes that occur in any block; stops reading once all are found."""
    matches: set[bytes] = set()
    if probes:
        heads = _HeadTable(probes)
        lengths = {len(probe) for probe in probes}
        for block in blocks:
            for start in heads.find_starts(block):
                matches |= probes & {block[start : start + length] for length in lengths}
            if len(matches) == len(probes):
                break
    return matches


def read_blocks(paths: Iterable[Path]) -> Iterator[bytes]:
    """Yield the content of existing files in blocks that overlap by one probe."""
    for path in paths:
        try:
            with path.open("rb") as file:
                tail = b""
                while block := file.read(_BLOCK_BYTES):
                    yield tail + block
                    tail = block[-PROBE_BYTES:]
        except FileNotFoundError:
            continue


class _HeadTable:
    """The first eight bytes of each probe as a number, with a hash table that rejects most others.

    numpy tests every eighth position of a block at once, so a block takes eight passes.
    """

    def __init__(self, probes: set[bytes]) -> None:
        heads = {int.from_bytes(probe[:8], "little") for probe in probes}
        self._heads = np.array(sorted(heads), dtype="<u8")
        self._table = np.zeros(2**_TABLE_BITS, dtype=np.bool_)
        self._table[self._hash(self._heads)] = True

    def find_starts(self, block: bytes) -> Iterator[int]:
        """Yield the positions at which a probe's first eight bytes occur."""
        for shift in range(min(8, len(block))):
            words = np.frombuffer(block, "<u8", (len(block) - shift) // 8, offset=shift)
            candidates = np.flatnonzero(self._table[self._hash(words)])
            matches = candidates[np.isin(words[candidates], self._heads)]
            yield from (shift + 8 * matches).tolist()

    def _hash(self, words: np.ndarray[Any, np.dtype[np.uint64]]) -> Any:
        return (words * _MULTIPLIER) >> np.uint64(64 - _TABLE_BITS)
