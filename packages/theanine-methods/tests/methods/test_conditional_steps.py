"""The steps of conditional memory, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.answering import Answering, memory, turn
from theanine.errors import UnusableReply
from theanine.text.formatting import one_line
from theanine.types import NO_MODEL_NOTICE, Memory
from theanine_methods.conditional.config import ConditionalConfig
from theanine_methods.conditional.decide import (
    decide,
    decision_notes,
    local_decide,
    noted_decisions,
)
from theanine_methods.conditional.prompt_windows import batched_windows, single_windows
from theanine_methods.conditional.record import record
from theanine_methods.conditional.reflect import (
    Copies,
    SearchResults,
    extend_query,
    search_and_reflect,
)
from theanine_methods.conditional.summary import summarize_session

pytestmark = pytest.mark.anyio

SAID = turn(1, "I moved to Lisbon in May.")
REPLY = turn(2, "How is it there?", "Tea", role="assistant")


# deciding


@pytest.mark.parametrize(
    ("text", "worth"),
    [
        ("I'm allergic to hazelnuts, so I carry an adrenaline pen.", True),
        ("My sister Lucija is getting married on 14 September.", True),
        ("Please always answer in French.", True),
        ("From now on, keep your answers short.", True),
        ("Don't use bullet points when you answer.", True),
        ("No, every letter has to be a capital.", True),
        ("That's not what I asked for.", True),
        ("You should explain the rules of the game as well.", True),
        ("I meant the other sister.", True),
        ("Our code base uses Python 3.11 with strict typing.", True),
        ("What is the capital of Norway?", False),
        ("Can you tell me how tall the tower is?", False),
        ("Write a poem about the sea for me.", False),
        ("Please translate this sentence.", False),
        ("Hello!", False),
        ("Good morning, how are you?", False),
        ("Thanks, that's great!", False),
        ("Okay, sounds good.", False),
        ("No.", False),
        ("", False),
    ],
)
def test_disclosures_demands_and_corrections_are_worth_a_record(text: str, worth: bool) -> None:
    assert local_decide([turn(1, text)]) == ({1} if worth else set())


def test_a_task_that_discloses_something_is_worth_a_record() -> None:
    assert local_decide([turn(1, "Help me plan my sister's wedding on Cres in June.")]) == {1}


def test_a_repeated_turn_is_not_worth_another_record() -> None:
    text = "I'm allergic to hazelnuts."
    assert local_decide([turn(1, text), turn(2, text), turn(3, text, "Bo")]) == {1, 3}


def test_a_decision_is_about_the_turn_that_was_replied_to() -> None:
    late = turn(2, "And I sold the boat.")
    about_first = replace(REPLY, id=3, notes=decision_notes(True, SAID, "m"))
    about_late = replace(REPLY, id=3, notes=decision_notes(False, late, "m"))
    assert noted_decisions([SAID, late, about_first]) == {1: True}
    assert noted_decisions([SAID, late, about_late]) == {2: False}


@pytest.mark.parametrize(
    ("notes", "known"),
    [
        ({"worth": "yes"}, {1: True}),
        ({"worth": "no", "by": "openai:x"}, {1: False}),
        ({"worth": "perhaps"}, {}),
        ({"worth": "yes", "of": "never"}, {}),
        ({"worth": "yes", "by": "local"}, {}),
        ({"mood": "yes"}, {}),
        ({}, {}),
    ],
)
def test_only_a_models_clear_decision_counts(notes: dict[str, str], known: object) -> None:
    assert noted_decisions([SAID, replace(REPLY, notes=notes)]) == known
    assert noted_decisions([replace(REPLY, notes=notes)]) == {}
    assert noted_decisions([SAID, replace(SAID, id=2, notes=notes)]) == {}


async def test_noted_decisions_take_no_call() -> None:
    caller = Answering([{"worth": []}])
    noting = replace(REPLY, notes=decision_notes(True, SAID, "m"))
    later = turn(3, "I like it.")
    session = [SAID, noting, later]
    assert await decide(session, session, caller) == [SAID]
    assert len(caller.asked) == 1
    assert "<<<asked\n3\n>>>" in caller.asked[0].prompt
    assert await decide(session[:2], session[:2], caller) == [SAID]
    assert len(caller.asked) == 1


async def test_unknown_turn_numbers_are_rejected() -> None:
    caller = Answering([{"worth": [1, 2, 9]}, {"worth": [1]}])
    assert await decide([SAID, REPLY], [SAID, REPLY], caller) == [SAID]
    assert caller.faults == ["turns [2, 9] were not asked about, only 1"]
    assert caller.asked[0].touches == {1}


async def test_an_undated_session_shows_no_dates() -> None:
    records: object = {"records": [{**FIRST, "turn": 1, "related": [1]}]}
    caller = Answering([{"worth": [1]}, records, "s"])
    undated = [replace(SAID, dated=False)]
    await decide(undated, undated, caller)
    await record(undated, undated, caller, PLAIN)
    await summarize_session(undated, caller)
    assert all("-- dates unknown\n[1] Ana" in call.prompt for call in caller.asked)
    assert not any("2023" in call.prompt for call in caller.asked)


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(["", "word " * 3, "x" * 4_000, "y" * 30_000]), max_size=12),
    st.sets(st.integers(1, 12)),
    st.integers(1, 4),
)
def test_every_turn_is_the_target_of_one_call(texts: list[str], ids: set[int], most: int) -> None:
    session = [turn(number, text) for number, text in enumerate(texts, 1)]
    wanted = sorted(ids & {turn.id for turn in session})
    calls = list(batched_windows(session, ids, most))
    assert [turn.id for call in calls for turn in call.targets.values()] == wanted
    assert all(0 < len(call.targets) <= most for call in calls)
    for call in [*calls, *single_windows(session, ids)]:
        assert call.targets.items() <= call.turns.items()
    singly = list(single_windows(session, ids))
    assert [list(call.targets) for call in singly] == [[number] for number in wanted]
    assert all(max(call.turns) == max(call.targets) for call in singly)


# recording

SESSION = [
    turn(1, "Where do you live?", "Tea", role="assistant"),
    turn(2, "In Lisbon, since May."),
    turn(3, "I like the trams."),
]
FIRST: dict[str, object] = {
    "turn": 2,
    "related": [1, 2],
    "context": "Tea asked.",
    "knowledge": "Ana is in Lisbon.",
}
SECOND: dict[str, object] = {
    "turn": 3,
    "related": [],
    "context": "On her town.",
    "knowledge": "Ana\nlikes trams.",
}
RECORDS = {"records": [FIRST, SECOND]}
PLAIN = ConditionalConfig()


async def test_the_sources_of_a_record_are_its_turn_and_the_related_ones() -> None:
    caller = Answering([RECORDS])
    first, second = await record(SESSION[1:], SESSION, caller, PLAIN)
    assert first.text == "Context: Tea asked. Knowledge (Ana): Ana is in Lisbon."
    assert (first.source_turns, first.at, first.speakers) == ((1, 2), SESSION[1].at, ("Ana",))
    assert (first.made_by, first.prompt) == ("scripted:test", "conditional-record@1")
    assert second.text == "Context: On her town. Knowledge (Ana): Ana likes trams."
    assert second.source_turns == (3,)
    assert caller.asked[0].touches == {1}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"turn": 3}, "there is no record of turns [2]"),
        ({"turn": 1}, "there is no record of turns [2]"),
        ({"related": [7]}, "record of turn 2: the related turns [7] were not shown"),
        ({"context": " "}, "record of turn 2: its context is empty"),
        ({"knowledge": ""}, "record of turn 2: its knowledge is empty"),
        ({"knowledge": "a" * 601}, "record of turn 2: keep its knowledge under 600 characters"),
    ],
)
async def test_invalid_records_are_rejected(change: dict[str, object], fault: str) -> None:
    bad = {"records": [{**FIRST, **change}, SECOND]}
    caller = Answering([bad, RECORDS])
    assert len(await record(SESSION[1:], SESSION, caller, PLAIN)) == 2
    assert caller.faults == [fault]


async def test_additional_records_are_rejected() -> None:
    doubled = {"records": [FIRST, SECOND, SECOND]}
    caller = Answering([RECORDS, doubled, RECORDS])
    with pytest.raises(UnusableReply):
        await record(SESSION[1:2], SESSION, caller, PLAIN)
    assert caller.faults[0] == "turns [3] were not asked about, only [2]"
    caller = Answering([doubled, RECORDS])
    await record(SESSION[1:], SESSION, caller, PLAIN)
    assert caller.faults == ["there is more than one record of turns [3]"]


async def test_many_records_take_several_calls() -> None:
    session = [turn(number, f"I bought boat {number}.") for number in range(1, 31)]

    def answer(prompt: str) -> object:
        return {
            "records": [
                {**SECOND, "turn": number, "knowledge": str(number)} for number in _asked(prompt)
            ]
        }

    caller = Answering([answer] * 2)
    made = await record(session, session, caller, PLAIN)
    assert [memory.source_turns for memory in made] == [(turn.id,) for turn in session]
    assert [len(_asked(call.prompt)) for call in caller.asked] == [24, 6]


def _asked(prompt: str) -> list[int]:
    return [int(number) for number in prompt.split("<<<asked\n")[1].split("\n")[0].split(", ")]


async def test_local_records_quote_turns_but_not_recalled_memories() -> None:
    session = [
        turn(1, "I like trams."),
        turn(2, "You told me of boats.", "Tea", role="assistant", recalled=(4,)),
        turn(3, "I live in Lisbon."),
        turn(4, f"I remember: boats. {NO_MODEL_NOTICE}", "Tea", role="assistant"),
        turn(5, "Always call me Captain."),
    ]
    made = await record([session[0], session[2], session[4]], session, None, PLAIN)
    assert [memory.text for memory in made] == [
        "Knowledge (Ana): “I like trams.”",
        "Context: Ana: “I like trams.” Knowledge (Ana): “I live in Lisbon.”",
        "Context: Ana: “I live in Lisbon.” Knowledge (Ana): “Always call me Captain.”",
    ]
    assert [memory.source_turns for memory in made] == [(1,), (1, 3), (3, 5)]


@pytest.mark.slow
@given(st.lists(st.text(min_size=1, max_size=300), min_size=1, max_size=5))
def test_local_records_invent_no_word(texts: list[str]) -> None:
    session = [turn(number, text) for number, text in enumerate(texts, 1) if text.strip()]
    made = anyio.run(record, session, session, None, PLAIN)
    assert len(made) == len(session)
    fixed = {"Context:", "Knowledge", "(Ana):", "Ana:", "…"}
    expected = {word.strip("“”…") for turn in session for word in one_line(turn.text).split()}
    for noted in made:
        words = {word.strip("“”…") for word in noted.text.split() if word not in fixed}
        assert all(any(word in whole for whole in expected | {""}) for word in words)


# summaries


async def test_a_long_sessions_summary_is_made_window_by_window() -> None:
    session = [turn(number, "I bought a boat. " * 400) for number in range(1, 10)]
    caller = Answering(["Ana bought boats.", "  And\nmore. "])
    (made,) = await summarize_session(session, caller)
    assert made.text == "Ana bought boats. And more."
    assert len(caller.asked) == 2
    assert made.source_turns == tuple(range(1, 10))


async def test_a_summary_that_is_too_long_is_rejected() -> None:
    caller = Answering(["a" * 2_000, " ", "Short."])
    (made,) = await summarize_session([SAID], caller)
    assert made.text == "Short."
    assert len(caller.faults) == 2


async def test_a_session_without_text_has_no_summary() -> None:
    assert await summarize_session([turn(1, " ")], Answering([])) == []
    assert await summarize_session([], Answering([])) == []
    assert await summarize_session([turn(1, "Hello!")], None) == []


# reflecting

BOAT = memory(1, "Context: On boats. Knowledge (Ana): Ana sold the red boat.", sources=(1,))
SPOON = memory(2, "Ana keeps silver spoons.", session=2, sources=(4,))
CARGO = memory(3, "The engine of Ana's boat died.", session=3, sources=(7,))
DIALOGUE = [turn(9, "Why did I sell it?", session=5)]


class Shelf:
    """A search that knows what each query finds, and keeps the queries."""

    def __init__(self, *found: Sequence[Memory]) -> None:
        self.found = list(found)
        self.queries: list[str] = []

    async def __call__(self, query: str) -> SearchResults:
        self.queries.append(query)
        index = min(len(self.queries), len(self.found)) - 1
        return [(one, 1.0) for one in self.found[index]]


async def reflect(
    search: Shelf,
    query: str,
    rounds: int,
    chat: Answering | None,
    copies: Copies = "memories",
) -> tuple[str, SearchResults]:
    reflected = await search_and_reflect(
        search,
        query,
        DIALOGUE,
        chat,
        rounds=rounds,
        copies=copies,
        source_sessions=lambda memories: {n for m in memories for n in (m.session, m.session + 10)},
    )
    assert reflected.notes == ()
    found = [(replace(memory, text=text), score) for memory, score, text in reflected.selected]
    return reflected.query, found


def enough(*relevant: int) -> dict[str, object]:
    return {"enough": True, "relevant": list(relevant), "keywords": []}


def missing(*keywords: str) -> dict[str, object]:
    return {"enough": False, "relevant": [], "keywords": list(keywords)}


async def test_sufficient_results_end_the_reflection() -> None:
    shelf, caller = Shelf([BOAT, SPOON]), Answering([enough(2, 2)])
    query, found = await reflect(shelf, "sell", 3, caller)
    assert (query, found) == ("sell", [(SPOON, 1.0)])
    assert shelf.queries == ["sell"]
    assert caller.asked[0].touches == {1, 2, 5, 11, 12}
    assert "[2] (15 May 2023) Ana keeps silver spoons." in caller.asked[0].prompt


async def test_the_sentences_that_matter_are_copied() -> None:
    told = memory(4, "Ana sold the boat. It was red! She misses it.", sources=(2, 3))
    caller = Answering([enough(5), enough(1, 4, 3)])
    _, found = await reflect(Shelf([told, SPOON]), "sell", 1, caller, "sentences")
    assert found == [(replace(told, text="Ana sold the boat. She misses it."), 1.0), (SPOON, 1.0)]
    assert caller.faults == ["there are no [5] among what was found, only 1 to 4"]
    prompt = caller.asked[0].prompt
    assert "-- M1, 8 May 2023\n[1] Ana sold the boat.\n[2] It was red!" in prompt
    assert "-- M2, 15 May 2023\n[4] Ana keeps silver spoons." in prompt


async def test_without_a_usable_reflection_the_results_are_unselected() -> None:
    for copies in ("sentences", "memories"):
        reflected = await search_and_reflect(
            Shelf([BOAT, SPOON]),
            "sell",
            DIALOGUE,
            Answering([enough(9), enough(9)]),
            rounds=1,
            copies=copies,
            source_sessions=lambda memories: set(),
        )
        assert [found for found, _, _ in reflected.selected] == [BOAT, SPOON]
        (note,) = reflected.notes
        assert note.startswith("nothing was selected from what was found: ")


async def test_nothing_may_be_relevant() -> None:
    _, found = await reflect(Shelf([BOAT]), "hi", 1, Answering([enough()]))
    assert found == []


async def test_there_is_one_more_search_by_default() -> None:
    shelf, caller = Shelf([BOAT], [CARGO]), Answering([missing("engine", "sell", "died")])
    query, found = await reflect(shelf, "sell", 1, caller)
    assert query == "sell\nengine died"
    assert found == [(CARGO, 1.0)]
    assert shelf.queries == ["sell", query]
    assert len(caller.asked) == 1


async def test_reflection_repeats_until_the_results_suffice() -> None:
    shelf = Shelf([BOAT], [SPOON], [CARGO, BOAT])
    caller = Answering([missing("engine"), missing("fire"), enough(1)])
    query, found = await reflect(shelf, "sell", 5, caller)
    assert (query, found) == ("sell\nengine\nfire", [(CARGO, 1.0)])
    assert len(caller.asked) == 3


async def test_without_rounds_the_model_is_not_called() -> None:
    shelf, caller = Shelf([BOAT]), Answering([])
    assert await reflect(shelf, "sell", 0, caller) == ("sell", [(BOAT, 1.0)])
    assert await reflect(shelf, "sell", 2, None) == ("sell", [(BOAT, 1.0)])
    assert await reflect(Shelf([]), "sell", 2, caller) == ("sell", [])
    assert caller.asked == []


async def test_keywords_without_new_results_end_the_reflection() -> None:
    shelf, caller = Shelf([BOAT]), Answering([missing("SELL", " ")] * 2)
    assert await reflect(shelf, "sell", 5, caller) == ("sell", [(BOAT, 1.0)])
    assert (len(shelf.queries), len(caller.asked)) == (1, 1)
    shelf, caller = Shelf([BOAT], [BOAT]), Answering([missing("engine")] * 2)
    assert await reflect(shelf, "sell", 5, caller) == ("sell", [(BOAT, 1.0)])
    assert (len(shelf.queries), len(caller.asked)) == (2, 1)


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (enough(3), "there are no [3] among what was found, only 1 to 1"),
        (missing(" "), "it is not enough, but no keywords say what is missing"),
    ],
)
async def test_invalid_reflections_are_rejected(bad: object, fault: str) -> None:
    caller = Answering([bad, enough(1)])
    _, found = await reflect(Shelf([BOAT]), "sell", 1, caller)
    assert found == [(BOAT, 1.0)]
    assert caller.faults == [fault]


@given(st.text(max_size=40), st.lists(st.text(max_size=90), max_size=20))
def test_a_query_only_grows_within_bounds(query: str, keywords: list[str]) -> None:
    longer = extend_query(query, keywords)
    assert longer.startswith(query)
    assert len(longer) <= len(query) + 12 * 63
    assert extend_query(longer, keywords[:12]) == longer or "…" in longer
