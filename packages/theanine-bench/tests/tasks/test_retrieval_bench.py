"""The retrieval bench end to end, on a small labelled conversation of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.dataset_samples import TURNS, locomo_questions
from support.history_samples import save
from support.running import Terminal
from theanine.errors import BadInput
from theanine_bench.datasets.evidence import read_evidence
from theanine_bench.files import hash_files
from theanine_bench.metrics.paired import compare_paired
from theanine_bench.report import retrieval_page
from theanine_bench.tasks.retrieval import UNITS, ablations, bench_retrieval
from theanine_bench.tasks.retrieval_items import Evidence, read_retrieved


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return save(tmp_path, "pair.json", locomo_questions([["D2:1"], ["D2:2; D9:9"], []]))


def test_labels_are_read_leniently_and_what_is_dropped_is_counted(data: Path) -> None:
    [one] = read_evidence(data)
    assert [question.gold for question in one.questions] == [{("", "D2:1")}, {("", "D2:2")}]
    assert one.dropped == {"labels of no turn": 1, "questions without evidence": 1}
    assert [question.category for question in one.questions] == ["single-hop"] * 2


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_is_measured(data: Path, unit: str) -> None:
    run = bench_retrieval(read_evidence(data), unit=unit)
    found = run.measures()
    assert found["recall@5"].n == 2
    assert found["recall@20"].mean == 1
    assert found["session hit@10"].mean == 1
    assert found["within 500"].mean == 1
    assert run.index_bytes > 0


def test_the_best_turn_comes_first(data: Path) -> None:
    run = bench_retrieval(read_evidence(data))
    assert run.measures()["MRR"].mean == 1
    lexical = bench_retrieval(read_evidence(data), retrieval="lexical")
    assert all(0 <= one.p <= 1 for one in compare_paired(run.items, lexical.items))


def test_the_command_shows_writes_and_compares(run: Terminal, data: Path, tmp_path: Path) -> None:
    out, html = tmp_path / "items.jsonl", tmp_path / "page.html"
    options = ("--out", str(out), "--html", str(html))
    shown = run.bare("bench", "retrieval", str(data), *options).out
    assert "2 questions, unit turn, hybrid" in shown
    assert "session hit@10" in shown
    assert "dropped: 1 label of no turn, 1 question without evidence" in shown
    kept = read_retrieved(out)
    assert [item.id for item in kept.items] == ["pair/1", "pair/2"]
    assert kept.items[0].evidence == [Evidence(speaker="Ana", text=TURNS[2][1], rank=1)]
    assert (kept.conversations, kept.turns, kept.sha256) == (1, 4, hash_files(data))
    assert kept.command.startswith(f"theanine bench retrieval {data} --out")
    assert html.read_text("utf-8") == retrieval_page(kept)
    against = ("--retriever", "dense", "--against", str(out))
    assert "this run" in run.bare("bench", "retrieval", str(data), *against).out
    found = run.bare("bench", "retrieval", str(data), *against, "--json").json
    assert found["against"]["MRR"]["theirs"] == found["MRR"]["mean"] == 1


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
    assert bench_retrieval([one]).measures()["MRR"].mean == 1


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
    assert bench_retrieval([one]).measures()["recall@5"].mean == 1


def test_without_a_usable_label_there_is_no_figure(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no question has evidence"):
        bench_retrieval(read_evidence(save(tmp_path, "pair.json", locomo_questions([[], []]))))


def test_ablations_switch_one_part_off_each(run: Terminal, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "items.jsonl"
    shown = run.bare("bench", "retrieval", str(data), "--ablate", "--out", str(out)).out
    assert set(read_retrieved(out).ablations) == set(ablations())
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
    assert (ran.code, "no items of a run" in ran.err) == (2, True)
    nowhere = ("--html", "no/such/folder/a.html")
    ran = run.bare("bench", "retrieval", str(data), *nowhere, fine=False)
    assert (ran.code, "can't be written" in ran.err) == (2, True)
