"""Conversations: sessions as a person lists them, by month, and where memories were said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

import theanine
from server.conftest import running
from theanine.types import History, Transcript, Utterance
from theanine_server import ServerOptions

START = datetime(2025, 1, 1, tzinfo=UTC)


def make_history(seed: int) -> History:
    """Return conversations in no order of time, some without a date, in several time zones."""
    rng = Random(seed)
    transcripts: list[Transcript] = []
    for n in range(30):
        zone = timezone(timedelta(hours=rng.choice([-8, 0, 9])))
        at = (START + timedelta(minutes=rng.randrange(200_000))).astimezone(zone)
        roles = [rng.choice(["user", "assistant"]) for _ in range(rng.randint(1, 4))]
        turns = [
            Utterance(
                speaker="Ana" if role == "user" else "Bo",
                role=role,  # pyright: ignore[reportArgumentType]
                text=f"Turn {i}\nof {n}.",
                at=at,
            )
            for i, role in enumerate(roles)
        ]
        dated = rng.random() > 0.2
        metadata = {"title": f"Title {n}"} if rng.random() < 0.5 else {}
        transcripts.append(
            Transcript(key=f"{n}", at=at, turns=turns, dated=dated, metadata=metadata)
        )
    return History(name="ana", transcripts=transcripts)


@pytest.mark.parametrize("seed", range(3))
def test_all_conversations_are_listed_by_month(tmp_path: Path, seed: int) -> None:
    location = str(tmp_path / "memory.db")
    with theanine.open(location) as client:
        user = client.user("ana")
        user.log(make_history(seed))
        sessions, turns = user.sessions(), user.turns()
    options = ServerOptions(theanine.OpenOptions(location), dev=True)
    with running(options) as service, service.client() as http:
        path = "/v1/users/ana/conversations"
        months = http.get(f"{path}/months").json()
        assert [each["month"] for each in months] == sorted(
            {f"{s.started_at:%Y-%m}" if s.dated else "" for s in sessions}, reverse=True
        )
        assert sum(each["conversations"] for each in months) == len(sessions)
        listed: list[dict[str, object]] = []
        cursor = None
        while cursor is not None or not listed:
            page = http.get(path, params={"limit": 7, **({"cursor": cursor} if cursor else {})})
            listed += page.json()["items"]
            cursor = page.json()["next"]
        assert sorted(str(each["session"]) for each in listed) == sorted(
            str(session.id) for session in sessions
        )
        by_id = {session.id: session for session in sessions}
        for each in listed:
            session = by_id[int(str(each["session"]))]
            own = [turn for turn in turns if turn.session == session.id]
            first = next((turn for turn in own if turn.role == "user"), own[0])
            assert each["begins"] == " ".join(first.text.split())
            assert each["speakers"] == sorted({turn.speaker for turn in own})
            assert each["title"] == session.metadata.get("title", "")
            assert (each["turn_count"], each["remembered"]) == (len(own), False)
        order = [
            f"{s.started_at:%Y-%m}" if s.dated else ""
            for s in (by_id[int(str(each["session"]))] for each in listed)
        ]
        assert all(newer >= older for newer, older in pairwise(order))
        for month in months:
            found = http.get(path, params={"month": month["month"], "limit": 500}).json()["items"]
            assert found == listed[order.index(month["month"]) :]


def test_a_conversation_has_the_places_of_its_memories(tmp_path: Path) -> None:
    location = str(tmp_path / "memory.db")
    with theanine.open(location) as client:
        user = client.user("ana")
        user.log(make_history(0))
        user.add("I live in Lisbon.")
        user.remember()
        memories = user.memories()
        last = user.sessions()[-1].id
    options = ServerOptions(theanine.OpenOptions(location), dev=True)
    with running(options) as service, service.client() as http:
        path = "/v1/users/ana/conversations"
        places = {
            place["memory"]: place["turns"]
            for session in range(1, last + 1)
            for place in http.get(f"{path}/{session}").json()["places"]
        }
        assert places == {memory.id: [*memory.source_turns] for memory in memories}
        [place] = http.get(f"{path}/{memories[-1].session}").json()["places"]
        assert place["words"] == "I live in Lisbon."
        assert http.get(f"{path}/{last + 1}").status_code == 404
        assert http.get(path, params={"month": "June"}).status_code == 422


def test_what_has_expired_is_in_no_conversation(tmp_path: Path) -> None:
    now = datetime(2026, 6, 1, 12, 30, tzinfo=UTC)  # it is erased at the next full hour
    client_options = theanine.OpenOptions(str(tmp_path / "memory.db"), clock=lambda: now)
    with theanine.open(client_options.location, clock=client_options.clock) as client:
        user = client.user("ana")
        end = now - timedelta(minutes=10)
        user.add("The code is 4411.", at=end - timedelta(hours=1), expires=end)
        user.add("I live in Lisbon.")
        session = user.session("both")
        session.hear("The code is 4411.", at=end - timedelta(minutes=5), expires=end)
        session.hear("I have a dog.")
        assert {session.id for session in user.sessions()} == {2, 3}
        assert user.session("both").hear("It is a poodle.").session == 3
    options = ServerOptions(client_options, dev=True)
    with running(options) as service, service.client() as http:
        path = "/v1/users/ana/conversations"
        shown = http.get(path).json()["items"]
        assert {each["session"] for each in shown} == {2, 3}
        assert http.get(f"{path}/1").status_code == 404
        assert sum(each["conversations"] for each in http.get(f"{path}/months").json()) == 2
        shown += [http.get(f"{path}/{each['session']}").json() for each in list(shown)]
        assert "Lisbon" in str(shown) and "4411" not in str(shown)
