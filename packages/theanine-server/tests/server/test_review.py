"""Review: what is doubtful is listed until a person accepts, corrects or forgets it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

import theanine
from server.conftest import Service
from support.doubtful import log_doubtful
from theanine.methods.theanine.local_relate import read_chance
from theanine.types import Link, Memory, Relation
from theanine_server.page.review import SURE, find_doubtful

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
REVIEW = "/v1/users/ana/review"


def made(number: int, **values: Any) -> Memory:
    common: dict[str, Any] = {
        "session": number,
        "text": f"Statement {number}.",
        "at": START,
        "session_ended_at": START,
        "kind": "statement",
        "speakers": ("Ana",),
        "source_turns": (number,),
    }
    return Memory(id=number, **{**common, **values})


def link(older: int, newer: int, relation: Relation | None, chance: int, by: str = "local") -> Link:
    why = f"both mention tea ({chance}%)"
    return Link(older=older, newer=newer, relation=relation, explanation=why, made_by=by)


def test_contradictions_come_first_then_repaired_then_the_least_sure() -> None:
    memories = [made(n) for n in range(1, 6)]
    memories.append(made(6, made_by="m", prompt="extract@2", session=9))
    links = [
        link(1, 2, Relation.CHANGED, 66),
        link(1, 3, Relation.WANT, 58),
        link(1, 4, Relation.HINDERED_BY, 90),
        link(2, 5, Relation.CHANGED, 96),
        link(3, 5, Relation.SAME_TOPIC, 56),
        link(4, 5, None, 56),
        link(2, 6, Relation.CAUSE, 56, by="m"),
    ]
    repaired = {(9, "extract", "m"), (1, "extract", "m")}
    found = find_doubtful(memories, links, set(), repaired)
    kinds = [(each.memory, each.doubts[0].kind) for each in found]
    assert kinds == [(4, "contradiction"), (6, "repaired"), (3, "unsure"), (2, "unsure")]
    assert found[2].doubts[0].chance == 0.58 < SURE and found[2].doubts[0].other == 1
    # Either side of a contradiction settles it; the others by themselves.
    settled = find_doubtful(memories, links, {1, 3}, repaired)
    assert [each.memory for each in settled] == [6, 2]


@pytest.mark.parametrize("text", ["both mention tea", "grew by 5%", "(5%) more", ""])
def test_only_the_linkers_own_chance_is_read(text: str) -> None:
    assert read_chance(text) is None


@pytest.fixture
def http(service: Service) -> Iterator[httpx2.Client]:
    with theanine.open(service.location) as client:
        log_doubtful(client.user("ana"))
    with service.client(rights=["read", "write"]) as connected:
        yield connected


def test_what_is_accepted_is_not_listed_again_and_stays_in_effect(
    http: httpx2.Client, service: Service
) -> None:
    first, *others = http.get(REVIEW).json()
    assert first["doubts"][0]["kind"] == "unsure" and others
    graph, marks = http.get("/v1/users/ana/graph").json(), http.get("/v1/users/ana/marks").json()
    url = f"/v1/users/ana/memories/{first['memory']}/accepted"
    assert http.put(url).json() == {"changed": True}
    assert http.put(url).json() == {"changed": False}
    assert http.get(REVIEW).json() == others
    assert http.get("/v1/users/ana/graph").json() == graph, "it is as it was"
    assert http.get("/v1/users/ana/marks").json() == marks
    assert '"accepted"' in http.get("/v1/users/ana/export").text, "an export keeps it"
    assert http.put("/v1/users/ana/memories/999/accepted").status_code == 404
    with service.client(rights=["read"]) as reader:
        assert reader.get(REVIEW).status_code == 200
        assert reader.put(url).status_code == 403
    with theanine.open(service.location) as client:
        ana = client.user("ana")
        accepted = ana.get(first["memory"])
        recalled = ana.recall(accepted.text).source_turns
        assert set(accepted.source_turns) & {turn.id for turn in recalled}


def test_what_is_corrected_or_forgotten_is_doubtful_no_more(http: httpx2.Client) -> None:
    first, second, *others = [each["memory"] for each in http.get(REVIEW).json()]
    said = {"text": "I live in Maribor now."}
    http.post(f"/v1/users/ana/memories/{first}/corrections", json=said)
    http.post("/v1/users/ana/forgetting", json={"memory": second})
    left = [each["memory"] for each in http.get(REVIEW).json()]
    assert first not in left and second not in left and set(left) <= set(others)
