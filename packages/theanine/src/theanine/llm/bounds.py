"""Bounds on a reply: its tokens, and the lengths of its lists and strings.

They stop a model that would run on. They follow from the step and its input, which are in the
journal key, so they are not in the key themselves: replies journalled without them still replay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

DEFAULT_TOKENS = 1_500
MAX_ITEMS = 50
"""Maximum items of a list with no bound of its own."""
MAX_CHARACTERS = 1_000
"""Maximum characters of a string with no bound of its own."""
CHARACTERS_PER_TOKEN = 10
"""Maximum characters of a reply for each of its tokens, on average; English prose has 4."""

Keywords = Mapping[str, Any]
"""Keywords of JSON schema, such as ``{"maxLength": 400}``."""


@dataclass(frozen=True, slots=True)
class ReplyBounds:
    """The most that a step needs for its reply.

    Attributes:
        tokens: output tokens, as the model counts them, without those of its reasoning.
        fields: JSON schema keywords by the path of a field, such as
            ``{"statements": {"maxItems": 12}, "statements[].text": {"maxLength": 400}}``.
        numbered: fields that number the items of a list from 1, by the list's path, such as
            ``{"judgements": "pair"}``. The list needs ``maxItems``.
    """

    tokens: int = DEFAULT_TOKENS
    fields: Mapping[str, Keywords] = field(default_factory=dict[str, Keywords])
    numbered: Mapping[str, str] = field(default_factory=dict[str, str])

    def apply(self, schema: Mapping[str, Any], *, number_items: bool = False) -> dict[str, Any]:
        """Return the schema with all lists and strings bounded, and without references.

        With ``number_items``, items of numbered lists have their numbers as constants. This takes
        ``prefixItems``, which not every server knows.

        Raises ValueError if ``fields`` has a path that the schema doesn't.
        """
        unused = set(self.fields)
        bounded = self._apply(schema, schema.get("$defs", {}), "", unused)
        if number_items:
            for path, number in self.numbered.items():
                _number_items(bounded["properties"][path], number)
        bounded.pop("$defs", None)
        if unused:
            raise ValueError(f"the reply's schema has no {sorted(unused)[0]}")
        return bounded

    def _apply(
        self,
        schema: Mapping[str, Any],
        definitions: Mapping[str, Any],
        path: str,
        unused: set[str],
    ) -> dict[str, Any]:
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            if name not in definitions:
                return {}  # inside of itself, to any depth: checked when the reply is parsed
            rest = {key: value for key, value in definitions.items() if key != name}
            siblings = {key: value for key, value in schema.items() if key != "$ref"}
            return self._apply({**definitions[name], **siblings}, rest, path, unused)
        bounded = {**schema, **self.fields.get(path, {})}
        unused.discard(path)
        if "anyOf" in schema:
            options = cast("list[Mapping[str, Any]]", schema["anyOf"])
            bounded["anyOf"] = [self._apply(each, definitions, path, unused) for each in options]
        kind = schema.get("type")
        if "properties" in schema:
            bounded["properties"] = {
                name: self._apply(each, definitions, f"{path}.{name}".lstrip("."), unused)
                for name, each in schema["properties"].items()
            }
            bounded.setdefault("additionalProperties", False)
        elif kind == "array":
            bounded.setdefault("maxItems", MAX_ITEMS)
            items = schema.get("items", {})
            bounded["items"] = self._apply(items, definitions, f"{path}[]", unused)
        elif kind == "string" and not bounded.keys() & {"enum", "const"}:
            bounded.setdefault("maxLength", MAX_CHARACTERS)
        return bounded


def _number_items(array: dict[str, Any], number: str) -> None:
    """Replace a list's items by one for each position, which begins with its number."""
    item = array.pop("items")
    others = {name: each for name, each in item["properties"].items() if name != number}
    array["prefixItems"] = [
        {**item, "properties": {number: {"const": position}, **others}}
        for position in range(1, array["maxItems"] + 1)
    ]


def one_of(values: Iterable[str | int]) -> Keywords:
    """Return the keywords of a value that must be one of those given, if there are any."""
    allowed = list(dict.fromkeys(values))
    return {"enum": allowed} if allowed else {}


def number_list(
    path: str, low: int, high: int, most: int, *, least: int = 0
) -> dict[str, Keywords]:
    """Return the bounds of a list of ``least`` to ``most`` numbers from ``low`` to ``high``."""
    return {
        path: {"minItems": least, "maxItems": most},
        f"{path}[]": number_between(low, high),
    }


def number_between(low: int, high: int) -> Keywords:
    """Return the keywords of a whole number from ``low`` to ``high``."""
    return {"minimum": low, "maximum": high}
