"""The bundled conversations are readable and dated, and their questions name real turns."""

from __future__ import annotations

from datetime import timedelta

import pytest

from theanine.demo import CONVERSATIONS, HARBOUR, LINDA, ConversationName, load_questions
from theanine.importers import read_histories

READING = read_histories(HARBOUR)
SESSIONS = READING.histories[0].transcripts


def test_it_is_one_year_of_ten_dated_sessions() -> None:
    assert [h.name for h in READING.histories] == ["ana"]
    assert not READING.notes
    assert len(SESSIONS) == 10
    assert all(10 <= len(s.turns) <= 16 and s.dated for s in SESSIONS)
    assert SESSIONS[-1].at - SESSIONS[0].at > timedelta(days=300)
    assert {t.at.utcoffset() for s in SESSIONS for t in s.turns} == {
        timedelta(hours=1),
        timedelta(hours=2),
    }


def test_ana_and_theo_take_turns() -> None:
    for session in SESSIONS:
        speakers = [(t.speaker, t.role) for t in session.turns]
        assert speakers == [("Ana", "user"), ("Theo", "assistant")] * (len(speakers) // 2)


def test_linda_and_her_companion_take_turns_on_ten_days() -> None:
    [history] = read_histories(LINDA).histories
    assert history.name == "linda" and len(history.transcripts) == 10
    for session in history.transcripts:
        speakers = [(t.speaker, t.role) for t in session.turns]
        expected = [("Linda", "user"), ("Companion", "assistant")] * (len(speakers) // 2)
        assert session.dated and speakers == expected
    licence = LINDA.with_suffix(".LICENSE").read_text()
    assert "MemoryBank" in licence and "MIT License" in licence


def test_the_questions_are_of_several_kinds() -> None:
    kinds = [question.kind for question in load_questions()]
    assert kinds == ["change", "cause", "time", "hindrance", "fact"]


@pytest.mark.parametrize("conversation", CONVERSATIONS)
def test_the_sources_of_questions_are_user_turns(conversation: ConversationName) -> None:
    [history] = read_histories(CONVERSATIONS[conversation][0]).histories
    user_keys = {t.key for s in history.transcripts for t in s.turns if t.role == "user"}
    questions = load_questions(conversation)
    assert len(questions) == 5
    for question in questions:
        assert set(question.sources) <= user_keys
        assert question.question.endswith("?")
