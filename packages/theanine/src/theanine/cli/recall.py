"""``theanine recall`` and ``theanine demo``: show a recollection with its sources."""

from __future__ import annotations

import sys
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

import theanine
from theanine.cli.options import (
    JsonOption,
    RecallOptions,
    UserOption,
    expand_options,
    known_user,
)
from theanine.cli.output import progress, show_json
from theanine.cli.rendering import (
    console,
    pluralize,
    show_explanation,
    show_recollection,
    show_timelines,
)
from theanine.cli.selection import SelectionOptions, TimeOptions, WhereOption, parse_where
from theanine.client.options import RecallArguments
from theanine.demo import CONVERSATIONS, ConversationName, load_questions
from theanine.types import Recollection

DEMO_TIMELINES = 4
DEMO_BUDGET = 200
"""Tokens of each recollection of the demo: what fits on a screen."""


@expand_options
def recall(
    question: str,
    user: UserOption,
    options: RecallOptions,
    selection: SelectionOptions,
    times: TimeOptions,
    where: WhereOption = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Put what is known of the user first.")
    ] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show all candidates, their scores, what was left out."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Recall what matters for a question, with its sources.

    Exits with 1 if nothing relevant is known.

    \b
    theanine recall "Shall we book that cruise?" --user ana
    theanine recall "What is she allergic to?" --user ana --json | jq .text
    theanine recall "Where does she live?" --user ana --as-of 2026-03-01
    theanine recall "Where does she live?" --user ana --explain
    """
    arguments: RecallArguments = {
        **selection.arguments(),
        **times.arguments(),
        "where": parse_where(where or []),
        "profile": profile,
    }
    with options.open() as client:
        memory = known_user(client, user)
        explanation = memory.explain(question, **arguments) if explain else None
        recollection = (
            explanation.recollection if explanation else memory.recall(question, **arguments)
        )
        pending = len(memory.pending())
        method = client.method_name
    if as_json and explanation:
        show_json(explanation)
    elif as_json:
        show_json(
            {
                "query": recollection.query,
                "text": recollection.text,
                "best_relevance": recollection.best_relevance,
                "min_relevance": recollection.min_relevance,
                "parts": recollection.parts,
                "notes": recollection.notes,
            }
        )
    else:
        if explanation:
            show_explanation(explanation)
        show_recollection(recollection, _why_empty(recollection, arguments))
        for note in recollection.notes:
            print(note, file=sys.stderr)
    if pending:  # their turns are found, but memories of them are missing
        print(
            f"{pluralize(pending, 'sessions')} not remembered by {method} yet: run "
            f"`theanine remember --method {method}`",
            file=sys.stderr,
        )
    if not recollection:
        raise typer.Exit(1)


def _why_empty(recollection: Recollection, arguments: RecallArguments) -> str:
    """Return why nothing is returned, if so."""
    best, floor = recollection.best_relevance, recollection.min_relevance
    if best is not None and best < floor:
        return (
            f"Nothing relevant is known: the best match has a relevance of {best:.2f}, and less "
            f"than {floor:g} is not returned (--min-relevance)."
        )
    bounds = [
        f"--{name.replace('_', '-')} {value}"
        for name in ("since", "until", "as_of")
        if (value := arguments.get(name)) is not None
    ]
    if bounds:
        return f"Nothing relevant is known with {' '.join(bounds)}."
    if (budget := arguments.get("budget")) is not None:
        return f"Nothing relevant fits in {pluralize(budget, 'tokens')}: raise --budget."
    return "Nothing relevant is known."


def demo(
    conversation: Annotated[
        ConversationName,
        typer.Option(help="Ana was written for this demo, Linda by other authors."),
    ] = "ana",
) -> None:
    """Remember a bundled conversation and answer questions from it.

    \b
    theanine demo
    theanine demo --conversation linda
    """
    file, about = CONVERSATIONS[conversation]
    with TemporaryDirectory() as folder, theanine.open(f"{folder}/demo.db") as client:
        memory = client.user(conversation)
        from theanine.importers import read_histories  # most recalls read no file

        imported = memory.log(read_histories(file).histories[0])
        turns = pluralize(imported.turns_new, "turns")
        console().print(f"{turns} in {pluralize(imported.sessions_new, 'sessions')}, {about}")
        with progress(imported.sessions_new, "remembering") as step:
            reports = memory.remember(progress=lambda _: step())
        memories = pluralize(sum(report.memories for report in reports), "memories")
        links = pluralize(sum(report.links for report in reports), "links")
        timelines = sorted(memory.timelines(), key=lambda timeline: -len(timeline.memories))
        count = pluralize(len(timelines), "timelines")
        console().print(f"{memories}, {links}, {count}; the longest:")
        show_timelines(timelines[:DEMO_TIMELINES])
        for question in load_questions(conversation):
            console().print(f"\nQ  {question.question}", style="bold", markup=False)
            show_recollection(memory.recall(question.question, budget=DEMO_BUDGET))
