"""Dialogues with gold topic segments: a plain form, and SuperDialSeg and TIAGE as published.

The plain form, which DialSeg711 comes in, is a JSON list of ``{"utterances": [text, …],
"segments": [length, …]}``; ``dial_id`` and ``set`` may stand beside them. SuperDialSeg is
``{"dial_data": {set: [{"dial_id", "turns": [{"utterance", "segmentation_label"}]}]}}``, TIAGE
``{id: [[text, label], …]}``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from theanine.errors import BadInput
from theanine_bench.datasets.reading import load_json, records

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


def read_segmented(path: Path, dropped: Counter[str] | None = None) -> list[SegmentedDialogue]:
    """The dialogues of a file; ``dropped`` counts what is left out of SuperDialSeg and TIAGE.

    Raises BadInput with the item's place at the first fault of the plain form, and where no
    dialogue is left of another.
    """
    read = load_json(path)
    if isinstance(read, dict) and read:
        found = _labelled(
            cast("Mapping[str, Any]", read), Counter() if dropped is None else dropped
        )
        if not found:
            raise BadInput(SHAPE, str(path))
        return found
    if not isinstance(read, list) or not read:
        raise BadInput(SHAPE, str(path))
    return [
        _dialogue(item, number, f"{path}, item {number}")
        for number, item in enumerate(cast("list[Any]", read), 1)
    ]


def _labelled(document: Mapping[str, Any], dropped: Counter[str]) -> list[SegmentedDialogue]:
    """SuperDialSeg, or TIAGE as it is published."""
    of_sets = document.get("dial_data")
    if isinstance(of_sets, dict):
        rows = [
            (str(row.get("dial_id", number)), _ends(row.get("turns")))
            for of_set in cast("Mapping[str, Any]", of_sets).values()
            for number, row in enumerate(records(of_set), 1)
        ]
    else:
        rows = [(name, _begins(turns)) for name, turns in document.items()]
    found = [_of(name, turns, dropped) for name, turns in rows]
    return [one for one in found if one is not None]


Turns = list[tuple[str, bool]] | None
"""Each turn, and whether it is the last of its segment; None for what can't be read."""


def _ends(turns: Any) -> Turns:
    """SuperDialSeg: the label 1 is at the last turn of a segment."""
    read = [(turn.get("utterance"), turn.get("segmentation_label")) for turn in records(turns)]
    if not all(isinstance(text, str) and label in (0, 1) for text, label in read):
        return None
    return [(str(text), label == 1) for text, label in read]


def _begins(turns: Any) -> Turns:
    """TIAGE: the label 1 is at the first turn of a new topic, and -1 at the dialogue's first."""
    pairs = cast("list[Any]", turns) if isinstance(turns, list) else []
    read: list[tuple[str, str]] = []
    for pair in pairs:
        match pair:
            case [str(text), ("-1" | "0" | "1" | -1 | 0 | 1) as label]:
                read.append((text, str(label)))
            case _:
                return None
    shifts = [label == "1" for _, label in read]
    return [(text, shift) for (text, _), shift in zip(read, [*shifts[1:], True], strict=False)]


def _of(name: str, turns: Turns, dropped: Counter[str]) -> SegmentedDialogue | None:
    """The dialogue without its empty turns; None where nothing usable is left."""
    texts: list[str] = []
    lengths: list[int] = []
    fresh = True
    for text, last in turns or []:
        if text.strip():
            texts.append(text)
            if fresh:
                lengths.append(0)
            lengths[-1] += 1
            fresh = last
        else:
            dropped["empty turns"] += 1
            fresh = fresh or last
    if not texts:
        dropped["dialogues that can't be read"] += 1
        return None
    return SegmentedDialogue(id=name, texts=tuple(texts), lengths=tuple(lengths))


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
