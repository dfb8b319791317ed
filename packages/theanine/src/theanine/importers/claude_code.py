"""Transcripts of Claude Code: ``~/.claude/projects``, or a file ``<session>.jsonl`` from it.

Each line is an object with a ``type``. Lines of the types ``user`` and ``assistant`` hold a
``message`` of Anthropic's form, a ``uuid``, a ``timestamp`` and a ``sessionId``; words in them are
read, while tool calls and results, thoughts, the output of commands and what subagents said
(``isSidechain``) are left out and counted. A session that goes on in another file is copied there:
each ``uuid`` is read once, from the file that was changed first. The form is internal to Claude
Code and changes: lines of unknown types are counted by type.

Source: skillsynchq/txcript ``docs/formats/claude-code.md``. Never seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, SessionBuilder
from theanine.importers.content import read_content
from theanine.importers.dates import iso_time
from theanine.importers.folder import Folder
from theanine.importers.schema import Object, as_object, check, require_storable
from theanine.types import History, Role, Utterance

_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant"}
_TITLES = ("custom-title", "customTitle", "ai-title", "aiTitle", "agent-name", "summary")
_BOOKKEEPING = frozenset({
    "system", "attachment", "file-history-snapshot", "file-history-delta", "queue-operation",
    "mode", "last-prompt", "progress", "pr-link", "permission-mode", *_TITLES,
})  # fmt: skip
_MARKUP = re.compile(
    r"<(?P<tag>command-[a-z]+|local-command-[a-z]+|bash-[a-z]+|system-reminder|task-notification)>"
    r".*?</(?P=tag)>",
    re.DOTALL,
)
_INTERRUPTED = "[Request interrupted by user"
_FILE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.jsonl")


def _sniff(intake: Intake) -> bool:
    return any(
        (record.get("type") in _ROLES and {"uuid", "sessionId", "message"} <= record.keys())
        or (record.get("type") == "summary" and "leafUuid" in record)
        for record in intake.ahead
        if isinstance(record.get("type"), str)
    )


def _read(intake: Intake) -> Iterator[History]:
    session = SessionBuilder(intake.source.stem, intake.notes, conversation=intake.source.stem)
    for where, record in intake.records():
        kind = record.get("type")
        with intake.catching():
            if isinstance(kind, str) and kind in _ROLES:
                _add(intake, session, record, _ROLES[kind], where)
            elif isinstance(kind, str) and kind in _BOOKKEEPING:
                title = next((record[each] for each in _TITLES if record.get(each)), "")
                session.describe(title=title if isinstance(title, str) else "")
            else:
                printable = str(kind)[:40].encode("utf-8", "replace").decode("utf-8")
                intake.notes[f'lines of the unknown type "{printable}" left out'] += 1
    if session:
        yield intake.part(intake.user_name(), session.build())
    yield intake.part(intake.user_name())


def _add(intake: Intake, session: SessionBuilder, record: Object, role: Role, where: str) -> None:
    if record.get("isSidechain"):
        intake.notes["messages of subagents left out"] += 1
        return
    if record.get("isMeta") or record.get("isCompactSummary") or record.get("isApiErrorMessage"):
        intake.notes["messages of the program left out"] += 1
        return
    id = check(str, record.get("uuid"), f"{where}.uuid")
    if id in intake.seen:
        intake.notes["repeated turns"] += 1
        return
    intake.seen.add(id)
    message = as_object(record.get("message"), f"{where}.message")
    text, attachment = read_content(
        message.get("content"), f"{where}.message.content", intake.notes
    )
    if text.startswith(_INTERRUPTED) or _is_markup(role, text):
        intake.notes["commands and their output left out"] += 1
        return
    if not text.strip() and not attachment:
        return  # only tool calls, results or thoughts, which are counted
    at = record.get("timestamp")
    if not isinstance(at, str):
        raise BadInput('the field "timestamp" is missing', where)
    if isinstance(folder := record.get("cwd"), str):
        session.describe(project=PurePosixPath(folder.replace("\\", "/")).name)
    turn = Utterance(
        text=text,
        speaker=intake.speaker_of(role),
        at=iso_time(at, where, intake.options.local),
        role=role,
        key=require_storable(id, where),
        attachment=attachment,
    )
    session.append(turn, where)


def _is_markup(role: Role, text: str) -> bool:
    """Return whether a user's text is nothing but what the program wrote in the user's name."""
    return role == "user" and text.lstrip().startswith("<") and not _MARKUP.sub("", text).strip()


def _pick(folder: Folder) -> Sequence[str]:
    """Return the sessions' files, those first that have been left longest."""
    names = [
        name
        for name in folder.names
        if _FILE.fullmatch(PurePosixPath(name).name)
        and {"subagents", "tool-results"}.isdisjoint(PurePosixPath(name).parts)
    ]
    return sorted(names, key=lambda name: (folder.modified(name), name))


FORMAT = Format(name="claude-code", sniff=_sniff, read=_read, pick=_pick, kind="lines")
