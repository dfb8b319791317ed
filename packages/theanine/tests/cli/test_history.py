"""`theanine memories`: what is live, what no longer is and why, and how it stood in between."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import theanine
from support.history_samples import save
from support.running import Terminal
from theanine.demo import HARBOUR
from theanine.types import History, Transcript, Utterance

WITH = ["--user", "ana", "--method", "recursive-summary"]


@pytest.fixture(scope="module")
def ana(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    run = Terminal(tmp_path_factory.mktemp("ana") / "memory.db")
    run("import", str(HARBOUR), "--method", "recursive-summary")
    return run


def texts(found: Sequence[dict[str, Any]]) -> list[str]:
    return [memory["text"] for memory in found]


def test_only_live_memories_are_listed_without_it(ana: Terminal) -> None:
    live = ana("memories", *WITH, "--json").json
    every = ana("memories", *WITH, "--history", "--json").json
    assert len(live) == 20 < len(every)
    assert [one["id"] for one in live] == [one["id"] for one in every if one["mark"] is None]
    assert "mark" not in live[0]
    assert "no longer live" not in ana("memories", *WITH).out


def test_history_says_what_took_its_place_when_and_why(ana: Terminal) -> None:
    left = [one for one in ana("memories", *WITH, "--history", "--json").json if one["mark"]]
    assert {one["mark"]["kind"] for one in left} == {"superseded"}
    assert all(one["mark"]["session"] > one["session"] for one in left)
    first = left[0]["mark"]
    assert (first["session"], first["at"][:10], first["dated"]) == (3, "2024-04-20", True)
    shown = ana("memories", *WITH, "--history").out
    assert "superseded (session 3, 20 Apr 2024): left out; the summary has room for 20" in shown


def test_every_past_summary_can_be_read(ana: Terminal, tmp_path: Path) -> None:
    turns = HARBOUR.read_text("utf-8").splitlines(keepends=True)
    keys = list(dict.fromkeys(json.loads(one)["session"] for one in turns))
    for sessions in (1, 4, 7):
        begun = [one for one in turns if json.loads(one)["session"] in keys[:sessions]]
        file = save(tmp_path, f"{sessions}.jsonl", "".join(begun))
        alone = Terminal(tmp_path / f"{sessions}.db")
        alone("import", str(file), "--method", "recursive-summary")
        then = ana("memories", *WITH, "--as-of", str(sessions), "--json").json
        assert texts(then) == texts(alone("memories", *WITH, "--json").json)
        assert 0 < len(then) <= 20


def test_a_session_that_is_not_there_is_a_mistake(ana: Terminal) -> None:
    ran = ana("memories", *WITH, "--as-of", "99", fine=False)
    assert (ran.code, "ana has no session 99" in ran.err) == (2, True)


def test_no_date_stands_where_none_is_known(run: Terminal) -> None:
    days = [datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(25)]
    texts = [f"I bought boat{n} from harbour{n} in town{n}." for n in range(25)]
    talks = [
        Transcript(key=text, turns=[Utterance(text=text, speaker="Ana", at=at)], at=at, dated=False)
        for text, at in zip(texts, days, strict=True)
    ]
    with theanine.open(str(run.store), method="recursive-summary") as agent:
        agent.user("ana").log(History(name="ana", transcripts=talks))
        agent.user("ana").remember()
    shown = run("memories", *WITH, "--history").out
    assert "superseded (session 21): left out" in shown
    assert "1970" not in shown


def test_kinds_are_named_where_there_are_several(run: Terminal) -> None:
    run("import", str(HARBOUR), "--method", "summary-buffer")
    shown = run("memories", "--user", "ana", "--method", "summary-buffer").out
    assert "kind" in shown
    assert "utterance" in shown
    assert "statement" in shown
