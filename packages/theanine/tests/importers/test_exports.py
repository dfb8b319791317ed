"""Exports of services and programs: each is recognized, and no word of it is lost."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import theanine
from support.chat_exports import WRITERS, Said
from support.damaging import parsed, read_files, write_file
from support.planting import lost_words
from theanine.errors import BadInput
from theanine.importers import FORMATS, ImportedHistories, read_histories

DATA_SETS = {"locomo", "msc", "cc", "memorybank", "beam", "longmemeval", "secom", "memories"}
OURS = {"jsonl", "text"}
STATEMENTS = {"other-memories"}
"""Formats of what is remembered, without a chat."""
LINES = {
    *("markdown", "notes", "whatsapp", "mail", "gemini", "skype", "captions", "chat-text"),
    *("mastodon", "adium", "day-one", "irc", "pidgin", "aider", "prompts", "google-assistant"),
    *("google-voice", "intercom", "help-scout"),
}
"""Formats in which a line can also be a heading, a name, a quote or markup; not so here."""
UNTIMED = {"lmstudio", "chatbot-ui", "transcript", "continue"}
"""Formats whose messages have no times of their own."""
ONE_LINE = {"captions"}
"""Formats in which words have no lines."""

TALK = [
    Said("I booked the ferry to Cres.", "user", 0),
    Said("How do you feel about it?", "assistant", 1),
    Said("It is my first one since the storm.\nStill afraid.", "user", 2),
]


def test_every_format_has_a_writer() -> None:
    assert set(WRITERS) == set(FORMATS) - DATA_SETS - OURS - STATEMENTS


@pytest.mark.parametrize("name", WRITERS)
def test_every_export_is_recognized_and_dated(name: str, tmp_path: Path) -> None:
    file = WRITERS[name](tmp_path, TALK)
    reading = read_histories(file)
    assert reading.format == name
    assert reading == read_histories(file, format=name)
    turns = [t for h in reading.histories for s in h.transcripts for t in s.turns]
    texts = [" ".join(s.text.split()) if name in ONE_LINE else s.text for s in TALK]
    assert [t.text for t in turns] == texts
    if name not in UNTIMED:
        assert [t.at for t in turns] == [said.at for said in TALK]
    for history in reading.histories:
        for session in history.transcripts:
            assert session.metadata["source"] == name
            assert len({t.key for t in session.turns}) == len(session.turns)


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30)
any_text = (words | st.lists(words, max_size=4).map("\n".join)).filter(str.strip)
plain = st.text(
    st.characters(categories=["L", "Nd", "Zs"], include_characters=".,!?'"), max_size=30
)
plain_text = st.lists(plain, min_size=1, max_size=4).map("\n".join).filter(str.strip)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_word_is_lost(name: str, data: st.DataObject) -> None:
    texts = data.draw(st.lists(plain_text if name in LINES else any_text, min_size=1, max_size=6))
    texts.append("Bye.")
    said = [Said(text.strip(), ("user", "assistant")[i % 2], i) for i, text in enumerate(texts)]
    with tempfile.TemporaryDirectory() as folder:
        reading = read_histories(WRITERS[name](Path(folder), said), format=name)
    # Words that WhatsApp itself writes, such as "null", are left out and counted.
    assume("deleted and system messages left out" not in reading.notes)
    turns = [t for h in reading.histories for s in h.transcripts for t in s.turns]
    normal = str.split if name in ONE_LINE else _words if name in LINES else str.strip
    assert [normal(t.text) for t in turns] == [normal(each.text) for each in said]


def _words(text: str) -> list[list[str]]:
    """Return the words of each line that isn't blank."""
    return [line.split() for line in text.split("\n") if line.strip()]


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), noise=st.binary(max_size=40))
def test_damaged_exports_are_read_or_bad_input(name: str, seed: int, noise: bytes) -> None:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = WRITERS[name](Path(folder), TALK)
        for file in [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file()):
            content = bytearray(file.read_bytes())
            at = rng.randrange(len(content) + 1)
            content[at : at + rng.randrange(20)] = noise
            file.write_bytes(content)
        with suppress(BadInput):
            read_histories(path, keep_going=rng.random() < 0.5)


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=80), keep_going=st.booleans())
def test_any_bytes_are_read_or_bad_input(name: str, data: bytes, keep_going: bool) -> None:
    with suppress(BadInput):
        read_histories(TextIOWrapper(BytesIO(data)), format=name, keep_going=keep_going)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_a_later_export_adds_only_what_is_new(name: str, tmp_path: Path) -> None:
    """Turns 1 to 3, then 1 and 3 to 5, as if the second had been deleted in between."""
    later = [
        *TALK[::2],
        Said("I slept on deck.", "assistant", 4),
        Said("The sea was calm.", "user", 900),
    ]
    with theanine.open(str(tmp_path / "memory.db")) as client:
        ana = client.user("ana")
        for folder, talk, new in (("a", TALK, 3), ("b", later, 2), ("c", later, 0)):
            (tmp_path / folder).mkdir()
            (history,) = read_histories(WRITERS[name](tmp_path / folder, talk)).histories
            assert ana.log(history).turns_new == new
        texts = [turn.text for turn in ana.turns()]
    expected = [*(said.text for said in TALK), *(said.text for said in later[2:])]
    assert list(map(str.split, texts)) == list(map(str.split, expected))


@pytest.mark.parametrize("name", WRITERS)
def test_a_proper_export_is_not_odd(name: str, tmp_path: Path) -> None:
    file = WRITERS[name](tmp_path, TALK)
    assert read_histories(file, strict=True) == read_histories(file)


ISO_TIMES = [
    *("messages", "claude-code", "codex", "librechat", "character-ai", "skype", "typingmind"),
    "mistral",
]
"""Formats of JSON texts whose messages have times in ISO 8601."""
ALWAYS_TIMED = {"claude-code", "codex"}
"""Those in which a conversation without any time is odd."""


@pytest.mark.parametrize("gone", [[0], [1], [2], [0, 2], [0, 1, 2]])
@pytest.mark.parametrize("name", ISO_TIMES)
def test_a_missing_time_is_noted_and_refused_if_strict(
    name: str, gone: Sequence[int], tmp_path: Path
) -> None:
    path = WRITERS[name](tmp_path, TALK)
    for file in [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]:
        text = file.read_text("utf-8")
        for i in gone:
            text = text.replace(json.dumps(TALK[i].iso), "null")
        file.write_text(text, "utf-8")
    reading = read_histories(path)
    turns = [t for h in reading.histories for s in h.transcripts for t in s.turns]
    assert {t.text for t in turns} == {said.text for said in TALK}
    if len(gone) < len(TALK) or name in ALWAYS_TIMED:
        assert reading.notes["turns without a time"] == len(gone)
        with pytest.raises(BadInput, match=r"turns without a time; leave|items are invalid"):
            read_histories(path, strict=True)
    else:
        assert read_histories(path, strict=True) == reading


OF_NO_MESSAGE = {
    "codex": {"timestamp"},  # of a line that repeats a message
    "deepseek": {"user_id"},
    "gemini": {"products"},  # of an activity that is no prompt, which is counted
    "slack": {"name"},  # of a channel's folder
    "x": {"accountId"},  # by which its owner's name is found
    "telegram": {"about"},  # Telegram's own words about the export
}
"""Fields, by format, whose words are in no message."""


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_a_word_in_any_field_is_logged_or_noted(name: str, tmp_path: Path) -> None:
    file = WRITERS[name](tmp_path, TALK)
    for path, content in read_files(file).items():
        values = list(parsed(content))
        if None in values:  # not JSON
            continue

        def read(path: str = path, values: list[Any] = values) -> ImportedHistories:
            write_file(file, path, values)
            return read_histories(file)

        assert list(lost_words(values, read, OF_NO_MESSAGE.get(name, ()))) == [], path
        read()
