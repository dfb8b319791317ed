"""Notes: how they are dated, and what of a vault is none."""

from __future__ import annotations

import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.chat_exports import save_zip
from support.history_samples import save
from theanine.errors import BadInput
from theanine.importers import read_histories
from theanine.types import History


def read(path: Path) -> History:
    (history,) = read_histories(path, format="notes", zone=UTC).histories
    return history


def dates(history: History) -> list[str]:
    return [f"{session.at:%FT%H:%M}" for session in history.transcripts]


@pytest.mark.parametrize(
    "name",
    [
        "2024-05-08",
        "2024_05_08",
        "journals/2024_05_08",
        "20240508",
        "202405081356 Boats",
        "May 8th, 2024",
        "8. Mai 2024",
        "08.05.2024",
        "Mittwoch, 8. Mai 2024",
        "2024年5月8日",
        "Meeting 2024.05.08",
    ],
)
def test_file_names_date_notes(name: str, tmp_path: Path) -> None:
    assert dates(read(save(tmp_path / "vault", f"{name}.md", "The keel is red.\n").parent)) == [
        "2024-05-08T12:00"
    ]


@pytest.mark.parametrize(
    "field",
    [
        "date: 2024-05-08",
        'created: "[[2024-05-08]]"',
        "date created: Wednesday, May 8th 2024, 12:00:00 pm",
        "Datum: 8.5.2024",
        "fecha: 8 de mayo de 2024",
        "дата: 8 мая 2024 г.",
        "created: 1715169600",
        "created: 1715169600000",
        "modified: 2025-01-01\ncreated_at: 2024/05/08 12:00",
        "birthday: 1980-01-01\nday: 20240508",
    ],
)
def test_front_matter_dates_notes(field: str, tmp_path: Path) -> None:
    note = save(tmp_path, "a.md", f"---\n{field}\n---\nThe keel is red.\n")
    assert dates(read(note)) == ["2024-05-08T12:00"]


@pytest.mark.parametrize(
    "line",
    [
        *(
            "Created: May 8, 2024 10:00 AM",
            "Created time: 2024-05-08 10:00",
            "created:: 2024-05-08",
        ),
        *(
            "Erstellt am: 8. Mai 2024 10:00",
            "Créée le: 8 mai 2024 10:00",
            "作成日時: 2024年5月8日 10:00",
        ),
        *(
            "Fecha de creación: 8 de mayo de 2024",
            "Дата создания: 8 мая 2024 г.",
            "创建时间：2024年5月8日",
        ),
        *("Date: May 8, 2024 → May 10, 2024", "Owner: Bo\nCreated on: 2024/05/08"),
    ],
)
def test_properties_below_the_title_date_notes(line: str, tmp_path: Path) -> None:
    history = read(save(tmp_path, "Ferry.md", f"# Ferry\n\n{line}\nTags: trip\n\nTwo seats.\n"))
    assert dates(history)[0].startswith("2024-05-08")
    assert history.transcripts[0].turns[0].text.endswith("Two seats.")


@pytest.mark.parametrize(
    "text", ["Due: May 8, 2024\n\nPay.", "Created: May 8, 2024 and lost.\nNot a field.\n\nPay."]
)
def test_other_properties_and_words_date_no_notes(text: str, tmp_path: Path) -> None:
    assert not dates(read(save(tmp_path, "Ferry.md", f"# Ferry\n\n{text}\n")))[0].startswith("2024")


NOTE = """<note><title>{}</title><created>20240508T115600Z</created><tag>trip</tag>
<note-attributes><author>Ana Horvat</author></note-attributes>
<content><![CDATA[<?xml version="1.0"?><!DOCTYPE en-note SYSTEM "x.dtd">
<en-note>{}</en-note>]]></content>
<resource><data>aGk=</data><recognition><![CDATA[<t>Guess work</t>]]></recognition>
<resource-attributes><file-name>mast.pdf</file-name></resource-attributes></resource>
<task><title>Mend the sail</title></task></note>"""
ENML = (
    '<div>Two <b>seats</b></div><div><en-todo checked="true"/>Pay &amp; print</div><en-todo/>Go'
    '<ul style="--en-todo:true"><li style="--en-checked:false">Pack</li></ul>'
    "<table><tr><td>Mast</td><td>11 m</td></tr><tr><td>Keel</td><td>2 m</td></tr></table>"
    '<en-media type="image/png" hash="a"/><en-crypt hint="b">U2VjcmV0</en-crypt>'
)


def test_notes_of_evernote(tmp_path: Path) -> None:
    notes = NOTE.format("Ferry", ENML) + NOTE.format("Ferry", "<div>Again</div>")
    reading = read_histories(
        save(tmp_path, "Boat.enex", f"<?xml version='1.0'?><en-export>{notes}</en-export>")
    )
    (history,) = reading.histories
    assert (reading.format, dates(history)) == ("notes", ["2024-05-08T11:56"] * 2)
    (turn,) = history.transcripts[0].turns
    lines = [
        "# Ferry",
        "Two seats",
        "[x] Pay & print",
        "[ ] Go",
        "- [ ] Pack",
        "Mast 11 m",
        "Keel 2 m",
    ]
    assert [line for line in turn.text.split("\n") if line] == [*lines, "[ ] Mend the sail"]
    assert turn.attachment == 'the file "mast.pdf"'
    assert reading.notes == {
        "encrypted passages left out": 1,
        "words found in pictures left out": 2,
        "names of others left out": 2,
    }


def test_a_damaged_notebook_of_evernote_gives_the_notes_before(tmp_path: Path) -> None:
    file = save(tmp_path, "Boat.enex", f"<en-export>{NOTE.format('Ferry', 'Two seats')}<note>&x;")
    with pytest.raises(BadInput, match="broken XML"):
        read_histories(file)
    reading = read_histories(file, keep_going=True)
    assert [len(history.transcripts) for history in reading.histories] == [1]
    assert "broken XML" in reading.rejected[0].reason


def test_a_note_without_a_date_is_dated_by_its_file_and_noted(tmp_path: Path) -> None:
    history = read(save(tmp_path, "Version 1.2.3.md", "Ten eggs, 1/2 cup.\n"))
    assert history.notes == {"notes dated by their files' last change": 1}
    assert abs((history.transcripts[0].at - datetime.now(UTC)).total_seconds()) < 600


@pytest.mark.parametrize(
    "heading",
    ["## {}", "# [[{}]]", "### {}: at sea", "## {} in the evening", "# {} (not 2024-06-01)"],
)
def test_headings_of_a_journal(heading: str, tmp_path: Path) -> None:
    days = ["2024-05-08", "9 May 2024", "Friday, May 10th 2024", "11.05.2024"]
    text = "\n\n".join(f"{heading.format(day)}\n\nDay {i}." for i, day in enumerate(days))
    history = read(save(tmp_path, "journal.md", text))
    assert [date[:10] for date in dates(history)] == [f"2024-05-{day:02}" for day in range(8, 12)]


VAULT = {
    "a.md": "# 2024-05-08\nThe keel is red.",
    "code.md": "# 2024-05-09\nIn a template, write `{{date}}`.",
    "Templates/Daily.md": "# A template",
    "Bereich/Vorlagen/Tag.md": "Stimmung:",
    "Moje/dnevnik.md": "Mood of the day:",
    "Setup/Daily note.md": "Weather:",
    "own.md": "# {{date:YYYY-MM-DD}}\nMood:",
    "tp.md": "<% tp.date.now() %>\nMood:",
    "Trash/b.md": "Deleted.",
    "logseq/bak/c.md": "Old.",
    ".trash/d.md": "Deleted.",
    ".obsidian/plugins/x/README.md": "Install this.",
    ".obsidian/templates.json": json.dumps({"folder": "Moje/"}),
    ".obsidian/daily-notes.json": json.dumps({"template": "Setup/Daily note"}),
}


@pytest.mark.parametrize("root", ["", "vault/"])
def test_templates_trash_and_plug_ins_are_no_notes(root: str, tmp_path: Path) -> None:
    archive = save_zip(tmp_path / "vault.zip", {root + name: text for name, text in VAULT.items()})
    for name, text in VAULT.items():
        save(tmp_path / "folder", root + name, text)
    for source in (archive, tmp_path / "folder"):
        history = read(source)
        said = [turn.text for session in history.transcripts for turn in session.turns]
        assert said == [VAULT["a.md"], VAULT["code.md"]]
        assert history.notes["templates and deleted notes left out"] == 8


ID = "6641f2c0-1f0e-4f57-9b0a-3d1f4c5b6a70"


@pytest.mark.parametrize(
    ("note", "words"),
    [
        (f"- The keel is red.\n  id:: {ID}\n  collapsed:: true", "- The keel is red."),
        ("title:: Boats\n\n- Mast\n  background-color:: yellow", "title: Boats\n\n- Mast"),
        (
            "- DONE Wash\n  :LOGBOOK:\n  CLOCK: [2024-05-13 Mon 10:00:01]\n  :END:\n- Dry",
            "- DONE Wash\n- Dry",
        ),
        (f"- Mast {{{{embed (({ID}))}}}}\n- {{{{query (task NOW)}}}}\n-", "- Mast"),
        (f"See [the keel]((({ID}))) and (({ID})).", "See the keel and ."),
        ("Red. ^a1b2c3\n2 ^100 is much: 2 ^100", "Red.\n2 ^100 is much: 2 ^100"),
        ("See [[Boats#^a1b2c3|the boat]].", "See [[Boats|the boat]]."),
        (
            "mood:: high\nIt was [stars:: 5] (sky:: blue).",
            "mood: high\nIt was [stars: 5] (sky: blue).",
        ),
        ("Books\n\n```dataview\nTABLE rating\n```", "Books"),
        (code := "```js\nid:: 3 ^abc\n```\n`a:: b` std::vector", code),
        ("- #+BEGIN_QUOTE\n  Be calm.\n  #+END_QUOTE", "Be calm."),
    ],
)
def test_what_programs_keep_in_notes_is_left_out(note: str, words: str, tmp_path: Path) -> None:
    history = read(save(tmp_path / "vault", "2024-05-08.md", note).parent)
    assert [turn.text for turn in history.transcripts[0].turns] == [words]


@pytest.mark.parametrize("name", ["export.jex", "export.tar.gz", "raw"])
def test_notes_of_joplin(name: str, tmp_path: Path) -> None:
    id = "0123456789abcdef" * 2
    below = f"id: {id}\nparent_id: {id}\ncreated_time: 2024-05-08T10:00:00.000Z\nauthor: \ntype_: "
    files = {
        f"{id}.md": f"Ferry\n\nBooked to Cres.\n\nid: by mail\n\n{below}1",
        f"{id[::-1]}.md": f"Travel\n\n{below}2",
        "resources/boat.md": f"boat.jpg\n\n{below}4",
    }
    for file, text in files.items():
        save(tmp_path / "raw", file, text)
    source = tmp_path / name
    if source.suffix:
        with tarfile.open(source, "w:gz" if source.suffix == ".gz" else "w") as archive:
            archive.add(tmp_path / "raw", ".")
    reading = read_histories(source)
    (history,) = reading.histories
    assert dates(history) == ["2024-05-08T10:00"]
    assert [t.text for t in history.transcripts[0].turns] == [
        "# Ferry\n\nBooked to Cres.\n\nid: by mail"
    ]
    assert history.transcripts[0].metadata["title"] == "Ferry"
    assert reading.notes == {"notebooks, tags and other records of Joplin left out": 2}
