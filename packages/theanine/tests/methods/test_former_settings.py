"""Settings of the default method's former modes mean Theanine as published now."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

import theanine
from support.running import Terminal
from theanine import TheanineConfig, TheaninePaperConfig
from theanine.demo import HARBOUR
from theanine.errors import SettingsError
from theanine.importers import read_histories
from theanine.methods.base import stored_id
from theanine.methods.registry import all_settings, open_method
from theanine.methods.theanine.method import Theanine
from theanine.methods.theanine.paper import TheaninePaper

FIXTURES = Path(__file__).parents[1] / "fixtures"
QUESTION = "Why did Ana leave the shipyard?"
FORMER_DEFAULTS = {
    "reply_prompt": "chat",
    "temperature": None,
    "query_turns": 6,
    "query_names": False,
    "budget": 600,
    "associates": 3,
    "relating": "session",
    "link_to": "best",
    "retrieved": 3,
    "retrieval": "hybrid",
    "samples": 1,
    "rationale": False,
    "relation_aware": True,
    "refine": True,
    "whole": False,
    "shuffle": False,
}
"""The settings of version 0.2 with ``search=memories``."""


def test_the_published_method_has_the_papers_settings() -> None:
    assert TheaninePaperConfig() == TheaninePaperConfig.paper() == TheanineConfig.paper()
    published = open_method("theanine-paper")
    assert isinstance(published, TheaninePaper)
    assert published.config == TheaninePaperConfig()
    assert Theanine.paper().config == TheaninePaperConfig.paper("2025")
    assert Theanine.paper("2024").config == TheanineConfig.paper("2024")
    assert open_method("theanine", TheanineConfig.paper()).name == "theanine-paper"
    assert open_method("theanine", {"paper": "true"}).name == "theanine-paper"
    assert open_method("theanine", {"paper": "false"}).name == "theanine"


def _written(value: object) -> object:
    return value if value is None else str(value).lower()


@pytest.mark.parametrize(
    "given",
    [
        {"search": "memories"},
        {"search": "memories", "retrieved": 5, "refine": False},
        {"search": "memories", "min_relevance": 0.1, "timelines": False, "budget": None},
        {"relation_aware": False},
        {"link_to": "all", "budget": 1_000},
        {"rationale": True},
    ],
)
def test_former_modes_keep_what_they_did(given: Mapping[str, Any]) -> None:
    shared = {"search", "min_relevance", "timelines"}
    values = {name: value for name, value in given.items() if name not in shared}
    with pytest.warns(FutureWarning, match="the method theanine-paper"):
        method = open_method("theanine", given)
    assert method.name == "theanine-paper"
    with pytest.warns(FutureWarning, match="theanine-paper"):  # as the command line gives them
        settings = all_settings(
            "theanine", {name: _written(value) for name, value in given.items()}
        )
    assert settings == all_settings("theanine-paper", FORMER_DEFAULTS | values)
    with pytest.warns(FutureWarning, match="theanine-paper"):
        config = cast("Any", TheanineConfig)(**{**given, "budget": 900})
    assert isinstance(config, TheaninePaperConfig)
    assert config.budget == 900


@pytest.mark.parametrize(
    "given",
    [
        {"refine": "false"},
        {"whole": True},
        {"search": "log", "refine": False},
        {"relation_aware": "true", "link_to": "best", "samples": "1"},
    ],
)
def test_what_changes_nothing_stays_the_default_method(given: Mapping[str, Any]) -> None:
    with pytest.warns(FutureWarning, match="leave it out"):
        method = open_method("theanine", {**given, "budget": "90"})
    assert (method.name, getattr(method, "config", None)) == ("theanine", TheanineConfig(budget=90))
    with pytest.warns(FutureWarning, match="leave it out"):
        assert cast("Any", TheanineConfig)(**given) == TheanineConfig()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"retrieved": 5}, "searches the log, has no setting retrieved; the method theanine-paper"),
        ({"search": "log", "link_to": "all"}, "no setting link_to; the method theanine-paper"),
        ({"search": "turns"}, "search must be log or memories, not 'turns'"),
    ],
)
def test_modes_that_exclude_each_other_are_refused(given: Mapping[str, Any], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        open_method("theanine", given)


@pytest.fixture
def run(tmp_path: Path) -> Terminal:
    terminal = Terminal(tmp_path / "memory.db")
    terminal("import", str(HARBOUR), "--user", "ana")
    return terminal


@pytest.mark.slow
def test_the_command_line_and_configuration_files_take_former_settings(
    run: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = ("recall", QUESTION, "--user", "ana", "--json")
    expected = run(*ask, "--method", "theanine-paper").json
    assert all(part["timeline"] for part in expected["parts"])
    assert run(*ask, "--set", "paper=true").json == expected
    with pytest.warns(FutureWarning, match="search=memories"):
        former = run(*ask, "--method", "theanine", "--set", "search=memories").json
    assert former["parts"] and all(part["timeline"] for part in former["parts"])
    config = tmp_path / "config.toml"
    monkeypatch.setitem(os.environ, "THEANINE_CONFIG", str(config))
    config.write_text('method = "theanine"\n', "utf-8")
    with pytest.warns(FutureWarning, match="search=memories"):
        assert run(*ask, "--set", "search=memories").json == former
    config.write_text('method = "theanine-paper"\n', "utf-8")
    assert run(*ask).json == expected


def test_both_recall_from_the_same_memories(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with theanine.open(path, config=TheanineConfig.paper()) as client:
        assert client.method_name == "theanine-paper"
        client.user("ana").log(read_histories(HARBOUR).histories[0])
        client.user("ana").remember()
        memories, links = client.user("ana").memories(), client.user("ana").links()
        lines = client.user("ana").recall(QUESTION)
        assert lines.parts and all(part.timeline for part in lines.parts)
        assert client.user("ana").explain(QUESTION, method="theanine").method == "theanine"
    assert memories and {memory.method for memory in memories} == {"theanine"}
    with theanine.open(path) as client:
        ana = client.user("ana")
        assert client.method_name == "theanine"
        assert (ana.memories(), ana.links(), client.pending()) == (memories, links, [])
        assert ana.recall(QUESTION).best_relevance
        assert ana.explain(QUESTION, method="theanine-paper").recollection.parts == lines.parts
    with theanine.open(path, method="theanine-paper") as client:
        assert client.user("ana").recall(QUESTION) == lines
        again = client.rebuild(again=True)
        assert again.replaced == {"theanine": len(memories)}
        assert client.user("ana").recall(QUESTION).text == lines.text
    assert stored_id(open_method("theanine-paper")) == "theanine"


@pytest.mark.parametrize("method", ["theanine", "theanine-paper"])
def test_stores_and_exports_of_earlier_versions_open_with_either(
    tmp_path: Path, method: str
) -> None:
    old = shutil.copy(FIXTURES / "store-0.1.sqlite", tmp_path / "old.db")
    with theanine.open(str(old), method=method) as client:
        assert client.method_name == method
        expected = client.user("ana").memories()
        assert len(expected) == 6
        recalled = client.user("ana").recall("Lucija's wedding")
        assert recalled
        pending, records = client.pending(), list(client.export())
    assert {record["method"] for record in records if record["type"] == "theanine"} == {"theanine"}
    with theanine.open(str(tmp_path / "new.db"), method=method) as client:
        client.restore(records)
        assert [memory.text for memory in client.user("ana").memories()] == [
            memory.text for memory in expected
        ]
        assert client.user("ana").recall("Lucija's wedding").text == recalled.text
        assert len(client.pending()) == len(pending)
