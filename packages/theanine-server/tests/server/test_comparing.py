"""Methods compared on a user's own conversations, started by a request."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

import theanine
from server.conftest import START_LIMIT, running
from theanine.client import OpenOptions
from theanine_server import ServerOptions

ADMINISTER = ("read", "write", "reply", "administer")
SAID = ("I moved to Split in May.", "My sister Bura bakes bread.", "I moved from Split to Rijeka.")
COMPARISONS = "/v1/evaluation/comparisons"


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ServerOptions:
    """A service of a store in which ana has said three things, started in an empty folder."""
    monkeypatch.chdir(tmp_path)
    location = str(tmp_path / "memory.db")
    with theanine.open(location) as client:
        for text in SAID:
            client.user("ana").add(text)
    return ServerOptions(OpenOptions(location))


def wait_for(http: httpx2.Client, operation: str) -> dict[str, Any]:
    deadline = time.monotonic() + START_LIMIT
    while True:
        found = http.get(f"/v1/operations/{operation}").json()
        if found["state"] not in ("waiting", "running"):
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


def test_methods_are_estimated_and_compared(options: ServerOptions, tmp_path: Path) -> None:
    with running(options) as service, service.client(rights=ADMINISTER) as http:
        asked = {"user": "ana", "method": ["theanine", "exchange"]}
        estimates = http.get("/v1/evaluation/estimate", params=asked).json()
        assert [(each["method"], each["calls"]) for each in estimates] == [
            ("theanine", 0),
            ("exchange", 0),
        ]
        new = {"user": "ana", "methods": ["theanine", "exchange"], "questions": 2}
        started = http.post(COMPARISONS, json=new)
        assert started.status_code == 202
        ended = wait_for(http, started.json()["id"])
        assert (ended["state"], ended["done"], ended["error"]) == ("succeeded", 4, "")
        [run] = http.get("/v1/evaluation").json()["runs"]
        assert run["name"] == ended["result"]["run"]
        assert set(run["scores"]) >= {"theanine", "exchange"}
        assert http.get(f"/v1/evaluation/{run['name']}/report").status_code == 200
        folder = tmp_path / http.get("/v1/evaluation").json()["folder"]
        left = {path.name for path in folder.iterdir()}
        assert left == {run["name"], f"{run['name']}.source.json"}
        with service.client(rights=ADMINISTER, tenant="other") as other:
            assert other.get("/v1/evaluation").json()["runs"] == []
            assert other.get(f"/v1/evaluation/{run['name']}/report").status_code == 404
            assert other.post(COMPARISONS, json=new).status_code == 404


def test_runs_go_with_what_is_erased(options: ServerOptions, tmp_path: Path) -> None:
    new = {"methods": ["exchange"], "questions": 1}
    with theanine.open(options.client.location) as client:
        for text in SAID:
            client.user("bo").add(text)
    with running(options) as service, service.client(rights=ADMINISTER) as http:
        runs = {
            user: wait_for(http, http.post(COMPARISONS, json=new | {"user": user}).json()["id"])[
                "result"
            ]["run"]
            for user in ("ana", "bo")
        }
        with theanine.open(options.client.location) as client:
            client.user("ana").forget(session=1)
        listed = http.get("/v1/evaluation").json()
        assert [run["name"] for run in listed["runs"]] == [runs["bo"]]
        folder = tmp_path / listed["folder"]
        assert not list(folder.glob(f"{runs['ana']}*"))
        assert (folder / runs["bo"] / "items.jsonl").exists()
    other = ServerOptions(OpenOptions(str(tmp_path / "other.db")))
    with running(other) as service, service.client(rights=ADMINISTER) as http:
        http.post("/v1/users/bo/threads/t/hear", json={"content": SAID[0]})
        assert http.get("/v1/evaluation").json()["runs"] == []
        assert (folder / runs["bo"] / "items.jsonl").exists()
    other = ServerOptions(OpenOptions(str(tmp_path / "other.db")))
    with running(other) as service, service.client(rights=ADMINISTER) as http:
        assert http.get("/v1/evaluation").json()["runs"] == []
        assert list((tmp_path / "runs").rglob(runs["bo"]))  # of another store: it stays
    with theanine.open(options.client.location) as client:
        client.user("bo").forget_all()
    with running(options):  # looks by itself, too
        deadline = time.monotonic() + START_LIMIT
        while list(folder.iterdir()):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_a_comparison_is_cancelled(options: ServerOptions) -> None:
    with running(options) as service, service.client(rights=ADMINISTER) as http:
        new = {"user": "ana", "methods": ["theanine", "exchange"]}
        started = http.post(COMPARISONS, json=new).json()
        http.post(f"/v1/operations/{started['id']}/cancel")
        assert wait_for(http, started["id"])["state"] == "cancelled"


def test_what_makes_no_sense_is_refused(options: ServerOptions) -> None:
    with running(options) as service, service.client(rights=ADMINISTER) as http:
        for methods in ([], ["nothing"], ["exchange", "exchange"]):
            new = {"user": "ana", "methods": methods}
            assert http.post(COMPARISONS, json=new).status_code == 422
        nobody = {"user": "nobody", "methods": ["exchange"]}
        assert http.post(COMPARISONS, json=nobody).status_code == 404
        with service.client() as writer:
            assert writer.post(COMPARISONS, json=nobody).status_code == 403


def test_a_memory_of_another_method_has_its_own_links(options: ServerOptions) -> None:
    other = ServerOptions(OpenOptions(options.client.location, method="exchange"))
    with running(other) as service, service.client() as http:
        graph = http.get("/v1/users/ana/graph", params={"method": "theanine"}).json()
        link = graph["links"][0]
        detail = http.get(f"/v1/users/ana/memories/{link['newer']}").json()
        assert detail["memory"]["method"] == "theanine"
        assert [(each["older"], each["relation"]) for each in detail["links"]] == [
            (link["older"], link["relation"])
        ]
        assert detail["links"][0]["explanation"]
