"""Home, Conversations and Find: what is known, all that was said, and every place of a word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from playwright.sync_api import Browser, Page, expect

import theanine
from page.conftest import DESKTOP, PHONE, OpenPage
from support.browser import needs_browser
from theanine.folding import fold
from theanine.page.modules import join_modules
from theanine.types import History, Transcript, Utterance

pytestmark = [pytest.mark.browser, needs_browser]
Serve = Callable[[str | Path], OpenPage]
SIZES = pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
LONG = 1_200
"""Turns of the long conversation."""
START = datetime(2025, 3, 1, 9, tzinfo=UTC)
FIND = "Find what was said"


@pytest.fixture(scope="session")
def long_store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with a long conversation, short ones before and after it, and nothing remembered."""
    location = str(tmp_path_factory.mktemp("long") / "memory.db")
    transcripts = [
        Transcript(
            key=f"talk {n}",
            at=START + timedelta(days=20 * n),
            turns=[
                Utterance(
                    speaker=("Ana", "Bo")[turn % 2],
                    role=("user", "assistant")[turn % 2],
                    text=f"Talk {n} has sentence {turn} here.",
                    at=START + timedelta(days=20 * n, minutes=turn),
                )
                for turn in range(LONG if n == 3 else 4)
            ],
            metadata={"title": f"Title {n}"} if n % 2 else {},
        )
        for n in range(8)
    ]
    with theanine.open(location) as client:
        client.user("ana").log(History(name="ana", transcripts=transcripts))
    return location


def is_in_sight(page: Page, selector: str) -> bool:
    return page.evaluate(
        """selector => {
          const { top, bottom } = document.querySelector(selector).getBoundingClientRect();
          return top >= 0 && bottom <= innerHeight;
        }""",
        selector,
    )


@SIZES
def test_home_says_what_holds_and_leads_to_where_it_was_said(
    serve_page: Serve, demo_store: str, size: tuple[int, int]
) -> None:
    page = serve_page(demo_store)("?user=ana", size=size)
    home = page.locator(".card").filter(has=page.get_by_role("heading", name="Home", exact=True))
    with theanine.open(demo_store) as client:
        profile = client.user("ana").profile()
    [line] = profile.areas["home"]
    expect(home.locator(".words").first).to_have_text(line.text)
    expect(home).to_contain_text("since Aug 24, 2024")
    expect(home.locator(".before")).to_contain_text(line.before[0].text)
    for more in page.locator(".home-cards .unfold button").all()[::-1]:
        more.click()
    shown = page.locator(".home-cards > .card li > .memory-item .words").all_inner_texts()
    assert {each.text for each in profile.lines} <= set(shown)
    home.get_by_role("link", name=line.text[:40]).click()
    expect(page.locator(".said.source")).to_contain_text(line.text)
    assert is_in_sight(page, ".said.source")


@SIZES
def test_who_comes_up_has_a_page_of_its_own(
    serve_page: Serve, demo_store: str, size: tuple[int, int]
) -> None:
    page = serve_page(demo_store)("home?user=ana", size=size)
    page.get_by_role("link", name="Lucija sister").click()
    expect(page.get_by_role("heading", name="Lucija", exact=True)).to_be_visible()
    main = page.locator("main")
    expect(main).to_contain_text("sister · last mentioned Feb 8, 2025")
    expect(main).to_contain_text("My sister Lucija is getting married")
    mentions = page.locator(".mentions .memory-item")
    with theanine.open(demo_store) as client:
        ana = client.user("ana")
        [lucija] = [each for each in ana.profile().entities if each.name == "Lucija"]
        told = [next(turn for turn in ana.turns() if turn.id == id) for id in lucija.turns]
    expect(mentions.locator(".words")).to_have_text([turn.text for turn in told])
    main.get_by_role("link", name="Bura dog").click()
    expect(page.get_by_role("heading", name="Bura", exact=True)).to_be_visible()
    page.go_back()
    mentions.first.click()
    place = page.locator(".said.source")
    expect(place).to_contain_text(told[0].text)
    place.get_by_role("link", name="Lucija sister").click()  # and back from the place
    expect(page.get_by_role("heading", name="Lucija", exact=True)).to_be_visible()
    main.get_by_role("link", name="Find every “Lucija”").click()
    expect(page.get_by_role("status").filter(has_text="message")).to_be_visible()


def test_home_without_statements_and_an_entity_that_is_gone(
    serve_page: Serve, long_store: str
) -> None:
    open_page = serve_page(long_store)
    gone = open_page("entity?entity=Zoe")
    expect(gone.locator("main")).to_contain_text("Zoe doesn’t come up any more.")
    page = open_page("home")
    expect(page.get_by_text("Nobody has said anything of themselves")).to_be_visible()
    expect(page.locator(".conversation-item")).to_have_count(5)
    expect(page.locator(".conversation-item").first).to_contain_text("Title 7")


@SIZES
def test_what_was_logged_is_there_by_month_before_it_is_remembered(
    serve_page: Serve, long_store: str, size: tuple[int, int]
) -> None:
    page = serve_page(long_store)("conversations", size=size)
    items = page.locator(".conversation-item")
    expect(items).to_have_count(8)
    expect(items.first).to_contain_text("Title 7")
    expect(items.nth(1)).to_contain_text("Talk 6 has sentence 0 here.")
    expect(items.nth(4)).to_contain_text("Ana, Bo · 1,200 messages · not remembered yet")
    months = page.get_by_role("navigation", name="Months").get_by_role("link")
    expect(months).to_have_count(5)
    months.first.click()
    expect(items).to_have_count(2)
    expect(page.get_by_role("heading", name="March 2025")).to_be_visible()
    page.get_by_label("Go to a day").fill("2025-05-02")
    near = page.locator(".conversation-item[aria-current]")
    expect(near).to_contain_text("Apr 30, 2025")
    near.click()
    expect(page.get_by_role("heading", name="Title 3")).to_be_visible()
    expect(page.get_by_text("Talk 3 has sentence 0 here.", exact=True)).to_be_visible()
    page.go_back()
    expect(near).to_be_visible()
    timelines = serve_page(long_store)("timelines")
    timelines.get_by_role("link", name="Read what was said").click()
    expect(timelines.locator(".conversation-item")).to_have_count(8)


@SIZES
def test_a_long_conversation_is_read_from_any_place(
    serve_page: Serve, long_store: str, size: tuple[int, int]
) -> None:
    with theanine.open(long_store) as client:
        turns = client.user("ana").turns(session=4)
    open_page = serve_page(long_store)
    for at in (0, 700, LONG - 1):
        page = open_page(f"conversations?session=4&turn={turns[at].id}", size=size)
        expect(page.locator(".said.source")).to_contain_text(f"sentence {at} here")
        assert is_in_sight(page, ".said.source")
        assert page.locator(".said").count() <= 400
    # Upwards and downwards it goes on, in order and without gaps.
    page = open_page(f"conversations?session=4&turn={turns[700].id}", size=size)
    expect(page.locator(".said.source")).to_be_visible()
    for label in ("Earlier messages", "Later messages"):
        button = page.get_by_role("button", name=label)
        while button.count():
            button.evaluate_all("(elements) => elements.forEach((each) => each.scrollIntoView())")
            page.wait_for_timeout(50)
    shown = page.locator(".said .prose").all_inner_texts()
    assert shown == [turn.text for turn in turns]


def test_from_a_memory_to_its_place_and_back(serve_page: Serve, demo_store: str) -> None:
    page = serve_page(demo_store)("timelines?memory=40")
    memory = page.get_by_role("complementary", name="Memory")
    memory.get_by_role("link", name="Read it in the conversation").click()
    place = page.locator(".said.source")
    expect(place).to_contain_text("no running this year")
    place.get_by_role("link", name="remembered").click()
    expect(memory).to_contain_text("Memory 40")
    expect(place).to_be_visible()
    with theanine.open(demo_store) as client:
        made = [each for each in client.user("ana").memories() if each.session == 6]
    expect(page.locator(".places a")).to_have_count(sum(len(each.source_turns) for each in made))
    memory.get_by_role("button", name="Close").click()
    page.get_by_role("link", name="August 2024", exact=True).click()
    expect(page.get_by_role("heading", name="August 2024")).to_be_visible()


@SIZES
def test_words_are_found_as_they_are_typed(
    serve_page: Serve, demo_store: str, size: tuple[int, int]
) -> None:
    page = serve_page(demo_store)("?user=ana", size=size)
    expect(page.get_by_role("heading", name="Ana", exact=True)).to_be_visible()
    page.keyboard.press("/")
    search = page.get_by_role("searchbox", name=FIND)
    expect(search).to_be_focused()
    page.keyboard.type("shi", delay=30)
    with theanine.open(demo_store) as client:
        ana = client.user("ana")
        n = len(ana.turns(search="shi"))
        theo = [turn for turn in ana.turns(search="ships") if turn.speaker == "Theo"]
        since = ana.turns(search="ships", since="2024-09-01")
    expect(page.locator(".count")).to_contain_text(f"{n} messages")
    expect(page.locator(".results > li")).to_have_count(n)
    expect(search).to_be_focused()
    for text in ("ship", "shi", "ship", "shi"):  # what is broken off is found all the same
        search.fill(text)
    expect(page.locator(".count")).to_contain_text(f"{n} messages")
    page.keyboard.type("ps")
    expect(search).to_have_value("ships")
    marks = page.locator(".results mark")
    expect(marks.first).to_have_text("ships", ignore_case=True)
    page.get_by_label("Person").select_option("Theo")
    expect(page.locator(".results > li")).to_have_count(len(theo))
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_label("From").fill("2024-09-01")
    expect(page.locator(".results > li")).to_have_count(len(since))
    page.get_by_label("Order").select_option("oldest")
    expect(page.locator(".results > li").first).to_contain_text(since[0].text)
    page.locator(".results a").first.click()
    expect(page.locator(".said.source mark").first).to_have_text("ships")
    page.get_by_role("link", name="Find in this conversation").click()
    page.keyboard.press("Control+k")
    page.keyboard.type("e")
    button = page.get_by_role("button", name=re.compile("Only conversation"))
    expect(button).to_be_visible()
    page.go_back()
    page.go_back()
    expect(page.locator(".results > li")).to_have_count(len(since))
    assert page.evaluate("document.documentElement.scrollWidth") == size[0]


def test_a_question_is_answered_by_meaning(serve_page: Serve, demo_store: str) -> None:
    page = serve_page(demo_store)("?user=ana")
    page.get_by_role("searchbox", name=FIND).fill("Where does Ana live?")
    expect(page.locator(".count")).to_contain_text("No message has “Where does Ana live?”.")
    page.get_by_role("button", name="Find it by meaning").click()
    expect(page.locator(".results > li").first).to_contain_text("I moved to Ljubljana")
    expect(page.locator(".results .relevance").first).to_contain_text("relevance")
    page.get_by_label("Order").select_option("oldest")
    expect(page.locator(".results > li").first).to_contain_text("2024")
    page.get_by_role("link", name="Why these?").click()
    expect(page.get_by_text("candidates returned")).to_be_visible()
    page.goto(re.sub("#.*", "#/find?user=ana&by=meaning&q=submarine warfare treaty", page.url))
    expect(page.get_by_text("Nothing relevant was said.")).to_be_visible()


def test_any_word_of_any_turn_is_found(serve_page: Serve, demo_store: str) -> None:
    rng = Random(7)
    with theanine.open(demo_store) as client:
        turns = client.user("ana").turns()
    page = serve_page(demo_store)("find")
    search = page.get_by_role("searchbox", name=FIND)
    for turn in rng.sample(turns, 25):
        word = rng.choice(turn.text.split())
        search.fill(word)
        found = [
            each for each in turns if word.casefold() in f"{each.speaker} {each.text}".casefold()
        ]
        expect(page.locator(".count")).to_have_text(re.compile(rf"^{len(found)} messages?$"))
        if len(found) <= 50:
            expect(page.locator(f".results a[href*='turn={turn.id}&']")).to_have_count(1)


@SIZES
def test_all_views_are_reached_and_large_enough_to_touch(
    serve_page: Serve, demo_store: str, size: tuple[int, int]
) -> None:
    page = serve_page(demo_store)("?user=ana", size=size)
    main = page.locator("header nav > a")
    assert main.all_inner_texts() == ["Home", "Conversations", "Timelines", "Talk"]
    for name in ("Why", "Import", "Review", "Operate", "Keys"):
        page.locator("header nav summary").click()
        page.locator(".menu-items").get_by_role("link", name=name).click()
        expect(page).to_have_title(re.compile(name))
        expect(page.locator(".menu-items")).to_be_hidden()
    page.locator("header nav summary").press("Enter")
    page.keyboard.press("Escape")
    expect(page.locator(".menu-items")).to_be_hidden()
    expect(page.locator("header nav summary")).to_be_focused()
    if size != PHONE:
        return
    for route in ("home", "conversations", "conversations?session=6", "find?q=ships", "talk"):
        page.evaluate("hash => { location.hash = hash; }", f"#/{route}")
        expect(page.locator(f"main.view-{route.partition('?')[0]}")).to_be_visible()
        expect(page.locator(".loading")).to_have_count(0)
        assert page.evaluate(SMALL) == [], route


SMALL = """() => [...document.querySelectorAll("a, button, select, summary, input")]
  .filter((element) => element.checkVisibility() && !element.closest(".skip, p"))
  .filter((element) => {
    const { height, width } = element.getBoundingClientRect();
    return height < 44 || width < 44;
  })
  .map((element) => element.outerHTML.slice(0, 120))"""
"""Targets below 44 pixels, but for links in a line of text."""


@pytest.fixture(scope="module")
def words(browser: Browser) -> Iterator[Page]:
    """A page that has the functions of the Markdown and of the marks."""
    with browser.new_context() as context:
        page = context.new_page()
        script = join_modules("components/markdown.js")
        name = re.findall(r"^const (m\d+) = ", script, re.MULTILINE)[-1]
        split = re.findall(r"^const (m\d+) = ", script, re.MULTILINE)
        page.add_script_tag(
            content=f"{script}\nvar markdown = {name}, all = [{','.join(split)}];"
            "var words = all.find((each) => each.splitAtWords);"
        )
        yield page


def test_marks_and_blocks_lose_no_character(words: Page) -> None:
    rng = Random(5)
    pieces = [
        "ab",
        "Ab",
        "(",
        "[",
        "*",
        "\\",
        "`",
        "x-y",
        "ß",
        "é",
        "e\u0301",
        "’",
        "'",
        "s",
        "İ",
        "Σ",
        "海",
        " ",
        "  ",
        "|",
        "#",
        ">",
        "- ",
    ]
    for _ in range(400):
        text = "".join(rng.choices(pieces, k=rng.randint(0, 12)))
        query = "".join(rng.choices(pieces, k=rng.randint(0, 4)))
        for stem in (False, True):
            assert words.evaluate("(text) => words.fold(text)", text) == fold(text), text
            given = [text, query, stem]
            parts = words.evaluate("(given) => words.splitAtWords(...given)", given)
            assert "".join(parts) == text, (text, query)
            if not stem and query.strip():
                wanted = fold(query).split()
                assert all(any(word in fold(part) for word in wanted) for part in parts[1::2])
                found = any(word in fold(text) for word in wanted)
                assert found == (len(parts) > 1), (text, query)
        lines = "\n".join(rng.choices([text, "", "```", "- item", "| a | b |", "> said"], k=6))
        kept = words.evaluate("t => markdown.readBlocks(t).flatMap(({ lines }) => lines)", lines)
        for line in lines.split("\n"):
            if line.strip() and "`" not in line and "|" not in line and "#" not in line:
                assert line in kept, lines


def test_what_was_said_is_shown_as_it_was_written(serve_page: Serve, tmp_path: Path) -> None:
    location = str(tmp_path / "memory.db")
    text = (
        "# Plan\n\nUse **tabs** and `x = 1`:\n\n```python\nif a < b:\n    go()\n```\n\n"
        "| city | days |\n| --- | --- |\n| Rome | 3 |\n\n- one\n- two\n\n> quoted\n\n"
        "<img src=x onerror=alert(1)> [site](https://example.org/a) "
        "[bad](javascript:alert(1)) 2*3*4"
    )
    with theanine.open(location) as client:
        client.user("ana").add(text)
        client.user("ana").add("שלום, אני גרה בחיפה")
    page = serve_page(location)("conversations?session=1")
    said = page.locator(".said").first
    expect(said.locator("pre")).to_have_text("if a < b:\n    go()")
    expect(said.locator("strong")).to_have_text("tabs")
    expect(said.locator("td").first).to_have_text("Rome")
    expect(said.locator(".prose li")).to_have_text(["- one", "- two"])
    expect(said.locator("blockquote")).to_have_text("quoted")
    expect(said).to_contain_text("<img src=x onerror=alert(1)>")
    expect(said).to_contain_text("[bad](javascript:alert(1)) 2*3*4")
    expect(said.locator(".prose a")).to_have_attribute("href", "https://example.org/a")
    page.evaluate("hash => { location.hash = hash; }", "#/conversations?session=2")
    expect(page.locator(".said p").nth(1)).to_have_css("direction", "rtl")
