"""How tables, timelines and recollections look in a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from theanine.cli.text import pluralize as pluralize
from theanine.cli.text import visible as visible
from theanine.types import Link, Memory, Recollection, Session, Timeline, Turn

MAX_SOURCE_CHARACTERS = 160
"""Characters of a source turn that are shown; ``--json`` has all of it."""


class _SafeConsole(Console):
    """Console that escapes control characters in what it prints, but not its own styles."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


@cache
def console() -> Console:
    """Return standard output, as wide as the terminal or ``COLUMNS``.

    Without either it is so wide that no line is wrapped, for other programs.
    """
    terminal = _SafeConsole(highlight=False, emoji=False)  # without emoji, ":boat:" stays text
    has_width = os.environ.get("COLUMNS", "").strip("0").isdigit()
    if not terminal.is_terminal and not has_width:
        terminal.width = 100_000
    return terminal


def format_date(item: Memory | Turn | Session) -> str:
    """Return the day of a memory, turn or session, ``08 May 2024``; empty if it has no date."""
    at = item.started_at if isinstance(item, Session) else item.at
    return f"{at:%d %b %Y}" if item.dated else ""


@dataclass(slots=True)
class _Node:
    """A memory in a tree of timelines, with the link that leads to it."""

    memory: Memory
    link: Link | None
    children: dict[int, _Node] = field(default_factory=dict[int, "_Node"])

    @property
    def depth(self) -> int:
        """Memories on the longest path from here."""
        return 1 + max((node.depth for node in self.children.values()), default=0)


def show_timelines(timelines: Sequence[Timeline]) -> None:
    """Print timelines as trees, one for each memory that timelines start with.

    The longest continuation stays on its level (``↓``); branches are indented (``↳``).
    """
    roots: dict[int, _Node] = {}
    for timeline in timelines:
        level = roots
        for memory, link in zip(timeline.memories, (None, *timeline.links), strict=True):
            level = level.setdefault(memory.id, _Node(memory, link)).children
    for root in roots.values():
        console().print()
        _show_tree(root, 0, "●")


def _show_tree(node: _Node, level: int, mark: str) -> None:
    while True:
        memory = node.memory
        line = Text(f"{mark} ", "dim")
        if node.link is not None:
            line.append(f"{node.link.relation or 'Similar'} ", "bold cyan")
        if memory.dated:
            line.append(f"{format_date(memory)} ", "green")
        line.append(memory.text, "default not dim").append(f" [{memory.id}]")
        _print_wrapped(line, 4 * level, hanging_indent=2)
        if not node.children:
            return
        *branches, node = sorted(node.children.values(), key=lambda child: child.depth)
        for branch in branches:
            _show_tree(branch, level + 1, "↳")
        mark = "↓"


def _print_wrapped(text: Text, indent: int, hanging_indent: int = 0) -> None:
    """Print text wrapped at the terminal's width, with lines after the first indented further."""
    width = max(console().width - indent - hanging_indent, 20)
    for number, line in enumerate(text.wrap(console(), width)):
        line.rstrip()
        line.pad_left(indent + (hanging_indent if number else 0))
        console().print(line, soft_wrap=True)


def show_recollection(
    recollection: Recollection, empty: str = "Nothing relevant is known."
) -> None:
    """Print each part of a recollection with its source turns; ``empty`` if there are none."""
    for part in recollection.parts:
        _print_wrapped(Text(part.text), 3)
        words = " ".join(part.text.split())
        quoted = [turn for turn in part.source_turns if " ".join(turn.full_text.split()) in words]
        if quoted:
            numbers = ", ".join(str(turn.id) for turn in quoted)
            label = "turn" if len(quoted) == 1 else "turns"
            _print_wrapped(Text(f"↳ {label} {numbers}", "dim"), 5, hanging_indent=2)
        for turn in part.source_turns:
            if turn not in quoted:
                _print_wrapped(Text(f"↳ {format_source(turn)}", "dim"), 5, hanging_indent=2)
    if not recollection.parts:
        console().print(f"   {empty}")


def format_source(turn: Turn) -> str:
    """Return a turn's number, date and speaker, and the beginning of its text."""
    text = " ".join(turn.full_text.split())
    if len(text) > MAX_SOURCE_CHARACTERS:
        text = f"{text[:MAX_SOURCE_CHARACTERS].rstrip()}…"
    date = f"{format_date(turn)}, " if turn.dated else ""
    return f"turn {turn.id}, {date}{turn.speaker}: {text}"


def show_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under headings; columns of numbers are aligned to the right."""
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    cells = [list(row) for row in rows]
    for index, column in enumerate(columns):
        numeric = all(isinstance(row[index], int | float) for row in cells)
        table.add_column(column, justify="right" if numeric else "left")
    for row in cells:
        table.add_row(*(Text(visible(str(value))) for value in row))
    console().print(table)
