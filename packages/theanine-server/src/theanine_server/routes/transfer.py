"""Export and import of one user, as streams."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from errno import EDQUOT, EFBIG, ENOSPC
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from tempfile import gettempdir
from typing import Annotated, Any

import anyio
import anyio.to_thread
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from theanine.client import AsyncUserMemory, ImportReport
from theanine.clock import load_zone
from theanine.errors import BadInput, StoreFull
from theanine.importers import (
    FORMATS,
    HistoryPreview,
    ImportedHistories,
    Rejected,
    is_one_account,
    is_store_export,
    preview_history,
    read_export,
    read_histories,
)
from theanine.temporary_folders import temporary_folder
from theanine.types import History, Scope
from theanine_server.access import (
    Administrator,
    AgentName,
    Readable,
    Repeatable,
    UserName,
    claim_request,
    open_memory,
)
from theanine_server.bodies import JsonBody, JsonRoute
from theanine_server.idempotency import IdempotencyKey
from theanine_server.parameters import Flag
from theanine_server.problems import Refused, responses, write_responses
from theanine_server.state import ServerState, State

router = APIRouter(prefix="/v1/users/{user}", route_class=JsonRoute, tags=["transfer"])

LINES = "application/x-ndjson"
_CHUNK = 1 << 20
_NO_SPACE = (ENOSPC, EDQUOT, EFBIG)
MAX_NAME = 200
"""Bytes of a file's name that are kept."""


class Imported(BaseModel):
    """Counts of what an import added; the rest was there already, or was forgotten before."""

    format: str
    sessions_new: int = 0
    turns_new: int = 0
    memories_imported: int = 0
    records_new: int = 0
    forgotten: int = 0
    notes: dict[str, int] = {}


class ImportPreview(BaseModel):
    """What an import would bring in.

    ``histories`` of several people are those of a data set: one of them is chosen by its name. An
    export of this user has none, and would be restored.
    """

    format: str
    histories: list[HistoryPreview] = []
    one_account: bool = True
    notes: dict[str, int] = {}
    rejected: list[Rejected] = Field(default=[], description="What can't be read, and why.")


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """How a file is read."""

    name: str
    format: str | None
    speaker: str | None
    zone: str | None
    history: str | None
    keep_going: bool


def _reading(
    name: Annotated[
        str, Query(description="The file's name, which names its conversations in some formats.")
    ] = "upload",
    format: Annotated[
        str | None,
        Query(
            description="Such as `chatgpt`; default: detected.",
            json_schema_extra={"enum": [*FORMATS, None]},
        ),
    ] = None,
    speaker: Annotated[str | None, Query(description="The speaker who is the user.")] = None,
    zone: Annotated[str | None, Query(description="Time zone of dates without one.")] = None,
    history: Annotated[
        str | None, Query(description="Name of the history to import, if the file has several.")
    ] = None,
    keep_going: Annotated[
        Flag, Query(description="Whether to leave out what can't be read.")
    ] = False,
) -> _Reading:
    if format is not None and format not in FORMATS:
        raise Refused(422, "bad_input", f"there is no format {format!r}; see docs/formats.md")
    return _Reading(
        name=_file_name(name),
        format=format,
        speaker=speaker,
        zone=zone,
        history=history,
        keep_going=keep_going,
    )


def _file_name(name: str) -> str:
    """Return a name that a file of this machine can have: the end of the given one, if any."""
    last = PurePosixPath(name.replace("\\", "/")).name
    plain = re.sub(r"[\0-\x1f\x7f\ud800-\udfff]", "", last).encode()[-MAX_NAME:]
    storable = plain.decode("utf-8", "ignore").strip()
    return storable if storable.strip(".") else "upload"


Reading = Annotated[_Reading, Depends(_reading)]


class _Lines(StreamingResponse):
    media_type = LINES


@router.get("/export", response_class=_Lines, responses=responses())
async def export(memory: Readable) -> StreamingResponse:
    """Return all records of a user as JSON lines, which end with their count and digest."""
    return _Lines(_lines(memory.export()))


@router.post("/import", responses=write_responses())
async def import_history(
    request: Request,
    state: State,
    principal: Administrator,
    user: UserName,
    reading: Reading,
    agent: AgentName = None,
    partial: Annotated[
        Flag, Query(description="Whether to accept an export that was cut off.")
    ] = False,
    remember: Annotated[
        Flag, Query(description="Whether to remember now; false leaves it to an operation.")
    ] = True,
    idempotency_key: IdempotencyKey = None,
) -> Imported:
    """Restore an export of the user, or log the conversations of another service's export.

    The body is the file. Importing it again, or a later one, adds only what is new. Conversations
    are remembered as the service is set; an export has its memories.
    """
    memory = open_memory(request, principal, user, agent)
    async with _received(request, state, reading) as (path, digest):
        await claim_request(
            request, principal, idempotency_key, digest, memory.scope, repeatable=True
        )
        if reading.format is None and await anyio.to_thread.run_sync(is_store_export, path):
            if state.options.client.redact:
                raise BadInput(
                    "an export is restored as it is, but this service redacts what it stores; "
                    "restore it with `theanine import --redact ''`"
                )
            return await _restore(state, memory.scope, path, partial=partial)
        imported = await _log(memory, path, reading)
        if remember and state.options.client.remembering == "now":
            await memory.remember()
        return imported


@router.post("/import/preview", responses=responses(413, 507))
async def preview_import(
    request: Request,
    state: State,
    principal: Administrator,
    user: UserName,
    reading: Reading,
    agent: AgentName = None,
) -> ImportPreview:
    """Return what an import of the body would bring in; nothing is stored.

    What can't be read is listed, and left out of an import with `keep_going`.
    """
    memory = open_memory(request, principal, user, agent)
    keys = {session.key for session in await memory.sessions()}
    reading = replace(reading, keep_going=True)
    async with _received(request, state, reading) as (path, _):
        if reading.format is None and await anyio.to_thread.run_sync(is_store_export, path):
            return ImportPreview(format="theanine")

        def read() -> ImportPreview:
            found = _read(path, memory.scope.user, reading)
            return ImportPreview(
                format=found.format,
                histories=[preview_history(history, keys) for history in found.histories],
                one_account=is_one_account(found.histories),
                notes=dict(found.notes),
                rejected=list(found.rejected),
            )

        return await anyio.to_thread.run_sync(read)


@asynccontextmanager
async def _received(
    request: Request, state: ServerState, reading: _Reading
) -> AsyncGenerator[tuple[Path, bytes]]:
    """Yield a file with the body of a request, and its digest; errors don't name its folder.

    Answers 507 if there is no space for it, or for what reading it keeps beside it.
    """
    try:
        with temporary_folder("import") as folder:
            path = folder / reading.name
            digest = await _receive(request, path, state.options.max_import)
            try:
                yield path, digest
            except BadInput as error:  # it names a file of this machine
                raise BadInput(str(error).replace(f"{folder}/", "")) from None
    except OSError as error:
        if error.errno not in _NO_SPACE:
            raise
        raise StoreFull(
            f"there is no space for the file in {gettempdir()} ({error.strerror}); nothing was "
            "stored: free some space there, then repeat"
        ) from error


async def _receive(request: Request, path: Path, most: int) -> bytes:
    """Write the body of a request to a file; return its digest. Answers 413 above a size."""
    size, digest = 0, blake2b()
    async with await anyio.open_file(path, "wb") as file:
        async for chunk in request.stream():
            size += len(chunk)
            if size > most:
                raise Refused(413, "body_too_large", f"the file is larger than {most:,} bytes")
            digest.update(chunk)
            await file.write(chunk)
    return digest.digest()


@router.post("/histories", status_code=201, responses=write_responses())
async def log_history(memory: Repeatable, history: JsonBody[History]) -> ImportReport:
    """Log a history's sessions, each completely or not at all."""
    return await memory.log(history)


async def _restore(state: ServerState, scope: Scope, path: Path, *, partial: bool) -> Imported:
    records = _check_owner(read_export(path, partial=partial), scope)
    restored = await state.store.restore(records, partial=partial)
    notes: dict[str, int] = {}
    if restored.uncounted:
        notes["exports of an earlier version, which may be parts"] = 1
    if restored.forgotten:
        notes["users who were forgotten since the export"] = restored.forgotten
    return Imported(format="theanine", records_new=restored.new, notes=notes)


async def _log(memory: AsyncUserMemory, path: Path, reading: _Reading) -> Imported:
    found = await anyio.to_thread.run_sync(_read, path, memory.scope.user, reading)
    histories = [each for each in found.histories if reading.history in (None, each.name)]
    names = ", ".join(repr(each.name) for each in found.histories[:5])
    if not histories:
        raise BadInput(f"{path} has no history {reading.history!r}, but {names}")
    if len(histories) > 1 and not is_one_account(histories):
        raise BadInput(f"{path} holds {len(histories)} people's histories: name one, as of {names}")
    reports = [await memory.log(history) for history in histories]
    return Imported(
        format=found.format,
        sessions_new=sum(report.sessions_new for report in reports),
        turns_new=sum(report.turns_new for report in reports),
        memories_imported=sum(report.memories_imported for report in reports),
        forgotten=sum(report.forgotten for report in reports),
        notes=dict(found.notes),
    )


def _read(path: Path, user: str, reading: _Reading) -> ImportedHistories:
    return read_histories(
        path,
        format=reading.format,
        name=user,
        speaker=reading.speaker,
        zone=None if reading.zone is None else load_zone(reading.zone),
        keep_going=reading.keep_going,
    )


def _check_owner(records: Iterator[Mapping[str, Any]], scope: Scope) -> Iterator[Mapping[str, Any]]:
    """Yield the records of an export of one user. Raises BadInput for anything of others."""
    owner = {"user": scope.user, "agent": scope.agent, "tenant": scope.tenant}
    for record in records:
        kind = record.get("type")
        if kind == "erased_scope" or (
            kind == "theanine" and {"retention", "tenants"} & record.keys()
        ):
            raise BadInput("the export is of a whole store; restore it with `theanine import`")
        if isinstance(named := record.get("scope"), Mapping):
            found: dict[str, object] = {"agent": "default", "tenant": "default", **named}
            if found != owner:
                raise BadInput(
                    f"the export is of the user {found.get('user')!r}, not of {scope.user!r} of "
                    "the same agent and tenant"
                )
        yield record


async def _lines(records: AsyncIterator[Mapping[str, Any]]) -> AsyncIterator[str]:
    """Yield records as lines, many at a time."""
    lines, size = list[str](), 0
    async for record in records:
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
        size += len(lines[-1])
        if size > _CHUNK:
            yield "".join(lines)
            lines, size = [], 0
    yield "".join(lines)
