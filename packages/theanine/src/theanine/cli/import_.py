"""``theanine import``: conversations, memories, and exports of whole stores."""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from getpass import getuser
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from theanine import Client, History, UserMemory
from theanine.cli.coding_agents.hosts import find_transcripts
from theanine.cli.detached import FINISHING, start_detached
from theanine.cli.options import AddOptions, ImportUser, default_store, expand_options
from theanine.cli.output import FormatOptions, progress, to_json
from theanine.cli.text import pluralize, visible
from theanine.client.user import ImportReport
from theanine.clock import load_zone
from theanine.embeddings.encoder import NAME as ENCODER
from theanine.errors import BadInput, SettingsError
from theanine.importers import (
    ImportedHistories,
    UnknownFormat,
    is_one_account,
    is_store_export,
    preview_history,
    read_export,
    read_histories,
)
from theanine.importers.schema import as_object, parse
from theanine.remembering.report import RememberReport
from theanine.retrieval.snapshot import MIN_LAG
from theanine.store import store_file
from theanine.types import LOCAL_MODEL

STANDARD_INPUT = "-"
_MAX_SPEAKERS = 8
_LEFT = 1_000
"""Turns that another process remembers where that needs no model: it takes 6 ms for each."""
_LONG = 500
"""Turns that take so long to remember that it is announced, where there is no progress bar."""


@expand_options
def import_(
    options: AddOptions,
    output: FormatOptions,
    context: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE…", help="Files, zip archives or folders; `-` is standard input."
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="AGENT",
            help="Import the transcripts of claude-code, codex or cursor from where they are kept.",
        ),
    ] = None,
    user: ImportUser = None,
    speaker: Annotated[
        str | None,
        typer.Option(
            "--speaker",
            metavar="NAME",
            help="Speaker who is the user; names the user of a chat without names.",
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="Format, such as chatgpt, whatsapp or notes (default: detected).",
        ),
    ] = None,
    memories: Annotated[
        bool, typer.Option("--memories", help="Also import the file's memories.")
    ] = False,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Import valid items and report the others.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Refuse a service's export if anything in it is odd, and say where."
        ),
    ] = False,
    layout: Annotated[
        Path | None,
        typer.Option(
            "--map",
            metavar="FILE",
            help="Mapping of a file in an unknown format, as --dry-run proposes it.",
        ),
    ] = None,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="Restore a part of an export, such as a cut-off one."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what would be imported.")
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
    """Import conversations and remember them.

    Reads exports of chat services and messengers, mail, notes and transcripts: see
    docs/formats.md. The format is detected. 1,000 turns and more are found by their words at once,
    and remembered in the background where that asks no model. Importing a file again, or a later
    export, adds only what is new. An export of `theanine export` is restored without loss, and
    brings nothing back that was forgotten since; one that was cut off is refused.

    \b
    theanine import chatgpt-export.zip --dry-run
    theanine import chatgpt-export.zip --user ana
    theanine import "WhatsApp Chat with Bo.zip" --speaker Ana --zone Europe/Zagreb
    theanine import --from claude-code --user ana
    cat talks.jsonl | theanine import - --user ana --keep-going
    """
    sources, format = _choose(files or [], agent, format)
    named = _explicit_user(context, user, agent)
    timezone = None if zone is None else load_zone(zone)
    reading: dict[str, Any] = {
        "format": format,
        "name": user,
        "memories": memories,
        "zone": timezone,
        "start": None if start is None else start.replace(tzinfo=timezone or UTC),
        "keep_going": keep_going or agent is not None,
        "strict": strict,
        "layout": None if layout is None else _read_mapping(layout),
        "speaker": speaker,
    }
    if dry_run:
        for file in sources:
            _preview(file, named, reading)
        return
    _check_redaction(sources, options.redact)
    imported: list[_Imported] = []
    read = _read_all(sources, named, reading)
    first = [*islice(read, 1)]  # before a store is created for it
    with _opened(options) as client:
        for file, reader in chain(first, read):
            if reader is None:
                restored = _restore(client, file, named, partial=partial)
                if not output:
                    print(f"{file}: {pluralize(restored, 'new records')}")
                continue
            for history in reader.histories:
                memory = client.user(named or history.name)
                history = _without_threads(memory, history, reader.format)
                with _explaining_interrupts(memory):
                    imported.append(_remember(memory, history, client.memory_model_name))
                if not output:
                    imported[-1].show()
            _show_notes(file, reader, named=named)
        unfinished = _unfinished(client, imported)
    _finish_later(options, client.method_name, unfinished)
    if output:
        output.show([each.to_json() for each in imported])
    if any(session.failure for each in imported for session in each.sessions):
        raise typer.Exit(1)


def _unfinished(client: Client, imported: Sequence[_Imported]) -> list[str]:
    """Return the users whose sessions are remembered, or many of whose vectors are made, later."""
    users = {each.report.user for each in imported if each.pending}
    if client.embedder_name == ENCODER:
        turns = Counter[str]()
        for each in imported:
            turns[each.report.user] += each.report.turns_new
        users |= {user for user, count in turns.items() if count >= MIN_LAG}
    return sorted(users)


def _finish_later(options: AddOptions, method: str, users: Sequence[str]) -> None:
    """Remember what is pending and make vectors in another process, for which nobody waits."""
    if not users:
        return
    environment = {
        "THEANINE_STORE": options.store or default_store(),
        "THEANINE_EMBEDDER": options.embedder,
        "THEANINE_METHOD": method,
    }
    for user in users:
        found = f"{user}: all of it can be found by its words now, and soon by its meaning"
        print(visible(f"{found} (`theanine remember` waits for that)"), file=sys.stderr)
    start_detached(
        ["remember", *(f"{FINISHING}={user}" for user in users)], environment=environment
    )


@contextmanager
def _opened(options: AddOptions) -> Generator[Client]:
    """Open the store, and remove it if it is new and nothing could be restored into it."""
    name = store_file(options.store or default_store())
    file = None if name is None else Path(name).expanduser()
    is_new = file is not None and not file.exists()
    unused = None
    try:
        with options.open(create=True) as client:
            try:
                yield client
            except BadInput:
                unused = file if is_new and not client.users() else None
                raise
    finally:
        if unused and not Path(f"{unused}-wal").exists():  # no other process has it open
            unused.unlink()


def _choose(
    files: Sequence[str], agent: str | None, format: str | None
) -> tuple[Sequence[str], str | None]:
    """Return what to import, and its format. Raises SettingsError for both or neither."""
    if bool(files) is (agent is not None):
        raise SettingsError("name files to import, or an agent with --from")
    return (files, format) if agent is None else find_transcripts(agent)


def _explicit_user(context: typer.Context, user: str | None, agent: str | None) -> str | None:
    """Return the user whose history it is whatever a file says; None for the file's own.

    A default names whose a history is if the file doesn't; only ``--user`` overrules the file.
    Transcripts of an agent are the user's that its hooks record for.
    """
    if agent is not None:
        return user or getuser()
    source = context.get_parameter_source("user")
    return user if source is not None and source.name == "COMMANDLINE" else None


def _check_redaction(files: Sequence[str], redact: str | None) -> None:
    """Raise SettingsError for a file that would be restored without the redaction asked for."""
    if redact and (exports := [file for file in files if is_store_export(_source(file))]):
        raise SettingsError(
            f"{exports[0]} is a store's export and is restored as it is, not redacted: leave "
            "--redact out, or give it as '' where THEANINE_REDACT or `theanine config` sets it"
        )


def _source(file: str) -> Path | TextIO:
    return sys.stdin if file == STANDARD_INPUT else Path(file)


def _read_all(
    files: Sequence[str], user: str | None, reading: dict[str, Any]
) -> Generator[tuple[str, ImportedHistories | None]]:
    """Yield each file with what it holds; None for the export of a store."""
    for file in files:
        yield file, None if is_store_export(_source(file)) else _read(file, user, reading)


def _read(file: str, user: str | None, reading: dict[str, Any]) -> ImportedHistories:
    reader = read_histories(_source(file), **reading)
    names = [history.name for history in reader.histories]
    # The parts of one account's export are one user's, those of a data set are several people's.
    if user is not None and len(names) > 1 and not is_one_account(reader.histories):
        raise SettingsError(
            f"{file} holds {len(names)} histories ({', '.join(names[:5])} …): leave out "
            "--user to import each under its own name"
        )
    return reader


def _read_mapping(file: Path) -> dict[str, object]:
    """Return a mapping from a file. Raises BadInput."""
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as fault:
        raise BadInput(f"can't be read ({fault}); check the path", str(file)) from None
    return as_object(parse(text, str(file)), str(file))


def _show_notes(file: str, reader: ImportedHistories, *, named: str | None) -> None:
    """Print what was repaired and left out, and whose memory it is where nothing says that."""
    for note, count in reader.notes.items():
        print(visible(f"{file}: {count} × {note}"), file=sys.stderr)
    for item in reader.rejected:
        print(visible(f"left out: {item.where}: {item.reason}"), file=sys.stderr)
    fallbacks = (reader.format, Path(file).stem)
    for history in reader.histories:
        if named is None and history.name in fallbacks:
            text = f"{file} does not say whose it is: this is the memory of the user {history.name}"
            print(visible(f"{text}; --user NAME chooses another"), file=sys.stderr)


def _preview(file: str, user: str | None, reading: dict[str, Any]) -> None:
    """Print what an import of a file would bring in.

    Of an unknown format, print a mapping by which it can be read, and what that would bring in.
    """
    if is_store_export(_source(file)):
        print(visible(f"{file}: the export of a whole store; it would be restored"))
        return
    try:
        reader = _read(file, user, reading)
    except UnknownFormat as fault:
        if fault.layout is None or file == STANDARD_INPUT:
            raise
        print(visible(f"{file}: unknown; with --map, a file with this mapping reads it:"))
        print(visible(json.dumps(fault.layout, indent=2, ensure_ascii=False)))
        reader = _read(file, user, {**reading, "layout": fault.layout})
    print(visible(f"{file}: {reader.format}"))
    for history in reader.histories:
        found = preview_history(history)
        counts = f"{pluralize(found.sessions, 'sessions')}, {pluralize(found.turns, 'turns')}"
        counts += f", {pluralize(found.memories, 'memories')}" if found.memories else ""
        dated = found.first and found.last
        span = f", {found.first:%Y-%m-%d} to {found.last:%Y-%m-%d}" if dated else ", without dates"
        print(visible(f"{user or history.name}: {counts}{span}"))
        if found.speakers:
            print(visible(f"  speakers: {_most_common(found.speakers)}"))
    _show_notes(file, reader, named=user)


def _most_common(counts: Mapping[str, int]) -> str:
    first = islice(counts.items(), _MAX_SPEAKERS)
    listed = ", ".join(f"{name} ({count})" for name, count in first)
    more = len(counts) - _MAX_SPEAKERS
    return f"{listed} and {more} more" if more > 0 else listed


def _restore(client: Client, file: str, user: str | None, *, partial: bool) -> int:
    if user is not None:
        raise SettingsError(
            f"{file} is a store's export and keeps its own user names: leave out --user"
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            new = client.restore(read_export(_source(file), partial=partial), partial=partial)
        except BadInput as error:
            raise error if error.where.startswith(file) else BadInput(str(error), file) from None
    for warning in caught:
        print(visible(f"{file}: {warning.message}"), file=sys.stderr)
    return new


@dataclass(frozen=True)
class _Imported:
    """The reports of a history that was imported and remembered."""

    report: ImportReport
    sessions: Sequence[RememberReport]
    pending: int = 0
    """Sessions that another process remembers."""

    @property
    def memories(self) -> int:
        """The number of new memories."""
        return sum(session.memories for session in self.sessions)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON."""
        counts = {"memories_new": self.memories, "sessions_pending": self.pending}
        return {**to_json(self.report), **counts}

    def show(self) -> None:
        """Print the counts, and on standard error what went wrong."""
        report, name = self.report, visible(self.report.user)
        new_sessions = pluralize(report.sessions_new, "new sessions")
        new_turns = pluralize(report.turns_new, "new turns")
        new_memories = pluralize(self.memories, "new memories")
        if self.pending:
            new_memories = f"{pluralize(self.pending, 'sessions')} being remembered"
        known = f"{report.sessions_known} known"
        print(f"{name}: {new_sessions} ({known}), {new_turns}, {new_memories}")
        if report.forgotten:
            things = pluralize(report.forgotten, "turns and memories")
            print(f"{name}: left out {things} that were forgotten before", file=sys.stderr)
        notes = Counter(note for session in self.sessions for note in session.notes)
        for note, count in notes.items():
            print(visible(f"{name}: {count} × {note}"), file=sys.stderr)
        for session in self.sessions:
            if session.failure:
                reason = f"run `theanine remember`: {session.failure}"
                text = f"session {session.session} is saved but not remembered; {reason}"
                print(visible(text), file=sys.stderr)


@contextmanager
def _explaining_interrupts(memory: UserMemory) -> Generator[None]:
    """Say at an interrupt what is logged, and exit with 130."""
    try:
        yield
    except KeyboardInterrupt:
        pending = len(memory.pending())
        done = "the same command imports what is missing"
        if pending:
            done = f"`theanine remember` finishes the {pluralize(pending, 'sessions')} logged"
        print(visible(f"{memory.name}: interrupted: {done}"), file=sys.stderr)
        raise typer.Exit(130) from None


def _without_threads(memory: UserMemory, history: History, format: str) -> History:
    """Return a history of Cursor without the chats that its hooks have logged as they went on."""
    if format != "cursor":
        return history
    threads = {session.thread for session in memory.sessions()}
    left = [each for each in history.transcripts if each.key not in threads]
    return replace(history, transcripts=left)


def _remember(memory: UserMemory, history: History, model: str) -> _Imported:
    """Log and remember a history; much of it is left to another process if no model is asked."""
    report = memory.log(history)
    waiting = memory.pending()
    # In turns, not sessions: those differ so much in length that an estimate would jump about.
    turns = {session.id: session.turn_count for session in memory.sessions()}
    pending = sum(turns.get(session.session, 0) for session in waiting)
    if pending >= _LEFT and model == LOCAL_MODEL:
        return _Imported(report, (), len(waiting))
    if pending >= _LONG and not sys.stderr.isatty():
        print(visible(f"{report.user}: remembering {pluralize(pending, 'turns')}"), file=sys.stderr)
    with progress(pending, report.user) as step:
        sessions = memory.remember(progress=lambda done: step(count=turns.get(done.session, 0)))
    return _Imported(report, sessions)
