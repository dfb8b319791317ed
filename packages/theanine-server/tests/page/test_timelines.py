"""Timelines and search in a browser: by pointer and keys, on small and large data."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import anyio
import pytest
from playwright.sync_api import Locator, Page, expect

import theanine
from page.conftest import DESKTOP, PHONE, OpenPage
from support.browser import LIMIT, needs_browser
from support.lives import chatgpt_export, fill_store
from support.states import MOVES, STATES, fill_with_states
from theanine.demo import HARBOUR
from theanine.importers import read_histories
from theanine.types import Relation

pytestmark = [pytest.mark.browser, needs_browser]
Serve = Callable[[str | Path], OpenPage]
SIZES = pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])


@pytest.fixture(scope="session")
def chatgpt_store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with a generated export of ChatGPT of 200 conversations."""
    folder = tmp_path_factory.mktemp("chatgpt")
    export = chatgpt_export(folder / "chatgpt.zip", 200)
    location = str(folder / "memory.db")
    with theanine.open(location) as client:
        ana = client.user("ana")
        ana.log(read_histories(export).histories[0])
        ana.remember()
    return location


@pytest.fixture(scope="session")
def large_store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with 10,000 memories."""
    location = str(tmp_path_factory.mktemp("large") / "memory.db")
    with ThreadPoolExecutor() as other:  # where no event loop runs
        other.submit(anyio.run, fill_store, location, 10_000).result()
    return location


def drawn(page: Page) -> Page:
    """Wait for the first words on the canvas."""
    page.wait_for_function(
        "() => performance.getEntriesByName('theanine-drawn').length > 0", timeout=LIMIT
    )
    return page


def spoken(page: Page) -> Locator:
    """Return what a screen reader is told of the canvas."""
    return page.locator(".timeline [role=status]")


def ink(page: Page, rows: int = 5) -> list[float]:
    """Return the share of drawn pixels in horizontal bands of the canvas, from the top."""
    page.evaluate(FRAMES)
    return page.evaluate(INK, rows)


FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Waits until all is drawn that was asked for; with reduced motion, that is one frame."""


INK = """(rows) => {
  const drawn = document.querySelector("canvas");
  const canvas = document.createElement("canvas");
  canvas.width = drawn.width;
  canvas.height = Math.floor(drawn.height / rows);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, 1, 1);
  const ground = context.getImageData(0, 0, 1, 1).data;
  return Array.from({ length: rows }, (_, row) => {
    context.drawImage(drawn, 0, -row * canvas.height);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 0; i < data.length; i += 4) {
      count += [0, 1, 2].reduce((sum, at) => sum + Math.abs(data[i + at] - ground[at]), 0) > 90;
    }
    return count / (data.length / 4);
  });
}"""
"""The share of pixels in each band that differ from the page, as words do."""


@SIZES
def test_a_click_on_words_opens_what_was_said(
    serve_page: Serve, demo_store: str, size: tuple[int, int]
) -> None:
    page = drawn(serve_page(demo_store)("timelines", size=size))
    box = page.locator(".timeline-box")
    box.click(position={"x": 60, "y": 56})
    topic = page.get_by_role("complementary", name="Cres, ships, ferry")
    expect(topic).to_contain_text("12 memories")
    expect(topic.get_by_text("6 weeks later").first).to_be_visible()
    topic.get_by_role("link", name="My father wants to sail with me again").click()
    memory = page.get_by_role("complementary", name="Memory")
    expect(memory).to_contain_text("Oct 13, 2024")
    expect(memory.get_by_text("Said before on the same topic")).to_be_visible()
    expect(memory).to_contain_text("both mention father, sail, cres, summer")
    memory.get_by_role("button", name="Close").click()
    expect(memory).to_have_count(0)
    expect(page).not_to_have_url(re.compile("memory"))


def test_a_state_that_ended_says_until_when_and_what_came(
    serve_page: Serve, demo_store: str
) -> None:
    page = serve_page(demo_store)("timelines?memory=17")
    memory = page.get_by_role("complementary", name="Memory")
    expect(memory.get_by_text("until Jun 22, 2024, then changed").first).to_be_visible()
    expect(memory.get_by_text("This changed to")).to_be_visible()
    versions = memory.locator(".versions > li")
    expect(versions).to_have_count(2)
    expect(versions.nth(1)).to_contain_text("moved the wedding")
    expect(memory).to_contain_text("without a language model, by the method theanine")
    memory.get_by_role("link", name="moved the wedding").first.click()
    expect(memory.get_by_text("Before, it was")).to_be_visible()
    page.go_back()
    expect(memory.get_by_role("heading", level=2)).to_contain_text("is getting married")


def test_only_what_words_end_is_shown_as_ended(serve_page: Serve, demo_store: str) -> None:
    page = serve_page(demo_store)("timelines?memory=24")
    memory = page.get_by_role("complementary", name="Memory")
    expect(
        memory.get_by_text("Said later on the same topic")
        .or_(memory.get_by_text("Said before on the same topic"))
        .first
    ).to_be_visible()
    expect(memory.get_by_text("then changed")).to_have_count(0)


@pytest.mark.parametrize(
    ("language", "ends", "due"),
    [
        ("en-US", "expires on Jan 1, 2127", "unverified since Jan 31, 2026"),
        ("de-DE", "läuft am 1. Jan. 2127 ab", "ungeprüft seit 31. Jan. 2026"),
    ],
)
def test_a_memorys_own_end_is_shown_wherever_it_is(
    serve_page: Serve, tmp_path: Path, language: str, ends: str, due: str
) -> None:
    """The days are those of where it was said, here in New York, whose day ends later."""
    location = str(tmp_path / "memory.db")
    with theanine.open(location) as client:
        ana = client.user("ana")
        ana.set_time_zone("America/New_York")
        at = datetime(2026, 1, 5, 9, tzinfo=ZoneInfo("America/New_York"))
        ana.add("My locker is 12.", at=at, expires="2127-01-01", verify_by="2026-01-31")
        ana.add("I like plums.", at=at)
        ana.remember()
    page = serve_page(location)("timelines?user=ana&as=list&memory=1", language=language)
    listed = page.locator(".topics .memory-item")
    panel = page.locator(".panel")
    for shown in (
        listed.filter(has_text="locker"),
        panel.locator(".state"),
        panel.locator(".turn"),
    ):
        expect(shown).to_contain_text(f"{ends} · {due}")
    expect(listed.filter(has_text="plums")).not_to_contain_text(due)
    for route in ("conversations?session=1", "find?q=locker", "find?q=locker&by=meaning"):
        page.evaluate("hash => { location.hash = hash; }", f"#/{route}&user=ana")
        expect(page.locator(".said, .results .memory-item").first).to_contain_text(
            f"{ends} · {due}"
        )


def test_a_memory_without_links_is_in_its_topic(serve_page: Serve, tmp_path: Path) -> None:
    location = str(tmp_path / "memory.db")
    with theanine.open(location) as client:
        ana = client.user("ana")
        for text in (
            "Mein Knie schmerzt beim Klettern.",
            "Mein Keller ist feucht.",
            "Eine neue Bandage hält das Knie beim Klettern.",
            "Die Bandage am Knie scheuert beim Klettern.",
        ):
            ana.add(text)
        ana.remember()
        assert ana.links() == []
        [timeline] = ana.timelines()
    page = serve_page(location)("timelines?as=list&topic=1&user=ana")
    topic = page.get_by_role("complementary", name=timeline.title)
    expect(topic.locator(".memory-item")).to_have_count(3)
    expect(topic).not_to_contain_text("Keller")
    page.goto(page.url.replace("topic=1", "topic=2"))
    alone = page.get_by_role("complementary", name="Mein Keller ist feucht.")
    expect(alone.locator(".memory-item")).to_have_count(1)
    expect(page.locator(".topic .memory-item")).to_have_count(4)


def test_keys_move_and_screen_readers_are_told(serve_page: Serve, demo_store: str) -> None:
    page = drawn(serve_page(demo_store)("timelines"))
    box = page.get_by_role("application", name="Timelines of what is remembered")
    box.focus()
    page.keyboard.press("ArrowDown")
    first = "Cres, ships, ferry. No, we still want to sail to Cres in August"
    expect(spoken(page)).to_contain_text(first)
    expect(spoken(page)).to_contain_text("Ana · Feb 8, 2025")
    page.keyboard.press("ArrowLeft")
    expect(spoken(page)).to_contain_text("trust ships again")
    page.keyboard.press("ArrowDown")
    expect(spoken(page)).not_to_contain_text("Cres, ships, ferry.")
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="Memory")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary")).to_have_count(0)
    expect(box).to_be_focused()
    page.keyboard.press("+")
    expect(page.get_by_role("button", name="Farther")).to_be_enabled()
    page.keyboard.press("0")
    expect(page.get_by_role("button", name="Farther")).to_be_disabled()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Closer")).to_be_focused()


@SIZES
def test_a_date_shows_what_was_known_and_what_changed_since(
    serve_page: Serve, demo_store: str, size: tuple[int, int]
) -> None:
    page = drawn(serve_page(demo_store)("timelines", size=size))
    before = ink(page)
    slider = page.get_by_label("What was known on")
    slider.focus()
    for _ in range(7):
        page.keyboard.press("ArrowLeft")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^Apr 20, 2024"))
    expect(page.get_by_text("memories held then")).to_be_visible()
    assert ink(page) != before
    page.get_by_role("link", name="changed since").click()
    panel = page.get_by_role("complementary", name="From Apr 20, 2024 to Feb 8, 2025")
    changed = panel.locator(".change")
    expect(changed.nth(1)).to_be_visible()
    expect(changed.first).to_contain_text("changed")
    panel.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_label("compared with")).to_be_visible()
    page.get_by_role("button", name="Today").click()
    expect(page.get_by_text("memories held then")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("at=|with="))


def test_a_state_counts_for_nothing_and_ends_with_its_statement(
    serve_page: Serve, tmp_path: Path
) -> None:
    location = str(tmp_path / "memory.db")
    fill_with_states(location)
    page = serve_page(location)("timelines?as=list&changes=1&at=2026-03-08T09:00:00&user=ana")
    panel = page.get_by_role("complementary", name="From Mar 8, 2026 to Mar 15, 2026")
    expect(panel.locator(".change")).to_have_count(1)
    expect(panel).to_contain_text(MOVES[2])
    for state in STATES:
        expect(panel).not_to_contain_text(state)
    expect(page.get_by_text("3 memories from 3 conversations")).to_be_visible()
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_label("Kind")).to_have_count(0)
    page.get_by_role("link", name="Timeline", exact=True).click()
    expect(page.get_by_text("1 memory held then.")).to_be_visible()
    page = serve_page(location)("timelines?memory=3&user=ana")
    memory = page.get_by_role("complementary", name="Memory")
    expect(memory.get_by_text("until Mar 15, 2026, then replaced")).to_be_visible()


def test_the_list_has_all_that_the_canvas_has(serve_page: Serve, demo_store: str) -> None:
    page = serve_page(demo_store)("timelines")
    page.get_by_role("link", name="List").click()
    expect(page.locator(".topic .memory-item")).to_have_count(73)
    expect(page.get_by_role("heading", name="Cres, ships, ferry")).to_be_visible()
    first = page.locator(".topic .memory-item").first
    first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="Memory")).to_be_visible()


def test_filters_leave_what_they_name_and_have_an_address(
    serve_page: Serve, demo_store: str
) -> None:
    open_page = serve_page(demo_store)
    page = open_page("timelines")
    page.get_by_role("button", name="Filter").click()
    page.get_by_label("Person").select_option("Theo")
    expect(page.get_by_text("of 73 memories")).to_be_visible()
    page.get_by_label("Person").select_option("Ana")
    page.get_by_label("Relation").select_option(label="changed")
    with theanine.open(demo_store) as client:
        ana = client.user("ana")
        changes = [link for link in ana.links() if link.relation == Relation.CHANGED]
        changed = {memory for link in changes for memory in (link.older, link.newer)}
        own = [each for each in ana.memories() if each.id in changed and "Ana" in each.speakers]
    expect(page.get_by_text(f"{len(own)} of 73 memories")).to_be_visible()
    page.get_by_label("From").fill("2024-06-01")
    expect(page).to_have_url(re.compile("since=2024-06-01"))
    shared = page.url
    count = page.locator(".summary").inner_text()
    page.get_by_role("button", name="Clear filters").click()
    expect(page.get_by_text("73 memories from")).to_be_visible()
    page.goto(shared)
    expect(page.locator(".summary")).to_have_text(count)


@SIZES
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("data", ["demo_store", "chatgpt_store", "large_store"])
def test_every_part_of_the_screen_has_words_at_every_zoom(
    serve_page: Serve,
    request: pytest.FixtureRequest,
    data: str,
    size: tuple[int, int],
    scheme: str,
) -> None:
    page = serve_page(request.getfixturevalue(data))("timelines", size=size, scheme=scheme)
    drawn(page)
    for zoom in range(4):
        bands = ink(page)
        assert min(bands) > 0.002, (zoom, bands)
        assert max(bands) < 0.35, (zoom, bands)
        closer = page.get_by_role("button", name="Closer")
        for _ in range(2):
            if closer.is_enabled():
                closer.click()


def test_words_are_found_in_ten_thousand_memories(serve_page: Serve, large_store: str) -> None:
    page = drawn(serve_page(large_store)("timelines"))
    page.get_by_role("searchbox", name="Find in the timelines").fill("Violin Kyoto")
    with theanine.open(large_store) as client:
        n = len(client.user("ana").memories(search="violin kyoto"))
    expect(page.get_by_role("status").filter(has_text="have these words")).to_contain_text(str(n))
    page.get_by_role("link", name="List").click()
    expect(page.locator(".topic .memory-item")).to_have_count(n)
    page.goto(page.url.split("#")[0] + "#/timelines?as=list")
    expect(page.locator(".topic")).to_have_count(60)
    page.get_by_role("button", name="more").click()
    expect(page.locator(".topic")).to_have_count(120)


@pytest.fixture(scope="session")
def partly_dated_store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with statements without dates beside the bundled conversation."""
    folder = tmp_path_factory.mktemp("undated")
    told = folder / "told.txt"
    told.write_text("Ana: My boat is called Mira.\nAna: I keep two cats at home.\n")
    location = str(folder / "memory.db")
    with theanine.open(location) as client:
        ana = client.user("ana")
        for source in (told, HARBOUR):
            ana.log(read_histories(source).histories[0])
        ana.remember()
    return location


def test_what_has_no_date_stands_before_the_dates(
    serve_page: Serve, partly_dated_store: str
) -> None:
    open_page = serve_page(partly_dated_store)
    page = drawn(open_page("timelines"))
    expect(page.locator(".summary")).not_to_contain_text("2000")
    expect(page.locator(".summary")).to_contain_text("2024")
    expect(page.locator(".scrubber output")).not_to_contain_text("2000")
    first = page.locator(".scrubber input").first
    first.fill("0")
    expect(page.locator(".scrubber output").first).to_contain_text("2024")
    listed = open_page("timelines?as=list")
    expect(listed.get_by_text("My boat is called Mira").first).to_be_visible()
    expect(listed.locator("main")).not_to_contain_text("2000")
    until = open_page("timelines?as=list&until=2024-12-31")
    expect(until.locator(".topic").first).to_be_visible()
    expect(until.get_by_text("My boat is called Mira")).to_have_count(0)


@SIZES
def test_one_timeline_is_read_in_full(
    serve_page: Serve, demo_store: str, size: tuple[int, int]
) -> None:
    page = serve_page(demo_store)("timelines?as=list", size=size)
    page.get_by_role("navigation", name="Months").get_by_role("link").first.click()
    page.wait_for_url("**since=2024-03-01&until=2024-03-31**")
    dates = page.locator(".topic .memory-item .quiet").all_inner_texts()
    assert dates and all("Mar" in date for date in dates)
    page.get_by_role("link", name="Cres, ships, ferry").click()
    expect(page.get_by_role("heading", name="Cres, ships, ferry", level=1)).to_be_visible()
    items = page.locator(".story .memory-item")
    expect(items).to_have_count(12)
    expect(page.locator(".now")).to_contain_text("No, we still want to sail to Cres")
    months = page.locator(".story .month-title").all_inner_texts()
    assert months[0] == "March 2024" and months[-1] == "February 2025"
    page.get_by_label("Find in this timeline").fill("father")
    expect(items).to_have_count(3)
    items.first.click()
    expect(page.get_by_role("complementary", name="Memory")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == size[0]


def test_what_is_said_again_is_folded_and_what_has_no_date_comes_last(
    serve_page: Serve, tmp_path: Path
) -> None:
    location = str(tmp_path / "memory.db")
    knee = "My knee hurts when I climb."
    with theanine.open(location) as client:
        ana = client.user("ana")
        for text in (knee, "A new brace holds the knee while I climb.", knee):
            ana.add(text)
        ana.remember()
    page = serve_page(location)("timelines?as=matter&topic=1&user=ana")
    again = page.locator(".again")
    expect(again).to_have_count(1)
    expect(again.locator(".memory-item")).to_be_hidden()
    again.locator("summary").click()
    expect(again.locator(".memory-item")).to_contain_text(knee)


def test_all_of_a_large_history_is_printed(serve_page: Serve, large_store: str) -> None:
    page = drawn(serve_page(large_store)("timelines?user=ana"))
    few = len(re.findall(rb"/Type\s*/Page\b", page.pdf()))
    assert few > 50, "all topics are printed, not what is on the screen"
