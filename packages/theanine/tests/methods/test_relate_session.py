"""One question about all that belongs together: its reply, what is stored, what recall shows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import count, permutations, product
from pathlib import Path
from typing import Any

import pytest

import theanine
from theanine.cli.memory_formats import FORMATS, memories_as
from theanine.linking.topics import find_topics
from theanine.methods.theanine.relate_session import EARLIER_TOKENS
from theanine.remembering.report import RememberReport
from theanine.testing import ScriptedModel, answer
from theanine.testing.answers import blocks_of
from theanine.types import (
    REPLACED,
    STATE,
    STATEMENT,
    History,
    Relation,
    Transcript,
    Utterance,
)

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
HOMES = (
    ("I live in Leiden, in a flat above the bakery.", "I'd like to live nearer to my job."),
    ("The removal van has left, the keys hang here in Delft.", "My job is round the corner."),
)
SENTENCE = "Ana lives in Delft since 8 March 2026; before that she lived in Leiden."


def _link(a: str, b: str, relation: str = "Cause", **more: str) -> dict[str, str]:
    return {"a": a, "b": b, "relation": relation, "why": "so it is said", **more}


def _as_said(prompt: str) -> str:
    """Return each turn as a statement, as the scripted model of tests does, short ones too."""
    return answer({"messages": [{"role": "user", "content": prompt}]})


class Named:
    """A store whose model names the links of ``replies`` after each session of a new user."""

    def __init__(self, folder: Path) -> None:
        self.replies: Iterator[object] = iter(())
        self.model = ScriptedModel(self._write)
        self.client = theanine.open(str(folder / "memory.db"), model=self.model)
        self._users = count(1)

    def _write(self, prompt: str) -> str:
        if not prompt.startswith("Task: relate\n"):
            return _as_said(prompt)
        reply: object = next(self.replies, ())
        return reply if isinstance(reply, str) else json.dumps({"links": reply})

    def user(
        self, *replies: object, sessions: Sequence[Sequence[str]] = HOMES
    ) -> tuple[theanine.UserMemory, Sequence[RememberReport]]:
        """Log sessions a week apart for a user, and remember them."""
        self.replies = iter(replies)
        self.model.prompts.clear()
        ana = self.client.user(f"ana {next(self._users)}")
        transcripts = [
            Transcript(
                key=f"s{week}",
                at=START + timedelta(weeks=week),
                turns=[
                    Utterance(text=text, speaker="Ana", at=START + timedelta(weeks=week, minutes=n))
                    for n, text in enumerate(texts)
                ],
            )
            for week, texts in enumerate(sessions)
        ]
        ana.log(History(name="ana", transcripts=transcripts))
        return ana, ana.remember()

    @property
    def asked(self) -> list[dict[str, str]]:
        """The blocks of the prompts about what belongs together."""
        return [blocks_of(prompt) for prompt in self.model.prompts if "Task: relate" in prompt]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Named]:
    store = Named(tmp_path_factory.mktemp("named"))
    with store.client:
        yield store


def test_earlier_statements_and_those_of_the_session_are_offered_in_one_call(named: Named) -> None:
    _, reports = named.user()
    assert [report.failure for report in reports] == [None, None]
    assert [report.pairs for report in reports] == [1, 2 * 2 + 1]
    first, second = named.asked
    assert first["earlier"] == "(nothing)"
    assert [line[:3] for line in second["earlier"].splitlines()] == ["-- ", "M1 ", "M2 "]
    assert second["new"].splitlines()[2] == f"  Ana: {HOMES[1][0]}"


# Every pair of labels, and every relation


@pytest.mark.parametrize("labels", [("M1", "N1"), ("N1", "M1"), ("N1", "N2"), ("N2", "N1")])
@pytest.mark.parametrize("relation", sorted({*map(str, Relation)} - {"Reason"}))
def test_each_relation_is_stored_from_the_older_to_the_newer(
    named: Named, labels: tuple[str, str], relation: str
) -> None:
    ana, _ = named.user([], [_link(*labels, relation, now=SENTENCE)])
    (link,) = ana.links()
    ids = {"M1": 1, "M2": 2, "N1": 3, "N2": 4}
    assert (link.older, link.newer) == tuple(sorted(ids[label] for label in labels))
    backwards = ids[labels[0]] > ids[labels[1]]
    expected = "Reason" if backwards and relation == "Cause" else relation
    assert (str(link.relation), link.prompt) == (expected, "relate@3")
    assert link.explanation == "so it is said"
    assert 0 < link.similarity < 1
    states = [each for each in ana.memories() if each.kind == STATE]
    assert len(states) == (Relation(expected) in REPLACED)
    for state in states:
        assert state.text == SENTENCE
        assert state.derived_from == (link.older, link.newer)
        cited = [ana.get(each).source_turns for each in state.derived_from]
        assert state.source_turns == tuple(turn for turns in cited for turn in turns)


def test_a_session_that_follows_no_other_has_causes_of_its_own(named: Named) -> None:
    ana, _ = named.user([_link("N1", "N2", "Want")])
    assert [(link.older, link.newer) for link in ana.links()] == [(1, 2)]


# Malformed items

RIGHT = _link("M1", "N1", "Changed", now=SENTENCE)
MALFORMED: Mapping[str, object] = {
    "unknown older": _link("M9", "N1"),
    "unknown newer": _link("M2", "N0"),
    "no label": _link("", "N2"),
    "another letter": _link("X1", "N1"),
    "several labels": _link("M1, M2", "N1"),
    "itself": _link("N2", "N2"),
    "itself, earlier": _link("M2", "M2"),
    "both earlier": _link("M1", "M2"),
    "both directions": _link("N1", "M1", "Changed", now="Ana lives in Leiden."),
    "the same again": _link("M1", "N1", "SameTopic"),
    "another relation": _link("M2", "N2", "Contradicts"),
    "none": _link("M2", "N2", "None"),
    "no relation": {"a": "M2", "b": "N2"},
    "only a label": {"a": "M2"},
    "a number for a label": {**_link("M2", "N2"), "a": 2},
    "a list for a label": {**_link("M2", "N2"), "b": ["N1", "N2"]},
    "empty": {},
    "null": None,
    "a text": "M1 Changed N1",
    "a list": ["M1", "N1"],
}


@pytest.mark.parametrize("name", MALFORMED)
@pytest.mark.parametrize("place", ["before", "after"])
def test_a_malformed_item_costs_that_item(named: Named, name: str, place: str) -> None:
    items = [RIGHT, MALFORMED[name]]
    if place == "before" and name not in ("both directions", "the same again"):
        items.reverse()
    ana, (_, report) = named.user([], items)
    assert (report.failure, report.usage.failed) == (None, 0)
    (note,) = report.notes
    assert note.startswith("relate@3: 1 of 2 links could not be used: ")
    links = [(link.older, link.newer, link.relation) for link in ana.links()]
    assert links == [(1, 3, Relation.CHANGED)]
    assert len(named.asked) == 2


@pytest.mark.parametrize("pair", list(permutations(sorted(MALFORMED), 2))[::17])
def test_malformed_items_alone_leave_the_statements(named: Named, pair: tuple[str, str]) -> None:
    ana, (_, report) = named.user([], [MALFORMED[name] for name in pair])
    assert report.failure is None
    assert [each.kind for each in ana.memories()][:4] == [STATEMENT] * 4
    assert len(report.notes) == (len(ana.links()) < 2)


@pytest.mark.parametrize("spelled", ["m1", "[M1]", "M 1", "(m1)"])
def test_labels_and_relations_are_read_in_other_spellings(named: Named, spelled: str) -> None:
    ana, _ = named.user([], [_link(spelled, "n1", "hindered_by")])
    assert [link.relation for link in ana.links()] == [Relation.HINDERED_BY]


@pytest.mark.parametrize("missing", ["", "  \n", None])
def test_a_change_without_a_sentence_is_a_link_alone(named: Named, missing: str | None) -> None:
    ana, _ = named.user([], [{**_link("M1", "N1", "Changed"), "now": missing, "why": missing}])
    (link,) = ana.links()
    assert (link.relation, link.explanation) == (Relation.CHANGED, "")
    assert {each.kind for each in ana.memories()} == {STATEMENT}


@pytest.mark.parametrize("reply", ["", "nothing", "{}", '{"links": 3}', '{"links": [{"a": "M1"'])
def test_a_reply_that_is_no_list_is_asked_for_again(named: Named, reply: str) -> None:
    ana, reports = named.user([], reply, [RIGHT])
    assert [report.failure for report in reports] == [None, None]
    assert [link.relation for link in ana.links()] == [Relation.CHANGED]


# What the prompt has room for


def test_of_many_statements_the_most_similar_are_offered_names_and_dates_aside(
    named: Named,
) -> None:
    matters = "kettle window bicycle letter orange garden bottle ladder carpet engine".split()
    colors = "red blue green white black brown yellow golden silver purple".split()
    sizes = "small large narrow heavy ancient broken shiny quiet".split()
    told = [
        f"On 5 May 2025 Ana told Bo that the {size} {color} {matter} stands in the hall of Anna."
        for size, color, matter in product(sizes, colors, matters)
    ]
    told[400] = "Ana paddles a canoe on the river at weekends."
    now = ["My canoe turned over on the river on 5 May 2025.", "Bo laughed about it all day."]
    _, reports = named.user(sessions=[told, now])
    assert [report.failure for report in reports] == [None, None]
    earlier = named.asked[-1]["earlier"]
    assert "paddles a canoe" in earlier
    assert 100 < earlier.count("\nM") < len(told)
    assert len(earlier.encode()) / 3 < EARLIER_TOKENS


def test_what_the_caller_corrected_is_not_offered(named: Named) -> None:
    ana, _ = named.user()
    ana.correct(1, "Ana lives in Utrecht.")
    named.model.prompts.clear()
    with ana.session() as session:
        session.add("The train to Utrecht is late again.")
    ana.remember()
    (asked,) = named.asked
    assert "Leiden" not in asked["earlier"]
    assert "nearer to my job" in asked["earlier"]


# What recall shows

QUESTION = "Where does Ana live?"


def test_what_holds_now_is_shown_in_place_of_both_and_cites_both(named: Named) -> None:
    ana, _ = named.user([], [RIGHT])
    found = ana.recall(QUESTION)
    assert SENTENCE in found.text
    assert HOMES[0][0] not in found.text
    assert HOMES[1][0] not in found.text
    assert {5, 1, 3} <= {each.id for each in found.memories}
    assert {1, 3} <= {turn.id for turn in found.source_turns}
    before = ana.recall(QUESTION, as_of=START + timedelta(days=3))
    assert SENTENCE not in before.text
    assert HOMES[0][0] in before.text


@pytest.mark.parametrize("question", ["Where did Ana live first?", "Where did Ana live last?"])
def test_a_question_about_first_or_last_gets_what_was_said(named: Named, question: str) -> None:
    ana, _ = named.user([], [RIGHT])
    found = ana.recall(question)
    assert SENTENCE not in found.text
    assert "Leiden" in found.text
    assert {each.kind for each in found.memories} == {STATEMENT}


@pytest.mark.parametrize("question", [QUESTION, "Where is the job?", "What did I say on 1 March?"])
def test_a_turn_stands_for_statements_only(named: Named, question: str) -> None:
    ana, _ = named.user([], [RIGHT])
    of_turns = [hit.memories for hit in ana.search(question) if hit.turn]
    assert any(of_turns)
    assert all(each.kind == STATEMENT for memories in of_turns for each in memories)
    found = ana.recall(question)
    assert SENTENCE in found.text or all(each.kind == STATEMENT for each in found.memories)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("is_corrected", [False, True])
def test_other_systems_get_the_statement_that_holds(
    named: Named, format: str, is_corrected: bool
) -> None:
    ana, _ = named.user([], [RIGHT])
    if is_corrected:
        ana.correct(3, "Ana lives in Rotterdam.")
    lines = json.dumps([*memories_as(format, ana)])
    assert SENTENCE not in lines
    assert HOMES[0][0] not in lines
    assert (HOMES[1][0] in lines) != is_corrected
    assert ("Rotterdam" in lines) == is_corrected


def test_what_it_stands_for_is_explained(named: Named) -> None:
    ana, _ = named.user([], [RIGHT])
    outcomes = {each.text: each.outcome for each in ana.explain(QUESTION).candidates}
    assert outcomes[SENTENCE] == "returned"
    assert outcomes[HOMES[0][0]] == outcomes[HOMES[1][0]] == "told"


def test_a_question_about_a_day_gets_what_was_said_then(named: Named) -> None:
    ana, _ = named.user([], [RIGHT])
    found = ana.recall("Where did Ana live on 1 March 2026?")
    assert SENTENCE not in found.text
    assert "Leiden" in found.text


@pytest.mark.parametrize("relation", sorted(map(str, REPLACED)))
@pytest.mark.parametrize("later", ["Ana lives in Utrecht since 15 March 2026; before, Delft.", ""])
def test_a_sentence_holds_until_the_next_change(named: Named, relation: str, later: str) -> None:
    sessions = [*HOMES, ("Here in Utrecht I live on the third floor now.",)]
    change = _link("M3", "N1", relation, now=later)
    ana, _ = named.user([], [RIGHT], [change], sessions=sessions)
    assert SENTENCE not in named.asked[-1]["earlier"]
    found = ana.recall(QUESTION)
    assert SENTENCE not in found.text
    assert (later or sessions[2][0]) in found.text


def test_a_correction_of_a_statement_ends_its_sentence(named: Named) -> None:
    ana, _ = named.user([], [RIGHT])
    ana.correct(3, "Ana lives in Rotterdam.")
    found = ana.recall(QUESTION)
    assert "Rotterdam" in found.text
    assert SENTENCE not in found.text


@pytest.mark.parametrize("relation", sorted(map(str, REPLACED)))
@pytest.mark.parametrize("now", [SENTENCE, ""])
@pytest.mark.parametrize("question", [QUESTION, "Where did Ana live first?"])
def test_what_was_corrected_does_not_come_back_by_its_links(
    named: Named, relation: str, now: str, question: str
) -> None:
    ana, _ = named.user([], [_link("M1", "N1", relation, now=now)])
    ana.correct(3, "Ana lives in Rotterdam.")
    assert "Rotterdam" in ana.recall(question).text
    outcomes = {each.memory: each.outcome for each in ana.explain(question).candidates}
    assert outcomes[3] == "corrected"


FORGETTING: Mapping[str, Mapping[str, Any]] = {
    "memory": {"memory": 1},
    "memory alone": {"memory": 1, "keep_turns": True},
    "turn": {"turn": 1},
    "session": {"session": 1},
    "expired": {},
}


@pytest.mark.parametrize("name", FORGETTING)
def test_forgetting_the_former_erases_the_sentence_alone(named: Named, name: str) -> None:
    ana, _ = named.user([], [RIGHT, _link("N1", "N2")])
    ana.correct(4, "My job is in Delft.")
    ana.pin(3)
    if FORGETTING[name]:
        report = ana.forget(**FORGETTING[name])
    else:
        ana.set_retention(datetime.now(UTC) - START - timedelta(days=3))
        (report,) = named.client.expire()
    ana.remember()
    assert report.memories >= 2
    assert [(mark.kind, mark.memory) for mark in ana.marks()] == [("corrected", 4)]
    assert [each.id for each in ana.memories(pinned=True)] == [3]
    assert (3, 4) in [(link.older, link.newer) for link in ana.links()]
    texts = {each.id: each.text for each in ana.memories()}
    assert {3, 4}.issubset(texts)
    assert SENTENCE not in texts.values()
    assert SENTENCE not in ana.recall(QUESTION).text


def test_forgetting_the_later_session_erases_the_sentence(named: Named) -> None:
    ana, _ = named.user([], [RIGHT])
    report = ana.forget(session=2)
    assert report.pending_again == 0
    assert [each.id for each in ana.memories()] == [1, 2]


@pytest.mark.parametrize("is_former", [False, True])
def test_a_corrected_sentence_is_a_statement_of_its_own(tmp_path: Path, is_former: bool) -> None:
    """Formerly it was a state that was made from no other memory."""
    store = Named(tmp_path)
    with store.client:
        ana, _ = store.user([], [RIGHT])
        new = ana.correct(5, "Ana lives in Delft since 7 March 2026.")
        assert (new.kind, new.derived_from) == (STATEMENT, ())
    if is_former:
        with closing(sqlite3.connect(tmp_path / "memory.db")) as db, db:
            db.execute("UPDATE memory SET kind = 'state' WHERE id = ?", [new.id])
    with theanine.open(str(tmp_path / "memory.db"), model=store.model) as client:
        ana = client.user(ana.scope.user)
        topics = find_topics(ana.memories(), ana.links())
        assert new.id in [each for topic in topics for each in topic.memories]
        ana.forget(turn=new.source_turns[0])
        assert new.id not in [each.id for each in ana.memories()]


def test_timelines_and_the_method_as_published_leave_the_sentence_out(tmp_path: Path) -> None:
    store = Named(tmp_path)
    with store.client:
        ana, _ = store.user([], [RIGHT])
        assert all(each.kind == STATEMENT for line in ana.timelines() for each in line.memories)
    model = ScriptedModel("An account.")
    path = str(tmp_path / "memory.db")
    with theanine.open(path, method="theanine-paper", model=model) as published:
        found = published.user(ana.scope.user).recall(QUESTION)
        assert found.memories
        assert all(each.kind == STATEMENT for each in found.memories)
        assert SENTENCE not in "".join(model.prompts)


def test_a_second_run_replays_all(named: Named) -> None:
    ana, _ = named.user([], [RIGHT])
    before = [str(each) for each in ana.memories()], [str(link.relation) for link in ana.links()]
    named.model.prompts.clear()
    reports = ana.rebuild(again=True).reports
    assert sum(report.usage.calls for report in reports) == 0
    assert not named.model.prompts
    after = [str(each) for each in ana.memories()], [str(link.relation) for link in ana.links()]
    assert after == before
