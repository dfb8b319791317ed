"""Answers that were made elsewhere, with their references: our JSON Lines, or Theanine's outputs.

The outputs of Theanine's authors are lists of ``{"utter_id": "e0-s5-t1", "current_dialogue",
"memory_text", "speaker", "raw_prediction"}``, as ``outputs`` of
github.com/talzoomanzoo/theanine-geval has them. The reference of turn N is what the dialogue of
turn N + 1 adds; a file's name, such as ``cc_comedy_transform.json``, names the data set and the
system.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from theanine.errors import BadInput
from theanine.importers.dates import DEFAULT_START
from theanine.tokenizer import count_tokens
from theanine_bench.datasets.formats import first_record
from theanine_bench.datasets.responses import DATA_SETS
from theanine_bench.files import read_json
from theanine_bench.samples import SampleResult
from theanine_bench.validation import validate

NO_REFERENCE = "answers without a reference"
_ID = re.compile(r"(?P<episode>.+)-s(?P<session>\d+)-t(?P<turn>\d+)")
_TURN = re.compile(r"(?P<speaker>[^:\n]{1,60}): ")
_SYSTEMS = {
    "theanine": "theanine-paper",
    "comedy": "comedy",
    "memochat": "memochat",
    "ret_update": "memory-update",
    "ret_summary": "memory-retrieval",
}
"""Our ids of the systems, by the beginnings of their names in the authors' file names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFile:
    """Answers of one system to samples of one data set.

    Attributes:
        dataset, method: names, as far as the file names them; else empty.
        without_reference: number of answers that were left out, as they have no reference.
    """

    dataset: str
    method: str
    results: Sequence[SampleResult]
    without_reference: int


class _Output(BaseModel):
    utter_id: str
    current_dialogue: str
    raw_prediction: str
    speaker: str
    memory_text: str = ""


def is_theanine_output(path: Path) -> bool:
    """Return whether a path is a JSON list of outputs of Theanine's authors."""
    if path.suffix != ".json":
        return False
    first = first_record(read_json(path))
    return {"utter_id", "raw_prediction"} <= first.keys()


def read_theanine_output(path: Path) -> AnswerFile:
    """Read the outputs of a system. Raises BadInput, with the place of a fault."""
    outputs = [
        validate(_Output, record, path.name, f"[{i}]") for i, record in enumerate(read_json(path))
    ]
    dialogues = {output.utter_id: output.current_dialogue for output in outputs}
    results = [
        _result(output, reference)
        for output in outputs
        if (reference := _reference(output, dialogues))
    ]
    if not results:
        raise BadInput("none of its answers has a next turn to be compared with", str(path))
    part, _, system = path.stem.partition("_")
    return AnswerFile(
        dataset=DATA_SETS.get(part, ""),
        method=next((id for name, id in _SYSTEMS.items() if system.startswith(name)), system),
        results=results,
        without_reference=len(outputs) - len(results),
    )


def _reference(output: _Output, dialogues: dict[str, str]) -> str:
    """Return what the dialogue of the next turn adds, without its speaker; empty if unknown."""
    if not (match := _ID.fullmatch(output.utter_id)):
        return ""
    following = f"{match['episode']}-s{match['session']}-t{int(match['turn']) + 1}"
    dialogue = dialogues.get(following, "")
    if not dialogue.startswith(output.current_dialogue):
        return ""
    return _TURN.sub("", dialogue[len(output.current_dialogue) :].strip(), count=1).strip()


def _result(output: _Output, reference: str) -> SampleResult:
    match = _ID.fullmatch(output.utter_id)
    assert match  # it has a reference
    dialogue = list(_turns(output.current_dialogue))
    recalled: list[dict[str, Any]] = []
    if output.memory_text.strip():
        recalled.append({"text": output.memory_text, "memories": [], "sources": []})
    return SampleResult(
        id=output.utter_id,
        group=match["episode"],
        category=f"session {match['session']}",
        question=dialogue[-1]["text"] if dialogue else "",
        dialogue=dialogue,
        speaker=output.speaker,
        reference=reference,
        answer=output.raw_prediction,
        recalled=recalled,
        recalled_tokens=count_tokens(output.memory_text),
    )


def _turns(dialogue: str) -> list[dict[str, str]]:
    """Return the turns of a dialogue; a line without a speaker continues the turn above."""
    turns: list[dict[str, str]] = []
    for line in dialogue.splitlines():
        if match := _TURN.match(line):
            at = DEFAULT_START.isoformat()
            text = line[match.end() :]
            turns.append({"speaker": match["speaker"], "role": "user", "text": text, "at": at})
        elif turns:
            turns[-1]["text"] += f"\n{line}"
    return turns
