"""The page of the graph: words stay data, nothing overlaps, and it works in a real browser."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.browser import chromium, needs_browser
from running import Terminal
from theanine.cli.page import timeline_page
from theanine.cli.page.place import cells, columns
from theanine.conversation import Session, Turn
from theanine.demo import HARBOUR
from theanine.memory import Link, Memory, Relation

START = datetime(2024, 5, 8, 12, tzinfo=UTC)
EVIL = "</script><script>alert(1)</script><!-- \u2028 & 'quotes' \"here\" @@SCRIPT@@"


def memory(number: int, session: int, text: str = "Ana sold the boat.") -> Memory:
    """Two sessions share each day."""
    at = START + timedelta(days=session // 2, minutes=session)
    return Memory(id=number, session=session, text=text, at=at, made_at=at, sources=(number,))


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Memory], list[Link]]:
    sessions = draw(st.lists(st.integers(1, 9), max_size=25).map(sorted))
    memories = [memory(number, session) for number, session in enumerate(sessions, 1)]
    pairs = [(a.id, b.id) for a in memories for b in memories if a.session < b.session]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=30)) if pairs else []
    return memories, [Link(older=a, newer=b, relation=Relation.CAUSE) for a, b in chosen]


@given(graphs())
def test_no_two_memories_share_a_place_and_time_runs_across(
    graph: tuple[list[Memory], list[Link]],
) -> None:
    memories, links = graph
    column, headings = columns(memories, frozenset())
    placed = cells(memories, links, column)
    assert len(set(placed.values())) == len(placed) == len(memories)
    assert all(placed[link.older][0] <= placed[link.newer][0] for link in links)
    assert all(headings[placed[m.id][0]].startswith(str(m.at.day)) for m in memories)


@given(graphs())
def test_an_edge_along_a_row_runs_behind_no_memory_of_its_own(
    graph: tuple[list[Memory], list[Link]],
) -> None:
    memories, links = graph
    column, _ = columns(memories, frozenset())
    placed = cells(memories, links, column)
    taken = set(placed.values())
    last = {link.newer: link for link in links}  # each memory stands behind its last
    for link in last.values():
        (start, row), (end, other) = placed[link.older], placed[link.newer]
        if row == other and [k for k in links if k.newer == link.newer] == [link]:
            assert not any((between, row) in taken for between in range(start + 1, end))


def test_remembered_words_never_become_markup() -> None:
    turn = Turn(id=1, session=1, text=EVIL, speaker=EVIL, at=START)
    session = Session(id=1, key="a", started_at=START)
    page = timeline_page([memory(1, 1, EVIL)], [], [turn], [session], title=EVIL)
    assert "alert(1)</script>" not in page
    assert page.count("<script") == 3
    data = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert data
    assert json.loads(data[1])["turns"]["1"]["words"] == EVIL


def test_the_page_reaches_for_nothing_outside() -> None:
    page = timeline_page([memory(1, 1)], [], [], [], title="ana")
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="', page.split("<script")[0])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.browser
@needs_browser
def test_in_a_browser(run: Terminal, tmp_path: Path, scheme: str) -> None:
    run("import", str(HARBOUR))
    memories = run("memories", "--user", "ana", "--json").json
    page_file = tmp_path / "ana.html"
    assert "73 memories" in run("timeline", "--user", "ana", "--html", str(page_file)).out
    with chromium() as browser:
        page = browser.new_page(color_scheme="light" if scheme == "light" else "dark")
        heard: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(page_file.as_uri())
        assert page.evaluate("graph.nodes().length") == 73
        assert page.locator("#axis span").first.inner_text() == "9 March 2024"
        page.evaluate("void graph.getElementById('19').emit('tap')")
        panel = page.locator("#panel")
        assert "Exactly. The only way to Cres is the ferry" in panel.inner_text()
        assert "turn 31" in panel.inner_text()
        panel.get_by_role("button", name="Reason").click()
        assert "My father held my hand" in panel.locator("h2").inner_text()
        page.keyboard.press("Tab")
        page.locator("#graph").press("Escape")
        assert panel.is_hidden()
        page.get_by_label("Search memories").fill("hazelnut")
        found = sum("hazelnut" in one["text"].lower() for one in memories)
        assert page.locator("#count").inner_text() == f"{found} found"
        page.get_by_label("Changed").uncheck()
        assert page.evaluate("graph.edges('.hidden').length") == 6
        assert heard == []
        assert asked == [page_file.as_uri()]


def test_a_page_that_cannot_be_written_is_a_mistake(run: Terminal, tmp_path: Path) -> None:
    run("import", str(HARBOUR))
    ran = run("timeline", "--user", "ana", "--html", str(tmp_path / "no" / "a.html"), fine=False)
    assert (ran.code, "can't be written" in ran.err) == (2, True)
