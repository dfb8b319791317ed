"""What a person does with what is remembered: correct, pin, add, forget and review."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from server.conftest import running

import theanine
from page.conftest import DESKTOP, PHONE, OpenPage
from support.browser import needs_browser
from support.doubtful import log_doubtful
from theanine_server import ServerOptions

pytestmark = [pytest.mark.browser, needs_browser]
Serve = Callable[[str | Path], OpenPage]
SAID = ("I moved to Split in May.", "My sister Bura bakes bread.", "I sail on Sundays.")


@pytest.fixture
def location(tmp_path: Path) -> str:
    """A store in which ana has said three things."""
    path = str(tmp_path / "memory.db")
    with theanine.open(path) as client:
        ana = client.user("ana")
        for text in SAID:
            ana.add(text)
    return path


@pytest.fixture
def doubtful(tmp_path: Path) -> str:
    """A store with changes of which the linker is not sure."""
    path = str(tmp_path / "doubtful.db")
    with theanine.open(path) as client:
        log_doubtful(client.user("ana"))
    return path


def memories(location: str) -> dict[int, str]:
    with theanine.open(location) as client:
        return {memory.id: memory.text for memory in client.user("ana").memories()}


def no_sideways_scrolling(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_a_memory_is_corrected_and_pinned(
    serve_page: Serve, location: str, size: tuple[int, int]
) -> None:
    page = serve_page(location)("timelines?user=ana&memory=2", size=size)
    panel = page.get_by_role("complementary")
    panel.get_by_role("button", name="Correct").click()
    field = page.get_by_label("What is true instead")
    expect(field).to_be_focused()
    expect(field).to_have_value("My sister Bura bakes bread.")
    field.fill("My sister Bura bakes cakes.")
    page.get_by_role("button", name="Save the correction").click()
    expect(panel.get_by_role("heading", level=2)).to_contain_text("cakes")
    expect(panel.get_by_text("corrected on").first).to_be_visible()
    panel.get_by_role("button", name="Pin", exact=True).click()
    expect(panel.get_by_role("button", name="Unpin")).to_have_attribute("aria-pressed", "true")
    assert no_sideways_scrolling(page)
    with theanine.open(location) as client:
        [pinned] = client.user("ana").memories(pinned=True)
    assert "cakes" in pinned.text


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_a_memory_is_hidden_and_taken_back(
    serve_page: Serve, location: str, size: tuple[int, int]
) -> None:
    page = serve_page(location)("timelines?as=list&user=ana&memory=2", size=size)
    page.get_by_role("complementary").get_by_role("button", name="Forget …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("listitem").filter(has_text=re.compile("^1 memory"))).to_be_visible()
    expect(dialog.get_by_text("Memories that go")).to_be_visible()
    expect(dialog.get_by_text("ana: My sister Bura bakes bread.")).to_be_visible()
    dialog.get_by_label("Everything of ana").check()
    expect(dialog.get_by_text("3 memories")).to_be_visible()
    dialog.get_by_label("This memory").check()
    dialog.get_by_role("button", name="Forget this memory").click()
    hidden = page.get_by_role("region", name="Hidden until erased")
    expect(hidden).to_contain_text("A memory is hidden.")
    expect(page.get_by_text("Bura bakes")).to_have_count(0)
    assert no_sideways_scrolling(page)
    page.reload()
    hidden.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Bura bakes").first).to_be_visible()
    expect(hidden).to_have_count(0)
    assert len(memories(location)) == 3


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_a_conversation_is_erased_and_the_receipt_comes_last(
    serve_page: Serve, location: str, size: tuple[int, int]
) -> None:
    page = serve_page(location)("timelines?user=ana&memory=2", size=size)
    page.get_by_role("complementary").get_by_role("button", name="Forget …").click()
    page.get_by_label("Its whole conversation").check()
    page.get_by_role("button", name="Forget the conversation").click()
    hidden = page.get_by_role("region", name="Hidden until erased")
    expect(hidden).to_contain_text("A conversation is hidden.")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert len(memories(location)) == 2, "the library hides it as well"
    page.get_by_role("button", name="Erase now").click()
    receipt = page.get_by_role("dialog", name="Erased")
    expect(receipt).to_contain_text("1 memory")
    expect(receipt).to_contain_text("nothing of it was found")
    page.keyboard.press("Escape")
    expect(receipt).to_have_count(0)
    expect(hidden).to_have_count(0)
    assert b"bakes bread" not in Path(location).read_bytes()


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_what_is_doubtful_is_accepted_corrected_or_forgotten(
    serve_page: Serve, doubtful: str, size: tuple[int, int]
) -> None:
    page = serve_page(doubtful)("review?user=ana", size=size)
    cards = page.locator(".card")
    expect(cards.first).to_be_visible()
    count = cards.count()
    expect(
        page.get_by_role("status").filter(has_text=f"{count} memories to look at")
    ).to_be_visible()
    cards.first.get_by_role("button", name="It is right").click()
    expect(cards).to_have_count(count - 1)
    cards.first.get_by_role("button", name="Correct").click()
    page.get_by_label("What is true instead").fill("I moved to Maribor.")
    page.get_by_role("button", name="Save the correction").click()
    expect(cards).to_have_count(count - 2)
    cards.first.get_by_role("button", name="Forget …").click()
    page.get_by_role("button", name="Forget this memory").click()
    expect(cards).to_have_count(count - 3)
    assert no_sideways_scrolling(page)
    page.reload()
    expect(cards).to_have_count(count - 3)


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_something_is_added_and_the_person_forgotten(
    serve_page: Serve, location: str, size: tuple[int, int]
) -> None:
    page = serve_page(location)("review?user=ana", size=size)
    page.get_by_label("Something to remember of ana").fill("I play the oboe.")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_text("Added.")).to_be_visible()
    assert any("oboe" in text for text in memories(location).values())
    page.get_by_role("button", name="Forget …").last.click()
    expect(page.get_by_role("dialog").get_by_text("4 memories")).to_be_visible()
    page.get_by_role("button", name="Forget everything of ana").click()
    expect(page.get_by_text("Nothing is remembered of ana yet")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Nothing is doubtful.")).to_be_visible()
    assert len(memories(location)) == 4


def test_a_key_that_only_reads_is_offered_no_acts(browser: Browser, location: str) -> None:
    with (
        running(ServerOptions(theanine.OpenOptions(location))) as service,
        browser.new_context(locale="en-US") as context,
    ):
        with ThreadPoolExecutor() as other:  # where no event loop runs
            key = other.submit(service.key, rights=["read"]).result()
        page = context.new_page()
        page.goto(f"{service.url}/#/timelines?user=ana&memory=2")
        page.get_by_label("Key").fill(key)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_text("What was said")).to_be_visible()
        for name in ("Correct", "Pin", "Forget …"):
            expect(page.get_by_role("button", name=name)).to_have_count(0)
        page.locator("header nav summary").click()
        page.get_by_role("link", name="Review").click()
        expect(page.get_by_text("What is doubtful")).to_be_visible()
        expect(page.get_by_role("button", name="Add")).to_have_count(0)
