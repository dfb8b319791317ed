"""The timeline page: stored text stays data, contrast is sufficient, and it works in a browser."""

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
from theanine.types import Link, Memory, Relation, Turn

START = datetime(2024, 5, 8, 12, tzinfo=UTC)
EVIL = "</script><script>alert(1)</script><!-- \u2028 & 'quotes' \"here\" @@SCRIPT@@ @@DATA@@"
KINDS = [*Relation, None]

LOW_CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const luminance = (color) => {
    const [r, g, b] = [...rgba(color)].map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (node) => {
    const color = getComputedStyle(node).backgroundColor;
    return rgba(color)[3] === 255 || !node.parentElement ? color : background(node.parentElement);
  };
  const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const faults = [];
  const check = (name, color, behind, minimum) => {
    const ratio = contrast(luminance(color), luminance(behind));
    if (ratio < minimum) faults.push(`${name}: ${ratio.toFixed(2)}`);
  };
  for (const node of document.body.querySelectorAll("*")) {
    if (![...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim())) continue;
    if (node.closest("script, svg") || !node.checkVisibility()) continue;
    check(node.className || node.tagName, getComputedStyle(node).color, background(node), 4.5);
  }
  const lane = getComputedStyle(document.querySelector(".lane")).backgroundColor;
  for (const node of document.querySelectorAll(".link"))
    check("link", getComputedStyle(node).stroke, lane, 3);
  for (const node of document.querySelectorAll(".memory"))
    check("border", getComputedStyle(node).borderTopColor, lane, 3);
  return [...new Set(faults)];
}"""
"""Texts with a contrast below 4.5 : 1 and lines with one below 3 : 1 (WCAG 2.2 AA)."""


def graph_page(count: int) -> str:
    """Return a page with three memories per session, linked from session to session."""
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
        turn_text = f"I sold number {number}."
        turns.append(Turn(id=number, session=session, text=turn_text, speaker="Ana", at=at))
    links = [
        Link(older=number - 3, newer=number, relation=KINDS[number % len(KINDS)])
        for number in range(4, count + 1)
    ]
    return timeline_page(memories, links, turns, title="ana")


def test_stored_text_never_becomes_markup() -> None:
    turn = Turn(id=1, session=1, text=EVIL, speaker=EVIL, at=START)
    memory = Memory(id=1, session=1, text=EVIL, at=START, session_ended_at=START, source_turns=(1,))
    page = timeline_page([memory], [], [turn], title=EVIL)
    assert "alert(1)</script>" not in page
    assert page.count("<script") == 2
    data = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert data
    assert json.loads(data[1])["turns"]["1"]["text"] == EVIL


def test_the_page_loads_nothing_from_elsewhere() -> None:
    page = graph_page(3)
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="', page.split("<script")[0])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.mark.browser
@needs_browser
def test_the_page_in_a_browser(run: Terminal, tmp_path: Path, browser: Browser) -> None:
    run("import", str(HARBOUR))
    file = tmp_path / "ana.html"
    ran = run("timeline", "--user", "ana", "--html", str(file))
    assert re.fullmatch(rf"wrote {re.escape(str(file))}: 73 memories, \d+ links\n", ran.out)
    page = browser.new_page()
    messages: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
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
    panel.get_by_role("button", name="Changed").click()
    expect(panel.locator("h2")).to_contain_text(
        "I am no longer afraid of ships when the sea is calm"
    )
    expect(page.locator(".memory.selected")).to_be_focused()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    page.get_by_label("Search memories").fill("hazelnut")
    expect(page.locator("#count")).to_have_text("4 found")
    expect(page.locator(".memory.match")).to_have_count(4)
    changed = page.locator(".label", has_text="Changed")
    expect(changed.first).to_be_visible()
    page.get_by_label("Changed").uncheck()
    expect(changed.first).to_be_hidden()
    assert messages == []
    assert requests == [file.as_uri()]
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.browser
@needs_browser
def test_contrast_is_sufficient(tmp_path: Path, browser: Browser, scheme: str) -> None:
    file = tmp_path / "ana.html"
    file.write_text(graph_page(30), "utf-8")
    page = browser.new_page(color_scheme="light" if scheme == "light" else "dark")
    page.goto(file.as_uri())
    page.locator("[data-memory='4']").click()
    expect(page.locator("#panel")).to_contain_text("I sold number 4.")
    assert page.evaluate(LOW_CONTRAST) == []
    assert page.locator(".label").count() == 27
    page.close()


@pytest.mark.browser
@needs_browser
def test_arrow_keys_follow_links_in_a_large_graph_on_a_phone(
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
    seventh = page.locator("[data-memory='7']")
    expect(seventh).to_be_focused()
    expect(seventh).to_be_in_viewport(ratio=1)
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


def test_a_page_that_cannot_be_written_is_a_user_error(run: Terminal, tmp_path: Path) -> None:
    run("import", str(HARBOUR))
    ran = run("timeline", "--user", "ana", "--html", str(tmp_path / "no" / "a.html"), fine=False)
    assert (ran.code, "can't be written" in ran.err) == (2, True)
