"""A JSON schema as a short drawing of the wanted JSON: a third of the tokens, easier to follow."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_NAMES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true|false"}


def schema_hint(schema: Mapping[str, Any]) -> str:
    """``{"judgements": [{"pair": whole number (the pair's number), …}]}``.

    What may be left out is marked with ``?`` behind its name. A part that this can't draw stands
    there as JSON schema.
    """
    return _draw(schema, schema.get("$defs", {}))


def _draw(schema: Mapping[str, Any], parts: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return _draw(parts[schema["$ref"].rpartition("/")[2]], parts)
    if "enum" in schema:
        return "|".join(_json(value) for value in schema["enum"])
    if "anyOf" in schema:
        return "|".join(_draw(one, parts) for one in schema["anyOf"])
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        return _object(schema, parts)
    if kind == "array" and "items" in schema:
        return f"[{_draw(schema['items'], parts)}, …]"
    if kind == "null":
        return "null"
    return _NAMES.get(str(kind)) or _json(schema)


def _object(schema: Mapping[str, Any], parts: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    fields = [
        f'"{name}"{"" if name in required else "?"}: {_draw(field, parts)}{_note(field)}'
        for name, field in schema["properties"].items()
    ]
    return "{" + ", ".join(fields) + "}"


def _note(field: Mapping[str, Any]) -> str:
    return f" ({field['description']})" if "description" in field else ""


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
