"""Looking for erased words in the raw bytes of files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np

PROBE = 24
"""Bytes of a probe: a page boundary may cut a text, but hardly each of its probes."""

SHORTEST = 8
"""Texts below this many bytes aren't looked for: vectors hold such bytes by chance."""

_BLOCK = 8 * 1024 * 1024


def probes(texts: Iterable[str]) -> set[bytes]:
    """Up to five slices of each text, spread from its first byte to its last."""
    found: set[bytes] = set()
    for text in texts:
        data = text.encode("utf-8")
        if len(data) >= SHORTEST:
            room = max(len(data) - PROBE, 0)
            found.update(data[room * i // 4 : room * i // 4 + PROBE] for i in range(5))
    return found


def find(paths: Iterable[Path], wanted: set[bytes]) -> set[bytes]:
    """Those probes that stand in any of the files; missing files hold none."""
    heads: dict[int, list[bytes]] = defaultdict(list)
    for probe in wanted:
        heads[int.from_bytes(probe[:8], "little")].append(probe)
    if not heads:
        return set()
    known = np.array(sorted(heads), dtype="<u8")
    found: set[bytes] = set()
    for path in paths:
        for block in _blocks(path):
            for shift in range(8):
                found |= _in_block(block, shift, known, heads)
    return found


def _blocks(path: Path) -> Iterable[bytes]:
    """The file in blocks that overlap by one probe, so that none is cut in two."""
    try:
        with path.open("rb") as file:
            tail = b""
            while block := file.read(_BLOCK):
                yield tail + block
                tail = block[-PROBE:]
    except FileNotFoundError:
        return


def _in_block(
    block: bytes, shift: int, known: np.ndarray, heads: dict[int, list[bytes]]
) -> set[bytes]:
    """Every eighth place of the block is compared at once, by the first eight bytes of a probe."""
    count = (len(block) - shift) // 8
    if count <= 0:
        return set()
    words = np.frombuffer(block, dtype="<u8", count=count, offset=shift)
    nearest = np.minimum(np.searchsorted(known, words), len(known) - 1)
    found: set[bytes] = set()
    for place in np.nonzero(known[nearest] == words)[0].tolist():
        start = shift + 8 * place
        found.update(probe for probe in heads[int(words[place])] if block.startswith(probe, start))
    return found
