"""Relevance tells questions that were answered about a person from those that never were."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import theanine
from theanine.embeddings.encoder import has_runtime

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
PEOPLE = ("my sister Mia", "our neighbor Paul", "my boss Irena", "my cousin Theo", "my aunt Rosa")
TOLD = {
    "Where does {} live?": "lives in a small flat in Graz",
    "How old is {}?": "turned forty-one last week",
    "What is {} allergic to?": "can't eat hazelnuts, the throat swells at once",
    "What does {} do for a living?": "repairs violins in a workshop by the river",
    "Which sport does {} do?": "plays handball on Thursdays",
    "When does {} go on holiday?": "flies to Malta in the second week of June",
}
OTHERS = ("The train was late again.", "I planted beans.", "It rained all weekend.")


@pytest.mark.skipif(not has_runtime(), reason="onnxruntime is not installed")
def test_what_was_told_of_a_person_is_more_relevant_than_what_was_not(tmp_path: Path) -> None:
    questions = list(TOLD)
    told = {
        person: {questions[(2 * number + step) % len(questions)] for step in (0, 1)}
        for number, person in enumerate(PEOPLE)
    }
    with theanine.open(tmp_path / "memory.db", embedder="encoder", clock=lambda: AT) as client:
        user = client.user("ana")
        for person, answered in told.items():
            for question in sorted(answered):
                user.add(f"{person[0].upper()}{person[1:]} {TOLD[question]}.")
        for text in OTHERS:
            user.add(text)
        pairs: list[bool] = []
        for person, answered in told.items():
            relevance = {
                question: user.recall(question.format(person), min_relevance=0.0).best_relevance
                or 0.0
                for question in questions
            }
            absent = [relevance[question] for question in questions if question not in answered]
            pairs += [relevance[question] > other for question in answered for other in absent]
    assert sum(pairs) > 0.9 * len(pairs), f"{sum(pairs)} of {len(pairs)}"
