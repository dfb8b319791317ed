"""Every view, wide and narrow, light and dark, by axe: names, contrast, roles, headings."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

import theanine
from page.conftest import DESKTOP, PHONE, OpenPage
from support.browser import needs_browser
from support.doubtful import log_doubtful

pytestmark = [pytest.mark.browser, needs_browser]
Serve = Callable[[str | Path], OpenPage]
ROUTES = {
    "home?user=ana": "I moved to Ljubljana",
    "entity?user=ana&entity=Lucija": "Mentioned in 7 messages",
    "conversations?user=ana&day=2024-07-15": "I quit my job at the shipyard",
    "conversations?user=ana&session=6&turn=65": "Welcome to your new streets",
    "conversations?user=ana&session=6&turn=65&memory=40": "Who made it",
    "timelines?user=ana": "73 memories",
    "timelines?user=ana&memory=5": "What was said",
    "timelines?user=ana&as=list&memory=17": "until Jun 22, 2024, then changed",
    "timelines?user=cy&as=list&memory=1": "unverified since",
    "timelines?user=ana&topic=5": "12 memories",
    "timelines?user=ana&as=matter&topic=5": "Latest that holds",
    "timelines?user=ana&as=list&since=2024-04-01&until=2024-04-30": "memories",
    "timelines?user=ana&at=2024-04-20T23:00:00&changes=1": "Changed",
    "timelines?user=ana&at=2024-10-13T23:00:00&with=2024-05-18T23:00:00&person=Ana": "Person",
    "timelines?user=ana&memory=999": "There is no memory 999",
    "find?user=ana&q=ships": "9 messages",
    "find?user=ana&q=Where does Ana live&by=meaning": "relevance",
    "find?user=ana&session=3&speaker=Ana&q=zzz": "No message has",
    "why?user=ana&q=Am I afraid of ships%3F": "candidates returned",
    "talk?user=ana": "Say something",
    "import?user=ana": "Drop a file here",
    "review?user=ana": "Nothing is doubtful.",
    "review?user=bo": "memories to look at",
    "operate?user=ana": "Methods, side by side",
    "keys?user=ana": "There are no keys yet.",
}
"""Addresses of views, and words that say that they are loaded."""


@pytest.fixture(scope="module")
def two_users(demo_store: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Conversations of ana, doubtful memories of bo, and one of cy that ends; only for reading."""
    location = shutil.copy(demo_store, tmp_path_factory.mktemp("two") / "memory.db")
    with theanine.open(location) as client:
        log_doubtful(client.user("bo"))
        client.user("cy").add("My locker is 12.", expires="2127-01-01", verify_by="2026-01-31")
    return str(location)


def find_violations(page: Page) -> list[tuple[str, list[str]]]:
    """Return the rules of axe that the page violates, each with the elements."""
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
    page.evaluate(axe)  # no script of the page: its policy holds
    return [
        (violation["help"], [node["html"][:200] for node in violation["nodes"]])
        for violation in page.evaluate("axe.run()")["violations"]
    ]


# Colors do not depend on the width, nor the layout on the colors.
@pytest.mark.parametrize(
    ("scheme", "size"), [("light", DESKTOP), ("dark", PHONE)], ids=["light-desktop", "dark-phone"]
)
def test_axe_finds_nothing(
    serve_page: Serve, two_users: str, size: tuple[int, int], scheme: str
) -> None:
    page = serve_page(two_users)("?user=ana", size=size, scheme=scheme)
    found: list[tuple[str, str, list[str]]] = []
    for route, words in ROUTES.items():
        page.evaluate("hash => { location.hash = hash; }", f"#/{route}")
        expect(page.locator(f"main.view-{route.partition('?')[0]}")).to_be_visible()
        expect(page.get_by_text(words).first).to_be_visible()
        expect(page.locator(".loading")).to_have_count(0)
        found += [(route, *violation) for violation in find_violations(page)]
        assert page.evaluate("document.documentElement.scrollWidth") == size[0], route
    assert found == []


@pytest.mark.parametrize(
    "withheld",
    [
        r"/v1/whoami",
        r"/v1/(?!whoami|session|users(\?|$))",
        r"/v1/users/ana/(memories|versions|turns|review|search|explain|methods|sessions|conversations)",
    ],
    ids=["frame", "view", "part"],
)
def test_axe_finds_nothing_while_something_is_loading(
    serve_page: Serve, two_users: str, withheld: str
) -> None:
    page = serve_page(two_users)("?user=ana")
    requests: list[Route] = []
    page.route(re.compile(withheld), lambda route: requests.append(route))  # unanswered
    found: list[tuple[str, str, list[str]]] = []
    for route in {route.partition("?")[0]: route for route in ROUTES}.values():
        page.evaluate("hash => { location.hash = hash; }", f"#/{route}")
        page.reload()
        if route.partition("?")[0] != "import" or "whoami" in withheld:
            expect(page.get_by_role("status").first).to_be_attached()
        page.wait_for_function("() => document.querySelector('h1')")
        found += [(route, *violation) for violation in find_violations(page)]
    assert requests
    assert found == []


def test_axe_would_find_something(serve_page: Serve, demo_store: str) -> None:
    page = serve_page(demo_store)("timelines?user=ana")
    expect(page.get_by_text(ROUTES["timelines?user=ana"]).first).to_be_visible()
    page.evaluate("() => document.querySelector('main').append(document.createElement('input'))")
    [(_, elements)] = find_violations(page)
    assert elements == ["<input>"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_on_the_canvas_stand_out(serve_page: Serve, demo_store: str, scheme: str) -> None:
    """axe does not see the canvas; its words have these colors on the color of the page."""
    page = serve_page(demo_store)("timelines", scheme=scheme)
    ratios = page.evaluate(CONTRASTS)
    assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}


CONTRASTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const probe = document.body.appendChild(document.createElement("i"));
  const luminance = (name) => {
    probe.style.color = `var(--${name})`;
    canvas.fillStyle = getComputedStyle(probe).color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const names = "text quiet accent Changed Cause Reason HinderedBy React Want".split(" ");
  return Object.fromEntries(names.flatMap((name) => ["page", "wash"].map((behind) =>
    [`${name} on ${behind}`, contrast(luminance(name), luminance(behind))])));
}"""
"""Contrast of each color of words with what is behind them (WCAG 2.2 AA asks for 4.5 : 1)."""
