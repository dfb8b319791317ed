"""Commands that show what a store holds: memories, sessions, timeline, cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from theanine import Client, UserMemory
from theanine.cli.left_out import exit_if_left_out, read_each_user
from theanine.cli.options import (
    BaseUrlOption,
    JsonOption,
    ModelOption,
    ModelOptions,
    ModelSettingsOption,
    StoreOption,
    StoreOptions,
    TimeoutOption,
    UserOption,
    UsersOptions,
    expand_options,
    known_user,
    open_client,
)
from theanine.cli.output import (
    FormatOptions,
    check_writable,
    show_csv,
    show_json,
    to_json,
    write_text,
)
from theanine.cli.rendering import (
    console,
    format_date,
    pluralize,
    show_profile,
    show_table,
    show_timelines,
)
from theanine.cli.selection import ListOptions
from theanine.errors import NotFound
from theanine.linking.topics import find_topics
from theanine.page.graph import build_graph
from theanine.page.one_file import build_timeline_file
from theanine.types import STATE, Mark, Memory, Session, Usage


@expand_options
def memories(
    user: UserOption,
    options: StoreOptions,
    listing: ListOptions,
    output: FormatOptions,
    history: Annotated[
        bool,
        typer.Option(
            "--history",
            help="Include memories that are no longer live: what replaced them, when and why.",
        ),
    ] = False,
    as_of: Annotated[
        int | None,
        typer.Option(metavar="SESSION", help="Memories as they were after this session."),
    ] = None,
    pinned: Annotated[bool, typer.Option("--pinned", help="Only pinned memories.")] = False,
) -> None:
    """List a user's memories.

    \b
    theanine memories --user ana
    theanine memories --user ana --method recursive-summary --history
    theanine memories --user ana --method recursive-summary --as-of 3
    theanine memories --user ana --search "lake house" --limit 5
    theanine memories --user ana --json | jq '.[].text'
    """
    with options.open() as client:
        stored = known_user(client, user)
        memories = stored.memories(pinned=pinned or None, **listing.arguments())[::-1]
        marks = stored.marks()
        sessions = {session.id: session for session in stored.sessions()}
    if as_of is not None:
        if as_of not in sessions:
            raise NotFound(f"{user} has no session {as_of}; `theanine sessions` lists them")
        past = {s.id for s in sessions.values() if s.order <= sessions[as_of].order}
        memories = [memory for memory in memories if memory.session in past]
        marks = [mark for mark in marks if mark.session in past]
    mark_of = {mark.memory: mark for mark in marks}
    if not history:
        memories = [memory for memory in memories if memory.id not in mark_of]
    if not output:
        _show_memories(memories, mark_of if history else None, sessions)
    elif history:
        output.show([_with_mark(memory, mark_of.get(memory.id), sessions) for memory in memories])
    else:
        output.show(memories)


def _show_memories(
    memories: Sequence[Memory], marks: Mapping[int, Mark] | None, sessions: Mapping[int, Session]
) -> None:
    """Print a table of memories; with ``marks``, also why some are no longer live."""
    columns: list[tuple[str, Callable[[Memory], object]]] = [
        ("", lambda memory: memory.id),
        ("date", format_date),
        ("turns", lambda memory: ", ".join(map(str, memory.source_turns))),
        ("memory", lambda memory: memory.text),
    ]
    if len({memory.kind for memory in memories}) > 1:
        columns.insert(2, ("kind", lambda memory: memory.kind))
    if marks is not None:
        columns.append(
            ("no longer live", lambda memory: _format_mark(marks.get(memory.id), sessions))
        )
    rows = ([cell(memory) for _, cell in columns] for memory in memories)
    show_table([name for name, _ in columns], rows)


def _format_mark(mark: Mark | None, sessions: Mapping[int, Session]) -> str:
    """Return why and when a memory stopped being live; empty for a live one."""
    if mark is None:
        return ""
    replacement = f" by {mark.by}" if mark.by is not None else ""
    session = sessions[mark.session]
    date = f", {format_date(session)}" if session.dated else ""
    reason = f": {mark.reason}" if mark.reason else ""
    return f"{mark.kind}{replacement} (session {mark.session}{date}){reason}"


def _with_mark(
    memory: Memory, mark: Mark | None, sessions: Mapping[int, Session]
) -> dict[str, Any]:
    """Return a memory for JSON with its mark, or null, and the time of the mark's session."""
    if mark is None:
        return {**to_json(memory), "mark": None}
    session = sessions[mark.session]
    dates = {"at": session.started_at, "dated": session.dated}
    return {**to_json(memory), "mark": {**to_json(mark), **dates}}


@expand_options
def sessions(
    users: UsersOptions, options: StoreOptions, listing: ListOptions, output: FormatOptions
) -> None:
    """List sessions and whether they are remembered.

    \b
    theanine sessions
    theanine sessions --user ana
    """
    with options.open() as client:
        arguments = listing.arguments()
        by_user, left_out = read_each_user(
            client, users.names(client), lambda user: user.sessions(**arguments)[::-1]
        )
    if output.as_json:
        show_json(by_user)
    elif output.as_csv:
        show_csv([{"user": name, **to_json(each)} for name, own in by_user.items() for each in own])
    else:
        _show_sessions(by_user)
    exit_if_left_out(left_out)


def _show_sessions(by_user: Mapping[str, Sequence[Session]]) -> None:
    listed = [(name, session) for name, sessions in by_user.items() for session in sessions]
    has_titles = any(session.metadata.get("title") for _, session in listed)
    show_table(
        ["user", "", "date", "turns", "state", *(["title"] if has_titles else []), "key"],
        (
            [
                *(name, session.id, format_date(session), session.turn_count, _state(session)),
                *([session.metadata.get("title", "")] if has_titles else []),
                session.thread or session.key,
            ]
            for name, session in listed
        ),
    )


def _state(session: Session) -> str:
    if session.remembered_at is not None:
        return "remembered"
    if session.ended_at is None:
        return "open"
    if session.set_aside == "cancelled":
        return "cancelled"
    state = "set aside" if session.set_aside else "failed"
    return f"{state}: {session.failure}" if session.failure else "waiting"


@expand_options
def timeline(
    user: UserOption,
    options: StoreOptions,
    memory: Annotated[
        int | None,
        typer.Argument(metavar="MEMORY", help="Only the matter that this memory is about."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the timelines to a self-contained web page."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what is remembered of each matter, in the order of time.

    \b
    theanine timeline --user ana
    theanine timeline 12 --user ana
    theanine timeline --user ana --html ana.html
    """
    if html is not None:
        check_writable(html)
    with options.open() as client:
        stored = known_user(client, user)
        timelines, memories = stored.timelines(memory), stored.memories()
        if html is not None:
            _write_page(html, stored, memories, memory)
    if as_json:
        show_json(timelines)
    elif html is None:
        show_timelines(timelines)
        if memory is None:
            shown = sum(len(timeline.memories) for timeline in timelines)
            # A state repeats statements, and is a line of no timeline.
            told = sum(memory.kind != STATE for memory in memories)
            others = pluralize(told - shown, "memories")
            print(f"\nIn no timeline: {others}; `theanine memories` lists all")


@dataclass(frozen=True, kw_only=True)
class WriterOptions(StoreOptions):
    """Options of a command that asks a model only if it is told to."""

    model: ModelOption = "local"
    base_url: BaseUrlOption = None
    model_settings: ModelSettingsOption = None
    timeout: TimeoutOption = None

    def open_with_model(self) -> Client:
        """Open the store with the model. Raises NotFound if there is none."""
        return ModelOptions(**asdict(self)).open()


@expand_options
def profile(
    user: UserOption,
    options: WriterOptions,
    as_of: Annotated[
        str | None, typer.Option(metavar="TIME", help="What was known on this day.")
    ] = None,
    with_model: Annotated[
        bool, typer.Option("--with-model", help="Have the model write it, in one call.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what is known of a user: what holds, what changed, who comes up.

    All in the user's own words, with the number of the turn, [5]. With --with-model, the model of
    --model writes what holds. Exits with 1 if nothing is known.

    \b
    theanine profile --user ana
    theanine profile --user ana --as-of 2026-03-01
    theanine profile --user ana --with-model --model openai:gpt-4o-mini
    theanine profile --user ana --json | jq '.lines[].text'
    """
    with options.open_with_model() if with_model else options.open() as client:
        found = known_user(client, user).profile(as_of=as_of, with_model=with_model)
    if as_json:
        show_json(found)
    elif found:
        show_profile(found)
    else:
        print("Nothing is known yet: nothing was stated in the user's own words.")
    if not found:
        raise typer.Exit(1)


def _write_page(
    file: Path, stored: UserMemory, memories: Sequence[Memory], memory: int | None
) -> None:
    """Write the page of a user's memories, or of those on the matter of one memory."""
    links = stored.links()
    turns = stored.turns()
    others = {turn.speaker for turn in turns if turn.role != "assistant"}
    assistants = frozenset(turn.speaker for turn in turns) - others
    topics = find_topics(memories, links, assistants)
    if memory is not None:
        topics = [topic for topic in topics if memory in (*topic.memories, *topic.repeats)]
        ids = {id for topic in topics for id in (*topic.memories, *topic.repeats)}
        memories = [each for each in memories if each.id in ids]
        links = [link for link in links if link.older in ids and link.newer in ids]
    sessions = {session.id: session for session in stored.sessions()}
    pinned = {memory.id for memory in stored.memories(pinned=True)}
    graph = build_graph(memories, links, stored.marks(), sessions, pinned, topics=topics)
    shown = {memory.session for memory in memories}
    turns = [turn for turn in turns if turn.session in shown]
    write_text(file, build_timeline_file(graph, memories, links, turns, user=stored.scope.user))
    counts = f"{pluralize(len(memories), 'memories')}, {pluralize(len(links), 'links')}"
    console().print(f"wrote {file}: {counts}", markup=False)


@expand_options
def cost(users: UsersOptions, output: FormatOptions, store: StoreOption = "") -> None:
    """Show the language model's calls, tokens and cost.

    \b
    theanine cost
    theanine cost --user ana --json
    """
    with open_client(store) as client:
        lines = users.handle(client).costs()
    if output:
        output.show(lines)
        return
    if not lines:
        print("no language model was called")
        return
    totals: defaultdict[tuple[str, str, str], Usage] = defaultdict(Usage)
    for line in lines:
        totals[str(line.scope), line.step, line.model] += line
    show_table(
        ["user", "step", "model", "calls", "failed", "in", "out", "seconds", "cost"],
        (
            [
                *key,
                *(usage.calls, usage.failed, usage.input_tokens, usage.output_tokens),
                round(usage.seconds, 1),
                "unknown" if usage.cost is None else f"${usage.cost:.4f}",
            ]
            for key, usage in totals.items()
        ),
    )
