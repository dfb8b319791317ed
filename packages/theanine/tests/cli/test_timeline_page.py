"""The page of the graph: words stay data, it can be read, and it works in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from support.browser import chromium, needs_browser
from support.running import Terminal
from theanine.cli.timeline_page import timeline_page
from theanine.demo import HARBOUR
from theanine.types import Link, Memory, Relation, Session, Turn

START = datetime(2024, 5, 8, 12, tzinfo=UTC)
EVIL = "</script><script>alert(1)</script><!-- \u2028 & 'quotes' \"here\" @@SCRIPT@@"
KINDS = [*Relation, None]

FAINT = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const light = (colour) => {
    const [r, g, b] = [...rgba(colour)].map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (one) => {
    const colour = getComputedStyle(one).backgroundColor;
    return rgba(colour)[3] === 255 || !one.parentElement ? colour : behind(one.parentElement);
  };
  const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const faint = [];
  const check = (name, colour, over, least) => {
    const found = ratio(light(colour), light(over));
    if (found < least) faint.push(`${name}: ${found.toFixed(2)}`);
  };
  for (const one of document.body.querySelectorAll("*")) {
    if (![...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    if (one.closest("script, svg") || !one.checkVisibility()) continue;
    check(one.className || one.tagName, getComputedStyle(one).color, behind(one), 4.5);
  }
  const lane = getComputedStyle(document.querySelector(".lane")).backgroundColor;
  for (const one of document.querySelectorAll(".wire"))
    check("wire", getComputedStyle(one).stroke, lane, 3);
  for (const one of document.querySelectorAll(".memory"))
    check("border", getComputedStyle(one).borderTopColor, lane, 3);
  return [...new Set(faint)];
}"""
"""Texts with less than 4.5 : 1 to what is behind them, lines with less than 3 : 1 (WCAG 2.2 AA)."""


def graph_page(count: int) -> str:
    """Three memories a session, each but the first linked to one before it, years apart."""
    memories: list[Memory] = []
    turns: list[Turn] = []
    for number in range(1, count + 1):
        session = (number + 2) // 3
        at = START + timedelta(days=session * session, minutes=number)
        text = f"Ana sold boat {number}."
        memories.append(
            Memory(
                id=number,
                session=session,
                text=text,
                at=at,
                session_ended_at=at,
                source_turns=(number,),
            )
        )
        said = f"I sold number {number}."
        turns.append(Turn(id=number, session=session, text=said, speaker="Ana", at=at))
    links = [
        Link(older=number - 3, newer=number, relation=KINDS[number % len(KINDS)])
        for number in range(4, count + 1)
    ]
    sessions = [Session(id=n, key=str(n), started_at=START) for n in range(1, count // 3 + 2)]
    return timeline_page(memories, links, turns, sessions, title="ana")


def test_remembered_words_never_become_markup() -> None:
    turn = Turn(id=1, session=1, text=EVIL, speaker=EVIL, at=START)
    session = Session(id=1, key="a", started_at=START)
    memory = Memory(id=1, session=1, text=EVIL, at=START, session_ended_at=START, source_turns=(1,))
    page = timeline_page([memory], [], [turn], [session], title=EVIL)
    assert "alert(1)</script>" not in page
    assert page.count("<script") == 2
    data = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert data
    assert json.loads(data[1])["turns"]["1"]["words"] == EVIL


def test_the_page_reaches_for_nothing_outside() -> None:
    page = graph_page(3)
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="', page.split("<script")[0])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.mark.browser
@needs_browser
def test_in_a_browser(run: Terminal, tmp_path: Path, browser: Browser) -> None:
    run("import", str(HARBOUR))
    file = tmp_path / "ana.html"
    ran = run("timeline", "--user", "ana", "--html", str(file))
    assert ran.out == f"wrote {file}: 73 memories, 22 links\n"
    page = browser.new_page()
    heard: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    expect(page.locator(".memory")).to_have_count(73)
    expect(page.locator("#axis span").first).to_have_text("9 March 2024")
    expect(page.locator("#axis .gap").first).to_have_text("3 weeks later")
    panel, last = page.locator("#panel"), page.locator(".memory").last
    expect(last).not_to_be_in_viewport()
    page.get_by_label("Whole graph").click()
    expect(last).to_be_in_viewport(ratio=1)
    page.locator("[data-memory='19']").click()
    expect(panel).to_contain_text("Exactly. The only way to Cres is the ferry")
    expect(panel).to_contain_text("turn 31")
    panel.get_by_role("button", name="Reason").click()
    expect(panel.locator("h2")).to_contain_text("My father held my hand")
    expect(page.locator(".memory.chosen")).to_be_focused()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    page.get_by_label("Search memories").fill("hazelnut")
    expect(page.locator("#count")).to_have_text("4 found")
    expect(page.locator(".memory.found")).to_have_count(4)
    changed = page.locator(".label", has_text="Changed")
    expect(changed.first).to_be_visible()
    page.get_by_label("Changed").uncheck()
    expect(changed.first).to_be_hidden()
    assert heard == []
    assert asked == [file.as_uri()]
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.browser
@needs_browser
def test_everything_can_be_read(tmp_path: Path, browser: Browser, scheme: str) -> None:
    file = tmp_path / "ana.html"
    file.write_text(graph_page(30), "utf-8")
    page = browser.new_page(color_scheme="light" if scheme == "light" else "dark")
    page.goto(file.as_uri())
    page.locator("[data-memory='4']").click()
    expect(page.locator("#panel")).to_contain_text("I sold number 4.")
    assert page.evaluate(FAINT) == []
    assert page.locator(".label").count() == 27
    page.close()


@pytest.mark.browser
@needs_browser
def test_the_keyboard_goes_along_the_links_of_many_on_a_phone(
    tmp_path: Path, browser: Browser
) -> None:
    file = tmp_path / "ana.html"
    file.write_text(graph_page(500), "utf-8")
    page = browser.new_page(viewport={"width": 390, "height": 780})
    page.goto(file.as_uri())
    expect(page.locator(".memory")).to_have_count(500)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.get_by_label("Whole graph").focus()
    page.keyboard.press("Tab")
    expect(page.locator("[data-memory='1']")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    reached = page.locator("[data-memory='7']")
    expect(reached).to_be_focused()
    expect(reached).to_be_in_viewport(ratio=1)
    page.keyboard.press("Enter")
    panel = page.locator("#panel")
    expect(panel).to_contain_text("I sold number 7.")
    page.keyboard.press("ArrowLeft")
    expect(panel).to_contain_text("I sold number 4.")
    page.keyboard.press("Tab")
    expect(panel.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("[data-memory='4']")).to_be_focused()
    page.close()


def test_a_page_that_cannot_be_written_is_a_mistake(run: Terminal, tmp_path: Path) -> None:
    run("import", str(HARBOUR))
    ran = run("timeline", "--user", "ana", "--html", str(tmp_path / "no" / "a.html"), fine=False)
    assert (ran.code, "can't be written" in ran.err) == (2, True)
