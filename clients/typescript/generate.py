"""Write api.d.ts, the types of the service's API, from its OpenAPI document.

``python clients/typescript/generate.py``; with ``--check``, only say whether it is up to date.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from theanine.client import OpenOptions
from theanine_server import ServerOptions, create_app

FILE = Path(__file__).with_name("api.d.ts")
HEAD = "// Written by generate.py from the OpenAPI document of the service: don't edit it.\n"
_NAMES = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")

Json = dict[str, Any]


def types(document: Json) -> str:
    """Return the declarations of all schemas of a document."""
    schemas: dict[str, Json] = document["components"]["schemas"]
    return "\n".join([HEAD, *(_declaration(name, schemas[name]) for name in sorted(schemas))])


def _declaration(name: str, schema: Json) -> str:
    comment = _comment(schema.get("description", ""), "")
    if schema.get("type") == "object" and "properties" in schema:
        return f"{comment}export interface {_name(name)} {_object(schema, '')}\n"
    return f"{comment}export type {_name(name)} = {_type(schema, '')};\n"


def _object(schema: Json, indent: str) -> str:
    inner, required = indent + "  ", schema.get("required", [])
    lines = [
        f"{_comment(field.get('description', ''), inner)}{inner}{_property(name)}"
        f"{'' if name in required else '?'}: {_type(field, inner)};\n"
        for name, field in schema["properties"].items()
    ]
    return "{\n" + "".join(lines) + indent + "}"


def _type(schema: Json, indent: str) -> str:
    if "$ref" in schema:
        return _name(schema["$ref"].rsplit("/", 1)[1])
    for key in ("enum", "const"):
        if key in schema:
            values = schema[key] if key == "enum" else [schema[key]]
            return " | ".join(json.dumps(value) for value in values)
    for key, joint in (("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")):
        if key in schema:
            return joint.join(dict.fromkeys(_type(each, indent) for each in schema[key]))
    kind = schema.get("type")
    if kind == "array":
        if "prefixItems" in schema:
            return f"[{', '.join(_type(each, indent) for each in schema['prefixItems'])}]"
        return f"Array<{_type(schema.get('items', {}), indent)}>"
    if kind == "object":
        if "properties" in schema:
            return _object(schema, indent)
        values: Any = schema.get("additionalProperties")
        return (
            f"Record<string, {_type(values, indent) if values not in (None, True) else 'unknown'}>"
        )
    return _NAMES.get(kind or "", "unknown")


def _name(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"\W|__|_(?=\w)", name) if part)


def _property(name: str) -> str:
    return name if _IDENTIFIER.fullmatch(name) else json.dumps(name)


def _comment(text: str, indent: str) -> str:
    words = " ".join(text.split()).replace("*/", "* /")
    return f"{indent}/** {words} */\n" if words else ""


def main() -> None:
    """Write the file, or check it. Exits with 1 if it is not up to date."""
    with TemporaryDirectory() as folder:
        app = create_app(ServerOptions(OpenOptions(f"{folder}/memory.db")))
        text = types(app.openapi())
    if "--check" not in sys.argv:
        FILE.write_text(text, "utf-8")
    elif not FILE.exists() or FILE.read_text("utf-8") != text:
        sys.exit(f"{FILE.name} is out of date: run python clients/typescript/generate.py")


if __name__ == "__main__":
    main()
