"""The graph of a user: what the page draws, whole or in parts."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import anyio
import httpx2
import pytest

from server.conftest import Service
from support.lives import fill_store
from support.states import fill_with_states

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def say(http: httpx2.Client, day: int, text: str) -> None:
    """Log what was said on a day, and remember it."""
    http.post(
        "/v1/users/ana/messages",
        json={
            "messages": [{"role": "user", "content": text}],
            "at": (START + timedelta(days=day)).isoformat(),
        },
    )


def test_the_graph_has_every_memory_once_in_a_topic(service: Service) -> None:
    with service.client(rights=["read", "write", "reply", "administer"]) as http:
        say(http, 0, "I'm terrified of ships since the storm off Cres.")
        say(http, 30, "I'm no longer afraid of ships; the ferry to Cres was calm.")
        say(http, 31, "My sister Bura bakes bread.")
        http.post("/v1/users/ana/pending/retry")
        graph = http.get("/v1/users/ana/graph").json()
        numbers = sorted(memory["id"] for memory in graph["memories"])
        assert sorted(id for topic in graph["topics"] for id in topic["memories"]) == numbers
        sizes = [len(topic["memories"]) for topic in graph["topics"]]
        assert sizes == [2, 1], "the topic with the most to tell comes first"
        assert graph["memories"][0]["words"].startswith("I'm terrified of ships")
        http.put(f"/v1/users/ana/memories/{numbers[0]}/pin")
        corrected = http.post(
            f"/v1/users/ana/memories/{numbers[-1]}/corrections", json={"text": "Bura bakes cakes."}
        ).json()
        graph = http.get("/v1/users/ana/graph").json()
        assert [memory["pinned"] for memory in graph["memories"]].count(True) == 1
        [end] = graph["ends"]
        assert (end["memory"], end["kind"], end["by"]) == (
            numbers[-1],
            "corrected",
            corrected["id"],
        )
        pair = {"older": numbers[-1], "newer": corrected["id"], "relation": "Changed"}
        assert pair in graph["links"]


def test_a_state_has_the_topic_and_the_end_of_its_statements(service: Service) -> None:
    fill_with_states(service.location)
    with service.client() as http:
        graph = http.get("/v1/users/ana/graph").json()
        kinds = {memory["id"]: memory["kind"] for memory in graph["memories"]}
        assert [id for id, kind in kinds.items() if kind == "state"] == [3, 5]
        [topic] = graph["topics"]
        assert (topic["memories"], topic["repeats"]) == ([1, 2, 4], [3, 5])
        [end] = graph["ends"]
        assert (end["memory"], end["kind"], end["by"]) == (3, "superseded", 4)
        assert end["at"] == next(each["at"] for each in graph["memories"] if each["id"] == 4)
        corrected = http.post(
            "/v1/users/ana/memories/2/corrections", json={"text": "The keys hang in The Hague."}
        ).json()["id"]
        ends = http.get("/v1/users/ana/graph").json()["ends"]
        assert {(end["memory"], end["kind"], end["by"]) for end in ends} == {
            (2, "corrected", corrected),
            (3, "superseded", 4),
            (5, "superseded", corrected),
        }
        assert len(ends) == 3


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_a_graph_in_parts_is_the_whole_graph(service: Service, encoding: str) -> None:
    with ThreadPoolExecutor() as other:  # where no event loop runs
        other.submit(anyio.run, fill_store, service.location, 1_200).result()
    headers = {"Accept": "application/x-ndjson", "Accept-Encoding": encoding}
    with service.client() as http:
        whole = http.get("/v1/users/ana/graph").json()
        answer = http.get("/v1/users/ana/graph", headers=headers)
    assert answer.headers.get("content-encoding", "identity") == encoding
    parts = [json.loads(line) for line in answer.text.splitlines()]
    assert len(parts) == 2
    assert len(parts[0]["memories"]) < len(parts[1]["memories"])
    known = set[int]()
    for part in parts:
        known |= {memory["id"] for memory in part["memories"]}
        assert all({link["older"], link["newer"]} <= known for link in part["links"])
        assert all(end["memory"] in known for end in part["ends"])
    for name in ("memories", "links", "ends", "topics"):
        joined = [each for part in parts for each in part[name]]
        assert sorted(map(json.dumps, joined)) == sorted(map(json.dumps, whole[name]))
    assert [topic for part in parts for topic in part["topics"]] == whole["topics"]
