"""Chats with programs that write code, as JSON: Copilot in VS Code, Cline and Roo, and prompts.

VS Code exports ``requests``, each with its ``response`` in pieces. Cline keeps what was shown in
``ui_messages.json``, and what the model saw in ``api_conversation_history.json``: tasks in tags,
calls of tools as elements, and their results in the user's name. Claude Code and Codex keep what
was typed in ``history.jsonl``. Gemini CLI, opencode and Continue are rows of ``formats.toml``.

Sources: microsoft/vscode ``chatModel.ts``, cline/cline ``src/shared/ExtensionMessage.ts``,
skillsynchq/txcript ``docs/formats``. Never seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from glob import escape
from pathlib import PurePosixPath
from typing import cast

from theanine.importers.base import Intake
from theanine.importers.schema import Object, get, is_object, objects_in, unpacked
from theanine.importers.table import (
    INSTRUCTIONS,
    Entry,
    Layout,
    first_of,
    name_of,
    read_entry,
    without,
)
from theanine.importers.wording import wording
from theanine.importers.words import THOUGHTS, TOOLS, note_unread

_CLINE = wording("cline")
_FRAMES, _SPOKEN = "|".join(_CLINE["frames"]), "|".join(_CLINE["spoken"])
_TASK = re.compile(rf"\s*<(?:{_FRAMES})>")
_FRAMED = re.compile(rf"<(?P<tag>{_FRAMES})>(?P<body>.*?)</(?P=tag)>", re.DOTALL)
_RESULT = re.compile(r"\[[^\n]{1,400}\] Result:(?:\n|\Z)|\[ERROR\] ")
_ELEMENT = re.compile(
    r"(?P<code>```.*?(?:```|\Z))|<(?P<tag>[a-z]+(?:_[a-z]+)*)>(?P<body>.*?)</(?P=tag)>", re.DOTALL
)
_ANSWER = re.compile(rf"<(?P<tag>{_SPOKEN})>(?P<body>.*?)</(?P=tag)>", re.DOTALL)
_OF_CHAT = ("requests", "responderUsername")
_PASTED = re.compile(r"\[(?:Pasted text|Image|\.\.\.Truncated text) #(\d+)[^\[\]\n]*\]")


def exchanges(intake: Intake, chat: Object) -> Iterator[Object]:
    """Yield a chat of Copilot with the question and the answer of each request as messages."""
    messages: list[Object] = []
    for request in objects_in(chat.get("requests")):
        when = {"timestamp": request.get("timestamp")}
        asked = request.get("message")
        text = asked if isinstance(asked, str) else get(asked, "text") or get(asked, "parts")
        if text:
            messages.append({"role": "user", "content": text, **when})
        answer = "".join(_pieces(intake, request))
        if answer.strip():
            named = {"name": chat.get("responderUsername")}
            messages.append({"role": "assistant", "content": answer.strip(), **named, **when})
        read = [str(text), answer]
        rest = {key: each for key, each in request.items() if key not in ("response", "message")}
        note_unread(intake.notes, {"tool": rest, "message": asked}, read)
    about = {key: each for key, each in chat.items() if key not in _OF_CHAT}
    yield {**about, "messages": messages}


def _pieces(intake: Intake, request: Object) -> Iterator[str]:
    """Yield the pieces of an answer that are shown as its words."""
    for piece in objects_in(request.get("response")):
        kind, value = piece.get("kind"), piece.get("value")
        value = get(value, "value") if is_object(value) else value or get(piece, "content.value")
        if kind == "inlineReference":
            path = str(first_of(piece, ("inlineReference.path", "inlineReference.uri.path")) or "")
            yield f"`{name_of(piece.get('name')) or path.rpartition('/')[2]}`"
        elif kind in (None, "markdownContent") and isinstance(value, str):
            yield value
        elif kind is not None:
            intake.notes[THOUGHTS if kind == "thinking" else TOOLS] += 1
        note_unread(intake.notes, {} if kind else without(piece, "value"), ())


def is_task(intake: Intake) -> bool:
    """Return whether messages are a task of Cline or Roo, as its model saw them."""
    first = get(intake.first, "content")
    texts = [first] if isinstance(first, str) else [each.get("text") for each in objects_in(first)]
    return any(isinstance(each, str) and _TASK.match(each) for each in texts) and (
        intake.source.stem == "api_conversation_history"
        or any("<environment_details>" in str(each) for each in texts)
    )


def task_message(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    """Read a message of Cline, as it was shown or as its model saw it."""
    if "say" in message or "ask" in message:
        asked = unpacked(message.get("text"))
        if asked and not message.get("say"):
            words = [first_of(asked, ("question", "response")), *_options(asked)]
            note_unread(intake.notes, asked, [str(each) for each in words])
            message = {**message, "text": words}
        if isinstance(text := message.get("text"), str):
            message = {**message, "text": text.removesuffix("HAS_CHANGES")}
        if message.get("say") == "text" and message.get("ts") == intake.first.get("ts"):
            message = {**message, "say": "task"}  # of older versions
        return read_entry(intake, layout, message, where)
    content = message.get("content")
    given = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(given, list):
        return read_entry(intake, layout, message, where)
    parts = cast("list[object]", given)
    is_answer = message.get("role") == "assistant"
    own = _spoken_parts(intake, parts) if is_answer else _asked_parts(intake, parts)
    return read_entry(intake, layout, {**message, "content": [*own]}, where)


def of_task(intake: Intake, message: Object) -> Iterator[Object]:
    """Yield a message of Cline with the name of its task, which is that of the file's folder."""
    path = intake.source.path
    folder = path.resolve().parent.name if path else PurePosixPath(intake.name).parent.name
    yield {**message, "talk": folder}


def _spoken_parts(intake: Intake, parts: Sequence[object]) -> Iterator[object]:
    for part in parts:
        text = part.get("text") if is_object(part) else None
        if is_object(part) and isinstance(text, str):
            yield {**part, "text": _spoken(intake, text)}
        else:
            yield part


def _asked_parts(intake: Intake, parts: Sequence[object]) -> Iterator[object]:
    """Yield what the user says; words below "… Result:" are a tool's if no tag is round them."""
    follows = False
    for part in parts:
        text = part.get("text") if is_object(part) else None
        if not is_object(part) or not isinstance(text, str):
            yield part
            continue
        framed = [each["body"].strip() for each in _FRAMED.finditer(text)]
        result = _RESULT.match(text)
        if (result or follows) and not framed and not text.startswith("<environment"):
            intake.notes[TOOLS] += 1
            follows = bool(result)
            continue
        words = "\n".join(framed) if result else _FRAMED.sub(lambda m: m["body"], text)
        yield {**part, "text": words.strip()}
        follows = False


def _options(asked: Object) -> list[str]:
    options = asked.get("options")
    held = cast("list[object]", options) if isinstance(options, list) else []
    return [f"- {each}" for each in held if isinstance(each, str)]


def _spoken(intake: Intake, text: str) -> str:
    """Return what Cline's model says to the user, without its calls of tools."""

    def shown(element: re.Match[str]) -> str:
        if element["code"]:
            return element[0]
        if element["tag"] == "thinking":
            intake.notes[THOUGHTS] += 1
            return ""
        if element["tag"] in _CLINE["answers"]:
            return "\n".join(m["body"].strip() for m in _ANSWER.finditer(element["body"]))
        if "_" not in element["tag"]:
            return element[0]
        intake.notes[TOOLS] += 1
        return ""

    return _ELEMENT.sub(shown, text).strip()


def opencode_message(
    intake: Intake, layout: Layout, message: Object, where: str
) -> Sequence[Entry]:
    """Read a message of opencode without the parts that it made up in the user's name."""
    parts = objects_in(message.get("parts"))
    own = [each for each in parts if each.get("synthetic") is not True]
    intake.notes[INSTRUCTIONS] += len(parts) - len(own)
    return read_entry(intake, layout, {**message, "parts": own} if parts else message, where)


def stored_message(intake: Intake, record: Object) -> Iterator[Object]:
    """Yield a message of opencode's folder with its parts, which are files of their own."""
    folder = intake.folder
    if folder is None or "sessionID" not in record:
        yield record
        return
    files = folder.select(f"part/{escape(intake.stem)}/*.json")
    parts = [folder.object(each) for each in files]
    yield {"info": record, "parts": parts, "talk": record["sessionID"]}


def prompts(intake: Intake, line: Object) -> Iterator[Object]:
    """Yield a prompt of Claude Code or Codex, with what was pasted in its place."""
    pasted = line.get("pastedContents")
    held = {
        str(key): str(each.get("content") or "")
        for key, each in (pasted.items() if is_object(pasted) else ())
        if is_object(each)
    }
    text = str(first_of(line, ("display", "text")) or "")
    shown = _PASTED.sub(lambda m: held.pop(m[1], "") or m[0], text)
    rest = {k: v for k, v in line.items() if k not in ("pastedContents", "display", "text")}
    talk = first_of(line, ("sessionId", "session_id", "project"))
    message: Object = {"display": "\n".join(filter(None, (shown, *held.values()))), "talk": talk}
    yield {**rest, **message}
