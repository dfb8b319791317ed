"""Request bodies in strict JSON types: the text ``"1"`` is not a number."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel, GetCoreSchemaHandler, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, core_schema

from theanine_server.access import authenticate, authenticate_request

T = TypeVar("T")
WORDS = ("content", "dialogue", "persona", "speaker", "system", "text")
"""Fields with what somebody said."""
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Content(bytes):
    """The body of a request whose content type is JSON."""


class _JsonRequest(Request):
    async def json(self) -> _Content:
        """Return the unparsed content: the framework would convert between texts and numbers."""
        return _Content(await self.body())


class JsonRoute(APIRoute):
    """A route whose body is a :data:`JsonBody`, and is read for those alone who may ask."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what handles a request."""
        handle = super().get_route_handler()
        key_first = self.body_field is not None and _asks_for_key(self.dependant)

        async def handler(request: Request) -> Response:
            if key_first:
                await authenticate_request(request)
            return await handle(_JsonRequest(request.scope, request.receive))

        return handler


def _asks_for_key(dependant: Dependant) -> bool:
    return any(each.call is authenticate or _asks_for_key(each) for each in dependant.dependencies)


class _ReadStrictly:
    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        adapter: TypeAdapter[Any] = TypeAdapter(source)

        def read(content: object, _: object) -> Any:
            if not isinstance(content, _Content):
                raise ValueError("the body must be JSON, with Content-Type: application/json")
            try:
                value = adapter.validate_json(content, strict=True)
            except ValidationError:
                if (readable := _without_surrogates(content)) is None:
                    raise
                value = adapter.validate_json(readable, strict=True)
            _check_names(value)
            return value

        return core_schema.no_info_wrap_validator_function(read, handler(source))


JsonBody = Annotated[T, _ReadStrictly()]
"""The body of a request to a :class:`JsonRoute`, in exactly the documented types."""


def _check_names(value: object) -> None:
    """Refuse names that no store can hold; what somebody said is repaired."""
    if isinstance(value, BaseModel):
        names = [*type(value).model_fields]
    elif is_dataclass(value):
        names = [field.name for field in fields(value)]
    else:
        return
    for name in names:
        text = getattr(value, name)
        if isinstance(text, str) and name not in WORDS and "\0" in text:
            raise ValueError(f"{name} has a NUL or half of a character, which no store holds")


def _without_surrogates(content: bytes) -> bytes | None:
    """Return JSON with NUL for lone surrogates, which the parser refuses; None without any.

    Like NUL, half of a character is repaired in what is said, and refused elsewhere.
    """
    value: Any = None
    with suppress(ValueError, RecursionError):
        value = json.loads(content)
    text = json.dumps(value, ensure_ascii=False)
    readable = _SURROGATE.sub(r"\\u0000", text)
    return None if readable == text else readable.encode()
