"""Commands that change or copy a store: remember, forget, export, reembed."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Annotated, Any

import typer

from theanine.cli.detached import FINISHING
from theanine.cli.left_out import exit_if_left_out, read_each_user
from theanine.cli.memory_formats import memories_as
from theanine.cli.options import (
    EachUser,
    EmbedderOption,
    JsonOption,
    NamedUser,
    RememberOptions,
    StoreOption,
    UsersOptions,
    YesOption,
    expand_options,
    known_user,
    open_client,
    user_names,
    user_or_all,
)
from theanine.cli.output import FormatOptions, confirm, resumable, show_csv, show_json
from theanine.cli.text import pluralize, visible
from theanine.client import Client, UserMemory
from theanine.embeddings.open import best_local
from theanine.errors import DamagedData, NotFound, SettingsError
from theanine.fences import one_line
from theanine.remembering.left_out import LeftOut
from theanine.remembering.report import RememberReport
from theanine.retrieval.snapshot import MIN_LAG
from theanine.store import ForgetReport
from theanine.types import LOCAL_MODEL, Scope

MAX_QUOTED = 60
"""Characters of what is to be forgotten that the question quotes."""


@expand_options
def remember(
    users: UsersOptions,
    options: RememberOptions,
    output: FormatOptions,
    elsewhere: Annotated[
        bool,
        typer.Option(
            "--elsewhere",
            help="End sessions of other machines and containers at once, not two minutes after "
            "they have stopped. Use it only when none of them is still running.",
        ),
    ] = False,
    finished: Annotated[list[str] | None, typer.Option(FINISHING, hidden=True)] = None,
) -> None:
    """Remember all ended sessions; resume what failed.

    What they said is then read by the encoder, as far as no recall has done so in the background.

    \b
    theanine remember
    theanine remember --user ana --model openai:gpt-4o-mini
    """
    with options.open() as client, resumable():
        if finished:
            for user in finished:
                client.user(user).remember()
                client.user(user).warm_up()
            return
        handle = users.handle(client)
        reports = handle.remember(elsewhere=elsewhere)
        _make_vectors(client, handle, reports)
    if output:
        output.show(reports)
    elif not reports:
        print("No sessions to remember.")
    else:
        for report in reports:
            if not report.damaged:
                _show_report(report)
    exit_if_left_out(replace(report, session=0) for report in reports if report.damaged)
    if any(report.failure for report in reports):
        raise typer.Exit(1)


def _make_vectors(
    client: Client, handle: Client | UserMemory, reports: Sequence[RememberReport]
) -> None:
    """Make the vectors of the user's log, or of all that have much to be read."""
    added = Counter[Scope]()
    for report in reports:
        added[report.scope] += report.memories
    scopes = {scope for scope, memories in added.items() if 2 * memories >= MIN_LAG}
    if isinstance(handle, UserMemory):
        scopes.add(handle.scope)
    for scope in sorted(scopes, key=str):
        client.user(scope.user, agent=scope.agent, tenant=scope.tenant).warm_up()


def _show_report(report: RememberReport) -> None:
    counts = f"{pluralize(report.memories, 'memories')}, {pluralize(report.links, 'links')}"
    notes = "".join(f" ({note})" for note in report.notes)
    print(visible(f"{report.scope}, session {report.session}: {report.failure or counts}{notes}"))


def forget(
    user: NamedUser,
    session: Annotated[int | None, typer.Option(metavar="N", help="Only this session.")] = None,
    memory: Annotated[
        int | None, typer.Option(metavar="N", help="Only this memory and its source turns.")
    ] = None,
    turn: Annotated[
        int | None, typer.Option(metavar="N", help="Only this turn and what was made from it.")
    ] = None,
    thread: Annotated[
        str | None, typer.Option(metavar="KEY", help="Only the sessions of this thread.")
    ] = None,
    keep_turns: Annotated[
        bool, typer.Option("--keep-turns", help="Keep the source turns of the memory.")
    ] = False,
    yes: YesOption = False,
    store: StoreOption = "",
    as_json: JsonOption = False,
) -> None:
    """Erase a user, or a session, thread, memory or turn, for good.

    \b
    theanine forget --user ana --session 3
    theanine forget --user ana --memory 12 --keep-turns
    theanine forget --user ana --yes
    """
    if keep_turns and memory is None:
        raise typer.BadParameter("--keep-turns is for forgetting a memory; name it with --memory")
    with open_client(store) as client:
        owner = known_user(client, user)
        if not yes:
            what = _describe_erasure(owner, session, thread, memory, turn, keep_turns=keep_turns)
            confirm(f"Erase {what}? This can't be undone.")
        if (session, thread, memory, turn) == (None,) * 4:
            report = owner.forget_all()
        else:
            report = owner.forget(
                session=session, thread=thread, memory=memory, turn=turn, keep_turns=keep_turns
            )
    if as_json:
        show_json(report)
    else:
        erased = [
            pluralize(report.sessions, "sessions"),
            pluralize(report.turns, "turns"),
            pluralize(report.memories, "memories"),
            pluralize(report.links, "links"),
            pluralize(report.vectors, "vectors"),
        ]
        if report.journal:
            erased.append(f"the text of {pluralize(report.journal, 'model calls')}")
        print(f"erased {', '.join(erased)}")
        for reason in report.kept:
            print(f"kept: {reason}")
        if report.pending_again:
            sessions = pluralize(report.pending_again, "other sessions")
            print(
                f"memories of {sessions} were derived from that and are erased too; "
                "`theanine remember` remembers those sessions again"
            )
        print(_describe_verification(report))
    asked_for = keep_turns and report.files_verified  # what was kept may repeat it
    if not (report.verified or report.remaining or asked_for):
        raise typer.Exit(1)


def _describe_verification(report: ForgetReport) -> str:
    """Return whether what was erased is gone from everywhere."""
    if report.verified:
        return "verified gone from every file"
    if report.kept_repeats and (report.files_verified or report.remaining):
        return "NOT verified: what was kept repeats some of it; forget the turns named above too"
    if report.remaining:
        return f"erased from the database; {report.remaining}"
    return (
        "NOT verified: a reader, such as an export, still holds it; it is removed from the files "
        "when that ends, or when the store is next opened"
    )


def _describe_erasure(
    owner: UserMemory,
    session: int | None,
    thread: str | None,
    memory: int | None,
    turn: int | None,
    *,
    keep_turns: bool,
) -> str:
    """Return what would be erased, with the beginning of its words or its size."""
    user = owner.scope.user
    if memory is not None:
        turns = " and not its source turns" if keep_turns else " and its source turns"
        return (
            f'memory {memory} of {user} ("{one_line(owner.get(memory).text, MAX_QUOTED)}"){turns}'
        )
    if turn is not None:
        said = owner.turns(ids=[turn])
        if not said:
            raise NotFound(f"{user} has no turn {turn}; `theanine log` lists them")
        return f'turn {turn} of {user} ("{one_line(said[0].full_text, MAX_QUOTED)}")'
    of_thread = [s for s in owner.sessions() if thread is None or s.thread == thread]
    sessions = [s for s in of_thread if session in (None, s.id)]
    if session is not None and not sessions:
        raise NotFound(f"{user} has no session {session}; `theanine sessions` lists them")
    if thread is not None and not sessions:
        raise NotFound(f"{user} has no thread {thread}; `theanine sessions` lists the keys")
    count = pluralize(sum(each.turn_count for each in sessions), "turns")
    if session is not None:
        return f"session {session} of {user}, with {count}"
    of = f"thread {thread} of {user}" if thread is not None else f"all that {user} has"
    return f"{of}: {pluralize(len(sessions), 'sessions')} with {count}"


@expand_options
def export(
    output: FormatOptions,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="What is remembered, for another system: server-memory or mem0.",
        ),
    ] = None,
    user: EachUser = None,
    store: StoreOption = "",
) -> None:
    """Write everything as JSON Lines that `theanine import` restores.

    For other programs, --json writes the same records as one list, and --csv the turns. With
    --format, only the statements that hold are written, for another memory to take in:
    server-memory is the file of the Model Context Protocol's reference server, mem0 a line of
    arguments for each call of its client.add.

    \b
    theanine export > all.jsonl
    theanine import all.jsonl --store elsewhere.db
    theanine export --user ana --csv > turns.csv
    theanine export --user ana --format server-memory > memory.jsonl
    """
    if format and output:
        raise SettingsError("--format excludes --json and --csv: leave one out")
    with open_client(store) as client:
        if format:
            names = user_names(client, user)
            lines, left_out = read_each_user(
                client, names, lambda each: list(memories_as(format, each))
            )
            for line in chain.from_iterable(lines.values()):
                sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
            exit_if_left_out(left_out)
            return
        if output.as_csv:
            names = user_names(client, user)
            turns, left_out = read_each_user(client, names, lambda each: each.turns())
            show_csv([turn for own in turns.values() for turn in own])
            exit_if_left_out(left_out)
            return
        left_out = list[LeftOut]()
        records = _read_export(user_or_all(client, user), left_out)
        if output.as_json:
            show_json(list(records))
        else:
            for record in records:
                sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")
    exit_if_left_out(left_out)


def _read_export(owner: Client | UserMemory, left_out: list[LeftOut]) -> Iterator[dict[str, Any]]:
    """Yield an export's records, and add who is missing in it."""
    try:
        for record in owner.export():
            for each in record.get("left_out", ()):
                left_out.append(LeftOut(Scope(**each["scope"]), each["reason"]))
            yield record
    except DamagedData:
        if not left_out:
            raise


def reembed(embedder: EmbedderOption = "local", store: StoreOption = "") -> None:
    """Move all vectors to another embedder; resumable.

    \b
    theanine reembed --embedder openai:text-embedding-3-small
    """

    def show_remaining(count: int) -> None:
        if count:
            print(f"{pluralize(count, 'vectors')} left to make", file=sys.stderr)

    named = best_local() if embedder == LOCAL_MODEL else embedder
    with open_client(store, embedder=named) as client, resumable():
        count = client.reembed(show_remaining)
        print(f"{pluralize(count, 'vectors')} made by {client.embedder_name}")
