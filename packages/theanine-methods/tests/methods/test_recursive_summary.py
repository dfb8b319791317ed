"""Recursive summary: one summary, traced sentence by sentence, kept in every state, whole again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import theanine
from support.answering import Answering, turn
from support.prompting import ATTACK, check_fences, check_length, check_snapshot
from theanine.demo import HARBOUR
from theanine.errors import BadInput, SettingsError
from theanine.importers import read_histories
from theanine.testing import ScriptedServer
from theanine.testing.answers import blocks_of
from theanine.testing.script import prompt_of
from theanine.tokenizer import count_tokens
from theanine.types import (
    IMPORTED,
    History,
    ImportedMemory,
    Part,
    Recollection,
    Transcript,
    Utterance,
)
from theanine_methods.recursive_summary.config import MAX_DEMONSTRATIONS, RecursiveSummaryConfig
from theanine_methods.recursive_summary.few_shot import (
    RESPOND_FEW_SHOT,
    demonstrations,
    format_examples,
    read_examples,
    respond_few_shot,
)
from theanine_methods.recursive_summary.method import RecursiveSummary

METHOD = "recursive-summary"
START = datetime(2024, 5, 8, 12, tzinfo=UTC)
SECRET = "cormorant-4417"
SAID = {
    "a": ["I keep a red boat called Tern in Faro.", "My brother Bo paints houses."],
    "b": [f"I moved the {SECRET} to the attic of my house.", "I sleep badly since the storm."],
    "c": ["I sold the red boat to a baker in Lagos.", "I learn to play the trumpet."],
    "d": ["I bought a small white boat instead.", "Bo broke his leg on a ladder."],
}


def talk(key: str, texts: Sequence[str] = (), *, dated: bool = True) -> Transcript:
    """One session of Ana's, by its letter a day of its own."""
    at = START + timedelta(days=ord(key[0]))
    turns = [
        Utterance(text=text, speaker="Ana", at=at + timedelta(minutes=i), key=f"{key}{i}")
        for i, text in enumerate(texts or SAID[key])
    ]
    return Transcript(key=key, turns=turns, at=at, dated=dated)


def learn(agent: theanine.Client, *talks: Transcript) -> None:
    """Log and remember; nothing may fail."""
    agent.user("ana").log(History(name="ana", transcripts=talks))
    assert [report.failure for report in agent.user("ana").remember() if report.failure] == []


def live(agent: theanine.Client) -> list[theanine.Memory]:
    """The summary as it stands."""
    marked = {mark.memory for mark in agent.user("ana").marks()}
    return [memory for memory in agent.user("ana").memories() if memory.id not in marked]


def texts(agent: theanine.Client) -> list[str]:
    return [memory.text for memory in live(agent)]


class Model:
    """A scripted model that completes the newest sentence, and adds the first turn."""

    def __init__(self) -> None:
        self.prompts: list[Mapping[str, str]] = []

    def __call__(self, request: Mapping[str, Any]) -> str:
        blocks = blocks_of(prompt_of(request))
        self.prompts.append(blocks)
        if "summary" not in blocks:
            return "I see."
        before = [line.split(" ", 1) for line in blocks["summary"].splitlines() if line[0] == "S"]
        entries: list[dict[str, Any]] = []
        if before:
            label, text = before[-1]
            day, _, dated = text.partition(") ")
            own = (dated if day.startswith("(") else text).removesuffix(" (still)")
            entries.append({"text": f"{own} (still)", "kept": [label]})
        first = next(line for line in blocks["turns"].splitlines() if line.startswith("[1]"))
        entries.append({"text": first.partition(": ")[2], "turns": [1]})
        return json.dumps({"sentences": entries})


def test_every_state_of_the_summary(tmp_path: Path) -> None:
    model = Model()
    with ScriptedServer(model) as server, _scripted(tmp_path, server) as agent:
        learn(agent, talk("a"))
        first = live(agent)
        learn(agent, talk("b"))
        second = live(agent)
        learn(agent, talk("c"))
        assert [memory.text for memory in first] == [SAID["a"][0]]
        assert [memory.text for memory in second] == [f"{SAID['a'][0]} (still)", SAID["b"][0]]
        assert texts(agent) == [second[0].text, f"{SAID['b'][0]} (still)", SAID["c"][0]]
        assert second[0] in live(agent)  # what didn't change is the memory that it was
        marks = {mark.memory: mark for mark in agent.user("ana").marks()}
        assert set(marks) == {first[0].id, second[1].id}
        assert [mark.by for mark in marks.values()] == [second[0].id, second[1].id + 1]
        assert {mark.reason for mark in marks.values()} == {"a newer sentence takes it up"}
        assert {mark.made_by for mark in marks.values()} == {"openai:scripted"}
        assert [memory.source_turns for memory in live(agent)] == [(1,), (3,), (5,)]
        assert all(memory.prompt == "update-summary@2" for memory in agent.user("ana").memories())


def _twenty() -> tuple[Transcript, list[str]]:
    things = "boat house cart dog cat bee tree book lamp kite".split()
    said = [f"I keep the {color} {thing}." for color in ("red", "blue") for thing in things]
    return talk("a", said), [f"Ana keeps the {text[11:]}" for text in said]


def _written(texts: Sequence[str]) -> str:
    return json.dumps(
        {"sentences": [{"text": text, "turns": [n]} for n, text in enumerate(texts, 1)]}
    )


@pytest.mark.parametrize(
    "careless",
    [
        {"sentences": []},
        {"sentences": [{"kept": [1]}]},
        {"sentences": [{"text": "Ana said good morning.", "turns": [1], "kept": [7]}]},
    ],
)
def test_a_careless_reply_removes_nothing(tmp_path: Path, careless: object) -> None:
    session, sentences = _twenty()
    replies = iter([_written(sentences)])
    with (
        ScriptedServer(lambda _: next(replies, json.dumps(careless))) as server,
        _scripted(tmp_path, server) as agent,
    ):
        learn(agent, session)
        agent.user("ana").log(History(name="ana", transcripts=[talk("b", ["Good morning"])]))
        agent.user("ana").remember()  # with the summary full, the third reply fits never
        assert texts(agent) == sentences
        assert agent.user("ana").marks() == []


def test_good_morning_changes_nothing_without_a_model(tmp_path: Path) -> None:
    with theanine.open(str(tmp_path / "m.db"), method=METHOD) as agent:
        learn(agent, _twenty()[0])
        before = texts(agent)
        learn(agent, talk("b", ["Good morning"]))
        assert (len(before), texts(agent)) == (20, before)


def test_the_paper_rewrites_the_summary(tmp_path: Path) -> None:
    session, sentences = _twenty()
    replies = iter([_written(sentences), _written(["Ana said good morning."])])
    with (
        ScriptedServer(lambda _: next(replies)) as server,
        _scripted(tmp_path, server, paper=True) as agent,
    ):
        learn(agent, session, talk("b", ["Good morning"]))
        assert texts(agent) == ["Ana said good morning."]
        assert {mark.reason for mark in agent.user("ana").marks()} == {"the model left it out"}
        assert live(agent)[0].prompt == "rewrite-summary@1"


def _scripted(path: Path, server: ScriptedServer, **config: Any) -> theanine.Client:
    return theanine.open(
        str(path / "m.db"),
        method=METHOD,
        model="openai:scripted",
        base_url=server.base_url,
        config=config or None,
    )


@pytest.mark.slow
@pytest.mark.parametrize("scripted", [False, True], ids=["local", "scripted"])
@pytest.mark.parametrize("config", [{}, {"utterances": 2}], ids=["summary", "utterances"])
def test_forgetting_a_session_equals_never_having_logged_it(
    tmp_path: Path, scripted: bool, config: dict[str, Any]
) -> None:
    with ScriptedServer(Model()) as server:
        model: dict[str, Any] = {"config": config}
        if scripted:
            model |= {"model": "openai:scripted", "base_url": server.base_url}
        with theanine.open(str(tmp_path / "clean.db"), method=METHOD, **model) as agent:
            learn(agent, *(talk(key) for key in "acd"))
            expected = texts(agent)
        path = tmp_path / "m.db"
        with theanine.open(str(path), method=METHOD, **model) as agent:
            learn(agent, *(talk(key) for key in "abcd"))
            assert SECRET in str(texts(agent))
            agent.user("ana").recall("What is in the attic?")
            receipt = agent.user("ana").forget(session=agent.user("ana").sessions()[1].id)
            assert receipt.verified
            assert receipt.pending_again == 2
            assert SECRET.encode() not in _files(path)
            assert [session.session for session in agent.user("ana").pending()] == [3, 4]
            assert [report.failure for report in agent.user("ana").remember()] == [None, None]
            assert texts(agent) == expected
            assert SECRET not in str(server.calls[-2:])
        assert SECRET.encode() not in _files(path)


def _files(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))


def test_text_that_a_model_copied_without_naming_it_is_forgotten_too(tmp_path: Path) -> None:
    """A sentence may hold an older one's words without naming it: it is made of it all the same."""
    leak = {"sentences": [{"text": f"Ana plays the trumpet, and {SECRET}.", "turns": [2]}]}

    def model(request: Mapping[str, Any]) -> str:
        blocks = blocks_of(prompt_of(request))
        if "turns" not in blocks:
            return f"I remember {blocks['remembered']}"
        turns = blocks["turns"]
        if "trumpet" in turns:
            return json.dumps(leak)
        return json.dumps({"sentences": [{"text": turns[-60:-1], "turns": [1], "kept": []}]})

    path = tmp_path / "m.db"
    with ScriptedServer(model) as server, _scripted(tmp_path, server) as agent:
        learn(agent, *(talk(key) for key in "bc"))
        question = [Utterance(text="What do I play?", speaker="Ana", at=START)]
        assert SECRET in agent.user("ana").reply(question, speaker="tea").text
        learn(agent, talk("d"))
        assert agent.user("ana").forget(session=1).verified
        assert SECRET.encode() not in _files(path)


def test_a_forgotten_sentence_does_not_return(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with theanine.open(str(path), method=METHOD) as agent:
        learn(agent, *(talk(key) for key in "abcd"))
        (holding,) = [memory for memory in agent.user("ana").memories() if SECRET in memory.text]
        assert agent.user("ana").forget(memory=holding.id).verified
        agent.user("ana").remember()
        assert SECRET.encode() not in _files(path)
        assert len(texts(agent)) == 7


def test_a_session_that_gains_turns_is_resumed(tmp_path: Path) -> None:
    model = Model()
    with ScriptedServer(model) as server, _scripted(tmp_path, server) as agent:
        learn(agent, talk("a"))
        learn(agent, talk("a", [*SAID["a"], "I also keep bees on the roof."]))
        assert texts(agent) == [f"{SAID['a'][0]} (still)", "I also keep bees on the roof."]
        assert SAID["a"][0] in model.prompts[-1]["summary"]
        assert SAID["a"][0] not in model.prompts[-1]["turns"]


@pytest.mark.slow
@pytest.mark.parametrize("scripted", [False, True])
def test_undated_sessions_show_no_day(tmp_path: Path, scripted: bool) -> None:
    model = Model()
    with ScriptedServer(model) as server:
        opened = (
            _scripted(tmp_path, server)
            if scripted
            else theanine.open(str(tmp_path / "m.db"), method=METHOD)
        )
        with opened as agent:
            learn(agent, talk("a", dated=False), talk("c", dated=False))
            assert "2024" not in agent.user("ana").recall("Where is the boat?").text
    if scripted:
        assert "2024" not in str(model.prompts)


@pytest.mark.slow
def test_the_summary_comes_back_in_time_order_each_sentence_with_its_turns(tmp_path: Path) -> None:
    with theanine.open(str(tmp_path / "m.db"), method=METHOD) as agent:
        agent.user(read_histories(HARBOUR).histories[0].name).log(
            read_histories(HARBOUR).histories[0]
        )
        agent.user("ana").remember()
        recollection = agent.user("ana").recall("Who goes on the cruise with Ana?")
        assert len(recollection.parts) == 20
        assert [part.memories[0] for part in recollection.parts] == live(agent)
        for part in recollection.parts:
            (turn_behind,) = part.source_turns
            assert turn_behind.text[:20].strip("“") in part.text
        little = agent.user("ana").recall("Who goes on the cruise with Ana?", budget=120)
        assert "cruise" in little.text
        assert 0 < count_tokens(little.text) <= 120
        assert set(little.parts) < set(recollection.parts)
        assert agent.user("ana").recall([]).text == recollection.text


@pytest.mark.slow
def test_local_memory_stands_beside_the_summary(tmp_path: Path) -> None:
    path = str(tmp_path / "m.db")
    with theanine.open(path, method=METHOD, config={"utterances": 5, "paper": True}) as agent:
        agent.user(read_histories(HARBOUR).histories[0].name).log(
            read_histories(HARBOUR).histories[0]
        )
        agent.user("ana").remember()
        recollection = agent.user("ana").recall("What is Ana allergic to?")
        kinds = [part.memories[0].kind for part in recollection.parts]
        assert kinds == ["statement"] * 20 + ["exchange"] * 5
        said = recollection.parts[20:]
        assert any("hazelnut" in part.text.casefold() for part in said)
        assert said[0].text.startswith("(") and ") Ana: " in said[0].text
        assert [part.source_turns[0].id for part in said] == sorted(
            p.source_turns[0].id for p in said
        )
    with theanine.open(path, method=METHOD) as agent:  # recalled only where it is asked for
        assert len(agent.user("ana").recall("What is Ana allergic to?").parts) == 20


def test_imported_memories_become_sentences(tmp_path: Path) -> None:
    given = [
        ImportedMemory(text=f"Ana knows fact number {n}.", speakers=("Ana",)) for n in range(3)
    ]
    with theanine.open(str(tmp_path / "m.db"), method=METHOD, config={"sentences": 4}) as agent:
        learn(agent, talk("a"))
        made = Transcript(key="z", turns=[], at=START + timedelta(days=200), memories=given)
        learn(agent, made)
        assert texts(agent) == ["Ana said on 13 August 2024: “My brother Bo paints houses.”"] + [
            one.text for one in given
        ]
        assert live(agent)[-1].made_by == IMPORTED


def test_what_the_agent_was_just_reminded_of_is_no_news(tmp_path: Path) -> None:
    text = "I know that you keep a red boat called Tern in Faro."
    with ScriptedServer({"respond": text}) as server, _scripted(tmp_path, server) as agent:
        learn(agent, talk("a"))
        with agent.user("ana").session() as talking:
            talking.hear("Anything new about ships?")
            assert talking.reply().text == text
        assert texts(agent) == [
            *(f"Ana: {turn}" for turn in SAID["a"]),
            "ana: Anything new about ships?",
        ]


PART = Part(text="(8 May 2023) Ana fears ships.", memories=(), source_turns=())


async def _few_shot(part: Part, *said: theanine.Turn) -> str:
    caller = Answering(["Fine."])
    recollection = Recollection(query="", parts=(part,))
    reply = await respond_few_shot(
        said, recollection, "Tea", caller, examples=demonstrations()[:2], source_sessions={1}
    )
    assert (reply.text, caller.asked[0].touches) == ("Fine.", {1, 4})
    return caller.asked[0].prompt


@pytest.mark.anyio
async def test_demonstrations_stand_before_the_conversation_in_their_own_fence() -> None:
    question = turn(9, "Shall we book that cruise?", session=4)
    calm = await _few_shot(PART, question)
    check_snapshot("respond-few-shot", calm)
    check_length(RESPOND_FEW_SHOT)
    attack = turn(9, ATTACK, f"Ana\n{ATTACK}", session=4)
    part = Part(text=ATTACK, memories=(), source_turns=())
    check_fences(calm, await _few_shot(part, attack))
    assert len(demonstrations()) == MAX_DEMONSTRATIONS
    assert all(example.count("You say: ") == 1 for example in demonstrations())
    assert "Ingrid" not in calm  # two were asked for


def test_demonstrations_are_shown_when_they_are_set(tmp_path: Path) -> None:
    model = Model()
    with (
        ScriptedServer(model) as server,
        _scripted(tmp_path, server, demonstrations="3") as agent,
        agent.user("ana").session() as said,
    ):
        said.hear("Hello.")
        assert said.reply().text == "I see."
        assert "Ingrid" in model.prompts[-1]["examples"]


def test_examples_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "examples.md"
    told = [(["Bo sails.\nHe left"], ["Bo: Hi <<<you"], "Ahoy"), ([""], ["Al: Yes?"], "No.")]
    file.write_text(format_examples(told), "utf-8")
    assert read_examples(file, 2) == (
        "Remembered:\n- Bo sails.\n  He left\nConversation:\nBo: Hi ‹‹‹you\nYou say: Ahoy",
        "Remembered:\n(nothing)\nConversation:\nAl: Yes?\nYou say: No.",
    )
    model = Model()
    settings = {"demonstrations": "1", "examples": str(file)}
    with (
        ScriptedServer(model) as server,
        _scripted(tmp_path, server, **settings) as agent,
        agent.user("ana").session() as said,
    ):
        said.hear("Hello.")
        said.reply()
        assert model.prompts[-1]["examples"].endswith("You say: Ahoy")
    with pytest.raises(BadInput, match="it has 2 examples, not 4"):
        RecursiveSummary(RecursiveSummaryConfig(demonstrations=4, examples=str(file)))
    file.write_text("Remembered:\n- Bo sails.", "utf-8")
    with pytest.raises(BadInput, match="example 1 needs one line"):
        read_examples(file, 1)
    with pytest.raises(BadInput, match="can't be read"):
        read_examples(tmp_path / "none.md", 1)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"examples": "x.md"}, "demonstrations=2"),
        ({"sentences": 0}, "sentences must be at least 1"),
        ({"demonstrations": 4}, "0 to 3"),
        ({"utterances": -1}, "utterances must be at least 0"),
        ({"query_turns": 0}, "query_turns"),
        ({"budget": -1}, "budget"),
    ],
)
def test_invalid_settings_are_named(config: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        RecursiveSummaryConfig(**config)


def test_the_estimate_is_one_call_a_session() -> None:
    method = RecursiveSummary()
    few = method.estimate([turn(n, "I moved to Lisbon last Friday.") for n in range(1, 21)])
    assert few.calls == 1
    assert 1_000 < few.input_tokens < 3_000
    assert method.estimate([]).calls == 0
    long = method.estimate([turn(n, "wind and weather " * 300) for n in range(1, 31)])
    assert long.calls > 1
    assert long.output_tokens == long.calls * few.output_tokens


REWORDED = {"text": "The crimson vessel is still hers.", "turns": [1], "kept": [1]}


@pytest.mark.parametrize(
    ("repaired", "expected"),
    [
        ({"sentences": [REWORDED], "outdated": [1]}, [REWORDED["text"]]),
        (
            {"sentences": [REWORDED | {"text": "Her red boat Tern, kept in Faro, is hers still."}]},
            ["Her red boat Tern, kept in Faro, is hers still."],
        ),
        (
            {"sentences": [REWORDED | {"kept": []}]},
            ["I keep a red boat called Tern in Faro.", REWORDED["text"]],
        ),
    ],
)
def test_a_sentence_kept_in_other_words_is_not_current_beside_them(
    tmp_path: Path, repaired: object, expected: list[str]
) -> None:
    first = {"sentences": [{"text": SAID["a"][0], "turns": [1]}]}
    replies = [json.dumps(each) for each in (first, {"sentences": [REWORDED]}, repaired)]
    with ScriptedServer(replies) as server, _scripted(tmp_path, server) as agent:
        learn(agent, talk("a"), talk("b"))
        assert texts(agent) == expected
        assert "S1: named in" in str(server.requests[-1])


def test_a_model_selects_sentences_for_a_reply(tmp_path: Path) -> None:
    config = {"selected": 1, "temperature": 0.75}
    with ScriptedServer() as server, _scripted(tmp_path, server, **config) as agent:
        learn(agent, *(talk(key) for key in "abc"))
        recalled = agent.user("ana").recall("Does your brother Bo still paint houses?")
        assert "Bo paints houses" in recalled.text
        assert len(recalled.parts) == 1
        assert "Task: select-sentences" in str(server.requests[-1])
        server.script({"select-sentences": '{"sentences": [999]}'})
        recalled = agent.user("ana").recall("What about the red boat?")
        assert (len(recalled.parts), len(recalled.notes)) == (1, 1)
    with theanine.open(str(tmp_path / "m.db"), method=METHOD, config={"selected": 2}) as agent:
        assert len(agent.user("ana").recall("boat").parts) == 2


def test_the_prompt_of_a_selection_is_fenced(tmp_path: Path) -> None:
    with ScriptedServer() as server, _scripted(tmp_path, server, selected=2) as agent:
        learn(agent, talk("a"))
        agent.user("ana").recall("What of the boat?")
        calm = prompt_of(server.requests[-1])
        agent.user("ana").recall(ATTACK)
        attacked = prompt_of(server.requests[-1])
    assert calm.startswith("Task: select-sentences\n")
    check_fences(calm, attacked)
