"""Prompt templates: text, version and result type of one step, kept together."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.resources import files
from string import Template
from typing import Generic, TypeVar

from theanine.llm.bounds import ReplyBounds

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PromptTemplate(Generic[T]):
    """A step that calls a language model: its prompt and the type of the reply.

    Attributes:
        name: the step's name, such as ``relate``.
        version: incremented with every change of the prompt or of the result type.
        template: the prompt as a ``string.Template``; ``$`` in inserted values is not expanded.
        result: a pydantic model for JSON replies, or ``str`` for plain text.
        bounds: bounds of the reply where a call gives none of its own.
    """

    name: str
    version: int
    template: str
    result: type[T]
    bounds: ReplyBounds = field(default_factory=ReplyBounds)

    @property
    def label(self) -> str:
        """Name and version as stored with memories and links, such as ``relate@1``."""
        return f"{self.name}@{self.version}"

    def render(self, **values: str) -> str:
        """Fill in the values. Raises KeyError for a missing one."""
        return Template(self.template).substitute(values)


def load_prompt(
    package: str, name: str, version: int, result: type[T], bounds: ReplyBounds | None = None
) -> PromptTemplate[T]:
    """Read ``prompts/{name}.v{version}.md`` of a package, such as ``theanine.methods.theanine``."""
    path = files(package) / "prompts" / f"{name}.v{version}.md"
    template = path.read_text(encoding="utf-8").strip()
    return PromptTemplate(name, version, template, result, bounds or ReplyBounds())
