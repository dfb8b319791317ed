"""Dialogues with gold topic segments: a plain form, SuperDialSeg, TIAGE and QMSum.

The plain form, in which DialSeg711 is published, is a JSON list of ``{"utterances": [text, …],
"segments": [length, …]}``, optionally with ``dial_id`` and ``set``. SuperDialSeg is ``{"dial_data":
{set: [{"dial_id", "turns": [{"utterance", "segmentation_label"}]}]}}``, as
``src/super_dialseg/utils/data/load_dialseg.py`` of Coldog2333/SuperDialseg reads it; TIAGE is
``{id: [[text, label], …]}``, as in ``data/personachat/anno`` of HuiyuanXie/tiage. QMSum is a
meeting a file or a line, ``{"meeting_transcripts": [{"content"}], "topic_list":
[{"relevant_text_span": [[first, last], …]}]}``, as in ``data/ALL`` of Yale-LILY/QMSum. Their
training, development and test parts have the same form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from theanine.errors import BadInput
from theanine_bench.datasets.reading import records
from theanine_bench.files import read_json
from theanine_bench.validation import OptionalAsText, validate

SHAPE = 'a list of {"utterances": [text, …], "segments": [length, …]} is expected'
TEST_SETS = {
    "dialseg711": "DialSeg711",
    "tiage": "TIAGE",
    "superdialseg": "SuperDialSeg",
    "qmsum": "QMSum",
}
"""Names of the test sets, by their names in the catalog."""
LabeledTurns = list[tuple[str, bool]] | None
"""Each turn's text and whether it ends its segment; None for what can't be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentedDialogue:
    """A dialogue and its gold segments.

    Attributes:
        lengths: the number of turns of each segment; they cover the dialogue.
        part: the part of its set, such as ``test``; empty if the file names none.
    """

    id: str
    texts: tuple[str, ...]
    lengths: tuple[int, ...]
    part: str = ""


def dataset_name(given: Path, path: Path) -> str:
    """Return the name of a test set by its name in the catalog, its folder's or file's; or empty.

    The files themselves look alike.
    """
    names = (str(given), path.parent.name, path.stem)
    return next((TEST_SETS[name] for name in names if name in TEST_SETS), "")


class _Dialogue(BaseModel):
    utterances: list[str]
    segments: list[Annotated[int, Field(strict=True, ge=1)]]
    dial_id: OptionalAsText = ""
    set: Annotated[str, BeforeValidator(str)] = ""


def read_segmented(path: Path, dropped: Counter[str] | None = None) -> list[SegmentedDialogue]:
    """Read the dialogues of a file.

    ``dropped`` counts the unusable turns and dialogues of SuperDialSeg, TIAGE and QMSum. Raises
    BadInput with the place of the first fault of the plain form, and if no dialogue of another is
    usable.
    """
    document = read_json(path)
    meetings = any("meeting_transcripts" in record for record in records(document))
    if meetings or (isinstance(document, dict) and document):
        counts = Counter[str]() if dropped is None else dropped
        rows = _meetings(document) if meetings else _labeled(cast("Mapping[str, Any]", document))
        built = [_build_dialogue(name, turns, counts) for name, turns in rows]
        dialogues = [dialogue for dialogue in built if dialogue is not None]
        if not dialogues:
            raise BadInput(SHAPE, str(path))
        return dialogues
    if not isinstance(document, list) or not document:
        raise BadInput(SHAPE, str(path))
    return [
        _read_plain(value, number, str(path))
        for number, value in enumerate(cast("list[Any]", document), 1)
    ]


def _read_plain(value: Any, number: int, file: str) -> SegmentedDialogue:
    dialogue = validate(_Dialogue, value, file, f"item {number}")
    if sum(dialogue.segments) != len(dialogue.utterances):
        raise BadInput(
            f"its segments cover {sum(dialogue.segments)} turns, but it has "
            f"{len(dialogue.utterances)}: each turn must be in one segment",
            f"{file}, item {number}",
        )
    return SegmentedDialogue(
        id=dialogue.dial_id or str(number),
        texts=tuple(dialogue.utterances),
        lengths=tuple(dialogue.segments),
        part=dialogue.set,
    )


def _labeled(document: Mapping[str, Any]) -> list[tuple[str, LabeledTurns]]:
    """Return the id and the turns of each dialogue of SuperDialSeg or TIAGE."""
    parts = document.get("dial_data")
    if isinstance(parts, dict):
        return [
            (str(row.get("dial_id", number)), _superdialseg_turns(row.get("turns")))
            for part in cast("Mapping[str, Any]", parts).values()
            for number, row in enumerate(records(part), 1)
        ]
    return [(name, _tiage_turns(turns)) for name, turns in document.items()]


def _meetings(document: Any) -> list[tuple[str, LabeledTurns]]:
    """Return the number and the turns of each meeting of QMSum."""
    return [(str(number), _qmsum_turns(row)) for number, row in enumerate(records(document), 1)]


def _superdialseg_turns(turns: Any) -> LabeledTurns:
    """Parse turns whose label 1 marks the last turn of a segment."""
    rows = [(turn.get("utterance"), turn.get("segmentation_label")) for turn in records(turns)]
    if not all(isinstance(text, str) and label in (0, 1) for text, label in rows):
        return None
    return [(str(text), label == 1) for text, label in rows]


def _tiage_turns(turns: Any) -> LabeledTurns:
    """Parse turns whose label 1 marks the first turn of a topic; the dialogue's first has -1."""
    pairs = cast("list[Any]", turns) if isinstance(turns, list) else []
    rows: list[tuple[str, str]] = []
    for pair in pairs:
        match pair:
            case [str(text), ("-1" | "0" | "1" | -1 | 0 | 1) as label]:
                rows.append((text, str(label)))
            case _:
                return None
    begins = [label == "1" for _, label in rows]
    return [(text, last) for (text, _), last in zip(rows, [*begins[1:], True], strict=False)]


class _Content(BaseModel):
    content: str


class _Topic(BaseModel):
    relevant_text_span: list[tuple[int, int]]


class _Meeting(BaseModel):
    meeting_transcripts: list[_Content]
    topic_list: Annotated[list[_Topic], Field(min_length=1)]


def _qmsum_turns(row: Any) -> LabeledTurns:
    """Parse turns, with a segment wherever the spans in order pass on to another topic.

    Turns before the first span belong to the first segment, turns between spans to the earlier one.
    """
    try:
        meeting = _Meeting.model_validate(row)
    except ValidationError:
        return None
    spans = sorted(
        (first, topic)
        for topic, entry in enumerate(meeting.topic_list)
        for first, _ in entry.relevant_text_span
    )
    begins = {first for (_, before), (first, topic) in pairwise(spans) if topic != before}
    return [(turn.content, at + 1 in begins) for at, turn in enumerate(meeting.meeting_transcripts)]


def _build_dialogue(
    name: str, turns: LabeledTurns, dropped: Counter[str]
) -> SegmentedDialogue | None:
    """Return the dialogue without its empty turns; None if nothing usable is left."""
    texts: list[str] = []
    lengths: list[int] = []
    begins = True
    for text, last in turns or []:
        if text.strip():
            texts.append(text)
            if begins:
                lengths.append(0)
            lengths[-1] += 1
            begins = last
        else:
            dropped["empty turns"] += 1
            begins = begins or last
    if not texts:
        dropped["dialogues that can't be read"] += 1
        return None
    return SegmentedDialogue(id=name, texts=tuple(texts), lengths=tuple(lengths))
