"""Search for erased texts in the raw bytes of files."""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

import numpy as np

PROBE_BYTES = 24
"""Length of a probe: a page boundary may cut a text, but hardly each of its probes."""

MIN_BYTES = 8
"""Shorter texts are not searched for, because vectors contain such bytes by chance."""

_BLOCK_BYTES = 8 * 1024 * 1024
_TABLE_BITS = 20
_COMPACTED = 1 << 16
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: Fibonacci hashing
_Numbers = np.ndarray[Any, np.dtype[Any]]


def make_probes(text: str) -> set[bytes]:
    """Return up to five slices of a text, spread from its first byte to its last."""
    data = text.encode("utf-8")
    if len(data) < MIN_BYTES:
        return set()
    last = max(len(data) - PROBE_BYTES, 0)
    return {data[start : start + PROBE_BYTES] for start in (last * i // 4 for i in range(5))}


class Probes:
    """Byte strings of 8 to 24 bytes to look for, kept as hashes: 16 bytes each, no texts.

    Of two with the same hash, one in 2^64, only one is found.
    """

    def __init__(self, probes: Iterable[bytes] = ()) -> None:
        self._kinds: dict[int, _OfLength] = {}
        for probe in probes:
            self._add(probe)

    def add_text(self, text: str) -> None:
        """Add the slices of a text."""
        for probe in make_probes(text):
            self._add(probe)

    def _add(self, probe: bytes) -> None:
        kind = self._kinds.get(len(probe))
        if kind is None:
            kind = self._kinds[len(probe)] = _OfLength(len(probe))
        kind.add(int.from_bytes(probe[:8], "little"), hash(probe))

    def __len__(self) -> int:
        return sum(len(kind.unique()[1]) for kind in self._kinds.values())

    def find(self, blocks: Iterable[bytes]) -> Probes:
        """Return those that occur in any block; stops reading once all are found."""
        searches = [_Search(kind) for kind in self._kinds.values()]
        if searches:
            heads = _HeadTable(np.unique(np.concatenate([search.heads for search in searches])))
            for block in blocks:
                for words, starts in heads.find_starts(block):
                    for search in searches:
                        search.look(block, words, starts)
                if all(search.matches.all() for search in searches):
                    break
        found = Probes()
        found._kinds = {each.length: each.found() for each in searches if each.matches.any()}
        return found


class _OfLength:
    """The probes of one length: the first eight bytes of each, as a number, and its hash."""

    def __init__(self, length: int) -> None:
        self.length = length
        self._heads, self._hashes = array("Q"), array("q")
        self._most = _COMPACTED

    def add(self, head: int, hashed: int) -> None:
        self._heads.append(head)
        self._hashes.append(hashed)
        if len(self._hashes) > self._most:  # names and the like come again and again
            heads, hashes = self.unique()
            self._heads, self._hashes = array("Q", heads.tobytes()), array("q", hashes.tobytes())
            self._most = max(_COMPACTED, 2 * len(hashes))

    def unique(self) -> tuple[_Numbers, _Numbers]:
        """Return the heads and the hashes, each probe once, in the order of the hashes."""
        hashes, first = np.unique(np.frombuffer(self._hashes, "<i8"), return_index=True)
        return np.frombuffer(self._heads, "<u8")[first], hashes


class _Search:
    """A search for the probes of one length."""

    def __init__(self, kind: _OfLength) -> None:
        self.length = kind.length
        self.heads, self._hashes = kind.unique()
        self._ordered = np.unique(self.heads)
        self.matches = np.zeros(len(self._hashes), dtype=np.bool_)

    def look(self, block: bytes, words: _Numbers, starts: _Numbers) -> None:
        """Look for probes at some positions of a block, where ``words`` are."""
        at = np.searchsorted(self._ordered, words).clip(max=len(self._ordered) - 1)
        length = self.length
        hashed = [hash(block[s : s + length]) for s in starts[self._ordered[at] == words].tolist()]
        hashes = np.array(hashed, dtype="<i8")
        at = np.searchsorted(self._hashes, hashes).clip(max=len(self._hashes) - 1)
        self.matches[at[self._hashes[at] == hashes]] = True

    def found(self) -> _OfLength:
        """Return the probes that were found."""
        kind = _OfLength(self.length)
        for head, hashed in zip(
            self.heads[self.matches].tolist(), self._hashes[self.matches].tolist(), strict=True
        ):
            kind.add(head, hashed)
        return kind


_READER = """
import sys
for path in sys.argv[1:]:
    try:
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                sys.stdout.buffer.write(block)
    except FileNotFoundError:
        pass
"""


def read_blocks(paths: Iterable[Path]) -> Iterator[bytes]:
    """Yield the content of existing files, one after the other, in blocks that overlap by a probe.

    A child process reads them: closing a file releases all POSIX locks that a process holds on it,
    those of its open SQLite connections too, and another process would then take the write-ahead
    log for abandoned and delete it.

    Raises OSError if a file can't be read or no process can be started.
    """
    command = [sys.executable, "-I", "-S", "-c", _READER, *map(os.fspath, paths)]
    with Popen(command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL) as reader:
        assert reader.stdout is not None
        try:
            tail = b""
            while block := reader.stdout.read(_BLOCK_BYTES):
                yield tail + block
                tail = block[-PROBE_BYTES:]
            if status := reader.wait():
                raise OSError(f"the files can't be read (exit status {status})")
        finally:
            reader.kill()


class _HeadTable:
    """The first eight bytes of probes as numbers, with a hash table that rejects most others.

    numpy tests every eighth position of a block at once, so a block takes eight passes.
    """

    def __init__(self, heads: _Numbers) -> None:
        self._table = np.zeros(2**_TABLE_BITS, dtype=np.bool_)
        self._table[self._hash(heads)] = True

    def find_starts(self, block: bytes) -> Iterator[tuple[_Numbers, _Numbers]]:
        """Yield the eight bytes, as numbers, and the positions where a probe may begin."""
        for shift in range(min(8, len(block))):
            words = np.frombuffer(block, "<u8", (len(block) - shift) // 8, offset=shift)
            candidates = np.flatnonzero(self._table[self._hash(words)])
            if len(candidates):
                yield words[candidates], shift + 8 * candidates

    def _hash(self, words: _Numbers) -> Any:
        return (words * _MULTIPLIER) >> np.uint64(64 - _TABLE_BITS)
