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
from collections.abc import Iterator
from datetime import datetime

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, SessionBuilder
from theanine.importers.content import THOUGHTS, TOOLS, read_content
from theanine.importers.dates import iso_time
from theanine.importers.schema import Object, as_object, require_storable
from theanine.types import History, Role, Utterance

_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant"}
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
    session = SessionBuilder(intake.source.stem, intake.notes)
    latest: datetime | None = None
    for where, record in intake.records():
        with intake.catching():
            if isinstance(at := record.get("timestamp"), str):
                latest = iso_time(at, f"{where}.timestamp", intake.options.local)
            payload = as_object(record.get("payload", record), f"{where}.payload")
            if record.get("type") == "session_meta" or "instructions" in record:
                if isinstance(id := payload.get("id"), str):
                    session.describe(conversation=require_storable(id, where))
                if isinstance(cwd := payload.get("cwd"), str):
                    session.describe(project=cwd.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1])
            elif record.get("type") == "response_item" or "payload" not in record:
                _add(intake, session, payload, latest, where)
    if session:
        yield intake.part(intake.user_name(), session.build())
    yield intake.part(intake.user_name())


def _add(
    intake: Intake, session: SessionBuilder, item: Object, at: datetime | None, where: str
) -> None:
    kind = str(item.get("type"))
    if kind == "reasoning":
        intake.notes[THOUGHTS] += 1
    elif kind != "message":
        intake.notes[TOOLS] += kind.endswith(("_call", "_output"))
    elif not isinstance(item.get("role"), str) or item["role"] not in _ROLES:
        intake.notes["system and tool messages left out"] += 1
    else:
        role = _ROLES[item["role"]]
        text, attachment = read_content(item.get("content"), f"{where}.content", intake.notes)
        if role == "user" and _SCAFFOLDING.fullmatch(text):
            intake.notes["messages of the program left out"] += 1
        elif text.strip() or attachment:
            if at is None:
                raise BadInput('the field "timestamp" is missing', where)
            speaker = intake.speaker_of(role)
            turn = Utterance(text=text, speaker=speaker, at=at, role=role, attachment=attachment)
            session.append(turn, where)


FORMAT = Format(
    name="codex",
    sniff=_sniff,
    read=_read,
    pick=lambda folder: folder.select("rollout-*.jsonl"),
    kind="lines",
)
