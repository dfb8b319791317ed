"""The complete path without a model: log, remember, link, recall."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theanine
from theanine import TheanineConfig, TheaninePaperConfig
from theanine.demo import HARBOUR, load_questions
from theanine.errors import BadInput, RememberingFailed
from theanine.graph import Graph
from theanine.importers import read_histories
from theanine.methods.theanine.local_relate import READ
from theanine.testing import ScriptedServer, answer, status
from theanine.types import History, Link, Memory, Timeline, Transcript, Utterance


def demo() -> History:
    return read_histories(HARBOUR).histories[0]


def graph_of(client: theanine.Client, user: str) -> tuple[list[Memory], list[Link]]:
    memories: list[Memory] = client.user(user).memories()
    links: list[Link] = client.user(user).links()
    return memories, links


def remembered(
    path: Path,
    histories: Sequence[History],
    config: TheanineConfig | TheaninePaperConfig | None = None,
) -> tuple[list[Memory], list[Link]]:
    with theanine.open(str(path), config=config) as client:
        for history in histories:
            client.user("ana").log(history)
            client.user("ana").remember()
        return graph_of(client, "ana")


def test_a_store_is_opened_by_its_path(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "m.db") as client:
        client.user("ana").add("I'm vegan.")
    assert (tmp_path / "m.db").exists()


def test_a_users_words_are_shown_with_the_users_name(tmp_path: Path) -> None:
    id_ = "7f9c24e8-3b12-4c0d-9a55-1f0e6a7b8c9d"
    with theanine.open(tmp_path / "m.db") as client:
        ana = client.user(id_, name="Ana")
        ana.add("I'm vegan.")
        with ana.session("thread-42") as live:
            live.hear("I live in Lisbon.")
            live.add([{"role": "user", "content": "I keep bees."}])
            live.end()
        ana.correct(ana.memories(search="bees")[0].id, "I keep wasps.")
        assert {turn.speaker for turn in ana.turns()} == {"Ana"}
        assert "\nAna: I'm vegan." in ana.recall("Am I vegan?").text
        assert (ana.name, client.user("bo").name) == ("Ana", "bo")
        with pytest.raises(BadInput, match="the user's name is empty"):
            client.user("ana", name=" ")


FORK = """
import os, sys, theanine
from theanine.errors import StoreError
client = theanine.open(sys.argv[1])
ana = client.user("ana")
ana.add("I'm vegan.")
if os.fork() == 0:
    for use in (client.users, lambda: ana.recall("Vegan?"), ana.session("k").messages):
        try:
            use()
        except StoreError as error:
            assert "open a client in each process" in str(error), error
        else:
            raise AssertionError(use)
    if sys.argv[2] == "close":
        client.close()
    with theanine.open(sys.argv[1]) as own:
        own.user("ana").add("I live in Lisbon.")
    sys.stdout.flush()
    os._exit(7)  # onnxruntime has a thread that a forked process lacks, and misses at a normal exit
_, status = os.wait()
assert os.waitstatus_to_exitcode(status) == 7, status
assert len(ana.turns()) == 2
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.slow
@pytest.mark.parametrize("end", ["close", "leave open"])
def test_a_client_from_before_a_fork_is_refused(tmp_path: Path, end: str) -> None:
    program = [sys.executable, "-c", FORK, str(tmp_path / "m.db"), end]
    subprocess.run(program, check=True, timeout=60)


def test_recall_returns_heard_turns_with_their_source(tmp_path: Path) -> None:
    with theanine.open(str(tmp_path / "m.db")) as client:
        with client.user("ana").session() as session:
            session.hear("I'm terrified of ships since the storm.")
            assert "No language model" in session.reply().text
        recollection = client.user("ana").recall("Shall we book that cruise on a ship?")
        assert "terrified of ships" in recollection.text
        assert [turn.speaker for turn in recollection.source_turns] == ["ana"]


def test_the_local_reply_is_not_remembered_as_new(tmp_path: Path) -> None:
    with theanine.open(str(tmp_path / "m.db")) as client:
        for _ in range(2):
            with client.user("ana").session() as session:
                session.hear("My sister Mia is getting married in Split in September.")
                session.reply()
        speakers = {name for memory in client.user("ana").memories() for name in memory.speakers}
        assert speakers == {"ana"}


@pytest.mark.slow
def test_live_and_imported_sessions_give_the_same_graph(tmp_path: Path) -> None:
    complete = demo()
    single_sessions = [
        History(name=complete.name, transcripts=[transcript]) for transcript in complete.transcripts
    ]
    assert remembered(tmp_path / "a.db", [complete]) == remembered(
        tmp_path / "b.db", single_sessions
    )


@pytest.mark.slow
def test_repeating_an_import_changes_nothing(tmp_path: Path) -> None:
    assert remembered(tmp_path / "a.db", [demo()]) == remembered(tmp_path / "b.db", [demo()] * 2)


@pytest.mark.parametrize("config", [TheanineConfig(), TheaninePaperConfig(retrieval="hybrid")])
def test_links_run_forward_and_few_into_a_memory(
    tmp_path: Path, config: TheanineConfig | TheaninePaperConfig
) -> None:
    memories, links = remembered(tmp_path / "m.db", [demo()], config)
    by_id = {memory.id: memory for memory in memories}
    assert links
    for link in links:
        older, newer = by_id[link.older], by_id[link.newer]
        assert older.at <= newer.at
        assert older.session < newer.session
    for memory in memories:
        before = [edge for edge in links if by_id[edge.newer].session < memory.session]
        ends = [link.older for link in links if link.newer == memory.id]
        graph = Graph(before)
        if isinstance(config, TheanineConfig):
            assert len(set(ends)) == len(ends) <= READ
        else:
            assert len({graph.component(end) for end in ends}) == len(ends)


def test_the_demo_answers_its_questions(tmp_path: Path) -> None:
    with theanine.open(str(tmp_path / "m.db")) as client:
        client.user("ana").log(demo())
        client.user("ana").remember()
        for question in load_questions():
            recollection = client.user("ana").recall(question.question)
            assert {turn.key for turn in recollection.source_turns} & set(question.sources), (
                question.question
            )
            assert recollection == client.user("ana").recall(question.question)
        lines: list[Timeline] = client.user("ana").timelines()
        assert lines
        for line in lines:
            ids = {memory.id for memory in line.memories}
            assert line.title and len({memory.text for memory in line.memories}) == len(ids)
            assert [*line.memories] == sorted(line.memories, key=lambda memory: memory.order)
            assert all({link.older, link.newer} <= ids for link in line.links)


def test_users_are_isolated(tmp_path: Path) -> None:
    with theanine.open(str(tmp_path / "m.db")) as client:
        with client.user("ana").session() as session:
            session.hear("I keep my savings in a blue tin under the stairs.")
        assert not client.user("bob").recall("Where are the savings?")
        assert client.user("bob").memories() == client.user("bob").turns() == []


def test_a_failing_model_loses_no_turn_and_is_resumed(tmp_path: Path) -> None:
    pytest.importorskip("pydantic_ai", reason="needs the extra theanine[models]")
    limits = theanine.Limits(retries=1, first_wait=0.01)
    with ScriptedServer(lambda _: status(500)) as server:
        place = str(tmp_path / "m.db")
        opened = theanine.open(
            place, model="openai:scripted", base_url=server.base_url, limits=limits
        )
        with opened as client:
            session = client.user("ana").session()
            session.hear("I moved to Split because my sister lives there.")
            with pytest.raises(RememberingFailed, match="safe in the log"):
                session.end()
            assert [turn.text[:7] for turn in client.user("ana").turns()] == ["I moved"]
            assert client.user("ana").sessions()[0].failure
            server.script(answer)
            (report,) = client.remember()
            assert report.failure is None
            assert report.usage.calls >= 1
            assert client.user("ana").memories()[0].made_by == "openai:scripted"


START = datetime(2024, 1, 1, tzinfo=UTC)
WORDS = "I love ships afraid because the storm dog want moved knee swim sister".split()


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=4, max_size=9), min_size=1, max_size=8))
def test_any_history_gives_a_forward_graph(
    tmp_path_factory: pytest.TempPathFactory, sessions: list[list[str]]
) -> None:
    transcripts = [
        Transcript(
            key=f"s{n}",
            at=START + timedelta(days=n // 2),
            turns=[
                Utterance(
                    text="I " + " ".join(words) + " my home.",
                    speaker="Ana",
                    at=START + timedelta(days=n // 2),
                )
            ],
        )
        for n, words in enumerate(sessions)
    ]
    history = History(name="ana", transcripts=transcripts)
    memories, links = remembered(tmp_path_factory.mktemp("any") / "m.db", [history])
    by_id = {memory.id: memory for memory in memories}
    assert all(by_id[k.older].order < by_id[k.newer].order for k in links)
    assert all(by_id[k.older].session != by_id[k.newer].session for k in links)
