"""The bundled conversation is readable and dated, and its questions name real turns."""

from __future__ import annotations

from datetime import timedelta

from theanine.demo import HARBOUR, load_questions
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


def test_the_sources_of_questions_are_user_turns() -> None:
    user_keys = {t.key for s in SESSIONS for t in s.turns if t.role == "user"}
    questions = load_questions()
    assert [q.kind for q in questions] == ["change", "cause", "time", "hindrance", "fact"]
    for question in questions:
        assert set(question.sources) <= user_keys
        assert question.question.endswith("?")
