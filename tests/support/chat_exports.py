"""Writers of small exports, in the layouts that published loaders of each service read."""

from __future__ import annotations

import csv
import html
import json
import re
import sqlite3
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from io import StringIO
from pathlib import Path
from typing import Literal

from support.history_samples import Json, save

START = datetime(2024, 5, 8, 13, 56, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Said:
    """What one side of a chat said, so many minutes after its start."""

    text: str
    side: Literal["user", "assistant"] = "user"
    minutes: int = 0

    @property
    def at(self) -> datetime:
        return START + timedelta(minutes=self.minutes)

    @property
    def iso(self) -> str:
        return self.at.isoformat().replace("+00:00", "Z")


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


def _chatgpt(folder: Path, said: Sequence[Said]) -> Path:
    mapping: Json = {"root": {"parent": None, "message": None}}
    parent = "root"
    for each in said:
        message: Json = {
            "author": {"role": each.side},
            "create_time": each.at.timestamp(),
            "content": {"content_type": "text", "parts": [each.text]},
        }
        mapping[f"n{each.minutes}"] = {"parent": parent, "message": message}
        parent = f"n{each.minutes}"
    talk: Json = {"id": "c-1", "title": "Chat", "mapping": mapping, "current_node": parent}
    return save_zip(folder / "export.zip", {"conversations.json": [talk]})


def _claude(folder: Path, said: Sequence[Said]) -> Path:
    messages = [
        {
            "uuid": f"m-{each.minutes}",
            "sender": {"user": "human", "assistant": "assistant"}[each.side],
            "created_at": each.iso,
            "text": "",
            "content": [None, {"type": "text", "text": each.text}],
            "attachments": list[Json](),
            "files": list[Json](),
        }
        for each in said
    ]
    talk: Json = {
        "uuid": "c-1",
        "name": "Chat",
        "created_at": START.isoformat(),
        "chat_messages": messages,
    }
    files: Json = {"conversations.json": [talk], "users.json": [{"full_name": "Ana"}]}
    return save_zip(folder / "data.zip", files)


def _messages(folder: Path, said: Sequence[Said]) -> Path:
    parts = [
        {
            "role": each.side,
            "content": [{"type": "text", "text": each.text}],
            "created_at": each.iso,
        }
        for each in said
    ]
    return save(folder, "thread.json", parts)


def _markdown(folder: Path, said: Sequence[Said]) -> Path:
    names = {"user": "You", "assistant": "ChatGPT"}
    turns = [f"#### {names[each.side]} ({each.at:%Y-%m-%d %H:%M})\n\n{each.text}" for each in said]
    return save(folder, "chat.md", "# A chat\n\n" + "\n\n---\n\n".join(turns) + "\n")


def _notes(folder: Path, said: Sequence[Said]) -> Path:
    for each in said:
        save(
            folder / "notes",
            f"note-{each.minutes:03}.md",
            f"---\ncreated: {each.iso}\n---\n{each.text}\n",
        )
    return folder / "notes"


def _imessage(folder: Path, said: Sequence[Said]) -> Path:
    names = {"user": "Me", "assistant": "+385911"}
    messages = [f"{e.at:%b %d, %Y %l:%M:%S %p}\n{names[e.side]}\n{e.text}\n\n" for e in said]
    return save(folder, "+385911.txt", "".join(messages))


def _whatsapp(folder: Path, said: Sequence[Said]) -> Path:
    names = {"user": "Ana", "assistant": "Bo"}
    notice = "Messages and calls are end-to-end encrypted. Tap to learn more."
    lines = [f"08/05/2024, 13:50 - {notice}"]
    lines += [f"{each.at:%d/%m/%Y, %H:%M} - {names[each.side]}: {each.text}" for each in said]
    lines.append("25/12/2024, 10:00 - Bo added Cy")
    files: Json = {"WhatsApp Chat with Bo.txt": "\n".join(lines) + "\n", "IMG-1.jpg": b"x"}
    return save_zip(folder / "WhatsApp Chat with Bo.zip", files)


def _by_day(folder: Path, name: str, head: Sequence[str], said: Sequence[Said], line: str) -> Path:
    """Save a chat with a line above each day; ``line`` has places for time, name and text."""
    lines, day = list(head), ""
    for each in said:
        if day != (day := f"{each.at:%Y.%m.%d %A}"):
            lines += ["", day]
        text = f'"{each.text}"' if name.startswith("[LINE]") and "\n" in each.text else each.text
        lines.append(line.format(f"{each.at:%H:%M}", _SENDERS[each.side], text))
    return save(folder, name, "\n".join([*lines, ""]))


def _line(folder: Path, said: Sequence[Said]) -> Path:
    head = ["[LINE] Chat history with Bo", "Saved on: 2024/12/01 10:00"]
    return _by_day(folder, "[LINE] Bo.txt", head, said, "{0}\t{1}\t{2}")


def _kakaotalk(folder: Path, said: Sequence[Said]) -> Path:
    head = ["Bo KakaoTalk Chats", "Date Saved : 2024-12-01 10:00:00"]
    return _by_day(folder, "KakaoTalk_Bo.txt", head, said, "[{1}] [{0}] {2}")


def _sigtop(folder: Path, said: Sequence[Said]) -> Path:
    names = {"user": ("You", "outgoing"), "assistant": ("Bo (+385911)", "incoming")}
    blocks = ["Conversation: Bo (+385911)\n\n"]
    for each in said:
        (name, kind), at = names[each.side], f"{each.at:%a, %d %b %Y %H:%M:%S %z}"
        blocks.append(f"From: {name}\nType: {kind}\nSent: {at}\n\n{each.text}\n\n")
    return save(folder, "Bo (+385911).txt", "".join(blocks))


def _telegram(folder: Path, said: Sequence[Said]) -> Path:
    names = {"user": "Ana H", "assistant": "Bo"}
    messages: list[Json] = [
        {
            "id": each.minutes + 1,
            "type": "message",
            "date_unixtime": f"{each.at.timestamp():.0f}",
            "from": names[each.side],
            "text": each.text
            if i % 2
            else [each.text[:3], {"type": "bold", "text": each.text[3:]}],
        }
        for i, each in enumerate(said, 1)
    ]
    chat: Json = {"name": "Bo", "type": "personal_chat", "id": 7, "messages": messages}
    owner: Json = {"user_id": 1, "first_name": "Ana", "last_name": "H"}
    account: Json = {"personal_information": owner, "chats": {"about": "", "list": [chat]}}
    return save(folder, "export/result.json", account).parent


def _slack(folder: Path, said: Sequence[Said]) -> Path:
    users: list[Json] = [
        {"id": "U1", "name": "ana", "profile": {"display_name": "Ana"}},
        {"id": "U2", "name": "bo", "profile": {"display_name": "", "real_name": "Bo"}},
    ]
    ids = {"user": "U1", "assistant": "U2"}
    escapes = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
    messages: list[Json] = [
        {
            "type": "message",
            "user": ids[each.side],
            "text": each.text.translate(escapes),
            "ts": f"{each.at.timestamp():.6f}",
        }
        for each in said
    ]
    files: Json = {
        "users.json": users,
        "channels.json": [{"id": "C1", "name": "general", "members": ["U1", "U2"]}],
        "general/2024-05-08.json": messages,
    }
    return save_zip(folder / "workspace.zip", files)


def _mail(folder: Path, said: Sequence[Said]) -> Path:
    addresses = {"user": "Ana <ana@example.org>", "assistant": "Bo <bo@example.org>"}
    mails: list[bytes] = []
    for i, each in enumerate(said):
        mail = EmailMessage()
        mail["From"], mail["Date"] = addresses[each.side], format_datetime(each.at)
        mail["Message-ID"] = f"<m{each.minutes}@example.org>"
        mail["Delivered-To"] = "ana@example.org"
        if i:
            mail["References"] = "<m0@example.org>"
        mail.set_content(each.text)
        body = re.sub(rb"^(>*From )", rb">\1", mail.as_bytes(), flags=re.MULTILINE)
        mails.append(b"From bo@example.org Wed May  8 13:56:00 2024\n" + body + b"\n")
    file = folder / "all.mbox"
    file.write_bytes(b"".join(mails))
    return file


SESSION_ID = "3f2a0000-0000-4000-8000-000000000001"


def _claude_code(folder: Path, said: Sequence[Said]) -> Path:
    lines: list[Json] = [{"type": "summary", "summary": "Ferry", "leafUuid": "m0"}]
    for i, each in enumerate(said):
        content: object = [{"type": "text", "text": each.text}] if i % 2 else each.text
        lines.append(
            {
                "type": each.side,
                "uuid": f"m{each.minutes}",
                "sessionId": SESSION_ID,
                "timestamp": each.iso,
                "cwd": "/srv/boats",
                "isSidechain": False,
                "message": dict[str, object](role=each.side, content=content),
            }
        )
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return save(folder, f"projects/-srv-boats/{SESSION_ID}.jsonl", text).parents[1]


def _codex(folder: Path, said: Sequence[Said]) -> Path:
    meta: Json = {"id": "s-1", "cwd": "/srv/boats", "timestamp": START.isoformat()}
    first: Json = {"timestamp": START.isoformat(), "type": "session_meta", "payload": meta}
    lines = [first]
    for each in said:
        kind = {"user": "input_text", "assistant": "output_text"}[each.side]
        content: list[Json] = [{"type": kind, "text": each.text}]
        item: Json = {"type": "message", "role": each.side, "content": content}
        event: Json = {"type": f"{each.side}_message", "message": each.text}
        lines += [
            {"timestamp": each.iso, "type": "event_msg", "payload": event},
            {"timestamp": each.iso, "type": "response_item", "payload": item},
        ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return save(folder, "sessions/2024/05/08/rollout-2024-05-08T13-56-00-s-1.jsonl", text)


def _cursor(folder: Path, said: Sequence[Said]) -> Path:
    headers = [{"bubbleId": f"b{each.minutes}"} for each in said]
    rows: dict[str, Json] = {
        "composerData:c-1": {
            "name": "Ferry",
            "createdAt": START.timestamp() * 1000,
            "fullConversationHeadersOnly": headers,
        }
    }
    for each in said:
        number = {"user": 1, "assistant": 2}[each.side]
        rows[f"bubbleId:c-1:b{each.minutes}"] = {
            "type": number,
            "text": each.text,
            "createdAt": each.iso,
        }
    file = folder / "state.vscdb"
    file.unlink(missing_ok=True)
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        values = [(key, json.dumps(value)) for key, value in rows.items()]
        db.executemany("INSERT INTO cursorDiskKV VALUES (?, ?)", values)
        db.commit()
    return file


def _gemini(folder: Path, said: Sequence[Said]) -> Path:
    """Write entries newest first; a prompt and its answer are one entry."""
    entries: list[Json] = []
    for each in said:
        entry: Json = {"header": "Gemini Apps", "time": each.iso, "products": ["Gemini Apps"]}
        if each.side == "user":
            entries.append({**entry, "title": f"Prompted {each.text}"})
        else:
            answer = html.escape(each.text).replace("\n", "<br>")
            items: list[Json] = [{"html": f"<p>{answer}</p>"}]
            entries.append({**entry, "title": "", "safeHtmlItem": items})
    file = "Takeout/My Activity/Gemini Apps/MyActivity.json"
    return save_zip(folder / "takeout.zip", {file: entries[::-1]})


def _google_assistant(folder: Path, said: Sequence[Said]) -> Path:
    """Write entries newest first; what was said and what was answered are an entry each."""
    entries: list[Json] = []
    for each in said:
        about: Json = {"header": "Assistant", "time": each.iso, "products": ["Assistant"]}
        if each.side == "user":
            entries.append({**about, "title": f"Said {each.text}"})
        else:
            entries.append({**about, "title": "", "subtitles": [{"name": each.text}]})
    file = "Takeout/My Activity/Assistant/MyActivity.json"
    return save_zip(folder / "takeout.zip", {file: entries[::-1]})


def _google_voice(folder: Path, said: Sequence[Said]) -> Path:
    names = {
        "user": '<abbr class="fn" title="">Ich</abbr>',
        "assistant": '<span class="fn">Bo</span>',
    }
    rows = [
        f'<div class="message"><abbr class="dt" title="{each.at.isoformat()}">May 8</abbr>:\n'
        f'<cite class="sender vcard"><a class="tel" href="tel:+1">{names[each.side]}</a></cite>:\n'
        f"<q>{html.escape(each.text)}</q></div>".replace("\n", "<br>")
        for each in said
    ]
    head = '<?xml version="1.0" ?>\n<!DOCTYPE html><html><head><title>Bo</title></head><body>'
    page = f'{head}<div class="hChatLog hfeed">{" ".join(rows)}</div></body></html>'
    return save(folder, "Voice/Calls/Bo - Text - 2024-05-08T13_56_00Z.html", page)


def _signal(folder: Path, said: Sequence[Said]) -> Path:
    contact: Json = {"profileGivenName": "Bo", "e164": "+385"}
    frames: list[Json] = [
        {"account": dict[str, object](givenName="Ana", familyName="H")},
        {"recipient": dict[str, object](id="1", self={})},
        {"recipient": dict[str, object](id="2", contact=contact)},
        {"chat": dict[str, object](id="7", recipientId="2")},
    ]
    for each in said:
        item: Json = {
            "chatId": "7",
            "authorId": {"user": "1", "assistant": "2"}[each.side],
            "dateSent": f"{each.at.timestamp() * 1000:.0f}",
            "standardMessage": {"text": {"body": each.text}},
        }
        frames.append({"chatItem": item})
    return save(folder, "signal/main.jsonl", "".join(json.dumps(f) + "\n" for f in frames)).parent


def _discord(folder: Path, said: Sequence[Said]) -> Path:
    messages = [
        {
            "id": f"{each.minutes}",
            "type": "Default",
            "timestamp": each.at.isoformat(),
            "content": each.text,
            "author": {"name": each.side, "nickname": {"user": "Ana"}.get(each.side, "Bo")},
        }
        for each in said
    ]
    channel: Json = {"id": "9", "name": "general"}
    export: Json = {"guild": {"name": "Boats"}, "channel": channel, "messages": messages}
    return save(folder, "Boats - general.json", export)


_SENDERS = {"user": "Ana", "assistant": "Bo"}


def _lines(rows: Sequence[Json]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _deepseek(folder: Path, said: Sequence[Said]) -> Path:
    children = [*([f"{each.minutes + 1}"] for each in said), list[str]()]
    root: Json = {"id": "root", "parent": None, "children": children[0], "message": None}
    mapping: Json = {"root": root}
    parent = "root"
    for i, each in enumerate(said, 1):
        id = f"{each.minutes + 1}"
        kind = {"user": "REQUEST", "assistant": "RESPONSE"}[each.side]
        fragments: list[Json] = [{"type": kind, "content": each.text}]
        message: Json = {"model": "deepseek-chat", "inserted_at": each.iso, "fragments": fragments}
        mapping[id] = {"id": id, "parent": parent, "children": children[i], "message": message}
        parent = id
    talk: Json = {
        "id": "d-1",
        "title": "Chat",
        "inserted_at": START.isoformat(),
        "mapping": mapping,
    }
    files: Json = {"conversations.json": [talk], "user.json": {"user_id": "u"}}
    return save_zip(folder / "deepseek_data.zip", files)


def _grok(folder: Path, said: Sequence[Said]) -> Path:
    responses: list[Json] = [
        {
            "response": {
                "_id": f"r-{each.minutes}",
                "message": each.text,
                "sender": {"user": "human", "assistant": "ASSISTANT"}[each.side],
                "create_time": {"$date": {"$numberLong": f"{each.at.timestamp() * 1000:.0f}"}},
            }
        }
        for each in said
    ]
    about: Json = {"id": "g-1", "title": "Chat", "create_time": START.isoformat()}
    talk: Json = {"conversation": about, "responses": responses}
    export: Json = {"conversations": [talk], "projects": [], "tasks": []}
    return save_zip(folder / "grok.zip", {"ttl/30d/export/prod-grok-backend.json": export})


def _open_webui(folder: Path, said: Sequence[Said]) -> Path:
    messages: Json = {}
    parent = None
    for i, each in enumerate(said, 1):
        id = f"m-{each.minutes}"
        children = [f"m-{answer.minutes}" for answer in said[i : i + 1]]
        about: Json = {"id": id, "parentId": parent, "childrenIds": children}
        words: Json = {"role": each.side, "content": each.text}
        messages[id] = {**about, **words, "timestamp": int(each.at.timestamp())}
        parent = id
    history: Json = {"currentId": parent, "messages": messages}
    chat: Json = {"title": "Chat", "history": history, "messages": list(messages.values())}
    return save(folder, "chat-export-1.json", [{"id": "w-1", "title": "Chat", "chat": chat}])


def _librechat(folder: Path, said: Sequence[Said]) -> Path:
    parent = "00000000-0000-0000-0000-000000000000"
    messages: list[Json] = []
    for each in said:
        id = f"m-{each.minutes}"
        about: Json = {"messageId": id, "parentMessageId": parent, "createdAt": each.iso}
        sender = {"user": "User", "assistant": "Claude"}[each.side]
        words: Json = {"isCreatedByUser": each.side == "user", "sender": sender, "text": each.text}
        messages.append({**about, **words})
        parent = id
    exported = "Sat Feb 01 2025 11:02:00 GMT+0100 (Central European Standard Time)"
    talk: Json = {"conversationId": "l-1", "title": "Chat", "exportAt": exported}
    talk["messages"] = messages
    return save(folder, "Chat.json", talk)


def _lmstudio(folder: Path, said: Sequence[Said]) -> Path:
    messages: list[Json] = []
    for each in said:
        content: list[Json] = [{"type": "text", "text": each.text}]
        version: Json = {"type": "singleStep", "role": each.side, "content": content}
        if each.side == "assistant":
            steps: list[Json] = [{"type": "contentBlock", "content": content}]
            version = {"type": "multiStep", "role": each.side, "steps": steps}
        messages.append({"versions": [version], "currentlySelected": 0})
    talk: Json = {"name": "Chat", "createdAt": START.timestamp() * 1000, "messages": messages}
    return save(folder, "1715176560000.conversation.json", talk)


def _jan(folder: Path, said: Sequence[Said]) -> Path:
    rows: list[Json] = [
        {
            "id": f"m-{each.minutes}",
            "object": "thread.message",
            "thread_id": "t-1",
            "role": each.side,
            "content": [{"type": "text", "text": {"value": each.text, "annotations": []}}],
            "created_at": each.at.timestamp() * 1000,
        }
        for each in said
    ]
    return save(folder, "messages.jsonl", _lines(rows))


def _google_chat(folder: Path, said: Sequence[Said]) -> Path:
    messages: list[Json] = [
        {
            "creator": {"name": _SENDERS[each.side], "user_type": "Human"},
            "created_date": f"{each.at:%A, %B %d, %Y at %I:%M:%S} {each.at:%p} UTC",
            "text": each.text,
            "message_id": f"m/{each.minutes}",
        }
        for each in said
    ]
    file = "Takeout/Google Chat/Groups/DM x/messages.json"
    return save_zip(folder / "takeout.zip", {file: {"messages": messages}})


def _messenger(folder: Path, said: Sequence[Said]) -> Path:
    """Write messages newest first, their UTF-8 as if it were Latin-1."""
    messages: list[Json] = [
        {
            "sender_name": _SENDERS[each.side],
            "timestamp_ms": each.at.timestamp() * 1000,
            "content": each.text.encode().decode("latin-1"),
        }
        for each in reversed(said)
    ]
    people = [{"name": name} for name in _SENDERS.values()]
    chat: Json = {"participants": people, "messages": messages, "title": "Bo"}
    return save(folder, "messages/inbox/bo_1/message_1.json", {**chat, "thread_path": "inbox/bo_1"})


def _character(folder: Path, said: Sequence[Said]) -> Path:
    turns: list[Json] = [
        {
            "turn_key": {"chat_id": "c", "turn_id": f"t-{each.minutes}"},
            "create_time": each.iso,
            "author": {"name": "Ana", "is_human": True}
            if each.side == "user"
            else {"name": "Mira"},
            "candidates": [{"candidate_id": "a", "raw_content": each.text}],
            "primary_candidate_id": "a",
        }
        for each in reversed(said)
    ]
    return save(folder, "chat.json", {"turns": turns})


def _sillytavern(folder: Path, said: Sequence[Said]) -> Path:
    header: Json = {"user_name": "Ana", "character_name": "Mira", "create_date": START.isoformat()}
    rows: list[Json] = [
        {
            "name": {"user": "Ana", "assistant": "Mira"}[each.side],
            "is_user": each.side == "user",
            "send_date": f"{each.at:%B} {each.at.day}, {each.at:%Y %I:%M%p}",
            "mes": each.text,
        }
        for each in said
    ]
    return save(folder, "Mira - 2024-05-08.jsonl", _lines([header, *rows]))


def _skype(folder: Path, said: Sequence[Said]) -> Path:
    messages: list[Json] = [
        {
            "id": f"{each.minutes}",
            "originalarrivaltime": each.iso,
            "messagetype": "RichText",
            "displayName": _SENDERS[each.side],
            "content": f"<p>{html.escape(each.text)}</p>".replace("\n", "<br>"),
        }
        for each in reversed(said)
    ]
    talk: Json = {"id": "8:bo", "displayName": "Bo", "MessageList": messages}
    return save(folder, "messages.json", {"userId": "8:ana", "conversations": [talk]})


def _typingmind(folder: Path, said: Sequence[Said]) -> Path:
    messages = [{"role": s.side, "content": s.text, "createdAt": s.iso} for s in said]
    chat: Json = {"chatID": "t-1", "chatTitle": "Chat", "messages": messages}
    return save(folder, "typingmind.json", {"data": {"chats": [chat]}})


def _chatbot_ui(folder: Path, said: Sequence[Said]) -> Path:
    messages = [{"role": each.side, "content": each.text} for each in said]
    talks: list[Json] = [{"id": "h-1", "name": "Chat", "messages": messages}]
    return save(folder, "chatbot_ui_history.json", {"version": 4, "history": talks, "folders": []})


def _mistral(folder: Path, said: Sequence[Said]) -> Path:
    rows = [
        {
            "id": f"m-{each.minutes}",
            "chatId": "c-1",
            "role": each.side,
            "content": each.text,
            "createdAt": each.iso,
        }
        for each in said
    ]
    return save(folder, "chat-c-1.json", rows)


def _aistudio(folder: Path, said: Sequence[Said]) -> Path:
    roles = {"user": "user", "assistant": "model"}
    chunks = [{"role": roles[s.side], "text": s.text, "createTime": s.iso} for s in said]
    chat: Json = {
        "runSettings": {"model": "models/gemini-2.5-pro"},
        "systemInstruction": {"parts": list[Json]()},
        "chunkedPrompt": {"chunks": chunks, "pendingInputs": [{"text": "", "role": "user"}]},
    }
    return save(folder, "Ferry", json.dumps(chat))


def _chatbox(folder: Path, said: Sequence[Said]) -> Path:
    messages = [
        {
            "id": f"m{each.minutes}",
            "role": each.side,
            "contentParts": [{"type": "text", "text": each.text}],
            "timestamp": int(each.at.timestamp() * 1000),
        }
        for each in said
    ]
    session: Json = {"id": "s-1", "name": "Ferry", "type": "chat", "messages": messages}
    backup: Json = {"settings": {}, "chat-sessions-list": [], "session:s-1": session}
    return save(folder, "chatbox-exported-data.json", backup)


def _cherry_studio(folder: Path, said: Sequence[Said]) -> Path:
    messages = [
        {
            "id": f"m{each.minutes}",
            "role": each.side,
            "createdAt": each.iso,
            "blocks": [f"b{each.minutes}"],
        }
        for each in said
    ]
    blocks = [
        {
            "id": f"b{s.minutes}",
            "messageId": f"m{s.minutes}",
            "type": "main_text",
            "content": s.text,
        }
        for s in said
    ]
    topics = [{"id": "t1", "name": "Ferry", "createdAt": START.isoformat()}]
    assistants = json.dumps({"defaultAssistant": {"id": "default", "topics": topics}})
    backup: Json = {
        "version": 3,
        "localStorage": {"persist:cherry-studio": json.dumps({"assistants": assistants})},
        "indexedDB": {"topics": [{"id": "t1", "messages": messages}], "message_blocks": blocks},
    }
    return save_zip(folder / "cherry-studio.zip", {"data.json": backup})


def _nextchat(folder: Path, said: Sequence[Said]) -> Path:
    messages = [
        {
            "id": f"m{each.minutes}",
            "role": each.side,
            "date": f"{each.at.month}/{each.at.day}/{each.at:%Y, %I:%M:%S %p}",
            "content": each.text,
        }
        for each in said
    ]
    talk: Json = {"id": "s1", "topic": "Ferry", "memoryPrompt": "", "messages": messages}
    store: Json = {"sessions": [talk], "currentSessionIndex": 0}
    backup: Json = {"chat-next-web-store": store, "access-control": {"accessCode": ""}}
    return save(folder, "Backup-5_8_2024.json", backup)


def _openrouter(folder: Path, said: Sequence[Said]) -> Path:
    messages: Json = {}
    items: Json = {}
    for each in said:
        kind = {"user": "input_text", "assistant": "output_text"}[each.side]
        content = [{"type": kind, "text": each.text}]
        data: Json = {"type": "message", "role": each.side, "content": content}
        items[f"b{each.minutes}"] = {"id": f"b{each.minutes}", "data": data}
        messages[f"m{each.minutes}"] = {
            "id": f"m{each.minutes}",
            "characterId": "c1",
            "type": each.side,
            "createdAt": each.iso,
            "items": [{"id": f"b{each.minutes}", "type": "message"}],
        }
    characters = {"c1": {"id": "c1", "model": "openai/gpt-4o"}}
    chat: Json = {"version": "orpg.3.0", "title": "Ferry", "characters": characters}
    return save(folder, "OpenRouter Chat.json", {**chat, "messages": messages, "items": items})


def _perplexity(folder: Path, said: Sequence[Said]) -> Path:
    """Write a question and its answer as an entry, if they are of one time."""
    entries: list[Json] = []
    for each in said:
        entry: Json = {"uuid": f"e{each.minutes}", "entry_created_datetime": each.iso}
        if each.side == "user":
            entries.append({**entry, "query_str": each.text, "blocks": list[Json]()})
        else:
            text: Json = {"answer": each.text, "chunks": [each.text]}
            blocks = [{"intended_usage": "ask_text", "markdown_block": text}]
            entries.append({**entry, "query_str": "", "blocks": blocks})
    return save(folder, "Ferry.json", {"status": "completed", "entries": entries})


def _anythingllm(folder: Path, said: Sequence[Said]) -> Path:
    rows = [
        {
            "id": each.minutes,
            "prompt": each.text if each.side == "user" else "",
            "response": each.text if each.side == "assistant" else "",
            "sent_at": each.iso,
            "workspace": "Boats",
        }
        for each in said
    ]
    return save(folder, "chats.json", rows)


def _teams(folder: Path, said: Sequence[Said]) -> Path:
    messages: list[Json] = [
        {
            "id": f"{each.minutes}",
            "messageType": "message",
            "createdDateTime": each.iso,
            "from": {"user": {"displayName": _SENDERS[each.side]}},
            "body": {"contentType": "text", "content": each.text},
        }
        for each in said
    ]
    return save(folder, "messages.json", {"@odata.count": len(said), "value": messages[::-1]})


def _rows(heading: Sequence[str], rows: Sequence[Sequence[str]], delimiter: str) -> str:
    text = StringIO()
    csv.writer(text, delimiter=delimiter).writerows([heading, *rows])
    return text.getvalue()


def _copilot(folder: Path, said: Sequence[Said]) -> Path:
    names = {"user": "Human", "assistant": "AI"}
    rows = [("Chat", f"{s.at:%Y-%m-%dT%H:%M:%S}", names[s.side], s.text) for s in said]
    heading = ("Conversation", "Time", "Author", "Message")
    file = folder / "copilot-activity-history.csv"
    file.write_bytes(_rows(heading, rows, ",").encode())
    return file


def _csv(folder: Path, said: Sequence[Said]) -> Path:
    rows = [(s.iso, _SENDERS[s.side], s.text) for s in said]
    file = folder / "chat.csv"
    file.write_bytes(_rows(("Date", "Sender", "Text"), rows, ";").encode())
    return file


def _captions(folder: Path, said: Sequence[Said]) -> Path:
    cues = ["WEBVTT\n"]
    for number, each in enumerate(said, 1):
        at = f"{each.minutes // 60:02}:{each.minutes % 60:02}"
        words = html.escape(" ".join(each.text.split()), quote=False)
        name = _SENDERS[each.side]
        cues.append(f"{number}\n{at}:00.000 --> {at}:09.000\n<v {name}>{words}</v>\n")
    return save(folder, "GMT20240508-135600_Recording.vtt", "\n".join(cues))


def _matrix(folder: Path, said: Sequence[Said]) -> Path:
    names = {"user": "@ana:example.org", "assistant": "@bo:example.org"}
    events: list[Json] = [
        {
            "type": "m.room.message",
            "sender": names[each.side],
            "event_id": f"${each.minutes}",
            "origin_server_ts": int(each.at.timestamp() * 1000),
            "content": {"msgtype": "m.text", "body": each.text},
        }
        for each in said
    ]
    return save(folder, "matrix - Crew.json", {"room_name": "Crew", "messages": events})


def _snapchat(folder: Path, said: Sequence[Said]) -> Path:
    rows: list[Json] = [
        {
            "From": _SENDERS[each.side],
            "Media Type": "TEXT",
            "Created": f"{each.at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC",
            "Content": html.escape(each.text),
            "IsSender": each.side == "user",
        }
        for each in reversed(said)
    ]
    return save(folder, "chat_history.json", {"bo": rows})


def _tiktok(folder: Path, said: Sequence[Said]) -> Path:
    rows = [{"Date": s.iso, "From": _SENDERS[s.side], "Content": s.text} for s in said]
    history: Json = {"ChatHistory": {"Chat History with bo:": rows}}
    data: Json = {"Profile": {}, "Direct Message": {"Direct Messages": history}}
    return save(folder, "user_data_tiktok.json", data)


def _tinder(folder: Path, said: Sequence[Said]) -> Path:
    rows = [
        {"from": _SENDERS[s.side], "message": html.escape(s.text), "sent_date": s.iso} for s in said
    ]
    return save(folder, "data.json", {"Messages": [{"match_id": "Match 1", "messages": rows}]})


def _x(folder: Path, said: Sequence[Said]) -> Path:
    rows: list[Json] = [
        {
            "messageCreate": {
                "id": f"{each.minutes}",
                "senderId": {"user": "5", "assistant": "6"}[each.side],
                "createdAt": each.iso,
                "text": html.escape(each.text, quote=False),
            }
        }
        for each in reversed(said)
    ]
    talk: Json = {"dmConversation": {"conversationId": "5-6", "messages": rows}}
    account: Json = {"account": {"accountId": "5", "accountDisplayName": "Ana"}}
    files: Json = {
        "data/account.js": f"window.YTD.account.part0 = {json.dumps([account])}",
        "data/direct-messages.js": f"window.YTD.direct_messages.part0 = {json.dumps([talk])};\n",
    }
    return save_zip(folder / "twitter.zip", files)


def _x_grok(folder: Path, said: Sequence[Said]) -> Path:
    names = {"user": "USER", "assistant": "AGENT"}
    items: list[Json] = [
        {
            "grokChatItem": {
                "chatId": "1",
                "createdAt": each.iso,
                "sender": {"name": names[each.side].title(), "originalName": names[each.side]},
                "message": each.text,
            }
        }
        for each in said
    ]
    text = f"window.YTD.grok_chat_item.part0 = {json.dumps(items)}"
    return save(folder, "grok-chat-item.js", text)


def _chat_text(folder: Path, said: Sequence[Said]) -> Path:
    lines = ["消息记录（此消息记录为文本格式，不支持重新导入）", "", "消息对象:船员", "=" * 64, ""]
    for each in said:
        at = each.at.astimezone(UTC)
        lines += [f"{at:%Y-%m-%d %H:%M:%S} {_SENDERS[each.side]}(10001)", each.text, ""]
    return save(folder, "船员.txt", "\n".join(lines))


def _irc(folder: Path, said: Sequence[Said]) -> Path:
    lines = [
        f"--- Log opened {START:%a %b %d %H:%M:%S %Y}",
        f"{START:%H:%M} -!- bo [~bo@example.org] has joined #boats",
    ]
    day = START.date()
    for each in said:
        if each.at.date() != day:
            day = each.at.date()
            lines.append(f"--- Day changed {day:%a %b %d %Y}")
        lines.append(f"{each.at:%H:%M} <@{_SENDERS[each.side]}> {each.text}")
    return save(folder, "#boats.log", "\n".join([*lines, ""]))


def _pidgin(folder: Path, said: Sequence[Said]) -> Path:
    lines = [f"Conversation with bo at {START:%a %d %b %Y %I:%M:%S %p} UTC on ana (jabber)"]
    day = START.date()
    for each in said:
        shown = f"{each.at:%H:%M:%S}" if each.at.date() == day else f"{each.at:%Y-%m-%d %H:%M:%S}"
        lines.append(f"({shown}) {_SENDERS[each.side]}: {each.text}")
    return save(folder, "2024-05-08.135600+0000UTC.txt", "\n".join([*lines, ""]))


def _ms(said: Said) -> int:
    return int(said.at.timestamp() * 1000)


def _mattermost(folder: Path, said: Sequence[Said]) -> Path:
    about: Json = {"type": "version", "version": 1, "info": {"generator": "mattermost-server"}}
    lines: list[Json] = [
        about,
        {"type": "channel", "channel": {"team": "boats", "name": "crew"}},
        *(
            {
                "type": "post",
                "post": {
                    "team": "boats",
                    "channel": "crew",
                    "user": _SENDERS[each.side],
                    "message": each.text,
                    "create_at": _ms(each),
                },
            }
            for each in said
        ),
    ]
    return save(folder, "import.jsonl", _lines(lines))


def _rocket_chat(folder: Path, said: Sequence[Said]) -> Path:
    messages: list[Json] = [
        {
            "_id": f"m{each.minutes}",
            "rid": "GENERAL",
            "msg": each.text,
            "ts": each.iso,
            "u": {"_id": each.side, "username": _SENDERS[each.side]},
        }
        for each in reversed(said)
    ]
    return save(folder, "general.json", {"messages": messages, "success": True})


def _zulip(folder: Path, said: Sequence[Said]) -> Path:
    messages: list[Json] = [
        {
            "id": each.minutes,
            "sender_full_name": _SENDERS[each.side],
            "display_recipient": "boats",
            "subject": "winter berth",
            "content": each.text,
            "content_type": "text/x-markdown",
            "timestamp": int(each.at.timestamp()),
        }
        for each in said
    ]
    return save(folder, "messages.json", {"result": "success", "messages": messages})


def _mastodon(folder: Path, said: Sequence[Said]) -> Path:
    items: list[Json] = [
        {
            "type": "Create",
            "actor": f"https://social.example/users/{_SENDERS[each.side]}",
            "published": each.iso,
            "object": {
                "id": f"https://social.example/statuses/{each.minutes}",
                "type": "Note",
                "summary": None,
                "conversation": "tag:social.example:objectId=1",
                "content": f"<p>{html.escape(each.text)}</p>".replace("\n", "<br />"),
            },
        }
        for each in said
    ]
    outbox: Json = {"type": "OrderedCollection", "id": "outbox.json", "orderedItems": items}
    return save(folder, "outbox.json", outbox)


def _day_one(folder: Path, said: Sequence[Said]) -> Path:
    entries: list[Json] = [
        {
            "uuid": f"E{each.minutes}",
            "creationDate": each.iso,
            "text": re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", each.text),
        }
        for each in said
    ]
    return save(folder, "Boats.json", {"metadata": {"version": "1.0"}, "entries": entries})


def _sms(folder: Path, said: Sequence[Said]) -> Path:
    kinds, about = {"user": "2", "assistant": "1"}, 'address="+385911" contact_name="Bo"'
    escaped = [html.escape(each.text).replace("\n", "&#10;") for each in said]
    rows = [
        f'  <sms {about} date="{_ms(each)}" type="{kinds[each.side]}" body="{text}" />\n'
        for each, text in zip(said, escaped, strict=True)
    ]
    head = f"<?xml version='1.0' encoding='UTF-8' ?>\n<smses count=\"{len(said)}\">\n"
    return save(folder, "sms-20240508.xml", "".join([head, *rows, "</smses>\n"]))


def _adium(folder: Path, said: Sequence[Said]) -> Path:
    rows = [
        f'<message sender="{each.side}" alias="{_SENDERS[each.side]}" time="{each.iso}"><div><span>'
        + html.escape(each.text).replace("\n", "<br />")
        + "</span></div></message>\n"
        for each in said
    ]
    head = '<chat xmlns="http://purl.org/net/ulf/ns/0.4-02" account="user" service="Jabber">'
    return save(folder, "Bo (2024-05-08T13.56.00+0000).chatlog", "".join([head, *rows, "</chat>"]))


def _hangouts(folder: Path, said: Sequence[Said]) -> Path:
    ids = {"user": "101", "assistant": "102"}
    people = [
        {"id": {"gaia_id": ids[side], "chat_id": ids[side]}, "fallback_name": name}
        for side, name in _SENDERS.items()
    ]
    events: list[Json] = [
        {
            "conversation_id": {"id": "c"},
            "sender_id": {"gaia_id": ids[each.side], "chat_id": ids[each.side]},
            "timestamp": f"{_ms(each)}000",
            "event_id": f"e{each.minutes}",
            "event_type": "REGULAR_CHAT_MESSAGE",
            "chat_message": {"message_content": {"segment": [{"type": "TEXT", "text": each.text}]}},
        }
        for each in said
    ]
    inner: Json = {"id": {"id": "c"}, "name": "Crew", "participant_data": people}
    about: Json = {"conversation_id": {"id": "c"}, "conversation": inner}
    talk: Json = {"conversation": about, "events": events}
    return save(folder, "Hangouts.json", {"conversations": [talk]})


def _keep(folder: Path, said: Sequence[Said]) -> Path:
    """Write each note twice, as JSON and as a page."""
    for each in said:
        note: Json = {
            "color": "DEFAULT",
            "isTrashed": False,
            "isPinned": False,
            "isArchived": False,
            "textContent": each.text,
            "title": "",
            "userEditedTimestampUsec": _ms(each) * 1000,
            "createdTimestampUsec": _ms(each) * 1000,
        }
        save(folder, f"Keep/{each.minutes:04}.json", json.dumps(note))
        page = f'<html><body><div class="note"><div class="heading">{each.at}</div></div></body>'
        save(folder, f"Keep/{each.minutes:04}.html", page)
    return folder / "Keep"


def _simplenote(folder: Path, said: Sequence[Said]) -> Path:
    notes = [
        {"id": f"n{s.minutes}", "content": s.text, "creationDate": s.iso, "lastModified": s.iso}
        for s in said
    ]
    return save(folder, "notes.json", {"activeNotes": notes, "trashedNotes": list[Json]()})


def _standard_notes(folder: Path, said: Sequence[Said]) -> Path:
    items = [
        {
            "uuid": f"u{each.minutes}",
            "content_type": "Note",
            "content": {"title": "", "text": each.text, "references": list[Json]()},
            "created_at": each.iso,
            "updated_at": each.iso,
        }
        for each in said
    ]
    return save(folder, "Standard Notes Backup.txt.json", {"version": "004", "items": items})


def _roam(folder: Path, said: Sequence[Said]) -> Path:
    blocks = [
        {"string": s.text, "create-time": _ms(s), "edit-time": _ms(s), "uid": f"u{s.minutes}"}
        for s in said
    ]
    page: Json = {"title": "Ferry", "uid": "p", "edit-time": _ms(said[0]), "children": blocks}
    return save(folder, "boats.json", [page])


def _transcript(folder: Path, said: Sequence[Said]) -> Path:
    segments = [
        {"speaker": _SENDERS[s.side], "text": s.text, "start": s.minutes * 60.0} for s in said
    ]
    return save(folder, "meeting.json", {"language": "en", "segments": segments})


def _vscode_copilot(folder: Path, said: Sequence[Said]) -> Path:
    requests: list[Json] = []
    for each in said:
        when: Json = {"requestId": f"r{each.minutes}", "timestamp": _ms(each)}
        if each.side == "user":
            requests.append({**when, "message": {"text": each.text}, "response": list[Json]()})
        else:
            pieces = [{"value": each.text[:5]}, {"value": each.text[5:]}]
            requests.append({**when, "message": {"text": ""}, "response": pieces})
    return save(folder, "chat.json", {"responderUsername": "GitHub Copilot", "requests": requests})


def _gemini_cli(folder: Path, said: Sequence[Said]) -> Path:
    kinds = {"user": "user", "assistant": "gemini"}
    messages = [
        {"id": f"m{s.minutes}", "timestamp": s.iso, "type": kinds[s.side], "content": s.text}
        for s in said
    ]
    chat: Json = {"sessionId": "s-1", "projectHash": "ab12", "startTime": START.isoformat()}
    return save(folder, "session-2024-05-08T13-56-ab.json", {**chat, "messages": messages})


def _opencode(folder: Path, said: Sequence[Said]) -> Path:
    messages = [
        {
            "info": {"id": f"m{s.minutes}", "role": s.side, "time": {"created": _ms(s)}},
            "parts": [{"type": "text", "text": s.text}],
        }
        for s in said
    ]
    about: Json = {"id": "ses_1", "title": "Ferry", "time": {"created": _ms(said[0])}}
    return save(folder, "session.json", {"info": about, "messages": messages})


def _continue(folder: Path, said: Sequence[Said]) -> Path:
    history = [
        {"message": {"role": s.side, "content": s.text}, "contextItems": list[Json]()} for s in said
    ]
    return save(folder, "c.json", {"sessionId": "s-1", "title": "Ferry", "history": history})


def _cline(folder: Path, said: Sequence[Said]) -> Path:
    kinds = {"user": "user_feedback", "assistant": "text"}
    rows = [{"ts": _ms(s), "type": "say", "say": kinds[s.side], "text": s.text} for s in said]
    return save(folder, "tasks/1/ui_messages.json", rows)


def _prompts(folder: Path, said: Sequence[Said]) -> Path:
    rows: list[Json] = [
        {
            "display": each.text,
            "pastedContents": {},
            "timestamp": _ms(each),
            "project": "/srv/boats",
            "sessionId": SESSION_ID,
        }
        for each in said
    ]
    return save(folder, "history.jsonl", _lines(rows))


def _aider(folder: Path, said: Sequence[Said]) -> Path:
    """Write a start before each turn, as turns have no times of their own."""
    lines: list[str] = []
    for each in said:
        mark = "#### " if each.side == "user" else ""
        lines += [f"# aider chat started at {each.at:%F %T}", "", "> Aider v0.48.1  ", ""]
        lines += [f"{mark}{line}  " for line in each.text.split("\n")]
    return save(folder, "boats.aider.chat.history.md", "\n".join([*lines, ""]))


def _intercom(folder: Path, said: Sequence[Said]) -> Path:
    """Write the first message as the source, the others as parts."""
    whole = [
        {
            "id": f"p{each.minutes}",
            "part_type": "comment",
            "body": f"<p>{html.escape(each.text)}</p>".replace("\n", "<br>"),
            "author": {"type": _KINDS[each.side], "name": _SENDERS[each.side]},
            "created_at": int(each.at.timestamp()),
        }
        for each in said
    ]
    source = {key: whole[0][key] for key in ("id", "body", "author")}
    about: Json = {"type": "conversation", "id": "1", "created_at": whole[0]["created_at"]}
    parts: Json = {"conversation_parts": whole[1:], "total_count": len(whole) - 1}
    talk: Json = {**about, "source": source, "conversation_parts": parts}
    return save(folder, "conversation.json", talk)


_KINDS = {"user": "user", "assistant": "bot"}


def _zendesk(folder: Path, said: Sequence[Said]) -> Path:
    ids = {"user": 5, "assistant": 6}
    comments: list[Json] = [
        {
            "id": each.minutes + 1,
            "author_id": ids[each.side],
            "body": each.text,
            "html_body": f"<p>{html.escape(each.text)}</p>",
            "public": True,
            "created_at": each.iso,
        }
        for each in said
    ]
    users = [{"id": ids[side], "name": name} for side, name in _SENDERS.items()]
    ticket: Json = {"id": 9, "subject": "Ferry", "comments": comments, "users": users}
    return save(folder, "tickets.json", _lines([{**ticket, "description": said[0].text}]))


def _freshdesk(folder: Path, said: Sequence[Said]) -> Path:
    ids = {"user": 5, "assistant": 6}
    whole: list[Json] = [
        {
            "id": each.minutes + 100,
            "body": f"<div>{html.escape(each.text)}</div>",
            "body_text": each.text,
            "user_id": ids[each.side],
            "incoming": each.side == "user",
            "created_at": each.iso,
        }
        for each in said
    ]
    first = whole[0]
    requester = {"id": first["user_id"], "name": _SENDERS[said[0].side], "email": "ana@example.org"}
    about: Json = {"id": 9, "subject": "Ferry", "created_at": first["created_at"]}
    words: Json = {"description": first["body"], "description_text": first["body_text"]}
    who: Json = {"requester_id": first["user_id"], "requester": requester}
    ticket: Json = {**about, **words, **who, "conversations": whole[1:]}
    return save(folder, "ticket.json", ticket)


def _help_scout(folder: Path, said: Sequence[Said]) -> Path:
    """Write threads newest first."""
    threads: list[Json] = [
        {
            "id": each.minutes,
            "type": {"user": "customer", "assistant": "message"}[each.side],
            "body": html.escape(each.text).replace("\n", "<br>"),
            "createdBy": {"type": "user", "first": _SENDERS[each.side], "last": "H"},
            "createdAt": each.iso,
        }
        for each in reversed(said)
    ]
    about: Json = {"id": 9, "subject": "Ferry", "createdAt": said[0].iso}
    talks: list[Json] = [{**about, "_embedded": {"threads": threads}}]
    return save(folder, "conversations.json", {"_embedded": {"conversations": talks}})


Writer = Callable[[Path, Sequence[Said]], Path]
WRITERS: Mapping[str, Writer] = {
    "chatgpt": _chatgpt,
    "claude": _claude,
    "messages": _messages,
    "markdown": _markdown,
    "notes": _notes,
    "whatsapp": _whatsapp,
    "imessage": _imessage,
    "line": _line,
    "kakaotalk": _kakaotalk,
    "sigtop": _sigtop,
    "telegram": _telegram,
    "slack": _slack,
    "mail": _mail,
    "claude-code": _claude_code,
    "codex": _codex,
    "cursor": _cursor,
    "gemini": _gemini,
    "google-assistant": _google_assistant,
    "google-voice": _google_voice,
    "signal": _signal,
    "discord": _discord,
    "deepseek": _deepseek,
    "grok": _grok,
    "open-webui": _open_webui,
    "librechat": _librechat,
    "lmstudio": _lmstudio,
    "jan": _jan,
    "google-chat": _google_chat,
    "messenger": _messenger,
    "character-ai": _character,
    "sillytavern": _sillytavern,
    "skype": _skype,
    "typingmind": _typingmind,
    "chatbot-ui": _chatbot_ui,
    "mistral": _mistral,
    "aistudio": _aistudio,
    "chatbox": _chatbox,
    "cherry-studio": _cherry_studio,
    "nextchat": _nextchat,
    "openrouter": _openrouter,
    "perplexity": _perplexity,
    "anythingllm": _anythingllm,
    "teams": _teams,
    "copilot": _copilot,
    "csv": _csv,
    "captions": _captions,
    "matrix": _matrix,
    "snapchat": _snapchat,
    "tiktok": _tiktok,
    "tinder": _tinder,
    "intercom": _intercom,
    "zendesk": _zendesk,
    "freshdesk": _freshdesk,
    "help-scout": _help_scout,
    "x": _x,
    "x-grok": _x_grok,
    "chat-text": _chat_text,
    "irc": _irc,
    "pidgin": _pidgin,
    "mattermost": _mattermost,
    "rocket-chat": _rocket_chat,
    "zulip": _zulip,
    "mastodon": _mastodon,
    "day-one": _day_one,
    "sms": _sms,
    "adium": _adium,
    "hangouts": _hangouts,
    "keep": _keep,
    "simplenote": _simplenote,
    "standard-notes": _standard_notes,
    "roam": _roam,
    "transcript": _transcript,
    "vscode-copilot": _vscode_copilot,
    "gemini-cli": _gemini_cli,
    "opencode": _opencode,
    "continue": _continue,
    "cline": _cline,
    "prompts": _prompts,
    "aider": _aider,
}
"""For each format a writer that saves a chat in a folder and returns what to import."""
