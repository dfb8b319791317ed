"""Chats with programs that write code: what was said, without tools and without what frames it."""

from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path

import pytest

from support.history_samples import Json, save
from theanine.importers import ImportedHistories, read_histories


def said(reading: ImportedHistories) -> list[tuple[str, str]]:
    """Return role and words of all turns."""
    return [
        (turn.role, turn.full_text.strip())
        for history in reading.histories
        for session in history.transcripts
        for turn in session.turns
    ]


def text(words: str, **fields: object) -> Json:
    return {"type": "text", "text": words, **fields}


ENVIRONMENT = text("<environment_details>\n# Open tabs\nkeel.py\n</environment_details>")
ASKED = "<ask_followup_question>\n<question>Which keel?</question>\n</ask_followup_question>"


def test_a_task_of_cline_as_its_model_saw_it(tmp_path: Path) -> None:
    rows: list[Json] = [
        {"role": "user", "content": [text("<task>\nPaint the keel.\n</task>"), ENVIRONMENT]},
        {"role": "assistant", "content": f"<thinking>Hm, paint.</thinking>I ask.\n{ASKED}"},
        {
            "role": "user",
            "content": [
                text("[ask_followup_question for 'Which keel?'] Result:"),
                text("<answer>\nThe red one.\n</answer>"),
                ENVIRONMENT,
            ],
        },
        {
            "role": "assistant",
            "content": [text("Use `<b>`.\n<read_file>\n<path>keel.py</path>\n</read_file>")],
        },
        {
            "role": "user",
            "content": [text("[read_file for 'keel.py'] Result:"), text("def paint(): pass")],
        },
        {"role": "user", "content": "[ERROR] You did not use a tool in your previous response!"},
        {
            "role": "assistant",
            "content": "<attempt_completion>\n<result>\nPainted.\n</result>\n</attempt_completion>",
        },
    ]
    reading = read_histories(save(tmp_path, "api_conversation_history.json", rows))
    assert reading.format == "cline"
    assert said(reading) == [
        ("user", "Paint the keel."),
        ("assistant", "I ask.\nWhich keel?"),
        ("user", "The red one."),
        ("assistant", "Use `<b>`."),
        ("assistant", "Painted."),
    ]
    assert reading.notes["tool calls and results left out"] >= 3
    assert reading.notes["thoughts left out"] == 1


def test_tags_of_another_chat_are_its_words(tmp_path: Path) -> None:
    rows = [{"role": "user", "content": "What does <task>x</task> mean?"}]
    reading = read_histories(save(tmp_path, "chat.json", rows))
    assert (reading.format, said(reading)) == ("messages", [("user", rows[0]["content"])])


@pytest.mark.parametrize("first", ["task", "text"])
def test_what_cline_showed(first: str, tmp_path: Path) -> None:
    question = json.dumps({"question": "Which keel?", "options": ["red", "blue"]})
    rows: list[Json] = [
        {"ts": 1715176560000, "type": "say", "say": first, "text": "Paint the keel."},
        {"ts": 1715176561000, "type": "say", "say": "api_req_started", "text": '{"cost": 1}'},
        {"ts": 1715176562000, "type": "ask", "ask": "tool", "text": '{"content": "a b"}'},
        {"ts": 1715176563000, "type": "say", "say": "text", "text": "I look at it."},
        {"ts": 1715176564000, "type": "ask", "ask": "followup", "text": question},
        {"ts": 1715176565000, "type": "say", "say": "user_feedback", "text": "The red one."},
        {
            "ts": 1715176566000,
            "type": "say",
            "say": "completion_result",
            "text": "Done.HAS_CHANGES",
        },
    ]
    reading = read_histories(save(tmp_path, "ui_messages.json", rows))
    assert said(reading) == [
        ("user", "Paint the keel."),
        ("assistant", "I look at it."),
        ("assistant", "Which keel?\n- red\n- blue"),
        ("user", "The red one."),
        ("assistant", "Done."),
    ]


def test_each_task_of_cline_is_a_session(tmp_path: Path) -> None:
    for task in ("17", "18"):
        row: Json = {"ts": 1715176560000, "type": "say", "say": "task", "text": f"Paint {task}."}
        save(tmp_path, f"tasks/{task}/ui_messages.json", [row])
        seen: Json = {"role": "user", "content": f"<task>\nPaint {task}.\n</task>"}
        save(tmp_path, f"tasks/{task}/api_conversation_history.json", [seen])
    reading = read_histories(tmp_path)
    assert said(reading) == [("user", "Paint 17."), ("user", "Paint 18.")]
    assert [s.key for h in reading.histories for s in h.transcripts] == ["17", "18"]
    assert not reading.rejected


def test_an_answer_of_copilot_is_put_together(tmp_path: Path) -> None:
    pieces: list[Json] = [
        {"kind": "thinking", "value": "Where is it?"},
        {"value": "It is in "},
        {"kind": "inlineReference", "inlineReference": {"uri": {"path": "/srv/keel.py"}}},
        {"kind": "toolInvocationSerialized", "invocationMessage": {"value": "Reading keel.py"}},
        {"kind": "markdownContent", "content": {"value": ", and red."}},
    ]
    request: Json = {
        "requestId": "r",
        "timestamp": 1715176560000,
        "message": {"text": "Where is the keel?", "parts": []},
        "response": pieces,
    }
    chat: Json = {"sessionId": "s", "responderUsername": "GitHub Copilot", "requests": [request]}
    reading = read_histories(save(tmp_path, "chat.json", chat))
    assert said(reading) == [
        ("user", "Where is the keel?"),
        ("assistant", "It is in `keel.py`, and red."),
    ]
    assert reading.notes["thoughts left out"] == 1


def test_prompts_have_what_was_pasted_into_them(tmp_path: Path) -> None:
    pasted = {"1": {"id": 1, "type": "text", "content": "two tons"}, "2": {"content": "of lead"}}
    about: Json = {"timestamp": 1715176560000, "project": "/srv/boats"}
    rows: list[Json] = [
        {"display": "Is [Pasted text #1 +2 lines] enough?", "pastedContents": pasted, **about},
        {"display": "/clear ", "pastedContents": {}, **about},
    ]
    file = save(tmp_path, "history.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    reading = read_histories(file)
    assert said(reading) == [("user", "Is two tons enough?\nof lead")]
    assert reading.notes["commands and their output left out"] == 1
    codex = save(
        tmp_path, "h.jsonl", '{"session_id": "s", "ts": 1715176560, "text": "Paint it."}\n' * 2
    )
    assert said(read_histories(codex))[0] == ("user", "Paint it.")


def test_opencode_by_its_folder(tmp_path: Path) -> None:
    info: Json = {
        "id": "m1",
        "sessionID": "ses_1",
        "role": "user",
        "time": {"created": 1715176560000},
    }
    save(tmp_path, "storage/session/p/ses_1.json", json.dumps({"id": "ses_1", "title": "Keel"}))
    save(tmp_path, "storage/message/ses_1/m1.json", json.dumps(info))
    answer: Json = {**info, "id": "m2", "role": "assistant", "time": {"created": 1715176570000}}
    save(tmp_path, "storage/message/ses_1/m2.json", json.dumps(answer))
    parts: list[Json] = [
        text("Paint the keel."),
        text("Called the Read tool.", synthetic=True),
        {"type": "tool", "tool": "read", "state": {"output": "def paint(): pass"}},
    ]
    for number, part in enumerate(parts):
        save(tmp_path, f"storage/part/m1/p{number}.json", json.dumps(part))
    save(tmp_path, "storage/part/m2/p.json", json.dumps(text("It is red now.")))
    reading = read_histories(tmp_path)
    assert said(reading) == [("user", "Paint the keel."), ("assistant", "It is red now.")]
    assert [s.key for h in reading.histories for s in h.transcripts] == ["ses_1"]


def test_calls_in_parts_of_gemini_are_left_out(tmp_path: Path) -> None:
    rows: list[Json] = [
        {"role": "user", "parts": [{"text": "Paint the keel."}]},
        {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {"p": "a b"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"response": {"output": "def x(): y"}}}]},
        {"role": "model", "parts": [{"text": "Painted."}]},
    ]
    reading = read_histories(save(tmp_path, "checkpoint-a.json", rows))
    assert said(reading) == [("user", "Paint the keel."), ("assistant", "Painted.")]
    assert reading.notes["tool calls and results left out"] == 2


AIDER = """
# aider chat started at 2024-05-08 13:56:00

> Aider v0.48.1

#### /add keel.py

> Added keel.py to the chat

#### /ask Is it red?
#### Or blue?

It is red:

```
> no report
#### no question
```

> Tokens: 2.1k sent

# aider chat started at 2024-05-09 10:00:00

#### Paint it.
Painted.
"""


def test_aider_tells_what_was_asked_from_reports(tmp_path: Path) -> None:
    reading = read_histories(save(tmp_path, ".aider.chat.history.md", AIDER), zone=UTC)
    assert reading.format == "aider"
    assert said(reading) == [
        ("user", "Is it red?\nOr blue?"),
        ("assistant", "It is red:\n\n```\n> no report\n#### no question\n```"),
        ("user", "Paint it."),
        ("assistant", "Painted."),
    ]
    starts = [f"{s.at:%F %H:%M}" for h in reading.histories for s in h.transcripts]
    assert starts == ["2024-05-08 13:56", "2024-05-09 10:00"]
    assert reading.notes["reports of the program left out"] == 3
