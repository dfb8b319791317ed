"""A small sample of each import format."""

from __future__ import annotations

import json
from pathlib import Path

Json = dict[str, object]


def save(folder: Path, name: str, value: object) -> Path:
    """Write a value as JSON, or a text unchanged."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    content = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    file.write_text(content, encoding="utf-8")
    return file


def line(**fields: object) -> str:
    """Return a turn of our JSON Lines; a field can be replaced, and None omits it."""
    turn: Json = {"speaker": "Ana", "text": "I sold the boat.", "at": "2024-05-08T13:56:00+02:00"}
    turn.update(fields)
    return json.dumps({key: value for key, value in turn.items() if value is not None}) + "\n"


def locomo() -> Json:
    return {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ana",
            "speaker_b": "Bo",
            "session_10_date_time": "12:05 am on 1 June, 2023",
            "session_10": [{"speaker": "Bo", "dia_id": "D10:1", "text": "Late, I know."}],
            "session_2_date_time": "1:56 pm on 8 May, 2023",
            "session_2": [
                {"speaker": "Ana", "dia_id": "D2:1", "text": "Look!", "blip_caption": "a red boat"},
                {"speaker": "Bo", "dia_id": "D2:2", "text": "", "blip_caption": "a grey cat"},
            ],
            "session_11_date_time": "1:00 pm on 2 June, 2023",
        },
        "observation": {
            "session_2_observation": {
                "Ana": [["Ana owns a red boat.", "D2:1"], ["Both like cats.", ["D2:1", "D2:2"]]],
                "Bo": [["Bo is late.", "D10:1, D2:2"]],
            }
        },
        "qa": [],
    }


def msc() -> Json:
    return {
        "dialog": [
            {"id": "41230", "text": "Back again."},
            {"id": "Speaker 2", "text": "How was it?"},
        ],
        "metadata": {"initial_data_id": "valid_7", "session_id": 2},
        "previous_dialogs": [
            {"dialog": [{"text": "Hello."}, {"text": "Hi."}], "time_back": "6 days 3 hours ago"},
            {
                "dialog": [{"text": "I leave now."}],
                "time_back": " 3 hours ago",
                "personas": [["I travel.", " "], ["I stay."]],
            },
        ],
        "personas": [],
    }


def cc(separator: str = " ") -> Json:
    record: Json = {
        "dataID": "episode-1",
        "relationship": "Neighbors",
        "time interval": ["Start", "A few days after", "A couple of years after"],
    }
    for i, ordinal in enumerate(("first", "second", "third")):
        record[f"{ordinal} session dialogue"] = [f"Word {i}.", f"Answer {i}."]
        record[f"{ordinal} session speakers"] = ["Neighbor A", "Neighbor B"]
    return {key.replace(" ", separator): value for key, value in record.items()}


def memorybank() -> Json:
    days = {
        "2023-04-28": [{"query": "I paint.", "response": "What?"}],
        "2023-04-27": [{"query": "Hello.", "response": "Hi."}, {"query": "Tea?", "response": "No"}],
    }
    return {" Mia ": {"name": "Mia", "summary": {}, "history": days}}


def message(role: str, text: str | list[object], at: float | None, **more: object) -> Json:
    parts: list[object] = [text] if isinstance(text, str) else text
    content: Json = {"content_type": "text", "parts": parts}
    return {"author": {"role": role}, "create_time": at, "content": content, **more}


def chatgpt() -> list[Json]:
    base = 1_700_000_000.5
    picture: list[object] = ["See this.", {"content_type": "image_asset_pointer"}]
    mapping: Json = {
        "root": {"parent": None, "message": None},
        "sys": {"parent": "root", "message": message("system", "Be kind.", None)},
        "u1": {"parent": "sys", "message": message("user", picture, base)},
        "dead": {"parent": "u1", "message": message("assistant", "A dropped branch.", base + 1)},
        "a1": {"parent": "u1", "message": message("assistant", "I see.", base - 5)},
        "hid": {
            "parent": "a1",
            "message": message(
                "user", "secret", base, metadata={"is_visually_hidden_from_conversation": True}
            ),
        },
        "u2": {"parent": "hid", "message": message("user", "Thanks.", None)},
    }
    conversation: Json = {
        "id": "c-1",
        "title": "Boats",
        "create_time": base,
        "mapping": mapping,
        "current_node": "u2",
    }
    return [conversation]


def beam() -> list[Json]:
    def pair(n: int, anchor: str | None) -> list[Json]:
        return [
            {"role": "user", "id": n, "content": f"Question {n}", "time_anchor": anchor},
            {"role": "assistant", "id": n + 1, "content": f"Answer {n}"},
        ]

    return [
        {
            "batch_number": 1,
            "time_anchor": None,
            "turns": [pair(0, "March-15-2024"), pair(2, None)],
        },
        {"batch_number": 2, "time_anchor": None, "turns": [pair(4, "April-05-2024")]},
    ]


def longmemeval() -> list[Json]:
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    return [
        {
            "question_id": "q1",
            "haystack_dates": ["2023/05/20 (Sat) 02:57", "2023/05/20 (Sat) 02:21"],
            "haystack_session_ids": ["s1", "s2"],
            "haystack_sessions": [chat, chat],
        }
    ]


def memories() -> list[Json]:
    summary = {"s1-m2": "Bo has a cat.", "s1-m1": "Ana sails.", "s2-m1": "Ana sold the boat."}
    return [{"dataID": "episode-9", "summary": summary}]
