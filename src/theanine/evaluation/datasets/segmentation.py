"""Dialogues with gold topic segments: DialSeg711, TIAGE and SuperDialSeg in one plain form.

A file is a JSON list of ``{"utterances": [text, …], "segments": [length, …]}``; ``dial_id`` and
``set`` may stand beside them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from theanine.errors import BadInput

SHAPE = 'a list of {"utterances": [text, …], "segments": [length, …]} is expected'


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentedDialogue:
    """A dialogue and the lengths of its true segments, which cover it.

    Attributes:
        part: the part of its set, such as ``test``; empty when the file names none.
    """

    id: str
    texts: tuple[str, ...]
    lengths: tuple[int, ...]
    part: str = ""


def read_segmented(path: Path) -> list[SegmentedDialogue]:
    """The dialogues of a file. Raises BadInput with the item's place at the first fault."""
    try:
        read: Any = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"can't be read as JSON: {error}", str(path)) from None
    if not isinstance(read, list) or not read:
        raise BadInput(SHAPE, str(path))
    return [
        _dialogue(item, number, f"{path}, item {number}")
        for number, item in enumerate(cast("list[Any]", read), 1)
    ]


def _dialogue(item: Any, number: int, where: str) -> SegmentedDialogue:
    if not isinstance(item, dict):
        raise BadInput(SHAPE, where)
    fields = cast("Mapping[str, Any]", item)
    texts, lengths = fields.get("utterances"), fields.get("segments")
    if not isinstance(texts, list) or not all(isinstance(t, str) for t in cast("list[Any]", texts)):
        raise BadInput('"utterances" must be a list of texts', where)
    if not isinstance(lengths, list) or not all(_counts(n) for n in cast("list[Any]", lengths)):
        raise BadInput('"segments" must be a list of whole numbers from 1', where)
    texts, lengths = cast("list[str]", texts), cast("list[int]", lengths)
    if sum(lengths) != len(texts):
        raise BadInput(
            f"its segments cover {sum(lengths)} turns, but it has {len(texts)}: each turn must be "
            "in one segment",
            where,
        )
    return SegmentedDialogue(
        id=str(fields.get("dial_id", number)),
        texts=tuple(texts),
        lengths=tuple(lengths),
        part=str(fields.get("set", "")),
    )


def _counts(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
