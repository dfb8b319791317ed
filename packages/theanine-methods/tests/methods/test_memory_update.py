"""memory-update: what the operations do, that nothing vanishes, and how a model is asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import theanine
from support.answering import Answering, memory, turn
from support.prompting import ATTACK, check_fences, check_length, check_snapshot
from theanine.errors import SettingsError, UnusableReply
from theanine.methods.shared.pairs import PAIRS_PER_CALL, Pair
from theanine.testing import ScriptedServer
from theanine.types import History, Memory, NewMemory, Session, Transcript, Utterance
from theanine_methods.memory_update.config import MemoryUpdateConfig
from theanine_methods.memory_update.decide import UPDATE, UPDATE_PAIR, decide
from theanine_methods.memory_update.local_decide import local_decide
from theanine_methods.memory_update.merge import MERGE, STATEMENT_LIMIT, Group, local_merge, merge
from theanine_methods.memory_update.method import MemoryUpdate
from theanine_methods.memory_update.operations import ENDING, REPEAT, Decision, Operation
from theanine_methods.memory_update.resolve import Outcome, resolve

pytestmark = pytest.mark.anyio

STEPS = [UPDATE, UPDATE_PAIR, MERGE]
START = datetime(2024, 5, 6, 12, tzinfo=UTC)
LATER = turn(9, "", session=3)
SESSION = Session(id=3, key="3", started_at=LATER.at)
UNDATED = replace(SESSION, dated=False)


def new(text: str, **changes: Any) -> NewMemory:
    """A new statement of the third session."""
    made = NewMemory(
        text=text, at=LATER.at, source_turns=(9,), speakers=("Ana",), made_by="scripted:test"
    )
    return replace(made, **changes)


def behind(memories: Sequence[Memory]) -> set[int]:
    """The sessions of the memories, and that of what the second was made of."""
    return {memory.session for memory in memories} | (
        {7} if any(m.id == 2 for m in memories) else set()
    )


# how the model is asked

OLDER = [memory(1, "Ana lives in Faro."), memory(2, "Ana has a sore throat.", session=2)]
NEWER = [new("Ana moved to Porto."), new("Ana's throat has recovered.")]


async def prompt_of(
    name: str,
    older: Sequence[Memory],
    newer: Sequence[NewMemory],
    session: Session = SESSION,
) -> str:
    """The prompt of a step over these statements."""
    pairs = [Pair(m, i, n, 0.5) for i, (m, n) in enumerate(zip(older, newer, strict=True))]
    answer: dict[str, object] = {"explanation": "because", "operation": "Append"}
    if name == "merge-memories":
        caller = Answering([{"merged": [{"group": 1, "text": "Ana moved."}]}])
        group = Group(tuple(older), newer[0])
        await merge([group], session, caller, source_sessions=behind)
    elif name == "update-memories":
        caller = Answering([{"decisions": [{**answer, "pair": 1}, {**answer, "pair": 2}]}])
        await decide(pairs, session, caller, asking="session", source_sessions=behind)
    else:
        caller = Answering([answer])
        await decide(pairs[:1], session, caller, asking="pairs", source_sessions=behind)
    return caller.asked[0].prompt


@pytest.mark.parametrize("name", [step.name for step in STEPS])
async def test_each_prompt_matches_its_snapshot(name: str) -> None:
    check_snapshot(name, await prompt_of(name, OLDER, NEWER))


@pytest.mark.parametrize("name", [step.name for step in STEPS])
async def test_quoted_text_cannot_leave_its_fence(name: str) -> None:
    older = [replace(memory, text=ATTACK) for memory in OLDER]
    newer = [replace(memory, text=ATTACK) for memory in NEWER]
    check_fences(await prompt_of(name, OLDER, NEWER), await prompt_of(name, older, newer))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_instructions_are_short(step: Any) -> None:
    check_length(step)


@pytest.mark.parametrize("name", [step.name for step in STEPS])
async def test_undated_sessions_show_no_dates(name: str) -> None:
    assert "2023" in await prompt_of(name, OLDER, NEWER)
    older = [replace(memory, dated=False) for memory in OLDER]
    assert "2023" not in await prompt_of(name, older, NEWER, UNDATED)


async def test_a_prompt_names_every_session_that_it_quotes() -> None:
    pairs = [Pair(OLDER[1], 0, NEWER[1], 0.5)]
    answer = {"explanation": "", "operation": "Append"}
    caller = Answering([answer, {"decisions": [{**answer, "pair": 1}]}, {"merged": []}])
    await decide(pairs, SESSION, caller, asking="pairs", source_sessions=behind)
    await decide(pairs, SESSION, caller, asking="session", source_sessions=behind)
    with pytest.raises(UnusableReply):
        await merge([Group((OLDER[1],), NEWER[1])], SESSION, caller, source_sessions=behind)
    assert [call.touches for call in caller.asked] == [{2, 3, 7}] * 3


async def test_many_pairs_take_several_calls_and_keep_their_order() -> None:
    older = [memory(n, f"Ana owns {n} boats.") for n in range(1, 41)]
    pairs = [Pair(memory, 0, NEWER[0], 0.5) for memory in older]

    def all_of(prompt: str) -> object:
        numbers = prompt.split("<<<pairs\n")[1].count(": M")
        return {
            "decisions": [
                {"pair": n, "explanation": f"number {n}", "operation": " pass. "}
                for n in range(numbers, 0, -1)
            ]
        }

    caller = Answering([all_of] * 2)
    decisions = await decide(pairs, SESSION, caller, asking="session", source_sessions=behind)
    assert len(caller.asked) == 2
    assert [decision.pair for decision in decisions] == pairs
    text = [f"number {n % PAIRS_PER_CALL + 1}" for n in range(40)]
    assert [decision.explanation for decision in decisions] == text
    assert {decision.operation for decision in decisions} == {Operation.PASS}
    caller = Answering([{"explanation": "", "operation": "KEEP-both: Append"}] * 40)
    with pytest.raises(ValueError, match="operation"):
        await decide(pairs, SESSION, caller, asking="pairs", source_sessions=behind)


@pytest.mark.parametrize(
    ("numbers", "fault"),
    [([1], "no decision for pairs [2]"), ([1, 2, 3], "no pairs [3]"), ([1, 2, 2], "pairs [2]")],
)
async def test_a_reply_that_does_not_match_the_pairs_is_rejected(
    numbers: list[int], fault: str
) -> None:
    pairs = [Pair(m, i, n, 0.5) for i, (m, n) in enumerate(zip(OLDER, NEWER, strict=True))]
    answers = [{"pair": n, "explanation": "", "operation": "Append"} for n in numbers]
    caller = Answering([{"decisions": answers}])
    with pytest.raises(UnusableReply):
        await decide(pairs, SESSION, caller, asking="session", source_sessions=behind)
    assert fault in caller.faults[0]


@pytest.mark.parametrize(
    ("merged", "fault"),
    [
        ([], "groups 1 to 2"),
        ([(1, "a"), (1, "b")], "groups 1 to 2"),
        ([(1, "a"), (2, "  ")], "text of group 2 is empty"),
        ([(1, "a" * 601), (2, "b")], "text of group 1 is too long"),
    ],
)
async def test_a_merge_reply_that_does_not_match_the_groups_is_rejected(
    merged: list[tuple[int, str]], fault: str
) -> None:
    groups = [Group((OLDER[0],), NEWER[0]), Group((OLDER[1],), NEWER[1])]
    good = {"merged": [{"group": 2, "text": " b  c "}, {"group": 1, "text": "a"}]}
    bad = {"merged": [{"group": group, "text": text} for group, text in merged]}
    caller = Answering([bad, good])
    assert await merge(groups, SESSION, caller, source_sessions=behind) == ["a", "b c"]
    assert fault in caller.faults[0]


# what the operations do

OPERATIONS = st.sampled_from(Operation)


@st.composite
def decided(draw: st.DrawFn) -> tuple[int, list[Decision]]:
    """Some new statements, each decided about with some of five older ones."""
    count = draw(st.integers(0, 6))
    made = [
        Decision(
            pair=Pair(memory(number, f"M{number}"), index, new(f"N{index}"), 0.5),
            operation=draw(OPERATIONS),
        )
        for index in range(count)
        for number in draw(st.lists(st.integers(1, 5), unique=True, max_size=3))
    ]
    return count, made


@given(decided())
def test_no_older_statement_is_marked_twice_and_no_new_one_is_lost(
    case: tuple[int, list[Decision]],
) -> None:
    count, decisions = case
    outcomes = resolve(count, decisions)
    assert len(outcomes) == count
    marked = [(mark.pair.older.id, kind) for outcome in outcomes for kind, mark in outcome.marks]
    assert len({number for number, _ in marked}) == len(marked)
    settling = {Operation.REPLACE, Operation.CHANGE, Operation.DELETE}
    asked = {decision.pair.older.id for decision in decisions if decision.operation in settling}
    assert {number for number, _ in marked} == asked  # each is settled, by the first who would
    for index, outcome in enumerate(outcomes):
        own = {
            decision.pair.older.id: decision.operation
            for decision in decisions
            if decision.pair.newer_index == index
        }
        assert set(outcome.derived_from) <= set(own)
        assert all(0 <= one < index for one in outcome.derived_from_new)
        assert {memory.id for memory in outcome.changes} <= set(outcome.derived_from)
        assert all(mark.pair.newer_index == index for _, mark in outcome.marks)
        assert (outcome.kind == REPEAT) <= (Operation.PASS in own.values() and not outcome.marks)
        assert (outcome.kind == ENDING) <= (Operation.DELETE in own.values())
        for kind, mark in outcome.marks:
            assert mark.operation is own[mark.pair.older.id]
            assert (kind == "withdrawn") == (mark.operation is Operation.DELETE)
        if set(own.values()) <= {Operation.APPEND}:
            assert outcome == Outcome()


@given(decided())
def test_the_live_statements_never_contradict_their_outcomes(
    case: tuple[int, list[Decision]],
) -> None:
    outcomes = resolve(*case)
    gone = {mark.pair.older.id for outcome in outcomes for _, mark in outcome.marks}
    before: set[int] = set()
    for outcome in outcomes:
        for number in outcome.derived_from:
            # Whatever a new statement rests on was live when it came: no chain of the settled.
            assert number not in before
        before |= {mark.pair.older.id for _, mark in outcome.marks}
        for index in outcome.derived_from_new:
            assert outcomes[index].kind != REPEAT
    assert before == gone


def judged(*operations: tuple[int, int, Operation]) -> list[Outcome]:
    """Fates by (new, old, operation)."""
    decisions = [
        Decision(pair=Pair(memory(old, f"M{old}"), n, new(f"N{n}"), 0.5), operation=operation)
        for n, old, operation in operations
    ]
    return resolve(3, decisions)


def test_one_older_statement_and_several_new_ones() -> None:
    first, second, third = judged(
        (0, 1, Operation.REPLACE), (1, 1, Operation.CHANGE), (2, 1, Operation.PASS)
    )
    assert [kind for kind, _ in first.marks] == ["superseded"]
    assert second == Outcome()  # the first had settled it: nothing but appended
    assert (third.kind, third.derived_from_new, third.derived_from) == (REPEAT, (0,), ())


def test_a_repeat_of_a_withdrawn_statement_is_a_statement() -> None:
    ended, again, _ = judged((0, 1, Operation.DELETE), (1, 1, Operation.PASS))
    assert ended.kind == ENDING
    assert again == Outcome()


def test_one_new_statement_and_several_older_ones() -> None:
    outcome = judged((0, 3, Operation.CHANGE), (0, 1, Operation.CHANGE), (0, 2, Operation.DELETE))[
        0
    ]
    assert [memory.id for memory in outcome.changes] == [1, 3]
    assert outcome.kind == "statement"
    assert outcome.derived_from == (1, 2, 3)
    kinds = {mark.pair.older.id: kind for kind, mark in outcome.marks}
    assert kinds == {1: "superseded", 2: "withdrawn", 3: "superseded"}
    outcome = judged((0, 1, Operation.PASS), (0, 2, Operation.REPLACE))[0]
    assert (outcome.kind, outcome.derived_from) == ("statement", (2,))


# merging without a model


def test_a_local_merge_joins_statements_with_their_dates() -> None:
    assert local_merge(Group((OLDER[0],), NEWER[0]), SESSION) == (
        "8 May 2023: Ana lives in Faro. Changed to: 22 May 2023: Ana moved to Porto."
    )
    quoted = replace(OLDER[0], text="Ana said: “I live in Faro.”", made_by="local")
    assert local_merge(Group((quoted, replace(OLDER[1], dated=False)), NEWER[0]), UNDATED) == (
        "Ana said: “I live in Faro.” Changed to: Ana has a sore throat. "
        "Changed to: Ana moved to Porto."
    )


@given(st.lists(st.text("ab. ", min_size=1, max_size=400), min_size=1, max_size=4))
def test_a_merged_statement_is_short_and_contains_the_new_one(texts: list[str]) -> None:
    *older, newer = texts
    group = Group(tuple(memory(n, text) for n, text in enumerate(older, 1)), new(newer))
    text = local_merge(group, SESSION)
    assert len(text) <= STATEMENT_LIMIT
    assert " ".join(newer.split()) in " ".join(text.split())


# deciding without a model

LOCAL_CASES = [
    ("I live in Faro with my sister.", "I no longer live in Faro with my sister.", "Change"),
    ("I work as a baker in Faro.", "I quit my work as a baker in Faro.", "Change"),
    ("I love my job at the bakery.", "I used to love my bakery job, but I quit it.", "Change"),
    ("My job is in the harbour of Faro.", "I am retired and miss the harbour of Faro.", "Append"),
    ("I bake bread with my sister.", "My sister and I bake rye bread instead.", "Replace"),
    ("I eat fish and mussels.", "I don't eat fish or mussels.", "Change"),
    ("I have a sore throat and a fever.", "My sore throat and the fever are gone.", "Delete"),
    ("I need to repair the boat engine.", "I finished the boat engine repair.", "Delete"),
    ("I play the violin at home.", "I play the violin and the cello at home.", "Replace"),
    ("I play the violin and the cello at home.", "I play the violin at home.", "Pass"),
    ("I'll definitely check it out.", "I'll definitely check them out.", "Append"),
    ("I play the violin, cello and harp.", "I play the cello and the violin.", "Pass"),
    ("I play the violin.", "My brother plays football in Lisbon.", "Append"),
    ("We paint the boat next month.", "We paint the red boat next month.", "Append"),
    ("I repaired the boat engine.", "The boat engine is not fixed.", "Change"),
    ("I can't wait to paint the boat red.", "I paint the boat red.", "Pass"),
    ("我住在法鲁。", "我住在法鲁，靠近大海和港口。", "Replace"),
]


@pytest.mark.parametrize(("older", "newer", "operation"), LOCAL_CASES)
def test_local_decisions(older: str, newer: str, operation: str) -> None:
    pair = Pair(memory(1, older), 0, new(newer), 0.8)
    decision = local_decide(pair)
    assert (decision.operation, decision.made_by) == (operation, "local")
    assert decision.explanation
    assert local_decide(replace(pair, similarity=0.3)).operation is Operation.APPEND
    stranger = replace(pair, newer=new(newer, speakers=("Bo",)))
    assert local_decide(stranger).operation is Operation.APPEND


GREETINGS = [
    "Good morning! How are you today?",
    "Hey Ana! Great to see you, how was your weekend?",
    "Thanks so much for your help with the boat engine!",
    "Wow, that's awesome! What do you love most about sailing with your family?",
    "Bye, talk to you soon!",
]


@pytest.mark.parametrize("older", [*GREETINGS, "I sail with my family on the boat."])
@pytest.mark.parametrize("newer", GREETINGS)
def test_greetings_replace_nothing(older: str, newer: str) -> None:
    for first, second in ((older, newer), (newer, older)):
        pair = Pair(memory(1, f"Ana said on 8 May 2023: “{first}”"), 0, new(second), 0.95)
        assert local_decide(pair).operation is Operation.APPEND


# the whole method over a real store


def session(key: str, day: int, *texts: str) -> Transcript:
    """A session of Ana's words, on a day after the start."""
    at = START + timedelta(days=day)
    utterance = [
        Utterance(text=text, speaker="Ana", at=at + timedelta(minutes=i))
        for i, text in enumerate(texts)
    ]
    return Transcript(key=key, turns=utterance, at=at)


def learn(agent: theanine.Client, *transcripts: Transcript) -> None:
    """Log and remember; nothing may fail."""
    agent.user("ana").log(History(name="ana", transcripts=transcripts))
    assert [report.failure for report in agent.user("ana").remember() if report.failure] == []


def live(agent: theanine.Client) -> list[Memory]:
    """The memories that no mark stands on."""
    marked = {mark.memory for mark in agent.user("ana").marks()}
    return [memory for memory in agent.user("ana").memories() if memory.id not in marked]


def update(*operations: str) -> Callable[[Any], str]:
    """Answers the update step with these operations, in order."""

    def answer(_: Any) -> str:
        return json.dumps(
            {
                "decisions": [
                    {"pair": number, "explanation": "so it is", "operation": operation}
                    for number, operation in enumerate(operations, 1)
                ]
            }
        )

    return answer


def scripted(path: Path, server: ScriptedServer, **config: Any) -> theanine.Client:
    """An agent of this method with the scripted model."""
    return theanine.open(
        str(path / "m.db"),
        method="memory-update",
        model="openai:scripted",
        base_url=server.base_url,
        config=config or None,
    )


WAS, IS = "I live in a house in Faro.", "I live in a flat in Porto."


@pytest.mark.parametrize(
    ("operation", "kind", "mark", "recalled"),
    [
        ("Pass", REPEAT, None, ["Faro"]),
        ("Replace", "statement", "superseded", ["Porto"]),
        ("Change", "statement", "superseded", ["Faro", "Porto"]),
        ("Delete", ENDING, "withdrawn", ["Porto"]),
        ("Append", "statement", None, ["Faro", "Porto"]),
    ],
)
def test_the_effect_of_each_operation(
    tmp_path: Path, operation: str, kind: str, mark: str | None, recalled: list[str]
) -> None:
    script: Mapping[str, Any] = {"update-memories": update(operation)}
    with ScriptedServer(script) as server, scripted(tmp_path, server) as agent:
        learn(agent, session("a", 0, WAS), session("b", 7, IS))
        old, made = agent.user("ana").memories()
        assert WAS in old.text  # as it was, whatever became of it
        assert (made.kind, made.session) == (kind, 2)
        assert made.derived_from == (() if operation == "Append" else (old.id,))
        marks = agent.user("ana").marks()
        assert [(m.kind, m.memory, m.by, m.reason) for m in marks] == (
            [(mark, old.id, made.id, "so it is")] if mark else []
        )
        assert all(
            m.made_by == "openai:scripted" and m.prompt == "update-memories@1" for m in marks
        )
        recollection = agent.user("ana").recall("Where does Ana live?")
        assert [place for place in ("Faro", "Porto") if place in recollection.text] == recalled
        if operation == "Change":
            assert made.prompt == "merge-memories@1"
            assert {turn.session for turn in recollection.source_turns} == {1, 2}
            assert len(recollection.parts) == 1


def test_changes_that_merge_into_one_statement_are_one(tmp_path: Path) -> None:
    merged = [{"group": group, "text": "Ana moved to Porto."} for group in (1, 2)]
    script: Mapping[str, Any] = {
        "update-memories": update("Change", "Change"),
        "merge-memories": json.dumps({"merged": merged}),
    }
    with ScriptedServer(script) as server, scripted(tmp_path, server, compared=1) as agent:
        boats = ("I keep a red boat in Faro.", "I keep a red boat in Porto.")
        learn(agent, session("a", 0, WAS, boats[0]), session("b", 7, IS, boats[1]))
        made = [m for m in agent.user("ana").memories() if m.text == "Ana moved to Porto."]
        assert [memory.kind for memory in made] == ["statement", REPEAT]
        assert made[0].id in made[1].derived_from
        assert agent.user("ana").recall("Where does Ana live?").text.count("moved") == 1


def test_endings_can_be_left_out(tmp_path: Path) -> None:
    with ScriptedServer({"update-memories": update("Delete")}) as server:
        with scripted(tmp_path, server, endings=False) as agent:
            learn(agent, session("a", 0, WAS), session("b", 7, IS))
            assert not agent.user("ana").recall("Where does Ana live?")
            assert len(agent.user("ana").memories()) == 2
        with scripted(tmp_path, server, endings=True) as agent:
            assert "Porto" in agent.user("ana").recall("Where does Ana live?").text


@pytest.mark.slow
def test_one_call_for_a_session_or_for_each_pair(tmp_path: Path) -> None:
    texts = [f"I keep {n} boats in the harbour of Faro." for n in ("two", "four", "six")]
    for asking, calls in (("session", 1), ("pairs", 9)):
        folder = tmp_path / asking
        folder.mkdir()
        with ScriptedServer() as server, scripted(folder, server, asking=asking) as agent:
            learn(agent, session("a", 0, *texts), session("b", 7, *texts))
            steps = [line for line in agent.costs() if line.step.startswith("update")]
            assert sum(line.calls for line in steps) == calls
            assert agent.user("ana").marks() == []
            assert {m.kind for m in agent.user("ana").memories() if m.session == 2} == {REPEAT}


@pytest.mark.slow
def test_forgetting_a_session_removes_its_marks(tmp_path: Path) -> None:
    script: Mapping[str, Any] = {"update-memories": update("Change")}
    with ScriptedServer(script) as server, scripted(tmp_path, server) as agent:
        learn(agent, session("a", 0, WAS), session("b", 7, IS))
        agent.user("ana").forget(session=2)
        assert agent.user("ana").marks() == []
        assert "Faro" in agent.user("ana").recall("Where does Ana live?").text
        learn(agent, session("c", 9, IS))
        agent.user("ana").forget(session=1)
        assert agent.user("ana").memories() == []  # it was made of what is forgotten
        learn(agent)
        (anew,) = agent.user("ana").memories()
        assert "Porto" in anew.text
        assert "Faro" not in anew.text
        assert (anew.kind, anew.derived_from) == ("statement", ())


def test_a_repeat_replaces_the_statement_once_that_is_forgotten(
    tmp_path: Path,
) -> None:
    with theanine.open(str(tmp_path / "m.db"), method="memory-update") as agent:
        text = "My brother Rui plays the violin and the cello in Lisbon."
        learn(agent, session("a", 0, text), session("b", 7, text))
        assert [memory.kind for memory in agent.user("ana").memories()] == ["statement", REPEAT]
        assert len(agent.user("ana").recall("What does Rui play?").parts) == 1
        agent.user("ana").forget(session=1)
        learn(agent)
        assert [memory.kind for memory in agent.user("ana").memories()] == ["statement"]
        assert "violin" in agent.user("ana").recall("What does Rui play?").text


def test_a_session_imported_late_does_not_change_later_statements(tmp_path: Path) -> None:
    script = {"update-memories": update("Replace")}
    with ScriptedServer(script) as server, scripted(tmp_path, server) as agent:
        learn(agent, session("b", 7, IS))
        learn(agent, session("a", 0, WAS))
        assert agent.user("ana").marks() == []
        assert len(live(agent)) == 2


WORDS = ["I play the violin", "I play the violin and the cello", "I quit the violin and the cello"]
SAID = st.lists(st.sampled_from([*WORDS, "I need to repair the engine of the boat"]), max_size=3)


@pytest.mark.slow
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(SAID, min_size=1, max_size=4))
def test_statements_are_never_lost_and_live_ones_have_no_mark(
    tmp_path_factory: pytest.TempPathFactory, talks: list[list[str]]
) -> None:
    path = tmp_path_factory.mktemp("live") / "m.db"
    with theanine.open(str(path), method="memory-update") as agent:
        agent.user("ana").log(History(name="ana", transcripts=[session("first", 0, "I am Ana.")]))
        agent.user("ana").remember()
        previous: list[Memory] = []
        for day, texts in enumerate(talks, 1):
            learn(agent, session(f"s{day}", day, "Hello.", *texts))
            now = agent.user("ana").memories()
            assert now[: len(previous)] == previous  # as they were, every one
            previous = now
            marked = [mark.memory for mark in agent.user("ana").marks()]
            assert len(set(marked)) == len(marked)
            recollection = agent.user("ana").recall("Which instrument does Ana play?").memories
            assert not {part.id for part in recollection} & set(marked)
            assert {part.kind for part in recollection} <= {"statement", ENDING}


# settings


def test_invalid_settings_are_rejected() -> None:
    wrong: list[dict[str, Any]] = [
        {"compared": 0},
        {"retrieved": 0},
        {"query_turns": 0},
        {"budget": -1},
    ]
    for settings_ in wrong:
        with pytest.raises(SettingsError):
            MemoryUpdateConfig(**settings_)


def test_all_live_statements_are_recalled_and_a_budget_keeps_the_newest(tmp_path: Path) -> None:
    texts = ["I sold the boat.", "I feed the cat at six.", "I moved to Porto in May."]
    with theanine.open(
        str(tmp_path / "m.db"),
        method="memory-update",
        config={"recalled": "all", "retrieved": 1},
    ) as client:
        for text in texts:
            with client.user("ana").session() as session:
                session.hear(text)
        found = client.user("ana").recall("Which boat?")
        live = client.user("ana").memories()
        assert found.memories == tuple(live)
        assert len(live) == 3
        newest = client.user("ana").recall("Which boat?", budget=40)
    assert newest.memories == found.memories[-len(newest.memories) :]
    assert 0 < len(newest.memories) < 3


def test_the_papers_settings() -> None:
    paper = MemoryUpdateConfig.paper()
    assert (paper.asking, paper.retrieved, paper.retrieval) == ("pairs", 6, "dense")
    assert (paper.query_turns, paper.endings) == (None, False)


def test_the_estimate_counts_calls_by_setting() -> None:
    turns = [turn(n, "we painted the kitchen door blue") for n in range(1, 21)]
    by_session = MemoryUpdate().estimate(turns)
    by_pair = MemoryUpdate(MemoryUpdateConfig.paper()).estimate(turns)
    assert by_session.calls == 2
    assert by_pair.calls == 1 + 24
    assert by_session.input_tokens < by_pair.input_tokens
    assert by_session.output_tokens == by_pair.output_tokens > 0
