"""Transcripts of Codex: ``~/.codex/sessions`` and ``archived_sessions``, or a file from them.

``rollout-<time>-<id>.jsonl`` has lines ``{"timestamp", "type", "payload"}``. The turns are in
``response_item`` and again in ``event_msg``; the first are read: payloads ``{"type": "message",
"role", "content": [{"type": "input_text" or "output_text", "text"}]}``. What the program tells the
model about its surroundings in the user's name, and tool calls and thoughts, are left out and
counted. In the first version the payloads stood alone in their lines.

Source: skillsynchq/txcript ``docs/formats/codex.md``. Never seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from theanine.importers.base import Entry, Format, Intake
from theanine.importers.chats import NO_TIME
from theanine.importers.schema import Object, as_object
from theanine.importers.table import (
    SYSTEM,
    Talk,
    finish,
    has_only_parts,
    layout_named,
    project_of,
    role_in,
    time_at,
)
from theanine.importers.times import any_time
from theanine.importers.words import THOUGHTS, TOOLS, Words
from theanine.types import History

_LAYOUT = layout_named("codex")
_LINES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_SCAFFOLDING = re.compile(
    r"\s*(?:<(?P<tag>environment_context|user_instructions|permissions instructions|turn_aborted|"
    r"INSTRUCTIONS|collaboration_mode|skill|user_shell_command)\b.*|# AGENTS\.md instructions\b.*)",
    re.DOTALL,
)


def _sniff(intake: Intake) -> bool:
    return any(
        isinstance(record.get("type"), str)
        and record["type"] in _LINES
        and isinstance(record.get("payload"), dict)
        for record in intake.ahead
    ) or (
        {"id", "timestamp", "instructions"} <= intake.first.keys()
        and intake.source.stem.startswith("rollout-")
    )


def _read(intake: Intake) -> Iterator[History]:
    entries: list[Entry] = []
    metadata: dict[str, str] = {}
    latest: datetime | None = None
    for where, record in intake.records():
        with intake.catching():
            payload = as_object(record.get("payload", record), f"{where}.payload")
            if record.get("type") == "session_meta" or "instructions" in record:
                metadata |= project_of(payload, payload.get("id"))
            elif record.get("type") in ("response_item", None) or "payload" not in record:
                at = time_at(intake, record, _LAYOUT.time, where)
                for entry in _entries(intake, payload, Entry(where, at=at)):
                    if entry.at is None and latest:
                        _note_untimed(intake, record, where)
                        entry.at = latest
                    entries.append(entry)
        latest = any_time(record.get("timestamp"), intake.options.local) or latest
    talk = Talk(intake, _LAYOUT, {}, intake.stem, intake.name, metadata=metadata)
    yield from talk.finish(entries, intake.user_name())
    yield intake.part(intake.user_name())


def _note_untimed(intake: Intake, record: Object, where: str) -> None:
    if "payload" in record:
        intake.repaired(NO_TIME, where)
    else:  # in the first version only the first line has a time
        intake.notes[NO_TIME] += 1


def _entries(intake: Intake, item: Object, entry: Entry) -> Sequence[Entry]:
    kind = str(item.get("type"))
    role, unknown = role_in(_LAYOUT, item)
    entry.role = "system" if unknown else role
    if kind == "reasoning":
        intake.notes[THOUGHTS] += 1
    elif kind != "message" and not entry.role:
        intake.notes[TOOLS] += kind.endswith(("_call", "_output"))
    elif entry.role in ("system", "tool"):
        intake.notes[SYSTEM] += 1
    else:
        words = Words(intake.notes)
        words.add(item.get("content"))
        if entry.role != "assistant" and _SCAFFOLDING.fullmatch(words.text):
            intake.notes["messages of the program left out"] += 1
        elif not has_only_parts(intake, item, words):
            return finish(intake, item, words, entry, _LAYOUT)
    return ()


FORMAT = Format(
    name="codex",
    sniff=_sniff,
    read=_read,
    pick=lambda folder: folder.select("rollout-*.jsonl"),
    kind="lines",
    repairs=True,
)
