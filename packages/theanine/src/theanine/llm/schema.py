"""JSON schemas of typed replies, and a short form of them for prompts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel

_TYPE_NAMES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true|false",
}


def schema_of(result: type[object]) -> Mapping[str, Any] | None:
    """Return the JSON schema of a result type, or None for ``str``.

    Titles and the classes' own docstrings, which only cost tokens, are left out; field descriptions
    stay.
    """
    return _strip_titles(result.model_json_schema()) if issubclass(result, BaseModel) else None


def _strip_titles(schema: Mapping[str, Any]) -> dict[str, Any]:
    stripped: dict[str, Any] = {}
    for name, value in schema.items():
        if name in ("properties", "$defs"):
            stripped[name] = {key: _strip_titles(each) for key, each in value.items()}
        elif isinstance(value, Mapping):
            stripped[name] = _strip_titles(cast(Mapping[str, Any], value))
        elif name != "title" and not (name == "description" and "properties" in schema):
            stripped[name] = value
    return stripped


def schema_hint(schema: Mapping[str, Any]) -> str:
    """Abbreviate a JSON schema: a third of its tokens, and easier to follow for small models.

    The form is ``{"judgements": [{"pair": whole number (the pair's number), …}]}``. Optional fields
    are marked with ``?`` after the name. Parts with no short form stay JSON schema.
    """
    return _abbreviate(schema, schema.get("$defs", {}))


def schema_prompt(schema: Mapping[str, Any]) -> str:
    """Return what asks for a reply of this schema, to follow a prompt."""
    return f"Answer with one JSON object, nothing else:\n{schema_hint(schema)}"


def _abbreviate(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return _abbreviate(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "enum" in schema:
        return "|".join(_json(value) for value in schema["enum"])
    if "anyOf" in schema:
        return "|".join(_abbreviate(option, definitions) for option in schema["anyOf"])
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        required = schema.get("required", ())
        fields: list[str] = []
        for name, field in schema["properties"].items():
            note = f" ({field['description']})" if "description" in field else ""
            optional = "" if name in required else "?"
            fields.append(f'"{name}"{optional}: {_abbreviate(field, definitions)}{note}')
        return "{" + ", ".join(fields) + "}"
    if kind == "array" and "items" in schema:
        return f"[{_abbreviate(schema['items'], definitions)}, …]"
    if kind == "null":
        return "null"
    return _TYPE_NAMES.get(str(kind)) or _json(schema)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
