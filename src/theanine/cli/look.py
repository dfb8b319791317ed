"""Commands that look inside: memories, sessions, timeline, cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from theanine.cli.common import (
    EachUser,
    JsonOption,
    MethodOption,
    StoreOption,
    UserOption,
    opened,
    show_json,
    undated,
    with_dated,
)
from theanine.cli.show import DAY, console, show_table, show_timelines

if TYPE_CHECKING:
    from theanine.conversation import Session
    from theanine.store.values import CostLine
    from theanine.sync import Agent


def memories(
    user: UserOption,
    store: StoreOption = "",
    method: MethodOption = "theanine",
    as_json: JsonOption = False,
) -> None:
    """List what is remembered of a user.

    \b
    theanine memories --user ana
    theanine memories --user ana --json | jq '.[].text'
    """
    with opened(store, method=method) as agent:
        found, hidden = agent.memories(user), undated(agent, user)
    if as_json:
        show_json(with_dated([asdict(memory) for memory in found], hidden))
        return
    dates = ["" if m.session in hidden else f"{m.at:{DAY}}" for m in found]
    show_table(
        ["", "date", "memory", "turns"],
        (
            [m.id, date, m.text, ", ".join(map(str, m.sources))]
            for m, date in zip(found, dates, strict=True)
        ),
    )


def sessions(
    user: EachUser = None,
    store: StoreOption = "",
    method: MethodOption = "theanine",
    as_json: JsonOption = False,
) -> None:
    """List a user's sessions and whether they are remembered; or all users and theirs.

    \b
    theanine sessions
    theanine sessions --user ana
    """
    with opened(store, method=method) as agent:
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
    method: MethodOption = "theanine",
    as_json: JsonOption = False,
) -> None:
    """Show how memories follow from each other, as trees with relations and dates.

    \b
    theanine timeline --user ana
    theanine timeline 12 --user ana
    theanine timeline --user ana --html ana.html
    """
    with opened(store, method=method) as agent:
        found = agent.timelines(user, memory)
        hidden = undated(agent, user)
        if html is not None:
            within = None if memory is None else {m.id for line in found for m in line.memories}
            _write_page(html, agent, user, within)
    if as_json:
        show_json(with_dated([asdict(line) for line in found], hidden))
    elif html is None:
        show_timelines(found, hidden)


def _write_page(file: Path, agent: Agent, user: str, within: set[int] | None) -> None:
    """The graph of a user, or of the memories ``within`` one component."""
    from theanine.cli.page import timeline_page
    from theanine.errors import SettingsError

    kept = [m for m in agent.memories(user) if within is None or m.id in within]
    numbers = {m.id for m in kept}
    links = [link for link in agent.links(user) if link.newer in numbers]
    sources = sorted({turn for m in kept for turn in m.sources})
    turns = agent.turns(user, ids=sources)
    page = timeline_page(kept, links, turns, agent.sessions(user), title=user)
    try:
        file.write_text(page, "utf-8")
    except OSError as error:
        raise SettingsError(
            f"{file} can't be written ({error.strerror}); name another file"
        ) from error
    console().print(f"wrote {file}: {len(kept)} memories, {len(links)} links", markup=False)


def cost(user: EachUser = None, store: StoreOption = "", as_json: JsonOption = False) -> None:
    """Show what the language model was asked, by user and step, and what it cost.

    \b
    theanine cost
    theanine cost --user ana --json
    """
    with opened(store) as agent:
        found = agent.costs(user)
    if as_json:
        show_json([asdict(line) for line in found])
        return
    if not found:
        print("no language model was called")
        return
    sums: defaultdict[tuple[str, str, str], list[CostLine]] = defaultdict(list)
    for line in found:
        sums[str(line.scope), line.step, line.model].append(line)
    columns = ["user", "step", "model", "calls", "failed", "in", "out", "seconds", "cost"]
    show_table(columns, ([*key, *_sums(lines)] for key, lines in sums.items()))


def _sums(lines: Sequence[CostLine]) -> list[object]:
    costs = [line.cost for line in lines]
    known = [cost for cost in costs if cost is not None]
    return [
        sum(line.calls for line in lines),
        sum(line.failed for line in lines),
        sum(line.input_tokens for line in lines),
        sum(line.output_tokens for line in lines),
        round(sum(line.seconds for line in lines), 1),
        f"${sum(known):.4f}" if len(known) == len(costs) else "unknown",
    ]
