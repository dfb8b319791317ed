"""`theanine rate` over real HTTP, and its pages in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import expect

from support.browser import chromium, needs_browser
from support.forking import Python
from support.running import START, Terminal
from theanine.demo import HARBOUR

pytest.importorskip("fastapi", reason="the extra server is not installed")

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over the demo's conversation."""
    runs = tmp_path_factory.mktemp("runs")
    command = ["bench", "responses", str(HARBOUR), "--sessions", "9", "--metric", "f1"]
    Terminal(runs / "unused.db").bare(*command, "--out", str(runs / "run"))
    return runs / "run"


@contextmanager
def served(folder: Path, *options: str) -> Generator[str]:
    """The address at which the pages of the run are, until the end of the block."""
    with Python(START, "rate", str(folder), "--port", "0", *options) as process:
        line = process.stderr.readline()
        match = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert match, line
        yield match[0]
        process.terminate()
        process.wait(20)


def ask(url: str, path: str, sent: Any = None, **headers: str) -> tuple[int, str]:
    data = None if sent is None else json.dumps(sent).encode()
    kind = {"Content-Type": "application/json"} if data else {}
    try:
        with urlopen(Request(url + path, data, {**kind, **headers}), timeout=20) as reply:
            return reply.status, reply.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.slow
def test_forms_and_ratings_over_http(folder: Path, run: Terminal) -> None:
    with served(folder, "--form", "entailment", "--sample", "4") as url:
        assert ask(url, "/")[0] == 200
        status, page = ask(url, "/forms/entailment?rater=Ana")
        assert status == 200
        data = json.loads(page.split('id="data">')[1].split("</script>")[0])
        assert len(data["tasks"]) == 4
        task = data["tasks"][0]["id"]
        good = {"rater": "Ana", "task": task, "answers": {"entailment": "entails"}}
        assert ask(url, "/forms/entailment/ratings", good)[0] == 204
        wrong = {**good, "answers": {"entailment": "x"}}
        assert "'x' is not an answer" in ask(url, "/forms/entailment/ratings", wrong)[1]
        assert ask(url, "/forms/entailment/ratings", [1])[0] == 422
        assert ask(url, "/forms/linking/ratings", good)[0] == 404
        assert ask(url, "/", Host="evil.example")[0] == 400
        plain = {"Content-Type": "text/plain"}
        assert ask(url, "/forms/entailment/ratings", good, **plain)[0] == 415
        assert f"Ana,{task},entails," in ask(url, "/forms/entailment/ratings.csv")[1]
        assert json.loads(ask(url, "/results.json")[1])["entailment"][0]["rated"] == 1
    shown = run.bare("rate", str(folder), "--form", "entailment", "--json").json
    assert shown["entailment"][0]["shares"] == {"entails": 1.0}


@pytest.mark.slow
def test_sessions_and_their_memories_are_rated(folder: Path, run: Terminal) -> None:
    shown = run.bare("rate", str(folder), "--form", "summaries", "--json").json
    assert [row["question"] for row in shown["summaries"]] == ["faulty", "missing"]
    tasks = json.loads((folder / "ratings" / "summaries" / "tasks.json").read_text("utf-8"))
    assert all(block["lines"] for task in tasks for block in task["blocks"])


@pytest.mark.browser
@needs_browser
def test_rating_with_the_keyboard_alone(folder: Path) -> None:
    with served(folder, "--form", "perspectives", "--sample", "3") as url, chromium() as browser:
        page = browser.new_page()
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on(
            "console",
            lambda message: faults.append(message.text) if message.type == "error" else None,
        )
        page.goto(url)
        expect(page.locator("#rater")).to_be_focused()  # the browser focuses after it has loaded
        page.keyboard.type("Ana <b>")
        page.keyboard.press("Enter")
        page.wait_for_selector("#questions fieldset")
        assert "Ana <b>" in page.inner_text("header")
        for points in "32103":
            page.keyboard.press(points)
        expect(page.locator("#state")).to_have_text("saved")
        assert "1 of 3 done" in page.inner_text("#count")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("1")
        expect(page.locator("#state")).to_have_text("saved")
        assert "task 2" in page.inner_text("#count")
        again = browser.new_page()
        again.goto(f"{url}/forms/perspectives?rater=Ana%20%3Cb%3E")  # goes on where it was left
        assert "1 of 3 done · task 2" in again.inner_text("#count")
        assert again.is_checked("#question-coherence input[value='1']")
        again.keyboard.press("ArrowLeft")
        assert again.is_checked("#question-humanness input[value='3']")
        again.goto(f"{url}/results")
        assert "Ana <b>" in again.inner_text("main")
        assert faults == []


@pytest.mark.browser
@needs_browser
def test_unsaved_ratings_are_reported(folder: Path) -> None:
    with chromium() as browser:
        page = browser.new_page()
        with served(folder, "--form", "entailment", "--sample", "4") as url:
            page.goto(f"{url}/forms/entailment?rater=Bo")
            page.wait_for_selector("#questions fieldset")
        page.keyboard.press("1")
        page.wait_for_selector("#state.bad")
        assert page.inner_text("#state").startswith("not saved: ")


def test_nothing_to_rate_is_an_error(run: Terminal, tmp_path: Path) -> None:
    nothing = run.bare("rate", str(tmp_path), fine=False)
    assert nothing.code == 2
    assert "not a run's folder" in nothing.err
