"""Webhooks: signed, told of all that is committed, at least once, and never of anyone else's."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import anyio
import httpx2
import pytest
import sqlalchemy as sa
from standardwebhooks import WebhookVerificationError

from server.conftest import Service, running, write_to
from server.processes import serving
from server.receivers import Answer, Receiver, wait_until
from support import postgres
from support.debian_postgres import free_port
from support.running import Terminal
from theanine.client import OpenOptions
from theanine.clock import system_clock
from theanine.store.sql import outbox
from theanine.store.sql import schema as t
from theanine.store.sql.api_keys import create_key
from theanine.store.sql.holders import time_after
from theanine.store.sql.webhooks import MAX_WEBHOOKS, WEBHOOK_KINDS, Webhook, create_webhook
from theanine_server import ServerOptions
from theanine_server.webhooks.guard import Guard

RIGHTS = ("read", "write", "reply", "administer")
LOOPBACK = "127.0.0.0/8"


@pytest.fixture
def options(options: ServerOptions) -> ServerOptions:
    """With webhooks on loopback."""
    return replace(options, webhook_guard=Guard([LOOPBACK]))


@pytest.fixture
def http(service: Service) -> Iterator[httpx2.Client]:
    with service.client(rights=RIGHTS) as http:
        yield http


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def register(http: httpx2.Client, url: str, **options: Any) -> tuple[str, str]:
    """Return the id and the secret of a new webhook."""
    answer = http.post("/v1/webhooks", json={"name": "app", "url": url, **options})
    assert answer.status_code == 201, answer.text
    return answer.json()["webhook"]["id"], answer.json()["secret"]


def hear(http: httpx2.Client, text: str = "I live in Lisbon.", user: str = "ana") -> None:
    answer = http.post(f"/v1/users/{user}/threads/t/hear", json={"content": text})
    assert answer.status_code == 201, answer.text


def deliveries(http: httpx2.Client, webhook: str, **query: str) -> list[dict[str, Any]]:
    return http.get(f"/v1/webhooks/{webhook}/deliveries", params=query).json()["items"]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_each_change_is_told_and_signed(http: httpx2.Client, receiver: Receiver) -> None:
    webhook, secret = register(http, receiver.url)
    assert secret.startswith("whsec_")
    hear(http, "I live in Lisbon.")
    http.post("/v1/users/ana/threads/t/end", json={"remember": True})
    remembered = receiver.wait("session.remembered")[0].verify(secret)
    assert remembered["data"]["session"] == 1 and remembered["data"]["memories"] == 1
    http.put("/v1/users/ana/memories/1/pin")
    http.delete("/v1/users/ana/turns/1")
    operation = http.post("/v1/operations", json={"kind": "expire"}).json()["id"]
    expected: dict[str, dict[str, Any]] = {
        "sessions.started": {"sessions": [1, 1]},
        "turns.stored": {"turns": [1, 1]},
        "memories.made": {"memories": [1, 1]},
        "memories.changed": {"marks": [1, 1]},
        "data.forgotten": {},
    }
    for kind, data in expected.items():
        content = receiver.wait(kind)[0].verify(secret)
        assert content["data"] == {"user": "ana", "agent": "default", **data}
    ended = receiver.wait("operation.ended")[0].verify(secret)["data"]
    assert (ended["operation"], ended["state"], ended["user"]) == (operation, "succeeded", None)
    assert not any(b"Lisbon" in each.body for each in receiver.received)
    wait_until(lambda: not deliveries(http, webhook, state="waiting"))
    told = deliveries(http, webhook)
    assert {each["id"] for each in told} == {each.id for each in receiver.received}
    assert {(each["state"], each["tries"], each["status"]) for each in told} == {
        ("delivered", 1, 204)
    }
    page = http.get(f"/v1/webhooks/{webhook}/deliveries", params={"limit": 2}).json()
    more = deliveries(http, webhook, cursor=page["next"])
    assert [*page["items"], *more] == told


def test_a_secret_is_shown_once_and_replaced(
    service: Service, http: httpx2.Client, receiver: Receiver
) -> None:
    webhook, former = register(http, receiver.url)
    path = f"/v1/webhooks/{webhook}"
    http.post(f"{path}/test")
    receiver.wait("webhook.test")[0].verify(former)
    secret = http.post(f"{path}/secret").json()["secret"]
    http.post(f"{path}/test")
    both = receiver.wait("webhook.test", 2)[1]
    assert both.verify(secret) == both.verify(former)

    def end_former(db: sa.Connection) -> None:
        db.execute(t.webhook.update().values(former_until=0))

    anyio.run(write_to, service.location, end_former)
    http.post(f"{path}/test")
    last = receiver.wait("webhook.test", 3)[2]
    assert last.verify(secret)["type"] == "webhook.test"
    with pytest.raises(WebhookVerificationError):
        last.verify(former)
    shown = [http.get(p).text for p in (path, "/v1/webhooks", f"{path}/deliveries")]
    shown += [http.patch(path, json={"name": "x"}).text, http.get("/v1/users/ana/export").text]
    assert not any(each in text for text in shown for each in (secret, former, "whsec_"))


def test_a_webhook_is_told_of_what_it_asked_for(http: httpx2.Client, receiver: Receiver) -> None:
    register(http, receiver.url, kinds=["turns.stored"], user="ana")
    paused, _ = register(http, receiver.url + "/paused")
    assert http.patch(f"/v1/webhooks/{paused}", json={"enabled": False}).json()["disabled"]
    hear(http, user="bo")
    hear(http, user="ana")
    content = receiver.wait("turns.stored")[0].content
    assert content["data"]["user"] == "ana"
    assert deliveries(http, paused) == []
    assert http.post(f"/v1/webhooks/{paused}/test").status_code == 409
    assert http.patch(f"/v1/webhooks/{paused}", json={"enabled": True}).json()["disabled"] is None
    hear(http, user="cy")
    receiver.wait("sessions.started")
    assert http.delete(f"/v1/webhooks/{paused}").status_code == 200
    assert http.get(f"/v1/webhooks/{paused}").status_code == 404


def test_what_fails_is_sent_again_as_it_was(http: httpx2.Client) -> None:
    """A receiver that is down, and then up."""
    with Receiver() as gone:
        port = gone.port
    webhook, secret = register(http, gone.url, kinds=["turns.stored"])
    hear(http)
    wait_until(lambda: any(each["tries"] for each in deliveries(http, webhook)))
    [waiting] = deliveries(http, webhook, state="waiting")
    assert waiting["error"] == "no connection" and waiting["status"] is None
    assert waiting["next_try_at"] > waiting["tried_at"]
    assert http.get(f"/v1/webhooks/{webhook}").json()["failing_since"]
    with Receiver(port) as receiver:
        received = receiver.wait("turns.stored")[0]
        received.verify(secret)
        assert received.id == waiting["id"]
        wait_until(lambda: deliveries(http, webhook, state="delivered"))
        assert deliveries(http, webhook)[0]["tries"] >= 2
        receiver.answer = lambda _: Answer(503, {"Retry-After": "3600"})
        http.post(f"/v1/webhooks/{webhook}/test")
        wait_until(lambda: deliveries(http, webhook)[0]["tries"])
        busy = deliveries(http, webhook)[0]
        pause = moment(busy["next_try_at"]) - moment(busy["tried_at"])
        assert busy["status"] == 503 and timedelta(minutes=59) < pause < timedelta(minutes=61)
        receiver.answer = lambda _: Answer()
        http.post(f"/v1/webhooks/{webhook}/deliveries/{busy['id']}/retry")
        first, second = receiver.wait("webhook.test", 2)
        assert (first.id, first.body) == (second.id, second.body)
        wait_until(lambda: not deliveries(http, webhook, state="waiting"))
    assert http.get(f"/v1/webhooks/{webhook}").json()["failing_since"] is None


def test_redirects_large_answers_and_gone_receivers(
    http: httpx2.Client, receiver: Receiver
) -> None:
    with Receiver() as internal:
        receiver.answer = lambda _: Answer(302, {"Location": internal.url})
        webhook, _ = register(http, receiver.url)
        http.post(f"/v1/webhooks/{webhook}/test")
        wait_until(lambda: deliveries(http, webhook)[0]["tries"])
        failed = deliveries(http, webhook)[0]
        assert failed["status"] == 302 and "redirects" in failed["error"]
        receiver.answer = lambda _: Answer(200, body=b"x" * 10_000_000)
        again = http.post(f"/v1/webhooks/{webhook}/deliveries/{failed['id']}/retry")
        assert again.status_code == 202 and again.json()["next_try_at"] is None
        wait_until(lambda: deliveries(http, webhook, state="delivered"))
        receiver.answer = lambda _: Answer(410)
        http.post(f"/v1/webhooks/{webhook}/test")
        wait_until(lambda: http.get(f"/v1/webhooks/{webhook}").json()["disabled"] == "gone")
        assert internal.received == []
    assert http.post(f"/v1/webhooks/{webhook}/deliveries/msg_0/retry").status_code == 404


def test_a_webhook_that_fails_for_days_is_disabled(
    service: Service, http: httpx2.Client, receiver: Receiver
) -> None:
    receiver.answer = lambda _: Answer(500)
    webhook, _ = register(http, receiver.url)

    def age(db: sa.Connection) -> None:
        db.execute(t.webhook.update().values(failing_since=time_after(-outbox.FAILING) - 1))

    anyio.run(write_to, service.location, age)
    hear(http)
    wait_until(lambda: http.get(f"/v1/webhooks/{webhook}").json()["disabled"] == "failing")
    listed = http.get("/v1/webhooks").json()[0]
    assert listed["disabled"] == "failing" and listed["failing_since"] and listed["waiting"]
    receiver.answer = lambda _: Answer()
    http.patch(f"/v1/webhooks/{webhook}", json={"enabled": True})
    wait_until(lambda: not http.get(f"/v1/webhooks/{webhook}").json()["waiting"])


def test_two_processes_send_each_message_once(options: ServerOptions, receiver: Receiver) -> None:
    with running(options) as one, running(options) as two:
        token = one.key(rights=RIGHTS)
        with one.client(token) as first, two.client(token) as second:
            webhook, _ = register(first, receiver.url, kinds=["turns.stored"])
            for number in range(20):
                hear(first if number % 2 else second, user=f"user {number}")
            wait_until(lambda: not deliveries(first, webhook, state="waiting"))
            receiver.wait("turns.stored", 20)
    assert len({each.id for each in receiver.received}) == len(receiver.received) == 20


@pytest.mark.slow
@pytest.mark.parametrize(
    "location",
    [
        "sqlite",
        pytest.param(
            "postgres", marks=pytest.mark.skipif(bool(postgres.MISSING), reason=postgres.MISSING)
        ),
    ],
)
def test_what_a_killed_process_has_committed_is_told_by_another(
    tmp_path: Path, receiver: Receiver, location: str
) -> None:
    """The first is killed while the receiver has its message and does not answer yet.

    A lease on PostgreSQL must run out; the processes that use a file can be asked for.
    """
    on_file = location == "sqlite"
    store = str(tmp_path / "memory.db") if on_file else postgres.database_url(tmp_path)
    held = Event()
    receiver.answer = lambda _: Answer(held=held)
    with serving(store, "--webhook-allow", LOOPBACK) as service:
        key = partial(create_key, name="k", at=system_clock(), rights=RIGHTS)
        _, token = anyio.run(write_to, store, key)
        with service.client(token) as http:
            webhook, secret = register(http, receiver.url, kinds=["turns.stored"])
            hear(http)
            [first] = receiver.wait("turns.stored")
            hear(http, "And this is committed, and nobody has sent it.")
            service.signal(signal.SIGKILL)
        service.wait()
    receiver.answer = lambda _: Answer()
    held.set()
    with serving(store, "--webhook-allow", LOOPBACK) as service, service.client(token) as http:
        wait_until(lambda: len(deliveries(http, webhook, state="delivered")) == 2)
        told = {each["id"] for each in deliveries(http, webhook)}
    messages = {each.id: each.verify(secret) for each in receiver.received}
    assert messages.keys() == told and len(told) == 2
    again = [each for each in receiver.received if each.id == first.id]
    assert len(again) == 2 and again[0].body == again[1].body
    assert sorted(each["data"]["turns"] for each in messages.values()) == [[1, 1], [2, 2]]


def test_a_worker_sends_and_no_log_has_a_secret(run: Terminal, receiver: Receiver) -> None:
    """What a service without the network's name could not send, a worker that has it does."""

    def create(db: sa.Connection) -> tuple[Webhook, str]:
        url = f"{receiver.url}?token=cormorant"
        options: dict[str, Any] = {"name": "app", "kinds": WEBHOOK_KINDS, "at": system_clock()}
        return create_webhook(db, "default", url=url, **options)

    def hurry(db: sa.Connection) -> None:
        db.execute(t.webhook.update().values(not_before=None))
        db.execute(t.webhook_delivery.update().values(not_before=0))

    with serving(run.store, "--log-level", "debug", "--log-format", "json") as service:
        key = partial(create_key, name="k", at=system_clock(), rights=RIGHTS)
        _, token = anyio.run(write_to, str(run.store), key)
        webhook, secret = anyio.run(write_to, str(run.store), create)
        with service.client(token) as http:
            hear(http)
            wait_until(lambda: all(each["tries"] for each in deliveries(http, webhook.id)))
            [first, *_] = deliveries(http, webhook.id)
            assert "internal network" in first["error"] and receiver.received == []
        service.signal(signal.SIGTERM)
        service.wait()
        logged = "".join(service.errors)
    assert webhook.id in logged
    assert not any(word in logged for word in (secret, "whsec_", "cormorant", "Lisbon"))
    anyio.run(write_to, str(run.store), hurry)
    run("worker", "--once", "--webhook-allow", LOOPBACK)
    assert receiver.wait("turns.stored")[0].verify(secret)


def test_a_key_sees_no_webhook_that_tells_of_more_than_it_opens(
    service: Service, http: httpx2.Client, receiver: Receiver
) -> None:
    webhook, _ = register(http, receiver.url)
    with service.client(rights=["administer"], user="ana") as bound:
        own, _ = register(bound, receiver.url)
        assert [each["id"] for each in bound.get("/v1/webhooks").json()] == [own]
        assert bound.get(f"/v1/webhooks/{webhook}").status_code == 404
        other = {"name": "x", "url": receiver.url, "user": "bo"}
        assert bound.post("/v1/webhooks", json=other).status_code == 403
        assert http.get(f"/v1/webhooks/{own}").json()["user"] == "ana"
    with service.client(rights=["read", "write"]) as reader:
        assert reader.get("/v1/webhooks").status_code == 403
    with service.client(tenant="other", rights=RIGHTS) as other_tenant:
        hear(other_tenant)
        assert other_tenant.get("/v1/webhooks").json() == []
    assert deliveries(http, webhook) == []


def test_an_import_is_told(http: httpx2.Client, receiver: Receiver, tmp_path: Path) -> None:
    other = ServerOptions(OpenOptions(str(tmp_path / "other.db")))
    with running(other) as service, service.client() as elsewhere:
        hear(elsewhere)
        records = elsewhere.get("/v1/users/ana/export").content
    register(http, receiver.url, kinds=["turns.stored", "data.forgotten"])
    hear(http, user="bo")
    answer = http.post("/v1/users/ana/import", content=records)
    assert answer.is_success, answer.text
    told = receiver.wait("turns.stored", 2)
    assert {each.content["data"]["user"] for each in told} == {"ana", "bo"}
    http.delete("/v1/users/bo")
    assert receiver.wait("data.forgotten")[0].content["data"]["user"] == "bo"


def test_what_is_hidden_and_shown_is_told(http: httpx2.Client, receiver: Receiver) -> None:
    register(http, receiver.url, kinds=["data.forgotten", "operation.ended"])
    hear(http)
    forgetting = http.post("/v1/users/ana/forgetting", json={"session": 1}).json()["id"]
    receiver.wait("data.forgotten", 1)
    http.post(f"/v1/users/ana/forgetting/{forgetting}/undo")
    receiver.wait("data.forgotten", 2)
    [ended] = receiver.wait("operation.ended")
    assert ended.content["data"]["state"] == "cancelled"


def test_an_erasure_after_a_pause_is_told(http: httpx2.Client, receiver: Receiver) -> None:
    hear(http)
    _, secret = register(http, receiver.url, kinds=["data.forgotten", "operation.ended"])
    forgetting = http.post("/v1/users/ana/forgetting", json={"session": 1, "pause": 3600}).json()
    receiver.wait("data.forgotten")
    assert receiver.of("operation.ended") == []
    http.post(f"/v1/users/ana/forgetting/{forgetting['id']}/confirm")
    ended = receiver.wait("operation.ended")[0].verify(secret)["data"]
    assert ended == {
        "user": "ana",
        "agent": "default",
        "operation": forgetting["id"],
        "kind": "forget",
        "state": "succeeded",
    }
    hidden, erased = receiver.wait("data.forgotten", 2)
    assert hidden.content["data"] == erased.content["data"] == {"user": "ana", "agent": "default"}


def test_an_erasure_that_fails_is_told(
    service: Service, http: httpx2.Client, receiver: Receiver
) -> None:
    hear(http)
    register(http, receiver.url, kinds=["operation.ended"])
    forgetting = http.post("/v1/users/ana/forgetting", json={"session": 1, "pause": 3600}).json()

    def damage(db: sa.Connection) -> None:
        db.execute(t.scope_state.update().values(hidden="{"))
        db.execute(t.operation.update().values(not_before=None))

    anyio.run(write_to, service.location, damage)
    [ended] = receiver.wait("operation.ended")
    assert ended.content["data"]["operation"] == forgetting["id"]
    assert ended.content["data"]["state"] == "failed"


def test_what_is_kept_no_longer_is_removed(
    service: Service, http: httpx2.Client, receiver: Receiver
) -> None:
    webhook, _ = register(http, receiver.url)
    http.post(f"/v1/webhooks/{webhook}/test")
    wait_until(lambda: deliveries(http, webhook, state="delivered"))

    def clean(db: sa.Connection) -> None:
        db.execute(t.setting.delete().where(t.setting.c.name == "claimed:webhooks"))
        db.execute(t.webhook_delivery.update().values(created_at=0))
        outbox.clean(db)

    anyio.run(write_to, service.location, clean)
    assert deliveries(http, webhook) == []


def test_bad_webhooks_are_refused(http: httpx2.Client, receiver: Receiver) -> None:
    good = {"name": "app", "url": receiver.url}
    changes: list[dict[str, Any]] = [
        {"name": " "},
        {"kinds": []},
        {"kinds": ["everything"]},
        {"url": "ftp://127.0.0.1/"},
        {"url": "http://192.168.0.1/"},
        {"user": "a\0b"},
        {"more": 1},
    ]
    for change in changes:
        answer = http.post("/v1/webhooks", json=good | change)
        assert answer.status_code == 422, change
    webhook, _ = register(http, receiver.url)
    assert http.patch(f"/v1/webhooks/{webhook}", json={"url": "http://[::1]/"}).status_code == 422
    answers = [http.post("/v1/webhooks", json=good) for _ in range(MAX_WEBHOOKS)]
    assert {each.status_code for each in answers[:-1]} == {201}
    answer = answers[-1]
    assert answer.status_code == 422 and "20 webhooks" in answer.text


@pytest.mark.slow
def test_metrics_have_what_became_of_messages(tmp_path: Path, receiver: Receiver) -> None:
    """Also of several processes, of which each knows only its own tries."""
    port = free_port()
    options = ("--metrics-port", str(port), "--webhook-allow", LOOPBACK, "--processes", "2")

    def metrics() -> list[str]:
        lines = httpx2.get(f"http://127.0.0.1:{port}/metrics").text.splitlines()
        return [line for line in lines if line.startswith("theanine_webhook")]

    with (
        serving(tmp_path / "memory.db", "--dev", *options) as service,
        service.client() as http,
    ):
        register(http, receiver.url, kinds=["turns.stored"])
        register(http, f"http://127.0.0.1:{free_port()}/", kinds=["turns.stored"])
        paused, _ = register(http, receiver.url)
        http.patch(f"/v1/webhooks/{paused}", json={"enabled": False})
        hear(http)
        receiver.wait("turns.stored")
        expected = {
            'theanine_webhook_tries_total{result="delivered"} 1.0',
            "theanine_webhook_messages_waiting 1.0",
            'theanine_webhooks_disabled{reason="request"} 1.0',
            'theanine_webhooks_disabled{reason="gone"} 0.0',
        }
        wait_until(lambda: expected <= {*metrics()})
        wait_until(lambda: any('tries_total{result="failed"}' in line for line in metrics()))


def test_the_command_line_manages_webhooks(run: Terminal, receiver: Receiver) -> None:
    def fails(*arguments: str) -> str:
        ran = run("webhooks", *arguments, fine=False)
        assert ran.code == 2
        return ran.err

    allow = ("--webhook-allow", LOOPBACK)
    given = ("--name", "crm", "--url", receiver.url)
    assert "internal network" in fails("create", *given)
    for wrong in (("--kind", "nonsense"), ("--url", "ftp://example.com/")):
        fails("create", *given, *allow, *wrong)
    secret = run("webhooks", "create", *given, *allow, "--user", "ana").out.strip()
    made = run("webhooks", "create", *given, *allow, "--tenant", "other", "--json").json
    assert made["secret"].startswith("whsec_") and made["webhook"]["user"] is None
    [listed] = run("webhooks", "list", "--json").json
    assert (listed["user"], listed["disabled"]) == ("ana", None)
    for command in ("test", "deliveries", "delete"):
        refused = fails(command, listed["id"], "--tenant", "other")
        assert f"there is no webhook {listed['id']}" in refused
    run("webhooks", "test", listed["id"])
    run("worker", "--once", *allow)
    receiver.wait("webhook.test")[0].verify(secret)
    shown = [run("webhooks", *command).out for command in (["list"], ["deliveries", listed["id"]])]
    assert "enabled" in shown[0] and "delivered" in shown[1]
    assert not any("whsec_" in text for text in shown)
    assert run("webhooks", "deliveries", listed["id"], "--state", "failed", "--json").json == []

    def disable(db: sa.Connection) -> None:
        db.execute(t.webhook.update().values(disabled="gone"))

    anyio.run(write_to, str(run.store), disable)
    assert "is disabled (gone)" in fails("test", listed["id"])
    run("webhooks", "delete", listed["id"])
    assert "There are no webhooks" in run("webhooks", "list").out
    assert len(run("webhooks", "list", "--tenant", "other", "--json").json) == 1
