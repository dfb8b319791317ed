"""Prompt templates: text, version and result type of one step, kept together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from string import Template
from typing import Any, Generic, TypeVar

from theanine.errors import SettingsError
from theanine.llm.bounds import ReplyBounds
from theanine.llm.parsing import CUT_OFF, InvalidReply, parse_reply, validate_reply
from theanine.llm.published import PublishedForm
from theanine.llm.schema import schema_of

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
        published: reads a reply in the form that a paper's prompt asks for, if one is published.
        in_published_form: whether the template is such a prompt.
    """

    name: str
    version: int
    template: str
    result: type[T]
    bounds: ReplyBounds = field(default_factory=ReplyBounds)
    published: PublishedForm | None = None
    in_published_form: bool = False

    @property
    def label(self) -> str:
        """Name and version as stored with memories and links, such as ``relate@1``."""
        return f"{self.name}@{self.version}"

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema of the reply; None for text, also in a published form."""
        return None if self.in_published_form else schema_of(self.result)

    def render(self, **values: str) -> str:
        """Fill in the values. Raises SettingsError for one that the step doesn't have."""
        try:
            return Template(self.template).substitute(values)
        except (KeyError, ValueError) as error:
            raise SettingsError(
                f"the prompt of {self.label} can't be filled in ({error}): it may name "
                f"{', '.join(f'${name}' for name in sorted(values))}; write $$ for a dollar sign"
            ) from error

    def parse(self, reply: str, values: Mapping[str, str], *, cut_off: bool = False) -> T:
        """Return the reply as the result's type; ``values`` are those of the prompt.

        A text that was cut off at its bound loses its last sentence. Raises InvalidReply.
        """
        if self.published is None or not self.in_published_form:
            prompt = self.render(**values)
            return parse_reply(reply, self.result, prompt=prompt, cut_off=cut_off)
        if cut_off:
            raise InvalidReply(CUT_OFF)
        if not reply.strip():
            raise InvalidReply("it is empty")
        return validate_reply(self.published(reply, values), self.result)


def load_prompt(
    package: str,
    name: str,
    version: int,
    result: type[T],
    bounds: ReplyBounds | None = None,
    *,
    published: PublishedForm | None = None,
) -> PromptTemplate[T]:
    """Read ``prompts/{name}.v{version}.md`` of a package, such as ``theanine.methods.theanine``."""
    path = files(package) / "prompts" / f"{name}.v{version}.md"
    template = path.read_text(encoding="utf-8").strip()
    return PromptTemplate(name, version, template, result, bounds or ReplyBounds(), published)
