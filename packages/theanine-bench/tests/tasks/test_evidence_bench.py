"""The evidence bench: several methods and data sets side by side, within token budgets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from support.dataset_samples import TURNS, causal_graph, locomo_questions
from support.history_samples import save
from support.running import Terminal
from theanine.errors import BadInput
from theanine.methods.registry import names
from theanine.testing import ScriptedServer, answer
from theanine.tokenizer import count_tokens
from theanine_bench.runs import SavedRun, read_run
from theanine_bench.tasks.evidence import (
    TIMELINES_ALONE,
    WITHOUT_TIMELINES,
    EvidenceTable,
    category_table,
    compare_default,
    evidence_task,
    parse_methods,
    result_table,
)


@pytest.fixture
def data(tmp_path: Path) -> tuple[str, str]:
    questions = locomo_questions([["D2:1"], ["D2:2", "D1:1"], []])
    return (
        str(save(tmp_path, "pair.json", questions)),
        str(save(tmp_path, "graph_0.json", causal_graph())),
    )


def evidence(run: Terminal, folder: Path, *arguments: str) -> SavedRun:
    run.bare("bench", "evidence", *arguments, "--out", str(folder))
    return anyio.run(read_run, folder)


@pytest.mark.slow
def test_each_method_recalls_for_each_question_within_each_budget(
    run: Terminal, data: tuple[str, str], tmp_path: Path
) -> None:
    chosen = ("--methods", "theanine,full-history,no-memory", "--budgets", "2000,10")
    found = evidence(run, tmp_path / "run", *data, *chosen)
    assert len(found.results) == 3 * (2 + 1)
    whole = found.results["full-history/pair/pair/2"]
    assert whole.scores["within 2000"] == 1
    assert whole.scores["tokens 2000"] > count_tokens(" ".join(text for _, text in TURNS))
    assert whole.scores["within 10"] == whole.scores["tokens 10"] == 0
    assert 0 < whole.scores["precision 2000"] < 1 and "precision 10" not in whole.scores
    nothing = found.summary["categories"]["pair, no-memory"]
    assert nothing["within 2000"] == {"mean": 0, "low": 0, "high": 0, "n": 2, "failed": 0}
    assert found.summary["dropped"]["questions without evidence"] == 2
    assert not list((tmp_path / "run" / "stores").iterdir())


def test_the_table_marks_the_best_and_what_is_as_good(
    run: Terminal, data: tuple[str, str], tmp_path: Path
) -> None:
    chosen = ("--methods", "full-history,no-memory,theanine", "--budgets", "2000")
    found = evidence(run, tmp_path / "run", *data, *chosen)
    table = EvidenceTable(found, "pair")
    assert (table.n, table.best(2000)) == (2, "full-history")
    assert table.share("full-history", 2000).mean == 1
    assert table.difference("no-memory", "full-history", 2000).high == -1
    assert table.over_budget("full-history") == 0
    rows = {(row[0], row[1]): row for row in result_table(found).rows}
    assert rows["pair", "full-history"][2:4] == ["2", "1.000 [1.000, 1.000] *"]
    assert rows["pair", "no-memory"][3] == "0.000 [0.000, 0.000]"
    [category] = category_table(found, "graph_0", 2000).columns[1:]
    assert category == "attribution (1)"
    assert compare_default(table)[0].startswith("theanine is the best, or as good, in ")
    exported = run.bare("bench", "export", str(tmp_path / "run"), "--format", "md").out
    assert "| pair | full-history | 2 | 1.000 [1.000, 1.000] * |" in exported


@pytest.mark.slow
def test_the_command_prints_all_methods_and_resumes(
    run: Terminal, data: tuple[str, str], tmp_path: Path
) -> None:
    command = ("bench", "evidence", data[0], "--budgets", "100", "--limit", "1")
    shown = run.bare(*command, "--out", str(tmp_path / "run")).out
    assert "pair, 1 question" in shown
    assert all(name in shown for name in (*names(), WITHOUT_TIMELINES, TIMELINES_ALONE))
    before = anyio.run(read_run, tmp_path / "run")
    items = tmp_path / "run" / "items.jsonl"
    items.write_text("".join(items.read_text("utf-8").splitlines(keepends=True)[1:]), "utf-8")
    run.bare(*command, "--out", str(tmp_path / "run"))
    assert anyio.run(read_run, tmp_path / "run").results == before.results


def test_what_was_recalled_beyond_a_budget_is_counted(
    run: Terminal, data: tuple[str, str], tmp_path: Path
) -> None:
    found = evidence(run, tmp_path / "run", data[0], "--methods", "theanine", "--budgets", "100")
    items = tmp_path / "run" / "items.jsonl"
    items.write_text(items.read_text("utf-8").replace('"tokens 100": ', '"tokens 100": 1'), "utf-8")
    assert EvidenceTable(found, "pair").over_budget("theanine") == 0
    changed = EvidenceTable(anyio.run(read_run, tmp_path / "run"), "pair")
    assert changed.over_budget("theanine") == 2


@pytest.mark.slow
def test_a_models_replies_are_kept_with_the_run(
    run: Terminal, data: tuple[str, str], tmp_path: Path
) -> None:
    with ScriptedServer(answer) as server:
        model = ("--model", "openai:scripted", "--base-url", server.base_url)
        chosen = ("--methods", "theanine,exchange", "--budgets", "100", *model)
        found = evidence(run, tmp_path / "run", data[0], *chosen)
    assert found.summary["spent"]["remembering"]["calls"] > 0
    assert len(list((tmp_path / "run" / "stores").glob("*.db"))) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--methods", ","), "name one or more, each once"),
        (("--methods", "theanine,theanine"), "name one or more, each once"),
        (("--methods", "theanine:raw"), "'theanine:raw': write NAME:SETTING=VALUE"),
        (("--methods", "nosuch"), "unknown method 'nosuch'"),
        (("--budgets", "many"), "--budgets 'many': write whole numbers"),
        (("--category-budget", "7"), "--category-budget 7: name one of --budgets"),
    ],
)
def test_what_makes_no_sense_is_told(
    run: Terminal, data: tuple[str, str], arguments: tuple[str, ...], message: str
) -> None:
    ran = run.bare("bench", "evidence", data[0], *arguments, fine=False)
    assert (ran.code, message in ran.err) == (2, True)
    twice = run.bare("bench", "evidence", data[0], data[0], fine=False)
    assert (twice.code, "name each once" in twice.err) == (2, True)


def test_settings_follow_the_methods_name() -> None:
    [one] = parse_methods("theanine-paper:retrieved=5:refine=false")
    assert (one.label, one.method) == ("theanine-paper:retrieved=5:refine=false", "theanine-paper")
    assert one.settings == {"retrieved": "5", "refine": "false"}


def test_without_evidence_there_is_no_figure(tmp_path: Path) -> None:
    questions: Any = locomo_questions([[], []])
    with pytest.raises(BadInput, match="no question has evidence"):
        evidence_task({"pair": save(tmp_path, "pair.json", questions)}, ["theanine"])
