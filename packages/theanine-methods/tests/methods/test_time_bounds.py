"""What was known on a day: versions of digests, marks, links; and options that a method refuses."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import theanine
from theanine.demo import HARBOUR
from theanine.errors import SettingsError
from theanine.importers import read_histories
from theanine.types import History
from theanine_methods.memorybank.kinds import EVENTS, PORTRAIT

QUESTION = "Why did Ana leave the shipyard?"
BASELINES = ("full-history", "all-memories")
DIGESTS = ("comedy", "recursive-summary", "summary-buffer", "memorybank")


def history(sessions: int | None = None) -> History:
    whole = read_histories(HARBOUR).histories[0]
    return replace(whole, transcripts=whole.transcripts[:sessions])


def recall(path: Path, method: str, log: History, **options: Any) -> theanine.Recollection:
    with theanine.open(str(path), method=method) as client:
        client.user("ana").log(log)
        client.user("ana").remember()
        return client.user("ana").recall(QUESTION, **options)


@pytest.mark.slow
@pytest.mark.parametrize("sessions", [2, 6])
@pytest.mark.parametrize("method", BASELINES + DIGESTS)
def test_as_of_gives_what_was_stored_on_that_day(
    tmp_path: Path, method: str, sessions: int
) -> None:
    """Later sessions change nothing: summaries and digests are the versions of that day."""
    day = history().transcripts[sessions].at - timedelta(hours=1)
    bounded = recall(tmp_path / "whole.db", method, history(), as_of=day)
    that_day = recall(tmp_path / "then.db", method, history(sessions))
    whole = recall(tmp_path / "whole.db", method, history())
    if method == "memorybank":  # which exchanges it retrieves depends on the words of all sessions
        bounded, that_day, whole = map(_global_digests, (bounded, that_day, whole))
    assert bounded.text == that_day.text != whole.text
    assert [part.source_turns for part in bounded.parts] == [
        part.source_turns for part in that_day.parts
    ]


def _global_digests(recollection: theanine.Recollection) -> theanine.Recollection:
    kinds = (EVENTS, PORTRAIT)
    parts = [part for part in recollection.parts if part.memories[0].kind in kinds]
    return replace(recollection, parts=tuple(parts))


@pytest.mark.parametrize("method", ["memory-retrieval", "full-history", "comedy"])
def test_min_relevance_is_refused_without_an_estimate(tmp_path: Path, method: str) -> None:
    with pytest.raises(SettingsError, match="min_relevance"):
        recall(tmp_path / "m.db", method, history(1), min_relevance=0.1)


def test_recall_from_timelines_alone_has_no_relevance(tmp_path: Path) -> None:
    with theanine.open(str(tmp_path / "m.db"), method="theanine-paper") as client:
        client.user("ana").log(history(1))
        with pytest.raises(SettingsError, match="min_relevance"):
            client.user("ana").recall(QUESTION, min_relevance=0.1)
        with pytest.raises(SettingsError, match="min_relevance"):
            client.user("ana").reply(QUESTION, min_relevance=0.1)


@pytest.mark.parametrize("method", ["full-history", "all-memories", "exchange", "theanine"])
def test_limit_keeps_the_best_parts_in_their_order(tmp_path: Path, method: str) -> None:
    whole = recall(tmp_path / "m.db", method, history(6), budget=2_000)
    limited = recall(tmp_path / "m.db", method, history(6), budget=2_000, limit=2)
    best = sorted(whole.parts, key=lambda part: part.score)[-2:]
    assert list(limited.parts) == [part for part in whole.parts if part in best]


def test_a_session_recalls_and_replies_within_bounds(tmp_path: Path) -> None:
    with theanine.open(str(tmp_path / "m.db")) as client:
        client.user("ana").log(history())
        day = history().transcripts[3].at
        session = client.user("ana").session()
        session.hear(QUESTION)
        assert all(turn.at <= day for turn in session.recall(as_of=day).source_turns)
        reply = session.reply(as_of=day, limit=1)
        assert len(reply.recollection.parts) == 1
        assert all(turn.at <= day for turn in reply.recollection.source_turns)
        assert not client.user("ana").reply(QUESTION, budget=0).recollection
