"""Commands on what was said, as records: add, log, search; correct, pin, unpin."""

from __future__ import annotations

import sys
from typing import Annotated, Any

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
from theanine.cli.selection import EndOptions, ListOptions, TimeOptions, WhereOption, parse_where
from theanine.cli.text import visible
from theanine.client.options import SEARCH_LIMIT, SearchArguments
from theanine.client.searching import SearchHit
from theanine.errors import BadInput, NotFound
from theanine.fences import one_line

PAGE = 20
"""Turns that ``log`` shows without ``--limit``."""
STANDARD_INPUT = "-"


MemoryNumber = Annotated[int, typer.Argument(metavar="MEMORY", help="Number of the memory.")]


def _standard_input() -> str:
    from theanine.importers import read_text  # with all formats, of which lists need none

    return read_text(sys.stdin).strip()


@expand_options
def add(
    user: UserOption,
    options: AddOptions,
    ends: EndOptions,
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
    theanine add "The door code is 4711." --user ana --expires 2027-05-01
    """
    if text == STANDARD_INPUT and sys.stdin.isatty():
        raise BadInput('there is no text to add: write it, as in `theanine add "I\'m vegan."`')
    said = _standard_input() if text == STANDARD_INPUT else text
    if not said.strip():
        raise BadInput("there is no text to add")
    message = {"role": "assistant" if assistant else "user", "content": said}
    with options.open(create=True) as client:
        report = client.user(user).add(
            message,
            session=session,
            metadata=parse_settings(metadata or [], "--metadata"),
            expires=ends.expires,
            verify_by=ends.verify_by,
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
    limit: Annotated[
        int, typer.Option(min=1, metavar="N", help="Maximum number of hits.")
    ] = SEARCH_LIMIT,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Find all turns that have each of the words, newest first."),
    ] = False,
    speaker: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --exact: only turns of this speaker.")
    ] = None,
    session: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="With --exact: only turns of this session."),
    ] = None,
    oldest_first: Annotated[
        bool, typer.Option("--oldest-first", help="With --exact: the oldest first.")
    ] = False,
) -> None:
    """Find turns and memories by meaning and words, the best first.

    With --exact, find all turns that have the words. Exits with 1 if nothing was found.

    \b
    theanine search "boats" --user ana
    theanine search "lake house" --user ana --exact
    theanine search "plans for the summer" --user ana --since 2026-01-01 --json
    """
    arguments: SearchArguments = {
        **times.arguments(),
        "limit": limit,
        "where": parse_where(where or []),
        "exact": exact,
        "speaker": speaker,
        "session": session,
        "oldest_first": oldest_first,
    }
    with options.open() as client:
        hits = known_user(client, user).search(words, **arguments)
    if output:
        output.show([_hit_row(hit) for hit in hits])
    elif hits:
        found = [] if exact else ["memory", "relevance"]  # an exact search finds turns, unrated
        show_table(
            ["turn", *found, "date", "speaker", "text"],
            (
                [
                    hit.turn.id if hit.turn else "",
                    *(
                        []
                        if exact
                        else [", ".join(str(memory.id) for memory in hit.memories), _rounded(hit)]
                    ),
                    format_date(hit.turn or hit.memories[0]),
                    hit.turn.speaker if hit.turn else ", ".join(hit.memories[0].speakers),
                    one_line(hit.turn.full_text if hit.turn else hit.text),
                ]
                for hit in hits
            ),
        )
    else:
        print("Nothing was found.")
    if not hits:
        raise typer.Exit(1)


def _hit_row(hit: SearchHit) -> dict[str, Any]:
    """Return a hit as the fields of its turn or memory, with what the search says of it."""
    return {
        "record": "turn" if hit.turn else "memory",
        **to_json(hit.turn or hit.memories[0]),
        "relevance": _rounded(hit),
        "score": hit.score,
        "memories": [memory.id for memory in hit.memories],
    }


def _rounded(hit: SearchHit) -> float | None:
    return None if hit.relevance is None else round(hit.relevance, 2)


@expand_options
def correct(
    memory: MemoryNumber,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What is true instead.")],
    user: UserOption,
    options: StoreOptions,
    ends: EndOptions,
    redact: RedactOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace what a memory says; the old one stays, marked.

    \b
    theanine correct 12 "Ana lives in Ljubljana." --user ana
    """
    with open_client(options.store, method=options.method, redact=redact) as client:
        corrected = known_user(client, user).correct(
            memory, text, expires=ends.expires, verify_by=ends.verify_by
        )
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
