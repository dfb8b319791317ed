"""Transcripts of Claude Code, Codex and Cursor: words are kept, the programs' own lines are not."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from support.chat_exports import START, WRITERS, Said, save_zip
from support.history_samples import Json, save
from theanine.errors import BadInput
from theanine.importers import read_histories
from theanine.types import History

FILES = [f"{i}f2a0000-0000-4000-8000-000000000001.jsonl" for i in range(3)]


def only(path: Path) -> History:
    (history,) = read_histories(path).histories
    return history


def said(history: History) -> list[str]:
    return [turn.text for session in history.transcripts for turn in session.turns]


def lines(*records: Json) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def line(uuid: str, content: object, side: str = "user", **fields: object) -> Json:
    return {
        "type": side,
        "uuid": uuid,
        "sessionId": "s",
        "timestamp": START.isoformat(),
        "message": {"role": side, "content": content},
        **fields,
    }


def test_claude_code_keeps_words_and_counts_the_rest(tmp_path: Path) -> None:
    tool: Json = {"type": "tool_use", "name": "Read", "input": {}}
    result: Json = {"type": "tool_result", "content": "1,000 lines"}
    markup = "<command-name>/clear</command-name>\n<command-args></command-args>"
    text = lines(
        {"type": "file-history-snapshot", "snapshot": {}},
        line("1", "Fix the parser.", cwd="C:\\code\\boats"),
        line("2", [{"type": "thinking", "thinking": "Hm."}], "assistant"),
        line("3", [{"type": "text", "text": "Reading it."}, tool], "assistant"),
        line("4", [result]),
        line("5", markup),
        line("6", "What does <command-name>x</command-name> mean?"),
        line("7", "Look around.", isSidechain=True),
        line("8", "Caveat: …", isMeta=True),
        line("9", "[Request interrupted by user]"),
        {"type": "hologram"},
        {"type": "custom-title", "customTitle": "The parser"},
    )
    history = only(save(tmp_path, FILES[0], text))
    assert said(history) == [
        "Fix the parser.",
        "Reading it.",
        "What does <command-name>x</command-name> mean?",
    ]
    assert history.transcripts[0].metadata == {
        "source": "claude-code",
        "conversation": FILES[0].removesuffix(".jsonl"),
        "project": "boats",
        "title": "The parser",
    }
    assert history.notes == {
        "thoughts left out": 1,
        "tool calls and results left out": 2,
        "commands and their output left out": 2,
        "messages of subagents left out": 1,
        "messages of the program left out": 1,
        'lines of the unknown type "hologram" left out': 1,
    }


def test_a_session_that_was_copied_is_read_once(tmp_path: Path) -> None:
    first = [line("1", "Fix the parser."), line("2", "Done.", "assistant")]
    folder = tmp_path / "projects"
    original = save(folder, f"-srv/{FILES[2]}", lines(*first))
    copy = save(folder, f"-srv/{FILES[1]}", lines(*first, line("3", "Test it.")))
    save(folder, f"-srv/{FILES[2][:-6]}/subagents/{FILES[0]}", lines(line("9", "Look.")))
    os.utime(original, (1_700_000_000, 1_700_000_000))
    os.utime(copy, (1_700_000_100, 1_700_000_100))
    history = only(folder)
    turns = {s.key: [turn.text for turn in s.turns] for s in history.transcripts}
    assert turns == {FILES[2][:-6]: ["Fix the parser.", "Done."], FILES[1][:-6]: ["Test it."]}
    assert history.notes == {"repeated turns": 2}


def test_an_id_that_is_used_twice_costs_no_words(tmp_path: Path) -> None:
    text = lines(
        line("u1", "Repaint the boat."), line("u1", "Which color?", "assistant"), line("u1", "Red.")
    )
    history = only(save(tmp_path, "s.jsonl", f"{text}{text}"))
    assert said(history) == ["Repaint the boat.", "Which color?", "Red."]
    assert history.notes == {"repeated turns": 3}


def test_codex_leaves_out_scaffolding_and_mirrors(tmp_path: Path) -> None:
    def item(role: str, text: str) -> Json:
        content: list[Json] = [{"type": "input_text", "text": text}]
        payload: Json = {"type": "message", "role": role, "content": content}
        return {"timestamp": START.isoformat(), "type": "response_item", "payload": payload}

    call: Json = {"type": "function_call", "name": "shell"}
    text = lines(
        {"timestamp": START.isoformat(), "type": "session_meta", "payload": {"cwd": "/srv/boats"}},
        item("developer", "Be careful."),
        item("user", "<environment_context>\n  <cwd>/srv</cwd>\n</environment_context>"),
        item("user", "Fix the parser."),
        {"timestamp": START.isoformat(), "type": "response_item", "payload": call},
        item("assistant", "Done."),
    )
    history = only(save(tmp_path, "rollout-1.jsonl", text))
    assert said(history) == ["Fix the parser.", "Done."]
    assert history.transcripts[0].metadata["project"] == "boats"
    assert history.notes == {
        "system and tool messages left out": 1,
        "messages of the program left out": 1,
        "tool calls and results left out": 1,
    }


def test_the_first_version_of_codex(tmp_path: Path) -> None:
    meta: Json = {"id": "s", "timestamp": START.isoformat(), "instructions": None}
    content: list[Json] = [{"type": "input_text", "text": "Fix the parser."}]
    message: Json = {"type": "message", "role": "user", "content": content}
    history = only(save(tmp_path, "rollout-1.jsonl", lines(meta, message)))
    assert said(history) == ["Fix the parser."]


def test_cursor_in_an_archive_and_with_missing_messages(tmp_path: Path) -> None:
    talk = [Said("Fix the parser."), Said("Done.", "assistant", 1), Said("Thanks.", "user", 2)]
    file = WRITERS["cursor"](tmp_path, talk)
    with closing(sqlite3.connect(file)) as db:
        db.execute("DELETE FROM cursorDiskKV WHERE key = 'bubbleId:c-1:b1'")
        old: Json = {"createdAt": START.timestamp() * 1000, "conversation": list[Json]()}
        old["conversation"] = [{"type": 1, "text": "An old chat."}]
        db.execute("INSERT INTO cursorDiskKV VALUES ('composerData:c-0', ?)", (json.dumps(old),))
        db.commit()
    export = save_zip(
        tmp_path / "backup.zip", {"User/globalStorage/state.vscdb": file.read_bytes()}
    )
    reading = read_histories(export)
    (history,) = reading.histories
    assert reading.format == "cursor"
    assert said(history) == ["An old chat.", "Fix the parser.", "Thanks."]
    assert history.notes == {
        "messages that the database doesn't hold": 1,
        "turns without a time": 1,
    }


def test_a_damaged_database_is_named(tmp_path: Path) -> None:
    file = WRITERS["cursor"](tmp_path, [Said("Fix the parser.")])
    data = file.read_bytes()
    file.write_bytes(data[:4_096] + b"\xff" * (len(data) - 4_096))
    with pytest.raises(BadInput, match="a database that can't be read"):
        read_histories(file)


def test_much_markup_takes_no_time(tmp_path: Path) -> None:
    text = "<system-reminder>x</system-reminder>\n" * 2_000 + "Fix the parser."
    assert said(only(save(tmp_path, FILES[0], lines(line("1", text))))) == ["Fix the parser."]


def test_a_folder_of_claude_code_with_other_file_names(tmp_path: Path) -> None:
    save(tmp_path, "s1.jsonl", lines(line("1", "Fix the parser.")))
    (history,) = read_histories(tmp_path, format="claude-code").histories
    assert said(history) == ["Fix the parser."]


def codex_line(content: object, role: str = "user", **fields: object) -> Json:
    payload: Json = {"type": "message", "role": role, "content": content}
    return {"timestamp": START.isoformat(), "type": "response_item", "payload": payload, **fields}


@pytest.mark.parametrize("empty", ["", " ", None, [], {}, 7])
@pytest.mark.parametrize("field", ["summary", "custom-title", "aiTitle", "other"])
def test_what_says_nothing_takes_no_title_away(field: str, empty: object, tmp_path: Path) -> None:
    title: Json = {"type": "summary", "summary": "The boat"}
    text = lines(line("1", "Hi."), title, {"type": "mode", field: empty})
    (session,) = only(save(tmp_path, FILES[0], text)).transcripts
    assert session.metadata["title"] == "The boat"


def test_a_later_start_of_codex_adds_to_what_is_known(tmp_path: Path) -> None:
    metas: list[Json] = [{"id": "s", "cwd": "/srv/boats"}, {"cwd": ""}, {}, {"id": "t"}]
    records: list[Json] = [{"type": "session_meta", "payload": meta} for meta in metas]
    text = lines(*records, codex_line("Hi."))
    (session,) = only(save(tmp_path, "rollout-1.jsonl", text)).transcripts
    assert session.metadata == {"source": "codex", "conversation": "t", "project": "boats"}


@pytest.mark.parametrize("name", [FILES[0], "rollout-1.jsonl"])
@pytest.mark.parametrize("content", [None, "", [], "missing"])
def test_words_beside_an_empty_content_are_kept(content: object, name: str, tmp_path: Path) -> None:
    is_codex = name.startswith("rollout")
    record = codex_line(content) if is_codex else line("1", content)
    message = record["payload" if is_codex else "message"]
    assert isinstance(message, dict)
    message["text"] = "Please keep the blue boat."
    if content == "missing":
        del message["content"]
    assert said(only(save(tmp_path, name, lines(record)))) == ["Please keep the blue boat."]


@pytest.mark.parametrize("name", [FILES[0], "rollout-1.jsonl"])
def test_words_beside_tool_calls_are_noted(name: str, tmp_path: Path) -> None:
    content: list[Json] = [{"type": "tool_use", "name": "Read", "input": {}}]
    is_codex = name.startswith("rollout")
    records = [
        codex_line(each, "assistant") if is_codex else line(f"{i}", each, "assistant")
        for i, each in enumerate((content, "Done."))
    ]
    message = records[0]["payload" if is_codex else "message"]
    assert isinstance(message, dict)
    message["aside"] = "The blue boat."
    history = only(save(tmp_path, name, lines(*records)))
    assert said(history) == ["Done."]
    assert history.notes == {
        "tool calls and results left out": 1,
        'words in other fields left out: "aside"': 1,
    }


@pytest.mark.parametrize("role", ["critic", "System", "developer", "tool"])
def test_codex_leaves_out_roles_that_are_neither_side(role: str, tmp_path: Path) -> None:
    text = lines(codex_line("Hi."), codex_line("Weak.", role), codex_line("Hello.", "assistant"))
    history = only(save(tmp_path, "rollout-1.jsonl", text))
    assert said(history) == ["Hi.", "Hello."]
    assert history.notes == {"system and tool messages left out": 1}


def test_a_message_of_codex_without_a_time_gets_that_of_the_line_before(tmp_path: Path) -> None:
    def at(minutes: int) -> str:
        return (START + timedelta(minutes=minutes)).isoformat()

    text = lines(
        codex_line("Hi."),
        {"timestamp": at(5), "type": "event_msg", "payload": {}},
        codex_line("Hello.", "assistant", timestamp=None),
        codex_line("Bye.", timestamp=at(9)),
    )
    history = only(save(tmp_path, "rollout-1.jsonl", text))
    (session,) = history.transcripts
    assert [turn.at - START for turn in session.turns] == [
        timedelta(minutes=minutes) for minutes in (0, 5, 9)
    ]
    assert history.notes == {"turns without a time": 1}


def test_the_first_version_of_codex_is_not_odd(tmp_path: Path) -> None:
    meta: Json = {"id": "s", "timestamp": START.isoformat(), "instructions": None}
    message: Json = {"type": "message", "role": "user", "content": "Fix the parser."}
    file = save(tmp_path, "rollout-1.jsonl", lines(meta, message))
    assert read_histories(file, strict=True) == read_histories(file)
    (session,) = only(file).transcripts
    assert (session.at, session.dated) == (START, True)


def test_the_age_of_a_chat_is_enough_for_cursor_but_not_for_some_messages(tmp_path: Path) -> None:
    file = WRITERS["cursor"](tmp_path, [Said("Fix it."), Said("Done.", "assistant", 1)])
    for number in (0, 1):
        with closing(sqlite3.connect(file)) as db:
            key = f"bubbleId:c-1:b{number}"
            value: Json = {"type": number + 1, "text": "Words."}
            db.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, json.dumps(value)))
            db.commit()
        assert read_histories(file).notes == {"turns without a time": number + 1}
        if number == 0:
            with pytest.raises(BadInput, match="turns without a time; leave out --strict"):
                read_histories(file, strict=True)
    (session,) = read_histories(file, strict=True).histories[0].transcripts
    assert session.at == START
