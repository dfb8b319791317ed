"""Which files of a folder to read, for the formats that come as one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from theanine.errors import BadInput

_SESSION = re.compile(r"session_(\d+)")


def files_of(folder: Path) -> Sequence[Path]:
    """The files to read of a folder, in order.

    A ChatGPT export's ``conversations*.json``; BEAM's ``chat.json`` of each chat (the cut one where
    there is one); Multi-Session Chat's ``session_N`` folders, the longest histories first.

    Raises:
        BadInput: it is no folder of a known shape.
    """
    for finder in (_chatgpt, _beam, _msc):
        if found := finder(folder):
            return found
    raise BadInput(
        "a folder without conversations*.json, chat.json or session_N/*.jsonl; name the files",
        str(folder),
    )


def _chatgpt(folder: Path) -> Sequence[Path]:
    return sorted(folder.glob("conversations*.json"))


def _beam(folder: Path) -> Sequence[Path]:
    def number(place: Path) -> tuple[int, str]:
        return (int(place.name) if place.name.isdecimal() else 0, place.name)

    chats = sorted({chat.parent for chat in folder.glob("*/chat.json")}, key=number)
    if (folder / "chat.json").exists():
        chats.insert(0, folder)
    # The published name of the cut chats is misspelt.
    cut = [(chat / "chat_trunecated.json", chat / "chat.json") for chat in chats]
    return [short if short.exists() else whole for short, whole in cut]


def _msc(folder: Path) -> Sequence[Path]:
    matches = [(int(m[1]), p) for p in folder.iterdir() if (m := _SESSION.fullmatch(p.name))]
    return [
        file for _, part in sorted(matches, reverse=True) for file in sorted(part.glob("*.jsonl"))
    ]
