"""What an operator sees and does: work, operations, costs, methods, runs, and keys."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from playwright.sync_api import Page, expect

import theanine
from page.conftest import DESKTOP, PHONE, OpenPage
from support.browser import needs_browser
from theanine.clock import system_clock
from theanine.store import open_store
from theanine.store.values import JournalEntry
from theanine.types import Scope

pytestmark = [pytest.mark.browser, needs_browser]
Serve = Callable[[str | Path], OpenPage]
ANA = Scope("ana")


@pytest.fixture
def location(tmp_path: Path) -> str:
    """A store with a session that failed, and with model calls."""
    path = str(tmp_path / "memory.db")
    with theanine.open(path, remembering="later") as client:
        client.user("ana").add("I like tea.")
    with ThreadPoolExecutor() as other:  # where no event loop runs
        other.submit(anyio.run, _fill, path).result()
    return path


async def _fill(location: str) -> None:
    store = open_store(location)
    await store.open()
    now = system_clock()
    try:
        lease = await store.acquire_lease(ANA, "machine 7", timedelta(minutes=5))
        assert lease is not None
        await store.record_failure(ANA, 1, "theanine", "the model is overloaded", lease=lease)
        await store.release_lease(ANA, lease)
        for day in range(3):
            entry = JournalEntry(
                key=f"{day:064x}",
                step="relate",
                version=2,
                model="m",
                prompt="Which of these belong together?",
                error="not JSON" if day == 1 else "",
                rejected=day == 1,
                input_tokens=1_000,
                output_tokens=50,
                cost=0.25,
                at=now - timedelta(days=day),
                session=1,
            )
            await store.add_journal_entry(ANA, entry)
    finally:
        await store.close()


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_a_stuck_session_is_retried(
    serve_page: Serve, location: str, size: tuple[int, int]
) -> None:
    page = serve_page(location)("operate?user=ana", size=size)
    work = page.get_by_role("region", name="Waits to be remembered")
    expect(work).to_contain_text("set aside")
    expect(work).to_contain_text("the model is overloaded")
    work.get_by_role("button", name="Cancel: ana, conversation 1").click()
    expect(work).to_contain_text("cancelled")
    work.get_by_role("button", name="Retry: ana, conversation 1").click()
    expect(work).to_contain_text("waiting")
    page.get_by_role("button", name="Remember all now").click()
    operations = page.get_by_role("region", name="Operations")
    expect(operations).to_contain_text("remember")
    expect(page.get_by_text("Everything is remembered.")).to_be_visible()
    assert fits(page)


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_a_session_is_taken_from_a_worker_that_is_stuck(
    serve_page: Serve, tmp_path: Path, size: tuple[int, int]
) -> None:
    path = str(tmp_path / "memory.db")
    with theanine.open(path, remembering="later") as client:
        client.user("ana").add("I like tea.")
    with ThreadPoolExecutor() as other:  # where no event loop runs
        other.submit(anyio.run, _hold_lease, path).result()
    page = serve_page(path)("timelines?user=ana", size=size)
    expect(page.get_by_text("1 conversation waits to be remembered.")).to_be_visible()
    page.get_by_role("link", name="See what they wait for").click()
    expect(page.get_by_role("status").filter(has_text="1 being remembered")).to_be_visible()
    expect(page.get_by_role("region", name="Who is remembering")).to_contain_text("machine 7")
    page.get_by_role("button", name="Take over: ana, conversation 1").click()
    expect(page.get_by_role("status").filter(has_text="1 waiting")).to_be_visible()
    expect(page.get_by_role("region", name="Who is remembering")).to_have_count(0)
    assert fits(page)


async def _hold_lease(location: str) -> None:
    store = open_store(location)
    await store.open()
    assert await store.acquire_lease(ANA, "machine 7", timedelta(hours=2)) is not None
    await store.close()


@pytest.mark.parametrize(("size", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
def test_costs_are_shown_by_day_and_step(
    serve_page: Serve, location: str, size: tuple[int, int], scheme: str
) -> None:
    page = serve_page(location)("operate?user=ana", size=size, scheme=scheme)
    steps = page.get_by_role("region", name="Method and step")
    cells = steps.get_by_role("row").filter(has_text="theanine · relate").get_by_role("cell")
    expect(cells).to_have_text(["3", "1", "3,000", "150", "100%", "$0.75"])
    expect(page.get_by_role("region", name="Unusable replies")).to_contain_text("not JSON")
    page.get_by_text("By day", exact=True).first.click()
    expect(page.get_by_role("region", name="By day").get_by_role("row")).to_have_count(4)
    expect(page.locator(".chart svg rect").first).to_be_visible()
    page.get_by_label("Time").select_option(label="Last 7 days")
    expect(page.locator(".chart svg rect").first).to_be_visible()
    expect(page).to_have_url(re.compile("days=7"))
    assert fits(page)


def test_methods_and_runs_are_side_by_side(
    serve_page: Serve, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    open_page = serve_page(location)
    page = open_page("operate?user=ana")
    expect(page.get_by_role("region", name="Methods, side by side")).to_contain_text("theanine")
    expect(page.get_by_text("There are no finished runs in")).to_be_visible()
    expect(page.get_by_role("heading", name="Compare methods on what ana said")).to_be_visible()
    run = tmp_path / "runs" / "own"
    run.mkdir(parents=True)
    means = {"theanine": {"evidence": {"mean": 1.0}}, "exchange": {"evidence": {"mean": 0.692}}}
    summary = {
        "samples": 4,
        "failures": {},
        "unanswered": 0,
        "metrics": {"evidence": {"mean": 0.846}},
        "categories": means,
        "spent": {},
    }
    settings = {"bench": "compare", "config": {"method": "theanine"}}
    (run / "summary.json").write_text(json.dumps(summary))
    (run / "settings.json").write_text(json.dumps(settings))
    (run / "report.html").write_text("<!doctype html><title>Report</title><p>All answers")
    page.reload()
    table = page.get_by_role("region", name="own")
    expect(table.get_by_role("row").filter(has_text="exchange")).to_contain_text("0.692")
    with page.expect_popup() as popup:
        page.get_by_role("link", name="Open the report").click()
    expect(popup.value.get_by_text("All answers")).to_be_visible()


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_methods_are_compared_after_the_cost_was_shown(
    serve_page: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = str(tmp_path / "memory.db")
    with theanine.open(path) as client:
        for text in ("I moved to Split.", "I sail to Split on Sundays."):
            client.user("ana").add(text)
    page = serve_page(path)("operate?user=ana", size=size)
    for name in ("secom", "full-history"):
        page.get_by_label(name, exact=True).uncheck()
    page.get_by_role("button", name="Show the cost").click()
    costs = page.get_by_role("region", name="Cost of remembering")
    expect(costs.get_by_role("row")).to_have_count(3)
    page.get_by_role("button", name="Compare now").click()
    operations = page.get_by_role("region", name="Operations")
    expect(operations).to_contain_text("compare")
    run = page.get_by_role("region", name="own-")
    expect(run.get_by_role("row").filter(has_text="exchange")).to_be_visible(timeout=300_000)
    assert fits(page)


def test_a_conversation_is_forgotten_from_the_list(serve_page: Serve, location: str) -> None:
    page = serve_page(location)("operate?user=ana")
    page.get_by_role("button", name="Forget …: conversation 1").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 conversation")
    page.get_by_role("button", name="Forget the conversation").click()
    expect(page.get_by_role("region", name="Hidden until erased")).to_be_visible()


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_a_key_is_created_shown_once_and_revoked(
    serve_page: Serve, location: str, size: tuple[int, int]
) -> None:
    page = serve_page(location)("keys", size=size)
    expect(page.get_by_text("There are no keys yet.")).to_be_visible()
    page.get_by_label("Name").fill("app")
    page.get_by_label("Only for the user").fill("ana")
    page.get_by_label("write").uncheck()
    page.get_by_role("button", name="Create the key").click()
    dialog = page.get_by_role("dialog", name="The new key")
    token = dialog.locator("code").inner_text()
    assert token.startswith("theanine_")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    row = page.get_by_role("region", name="Keys").get_by_role("row").filter(has_text="app")
    expect(row).to_contain_text("ana")
    expect(row).to_contain_text("valid")
    assert token.rpartition("_")[2] not in page.content()
    row.get_by_role("button", name="Revoke: app").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke", exact=True).click()
    expect(row).to_contain_text("revoked")
    assert fits(page)
