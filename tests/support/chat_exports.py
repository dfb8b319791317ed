"""Writers of small exports, in the layouts that published loaders of each service read."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.history_samples import Json


def save_zip(path: Path, files: Mapping[str, object]) -> Path:
    """Write an archive of texts, and of other values as JSON."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            is_text = isinstance(content, str | bytes)
            archive.writestr(name, content if is_text else json.dumps(content, ensure_ascii=False))
    return path


def chatgpt_conversation(
    id: str, texts: Sequence[str], *, start: float = 1_700_000_000.0, title: str = "Chat"
) -> Json:
    """Return a conversation whose messages are by the user and the assistant in turn."""
    mapping: Json = {"root": {"id": "root", "parent": None, "children": [], "message": None}}
    parent = "root"
    for i, text in enumerate(texts):
        node = f"{id}-{i}"
        author: Json = {"role": ("user", "assistant")[i % 2], "name": None}
        message: Json = {
            "id": node,
            "author": author,
            "create_time": start + 30 * i,
            "content": {"content_type": "text", "parts": [text]},
            "recipient": "all",
        }
        mapping[node] = {"id": node, "parent": parent, "children": [], "message": message}
        parent = node
    return {
        "title": title,
        "create_time": start,
        "mapping": mapping,
        "current_node": parent,
        "conversation_id": id,
        "id": id,
    }
