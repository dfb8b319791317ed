"""``theanine import``: conversations, memories, and exports of whole stores."""

from __future__ import annotations

import json
import sys
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from theanine import Client, History
from theanine.cli.options import ModelOptions, expand_options
from theanine.cli.output import progress
from theanine.cli.text import pluralize, visible
from theanine.errors import BadInput, SettingsError
from theanine.importers import is_store_export, read_histories

STANDARD_INPUT = "-"


@expand_options
def import_(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="Files or folders; `-` is standard input.")
    ],
    options: ModelOptions,
    user: Annotated[
        str | None,
        typer.Option(
            "--user", metavar="NAME", help="User to import into (default: from the file)."
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="jsonl, text, chatgpt, locomo, msc, cc, memorybank, beam, longmemeval or "
            "memories (default: detected).",
        ),
    ] = None,
    memories: Annotated[
        bool, typer.Option("--memories", help="Also import the file's memories.")
    ] = False,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Import valid items and report the others.")
    ] = False,
    zone: Annotated[
        str | None,
        typer.Option(
            metavar="ZONE", help="Time zone for dates without one, such as Europe/Zagreb."
        ),
    ] = None,
    start: Annotated[
        datetime | None,
        typer.Option(metavar="DATE", help="Date of the first session of an undated history."),
    ] = None,
) -> None:
    """Import conversations with their own dates, speakers and order, and remember them.

    The format is detected. Importing a file twice is the same as importing it once. An export of
    `theanine export` is restored without loss.

    \b
    theanine import talks.jsonl --user ana
    theanine import conversations.json          (the export of ChatGPT)
    theanine import locomo10.json --memories
    cat talks.jsonl | theanine import - --user ana --keep-going
    """
    timezone = None if zone is None else _parse_zone(zone)
    reading: dict[str, Any] = {
        "format": format,
        "memories": memories,
        "zone": timezone,
        "start": None if start is None else start.replace(tzinfo=timezone or UTC),
        "keep_going": keep_going,
    }
    notify_once = cache(options.notify_if_local)
    complete = True
    with options.open(create=True) as client:
        for file in files:
            source = sys.stdin if file == STANDARD_INPUT else Path(file)
            if is_store_export(source):
                _restore(client, file, user)
                continue
            reader = read_histories(source, **reading)
            names = [history.name for history in reader.histories]
            if user is not None and len(names) > 1:
                raise SettingsError(
                    f"{file} holds {len(names)} histories ({', '.join(names[:5])} …): leave out "
                    "--user to import each under its own name"
                )
            notify_once()
            for history in reader.histories:
                complete = _remember(client, history, user) and complete
            for note, count in reader.notes.items():
                print(visible(f"{file}: {count} × {note}"), file=sys.stderr)
            for item in reader.rejected:
                print(visible(f"left out: {item.where}: {item.reason}"), file=sys.stderr)
    if not complete:
        raise typer.Exit(1)


def _restore(client: Client, file: str, user: str | None) -> None:
    if user is not None:
        raise SettingsError(
            f"{file} is a store's export and keeps its own user names: leave out --user"
        )
    text = sys.stdin.read() if file == STANDARD_INPUT else Path(file).read_text("utf-8")
    records: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            records.append(json.loads(line))
        except ValueError as error:
            raise BadInput(f"invalid JSON ({error})", f"{file}, line {number}") from None
    print(f"{file}: {pluralize(client.restore(records), 'new records')}")


def _remember(client: Client, history: History, user: str | None) -> bool:
    """Log and remember a history; return whether all of its sessions are remembered."""
    memory = client.user(user or history.name)
    report = memory.log(history)
    name = visible(report.user)
    with progress(len(memory.pending()), report.user) as step:
        sessions = memory.remember(progress=lambda _: step())
    new_sessions = pluralize(report.sessions_new, "new sessions")
    new_turns = pluralize(report.turns_new, "new turns")
    new_memories = pluralize(sum(session.memories for session in sessions), "new memories")
    known = f"{report.sessions_known} known"
    print(f"{name}: {new_sessions} ({known}), {new_turns}, {new_memories}")
    if report.forgotten:
        print(
            f"{name}: left out {report.forgotten} turns and memories that were forgotten before",
            file=sys.stderr,
        )
    for note, count in Counter(note for session in sessions for note in session.notes).items():
        print(visible(f"{name}: {count} × {note}"), file=sys.stderr)
    failed = [session for session in sessions if session.failure]
    for session in failed:
        print(
            visible(
                f"session {session.session} is saved but not remembered; run `theanine remember`: "
                f"{session.failure}"
            ),
            file=sys.stderr,
        )
    return not failed


def _parse_zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise SettingsError(
            f"unknown time zone {name!r}; name one such as Europe/Zagreb"
        ) from error
