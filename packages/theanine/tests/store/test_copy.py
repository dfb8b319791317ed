"""Copies of a store: equal, resumed after a kill, and nothing forgotten comes back."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import theanine
from support.cancelling import MANNERS, Manner, run_cancelled
from support.fuzzing import cases
from support.postgres import MISSING, database_url
from support.running import Terminal
from theanine.demo import HARBOUR
from theanine.embeddings.hashing import HashEmbedder
from theanine.errors import NotFound, SettingsError, StoreError
from theanine.importers import read_histories
from theanine.store import open_store
from theanine.types import History, Scope, Transcript, Utterance

AT = datetime(2024, 3, 1, 10, tzinfo=UTC)
USERS = ("ana", "bo", "cleo")

SERVER = [pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=MISSING)]
KINDS = [
    pytest.param(("file", "file"), id="file-file"),
    *(
        pytest.param(pair, id="-".join(pair), marks=SERVER)
        for pair in (("file", "server"), ("server", "file"), ("server", "server"))
    ),
]


def locate(folder: Path, kind: str, name: str) -> str:
    return str(folder / f"{name}.db") if kind == "file" else database_url(folder / name)


@pytest.fixture(params=KINDS)
def places(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """Where a store is, and where it is copied to."""
    source, destination = request.param
    return locate(tmp_path, source, "source"), locate(tmp_path, destination, "destination")


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    return str(tmp_path / "source.db"), str(tmp_path / "destination.db")


def say(client: theanine.Client, user: str, *texts: str, key: str = "") -> None:
    with client.user(user).session(key or None) as session:
        for text in texts:
            session.hear(text)


@cache
def records() -> list[dict[str, Any]]:
    """Return the export of a store that has some of everything."""
    with TemporaryDirectory() as folder:
        location = str(Path(folder) / "memory.db")
        make(location)
        return export(location)


def fill(location: str) -> None:
    with theanine.open(location) as client:
        client.restore(records())


def make(location: str) -> None:
    with theanine.open(location) as client:
        ana = client.user("ana")
        history = read_histories(HARBOUR).histories[0]
        ana.log(History(name="ana", transcripts=history.transcripts[:4]))
        ana.remember()
        ana.correct(1, "Ana lives in Riga 🛶.")
        ana.pin(2)
        ana.forget(turn=ana.turns()[-1].id)
        ana.set_time_zone("Asia/Kathmandu")
        ana.session("open thread").hear("I am still talking.", metadata={"channel": "web"})
        for user in USERS[1:]:
            say(client, user, f"I am {user}.", "I keep bees.", key="one")
        client.user("ana", agent="bot", tenant="acme").add("I like tea.")
        say(client, "dora", "Nobody shall know.")
        client.user("dora").forget_all()
        client.user("bo").set_retention(timedelta(days=99_999))
        client.set_retention(timedelta(days=88_888))


def export(location: str) -> list[dict[str, Any]]:
    with theanine.open(location) as client:
        return list(client.export())


def test_a_copy_equals_its_source_and_is_made_once(places: tuple[str, str]) -> None:
    source, destination = places
    fill(source)
    before = export(source)
    seen: list[tuple[str, int]] = []
    report = theanine.copy_store(
        source, destination, progress=lambda done, total: seen.append((str(done), total))
    )
    assert (report.complete, report.copied, report.present) == (True, 4, 0)
    assert report.records == sum(
        record["type"] not in ("theanine", "erased_scope", "end") for record in before
    )
    assert sorted(seen) == [
        ("ana @ bot @ acme: copied", 4),
        ("ana: copied", 4),
        ("bo: copied", 4),
        ("cleo: copied", 4),
    ]
    assert export(destination) == before == export(source)
    for verify_only in (True, False):
        again = theanine.copy_store(source, destination, verify_only=verify_only)
        assert (again.complete, again.copied, again.present) == (True, 0, 4)
        assert again.records == report.records
    with theanine.open(source) as old, theanine.open(destination) as new:
        assert new.check() == ""
        assert new.method_name == old.method_name
        question = "Where is the boat?"
        assert new.user("ana").recall(question) == old.user("ana").recall(question)


def test_a_second_run_brings_what_is_new_and_nothing_that_was_forgotten(
    places: tuple[str, str],
) -> None:
    source, destination = places
    fill(source)
    theanine.copy_store(source, destination)
    with theanine.open(source) as client:
        client.user("bo").forget_all()
        say(client, "ana", "I sold the boat.")
        say(client, "eve", "I am new.")
    with theanine.open(destination) as client:
        client.user("cleo").forget_all()
    report = theanine.copy_store(source, destination)
    assert report.complete
    assert (report.copied, report.present, report.erased) == (2, 1, 1)
    assert report.forgotten == (Scope("cleo"),)
    with theanine.open(destination) as client:
        assert "I sold the boat." in [turn.text for turn in client.user("ana").turns()]
        assert Scope("bo") not in client.users()


def test_what_was_changed_at_the_destination_stays(files: tuple[str, str]) -> None:
    source, destination = files
    fill(source)
    theanine.copy_store(source, destination)
    with theanine.open(destination) as client:
        client.user("ana").forget(session=1)
        left = [turn.text for turn in client.user("ana").turns()]
        client.user("bo").forget_all()
    report = theanine.copy_store(source, destination)
    assert report.complete
    assert (report.newer, report.forgotten) == ((Scope("ana"),), (Scope("bo"),))
    with theanine.open(destination) as client:
        assert [turn.text for turn in client.user("ana").turns()] == left
        assert Scope("bo") not in client.users()
    with theanine.open(source) as client:  # now both have changed since the copy
        say(client, "ana", "I sold the boat.")
        say(client, "bo", "I am still here.")
        say(client, "cleo", "So am I.")
    report = theanine.copy_store(source, destination)
    assert not report.complete
    reasons = {str(each.scope): each.reason for each in report.failed}
    assert reasons.keys() == {"ana", "bo"}
    assert "ana is not empty here" in reasons["ana"]
    assert "was forgotten" in reasons["bo"]
    assert report.copied == 1
    with theanine.open(destination) as client:
        assert [turn.text for turn in client.user("ana").turns()] == left
        assert Scope("bo") not in client.users()


KILLED = """
import os, signal, sys
import anyio
from theanine.store import open_store
from theanine.store.copy import StoreCopy
from theanine.store.sqlite import SqliteStore

left = int(sys.argv[3])


class Killed(SqliteStore):
    async def export(self, scope=None):
        global left
        async for record in super().export(scope):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            yield record


async def copy():
    source, destination = Killed(sys.argv[1]), open_store(sys.argv[2])
    await source.open()
    await destination.open()
    await StoreCopy(source, destination).run()


anyio.run(copy)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("kind", ["file", pytest.param("server", marks=SERVER)])
def test_a_copy_that_was_killed_is_completed_by_the_next(tmp_path: Path, kind: str) -> None:
    source = locate(tmp_path, "file", "source")
    fill(source)
    before = export(source)
    present: list[int] = []
    for number, after in enumerate((0, 40, len(before) - 5)):
        destination = locate(tmp_path, kind, f"destination{number}")
        child = [sys.executable, "-c", KILLED, source, destination, str(after)]
        assert subprocess.run(child, check=False, timeout=60).returncode == -9
        with theanine.open(destination) as client:
            assert client.check() == ""
            partial = [record for record in client.export() if record["type"] != "end"]
        assert [record for record in partial if record not in before] in ([], partial[:1])
        report = theanine.copy_store(source, destination)
        assert report.complete
        assert report.copied + report.present == 4
        present.append(report.present)
        assert export(destination) == before == export(source)
    assert present == sorted(present)
    assert present[0] == 0 < present[2] < 4


@pytest.mark.anyio
@pytest.mark.parametrize("manner", MANNERS)
async def test_a_cancelled_copy_leaves_whole_users(files: tuple[str, str], manner: Manner) -> None:
    source, destination = files
    fill(source)
    before = {str(record.get("scope")): 0 for record in export(source)}
    for record in export(source):
        before[str(record.get("scope"))] += 1
    at, step = 1, 40
    while await run_cancelled(theanine.acopy_store(source, destination), at, manner):
        counts: dict[str, int] = {}
        if Path(destination).exists():
            store = open_store(destination)
            await store.open()
            async for record in store.export():
                counts[str(record.get("scope"))] = counts.get(str(record.get("scope")), 0) + 1
            await store.close()
        counts.pop("None", None)
        assert counts.items() <= before.items()
        at += step
    assert at > step
    assert export(source) == export(destination)


def test_users_that_change_while_it_runs_are_named(files: tuple[str, str]) -> None:
    source, destination = files
    fill(source)
    with theanine.open(source) as client:

        def change(done: object, _total: int) -> None:
            if str(done) == "cleo: copied":
                say(client, "ana", "I sold the boat.")
                say(client, "eve", "I am new.")

        report = theanine.copy_store(source, destination, progress=change)
    assert report.complete
    assert report.changed == (Scope("ana"), Scope("eve"))
    report = theanine.copy_store(source, destination)
    assert (report.copied, report.changed) == (2, ())
    assert export(source) == export(destination)


def test_only_some_users_are_copied(files: tuple[str, str]) -> None:
    source, destination = files
    fill(source)
    report = theanine.copy_store(source, destination, user="ana")
    assert (report.copied, report.complete) == (2, True)
    report = theanine.copy_store(source, destination, user="ana", agent="bot", tenant="acme")
    assert (report.present, report.complete) == (1, True)
    with theanine.open(destination) as client:
        assert client.users() == [Scope("ana", "bot", "acme"), Scope("ana")]
        assert client.retention() is None
    with pytest.raises(NotFound, match=r"nobody of user ana, agent nurse in .*source\.db"):
        theanine.copy_store(source, destination, user="ana", agent="nurse")


DAMAGE = {
    "a turn is gone": ("DELETE FROM turn WHERE scope = {0} AND id = 1", "2 records of type turn"),
    "a text differs": ("UPDATE turn SET text = 'x' WHERE scope = {0}", "type turn differ"),
    "a value is damaged": ("UPDATE turn SET notes = '{{' WHERE scope = {0}", "value is damaged"),
    "the zone differs": (
        "UPDATE scope_state SET time_zone = 'UTC' WHERE scope = {0}",
        "type scope differ",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("where", ["source", "destination"])
def test_a_difference_is_named_and_stops_no_other_user(
    files: tuple[str, str], damage: str, where: str
) -> None:
    source, destination = files
    fill(source)
    theanine.copy_store(source, destination, user="bo")
    change, reason = DAMAGE[damage]
    path = source if where == "source" else destination
    with sqlite3.connect(path) as db:
        [[number]] = db.execute("SELECT id FROM scope WHERE user = 'bo'").fetchall()
        db.execute(change.format(number))
    db.close()
    if damage == "a turn is gone" and where == "source":
        reason = "1 records of type turn are 2 at the destination"
    report = theanine.copy_store(source, destination)
    assert (report.copied, report.complete) == (3, False)
    [failed] = report.failed
    assert failed.scope == Scope("bo")
    assert reason in failed.reason
    terminal = Terminal(Path(source))
    ran = terminal.bare("copy", source, destination, "--verify-only", fine=False)
    assert ran.code == 1
    assert ran.out.startswith("Equal in both stores: 3 users, ")
    [line] = ran.err.splitlines()
    assert line == f"bo: {failed.reason}"


def test_what_cannot_be_copied_is_refused_before_anything_is_made(files: tuple[str, str]) -> None:
    source, destination = files
    with pytest.raises(NotFound, match=r"no store at .*source\.db"):
        theanine.copy_store(source, destination)
    assert not Path(source).exists()
    fill(source)
    with pytest.raises(SettingsError, match="the same store"):
        theanine.copy_store(source, f"sqlite:///{source}")
    with pytest.raises(NotFound, match=r"no store at .*destination\.db"):
        theanine.copy_store(source, destination, verify_only=True)
    assert not Path(destination).exists()
    with theanine.open(destination, embedder=HashEmbedder()) as client:
        say(client, "eve", "I sold my boat in Riga to a fisherman.")
        client.remember()
    with theanine.open(source, method="theanine-paper") as client:
        client.user("ana").recall("my boat")  # makes the vectors of memories
    with pytest.raises(SettingsError, match="theanine reembed"):
        theanine.copy_store(source, destination)
    with sqlite3.connect(source) as db:
        db.execute("UPDATE alembic_version SET version_num = '0009'")
    db.close()
    with pytest.raises(StoreError, match="of another version of theanine"):
        theanine.copy_store(source, destination)


def test_the_source_is_not_changed(files: tuple[str, str]) -> None:
    source, destination = files
    fill(source)
    before = Path(source).read_bytes()
    theanine.copy_store(source, destination)
    assert Path(source).read_bytes() == before


def test_the_command_tells_what_it_did(files: tuple[str, str]) -> None:
    source, destination = files
    fill(source)
    terminal = Terminal(Path(source))
    ran = terminal.bare("copy", source, destination)
    assert ran.out.startswith("Equal in both stores: 4 users, ")
    assert ran.out.endswith(" records; 4 copied now\n")
    assert ran.err == ""
    with theanine.open(destination) as client:
        say(client, "ana", "I sold the boat.")
        client.user("bo").forget_all()
    ran = terminal.bare("copy", source, destination)
    assert "Kept, because the destination has later changes: ana\n" in ran.out
    assert "Left out, because the destination has forgotten them: bo\n" in ran.out
    ran = terminal.bare("copy", source, destination, "--json")
    assert (ran.json["present"], ran.json["forgotten"][0]["user"]) == (2, "bo")
    ran = terminal.bare("copy", source, source, fine=False)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)


def test_a_user_of_both_stores_is_left_as_it_is(files: tuple[str, str]) -> None:
    source, destination = files
    for location, text in ((source, "I keep bees."), (destination, "I keep goats.")):
        with theanine.open(location) as client:
            say(client, "bo", text, key="one")
    before = export(destination)
    [failed] = theanine.copy_store(source, destination).failed
    assert "bo is not empty here (sessions: 1, turns: 1, memories: 0)" in failed.reason
    assert export(destination) == before
    with theanine.open(destination) as client:
        client.user("bo").forget_all()
    assert theanine.copy_store(source, destination).complete


OPERATIONS = ("log", "remember", "forget turn", "forget user", "pin", "zone", "copy")


@pytest.mark.fuzz
@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
@given(
    st.lists(st.tuples(st.sampled_from(OPERATIONS), st.sampled_from(USERS)), max_size=15),
    st.randoms(use_true_random=False),
)
@cases(3)
def test_any_history_is_the_same_there_and_back(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[str, str]], random: Any
) -> None:
    """Copied while it grows, from a file to a server and to another file."""
    folder = tmp_path_factory.mktemp("copies")
    source, middle, back = (
        locate(folder, kind, name)
        for kind, name in (("file", "source"), ("server", "middle"), ("file", "back"))
    )
    with theanine.open(source) as client:
        say(client, "ana", "I keep bees.")
        for number, (operation, user) in enumerate([*operations, ("copy", "")]):
            if operation == "copy":
                for start, end in ((source, middle), (middle, back)):
                    report = theanine.copy_store(start, end)
                    assert report.complete
                    assert not (report.newer or report.forgotten or report.changed)
                assert export(back) == export(middle) == list(client.export())
            else:
                _change(client.user(user), operation, number, random)


def _change(user: theanine.UserMemory, operation: str, number: int, random: Any) -> None:
    turns, memories = user.turns(), user.memories()
    match operation:
        case "log":
            texts = [f"Number {number}.{turn} is about bees." for turn in range(3)]
            said = [Utterance(text=text, speaker=user.name, at=AT) for text in texts]
            user.log(
                History(
                    name=user.name, transcripts=[Transcript(key=f"s{number}", turns=said, at=AT)]
                )
            )
        case "remember":
            user.remember()
        case "forget turn" if turns:
            user.forget(turn=random.choice(turns).id)
        case "forget user" if turns:
            user.forget_all()
        case "pin" if memories:
            user.pin(random.choice(memories).id)
        case "zone":
            user.set_time_zone(random.choice(["Asia/Tokyo", "UTC", None]))
        case _:
            pass
