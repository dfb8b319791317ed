"""Changes of a user as server-sent events: none is missed, by whomever and whenever it is made."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.conftest import START_LIMIT, Service, running
from support.fuzzing import cases
from support.running import START
from theanine.store.sql.positions import Position
from theanine_server import ServerOptions

PATH = "/v1/users/ana/events"


@dataclass
class Reader:
    """Reads the events of a stream."""

    lines: Iterator[str]
    last: str = ""
    fields: dict[str, str] = field(default_factory=dict[str, str])

    def next(self) -> tuple[str, Any]:
        """Return the kind and the data of the next event."""
        event: dict[str, str] = {}
        for line in self.lines:
            if not line and event:
                self.last = event["id"]
                return event["event"], json.loads(event["data"])
            name, _, value = line.partition(": ")
            if name:
                event[name] = value
        raise AssertionError("the stream has ended")


@contextmanager
def following(http: httpx2.Client, last: str | None = None) -> Generator[Reader]:
    headers = {} if last is None else {"Last-Event-ID": last}
    with http.stream("GET", PATH, headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        yield Reader(answer.iter_lines())


def hear(http: httpx2.Client, text: str, thread: str = "t") -> dict[str, Any]:
    answer = http.post(f"/v1/users/ana/threads/{thread}/hear", json={"content": text})
    assert answer.status_code == 201
    return answer.json()


def test_changes_come_as_they_are_made(service: Service) -> None:
    with service.client() as http, following(http) as stream:
        assert stream.next() == ("ready", {})
        hear(http, "I live in Lisbon.")
        kind, change = stream.next()
        assert kind == "change" and change["turns"] == [1, 1] and not change["forgotten"]
        http.post("/v1/users/bo/threads/t/hear", json={"content": "I like tea."})
        http.post("/v1/users/ana/threads/t/end", json={"remember": True})
        while "memories" not in change:
            kind, change = stream.next()
        assert change["memories"] == [1, 1]
        http.put("/v1/users/ana/memories/1/pin")
        assert stream.next() == ("change", {"marks": [1, 1], "forgotten": False})
        http.patch("/v1/users/ana/settings", json={"retention": "P900D"})
        assert stream.next() == ("change", {"forgotten": False})
        forgetting = http.post("/v1/users/ana/forgetting", json={"memory": 1}).json()["id"]
        assert stream.next() == ("change", {"forgotten": True})
        http.post(f"/v1/users/ana/forgetting/{forgetting}/undo")
        assert stream.next() == ("change", {"forgotten": True})
        http.delete("/v1/users/ana/turns/1")
        assert stream.next()[1]["forgotten"]


def test_a_reader_goes_on_where_it_was(options: ServerOptions) -> None:
    """After a pause, and at another process."""
    with running(options) as service:
        token = service.key()
        with service.client(token) as http, following(http) as stream:
            stream.next()
            hear(http, "I live in Lisbon.")
            stream.next()
            last = stream.last
            hear(http, "I like tea.")
    with running(options) as service, service.client(token) as http:
        hear(http, "And coffee.")
        with following(http, last) as stream:
            assert stream.next() == ("ready", {}) and stream.last == last
            assert stream.next()[1]["turns"] == [2, 3]
            newest = stream.last
        with following(http, newest) as stream:
            stream.next()
            assert stream.last == newest
        http.delete("/v1/users/ana")
        hear(http, "Hello again.")
        with following(http, newest) as stream:
            stream.next()
            change = stream.next()[1]
            assert change["forgotten"] and change["turns"] == [1, 1]


@pytest.mark.parametrize("last", ["nonsense", "1.2.3", "9" * 5_000, "1.1.1.1.1.1.-1"])
def test_an_unknown_event_means_that_anything_may_have_changed(service: Service, last: str) -> None:
    with service.client() as http, following(http, last) as stream:
        assert stream.next() == ("change", {"forgotten": True})
        assert stream.next()[0] == "ready"


@given(
    earlier=st.builds(Position, *[st.integers(0, 9)] * 8),
    later=st.builds(Position, *[st.integers(0, 9)] * 8),
)
@cases(200)
def test_every_row_that_came_is_named(earlier: Position, later: Position) -> None:
    assert Position.parse(str(later)) == later
    change = later.since(earlier)
    if later.scope == earlier.scope:
        for name in ("sessions", "turns", "memories", "marks"):
            before, now, named = (getattr(x, name) for x in (earlier, later, change))
            assert named == ((before + 1, now) if now > before else None)
        same = (later.epoch, later.hidden) == (earlier.epoch, earlier.hidden)
        assert change.forgotten == bool(later.scope and not same)
    else:
        assert change.turns == ((1, later.turns) if later.turns else None)
        assert change.forgotten == bool(earlier.scope)


def test_a_stream_ends_with_its_key(service: Service) -> None:
    with service.client(rights=["read", "administer"]) as http, service.client() as admin:
        number = http.get("/v1/whoami").json()["key"]
        with following(http) as stream:
            stream.next()
            with service.client(rights=["administer"]) as admin:
                assert admin.delete(f"/v1/keys/{number}").status_code == 200
            with pytest.raises(AssertionError, match="has ended"):
                stream.next()


def test_streams_have_a_number_of_their_own(options: ServerOptions) -> None:
    bounded = replace(options, max_streams=1, max_requests=1)
    with running(bounded) as service, service.client() as http, following(http) as stream:
        stream.next()
        assert http.get(PATH).status_code == 429
        assert http.get("/v1/users").status_code == 200


def test_a_process_that_is_stopped_ends_its_streams(tmp_path: Path) -> None:
    command = [sys.executable, "-c", START, "serve", "--dev", "--port", "0"]
    with subprocess.Popen(
        [*command, "--store", str(tmp_path / "memory.db")], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            found = (re.search(r"http://[\d.]+:\d+", line) for line in process.stderr)
            url = next(match[0] for match in found if match)
            with (
                httpx2.Client(base_url=url, timeout=START_LIMIT) as http,
                following(http) as stream,
            ):
                assert stream.next()[0] == "ready"
                process.send_signal(signal.SIGTERM)
                with pytest.raises(AssertionError, match="has ended"):
                    stream.next()
            assert wait_until(lambda: process.poll() is not None)
            assert "Traceback" not in process.stderr.read()
        finally:
            process.kill()


def wait_until(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + START_LIMIT
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()
