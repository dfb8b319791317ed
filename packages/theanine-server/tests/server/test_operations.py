"""Operations over HTTP: started, followed, cancelled, retried, and taken over from the dead."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from threading import Event
from typing import Any

import anyio
import httpx2
import pytest
import sqlalchemy as sa

from server.conftest import START_LIMIT, Service, running, write_to
from theanine.clock import system_clock
from theanine.llm.base import DEFAULT_REQUEST, Message, RawReply, RequestOptions
from theanine.store.sql import schema as t
from theanine.testing import ScriptedModel
from theanine_server import ServerOptions, operation_runner, operations

ADMINISTER = ("read", "write", "reply", "administer")


@pytest.fixture
def options(options: ServerOptions) -> ServerOptions:
    return replace(options, client=replace(options.client, remembering="later"))


@pytest.fixture
def http(service: Service) -> Iterator[httpx2.Client]:
    with service.client(rights=ADMINISTER) as client:
        for user in ("ana", "bo"):
            said = {"messages": [{"role": "user", "content": f"I am {user}, and I like tea."}]}
            client.post(f"/v1/users/{user}/messages", json=said)
        yield client


def wait_for(http: httpx2.Client, url: str) -> dict[str, Any]:
    deadline = time.monotonic() + START_LIMIT
    while (operation := http.get(url).json())["state"] in operations.UNFINISHED:
        assert time.monotonic() < deadline, operation
        time.sleep(0.05)
    return operation


def test_all_users_are_remembered(http: httpx2.Client) -> None:
    assert len(http.get("/v1/users/ana/pending").json()) == 1
    started = http.post("/v1/operations", json={"kind": "remember"})
    assert started.status_code == 202
    ended = wait_for(http, started.headers["Location"])
    assert (ended["state"], ended["done"], ended["result"]["sessions"]) == ("succeeded", 2, 2)
    assert http.get("/v1/users/ana/pending").json() == []
    assert http.get("/v1/users/bo/memories").json()["items"]
    again = http.post("/v1/operations", json={"kind": "rebuild", "user": "bo", "again": True})
    assert wait_for(http, again.headers["Location"])["result"]["sessions"] == 1
    listed = http.get("/v1/operations", params={"limit": 1}).json()
    assert [each["kind"] for each in listed["items"]] == ["rebuild"]
    following = http.get("/v1/operations", params={"cursor": listed["next"]}).json()
    assert [each["kind"] for each in following["items"]] == ["remember"]


def test_what_waits_is_cancelled_and_retried(http: httpx2.Client, service: Service) -> None:
    # One that no process of the service takes, because another seems to run it.
    held = anyio.run(_hold, service.location)
    url = f"/v1/operations/{held.operation.id}"
    assert http.post(f"{url}/retry").status_code == 409
    assert http.post(f"{url}/cancel").json()["state"] == "running"
    assert not anyio.run(
        write_to, service.location, partial(operations.extend_lease, held=held, done=0)
    )
    anyio.run(_end, service.location, held, "cancelled")
    assert http.get(url).json()["state"] == "cancelled"
    assert http.post(f"{url}/retry").status_code == 202
    assert wait_for(http, url)["state"] == "succeeded"
    assert http.post("/v1/operations/nothing/cancel").status_code == 404


def test_the_work_of_a_dead_process_is_taken_over(http: httpx2.Client, service: Service) -> None:
    held = anyio.run(_hold, service.location)
    anyio.run(write_to, service.location, _expire)
    url = f"/v1/operations/{held.operation.id}"
    ended = wait_for(http, url)
    assert (ended["state"], ended["tries"]) == ("succeeded", 2)
    anyio.run(_end, service.location, held, "failed")  # it was not dead, only late
    assert http.get(url).json() == ended


def test_an_operation_is_its_tenants_its_users_and_its_agents(
    http: httpx2.Client, service: Service
) -> None:
    url = http.post("/v1/operations", json={"kind": "expire", "user": "ana"}).headers["Location"]
    with ExitStack() as stack:
        for bounds in ({"tenant": "other"}, {"user": "bo"}, {"user": "ana", "agent": "concierge"}):
            other = stack.enter_context(service.client(rights=ADMINISTER, **bounds))
            nothing = other.post("/v1/operations/nothing/cancel")
            assert other.get(url).status_code == other.post(f"{url}/cancel").status_code == 404
            assert nothing.status_code == 404
            assert other.get("/v1/operations").json()["items"] == []
        bo = stack.enter_context(service.client(rights=ADMINISTER, user="bo"))
        refused = bo.post("/v1/operations", json={"kind": "expire", "user": "ana"})
        assert refused.status_code == 403


async def _hold(location: str) -> operations.HeldOperation:
    """Create an operation and take it, in one transaction, as a process of the service would."""

    def hold(db: sa.Connection) -> operations.HeldOperation:
        at = system_clock()
        operations.create_operation(db, "default", "remember", None, None, {}, at)
        taken = operations.take_operation(db, at)
        assert taken is not None
        return taken

    return await write_to(location, hold)


async def _end(location: str, held: operations.HeldOperation, state: operations.State) -> None:
    await write_to(
        location,
        partial(
            operations.end_operation, held=held, state=state, at=system_clock(), done=0, result={}
        ),
    )


def _expire(db: sa.Connection) -> None:
    db.execute(t.operation.update().values(until=0))


class HungModel(ScriptedModel):
    """Never answers what holds a word, until it is told to."""

    def __init__(self, word: str) -> None:
        super().__init__('{"statements": []}')
        self.word, self.asked, self.released = word, Event(), Event()

    async def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        options: RequestOptions = DEFAULT_REQUEST,
    ) -> RawReply:
        """Wait before such an answer."""
        if any(self.word in message.text for message in messages):
            self.asked.set()
            await anyio.to_thread.run_sync(self.released.wait)
        return await super().complete(messages, schema, options)


@pytest.mark.parametrize("kind", ["remember", "rebuild", "forget"])
def test_a_tenant_whose_model_hangs_delays_no_other(kind: str, options: ServerOptions) -> None:
    model = HungModel("zqhung")
    options = replace(options, client=replace(options.client, model=model))
    with running(options) as service, ExitStack() as stack:
        stack.callback(model.released.set)
        slow, other = (
            stack.enter_context(service.client(tenant=tenant, rights=ADMINISTER))
            for tenant in ("slow", "other")
        )
        for client, text in ((slow, "I keep zqhung bees."), (other, "I keep goats.")):
            client.post("/v1/users/ana/messages", json={"messages": [user_says(text)]})
        for _ in range(operation_runner.SLOTS + 1):
            assert slow.post("/v1/operations", json={"kind": "remember"}).status_code == 202
        assert model.asked.wait(START_LIMIT)
        if kind == "forget":
            started = other.post("/v1/users/ana/forgetting", json={"session": 1}).json()
            url = f"/v1/operations/{started['id']}"
            other.post(f"/v1/users/ana/forgetting/{started['id']}/confirm", json={})
        else:
            started = other.post("/v1/operations", json={"kind": kind, "user": "ana"})
            url = started.headers["Location"]
        assert wait_for(other, url)["state"] == "succeeded"
        running_of_slow = [
            each["state"] for each in slow.get("/v1/operations").json()["items"]
        ].count("running")
        assert running_of_slow == 1 and not model.released.is_set()


class FaultyModel(HungModel):
    """Has a bug where it reads a word."""

    async def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        options: RequestOptions = DEFAULT_REQUEST,
    ) -> RawReply:
        """Raise such an error."""
        if any(self.word in message.text for message in messages):
            raise KeyError(self.word)
        return await super().complete(messages, schema, options)


def test_a_fault_in_other_code_fails_its_operation_alone(options: ServerOptions) -> None:
    options = replace(options, client=replace(options.client, model=FaultyModel("zqfaulty")))
    with running(options) as service, service.client(rights=ADMINISTER) as http:
        for user, text in (("ana", "I keep zqfaulty bees."), ("bo", "I keep goats.")):
            http.post(f"/v1/users/{user}/messages", json={"messages": [user_says(text)]})
        states = [
            wait_for(http, http.post("/v1/operations", json=body).headers["Location"])["state"]
            for body in ({"kind": "rebuild", "user": "ana"}, {"kind": "rebuild", "user": "bo"})
        ]
    assert states == ["failed", "succeeded"]


def user_says(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}
