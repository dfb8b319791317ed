"""Saying what a source looks like that no format recognizes."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath

from theanine.importers.base import Intake
from theanine.importers.folder import Folder
from theanine.importers.schema import printable

SQLITE_MAGIC = b"SQLite format 3\0"
_MAGIC = {
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture (PNG)",
    b"\xff\xd8\xff": "a picture (JPEG)",
    b"7z\xbc\xaf": "a 7-Zip archive; unpack it first",
    b"Rar!": "a RAR archive; unpack it first",
    b"{\\rtf": "a document (RTF); save it as plain text",
    SQLITE_MAGIC: "a database (SQLite) of another program",
}


def describe(intake: Intake) -> str:
    """Say what a source looks like, by its first bytes, its keys or its first line."""
    head = intake.source.head
    for magic, description in _MAGIC.items():
        if head.startswith(magic):
            return description
    if intake.first:
        keys = ", ".join(f'"{key[:40]}"' for key in list(intake.first)[:8])
        what = "JSON Lines" if intake.kind == "lines" else "JSON"
        return printable(f"{what} with the keys {keys}")
    if intake.kind != "text":
        return "JSON without objects"
    if b"\0" in head:
        return "a binary file"
    first = intake.lines[0]
    if first.lower().startswith(("<!doctype html", "<html")):
        return "a web page (HTML); most services also export JSON"
    return f'plain text that begins with "{first[:60]}"'


def describe_folder(folder: Folder, format: str = "") -> str:
    """Say what a folder or an archive without known files holds, and what to do.

    ``format`` is the one that the caller named, of which there is no file.
    """
    if not folder.names:
        return "a folder without files that can be read; name the files"
    suffixes = Counter(PurePosixPath(name).suffix.lower() or "no suffix" for name in folder.names)
    if set(suffixes) == {".zip"}:
        return (
            f"it holds only other archives, such as {folder.names[0]}; unpack it and import those"
        )
    kinds = ", ".join(f"{count} × {suffix}" for suffix, count in suffixes.most_common(4))
    hint = "; if it was exported as HTML, export it again as JSON" if ".html" in suffixes else ""
    if format:
        return (
            f"no file of the format {format}: it holds {kinds}, such as {folder.names[0]}; leave "
            "out --format to have the format detected"
        )
    return (
        f"no export that can be read: it holds {kinds}, such as {folder.names[0]}; name the files "
        f"one by one, or the format with --format{hint}"
    )
