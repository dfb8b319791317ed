"""What runs and what it costs, by day, step and method; leases; evaluation runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

import theanine
from server.conftest import Service
from theanine.clock import system_clock
from theanine.store import open_store
from theanine.store.values import JournalEntry
from theanine.types import Scope
from theanine_server import ServerOptions

ANA, CY = Scope("ana"), Scope("cy", tenant="other")
TODAY = system_clock().astimezone(UTC).replace(hour=0, minute=1, second=0, microsecond=0)
YESTERDAY = TODAY - timedelta(days=1)


def call(number: int, at: datetime, **values: Any) -> JournalEntry:
    common: dict[str, Any] = {
        "key": f"{number:064x}",
        "step": "relate",
        "version": 2,
        "model": "m",
        "settings": {},
        "prompt": "Which of these belong together?" + "x" * 69,
        "reply": "{}",
        "error": "",
        "rejected": False,
        "input_tokens": 100,
        "output_tokens": 10,
        "cost": 0.25,
        "seconds": 1.5,
        "session": 1,
        "touches": (),
    }
    return JournalEntry(at=at, **{**common, **values})


CALLS = (
    call(1, YESTERDAY),
    call(2, YESTERDAY, rejected=True, error="not JSON"),
    call(3, TODAY, prompt="Which of these belong together?" + "y" * 69),
    call(4, TODAY, step="respond", session=None, cost=None),
    call(5, TODAY - timedelta(days=90)),
)


@pytest.fixture
def options(options: ServerOptions) -> ServerOptions:
    return replace(options, client=replace(options.client, remembering="later"))


@pytest.fixture
def http(service: Service) -> Iterator[httpx2.Client]:
    with theanine.open(service.location, remembering="later") as client:
        client.user("ana").add("I like tea.")
        client.user("cy", tenant="other").add("I like rum.")
    anyio.run(fill, service.location)
    with service.client(rights=["read", "write", "reply", "administer"]) as connected:
        yield connected


async def fill(location: str) -> None:
    store = open_store(location)
    await store.open()
    try:
        for entry in CALLS:
            await store.add_journal_entry(ANA, entry)
        await store.add_journal_entry(CY, replace(CALLS[0], model="secret"))
        await store.acquire_lease(ANA, "machine 7", timedelta(minutes=5))
    finally:
        await store.close()


def test_calls_are_summed_by_day_and_step(http: httpx2.Client) -> None:
    usage = http.get("/v1/usage").json()
    first, second, reply = usage["lines"]
    assert (first["day"], first["step"], first["model"]) == (str(YESTERDAY.date()), "relate", "m")
    counts = ("calls", "failed", "input_tokens", "output_tokens", "cost", "seconds")
    assert [first[name] for name in counts] == [2, 1, 200, 20, 0.5, 3.0]
    # The second of two equal prompts repeats all of the first; the third one its beginning.
    assert first["cacheable"] == 1.0 and second["cacheable"] == 0.31
    assert second["day"] == reply["day"] == str(TODAY.date())
    assert reply["cost"] is None and reply["cacheable"] is None
    assert usage["methods"]["relate"] == "theanine" and "respond" not in usage["methods"]
    [error] = usage["errors"]
    assert (error["error"], error["step"], error["scope"]["user"]) == ("not JSON", "relate", "ana")
    assert sum(line["calls"] for line in http.get("/v1/usage?days=365").json()["lines"]) == 5
    assert http.get("/v1/usage?user=bo").json()["lines"] == []


def test_what_waits_and_who_is_at_it(http: httpx2.Client) -> None:
    work = http.get("/v1/work").json()
    [pending] = work["pending"]
    assert pending["scope"]["user"] == "ana" and pending["state"] == "running"
    [lease] = work["leases"]
    assert lease["holder"] == "machine 7" and not lease["expired"]
    [method] = http.get("/v1/users/ana/methods").json()
    assert (method["memories"], method["remembered"], method["pending"]) == (0, 0, 1)


def test_a_key_sees_only_its_own(http: httpx2.Client, service: Service) -> None:
    assert "secret" not in http.get("/v1/usage").text and "cy" not in http.get("/v1/work").text
    with service.client(user="bo", rights=["read"]) as bo:
        assert bo.get("/v1/usage").json()["lines"] == []
        assert bo.get("/v1/work").json() == {"pending": [], "leases": []}
        assert bo.get("/v1/usage?user=ana").status_code == 403
        assert bo.get("/v1/evaluation").status_code == 403
    with service.client(user="bo", rights=["administer"]) as bo:  # runs have words of all users
        assert bo.get("/v1/evaluation").status_code == 404
        assert bo.get("/v1/evaluation/own/report").status_code == 404


SUMMARY = {
    "samples": 8,
    "failures": {"timeout": 1},
    "unanswered": 1,
    "metrics": {"evidence": {"mean": 0.75}, "f1": {"mean": None}},
    "categories": {"theanine": {"evidence": {"mean": 1.0}}},
    "spent": {"agent": {"cost": 0.5}},
}


def test_runs_are_listed_with_their_reports(
    http: httpx2.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    empty = http.get("/v1/evaluation").json()
    assert empty["runs"] == []
    write_runs(tmp_path / empty["folder"])
    check_runs(http, empty["folder"])


def test_runs_of_the_machine_are_for_no_key(
    dev_service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may have words of any tenant, or of none."""
    monkeypatch.chdir(tmp_path)
    write_runs(tmp_path / "runs")
    with dev_service.client("") as http:
        check_runs(http, str(tmp_path / "runs"))
    for tenant in ("default", "other"):
        with dev_service.client(rights=["administer"], tenant=tenant) as keyed:
            assert keyed.get("/v1/evaluation").json()["runs"] == []
            assert keyed.get("/v1/evaluation/own/report").status_code == 404
            for name in ("..%2Fown", "%2E%2E%2Fown", "tenant-default"):
                assert keyed.get(f"/v1/evaluation/{name}/report").status_code == 404


def write_runs(folder: Path) -> None:
    settings = {"bench": "compare", "config": {"method": "theanine"}}
    for name, text in (("own", json.dumps(SUMMARY)), ("broken", "{"), ("other", "[]")):
        (folder / name).mkdir(parents=True)
        (folder / name / "summary.json").write_text(text)
        (folder / name / "settings.json").write_text(json.dumps(settings))
    (folder / "own" / "report.html").write_text("<p>Report</p>")


def check_runs(http: httpx2.Client, folder: str) -> None:
    found = http.get("/v1/evaluation").json()
    assert found["folder"] == folder
    [run] = found["runs"]
    assert run["scores"] == {"": {"evidence": 0.75}, "theanine": {"evidence": 1.0}}
    assert (run["failures"], run["cost"], run["has_report"]) == (2, 0.5, True)
    report = http.get("/v1/evaluation/own/report")
    assert report.text == "<p>Report</p>"
    assert report.headers["Content-Security-Policy"].startswith("sandbox allow-scripts;")
    for name in ("broken", "*", "..%2Fruns%2Fown"):
        assert http.get(f"/v1/evaluation/{name}/report").status_code == 404
    # The client sends /v1/report, which may be a provider's path.
    assert http.get("/v1/evaluation/../report").status_code == 401
