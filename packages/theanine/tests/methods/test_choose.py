"""A model that selects what is recalled: in one call, and by relevance where it fails."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import theanine
from support.prompting import check_length
from theanine.errors import ModelUnavailable, SettingsError
from theanine.methods.theanine.choose import CHOOSE
from theanine.testing import ScriptedModel, answer
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
        self.wanted, self.reply = "", ""
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
