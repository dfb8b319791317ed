"""Theanine's settings of the paper and of its first version: what the model is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

import theanine
from theanine.errors import SettingsError
from theanine.methods.base import Reply
from theanine.methods.registry import open_method
from theanine.methods.theanine.config import TheanineConfig
from theanine.testing import ScriptedServer, step_of

TALKS = ["I sold the boat because the engine died.", "I bought a new engine for the boat."]


def replied(path: Path, server: ScriptedServer, **config: object) -> Reply:
    """The reply of a client with these settings, after two sessions."""
    with theanine.open(str(path), model="x", base_url=server.base_url, config=config) as client:
        ana = client.user("Ana")
        for text in TALKS:
            with ana.session() as session:
                session.hear(text)
        session = ana.session()
        session.hear("Does the boat run?")
        return session.reply()


def test_the_paper_replies_without_a_rationale_at_its_temperature(tmp_path: Path) -> None:
    with ScriptedServer() as server:
        reply = replied(tmp_path / "m.db", server, paper="true")
    steps = [step_of(request) for request in server.requests]
    assert {"summarize", "relate-pair", "refine", "respond"} == set(steps)
    assert {request["temperature"] for request in server.requests} == {0.75}
    assert reply.recollection.query == "Ana: Does the boat run?"
    assert reply.rationale == ""
    refined = [request for request in server.requests if step_of(request) == "refine"]
    assert not any("At most" in request["messages"][0]["content"] for request in refined)
    assert {request["max_tokens"] for request in refined} == {2048}


def test_the_first_version_reasons_before_it_replies(tmp_path: Path) -> None:
    with ScriptedServer() as server:
        reply = replied(tmp_path / "m.db", server, paper="2024", temperature="0.5")
    assert step_of(server.requests[-1]) == "respond-reasoned"
    assert reply.rationale
    assert {request["temperature"] for request in server.requests} == {0.5}


def test_shuffled_memories_are_those_of_plain_retrieval(tmp_path: Path) -> None:
    with ScriptedServer() as server:
        reply = replied(tmp_path / "m.db", server, paper=True, shuffle=True)
    assert "refine" not in map(step_of, server.requests)
    parts = reply.recollection.parts
    with (
        ScriptedServer() as server,
        theanine.open(
            str(tmp_path / "m.db"),
            method="memory-retrieval",
            config={"paper": True},
            model="x",
            base_url=server.base_url,
        ) as client,
    ):
        client.rebuild()
        plain = client.user("Ana").recall("Does the boat run?").parts
    assert len(parts) > 1
    assert {part.text for part in parts} == {part.text for part in plain}


def test_a_version_of_the_paper_is_named_where_there_are_several() -> None:
    assert TheanineConfig.paper("2024").rationale
    with pytest.raises(SettingsError, match="2024 or 2025, not '2023'"):
        TheanineConfig.paper("2023")
    with pytest.raises(SettingsError, match="one of true, false, 2024, 2025, not '2023'"):
        open_method("theanine", {"paper": "2023"})
    with pytest.raises(SettingsError, match="one of true, false, not '2024'"):
        open_method("comedy", {"paper": "2024"})


def test_the_temperature_is_set_in_one_place(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="temperature must be from 0 to 2, not 3"):
        TheanineConfig(temperature=3)
    with pytest.raises(SettingsError, match=r"own temperature, 0\.75, replaces the model's"):
        theanine.open(
            str(tmp_path / "m.db"),
            method="theanine",
            config={"paper": True},
            model="x",
            base_url="http://localhost:1/v1",
            model_settings={"temperature": 0.2},
        )
