"""The links bench, and its labeled pairs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from support.dataset_samples import causal_graph
from support.history_samples import save
from support.real_data import DATA, needs_data
from support.running import Terminal
from theanine.errors import BadInput
from theanine.testing import ScriptedServer, by_step
from theanine_bench.datasets.links import LABELS, bundled_labels, read_bundled, read_pairs
from theanine_bench.metrics.links import METRICS
from theanine_bench.runs import SavedRun, read_run
from theanine_bench.samples import SampleResult
from theanine_bench.tasks.links import links_task

MAST = "A storm broke the mast of our old boat in the harbour."
BERTH = "Our boat Galeb lies in the harbour of Faro."
PAIRS = [
    (BERTH, "On Sunday we moved the boat Galeb from Faro to Lisbon.", "Changed"),
    (MAST, MAST, "SameTopic"),
    ("Thanks, have a great day!", "We ate some soup in Faro.", "None"),
]


def _line(number: int, older: str, newer: str, label: str) -> dict[str, Any]:
    return {
        "id": f"p{number}",
        "set": "own",
        "history": "ana",
        "older": {"text": older, "date": "8 May, 2023", "speaker": "Ana"},
        "newer": {"text": newer, "date": "2023-05-15", "speaker": "Ana"},
        "label": label,
        "sure": True,
    }


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    lines = [json.dumps(_line(n, *pair)) for n, pair in enumerate(PAIRS)]
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    return path


def _bench(run: Terminal, folder: Path, *arguments: str) -> SavedRun:
    run.bare("bench", "links", *arguments, "--out", str(folder))
    return anyio.run(read_run, folder)


def test_pairs_are_read_with_their_days_and_faults_have_a_line(pairs: Path) -> None:
    first, second, _ = read_pairs(pairs)
    assert first.older.day and first.newer.day
    assert (first.newer.day - first.older.day).days == 7
    assert (second.label, second.agreed, second.part) == ("SameTopic", True, "own")
    wrong = json.dumps(_line(9, "a", "b", "Effect"))
    pairs.write_text(pairs.read_text("utf-8") + "\n" + wrong, "utf-8")
    with pytest.raises(BadInput, match="line 4"):
        read_pairs(pairs)
    with pytest.raises(BadInput, match="nothing can be measured"):
        links_task([], [], "")


def test_pairs_are_judged_by_the_local_linker(run: Terminal, pairs: Path, tmp_path: Path) -> None:
    found = _bench(run, tmp_path / "run", str(pairs))
    corpus = found.summary["corpus"]
    assert (corpus["link/precision"], corpus["link/recall"]) == (1, 1)
    assert (corpus["relation/precision"], corpus["relation/recall"]) == (1, 1)
    assert (corpus["same/pairs"], corpus["same/causal"]) == (1, 0)
    assert (corpus["update/decisions, development"], corpus["update/decisions, rest"]) == (1, 0)
    assert corpus["update/precision, development"] == 1  # the second pair is passed over
    assert "candidates/in 10" not in corpus


def test_pairs_are_judged_by_a_model(run: Terminal, pairs: Path, tmp_path: Path) -> None:
    reply = json.dumps({"judgements": [{"pair": 1, "explanation": "so", "relation": "Cause"}]})
    with ScriptedServer(by_step({"relate": reply})) as server:
        model = ("--model", "openai:scripted", "--base-url", server.base_url)
        settings = ("--model-set", "temperature=0.5", "--timeout", "99")
        found = _bench(run, tmp_path / "run", str(pairs), *model, *settings)
        assert len(server.calls) == 3
    assert {request["temperature"] for request in server.requests} == {0.5}
    corpus = found.summary["corpus"]
    assert corpus["link/precision"] == pytest.approx(2 / 3)
    assert corpus["relation/precision"] == 0
    assert corpus["same/causal"] == 1
    assert "update/decisions, rest" not in corpus  # local decisions are the local linker's


def test_gold_edges_and_components_of_whole_histories(run: Terminal, tmp_path: Path) -> None:
    (tmp_path / "causaleval").mkdir()
    save(tmp_path / "causaleval", "graph_0.json", causal_graph())
    found = _bench(run, tmp_path / "run", "--sets", str(tmp_path))
    corpus = found.summary["corpus"]
    assert corpus["edges/edges"] == 1
    assert 0 <= corpus["graph/largest component"] <= 1


SAID = [
    ("2024-03-01", "My appointment with Dr. Novak is on 3 May."),
    ("2024-03-09", "The soup needed more salt."),
    ("2024-04-02", "My appointment with Dr. Novak is on 9 June."),
]


def _diary(matter: list[int], relations: list[list[object]]) -> str:
    reading = {"matters": [{"title": "the doctor", "turns": matter}], "relations": relations}
    turns = [
        {"at": f"{day}T09:00", "session": day, "speaker": "Ana", "role": "user", "text": text}
        for day, text in SAID
    ]
    question = {"q": "When do I see the doctor?", "form": "direct", "turns": [2]}
    diary = {"id": "d1", "user": "Ana", "turns": turns, "questions": [question]}
    return json.dumps({**diary, "readings": [reading, reading]})


@pytest.mark.parametrize(
    ("matter", "relations", "figures"),
    [
        ([0, 2], [[0, 2, "Corrected", 1]], {"related": 1, "typed right": 1, "wanted typed": 1}),
        ([0, 2], [[0, 2, "Cause", 1]], {"related": 1, "typed right": 0, "wanted typed": 0}),
        ([0, 1], [[0, 1, "Cause", 1]], {"related": 0, "typed right": 0, "wanted linked": 0}),
    ],
)
def test_links_of_diaries_are_compared_with_what_readers_marked(
    run: Terminal,
    tmp_path: Path,
    matter: list[int],
    relations: list[list[object]],
    figures: dict[str, float],
) -> None:
    path = tmp_path / "diaries.jsonl"
    path.write_text(_diary(matter, relations), "utf-8")
    corpus = _bench(run, tmp_path / "run", str(path)).summary["corpus"]
    assert (corpus["readers/links"], corpus["readers/wanted"]) == (1, 1)
    assert figures == {name: corpus[f"readers/{name}"] for name in figures}


def test_causaleval_measures_links_evidence_and_answers(run: Terminal, tmp_path: Path) -> None:
    path = save(tmp_path, "graph_0.json", causal_graph())
    shown = run.bare("bench", "causaleval", str(path), "--out", str(tmp_path / "run")).out
    found = anyio.run(read_run, tmp_path / "run")
    asked = [result for result in found.results.values() if result.extra["evidence"]]
    assert asked
    assert all(result.scores["evidence hit"] == 1 for result in asked)
    assert found.summary["facts"]["edges"] == 1
    assert "of 1 gold edges between sessions are linked" in shown


def _result(extra: dict[str, Any], output: dict[str, Any]) -> SampleResult:
    return SampleResult(
        id="1", group="g", category="", question="", dialogue=(), extra=extra, output=output
    )


def test_precision_of_memory_updates_on_both_halves() -> None:
    decided = [
        ("Pass", "SameTopic", "development"),
        ("Replace", "None", "development"),
        ("Replace", "Changed", "development"),
        ("Append", "Changed", "development"),
        ("Change", "Changed", "rest"),
        ("Delete", "Cause", "rest"),
    ]
    results = [
        _result({"label": label, "half": half}, {"operation": operation})
        for operation, label, half in decided
    ]
    assert METRICS["update"].score(results) == {
        "update/decisions, development": 3,
        "update/precision, development": pytest.approx(1 / 3),
        "update/decisions, rest": 2,
        "update/precision, rest": 1 / 2,
    }


def test_figures_of_links_and_edges() -> None:
    drawn = [("Cause", "Cause"), ("Cause", "SameTopic"), ("Want", "None"), ("None", "Cause")]
    results = [
        _result({"label": gold, "same": False}, {"relation": relation}) for gold, relation in drawn
    ]
    assert METRICS["link"].score(results) == {
        "link/precision": pytest.approx(2 / 3),
        "link/recall": pytest.approx(2 / 3),
    }
    related = METRICS["relation"].score(results)
    assert related["relation/precision"] == pytest.approx(1 / 2)
    assert related["relation/recall"] == pytest.approx(1 / 3)
    ranks = [_result({}, {"rank": rank}) for rank in (0, 5, None, 2)]
    assert METRICS["candidates"].score(ranks) == {"candidates/in 3": 0.5, "candidates/in 10": 0.75}
    graph = {"memories": 10, "links": 4, "largest": 5, "edges linked": 1, "links on edges": 2}
    told = [_result({"edges": [["a", "b"], ["c", "d"]]}, graph)]
    assert METRICS["edges"].score(told)["edges/linked"] == 0.5
    assert METRICS["edges"].score(told)["edges/precision of links"] == 0.5
    assert METRICS["graph"].score(told) == {
        "graph/links per memory": 0.4,
        "graph/largest component": 0.5,
    }
    assert METRICS["graph"].score(results) == {}


def test_bundled_labels_have_no_texts(tmp_path: Path) -> None:
    labels = bundled_labels()
    assert len(labels) == len({label["id"] for label in labels}) == 2056
    newer = {"Fulfilled", "Corrected"}  # relations that were not known to the readers
    assert {label["label"] for label in labels} == set(LABELS) - newer
    assert all(not isinstance(label["older"], dict) for label in labels)
    assert read_bundled(tmp_path) == []


@needs_data("locomo")
def test_all_bundled_labels_have_a_text_in_the_data() -> None:
    found = read_bundled(DATA)
    assert len(found) == 2056
    assert all(pair.older.text and pair.newer.text for pair in found)
