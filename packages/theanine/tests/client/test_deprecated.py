"""Names and calls of version 0.1 work for one release, with a warning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import theanine
from theanine import (
    ForgetReport,
    History,
    ImportReport,
    Memory,
    Part,
    Recollection,
    Scope,
    Transcript,
    Utterance,
)
from theanine.llm import Limits
from theanine.retrieval import RankingConfig

AT = datetime(2024, 5, 8, tzinfo=UTC)
UTTERANCE = Utterance(text="I sold the boat.", speaker="Ana", at=AT, attachment="a photo")
HISTORY = History(name="ana", transcripts=[Transcript(key="a", turns=[UTTERANCE], at=AT)])
MEMORY = Memory(
    id=1, session=1, text="m", at=AT, session_ended_at=AT, source_turns=(1,), derived_from=(2,)
)
PART = Part(text="p", memories=(MEMORY,), source_turns=())
IMPORTED = ImportReport(
    user="ana", sessions_new=1, sessions_known=0, turns_new=2, memories_imported=3
)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    """Return a client with one user, typed loosely: the old calls are not in its type."""
    with theanine.open(str(tmp_path / "memory.db")) as client:
        client.user("ana").log(HISTORY)
        client.remember()
        yield client


OLD_CALLS: dict[str, Callable[[Any], object]] = {
    "session": lambda client: client.session("ana", speaker="Ana").hear("Hello.").speaker,
    "recall": lambda client: client.recall("the boat?", user="ana", budget=100).text,
    "log": lambda client: client.log(HISTORY).sessions_known,
    "remember": lambda client: client.remember("ana", agent="default"),
    "estimate": lambda client: client.estimate(user="ana", again=True).sessions,
    "rebuild": lambda client: client.rebuild("ana").complete,
    "sessions": lambda client: len(client.sessions("ana")),
    "turns": lambda client: client.turns("ana", session=1)[0].text,
    "memories": lambda client: len(client.memories("ana")),
    "marks": lambda client: client.marks("ana"),
    "links": lambda client: client.links("ana"),
    "timelines": lambda client: len(client.timelines("ana", 1)),
    "pending": lambda client: client.pending("ana"),
    "costs": lambda client: client.costs(user="ana"),
    "warm_up": lambda client: client.warm_up("ana"),
    "export": lambda client: len(list(client.export("ana"))) > 0,
    "forget": lambda client: client.forget("ana", session=1).turns,
}
NEW_CALLS: dict[str, Callable[[Any], object]] = {
    "session": lambda client: client.user("ana").session(speaker="Ana").hear("Hello.").speaker,
    "recall": lambda client: client.user("ana").recall("the boat?", budget=100).text,
    "log": lambda client: client.user("ana").log(HISTORY).sessions_known,
    "remember": lambda client: client.user("ana").remember(),
    "estimate": lambda client: client.user("ana").estimate(again=True).sessions,
    "rebuild": lambda client: client.user("ana").rebuild().complete,
    "sessions": lambda client: len(client.user("ana").sessions()),
    "turns": lambda client: client.user("ana").turns(session=1)[0].text,
    "memories": lambda client: len(client.user("ana").memories()),
    "marks": lambda client: client.user("ana").marks(),
    "links": lambda client: client.user("ana").links(),
    "timelines": lambda client: len(client.user("ana").timelines(1)),
    "pending": lambda client: client.user("ana").pending(),
    "costs": lambda client: client.user("ana").costs(),
    "warm_up": lambda client: client.user("ana").warm_up(),
    "export": lambda client: len(list(client.user("ana").export())) > 0,
    "forget": lambda client: 1,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OLD_CALLS)
def test_a_call_with_a_user_reaches_the_users_handle(name: str, client: Any) -> None:
    expected = NEW_CALLS[name](client)
    with pytest.warns(DeprecationWarning, match=rf"client\.user\(…\)\.{name}\(\)") as warned:
        assert OLD_CALLS[name](client) == expected
    assert warned[0].filename == __file__


@pytest.mark.anyio
async def test_old_calls_can_be_awaited(tmp_path: Path) -> None:
    opened: Any = theanine.aopen(str(tmp_path / "memory.db"))
    async with opened as client:
        with pytest.warns(DeprecationWarning, match="with a user"):
            await client.log(HISTORY, "bo")
        with pytest.warns(DeprecationWarning, match="with a user"):
            assert len(await client.turns("bo")) == 1
        assert len(await client.pending()) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Agent", "Client"),
        ("AsyncAgent", "AsyncClient"),
        ("Talk", "LiveSession"),
        ("AsyncTalk", "AsyncLiveSession"),
        ("Imported", "ImportReport"),
    ],
)
def test_a_renamed_class_has_its_old_name(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"use theanine.{new}"):
        assert getattr(theanine, old) is getattr(theanine, new)


@pytest.mark.parametrize(
    ("value", "old", "new"),
    [
        (UTTERANCE, "shared", "attachment"),
        (UTTERANCE, "words", "full_text"),
        (MEMORY, "sources", "source_turns"),
        (MEMORY, "origins", "derived_from"),
        (MEMORY, "made_at", "session_ended_at"),
        (PART, "sources", "source_turns"),
        (Limits(cost_per_session=2.5), "money_per_session", "cost_per_session"),
        (Limits(cost_per_scope=2.5), "money_per_scope", "cost_per_scope"),
        (Recollection(query="q", parts=(PART,)), "sources", "source_turns"),
        (ForgetReport(scope=Scope("ana"), pending_again=2), "anew", "pending_again"),
        (IMPORTED, "memories_given", "memories_imported"),
    ],
)
def test_a_renamed_field_can_be_read_by_its_old_name(value: object, old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"use {new}"):
        assert getattr(value, old) == getattr(value, new)


def test_a_removed_field_is_ignored_by_the_constructor() -> None:
    config: Any = RankingConfig
    with pytest.warns(DeprecationWarning, match=r"\(exact_upto=…\) has no effect") as warned:
        assert config(exact_upto=100_000, dense=0.5) == RankingConfig(dense=0.5)
    assert warned[0].filename == __file__
    with pytest.raises(TypeError, match="unheard_of"):
        config(unheard_of=1)


def test_a_renamed_field_is_accepted_by_the_constructor() -> None:
    utterance: Any = Utterance
    with pytest.warns(DeprecationWarning, match="use attachment"):
        made = utterance(text="I sold the boat.", speaker="Ana", at=AT, shared="a photo")
    assert made == UTTERANCE
