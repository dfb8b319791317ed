"""Guidance for the segmenting model: rules and examples, in a readable JSON file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from theanine.errors import BadInput
from theanine.private_files import write_text
from theanine.text.formatting import one_line

EXAMPLE_TURNS = 24
"""Number of turns shown of an example; the file has all."""
EXAMPLE_LINE = 160
"""Characters shown of each turn."""


class Example(BaseModel):
    """A labeled conversation that the model segmented badly, with the lesson from it.

    Attributes:
        id: its name in the data.
        turns: the text of its turns, in order.
        right: lengths of the gold segments.
        drawn: lengths of the model's segments.
        lesson: what is easily mistaken in it, as the model explained it.
    """

    id: str
    turns: list[str]
    right: list[int]
    drawn: list[int]
    lesson: str


class Guidance(BaseModel):
    """Rules and examples for the segmenting model.

    Attributes:
        made_by: the model that wrote them.
        prompt: name and version of its prompt.
        rules: one rule for each batch of errors.
        examples: one example for each batch.
    """

    made_by: str
    prompt: str
    rules: list[str] = Field(min_length=1)
    examples: list[Example] = Field(default_factory=list[Example])

    @property
    def text(self) -> str:
        """The guidance formatted for a prompt."""
        lines = [f"Rule {n}: {one_line(rule)}" for n, rule in enumerate(self.rules, 1)]
        for number, example in enumerate(self.examples, 1):
            lines += [f"-- example {number}", *turn_lines(example.turns)]
            lines.append(f"right: {bounds(example.right)}")
            lines.append(f"lesson: {one_line(example.lesson)}")
        return "\n".join(lines)


def turn_lines(turns: Sequence[str]) -> list[str]:
    """Format the beginning of a conversation as numbered lines for a prompt."""
    lines = [f"[{n}] {one_line(text, EXAMPLE_LINE)}" for n, text in enumerate(turns, 1)]
    return lines if len(lines) <= EXAMPLE_TURNS else [*lines[:EXAMPLE_TURNS], "…"]


def bounds(lengths: Sequence[int]) -> str:
    """Format segments of these lengths by their first and last turns: ``1-4, 5-9``."""
    ranges: list[str] = []
    first = 1
    for length in lengths:
        ranges.append(f"{first}-{first + length - 1}")
        first += length
    return ", ".join(ranges)


def read_guidance(path: Path) -> Guidance:
    """Read guidance from a file; raise BadInput if it is missing or invalid."""
    try:
        return Guidance.model_validate_json(path.read_text("utf-8"))
    except OSError as error:
        reason = error.strerror or str(error)
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    except ValidationError as error:
        first = error.errors()[0]
        reason = ": ".join((*map(str, first["loc"]), first["msg"]))
    raise BadInput(f"not a segmenter's guidance: {reason}", str(path))


def write_guidance(guidance: Guidance, path: Path) -> None:
    """Write guidance as indented JSON, which can be edited by hand."""
    write_text(path, guidance.model_dump_json(indent=2) + "\n")
