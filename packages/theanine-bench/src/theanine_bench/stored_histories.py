"""Histories from a store or from its export: what was really said, to compare methods on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import theanine
from theanine.errors import BadInput
from theanine.importers import is_store_export
from theanine.types import History, Scope, Transcript, Turn, Utterance

if TYPE_CHECKING:
    from theanine.client.sync import Client

_SQLITE = b"SQLite format 3\0"


def kept_histories(data: Path) -> list[History] | None:
    """The ended sessions of every user of a store or of an export; None for any other file.

    What the agent was reminded of is left out, as other methods remind it of something else.
    Raises BadInput where there is no ended session, and NotAStore for another's database.
    """
    if not data.is_file():
        return None
    with data.open("rb") as file:
        database = file.read(len(_SQLITE)) == _SQLITE
    if database:
        with theanine.open(str(data)) as agent:
            return _found(agent, data)
    if not is_store_export(data):
        return None
    with TemporaryDirectory() as folder, theanine.open(f"{folder}/restored.db") as agent:
        agent.restore(_records(data))
        return _found(agent, data)


def _found(agent: Client, data: Path) -> list[History]:
    scopes: list[Scope] = agent.users()
    histories = [
        History(name=str(scope), transcripts=transcripts)
        for scope in scopes
        if (transcripts := list(_transcripts(agent, scope)))
    ]
    if not histories:
        raise BadInput("no session has ended in it yet", str(data))
    return histories


def _transcripts(agent: Client, scope: Scope) -> Iterator[Transcript]:
    user, name, tenant = scope.user, scope.agent, scope.tenant
    for session in agent.sessions(user, agent=name, tenant=tenant):
        turns = agent.turns(user, session=session.id, agent=name, tenant=tenant)
        if session.ended_at is not None and turns:
            yield Transcript(
                key=session.key,
                turns=[_said(turn) for turn in turns],
                at=session.started_at,
                dated=session.dated,
            )


def _said(turn: Turn) -> Utterance:
    return Utterance(
        text=turn.text,
        speaker=turn.speaker,
        at=turn.at,
        role=turn.role,
        key=turn.key,
        attachment=turn.attachment,
        notes=turn.notes,
    )


def _records(data: Path) -> list[dict[str, Any]]:
    lines = data.read_text("utf-8").split("\n")
    try:
        return [json.loads(line) for line in lines if line.strip()]
    except ValueError as error:
        raise BadInput(f"no JSON in one of its lines: {error}", str(data)) from None
