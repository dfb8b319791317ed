"""The page as one file: stored text stays data, nothing is loaded, and all works."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from support.browser import chromium, needs_browser
from support.running import Terminal
from theanine.demo import HARBOUR
from theanine.page.graph import build_graph
from theanine.page.one_file import build_timeline_file
from theanine.types import Memory, Turn

START = datetime(2024, 5, 8, 12, tzinfo=UTC)
EVIL = "</script><script>alert(1)</script><!-- \u2028 & 'quotes' \"here\" </style> ${x} `"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def evil_page() -> str:
    turn = Turn(id=1, session=1, text=EVIL, speaker=EVIL, at=START)
    memory = Memory(
        id=1,
        session=1,
        text=EVIL,
        at=START,
        session_ended_at=START,
        source_turns=(1,),
        speakers=(EVIL,),
    )
    graph = build_graph([memory], [], [], {})
    return build_timeline_file(graph, [memory], [], [turn], user=EVIL)


def test_stored_text_never_becomes_markup() -> None:
    page = evil_page()
    assert "alert(1)</script>" not in page
    assert page.count("<script") == 2 and page.count("</style>") == 1
    data = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert data
    assert json.loads(data[1])["turns"][0]["text"] == EVIL


def test_the_policy_allows_nothing_but_what_is_inside() -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', evil_page())
    assert policy
    rules = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    assert rules["default-src"] == "'none'"
    assert re.fullmatch(r"'sha256-[\w+/=]+'", rules["script-src"])
    assert re.fullmatch(r"'sha256-[\w+/=]+'", rules["style-src"])


@pytest.mark.browser
@needs_browser
def test_stored_text_is_shown_as_it_is(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "evil.html"
    file.write_text(evil_page(), "utf-8")
    with browser.new_context(locale="en-US") as context:
        page = context.new_page()
        messages: list[str] = []
        page.on("console", lambda message: messages.append(message.text))
        page.on("dialog", lambda dialog: messages.append(dialog.message))
        page.goto(f"{file.as_uri()}#/timelines?as=list&memory=1")
        expect(
            page.get_by_role("complementary").get_by_role("heading", name="alert(1)")
        ).to_have_text(EVIL)
        assert messages == []


@pytest.mark.browser
@needs_browser
def test_the_file_in_a_browser(run: Terminal, browser: Browser, tmp_path: Path) -> None:
    run("import", str(HARBOUR))
    file = tmp_path / "ana.html"
    ran = run("timeline", "--user", "ana", "--html", str(file))
    assert re.fullmatch(rf"wrote {re.escape(str(file))}: 73 memories, \d+ links\n", ran.out)
    with browser.new_context(locale="en-US", reduced_motion="reduce") as context:
        page = context.new_page()
        messages: list[str] = []
        requests: list[str] = []
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(file.as_uri())
        expect(page.get_by_text("73 memories from 10 conversations")).to_be_visible()
        page.get_by_role("searchbox", name="Find what was said").fill("hazelnut")
        expect(page.get_by_text("4 messages")).to_be_visible()
        page.get_by_role("link", name="Hazelnuts close my throat").click()
        expect(page.locator(".said")).to_have_count(12)
        expect(page.locator(".said.source mark")).to_have_text("Hazelnut")
        page.locator(".said.source").get_by_role("link", name="remembered").click()
        panel = page.get_by_role("complementary", name="Memory")
        expect(panel).to_contain_text("adrenaline pen")
        page.get_by_role("link", name="Conversations").click()
        expect(page.locator(".conversation-item")).to_have_count(10)
        assert messages == []
        assert requests == [file.as_uri()]


def test_a_page_that_cannot_be_written_is_a_user_error(run: Terminal, tmp_path: Path) -> None:
    run("import", str(HARBOUR))
    ran = run("timeline", "--user", "ana", "--html", str(tmp_path / "no" / "a.html"), fine=False)
    assert (ran.code, "can't be written" in ran.err) == (2, True)
