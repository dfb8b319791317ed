"""Zip archives, folders and large files: what is read of them, and clear errors for the others."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

import theanine
from support.chat_exports import chatgpt_conversation, save_zip
from support.history_samples import Json
from theanine.client.user import TURNS_LOGGED_AT_ONCE
from theanine.errors import BadInput
from theanine.importers import read_histories
from theanine.types import Transcript


def voice(id: str, role: str, words: str, at: float) -> Json:
    sound = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_1"}
    pointer: Json = {
        "content_type": "real_time_user_audio_video_asset_pointer",
        "audio_asset_pointer": sound,
    }
    parts: list[Json] = [
        {"content_type": "audio_transcription", "text": words, "direction": "in"},
        pointer,
    ]
    return {
        "id": id,
        "author": {"role": role},
        "create_time": at,
        "content": {"content_type": "multimodal_text", "parts": parts},
        "metadata": {},
    }


class Interrupted(Sequence[Transcript]):
    """Sessions of which an import gets some before something stops it."""

    def __init__(self, transcripts: Sequence[Transcript], count: int) -> None:
        self._transcripts, self._count = transcripts, count

    def __len__(self) -> int:
        return len(self._transcripts)

    def __getitem__(self, index: Any) -> Any:
        if index == self._count:
            raise OSError("the disk was taken out")
        return cast("Any", self._transcripts)[index]


@pytest.mark.slow
def test_an_import_that_was_interrupted_adds_only_what_is_new(tmp_path: Path) -> None:
    turns = TURNS_LOGGED_AT_ONCE // 10
    texts = ["What about the boat?", "It sails."] * (turns // 2)
    talks = [chatgpt_conversation(f"c-{i}", texts, start=1.7e9 + i * 1e5) for i in range(30)]
    [history] = read_histories(
        save_zip(tmp_path / "export.zip", {"conversations.json": talks})
    ).histories
    with theanine.open(tmp_path / "memory.db") as client:
        user = client.user("ana")
        with pytest.raises(OSError, match="taken out"):
            user.log(replace(history, transcripts=Interrupted(history.transcripts, 15)))
        logged = len(user.sessions())
        assert 0 < logged <= 15
        report = user.log(history)
        assert (report.sessions_new, report.sessions_known) == (30 - logged, logged)
        assert report.turns_new == (30 - logged) * turns
        again = user.log(history)
        assert (again.sessions_new, again.turns_new) == (0, 0)
        longer = [*talks[:-1], chatgpt_conversation("c-29", [*texts, "Bye."], start=1.7e9 + 29e5)]
        [history] = read_histories(
            save_zip(tmp_path / "export.zip", {"conversations.json": longer})
        ).histories
        later = user.log(history)
        assert (later.sessions_new, later.turns_new) == (0, 1)


def test_a_chatgpt_export_as_it_comes(tmp_path: Path) -> None:
    export = save_zip(
        tmp_path / "export.zip",
        {
            "chat.html": "<html></html>",
            "user.json": {"id": "user-1"},
            "conversations-000.json": [chatgpt_conversation("a", ["Hello.", "Hi."])],
            "conversations-001.json": [chatgpt_conversation("b", ["Bye.", "See you."], start=9e8)],
            "__MACOSX/._conversations-000.json": b"\0\0",
        },
    )
    reading = read_histories(export, speaker="Ana")
    (history,) = reading.histories
    assert (reading.format, history.name) == ("chatgpt", "Ana")
    assert [(t.key, [(u.speaker, u.text) for u in t.turns]) for t in history.transcripts] == [
        ("b", [("Ana", "Bye."), ("Assistant", "See you.")]),
        ("a", [("Ana", "Hello."), ("Assistant", "Hi.")]),
    ]
    stream = io.TextIOWrapper(io.BytesIO(export.read_bytes()))
    assert read_histories(stream, speaker="Ana") == reading


def test_what_was_said_aloud_is_read(tmp_path: Path) -> None:
    talk = chatgpt_conversation("a", ["Hello.", "Hi."])
    mapping = talk["mapping"]
    assert isinstance(mapping, dict)
    message = voice("v", "user", "Call me Sam.", 1_700_000_100)
    mapping["v"] = {"id": "v", "parent": "a-1", "message": message}
    talk["current_node"] = "v"
    export = save_zip(tmp_path / "export.zip", {"conversations.json": [talk]})
    (history,) = read_histories(export).histories
    assert [turn.text for turn in history.transcripts[0].turns] == ["Hello.", "Hi.", "Call me Sam."]
    assert history.notes == {}


def test_a_later_export_has_the_same_keys(tmp_path: Path) -> None:
    early = chatgpt_conversation("a", ["Hello.", "Hi."], title="New chat")
    late = chatgpt_conversation("a", ["Hello.", "Hi.", "Bye."], title="Greetings")
    first, second = (
        read_histories(save_zip(tmp_path / name, {"conversations.json": [talk]})).histories[0]
        for name, talk in (("1.zip", early), ("2.zip", late))
    )
    assert first.transcripts[0].key == second.transcripts[0].key
    assert first.transcripts[0].turns == second.transcripts[0].turns[:2]


@pytest.mark.slow
def test_a_zip_bomb_is_refused(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.zip"
    with (
        zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("conversations.json", "w", force_zip64=True) as member,
    ):
        for _ in range(300):
            member.write(b" " * (1 << 20))
    with pytest.raises(BadInput, match="looks like a zip bomb") as caught:
        read_histories(bomb)
    assert caught.value.where == "bomb.zip, conversations.json"


def test_archives_of_one_export_are_read(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    for id in ("a", "b"):
        talk = chatgpt_conversation(id, [f"Hello, {id}.", "Hi."])
        save_zip(parts / f"part-{id}.zip", {"conversations.json": [talk]})
    save_zip(parts / "pictures.zip", {"a.jpg": b"x"})
    files = {each.name: each.read_bytes() for each in parts.iterdir()}
    for export in (parts, save_zip(tmp_path / "outer.zip", files)):
        (history,) = read_histories(export).histories
        assert [each.key for each in history.transcripts] == ["a", "b"]


def test_archives_in_archives_are_opened_once(tmp_path: Path) -> None:
    files: dict[str, object] = {"conversations.json": [chatgpt_conversation("a", ["Hello."])]}
    for name in ("inner.zip", "middle.zip", "outer.zip"):
        files = {name: save_zip(tmp_path / name, files).read_bytes()}
    with pytest.raises(BadInput, match="holds only other archives, such as inner"):
        read_histories(tmp_path / "outer.zip")


def test_a_damaged_archive_among_others_is_named(tmp_path: Path) -> None:
    inner = save_zip(
        tmp_path / "a.zip", {"conversations.json": [chatgpt_conversation("a", ["A."])]}
    )
    files = {"a.zip": inner.read_bytes(), "b.zip": b"PK\x03\x04"}
    outer = save_zip(tmp_path / "outer.zip", files)
    with pytest.raises(BadInput, match=r"b\.zip: a damaged zip archive"):
        read_histories(outer)
    reading = read_histories(outer, keep_going=True)
    assert [each.where for each in reading.rejected] == ["b.zip"]
    assert len(reading.histories) == 1


@pytest.mark.parametrize("empty", [[], {}, b"", b" [\n ]\n"])
def test_an_empty_file_beside_others_is_passed_over(empty: object, tmp_path: Path) -> None:
    message = {"ID": 1, "Timestamp": "2024-05-13 19:01:00", "Contents": "Hello.", "Attachments": ""}
    files = {"messages/c1/messages.json": [message], "messages/c2/messages.json": empty}
    package = save_zip(tmp_path / "package.zip", files)
    (history,) = read_histories(package).histories
    assert [turn.text for turn in history.transcripts[0].turns] == ["Hello."]


def test_damaged_and_encrypted_archives_are_named(tmp_path: Path) -> None:
    talk = chatgpt_conversation("a", [f"Text number {i}." for i in range(2_000)])
    export = save_zip(tmp_path / "export.zip", {"conversations.json": [talk]})
    data = bytearray(export.read_bytes())
    (tmp_path / "cut.zip").write_bytes(data[: len(data) // 2])
    with pytest.raises(BadInput, match="damaged zip archive"):
        read_histories(tmp_path / "cut.zip")
    middle = len(data) // 3
    (tmp_path / "flipped.zip").write_bytes(data[:middle] + b"\xff" * 40 + data[middle + 40 :])
    with pytest.raises(BadInput, match=r"damaged|broken JSON"):
        read_histories(tmp_path / "flipped.zip")
    directory = data.rindex(b"PK\x01\x02")
    data[directory + 8] |= 1
    (tmp_path / "locked.zip").write_bytes(data)
    with pytest.raises(BadInput, match="encrypted"):
        read_histories(tmp_path / "locked.zip")


def test_an_archive_of_other_things_is_described(tmp_path: Path) -> None:
    export = save_zip(tmp_path / "photos.zip", {"a.jpg": b"x", "b.jpg": b"y", "notes.pdf": b"z"})
    with pytest.raises(BadInput, match=r"2 × .jpg, 1 × .pdf, such as a.jpg"):
        read_histories(export)


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"mapping": {"x": '])
def test_deep_nesting_is_an_error(tmp_path: Path, opening: str) -> None:
    file = tmp_path / "deep.json"
    file.write_text(opening * 100_000)
    with pytest.raises(BadInput, match="nested"):
        read_histories(file)


def test_an_object_larger_than_its_preview_is_recognized(tmp_path: Path) -> None:
    talk = chatgpt_conversation("a", [f"Text number {i}." for i in range(3_000)])
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([talk]))
    assert len(read_histories(file).histories[0].transcripts[0].turns) == 3_000


@pytest.mark.parametrize(
    ("content", "description"),
    [
        (b"%PDF-1.7 ...", "a PDF"),
        (b"<!DOCTYPE html><html>", "a web page"),
        (b"\x7fELF\0\0\0", "a binary file"),
        (b"just some words", 'plain text that begins with "just some words"'),
        (b'{"weather": "fine", "wind": 3}', 'JSON with the keys "weather", "wind"'),
        (b'{"weather": "fine"}\n{"weather": "bad"}', 'JSON Lines with the keys "weather"'),
        (b"SQLite format 3\0" + b"\0" * 100, "a database"),
    ],
)
def test_an_unknown_file_is_described(tmp_path: Path, content: bytes, description: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(BadInput, match=f"it looks like {description}"):
        read_histories(file)


def test_all_exports_of_an_archive_are_read(tmp_path: Path) -> None:
    mail = b"From a 2024\nFrom: a@example.org\nDate: Wed, 8 May 2024 13:56:00 +0200\n\nHi.\n"
    entry: Json = {
        "header": "Gemini Apps",
        "title": "Prompted Hello",
        "time": "2026-03-04T05:06:07Z",
    }
    files: dict[str, object] = {
        "Takeout/Mail/All mail.mbox": mail,
        "Takeout/My Activity/Gemini Apps/MyActivity.json": [entry],
        "Takeout/Drive/data.json": {"not": "Signal"},
        "Takeout/archive_browser.txt": "Not a note.",
    }
    histories = read_histories(save_zip(tmp_path / "takeout.zip", files)).histories
    assert [(history.name, len(history.transcripts)) for history in histories] == [
        ("mail", 1),
        ("gemini", 1),
    ]


def test_a_file_of_two_formats_asks_for_its_name(tmp_path: Path) -> None:
    record: Json = {"mapping": {"a": None}, "current_node": "a", "chat_messages": list[Json]()}
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([record]))
    with pytest.raises(BadInput, match="could be chatgpt or claude: name the format with --format"):
        read_histories(file)


@pytest.mark.parametrize("name", ["talks.jsonl", "talks"])
def test_json_lines_that_are_longer_than_what_is_peeked_at(tmp_path: Path, name: str) -> None:
    talk = {"messages": [{"role": "user", "content": "Hello. " * 20_000}]}
    file = tmp_path / name
    file.write_text(f"{json.dumps(talk)}\n{json.dumps(talk)}\n")
    reading = read_histories(file)
    assert reading.format == "messages"
    assert len(reading.histories[0].transcripts) == 2


def test_a_file_of_a_folder_that_cannot_be_read_is_one_invalid_item(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "good.md").write_text("# 2024-05-08\n\nI love boats.\n")
    (vault / "nul1.md").write_bytes(b"# 2024-05-09\n\nBoats\0.\n")
    (vault / "nul2.md").write_bytes(b"# 2024-05-10\n\nFerries\0.\n")
    with pytest.raises(BadInput, match="2 items are invalid"):
        read_histories(vault)
    reading = read_histories(vault, keep_going=True)
    assert [len(history.transcripts) for history in reading.histories] == [1]
    assert [item.where for item in reading.rejected] == ["nul1.md", "nul2.md"]
    archive = tmp_path / "vault.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for note in vault.iterdir():
            file.write(note, note.name)
    assert len(read_histories(archive, keep_going=True).rejected) == 2


def test_a_folder_of_a_named_format_is_told_by_content(tmp_path: Path) -> None:
    folder = tmp_path / "chats"
    folder.mkdir()
    (folder / "boats.txt").write_text(
        "13/05/2024, 21:54 - Bo: Nice!\n13/05/2024, 21:55 - Ana: Yes."
    )
    (folder / "picture.png").write_bytes(b"\x89PNG\0")
    assert len(read_histories(folder, format="whatsapp").histories) == 1
    with pytest.raises(BadInput, match=r"no file of the format slack: .*leave out --format"):
        read_histories(folder, format="slack")
    with pytest.raises(BadInput, match="no file of the format claude-code"):
        read_histories(folder, format="claude-code")


@pytest.mark.parametrize(
    "content",
    [b"\x1f\x8b" + b"x" * 50, gzip.compress(b"one file"), b"x" * 257 + b"ustar" + b"y" * 300],
    ids=["not gzip", "gzip of a file", "not tar"],
)
def test_what_is_packed_but_no_archive_is_named(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "export.tgz"
    file.write_bytes(content)
    with pytest.raises(BadInput, match=r"unpack|export.tgz"):
        read_histories(file)


def test_a_tar_archive_that_expands_without_measure_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "export.tgz"
    with tarfile.open(file, "w:gz", compresslevel=1) as archive:
        member = tarfile.TarInfo("notes.md")
        member.size = 300 << 20
        archive.addfile(member, cast("Any", Zeros()))
    with pytest.raises(BadInput, match="larger than an export"):
        read_histories(file)


class Zeros:
    """A stream of zeros."""

    def read(self, size: int) -> bytes:
        return bytes(size)
