"""How memories, timelines and recollections look in a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from theanine.cli.text import pluralize, visible
from theanine.types import Link, Memory, Recollection, Timeline, Turn

__all__ = [
    "console",
    "pluralize",
    "show_recollection",
    "show_table",
    "show_timelines",
    "source",
    "visible",
]

DAY = "%d %b %Y"
QUOTED = 160
"""Characters of a source turn that are shown; ``--json`` has all of it."""
NOTHING = "Nothing is remembered about this."


@cache
def console() -> Console:
    """Standard output, as wide as the terminal or as ``COLUMNS`` says.

    Without either it is as wide as it takes, so that lines stay whole for other programs.
    """

    class Shown(Console):
        """Writes out what would steer the terminal, whoever said it; its own styles it keeps."""

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for one in super().render(renderable, options):
                yield one if one.control else Segment(visible(one.text), one.style)

    plain = Shown(highlight=False, emoji=False)  # words stay as they are: no :boat: becomes one
    told = os.environ.get("COLUMNS", "").strip("0").isdigit()
    if not plain.is_terminal and not told:
        plain.width = 100_000
    return plain


@dataclass(slots=True)
class _Node:
    """A memory in the tree of its timelines: how it was reached, and what follows."""

    memory: Memory
    link: Link | None
    after: dict[int, _Node] = field(default_factory=dict[int, "_Node"])

    @property
    def depth(self) -> int:
        """Memories on the longest way on from here."""
        return 1 + max((node.depth for node in self.after.values()), default=0)


def show_timelines(lines: Sequence[Timeline], undated: Iterable[int] = ()) -> None:
    """Timelines as trees, one for each memory that they begin with.

    What goes on longest stays on its level (``↓``); what branches off stands indented (``↳``).
    """
    roots: dict[int, _Node] = {}
    for line in lines:
        at = roots
        for memory, link in zip(line.memories, (None, *line.links), strict=True):
            node = at.setdefault(memory.id, _Node(memory, link))
            at = node.after
    hidden = frozenset(undated)
    for root in roots.values():
        console().print()
        _show_node(root, 0, hidden)


def _show_node(node: _Node, level: int, undated: frozenset[int]) -> None:
    mark = "●"
    at: _Node | None = node
    if node.link is not None:
        mark = "↳"
    while at is not None:
        _show_line(at, level, mark, undated)
        *branches, onward = sorted(at.after.values(), key=lambda n: n.depth) or [None]
        for branch in branches:
            if branch is not None:
                _show_node(branch, level + 1, undated)
        at, mark = onward, "↓"


def _show_line(node: _Node, level: int, mark: str, undated: frozenset[int]) -> None:

    memory = node.memory
    line = Text(f"{mark} ", "dim")
    if node.link is not None:
        line.append(f"{node.link.relation or 'Similar'} ", "bold cyan")
    if memory.session not in undated:
        line.append(f"{memory.at:{DAY}} ", "green")
    line.append(memory.text, "default not dim").append(f" [{memory.id}]")
    _say(line, 4 * level, hang=2)


def _say(text: Text, indent: int, *, hang: int = 0) -> None:
    """Wrapped at the terminal's width, every line indented, those after the first ``hang`` more."""
    width = max(console().width - indent - hang, 20)
    for number, line in enumerate(text.wrap(console(), width)):
        line.rstrip()
        line.pad_left(indent + (hang if number else 0))
        console().print(line, soft_wrap=True)


def show_recollection(
    found: Recollection, undated: Iterable[int] = (), empty: str = NOTHING
) -> None:
    """What was recalled, part by part, with the turns behind each; ``empty`` where nothing was."""

    hidden = frozenset(undated)

    for part in found.parts:
        _say(Text(part.text), 3)
        for turn in part.source_turns:
            _say(Text(f"↳ {source(turn, hidden)}", "dim"), 5, hang=2)
    if not found.parts:
        console().print(f"   {empty}")


def source(turn: Turn, undated: frozenset[int] = frozenset()) -> str:
    """A turn as a source: number, date, speaker, the beginning of its words."""
    words = " ".join(turn.full_text.split())
    words = words if len(words) <= QUOTED else f"{words[:QUOTED].rstrip()}…"
    date = "" if turn.session in undated else f"{turn.at:{DAY}}, "
    return f"turn {turn.id}, {date}{turn.speaker}: {words}"


def show_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Rows under headings; numbers to the right."""

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    filled = [list(row) for row in rows]
    for index, column in enumerate(columns):
        numeric = all(isinstance(row[index], int | float) for row in filled)
        table.add_column(column, justify="right" if numeric else "left")
    for row in filled:
        table.add_row(*(Text(visible(str(value))) for value in row))
    console().print(table)
