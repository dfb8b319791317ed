"""Show the page of an unknown history to a stranger: `python benchmarks/stranger.py --diary 7`.

Writes a picture of each view that a stranger comes to from Home within two clicks, `questions.txt`
with ten questions of the diary, and `answers.txt` with the turns that answer them, to be read
after the answers are written down. How many of the ten are right is the score.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.page import opened
from playwright.sync_api import Page, expect

import theanine
from support.browser import chromium
from theanine_bench.datasets.asked import AskedHistory, read_asked

DIARIES = Path(__file__).parent.parent / "corpus" / "diaries_report.jsonl"
SIZE = (1280, 900)
TALLEST = 4_000
HEIGHT = """() => Math.max(...[...document.querySelectorAll("main, .main-column")]
  .map((element) => element.scrollHeight))"""
QUESTIONS = 10
NAMES, TOPICS, DAYS = 6, 4, 6
"""People, timelines and conversations that are opened."""


def main() -> None:
    """Write the pictures, the questions and the answers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--diary", type=int, default=0, metavar="N", help="number of the diary")
    parser.add_argument("--corpus", type=Path, default=DIARIES, metavar="FILE")
    parser.add_argument("--folder", type=Path, default=Path("build/stranger"), metavar="FOLDER")
    options = parser.parse_args()
    number: int = options.diary
    asked = read_asked(options.corpus)[number]
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    write_questions(asked, folder)
    with TemporaryDirectory() as store_folder:
        store = Path(store_folder) / "memory.db"
        with theanine.open(str(store)) as client:
            memory = client.user(asked.user)
            memory.log(asked.history)
            memory.remember()
        with opened(store) as link, chromium() as browser:
            page = browser.new_context(reduced_motion="reduce").new_page()
            page.goto(link)
            expect(page.locator("header.bar nav")).to_be_visible()
            for name in open_views(page):
                expect(page.locator(".loading")).to_have_count(0)
                page.screenshot(path=folder / f"{name}.png")
                print(f"{name}.png")


def write_questions(asked: AskedHistory, folder: Path) -> None:
    """Write ten questions that have an answer, and what answers them."""
    known = [question for question in asked.questions if question.needed]
    chosen = Random(0).sample(known, min(QUESTIONS, len(known)))
    numbered = list(enumerate(chosen, 1))
    (folder / "questions.txt").write_text("".join(f"{n}. {q.text}\n" for n, q in numbered))
    (folder / "answers.txt").write_text(
        "".join(
            f"{n}. {q.text}\n" + "".join(f"   {asked.turns[turn].text}\n" for turn in q.needed)
            for n, q in numbered
        )
    )


def open_views(page: Page) -> Iterator[str]:
    """Open one view after another, as tall as its content; yield a name for each."""
    yield from _tall(page, "home", "")
    for number, address in enumerate(_addresses(page, ".home-cards .entities a")[:NAMES]):
        yield from _tall(page, f"who-{number + 1}", address)
    yield from _tall(page, "timelines", "#/timelines")
    yield from _tall(page, "timelines-list", "#/timelines?as=list")
    for number, address in enumerate(_addresses(page, ".topic h2 a")[:TOPICS]):
        yield from _tall(page, f"timeline-{number + 1}", address)
    yield from _tall(page, "conversations", "#/conversations")
    for number, address in enumerate(_addresses(page, "a.conversation-item")[:DAYS]):
        yield from _tall(page, f"conversation-{number + 1}", address)


def _addresses(page: Page, selector: str) -> list[str]:
    return page.locator(selector).evaluate_all("links => links.map(each => each.hash)")


def _tall(page: Page, name: str, address: str) -> Iterator[str]:
    """Open an address in a window that is as tall as what it shows."""
    width, height = SIZE
    page.set_viewport_size({"width": width, "height": height})
    if address:
        page.evaluate("hash => { location.hash = hash; }", address)
    expect(page.locator("h1").first).to_be_attached()
    expect(page.locator(".loading")).to_have_count(0)
    page.wait_for_timeout(300)
    needed = int(page.evaluate(HEIGHT)) + 60
    page.set_viewport_size({"width": width, "height": min(TALLEST, max(height, needed))})
    page.wait_for_timeout(200)
    yield name


if __name__ == "__main__":
    main()
