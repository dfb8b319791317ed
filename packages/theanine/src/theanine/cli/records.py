"""Commands on what was said, as records: add, log, search; correct, pin, unpin."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from theanine.cli.options import (
    AddOptions,
    JsonOption,
    RecallOptions,
    RedactOption,
    StoreOptions,
    UserOption,
    expand_options,
    known_user,
    open_client,
    parse_settings,
)
from theanine.cli.output import FormatOptions, show_json, to_json
from theanine.cli.rendering import format_date, show_table, show_turn
from theanine.cli.selection import ListOptions, TimeOptions, WhereOption, parse_where
from theanine.cli.text import visible
from theanine.client.options import RecallArguments
from theanine.errors import BadInput, NotFound
from theanine.fences import one_line
from theanine.importers import read_text
from theanine.types import Turn

PAGE = 20
"""Turns that ``log`` shows without ``--limit``."""
HITS = 10
"""Parts that ``search`` looks for without ``--limit``."""
SEARCH_BUDGET = 8_000
"""Tokens of what ``search`` looks for; the number of parts is the real bound."""
STANDARD_INPUT = "-"


MemoryNumber = Annotated[int, typer.Argument(metavar="MEMORY", help="Number of the memory.")]


@expand_options
def add(
    user: UserOption,
    options: AddOptions,
    output: FormatOptions,
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT", help="What was said (default, or `-`: what is piped to the command)."
        ),
    ] = STANDARD_INPUT,
    session: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="Session to continue (default: one of its own, which ends)."
        ),
    ] = None,
    assistant: Annotated[
        bool, typer.Option("--assistant", help="The assistant said it, not the user.")
    ] = False,
    metadata: Annotated[
        list[str] | None,
        typer.Option(
            "--metadata", metavar="NAME=VALUE", help="Data to keep with it, such as channel=web."
        ),
    ] = None,
) -> None:
    """Log one thing that was said, and remember it.

    \b
    theanine add "I'm vegan." --user ana
    theanine add "I found one." --assistant --session thread-42 --user ana
    cat note.txt | theanine add --user ana --metadata source=notes
    """
    if text == STANDARD_INPUT and sys.stdin.isatty():
        raise BadInput('there is no text to add: write it, as in `theanine add "I\'m vegan."`')
    said = read_text(sys.stdin).strip() if text == STANDARD_INPUT else text
    if not said.strip():
        raise BadInput("there is no text to add")
    message = {"role": "assistant" if assistant else "user", "content": said}
    with options.open(create=True) as client:
        report = client.user(user).add(
            message, session=session, metadata=parse_settings(metadata or [], "--metadata")
        )
    if output:
        output.show(report.turns)
        return
    turns = ", ".join(f"turn {turn.id}" for turn in report.turns)
    print(f"{turns} in session {report.session}")


@expand_options
def log(
    user: UserOption,
    options: StoreOptions,
    listing: ListOptions,
    output: FormatOptions,
    session: Annotated[
        int | None, typer.Option(metavar="N", help="Only this session's turns.")
    ] = None,
    turn: Annotated[
        int | None, typer.Option(metavar="N", help="Only the text of this turn, as it was.")
    ] = None,
) -> None:
    """List what was said, the latest last.

    Shows the last 20 turns, or as many as --limit; --before N shows those before turn N. A terminal
    shows the beginnings of long turns; --turn N shows all of one.

    \b
    theanine log --user ana
    theanine log --user ana --turn 12
    theanine log --user ana --search "lake house" --since "last week"
    theanine log --user ana --limit 100 --csv > log.csv
    """
    arguments = listing.arguments(default_limit=PAGE)
    with options.open() as client:
        memory = known_user(client, user)
        if turn is None:
            turns = memory.turns(session=session, **arguments)[::-1]
        elif not (turns := memory.turns(ids=[turn])):
            raise NotFound(f"{user} has no turn {turn}; `theanine log` lists them")
    if output:
        output.show(turns)
        return
    if turn is not None:
        print(visible(turns[0].full_text))
        return
    for each in turns:
        show_turn(each)
    if len(turns) == arguments.get("limit") and turns[0].id > 1:
        print(f"Earlier turns: --before {turns[0].id}", file=sys.stderr)


@expand_options
def search(
    words: Annotated[str, typer.Argument(metavar="WORDS", help="What to look for.")],
    user: UserOption,
    options: RecallOptions,
    times: TimeOptions,
    output: FormatOptions,
    where: WhereOption = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Maximum number of hits.")] = HITS,
) -> None:
    """Find what was said by meaning and words, the best first.

    `theanine log --search` finds exact words. Exits with 1 if nothing was found.

    \b
    theanine search "boats" --user ana
    theanine search "plans for the summer" --user ana --since 2026-01-01 --json
    """
    with options.open() as client:
        memory = known_user(client, user)
        arguments: RecallArguments = {
            **times.arguments(),
            "budget": SEARCH_BUDGET,
            "where": parse_where(where or []),
        }
        found = memory.explain(words, **arguments)
    parts = found.recollection.parts
    # A part has neighbors of what matches, too: a turn counts by its own relevance.
    own: dict[int, float] = {}
    for each in found.candidates:
        if each.turn is not None and each.relevance is not None:
            own[each.turn] = max(each.relevance, own.get(each.turn, 0.0))
    matches = [
        (turn, own.get(turn.id, part.relevance)) for part in parts for turn in part.source_turns
    ]
    matches.sort(key=lambda match: -(match[1] or 0))
    hits: dict[int, tuple[Turn, float | None]] = {}
    for turn, relevance in matches:
        hits.setdefault(turn.id, (turn, None if relevance is None else round(relevance, 2)))
    best = list(hits.values())[:limit]
    if output:
        output.show([{**to_json(turn), "relevance": relevance} for turn, relevance in best])
    elif best:
        show_table(
            ["", "relevance", "date", "speaker", "text"],
            (
                [turn.id, relevance, format_date(turn), turn.speaker, one_line(turn.full_text)]
                for turn, relevance in best
            ),
        )
    else:
        print("Nothing was found.")
    if not best:
        raise typer.Exit(1)


@expand_options
def correct(
    memory: MemoryNumber,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What is true instead.")],
    user: UserOption,
    options: StoreOptions,
    redact: RedactOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace what a memory says; the old one stays, marked.

    \b
    theanine correct 12 "Ana lives in Ljubljana." --user ana
    """
    with open_client(options.store, method=options.method, redact=redact) as client:
        corrected = known_user(client, user).correct(memory, text)
    if as_json:
        show_json(corrected)
    else:
        print(visible(f"memory {memory} is replaced by memory {corrected.id}: {corrected.text}"))


@expand_options
def pin(
    memory: MemoryNumber,
    user: UserOption,
    options: StoreOptions,
    remove: Annotated[bool, typer.Option("--remove", help="Take the pin off.")] = False,
) -> None:
    """Have a memory in every recollection.

    \b
    theanine pin 12 --user ana
    theanine pin 12 --user ana --remove
    """
    with options.open() as client:
        stored = known_user(client, user)
        changed = stored.unpin(memory) if remove else stored.pin(memory)
    state = "not pinned" if remove else "pinned"
    print(f"memory {memory} is {state}" if changed else f"memory {memory} was {state} already")
