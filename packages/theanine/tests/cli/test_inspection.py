"""The commands that read: each for a person and as JSON, and for a user who isn't there."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.history_samples import line, save
from support.running import Terminal
from theanine.cli.rendering import pluralize
from theanine.demo import HARBOUR
from theanine.tokenizer import count_tokens


@pytest.fixture(scope="module")
def ana(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    run = Terminal(tmp_path_factory.mktemp("ana") / "memory.db")
    run("import", str(HARBOUR))
    return run


def test_recall_names_its_turns(ana: Terminal) -> None:
    shown = ana("recall", "What is Ana allergic to?", "--user", "ana")
    assert "hazelnut" in shown.out
    assert "↳ turn 23, 30 Mar 2024, Ana:" in shown.out
    assert "No language model is configured" in shown.err
    found = ana("recall", "What is Ana allergic to?", "--user", "ana", "--json").json
    assert any(turn["id"] == 23 for part in found["parts"] for turn in part["source_turns"])


def test_timelines_are_trees_with_relations_and_dates(ana: Terminal) -> None:
    shown = ana("timeline", "--user", "ana").out
    assert "↓ Changed 18 May 2024 Ana said" in shown
    lines = ana("timeline", "--user", "ana", "--json").json
    assert all(len(one["links"]) == len(one["memories"]) - 1 for one in lines)


def test_the_timeline_of_one_memory_is_its_component(ana: Terminal) -> None:
    lines = ana("timeline", "--user", "ana", "--json").json
    longest = max(lines, key=lambda one: len(one["memories"]))
    number = longest["memories"][-1]["id"]
    alone = ana("timeline", str(number), "--user", "ana", "--json").json
    assert longest["memories"] in [one["memories"] for one in alone]
    assert len(alone) < len(lines)


def test_memories_and_sessions_as_tables(ana: Terminal) -> None:
    assert "10" in ana("sessions", "--user", "ana").out
    assert "remembered" in ana("sessions").out
    assert "09 Mar 2024" in ana("memories", "--user", "ana").out


def test_tables_are_as_wide_as_they_are_told(ana: Terminal) -> None:
    ran = ana.typed("memories", "--user", "ana", environment={"COLUMNS": "60"})
    assert max(map(len, ran.out.splitlines())) <= 60


@pytest.mark.parametrize(
    ("count", "things", "said"),
    [
        (0, "memories", "0 memories"),
        (1, "new memories", "1 new memory"),
        (1, "empty turns", "1 empty turn"),
        (1, "labels of no turn", "1 label of no turn"),
        (1, "questions without evidence", "1 question without evidence"),
        (2000, "turns", "2,000 turns"),
    ],
)
def test_one_is_counted_in_the_singular(count: int, things: str, said: str) -> None:
    assert pluralize(count, things) == said


def test_nothing_was_paid_for(ana: Terminal) -> None:
    assert ana("cost").out == "no language model was called\n"
    assert ana("cost", "--json").json == []


@pytest.mark.parametrize("command", [["recall", "Who?"], ["memories"], ["timeline"], ["sessions"]])
def test_an_unknown_user_is_named_beside_the_known(ana: Terminal, command: list[str]) -> None:
    ran = ana(*command, "--user", "bo", fine=False)
    assert ran.code == 2
    assert "no user bo in this store; it has: ana" in ran.err


def test_an_unknown_memory_is_a_mistake(ana: Terminal) -> None:
    ran = ana("timeline", "9999", "--user", "ana", fine=False)
    assert (ran.code, "no memory 9999" in ran.err) == (2, True)


def test_remembered_markup_is_shown_as_it_was_said(run: Terminal, tmp_path: Path) -> None:
    file = save(
        tmp_path, "talk.jsonl", line(text="I love the [bold]red[/bold] [link=x]boat[/link].")
    )
    run("import", str(file), "--user", "ana")
    assert "[bold]red[/bold] [link=x]boat[/link]" in run("memories", "--user", "ana").out
    assert "[bold]red[/bold]" in run("recall", "Which boat does Ana love?", "--user", "ana").out


def test_a_file_that_is_no_store_is_a_mistake(tmp_path: Path) -> None:
    file = save(tmp_path, "letter.db", "Dear Ana, this is no database. " * 100)
    ran = Terminal(file)("sessions", fine=False)
    assert ran.code == 2
    assert "letter.db" in ran.err
    assert file.read_text("utf-8").startswith("Dear Ana")


def test_another_method_keeps_memories_of_its_own(run: Terminal) -> None:
    run("import", str(HARBOUR), "--method", "exchange")
    assert len(run("memories", "--user", "ana", "--method", "exchange", "--json").json) == 65
    assert run("memories", "--user", "ana", "--method", "theanine", "--json").json == []
    asked = [
        "recall",
        "What is Ana allergic to?",
        "--user",
        "ana",
        "--method",
        "exchange",
        "--json",
    ]
    found = run(*asked, "--set", "retrieved=2").json
    assert 1 <= len(found["parts"]) <= 2
    assert "hazelnut" in found["text"]
    assert count_tokens(run(*asked, "--budget", "60").json["text"]) <= 60
    for wrong, said in (("retrieved", "NAME=VALUE"), ("colour=1", "no setting colour")):
        ran = run(
            "recall", "x", "--user", "ana", "--method", "exchange", "--set", wrong, fine=False
        )
        assert (ran.code, said in ran.err) == (2, True)
