"""A full disk: 507, nothing stored, and the same request is carried out once there is space."""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
import sqlalchemy as sa
from sqlalchemy import event

from server.conftest import running
from server.processes import serving
from support.chat_exports import chatgpt_conversation, save_zip
from support.postgres import MISSING, database_url
from theanine.errors import StoreFull
from theanine.store import open_store
from theanine.store.sql.store import SqlStore
from theanine.store.sqlite import SqliteStore
from theanine_server import ServerOptions

LARGE = {"content": "tea " * 100_000}
HEAR = "/v1/users/ana/threads/t/hear"


class Small:
    """Has SQLite find no page more than a number when a connection is used."""

    def __init__(self) -> None:
        self.pages = 1_000_000

    def limit(self, connection: Any, *_: object) -> None:
        """Limit a connection."""
        connection.execute(f"PRAGMA max_page_count={self.pages}")


def test_what_finds_no_space_is_not_stored(options: ServerOptions, tmp_path: Path) -> None:
    store, disk = SqliteStore(tmp_path / "memory.db"), Small()
    client = replace(options.client, location=store)
    with (
        running(replace(options, client=client, dev=True)) as service,
        service.client("") as http,
    ):
        event.listen(store.engine, "checkout", disk.limit)
        assert http.post(HEAR, json={"content": "I like tea."}).status_code == 201
        before = http.get("/v1/users/ana/export").text
        disk.pages = 1
        once = {"Idempotency-Key": "k1"}
        said = {"messages": [{"role": "user", **LARGE}]}
        for path, body in ((HEAR, LARGE), ("/v1/users/bo/messages", said)):
            for headers in ({}, once):
                refused = http.post(path, json=body, headers=headers)
                assert (refused.status_code, refused.json()["code"]) == (507, "store_full")
                assert "nothing was stored" in refused.json()["detail"]
                assert "free some space" in refused.json()["detail"]
                assert refused.headers["Content-Type"] == "application/problem+json"
                assert "Retry-After" not in refused.headers
        assert http.get("/v1/users/ana/export").text == before
        assert http.get("/v1/users/bo/turns").json()["items"] == []
        disk.pages = 1_000_000
        stored = [http.post(HEAR, json=LARGE, headers=once) for _ in range(2)]
        assert [answer.status_code for answer in stored] == [201, 201]
        assert len(http.get("/v1/users/ana/turns").json()["items"]) == 2


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits another process")
def test_an_import_that_finds_no_space_is_not_stored(tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    line = json.dumps({"speaker": "ana", "text": "tea " * 1_000, "at": "2024-05-01T12:00:00Z"})
    content = "\n".join([line] * 2_000)
    query, once = {"format": "jsonl", "name": "tea.jsonl"}, {"Idempotency-Key": "k1"}
    unlimited = resource.RLIM_INFINITY
    with (
        serving(tmp_path / "memory.db", "--dev", environment={"TMPDIR": str(folder)}) as service,
        service.client() as http,
    ):
        pid = service.process.pid
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (len(content) // 2, unlimited))
        for path in ("import", "import/preview"):
            refused = http.post(
                f"/v1/users/ana/{path}", content=content, params=query, headers=once
            )
            assert (refused.status_code, refused.json()["code"]) == (507, "store_full")
            assert "nothing was stored" in refused.json()["detail"]
            assert "free some space" in refused.json()["detail"]
        # An archive that is small, and what is read from it is not.
        texts = [f"{number} " + "tea " * 1_000 for number in range(3_000)]
        talk = chatgpt_conversation("c-1", texts)
        archive = save_zip(tmp_path / "chatgpt.zip", {"conversations.json": [talk]}).read_bytes()
        for path in ("import", "import/preview"):
            refused = http.post(f"/v1/users/ana/{path}", content=archive)
            assert (refused.status_code, refused.json()["code"]) == (507, "store_full")
        assert list(folder.iterdir()) == []
        assert http.get("/v1/users/ana/turns").json()["items"] == []
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
        done = http.post("/v1/users/ana/import", content=content, params=query, headers=once)
        assert done.json()["turns_new"] == 2_000


def _fill(db: sa.Connection) -> None:
    db.exec_driver_sql("CREATE TABLE half (n integer)")
    db.exec_driver_sql(
        "DO $$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END $$"
    )


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_a_full_server_is_told_by_its_sqlstate(tmp_path: Path) -> None:
    async def check() -> None:
        store = open_store(database_url(tmp_path))
        assert isinstance(store, SqlStore)
        await store.open()
        try:
            for _ in range(2):  # the table was not kept
                with pytest.raises(StoreFull, match="nothing was stored"):
                    await store.write(_fill)
        finally:
            await store.close()

    anyio.run(check)
