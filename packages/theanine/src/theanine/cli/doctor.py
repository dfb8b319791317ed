"""``theanine doctor``: check that what is configured works, and suggest fixes."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from theanine import Client
from theanine.cli.options import (
    BaseUrlOption,
    EmbedderOption,
    JsonOption,
    ModelOption,
    RerankerOption,
    StoreOption,
    default_store,
    open_client,
)
from theanine.cli.output import show_json
from theanine.cli.rendering import console, pluralize
from theanine.embeddings.on_disk import option_for
from theanine.embeddings.open import open_embedder, open_reranker
from theanine.errors import ModelUnavailable, TheanineError
from theanine.llm.base import Closable, Message, RequestOptions
from theanine.llm.bounds import ReplyBounds
from theanine.llm.open import open_chat
from theanine.store import open_store, store_file
from theanine.store.postgres import PostgresStore
from theanine.store.server_status import ServerStatus
from theanine.store.sql.distribution import Distribution
from theanine.store.sql.walls import UNBOUND

T = TypeVar("T")

_MANY_CONNECTIONS = 0.8  # of the server's limit
_LONG_TRANSACTION = 300  # seconds


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check; ``fix`` is empty if nothing is wrong, ``advice`` if nothing is to do."""

    what: str
    result: str
    fix: str = ""
    advice: str = ""


def doctor(
    store: StoreOption = "",
    model: ModelOption = "local",
    base_url: BaseUrlOption = None,
    embedder: EmbedderOption = "local",
    reranker: RerankerOption = None,
    ask: Annotated[
        bool, typer.Option(help="Ask the model for one word, which may cost a little.")
    ] = True,
    timeout: Annotated[
        float,
        typer.Option(min=0.1, metavar="SECONDS", help="How long each model has for an answer."),
    ] = 60.0,
    as_json: JsonOption = False,
) -> None:
    """Check the store and the models, and suggest fixes.

    Exits with 1 if something is wrong.

    \b
    theanine doctor
    theanine doctor --model openai:gpt-4o-mini --no-ask
    """
    findings = [
        Finding("theanine", f"{version('theanine')} on Python {platform.python_version()}"),
        *_check("store", partial(_check_store, store, embedder)),
        *_check("server", partial(_check_server, store)),
        *_check("distribution", partial(_check_distribution, store)),
        *_check("walls", partial(_check_walls, store)),
        *_check("embedder", partial(_check_embedder, embedder, timeout)),
        *_check("reranker", partial(_check_reranker, reranker, timeout)),
        *_check("model", partial(_check_model, model, base_url, ask, timeout)),
    ]
    if as_json:
        show_json(findings)
    else:
        for finding in findings:
            mark = "[yellow]•[/]" if finding.advice else "[green]✓[/]"
            mark = "[red]✗[/]" if finding.fix else mark
            console().print(f"{mark} [bold]{finding.what}[/]", end="  ")
            console().print(finding.result, markup=False)
            if finding.fix or finding.advice:
                console().print(f"    → {finding.fix or finding.advice}", markup=False)
    if any(finding.fix for finding in findings):
        raise typer.Exit(1)


def _check(what: str, check: Callable[[], list[Finding]]) -> list[Finding]:
    """Run a check; an error of ours becomes a finding, as its message says what to do."""
    try:
        return check()
    except TheanineError as error:
        return [Finding(what, type(error).__name__, str(error))]


def _check_store(store: str, embedder: str) -> list[Finding]:
    name = store_file(store or default_store())
    file = None if name is None else Path(name).expanduser()
    if file and not file.exists():
        return [Finding("store", f"{file} doesn't exist yet; the first session creates it")]
    with open_client(store, embedder=embedder) as client:
        size = ""
        if file:
            total = sum(part.stat().st_size for part in file.parent.glob(f"{file.name}*"))
            size = f", {total / 1e6:.1f} MB"
        users = pluralize(len(client.users()), "users")
        damage = client.check()
        read_only = []
        if file and not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK | os.X_OK)):
            advice = "Change the permissions of the file and its folder to store anything"
            read_only = [Finding("store", "it can't be written, only read", advice)]
        return [
            *read_only,
            Finding(
                "store",
                f"{file or client.location}{size}, {users}",
                f"{damage}. Restore a backup, or save the users who can be read with `theanine "
                "export`"
                if damage
                else "",
            ),
            _check_vectors(client),
            _check_sessions(client),
        ]


def _check_server(store: str) -> list[Finding]:
    location = store or default_store()
    if store_file(location) is not None:
        return []
    status = asyncio.run(_load_server_status(location))
    if status is None:
        return []
    replica = ", a replica" if status.is_replica else ""
    result = (
        f"PostgreSQL {status.version}{replica}, role {status.role}, schema {status.schema}, "
        f"{status.size / 1e6:.1f} MB\n    {status.connections} of {status.connection_limit} "
        "connections in use, oldest open transaction: "
        f"{status.oldest_transaction:.0f} s"
    )
    if status.is_read_only:
        return [Finding("server", result, "It takes no writes: name the primary in the URL")]
    advice: list[str] = []
    if status.connections > _MANY_CONNECTIONS * status.connection_limit:
        advice.append("Lower pool_size in the stores' URLs, or put PgBouncer in front")
    if status.oldest_transaction > _LONG_TRANSACTION:
        advice.append(
            "End the transaction, which keeps VACUUM from freeing space: find it by xact_start in "
            "pg_stat_activity"
        )
    return [Finding("server", result, advice=". ".join(advice))]


async def _load_server_status(location: str) -> ServerStatus | None:
    store = open_store(location, read_only=True)
    if not isinstance(store, PostgresStore):
        return None
    await store.open()
    return await _close_after(store, store.server_status())


def _check_distribution(store: str) -> list[Finding]:
    location = store or default_store()
    if store_file(location) is not None:
        return []
    distribution = asyncio.run(_load_distribution(location))
    if distribution is None:
        return [Finding("distribution", "none: one server without the Citus extension")]
    if not distribution.tables:
        advice = "Distribute the tables over its workers: `theanine db distribute`"
        return [Finding("distribution", "none: all tables are on the coordinator", advice=advice)]
    fixes: list[str] = []
    if distribution.missing:
        missing = ", ".join(distribution.missing)
        fixes.append(f"Run `theanine db distribute`: {missing} is only on the coordinator")
    if distribution.unreachable:
        workers = ", ".join(distribution.unreachable)
        fixes.append(f"Start {workers}: the users there can't be reached until it is back")
    return [Finding("distribution", str(distribution), ". ".join(fixes))]


async def _load_distribution(location: str) -> Distribution | None:
    store = open_store(location)
    if not isinstance(store, PostgresStore):
        return None
    await store.open()
    return await _close_after(store, store.distribution())


def _check_walls(store: str) -> list[Finding]:
    location = store or default_store()
    if store_file(location) is not None:
        return []
    if reason := asyncio.run(_find_bypass(location)):
        advice = (
            "Let `theanine db rebalance` come to its end, or run it again"
            if reason == UNBOUND
            else "Open the store as another role: `CREATE ROLE theanine LOGIN PASSWORD '…'`, "
            "and make it the owner of the tables; the page on storage has the steps"
        )
        return [
            Finding("walls", f"row-level security doesn't hold: the role {reason}", advice=advice)
        ]
    return [Finding("walls", "row-level security holds")]


async def _find_bypass(location: str) -> str:
    store = open_store(location, read_only=True)
    if not isinstance(store, PostgresStore):
        return ""
    await store.open()
    return await _close_after(store, store.find_bypass())


def _check_vectors(client: Client) -> Finding:
    stored = client.stored_embedder()
    if stored in ("", client.embedder_name):
        return Finding("vectors", stored or "none yet")
    return Finding(
        "vectors",
        stored,
        f"Open the store with --embedder {option_for(stored)}, or run `theanine reembed`",
    )


def _check_sessions(client: Client) -> Finding:
    pending = client.pending()
    if not pending:
        return Finding("sessions", "all remembered")
    failures = "; ".join(
        f"{session.scope}, session {session.session}: {session.failure}"
        for session in [session for session in pending if session.failure][:3]
    )
    aside = sum(session.state == "set aside" for session in pending)
    counted = f", {aside:,} of them set aside after failing too often" if aside else ""
    return Finding(
        "sessions",
        f"{pluralize(len(pending), 'sessions')} to remember{counted}",
        f"{failures}. Then run `theanine remember`; `theanine pending` lists all"
        if failures
        else "",
        "" if failures else "Run `theanine remember` or `theanine worker`, unless one is running",
    )


def _check_embedder(name: str, timeout: float) -> list[Finding]:
    embedder = open_embedder(name)
    vectors = asyncio.run(_close_after(embedder, embedder.embed(["a word"]), timeout))
    return [Finding("embedder", f"{embedder.name}, {vectors.shape[1]} dimensions")]


def _check_reranker(name: str | None, timeout: float) -> list[Finding]:
    if name is None:
        return [Finding("reranker", "none (choose one with --reranker)")]
    reranker = open_reranker(name)
    score = asyncio.run(_within(timeout, reranker.score("a question", ["a text"])))[0]
    return [Finding("reranker", f"{reranker.name} works; test score {score:.3f}")]


def _check_model(name: str, base_url: str | None, ask: bool, timeout: float) -> list[Finding]:
    model = open_chat(name, base_url=base_url)
    if model is None:
        return [Finding("model", "none, using the local methods (choose one with --model)")]
    if not ask:
        return [Finding("model", f"{model.name}, not asked")]
    question = [Message("user", "Answer with the one word: ready")]
    brief = RequestOptions(bounds=ReplyBounds(20))  # a small model may not stop at one word
    reply = asyncio.run(_close_after(model, model.complete(question, None, brief), timeout))
    return [Finding("model", f"{model.name} answers: {reply.text.strip()[:60] or '(nothing)'}")]


async def _close_after(resource: object, result: Awaitable[T], limit: float | None = None) -> T:
    """Await a result of a resource, then close the resource's connections."""
    try:
        return await _within(limit, result)
    finally:
        if isinstance(resource, Closable):
            await resource.close()


async def _within(limit: float | None, result: Awaitable[T]) -> T:
    """Await a result. Raises ModelUnavailable if it takes longer."""
    try:
        return await asyncio.wait_for(result, limit)
    except TimeoutError:
        raise ModelUnavailable(
            f"no answer within {limit:g} s; a slow model needs a longer --timeout"
        ) from None
