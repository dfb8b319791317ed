"""The page of the tool ``timeline`` in a Chromium, framed as a host of MCP Apps does it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from support.browser import chromium, needs_browser

pytestmark = [pytest.mark.browser, needs_browser]
ATTACK = "<img src=x onerror=\"document.title='hacked'\"><b>bold</b>"
TIMELINE = [
    {"id": "m1", "day": "9 March 2024", "text": "Ana lives in Split.", "relation": ""},
    {"id": "m2", "day": "24 August 2024", "text": ATTACK, "relation": "Changed"},
]
HOST = """
<iframe sandbox="allow-scripts" style="width: 600px; height: 400px"></iframe>
<script>
  const heard = [];
  const frame = document.querySelector("iframe");
  const post = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
  addEventListener("message", ({ source, data }) => {
    if (source !== frame.contentWindow) return;
    heard.push(data);
    if (data.method === "ui/initialize") {
      post({ id: data.id, result: { hostContext: { theme: "dark" } } });
    } else if (data.method === "ui/notifications/initialized") {
      post({ method: "ui/notifications/tool-result", params: RESULT });
    } else if (data.method === "tools/call") {
      const text = JSON.stringify({ text: "the words of " + data.params.arguments.id });
      const refused = data.params.arguments.id === "m2";
      post(refused
        ? { id: data.id, error: { code: -32000, message: "refused" } }
        : { id: data.id, result: { content: [{ type: "text", text }] } });
    }
  });
  frame.srcdoc = PAGE;
</script>
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


def open_page(browser: Browser, result: dict[str, Any]) -> tuple[Page, FrameLocator]:
    """Open a host whose tool has returned a result; return it and the page that it frames."""
    page = files("theanine_server.mcp").joinpath("timeline.html").read_text("utf-8")
    host = browser.new_page()
    host.route("**/*", lambda route: route.abort())  # nothing is loaded from anywhere
    script = HOST.replace("RESULT", json.dumps(result))
    host.set_content(script.replace("PAGE", json.dumps(page).replace("</", "<\\/")))
    return host, host.frame_locator("iframe")


def test_it_shows_memories_as_data_and_fetches_their_words(browser: Browser) -> None:
    host, page = open_page(browser, {"content": [], "structuredContent": {"timelines": [TIMELINE]}})
    cards = page.locator(".memory")
    expect(cards).to_have_count(2)
    expect(cards.nth(0)).to_contain_text("Ana lives in Split.")
    expect(cards.nth(1)).to_contain_text("Changed 24 August 2024 m2")
    expect(cards.nth(1).locator(".words")).to_have_text(ATTACK)
    expect(page.locator(".memory img, .memory b")).to_have_count(0)
    cards.nth(0).get_by_role("button").click()
    expect(cards.nth(0).locator(".sources")).to_have_text("the words of m1")
    cards.nth(0).get_by_role("button").click()
    expect(cards.nth(0).locator(".sources")).to_have_count(0)
    cards.nth(1).get_by_role("button").click()
    expect(cards.nth(1).locator(".sources")).to_have_text("refused")
    heard: list[dict[str, Any]] = host.evaluate("heard")
    assert [message["method"] for message in heard][:1] == ["ui/initialize"]
    assert {
        "method": "tools/call",
        "params": {"name": "fetch", "arguments": {"id": "m1"}},
    }.items() <= (next(message for message in heard if message["method"] == "tools/call").items())
    sizes = [m["params"] for m in heard if m["method"] == "ui/notifications/size-changed"]
    assert sizes and sizes[-1]["height"] > 50
    host.close()


def test_without_timelines_it_shows_the_text(browser: Browser) -> None:
    host, page = open_page(
        browser, {"content": [{"type": "text", "text": "Nothing has developed."}]}
    )
    expect(page.locator("main")).to_have_text("Nothing has developed.")
    host.close()
