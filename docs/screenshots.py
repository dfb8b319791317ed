"""Write the pictures in docs/images of the page of the bundled conversation: `make screenshots`."""

from __future__ import annotations

import re
import subprocess
import sys
from argparse import ArgumentParser
from base64 import b64decode, b64encode
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from support.browser import chromium

FOLDER = Path(__file__).parent / "images"
DESKTOP, PHONE = (1200, 760), (390, 780)
SHOTS = {
    "home": (DESKTOP, "light", "home", "I moved to Ljubljana"),
    "conversation": (DESKTOP, "light", "conversations?session=6&turn=69&memory=40", "Who made it"),
    "find": (DESKTOP, "light", "find?q=ship", "15 messages"),
    "timelines": (DESKTOP, "light", "timelines", "73 memories"),
    "timelines-dark": (DESKTOP, "dark", "timelines", "73 memories"),
    "memory": (DESKTOP, "light", "timelines?memory=17", "What was said"),
    "changes": (DESKTOP, "light", "timelines?at=2024-04-20T23:00:00&changes=1", "Changed"),
    "why": (DESKTOP, "light", "why?q=Shall we book that cruise%3F", "candidates returned"),
    "phone-home": (PHONE, "light", "home", "I moved to Ljubljana"),
    "phone-memory": (PHONE, "dark", "timelines?memory=17", "What was said"),
}
"""Size, colors, address, and words that say that it is loaded, by the name of the file."""

QUALITY = 0.82
ENCODE = """async ([png, quality]) => {
  const image = await createImageBitmap(await (await fetch(png)).blob());
  const canvas = document.createElement("canvas");
  canvas.width = image.width;
  canvas.height = image.height;
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", quality).split(",")[1];
}"""
"""Encodes a picture as WebP, in the browser, so that nothing needs to be installed for it."""
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def main() -> None:
    """Write all pictures."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, metavar="FOLDER")
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with opened_demo() as link, chromium() as browser:
        for name, picture in take_pictures(browser, link):
            (folder / f"{name}.webp").write_bytes(picture)
            print(f"{name}.webp: {len(picture) / 1000:.0f} kB")


@contextmanager
def opened_demo() -> Generator[str]:
    """Serve the page of the bundled conversation; yield the link that signs in once."""
    command = [sys.executable, "-m", "theanine", "open", "--demo", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            lines = iter(process.stdout.readline, "")
            yield next(found[0] for line in lines if (found := re.search(r"http\S+", line)))
        finally:
            process.terminate()


def take_pictures(browser: Browser, link: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each picture."""
    with browser.new_context(locale="en-US", reduced_motion="reduce") as context:
        page = context.new_page()
        encoding = context.new_page()
        page.goto(link)
        expect(page.locator("header.bar nav")).to_be_visible()
        for name, ((width, height), colors, route, words) in SHOTS.items():
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme="dark" if colors == "dark" else "light")
            page.goto(f"{link.partition('#')[0]}#/{route}")
            page.reload()
            yield name, take_picture(page, encoding, words)


def take_picture(page: Page, encoding: Page, words: str) -> bytes:
    """Return what a page shows, once it shows some words, as WebP."""
    expect(page.get_by_text(words).first).to_be_visible()
    expect(page.locator(".loading")).to_have_count(0)
    page.evaluate(FRAMES)
    png = f"data:image/png;base64,{b64encode(page.screenshot()).decode()}"
    return b64decode(encoding.evaluate(ENCODE, [png, QUALITY]))


if __name__ == "__main__":
    main()
