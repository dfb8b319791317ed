"""The retrieval bench end to end, on a small labelled conversation of our own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from support.dataset_samples import TURNS, locomo_questions
from support.history_samples import save
from support.running import Terminal
from theanine.errors import BadInput
from theanine_bench.datasets.evidence import read_evidence
from theanine_bench.datasets.labels import LabeledHistory
from theanine_bench.files import hash_files
from theanine_bench.report import retrieval_page
from theanine_bench.runs import RunFolder, RunLimits, SavedRun, read_run, run_task
from theanine_bench.tasks.retrieval import UNITS, ablations, retrieval_config, retrieval_task


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return save(tmp_path, "pair.json", locomo_questions([["D2:1"], ["D2:2; D9:9"], []]))


def measure(folder: Path, labeled: Sequence[LabeledHistory], **config: Any) -> SavedRun:
    async def run() -> SavedRun:
        task, limits = retrieval_task(labeled, "0"), RunLimits(concurrency=1)
        place, _ = await run_task(
            task, retrieval_config(**config), RunFolder(folder / "run"), limits=limits
        )
        return await read_run(place.path)

    return anyio.run(run)


def test_labels_are_read_leniently_and_what_is_dropped_is_counted(data: Path) -> None:
    [one] = read_evidence(data)
    assert [question.gold for question in one.questions] == [{("", "D2:1")}, {("", "D2:2")}]
    assert one.dropped == {"labels of no turn": 1, "questions without evidence": 1}
    assert [question.category for question in one.questions] == ["single-hop"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_is_measured(data: Path, tmp_path: Path, unit: str) -> None:
    summary = measure(tmp_path, read_evidence(data), unit=unit).summary
    found = summary["metrics"]
    assert found["recall@5"]["n"] == 2
    assert found["recall@20"]["mean"] == 1
    assert found["session hit@10"]["mean"] == 1
    assert found["within 500"]["mean"] == 1
    assert summary["facts"]["index_bytes"] > 0


def test_the_best_turn_comes_first(data: Path, tmp_path: Path) -> None:
    run = measure(tmp_path, read_evidence(data))
    assert run.summary["metrics"]["MRR"]["mean"] == 1
    assert all(
        one.output["scores"]["evidence"] > one.output["scores"]["others"]
        for one in run.results.values()
    )


@pytest.mark.slow
def test_the_command_shows_writes_and_compares(run: Terminal, data: Path, tmp_path: Path) -> None:
    out, html = tmp_path / "ours", tmp_path / "page.html"
    options = ("--out", str(out), "--html", str(html))
    shown = run.bare("bench", "retrieval", str(data), *options).out
    assert "2 questions, unit turn, hybrid" in shown
    assert "session hit@10" in shown
    assert "dropped: 1 label of no turn" in shown
    kept = anyio.run(read_run, out)
    assert list(kept.results) == ["pair/1", "pair/2"]
    evidence = kept.results["pair/1"].output["evidence"]
    assert evidence == [{"speaker": "Ana", "text": TURNS[2][1], "rank": 1}]
    facts = kept.summary["facts"]
    assert (facts["conversations"], facts["turns"]) == (1, 4)
    assert kept.settings["data"] == hash_files(data)
    assert kept.command.startswith(f"theanine bench retrieval {data} --out")
    assert html.read_text("utf-8") == retrieval_page(kept)
    assert (out / "report.html").read_text("utf-8") == retrieval_page(kept)
    against = ("--retriever", "dense", "--against", str(out))
    assert "B: this run" in run.bare("bench", "retrieval", str(data), *against).out
    found = run.bare("bench", "retrieval", str(data), *against, "--json").json
    assert found["against"]["MRR"]["theirs"] == found["metrics"]["MRR"]["mean"] == 1


@pytest.mark.slow
def test_a_run_is_resumed_and_scored_again(run: Terminal, data: Path, tmp_path: Path) -> None:
    out, again = tmp_path / "ours", tmp_path / "again"
    run.bare("bench", "retrieval", str(data), "--out", str(out))
    before = anyio.run(read_run, out)
    items = out / "items.jsonl"
    items.write_text(items.read_text("utf-8").splitlines()[0] + "\n", "utf-8")
    run.bare("bench", "retrieval", str(data), "--out", str(out))
    after = anyio.run(read_run, out)
    assert after.results == before.results
    assert after.seconds["pair/1"] == before.seconds["pair/1"]
    assert after.seconds["pair/2"] != before.seconds["pair/2"]
    metrics = ("--metric", "recall@3", "--metric", "score of evidence")
    run.bare("bench", "rescore", str(out), *metrics, "--out", str(again))
    found = anyio.run(read_run, again).summary["metrics"]
    assert (found["recall@3"]["mean"], found["score of evidence"]["n"]) == (1, 2)


def test_the_command_takes_other_models_and_names_them(run: Terminal, data: Path) -> None:
    options = ("--embedder", "hash:64", "--reranker", "overlap", "--rerank-depth", "2")
    shown = run.bare("bench", "retrieval", str(data), *options).out
    assert "hybrid, hash:64, reranked by overlap" in " ".join(shown.split())
    assert run.bare("bench", "retrieval", str(data), "--reranker", "x", fine=False).code == 2


def test_longmemeval_marks_its_turns(tmp_path: Path) -> None:
    record = {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "What did I adopt?",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 02:21"],
        "haystack_session_ids": ["s1", "s2"],
        "haystack_sessions": [
            [{"role": "user", "content": "Which violin strings last?"}],
            [
                {"role": "user", "content": "Hello."},
                {"role": "user", "content": "I adopted a parrot.", "has_answer": True},
            ],
        ],
        "answer_session_ids": ["s2"],
    }
    [one] = read_evidence(save(tmp_path, "long.json", [record]))
    assert one.dropped == {}
    assert measure(tmp_path, [one]).summary["metrics"]["MRR"]["mean"] == 1


def test_a_conversation_turns_topics_and_a_closing_question(tmp_path: Path) -> None:
    rows = [
        ("human", TURNS[0][1], "pets-1-0"),
        ("chatbot", "", None),
        ("human", TURNS[1][1], "run-2-0"),
    ]
    conversation = [{"from": who, "value": text, "turn-info": info} for who, text, info in rows]
    conversation.append({"from": "human", "value": "Who is Pixel?", "turn-info": "pets-1-Q"})
    record = {"id": "m1", "type": "retrospection", "conversations": conversation}
    [one] = read_evidence(save(tmp_path, "bench.json", [record]))
    assert [question.gold for question in one.questions] == [{("", "t1")}]
    assert measure(tmp_path, [one]).summary["metrics"]["recall@5"]["mean"] == 1


def test_without_a_usable_label_there_is_no_figure(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no question has evidence"):
        retrieval_task(read_evidence(save(tmp_path, "pair.json", locomo_questions([[], []]))), "0")


@pytest.mark.slow
def test_ablations_switch_one_part_off_each(run: Terminal, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "ours"
    shown = run.bare("bench", "retrieval", str(data), "--ablate", "--out", str(out)).out
    assert set(anyio.run(read_run, out).summary["ablations"]) == set(ablations())
    assert set(ablations()) >= {"dense", "lexical", "reach", "speaker", "date"}
    assert all(f"\n{part} " in shown for part in ablations())


def test_mistakes_are_named(run: Terminal, data: Path, tmp_path: Path) -> None:
    other = save(tmp_path, "other.json", [{"weather": "fine"}])
    with pytest.raises(BadInput, match="no questions with evidence"):
        read_evidence(other)
    assert run.bare("bench", "retrieval", str(data), "--unit", "word", fine=False).code == 2
    partless = ("--retriever", "dense", "--ablate")
    ran = run.bare("bench", "retrieval", str(data), *partless, fine=False)
    assert (ran.code, "leave --retriever out" in ran.err) == (2, True)
    ran = run.bare("bench", "retrieval", str(data), "--against", str(other), fine=False)
    assert (ran.code, "neither a run's folder" in ran.err) == (2, True)
    nowhere = ("--html", "no/such/folder/a.html")
    ran = run.bare("bench", "retrieval", str(data), *nowhere, fine=False)
    assert (ran.code, "can't be written" in ran.err) == (2, True)
