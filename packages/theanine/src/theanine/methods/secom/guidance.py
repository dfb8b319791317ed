"""What was learned about dividing conversations: rules and telling examples, in a readable file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from theanine.errors import BadInput
from theanine.text.formatting import one_line

EXAMPLE_TURNS = 24
"""Turns of an example that are shown; the file keeps them all."""
EXAMPLE_LINE = 160
"""Characters of each."""


class Example(BaseModel):
    """A labelled conversation that was divided badly, and what it teaches.

    Attributes:
        id: its name in the data.
        turns: its turns' words, in order.
        right: the lengths of the gold segments.
        drawn: the lengths of the segments that the model drew.
        lesson: what in it is easily got wrong, in the model's words.
    """

    id: str
    turns: list[str]
    right: list[int]
    drawn: list[int]
    lesson: str


class Guidance(BaseModel):
    """Rules and examples for the model that segments.

    Attributes:
        made_by: the model that learned them.
        prompt: name and version of the prompt that it was asked with.
        rules: the rubric, one item a batch of errors.
        examples: one telling example a batch.
    """

    made_by: str
    prompt: str
    rules: list[str] = Field(min_length=1)
    examples: list[Example] = Field(default_factory=list[Example])

    @property
    def text(self) -> str:
        """The guidance as data for a prompt."""
        lines = [f"Rule {n}: {one_line(rule)}" for n, rule in enumerate(self.rules, 1)]
        for number, example in enumerate(self.examples, 1):
            lines += [f"-- example {number}", *turn_lines(example.turns)]
            lines.append(f"right: {bounds(example.right)}")
            lines.append(f"lesson: {one_line(example.lesson)}")
        return "\n".join(lines)


def turn_lines(turns: Sequence[str]) -> list[str]:
    """The beginning of a conversation as numbered lines for a prompt."""
    lines = [f"[{n}] {one_line(text, EXAMPLE_LINE)}" for n, text in enumerate(turns, 1)]
    return lines if len(lines) <= EXAMPLE_TURNS else [*lines[:EXAMPLE_TURNS], "…"]


def bounds(lengths: Sequence[int]) -> str:
    """Segments of these lengths by their first and last turn: ``1-4, 5-9``."""
    found: list[str] = []
    first = 1
    for length in lengths:
        found.append(f"{first}-{first + length - 1}")
        first += length
    return ", ".join(found)


def read_guidance(path: Path) -> Guidance:
    """The guidance in a file. Raises BadInput for one that isn't there or holds none."""
    try:
        return Guidance.model_validate_json(path.read_text("utf-8"))
    except OSError as error:
        why = error.strerror or str(error)
    except UnicodeDecodeError:
        why = "it is no text in UTF-8"
    except ValidationError as error:
        first = error.errors()[0]
        why = ": ".join((*map(str, first["loc"]), first["msg"]))
    raise BadInput(f"no guidance for a segmenter: {why}", str(path))


def write_guidance(guidance: Guidance, path: Path) -> None:
    """Write it as indented JSON, to be read and mended by hand."""
    path.write_text(guidance.model_dump_json(indent=2) + "\n", "utf-8")
