"""Formats that are rows of :mod:`theanine.importers.table`.

What a row of ``layouts.toml`` can't say is a few lines of Python here. None of these has seen a
real export; the layouts are as published loaders of each service read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from theanine.importers.base import Format, Intake
from theanine.importers.folder import Folder
from theanine.importers.html_text import html_to_text
from theanine.importers.schema import Object, is_object, objects_in
from theanine.importers.table import (
    HIDDEN,
    Entry,
    Layout,
    Path,
    Reader,
    get,
    layout_named,
    read_entry,
    read_talks,
    without,
)
from theanine.importers.web_pages import is_messenger_page, messenger_talk
from theanine.importers.wording import read_data
from theanine.importers.words import note_unread
from theanine.types import History

_LOOKED_AT = 3
CALLS = "service messages left out"


def _format(name: str) -> Format:
    """Return the format of a row."""
    row, layout = read_data("layouts.toml")[name], layout_named(name)
    read_message = _READERS.get(name, read_entry)
    is_page, read_page = _PAGES.get(name, (None, None))

    def pick(folder: Folder) -> Sequence[str]:
        return folder.select(*row["files"]) if "files" in row else ()

    def sniff(intake: Intake) -> bool:
        if intake.kind == "text":
            return is_page is not None and is_page(intake)
        return intake.kind in ("json", "lines") and _matches(intake.first, row["keys"])

    def read(intake: Intake) -> Iterator[History]:
        page = read_page(intake) if read_page and intake.kind == "text" else None
        records = [(intake.name, page)] if page else None
        return read_talks(intake, layout, read_message, records=records)

    return Format(name=name, sniff=sniff, read=read, pick=pick, repairs=True)


def _matches(first: object, keys: Sequence[Sequence[Path]]) -> bool:
    """Return whether the first object of a source has the keys of a format."""
    return any(
        all(_has(first, path.replace(".0.", f".{item}.")) for path in paths)
        for paths in keys
        for item in range(_LOOKED_AT)
    )


def _has(value: object, path: Path) -> bool:
    parent, _, key = path.rpartition(".")
    holder = get(value, parent)
    return key in holder if is_object(holder) else get(value, path) is not None


def _version(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    """Read the version of a message that LM Studio shows."""
    versions = objects_in(message.get("versions"))
    chosen = message.get("currentlySelected")
    if not versions:
        return read_entry(intake, layout, message, where)
    note_unread(intake.notes, without(message, "versions"), ())
    number = chosen if isinstance(chosen, int) and 0 <= chosen < len(versions) else -1
    intake.notes["other answers left out"] += len(versions) - 1
    return read_entry(intake, layout, versions[number], where)


def _tavern(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    if message.get("is_system") is True:
        intake.notes[HIDDEN] += 1
        return ()
    return read_entry(intake, layout, message, where)


def _character(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    """Read a message of Character.AI, of whose answers the primary one is read."""
    candidates = objects_in(message.get("candidates"))
    primary = message.get("primary_candidate_id")
    chosen = next((c for c in candidates if c.get("candidate_id") == primary), None)
    chosen = chosen or next(iter(candidates), dict[str, object]())
    author = message.get("author") or message.get("src")
    ours = author.get("is_human") if is_object(author) else message.get("is_human")
    rest = {key: value for key, value in message.items() if key != "candidates"}
    intake.notes["other answers left out"] += max(len(candidates) - 1, 0)
    return read_entry(intake, layout, {**chosen, **rest, "is_human": bool(ours)}, where)


def _skype(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    """Read a message of Skype or Teams, whose words are HTML."""
    kind = str(message.get("messagetype") or "Text")
    if kind.startswith(("ThreadActivity", "Event")):
        intake.notes[CALLS] += 1
        return ()
    content = message.get("content")
    if isinstance(content, str):
        message = {**message, "content": html_to_text(content)}
    sender = str(message.get("from") or "")
    name = message.get("displayName") or message.get("imdisplayname") or sender.partition(":")[2]
    return read_entry(intake, layout, {**message, "displayName": name}, where)


_READERS: Mapping[str, Reader] = {
    "lmstudio": _version,
    "sillytavern": _tavern,
    "character-ai": _character,
    "skype": _skype,
}
_PAGES: Mapping[str, tuple[Callable[[Intake], bool], Callable[[Intake], Object]]] = {
    "messenger": (is_messenger_page, messenger_talk)
}
FORMATS = tuple(_format(name) for name, row in read_data("layouts.toml").items() if "keys" in row)
