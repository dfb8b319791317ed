"""The layout of a memory graph: time runs to the right, and nothing overlaps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import combinations, pairwise
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from theanine.cli.timeline_page.grid import format_gap
from theanine.cli.timeline_page.layout import LABEL, WIDTH, Layout
from theanine.text.words import format_date
from theanine.types import Link, Memory, Relation

START = datetime(2024, 5, 8, 12, tzinfo=UTC)


class Box(NamedTuple):
    left: int
    top: int
    right: int
    bottom: int

    def overlaps(self, other: Box) -> bool:
        """Return whether they share more than an edge."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


def memory(number: int, after: int, session: int = 1, *, dated: bool = True) -> Memory:
    at = START + timedelta(days=after, minutes=number)
    return Memory(
        id=number,
        session=session,
        text="Ana sold the boat.",
        at=at,
        session_ended_at=at,
        dated=dated,
    )


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Memory], list[Link]]:
    """Draw memories and links; sessions may overlap, and links may join memories of one day."""
    days = draw(st.lists(st.sampled_from([0, 0, 1, 2, 30, 400]), max_size=16))
    memories = [memory(number, after, number // 3) for number, after in enumerate(days, 1)]
    pairs = [(a.id, b.id) for a, b in combinations(memories, 2)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=24)) if pairs else []
    kinds = st.sampled_from([Relation.CAUSE, Relation.WANT, Relation.REACT, None])
    return memories, [Link(older=a, newer=b, relation=draw(kinds)) for a, b in chosen]


def cards(layout: Layout) -> dict[int, Box]:
    return {
        number: Box(left, top, left + WIDTH, top + height)
        for number, (left, top, height) in layout.cards.items()
    }


def labels(layout: Layout) -> dict[tuple[int, str], Box]:
    return {
        (newer, name): Box(tip - LABEL + 2, y - 10, tip, y + 10)
        for newer, name, tip, y in layout.labels
    }


def lines(layout: Layout, links: list[Link]) -> list[tuple[Link, Box]]:
    """Return each straight segment of each link."""
    segments: list[tuple[Link, Box]] = []
    for link in links:
        for (x, y), (next_x, next_y) in pairwise(layout.lines[link.older, link.newer]):
            assert x == next_x or y == next_y
            segments.append(
                (link, Box(min(x, next_x), min(y, next_y), max(x, next_x), max(y, next_y)))
            )
    return segments


def bundle(link: Link) -> tuple[int, str]:
    return link.newer, str(link.relation or "Similar")


@pytest.mark.slow
@given(graphs())
def test_time_runs_to_the_right(graph: tuple[list[Memory], list[Link]]) -> None:
    memories, links = graph
    layout = Layout(*graph)
    for link in links:
        assert layout.cards[link.older][0] < layout.cards[link.newer][0]
    heading = {middle - WIDTH // 2: text for text, middle in layout.columns}
    linked = {number for link in links for number in (link.older, link.newer)}
    for each in memories:
        if each.id not in linked:
            assert heading[layout.cards[each.id][0]] in {format_date(each.at), "later that day"}


@given(graphs())
def test_memories_and_lanes_do_not_overlap(graph: tuple[list[Memory], list[Link]]) -> None:
    layout = Layout(*graph)
    assert set(layout.cards) == {each.id for each in graph[0]}
    card_boxes = cards(layout)
    assert not any(a.overlaps(b) for a, b in combinations(card_boxes.values(), 2))
    lanes = [Box(x, y, x + width, y + height) for x, y, width, height, _ in layout.lanes]
    assert not any(a.overlaps(b) for a, b in combinations(lanes, 2))
    linked = {number for link in graph[1] for number in (link.older, link.newer)}
    assert sum(count for *_, count in layout.lanes) == len(linked)
    for number, card in card_boxes.items():
        assert any(lane.overlaps(card) for lane in lanes) == (number in linked)
        assert card.right <= layout.width
        assert card.bottom <= layout.height


@given(graphs())
def test_links_cross_no_memory_and_only_their_own_label(
    graph: tuple[list[Memory], list[Link]],
) -> None:
    layout = Layout(*graph)
    card_boxes, label_boxes = cards(layout), labels(layout)
    for link, line in lines(layout, graph[1]):
        wide = Box(line.left - 1, line.top - 1, line.right + 1, line.bottom + 1)
        crossed = [n for n, card in card_boxes.items() if wide.overlaps(card)]
        assert set(crossed) <= {link.older, link.newer}
        assert [key for key, label in label_boxes.items() if wide.overlaps(label)] in (
            [],
            [bundle(link)],
        )
    boxes = [*label_boxes.values(), *card_boxes.values()]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def crossing() -> tuple[list[Memory], list[Link]]:
    """Return a graph with a link that ends at the height where another begins."""
    days = [0, 0, 1, 2, 3]
    pairs = [(1, 3), (1, 4), (1, 5), (2, 5)]
    memories = [memory(number, after) for number, after in enumerate(days, 1)]
    return memories, [Link(older=a, newer=b, relation=Relation.CAUSE) for a, b in pairs]


@given(graphs())
@example(crossing())
def test_links_with_different_ends_share_no_segment(graph: tuple[list[Memory], list[Link]]) -> None:
    layout = Layout(*graph)
    for (link, a), (other, b) in combinations(lines(layout, graph[1]), 2):
        if bundle(link) == bundle(other):
            continue
        level = a.top == a.bottom == b.top == b.bottom
        upright = a.left == a.right == b.left == b.right
        along = (level and a.left < b.right and b.left < a.right) or (
            upright and a.top < b.bottom and b.top < a.bottom
        )
        begins = layout.cards[link.older][0] + WIDTH
        assert not along or (link.older == other.older and begins == a.left == b.left)


def test_a_year_is_wider_than_a_month_and_a_day_is_no_gap() -> None:
    memories = [memory(1, 0), memory(2, 1), memory(3, 32), memory(4, 397)]
    layout = Layout(memories, [])
    assert [text for text, _, _ in layout.gaps] == ["4 weeks later", "12 months later"]
    assert layout.gaps[0][2] < layout.gaps[1][2]
    assert [text for text, _ in layout.columns] == [format_date(each.at) for each in memories]


def test_undated_sessions_are_numbered_and_leave_no_gap() -> None:
    layout = Layout([memory(1, 0, 1, dated=False), memory(2, 90, 2, dated=False)], [])
    assert [text for text, _ in layout.columns] == ["session 1", "session 2"]
    assert layout.gaps == []


@pytest.mark.parametrize(
    ("days", "text"),
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
def test_gaps_in_words(days: int, text: str) -> None:
    assert format_gap(days) == text
