"""The papers' tables, with rows of own runs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.run_samples import sample_settings
from support.running import Terminal
from theanine.errors import SettingsError
from theanine_bench.analysis.tables import Row, insert_rows, load_tables, missing_inputs, run_rows
from theanine_bench.config import RunConfig
from theanine_bench.runs.summary import NO_MEAN, summarize_run

MSC, CC = "MSC", "Conversation Chronicles"


def a_run(
    method: str, bench: str = "teafarm", success: float = 0.5, dataset: str = "", **more: Any
) -> tuple[Any, Any]:
    setup = RunConfig(method=method, model="openai:m", **more).record()
    settings = sample_settings(bench=bench, config=setup)
    summary = {
        **summarize_run([], total=1),
        "samples": 1,
        "done": 1,
        "metrics": {
            "success/paper": {**NO_MEAN, "mean": success},
            "rouge-l": {**NO_MEAN, "mean": 0.5},
        },
        "categories": {
            "session 4": {"rouge-l": {**NO_MEAN, "mean": 0.25}},
            "CC": {"success/paper": {**NO_MEAN, "mean": 0.75}},
        },
        "corpus": {"mauve": 0.5, "mauve/session 4": 0.125},
        "recalled_tokens": 12.0,
        "recalled_turns": 6.0,
        "seconds": {"mean": 0.25},
        "spent": {
            name: {"calls": 1, "input_tokens": 4, "output_tokens": 1, "cost": None}
            for name in ("answering", "judging")
        },
        "sets": [dataset or {"teafarm": "TeaBag", "qa": "Long-MT-Bench+"}.get(bench, MSC)],
    }
    return settings, summary


def row_of(table: Any, *runs: tuple[Any, Any]) -> Row:
    [row] = run_rows(table, runs)[0]
    return row


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
    comedy, unknown = row_of(table, a_run("comedy")), row_of(table, a_run("my-own"))
    assert comedy.values == (None, 0.75, 0.5)
    labels = [row.label for row in insert_rows(table, [comedy, unknown])]
    assert labels.index("ours: comedy, openai:m") == labels.index("COMEDY") + 1
    assert labels[-1] == "ours: my-own, openai:m"
    assert run_rows(table, [a_run("comedy", bench="qa")]) == ([], [])
    with pytest.raises(SettingsError, match="no table 'x'; there are: theanine-msc"):
        load_tables(["x"])


def test_table_of_a_session_uses_its_scores() -> None:
    [table] = load_tables(["theanine-session-4"])
    runs = [a_run("theanine", bench="responses", dataset=name) for name in (MSC, CC)]
    assert row_of(table, *runs).values == (None, 25.0, 12.5, None)
    [other] = load_tables(["theanine-session-3"])
    assert set(row_of(other, *runs).values) == {None}


def test_a_run_is_in_the_tables_of_its_data_set_alone() -> None:
    [msc, cc] = load_tables(["theanine-msc", "theanine-cc"])
    run = a_run("theanine", bench="responses")
    assert len(run_rows(msc, [run])[0]) == 1
    assert run_rows(cc, [run]) == ([], [])
    run[1]["sets"] = []
    rows, [hint] = run_rows(cc, [run])
    assert (rows, "its data set is not known" in hint) == ([], True)


def test_a_row_of_two_sets_is_their_mean_for_the_same_settings() -> None:
    [table] = load_tables(["theanine-session-4"])
    ours, theirs = (a_run("theanine", bench="responses", dataset=name) for name in (MSC, CC))
    theirs[1]["categories"]["session 4"]["rouge-l"]["mean"] = 0.75
    assert row_of(table, ours, theirs).values[1] == 50.0  # not pooled
    rows, [hint] = run_rows(table, [ours])
    assert (rows, "the row needs a run of Conversation Chronicles as well" in hint) == ([], True)
    plain = a_run("theanine", bench="responses", dataset=CC, settings={"relation_aware": "false"})
    assert run_rows(table, [ours, plain])[0] == []


@pytest.mark.parametrize(
    ("name", "method", "settings", "label"),
    [
        ("theanine-ablations", "theanine-paper", {}, "Theanine"),
        (
            "theanine-ablations",
            "theanine-paper",
            {"relation_aware": "false"},
            "without relation-aware linking",
        ),
        # As runs of earlier releases have them.
        ("theanine-ablations", "theanine", {"paper": "true"}, "Theanine"),
        (
            "theanine-ablations",
            "theanine",
            {"search": "memories", "relation_aware": "false"},
            "without relation-aware linking",
        ),
        ("rsum-shots-session-5", "recursive-summary", {"demonstrations": "2"}, "Two-shot"),
        ("secom-long-mt-bench", "exchange", {"paper": "true"}, "Turn-Level (BM25)"),
        ("secom-long-mt-bench", "exchange", {"retrieval": "dense"}, "Turn-Level (MPNet)"),
        ("secom-long-mt-bench", "exchange", {}, "Turn-Level (MPNet)"),  # of neither: the last
    ],
)
def test_rows_are_told_apart_by_what_was_set(
    name: str, method: str, settings: dict[str, str], label: str
) -> None:
    [table] = load_tables([name])
    runs = [
        a_run(method, bench=table.bench, dataset=dataset, settings=settings)
        for dataset in table.sets
    ]
    rows = insert_rows(table, [row_of(table, *runs)])
    [place] = [i for i, row in enumerate(rows) if row.label.startswith("ours: ")]
    assert rows[place - 1].label == label
    assert all(f"{key}={value}" in rows[place].label for key, value in settings.items())


def test_a_row_names_the_models() -> None:
    [table] = load_tables(["rsum-session-5"])
    more: dict[str, Any] = {
        "judge": "openai:j",
        "memory_model": "openai:s",
        "model_settings": {"temperature": 0},
    }
    row = row_of(table, a_run("comedy", bench="responses", budget=500, **more))
    assert row.label == (
        "ours: comedy (budget 500, remembered by openai:s, model temperature 0, judged by openai:j"
        "), openai:m"
    )


def test_turns_tokens_and_latency_have_values() -> None:
    costs, answers = load_tables(["secom-cost", "secom-long-mt-bench"])
    run = a_run("secom", bench="qa")
    assert row_of(costs, run).values == (4.0, 1.0, 0.25, None)
    assert row_of(answers, run).values[-2:] == (3.0, 12.0)  # a turn of SeCom is two of ours
    assert missing_inputs(costs, *run) == ["GPT Score comes with --metric gpt4score"]


def responses(sessions: str, measures: Sequence[str], corpus: Any) -> tuple[Any, Any]:
    settings, summary = a_run("theanine", bench="responses")
    own = {f"session {n}": {"rouge-l": {"mean": int(n) / 100}} for n in sessions}
    return {**settings, "metrics": measures}, {**summary, "categories": own, "corpus": corpus}


def test_mean_of_sessions_is_unweighted_and_needs_all_of_them() -> None:
    [table] = load_tables(["theanine-msc"])
    values = {f"corpus-bleu-4/session {n}": n / 100 for n in (3, 4, 5)}
    asked = ["rouge-l", "corpus-bleu-4", "mauve:gpt2"]
    run = responses("345", asked, {"corpus-bleu-4": 0.9, "mauve": 0.9, **values})
    row = row_of(table, run)
    assert row.values[:2] == pytest.approx((4.0, 4.0))  # not 90 over all, and not 50
    assert row.values[2:] == (None, None)
    assert missing_inputs(table, *run) == ["BertScore comes with --metric bertscore=FOLDER"]
    alone = responses("3", ["rouge-l"], {"corpus-bleu-4": 0.03})
    row = row_of(table, alone)
    assert set(row.values) == {None}
    assert missing_inputs(table, *alone) == ["no session 4, session 5 in the run"]
    [third] = load_tables(["theanine-session-3"])
    alone_too = (alone[0], {**alone[1], "sets": [CC]})
    row = row_of(third, alone, alone_too)
    assert row.values == (pytest.approx(3.0), pytest.approx(3.0), None, None)


def test_pairwise_runs_have_a_row_by_what_they_compare() -> None:
    [table] = load_tables(["theanine-g-eval"])

    def run(dataset: str, rate: float, opponent: str = "comedy") -> tuple[Any, Any]:
        settings, summary = a_run("nobody", bench="pairwise", dataset=dataset)
        settings["config"]["settings"] = {"A": f"mine-{dataset}", "B": "theirs"}
        settings["metrics"] = ["specificity"]
        summary["corpus"] = {"specificity/rate": rate}
        configs = [RunConfig(method=name, model="m").record() for name in ("theanine", opponent)]
        return settings, {**summary, "compared": configs}

    row = row_of(table, run(MSC, 0.5), run(CC, 0.75))
    assert (row.label, row.values) == (
        "ours: theanine, m against comedy, m",
        (62.5, None, None),
    )
    labels = [other.label for other in insert_rows(table, [row])]
    assert labels[labels.index("COMEDY") + 1] == row.label
    golden = row_of(table, *(run(name, 0.5, "golden responses") for name in (MSC, CC)))
    assert insert_rows(table, [golden])[-2].label == "Golden Responses"
    assert missing_inputs(table, *run(MSC, 0.5))[0] == "Mem comes with --criteria memorability"
    [changed] = load_tables(["conditional-ablation-feedback"])  # its rows are the first run
    assert not changed.opponents


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
