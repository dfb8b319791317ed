"""Errors as problem details (RFC 9457), one shape for every status."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import Match

from theanine import errors
from theanine_server.provider_paths import Provider, provider_of

_log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER = 1
"""Seconds of ``Retry-After`` when the store was unavailable."""
RETRY_LATER = {"Retry-After": str(RETRY_AFTER)}


class FieldProblem(BaseModel):
    """What is wrong with one part of a request."""

    where: str
    message: str


class Problem(BaseModel):
    """Why a request failed."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    errors: list[FieldProblem] = []


class Refused(Exception):
    """Raised to answer a request with a problem."""

    def __init__(
        self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.headers = status, code, {**(headers or {})}


STATUSES: tuple[tuple[type[errors.TheanineError], int, str], ...] = (
    # The first class that fits counts, so subclasses come before their base. The remote client
    # raises the class of a code.
    (errors.NotFound, 404, "not_found"),
    (errors.Stale, 409, "stale"),
    (errors.LeaseLost, 409, "lease_lost"),
    (errors.MissingExtra, 501, "missing_extra"),
    (errors.NotAStore, 500, "not_a_store"),
    (errors.EmbedderMismatch, 500, "embedder_mismatch"),
    (errors.SettingsError, 422, "bad_setting"),
    (errors.UserError, 422, "bad_input"),
    (errors.StoreUnavailable, 503, "store_unavailable"),
    # Not 503: to repeat a request doesn't help until somebody frees space.
    (errors.StoreFull, 507, "store_full"),
    (errors.WriteUnconfirmed, 503, "write_unconfirmed"),
    (errors.StoreError, 500, "store_failed"),
    (errors.BudgetExceeded, 429, "budget_exceeded"),
    (errors.ModelUnavailable, 503, "model_unavailable"),
    (errors.ModelError, 502, "model_failed"),
    (errors.RememberingFailed, 502, "remembering_failed"),
)

_OF_STORE = {
    "store_unavailable": "the store can't be reached, or is busy; nothing was stored: try again",
    "store_full": "a disk of the service is full, and nothing was stored; free some space there, "
    "then repeat",
    "write_unconfirmed": "the connection to the store was lost; it is not known whether this was "
    "stored: repeat it with the same ids or Idempotency-Key",
}
"""What clients are told of the store's failures, by code; the service's log has the rest."""

_CODES = {
    404: "not_found",
    405: "method_not_allowed",
    408: "body_too_slow",
    413: "body_too_large",
}
"""Problem codes for errors that the framework raises, by status."""

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

_MEANINGS = {
    401: "No key, or one that is unknown, expired or revoked",
    403: "The key lacks the right, or is for another user or agent",
    404: "There is no such thing",
    405: "The method is not allowed here",
    408: "The body came too slowly",
    409: "Something changed meanwhile; read again, then repeat",
    412: "The memory is no longer what If-Match names",
    413: "The body is too large",
    422: "The request is not valid",
    429: "Too many requests; Retry-After says when to repeat",
    500: "The service failed",
    501: "An optional part is not installed",
    502: "The model failed",
    503: "The store or the model can't be reached; Retry-After says when to repeat",
    507: "A disk of the service is full, and nothing was stored; free some space, then repeat",
}


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the documented problems of a route; those that every route can send are included."""
    common = (401, 403, 422, 429, 500, 503)
    return {
        status: {
            "description": _MEANINGS[status],
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in sorted({*common, *statuses})
    }


def write_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the documented problems of a route that changes something."""
    return responses(408, 409, 413, 507, *statuses)


_ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}


def _as_provider(provider: Provider, status: int, code: str, detail: str) -> dict[str, Any]:
    """Return an error in the shape of a provider's, which its clients show."""
    if provider == "anthropic":
        other = "api_error" if status >= 500 else "invalid_request_error"
        kind = _ANTHROPIC_TYPES.get(status, other)
        return {"type": "error", "error": {"type": kind, "message": detail}}
    kind = "server_error" if status >= 500 else "invalid_request_error"
    if status == 429:
        kind = "rate_limit_error"
    return {"error": {"message": detail, "type": kind, "param": None, "code": code}}


def problem_response(
    scope: Mapping[str, Any],
    status: int,
    code: str,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    fields: list[FieldProblem] | None = None,
) -> JSONResponse:
    """Return a problem as a response; to a provider's client, in the provider's own shape."""
    if provider := provider_of(scope):
        error = _as_provider(provider, status, code, detail)
        return JSONResponse(error, status_code=status, headers={**(headers or {})})
    problem = Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        code=code,
        errors=fields or [],
    )
    return JSONResponse(
        problem.model_dump(), status_code=status, headers={**(headers or {})}, media_type=MEDIA_TYPE
    )


def find_problem(error: Exception) -> Problem:
    """Return the problem of an error of the library."""
    status, code = next(
        ((status, code) for kind, status, code in STATUSES if isinstance(error, kind)),
        (500, "internal_error"),
    )
    detail = str(error)
    # The words of a store name its server, role and files.
    ours = (errors.Stale, errors.LeaseLost)
    if isinstance(error, errors.StoreError | errors.NotAStore) and not isinstance(error, ours):
        detail = _OF_STORE.get(code, "the store failed; the service's log says why")
    return Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, code=code)


def _allowed_methods(request: Request) -> list[str]:
    """Return the methods of all routes of a path; the framework names those of one of them.

    Of a path in the document, those that it has there: others may be passed on to a provider.
    """
    scopes = {method: {**request.scope, "method": method} for method in _METHODS}
    found = {
        method: [route for route in request.app.routes if route.matches(scope)[0] is Match.FULL]
        for method, scope in scopes.items()
    }
    documented = [
        method
        for method, routes in found.items()
        if any(getattr(route, "include_in_schema", True) for route in routes)
    ]
    return documented or [method for method, routes in found.items() if routes]


def _explain(request: Request, error: Mapping[str, Any]) -> str:
    """Return what is wrong with a field; for one that doesn't exist, which ones do."""
    route = request.scope.get("route")
    if error["type"] != "extra_forbidden" or len(error["loc"]) != 2 or route is None:
        return error["msg"]
    kinds = (field.field_info.annotation for field in route.dependant.body_params)
    names = [name for kind in kinds for name in getattr(kind, "model_fields", ())]
    return f"there is no such field; there are {', '.join(names)}"


def add_problem_handlers(app: FastAPI) -> None:
    """Answer every error with problem details."""

    @app.exception_handler(Refused)
    async def refuse(request: Request, error: Exception) -> JSONResponse:
        refused = cast("Refused", error)
        return problem_response(
            request.scope, refused.status, refused.code, str(refused), headers=refused.headers
        )

    @app.exception_handler(errors.TheanineError)
    async def translate(request: Request, error: Exception) -> JSONResponse:
        problem = find_problem(error)
        status, code = problem.status, problem.code
        if status >= 500:
            _log.error("%s: %s", type(error).__name__, error)
        wait = getattr(error, "retry_after", None) or RETRY_AFTER
        headers = {"Retry-After": str(round(wait) or 1)} if status in (429, 503) else {}
        return problem_response(request.scope, status, code, problem.detail, headers=headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: Exception) -> JSONResponse:
        fields = [
            FieldProblem(where=".".join(map(str, each["loc"])), message=_explain(request, each))
            for each in cast("RequestValidationError", error).errors()
        ]
        detail = "; ".join(f"{field.where}: {field.message}" for field in fields)
        return problem_response(request.scope, 422, "bad_input", detail, fields=fields)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: Exception) -> JSONResponse:
        failed = cast("HTTPException", error)
        status, headers, detail = failed.status_code, failed.headers, str(failed.detail)
        if status == 405:
            allowed = ", ".join(_allowed_methods(request))
            headers, detail = {"Allow": allowed}, f"this path is for {allowed}"
        elif status == 404 and detail == HTTPStatus.NOT_FOUND.phrase:  # of no route's own words
            detail = f"{errors.NO_SUCH_PATH}; /openapi.json has all"
        code = _CODES.get(status, "refused")
        return problem_response(request.scope, status, code, detail, headers=headers)

    @app.exception_handler(Exception)
    async def crash(request: Request, error: Exception) -> JSONResponse:
        detail = "the service failed; its log says why"
        return problem_response(request.scope, 500, "internal_error", detail)
