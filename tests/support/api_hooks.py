"""Hooks of schemathesis for the service's API: what its document can't say of requests."""

# pyright: reportUnknownMemberType=false
from __future__ import annotations

from itertools import count
from typing import Any, cast
from uuid import uuid4

import schemathesis
from schemathesis import Case, HookContext, Response
from schemathesis.core.failures import Failure
from schemathesis.openapi.checks import RejectedPositiveData

_STORED = {"user": "ana", "thread": "t1", "number": 1, "session": 1, "turn": 1}
_numbers = count()


@schemathesis.hook
def before_call(context: HookContext, case: Case[Any], kwargs: dict[str, Any]) -> None:
    """Have every other request be about what is stored, and none repeat another's key.

    Else nearly all would be not found, or refused because the key came with another request.
    """
    headers = cast("dict[str, object]", case.headers)
    if 0 < len(str(headers.get("Idempotency-Key", ""))) < 256:
        headers["Idempotency-Key"] = uuid4().hex
    if case.method == "DELETE" or next(_numbers) % 2:
        return
    for name in case.path_parameters.keys() & _STORED.keys():
        if type(case.path_parameters[name]) is type(_STORED[name]):
            case.path_parameters[name] = _STORED[name]


@schemathesis.hook
def filter_failure(
    context: HookContext, failure: Failure, case: Case[Any], response: Response
) -> bool:
    """Drop refusals that rest on more than the schema: on meaning, or on what is stored.

    A request that fits the schema may have a time zone that there is not, a cursor of another list
    or a blank text. A refusal by the schema itself names fields; of these, one is known: 1.0 for
    an integer, which JSON Schema allows and we don't.
    """
    if not isinstance(failure, RejectedPositiveData):
        return True
    fields: list[dict[str, Any]] = response.json().get("errors") or []
    return any(field["message"] != "Input should be a valid integer" for field in fields)
