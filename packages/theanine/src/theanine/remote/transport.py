"""Requests to a service: errors as the library's own, repeated where that is safe."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from random import Random
from types import MappingProxyType
from typing import Any, TypeVar
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from theanine import errors
from theanine.retrying import Failure, read_retry_after, repeat
from theanine.telemetry import trace_headers

try:
    import httpx2
except ModuleNotFoundError as error:
    raise errors.MissingExtra("remote", "a client of a service") from error

T = TypeVar("T")

TIMEOUT = 60.0
PAGE = 500
"""Items of a page of a list."""
TRIES = 5
"""Requests that are sent in place of one that is refused for the moment, or lost."""
FIRST_WAIT, LONGEST_WAIT = 0.4, 10.0
"""Seconds between two of them."""

_ERRORS: Mapping[str, type[errors.TheanineError]] = MappingProxyType(
    {
        "not_found": errors.NotFound,
        "stale": errors.Stale,
        "lease_lost": errors.LeaseLost,
        "bad_setting": errors.SettingsError,
        "bad_input": errors.BadInput,
        "store_full": errors.StoreFull,
        "write_unconfirmed": errors.WriteUnconfirmed,
        "answer_not_kept": errors.WriteUnconfirmed,
        "embedder_mismatch": errors.EmbedderMismatch,
        "not_a_store": errors.NotAStore,
        "model_unavailable": errors.ModelUnavailable,
        "model_failed": errors.ModelError,
        "budget_exceeded": errors.BudgetExceeded,
        "remembering_failed": errors.RememberingFailed,
    }
)
"""The errors of the codes of problems; others are errors of the caller below 500, else of the
store."""
_FOR_THE_MOMENT = frozenset(
    {"busy", "rate_limited", "store_unavailable", "timed_out", "in_progress"}
)
_REPEATED = _FOR_THE_MOMENT | {"write_unconfirmed"}
"""The codes of problems after which a request is sent again."""


_GATEWAYS = (429, 502, 503, 504)
"""Statuses of gateways and load balancers for the moment, whose answers are no problems of ours."""


class Transport:
    """The connection to one service.

    Raises SettingsError for an address that is no URL of HTTP.
    """

    def __init__(self, url: str, key: str, timeout: float) -> None:
        if not url.startswith(("http://", "https://")):
            raise errors.SettingsError(
                f"{url!r} is not the address of a service; write https://HOST or http://HOST:PORT"
            )
        self.url = url.rstrip("/")
        self._has_key = bool(key)
        self._rng = Random()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx2.AsyncClient(
            base_url=self.url,
            headers=headers,
            timeout=timeout,
            event_hooks={"request": [_name_trace]},
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def call(
        self,
        kind: TypeAdapter[T],
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: object = None,
        content: bytes | None = None,
        safe: bool | None = None,
    ) -> T:
        """Send a request and return its answer.

        Args:
            safe: whether it does nothing twice; the default is by its method. Any other request
                has an ``Idempotency-Key``, so that it can be repeated as well.
        """
        answer = await self.send(method, path, params=params, body=body, content=content, safe=safe)
        return self.read(kind, answer)

    def read(self, kind: TypeAdapter[T], answer: httpx2.Response) -> T:
        """Return what a response says. Raises UserError if it has another form."""
        try:
            return kind.validate_json(answer.content)
        except ValidationError:
            raise self._other_service("its answer is of another form") from None

    async def list_all(
        self, kind: type[T], path: str, params: Mapping[str, Any], limit: int | None = None
    ) -> list[T]:
        """Return the items of all pages of a list, or of as many as ``limit`` asks for."""
        items, page = TypeAdapter(kind), TypeAdapter(dict[str, Any])
        found: list[T] = []
        asked = dict(params)
        while limit is None or len(found) < limit:
            asked["limit"] = PAGE if limit is None else min(PAGE, limit - len(found))
            answer = await self.call(page, "GET", path, params=asked)
            found += map(items.validate_python, answer["items"])
            if answer["next"] is None:
                break
            asked = {**params, "cursor": answer["next"]}
            asked.pop("after", None)
        return found

    async def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: object = None,
        content: bytes | None = None,
        safe: bool | None = None,
    ) -> httpx2.Response:
        """Send a request and return its response. Raises the library's errors."""
        safe = method == "GET" if safe is None else safe
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if not safe:
            headers["Idempotency-Key"] = uuid4().hex
        data = content if body is None else _dump(body)

        async def attempt(elapsed: float) -> httpx2.Response | Failure:
            try:
                answer = await self._http.request(
                    method, path, params=params, content=data, headers=headers
                )
            except httpx2.HTTPError as error:
                return Failure(self._lost(error))
            if answer.is_success:
                return answer
            failure, code = self._read_problem(answer)
            asked = answer.headers.get("Retry-After", "")
            wait = read_retry_after(asked, answer.headers.get("Date"))
            return Failure(failure, code in _REPEATED, wait)

        result = await repeat(
            attempt,
            attempts=TRIES,
            first_wait=FIRST_WAIT,
            max_wait=LONGEST_WAIT,
            rng=self._rng,
        )
        if isinstance(result, Failure):
            raise result.error
        return result

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, *, body: object = None
    ) -> AsyncGenerator[AsyncIterator[str]]:
        """Send a request and give the lines of its answer as they come."""
        data = None if body is None else _dump(body)
        headers = {"Content-Type": "application/json"} if body is not None else {}
        try:
            async with self._http.stream(method, path, content=data, headers=headers) as answer:
                if not answer.is_success:
                    await answer.aread()
                    raise self._read_problem(answer)[0]
                yield answer.aiter_lines()
        except httpx2.HTTPError as error:
            raise self._lost(error) from error

    def _lost(self, error: Exception) -> errors.StoreUnavailable:
        return errors.StoreUnavailable(
            f"the service at {self.url} can't be reached ({type(error).__name__}: {error}); start "
            "it with `theanine serve`, or check the address"
        )

    def _read_problem(self, answer: httpx2.Response) -> tuple[errors.TheanineError, str]:
        """Return the error of a response, and its code."""
        try:
            problem: Any = answer.json()
            error, code = _error(problem), str(problem["code"])
        except (ValueError, KeyError, TypeError):
            if answer.status_code in _GATEWAYS:  # between us and the service
                detail = f"a gateway before {self.url} answered {answer.status_code}; try again"
                return errors.StoreUnavailable(detail), "store_unavailable"
            if answer.status_code < 500:
                return self._other_service(f"status {answer.status_code}"), ""
            detail = f"the service answered {answer.status_code} without a reason"
            return errors.StoreError(detail), ""
        # Of no route, whose errors say what is not found; "Not Found" is an older service's.
        if problem["detail"].startswith((errors.NO_SUCH_PATH, "Not Found")):
            return self._other_service(errors.NO_SUCH_PATH), code
        if code == "unauthorized":
            reason = "the key in key= is unknown, expired or revoked"
            if not self._has_key:
                reason = "it needs a key of `theanine keys create`: pass it as key="
            error = errors.UserError(f"the service at {self.url} refuses the request: {reason}")
        return error, code

    def _other_service(self, reason: str) -> errors.UserError:
        return errors.UserError(
            f"no theanine service answers at {self.url} ({reason}); check the address"
        )


async def _name_trace(request: httpx2.Request) -> None:
    """Have the service go on with the caller's trace."""
    request.headers.update(trace_headers())


_JSON: TypeAdapter[object] = TypeAdapter(object)


def _dump(body: object) -> bytes:
    """Return a body as JSON. Raises BadInput for what JSON can't hold."""
    try:
        # As escapes, which the service reads: UTF-8 has no half of a character.
        value = _JSON.dump_python(body, mode="json", fallback=_as_object)
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    except (PydanticSerializationError, TypeError, ValueError) as error:
        raise errors.BadInput(f"it can't be sent: {error}") from None


def _as_object(value: object) -> dict[Any, Any]:
    """Return a mapping of another type than dict, such as the parts of a turn."""
    if isinstance(value, Mapping):
        return {**value}
    raise TypeError(f"{type(value).__name__} is no value of JSON")


def raise_problem(problem: Mapping[str, Any]) -> None:
    """Raise the error that a problem is about."""
    raise _error(problem)


def _error(problem: Mapping[str, Any]) -> errors.TheanineError:
    code, status, detail = problem["code"], problem["status"], problem["detail"]
    if code in _FOR_THE_MOMENT:
        return errors.StoreUnavailable(detail)
    fallback = errors.UserError if status < 500 else errors.StoreError
    return _ERRORS.get(code, fallback)(detail)
