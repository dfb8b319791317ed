"""The papers' tables, with rows of own runs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.running import Terminal
from theanine.errors import SettingsError
from theanine_bench.analysis.tables import insert_rows, load_tables, missing_inputs, run_row


def a_run(method: str, bench: str = "teafarm", success: float = 0.5) -> tuple[Any, Any]:
    setup = {"method": method, "model": "openai:m"}
    settings: dict[str, Any] = {"bench": bench, "samples": 1, "metrics": [], "config": setup}
    summary = {
        "samples": 1,
        "done": 1,
        "metrics": {"success/paper": {"mean": success}, "rouge-l": {"mean": 0.5}},
        "categories": {
            "session 4": {"rouge-l": {"mean": 0.25}},
            "CC": {"success/paper": {"mean": 0.75}},
        },
        "corpus": {"mauve": 0.5, "mauve/session 4": 0.125},
        "recalled_tokens": 12.0,
    }
    return settings, summary


def test_headline_values_of_the_papers_are_in_the_tables() -> None:
    by = {table.id: {row.label: row.values for row in table.rows} for table in load_tables()}
    assert by["teafarm"]["Theanine"] == (0.18, 0.24, 0.21)
    assert by["teafarm"]["RSum-LLM"][2] == 0.06
    assert by["theanine-msc"]["Theanine"] == (1.80, 15.37, 18.62, 86.70)
    assert by["theanine-cc"]["Theanine"] == (6.85, 22.68, 64.41, 88.58)
    assert by["secom-locomo"]["SeCom (BM25, GPT4-Seg)"][0] == 71.57
    assert by["secom-long-mt-bench"]["SeCom (MPNet, GPT4-Seg)"][0] == 88.81
    assert by["conditional-knowledge"]["Conditional"][0] == 0.63
    assert by["rsum-session-5"]["Chatgpt-Rsum"] == (86.89, 20.48, 21.83, 12.59)
    assert by["segmentation-dialseg711"]["DialSTART"] == (0.178, 0.198, None, None)


@pytest.mark.parametrize("table", load_tables(), ids=lambda table: table.id)
def test_every_row_has_a_value_for_every_column(table: Any) -> None:
    assert all(len(row.values) == len(table.columns) for row in table.rows)
    assert len({row.label for row in table.rows}) == len(table.rows)


def test_own_row_follows_the_same_method() -> None:
    [table] = load_tables(["teafarm"])
    comedy, unknown = run_row(table, *a_run("comedy")), run_row(table, *a_run("my-own"))
    assert comedy and unknown
    assert comedy.values == (None, 0.75, 0.5)
    labels = [row.label for row in insert_rows(table, [comedy, unknown])]
    assert labels.index("ours: comedy, openai:m") == labels.index("COMEDY") + 1
    assert labels[-1] == "ours: my-own, openai:m"
    assert run_row(table, *a_run("comedy", bench="qa")) is None
    with pytest.raises(SettingsError, match="no table 'x'; there are: theanine-msc"):
        load_tables(["x"])


def test_table_of_a_session_uses_its_scores() -> None:
    [table] = load_tables(["theanine-session-4"])
    row = run_row(table, *a_run("theanine", bench="responses"))
    assert row
    assert row.values == (None, 25.0, 12.5, None)
    [other] = load_tables(["theanine-session-3"])
    nothing = run_row(other, *a_run("theanine", bench="responses"))
    assert nothing
    assert set(nothing.values) == {None}


def responses(sessions: str, measures: Sequence[str], corpus: Any) -> tuple[Any, Any]:
    settings, summary = a_run("theanine", bench="responses")
    own = {f"session {n}": {"rouge-l": {"mean": int(n) / 100}} for n in sessions}
    return {**settings, "metrics": measures}, {**summary, "categories": own, "corpus": corpus}


def test_mean_of_sessions_is_unweighted_and_needs_all_of_them() -> None:
    [table] = load_tables(["theanine-msc"])
    values = {f"corpus-bleu-4/session {n}": n / 100 for n in (3, 4, 5)}
    asked = ["rouge-l", "corpus-bleu-4", "mauve:gpt2"]
    run = responses("345", asked, {"corpus-bleu-4": 0.9, "mauve": 0.9, **values})
    row = run_row(table, *run)
    assert row
    assert row.values[:2] == pytest.approx((4.0, 4.0))  # not 90 over all, and not 50
    assert row.values[2:] == (None, None)
    assert missing_inputs(table, *run) == ["BertScore comes with --metric bertscore=FOLDER"]
    alone = responses("3", ["rouge-l"], {"corpus-bleu-4": 0.03})
    row = run_row(table, *alone)
    assert row
    assert set(row.values) == {None}
    assert missing_inputs(table, *alone) == ["no session 4, session 5 in the run"]
    [third] = load_tables(["theanine-session-3"])
    row = run_row(third, *alone)
    assert row
    assert row.values == (pytest.approx(3.0), pytest.approx(3.0), None, None)


def test_pairwise_runs_have_a_row() -> None:
    [table] = load_tables(["theanine-g-eval"])
    settings, summary = a_run("nobody", bench="pairwise")
    settings["config"]["settings"] = {"A": "mine", "B": "theirs"}
    settings["metrics"] = ["specificity"]
    summary["corpus"] = {"specificity/rate": 0.625}
    row = run_row(table, settings, summary)
    assert row
    assert (row.label, row.values) == ("ours: mine against theirs", (62.5, None, None))
    assert insert_rows(table, [row])[-1] == row
    assert missing_inputs(table, settings, summary)[0] == "Mem comes with --criteria memorability"


def test_the_command_prints_them(run: Terminal, tmp_path: Path) -> None:
    settings, summary = a_run("theanine")
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    shown = run.bare("bench", "tables", "teafarm", "--run", str(tmp_path))
    assert "TeaFarm success rate" in shown.out
    assert "ours: theanine, openai:m" in shown.out
    assert re.search(r"ours: theanine, openai:m +– +0\.75 +0\.50 *\n", shown.out)  # as the paper
    assert "ours: theanine, openai:m: MSC comes with --judge NAME" in shown.out
    [table] = json.loads(run.bare("bench", "tables", "teafarm", "--json").out)
    assert table["rows"][0]["values"] == [0.16, 0.19, 0.18]
