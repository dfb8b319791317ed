"""Notes that programs export as JSON, and Keep also as pages: each note is a conversation.

Google Keep (Takeout) writes a file a note, as JSON and as a page with the same words; Simplenote
``notes.json`` with ``activeNotes`` and ``trashedNotes``; Roam a list of pages, whose ``children``
are blocks in blocks; Standard Notes ``items`` of many types, of which ``Note`` is one.

Whisper, Fireflies and others write a transcript as a list of pieces.

Sources: obsidianmd/obsidian-importer ``src/formats/keep``, ``roam``; Automattic/simplenote-electron
``lib/utils/export``; openai/whisper ``whisper/utils.py``. Never seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from theanine.importers.base import Intake
from theanine.importers.schema import Object, is_object, objects_in
from theanine.importers.table import first_of
from theanine.importers.web_pages import blocks, head_of
from theanine.importers.words import note_unread

_TWINS = "notes that come again as pages left out"
_REFERENCE = re.compile(r"\(\(([\w-]{6,40})\)\)")
_TODO = re.compile(r"\{\{(?:\[\[)?(TODO|DONE)(?:\]\])?\}\}")
_DEEP = 40
_SPEAKERS = ("speaker_name", "speaker.name", "speaker", "speakerName", "participant.name")
_PAUSE, _LONG = 15.0, 1_200
"""Pieces of what one speaker says are a turn up to such a pause in seconds, or so many letters."""


def keep_note(intake: Intake, note: Object) -> Iterator[Object]:
    """Yield a note of Keep with its list as lines to tick and its links as what was shared."""
    if intake.folder is not None:
        twin = str(PurePosixPath(intake.name).with_suffix(".html"))
        intake.notes[_TWINS] += twin in intake.folder.names
    items = objects_in(note.get("listContent"))
    lines = [ticked(each.get("text"), done=each.get("isChecked") is True) for each in items]
    links: list[Object] = [{"type": "link", **each} for each in objects_in(note.get("annotations"))]
    files: list[Object] = [
        {"type": each.get("mimetype"), "name": each.get("filePath")}
        for each in objects_in(note.get("attachments"))
    ]
    rest = {key: each for key, each in note.items() if key not in ("annotations", "listContent")}
    words = [each for each in (note.get("textContent"), *lines) if each]
    read = [str(each) for each in words]
    note_unread(intake.notes, {"listContent": items}, read)
    yield {**rest, "textContent": words, "attachments": [*links, *files]}


def ticked(text: object, *, done: bool) -> str:
    """Return a line of a list to tick; empty without words."""
    return f"[{'x' if done else ' '}] {text}" if isinstance(text, str) and text else ""


def is_keep_page(intake: Intake) -> bool:
    """Return whether a source is a note of Keep as a page."""
    head = head_of(intake)
    return '<div class="note"' in head and 'class="heading"' in head


def keep_pages(intake: Intake) -> Iterable[Object]:
    """Yield the note of a page of Keep."""
    for note in blocks(intake, "note"):
        parts = {name: note.find(name) for name in ("heading", "title", "content")}
        heading, title, content = (each.text() if each else "" for each in parts.values())
        message: Object = {"title": title, "textContent": content, "date": heading}
        yield {"id": intake.stem, "title": title, "messages": [message]}


def simplenote_notes(intake: Intake, export: Object) -> Iterator[Object]:
    """Yield the notes of Simplenote, named by their first lines."""
    fields = {"activeNotes": None, "trashedNotes": True}
    for field, trashed in fields.items():
        for note in objects_in(export.get(field)):
            lines = str(note.get("content") or "").strip().splitlines()
            yield {
                "id": note.get("id"),
                "title": lines[0].lstrip("# ") if lines else "",
                "messages": [{**note, "trashed": trashed}],
            }
    rest = {key: each for key, each in export.items() if key not in fields}
    note_unread(intake.notes, rest, ())


def standard_notes(intake: Intake, backup: Object) -> Iterator[Object]:
    """Yield the notes of Standard Notes."""
    for item in objects_in(backup.get("items")):
        content = item.get("content")
        kind = item.get("content_type")
        if kind not in ("Note", None) or content is None:
            note_unread(intake.notes, {"settings": content}, ())
        elif not is_object(content):
            intake.notes["encrypted notes left out"] += 1
        else:
            yield {"id": item.get("uuid"), "title": content.get("title"), "messages": [item]}
    note_unread(intake.notes, {key: each for key, each in backup.items() if key != "items"}, ())


def roam_page(intake: Intake, page: Object) -> Iterator[Object]:
    """Yield a page of Roam, each block at its outermost level with those in it as one message."""
    known = {str(each.get("uid")): str(each.get("string")) for each in _blocks_in(page)}

    def said(block: Object, depth: int) -> Iterator[str]:
        text = _REFERENCE.sub(lambda m: known.get(m[1], ""), str(block.get("string") or ""))
        text = _TODO.sub(lambda m: "[x]" if m[1] == "DONE" else "[ ]", text)
        if text.strip():
            yield f"{'  ' * (depth - 1)}- {text}" if depth else text
        if depth < _DEEP:
            for each in objects_in(block.get("children")):
                yield from said(each, depth + 1)

    messages: list[object] = []
    for block in objects_in(page.get("children")):
        lines = list(said(block, 0))
        for each in _blocks_in(block):
            rest = {key: value for key, value in each.items() if key not in ("children", "string")}
            note_unread(intake.notes, rest, lines)
        times = {key: block[key] for key in ("create-time", "edit-time") if key in block}
        messages.append({"string": lines, **times})
    yield {**{key: each for key, each in page.items() if key != "children"}, "messages": messages}


def _blocks_in(block: Object, depth: int = 0) -> Iterator[Object]:
    yield block
    for each in objects_in(block.get("children")) if depth < _DEEP else ():
        yield from _blocks_in(each, depth + 1)


def transcript(intake: Intake, record: Object) -> Iterator[Object]:
    """Yield a transcript whose pieces of one speaker, as they follow each other, are one turn."""
    fields = ("segments", "sentences", "utterances", "transcript")
    field = next((each for each in fields if objects_in(record.get(each))), "")
    if not field:  # a list of pieces
        yield record
        return
    turns: list[Object] = []
    said, last, until = "", "", 0.0
    for piece in objects_in(record.get(field)):
        name = str(first_of(piece, _SPEAKERS) or "Speaker")
        text = str(piece.get("text") or piece.get("sentence") or "").strip()
        note_unread(intake.notes, piece, [text, name])
        begins = _seconds(first_of(piece, ("start", "start_time")))
        if name == last and begins - until < _PAUSE and len(str(turns[-1]["text"])) < _LONG:
            turns[-1]["text"] = f"{turns[-1]['text']} {text}".strip()
        else:
            turns.append({"name": name, "text": text})
        said += text
        last, until = name, _seconds(first_of(piece, ("end", "end_time")))
    rest = {key: each for key, each in record.items() if key != field}
    if isinstance(whole := rest.get("text"), str) and _plain(whole) in _plain(said):
        del rest["text"]
    yield {"title": intake.stem, **rest, "messages": turns}


def _seconds(value: object) -> float:
    """Return a time from the start; whole numbers are milliseconds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return value / 1000 if isinstance(value, int) else value


def _plain(text: str) -> str:
    return "".join(text.split())
