"""The OpenAPI document, in the form that generators of clients and readers need."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, cast

from fastapi import FastAPI
from fastapi.routing import APIRoute

from theanine_server.bodies import WORDS
from theanine_server.problems import Problem

SERVERS = [
    {"url": "/", "description": "The service that the document comes from"},
    {"url": "http://127.0.0.1:8321", "description": "`theanine serve` on this machine"},
]
_WITHOUT_NUL = r"^[^\u0000]*$"
_NARROWER = {"pattern", "format", "enum", "const"}
_REF = "#/components/schemas/"
Json = dict[str, Any]


def name_operation(route: APIRoute) -> str:
    """Return the id of an operation: the route's name, which is unique."""
    return route.name


def complete_document(app: FastAPI) -> None:
    """Have the document say what the framework leaves out or says in a form that misleads.

    The schema of problems, which the routes refer to, is added. A field of an answer is always
    there, so it is required. A default is named in words: generators take a field with one for
    required where it is not. All text but what somebody said is without NUL.
    """
    generate = app.openapi

    def openapi() -> Json:
        if app.openapi_schema:
            return app.openapi_schema
        document = generate()
        schema = Problem.model_json_schema(ref_template=f"{_REF}{{model}}")
        schemas: dict[str, Json] = document.setdefault("components", {}).setdefault("schemas", {})
        schemas |= schema.pop("$defs", {}) | {"Problem": schema}
        operations = [
            operation
            for methods in cast("dict[str, dict[str, Json]]", document["paths"]).values()
            for operation in methods.values()
        ]
        answered = _reach(
            schemas, (name for each in operations for name in _refs(each["responses"]))
        )
        for operation in operations:
            parameters = [each["schema"] for each in operation.get("parameters", [])]
            bodies = [schemas[name] for name in _refs(_body(operation)) if name in schemas]
            fields = [
                field
                for body in bodies
                for name, field in body.get("properties", {}).items()
                if name not in WORDS
            ]
            _exclude_nul([*parameters, *fields])
        for name, each in schemas.items():
            properties: dict[str, Json] = each.get("properties", {})
            if name in answered and properties:
                each["required"] = [*properties]
            for field in properties.values():
                _name_default(field, is_answer=name in answered)
        return document

    app.openapi = openapi


def _name_default(field: Json, *, is_answer: bool) -> None:
    default = field.pop("default", None)
    if default in (None, "", [], {}) or is_answer:
        return
    words = f"Default: `{json.dumps(default)}`."
    field["description"] = " ".join(filter(None, [field.get("description"), words]))


def _body(operation: Json) -> Json:
    content: Json = operation.get("requestBody", {}).get("content", {})
    return content.get("application/json", {}).get("schema", {})


def _exclude_nul(schemas: Iterable[Json]) -> None:
    """Say that texts have no NUL, which no store holds, unless they have a narrower form."""
    for schema in schemas:
        for each in (schema, *schema.get("anyOf", ())):
            if each.get("type") == "string" and not _NARROWER & {*each}:
                each["pattern"] = _WITHOUT_NUL


def _refs(value: object) -> Iterator[str]:
    """Yield the names of the schemas that a part of the document refers to."""
    if isinstance(value, dict):
        for name, inner in cast("Json", value).items():
            if name == "$ref":
                yield str(inner).removeprefix(_REF)
            yield from _refs(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _refs(inner)


def _reach(schemas: dict[str, Json], names: Iterable[str]) -> set[str]:
    """Return the names of some schemas and of all that these refer to."""
    reached, waiting = set[str](), [*names]
    while waiting:
        if (name := waiting.pop()) not in reached:
            reached.add(name)
            waiting += _refs(schemas.get(name, {}))
    return reached
