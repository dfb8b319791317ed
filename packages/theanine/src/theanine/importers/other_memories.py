"""Read the files in which other memory systems keep their statements, with sources and dates.

A day is a session. Each statement is a turn by the system, never the user's own words, and is
remembered unchanged. A fact that is valid until some day gets a second statement on that day, which
says so. A statement without a date keeps none.

Sources: mem0ai/mem0 ``docs/api-reference``, getzep/graphiti ``graphiti_core/edges.py``,
letta-ai/agent-file, modelcontextprotocol/servers ``src/memory``, Hindsight's API reference,
LangGraph's ``langgraph/store/base``. Never seen real.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import cast

from theanine.errors import BadInput
from theanine.importers.base import Entry, Intake, SessionBuilder, format_named
from theanine.importers.chats import chat_sessions
from theanine.importers.claude import account_name
from theanine.importers.dates import DEFAULT_START
from theanine.importers.front_matter import date_in
from theanine.importers.schema import Object, is_object, objects_in, parse, require_storable
from theanine.importers.table import Talk, finish, layout_named, role_in
from theanine.importers.words import Words, note_unread, strings
from theanine.types import History, ImportedMemory, Role, Utterance


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement that another system keeps.

    Attributes:
        system: its name.
        id: its id there, or empty.
        user: whom it is about, or empty.
        at: the words of its date, or empty.
        until: those of the date from which it is no longer true, or empty.
    """

    system: str
    text: str
    id: str = ""
    user: str = ""
    at: str = ""
    until: str = ""


def _text(record: Mapping[str, object], *names: str) -> str:
    """Return the first of some fields that is a text or a number."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool) and f"{value}":
            return str(value)
    return ""


def _object(record: Mapping[str, object], name: str) -> Object:
    value = record.get(name)
    return value if is_object(value) else {}


def _plain(record: Object, *names: str) -> Sequence[str]:
    return [_text(record, *names)]


def _observations(record: Object) -> Sequence[str]:
    values = record.get("observations")
    texts = cast("list[object]", values) if isinstance(values, list) else []
    said = [_text(each, "content", "text") if is_object(each) else str(each) for each in texts]
    return [f"{_text(record, 'name')}: {each}" for each in said if each.strip()]


def _relation(record: Object) -> Sequence[str]:
    verb = _text(record, "relationType", "relationship", "relation").replace("_", " ")
    ends = _text(record, "from", "source"), _text(record, "to", "target", "destination")
    return [f"{ends[0]} {verb} {ends[1]}"]


def _summary(record: Object) -> Sequence[str]:
    summary = _text(record, "summary")
    return [f"{_text(record, 'name')}: {summary}"] if summary.strip() else []


def _block(record: Object) -> Sequence[str]:
    return _paragraphs(_text(record, "value"))


def _stored(record: Object) -> Sequence[str]:
    """Return the words of an item of LangGraph's store, whose value has any shape."""
    value = _object(record, "value")
    inner = _object(value, "content") or value
    if text := _text(inner, "content", "text", "memory", "data", "fact", "value"):
        return [text]
    return [", ".join(f"{key}: {_words(each)}" for key, each in inner.items())] if inner else []


def _words(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _claude(record: Object) -> Sequence[str]:
    projects = [str(text) for text in _object(record, "project_memories").values()]
    texts = (_text(record, "conversations_memory"), *projects)
    return [paragraph for text in texts for paragraph in _paragraphs(text)]


def _paragraphs(text: str) -> Sequence[str]:
    """Return the paragraphs and the items of lists of a longer text, without its headings."""
    pieces = re.split(r"\n\s*\n|\n(?=\s*(?:[-*•]|\d+\.)\s)", text)
    plain = [re.sub(r"^\s*(?:[-*•]|\d+\.)\s+", "", piece).strip() for piece in pieces]
    is_heading = re.compile(r"(?:#{1,6}\s.*|\*\*[^*\n]+\*\*:?)")
    return [piece for piece in plain if piece and not is_heading.fullmatch(piece)]


@dataclass(frozen=True, slots=True)
class _Row:
    """A layout of a system's records: the fields by which it is recognized, and those read.

    ``all_of`` and one of ``any_of`` must be there.
    """

    system: str
    all_of: Sequence[str]
    any_of: Sequence[str]
    texts: Callable[[Object], Sequence[str]]
    id: Sequence[str] = ("id", "uuid", "key")
    at: Sequence[str] = ("updated_at", "created_at")
    until: Sequence[str] = ()
    user: Sequence[str] = ("user_id",)

    def fits(self, record: Mapping[str, object]) -> bool:
        return all(name in record for name in self.all_of) and (
            not self.any_of or any(name in record for name in self.any_of)
        )

    def read(self, record: Object) -> Iterator[_Statement]:
        id = _text(record, *self.id)
        for text in self.texts(record):
            yield _Statement(
                system=self.system,
                text=text,
                id=id,
                user=_text(record, *self.user),
                at=_text(record, *self.at),
                until=_text(record, *self.until),
            )


_ROWS = (
    _Row("mem0", ("memory",), ("hash", "user_id", "created_at"), lambda r: _plain(r, "memory")),
    _Row("mem0", ("data", "hash"), ("user_id", "created_at"), lambda r: _plain(r, "data")),
    _Row("mem0", ("source", "relationship"), ("target", "destination"), _relation),
    _Row(
        "Zep",
        ("fact",),
        ("valid_at", "uuid", "created_at", "source_node_uuid"),
        lambda r: _plain(r, "fact"),
        at=("valid_at", "created_at"),
        until=("invalid_at", "expired_at"),
        user=("user_id",),
    ),
    _Row("Zep", ("uuid", "name", "summary"), (), _summary, at=("created_at",)),
    _Row("server-memory", ("name", "observations"), ("entityType", "type"), _observations),
    _Row("server-memory", ("from", "to", "relationType"), (), _relation),
    _Row(
        "Hindsight",
        ("text",),
        ("fact_type", "mentioned_at", "occurred_start"),
        lambda r: _plain(r, "text"),
        at=("occurred_start", "mentioned_at", "date", "created_at"),
        user=("bank_id",),
    ),
    _Row("LangGraph", ("namespace", "key", "value"), (), _stored),
    _Row("Letta", ("label", "value"), ("limit", "id", "is_template", "description"), _block),
    _Row("Claude", ("conversations_memory",), (), _claude),
    _Row("Claude", ("project_memories",), (), _claude),
)
_CHATGPT = _Row("ChatGPT", ("content",), (), lambda r: _plain(r, "content"))
_LISTS = (
    *("results", "memories", "edges", "facts", "relevant_facts", "nodes", "items", "entities"),
    *("relations", "blocks", "core_memory"),
)
"""Fields that have a list of what is remembered."""


def _read_record(record: Mapping[str, object]) -> Iterator[_Statement]:
    record = {**record, **_object(record, "payload")}  # as vector databases wrap them
    if row := next((row for row in _ROWS if row.fits(record)), None):
        yield from row.read(record)
        return
    for name in _LISTS:
        for item in objects_in(record.get(name)):
            found = list(_read_record(item))
            if not found and name == "memories" and _CHATGPT.fits(item):
                found = list(_CHATGPT.read(item))
            yield from found


_LINE = re.compile(r"\W{0,4}\[(?P<date>[^\[\]\n]{3,40})\]\s?[-–—:]\s?(?P<text>\S.*)")
_NO_DATE = re.compile(r"(?:unknown|no date|undated|date (?:unknown|not available)|n/a)", re.I)


def _read_line(intake: Intake, line: str) -> _Statement | None:
    """Return a line such as "[2024-05-08] - Likes tea", in which assistants list memories."""
    match = _LINE.fullmatch(line.strip())
    if not match or not (_NO_DATE.search(match["date"]) or date_in(intake, match["date"])):
        return None
    return _Statement("ChatGPT", match["text"], at=match["date"])


def _read(intake: Intake) -> Iterator[History]:
    said: dict[tuple[str, str], dict[date | None, list[tuple[_Statement, datetime]]]] = {}
    statements = list(_statements(intake))
    users = {statement.user for statement in statements if statement.user}
    owner = _owner(intake) or (users.pop() if len(users) == 1 else "")
    for statement in statements:
        name = intake.user_name(statement.user or owner or statement.system)
        days = said.setdefault((name, statement.system), {})
        at = date_in(replace(intake, notes=type(intake.notes)()), statement.at)
        undated = intake.source.modified or DEFAULT_START
        days.setdefault(at and at.astimezone(UTC).date(), []).append((statement, at or undated))
        if at and (end := date_in(intake, statement.until)):
            text = f"{statement.text.rstrip('.')}: this is no longer so."
            ended = replace(statement, text=text, id=f"{statement.id} until", until="")
            days.setdefault(end.astimezone(UTC).date(), []).append((ended, end))
    for (name, system), days in said.items():
        for day, statements in sorted(days.items(), key=lambda item: item[1][0][1]):
            yield from _session(intake, name, system, day, statements)
    yield from _letta_talk(intake)
    yield from _episodes(intake, owner)


def _statements(intake: Intake) -> Iterator[_Statement]:
    if intake.kind == "text":
        for line in intake.source.text().splitlines():
            if found := _read_line(intake, line):
                yield found
            else:
                intake.notes["lines that are no memories left out"] += bool(line.strip())
        return
    for where, record in intake.records():
        with intake.catching():
            found = list(_read_record(record))
            intake.notes["items that are no memories left out"] += not found
            for statement in found:
                with intake.catching():
                    require_storable(statement.text, where)
                    if statement.text.strip():
                        yield statement


def _session(
    intake: Intake,
    name: str,
    system: str,
    day: date | None,
    statements: Sequence[tuple[_Statement, datetime]],
) -> Iterator[History]:
    key = f"{system}/{day or 'undated'}"
    session = SessionBuilder(key, intake.notes, source=system, title=f"Memories of {system}")
    for statement, at in sorted(statements, key=lambda each: each[1]):
        # An id whose text has changed since is another statement.
        digest = hashlib.sha256(statement.text.encode("utf-8")).hexdigest()[:12]
        turn_key = f"{statement.id} {digest}".strip()
        if turn_key in session.keys:
            intake.notes["repeated memories"] += 1
            continue
        text = statement.text.strip()
        turn = Utterance(
            text=text,
            speaker=system,
            at=at,
            role="assistant",
            key=turn_key,
            metadata={"imported": True, "id": statement.id},
        )
        with intake.catching():
            session.append(turn, intake.name)
            memory = ImportedMemory(text=text, speakers=(name,), source_keys=(turn_key,))
            session.memories.append(memory)
    if session:
        intake.notes["memories without a date"] += 0 if day else len(session.turns)
        yield intake.part(name, session.build(dated=day is not None))


def _owner(intake: Intake) -> str:
    """Return the name of the account that an archive of Claude is of, or empty."""
    with suppress(BadInput):
        return account_name(intake)
    return ""


_LETTA = layout_named("letta")
_SPOKEN = re.compile(r"(?P<speaker>[^:\n]{1,40}): (?P<text>\S.*)", re.DOTALL)


def _episodes(intake: Intake, owner: str) -> Iterator[History]:
    """Yield the conversations that a graph of Zep or Graphiti keeps as its episodes."""
    if intake.kind == "text":
        return
    messages: list[Entry] = []
    for where, record in intake.records():
        for i, episode in enumerate(objects_in(record.get("episodes"))):
            at_episode = f"{where}, episodes[{i}]"
            at = date_in(intake, _text(episode, "valid_at", "created_at"))
            text, speaker = _text(episode, "content"), _text(episode, "role", "name")
            if (spoken := _SPOKEN.fullmatch(text)) and not _text(episode, "role"):
                speaker, text = spoken["speaker"], spoken["text"]
            if at is None or not text.strip():
                intake.notes["episodes without words or a date left out"] += 1
                continue
            with intake.catching():
                role: Role = "assistant" if "assistant" in _text(episode, "role_type") else "user"
                key = _text(episode, "uuid")
                messages.append(Entry(at_episode, role, speaker or "Unknown", text, key=key, at=at))
    messages.sort(key=lambda message: message.at or DEFAULT_START)
    yield from chat_sessions(intake, intake.user_name(owner or "Zep"), "Zep", messages)


def _letta_talk(intake: Intake) -> Iterator[History]:
    """Yield the conversations in an agent file: a session an agent."""
    if not _is_agent_file(intake.first):
        return
    for where, record in intake.records():
        for number, agent in enumerate(objects_in(record.get("agents")) or [record]):
            name = _text(agent, "name") or "agent"
            key = f"Letta/{_text(agent, 'id') or name}/{number}"
            entries: list[Entry] = []
            for i, message in enumerate(objects_in(agent.get("messages"))):
                with intake.catching():
                    entries += _letta_message(intake, message, name, f"{where}, messages[{i}]")
            metadata = {"source": "Letta", "title": name}
            talk = Talk(intake, _LETTA, {}, key, where, metadata=metadata)
            yield from talk.finish(entries, intake.user_name("Letta"))


def _letta_message(intake: Intake, message: Object, agent: str, where: str) -> Sequence[Entry]:
    role, _ = role_in(_LETTA, message)
    words = Words(intake.notes)
    words.add(message.get("content") or _text(message, "text"))
    packed = _parsed(words.text) if role == "user" else {}  # the words, and when they came
    if packed.get("type") == "user_message" or ("message" in packed and "type" not in packed):
        words.texts = [_unpacked(intake, words, words.texts, packed)]
    elif "type" in packed:
        words.texts = []
    sent: list[str] = []
    for call in objects_in(message.get("tool_calls")):
        function = _object(call, "function")
        if _text(function, "name") == "send_message":
            arguments = function.get("arguments")
            said = arguments if is_object(arguments) else _parsed(_text(function, "arguments"))
            sent += [_unpacked(intake, words, arguments, said)] if said else []
            role = "assistant"
    words.texts = [text for text in sent if text.strip()] or words.texts
    if role not in ("user", "assistant") or not words:
        intake.notes["messages without words left out"] += 1
        return ()
    entry = Entry(where, role, agent if role == "assistant" else "")
    return finish(intake, message, words, entry, _LETTA)


def _unpacked(intake: Intake, words: Words, packed: object, fields: Object) -> str:
    """Return the message among the fields of what is packed, noting what else they say."""
    words.passed += (text for _, text in strings(packed))
    message = _text(fields, "message")
    note_unread(intake.notes, fields, [message])
    return message


def _parsed(text: str) -> Object:
    """Return an object that is written in a text; empty for any other text."""
    with suppress(BadInput):
        value = parse(text, "")
        return value if is_object(value) else {}
    return {}


def _is_agent_file(record: Mapping[str, object]) -> bool:
    has_agents = isinstance(record.get("agents"), list) and "blocks" in record
    return has_agents or ("core_memory" in record and "agent_type" in record)


def _sniff(intake: Intake) -> bool:
    if intake.kind == "text":
        return sum(_read_line(intake, line) is not None for line in intake.lines) >= 2
    first = intake.first
    return _is_agent_file(first) or any(True for _ in _read_record(first))


FORMAT = format_named("other-memories", _read, _sniff)
