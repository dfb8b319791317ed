"""The plain methods recall what their names say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import theanine
from theanine.demo import HARBOUR
from theanine.importers import read_histories
from theanine.tokenizer import count_tokens

ASKED = "What is Ana allergic to?"


def opened(path: Path, method: str, **config: Any) -> theanine.Client:
    """An agent that remembers the bundled conversation with a method."""
    agent = theanine.open(str(path / "m.db"), method=method, config=config or None)
    agent.user("ana").log(read_histories(HARBOUR).histories[0])
    agent.user("ana").remember()
    return agent


def test_no_memory_recalls_nothing_and_still_replies(tmp_path: Path) -> None:
    with opened(tmp_path, "no-memory") as agent:
        assert not agent.user("ana").recall(ASKED)
        assert agent.user("ana").memories() == []
        talk = agent.user("ana").session()
        talk.hear(ASKED)
        assert talk.reply().text


def test_full_history_is_every_turn_in_order(tmp_path: Path) -> None:
    with opened(tmp_path, "full-history") as agent:
        recollection = agent.user("ana").recall(ASKED)
        assert [turn.id for turn in recollection.source_turns] == list(range(1, 131))
        assert len(recollection.parts) == 10
        assert recollection.text.index("nine years") < recollection.text.index("Norwegian coast")


@pytest.mark.parametrize("budget", [100, 1000])
def test_a_budget_keeps_the_newest_of_the_history(tmp_path: Path, budget: int) -> None:
    with opened(tmp_path, "full-history", budget=budget) as agent:
        recollection = agent.user("ana").recall(ASKED)
        numbers = [turn.id for turn in recollection.source_turns]
        assert numbers == list(range(131 - len(numbers), 131))
        assert 0 < count_tokens(recollection.text) <= budget
        assert len(agent.user("ana").recall(ASKED, budget=100).source_turns) <= len(numbers)


def test_the_current_session_is_not_recalled(tmp_path: Path) -> None:
    with opened(tmp_path, "full-history") as agent:
        talk = agent.user("ana").session()
        talk.hear("I bought a submarine.")
        assert "submarine" not in talk.recall().text


@pytest.mark.slow
def test_all_memories_and_memory_retrieval(tmp_path: Path) -> None:
    with opened(tmp_path, "all-memories") as agent:
        every = agent.user("ana").memories()
        assert list(agent.user("ana").recall(ASKED).memories) == sorted(
            every, key=lambda m: m.order
        )
    with opened(tmp_path, "memory-retrieval", retrieved=4) as agent:
        recollection = agent.user("ana").recall(ASKED)
        assert len(recollection.parts) == 4
        assert "hazelnut" in recollection.text
        assert [m.text for m in agent.user("ana").memories()] == [m.text for m in every]
