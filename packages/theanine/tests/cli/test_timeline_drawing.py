"""The drawing of a graph: time runs to the right, and nothing covers anything else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import combinations, pairwise
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from theanine.cli.timeline_page.layout import LABEL, WIDTH, Drawing
from theanine.cli.timeline_page.place import later
from theanine.text.words import format_date
from theanine.types import Link, Memory, Relation

START = datetime(2024, 5, 8, 12, tzinfo=UTC)


class Box(NamedTuple):
    left: int
    top: int
    right: int
    bottom: int

    def meets(self, other: Box) -> bool:
        """Whether they share more than an edge."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


def memory(number: int, after: int, session: int = 1) -> Memory:
    at = START + timedelta(days=after, minutes=number)
    return Memory(id=number, session=session, text="Ana sold the boat.", at=at, session_ended_at=at)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Memory], list[Link]]:
    """Sessions may overlap in time, and a memory may follow one of its own day or session."""
    days = draw(st.lists(st.sampled_from([0, 0, 1, 2, 30, 400]), max_size=16))
    memories = [memory(number, after, number // 3) for number, after in enumerate(days, 1)]
    pairs = [(a.id, b.id) for a, b in combinations(memories, 2)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=24)) if pairs else []
    kinds = st.sampled_from([Relation.CAUSE, Relation.WANT, Relation.REACT, None])
    return memories, [Link(older=a, newer=b, relation=draw(kinds)) for a, b in chosen]


def drawn(graph: tuple[list[Memory], list[Link]]) -> Drawing:
    return Drawing(*graph, frozenset())


def cards(drawing: Drawing) -> dict[int, Box]:
    return {
        number: Box(left, top, left + WIDTH, top + height)
        for number, (left, top, height) in drawing.cards.items()
    }


def labels(drawing: Drawing) -> dict[tuple[int, str], Box]:
    return {
        (newer, name): Box(tip - LABEL + 2, y - 10, tip, y + 10)
        for newer, name, tip, y in drawing.labels
    }


def lines(drawing: Drawing, links: list[Link]) -> list[tuple[Link, Box]]:
    """Each straight part of each link."""
    found: list[tuple[Link, Box]] = []
    for link in links:
        for (x, y), (to, down) in pairwise(drawing.wires[link.older, link.newer]):
            assert x == to or y == down
            found.append((link, Box(min(x, to), min(y, down), max(x, to), max(y, down))))
    return found


def bundle(link: Link) -> tuple[int, str]:
    return link.newer, str(link.relation or "Similar")


@given(graphs())
def test_time_runs_to_the_right(graph: tuple[list[Memory], list[Link]]) -> None:
    memories, links = graph
    drawing = drawn(graph)
    for link in links:
        assert drawing.cards[link.older][0] < drawing.cards[link.newer][0]
    heading = {middle - WIDTH // 2: words for words, middle in drawing.columns}
    linked = {number for link in links for number in (link.older, link.newer)}
    for one in memories:
        if one.id not in linked:
            assert heading[drawing.cards[one.id][0]] in {format_date(one.at), "later that day"}


@given(graphs())
def test_no_memory_covers_another_and_no_lane_another(
    graph: tuple[list[Memory], list[Link]],
) -> None:
    drawing = drawn(graph)
    assert set(drawing.cards) == {one.id for one in graph[0]}
    placed = cards(drawing)
    assert not any(a.meets(b) for a, b in combinations(placed.values(), 2))
    lanes = [Box(x, y, x + width, y + height) for x, y, width, height, _ in drawing.lanes]
    assert not any(a.meets(b) for a, b in combinations(lanes, 2))
    linked = {number for link in graph[1] for number in (link.older, link.newer)}
    assert sum(count for *_, count in drawing.lanes) == len(linked)
    for number, card in placed.items():
        assert any(lane.meets(card) for lane in lanes) == (number in linked)
        assert card.right <= drawing.width
        assert card.bottom <= drawing.height


@given(graphs())
def test_links_run_behind_no_memory_and_no_label_but_their_own(
    graph: tuple[list[Memory], list[Link]],
) -> None:
    drawing = drawn(graph)
    placed, named = cards(drawing), labels(drawing)
    for link, line in lines(drawing, graph[1]):
        wide = Box(line.left - 1, line.top - 1, line.right + 1, line.bottom + 1)
        hidden = [n for n, card in placed.items() if wide.meets(card)]
        assert set(hidden) <= {link.older, link.newer}
        assert [key for key, label in named.items() if wide.meets(label)] in ([], [bundle(link)])
    every = [*named.values(), *placed.values()]
    assert not any(a.meets(b) for a, b in combinations(every, 2))


def crossing() -> tuple[list[Memory], list[Link]]:
    """One link ends in a row at the very height of the memory where another begins."""
    days = [0, 0, 1, 2, 3]
    pairs = [(1, 3), (1, 4), (1, 5), (2, 5)]
    memories = [memory(number, after) for number, after in enumerate(days, 1)]
    return memories, [Link(older=a, newer=b, relation=Relation.CAUSE) for a, b in pairs]


@given(graphs())
@example(crossing())
def test_links_into_different_ends_run_apart(graph: tuple[list[Memory], list[Link]]) -> None:
    drawing = drawn(graph)
    for (link, a), (other, b) in combinations(lines(drawing, graph[1]), 2):
        if bundle(link) == bundle(other):
            continue
        level = a.top == a.bottom == b.top == b.bottom
        upright = a.left == a.right == b.left == b.right
        along = (level and a.left < b.right and b.left < a.right) or (
            upright and a.top < b.bottom and b.top < a.bottom
        )
        begins = drawing.cards[link.older][0] + WIDTH
        assert not along or (link.older == other.older and begins == a.left == b.left)


def test_a_year_looks_longer_than_a_month_and_a_day_is_no_gap() -> None:
    memories = [memory(1, 0), memory(2, 1), memory(3, 32), memory(4, 397)]
    drawing = Drawing(memories, [], frozenset())
    assert [words for words, _, _ in drawing.gaps] == ["4 weeks later", "12 months later"]
    assert drawing.gaps[0][2] < drawing.gaps[1][2]
    assert [words for words, _ in drawing.columns] == [format_date(one.at) for one in memories]


def test_undated_sessions_are_named_and_leave_no_gap() -> None:
    drawing = Drawing([memory(1, 0, 1), memory(2, 90, 2)], [], frozenset({1, 2}))
    assert [words for words, _ in drawing.columns] == ["session 1", "session 2"]
    assert drawing.gaps == []


@pytest.mark.parametrize(
    ("days", "words"),
    [
        (0, ""),
        (1, ""),
        (2, "2 days later"),
        (13, "13 days later"),
        (14, "2 weeks later"),
        (60, "2 months later"),
        (365, "12 months later"),
        (730, "2 years later"),
    ],
)
def test_gaps_are_told_in_words(days: int, words: str) -> None:
    assert later(days) == words
