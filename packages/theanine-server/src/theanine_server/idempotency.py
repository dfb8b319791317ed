"""``Idempotency-Key``: a request is carried out once, however often it is sent.

The first process that receives a request claims it by a row in the store, where it also keeps the
answer for repetitions. A claim lasts seconds and is renewed, so that another process takes over
from one that died. :mod:`theanine.store.sql.claims` records whether a request without an answer has
changed anything.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import blake2b, sha256
from math import ceil
from typing import Annotated, Any

import anyio
import sqlalchemy as sa
from fastapi import FastAPI, Header, Request, Response
from sqlalchemy.dialects import postgresql, sqlite
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as ASGIScope

from theanine.cancellation import finish
from theanine.client.redaction import Redact, redact_document
from theanine.errors import StoreError
from theanine.store.processes import lease_holder
from theanine.store.sql import schema as t
from theanine.store.sql.claims import Claim, record_changes
from theanine.store.sql.holders import DatabaseTime, time_after
from theanine.store.sql.leases import has_died
from theanine.store.sql.store import SqlStore
from theanine.types import Scope
from theanine_server.problems import Refused

_log = logging.getLogger(__name__)

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
"""Header of an answer that was kept from an earlier request."""

LEASE = timedelta(seconds=10)
"""How long a claim lasts unless it is renewed; its process then counts as dead."""
KEPT = timedelta(hours=24)
"""How long an answer is kept."""
MAX_KEPT_BODY = 1_000_000
"""Maximum bytes of an answer that is kept."""
_CLEANING = 600.0  # seconds between removals of what has expired
_REPEATABLE = (429, 503)  # statuses that ask for a repetition, which must not get them again
_HEADERS = ("content-type", "etag", "location")  # those of an answer that are kept

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias=HEADER,
        min_length=1,
        max_length=255,
        description="Any text. Sent again with the same request, it is carried out once, and "
        "answered as before, for 24 hours.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer that is kept."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Replayed(Exception):
    """A request that was answered before."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


class Claims:
    """The requests with an ``Idempotency-Key`` that this process carries out.

    Args:
        redact: replaces what may not be stored; an answer that is no JSON and has such is not kept.
    """

    def __init__(self, store: SqlStore, redact: Redact | None) -> None:
        self._store, self._redact = store, redact
        self._running: dict[int, tuple[Claim, float]] = {}
        self._renewing = anyio.CancelScope()

    async def begin(
        self,
        request: Request,
        *,
        tenant: str,
        api_key: str,
        key: str,
        scope: Scope | None,
        content: bytes,
        repeatable: bool,
    ) -> None:
        """Claim a request for this process; its middleware ends it.

        For one that is ``repeatable``, changes are not recorded: it is redone if it has no answer.

        Raises Replayed for one that was answered before, and Refused for one that is being carried
        out, whose answer is not kept, or whose key was another request's.
        """
        secret = sha256(key.encode("utf-8", "surrogatepass"))
        claim = Claim(tenant=tenant, api_key=api_key, name=secret.hexdigest())
        fingerprint = fingerprint_of(
            secret.digest(), request.method, request.url.path, request.url.query, content
        )
        answer = await self._store.write_concurrently(
            False, claim_row, claim, lease_holder(), fingerprint, scope
        )
        if answer is not None:
            raise Replayed(answer)
        self._running[id(claim)] = (claim, time.monotonic())
        request.state.claim = claim
        if not repeatable:
            record_changes(claim)

    async def end(self, claim: Claim, answer: Answer | None) -> None:
        """Keep the answer of a request; without one, delete its claim if nothing has changed."""
        claim.ended = True
        if answer is not None and self._redact is not None:
            text = answer.body.decode("utf-8", "replace")
            if answer.headers.get("content-type", "").endswith("json"):
                answer = replace(answer, body=redact_document(text, self._redact).encode())
            elif self._redact(text) != text:
                claim.withheld = True
        self._running.pop(id(claim), None)
        try:
            await finish(self._store.write_concurrently(False, _end, claim, answer))
        except StoreError as error:  # the claim runs out
            _log.warning("the answer of a request is not kept: %s", error)

    async def run(self) -> None:
        """Renew claims and remove what has expired, until :meth:`stop`."""
        with self._renewing:
            await self._renew()

    def stop(self) -> None:
        """End :meth:`run`."""
        self._renewing.cancel()

    async def _renew(self) -> None:
        pause = LEASE.total_seconds() / 4
        cleaned = -_CLEANING
        while True:
            now = time.monotonic()
            try:
                for claim, since in [*self._running.values()]:
                    if now - since > pause:
                        await self._store.write_concurrently(False, _renew, claim)
                if now - cleaned > _CLEANING:
                    await self._store.write_concurrently(False, remove_expired)
                    cleaned = now
            except StoreError as error:  # it may be back in a moment
                _log.warning("requests could not be renewed: %s", error)
            await anyio.sleep(pause)


def fingerprint_of(secret: bytes, method: str, path: str, query: str, content: bytes) -> str:
    """Return a hash of a request, keyed so that its content can't be guessed from the store."""
    target = f"{method} {path}?{query}\n".encode("utf-8", "surrogatepass")
    return blake2b(target + content, key=secret, digest_size=16).hexdigest()


def withhold_answer(request: Request) -> None:
    """Don't keep the answer of a request, because it contains a secret."""
    claim: Claim | None = getattr(request.state, "claim", None)
    if claim is not None:
        claim.withheld = True


def add_replays(app: FastAPI) -> None:
    """Have kept answers sent again."""

    @app.exception_handler(Replayed)
    async def replay(request: Request, error: Exception) -> Response:
        assert isinstance(error, Replayed)
        answer = error.answer
        return Response(answer.body, answer.status, {**answer.headers, REPLAYED: "true"})


class ClaimMiddleware:
    """Middleware that keeps the answers of claimed requests before it sends them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        recorder = _Recorder(scope, send)
        try:
            await self._app(scope, receive, recorder)
        finally:
            await recorder.end()


class _Recorder:
    """Sends an answer on, its last part only once the answer is kept."""

    def __init__(self, scope: ASGIScope, send: Send) -> None:
        self._scope, self._send = scope, send
        self._start: Message = {}
        self._held = False
        self._body = bytearray()

    @property
    def _claim(self) -> Claim | None:
        claim: Claim | None = self._scope.get("state", {}).get("claim")
        return None if claim is None or claim.ended else claim

    async def __call__(self, message: Message) -> None:
        if self._claim is None:
            await self._send(message)
        elif message["type"] == "http.response.start":
            self._start, self._held = message, True
        else:
            if len(self._body) <= MAX_KEPT_BODY:
                self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self.end(complete=True)
            if self._held:
                self._held = False
                await self._send(self._start)
            await self._send(message)

    async def end(self, *, complete: bool = False) -> None:
        """End the request, if it is claimed, with its answer if that is complete."""
        claim = self._claim
        if claim is None:
            return
        answer = None
        if complete:
            headers = {name.decode("latin-1"): value for name, value in self._start["headers"]}
            answer = Answer(
                status=self._start["status"],
                headers={n: headers[n].decode("latin-1") for n in _HEADERS if n in headers},
                body=bytes(self._body),
            )
        await self._scope["app"].state.server.claims.end(claim, answer)


# in a transaction


def claim_row(
    db: sa.Connection, claim: Claim, holder: str, fingerprint: str, scope: Scope | None
) -> Answer | None:
    """Claim a request; return its answer if it was answered before."""
    r = t.idempotent_request.c
    begun: dict[str, Any] = {
        "fingerprint": fingerprint,
        "user": None if scope is None else scope.user,
        "agent": None if scope is None else scope.agent,
        "holder": holder,
        "until": time_after(LEASE),
        "expires_at": time_after(KEPT),
        "changed": False,
        "kept": True,
        "status": None,
        "headers": "{}",
        "body": None,
    }
    insert = sqlite.insert if db.dialect.name == "sqlite" else postgresql.insert
    names = {"tenant": claim.tenant, "api_key": claim.api_key, "name": claim.name}
    new = insert(t.idempotent_request).values(**names, **begun, taking=1)
    if db.execute(new.on_conflict_do_nothing().returning(r.taking)).scalar() is not None:
        return None
    row: Any = db.execute(
        sa.select(
            t.idempotent_request,
            (r.until - DatabaseTime()).label("left"),
            (r.expires_at <= DatabaseTime()).label("expired"),
        ).where(claim.row)
    ).one_or_none()
    if row is None:  # it has just been let go
        raise _in_progress(1)
    if row.holder == holder:  # the commit of the first try got no answer
        return None
    if not row.expired:
        if row.fingerprint != fingerprint:
            raise Refused(422, "key_reused", f"this {HEADER} was sent with another request before")
        if row.until is None and row.kept and row.status is not None:
            return Answer(status=row.status, headers=json.loads(row.headers), body=row.body)
        if row.until is not None and row.left > 0 and not has_died(db, row.holder):
            raise _in_progress(ceil(row.left / 1_000_000))
        if row.until is None or row.changed:
            raise Refused(
                409,
                "answer_not_kept",
                "the request was carried out before, and its answer is not kept; look at what is "
                f"there before you send it with another {HEADER}",
            )
    claim.number = row.taking + 1
    taken = t.idempotent_request.update().where(claim.row, r.taking == row.taking)
    if not db.execute(taken.values(**begun, taking=claim.number)).rowcount:
        raise _in_progress(1)
    return None


def _end(db: sa.Connection, claim: Claim, answer: Answer | None) -> None:
    """Keep an answer, or delete the claim of a request that failed without changing anything."""
    r = t.idempotent_request.c
    if answer is None or answer.status >= 300:
        unchanged = t.idempotent_request.delete().where(claim.is_held, ~r.changed)
        if db.execute(unchanged).rowcount:
            return
    ended: dict[str, Any] = {"until": None, "kept": False}
    keeps = answer is not None and answer.status not in _REPEATABLE and not claim.withheld
    if answer is not None and keeps and len(answer.body) <= MAX_KEPT_BODY:
        ended = {
            "until": None,
            "status": answer.status,
            # Unless something was erased meanwhile, which the answer may have.
            "headers": sa.case((r.kept, json.dumps(dict(answer.headers))), else_="{}"),
            "body": sa.case((r.kept, answer.body), else_=None),
        }
    db.execute(t.idempotent_request.update().where(claim.is_held).values(ended))


def _renew(db: sa.Connection, claim: Claim) -> None:
    renewed = t.idempotent_request.update().where(claim.is_held)
    db.execute(renewed.values(until=time_after(LEASE)))


def remove_expired(db: sa.Connection) -> None:
    """Delete answers whose time is over."""
    expired = t.idempotent_request.c.expires_at <= DatabaseTime()
    db.execute(t.idempotent_request.delete().where(expired))


def _in_progress(seconds: int) -> Refused:
    return Refused(
        409,
        "in_progress",
        f"a request with this {HEADER} is being carried out; try again",
        {"Retry-After": str(max(1, seconds))},
    )
