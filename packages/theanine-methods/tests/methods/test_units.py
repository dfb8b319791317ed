"""Utterances, exchanges and sessions: pieces that tile the log, found again, within a budget."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import theanine
from theanine.demo import HARBOUR
from theanine.errors import MissingExtra, SettingsError
from theanine.importers import read_histories
from theanine.methods.registry import open_method
from theanine.tokenizer import count_tokens
from theanine.types import History, Role, Transcript, Utterance
from theanine_methods.segmentation import exchanges
from theanine_methods.units.config import ExchangesConfig, SessionsConfig, UnitsConfig

START = datetime(2024, 5, 8, tzinfo=UTC)


def said(speaker: str, role: Role, minute: int) -> Utterance:
    return Utterance(
        text=f"words {minute}", speaker=speaker, role=role, at=START + timedelta(minutes=minute)
    )


@given(st.lists(st.sampled_from([("Ana", "user"), ("Theo", "assistant"), ("Bo", "user")])))
def test_exchanges_tile_the_turns_in_order(who: list[tuple[str, Role]]) -> None:
    turns = [said(speaker, role, i) for i, (speaker, role) in enumerate(who)]
    units = exchanges(turns)
    assert [turn for exchange in units for turn in exchange] == turns
    assert all(units)


def test_an_exchange_is_the_opening_sides_words_with_the_answer() -> None:
    two = [said(name, "user", i) for i, name in enumerate("AABABB")]
    assert [len(memory) for memory in exchanges(two)] == [3, 3]
    roles: list[Role] = ["assistant", "user", "assistant", "assistant", "user"]
    mixed = [said(role, role, i) for i, role in enumerate(roles)]
    assert [len(memory) for memory in exchanges(mixed)] == [1, 3, 1]


@pytest.mark.parametrize(
    ("who", "lengths"),
    [
        ("U" * 300, [1] * 300),
        ("A" * 300, [1] * 300),
        ("UUAUU", [3, 1, 1]),
        ("AAUA", [1, 1, 2]),
        ("U" * 10 + "A" * 10, [1, 1, 16, 1, 1]),
    ],
)
def test_a_one_sided_run_is_no_exchange(who: str, lengths: list[int]) -> None:
    roles: dict[str, Role] = {"U": "user", "A": "assistant"}
    turns = [said(side, roles[side], i) for i, side in enumerate(who)]
    units = exchanges(turns)
    assert [len(exchange) for exchange in units] == lengths
    assert [turn for exchange in units for turn in exchange] == turns


def test_unanswered_turns_are_recalled_within_a_budget(tmp_path: Path) -> None:
    turns = [
        Utterance(text=f"Note {n}: I stored box {n} in cellar {n}.", speaker="Ana", at=START)
        for n in range(300)
    ]
    with theanine.open(str(tmp_path / "m.db"), method="exchange") as agent:
        agent.user("ana").log(
            History(name="ana", transcripts=[Transcript(key="s", turns=turns, at=START)])
        )
        agent.user("ana").remember()
        assert len(agent.user("ana").memories()) == 300
        recollection = agent.user("ana").recall("Where did I store box 217?", budget=100)
        assert "cellar 217" in recollection.text
        assert count_tokens(recollection.text) <= 100


@pytest.mark.slow
@pytest.mark.parametrize("method", ["utterance", "exchange", "session"])
def test_units_tile_the_log_and_are_recalled_in_time_order(tmp_path: Path, method: str) -> None:
    with theanine.open(str(tmp_path / "m.db"), method=method) as agent:
        agent.user("ana").log(read_histories(HARBOUR).histories[0])
        agent.user("ana").remember()
        turns = agent.user("ana").turns()
        kept = [n for memory in agent.user("ana").memories() for n in memory.source_turns]
        assert kept == [turn.id for turn in turns]
        recollection = agent.user("ana").recall("What is Ana allergic to?")
        assert "hazelnut" in recollection.text
        assert [part.source_turns[0].at for part in recollection.parts] == sorted(
            part.source_turns[0].at for part in recollection.parts
        )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["theanine", "utterance", "exchange", "session"])
@pytest.mark.parametrize("budget", [0, 60, 300, 5000])
def test_the_budget_is_never_exceeded(tmp_path: Path, method: str, budget: int) -> None:
    with theanine.open(str(tmp_path / "m.db"), method=method) as agent:
        agent.user("ana").log(read_histories(HARBOUR).histories[0])
        agent.user("ana").remember()
        recollection = agent.user("ana").recall("Why did Ana leave the shipyard?", budget=budget)
    assert count_tokens(recollection.text) <= budget
    assert bool(recollection) == (budget >= 300) or budget == 60


def test_units_are_found_by_a_denoised_copy_and_returned_verbatim(tmp_path: Path) -> None:
    said = "Well, you know, the mast of the boat broke in the storm near Faro."
    config = {"denoise": "local", "rate": 0.5}
    with theanine.open(str(tmp_path / "m.db"), method="session", config=config) as agent:
        with agent.user("ana").session() as session:
            session.hear(said)
        (indexed,) = agent.user("ana").memories()
        assert "Faro" in indexed.text
        assert len(indexed.text) < 0.7 * len(said)
        assert said in agent.user("ana").recall("Faro?").text


def test_the_papers_units_are_those_of_secoms_baselines() -> None:
    sizes = [config.paper().retrieved for config in (ExchangesConfig, SessionsConfig)]
    assert sizes == [3, 1]
    assert {config.paper().denoise for config in (ExchangesConfig, SessionsConfig)} == {
        "llmlingua2"
    }
    assert SessionsConfig.paper("locomo").budget == 3_700
    assert UnitsConfig.paper().denoise == "none"
    with pytest.raises((MissingExtra, SettingsError), match="llmlingua"):
        open_method("exchange", {"paper": "locomo"})


def test_settings_may_be_given_by_name_and_as_strings(tmp_path: Path) -> None:
    path = str(tmp_path / "m.db")
    config = {"retrieved": "2", "paper": "true"}
    with theanine.open(path, method="utterance", config=config) as agent:
        agent.user("ana").log(read_histories(HARBOUR).histories[0])
        agent.user("ana").remember()
        assert len(agent.user("ana").recall("Why did Ana leave the shipyard?").parts) == 2


@pytest.mark.parametrize(
    ("method", "config", "said"),
    [
        (
            "elephant",
            None,
            "unknown method 'elephant'; there are: theanine, theanine-paper, no-memory",
        ),
        ("exchange", {"colour": 1}, "no setting colour; it has: budget"),
        ("exchange", {"retrieved": "many"}, "setting retrieved of the method exchange"),
        ("exchange", {"retrieved": 0}, "at least 1"),
        ("exchange", 7, "takes a ExchangesConfig"),
    ],
)
def test_unknown_methods_and_settings_are_named(
    tmp_path: Path, method: str, config: object, said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        theanine.open(str(tmp_path / "m.db"), method=method, config=config)
