"""`theanine import`: real histories, ready-made memories, and whole exports."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from theanine.cli.options import (
    BaseUrlOption,
    EmbedderOption,
    MethodOption,
    ModelOption,
    SettingsOption,
    StoreOption,
    notify_if_local,
    open_client,
)
from theanine.cli.progress import progress
from theanine.cli.rendering import pluralize, visible

if TYPE_CHECKING:
    from theanine.client.sync import Client
    from theanine.importers import HistoryReader
    from theanine.types import History

STANDARD_INPUT = "-"


Files = Annotated[
    list[str], typer.Argument(metavar="FILE…", help="Files or folders; `-` is standard input.")
]
NewUser = Annotated[
    str | None,
    typer.Option("--user", metavar="NAME", help="Whose memory it becomes; else as the file says."),
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="jsonl, text, chatgpt, locomo, msc, cc, memorybank, beam, longmemeval or memories; "
        "else it is recognised.",
    ),
]
Memories = Annotated[
    bool, typer.Option("--memories", help="Link the file's ready-made memories as they are.")
]
KeepGoing = Annotated[
    bool, typer.Option("--keep-going", help="Take what is good, report what is not.")
]
Zone = Annotated[
    str | None, typer.Option(metavar="ZONE", help="Of dates that name none, as Europe/Zagreb.")
]
Start = Annotated[
    datetime | None,
    typer.Option(metavar="DATE", help="When the first session of an undated history was."),
]


def import_(
    files: Files,
    store: StoreOption = "",
    user: NewUser = None,
    format_: FormatOption = None,
    memories: Memories = False,
    keep_going: KeepGoing = False,
    zone: Zone = None,
    start: Start = None,
    model: ModelOption = "local",
    base_url: BaseUrlOption = None,
    embedder: EmbedderOption = "local",
    method: MethodOption = None,
    settings: SettingsOption = None,
) -> None:
    """Take in real histories with their own dates, speakers and order, and remember them.

    The format is recognised. Importing twice is the same as importing once. An export of
    `theanine export` is restored as it was.

    \b
    theanine import talks.jsonl --user ana
    theanine import conversations.json          (the export of ChatGPT)
    theanine import locomo10.json --memories
    cat talks.jsonl | theanine import - --user ana --keep-going
    """
    where = None if zone is None else _zone(zone)
    options = {
        "format": format_,
        "memories": memories,
        "zone": where,
        "start": None if start is None else start.replace(tzinfo=where or UTC),
        "keep_going": keep_going,
    }
    complete = True
    begun = cache(partial(notify_if_local, model, base_url))  # once, for whatever many files
    with open_client(store, model, base_url, embedder, method, settings, begins=True) as agent:
        for file in files:
            complete = _import_one(agent, file, user, options, begun) and complete
    if not complete:
        raise typer.Exit(1)


def _import_one(
    agent: Client,
    file: str,
    user: str | None,
    options: dict[str, Any],
    begun: Callable[[], None],
) -> bool:
    """Whether all of it is remembered now; ``begun`` is called before that, if it can be."""
    from theanine.errors import SettingsError
    from theanine.importers import is_store_export, read_histories

    source = sys.stdin if file == STANDARD_INPUT else Path(file)
    if is_store_export(source):
        if user is not None:
            raise SettingsError(
                f"{file} is an export, restored under the names that it has: leave out --user"
            )
        text = sys.stdin.read() if file == STANDARD_INPUT else Path(file).read_text("utf-8")
        print(f"{file}: {agent.restore(_records(text, file))} new records")
        return True
    return _take(agent, read_histories(source, **options), file, user, begun)


def _records(text: str, file: str) -> list[dict[str, Any]]:
    from theanine.errors import BadInput

    records: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            records.append(json.loads(line))
        except ValueError as error:
            raise BadInput(f"no JSON ({error})", f"{file}, line {number}") from None
    return records


def _take(
    agent: Client, reading: HistoryReader, file: str, user: str | None, begun: Callable[[], None]
) -> bool:
    from theanine.errors import SettingsError

    names = [history.name for history in reading.histories]
    if user is not None and len(names) > 1:
        raise SettingsError(
            f"{file} holds {len(names)} histories ({', '.join(names[:5])} …): leave out --user, "
            "and each becomes a user of that name"
        )
    begun()
    complete = True
    for history in reading.histories:
        complete = _remember(agent, history, user) and complete
    for name, count in reading.notes.items():
        print(visible(f"{file}: {count} × {name}"), file=sys.stderr)
    for bad in reading.rejected:
        print(visible(f"left out: {bad.where}: {bad.reason}"), file=sys.stderr)
    return complete


def _remember(agent: Client, history: History, user: str | None) -> bool:
    done = agent.log(history, user)
    waiting = agent.pending(done.user)
    with progress(len(waiting), done.user) as step:
        reports = agent.remember(done.user, progress=lambda _: step())
    made, whose = sum(report.memories for report in reports), visible(done.user)
    print(
        f"{whose}: {pluralize(done.sessions_new, 'new sessions')} ({done.sessions_known} known), "
        f"{pluralize(done.turns_new, 'new turns')}, {pluralize(made, 'new memories')}"
    )
    if done.forgotten:
        print(
            f"{whose}: what was forgotten before stays so: {done.forgotten} of the turns and "
            "memories",
            file=sys.stderr,
        )
    for note, count in Counter(note for report in reports for note in report.notes).items():
        print(visible(f"{whose}: {count} × {note}"), file=sys.stderr)
    failed = [report for report in reports if report.failure]
    for report in failed:
        print(
            f"session {report.session} is kept, and waits for `theanine remember`: "
            f"{visible(report.failure or '')}",
            file=sys.stderr,
        )
    return not failed


def _zone(name: str) -> ZoneInfo:
    from theanine.errors import SettingsError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise SettingsError(
            f"unknown time zone {name!r}; give one such as Europe/Zagreb"
        ) from error
