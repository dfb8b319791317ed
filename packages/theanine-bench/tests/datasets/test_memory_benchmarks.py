"""HaluMem, PersonaMem-v2 and MemOps, in the form of their published loaders."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from support.history_samples import save
from support.running import Terminal
from theanine.errors import BadInput
from theanine.testing import ScriptedServer
from theanine.testing.answers import answer
from theanine_bench.datasets.gold import read_gold
from theanine_bench.datasets.qa import read_qa
from theanine_bench.metrics.choice import METRICS, find_choice
from theanine_bench.samples import SampleResult


def halumem() -> dict[str, Any]:
    def session(day: int, text: str, **more: Any) -> dict[str, Any]:
        return {
            "start_time": f"Dec {day}, 2025, 06:00:00",
            "dialogue": [
                {"role": "user", "content": text, "timestamp": f"Dec {day}, 2025, 06:11:23"},
                {
                    "role": "assistant",
                    "content": "I see.",
                    "timestamp": f"Dec {day}, 2025, 06:11:23",
                },
            ],
            **more,
        }

    question = {
        "question": "Where does Martin live?",
        "answer": "In Graz.",
        "evidence": [{"memory_content": "Martin lives in Graz.", "memory_type": "Persona Memory"}],
        "question_type": "Basic Fact Recall",
    }
    other = {**question, "question": "What is a prime?"}

    def point(text: str, source: str = "primary", *old: str) -> dict[str, Any]:
        return {"memory_content": text, "memory_source": source, "original_memories": list(old)}

    return {
        "uuid": "u1",
        "persona_info": "Name: Martin Mark; Gender: Male",
        "sessions": [
            session(15, "I moved to Linz.", memory_points=[point("Martin lives in Linz.")]),
            session(
                16,
                "I moved to Graz.",
                questions=[question],
                memory_points=[
                    point("Martin lives in Graz.", "secondary", "Martin lives in Linz."),
                    point("Martin lives in Rome.", "interference"),
                ],
            ),
            session(17, "What is a prime?", questions=[other], is_generated_qa_session=True),
        ],
    }


def test_halumem_asks_after_each_session(tmp_path: Path) -> None:
    [group] = read_qa(save(tmp_path, "h.jsonl", json.dumps(halumem())))
    before, first, last = group.stages
    [sample] = first.samples
    assert before.samples == last.samples == ()
    assert (sample.category, sample.reference) == ("Basic Fact Recall", "In Graz.")
    assert sample.extra["evidence"] == [{"speaker": "", "text": "Martin lives in Graz."}]
    [turn, reply] = first.histories[0].transcripts[0].turns
    assert (turn.speaker, turn.at.isoformat()) == ("Martin Mark", "2025-12-16T06:11:23+00:00")
    assert (reply.role, sample.dialogue[0].at > reply.at) == ("assistant", True)
    broken = halumem()
    broken["sessions"][0]["dialogue"][0]["timestamp"] = "yesterday"
    with pytest.raises(BadInput, match=r"\[0\]\.sessions\[0\]: 'yesterday' is no time"):
        read_qa(save(tmp_path, "h.jsonl", json.dumps(broken)))


def test_what_is_to_be_remembered_is_what_holds_in_the_end(tmp_path: Path) -> None:
    [gold] = read_gold(save(tmp_path, "h.jsonl", json.dumps(halumem())))
    assert [memory.text for memory in gold.memories] == ["Martin lives in Graz."]
    assert len(gold.history.transcripts) == 3


def personamem(folder: Path) -> Path:
    turns = [
        {"role": "system", "content": "The user loves tea."},
        {"role": "user", "content": "I drink tea."},
        {"role": "assistant", "content": "Nice."},
    ]
    save(folder, "data/chat_history_32k/h_persona1.json", {"metadata": {}, "chat_history": turns})
    columns = ("persona_id", "chat_history_32k_link", "user_query", "correct_answer",
               "incorrect_answers", "pref_type")  # fmt: skip
    query = json.dumps({"role": "user", "content": "What shall I drink?"})
    options = json.dumps(["Coffee.", "Milk.", "Beer."])
    links = [f"data/chat_history_32k/h_persona{number}.json" for number in (1, 2)]
    rows = [(1, link, query, "Tea.", options, "drinks") for link in links]
    file = folder / "benchmark/text/benchmark.csv"
    file.parent.mkdir(parents=True)
    with file.open("w", newline="", encoding="utf-8") as text:
        csv.writer(text).writerows([columns, *rows])
    return folder / "data" / "chat_history_32k"


@pytest.mark.anyio
async def test_personamem_is_multiple_choice(tmp_path: Path) -> None:
    [group] = read_qa(personamem(tmp_path))
    [sample] = group.samples
    assert group.dropped == {"questions whose history is not in the folder": 1}
    [transcript] = group.stages[0].histories[0].transcripts
    assert [turn.text for turn in transcript.turns] == ["I drink tea.", "Nice."]
    letter = sample.extra["choice"]
    assert f"{letter}. Tea." in sample.dialogue[-1].text
    assert sample.dialogue[-1].text.startswith("What shall I drink?\n")
    for said, score in ((f"He likes it. Final answer: {letter}", 1.0), ("No idea.", 0.0)):
        result = SampleResult(id="1", group="g", question="?", answer=said, extra=sample.extra)
        assert (await METRICS["choice"].score(result)).values == {"choice": score}


@pytest.mark.parametrize(
    ("said", "letter"),
    [
        ("Reasons.\n\nFinal Answer: [C]", "C"),
        ("**Final answer:** b", "B"),
        ("The answer is D", "D"),
        ("It must be (D).", "D"),
        ("A tea would be nice", ""),
        ("", ""),
    ],
)
def test_the_letter_of_an_answer(said: str, letter: str) -> None:
    assert find_choice(said) == letter


def memops(folder: Path) -> Path:
    def turns(*texts: str) -> list[dict[str, str]]:
        return [
            {"role": "user" if n % 2 == 0 else "assistant", "content": text}
            for n, text in enumerate(texts)
        ]

    manager = "Linda Zhao is the manager"
    question = {
        "question": "Who is the manager?",
        "expected_answer": "Linda Zhao",
        "evaluation_type": "CandidateDisambiguation",
        "candidate_options": ["Linda Zhao", "Bo"],
        "gold_memory_state": "Confirmed: Linda Zhao",
        "judge_rubric": {"must_include": ["Linda Zhao"]},
        "gold_provenance": [
            {"segment_index": 1, "turn_index": 2, "quote": manager},
            {"segment_index": 9, "turn_index": 1, "quote": "no such"},
        ],
    }
    instance = {
        "operation_type": "Update",
        "conversations": [
            {"dialogue": turns("Hello.", "Hello!")},
            {
                "dialogue": turns("Odd.", " ", f"{manager}?", f"Yes, {manager}.", "So."),
                "evidence_segment_index": 1,
                "insertion_index": 2,
            },
        ],
        "answer": [question],
    }
    save(folder, "memops/B04_update.json", instance)
    return folder / "memops"


def test_memops_labels_the_turns_of_its_evidence(tmp_path: Path) -> None:
    [group] = read_qa(memops(tmp_path))
    [sample] = group.samples
    assert (sample.id, sample.category) == ("B04_update_q1", "Update")
    assert sample.dialogue[-1].text == "Who is the manager?\nA. Linda Zhao\nB. Bo"
    assert sample.extra["gold"] == [["B04_update/2", "3"]]
    assert sample.extra["evidence"][0]["text"] == "Yes, Linda Zhao is the manager."
    assert group.dropped == {"labels of no turn": 1}


@pytest.mark.slow
def test_each_is_scored_by_its_own_metric(run: Terminal, tmp_path: Path) -> None:
    sets = {
        "halumem": save(tmp_path, "h.jsonl", json.dumps(halumem())),
        "choice": personamem(tmp_path),
        "memops": memops(tmp_path),
    }
    with ScriptedServer(answer) as server:
        judge = ("--judge", "openai:scripted", "--judge-base-url", server.base_url)
        for metric, data in sets.items():
            out = str(tmp_path / f"run-{metric}")
            shown = run.bare("bench", "qa", str(data), "--metric", metric, "--out", out, *judge)
            assert f"\n{metric}" in shown.out
