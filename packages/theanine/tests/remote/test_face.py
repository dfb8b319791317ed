"""The same calls on a store and on a service give the same results."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from server.conftest import open_client, running

import theanine
from theanine.client import AsyncLiveSession, AsyncUserMemory
from theanine.errors import BadInput, NotFound, SettingsError, StoreUnavailable, UserError
from theanine.remote.session import AsyncRemoteSession
from theanine.remote.user import AsyncRemoteUser
from theanine.types import History, Transcript, Utterance
from theanine_server import ServerOptions

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
RIGHTS = ("read", "write", "reply", "administer")


@pytest.fixture(params=["store", "service"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[theanine.Client]:
    with open_client(request.param, str(tmp_path / "memory.db"), RIGHTS) as client:
        yield client


def test_a_conversation(client: theanine.Client) -> None:
    ana = client.user("ana")
    with ana.session() as session:
        heard = session.hear("I live in Lisbon and I'm vegan.", at=AT, metadata={"channel": "web"})
        assert (heard.text, heard.at, heard.session) == ("I live in Lisbon and I'm vegan.", AT, 1)
        assert [turn.text for turn in session.turns()] == [heard.text]
        assert session.messages() == [{"role": "user", "content": heard.text}]
    [memory] = ana.memories()
    assert memory.source_turns == (heard.id,)
    friday = ana.session("friday")
    question = friday.hear("What may I eat?", id="m1")
    assert friday.hear("What may I eat?", id="m1") == question
    found = friday.recall(budget=300)
    assert found.memories == (memory,) and "vegan" in found.text
    assert found.messages()[0]["role"] == "user"
    said = friday.say("Anything without milk.")
    assert said.recalled == (memory.id,)
    assert friday.end(remember=True)[0].failure is None
    assert [each.thread for each in ana.sessions(thread="friday")] == ["friday"]
    assert ana.recall("Where does she live?", since="2026-01-01").memories
    assert not ana.recall("Where does she live?", until=AT - timedelta(days=1))
    assert not ana.recall("Where does she live?", where={"channel": "phone"})
    [hit] = ana.search("Lisbon", limit=1, where="channel=web or channel=phone")
    assert (hit.turn, hit.memories) == (heard, (memory,))
    assert 0 < (hit.relevance or 0) <= 1 and hit.score
    assert ana.search("Lisbon", where={"or": [{"channel": "phone"}, {"channel": "app"}]}) == []
    found = ana.search("I", exact=True, limit=1)
    assert found.found >= len(found) == 1
    assert ana.turns(where={"or": [{"channel": "web"}, {"channel": "app"}]}) == [heard]
    assert ana.turns(where="channel=web and channel!=app") == [heard]
    odds: list[Any] = ["channel", {"or": [{}]}, '{"channel": ']
    for odd in odds:
        with pytest.raises(SettingsError, match="where"):
            ana.turns(where=odd)
        with pytest.raises(SettingsError, match="where"):
            ana.search("Lisbon", where=odd)
    assert [scope.user for scope in client.users()] == ["ana"]


NAMES = [
    "a/b",
    "/",
    "a%2Fb",
    "a/threads/b",
    "\ufdd0",
    "\ufdd01",
    "\ufdd0/",
    "ä b?c#d",
    "..",
    "a\\b",
]


def test_any_name_is_kept(client: theanine.Client) -> None:
    for number, user in enumerate(NAMES):
        thread = NAMES[-1 - number]
        client.user(user).session(thread).hear(f"I am number {number}.")
        client.user(user).add("And this.", session=f"{thread}/more")
    assert sorted(scope.user for scope in client.users()) == sorted(NAMES)
    for number, user in enumerate(NAMES):
        thread, memory = NAMES[-1 - number], client.user(user)
        assert [turn.text for turn in memory.turns(thread=thread)] == [f"I am number {number}."]
        assert {each.thread for each in memory.sessions()} == {thread, f"{thread}/more"}
        assert memory.forget(thread=thread).turns == 1
        assert len(memory.turns()) == 1


def test_what_json_cannot_hold_is_refused(client: theanine.Client) -> None:
    with pytest.raises(BadInput):
        client.user("ana").add([{"role": "user", "content": object()}])
    assert client.user("ana").turns() == []


def test_lists_and_pages(client: theanine.Client) -> None:
    ana = client.user("ana")
    session = ana.session("birds")
    for number in range(1, 8):
        session.hear(f"I saw bird number {number}.")
    assert [turn.id for turn in ana.turns()] == [*range(1, 8)]
    assert [turn.id for turn in ana.turns(limit=2, after=3)] == [4, 5]
    assert [turn.id for turn in ana.turns(newest_first=True, limit=2)] == [7, 6]
    assert [turn.id for turn in ana.turns(search="number 5")] == [5]
    assert [turn.id for turn in ana.turns(ids=[6, 2, 99])] == [2, 6]
    assert ana.turns(thread="cats") == []


def test_memories_are_corrected_pinned_and_forgotten(client: theanine.Client) -> None:
    ana = client.user("ana")
    ana.add("I live in Lisbon.", at=AT)
    ana.add([{"role": "user", "content": "I'm allergic to hazelnuts."}], at=AT)
    ana.remember()
    first, second = ana.memories()
    corrected = ana.correct(first.id, "Ana lives in Porto.")
    assert ana.history(first.id) == [first, corrected]
    assert [mark.kind for mark in ana.marks()] == ["corrected"]
    assert [(link.older, link.newer) for link in ana.links()] == [(first.id, corrected.id)]
    assert ana.timelines(first.id)[0].memories == (first, corrected)
    assert (ana.pin(second.id), ana.pin(second.id), ana.unpin(second.id)) == (True, False, True)
    assert ana.get(second.id) == second
    assert ana.forget(memory=second.id).memories == 1
    with pytest.raises(NotFound):
        ana.get(second.id)
    assert ana.forget_all().verified
    assert ana.memories() == []


def test_what_ends_by_itself(client: theanine.Client) -> None:
    ana = client.user("ana")
    ana.add("The code of the gate is 7.", at=AT - timedelta(days=9_000), expires="2020-01-01")
    ana.add("The code of the door is 8.", expires=AT + timedelta(days=40_000), verify_by=AT)
    session = ana.session("codes")
    session.hear("The code of the safe is 9.", verify_by=date(2020, 1, 1))
    session.say("The code of the car is 10.", at=AT - timedelta(days=1), expires=AT)
    bike = {"role": "user", "content": "The code of the bike is 11."}
    session.add([bike], at=AT - timedelta(days=1), expires=AT)
    session.add("The code of the shed is 12.", metadata={"verify_by": "2127-01-01"})
    shown = ["door is 8.", "safe is 9.", "shed is 12."]
    assert [turn.text.split("the ")[1] for turn in ana.turns()] == shown
    assert [turn.text.split("the ")[1] for turn in ana.turns(due=True)] == shown[:2]
    assert "unverified since 1 March 2026" in ana.recall("What is the code of the door?").text
    [due] = ana.memories(due=True)
    right = ana.correct(due.id, "The code of the door is 80.", verify_by="2127-01-01")
    assert right.metadata == {
        "expires": due.metadata["expires"],
        "verify_by": "2127-01-01T23:59:59+00:00",
    }
    assert ana.memories(due=True) == []
    ana.expire()  # as far as remembering has not done it
    exported = str([*ana.export()])
    assert "shed" in exported and not any(word in exported for word in ("gate", "car", "bike"))
    for odd in ("never", "", "2020-13-01"):
        with pytest.raises(BadInput, match="expires"):
            ana.add("The code of the boat is 12.", expires=odd)
        with pytest.raises(BadInput, match="verify_by"):
            ana.correct(right.id, "Eight.", verify_by=odd)


def test_the_users_name_tells_their_words_from_others(client: theanine.Client) -> None:
    ana = client.user("u-17", name="Ana Kovač")
    session = ana.session("group")
    session.hear("I live in Rijeka.", at=AT)
    session.hear("I live in Split.", speaker="Bo", at=AT)
    found = ana.profile()
    assert (found.user, [line.text for line in found.lines]) == ("Ana Kovač", ["I live in Rijeka."])
    assert not client.user("u-17").profile()  # either of them may be u-17
    bo = client.user("u-17", name="Bo").profile()
    assert [line.text for line in bo.lines] == ["I live in Split."]


def test_histories_settings_and_exports(client: theanine.Client) -> None:
    ana = client.user("ana")
    said = [Utterance(text="I live in Lisbon.", speaker="Ana", at=AT, key="t1")]
    history = History(name="ana", transcripts=[Transcript(key="s1", turns=said, at=AT)])
    assert ana.log(history).turns_new == 1
    assert ana.log(history).turns_new == 0
    assert len(ana.pending()) == 1
    [report] = ana.remember()
    assert (report.memories, report.failure) == (1, None)
    assert ana.rebuild(again=True).reports[0].memories == 1
    assert ana.pending() == [] == ana.costs()
    ana.set_time_zone("Europe/Zagreb")
    ana.set_retention(timedelta(days=90_000))
    assert ana.settings() == theanine.UserSettings(
        time_zone="Europe/Zagreb", retention=timedelta(days=90_000)
    )
    assert ana.expire() == []
    assert client.retention(tenant=None) is None
    assert [record["type"] for record in ana.export()][::2][:1] == ["theanine"]


def test_replies_without_a_model(client: theanine.Client) -> None:
    ana = client.user("ana")
    ana.add("I'm allergic to hazelnuts.")
    session = ana.session("friday")
    session.hear("Which cake may I eat, no hazelnuts?")
    reply = session.reply()
    assert "hazelnuts" in reply.text and reply.recollection
    session.hear("And without hazelnuts, which ice cream?")
    stream = session.reply(stream=True)
    text = "".join(stream)
    assert stream.reply is not None and stream.reply.text == text.strip()
    assert [turn.role for turn in ana.turns(thread="friday")] == ["user", "assistant"] * 2
    assert "hazelnuts" in ana.reply("May I eat a cake with hazelnuts?").text


def test_errors_are_the_same(client: theanine.Client) -> None:
    ana = client.user("ana")
    for call, error in (
        (lambda: ana.session("t").hear(" "), BadInput),
        (lambda: ana.recall(" "), BadInput),
        (lambda: ana.get(7), NotFound),
        (lambda: ana.forget_all(), NotFound),
        (lambda: ana.forget(), BadInput),
        (lambda: ana.set_time_zone("Nowhere/City"), SettingsError),
        (lambda: ana.recall("Where?", since="the day of the whale"), SettingsError),
        (lambda: client.user(" "), BadInput),
    ):
        with pytest.raises(error):
            call()


def test_a_service_that_is_gone_and_a_key_that_is_not_valid(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="address of a service"):
        theanine.connect("memory.example")
    with pytest.raises(StoreUnavailable, match="can't be reached"):
        theanine.connect("http://127.0.0.1:9")
    options = ServerOptions(theanine.OpenOptions(str(tmp_path / "memory.db")))
    with running(options) as service, pytest.raises(UserError, match="unknown, expired"):
        theanine.connect(service.url, key="theanine_0_0")
    with running(options) as service, pytest.raises(UserError, match="pass it as key="):
        theanine.connect(service.url)
    with running(replace(options, dev=True)) as service, theanine.connect(service.url) as client:
        assert client.users() == []
        with pytest.raises(UserError, match="no theanine service answers at"):
            theanine.connect(f"{service.url}/elsewhere")
        with pytest.raises(AttributeError, match="command line"):
            client.reembed()


@pytest.mark.parametrize(
    ("local", "remote"),
    [(AsyncUserMemory, AsyncRemoteUser), (AsyncLiveSession, AsyncRemoteSession)],
)
def test_the_faces_have_the_same_methods(local: type, remote: type) -> None:
    lacking = {"start_remembering", "estimate", "add_alone"}
    for name, method in inspect.getmembers(local, inspect.isfunction):
        if name.startswith("_") or name in lacking:
            continue
        parameters = inspect.signature(method).parameters
        assert [*parameters] == [*inspect.signature(getattr(remote, name)).parameters], name


def test_a_recall_and_a_past_reply_are_explained(client: theanine.Client) -> None:
    ana = client.user("ana")
    ana.add("I'm allergic to hazelnuts.", at=AT)
    session = ana.session("friday")
    session.hear("Which cake may I eat, no hazelnuts?", at=AT + timedelta(days=1))
    session.reply(at=AT + timedelta(days=1, minutes=1))
    explained = ana.explain("What about hazelnuts?", budget=200)
    assert explained.recollection == ana.recall("What about hazelnuts?", budget=200)
    assert "hazelnuts" in explained.prompt and explained.budget == 200
    assert explained.candidates[0].outcome == "returned"
    past = ana.explain(ana.turns(thread="friday")[-1])
    assert past.recalled == (1,) == tuple(memory.id for memory in past.recollection.memories)
    assert ana.explain("What about hazelnuts?", method="utterance").candidates == ()
    with pytest.raises(SettingsError):
        ana.explain("What about hazelnuts?", method="nonsense")


def test_what_is_known_of_a_user(client: theanine.Client) -> None:
    ana = client.user("ana")
    ana.add("I live in Lisbon and I have a dog called Bura.", at=AT)
    ana.add("I moved to Porto.", at=AT + timedelta(days=30))
    profile = ana.profile()
    assert [line.text for line in profile.areas["home"]] == ["I moved to Porto."]
    assert [state.text for state in profile.areas["home"][0].before] == ["I live in Lisbon"]
    assert [change.text for change in profile.changes] == ["I moved to Porto."]
    assert [entity.name for entity in profile.entities] == ["Bura", "Lisbon", "Porto"]
    then = ana.profile(as_of=AT)
    assert [line.text for line in then.areas["home"]] == ["I live in Lisbon"]
    found = ana.recall("Is there any cheese?", profile=True)
    assert found.parts[0].text == profile.text
    with pytest.raises(SettingsError, match="as_of"):
        ana.profile(as_of="some day")
