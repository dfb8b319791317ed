"""Small data sets with questions."""

from __future__ import annotations

from typing import Any

TURNS = [
    ("Ana", "I adopted a grey parrot called Pixel."),
    ("Bo", "My marathon training starts on Sunday."),
    ("Ana", "I am allergic to hazelnuts, so no cake for me."),
    ("Bo", "I sold my violin to pay the rent."),
]
CHAT = [{"role": "user", "content": "I sail.", "has_answer": True}]
LONGMEMEVAL = [
    {
        "question_id": "q1",
        "question_type": "temporal",
        "question": "What do I do?",
        "question_date": "2023/05/30 (Tue) 23:40",
        "answer": 7,
        "answer_session_ids": ["s1"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21"],
        "haystack_session_ids": ["s1"],
        "haystack_sessions": [CHAT],
    }
]
MT_BENCH = [
    {
        "id": "m1",
        "type": "one",
        "conversations": [
            {"from": "human", "value": "Name a gull.", "turn-info": "stem-1-0"},
            {"from": "chatbot", "value": ""},
            {"from": "human", "value": "Which bird was it?", "turn-info": "stem-1-Q"},
        ],
    }
]
PROBES = {
    "event_ordering": [
        {"question": "In which order?", "rubric": ["a", "b"], "source_chat_ids": [0, [1]]}
    ],
    "abstention": [{"question": "Who?", "rubric": ["says so"], "ideal_response": "Nobody said."}],
}
COQA = {
    "data": [
        {
            "id": "p",
            "source": "tales",
            "story": "A gull flew. It fell.",
            "questions": [{"input_text": "Who flew?", "turn_id": 1}],
            "answers": [{"input_text": "A gull", "span_start": 0, "span_end": 6, "turn_id": 1}],
        }
    ]
}
DIALOGUES = [{"dial_id": 1, "set": "test", "utterances": ["hi", "bye"], "segments": [1, 1]}]
LABELED_TURNS = [
    {"utterance": text, "segmentation_label": n} for n, text in enumerate(["hi", "bye"])
]
SUMMARIES = {
    "initial_data_id": "e1",
    "dialog": [{"id": "bot_0", "text": "I sail.", "persona_text": "I sail. I swim."}],
}


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
            "turns": [["[human]: Which glue holds oak?\n[bot]: Bone glue.\n\n1. Warm it."]],
        }
    ]


def causal_graph() -> dict[str, Any]:
    """Return a graph of four nodes, told in two sessions; no turn tells the last node."""
    actions = (
        "skipped the backup of the ledger",
        "the ledger was lost in a fire",
        "copied the ledger to a second house every evening",
        "bought an umbrella",
    )
    return {
        "graph": {
            "id": 0,
            "nodes": [{"id": n, "person": "Ana", "action": text} for n, text in enumerate(actions)],
            "edges": [
                {"from": 0, "to": 1, "relation": "caused"},
                {"from": 2, "to": 1, "relation": "prevented"},
                {"from": 3, "to": 0, "relation": "enabled"},
            ],
        },
        "conversations": [
            {
                "sessions": [
                    {
                        "number": 1,
                        "date_time": "2023-05-08 09:00",
                        "turns": [
                            {"speaker": "Ana", "text": "I skipped the ledger's backup tonight."},
                            {"speaker": "Bo", "text": "Hello, how is the office?"},
                        ],
                    },
                    {
                        "number": 2,
                        "date_time": "2023-05-22 09:00",
                        "turns": [
                            {"speaker": "Ana", "text": "There was a fire, the ledger is lost."},
                            {"speaker": "Ana", "text": "Now I copy it to a second house."},
                        ],
                    },
                ]
            }
        ],
        "qa": [
            {
                "category": 11,
                "question": "Why was the ledger lost?",
                "answer": "no backup",
                "evidence_nodes": [0, 1],
            },
            {"category": 17, "question": "And now?", "answer": "", "evidence_nodes": [3]},
        ],
    }
