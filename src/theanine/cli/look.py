"""Commands that look inside: memories, sessions, timeline, cost, pending work."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from theanine.memory import Timeline

Store = Annotated[str, typer.Option(help="The store's file.", envvar="THEANINE_STORE")]
User = Annotated[str, typer.Option(help="Whose memory it is.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


def memories(user: User, store: Store = "memory.db", as_json: AsJson = False) -> None:
    """List what is remembered of a user."""
    import theanine

    with theanine.open(store) as agent:
        found = agent.memories(user)
    if as_json:
        show_json([asdict(memory) for memory in found])
        return
    for memory in found:
        print(f"{memory.id:>5}  {memory.at:%Y-%m-%d}  {memory.text}")


def sessions(user: User, store: Store = "memory.db", as_json: AsJson = False) -> None:
    """List a user's sessions and whether they are remembered."""
    import theanine

    with theanine.open(store) as agent:
        found = agent.sessions(user)
    if as_json:
        show_json([asdict(session) for session in found])
        return
    for one in found:
        state = "open" if one.ended_at is None else "waiting"
        state = f"failed: {one.failure}" if one.failure else state
        state = "remembered" if one.remembered_at else state
        day = f"{one.started_at:%Y-%m-%d}" if one.dated else "no date   "
        print(f"{one.id:>5}  {day}  {one.turn_count:>4} turns  {state}  {one.key}")


def timeline(
    user: User,
    memory: Annotated[int | None, typer.Argument(help="A memory's number.")] = None,
    store: Store = "memory.db",
    as_json: AsJson = False,
) -> None:
    """Show how memories follow from each other: all timelines, or those of one memory."""
    import theanine

    with theanine.open(store) as agent:
        found = agent.timelines(user, memory)
    if as_json:
        show_json([asdict(line) for line in found])
        return
    for line in found:
        show_timeline(line)


def cost(user: str | None = None, store: Store = "memory.db", as_json: AsJson = False) -> None:
    """What the language model was asked, by step, and what it cost."""
    import theanine

    with theanine.open(store) as agent:
        found = agent.costs(user)
    if as_json:
        show_json([asdict(line) for line in found])
        return
    for line in found:
        price = "unknown" if line.cost is None else f"${line.cost:.4f}"
        print(
            f"{line.scope}  {line.step}  {line.model}  {line.calls} calls ({line.failed} failed)  "
            f"{line.input_tokens} + {line.output_tokens} tokens  {price}"
        )
    if not found:
        print("no language model was called")


def show_timeline(line: Timeline) -> None:
    """One timeline as an indented path, oldest first, with its relations."""
    print()
    for depth, memory in enumerate(line.memories):
        how = f"—{line.links[depth - 1].relation or 'similar'}→ " if depth else ""
        print("   " * depth + how + f"[{memory.id}] {memory.text}")


def show_json(value: Any) -> None:
    """Anything of ours as indented JSON; times in ISO 8601."""
    print(json.dumps(value, default=str, ensure_ascii=False, indent=2))
