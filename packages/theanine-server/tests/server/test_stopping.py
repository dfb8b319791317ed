"""SIGTERM and too much at once, with the service as a process of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

import httpx2
import pytest

from server.processes import START_LIMIT, ServeProcess, serving, wait_until_ready
from server.providers import Answer, Provider
from support.debian_postgres import NO_PROGRAMS, Server
from support.postgres import MISSING, database_url
from support.running import Terminal
from theanine.testing.server import ScriptedServer

pytestmark = [pytest.mark.server, pytest.mark.slow]

SAID = {"model": "m", "messages": [{"role": "user", "content": "Good morning."}]}


class Held:
    """A provider whose answers wait until they are released."""

    def __init__(self) -> None:
        self.asked, self.released = Event(), Event()

    def answer(self, request: dict[str, Any]) -> Answer:
        self.asked.set()
        assert self.released.wait(START_LIMIT)
        return Answer("Noted.")


@pytest.mark.parametrize("processes", ["1", "2"])
def test_at_sigterm_requests_in_progress_end(tmp_path: Path, processes: str) -> None:
    held = Held()
    with (
        Provider(held.answer) as provider,
        serving(
            tmp_path / "memory.db",
            *("--dev", "--openai-url", provider.url, "--processes", processes, "--drain", "2"),
        ) as service,
        service.client() as http,
        ThreadPoolExecutor(1) as elsewhere,
    ):
        headers = {"Theanine-User": "ana", "Theanine-Thread": "t"}
        path = f"{service.url}/v1/chat/completions"
        answer = elsewhere.submit(
            lambda: httpx2.post(path, json=SAID, headers=headers, timeout=START_LIMIT)
        )
        assert held.asked.wait(START_LIMIT)
        service.signal(signal.SIGTERM)
        if processes == "1":
            wait_until_not_ready(http)
            # Who has not heard yet is still served.
            assert http.get("/v1/users").status_code == 200
        wait_until_closed(service)
        held.released.set()
        assert answer.result(START_LIMIT).status_code == 200, service.errors
        assert service.wait() in (0, -signal.SIGTERM)
    with serving(tmp_path / "memory.db", "--dev") as again, again.client() as http:
        turns = http.get("/v1/users/ana/turns").json()["items"]
        assert [turn["text"] for turn in turns] == ["Good morning.", "Noted."]


def wait_until_closed(service: ServeProcess) -> None:
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline:
        try:
            httpx2.get(f"{service.url}/health", timeout=START_LIMIT)
        except httpx2.TransportError:
            return
        time.sleep(0.05)
    raise AssertionError("the process goes on taking connections")


def wait_until_not_ready(http: httpx2.Client) -> None:
    deadline = time.monotonic() + START_LIMIT
    while (answer := http.get("/ready")).status_code == 200:
        assert time.monotonic() < deadline, "the process goes on being ready"
    assert (answer.status_code, answer.json()["code"]) == (503, "stopping")
    assert answer.headers["Retry-After"] == "1"


def test_an_operation_goes_on_in_another_process(tmp_path: Path) -> None:
    with ScriptedServer() as model:
        arguments = ("--dev", "--remembering", "later", "--model", "openai:m")
        model_of = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "k"}
        with (
            serving(tmp_path / "memory.db", *arguments, environment=model_of) as service,
            service.client() as http,
        ):
            said = {"messages": [{"role": "user", "content": "I live in Lisbon, by the river."}]}
            http.post("/v1/users/ana/messages", json=said)
            model.latency = START_LIMIT
            url = http.post("/v1/operations", json={"kind": "remember"}).headers["Location"]
            wait_for_state(http, url, "running")
            service.signal(signal.SIGTERM)
            assert service.wait() in (0, -signal.SIGTERM)
        model.latency = 0
        with (
            serving(tmp_path / "memory.db", *arguments, environment=model_of) as again,
            again.client() as http,
        ):
            done = wait_for_state(http, url, "succeeded")
            assert (done["tries"], done["result"]["sessions"]) == (1, 1)
            assert http.get("/v1/users/ana/memories").json()["items"]


def wait_for_state(http: httpx2.Client, url: str, state: str) -> dict[str, Any]:
    deadline = time.monotonic() + START_LIMIT
    while (operation := http.get(url).json())["state"] != state:
        assert time.monotonic() < deadline, operation
        time.sleep(0.02)
    return operation


def test_what_ends_is_remembered_in_the_background(tmp_path: Path) -> None:
    with serving(tmp_path / "memory.db", "--dev") as service, service.client() as http:
        thread = "/v1/users/ana/threads/t"
        http.post(f"{thread}/hear", json={"content": "I live in Lisbon."})
        assert http.post(f"{thread}/end", json={}).json() == []
        deadline = time.monotonic() + START_LIMIT
        while not http.get("/v1/users/ana/memories").json()["items"]:
            assert time.monotonic() < deadline, "nothing was remembered"
            time.sleep(0.05)


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_above_what_it_can_serve_it_refuses_and_queues_nothing(tmp_path: Path, store: str) -> None:
    if store == "postgres" and MISSING:
        pytest.skip(MISSING)
    location = database_url(tmp_path) if store == "postgres" else tmp_path / "memory.db"
    with serving(location, "--dev") as service:
        with service.client() as http:
            for number in range(20):
                said = {"content": f"I saw {number} cormorants.", "id": str(number)}
                http.post("/v1/users/ana/threads/t/hear", json=said)
        answers = asyncio.run(flood(service, 300))
        statuses = Counter(answer.status_code for answer in answers)
        assert statuses[200] and set(statuses) <= {200, 429, 503}, statuses
        assert all(answer.headers["Retry-After"] for answer in answers if answer.status_code != 200)
        with service.client() as http:  # and is as good as new
            assert http.post("/v1/users/ana/recall", json=QUESTION).status_code == 200


QUESTION = {"dialogue": "How many cormorants did I see?"}


async def flood(service: ServeProcess, count: int) -> list[httpx2.Response]:
    """Send so many recalls at once, each over a connection of its own."""
    limits = httpx2.Limits(max_connections=count)
    async with httpx2.AsyncClient(base_url=service.url, limits=limits, timeout=START_LIMIT) as http:
        return await asyncio.gather(
            *(http.post("/v1/users/ana/recall", json=QUESTION) for _ in range(count))
        )


def test_a_process_that_is_killed_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    acknowledged: list[str] = []
    for round_ in range(3):
        with serving(store, "--dev", wait=False) as service:
            wait_until_ready(service)
            with service.client() as http:
                for number in range(10):
                    text = f"Message {round_}.{number}."
                    answer = http.post(
                        "/v1/users/ana/threads/t/hear", json={"content": text, "id": text}
                    )
                    assert answer.status_code == 201
                    acknowledged.append(text)
            service.signal(signal.SIGKILL)
            service.wait()
    with serving(store, "--dev") as service, service.client() as http:
        turns = http.get("/v1/users/ana/turns", params={"limit": 100}).json()["items"]
        assert [turn["text"] for turn in turns] == acknowledged


def test_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "memory.db", "--dev", "--processes", "2") as service,
        service.client() as http,
    ):
        http.post("/v1/users/ana/threads/t/hear", json={"content": "Hello."})
        with http.stream("GET", "/v1/users/ana/events"):  # it would never end
            service.process.kill()
            service.wait_for_all()


def test_processes_end_that_have_not_begun_to_serve(tmp_path: Path) -> None:
    with serving(tmp_path / "memory.db", "--dev", "--processes", "2", wait=False) as service:
        deadline = time.monotonic() + START_LIMIT
        while not any("Started parent process" in line for line in service.errors):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        service.process.kill()
        service.wait_for_all()


@pytest.mark.slow
def test_a_slow_start_is_not_taken_for_a_process_that_hangs(tmp_path: Path) -> None:
    slow = "import sys, time\nif 'spawn_main' in str(sys.orig_argv):\n    time.sleep(7)\n"
    (tmp_path / "sitecustomize.py").write_text(slow)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    options = ("--dev", "--processes", "2")
    with serving(tmp_path / "memory.db", *options, environment={"PYTHONPATH": path}) as service:
        assert not [line for line in service.errors if "died" in line or "ended" in line]


def children_of(service: ServeProcess) -> list[int]:
    """Return the processes that serve."""
    pid = service.process.pid
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
    named = {int(child): Path(f"/proc/{child}/cmdline").read_bytes() for child in listed}
    return [child for child, command in named.items() if b"spawn_main" in command]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="this system has no /proc")
def test_a_process_is_replaced_while_another_one_hangs(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "memory.db", "--dev", "--processes", "2") as service,
        service.client() as http,
    ):
        deadline = time.monotonic() + START_LIMIT
        hanging, *killed = children_of(service)
        os.kill(hanging, signal.SIGSTOP)
        try:
            for _ in range(2):
                for child in killed:
                    os.kill(child, signal.SIGKILL)
                while not (killed := [*{*children_of(service)} - {hanging, *killed}]):
                    assert time.monotonic() < deadline, "the process is not replaced"
                    time.sleep(0.1)
                while True:
                    with suppress(httpx2.TransportError):
                        assert http.get("/health").status_code == 200
                        break
                    assert time.monotonic() < deadline, "nobody answers"
        finally:
            os.kill(hanging, signal.SIGCONT)


@pytest.mark.skipif(bool(NO_PROGRAMS), reason=NO_PROGRAMS)
def test_without_its_database_it_refuses_and_the_proxy_goes_on(tmp_path: Path) -> None:
    server = Server()
    try:
        store = server.create_database("memory")
        with Provider() as provider, serving(store, "--openai-url", provider.url) as service:
            token = Terminal(tmp_path).bare("keys", "create", "--name", "app", "--store", store)
            with service.client(token.out.strip()) as http:
                headers = {"Theanine-User": "ana", "Theanine-Thread": "t"}
                thread = "/v1/users/ana/threads/t"
                assert http.post(f"{thread}/hear", json={"content": "Hello."}).status_code == 201
                server.kill()
                refused = http.post(f"{thread}/hear", json={"content": "Is it down?"})
                assert (refused.status_code, refused.json()["code"]) == (503, "store_unavailable")
                assert refused.headers["Retry-After"] == "1"
                assert http.get("/ready").status_code == 503
                assert http.get("/health").status_code == 200
                going_on = http.post("/v1/chat/completions", json=SAID, headers=headers)
                assert going_on.status_code == 200
                assert going_on.headers["Theanine-Memory"] in ("late", "failed")
                server.start()
                turns = http.get("/v1/users/ana/turns").json()["items"]
                assert "Is it down?" not in [turn["text"] for turn in turns]
                deadline = time.monotonic() + START_LIMIT
                # What is recalled with less time is repeated for the same turn.
                while (memory := going_on.headers["Theanine-Memory"]) not in ("on", "partial"):
                    assert time.monotonic() < deadline, f"memory does not come back: {memory}"
                    going_on = http.post("/v1/chat/completions", json=SAID, headers=headers)
    finally:
        server.remove()
