"""How tables, timelines and recollections look in a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from theanine.cli.text import pluralize as pluralize
from theanine.cli.text import visible as visible
from theanine.text.words import format_date as long_date
from theanine.types import Memory, Recollection, Session, Timeline, Turn

if TYPE_CHECKING:
    from theanine.client.explaining import Explanation
    from theanine.profile import Profile

MAX_SOURCE_CHARACTERS = 160
"""Characters of a source turn that are shown; ``--json`` has all of it."""

MAX_EXPLAINED = 80
"""Characters of a candidate that ``recall --explain`` shows; ``--json`` has all of it."""

MAX_TURN_LINES, MAX_TURN_CHARACTERS = 8, 600
"""Most lines and characters of a turn that ``log`` prints on a terminal."""


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


_RELATIONS: Mapping[str, str] = MappingProxyType(
    {
        "Changed": "Changed",
        "Fulfilled": "It came true",
        "Corrected": "In truth",
        "Cause": "Led to this",
        "Reason": "This is why",
        "HinderedBy": "In the way",
        "React": "The feeling",
        "Want": "The wish",
    }
)
"""Relations in the words of the page."""


def show_timelines(timelines: Sequence[Timeline]) -> None:
    """Print timelines under their titles: a line for each memory, with its relation to an earlier.

    The earlier memory is named by its number where it does not stand right before.
    """
    related = False
    for timeline in timelines:
        console().print()
        if timeline.title:
            console().print(Text(timeline.title, "bold"))
        before = None
        for memory, link in timeline.steps:
            line = Text("↓ " if link else "● ", "dim")
            if link is not None:
                related = True
                relation = _RELATIONS[str(link.relation)]
                line.append(f"{relation} ", "bold cyan")
                line.append("" if link.older == before else f"[{link.older}] ")
            if memory.dated and long_date(memory.at) not in memory.text:
                line.append(f"{format_date(memory)} ", "green")
            line.append(memory.text, "default not dim").append(f" [{memory.id}]")
            _print_wrapped(line, 0, hanging_indent=2)
            before = memory.id
    if timelines:
        legend = (
            "↓ what followed, [5] the number of a memory"
            if related
            else "[5] the number of a memory"
        )
        console().print(f"\n{legend}", style="dim", markup=False)


def show_profile(profile: Profile) -> None:
    """Print what is known of a user: areas, changes, and who comes up, with numbers of turns."""
    from theanine.profile import AREAS

    if writers := {line.made_by for line in profile.lines if not line.is_verbatim}:
        note = f"Written by {', '.join(writers)} from what the user said, in the turns [5]."
        _print_wrapped(Text(note, "dim"), 0)
    for area, lines in profile.areas.items():
        console().print(Text(f"\n{AREAS[area]}", "bold"))
        for line in lines:
            notes = [f"since {line.since:%d %b %Y}"] if line.dated else []
            notes += [line.certainty] if line.certainty != "said" else []
            turns = [line.turn] if line.is_verbatim else line.source_turns
            text = Text(line.text).append(f" [{', '.join(map(str, turns))}]", "dim")
            _print_wrapped(text.append(f" {', '.join(notes)}" if notes else "", "green"), 2, 2)
            for state in line.before:
                _print_wrapped(Text(f"before: {state.text} [{state.turn}]", "dim"), 4, 2)
    if profile.changes:
        console().print(Text("\nChanged lately", "bold"))
    for change in profile.changes:
        text = Text(f"{change.at:%d %b %Y} " if change.dated else "", "green")
        text.append(f"{change.text} [{change.turn}]", "default")
        _print_wrapped(text, 2, 2)
        _print_wrapped(Text(f"before: {change.before.text} [{change.before.turn}]", "dim"), 4, 2)
    if profile.entities:
        console().print(Text("\nPeople, places and things", "bold"))
    for entity in profile.entities:
        text = Text(entity.name)
        if entity.aliases:
            text.append(f", also {', '.join(entity.aliases)}")
        what = entity.relation or (entity.kind if entity.kind != "unknown" else "")
        text.append(f" ({what})" if what else "", "cyan")
        last = f", last on {entity.last_at:%d %b %Y}" if entity.introduced.dated else ""
        _print_wrapped(text.append(f" {pluralize(entity.mentions, 'turns')}{last}", "dim"), 2, 2)


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
    """Print the parts of a recollection, the most relevant first, with their source turns.

    Pinned memories come first of all. ``empty`` is printed if there are no parts.
    """
    best_first = sorted(
        recollection.parts, key=lambda part: (not part.pinned, -(part.relevance or 0))
    )
    for part in best_first:
        if part.pinned:
            _print_wrapped(Text("pinned" if part.memories else "profile", "dim"), 3)
        elif part.relevance is not None:
            _print_wrapped(Text(f"relevance {part.relevance:.2f}", "dim"), 3)
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
        _print_wrapped(Text(empty), 3)


def show_explanation(explanation: Explanation) -> None:
    """Print the candidates of a recall, the best first: outcome, relevance, scores by stage."""
    limit = "" if explanation.budget is None else f" of {explanation.budget}"
    console().print(f"{explanation.method}: {explanation.tokens}{limit} tokens", style="bold")
    rows = [
        (
            each.outcome.replace("_", " "),
            "" if each.relevance is None else f"{each.relevance:.2f}",
            *(
                f"{each.scores[name]:.2f}" if name in each.scores else ""
                for name in explanation.stages
            ),
            f"memory {each.memory}" if each.memory else f"turn {each.turn}",
            each.text if len(each.text) <= MAX_EXPLAINED else f"{each.text[:MAX_EXPLAINED]}…",
        )
        for each in explanation.candidates
    ]
    if rows:
        show_table(("outcome", "relevance", *explanation.stages, "of", "text"), rows)
    console().print()


def format_source(turn: Turn) -> str:
    """Return a turn's number, date and speaker, and the beginning of its text."""
    text = " ".join(turn.full_text.split())
    if len(text) > MAX_SOURCE_CHARACTERS:
        text = f"{text[:MAX_SOURCE_CHARACTERS].rstrip()}…"
    date = f"{format_date(turn)}, " if turn.dated else ""
    return f"turn {turn.id}, {date}{turn.speaker}: {text}"


def show_turn(turn: Turn) -> None:
    """Print a turn with its number, date and speaker, its lines as they are.

    On a terminal, a long one is cut.
    """
    date = f"{format_date(turn)}, " if turn.dated else ""
    speaker = f"{turn.speaker} (corrects memory {turn.corrects})" if turn.corrects else turn.speaker
    lines = turn.full_text.expandtabs(4).splitlines() or [""]
    shown = lines
    if console().is_terminal and (
        len(lines) > MAX_TURN_LINES or len(turn.full_text) > MAX_TURN_CHARACTERS
    ):
        start = "\n".join(lines[:MAX_TURN_LINES])[:MAX_TURN_CHARACTERS].rstrip()
        shown = [*start.splitlines(), f"… (all of it: --turn {turn.id})"]
    _print_wrapped(Text(f"{turn.id:>5}  {date}{speaker}: {shown[0]}"), 0, hanging_indent=7)
    for line in shown[1:]:
        _print_wrapped(Text(line), 7)


def show_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under headings; columns of numbers are aligned to the right."""
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    cells = [list(row) for row in rows]
    for index, column in enumerate(columns):
        numeric = all(isinstance(row[index], int | float) for row in cells)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(visible(str(value))) for value in row))
    if console().is_terminal:
        console().print(table)
        return
    with console().capture() as printed:
        console().print(table)
    for line in printed.get().splitlines():
        console().print(line.rstrip(), markup=False, soft_wrap=True)
