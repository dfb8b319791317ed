"""`theanine memories`: live memories, replaced ones with the reason, and past states."""

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

OPTIONS = ["--user", "ana", "--method", "recursive-summary"]


@pytest.fixture(scope="module")
def ana(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    run = Terminal(tmp_path_factory.mktemp("ana") / "memory.db")
    run("import", str(HARBOUR), "--method", "recursive-summary")
    return run


def texts(memories: Sequence[dict[str, Any]]) -> list[str]:
    return [memory["text"] for memory in memories]


@pytest.mark.slow
def test_only_live_memories_are_listed_without_history(ana: Terminal) -> None:
    live = ana("memories", *OPTIONS, "--json").json
    all_memories = ana("memories", *OPTIONS, "--history", "--json").json
    assert len(live) == 20 < len(all_memories)
    assert [item["id"] for item in live] == [
        item["id"] for item in all_memories if item["mark"] is None
    ]
    assert "mark" not in live[0]
    assert "no longer live" not in ana("memories", *OPTIONS).out


def test_history_shows_the_replacement_date_and_reason(ana: Terminal) -> None:
    superseded = [
        item for item in ana("memories", *OPTIONS, "--history", "--json").json if item["mark"]
    ]
    assert {item["mark"]["kind"] for item in superseded} == {"superseded"}
    assert all(item["mark"]["session"] > item["session"] for item in superseded)
    first = superseded[0]["mark"]
    assert (first["session"], first["at"][:10], first["dated"]) == (3, "2024-04-20", True)
    output = ana("memories", *OPTIONS, "--history").out
    assert "superseded (session 3, 20 Apr 2024): left out; the summary has room for 20" in output


@pytest.mark.slow
def test_past_summaries_are_listed(ana: Terminal, tmp_path: Path) -> None:
    turns = HARBOUR.read_text("utf-8").splitlines(keepends=True)
    keys = list(dict.fromkeys(json.loads(item)["session"] for item in turns))
    for sessions in (1, 4, 7):
        lines = [item for item in turns if json.loads(item)["session"] in keys[:sessions]]
        file = save(tmp_path, f"{sessions}.jsonl", "".join(lines))
        other = Terminal(tmp_path / f"{sessions}.db")
        other("import", str(file), "--method", "recursive-summary")
        past = ana("memories", *OPTIONS, "--as-of", str(sessions), "--json").json
        assert texts(past) == texts(other("memories", *OPTIONS, "--json").json)
        assert 0 < len(past) <= 20


def test_an_unknown_session_is_an_error(ana: Terminal) -> None:
    ran = ana("memories", *OPTIONS, "--as-of", "99", fine=False)
    assert (ran.code, "ana has no session 99" in ran.err) == (2, True)


@pytest.mark.slow
def test_undated_sessions_show_no_date_in_the_history(run: Terminal) -> None:
    days = [datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(25)]
    texts = [f"I bought boat{n} from harbour{n} in town{n}." for n in range(25)]
    talks = [
        Transcript(key=text, turns=[Utterance(text=text, speaker="Ana", at=at)], at=at, dated=False)
        for text, at in zip(texts, days, strict=True)
    ]
    with theanine.open(str(run.store), method="recursive-summary") as client:
        client.user("ana").log(History(name="ana", transcripts=talks))
        client.user("ana").remember()
    output = run("memories", *OPTIONS, "--history").out
    assert "superseded (session 21): left out" in output
    assert "1970" not in output


@pytest.mark.slow
def test_several_kinds_get_a_column(run: Terminal) -> None:
    run("import", str(HARBOUR), "--method", "summary-buffer")
    output = run("memories", "--user", "ana", "--method", "summary-buffer").out
    assert "kind" in output
    assert "utterance" in output
    assert "statement" in output
