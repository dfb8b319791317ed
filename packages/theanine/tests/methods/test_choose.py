"""A model that selects what is recalled: in one call, and by relevance where it fails."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import theanine
from support.prompting import check_length
from theanine.errors import ModelUnavailable, SettingsError
from theanine.methods.theanine.choose import CHOOSE
from theanine.testing import ScriptedModel, ScriptedServer, answer
from theanine.testing.answers import blocks_of
from theanine.types import History, Transcript, Utterance

START = datetime(2025, 3, 1, 9, tzinfo=UTC)
SAID = [
    "I work at the bakery on Mill Lane.",
    "My sister Klara has a parrot.",
    "I quit the bakery, I work at the library now.",
    "The library closes at six.",
    "Peanuts make my throat swell.",
]
ASKED = "Where do I work?"


class Choosing:
    """A store whose model chooses the lines that ``wanted`` matches, or replies ``reply``."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.wanted, self.first, self.reply = "", "", ""
        self.fail: Callable[[], None] = lambda: None
        self.model = ScriptedModel(self._write)
        self.client = theanine.open(
            str(folder / "memory.db"),
            model=self.model,
            memory_model="local",
            config={"select": "model", **settings},
        )
        transcripts = [
            Transcript(
                key=str(day),
                at=START + timedelta(days=day),
                turns=[Utterance(speaker="ana", text=text, at=START + timedelta(days=day))],
            )
            for day, text in enumerate(SAID)
        ]
        self.ana = self.client.user("ana")
        self.ana.log(History(name="ana", transcripts=transcripts))
        self.ana.remember()

    def _write(self, prompt: str) -> str:
        if not prompt.startswith("Task: choose\n"):
            return answer({"messages": [{"role": "user", "content": prompt}]})
        self.fail()
        lines = re.findall(r"^\[(\d+)\] (.*)$", blocks_of(prompt)["lines"], re.MULTILINE)
        chosen = [int(number) for number, text in lines if re.search(self.wanted or "$^", text)]
        texts = dict(lines)
        chosen.sort(key=lambda number: self.first not in texts[str(number)])
        return self.reply or json.dumps({"lines": chosen})

    @property
    def prompts(self) -> list[str]:
        return [prompt for prompt in self.model.prompts if prompt.startswith("Task: choose\n")]


@pytest.fixture
def choosing(tmp_path: Path) -> Iterator[Choosing]:
    store = Choosing(tmp_path)
    with store.client:
        yield store


def test_what_the_model_chooses_comes_back_in_one_call(choosing: Choosing) -> None:
    choosing.wanted = "library now|Peanuts"
    found = choosing.ana.recall(ASKED)
    assert {turn.text for turn in found.source_turns} == {SAID[2], SAID[4]}
    (prompt,) = choosing.prompts
    assert all(text in prompt for text in (*SAID[:1], ASKED))
    assert not found.notes
    assert choosing.ana.recall(ASKED) == found
    assert len(choosing.prompts) == 1  # replayed from the journal


def test_nothing_comes_back_if_nothing_is_chosen(choosing: Choosing) -> None:
    assert not choosing.ana.recall(ASKED).parts


def test_the_bounds_of_a_recall_hold_for_what_is_offered(choosing: Choosing) -> None:
    choosing.wanted = "."
    assert SAID[2] not in choosing.ana.recall(ASKED, until=START + timedelta(days=1)).text
    assert SAID[2] not in choosing.prompts[-1]
    assert len(choosing.ana.recall(ASKED, limit=1).parts) == 1
    assert not choosing.ana.recall(ASKED, budget=3).parts


def test_what_it_does_not_choose_is_explained(choosing: Choosing) -> None:
    choosing.wanted = "library now"
    explained = choosing.ana.explain(ASKED)
    outcomes = {each.text: each.outcome for each in explained.candidates if each.turn}
    assert outcomes[SAID[2]] == "returned"
    assert outcomes[SAID[3]] == "irrelevant"


@pytest.mark.parametrize("reply", ["I'd rather not.", '{"lines": [99]}', '{"lines": "all"}'])
def test_an_unusable_reply_leaves_it_to_relevance(choosing: Choosing, reply: str) -> None:
    choosing.reply = reply
    found = choosing.ana.recall(ASKED)
    assert "library" in found.text
    assert "chose nothing" in found.notes[0]


def test_a_model_that_is_down_leaves_it_to_relevance(choosing: Choosing) -> None:
    def fail() -> None:
        raise ModelUnavailable("down")

    choosing.fail = fail
    found = choosing.ana.recall(ASKED)
    assert "library" in found.text
    assert "down" in found.notes[0]
    assert len(choosing.prompts) <= 2  # somebody waits


def test_a_larger_budget_offers_more(tmp_path: Path) -> None:
    choosing = Choosing(tmp_path)
    with choosing.client:
        soups = [
            Utterance(
                speaker="ana",
                text=f"I cooked the soup number {number} of the long book, with leeks and barley.",
                at=START + timedelta(days=9, minutes=number),
            )
            for number in range(200, 300)
        ]
        talk = Transcript(key="soups", at=soups[0].at, turns=soups)
        choosing.ana.log(History(name="ana", transcripts=[talk]))
        choosing.wanted = "soup"
        small = choosing.ana.recall("Which soups have I cooked?").source_turns
        large = choosing.ana.recall("Which soups have I cooked?", budget=3_000).source_turns
    assert len(large) > 2 * len(small) > 10


def test_the_models_order_counts_where_parts_are_limited(choosing: Choosing) -> None:
    for first in ("Peanuts", "library closes"):
        choosing.wanted, choosing.first = "Peanuts|library closes", first
        assert first in choosing.ana.recall(f"{ASKED} And {first}?", limit=1).text


def test_a_long_turn_is_cut_as_the_query_is(choosing: Choosing) -> None:
    choosing.ana.recall("word " * 80_000 + ASKED)
    assert len(choosing.prompts[-1]) < 20_000


def test_a_search_asks_no_model(choosing: Choosing) -> None:
    assert choosing.ana.search("library")
    assert not choosing.prompts


def test_without_time_for_the_model_it_is_relevance(tmp_path: Path) -> None:
    def late(_: object) -> str:
        time.sleep(4)
        return "{}"

    with (
        ScriptedServer(late) as server,
        theanine.open(
            tmp_path / "m.db",
            model="openai:scripted",
            base_url=server.base_url,
            memory_model="local",
            config={"select": "model"},
        ) as client,
    ):
        client.user("ana").add(SAID[2])
        found = client.user("ana").recall(ASKED, deadline=2)
    assert "library" in found.text
    assert "no time for a model" in found.notes[0]


def test_forgetting_erases_what_was_shown_to_the_model(tmp_path: Path) -> None:
    def stored() -> bytes:
        return b"".join(path.read_bytes() for path in tmp_path.glob("memory.db*"))

    choosing = Choosing(tmp_path)
    with choosing.client:
        choosing.wanted = "parrot"
        (turn,) = choosing.ana.recall("What pet has Klara?").source_turns
        assert stored().count(b"has a parrot") > 1
        choosing.ana.forget(turn=turn.id)
    assert b"has a parrot" not in stored()


def test_without_a_model_it_is_relevance(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "m.db", config={"select": "model"}) as client:
        client.user("ana").add(SAID[2])
        assert "library" in client.user("ana").recall(ASKED).text


def test_only_these_two_select(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="select"):
        theanine.open(tmp_path / "m.db", config={"select": "luck"})


def test_the_prompt_is_short() -> None:
    check_length(CHOOSE)
