"""Small data sets with questions."""

from __future__ import annotations

from typing import Any

TURNS = [
    ("Ana", "I adopted a grey parrot called Pixel."),
    ("Bo", "My marathon training starts on Sunday."),
    ("Ana", "I am allergic to hazelnuts, so no cake for me."),
    ("Bo", "I sold my violin to pay the rent."),
]


def locomo_questions(evidence: list[list[str]]) -> list[dict[str, Any]]:
    """Return two sessions and a question for each list of evidence."""
    turns = [
        {"speaker": name, "dia_id": f"D{1 + i // 2}:{1 + i % 2}", "text": text}
        for i, (name, text) in enumerate(TURNS)
    ]
    asked = ["What is Ana allergic to?", "Why did Bo sell the violin?", "Who knows?"]
    return [
        {
            "sample_id": "pair",
            "conversation": {
                "speaker_a": "Ana",
                "speaker_b": "Bo",
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": turns[:2],
                "session_2_date_time": "1:56 pm on 9 May, 2023",
                "session_2": turns[2:],
            },
            "qa": [
                {"question": text, "evidence": gold, "category": 4, "answer": ""}
                for text, gold in zip(asked, evidence, strict=False)
            ],
        }
    ]


def long_mt() -> list[dict[str, Any]]:
    return [
        {
            "conversation_id": "c1",
            "sessions": [
                ["[human]: Which glue holds oak?\n[bot]: Bone glue.\n\n1. Warm it.", "Just this."],
                ["<Turn 0>: [human]: Name a gull.\n[bot]: Kittiwake."],
            ],
            "questions": ["Which glue did you name?", "Which bird?", " "],
            "answers": ["Bone glue."],
            "turns": [[0], [2]],
        }
    ]
