"""The papers' data sets in their published formats: a few samples of our own, under their names."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.history_samples import save
from theanine_bench.datasets.registry import get_dataset

SAID = (
    ("I keep bees behind the old mill.", "Do they sting you often?"),
    ("The bees swarmed on Sunday.", "Did you catch the swarm?"),
    ("I sold the honey at the market.", "Was it worth the trip?"),
    ("My brother built new hives.", "How many hives are there now?"),
    ("Nine hives, and one is empty.", "Will the empty one fill in May?"),
)
"""What two speakers say in each of five sessions."""
PAIR = ("Speaker 1", "Speaker 2")
Json = dict[str, Any]


def write_sets(folder: Path) -> None:
    """Write every data set that the papers' tables and figures use, under its catalog name."""
    for number in (3, 4, 5):
        save(folder, f"msc/session_{number}/test.jsonl", json.dumps(_msc(number)))
    valid = [json.dumps(_msc(4, f"valid_{number}")) for number in range(3)]
    save(folder, "msc-valid/session_4/valid.jsonl", "\n".join(valid))
    for number, said in enumerate(SAID[:4], 1):
        save(folder, f"msc_personasummary/session_{number}/test.jsonl", json.dumps(_summary(said)))
    save(folder, "conversation-chronicles", json.dumps(_chronicles()))
    save(folder, "teabag", json.dumps([_teabag("MSC"), _teabag("CC")]))
    save(folder, "locomo", json.dumps([_locomo()]))
    save(folder, "long-mt-bench-plus", json.dumps(_long_mt_bench()))
    save(folder, "coqa", json.dumps({"version": "1.0", "data": [_passage(n) for n in range(3)]}))
    _write_persona_chat(folder / ".cache/theanine/data/persona-chat")
    tiage = {"7": [["hi", "-1"], ["hello", "0"], ["any pets", "1"], ["two cats", "0"]]}
    for name in ("dialseg711", "tiage", "tiage-train"):
        save(folder, name, json.dumps(tiage))
    turns = [
        {"utterance": text, "segmentation_label": int(i == 1)} for i, text in enumerate("abcd")
    ]
    for name in ("superdialseg", "superdialseg-train"):
        rows = [{"dial_id": "d1", "turns": turns}]
        save(folder, name, json.dumps({"dial_data": {"superseg-v2": rows}}))
    for name, prefix in (("knowledge", "msc"), ("feedback", "refine"), ("continue", "code")):
        sets = folder / f"conditional-{name}"
        save(sets, f"{prefix}_test_history_1.txt", json.dumps(_chat(SAID[0])) + "\n")
        save(
            sets, f"{prefix}_test_reference_1.txt", [*_chat(("What do I keep?", "You keep bees."))]
        )
    seed = {"instruction": "Name three gulls.", "instances": [{"input": "", "output": "x"}]}
    save(folder, "seed_tasks.jsonl", json.dumps({"id": "seed_task_0", **seed}))
    save(folder, "code-dialogues.json", {"messages": _chat(("Plot it.", "plot(red)"))})


def _chat(texts: Sequence[str]) -> list[Json]:
    roles = ("user", "assistant")
    return [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]


def _msc(sessions: int, name: str = "test_1") -> Json:
    dialogs = [
        [{"text": text, "id": name} for name, text in zip(PAIR, said, strict=True)] for said in SAID
    ]
    personas = [[said[0]] for said in SAID]
    before = [
        {
            "dialog": dialogs[n],
            "personas": [personas[n], ["I ask."]],
            "time_back": f"{9 - n} days ago",
        }
        for n in range(sessions - 1)
    ]
    return {
        "personas": [personas[0], ["I ask."]],
        "init_personas": [personas[0], ["I ask."]],
        "dialog": dialogs[sessions - 1],
        "metadata": {"initial_data_id": name},
        "previous_dialogs": before,
    }


def _summary(said: Sequence[str]) -> Json:
    turns = [{"text": text, "id": f"bot_{i}"} for i, text in enumerate(said)]
    turns[0]["persona_text"] = said[0]
    return {"dialog": turns, "initial_data_id": "test_1"}


def _chronicles() -> Json:
    record: Json = {"dataID": "e1", "time interval": ["Start", *["A few days after"] * 4]}
    for ordinal, said in zip(("first", "second", "third", "fourth", "fifth"), SAID, strict=True):
        record[f"{ordinal} session dialogue"] = list(said)
        record[f"{ordinal} session speakers"] = ["Neighbor A", "Neighbor B"]
    return record


def _teabag(dataset: str) -> Json:
    sessions = {
        f"session{n}": [f"{name}: {text}" for name, text in zip(PAIR, said, strict=True)]
        for n, said in enumerate(SAID, 1)
    }
    asked = [
        {"question": "Speaker 1: How are your goats?", "answer": "I have no goats."},
        {"question": "Speaker 2: Was it wheat that you sold?", "answer": "I sold honey."},
    ]
    six = [["Speaker 2: Hi!", asked[0]["question"]], ["Speaker 1: Hi.", asked[1]["question"]]]
    return {"dataset": dataset, "id": dataset, **sessions, "questions": asked, "session6": six}


def _locomo() -> Json:
    conversation: Json = {"speaker_a": "Ana", "speaker_b": "Bo"}
    for n, said in enumerate(SAID[:2], 1):
        conversation[f"session_{n}_date_time"] = f"1:56 pm on {n} May, 2023"
        conversation[f"session_{n}"] = [
            {"speaker": name, "dia_id": f"D{n}:{i}", "text": text}
            for i, (name, text) in enumerate(zip(("Ana", "Bo"), said, strict=True), 1)
        ]
    asked = {"question": "What does Ana keep?", "answer": "bees", "evidence": ["D1:1"]}
    return {"sample_id": "pair", "conversation": conversation, "qa": [{**asked, "category": 4}]}


def _long_mt_bench() -> Json:
    return {
        "conversation_id": "c1",
        "sessions": [[f"[human]: {asked}\n[bot]: {answered}"] for asked, answered in SAID],
        "questions": ["What did I sell?"],
        "answers": ["Honey."],
    }


def _passage(number: int) -> Json:
    story = "Mia has a goat. It eats hats."
    return {
        "id": f"p{number}",
        "source": "mctest",
        "story": story,
        "questions": [{"input_text": "What does Mia have?", "turn_id": 1}],
        "answers": [{"input_text": "a goat", "span_start": 8, "span_end": 14, "turn_id": 1}],
    }


def _write_persona_chat(folder: Path) -> None:
    folder.mkdir(parents=True)
    file = folder / get_dataset("persona-chat").data_path  # is known by its suffix
    with file.open("w", newline="", encoding="utf-8") as out:
        table = csv.writer(out)
        table.writerow(["user 1 personas", "user 2 personas", "Best Generated Conversation"])
        for number in range(3):
            said = f"User 1: Hi {number}.\nUser 2: Hello.\nUser 1: Good.\nUser 2: Yes."
            table.writerow(["I row.", "I keep bees.", said])
