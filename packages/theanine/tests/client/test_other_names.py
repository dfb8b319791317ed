"""Calls by the names that other memories give them."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

import theanine


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("retrieve", "recall(…)"),
        ("search_memories", "search(…)"),
        ("get_all", "memories()"),
        ("update", "correct(memory, text)"),
        ("delete", "forget(memory=…)"),
        ("delete_all", "forget_all()"),
        ("add_episode", "add(…)"),
        ("retain", "add(…)"),
    ],
)
def test_calls_of_other_memories_name_ours(name: str, ours: str, tmp_path: Path) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        handles: list[tuple[Any, str]] = [
            (client, f"client.user(…).{ours}"),
            (client.inner, f"client.user(…).{ours}"),
            (client.user("ana"), ours),
            (client.user("ana").inner, ours),
        ]
        for handle, expected in handles:
            with pytest.raises(AttributeError) as caught:
                getattr(handle, name)
            assert str(caught.value).endswith(f"has no attribute '{name}'; {expected} does it here")


def test_calls_of_a_user_are_named_on_the_client(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        handle: Any = client
        for name in ("add", "session", "turns", "forget", "search"):
            with pytest.raises(AttributeError, match=rf"client\.user\(…\)\.{name}\(…\) does it"):
                getattr(handle, name)("ana")


def test_other_missing_attributes_are_as_usual(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        handle: Any = client
        assert not hasattr(handle, "no_such_call")
        with pytest.raises(AttributeError, match=r"has no attribute 'no_such_call'$"):
            handle.no_such_call()
        assert copy.copy(client.user("ana").memories()) == []
