"""The page with many memories in Debian's Chromium: `make bench-page`.

Script time is that of the callbacks that draw a frame, while the view moves; it does not include
what the browser does with the drawing. First words are on the canvas when the mark `theanine-drawn`
is set, counted from the beginning of the navigation.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

sys.path.insert(0, str(Path(__file__).parent))

from figures import Figure, percentile
from playwright.sync_api import Browser, Page

from support.browser import chromium
from support.lives import fill_store
from theanine.cli.rendering import console, show_table

MEMORIES = 10_000
FRAMES = 150
SCRIPT_MS = 8.0
FIRST_PAINT = 1.0
HOME = 0.5
SIZES = {"desktop": (1400, 900), "phone": (390, 780)}

TIMING = """
  window.frames_ = [];
  const request = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (callback) => request((time) => {
    const began = performance.now();
    callback(time);
    window.frames_.push(performance.now() - began);
  });
"""
"""Times each callback of a frame; the page draws in them."""
MOVE = """async ([dx, dy, frames]) => {
  const box = document.querySelector(".timeline-box");
  const request = () => new Promise((done) => setTimeout(done, 0));
  const next = () => new Promise((done) => window.requestAnimationFrame(done));
  window.frames_.length = 0;
  for (let i = 0; i < frames; i++) {
    box.scrollBy(dx, dy);
    await next();
    await request();
  }
  return window.frames_;
}"""
"""Moves the view by some pixels a frame; returns the milliseconds of the frames' callbacks."""
DRAWN = "() => performance.getEntriesByName('theanine-drawn').length > 0"
CARDS = "() => document.querySelector('.home-cards .card') && performance.now()"
"""Milliseconds from the beginning of the navigation until Home says what is known."""
PAINTS = """() => ({
  paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
  words: performance.getEntriesByName('theanine-drawn')[0].startTime,
})"""


def main() -> None:
    """Measure and print; exit with 1 when a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--memories", type=int, default=MEMORIES, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    figures: list[Figure] = []
    with TemporaryDirectory() as folder:
        store = Path(folder) / "memory.db"
        print(f"{options.memories:,} memories …", file=sys.stderr)
        anyio.run(fill_store, store, options.memories)
        with chromium() as browser:
            for name, size in SIZES.items():
                with opened(store) as link:
                    figures += measure(browser, link, name, size)
    show_table(
        ["figure", "measured", "goal", "", "note"],
        (
            [f.name, f"{f.value:.3g} {f.unit}", f"{f.goal:g} {f.unit}", f.verdict, f.note]
            for f in figures
        ),
    )
    if options.json:
        options.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=1))
    if any(figure.verdict == "MISSED" for figure in figures):
        console().print("a goal was missed")
        raise SystemExit(1)


@contextmanager
def opened(store: Path) -> Generator[str]:
    """Serve a store by a new process; yield the link that signs in once."""
    command = [sys.executable, "-m", "theanine", "open", "--no-browser", "--store", str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            lines = iter(process.stdout.readline, "")
            link = next(found[0] for line in lines if (found := re.search(r"http\S+", line)))
            yield link
        finally:
            process.terminate()


def measure(browser: Browser, link: str, name: str, size: tuple[int, int]) -> list[Figure]:
    """Return the figures of a screen, the first of a process that has read nothing yet."""
    width, height = size
    with browser.new_context(viewport={"width": width, "height": height}) as context:
        page = context.new_page()
        page.add_init_script(TIMING)
        page.goto(link.replace("#/?", "#/timelines?"))
        first = _paints(page)
        page.reload()
        again = _paints(page)
        figures = [
            _paint(f"first paint, {name}", first["paint"]),
            _paint(f"first words, {name}", first["words"], "by a process that has just started"),
            _paint(f"first words again, {name}", again["words"]),
            _frames(page, f"frame, all of the time, {name}", (0, 40)),
        ]
        for closer in (4, 4):
            for _ in range(closer):
                page.get_by_label("Closer").click()
            level = "closer" if len(figures) == 4 else "close"
            figures.append(_frames(page, f"frame, {level}, {name}", (-25, 3)))
        figures.append(_home(page, f"home, {name}"))
        return figures


def _paints(page: Page) -> dict[str, float]:
    page.wait_for_function(DRAWN, timeout=60_000)
    return page.evaluate(PAINTS)


def _home(page: Page, name: str) -> Figure:
    """Return how long Home takes, of a service that has shown it before."""
    shown = 0.0
    for _ in range(2):
        page.evaluate("() => { location.hash = '#/home'; }")
        page.reload()
        shown = page.wait_for_function(CARDS, timeout=60_000).json_value()
    return Figure(name=name, value=shown / 1000, unit="s", goal=HOME)


def _paint(name: str, milliseconds: float, note: str = "") -> Figure:
    seconds = milliseconds / 1000
    return Figure(name=name, value=seconds, unit="s", goal=FIRST_PAINT, note=note)


def _frames(page: Page, name: str, move: tuple[int, int]) -> Figure:
    """Return the script time of a frame while the view moves by some pixels each."""
    page.evaluate(MOVE, [*move, 10])
    frames: list[float] = page.evaluate(MOVE, [*move, FRAMES])
    note = f"p50 {percentile(frames, 0.5):.1f}, most {max(frames):.1f}"
    value = percentile(frames, 0.95)
    return Figure(name=f"{name}, p95", value=value, unit="ms", goal=SCRIPT_MS, note=note)


if __name__ == "__main__":
    main()
