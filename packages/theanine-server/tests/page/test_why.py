"""Why: a question or a past reply, its candidates, and the exact text for the model."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import theanine
from page.conftest import DESKTOP, PHONE, OpenPage
from support.browser import needs_browser
from theanine.demo import HARBOUR
from theanine.importers import read_histories

pytestmark = [pytest.mark.browser, needs_browser]
Serve = Callable[[str | Path], OpenPage]
QUESTION = "Shall we book that cruise?"
SIZES = pytest.mark.parametrize(
    ("size", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone"]
)


@pytest.fixture(scope="module")
def replied_store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The bundled conversation, and later a reply that recalled some of it; only for reading."""
    location = str(tmp_path_factory.mktemp("why") / "demo.db")
    with theanine.open(location) as client:
        ana = client.user("ana")
        ana.log(read_histories(HARBOUR).histories[0])
        ana.remember()
        session = ana.session("summer")
        session.hear("Shall we go on a ship?", at=datetime(2025, 3, 1, 9, tzinfo=UTC))
        session.reply(at=datetime(2025, 3, 1, 9, 1, tzinfo=UTC))
        session.end()
    return location


def fits(page: Page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@SIZES
def test_a_question_shows_what_became_of_each_candidate(
    serve_page: Serve, replied_store: str, size: tuple[int, int], scheme: str
) -> None:
    page = serve_page(replied_store)("why?user=ana", size=size, scheme=scheme)
    page.get_by_role("searchbox", name="Ask a question").fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="candidates returned")).to_be_visible()
    with theanine.open(replied_store) as client:
        explained = client.user("ana").explain(QUESTION)
    returned = [each for each in explained.candidates if each.outcome == "returned"]
    chip = page.get_by_role("button", name=f"Returned {len(returned)}", exact=True)
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    rows = page.locator(".candidates tbody tr")
    expect(rows).to_have_count(min(len(returned), 25))
    expect(rows.first).to_contain_text(returned[0].text)
    expect(rows.first).to_contain_text(f"{returned[0].scores['ranking']:.2f}")
    expect(page.locator(".prompt")).to_have_text(explained.prompt)
    expect(page.get_by_role("heading", name="Timelines that were walked")).to_be_visible()
    assert fits(page)


def test_method_budget_and_date_change_what_is_seen(serve_page: Serve, replied_store: str) -> None:
    page = serve_page(replied_store)("why?user=ana&q=Am I afraid of ships%3F")
    prompt = page.locator(".prompt")
    expect(prompt).to_contain_text("not afraid of ships any more")
    page.get_by_label("As of").fill("2024-04-30")
    expect(prompt).to_contain_text("terrified of ships")
    expect(prompt).not_to_contain_text("not afraid of ships any more")
    page.get_by_label("Budget").fill("60")
    page.get_by_label("Budget").press("Enter")
    expect(page.get_by_role("status").filter(has_text="of 60 tokens")).to_be_visible()
    expect(page.get_by_role("button", name="Did not fit")).to_be_visible()
    page.get_by_label("Method").select_option("utterance")
    expect(page.get_by_text("the method utterance has remembered nothing")).to_be_visible()
    expect(page).to_have_url(re.compile("budget=60&as_of=2024-04-30|as_of=2024-04-30&budget=60"))
    page.go_back()
    expect(prompt).to_contain_text("20 April 2024")


@SIZES
def test_a_past_reply_and_a_memory_of_it(
    serve_page: Serve, replied_store: str, size: tuple[int, int], scheme: str
) -> None:
    page = serve_page(replied_store)("why?user=ana", size=size, scheme=scheme)
    with theanine.open(replied_store) as client:
        [reply] = client.user("ana").turns(newest_first=True, limit=1)
    expect(page.get_by_role("link", name=reply.text[:20])).to_contain_text("memories recalled")
    page.get_by_role("link", name=reply.text[:20]).click()
    expect(page.get_by_label("Past reply")).to_have_value(str(reply.id))
    expect(page.locator(".turn.user")).to_contain_text("Shall we go on a ship?")
    then = page.get_by_text(f"The reply was given {len(reply.recalled)} memories then")
    then.click()
    expect(page.locator(".then")).to_have_count(len(reply.recalled))
    page.locator(".candidates a").first.press("Enter")
    panel = page.get_by_role("complementary", name="Memory")
    expect(panel).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(page).to_have_url(re.compile(f"reply={reply.id}"))
    assert fits(page)


def test_small_talk_and_the_unknown_are_said_plainly(serve_page: Serve, replied_store: str) -> None:
    page = serve_page(replied_store)("why?user=ana&q=Hello!", language="de-DE")
    expect(page.get_by_text("Das ist Geplauder")).to_be_visible()
    page.get_by_role("searchbox", name="Stell eine Frage").fill(
        "Which lectures about quantum chromodynamics?"
    )
    page.get_by_role("button", name="Erklären").click()
    expect(page.get_by_text("Nichts wird zurückgegeben")).to_be_visible()
    expect(page.locator(".prompt")).to_have_count(0)
