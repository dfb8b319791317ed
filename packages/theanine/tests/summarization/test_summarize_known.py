"""Summaries by a model that is told what is known: people, cues, and items that can't be used."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import theanine
from support.answering import Answering, memory, turn
from theanine import TheaninePaperConfig
from theanine.demo import HARBOUR
from theanine.errors import UnusableReply
from theanine.importers import read_histories
from theanine.methods.theanine.config import TheanineConfig
from theanine.methods.theanine.method import Theanine
from theanine.methods.theanine.relate_session import EARLIER_TOKENS
from theanine.summarization import Known, Summarized, summarize_known
from theanine.testing import ScriptedModel, answer
from theanine.testing.answers import blocks_of
from theanine.types import History, Transcript, Utterance

pytestmark = pytest.mark.anyio

TURNS = [
    turn(11, "My sister Lucija bought a boat in Faro.", session=3),
    turn(12, "How big is it?", "Tea", session=3, role="assistant"),
    turn(13, "Twelve metres, and it has two masts.", session=3),
]
KNOWN = Known(people={"Ana": 1, "Lucija Horvat": 2}, statements=[memory(4, "Ana can sail.")])


def _statement(text: str = "The boat has two masts.", **more: object) -> dict[str, object]:
    return {"text": text, "turns": [3], **more}


async def _summarize(*items: object, known: Known = KNOWN) -> tuple[Summarized, Answering]:
    chat = Answering([{"statements": list(items)}])
    return await summarize_known(TURNS, chat, known), chat


async def test_the_prompt_tells_what_is_known_and_quotes_its_sessions() -> None:
    summary, chat = await _summarize(_statement(cues="yacht, rig"))
    (asked,) = chat.asked
    blocks = blocks_of(asked.prompt)
    assert blocks["people"] == "Ana, Lucija Horvat"
    assert blocks["known"] == "-- 8 May 2023\n- Ana can sail."
    assert asked.touches == {1, 2, 3}
    (made,) = summary.memories
    assert (made.text, made.source_turns, made.at) == (
        "The boat has two masts.", (13,), TURNS[2].at,
    )  # fmt: skip
    assert (made.prompt, made.made_by) == ("summarize@2", "scripted:test")
    assert (made.speakers, made.cues, summary.notes) == (("Ana",), ("yacht", "rig"), [])


async def test_nothing_is_known_at_first() -> None:
    _, chat = await _summarize(known=Known(people={}, statements=()))
    blocks = blocks_of(chat.asked[0].prompt)
    assert (blocks["people"], blocks["known"]) == ("(nobody)", "(nothing)")


@pytest.mark.parametrize(
    ("about", "speakers"),
    [
        ([], ("Ana",)),
        (["Lucija"], ("Lucija",)),
        (["lucija horvat"], ("Lucija Horvat",)),
        (["Ana", "Lucija"], ("Ana", "Lucija")),
        (["tea", "TEA"], ("Tea",)),
        (["Nobody"], ("Ana",)),
        (["Nobody", "Lucija"], ("Lucija",)),
        (["Lucija\n>>>"], ("Lucija",)),
        ([""], ("Ana",)),
        ("Lucija", ("Lucija",)),
        ("Ana, Lucija", ("Ana", "Lucija")),
        ("", ("Ana",)),
        (None, ("Ana",)),
    ],
)
async def test_a_statement_names_those_whom_it_is_about(
    about: Sequence[str] | None, speakers: tuple[str, ...]
) -> None:
    summary, _ = await _summarize({"text": "A boat.", "turns": [1], "about": about})
    assert summary.memories[0].speakers == speakers


@pytest.mark.parametrize(
    ("text", "name", "is_named"),
    [
        ("She also sails.", "Al", False),
        ("Al sails.", "Al", True),
        ("This is Al's boat.", "Al", True),
        ("The marketing is done.", "Mark", False),
        ("Annas Boot hat zwei Masten.", "Anna", True),
        ("Johanna sails.", "Anna", False),
        ("How big is it? Twelve metres.", "", False),
        ("민수는 배를 샀다.", "민수", True),
        ("田中さんは船を買った。", "田中", True),
        ("Dr. (Al) sails.", "(Al", True),
    ],
)
async def test_a_name_is_known_where_the_words_have_it(
    text: str, name: str, is_named: bool
) -> None:
    summary, _ = await _summarize(_statement(text, about=[name]))
    assert summary.memories[0].speakers == ((name.strip("("),) if is_named else ("Ana",))


@pytest.mark.parametrize(
    ("cues", "kept"),
    [
        ("", ()),
        ("yacht", ("yacht",)),
        ("yacht; rig、sails\nhull", ("yacht", "rig", "sails", "hull")),
        ("a, b2, c3, d4, e5", ("b2", "c3", "d4", "e5")),
        ("masts, yacht, Boat, yacht", ("yacht",)),
        (" , ,", ()),
        (None, ()),
        ([], ()),
        (["yacht", "rig, sails", 1990], ("yacht", "rig", "sails", "1990")),
    ],
)
async def test_cues_add_to_the_text(cues: object, kept: tuple[str, ...]) -> None:
    summary, _ = await _summarize(_statement(cues=cues))
    assert summary.memories[0].cues == kept


RIGHT = {"text": "Lucija bought a boat in Faro.", "turns": [1], "about": ["Lucija"]}
MALFORMED: Mapping[str, object] = {
    "no text": {"turns": [1]},
    "empty text": _statement("  "),
    "long text": _statement("boat " * 200),
    "no turns": {"text": "A boat."},
    "empty turns": {"text": "A boat.", "turns": []},
    "unknown turn": {"text": "A boat.", "turns": [9]},
    "turn zero": {"text": "A boat.", "turns": [0]},
    "turn in words": {"text": "A boat.", "turns": ["first"]},
    "text as number": {"text": 3, "turns": [1]},
    "cues as object": _statement(cues={"a": 1}),
    "about as number": _statement(about=3),
    "empty": {},
    "null": None,
    "a text": "Lucija bought a boat.",
    "a list": ["A boat.", 1],
}


@pytest.mark.parametrize("name", MALFORMED)
@pytest.mark.parametrize("is_first", [True, False])
async def test_a_malformed_statement_costs_that_statement(name: str, is_first: bool) -> None:
    items = [MALFORMED[name], RIGHT]
    summary, chat = await _summarize(*(items if is_first else reversed(items)))
    assert [made.text for made in summary.memories] == [RIGHT["text"]]
    assert not chat.faults
    (note,) = summary.notes
    assert note.startswith("summarize@2: 1 of 2 statements could not be used: ")


async def test_an_unknown_turn_beside_a_known_one_costs_that_turn() -> None:
    summary, _ = await _summarize({**RIGHT, "turns": [1, 9, 0]})
    assert summary.memories[0].source_turns == (11,)
    assert not summary.notes


@pytest.mark.parametrize("pair", list(permutations(sorted(MALFORMED), 2))[::11])
async def test_a_reply_of_malformed_statements_alone_is_asked_for_again(
    pair: tuple[str, str],
) -> None:
    """Else a session's memories would be lost without a word."""
    unusable = {"statements": [MALFORMED[name] for name in pair]}
    chat = Answering([unusable, {"statements": [RIGHT]}])
    summary = await summarize_known(TURNS, chat, KNOWN)
    assert len(chat.faults) == 1
    assert [made.text for made in summary.memories] == [RIGHT["text"]]
    with pytest.raises(UnusableReply):
        await summarize_known(TURNS, Answering([unusable]), KNOWN)


async def test_too_many_statements_cost_those_beyond_the_limit() -> None:
    summary, _ = await _summarize(*(_statement(f"Boat {number}.") for number in range(15)))
    assert len(summary.memories) == 12
    assert "3 of 15" in summary.notes[0]


async def test_nothing_worth_keeping_is_an_answer() -> None:
    summary, chat = await _summarize()
    assert (summary.memories, summary.notes, chat.faults) == ([], [], [])


# In a store

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
SAID = ("I have a flat above the bakery in Leiden.", "Lucija works on the ferries to Cres.")


@pytest.fixture
def cued(tmp_path: Path) -> Iterator[theanine.Client]:
    """A store whose statements have cues, and one of them is about another person."""

    def write(prompt: str) -> str:
        if not prompt.startswith("Task: summarize\n"):
            return '{"links": []}'
        first = {"text": "Ana has a flat in Leiden.", "turns": [1], "cues": "abode, residence"}
        second = {"text": "Lucija works on ferries.", "turns": [2], "about": ["Lucija"]}
        return json.dumps({"statements": [first, second] if SAID[0] in prompt else []})

    with theanine.open(str(tmp_path / "cued.db"), model=ScriptedModel(write)) as client:
        turns = [
            Utterance(text=text, speaker="Ana", at=START + timedelta(minutes=n))
            for n, text in enumerate(SAID)
        ]
        more = Utterance(text="Good morning to you.", speaker="Ana", at=START + timedelta(days=7))
        transcripts = [
            Transcript(key="a", at=START, turns=turns),
            Transcript(key="b", at=more.at, turns=[more]),
        ]
        client.user("ana").log(History(name="ana", transcripts=transcripts))
        client.user("ana").remember()
        yield client


def test_cues_are_stored_exported_and_searched(cued: theanine.Client, tmp_path: Path) -> None:
    ana = cued.user("ana")
    assert [each.cues for each in ana.memories()] == [("abode", "residence"), ()]
    assert [each.speakers for each in ana.memories()] == [("Ana",), ("Lucija",)]
    found = ana.explain("abode").candidates[0]
    assert found.memory == 1
    records = [*cued.export()]
    assert [record.get("cues") for record in records if record["type"] == "memory"] == [
        ["abode", "residence"], None,
    ]  # fmt: skip
    with theanine.open(str(tmp_path / "copy.db")) as copy:
        copy.restore(records)
        assert [each.cues for each in copy.user("ana").memories()] == [("abode", "residence"), ()]


def test_forgetting_a_statement_erases_its_cues(cued: theanine.Client, tmp_path: Path) -> None:
    cued.user("ana").forget(memory=1)
    cued.close()
    assert not any(b"abode" in file.read_bytes() for file in tmp_path.iterdir() if file.is_file())


def _scripted() -> ScriptedModel:
    return ScriptedModel(lambda prompt: answer({"messages": [{"role": "user", "content": prompt}]}))


def _positions(client: theanine.Client) -> list[tuple[int, int, object, str]]:
    """The links by the positions of their memories, since a rebuild gives these other numbers."""
    at = {each.id: place for place, each in enumerate(client.user("ana").memories())}
    links = client.user("ana").links()
    return [(at[link.older], at[link.newer], link.relation, link.prompt) for link in links]


def test_a_journal_of_the_former_prompts_is_replayed_unchanged(tmp_path: Path) -> None:
    """Those prompts are still asked by the method as published, with other settings."""
    former = TheaninePaperConfig(
        relating="session", link_to="best", retrieval="hybrid", temperature=None
    )
    path, model = str(tmp_path / "memory.db"), _scripted()
    history = read_histories(HARBOUR).histories[0]
    with theanine.open(path, method="theanine-paper", config=former, model=model) as client:
        client.user("ana").log(history)
        client.user("ana").remember()
        before = [(m.text, m.kind, m.prompt, m.cues) for m in client.user("ana").memories()]
        links = _positions(client)
    assert {prompt for *_, prompt in links} == {"relate@2"}
    asked = len(model.prompts)
    with theanine.open(path, model=model) as client:
        reports = client.user("ana").rebuild(again=True).reports
        assert sum(report.usage.calls for report in reports) == 0
        after = [(m.text, m.kind, m.prompt, m.cues) for m in client.user("ana").memories()]
        assert after == before
        assert _positions(client) == links
    assert len(model.prompts) == asked


def test_what_another_method_asked_is_not_taken_for_the_former_prompts(tmp_path: Path) -> None:
    path, model = str(tmp_path / "memory.db"), _scripted()
    with theanine.open(path, method="memory-update", model=model) as client:
        client.user("ana").log(read_histories(HARBOUR).histories[0])
        client.user("ana").remember()
    with theanine.open(path, method="theanine", model=model) as client:
        client.user("ana").remember()
        memories, links = client.user("ana").memories(), client.user("ana").links()
    first = min(memory.session for memory in memories)
    later = {memory.prompt for memory in memories if memory.session != first}
    assert later <= {"summarize@2", "relate@3"}
    assert {link.prompt for link in links} == {"relate@3"}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_session_without_memories_keeps_its_notes(tmp_path: Path, name: str) -> None:
    """All that is left only repeats what the assistant had recalled."""
    told = "Ana has a flat in Leiden."

    def write(prompt: str) -> str:
        if not prompt.startswith("Task: summarize\n"):
            return '{"links": []}' if prompt.startswith("Task: relate") else told
        if "Where is my flat" not in prompt:
            return json.dumps({"statements": [{"text": told, "turns": [1]}]})
        repeated = {"text": told, "turns": [2]}
        return json.dumps({"statements": [MALFORMED[name], repeated]})

    with theanine.open(str(tmp_path / "memory.db"), model=ScriptedModel(write)) as client:
        ana = client.user("ana")
        with ana.session() as session:
            session.add(SAID[0])
        ana.remember()
        with ana.session() as session:
            session.hear("Where is my flat?")
            session.reply()
        report = ana.rebuild(again=True).reports[-1]
        assert len(ana.memories()) == 1
    (note,) = report.notes
    assert note.startswith("summarize@2: 1 of 2 statements could not be used: ")


TAKEN = ("Ana has a flat in Leiden.", "Ana's abode is in Leiden.")


@pytest.mark.parametrize(
    "what", [{"memory": 1}, {"memory": 1, "keep_turns": True}, {"turn": 1}, {"session": 1}]
)
def test_forgetting_names_later_sessions_that_were_written_with_it_in_view(
    tmp_path: Path, what: Mapping[str, Any]
) -> None:
    def write(prompt: str) -> str:
        if not prompt.startswith("Task: summarize\n"):
            return '{"links": []}'
        if "nothing to say" in blocks_of(prompt)["turns"]:
            return '{"statements": []}'
        text = TAKEN[TAKEN[0] in blocks_of(prompt)["known"]]
        return json.dumps({"statements": [{"text": text, "turns": [1]}]})

    with theanine.open(str(tmp_path / "memory.db"), model=ScriptedModel(write)) as client:
        ana, other = client.user("ana"), client.user("ben")
        for said in (SAID[0], "My flat is warm.", "I have nothing to say of my flat."):
            for user in (ana, other):
                with user.session() as session:
                    session.add(said)
                user.remember()
        assert [each.text for each in ana.memories()] == [*TAKEN]
        report = ana.forget(**what)
        named = [each for each in report.kept if "in view" in each]
        assert named == [
            "memories of session 2, which a model wrote with this in view: forget that session too "
            "if they repeat it"
        ]
        assert [each.text for each in ana.memories() if each.session == 2] == [TAKEN[1]]
        assert not ana.forget(session=2).kept
        assert not other.forget(session=3).kept


@pytest.mark.parametrize("sessions", [1, 2, 10, 40, 400])
def test_an_estimate_counts_the_earlier_statements_that_are_shown(sessions: int) -> None:
    method = Theanine(TheanineConfig())
    shown = [method.estimate_earlier(20 * earlier).input_tokens for earlier in range(sessions)]
    assert shown[0] == 0
    assert shown == sorted(shown)
    assert max(shown) <= EARLIER_TOKENS
    assert sessions < 400 or max(shown) == EARLIER_TOKENS


def test_an_estimate_of_many_sessions_is_close(tmp_path: Path) -> None:
    transcripts = [
        Transcript(
            key=str(week),
            at=START + timedelta(weeks=week),
            turns=[
                Utterance(
                    text=f"My boat number {20 * week + n} has a blue mast and a new sail in Faro.",
                    speaker="Ana",
                    at=START + timedelta(weeks=week, minutes=n),
                )
                for n in range(20)
            ],
        )
        for week in range(15)
    ]
    with theanine.open(str(tmp_path / "memory.db"), model=_scripted()) as client:
        ana = client.user("ana")
        ana.log(History(name="ana", transcripts=transcripts))
        estimate = ana.estimate()
        reports = ana.remember()
    tokens = sum(report.usage.input_tokens for report in reports)
    print(f"estimated {estimate.input_tokens} of {tokens} prompt tokens")
    assert tokens / 2 <= estimate.input_tokens <= 2 * tokens


FORMER_REPLY_TOKENS = 13_746
"""Reply tokens of both steps on the bundled conversation, as the versions before asked for them."""
FORMER_PROMPT_TOKENS = 34_628


def test_both_steps_take_half_the_reply_tokens_of_their_former_versions(tmp_path: Path) -> None:
    with theanine.open(str(tmp_path / "memory.db"), model=_scripted()) as client:
        client.user("ana").log(read_histories(HARBOUR).histories[0])
        reports = client.user("ana").remember()
    replies = sum(report.usage.output_tokens for report in reports)
    prompts = sum(report.usage.input_tokens for report in reports)
    print(f"reply tokens {replies} of {FORMER_REPLY_TOKENS}, prompts {prompts}")
    assert replies <= FORMER_REPLY_TOKENS / 2
    assert prompts <= FORMER_PROMPT_TOKENS
