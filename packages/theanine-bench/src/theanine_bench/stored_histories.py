"""Histories from a store or its export, to run benches on real conversations."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import theanine
from theanine.client.sync import Client
from theanine.errors import BadInput
from theanine.importers import is_store_export
from theanine.types import History, Transcript, Turn, Utterance
from theanine_bench.files import read_lines

_SQLITE = b"SQLite format 3\0"


def read_stored_histories(data: Path) -> list[History] | None:
    """Return the ended sessions of every user of a store or an export; None for any other file.

    Recalled memories are left out, because other methods recall others. Raises BadInput where no
    session has ended, and NotAStore for another program's database.
    """
    if not data.is_file():
        return None
    with data.open("rb") as file:
        is_database = file.read(len(_SQLITE)) == _SQLITE
    if is_database:
        with theanine.open(str(data)) as client:
            return _histories(client, data)
    if not is_store_export(data):
        return None
    with TemporaryDirectory() as folder, theanine.open(f"{folder}/restored.db") as client:
        client.restore(record for record, _ in read_lines(data))
        return _histories(client, data)


def _histories(client: Client, data: Path) -> list[History]:
    histories: list[History] = []
    for scope in client.users():
        memory = client.user(scope.user, agent=scope.agent, tenant=scope.tenant)
        transcripts = [
            Transcript(
                key=session.key,
                turns=[_without_id(turn) for turn in turns],
                at=session.started_at,
                dated=session.dated,
            )
            for session in memory.sessions()
            if session.ended_at is not None and (turns := memory.turns(session=session.id))
        ]
        if transcripts:
            histories.append(History(name=str(scope), transcripts=transcripts))
    if not histories:
        raise BadInput("no session has ended in it yet", str(data))
    return histories


def _without_id(turn: Turn) -> Utterance:
    return Utterance(
        text=turn.text,
        speaker=turn.speaker,
        at=turn.at,
        role=turn.role,
        key=turn.key,
        attachment=turn.attachment,
        notes=turn.notes,
    )
