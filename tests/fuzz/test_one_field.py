"""A field of an export that is missing or null costs what was in it, and nothing else.

``make fuzz`` tries 11,000: 55 formats, 20 fields each, ten times.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.chat_exports import WRITERS, Said
from support.damaging import parsed, places, read_files, write_file
from support.fuzzing import cases
from theanine.errors import BadInput
from theanine.importers import read_histories

pytestmark = [pytest.mark.fuzz, pytest.mark.slow]

OF_TEXT = {
    *("markdown", "notes", "whatsapp", "imessage", "line", "kakaotalk", "sigtop"),
    *("mail", "copilot", "csv", "captions", "chat-text", "irc", "pidgin", "sms", "adium"),
    *("aider", "google-voice"),
}
"""Formats without JSON."""


@pytest.mark.parametrize("name", sorted(set(WRITERS) - OF_TEXT))
@cases(20)
@given(data=st.data())
def test_all_other_items_come_in(name: str, data: st.DataObject) -> None:
    count = data.draw(st.integers(3, 9))
    said = [
        Said(f"The boat is in berth{i}x.", ("user", "assistant")[i % 2], i) for i in range(count)
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = WRITERS[name](Path(folder), said)
        files = read_files(file)
        documents = {
            (path, line): value
            for path, content in files.items()
            for line, value in enumerate(parsed(content))
            if value is not None
        }
        key = data.draw(st.sampled_from(sorted(documents)))
        holder, field = data.draw(st.sampled_from(list(places(documents[key]))))
        lost = json.dumps(holder[field])
        others = [f"berth{i}x" for i in range(count) if not re.search(rf'berth{i}x|"b{i}"', lost)]
        if data.draw(st.booleans()):
            holder[field] = None
        else:
            del holder[field]
        path, _ = key
        write_file(file, path, [value for (name, _), value in documents.items() if name == path])
        if len(others) * 2 < count:  # it held the messages
            return
        try:
            reading = read_histories(file)
        except BadInput as fault:
            pytest.fail(f"without {field!r} of {key}: {fault}")
        turns = [t for h in reading.histories for s in h.transcripts for t in s.turns]
        log = "\n".join(turn.full_text for turn in turns)
        missing = [word for word in others if word not in log]
        assert not missing, f"without {field!r} of {key}: {dict(reading.notes)}"
