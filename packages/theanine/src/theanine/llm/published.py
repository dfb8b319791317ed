"""Read replies in the forms that the papers' prompts ask for: labeled text instead of JSON.

Each step declares its form beside its schema; it counts where a folder of prompts
(:mod:`theanine.llm.prompt_folder`) takes the place of the step's own prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from theanine.llm.parsing import InvalidReply

PublishedForm = Callable[[str, Mapping[str, str]], object]
"""Returns the fields of a step's result for a reply and the values of its prompt.

Raises InvalidReply.
"""


def labeled(**labels: str) -> PublishedForm:
    """Return the form in which each field stands behind its label, in the order of the labels.

    A label such as ``Relation`` is found as ``- Relation:``, ``[Relation]:`` or ``<Relation>:``.
    Prompts often end with the first one, so a reply may begin behind it.
    """

    def read(reply: str, _: Mapping[str, str]) -> dict[str, str]:
        return find_labeled(reply, labels)

    return read


def find_labeled(reply: str, labels: Mapping[str, str]) -> dict[str, str]:
    """Return the text behind each label, by field. Raises InvalidReply if one is missing."""
    fields: dict[str, str] = {}
    rest, first = reply, next(iter(labels))
    for field, label in reversed([*labels.items()]):
        before, found, value = partition_label(rest, label)
        if not found and field != first:
            raise InvalidReply(f"it lacks {label}:")
        fields[field] = value if found else rest
        rest = before
    return {field: fields[field].strip() for field in labels}


def partition_label(text: str, label: str) -> tuple[str, bool, str]:
    """Return what stands before the last such label, whether there is one, and what follows it.

    A label, a pattern, begins a line, follows a dash, or is in brackets.
    """
    found = [*_label(label).finditer(text)]
    if not found:
        return text, False, ""
    return text[: found[-1].start()], True, text[found[-1].end() :]


def without_label(reply: str, label: str) -> str:
    """Return a reply without the label that it begins with, if it does: others are its words."""
    text = reply.strip()
    found = _label(label).match(text)
    return text[found.end() :].strip() if found else text


def _label(label: str) -> re.Pattern[str]:
    start, marks = r"^[-*# \t]*", r"\**:?\**"
    plain = rf"(?:{start}|[-*] ){label}[* ]*:\**"
    bracketed = rf"(?:{start}|\**)[\[<]{label}[\]>]{marks}"
    return re.compile(rf"{plain}|{bracketed}", re.IGNORECASE | re.MULTILINE)


def whole_text(field: str) -> PublishedForm:
    """Return the form in which the whole reply is one field."""

    def read(reply: str, _: Mapping[str, str]) -> dict[str, str]:
        return {field: without_label(reply, "Output")}

    return read
