"""`theanine doctor`: what is configured, whether it is reachable, and how to mend it."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from theanine.cli.options import (
    BaseUrlOption,
    EmbedderOption,
    JsonOption,
    ModelOption,
    RerankerOption,
    StoreOption,
    default_store,
    open_client,
    show_json,
)
from theanine.cli.rendering import console, pluralize

if TYPE_CHECKING:
    from theanine.client.sync import Client


T = TypeVar("T")
MOVE = "`theanine reembed`"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; ``mend`` is empty where all is well."""

    what: str
    found: str
    fix: str = ""


def doctor(
    store: StoreOption = "",
    model: ModelOption = "local",
    base_url: BaseUrlOption = None,
    embedder: EmbedderOption = "local",
    reranker: RerankerOption = None,
    ask: Annotated[
        bool, typer.Option(help="Ask the model for one word, which may cost a little.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Check the store, the embedder, the reranker and the model, and say how to mend what is wrong.

    Exits with 1 when something is wrong.

    \b
    theanine doctor
    theanine doctor --model openai:gpt-4o-mini --no-ask
    """
    findings = [
        Finding("theanine", f"{version('theanine')} on Python {platform.python_version()}"),
        *_looked("store", partial(_store, store, embedder)),
        *_looked("embedder", partial(_embedder, embedder)),
        *_looked("reranker", partial(_reranker, reranker)),
        *_looked("model", partial(_model, model, base_url, ask)),
    ]
    if as_json:
        show_json([{"what": f.what, "found": f.found, "mend": f.fix} for f in findings])
    else:
        for one in findings:
            mark = "[red]✗[/]" if one.fix else "[green]✓[/]"
            console().print(f"{mark} [bold]{one.what}[/]", end="  ")
            console().print(one.found, markup=False)
            if one.fix:
                console().print(f"    → {one.fix}", markup=False)
    if any(one.fix for one in findings):
        raise typer.Exit(1)


def _looked(what: str, look: Callable[[], list[Finding]]) -> list[Finding]:
    """What a look found; an error of ours is a finding, and its words say how to mend it."""
    from theanine.errors import TheanineError

    try:
        return look()
    except TheanineError as error:
        return [Finding(what, type(error).__name__, str(error))]


def _store(store: str, embedder: str) -> list[Finding]:
    file = Path(store or default_store())
    if not file.exists():
        return [Finding("store", f"{file} is not there yet; the first session makes it")]
    with open_client(store, embedder=embedder) as agent:
        size = sum(part.stat().st_size for part in file.parent.glob(f"{file.name}*"))
        damage = agent.check()
        found = f"{file}, {size / 1e6:.1f} MB, {pluralize(len(agent.users()), 'users')}"
        mend = f"{damage}. Restore a copy, or `theanine export` what reads" if damage else ""
        return [Finding("store", found, mend), _vectors(agent), *_waiting(agent)]


def _vectors(agent: Client) -> Finding:
    from theanine.embeddings.on_disk import asked_as

    held = agent.stored_embedder() or "none yet"
    mends = {agent.embedder_name: "", "none yet": ""}
    return Finding(
        "vectors",
        held,
        mends.get(held, f"Open it with --embedder {asked_as(held)}, or move it with {MOVE}"),
    )


def _waiting(agent: Client) -> list[Finding]:
    waiting = agent.pending()
    failed = [one for one in waiting if one.failure]
    left = f"to be remembered: {pluralize(len(waiting), 'sessions')}"
    mend = "; ".join(f"{one.scope}, session {one.session}: {one.failure}" for one in failed[:3])
    return [
        Finding(
            "sessions",
            left if waiting else "all remembered",
            f"{mend}. Then `theanine remember`" if mend else "",
        )
    ]


def _embedder(name: str) -> list[Finding]:
    from theanine.embeddings.open import open_embedder

    embedder = open_embedder(name)
    vectors = asyncio.run(_closing(embedder, embedder.embed(["a word"])))
    return [Finding("embedder", f"{embedder.name}, {vectors.shape[1]} dimensions")]


def _reranker(name: str | None) -> list[Finding]:
    from theanine.embeddings.open import open_reranker

    if name is None:
        return [Finding("reranker", "none (--reranker sets one)")]
    reranker = open_reranker(name)
    rating = asyncio.run(reranker.score("a question", ["a text"]))[0]
    return [Finding("reranker", f"{reranker.name} answers: {rating:.3f}")]


def _model(name: str, base_url: str | None, ask: bool) -> list[Finding]:
    from theanine.llm.base import Message
    from theanine.llm.open import open_chat

    model = open_chat(name, base_url=base_url)
    if model is None:
        return [Finding("model", "none: the local versions of all steps work (--model sets one)")]
    if not ask:
        return [Finding("model", f"{model.name}, not asked")]
    question = [Message("user", "Answer with the one word: ready")]
    reply = asyncio.run(_closing(model, model.complete(question, None)))
    return [Finding("model", f"{model.name} answers: {reply.text.strip()[:60] or '(nothing)'}")]


async def _closing(holder: object, asked: Awaitable[T]) -> T:
    """What is asked of ``holder``, whose connections are let go afterwards."""
    from theanine.llm.base import Closable

    try:
        return await asked
    finally:
        if isinstance(holder, Closable):
            await holder.close()
