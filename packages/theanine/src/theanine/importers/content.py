"""The content of a message to or from a language model: a text, or a list of typed parts.

Covers the parts of OpenAI's Chat Completions and Responses, and of Anthropic's Messages
(openai/openai-python ``src/openai/types``, anthropics/anthropic-sdk-python
``src/anthropic/types``): texts are joined, pictures, files and recordings become words on what was
shared; thoughts, tool calls and their results are left out and counted.
"""

from __future__ import annotations

from collections import Counter
from typing import cast

from theanine.errors import BadInput
from theanine.importers.schema import Object, as_object, is_object, require_storable

_TEXTS = frozenset({"text", "input_text", "output_text", "voice_note", "refusal"})
_SHARED = {
    "image": "a picture",
    "image_url": "a picture",
    "input_image": "a picture",
    "document": "a file",
    "file": "a file",
    "input_file": "a file",
    "audio": "a recording",
    "input_audio": "a recording",
}
_THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning", "redacted-reasoning"})

TOOLS = "tool calls and results left out"
THOUGHTS = "thoughts left out"


def read_content(content: object, where: str, notes: Counter[str]) -> tuple[str, str]:
    """Return the text of a message's content, and what was shared with it in words.

    Raises:
        BadInput: it is neither a text nor a list of parts, or can't be stored.
    """
    if content is None:
        return "", ""
    if isinstance(content, str):
        return require_storable(content, where), ""
    if not isinstance(content, list):
        raise BadInput("content must be a text or a list of parts", where)
    texts: list[str] = []
    shared: list[str] = []
    for i, part in enumerate(cast("list[object]", content)):
        if isinstance(part, str):
            texts.append(part)
        elif part is not None:
            _read_part(as_object(part, f"{where}[{i}]"), texts, shared, notes)
    text = "\n".join(text for text in texts if text.strip())
    return require_storable(text, where), require_storable(", ".join(shared), where)


def _read_part(part: Object, texts: list[str], shared: list[str], notes: Counter[str]) -> None:
    kind = str(part.get("type", "text"))
    text = part.get("refusal" if kind == "refusal" else "text")
    if kind in _SHARED:
        shared.append(_describe(part, _SHARED[kind]))
    elif kind in _THOUGHTS:
        notes[THOUGHTS] += 1
    elif "tool" in kind or "function" in kind:
        notes[TOOLS] += 1
    elif isinstance(text, str) and (kind in _TEXTS or text.strip()):
        texts.append(text)
    else:
        notes["parts that are not text left out"] += 1


def _describe(part: Object, what: str) -> str:
    """Return what was shared, with the name of a file if it has one; a transcript is quoted."""
    details = part.get("file") or part.get("input_audio") or part.get("audio") or part
    if is_object(details):
        transcript = details.get("transcript")
        if isinstance(transcript, str) and transcript.strip():
            return f'{what} that says "{transcript}"'
        name = details.get("filename") or details.get("title") or details.get("file_name")
        if isinstance(name, str) and name.strip():
            return f'the file "{name}"'
    return what
