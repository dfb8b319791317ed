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
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any, cast

from theanine.errors import BadInput
from theanine.importers.base import Entry, Intake, format_named
from theanine.importers.claude import account_name
from theanine.importers.dates import DEFAULT_START
from theanine.importers.schema import (
    Object,
    get,
    has_keys,
    is_object,
    objects_in,
    require_storable,
    unpacked,
)
from theanine.importers.sessions import SessionBuilder, chat_sessions
from theanine.importers.table import Talk, finish, first_rule, layout_named, role_in
from theanine.importers.wording import read_data
from theanine.importers.words import Words, note_unread, strings
from theanine.types import History, ImportedMemory, Role, Utterance


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement that another system keeps; what isn't known of it is empty.

    Attributes:
        system: its name.
        id: its id there.
        user: whom it is about.
        at, until: the words of its date, and of that from which it is no longer true.
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
        value = get(record, name) if name else None
        if isinstance(value, str | int | float) and not isinstance(value, bool) and f"{value}":
            return str(value)
    return ""


def _object(record: Mapping[str, object], name: str) -> Object:
    value = record.get(name)
    return value if is_object(value) else {}


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


def _stored(record: Object) -> Sequence[str]:
    """Return the words of an item of LangGraph's store, whose value has any shape."""
    value = _object(record, "value")
    inner = _object(value, "content") or value
    if text := _text(inner, "content", "text", "memory", "data", "fact", "value"):
        return [text]
    said = {
        key: each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)
        for key, each in inner.items()
        if each not in (None, "", [], {})
    }
    return [", ".join(f"{key}: {each}" for key, each in said.items())] if said else []


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


_TEXTS: Mapping[str, Callable[[Object], Sequence[str]]] = {
    "observations": _observations,
    "relation": _relation,
    "summary": _summary,
    "stored": _stored,
    "block": lambda record: _paragraphs(_text(record, "value")),
    "claude": _claude,
}
"""The texts of records that aren't in one field, by what a row calls them."""
_ROWS: Sequence[Mapping[str, Any]] = read_data("formats.toml")["other-memories"]["rows"]
_GONE: Mapping[str, str] = read_data("formats.toml")["other-memories"]["left_out"]
_CHATGPT = {"system": "ChatGPT", "text": "content"}
_LISTS = (
    *("results", "memories", "edges", "facts", "relevant_facts", "nodes", "items", "entities"),
    *("profiles", "memory_detail_list", "memoryRecordSummaries", "documents"),
    *("relations", "blocks", "core_memory"),
)
"""Fields that have a list of what is remembered."""
_READ_ELSEWHERE = frozenset(
    (
        *(*_LISTS, "agents", "messages", "episodes", "payload"),
        *("conversations_memory", "project_memories"),
    )
)


def _read_record(
    record: Mapping[str, object],
    notes: Counter[str],
    otherwise: Mapping[str, Any] | None = None,
) -> Iterator[_Statement]:
    """Yield the statements in a record, by its row, or else by ``otherwise``, or in its lists."""
    record = {**record, **_object(record, "payload")}  # as vector databases wrap them
    row = next((row for row in _ROWS if has_keys(record, row["keys"])), None)
    if row := row or (otherwise if "content" in record else None):
        yield from _read_row(row, record, notes)
        return
    note_unread(notes, record, (), _READ_ELSEWHERE)
    for name in _LISTS:
        for item in objects_in(record.get(name)):
            yield from _read_record(item, notes, _CHATGPT if name == "memories" else None)


def _read_row(row: Mapping[str, Any], record: Object, notes: Counter[str]) -> Iterator[_Statement]:
    if gone := first_rule(_GONE, record):
        notes[gone] += 1
        return
    find = _TEXTS.get(row.get("texts", ""), lambda record: [_text(record, row["text"])])
    texts = find(record)
    read = [*texts, _text(record, row.get("text", "value"))]
    note_unread(notes, record, read, _READ_ELSEWHERE)
    for text in texts:
        yield _Statement(
            system=row["system"],
            text=text,
            id=_text(record, "id", "uuid", "key"),
            user=_text(record, row.get("user", "user_id")),
            at=_text(record, *row.get("at", ("updated_at", "created_at"))),
            until=_text(record, *row.get("until", ())),
        )


_LINE = re.compile(r"\W{0,4}\[(?P<date>[^\[\]\n]{3,40})\]\s?[-–—:]\s?(?P<text>\S.*)")
_NO_DATE = re.compile(r"(?:unknown|no date|undated|date (?:unknown|not available)|n/a)", re.I)


def _read_line(intake: Intake, line: str) -> _Statement | None:
    """Return a line such as "[2024-05-08] - Likes tea", in which assistants list memories."""
    match = _LINE.fullmatch(line.strip())
    if not match or not (_NO_DATE.search(match["date"]) or intake.date_in(match["date"])):
        return None
    return _Statement("ChatGPT", match["text"], at=match["date"])


def _read(intake: Intake) -> Iterator[History]:
    days: dict[tuple[str, str, date | None], list[tuple[_Statement, datetime]]] = {}
    statements = list(_statements(intake))
    users = {statement.user for statement in statements if statement.user}
    owner = _owner(intake) or (users.pop() if len(users) == 1 else "")
    for statement in statements:
        system = statement.system
        name = intake.user_name(statement.user or owner or system)
        at = replace(intake, notes=Counter()).date_in(statement.at)
        day = at and at.astimezone(UTC).date()
        at_least = at or intake.source.modified or DEFAULT_START
        days.setdefault((name, system, day), []).append((statement, at_least))
        if at and (end := intake.date_in(statement.until)):
            text = f"{statement.text.rstrip('.')}: this is no longer so."
            ended = replace(statement, text=text, id=f"{statement.id} until", until="")
            day = end.astimezone(UTC).date()
            days.setdefault((name, system, day), []).append((ended, end))
    for (name, system, day), group in days.items():
        yield from _session(intake, name, system, day, group)
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
            gone = sum(intake.notes[why] for why in {*_GONE.values()})
            found = list(_read_record(record, intake.notes))
            gone -= sum(intake.notes[why] for why in {*_GONE.values()})
            intake.notes["items that are no memories left out"] += not found and not gone
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
        return account_name(intake) or _text(intake.first, "user.user_id")
    return ""


_LETTA = layout_named("letta")
_SPOKEN = re.compile(r"(?P<speaker>[^:\n]{1,40}): (?P<text>\S.*)", re.DOTALL)


def _episodes(intake: Intake, owner: str) -> Iterator[History]:
    """Yield the conversations that a graph of Zep or Graphiti keeps as its episodes."""
    if intake.kind == "text":
        return
    messages: list[Entry] = []
    again = replace(intake, notes=Counter(), faults=[])  # they were read before
    for where, record in again.records():
        for i, episode in enumerate(objects_in(record.get("episodes"))):
            at_episode = f"{where}, episodes[{i}]"
            at = intake.date_in(_text(episode, "valid_at", "created_at"))
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
            note_unread(
                intake.notes, agent, [name] if agent.get("messages") else (), _READ_ELSEWHERE
            )
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
    packed = unpacked(words.text) if role == "user" else {}  # the words, and when they came
    if packed.get("type") == "user_message" or ("message" in packed and "type" not in packed):
        words.texts = [_packed_message(intake, words, words.texts, packed)]
    elif "type" in packed:
        words.texts = []
    sent: list[str] = []
    for call in objects_in(message.get("tool_calls")):
        function = _object(call, "function")
        if _text(function, "name") == "send_message":
            arguments = function.get("arguments")
            if said := unpacked(arguments):
                sent.append(_packed_message(intake, words, arguments, said))
            role = "assistant"
    words.texts = [text for text in sent if text.strip()] or words.texts
    if role not in ("user", "assistant") or not words:
        intake.notes["messages without words left out"] += 1
        return ()
    entry = Entry(where, role, agent if role == "assistant" else "")
    return finish(intake, message, words, entry, _LETTA)


def _packed_message(intake: Intake, words: Words, packed: object, fields: Object) -> str:
    """Return the message among the fields of what is packed, noting what else they say."""
    words.passed += (text for _, text in strings(packed))
    message = _text(fields, "message")
    note_unread(intake.notes, fields, [message])
    return message


def _is_agent_file(record: Mapping[str, object]) -> bool:
    has_agents = isinstance(record.get("agents"), list) and "blocks" in record
    return has_agents or ("core_memory" in record and "agent_type" in record)


def _sniff(intake: Intake) -> bool:
    if intake.kind == "text":
        return sum(_read_line(intake, line) is not None for line in intake.lines) >= 2
    first = intake.first
    return _is_agent_file(first) or any(True for _ in _read_record(first, Counter()))


FORMAT = format_named("other-memories", _read, _sniff)
