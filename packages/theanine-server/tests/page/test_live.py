"""An open page shows at once, without loading it again, what is said and remembered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

import theanine
from page.conftest import OpenPage
from support.browser import needs_browser

pytestmark = [pytest.mark.browser, needs_browser]
Serve = Callable[[str | Path], OpenPage]


def test_what_is_said_elsewhere_shows_at_once(serve_page: Serve, tmp_path: Path) -> None:
    location = str(tmp_path / "memory.db")
    with theanine.open(location) as client:
        ana = client.user("ana")
        ana.add("I live in Split.")
        ana.remember()
        open_page = serve_page(location)
        home = open_page("home?user=ana")
        conversations = open_page("conversations?user=ana")
        timelines = open_page("timelines?user=ana&as=list")
        reading = open_page("conversations?user=ana&session=1")
        expect(home.get_by_text("I live in Split.").first).to_be_visible()
        expect(conversations.locator(".conversation-item")).to_have_count(1)
        expect(timelines.locator(".topic .memory-item")).to_have_count(1)
        expect(reading.locator(".said")).to_have_count(1)
        pages = (home, conversations, timelines, reading)
        for page in pages:
            page.evaluate("() => { window.isTheSame = true; }")
            page.wait_for_timeout(1_500)  # until its stream has begun

        ana.add("I moved to Rijeka.")
        card = home.locator(".card").filter(has=home.get_by_role("heading", name="Home"))
        expect(card.first).to_contain_text("I moved to Rijeka.")
        expect(card.first.locator(".before")).to_contain_text("I live in Split.")
        expect(conversations.locator(".conversation-item").first).to_contain_text("Rijeka")
        expect(timelines.locator(".memory-item").filter(has_text="Rijeka").first).to_be_visible()

        reading.evaluate("() => { location.hash = '#/home?user=ana'; }")
        expect(reading.locator(".home")).to_be_visible()
        ana.forget(session=1)
        expect(timelines.locator(".memory-item").filter(has_text="Split")).to_have_count(0)
        assert all(page.evaluate("() => window.isTheSame") for page in pages)


def test_a_conversation_that_goes_on_is_read_on(serve_page: Serve, tmp_path: Path) -> None:
    location = str(tmp_path / "memory.db")
    with theanine.open(location) as client:
        ana = client.user("ana")
        with ana.session("talk") as session:
            session.hear("Good morning.")
            page = serve_page(location)("conversations?user=ana&session=1")
            expect(page.locator(".said")).to_have_count(1)
            page.wait_for_timeout(1_500)
            session.say("Good morning, Ana.")
            session.hear("I bought a bicycle.")
            expect(page.locator(".said").last).to_contain_text("I bought a bicycle.")
            expect(page.locator(".said")).to_have_count(3)
