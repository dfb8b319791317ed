"""Talk: a chat with what was recalled next to each reply, with a model and without one."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

import theanine
from page.conftest import DESKTOP, PHONE, OpenPage
from support.browser import needs_browser
from theanine.testing import Reply, ScriptedServer, status

pytestmark = [pytest.mark.browser, needs_browser]
Serve = Callable[..., OpenPage]
SIZES = pytest.mark.parametrize(
    ("size", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone"]
)
LONG = "Yes, book it: you are no longer afraid of ships."


@pytest.fixture
def store(demo_store: str, tmp_path: Path) -> str:
    """A copy of the bundled conversation, to write to."""
    return str(shutil.copy(demo_store, tmp_path / "demo.db"))


@SIZES
def test_a_reply_quotes_and_shows_what_was_recalled(
    serve_page: Serve, store: str, size: tuple[int, int], scheme: str
) -> None:
    page = serve_page(store)("talk?user=ana", size=size, scheme=scheme)
    message = page.get_by_label("Message")
    message.fill("Shall we book")
    message.press("Shift+Enter")
    message.press_sequentially("that cruise?")
    message.press("Enter")
    log = page.get_by_role("log")
    expect(log.locator(".turn.user")).to_have_text("anaShall we book\nthat cruise?")
    expect(log.locator(".turn.assistant")).to_contain_text("I booked a cruise")
    recalled = log.get_by_role("complementary")
    expect(recalled.locator(".recalled-line")).to_contain_text("things recalled: I booked a cruise")
    expect(recalled.get_by_role("listitem").first).to_contain_text("I booked a cruise")
    items = recalled.get_by_role("listitem")
    expect(items).to_have_count(3)
    recalled.get_by_role("button", name="Show").click()
    expect(items.nth(3)).to_be_visible()
    recalled.get_by_role("link", name="not afraid of ships any more").press("Enter")
    expect(page.get_by_role("complementary", name="Memory")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("thread=page-"))
    page.reload()
    expect(log.locator(".turn.assistant")).to_contain_text("I booked a cruise")
    expect(recalled).to_contain_text("things recalled")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    recalled.get_by_role("link", name="Why?").click()
    expect(page.get_by_text("candidates returned")).to_be_visible()


def test_a_conversation_is_ended_and_remembered(serve_page: Serve, store: str) -> None:
    page = serve_page(store)("talk?user=ana")
    page.get_by_label("Message").fill("I adopted a cat called Miso.")
    page.get_by_role("button", name="Send").click()
    page.get_by_role("button", name="End and remember").click()
    expect(page.get_by_role("status").get_by_text("1 new memory")).to_be_visible()
    expect(page.get_by_role("button", name="End and remember")).to_be_hidden()
    with theanine.open(store) as client:
        assert "Miso" in client.user("ana").memories(newest_first=True, limit=1)[0].text


def test_a_model_replies_in_pieces_and_is_stopped(serve_page: Serve, store: str) -> None:
    with ScriptedServer(Reply(text=LONG)) as server:
        page = serve_page(store, model="openai:x", base_url=server.base_url)("talk?user=ana")
        message = page.get_by_label("Message")
        message.fill("Shall we book that cruise?")
        message.press("Enter")
        answer = page.locator(".turn.assistant").last
        expect(answer.locator("p")).to_have_text(LONG)
        expect(answer).to_contain_text("openai:x")
        server.script(Reply(text=LONG, pause=3))
        message.fill("Really?")
        message.press("Enter")
        expect(page.get_by_text("Yes, book", exact=False).last).to_be_visible()
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_role("button", name="Send")).to_be_visible()
        expect(page.locator(".turn.user")).to_have_count(2)


def test_a_reply_that_failed_is_asked_for_again(serve_page: Serve, store: str) -> None:
    with ScriptedServer(Reply(text=LONG)) as server:
        limits = theanine.Limits(retries=0)
        settings = {"model": "openai:x", "base_url": server.base_url, "limits": limits}
        page = serve_page(store, **settings)("talk?user=ana")
        server.script([status(401), Reply(text=LONG)])
        page.get_by_label("Message").fill("Shall we book that cruise?")
        page.get_by_role("button", name="Send").click()
        page.get_by_role("alert").get_by_role("button", name="Try again").click()
        expect(page.locator(".turn.assistant p")).to_have_text(LONG)
        expect(page.locator(".turn.user")).to_have_count(1)


def test_whoever_is_new_gives_a_name_and_talks(serve_page: Serve, tmp_path: Path) -> None:
    page = serve_page(tmp_path / "memory.db")("talk")
    page.get_by_label("Whose memory is it?").fill("bo")
    page.keyboard.press("Enter")
    page.get_by_label("Message").fill("I live in Lisbon.")
    page.keyboard.press("Enter")
    expect(page.locator(".turn.assistant")).to_be_visible()
    expect(page).to_have_url(re.compile("user=bo"))


def test_an_earlier_talk_goes_on(serve_page: Serve, store: str) -> None:
    page = serve_page(store)("talk?user=ana")
    message = page.get_by_label("Message")
    message.fill("I adopted a cat called Miso.")
    message.press("Enter")
    expect(page.locator(".turn.assistant")).to_have_count(1)
    page.get_by_role("link", name="New talk").click()
    expect(page.locator(".turn")).to_have_count(0)
    page.get_by_text("1 earlier talk").click()
    page.locator(".earlier").get_by_role("link", name="Miso").click()
    expect(page.locator(".turn.user")).to_contain_text("I adopted a cat")
    message.fill("Miso sleeps.")
    message.press("Enter")
    expect(page.locator(".turn.user")).to_have_count(2)
