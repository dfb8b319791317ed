"""Text that isn't UTF-8: chats, logs and notes are read in the charset of their language."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import pytest

from support.chat_exports import WRITERS, Said
from theanine.errors import BadInput
from theanine.importers import ImportedHistories, read_histories
from theanine.importers.charsets import guessed_charset
from theanine.retrieval.languages import COLUMNS

CHARSETS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("de", "es", "fr", "it", "pt"), ("cp1252", "latin-1")),
    "hr": ("cp1250",),
    "tr": ("cp1254",),
    "ru": ("cp1251", "koi8-r", "cp866"),
    "ar": ("cp1256",),
    "ko": ("cp949",),
    "zh": ("gb18030",),
    "ja": ("cp932", "euc_jp"),
}
LINES = ["text", "whatsapp", "irc", "pidgin", "line", "kakaotalk", "imessage", "notes", "markdown"]
"""Formats of lines, of whose bytes nothing tells the charset."""


def words_of(language: str) -> Sequence[str]:
    """Return everyday words of a language with letters beyond ASCII."""
    text = (files("theanine.retrieval") / "everyday_words.txt").read_text("utf-8")
    rows = (row.split(" | ") for row in text.splitlines() if not row.startswith("#"))
    column = [row for row in rows if len(row) == len(COLUMNS)]
    words = (word for row in column for word in row[COLUMNS.index(language)].split())
    return [word for word in words if not word.isascii() and "_" not in word]


def save(folder: Path, name: str, said: Sequence[Said], charset: str) -> Path:
    if name == "text":
        file = folder / "talk.txt"
        names = {"user": "Ana", "assistant": "Bo"}
        file.write_text("".join(f"{names[s.side]}: {s.text}\n" for s in said), "utf-8")
    else:
        file = WRITERS[name](folder, said)
    if file.suffix == ".zip":  # as whatsapp's comes
        file = folder / "chat.txt"
        lines = [f"08/05/2024, {s.at:%H:%M} - Ana: {s.text}\n" for s in said]
        file.write_text("".join(lines), "utf-8")
    for each in [file] if file.is_file() else [p for p in file.rglob("*") if p.is_file()]:
        each.write_bytes(each.read_text("utf-8").encode(charset, "replace"))
    return file


def texts_of(reading: ImportedHistories) -> list[str]:
    return [t.text for h in reading.histories for s in h.transcripts for t in s.turns]


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("language", CHARSETS)
def test_text_in_a_charset_of_its_language(language: str, name: str, tmp_path: Path) -> None:
    rng = random.Random(f"{language} {name}")
    for charset in CHARSETS[language]:
        known = [w for w in words_of(language) if w.encode(charset, "replace").decode(charset) == w]
        texts = [" ".join(rng.choices(known, k=20)) for _ in range(3)]
        said = [Said(text, "user", i) for i, text in enumerate(texts)]
        folder = tmp_path / charset
        folder.mkdir()
        reading = read_histories(save(folder, name, said, charset), format=name)
        assert texts_of(reading) == texts
        assert [n for n in reading.notes if n.startswith("text in the charset")]
        with pytest.raises(BadInput, match="UTF-8"):
            read_histories(save(folder, name, said, charset), format=name, strict=True)


@pytest.mark.parametrize("charset", ["latin-1", "cp1252", "iso8859-15"])
def test_a_log_with_writers_in_several_charsets(charset: str, tmp_path: Path) -> None:
    lines = [("ana", "na obali je hladno, čuj", "utf-8"), ("jürg", "grüße vom see", charset)]
    data = b"--- Log opened Mon May 13 21:50:00 2024\n" + b"".join(
        f"21:5{i} <{nick}> {text}\n".encode(codec) for i, (nick, text, codec) in enumerate(lines)
    )
    (tmp_path / "#boats.log").write_bytes(data)
    reading = read_histories(tmp_path / "#boats.log")
    turns = [t for h in reading.histories for s in h.transcripts for t in s.turns]
    assert [(t.speaker, t.text) for t in turns] == [(nick, text) for nick, text, _ in lines]


def test_a_character_that_was_cut_costs_nothing_else(tmp_path: Path) -> None:
    data = "21:56 <ana> čuj, šuma žuti\n".encode()
    (tmp_path / "#boats.log").write_bytes(
        b"2024-05-13 " + data + b"2024-05-13 " + data[:-2] + b"\xc5"
    )
    first, last = texts_of(read_histories(tmp_path / "#boats.log"))
    assert (first, last.rstrip("\ufffd")) == ("čuj, šuma žuti", "čuj, šuma žut")


@pytest.mark.parametrize("text", ["é", "ß", "Ein schöner Tag", "c’est – déjà – ça"])
def test_little_text_is_in_the_usual_charset(text: str) -> None:
    assert guessed_charset(text.encode("cp1252")) == "cp1252"
