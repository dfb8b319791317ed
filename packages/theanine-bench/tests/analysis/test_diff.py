"""Comparison of runs: common samples, p-values, warnings, regressions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.run_samples import sample_item, sample_run, unanswered
from support.running import Terminal
from theanine.errors import BadInput, SettingsError
from theanine_bench.analysis.diff import Diff, diff_runs, regressions
from theanine_bench.metrics.corpus_metrics import UNTESTED, CorpusResult
from theanine_bench.metrics.overlap import CORPUS_BLEU
from theanine_bench.runs.saved_run import SavedRun, read_run, read_runs
from theanine_bench.samples import SampleResult
from theanine_bench.statistics.paired import MIN_PAIRS, randomization_p_value

TWELVE = range(1, 13)


def read(*folders: Path) -> list[SavedRun]:
    return anyio.run(read_runs, folders)


def two(folder: Path, ours: list[SampleResult], theirs: list[SampleResult]) -> Diff:
    return diff_runs(read(sample_run(folder / "a", ours), sample_run(folder / "b", theirs)))


def better(number: int) -> SampleResult:
    return sample_item(number, scores={"f1": 0.9, "right": 1.0})


@pytest.mark.slow
def test_means_and_p_values_use_the_common_samples(tmp_path: Path) -> None:
    ours = [sample_item(n) for n in TWELVE]
    diff = two(tmp_path, [*ours, sample_item(99)], [better(n) for n in TWELVE])
    assert diff.left_out == {"samples that some runs lack": 1}
    assert list(diff.means) == ["right", "f1"]  # in the run's order
    before, after = diff.means["f1"]
    assert before.n == after.n == 12
    assert after.mean == pytest.approx(0.9)
    assert before.mean == pytest.approx(sum(item.scores["f1"] for item in ours) / 12)
    p = {row.measure: row.p for row in diff.comparisons[0]}
    for name, best in (("right", 1.0), ("f1", 0.9)):
        assert p[name] == randomization_p_value([best - item.scores[name] for item in ours])


def test_sample_with_another_question_is_not_common(tmp_path: Path) -> None:
    ours = [sample_item(1), sample_item(2)]
    diff = two(tmp_path, ours, [sample_item(1, words="When?"), sample_item(2)])
    assert [sample.id for sample in diff.samples] == ["a/2"]
    assert diff.left_out == {"samples that differ between the runs": 1}


def test_failure_in_one_run_excludes_the_sample_in_all(tmp_path: Path) -> None:
    failed = sample_item(1, scores={"f1": 0.1}, failures={"right": "ModelError: no"})
    diff = two(tmp_path, [failed, sample_item(2), unanswered(3)], [better(n) for n in (1, 2, 3)])
    assert diff.means["f1"][0].n == 3
    assert [mean.n for mean in diff.means["right"]] == [2, 2]  # no answer counts as wrong
    assert any("a: a metric failed for 1 of 3 samples" in words for words in diff.warnings)


def test_metric_that_failed_for_all_samples_is_listed(run: Terminal, tmp_path: Path) -> None:
    fine = sample_run(tmp_path / "a", [sample_item(n) for n in TWELVE])
    why = {"right": "ModelError: no"}
    failed = [sample_item(n, scores={"f1": 0.1}, failures=why) for n in TWELVE]
    broken = sample_run(tmp_path / "b", failed)
    diff = diff_runs(read(fine, broken))
    assert diff.failing == {"right": [0, 12]}
    assert list(diff.means) == ["f1"]
    assert diff.record()["failing"] == {"right": [0, 12]}
    with pytest.raises(SettingsError, match="it failed 0 times in a, 12 times in b"):
        regressions(diff, {"right": 0.1})
    shown = run.bare("bench", "diff", str(fine), str(broken), "--show=0")
    assert re.search(
        r"^right +– \(0 failed\) +– \(12 failed\) +– +– +0 *$", shown.out, re.MULTILINE
    )
    assert diff_runs(read(broken, broken)).failing == {"right": [12, 12]}


def test_corpus_bleu_is_compared_with_the_first_run(tmp_path: Path) -> None:
    name = "corpus-bleu-1"
    ours = [sample_item(n, answer="In the sea." if n % 4 else "In a harbour.") for n in TWELVE]
    theirs = [sample_item(n, answer="In the harbour." if n % 3 else "Who?") for n in TWELVE]
    first, other = (
        sample_run(tmp_path / folder, items, metrics=["f1", name])
        for folder, items in (("a", [*ours, sample_item(99)]), ("b", theirs))
    )
    there, back = (
        diff_runs(read(*runs)).corpus for runs in ((first, other, first), (other, first))
    )
    for index, items in enumerate(
        (ours, theirs, ours)
    ):  # as a run of the common cases alone has it
        alone = CORPUS_BLEU[name].score(items)
        assert {row: whole.values[index] for row, whole in there.items()} == pytest.approx(alone)
    assert list(there) == [name, f"{name}/when", f"{name}/where", f"{name}/mean"]
    assert [whole.against[0].n for whole in there.values()] == [12, 6, 6, 12]
    for row, whole in there.items():
        (held, same), [opposite] = whole.against, back[row].against
        assert held.interval and held.interval.low < held.difference < held.interval.high
        assert held.difference == pytest.approx(-opposite.difference)
        assert held.p == pytest.approx(opposite.p)
        assert same.interval
        assert (same.difference, same.interval.high, same.p) == (0, 0, 1)


def test_other_corpus_metrics_have_no_p_value(run: Terminal, tmp_path: Path) -> None:
    items = [sample_item(n) for n in TWELVE]
    folders = {
        "a": ("mauve:gpt2", {"mauve": 0.5, "mauve/mean": 0.25}),
        "b": ("mauve:gpt2", {"mauve": 0.75}),
        "lacks": ("mauve:gpt2", {"mauve:gpt2": "torch is missing"}),
        "large": ("mauve:gpt2-large", {"mauve": 0.5}),
    }
    for folder, (label, corpus) in folders.items():
        sample_run(tmp_path / folder, items, metrics=["f1", label], corpus=corpus)
    a, b, lacks, large = (tmp_path / folder for folder in folders)
    diff = diff_runs(read(a, b))
    assert diff.corpus["mauve"] == CorpusResult(values=[0.5, 0.75], why=UNTESTED)
    assert diff.corpus["mauve/mean"].values == [0.25, None]
    assert regressions(diff, {"mauve": 0.1}) == []
    assert regressions(diff_runs(read(b, a)), {"mauve": 0.1}) == [
        "a: mauve went from 0.750 to 0.500"
    ]
    with pytest.raises(SettingsError, match="share a metric 'mauve'"):
        regressions(diff_runs(read(b, lacks)), {"mauve": 0.1})
    whys = [diff_runs(read(a, other)).corpus["mauve"].why for other in (lacks, large)]
    assert whys[0] == "lacks: torch is missing"
    assert "a: mauve:gpt2, large: mauve:gpt2-large" in whys[1]
    shown = run.bare("bench", "diff", str(a), str(b), "--show=0").out
    assert re.search(r"^mauve +0.500 +0.750 +– +– +– *$", shown, re.MULTILINE)
    assert shown.count("no p-value") == 1


def test_warnings_for_runs_that_differ(tmp_path: Path) -> None:
    items = [sample_item(n) for n in (1, 2)]
    first = sample_run(tmp_path / "a", items, judge="openai:x")
    other = sample_run(tmp_path / "b", items, samples=9, data="1" * 64, judge="openai:y")
    warnings = "\n".join(diff_runs(read(first, other)).warnings)
    assert "different data (a: 000" in warnings
    assert "b is not finished: 2 of 9" in warnings
    assert "judged by different models" in warnings
    assert diff_runs(read(first, first)).warnings == []


def test_changes_are_sorted_by_gain(tmp_path: Path) -> None:
    ours = [sample_item(n, scores={"f1": 0.5, "entailment/contradicts": 0.0}) for n in (1, 2, 3)]
    changed = {1: (0.6, 1.0), 2: (0.5, 0.0), 3: (0.1, 0.0)}
    theirs = [
        sample_item(n, scores={"f1": f1, "entailment/contradicts": wrong})
        for n, (f1, wrong) in changed.items()
    ]
    diff = two(tmp_path, ours, theirs)
    assert [change.sample.id for change in diff.changes("f1")] == ["a/1", "a/3"]
    [worse] = diff.changes("entailment/contradicts")
    assert (worse.sample.id, worse.gain) == ("a/1", -1.0)  # of this, less is better
    assert regressions(diff, {"entailment/contradicts": 0.3}) == [
        "b: entailment/contradicts went from 0.000 to 0.333"
    ]
    assert regressions(diff, {"entailment/contradicts": 0.4, "f1": 0.2}) == []
    with pytest.raises(SettingsError, match="share a metric 'bleu'"):
        regressions(diff, {"bleu": 0.1})


def kept(name: str, items: list[SampleResult]) -> SavedRun:
    begun: dict[str, Any] = {
        "bench": "qa",
        "data": "0",
        "theanine": "1",
        "metrics": [],
        "models": {"judge": 0},
    }
    summary = {"done": 1, "samples": 1}
    by_id = {item.id: item for item in items}
    return SavedRun(
        name=name, path=Path(name), settings=begun, results=by_id, summary=summary, seconds={},
        undated={},
    )  # fmt: skip


tenths = st.integers(0, 10).map(lambda n: n / 10)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(tenths, tenths, st.booleans(), st.booleans()), min_size=1, max_size=12))
def test_comparison_is_antisymmetric(values: list[tuple[float, float, bool, bool]]) -> None:
    first, other = (
        kept(
            str(side),
            [
                sample_item(n, scores={"f1": of[side], "right": float(of[side + 2])})
                for n, of in enumerate(values, 1)
            ],
        )
        for side in (0, 1)
    )
    there, back, same = (
        diff_runs([first, other]),
        diff_runs([other, first]),
        diff_runs([first, first]),
    )
    for ours, theirs in zip(there.comparisons[0], back.comparisons[0], strict=True):
        assert ours.difference == pytest.approx(-theirs.difference)
        assert ours.p == (theirs.p and pytest.approx(theirs.p, abs=0.002))
        assert ours.p is None or 0 < ours.p <= 1
        assert (ours.p is None) == (ours.n < MIN_PAIRS)
    gains = {change.sample.id: change.gain for change in there.changes("f1")}
    assert gains == {change.sample.id: -change.gain for change in back.changes("f1")}
    assert same.changes("f1") == []
    assert all(each.p in (None, 1) for each in same.comparisons[0])


def test_killed_run_is_summarized_from_its_results(tmp_path: Path) -> None:
    items = [sample_item(1), unanswered(2)]
    run = anyio.run(read_run, sample_run(tmp_path / "a", items, samples=5, finished=False))
    assert not run.finished
    assert (run.summary["done"], run.summary["samples"], run.summary["unanswered"]) == (2, 5, 1)
    assert run.summary["stopped"] == "it was interrupted"
    assert run.seconds == {"a/1": 0.5, "a/2": 0.5}


def test_runs_that_cannot_be_compared(tmp_path: Path) -> None:
    first = sample_run(tmp_path / "a", [sample_item(1)])
    with pytest.raises(SettingsError, match="share no sample"):
        diff_runs(read(first, sample_run(tmp_path / "b", [sample_item(2)])))
    with pytest.raises(SettingsError, match="two runs or more"):
        read(first)
    with pytest.raises(BadInput, match="not a run's folder"):
        read(first, tmp_path / "none")


def test_runs_of_the_same_name_are_named_by_path(tmp_path: Path) -> None:
    folders = [sample_run(tmp_path / parent / "run", [sample_item(1)]) for parent in "xy"]
    assert [run.name for run in read(*folders)] == [str(folder) for folder in folders]


def test_command_prints_changes_and_fails_for_a_regression(run: Terminal, tmp_path: Path) -> None:
    good = sample_run(tmp_path / "good", [better(n) for n in TWELVE])
    bad = sample_run(tmp_path / "bad", [sample_item(n) for n in TWELVE], method="session")
    shown = run.bare("bench", "diff", str(good), str(bad), "--show", "1")
    assert "12 common samples" in shown.out
    assert "bad by right: 0 better, 8 worse, 4 the same" in shown.out
    assert shown.out.count("  worse, 1.000 → 0.000") == 1
    held = run.bare("bench", "diff", str(good), str(bad), "--fail-below", "f1=0.1", fine=False)
    assert (held.code, "worse than allowed: bad: f1 went from 0.900" in held.out) == (1, True)
    run.bare("bench", "diff", str(bad), str(good), "--fail-below", "f1=0", "--fail-below=right=0")


def test_as_json(run: Terminal, tmp_path: Path) -> None:
    good = sample_run(tmp_path / "good", [better(n) for n in TWELVE])
    bad = sample_run(tmp_path / "bad", [sample_item(n) for n in TWELVE])
    output = run.bare(
        "bench", "diff", str(good), str(bad), "--json", "--show=2", "--metric=f1"
    ).json  # fmt: skip
    assert output["samples"] == 12
    assert [each["name"] for each in output["runs"]] == ["good", "bad"]
    assert output["runs"][0]["recalled_tokens"] == 65
    assert output["metrics"]["f1"]["against_first"][0]["difference"]["n"] == 12
    changed = output["changes"]["bad"]
    assert (changed["measure"], changed["better"], len(changed["worse"])) == ("f1", [], 2)
    assert [each["id"] for each in changed["worse"]] == ["a/10", "a/11"]
    assert changed["worse"][0]["after"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fail-below", "f1"], "METRIC=DELTA"),
        (["--fail-below", "f1=-1"], "METRIC=DELTA"),
        (["--fail-below", "f1=nan"], "METRIC=DELTA"),
        (["--fail-below", "bleu=1"], "share a metric 'bleu'; they share: right, f1"),
        (["--metric", "bleu"], "share a metric 'bleu'"),
        (["--html", "no/such/folder/a.html"], "can't be written"),
    ],
)
def test_mistakes_name_what_is_wrong(
    run: Terminal, tmp_path: Path, arguments: list[str], message: str
) -> None:
    first, other = (sample_run(tmp_path / name, [sample_item(1)]) for name in "ab")
    ran = run.bare("bench", "diff", str(first), str(other), *arguments, fine=False)
    assert (ran.code, message in ran.err) == (2, True), ran.err
