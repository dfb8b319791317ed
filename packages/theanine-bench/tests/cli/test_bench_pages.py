"""The pages of the retrieval and segmentation benches: kept whole, harmless, drawn in a browser."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page, expect

from support.browser import needs_browser
from support.pages import EVIL, opened, page_data
from support.running import Terminal
from theanine.errors import BadInput
from theanine_bench.datasets.segmentation import SegmentedDialogue
from theanine_bench.metrics.intervals import Interval
from theanine_bench.metrics.paired import PairedComparison, compare_paired
from theanine_bench.report import retrieval_page, segmentation_page
from theanine_bench.tasks.retrieval_items import Evidence, Item, Run, lines_of_run, read_retrieved
from theanine_bench.tasks.segmentation import SegmentationRun, bench_segmentation

WITHIN = (500, 1_000, 2_000, 4_000)
KS = (1, 5, 10)


def segmented(words: str = "About the boat") -> tuple[SegmentationRun, list[SegmentedDialogue]]:
    """Three dialogues of six turns, each cut in the middle."""
    dialogues = [
        SegmentedDialogue(id=f"d{n}", texts=tuple(f"{words} {i}" for i in range(6)), lengths=cut)
        for n, cut in enumerate([(3, 3), (2, 4), (1, 2, 3)], 1)
    ]
    return bench_segmentation(dialogues, lambda texts: [(0, 2), (3, len(texts) - 1)]), dialogues


def item(number: int, *, found: float = 0.0, words: str = "Where is the boat?") -> Item:
    """A question that more is found of, the more tokens there are; of every third all."""
    start = 1.0 if number % 3 == 0 else min(1.0, found + (number % 5) / 10)
    shares = {f"within {budget}": min(1.0, start + i / 10) for i, budget in enumerate(WITHIN)}
    ranks = {f"recall@{k}": min(1.0, start + i / 5) for i, k in enumerate(KS)}
    return Item(
        id=f"a/{number}",
        category="where" if number % 2 else "when",
        asked=f"{words} {number}",
        evidence=[Evidence(speaker="Ana", text=f"I sold {number}.", rank=number % 4 or None)],
        measures={**ranks, "session hit@10": float(start > 0.5), **shares},
        seconds=number / 1000,
    )


def sample(found: float = 0.0, **more: Any) -> Run:
    run = Run(
        unit="turn",
        retrieval="hybrid",
        items=[item(n, found=found) for n in range(1, 41)],
        conversations=2,
        turns=90,
        dropped={"labels of no turn": 3},
        data="folder/talks.json",
        sha256="ab" * 32,
        command="theanine bench retrieval folder/talks.json",
    )
    return replace(run, **more)


def whole() -> Run:
    """With two parts: one that is worth much, and one that is worth nothing."""
    run = sample(0.5)
    parts = {"lexical": sample().items, "date": run.items}
    return replace(
        run, ablations={name: compare_paired(one, run.items) for name, one in parts.items()}
    )


def written(folder: Path, run: Run, name: str) -> Path:
    file = folder / name
    file.write_text(lines_of_run(run), "utf-8")
    return file


@settings(max_examples=40)
@given(st.text(), st.floats(0, 1), st.none() | st.integers(1, 200))
def test_a_kept_run_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, words: str, share: float, rank: int | None
) -> None:
    one = replace(
        item(1, found=share), asked=words, evidence=[Evidence(speaker="A", text=words, rank=rank)]
    )
    parts = {words: [PairedComparison(words, share, 0.5, Interval(0.1, -0.2, 0.3, 2), 0.04, 2)]}
    run = sample(items=[one, item(2)], dropped={words: 1}, ablations=parts)
    assert read_retrieved(written(tmp_path_factory.getbasetemp(), run, "items.jsonl")) == run


@pytest.mark.parametrize("text", ["", "[]\n", '{"id": "a/1", "measures": {}}\n', "no JSON\n"])
def test_other_files_are_told_apart(tmp_path: Path, text: str) -> None:
    file = tmp_path / "other.jsonl"
    file.write_text(text, "utf-8")
    with pytest.raises(BadInput, match="no items of a run, as `bench retrieval --out` writes them"):
        read_retrieved(file)


def test_what_was_said_never_becomes_markup() -> None:
    evil = [replace(item(n, words=EVIL), category=EVIL) for n in (1, 2)]
    pages = [
        retrieval_page(replace(whole(), items=evil, data=EVIL)),
        segmentation_page(*segmented(EVIL), title=EVIL, about={EVIL: EVIL}, command=EVIL),
    ]
    for page in pages:
        assert "alert(1)</script>" not in page
        assert page.count("<script") == 5
        assert "default-src 'none'" in page
        assert not re.search(r'(?:src|href)="(?!#)', page.split("<script")[0])


def test_kept_items_become_a_page_without_another_run(run: Terminal, tmp_path: Path) -> None:
    ours, theirs = whole(), sample(retrieval="lexical", items=[item(n) for n in range(5, 51)])
    kept = written(tmp_path, ours, "ours.jsonl")
    page = kept.with_suffix(".html")
    assert run.bare("bench", "report", str(kept)).out.strip() == str(page)
    assert page.read_text("utf-8") == retrieval_page(ours)
    other = written(tmp_path, theirs, "theirs.jsonl")
    run.bare("bench", "report", str(kept), "--against", str(other))
    told = page_data(page.read_text("utf-8"))
    assert [one["name"] for one in told["runs"]] == ["turn, hybrid", "turn, lexical"]
    assert (len(told["items"]), told["left"]) == (36, 14)
    assert {one["n"] for one in told["compared"]} == {36}
    ran = run.bare("bench", "report", str(tmp_path), "--against", str(other), fine=False)
    assert (ran.code, "--against goes with files" in ran.err) == (2, True)


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
        mean = run.measures()["within 1000"]
        budget, shown = table_under(page, "All questions")[1]
        assert (budget, shown.split()[0]) == ("1,000", f"{mean.mean:.3f}")
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
def test_another_run_beside_it_parts_and_questions(tmp_path: Path) -> None:
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
def test_segments_beside_published_figures(tmp_path: Path) -> None:
    file = tmp_path / "topics.html"
    run, dialogues = segmented()
    about = {"Segmenter": "middle"}
    file.write_text(
        segmentation_page(run, dialogues, title="dialseg711.json", about=about, command="bench"),
        "utf-8",
    )
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
