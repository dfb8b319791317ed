"""Bad files: errors name the place, the reason and the fix, and are always BadInput."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import datetime
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support import history_samples as samples
from theanine.errors import BadInput, SettingsError
from theanine.importers import FORMATS, is_store_export, read_histories

FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the file is empty"),
    "blank": (b" \n\n", "the file is empty"),
    "empty list": (b"[]", "holds no items"),
    "broken": (b'[\n {"a": 1,}\n]', "broken JSON at line 2, column 10"),
    "cut": (b'[{"sample_id": "x", "conver', "broken JSON at column"),
    "unknown": (
        b'{"a": {"b": 1}}',
        'it looks like JSON with the keys "a". Name it .* one of jsonl, text',
    ),
    "prose": (b"just some words", "unknown format"),
    "numbers": (b"[1, 2]", "unknown format"),
    "half of UTF-16": (b"\xff\xfeA", "unknown format"),
    "surrogate": (b'{"sample_id": "\\ud800", "conversation": {}}', "lone surrogate"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_bad_file_is_named_with_the_reason(name: str, tmp_path: Path) -> None:
    content, reason = FILES[name]
    file = tmp_path / "talk"
    file.write_bytes(content)
    with pytest.raises(BadInput, match=reason) as caught:
        read_histories(file)
    assert caught.value.where.startswith("talk")


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@given(
    st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20),
    st.sampled_from(["Дана", "דנה", "Ana", "美咲", "Ζωή"]),
)
def test_text_in_utf_16_is_read_with_and_without_a_mark(
    marked: bool, codec: str, words: str, name: str
) -> None:
    lines = [f"13/05/2024, 10:5{i} - {name}: Yes, {words}\n" for i in range(3)]
    data = "".join(["\ufeff"] * marked + lines).encode(codec)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "chat.txt"
        file.write_bytes(data)
        turns = [t for h in read_histories(file).histories for s in h.transcripts for t in s.turns]
        file.write_bytes("".join(lines).encode())
        plain = [t for h in read_histories(file).histories for s in h.transcripts for t in s.turns]
    assert turns == plain
    assert {turn.speaker for turn in turns} == {name}


@pytest.mark.parametrize("place", range(1, 12))
def test_a_zero_in_a_text_is_no_sign_of_utf_16(place: int, tmp_path: Path) -> None:
    text = "Ana: I love boats.\nBo: So do I.\n"
    file = tmp_path / "talk.txt"
    file.write_bytes((text[:place] + "\0" + text[place:]).encode())
    with pytest.raises(BadInput, match=r"NUL|unknown format|name the speaker"):
        read_histories(file)


def test_a_missing_file_and_a_folder_without_histories(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        read_histories(tmp_path / "nowhere.json")
    with pytest.raises(BadInput, match="name the files"):
        read_histories(tmp_path)


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + samples.line().encode())
    assert read_histories(file).histories[0].transcripts[0].turns[0].speaker == "Ana"


def test_invalid_settings() -> None:
    with pytest.raises(SettingsError, match=r"known: jsonl, text"):
        read_histories(StringIO("Ana: hi"), format="doc")
    with pytest.raises(SettingsError, match="UTC offset"):
        read_histories(StringIO("Ana: hi"), start=datetime(2020, 1, 1))


def _changed(name: str) -> tuple[object, str]:
    locomo, msc, cc, bank = samples.locomo(), samples.msc(), samples.cc(), samples.memorybank()
    talk, beam, hay = samples.locomo(), samples.beam(), samples.longmemeval()
    locomo.pop("sample_id")
    talk["conversation"] = {
        "session_1_date_time": "8.5.2023",
        "session_1": [],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [{"speaker": "Ana", "text": "no id"}, {"dia_id": "D2:2", "speaker": "Bo"}],
    }
    msc["metadata"] = {}
    cc["first session speakers"] = ["Neighbor A"]
    bank["Eve"] = {"name": "Eve", "history": {"27.4.": []}}
    beam[1]["turns"] = [[{"role": "boss", "content": "x"}]]
    hay[0]["haystack_dates"] = []
    cases: dict[str, tuple[object, str]] = {
        "locomo": (
            [talk],
            r"4 items.*session_1_date_time: \"8.5.2023\".*\[0\]: the field \"dia_id\"",
        ),
        "msc": (msc, r'metadata: the field "initial_data_id" is missing'),
        "cc": ([cc], "2 turns but 1 speakers"),
        "memorybank": (bank, r'"27.4." is not a date of this format'),
        "beam": (beam, 'turns..*role: expected .*"boss"'),
        "longmemeval": (hay, "differ in length"),
    }
    return cases[name]


@pytest.mark.parametrize("name", ["locomo", "msc", "cc", "memorybank", "beam", "longmemeval"])
def test_a_wrong_item_is_named(name: str, tmp_path: Path) -> None:
    value, reason = _changed(name)
    file = samples.save(tmp_path, "talk", value)
    with pytest.raises(BadInput, match=f"(?s){reason}"):
        read_histories(file, format=name)


def test_keep_going_reads_the_valid_items(tmp_path: Path) -> None:
    bad = samples.cc()
    bad.pop("dataID")
    other = {**samples.cc(), "dataID": "episode-2"}
    file = samples.save(tmp_path, "c.json", [samples.cc(), bad, other])
    reading = read_histories(file, keep_going=True)
    assert [h.name for h in reading.histories] == ["episode-1", "episode-2"]
    assert [item.where for item in reading.rejected] == ["c.json, [1]"]


def test_the_unit_of_a_time_is_told_by_its_size(tmp_path: Path) -> None:
    chat: Any = samples.chatgpt()
    for node in chat[0]["mapping"].values():
        if node["message"] is not None and node["message"].get("create_time"):
            node["message"]["create_time"] = int(node["message"]["create_time"] * 1000)
    reading = read_histories(samples.save(tmp_path, "c.json", chat))
    assert reading.histories[0].transcripts[0].at.year == 2023


@pytest.mark.parametrize(("current", "parent"), [("gone", "root"), ("u2", "u2"), (None, None)])
def test_a_service_is_read_whatever_is_odd_and_refused_if_strict(
    current: str | None, parent: str | None, tmp_path: Path
) -> None:
    chat: Any = samples.chatgpt()
    chat[0]["current_node"] = current
    chat[0]["mapping"]["sys"]["parent"] = parent
    chat[0]["mapping"]["u2"]["message"]["create_time"] = "no time"
    file = samples.save(tmp_path, "c.json", chat)
    reading = read_histories(file)
    texts = [turn.text for turn in reading.histories[0].transcripts[0].turns]
    assert texts == ["See this.", "I see.", "Thanks."]
    assert reading.notes["times that can't be read"] == 1
    with pytest.raises(BadInput, match="leave out --strict"):
        read_histories(file, strict=True)


@pytest.mark.parametrize("blank", ["", " ", "\t"])
def test_a_speaker_without_a_name_is_an_error(blank: str, tmp_path: Path) -> None:
    episode = samples.cc()
    episode["second session speakers"] = ["Neighbor A", blank]
    file = samples.save(tmp_path, "c.json", [episode])
    with pytest.raises(BadInput, match=r"second session dialogue\[1\]: a turn without a speaker"):
        read_histories(file)
    (history,) = read_histories(file, keep_going=True).histories
    assert [len(session.turns) for session in history.transcripts] == [2, 1, 2]
    (user,) = samples.memorybank().values()
    assert isinstance(user, dict)
    bank: samples.Json = {blank: {**user, "name": blank}, "Eve": {**user, "name": None}}
    file = samples.save(tmp_path, "b.json", bank)
    with pytest.raises(BadInput, match="a user without a name"):
        read_histories(file)
    assert [h.name for h in read_histories(file, keep_going=True).histories] == ["Eve"]


def test_two_different_sessions_of_one_name_are_an_error(tmp_path: Path) -> None:
    other = samples.cc()
    other["first session dialogue"] = ["Quite", "different"]
    file = samples.save(tmp_path, "c.json", [samples.cc(), samples.cc(), other])
    with pytest.raises(BadInput, match="two sessions with different turns") as caught:
        read_histories(file)
    assert caught.value.where == "episode-1, session episode-1/session_1"


def test_a_store_export_is_recognized(tmp_path: Path) -> None:
    record = json.dumps({"type": "theanine", "format": 2}) + "\n"
    dump = samples.save(tmp_path, "dump.jsonl", record + record)
    talk = samples.save(tmp_path, "talk.jsonl", samples.line(type="chat"))
    assert is_store_export(dump)
    assert not is_store_export(talk)
    assert not is_store_export(tmp_path)
    stream = TextIOWrapper(BytesIO(record.encode()))
    assert is_store_export(StringIO(record))
    with pytest.raises(BadInput, match="restore it"):
        read_histories(dump)
    assert is_store_export(stream)
    assert stream.readline() == record
    with dump.open() as file:
        assert is_store_export(file)
        assert file.readline() == record


EXAMPLES = (
    b"\xff",
    b"[[[",
    b"Ana: hi\n\x00",
    b'{"mapping": {}}',
    b'[{"mapping": {"a": 1}}]',
    b"#\n",
)


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=60) | st.sampled_from(EXAMPLES),
    st.sampled_from([None, *FORMATS]),
    st.booleans(),
)
@example(b'{"text": 1, "at": null}\n{', None, True)
def test_any_bytes_are_read_or_bad_input(data: bytes, name: str | None, keep_going: bool) -> None:
    with suppress(BadInput):
        read_histories(TextIOWrapper(BytesIO(data)), format=name, keep_going=keep_going)


leaves = st.none() | st.booleans() | st.integers(-(10**14), 10**14) | st.text(max_size=4)
FIELDS = [
    "sample_id",
    "conversation",
    "session_1",
    "session_1_date_time",
    "observation",
    "speaker",
    "text",
    "dia_id",
    "dialog",
    "id",
    "previous_dialogs",
    "metadata",
    "initial_data_id",
    "time_back",
    "dataID",
    "summary",
    "s1-m1",
    "history",
    "query",
    "mapping",
    "response",
    "current_node",
    "parent",
    "message",
    "author",
    "role",
    "content",
    "parts",
    "create_time",
    "turns",
    "time_anchor",
    "batch_number",
    "haystack_sessions",
    "haystack_dates",
    "haystack_session_ids",
    "question_id",
    "at",
    "memory",
    "session",
]
trees = st.recursive(
    leaves | st.sampled_from(["user", "a", "2023-04-27", "A few days after", "1 pm"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*FIELDS, "a", "2023-04-27"]), inner, max_size=6)
    ),
    max_leaves=25,
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(trees, st.sampled_from(sorted(FORMATS)))
def test_any_json_is_read_or_bad_input(tree: object, name: str) -> None:
    text = json.dumps([tree])
    with suppress(BadInput):
        memories = FORMATS[name].memories
        read_histories(StringIO(text), format=name, keep_going=True, memories=memories)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_or_device_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(BadInput, match="standard input"):
            read_histories(path)
