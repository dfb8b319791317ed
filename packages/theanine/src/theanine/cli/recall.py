"""`theanine recall` and `theanine demo`: what is given back, with its sources."""

from __future__ import annotations

import sys
from dataclasses import asdict
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from theanine.cli.options import (
    BaseUrlOption,
    EmbedderOption,
    JsonOption,
    MethodOption,
    ModelOption,
    RerankedOption,
    RerankerOption,
    SettingsOption,
    StoreOption,
    UserOption,
    notify_if_local,
    open_client,
    show_json,
    undated,
    with_dated,
)
from theanine.cli.progress import progress
from theanine.cli.rendering import NOTHING, console, pluralize, show_recollection, show_timelines

SHOWN = 4


def recall(
    question: str,
    user: UserOption,
    store: StoreOption = "",
    model: ModelOption = "local",
    base_url: BaseUrlOption = None,
    embedder: EmbedderOption = "local",
    reranker: RerankerOption = None,
    reranked: RerankedOption = None,
    method: MethodOption = None,
    settings: SettingsOption = None,
    budget: Annotated[
        int | None, typer.Option(min=0, metavar="TOKENS", help="Most that may be given back.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Bring back what matters for a question, with its sources.

    \b
    theanine recall "Shall we book that cruise?" --user ana
    theanine recall "What is she allergic to?" --user ana --json | jq .text
    """
    with open_client(
        store,
        model,
        base_url,
        embedder,
        method,
        settings,
        reranker=reranker,
        reranked=reranked,
    ) as agent:
        hidden = undated(agent, user)  # an unknown user is an error here, not an empty memory
        notify_if_local(model, base_url)
        found = agent.recall(question, user, budget=budget)
        waiting, by = len(agent.pending(user)), agent.method_name
    if as_json:
        parts = with_dated([asdict(part) for part in found.parts], hidden)
        show_json({"query": found.query, "text": found.text, "parts": parts})
    else:
        fits = pluralize(budget or 0, "tokens")
        tight = f"Nothing remembered fits in {fits}: give a larger --budget."
        show_recollection(found, hidden, NOTHING if budget is None else tight)
    if waiting:
        _hint(waiting, by)


def _hint(waiting: int, method: str) -> None:
    """What is not remembered can't be recalled: that is no empty memory."""
    print(
        f"{pluralize(waiting, 'sessions')} not remembered by {method} yet: "
        f"`theanine remember --method {method}`",
        file=sys.stderr,
    )


def demo() -> None:
    """Remember a bundled conversation, show its timelines, answer five questions with sources."""
    from theanine.demo import HARBOUR, load_questions
    from theanine.importers import read_histories

    with (
        TemporaryDirectory() as folder,
        open_client(f"{folder}/demo.db", begins=True) as agent,
    ):
        notify_if_local("local")
        history = read_histories(HARBOUR).histories[0]
        logged = agent.log(history, "ana")
        said = pluralize(logged.turns_new, "turns")
        console().print(f"{said} in {pluralize(logged.sessions_new, 'sessions')}, over a year")
        with progress(logged.sessions_new, "remembering") as step:
            reports = agent.remember("ana", progress=lambda _: step())
        made = pluralize(sum(report.memories for report in reports), "memories")
        links = pluralize(sum(report.links for report in reports), "links")
        lines = sorted(agent.timelines("ana"), key=lambda line: -len(line.memories))
        console().print(f"{made}, {links}, {pluralize(len(lines), 'timelines')}; the longest:")
        starts = list(dict.fromkeys(line.memories[0].id for line in lines))[:SHOWN]
        show_timelines([line for line in lines if line.memories[0].id in starts])
        for question in load_questions():
            console().print(f"\nQ  {question.question}", style="bold", markup=False)
            show_recollection(agent.recall(question.question, "ana"))
