"""Commands that look inside: memories, sessions, timeline, cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theanine.cli.files import check_place, write_text
from theanine.cli.options import (
    EachUser,
    JsonOption,
    MethodOption,
    StoreOption,
    UserOption,
    open_client,
    show_json,
    undated,
    with_dated,
)
from theanine.cli.rendering import DAY, console, pluralize, show_table, show_timelines
from theanine.types import Usage

if TYPE_CHECKING:
    from theanine.client.sync import Client
    from theanine.types import Mark, Memory, Session


def memories(
    user: UserOption,
    store: StoreOption = "",
    method: MethodOption = None,
    history: Annotated[
        bool,
        typer.Option(
            "--history", help="Also what is no longer live: what took its place, when and why."
        ),
    ] = False,
    as_of: Annotated[
        int | None,
        typer.Option(metavar="SESSION", help="As it stood once this session was remembered."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List what is remembered of a user.

    \b
    theanine memories --user ana
    theanine memories --user ana --method recursive-summary --history
    theanine memories --user ana --method recursive-summary --as-of 3
    theanine memories --user ana --json | jq '.[].text'
    """
    with open_client(store, method=method) as agent:
        found, stood = agent.memories(user), agent.marks(user)
        known = {session.id: session for session in agent.sessions(user)}
    if as_of is not None:
        past = _upto(as_of, user, known)
        found = [memory for memory in found if memory.session in past]
        stood = [mark for mark in stood if mark.session in past]
    marks = {mark.memory: mark for mark in stood}
    shown = found if history else [memory for memory in found if memory.id not in marks]
    if as_json:
        hidden = frozenset(session.id for session in known.values() if not session.dated)
        items = [_with_mark(m, marks, known) if history else asdict(m) for m in shown]
        show_json(with_dated(items, hidden))
        return
    _show_memories(shown, marks if history else None, known)


def _show_memories(
    memories: Sequence[Memory], marks: Mapping[int, Mark] | None, sessions: Mapping[int, Session]
) -> None:
    """A table of memories; with ``marks``, also of how they ended."""
    columns: list[tuple[str, Callable[[Memory], object]]] = [
        ("", lambda m: m.id),
        ("date", lambda m: f"{m.at:{DAY}}" if sessions[m.session].dated else ""),
        ("memory", lambda m: m.text),
        ("turns", lambda m: ", ".join(map(str, m.source_turns))),
    ]
    if len({memory.kind for memory in memories}) > 1:
        columns.insert(2, ("kind", lambda m: m.kind))
    if marks is not None:
        columns.append(("no longer live", lambda m: _ending(marks.get(m.id), sessions)))
    rows = ([cell(memory) for _, cell in columns] for memory in memories)
    show_table([name for name, _ in columns], rows)


def _upto(last: int, user: str, sessions: Mapping[int, Session]) -> set[int]:
    """Numbers of a session and of those before it in time. Raises NotFound."""
    from theanine.errors import NotFound

    if last not in sessions:
        raise NotFound(f"{user} has no session {last}; `theanine sessions` lists them")
    return {one.id for one in sessions.values() if one.order <= sessions[last].order}


def _ending(mark: Mark | None, sessions: Mapping[int, Session]) -> str:
    """What marked a memory, when and why; empty for a live one."""
    if mark is None:
        return ""
    by = f" by {mark.by}" if mark.by is not None else ""
    session = sessions[mark.session]
    on = f", {session.started_at:{DAY}}" if session.dated else ""
    reason = f": {mark.reason}" if mark.reason else ""
    return f"{mark.kind}{by} (session {mark.session}{on}){reason}"


def _with_mark(
    memory: Memory, marks: Mapping[int, Mark], sessions: Mapping[int, Session]
) -> dict[str, Any]:
    """A memory for JSON, with its mark and the time of the session that left it; or null."""
    mark = marks.get(memory.id)
    left = None if mark is None else {**asdict(mark), "at": sessions[mark.session].started_at}
    return {**asdict(memory), "mark": left}


def sessions(
    user: EachUser = None,
    store: StoreOption = "",
    method: MethodOption = None,
    as_json: JsonOption = False,
) -> None:
    """List a user's sessions and whether they are remembered; or all users and theirs.

    \b
    theanine sessions
    theanine sessions --user ana
    """
    with open_client(store, method=method) as agent:
        users = [user] if user is not None else sorted({scope.user for scope in agent.users()})
        found = {name: agent.sessions(name) for name in users}
    if as_json:
        show_json({name: [asdict(one) for one in each] for name, each in found.items()})
        return
    show_table(
        ["user", "", "date", "turns", "state", "key"],
        (
            [name, one.id, f"{one.started_at:{DAY}}" if one.dated else "", one.turn_count,
             _state(one), one.key]
            for name, each in found.items()
            for one in each
        ),
    )  # fmt: skip


def _state(session: Session) -> str:
    if session.remembered_at is not None:
        return "remembered"
    if session.ended_at is None:
        return "open"
    return f"failed: {session.failure}" if session.failure else "waiting"


def timeline(
    user: UserOption,
    memory: Annotated[
        int | None,
        typer.Argument(metavar="MEMORY", help="A memory's number: only what is linked with it."),
    ] = None,
    store: StoreOption = "",
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write one self-contained page to look at it all."),
    ] = None,
    method: MethodOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how memories follow from each other, as trees with relations and dates.

    \b
    theanine timeline --user ana
    theanine timeline 12 --user ana
    theanine timeline --user ana --html ana.html
    """
    if html is not None:
        check_place(html)
    with open_client(store, method=method) as agent:
        found = agent.timelines(user, memory)
        hidden = undated(agent, user)
        known = agent.memories(user)
        if html is not None:
            within = None if memory is None else {m.id for line in found for m in line.memories}
            _write_page(html, agent, user, within)
    if as_json:
        show_json(with_dated([asdict(line) for line in found], hidden))
    elif html is None and found:
        show_timelines(found, hidden)
    elif html is None:
        told = pluralize(len(known), "memories") if memory is None else f"memory {memory}"
        print(f"{told}, no links yet")


def _write_page(file: Path, agent: Client, user: str, within: set[int] | None) -> None:
    """The graph of a user, or of the memories ``within`` one component."""
    from theanine.cli.timeline_page import timeline_page

    kept = [m for m in agent.memories(user) if within is None or m.id in within]
    numbers = {m.id for m in kept}
    links = [link for link in agent.links(user) if link.newer in numbers]
    sources = sorted({turn for m in kept for turn in m.source_turns})
    turns = agent.turns(user, ids=sources)
    page = timeline_page(kept, links, turns, agent.sessions(user), title=user)
    write_text(file, page)
    drawn = f"{pluralize(len(kept), 'memories')}, {pluralize(len(links), 'links')}"
    console().print(f"wrote {file}: {drawn}", markup=False)


def cost(user: EachUser = None, store: StoreOption = "", as_json: JsonOption = False) -> None:
    """Show what the language model was asked, by user and step, and what it cost.

    \b
    theanine cost
    theanine cost --user ana --json
    """
    with open_client(store) as agent:
        found = agent.costs(user)
    if as_json:
        lines = [asdict(line) for line in found]
        for line in lines:
            del line["replayed"]  # the journal does not count replays
        show_json(lines)
        return
    if not found:
        print("no language model was called")
        return
    sums: defaultdict[tuple[str, str, str], Usage] = defaultdict(Usage)
    for line in found:
        sums[str(line.scope), line.step, line.model] += line
    columns = ["user", "step", "model", "calls", "failed", "in", "out", "seconds", "cost"]
    show_table(columns, ([*key, *_usage_columns(usage)] for key, usage in sums.items()))


def _usage_columns(usage: Usage) -> list[object]:
    return [
        usage.calls,
        usage.failed,
        usage.input_tokens,
        usage.output_tokens,
        round(usage.seconds, 1),
        "unknown" if usage.cost is None else f"${usage.cost:.4f}",
    ]
