"""Notes and transcripts that programs export as JSON, and notes that come in two writings."""

from __future__ import annotations

import json
from pathlib import Path

from support.history_samples import Json, save
from theanine.importers import ImportedHistories, read_histories


def said(reading: ImportedHistories) -> list[tuple[str, str]]:
    """Return day and words of all turns."""
    return sorted(
        (f"{turn.at:%F}", turn.full_text.strip())
        for history in reading.histories
        for session in history.transcripts
        for turn in session.turns
    )


def keep(folder: Path, name: str, **fields: object) -> None:
    about: Json = {"color": "DEFAULT", "isTrashed": False, "isPinned": False}
    when: Json = {"userEditedTimestampUsec": 1715176560000000}
    save(folder, f"{name}.json", json.dumps({**about, **when, **fields}))


PAGE = """<?xml version="1.0" ?>
<!DOCTYPE html>
<html><head><title>Hull</title><style>.note { padding: 9px; }</style></head>
<body><div class="note"><div class="heading"><div class="meta-icons"></div>
8.5.2024, 13:56:00</div><div class="title">Hull</div>
<div class="content">Oak and<br/>tar.</div></div></body></html>"""


def test_notes_of_keep_come_in_once(tmp_path: Path) -> None:
    keep(tmp_path / "Keep", "Hull", title="Hull", textContent="Oak and\ntar.")
    save(tmp_path / "Keep", "Hull.html", PAGE)
    save(tmp_path / "Keep", "Labels.txt", "Harbor things\n")
    keep(tmp_path / "Keep", "Old", textContent="Gone.", isTrashed=True)
    items = [{"text": "salt", "isChecked": True}, {"text": "rope", "isChecked": False}]
    keep(tmp_path / "Keep", "List", listContent=items)
    link = {"source": "WEBLINK", "title": "Winter berths", "url": "https://example.org/berths"}
    keep(tmp_path / "Keep", "Link", annotations=[link])
    for folder in (tmp_path, tmp_path / "Keep"):
        reading = read_histories(folder)
        shared = 'a link to https://example.org/berths that says "Winter berths"'
        assert said(reading) == [
            ("2024-05-08", "Hull\nOak and\ntar."),
            ("2024-05-08", f"[shares {shared}]"),
            ("2024-05-08", "[x] salt\n[ ] rope"),
        ]
        assert reading.notes["notes that come again as pages left out"] == 1
        assert reading.notes["deleted notes left out"] == 1
        assert {t.role for h in reading.histories for s in h.transcripts for t in s.turns} == {
            "user"
        }


def test_a_page_of_keep_alone(tmp_path: Path) -> None:
    assert said(read_histories(save(tmp_path, "Hull.html", PAGE))) == [
        ("2024-05-08", "Hull\nOak and\ntar.")
    ]


def test_text_beside_notes_in_json_costs_neither(tmp_path: Path) -> None:
    keep(tmp_path / "mine", "Hull", textContent="Oak and tar.")
    save(tmp_path / "mine", "2024-05-09.txt", "The mast is up.\n")
    assert said(read_histories(tmp_path / "mine")) == [
        ("2024-05-08", "Oak and tar."),
        ("2024-05-09", "The mast is up."),
    ]


def test_simplenote(tmp_path: Path) -> None:
    notes: list[Json] = [
        {"id": "1", "content": "Hull\r\nOak.", "creationDate": "2024-05-08T11:56:00Z"},
        {"id": "2", "content": "", "creationDate": "2024-05-08T11:57:00Z"},
        {"id": "3", "content": "Tar.", "lastModified": "2024-05-09T11:57:00Z"},
    ]
    trashed = [{"id": "4", "content": "Gone.", "creationDate": "2024-05-01T11:57:00Z"}]
    export = {"activeNotes": notes, "trashedNotes": trashed}
    save(tmp_path, "source/notes.json", export)
    save(tmp_path, "Hull.txt", "Hull\nOak.")  # the same again
    reading = read_histories(tmp_path)
    assert said(reading) == [("2024-05-08", "Hull\r\nOak."), ("2024-05-09", "Tar.")]
    assert reading.notes["deleted notes left out"] == 1


def test_standard_notes_in_a_text_file(tmp_path: Path) -> None:
    items: list[Json] = [
        {"uuid": "a", "content_type": "Tag", "content": {"title": "Boat"}},
        {
            "uuid": "b",
            "content_type": "Note",
            "created_at": "2024-05-08T11:56:00.000Z",
            "content": {"title": "Hull", "text": "Oak and tar."},
        },
        {"uuid": "c", "content_type": "Note", "content": "004:aa:bb"},
    ]
    backup = json.dumps({"version": "004", "items": items}, indent=2)
    reading = read_histories(save(tmp_path, "Standard Notes Backup.txt", backup))
    assert said(reading) == [("2024-05-08", "Hull\nOak and tar.")]
    assert reading.notes["encrypted notes left out"] == 1


def test_blocks_of_roam(tmp_path: Path) -> None:
    inner: Json = {"string": "of ((abcdefghi))", "uid": "x", "create-time": 1715176570000}
    blocks: list[Json] = [
        {
            "string": "{{[[TODO]]}} Tar the [[hull]]",
            "uid": "abcdefghi",
            "create-time": 1715176560000,
        },
        {"string": "The price", "uid": "y", "create-time": 1715262960000, "children": [inner]},
        {"string": "", "uid": "z"},
    ]
    reading = read_histories(save(tmp_path, "r.json", [{"title": "Hull", "children": blocks}]))
    assert said(reading) == [
        ("2024-05-08", "[ ] Tar the [[hull]]"),
        ("2024-05-09", "The price\n- of [ ] Tar the [[hull]]"),
    ]


def test_a_bundle_of_bear_is_dated_by_what_is_beside_its_text(tmp_path: Path) -> None:
    bear = {"creationDate": "2024-05-08T11:56:00Z", "trashed": 0}
    save(tmp_path, "Hull.textbundle/text.md", "# Hull\n\nOak and tar.\n")
    save(tmp_path, "Hull.textbundle/info.json", json.dumps({"net.shinyfrog.bear": bear}))
    assert said(read_histories(tmp_path)) == [("2024-05-08", "# Hull\n\nOak and tar.")]


def test_pieces_of_a_transcript_are_turns(tmp_path: Path) -> None:
    segments: list[Json] = [
        {"speaker": "Ana", "start": 0.0, "end": 2.0, "text": " The mast"},
        {"speaker": "Ana", "start": 2.0, "end": 4.0, "text": " is up."},
        {"speaker": "Bo", "start": 5.0, "end": 6.0, "text": " Fine."},
        {"speaker": "Bo", "start": 66.0, "end": 68.0, "text": " And the keel?"},
    ]
    whole = {"text": " The mast is up. Fine. And the keel?", "segments": segments}
    reading = read_histories(save(tmp_path, "Talk 2024-05-08.json", whole))
    turns = [t for h in reading.histories for s in h.transcripts for t in s.turns]
    assert [(t.speaker, t.text) for t in turns] == [
        ("Ana", "The mast is up."),
        ("Bo", "Fine."),
        ("Bo", "And the keel?"),
    ]
    assert not [note for note in reading.notes if "words" in note]
