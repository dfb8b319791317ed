"""Where topics and memories are drawn: nothing overlaps, nothing is lost, all is on the screen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from random import Random
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from support.browser import needs_browser
from theanine.page.modules import join_modules

pytestmark = [pytest.mark.browser, needs_browser]
DAY = 86_400_000
SPAN = 300 * DAY
SCREENS = (390, 1400)

LAY_OUT = """([topics, screen, zoom, share]) => {
  const memories = new Map();
  for (const topic of topics) {
    for (const memory of topic.memories) {
      memories.set(memory.id, Object.assign(memory, { older: [], newer: [], end: null }));
    }
  }
  for (const topic of topics) {
    for (const memory of topic.memories) {
      const older = memories.get(memory.changes);
      if (!older) continue;
      memory.older.push({ memory: older, relation: "Changed" });
      older.newer.push({ memory, relation: "Changed" });
      older.end = { time: memory.time, kind: "changed", by: memory.id };
    }
    topic.from = topic.memories[0].time;
    topic.to = topic.memories.at(-1).time;
  }
  const from = 0, to = SPAN;
  const whole = layout.fit(memories.size, screen);
  const width = whole.width * zoom;
  const pad = zoom === 1 ? whole.pad : 260;
  const timeAt = (x) => from + ((x - layout.MARGIN) / width) * (to - from);
  const left = share * width;
  const window = zoom === 1 ? null : {
    from: timeAt(left - screen / 4),
    to: timeAt(left + screen * 1.25),
    beside: timeAt(screen / 4) - timeAt(0),
  };
  const laid = layout.layOut({ topics, from, to, width, pad, screen, window, found: null });
  return {
    level: laid.level, width: laid.width, height: laid.height,
    seen: window && [window.from, window.to],
    blocks: laid.blocks.map((block) => ({
      hidden: block.hidden, x: block.x, y: block.y, width: block.width, height: block.height,
      count: block.topic.memories.length,
      cards: block.cards.map((card) => ({
        time: card.memory.time, x: card.x, y: block.y + card.y,
        width: card.width, height: card.height,
        end: card.memory.end && card.memory.end.time, isClosed: card.isClosed,
      })),
    })),
  };
}"""


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """A page that has the functions of the layout."""
    with browser.new_context() as context:
        page = context.new_page()
        script = join_modules("timeline/layout.js")
        name = re.findall(r"^const (m\d+) = ", script, re.MULTILINE)[-1]
        page.add_script_tag(content=f"{script}\nvar layout = {name}; var SPAN = {SPAN};")
        yield page


def make_topics(count: int, seed: int) -> list[dict[str, Any]]:
    """Return topics of one to fourteen memories, the one with the newest first."""
    rng = Random(seed)
    topics: list[dict[str, Any]] = []
    number = 0
    while number < count:
        size = min(rng.choice((1, 1, 2, 5, 14)), count - number)
        times = sorted(rng.randrange(SPAN + 1) for _ in range(size))
        memories = [
            {
                "id": number + i,
                "time": time,
                "words": "word " * rng.randrange(1, 60),
                "changes": number + i - 1 if i and rng.random() < 0.4 else None,
            }
            for i, time in enumerate(times)
        ]
        topics.append({"title": f"Topic {len(topics)}", "memories": memories})
        number += size
    topics.sort(key=lambda topic: topic["memories"][-1]["time"], reverse=True)
    return topics


def overlap(a: dict[str, Any], b: dict[str, Any]) -> bool:
    across = a["x"] < b["x"] + b["width"] - 1 and b["x"] < a["x"] + a["width"] - 1
    return across and a["y"] < b["y"] + b["height"] and b["y"] < a["y"] + a["height"]


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("count", [1, 12, 73, 400])
def test_all_is_drawn_apart(page: Page, screen: int, count: int) -> None:
    for seed in range(4):
        laid = page.evaluate(LAY_OUT, [make_topics(count, seed), screen, 1, 0])
        assert laid["width"] <= screen + 1
        blocks = laid["blocks"]
        assert sum(len(block["cards"]) + block["hidden"] for block in blocks) == count
        assert all(block["cards"] for block in blocks), "each topic has words"
        cards = [card for block in blocks for card in block["cards"]]
        assert [pair for pair in combinations(cards, 2) if overlap(*pair)] == []
        for block in blocks:
            assert block["x"] >= 0 and block["x"] + block["width"] <= laid["width"] + 1
            assert block["y"] + block["height"] <= laid["height"]
        firsts = [block["y"] for block in blocks if block["count"] > 1]
        assert not firsts or min(firsts) == firsts[0], "the newest topic is at the top"


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize(("zoom", "share"), [(3, 0.9), (20, 0.5), (400, 0.2)])
def test_a_part_of_the_time_has_what_was_said_in_it(
    page: Page, screen: int, zoom: int, share: float
) -> None:
    for seed in range(3):
        topics = make_topics(400, seed)
        laid = page.evaluate(LAY_OUT, [topics, screen, zoom, share])
        first, last = laid["seen"]
        said = {
            topic["title"]
            for topic in topics
            if any(first <= memory["time"] <= last for memory in topic["memories"])
        }
        assert len(laid["blocks"]) == len(said)
        cards = [
            card
            for block in laid["blocks"]
            for card in block["cards"]
            if first <= card["time"] <= last
        ]
        assert [pair for pair in combinations(cards, 2) if overlap(*pair)] == []
        for card in cards:
            if card["isClosed"]:
                assert card["end"] is not None, "only a state that ended is closed"


def test_nearer_tells_more(page: Page) -> None:
    levels = [
        page.evaluate(LAY_OUT, [make_topics(2_000, 1), 1400, zoom, 0.5])["level"]
        for zoom in (1, 40, 2_000)
    ]
    assert levels == ["topics", "statements", "near"]
