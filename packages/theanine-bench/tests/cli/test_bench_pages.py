"""The pages of retrieval and segmentation runs, and files of version 0.1."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from playwright.sync_api import Page, expect

from support.browser import needs_browser
from support.pages import EVIL, opened, page_data
from support.running import Terminal
from theanine.errors import BadInput
from theanine_bench.config import RunConfig
from theanine_bench.datasets.segmentation import SegmentedDialogue
from theanine_bench.report import retrieval_page, segmentation_page
from theanine_bench.runs import RunFolder, SavedRun, read_run, run_task
from theanine_bench.statistics.paired import compare_paired
from theanine_bench.tasks.segmentation import segmentation_task

WITHIN = (500, 1_000, 2_000, 4_000)
KS = (1, 5, 10)
Record = dict[str, Any]


def segmented(words: str = "About the boat", name: str = "") -> SavedRun:
    """Three dialogues of six turns, each cut in the middle."""
    dialogues = [
        SegmentedDialogue(id=f"d{n}", texts=tuple(f"{words} {i}" for i in range(6)), lengths=cut)
        for n, cut in enumerate([(3, 3), (2, 4), (1, 2, 3)], 1)
    ]
    halves = partial(
        segmentation_task,
        segmenter=lambda texts: [(0, len(texts) // 2 - 1), (len(texts) // 2, len(texts) - 1)],
    )

    async def run(folder: Path) -> SavedRun:
        run_folder, _ = await run_task(
            halves(dialogues, "0"), RunConfig(method="middle"), RunFolder(folder)
        )
        return await read_run(run_folder.path, name)

    with TemporaryDirectory() as folder:
        return anyio.run(run, Path(folder) / "run")


def item(number: int, *, found: float = 0.0, words: str = "Where is the boat?") -> Record:
    """A question as version 0.1 wrote it; of every third all evidence is found."""
    start = 1.0 if number % 3 == 0 else min(1.0, found + (number % 5) / 10)
    shares = {f"within {budget}": min(1.0, start + i / 10) for i, budget in enumerate(WITHIN)}
    ranks = {f"recall@{k}": min(1.0, start + i / 5) for i, k in enumerate(KS)}
    return {
        "id": f"a/{number}",
        "category": "where" if number % 2 else "when",
        "asked": f"{words} {number}",
        "evidence": [{"speaker": "Ana", "text": f"I sold {number}.", "rank": number % 4 or None}],
        "measures": {**ranks, "session hit@10": float(start > 0.5), **shares},
        "seconds": number / 1000,
    }


def lines(found: float = 0.0, items: Sequence[Record] = (), **more: Any) -> str:
    """A file of `bench retrieval --out` of version 0.1."""
    head: Record = {
        "unit": "turn",
        "retrieval": "hybrid",
        "settings": {},
        "embedder": "local",
        "reranker": "",
        "conversations": 2,
        "turns": 90,
        "dropped": {"labels of no turn": 3},
        "index_bytes": 1,
        "remember_seconds": 1.0,
        "data": "folder/talks.json",
        "sha256": "ab" * 32,
        "command": "theanine bench retrieval folder/talks.json",
        "version": "0.1.0",
        "ablations": {},
        **more,
    }
    items = items or [item(n, found=found) for n in range(1, 41)]
    return "".join(f"{json.dumps(record)}\n" for record in (head, *items))


def sample(found: float = 0.0, name: str = "run.jsonl", **more: Any) -> SavedRun:
    with TemporaryDirectory() as folder:
        return read(Path(folder), lines(found, **more), name)


def read(folder: Path, text: str, name: str = "run.jsonl") -> SavedRun:
    (folder / name).write_text(text, "utf-8")
    return anyio.run(read_run, folder / name)


def ablated() -> dict[str, list[Record]]:
    """Two parts: one that is worth much, and one that is worth nothing."""
    run, less = sample(0.5).results.values(), sample().results.values()
    return {
        name: [row.record() for row in compare_paired(without, run)]
        for name, without in (("lexical", less), ("date", run))
    }


def whole() -> SavedRun:
    return sample(0.5, ablations=ablated())


@pytest.mark.slow
def test_a_file_of_version_0_1_is_read_as_a_run(tmp_path: Path) -> None:
    run = read(tmp_path, lines(items=[item(1), item(2)], ablations=ablated()))
    assert (run.bench, run.finished, run.settings["data"]) == ("retrieval", True, "ab" * 32)
    assert run.results["a/1"].question == "Where is the boat? 1"
    assert run.results["a/1"].scores == item(1)["measures"]
    assert run.results["a/2"].output == {"evidence": item(2)["evidence"]}
    assert run.seconds == {"a/1": 0.001, "a/2": 0.002}
    assert run.summary["metrics"]["recall@1"]["n"] == 2
    assert run.summary["facts"]["turns"] == 90
    assert run.summary["dropped"] == {"labels of no turn": 3}
    assert set(run.summary["ablations"]) == {"lexical", "date"}


@pytest.mark.parametrize("text", ["", "[]\n", '{"id": "a/1", "measures": {}}\n', "no JSON\n"])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInput, match="neither a run's folder nor a file of its results"):
        read(tmp_path, text)


def test_recorded_text_never_becomes_markup() -> None:
    evil = [{**item(n, words=EVIL), "category": EVIL} for n in (1, 2)]
    pages = [retrieval_page(sample(items=evil)), segmentation_page(segmented(EVIL, EVIL))]
    for page in pages:
        assert "alert(1)</script>" not in page
        assert page.count("<script") == 5
        assert "default-src 'none'" in page
        assert not re.search(r'(?:src|href)="(?!#)', page.split("<script")[0])


def test_files_of_version_0_1_become_pages_and_are_compared(run: Terminal, tmp_path: Path) -> None:
    file, other = tmp_path / "ours.jsonl", tmp_path / "theirs.jsonl"
    ours = read(tmp_path, lines(0.5), file.name)
    read(tmp_path, lines(retrieval="lexical", items=[item(n) for n in range(5, 51)]), other.name)
    page = file.with_suffix(".html")
    assert run.bare("bench", "report", str(file)).out.strip() == str(page)
    assert page.read_text("utf-8") == retrieval_page(ours)
    run.bare("bench", "report", str(file), "--against", str(other))
    shown = page_data(page.read_text("utf-8"))
    assert [run["name"] for run in shown["runs"]] == ["turn, hybrid", "turn, lexical"]
    assert (len(shown["items"]), shown["leftOut"]) == (36, 14)
    assert {row["n"] for row in shown["compared"]} == {36}
    output = run.bare("bench", "diff", str(file), str(other), "--json").json
    assert (output["samples"], output["metrics"]["recall@1"]["means"][0]["n"]) == (36, 36)
    exported = run.bare("bench", "export", str(file), "--format", "csv").out.splitlines()
    assert (len(exported), exported[0].split(",")[:2]) == (41, ["id", "group"])


def test_runs_without_a_common_question_are_not_drawn_together() -> None:
    with pytest.raises(BadInput, match="no question in common"):
        retrieval_page(sample(), sample(items=[item(99)]))


def table_under(page: Page, title: str) -> list[list[str]]:
    """Return the rows of the value table under the chart of that title."""
    figure = page.locator("figure", has=page.get_by_role("heading", name=title)).first
    figure.locator("summary").click()
    rows = figure.locator(".figures tbody tr")
    return [row.locator("th, td").all_inner_texts() for row in rows.all()]


@pytest.mark.browser
@needs_browser
def test_the_curves_of_a_run(tmp_path: Path) -> None:
    run = whole()
    file = tmp_path / "run.html"
    file.write_text(retrieval_page(run), "utf-8")
    with opened(file, "dark", 390) as page:
        expect(page.locator("#state")).to_have_text("40 questions")
        charts = page.locator("#tokens .chart")
        expect(charts).to_have_count(3)  # all, and each category
        expect(charts.locator("canvas")).to_have_count(3)
        charts.first.locator(".u-over").hover(position={"x": 1, "y": 50})
        expect(charts.first.locator(".u-legend .u-value").first).to_have_text(str(WITHIN[0]))
        mean = run.summary["metrics"]["within 1000"]
        budget, shown = table_under(page, "All questions")[1]
        assert (budget, shown.split()[0]) == ("1,000", f"{mean['mean']:.3f}")
        assert charts.first.get_attribute("aria-label") == (
            "All questions: share of the evidence by tokens"
        )
        expect(page.locator("#against")).to_have_count(0)
        assert page.get_by_role("link").all_inner_texts() == [
            *("Tokens", "Ranks", "Metrics", "Ablation", "Questions")
        ]
        page.emulate_media(media="print")
        expect(page.locator("#items")).to_be_hidden()


@pytest.mark.browser
@needs_browser
def test_page_of_two_runs_with_ablation_and_questions(tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    file.write_text(retrieval_page(whole(), sample(retrieval="dense", sha256="cd")), "utf-8")
    with opened(file, "light") as page:
        expect(page.locator("#warnings")).to_have_text("the runs read different data")
        legend = page.locator("#within .u-legend .u-series:not(.bound)")
        expect(legend).to_have_count(3)  # the tokens and both runs
        expect(page.locator("#differing")).to_contain_text("dense")
        row = page.locator("#compared tr", has_text="within 500")
        expect(row.locator("td.sure.good")).to_have_count(1)
        page.get_by_label("By category:").select_option("within 500")
        expect(page.locator("#bars .track > div")).to_have_count(6)
        names = page.locator("#part-bars .name")
        expect(names).to_have_text(["lexical", "date"])
        expect(page.locator("#part-bars b.pale")).to_have_count(1)
        page.locator("#measure").select_option("recall@1")
        page.get_by_label("Shown questions").select_option("better")
        rows = page.locator("details.item")
        expect(page.locator("#count")).to_have_text(re.compile("^27 of 40 questions"))
        page.get_by_label("Search questions and evidence").fill("sold 4.")
        expect(rows).to_have_count(1)
        rows.first.locator("> summary").click()
        quote = "Ana · not found · turn, dense: not found\nI sold 4."
        expect(rows.first.locator("blockquote")).to_have_text(quote, use_inner_text=True)
        page.get_by_role("button", name="Clear").click()
        expect(page.locator("#count")).to_have_text(re.compile("^40 questions"))


@pytest.mark.browser
@needs_browser
def test_segmentation_page_with_published_values(tmp_path: Path) -> None:
    file = tmp_path / "topics.html"
    run = segmented(name="dialseg711.json")
    file.write_text(segmentation_page(run), "utf-8")
    with opened(file, "dark", 390) as page:
        expect(page.locator("#bars h3")).to_have_count(4)
        own = page.locator("#bars .card", has_text="Pk").locator(".name").all_inner_texts()
        assert (
            own.index("SeCom, GPT-4, zero-shot") < own.index("this run") < own.index("TextTiling")
        )
        page.get_by_label("Published on").select_option("segmentation-tiage")
        expect(page.locator("#bars")).to_contain_text("0.486")
        page.get_by_label("Order").select_option("best")
        rows = page.locator("details.item")
        expect(rows.locator(".category")).to_have_text(["d1", "d3", "d2"])
        rows.last.locator("> summary").click()
        cuts = ["boundary, missed", "predicted, no boundary"]
        expect(rows.last.locator(".cut")).to_have_text(cuts)
