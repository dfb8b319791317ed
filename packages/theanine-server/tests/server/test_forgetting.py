"""Forgetting after a pause: shown first, hidden at once, undone, or erased with a receipt."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from server.conftest import START_LIMIT, Service, running
from support.postgres import MISSING, database_url
from theanine.client import OpenOptions
from theanine.clock import system_clock
from theanine_server import ServerOptions

ADMINISTER = ("read", "write", "reply", "administer")
FORGETTING = "/v1/users/ana/forgetting"
SAID = ("I moved to Split in May.", "My sister Bura bakes bread.", "I sail on Sundays.")


@pytest.fixture
def http(service: Service) -> Iterator[httpx2.Client]:
    with service.client(rights=ADMINISTER) as client:
        fill(client)
        yield client


def fill(http: httpx2.Client) -> None:
    for text in SAID:
        said = {"messages": [{"role": "user", "content": text}]}
        assert http.post("/v1/users/ana/messages", json=said).status_code < 300
    assert len(http.get("/v1/users/ana/memories").json()["items"]) == len(SAID)


def view(http: httpx2.Client) -> dict[str, Any]:
    """Return all that can be read of ana, but for what waits to be erased."""
    ana = "/v1/users/ana"
    question = {"dialogue": "Where did my sister Bura and I move, and what do we do on Sundays?"}
    graph = http.get(f"{ana}/graph").json()
    return {
        "memories": http.get(f"{ana}/memories").json(),
        "found": http.get(f"{ana}/memories", params={"search": "bread"}).json(),
        "turns": http.get(f"{ana}/turns").json(),
        "numbered": http.get(f"{ana}/turns", params={"ids": [1, 2, 3]}).json(),
        "sessions": http.get(f"{ana}/sessions").json(),
        "links": http.get(f"{ana}/links").json(),
        "timelines": http.get(f"{ana}/timelines").json(),
        "profile": http.get(f"{ana}/profile").json(),
        "conversations": http.get(f"{ana}/conversations").json(),
        "months": http.get(f"{ana}/conversations/months").json(),
        "places": [http.get(f"{ana}/conversations/{each}").json() for each in (1, 2, 3)],
        "words": http.post(f"{ana}/search", json={"query": "b", "exact": True}).json(),
        "graph": graph,
        "recalled": http.post(f"{ana}/recall", json=question).json()["text"],
        "users": http.get("/v1/users").json(),
    }


def wait_for(http: httpx2.Client, operation: str) -> dict[str, Any]:
    deadline = time.monotonic() + START_LIMIT
    while (found := http.get(f"/v1/operations/{operation}").json())["state"] != "succeeded":
        assert time.monotonic() < deadline and found["state"] in ("waiting", "running"), found
        time.sleep(0.05)
    return found


@pytest.mark.parametrize("what", [{"memory": 2}, {"session": 2}, {"everything": True}])
def test_it_is_hidden_at_once_and_undone_completely(
    http: httpx2.Client, what: dict[str, Any]
) -> None:
    before = view(http)
    assert all(text.split()[-1] in str(before) for text in SAID)
    named = {name: number for name, number in what.items() if name != "everything"}
    shown = http.get(f"{FORGETTING}/preview", params=named).json()
    gone = [2] if named else [1, 2, 3]
    assert (shown["memories"], shown["turns"]) == (gone, gone)
    assert shown["sessions"] == ([] if "memory" in what else gone)  # its keys are remembered
    assert not shown["report"]["verified"]
    assert view(http) == before, "looking changes nothing"

    started = http.post(FORGETTING, json={**what, "pause": 3600})
    assert started.status_code == 202
    hidden = view(http)
    assert "bread" not in str(hidden) and "Bura" not in hidden["recalled"]
    assert ("Split" in str(hidden)) == bool(named)
    assert ("ana" in str(hidden["users"])) == bool(named)
    assert http.get("/v1/users/ana/memories/2").status_code == 404
    [waiting] = http.get(FORGETTING).json()
    assert waiting["state"] == "waiting" and waiting["options"] == named

    undone = http.post(f"{FORGETTING}/{waiting['id']}/undo")
    assert undone.json()["state"] == "cancelled"
    assert view(http) == before and http.get(FORGETTING).json() == []
    assert http.post(f"/v1/operations/{waiting['id']}/retry").json()["code"] == "undone"


def test_it_is_erased_after_the_pause_with_a_receipt(http: httpx2.Client) -> None:
    preview = http.get(f"{FORGETTING}/preview", params={"memory": 2}).json()["report"]
    started = http.post(FORGETTING, json={"memory": 2, "pause": 1}).json()
    ended = wait_for(http, started["id"])
    [receipt] = ended["result"]["receipts"]
    assert receipt["verified"] and receipt["files_verified"]
    counted = ("sessions", "turns", "memories", "links", "vectors", "journal", "kept")
    assert [receipt[name] for name in counted] == [preview[name] for name in counted]
    assert http.get(FORGETTING).json() == []
    assert "bread" not in str(view(http)) and "Split" in str(view(http))
    assert http.post(f"{FORGETTING}/{started['id']}/undo").json()["code"] == "erased"
    assert http.post(f"/v1/operations/{started['id']}/cancel").status_code == 409


def test_it_is_erased_on_confirmation_and_cancelled_by_an_administrator(
    http: httpx2.Client,
) -> None:
    started = http.post(FORGETTING, json={"session": 1, "pause": 3600}).json()
    other = http.post(FORGETTING, json={"memory": 2, "pause": 3600}).json()
    assert http.post(f"{FORGETTING}/{started['id']}/confirm").status_code == 202
    wait_for(http, started["id"])
    assert [each["id"] for each in http.get(FORGETTING).json()] == [other["id"]]
    assert "bread" not in str(view(http))
    assert http.post(f"/v1/operations/{other['id']}/cancel").json()["state"] == "cancelled"
    assert "bread" in str(view(http)) and "Split" not in str(view(http))


def test_it_outlives_the_service(options: ServerOptions) -> None:
    with running(options) as service, service.client(rights=ADMINISTER) as http:
        fill(http)
        started = http.post(FORGETTING, json={"everything": True, "pause": 2}).json()
    with running(options) as service, service.client(rights=ADMINISTER) as http:
        assert "Split" not in str(view(http)), "it is hidden after a restart, too"
        [receipt] = wait_for(http, started["id"])["result"]["receipts"]
        assert receipt["memories"] == len(SAID) and receipt["verified"]
        assert http.delete("/v1/users/ana").status_code == 404


@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_it_is_the_same_in_postgresql(tmp_path: Path) -> None:
    options = ServerOptions(OpenOptions(database_url(tmp_path)))
    with running(options) as service, service.client(rights=ADMINISTER) as http:
        fill(http)
        before = view(http)
        preview = http.get(f"{FORGETTING}/preview", params={"session": 2}).json()
        assert preview["memories"] == preview["turns"] == preview["sessions"] == [2]
        assert view(http) == before, "looking changes nothing"
        started = http.post(FORGETTING, json={"session": 2, "pause": 3600}).json()
        assert "bread" not in str(view(http)) and "Split" in str(view(http))
        http.post(f"{FORGETTING}/{started['id']}/undo")
        assert view(http) == before
        started = http.post(FORGETTING, json={"everything": True, "pause": 1}).json()
        assert http.get("/v1/users").json()["items"] == []
        [receipt] = wait_for(http, started["id"])["result"]["receipts"]
        assert receipt["memories"] == len(SAID) and receipt["remaining"]
        assert len(http.get("/v1/usage").json()["lines"]) == 0
        assert http.get("/v1/work").json() == {"pending": [], "leases": []}


def test_what_is_said_meanwhile_goes_with_it(http: httpx2.Client) -> None:
    started = http.post(FORGETTING, json={"everything": True, "pause": 3600}).json()
    http.post("/v1/users/ana/messages", json={"messages": [{"role": "user", "content": "Hi!"}]})
    assert http.get("/v1/users/ana/turns").json()["items"] == []
    http.post(f"{FORGETTING}/{started['id']}/confirm")
    wait_for(http, started["id"])
    assert http.get("/v1/users/ana/turns").json()["items"] == []


def test_only_one_existing_thing_can_be_named(http: httpx2.Client) -> None:
    for what in ({}, {"memory": 1, "session": 1}, {"memory": 1, "everything": True}):
        assert http.post(FORGETTING, json=what).json()["code"] == "bad_input"
    assert http.post(FORGETTING, json={"memory": 99}).status_code == 404
    assert http.get(f"{FORGETTING}/preview", params={"session": 99}).status_code == 404
    assert http.post("/v1/operations", json={"kind": "forget"}).status_code == 422
    nobody = http.post("/v1/users/nobody/forgetting", json={"everything": True})
    assert nobody.status_code == 404


def test_walls_stand_around_it(http: httpx2.Client, service: Service) -> None:
    started = http.post(FORGETTING, json={"memory": 1, "pause": 3600}).json()
    url = f"{FORGETTING}/{started['id']}"
    with service.client(rights=["read"]) as reader:
        assert reader.get(FORGETTING).status_code == 200
        assert reader.get(f"{FORGETTING}/preview").status_code == 403
        assert reader.post(FORGETTING, json={"memory": 2}).status_code == 403
        assert reader.post(f"{url}/undo").status_code == 403
    for bounds, status in (({"tenant": "other"}, 404), ({"user": "bo"}, 403)):
        with service.client(rights=ADMINISTER, **bounds) as other:
            assert other.post(f"{url}/undo").status_code == status
            assert other.post(f"{url}/confirm").status_code == status
    with service.client(rights=ADMINISTER) as own:
        bo = {"messages": [{"role": "user", "content": "Hi!"}]}
        own.post("/v1/users/bo/messages", json=bo)
        assert own.post(url.replace("ana", "bo") + "/undo").status_code == 404
        assert own.post(f"{url}/undo", params={"agent": "tutor"}).status_code == 404


@pytest.mark.parametrize("user", ["ana.garcia@example.org", "Bartholomew Quist-Æbelø"])
@pytest.mark.parametrize("way", ["request", "operation"])
def test_nothing_names_a_user_who_was_forgotten(service: Service, user: str, way: str) -> None:
    path = f"/v1/users/{quote(user)}"
    token = service.key(user=user, rights=ADMINISTER)
    with service.client(rights=ADMINISTER) as http, service.client(token) as own:
        key = own.get("/v1/whoami").json()["key"]
        repeated = {"Idempotency-Key": "once"}
        said = {"messages": [{"role": "user", "content": SAID[0]}]}
        assert http.post(f"{path}/messages", json=said, headers=repeated).status_code == 201
        for kind in ("remember", "rebuild"):
            work = {"kind": kind, "user": user}
            wait_for(http, http.post("/v1/operations", json=work).json()["id"])
        if way == "request":
            receipt = http.delete(path, headers={"Idempotency-Key": "forget"}).json()
        else:
            asked = {"everything": True, "pause": 0}
            begun = own.post(f"{path}/forgetting", json=asked).json()["id"]
            ended = wait_for(own, begun)
            assert ended["user"] != user
            assert http.post(f"{path}/forgetting/{begun}/undo", json={}).status_code == 409
            receipt = ended["result"]["receipts"][0]
        # The name of the valid key stays, and the receipt says so; that of a revoked one doesn't.
        assert (receipt["verified"], key in receipt["remaining"]) == (False, True), receipt
        assert http.delete(f"/v1/keys/{key}").status_code == 200
        assert http.post(f"{path}/messages", json=said).status_code == 201
        receipt = http.delete(path).json()
        assert (receipt["verified"], receipt["remaining"]) == (True, ""), receipt
        assert all(each["user"] != user for each in http.get("/v1/operations").json()["items"])
    for name in (user, quote(user)):
        for file in Path(service.location).parent.rglob("*"):
            assert not file.is_file() or name.encode() not in file.read_bytes(), file


def test_operations_are_deleted_some_time_after_they_ended(options: ServerOptions) -> None:
    later = timedelta(0)
    client = replace(options.client, clock=lambda: system_clock() + later)
    options = replace(options, client=client)
    with running(options) as service, service.client(rights=ADMINISTER) as http:
        work = wait_for(http, http.post("/v1/operations", json={"kind": "expire"}).json()["id"])
    later = timedelta(days=31)
    with running(options) as service, service.client(rights=ADMINISTER) as http:
        deadline = time.monotonic() + START_LIMIT
        while http.get(f"/v1/operations/{work['id']}").status_code == 200:
            assert time.monotonic() < deadline
