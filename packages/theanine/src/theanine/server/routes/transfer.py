"""Export and import of one user, as streams."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import anyio
import anyio.to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from theanine.client import AsyncUserMemory, ImportReport
from theanine.clock import load_zone
from theanine.errors import BadInput
from theanine.importers import FORMATS, is_store_export, read_export, read_histories
from theanine.server.access import (
    Administrator,
    AgentName,
    Readable,
    UserName,
    Writable,
    open_memory,
)
from theanine.server.problems import Refused, responses
from theanine.server.state import ServerState
from theanine.types import History, Scope

router = APIRouter(prefix="/v1/users/{user}", tags=["transfer"])

LINES = "application/x-ndjson"
_CHUNK = 1 << 20


class Imported(BaseModel):
    """What an import brought in; all else was there already, or was forgotten before."""

    format: str
    sessions_new: int = 0
    turns_new: int = 0
    memories_imported: int = 0
    records_new: int = 0
    forgotten: int = 0
    notes: dict[str, int] = {}


class _Lines(StreamingResponse):
    media_type = LINES


@router.get("/export", response_class=_Lines, responses=responses())
async def export(memory: Readable) -> StreamingResponse:
    """Return all records of a user as JSON lines, which end with their count and digest."""
    return _Lines(_lines(memory.export()))


@router.post("/import", responses=responses(413))
async def import_(
    request: Request,
    principal: Administrator,
    user: UserName,
    agent: AgentName = None,
    format: Annotated[
        str | None, Query(description="Such as `chatgpt`; default: found out.")
    ] = None,
    speaker: Annotated[str | None, Query(description="The speaker who is the user.")] = None,
    zone: Annotated[str | None, Query(description="Time zone of dates without one.")] = None,
    partial: Annotated[bool, Query(description="Whether a cut-off export will do.")] = False,
) -> Imported:
    """Restore an export of the user, or log the conversations of another service's export.

    The body is the file. Importing it again, or a later one, adds only what is new. Conversations
    are remembered as the service is set; an export has its memories.
    """
    memory = open_memory(request, principal, user, agent)
    if format is not None and format not in FORMATS:
        raise Refused(422, "bad_input", f"there is no format {format!r}; see docs/formats.md")
    state: ServerState = request.app.state.server
    with TemporaryDirectory(prefix="theanine-import-") as folder:
        path = Path(folder) / "upload"
        await _receive(request, path, state.options.max_import)
        try:
            if format is None and await anyio.to_thread.run_sync(is_store_export, path):
                return await _restore(state, memory.scope, path, partial=partial)
            imported = await _log(memory, path, format, speaker, zone)
            if state.options.client.remembering != "later":
                memory.start_remembering()
            return imported
        except BadInput as error:  # it names a file of this machine
            raise BadInput(str(error).replace(f"{folder}/", "")) from None


async def _receive(request: Request, path: Path, most: int) -> None:
    """Write the body of a request to a file. Answers 413 above a size."""
    size = 0
    async with await anyio.open_file(path, "wb") as file:
        async for chunk in request.stream():
            size += len(chunk)
            if size > most:
                raise Refused(413, "body_too_large", f"the file is larger than {most:,} bytes")
            await file.write(chunk)


@router.post("/histories", status_code=201, responses=responses(409))
async def log_history(memory: Writable, history: History) -> ImportReport:
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


async def _log(
    memory: AsyncUserMemory, path: Path, format: str | None, speaker: str | None, zone: str | None
) -> Imported:
    def read() -> Any:
        timezone = None if zone is None else load_zone(zone)
        return read_histories(
            path, format=format, name=memory.scope.user, speaker=speaker, zone=timezone
        )

    read_file = await anyio.to_thread.run_sync(read)
    reports = [await memory.log(history) for history in read_file.histories]
    return Imported(
        format=read_file.format,
        sessions_new=sum(report.sessions_new for report in reports),
        turns_new=sum(report.turns_new for report in reports),
        memories_imported=sum(report.memories_imported for report in reports),
        forgotten=sum(report.forgotten for report in reports),
        notes=dict(read_file.notes),
    )


def _check_owner(records: Iterator[Mapping[str, Any]], scope: Scope) -> Iterator[Mapping[str, Any]]:
    """Yield the records of an export of one user. Raises BadInput for anything of others."""
    owner = {"user": scope.user, "agent": scope.agent, "tenant": scope.tenant}
    for record in records:
        kind = record.get("type")
        if kind == "erased_scope" or (kind == "theanine" and "retention" in record):
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
