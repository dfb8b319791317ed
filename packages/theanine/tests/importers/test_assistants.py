"""Chats with assistants and notes: branches, parts of messages, dates, and what is left out."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from support.chat_exports import save_zip
from support.history_samples import Json, save
from theanine.errors import BadInput
from theanine.fences import append_remembered
from theanine.importers import read_histories
from theanine.types import History


def only(path: Path, **options: Any) -> History:
    (history,) = read_histories(path, **options).histories
    return history


def said(history: History) -> list[tuple[str, str]]:
    return [(turn.speaker, turn.full_text) for s in history.transcripts for turn in s.turns]


def claude(uuid: str, sender: str, parent: str | None, **fields: object) -> Json:
    at = {"created_at": "2025-03-01T10:00:00.123456Z"}
    return {"uuid": uuid, "sender": sender, "parent_message_uuid": parent, **at, **fields}


def test_claude_reads_the_last_branch_its_pasted_texts_and_files(tmp_path: Path) -> None:
    root = "00000000-0000-4000-8000-000000000000"
    blocks: list[object] = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "First."},
        {"type": "tool_use", "name": "search", "input": {}},
        None,
        {"type": "tool_result", "content": []},
        {"type": "text", "text": "Second."},
    ]
    pasted = [
        {"file_name": "", "extracted_content": "A pasted letter."},
        {"file_name": "paste-2.txt", "extracted_content": "And another."},
        {"file_name": "a.pdf", "extracted_content": "Hundreds of pages."},
    ]
    talk: Json = {
        "uuid": "c",
        "name": "Letters",
        "created_at": "2025-03-01T10:00:00Z",
        "chat_messages": [
            claude("u1", "human", root, text="Read this.", attachments=pasted),
            claude("a1", "assistant", "u1", text="An answer that was tried again."),
            claude("a2", "assistant", "u1", text="unused", content=blocks),
            claude("u2", "human", "a2", text=""),
        ],
    }
    history = only(save(tmp_path, "conversations.json", [talk]), speaker="Ana")
    assert said(history) == [
        ("Ana", 'Read this.\nA pasted letter.\nAnd another. [shares the file "a.pdf"]'),
        ("a.pdf", "Hundreds of pages."),
        ("Assistant", "First.\nSecond."),
    ]
    assert [turn.role for turn in history.transcripts[0].turns] == ["user", "tool", "assistant"]
    assert history.transcripts[0].metadata == {"source": "claude", "title": "Letters"}
    assert history.notes == {
        "messages of other branches left out": 1,
        "thoughts left out": 1,
        "tool calls and results left out": 2,
        "empty messages left out": 1,
    }


def test_the_archive_of_claude_names_the_user(tmp_path: Path) -> None:
    talk = {
        "uuid": "c",
        "created_at": "2025-03-01T10:00:00Z",
        "chat_messages": [claude("u", "human", None, text="Hi.")],
    }
    files = {"users.json": [{"full_name": "Ana H"}], "conversations.json": [talk]}
    export = save_zip(tmp_path / "data.zip", files)
    assert (only(export).name, said(only(export))) == ("Ana H", [("Ana H", "Hi.")])
    assert said(only(export, speaker="Ana")) == [("Ana", "Hi.")]


def test_an_export_without_words_is_an_error(tmp_path: Path) -> None:
    talk: Json = {"uuid": "c", "created_at": "2025-03-01T10:00:00Z", "chat_messages": list[Json]()}
    with pytest.raises(BadInput, match=r"no conversation in it .*1 × conversations without text"):
        read_histories(save(tmp_path, "conversations.json", [talk]))


def test_messages_in_parts_with_tools_and_pictures(tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    voice = {"type": "input_audio", "input_audio": {"data": "AA", "transcript": "Call me Sam."}}
    thread: list[Json] = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Look!"}, picture], "name": "Ana"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "t"}]},
        {"role": "tool", "content": "42", "tool_call_id": "t"},
        {"role": "user", "content": [voice, {"type": "tool_result", "content": "x"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Hello, Sam."}]},
    ]
    history = only(save(tmp_path, "thread.json", thread))
    assert said(history) == [
        ("Ana", "Look! [shares a picture]"),
        ("User", ' [shares a recording that says "Call me Sam."]'),
        ("Assistant", "Hello, Sam."),
    ]
    assert history.name == "thread"
    assert not history.transcripts[0].dated
    assert history.notes["tool calls and results left out"] == 2


@pytest.mark.parametrize(
    "part",
    [
        {"type": "status", "statusState": {"status": "done", "text": "Model is loaded"}},
        {"type": "toolStatus", "text": "The tool is running"},
        {"type": "debugInfoBlock", "debugInfo": "Naming by the prompt"},
        {"type": "progress", "message": "Half of it is done"},
        {"type": "status_update", "content": [{"type": "text", "text": "Waiting for the model"}]},
    ],
)
@pytest.mark.parametrize("field", ["content", "steps"])
def test_what_a_program_says_of_itself_is_no_answer(field: str, part: Json, tmp_path: Path) -> None:
    parts: list[Json] = [part, {"type": "text", "text": "The status: at noon."}]
    version: Json = {"role": "assistant", field: parts}
    asked: Json = {"role": "user", "content": [{"type": "text", "text": "When?"}]}
    talk: Json = {"messages": [{"versions": [each]} for each in (asked, version)]}
    history = only(save(tmp_path, "1.conversation.json", talk))
    assert [text for _, text in said(history)] == ["When?", "The status: at noon."]
    assert history.notes["reports of the program left out"] == 1


def test_what_was_recalled_for_a_message_is_not_imported_with_it(tmp_path: Path) -> None:
    thread: list[Json] = [
        {"role": "user", "content": append_remembered("Shall we sail?", ["Ana fears ships."])},
        {"role": "assistant", "content": None, "refusal": "I can't steer."},
        {"role": "user", "content": [{"type": "reasoning", "text": "x"}, "Then I do."]},
    ]
    history = only(save(tmp_path, "thread.json", thread))
    assert [text for _, text in said(history)] == ["Shall we sail?", "I can't steer.", "Then I do."]
    assert history.notes["thoughts left out"] == 1


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_lists_of_conversations(tmp_path: Path, suffix: str) -> None:
    talks: list[Json] = [
        {"messages": [{"role": "user", "content": f"Talk {i}."}], "id": id}
        for i, id in enumerate(["a", None])
    ]
    lines = "".join(json.dumps(talk) + "\n" for talk in talks)
    content = lines if suffix == "jsonl" else json.dumps(talks)
    history = only(save(tmp_path, f"talks.{suffix}", content))
    assert [session.key for session in history.transcripts] == ["a", "talks/2"]


def test_a_list_of_messages_in_lines_is_one_session(tmp_path: Path) -> None:
    messages = [
        {"role": role, "content": role, "created_at": 1_700_000_000 + i}
        for i, role in enumerate(["user", "assistant"])
    ]
    history = only(save(tmp_path, "talk.jsonl", "\n".join(map(json.dumps, messages))))
    (session,) = history.transcripts
    assert session.dated
    assert [turn.at.timestamp() for turn in session.turns] == [1_700_000_000, 1_700_000_001]


@pytest.mark.parametrize(
    "chat",
    [
        "**You:** Hello.\n\n**ChatGPT:** Hi.\n",
        "**User**: Hello.\n\n**Assistant**: Hi.\n",
        "## Q:\nHello.\n\n## A:\nHi.\n",
        "### 👤 Human\n\nHello.\n\n---\n\n### 🤖 Claude\n\nHi.\n",
        "# You said:\nHello.\n# ChatGPT said:\nHi.\n",
        "---\ntitle: Greetings\n---\n\n**Prompt**\nHello.\n\n**Response**\nHi.\n",
    ],
)
def test_layouts_of_chats_in_markdown(tmp_path: Path, chat: str) -> None:
    reading = read_histories(save(tmp_path, "chat.md", chat))
    assert reading.format == "markdown"
    assert said(reading.histories[0]) == [("User", "Hello."), ("Assistant", "Hi.")]


def test_names_in_code_are_words(tmp_path: Path) -> None:
    code = "```\n## User\n```"
    history = only(save(tmp_path, "chat.md", f"## User\n{code}\n\n## Assistant\nI see.\n"))
    assert said(history) == [("User", code), ("Assistant", "I see.")]


def test_the_front_matter_dates_a_chat(tmp_path: Path) -> None:
    front = "---\ntitle: Greetings\ncreated: 2025-01-02 03:04\n---\n"
    history = only(save(tmp_path, "chat.md", f"{front}## User\nHello.\n## Assistant\nHi.\n"))
    (session,) = history.transcripts
    assert session.at == datetime(2025, 1, 2, 3, 4, tzinfo=UTC)
    assert session.metadata["title"] == "Greetings"


def test_a_folder_of_notes_by_front_matter_heading_name_and_change(tmp_path: Path) -> None:
    save(tmp_path, "a.md", "---\ndate: 2024-01-01\n---\nFront.")
    save(tmp_path, "b.md", "# 2024-02-01 A walk\n\nHeading.")
    save(tmp_path, "daily/2024-03-01.md", "Name.")
    changed = save(tmp_path, "d.txt", "TODO: change.")
    os.utime(changed, (1_711_929_600, 1_711_929_600))  # 2024-04-01
    save(tmp_path, ".obsidian/app.md", "hidden")
    reading = read_histories(tmp_path, speaker="Ana")
    (history,) = reading.histories
    assert (reading.format, history.name) == ("notes", "Ana")
    assert [(f"{s.at:%m-%d}", s.key, s.turns[0].text) for s in history.transcripts] == [
        ("01-01", "a.md", "Front."),
        ("02-01", "b.md", "# 2024-02-01 A walk\n\nHeading."),
        ("03-01", "daily/2024-03-01.md", "Name."),
        ("04-01", "d.txt", "TODO: change."),
    ]


def test_a_journal_has_a_note_a_day_and_long_sections_are_cut(tmp_path: Path) -> None:
    long = "\n\n".join("A paragraph about the ferry. " * 12 for _ in range(10))
    journal = f"## 2024-05-08\n\nCalm.\n\n## 2024-05-09\n\n{long}\n"
    history = only(save(tmp_path, "journal.md", journal))
    first, second = history.transcripts
    assert (first.key, len(first.turns)) == ("journal.md/2024-05-08", 1)
    assert len(second.turns) > 1
    assert all(len(turn.text) < 2_000 for turn in second.turns)
