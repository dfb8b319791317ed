"""memorybank: how memories fade, what the diary is made of, and how a model is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from math import exp
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import theanine
from support.answering import Answering, turn
from support.prompting import ATTACK, check_fences, check_length, check_snapshot
from theanine.errors import SettingsError, UnusableReply
from theanine.testing import ScriptedServer
from theanine.types import History, ImportedMemory, Memory, Transcript, Turn, Utterance
from theanine_methods.memorybank.config import MemoryBankConfig
from theanine_methods.memorybank.digest import (
    ALL_EVENTS,
    ALL_TRAITS,
    DAY,
    DayLine,
    digest_all,
    digest_day,
)
from theanine_methods.memorybank.kinds import DAY_EVENTS, DAY_TRAITS, EVENTS, EXCHANGE, PORTRAIT
from theanine_methods.memorybank.local_digest import (
    informative_lines,
    local_digest_all,
    local_digest_day,
    turns_quoted_in,
)
from theanine_methods.memorybank.method import MemoryBank
from theanine_methods.memorybank.retention import retained, retention

pytestmark = pytest.mark.anyio

STEPS = [DAY, ALL_EVENTS, ALL_TRAITS]
START = datetime(2024, 5, 6, 12, tzinfo=UTC)

# how memories fade

DAYS = st.floats(0, 400)
STRENGTH = st.integers(1, 50)
TIMES = st.lists(st.integers(0, 500), max_size=8).map(
    lambda days: [START + timedelta(days=day) for day in sorted(days)]
)


@given(DAYS, DAYS, STRENGTH)
def test_retention_decreases_with_days(one: float, other: float, strength: int) -> None:
    sooner, later = sorted((one, other))
    assert 1 >= retention(sooner, strength) >= retention(later, strength) >= 0


@given(DAYS, STRENGTH, STRENGTH)
def test_retention_increases_with_strength(days: float, one: int, other: int) -> None:
    weaker, stronger = sorted((one, other))
    assert retention(days, weaker) <= retention(days, stronger)


def test_retention_is_the_curve_of_the_paper() -> None:
    assert retention(0, 1) == 1
    assert retention(3, 2) == exp(-1.5)
    assert retention(-1, 1) == 1  # said in another zone's tomorrow


@given(TIMES, st.integers(0, 500), st.integers(0, 500))
def test_a_recall_never_lowers_retention(recalls: list[datetime], recalled: int, now: int) -> None:
    at, then = START + timedelta(days=now), START + timedelta(days=recalled)
    before = retained(START, recalls, at)
    after = retained(START, sorted([*recalls, then]), at)
    assert after >= before
    if then > at:
        assert after == before  # what is still to come counts for nothing


def test_a_recall_adds_strength_and_resets_the_days() -> None:
    now = START + timedelta(days=10)
    assert retained(START, [], now) == exp(-10)
    assert retained(START, [START + timedelta(days=4)], now) == exp(-6 / 2)
    twice = [START + timedelta(days=4), START + timedelta(days=9)]
    assert retained(START, twice, now) == exp(-1 / 3)
    assert retained(START, twice, START + timedelta(days=5)) == exp(-1 / 2)


# how the model is asked

TURNS = [
    turn(1, "We adopted a dog yesterday, Bura."),
    turn(2, "Wonderful! Is she big?", "Tea", role="assistant"),
    turn(3, "I love big dogs, always did."),
]
BEFORE = (["Ana's boat was sold."], ["Ana likes the sea."])
EVENT: dict[str, Any] = {"text": "Ana adopted Bura.", "turns": [1]}
KEPT: dict[str, Any] = {"text": "Ana's boat was sold.", "turns": []}
PAGE: dict[str, Any] = {
    "events": [KEPT, EVENT],
    "traits": [{"text": "Ana likes  big\ndogs.", "turns": [3, 1]}],
}
LINES = [
    DayLine("8 May 2023", "Ana's boat was sold."),
    DayLine("8 May 2023", "Ana moved."),
    DayLine("15 May 2023", "Ana adopted Bura."),
]


async def prompt_of(name: str, turns: Sequence[Turn], before: str, lines: Sequence[Any]) -> str:
    """The prompt of a step over these turns or lines."""
    caller = Answering([PAGE if name == "bank-day" else "All is well."])
    if name == "bank-day":
        await digest_day(turns, ([before], [before]), caller)
    else:
        step = ALL_EVENTS if name == "bank-events" else ALL_TRAITS
        await digest_all(step, lines, before, caller, source_sessions={1, 2})
    return caller.asked[0].prompt


@pytest.mark.parametrize("name", [step.name for step in STEPS])
async def test_each_prompt_matches_its_snapshot(name: str) -> None:
    check_snapshot(name, await prompt_of(name, TURNS, "Ana sailed a lot.", LINES))


@pytest.mark.parametrize("name", [step.name for step in STEPS])
async def test_quoted_text_cannot_leave_its_fence(name: str) -> None:
    turns = [replace(turn, text=ATTACK, speaker=f"Ana\n{ATTACK}") for turn in TURNS]
    lines = [replace(line, text=ATTACK) for line in LINES]
    check_fences(
        await prompt_of(name, TURNS, "Ana sailed a lot.", LINES),
        await prompt_of(name, turns, ATTACK, lines),
    )


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_instructions_are_short(step: Any) -> None:
    check_length(step)


async def test_a_page_is_made_of_the_previous_page_and_the_session() -> None:
    caller = Answering([PAGE])
    events, traits = await digest_day(TURNS, BEFORE, caller, source_sessions={7})
    assert events.lines == ("Ana's boat was sold.", "Ana adopted Bura.")
    assert (events.source_turns, traits.source_turns) == ((1,), (1, 3))
    assert traits.lines == ("Ana likes big dogs.",)
    assert caller.asked[0].touches == {1, 7}


async def test_a_long_session_is_read_window_by_window() -> None:
    text = " ".join(["harbour"] * 900)
    turns = [turn(n, text, dated=False) for n in range(1, 9)]
    first: dict[str, Any] = {"events": [EVENT], "traits": []}
    second: dict[str, Any] = {
        "events": [{**EVENT, "turns": []}, {"text": "More.", "turns": [8]}],
        "traits": [],
    }
    caller = Answering([first, second])
    events, traits = await digest_day(turns, ((), ()), caller)
    assert len(caller.asked) == 2
    assert "<<<events\nAna adopted Bura.\n>>>" in caller.asked[1].prompt
    assert "2023" not in caller.asked[0].prompt
    assert events.lines == ("Ana adopted Bura.", "More.")
    assert events.source_turns == (1, 8)
    assert traits.lines == ()


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ({"events": [], "traits": PAGE["traits"]}, "events that stood there already are lost"),
        ({"events": [EVENT] * 13, "traits": []}, "13 events are too many"),
        ({"events": [{**EVENT, "text": " "}], "traits": []}, "events, entry 1: its text is empty"),
        ({"events": [{**EVENT, "text": "a" * 501}], "traits": []}, "its text is too long"),
        ({"events": [EVENT, {**EVENT, "turns": [0, 9]}], "traits": []}, "turns [0, 9] were not"),
        ({"events": [EVENT], "traits": [KEPT]}, "names no turn"),
    ],
)
async def test_an_invalid_page_is_rejected(page: Any, fault: str) -> None:
    caller = Answering([page])
    with pytest.raises(UnusableReply):
        await digest_day(TURNS, (BEFORE[0], ()), caller)
    assert fault in caller.faults[0]


@pytest.mark.parametrize(("reply", "fault"), [("  ", "empty"), ("a" * 2_001, "too long")])
async def test_an_invalid_digest_is_rejected(reply: str, fault: str) -> None:
    caller = Answering([reply])
    with pytest.raises(UnusableReply):
        await digest_all(ALL_EVENTS, LINES, "", caller, source_sessions=())
    assert fault in caller.faults[0]


# the diary without a model


@given(st.lists(st.text("abc dé。船 ", max_size=40), max_size=8), st.integers(0, 5))
def test_informative_lines_fit_and_keep_their_order(lines: list[str], most: int) -> None:
    places = informative_lines(lines, most, 60)
    assert places == sorted(set(places))
    assert len(places) <= most
    assert sum(len(lines[place]) for place in places) <= 60
    assert places == informative_lines(lines, most, 60)


def test_informative_lines_have_the_most_new_words() -> None:
    lines = [
        "Bura ran.",
        "Bura the dog ran to the harbour.",
        "Bura ran.",
        "It was so.",
        "Rui sang.",
    ]
    assert informative_lines(lines, 2, 500) == [1, 4]
    assert informative_lines(lines, 9, 500) == [1, 4]  # the others say nothing beside these


def test_a_local_page_quotes_turns() -> None:
    texts = [
        turn(1, "I adopted a dog from the shelter on Thursday, a brown mongrel called Bura."),
        turn(2, "I love the harbour of Faro, and I always go there.", "Tea", role="assistant"),
        turn(3, "I always carry my pen, because I am afraid of hazelnuts.", shared="a pen"),
    ]
    events, traits = local_digest_day(texts, (["Ana sold her boat."], []))
    assert events.lines[0] == "Ana sold her boat."
    assert set(events.source_turns) >= {1, 3}
    assert traits.source_turns == (3,)  # the agent's likes are no one's portrait
    quoted = "I always carry my pen, because I am afraid of hazelnuts."
    assert traits.lines == (f"Ana said on 8 May 2023: “{quoted}” (shares a pen)",)
    undated = local_digest_day([replace(text, dated=False) for text in texts], ([], []))[1]
    assert "2023" not in undated.lines[0]


def test_a_local_digest_names_the_turns_that_it_quotes() -> None:
    text = "Ana said on 8 May 2023: “I sold it.” … “It was old.”\nBo shared: a red door"
    turns = [
        turn(1, "I sold it. Yes. It was old."),
        turn(2, "It was cold."),
        turn(3, "Look!", "Bo", shared="a red door"),
    ]
    assert turns_quoted_in(text, turns) == (1, 3)
    assert turns_quoted_in("Ana said: “I sold it.”", turns) == (1,)
    assert turns_quoted_in("Nothing.", turns) == ()


def test_a_local_digest_takes_lines_of_days_and_of_the_previous_digest() -> None:
    text = local_digest_all(LINES, "Rui sings in Lisbon.\n\nIt was so.")
    assert text.splitlines() == [
        "Rui sings in Lisbon.",
        "Ana's boat was sold.",
        "Ana moved.",
        "Ana adopted Bura.",
    ]


# the whole method over a real store


def session(
    key: str, day: float, *texts: str, dated: bool = True, zone: timezone = UTC
) -> Transcript:
    """A session of Ana's words, so many days after the start."""
    at = (START + timedelta(days=day)).astimezone(zone)
    utterance = [
        Utterance(text=text, speaker="Ana", at=at + timedelta(minutes=i))
        for i, text in enumerate(texts)
    ]
    return Transcript(key=key, turns=utterance, at=at, dated=dated)


def learn(agent: theanine.Client, *transcripts: Transcript) -> None:
    """Log and remember; nothing may fail."""
    agent.user("ana").log(History(name="ana", transcripts=transcripts))
    assert [report.failure for report in agent.user("ana").remember() if report.failure] == []


def opened(path: Path, **config: Any) -> theanine.Client:
    """An agent of this method without a model."""
    return theanine.open(str(path / "m.db"), method="memorybank", config=config or None)


def live(agent: theanine.Client, kind: str) -> list[Memory]:
    """The memories of a kind that no mark stands on."""
    marked = {mark.memory for mark in agent.user("ana").marks()}
    return [
        memory
        for memory in agent.user("ana").memories()
        if memory.kind == kind and memory.id not in marked
    ]


BOAT = "I sold my old boat in the harbour of Faro because its engine died."
DOG = "I love our new dog, a brown mongrel from the shelter called Bura."
JOB = "I started a new job at the bakery in Lisbon and I feel proud of it."


def test_the_memories_of_a_session_and_their_sources(tmp_path: Path) -> None:
    with opened(tmp_path) as agent:
        learn(agent, session("a", 0, DOG))
        kinds = {memory.kind: memory for memory in agent.user("ana").memories()}
        assert list(kinds) == [EXCHANGE, DAY_EVENTS, EVENTS, DAY_TRAITS, PORTRAIT]
        assert (
            kinds[DAY_EVENTS].derived_from
            == kinds[DAY_TRAITS].derived_from
            == (kinds[EXCHANGE].id,)
        )
        assert kinds[EVENTS].derived_from == (kinds[DAY_EVENTS].id,)
        assert kinds[PORTRAIT].derived_from == (kinds[DAY_TRAITS].id,)
        assert kinds[DAY_EVENTS].source_turns == (1,)
        assert agent.user("ana").marks() == []


def test_without_personality_there_is_no_portrait(tmp_path: Path) -> None:
    with opened(tmp_path, personality=False) as agent:
        learn(agent, session("a", 0, DOG))
        assert {memory.kind for memory in agent.user("ana").memories()} == {
            EXCHANGE,
            DAY_EVENTS,
            EVENTS,
        }
    with opened(tmp_path) as agent:
        learn(agent, session("b", 1, DOG))
        assert "What they are like:" in agent.user("ana").recall("dog").text
    with opened(tmp_path, personality=False) as agent:
        assert "What they are like:" not in agent.user("ana").recall("dog").text


def test_two_sessions_on_one_day_share_a_page(tmp_path: Path) -> None:
    with opened(tmp_path) as agent:
        learn(agent, session("a", 0, BOAT))
        first = live(agent, DAY_EVENTS)[0]
        learn(agent, session("b", 0.2, DOG), session("c", 1, JOB))
        assert len(live(agent, EVENTS)) == 1
        today, tomorrow = live(agent, DAY_EVENTS)
        assert first in agent.user("ana").memories()  # superseded, not erased
        assert first.id in today.derived_from
        assert BOAT in today.text
        assert DOG in today.text
        assert JOB in tomorrow.text
        reasons = {mark.memory: mark for mark in agent.user("ana").marks()}
        assert reasons[first.id].kind == "superseded"
        assert reasons[first.id].by == today.id
        (whole,) = live(agent, EVENTS)
        assert set(whole.derived_from) == {today.id, tomorrow.id}
        assert whole.source_turns == (1, 2, 3)  # the turns that it quotes, of the first page too


@pytest.mark.parametrize("dated", [True, False])
def test_a_session_that_gains_turns_has_its_page_remade(tmp_path: Path, dated: bool) -> None:
    whole = session("a", 0, BOAT, DOG, JOB, dated=dated)
    with opened(tmp_path) as agent:
        learn(agent, replace(whole, turns=whole.turns[:1]))
        learn(agent, whole)
        (page,) = live(agent, DAY_EVENTS)
        assert all(text in page.text for text in (BOAT, DOG, JOB))
        assert page.source_turns == (2, 3)
        assert live(agent, EVENTS)[0].source_turns == (1, 2, 3)
        kinds = [memory.kind for memory in agent.user("ana").memories()]
        assert kinds.count(EXCHANGE) == 3  # nobody answered


def test_days_are_those_of_the_speakers_own_clock(tmp_path: Path) -> None:
    east = timezone(timedelta(hours=9))
    with opened(tmp_path) as agent:
        # Noon and 23:00 UTC are one day in UTC, but two where it is 21:00 and 8:00.
        learn(agent, session("a", 0, BOAT, zone=east), session("b", 0.46, DOG, zone=east))
        assert len(live(agent, DAY_EVENTS)) == 2


def test_undated_sessions_are_days_of_their_own_and_do_not_fade(tmp_path: Path) -> None:
    with opened(tmp_path, forgetting=True) as agent:
        learn(agent, session("a", 0, BOAT, dated=False), session("b", 0.1, DOG, dated=False))
        assert len(live(agent, DAY_EVENTS)) == 2
        at = START + timedelta(days=900)
        dialogue = [Utterance(text="What about the boat and its engine?", speaker="Ana", at=at)]
        recollection = agent.user("ana").recall(dialogue)
        best = max(recollection.parts, key=lambda part: part.score)
        assert best.score == 1.0
        assert BOAT in best.text
        assert "2024" not in recollection.text


def test_a_session_that_adds_nothing_changes_no_digest(tmp_path: Path) -> None:
    with opened(tmp_path) as agent:
        learn(agent, session("a", 0, DOG))
        before = [memory for memory in agent.user("ana").memories() if memory.kind != EXCHANGE]
        learn(agent, session("b", 0.1, "Hi!"), session("c", 1, "Bye!"))
        assert [
            memory for memory in agent.user("ana").memories() if memory.kind != EXCHANGE
        ] == before


@pytest.mark.slow
def test_older_days_are_represented_by_the_previous_digest(tmp_path: Path) -> None:
    texts = [BOAT, DOG, JOB, "I bought a red bicycle on the market for 40 euros."]
    with opened(tmp_path, days=2) as agent:
        learn(agent, *(session(str(day), day, text) for day, text in enumerate(texts)))
        pages = [memory.id for memory in live(agent, DAY_EVENTS)]
        wholes = [memory for memory in agent.user("ana").memories() if memory.kind == EVENTS]
        assert len(pages) == len(wholes) == 4
        assert wholes[1].derived_from == tuple(pages[:2])
        assert wholes[2].derived_from == tuple(sorted([*pages[1:3], wholes[1].id]))
        assert wholes[3].derived_from == tuple(sorted([*pages[2:], wholes[2].id]))
        assert all(text in wholes[3].text for text in texts)
        recollection = agent.user("ana").recall("What happened?")
        assert {turn.id for turn in recollection.parts[0].source_turns} == {1, 2, 3, 4}


def test_recall_returns_digests_then_memories_in_time_order(tmp_path: Path) -> None:
    with opened(tmp_path, retrieved=2) as agent:
        learn(agent, session("a", 0, BOAT), session("b", 1, DOG), session("c", 2, JOB))
        recollection = agent.user("ana").recall("Where is the boat with the dead engine?")
        kinds = [part.memories[0].kind for part in recollection.parts]
        assert kinds[:2] == [EVENTS, PORTRAIT]
        assert set(kinds[2:]) <= {EXCHANGE, DAY_EVENTS}
        assert len(kinds) == 4
        times = [part.memories[0].order for part in recollection.parts[2:]]
        assert times == sorted(times)
        assert BOAT in max(recollection.parts, key=lambda part: part.score).text
        small = agent.user("ana").recall("Where is the boat with the dead engine?", budget=45)
        assert [part.memories[0].kind for part in small.parts] in ([EXCHANGE], [DAY_EVENTS])


def test_a_recalled_memory_outlasts_one_that_is_not(tmp_path: Path) -> None:
    """Two pieces that fit as well: only what was recalled since is still near."""
    one, other = "I keep the blue boat in Faro.", "I keep the green boat in Faro."

    def asked(day: int) -> list[Utterance]:
        at = START + timedelta(days=day)
        return [Utterance(text="Which boat in Faro?", speaker="Ana", at=at)]

    with opened(tmp_path, forgetting=True, retrieved=1, personality=False) as agent:
        learn(agent, session("a", 0, one), session("b", 0.5, other))
        pieces = {m.text: m.id for m in agent.user("ana").memories() if m.kind == EXCHANGE}
        older = pieces[f"Ana: {one}"]
        recalled = Utterance(
            text="The blue one?",
            speaker="assistant",
            role="assistant",
            at=START + timedelta(days=3),
            recalled=(older,),
        )
        before = agent.user("ana").recall(asked(20)).parts[-1]
        talk = session("c", 3, "Hello.")
        learn(agent, replace(talk, turns=[*talk.turns, recalled]))
        after = agent.user("ana").recall(asked(20)).parts[-1]
        assert older in {m.id for m in after.memories}
        assert after.score > before.score
        assert len(agent.user("ana").memories()) >= len(pieces)  # whatever fades stays


def test_faded_memories_rank_lower_and_are_never_erased(tmp_path: Path) -> None:
    with opened(tmp_path) as agent:
        learn(agent, *(session(str(day), day, f"I went to Faro, day {day}.") for day in range(9)))
        before = agent.user("ana").memories()
        at = START + timedelta(days=9)
        dialogue = [Utterance(text="When did I go to Faro?", speaker="Ana", at=at)]
    with opened(tmp_path, forgetting=True, retrieved=3, retrieval="lexical") as agent:
        newest = [part.memories[0].at for part in agent.user("ana").recall(dialogue).parts[1:]]
        assert min(newest) >= START + timedelta(days=6)
        assert agent.user("ana").memories() == before
        far = [replace(dialogue[0], at=START + timedelta(days=9_000))]
        assert (
            len(agent.user("ana").recall(far).parts) > 1
        )  # when nothing is left, fit alone counts


def test_imported_memories_are_searched_too(tmp_path: Path) -> None:
    given = [ImportedMemory(text="Ana is allergic to hazelnuts.", speakers=("Ana",))]
    with opened(tmp_path) as agent:
        learn(agent, replace(session("a", 0, BOAT), memories=given))
        learn(agent, Transcript(key="b", turns=[], at=START + timedelta(days=2), memories=given))
        recollection = agent.user("ana").recall("What is Ana allergic to?")
        assert "(8 May 2024) Ana is allergic to hazelnuts." in recollection.text
        assert len(live(agent, DAY_EVENTS)) == 1


@pytest.mark.slow
def test_forgetting_a_session_removes_its_lines_from_every_digest(tmp_path: Path) -> None:
    with opened(tmp_path) as agent:
        learn(agent, session("a", 0, BOAT), session("b", 0.1, DOG), session("c", 2, JOB))
        agent.user("ana").forget(session=1)
        learn(agent)
        assert "boat" not in str(agent.user("ana").memories())
        (whole,) = live(agent, EVENTS)
        assert DOG in whole.text
        assert JOB in whole.text
        assert len(live(agent, DAY_EVENTS)) == 2


@pytest.mark.slow
def test_a_session_takes_three_calls_and_a_reply_one(tmp_path: Path) -> None:
    with (
        ScriptedServer() as server,
        theanine.open(
            str(tmp_path / "m.db"),
            method="memorybank",
            model="openai:x",
            base_url=server.base_url,
        ) as agent,
    ):
        learn(agent, session("a", 0, BOAT, DOG), session("b", 1, JOB))
        assert [(line.step, line.calls) for line in agent.costs()].count(("bank-day", 1)) == 2
        assert len(server.calls) == 6
        made = {
            memory.kind: (memory.made_by, memory.prompt) for memory in agent.user("ana").memories()
        }
        assert made[EXCHANGE] == ("local", "")
        assert made[DAY_EVENTS] == ("openai:x", "bank-day@1")
        assert made[PORTRAIT] == ("openai:x", "bank-portrait@1")
        talk = agent.user("ana").session()
        talk.hear("How is the dog?")
        assert talk.reply().text
        assert len(server.calls) == 7
        talk.end(remember=False)


# settings


def test_invalid_settings_are_rejected() -> None:
    wrong: list[dict[str, Any]] = [
        {"days": 0},
        {"retrieved": 0},
        {"query_turns": 0},
        {"budget": -1},
    ]
    for settings_ in wrong:
        with pytest.raises(SettingsError):
            MemoryBankConfig(**settings_)


def test_the_papers_settings() -> None:
    paper = MemoryBankConfig.paper()
    assert paper.forgetting
    assert (paper.retrieval, paper.query_turns, paper.personality) == ("dense", 1, True)


def test_the_estimate_counts_windows_and_digests() -> None:
    short = [turn(n, "we painted the kitchen door blue") for n in range(1, 21)]
    whole = MemoryBank().estimate(short)
    plain = MemoryBank(MemoryBankConfig(personality=False)).estimate(short)
    assert (whole.calls, plain.calls) == (3, 2)
    assert whole.input_tokens > plain.input_tokens > 300
    assert MemoryBank().estimate([]).calls == 0
    long = [turn(n, "harbour " * 900) for n in range(1, 9)]
    assert MemoryBank().estimate(long).calls == 4
