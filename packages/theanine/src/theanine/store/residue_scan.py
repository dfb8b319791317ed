"""Looking for erased words in the raw bytes of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

PROBE = 24
"""Bytes of a probe: a page boundary may cut a text, but hardly each of its probes."""

SHORTEST = 8
"""Texts below this many bytes aren't looked for: vectors hold such bytes by chance."""

_BLOCK = 8 * 1024 * 1024
_BITS = 20
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio: neighbours come far apart


def probes(texts: Iterable[str]) -> set[bytes]:
    """Up to five slices of each text, spread from its first byte to its last."""
    found: set[bytes] = set()
    for text in texts:
        data = text.encode("utf-8")
        if len(data) >= SHORTEST:
            room = max(len(data) - PROBE, 0)
            found.update(data[room * i // 4 : room * i // 4 + PROBE] for i in range(5))
    return found


def find(blocks: Iterable[bytes], wanted: set[bytes]) -> set[bytes]:
    """Those probes that stand in any of the blocks; no more is read once all are found."""
    found: set[bytes] = set()
    if wanted:
        heads = _Heads(wanted)
        lengths = {len(probe) for probe in wanted}
        for block in blocks:
            for start in heads.places(block):
                found |= wanted & {block[start : start + length] for length in lengths}
            if len(found) == len(wanted):
                break
    return found


def blocks(paths: Iterable[Path]) -> Iterator[bytes]:
    """Files, if they are there, in blocks that overlap by one probe: none is cut in two."""
    for path in paths:
        try:
            with path.open("rb") as file:
                tail = b""
                while block := file.read(_BLOCK):
                    yield tail + block
                    tail = block[-PROBE:]
        except FileNotFoundError:
            continue


class _Heads:
    """The first eight bytes of probes as numbers, with a table that most others aren't in."""

    def __init__(self, probes: set[bytes]) -> None:
        self._known = np.array(
            sorted({int.from_bytes(probe[:8], "little") for probe in probes}), dtype="<u8"
        )
        self._table = np.zeros(2**_BITS, dtype=np.bool_)
        self._table[self._row(self._known)] = True

    def places(self, block: bytes) -> Iterator[int]:
        """Where one of them begins; every eighth place of the block is compared at once."""
        for shift in range(min(8, len(block))):
            words = np.frombuffer(block, "<u8", (len(block) - shift) // 8, offset=shift)
            likely = np.flatnonzero(self._table[self._row(words)])
            there = likely[np.isin(words[likely], self._known)]
            yield from (shift + 8 * there).tolist()

    def _row(self, words: np.ndarray[Any, np.dtype[np.uint64]]) -> Any:
        return (words * _SPREAD) >> np.uint64(64 - _BITS)
