"""A step that asks a language model: prompt, version and result type, standing together."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PromptTemplate(Generic[T]):
    """One kind of question to a language model.

    Attributes:
        name: the step's name, such as ``relate``.
        version: rises with every change of the prompt or of the result type.
        template: the prompt, a ``string.Template``; values are data and are never expanded again.
        result: a pydantic model that the reply must fit, or ``str`` for plain text.
    """

    name: str
    version: int
    template: str
    result: type[T]

    @property
    def label(self) -> str:
        """Name and version, as memories and links keep it: ``relate@1``."""
        return f"{self.name}@{self.version}"

    def render(self, **values: str) -> str:
        """The whole prompt. Raises KeyError for a value that is missing."""
        return Template(self.template).substitute(values)


def load_prompt(package: str, name: str, version: int, result: type[T]) -> PromptTemplate[T]:
    """Read ``prompts/{name}.v{version}.md`` of a package, such as ``theanine.methods.theanine``."""
    path = files(package) / "prompts" / f"{name}.v{version}.md"
    return PromptTemplate(name, version, path.read_text(encoding="utf-8").strip(), result)
