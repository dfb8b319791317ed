"""Types of parameters and fields, which accept only the form that the API documents.

By itself, the framework takes ``yes`` and ``on`` for true, ``1_0`` and ``10.0`` for ten, and
numbers for times.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import Request
from pydantic import AwareDatetime, BeforeValidator, PlainSerializer, TypeAdapter

from theanine.tokenizer import sanitize
from theanine_server.problems import Refused

_INTEGER = re.compile(r"-?[0-9]+")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}.*", re.ASCII)

_MOMENT = TypeAdapter(AwareDatetime)


def _read_flag(value: object) -> object:
    if isinstance(value, str) and value not in ("true", "false"):
        raise ValueError("write true or false")
    return value


def _read_integer(value: object) -> object:
    if isinstance(value, str) and not _INTEGER.fullmatch(value):
        raise ValueError("write an integer in digits")
    return value


def _read_time(value: object) -> object:
    if isinstance(value, str) and not _TIME.fullmatch(value):
        raise ValueError("write a time with its UTC offset, such as 2024-05-01T18:00:00Z")
    # As a value: in a body that is read strictly, what a validator returns may be no text any more.
    return _MOMENT.validate_python(value) if isinstance(value, str) else value


def _write_days(value: timedelta) -> str:
    seconds = value % timedelta(days=1) / timedelta(seconds=1)
    return f"P{value.days}D" + (f"T{seconds:.15g}S" if seconds else "")


Flag = Annotated[bool, BeforeValidator(_read_flag)]
IN_DIGITS = BeforeValidator(_read_integer)
"""Annotation of integers: digits only. It must come after the bounds, to document them."""
Duration = Annotated[timedelta, PlainSerializer(_write_days, str, when_used="json")]
"""A duration in days and seconds; months and years, which RFC 3339 has, vary in length."""
Time = Annotated[AwareDatetime, BeforeValidator(_read_time)]
"""A time as text of RFC 3339; digits alone are refused, not read as seconds since 1970."""


async def check_parameters(request: Request) -> None:
    """Answer 422 for a parameter that no store can hold, and for one value that is repeated.

    Of a repeated one, the framework would drop all but the last.
    """
    query = parse_qsl(request.url.query, keep_blank_values=True, errors="surrogateescape")
    for name, value in [*request.path_params.items(), *query]:
        if sanitize(str(value)) != str(value):
            detail = f"{name} has a NUL or half of a character, which no store holds; leave it out"
            raise Refused(422, "bad_input", detail)
    names = Counter(name for name, _ in query)
    repeated = {name for name, times in names.items() if times > 1}
    if not repeated:
        return
    paths: dict[str, Any] = request.app.openapi()["paths"]
    methods = paths.get(request.scope["route"].path, {})
    parameters = methods.get(request.method.lower(), {}).get("parameters", [])
    for each in parameters:
        if each["in"] == "query" and each["name"] in repeated and not _is_list(each["schema"]):
            detail = f"{each['name']} comes {names[each['name']]} times; send it once"
            raise Refused(422, "bad_input", detail)


def _is_list(schema: dict[str, Any]) -> bool:
    return "array" in [each.get("type") for each in (schema, *schema.get("anyOf", []))]
