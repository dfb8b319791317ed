"""The page of a run, the page of compared runs, and the live table."""

from __future__ import annotations

import io
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from playwright.sync_api import expect
from rich.console import Console

from support.browser import needs_browser
from support.history_samples import cc, save
from support.pages import EVIL, opened, page_data
from support.run_samples import sample_item, sample_run, unanswered
from support.running import Terminal
from theanine.demo import HARBOUR
from theanine.importers import read_histories
from theanine.types import Utterance
from theanine_bench.analysis.diff import diff_runs
from theanine_bench.cli.live import Live
from theanine_bench.report import diff_page, run_page
from theanine_bench.runs.folder import ITEMS, REPORT, RunFolder
from theanine_bench.runs.runner import Progress
from theanine_bench.runs.saved_run import read_run, read_runs
from theanine_bench.runs.task import Task
from theanine_bench.samples import Group, Sample, Stage


def page_of(folder: Path) -> str:
    return run_page(anyio.run(read_run, folder))


def compared(*folders: Path) -> str:
    return diff_page(diff_runs(anyio.run(read_runs, folders)))


def evil(folder: Path) -> Path:
    turn = {"speaker": EVIL, "role": "user", "text": EVIL, "at": "2024-03-01T10:00:00+00:00"}
    source = {"turn": 1, "session": 1, **turn}
    del source["role"]
    item = sample_item(
        1,
        words=EVIL,
        dialogue=[turn],
        answer=EVIL,
        reference=EVIL,
        rationale=EVIL,
        recalled=[{"text": EVIL, "memories": [1], "sources": [source]}],
        verdicts={EVIL: {"explanation": EVIL}},
        failures={"right": EVIL},
        extra={EVIL: [EVIL]},
    )
    return sample_run(folder, [item])


def test_recorded_text_never_becomes_markup(tmp_path: Path) -> None:
    folder = evil(tmp_path / "a")
    for page, scripts in ((page_of(folder), 5), (compared(folder, folder), 5)):
        assert "alert(1)</script>" not in page
        assert page.count("<script") == scripts
        assert "default-src 'none'" in page
        assert not re.search(r'(?:src|href)="(?!#)', page.split("<script")[0])
        assert page_data(page)["utterances"][0][2] == EVIL


def test_unfinished_run_is_marked(run: Terminal, tmp_path: Path) -> None:
    folder = sample_run(tmp_path / "a", [sample_item(1)], samples=7, finished=False)
    assert run.bare("bench", "report", str(folder)).out.strip() == str(folder / REPORT)
    page = page_data((folder / REPORT).read_text("utf-8"))
    assert (page["finished"], page["done"], page["total"]) == (False, 1, 7)
    assert page["stopped"] == "it was interrupted"


def test_repeated_turns_and_parts_are_stored_once(tmp_path: Path) -> None:
    part = sample_item(1).recalled[0]
    items = [sample_item(n, recalled=[part]) for n in range(1, 40)]
    page = page_data(page_of(sample_run(tmp_path / "a", items)))
    assert len(page["items"]) == 39
    assert [len(page[name]) for name in ("parts", "turns", "utterances")] == [1, 1, 1]
    [text, memories, [turn]] = page["parts"][page["items"][-1]["recalled"][0]]
    assert (text, memories) == (part["text"], [1])
    assert page["turns"][turn] == [1, 2, "Ana", "1 March 2024, 10:00", "I sold 1."]


@pytest.mark.slow
def test_page_has_the_command_that_repeats_the_run(run: Terminal, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run.bare("bench", "responses", str(HARBOUR), "--limit", "3", "--set", "retrieved=2",
             "--method", "exchange", "--sessions", "2", "--out", str(folder))  # fmt: skip
    page = page_data((folder / REPORT).read_text("utf-8"))
    assert page["finished"]
    assert len(page["items"]) == 3
    about = dict(page["about"])
    assert about["Settings"] == "retrieved=2"
    assert about["Data, SHA-256"] == RunFolder(folder).settings()["data"][:16]
    first = (folder / ITEMS).read_text("utf-8")
    shutil.rmtree(folder)
    program, *arguments = shlex.split(page["command"])
    assert program == "theanine"
    run.bare(*arguments)
    assert (folder / ITEMS).read_text("utf-8") == first


def test_synthetic_dates_are_not_shown(run: Terminal, tmp_path: Path) -> None:
    file = save(tmp_path, "cc.jsonl", cc())
    assert not read_histories(file).histories[0].transcripts[0].dated
    folder = tmp_path / "run"
    run.bare("bench", "responses", str(file), "--method", "exchange", "--out", str(folder))
    page = page_data((folder / REPORT).read_text("utf-8"))
    assert page["turns"]
    assert {when for *_, when, _ in page["turns"]} == {""}
    assert {when for _, when, _ in page["utterances"]} == {""}


def test_live_table_counts_by_category_and_only_on_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    at = read_histories(HARBOUR).histories[0].transcripts[0].at
    dialogue = (Utterance(text="Where?", speaker="Ana", at=at),)
    cases = [
        Sample(id=f"a/{n}", category="where" if n % 2 else "when", dialogue=dialogue)
        for n in range(4)
    ]
    plan = Task(
        bench="qa",
        data="0",
        groups=[Group(id="a", stages=(Stage(samples=tuple(cases)),))],
        metrics=[],
    )
    items = [sample_item(1), unanswered(2)]
    with Live(plan) as live:
        before = shown(live)
        live.update(Progress(done=2, total=4, spent=None, results=items))
        after = shown(live)
    assert "remembering before the first answer" in before
    assert re.search(r"^where +1 of 2 +0.100 +0.000", after, re.MULTILINE)
    assert re.search(r"^all +2 of 4 +0.050 +0.000 +1", after, re.MULTILINE)
    assert "cost unknown" in after
    assert capsys.readouterr().err == ""


def shown(live: Live) -> str:
    out = io.StringIO()
    Console(file=out, width=100).print(live.table())
    return out.getvalue()


def many(folder: Path) -> Path:
    items = [sample_item(n) for n in range(1, 1_200)]
    judged = {"right": {"explanation": "It names the harbour.", "label": "right", "model": "m"}}
    items[0] = sample_item(1, verdicts=judged, words="Where did I leave the anchor?")
    run = sample_run(folder, [*items, unanswered(1_200)])
    (run / REPORT).write_text(page_of(run), "utf-8")
    return run / REPORT


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 390)])
@pytest.mark.browser
@needs_browser
def test_run_page_in_a_browser(tmp_path: Path, scheme: str, width: int) -> None:
    with opened(many(tmp_path / "a"), scheme, width) as page:
        assert page.locator("#state").inner_text() == "1,200 samples"
        assert page.locator(".card h3").all_inner_texts() == ["right", "f1"]
        assert page.locator("#failures").inner_text().count("ModelRejected: no key") == 1
        rows, count = page.locator("details.item"), page.locator("#count")
        assert 0 < rows.count() < 300  # the others are made when they come into view
        rows.last.scroll_into_view_if_needed()
        expect(rows.nth(100)).to_be_attached()
        page.get_by_label("Search questions and answers").fill("anchor")
        assert count.inner_text().startswith("1 of 1,200 samples")
        rows.first.locator("> summary").click()
        for words in ("It was sold, number 1.", "In the harbour.", "It names the harbour."):
            expect(rows.first).to_contain_text(words)
        rows.first.locator(".part summary").click()
        quote = "Ana · 1 March 2024, 10:00 · session 2 · turn 1\nI sold 1."
        expect(rows.first.locator("blockquote")).to_have_text(quote, use_inner_text=True)


@pytest.mark.browser
@needs_browser
def test_results_are_filtered_by_category_failure_range_and_bar(tmp_path: Path) -> None:
    with opened(many(tmp_path / "a"), "light") as page:
        rows, count = page.locator("details.item"), page.locator("#count")
        page.get_by_label("Shown samples").select_option("failed")
        assert count.inner_text().startswith("1 of 1,200 samples")
        assert "No answer." not in rows.first.inner_text()
        rows.first.locator("> summary").click()
        expect(rows.first).to_contain_text("No answer.")
        page.get_by_role("button", name="Clear").click()
        expect(count).to_have_text("1,200 samples")
        page.locator("#category").select_option("where")
        assert count.inner_text().startswith("600 of 1,200 samples")
        page.locator("#measure").select_option("f1")
        page.get_by_label("from", exact=True).fill("0.85")
        assert count.inner_text().startswith("120 of 1,200 samples")
        page.locator("article", has_text="right").first.get_by_role(
            "button", name=re.compile("^1: ")
        ).click()
        expect(count).to_have_text(re.compile("^399 of 1,200 samples"))
        page.locator("#order").select_option("tokens")
        page.get_by_label("Search questions and answers").fill("number 1197.")
        assert rows.count() == 1


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 390)])
@pytest.mark.browser
@needs_browser
def test_compared_runs_in_a_browser(run: Terminal, tmp_path: Path, scheme: str, width: int) -> None:
    ours = [sample_item(n) for n in range(1, 13)]
    theirs = [sample_item(n, scores={"f1": 0.5, "right": 1.0}) for n in range(1, 12)]
    folders = [sample_run(tmp_path / "a", ours), sample_run(tmp_path / "b", theirs, method="x")]
    third = sample_run(tmp_path / "c", [sample_item(n, recalled_tokens=5) for n in range(1, 13)])
    file = tmp_path / "compared.html"
    run.bare("bench", "diff", *map(str, [*folders, third]), "--html", str(file))
    with opened(file, scheme, width) as page:
        assert page.locator("#warnings").inner_text() == ("left out: 1 samples that some runs lack")
        legend = page.locator("#scatter .u-legend .u-label")
        expect(legend).to_have_text(["recalled tokens per sample", "c", "a", "b"])
        expect(page.locator("#scatter canvas")).to_be_visible()
        assert page.locator("#bars b").count() == 6
        page.get_by_label("Shown samples").select_option("better")
        count = page.locator("#count")
        assert count.inner_text() == "8 of 11 samples · 8 better, 0 worse, 0 unchanged"
        page.locator("#run").select_option("2")
        assert count.inner_text().startswith("0 of 11 samples")
        page.get_by_label("Shown samples").select_option("same")
        row = page.locator("details.item").first
        row.locator("> summary").click()
        expect(row.locator("h3")).to_have_text(["a", "b", "c"])
        row.locator(".part summary").first.click()
        expect(row.locator(".part").first).to_contain_text("Ana sold")


@pytest.mark.browser
@needs_browser
def test_failed_and_corpus_metrics_are_compared(tmp_path: Path) -> None:
    fine = [sample_item(n, category="", scores={"right": 1.0}) for n in range(1, 6)]
    failed = [replace(item, scores={}, failures={"right": "no"}) for item in fine]
    measured: Any = {"metrics": ["right", "corpus-bleu-1", "mauve:m"], "corpus": {"mauve": 0.5}}
    runs = [
        sample_run(tmp_path / "a", fine, **measured),
        sample_run(tmp_path / "b", failed, **measured),
    ]
    file = tmp_path / "compared.html"
    file.write_text(compared(*runs), "utf-8")
    with opened(file, "light", 390) as page:
        means, rows = page.locator("#means tbody tr"), page.locator("#corpus tbody tr")
        expect(means).to_have_text(["right0–0 failed–5 failed"])
        expect(rows.first).to_have_text(
            re.compile(r"corpus-bleu-15(0\.\d{3})\1\+?0\.000, p 1\.000")
        )
        expect(rows.last).to_have_text("mauve–0.5000.500")
        expect(page.locator("#untested li")).to_have_text(re.compile("^mauve: no p-value"))


@pytest.mark.browser
@needs_browser
def test_sessions_are_drawn_as_lines(tmp_path: Path) -> None:
    failed = {"support": "ModelError: no"}
    items = [sample_item(n, category=f"session {3 + n % 3}", failures=failed) for n in range(1, 31)]
    run = sample_run(tmp_path / "a", items, metrics=("right", "f1", "support"))
    (run / REPORT).write_text(page_of(run), "utf-8")
    with opened(run / REPORT, "light") as page:
        card = page.locator(".card").nth(1)
        assert card.locator("h4").inner_text() == "By session"
        chart = card.get_by_role("img", name="f1 by session")
        expect(chart.locator("canvas")).to_be_visible()
        chart.locator(".u-over").hover()  # the legend shows the values at the cursor
        expect(chart.locator(".u-legend .u-value").nth(1)).to_have_text(re.compile(r"n 10$"))
        expect(page.locator(".card").last).to_have_text("support–n 0 · 30 failed")
