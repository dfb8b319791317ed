"""The commands that read: as text, as JSON, and for an unknown user."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.history_samples import line, save
from support.running import Terminal
from support.states import fill_with_states
from theanine.cli.rendering import pluralize
from theanine.demo import HARBOUR
from theanine.testing import ScriptedServer, answer
from theanine.tokenizer import count_tokens


@pytest.fixture(scope="module")
def ana(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    run = Terminal(tmp_path_factory.mktemp("ana") / "memory.db")
    run("import", str(HARBOUR))
    return run


@pytest.mark.slow
def test_recall_shows_source_turns(ana: Terminal) -> None:
    shown = ana("recall", "What is Ana allergic to?", "--user", "ana")
    assert "hazelnut" in shown.out
    assert re.search(r"↳ turns? .*\b23\b", shown.out)
    assert shown.err == ""
    result = ana("recall", "What is Ana allergic to?", "--user", "ana", "--json").json
    assert any(turn["id"] == 23 for part in result["parts"] for turn in part["source_turns"])


def test_recall_within_bounds(ana: Terminal) -> None:
    recall = ["recall", "Where does Ana live?", "--user", "ana", "--json"]
    parts = ana(*recall, "--since", "2024-04-01", "--until", "2024-06-30T12:00+02:00").json["parts"]
    days = [turn["at"][:10] for part in parts for turn in part["source_turns"]]
    assert days
    assert all("2024-04-01" <= day <= "2024-06-30" for day in days)
    known = ana(*recall, "--as-of", "2024-03-31", "--limit", "2").json
    assert 1 <= len(known["parts"]) <= 2
    assert all(0 <= part["relevance"] <= 1 for part in known["parts"])
    assert all("timeline" in part for part in known["parts"])
    nothing = ana(*recall, "--min-relevance", "1", fine=False)
    assert (nothing.code, nothing.json["parts"]) == (1, [])
    assert nothing.json["best_relevance"] < nothing.json["min_relevance"] == 1
    assert "Nothing relevant is known" in ana(*recall[:-1], "--min-relevance", "1", fine=False).out


def test_timelines_have_titles_dates_and_the_relations_that_are_claimed(ana: Terminal) -> None:
    shown = ana("timeline", "--user", "ana").out
    assert "\nCres, ships, ferry\n● Ana said on 9 March 2024" in shown
    assert "↓ Changed [7] Ana said on 18 May 2024" in shown
    assert "↓ Changed [17] Ana said on 22 June 2024" in shown, "not what stands right before"
    assert "Same topic" not in shown
    timelines = ana("timeline", "--user", "ana", "--json").json
    for timeline in timelines:
        assert timeline["title"] in shown
        lines = [memory["id"] for memory in timeline["memories"]]
        assert len(lines) >= 2
        assert all({link["older"], link["newer"]} <= {*lines} for link in timeline["links"])
    listed = [memory["id"] for timeline in timelines for memory in timeline["memories"]]
    assert len(listed) == len({*listed})
    assert f"\nIn no timeline: {73 - len(listed)} memories" in shown


def test_states_are_not_counted_as_in_no_timeline(run: Terminal) -> None:
    fill_with_states(str(run.store))
    assert len(run("memories", "--user", "ana", "--json").json) == 5
    [timeline] = run("timeline", "--user", "ana", "--json").json
    assert [memory["id"] for memory in timeline["memories"]] == [1, 2, 4]
    assert "\nIn no timeline: 0 memories" in run("timeline", "--user", "ana").out


def test_the_timeline_of_one_memory_is_the_matter_that_it_is_about(ana: Terminal) -> None:
    timelines = ana("timeline", "--user", "ana", "--json").json
    for timeline in timelines:
        number = timeline["memories"][0]["id"]
        [own] = ana("timeline", str(number), "--user", "ana", "--json").json
        assert own == {**timeline, "retrieved": number}


def test_a_memory_on_a_matter_of_its_own_is_shown_alone(ana: Terminal) -> None:
    listed = {
        memory["id"]
        for timeline in ana("timeline", "--user", "ana", "--json").json
        for memory in timeline["memories"]
    }
    alone = next(number for number in range(1, 74) if number not in listed)
    shown = ana("timeline", str(alone), "--user", "ana").out
    assert re.fullmatch(rf"\n● .* \[{alone}\]\n\n\[5\] the number of a memory\n", shown)


def test_memories_and_sessions_as_tables(ana: Terminal) -> None:
    assert "10" in ana("sessions", "--user", "ana").out
    assert "remembered" in ana("sessions").out
    assert "09 Mar 2024" in ana("memories", "--user", "ana").out


@pytest.mark.slow
def test_the_width_of_tables(ana: Terminal) -> None:
    ran = ana.typed("memories", "--user", "ana", environment={"COLUMNS": "60"})
    assert max(map(len, ran.out.splitlines())) <= 60


@pytest.mark.parametrize(
    ("count", "things", "expected"),
    [
        (0, "memories", "0 memories"),
        (1, "new memories", "1 new memory"),
        (1, "empty turns", "1 empty turn"),
        (1, "labels of no turn", "1 label of no turn"),
        (1, "questions without evidence", "1 question without evidence"),
        (2000, "turns", "2,000 turns"),
    ],
)
def test_pluralize(count: int, things: str, expected: str) -> None:
    assert pluralize(count, things) == expected


def test_cost_without_calls(ana: Terminal) -> None:
    assert ana("cost").out == "no language model was called\n"
    assert ana("cost", "--json").json == []


@pytest.mark.parametrize("command", [["recall", "Who?"], ["memories"], ["timeline"], ["sessions"]])
def test_an_unknown_user_is_an_error_that_lists_users(ana: Terminal, command: list[str]) -> None:
    ran = ana(*command, "--user", "bo", fine=False)
    assert ran.code == 2
    assert "no user bo in this store; it has: ana" in ran.err


def test_an_unknown_memory_is_an_error(ana: Terminal) -> None:
    ran = ana("timeline", "9999", "--user", "ana", fine=False)
    assert (ran.code, "no memory 9999" in ran.err) == (2, True)


def test_markup_in_memories_is_shown_verbatim(run: Terminal, tmp_path: Path) -> None:
    file = save(
        tmp_path, "talk.jsonl", line(text="I love the [bold]red[/bold] [link=x]boat[/link].")
    )
    run("import", str(file), "--user", "ana")
    assert "[bold]red[/bold] [link=x]boat[/link]" in run("memories", "--user", "ana").out
    assert "[bold]red[/bold]" in run("recall", "Which boat does Ana love?", "--user", "ana").out


def test_a_file_that_is_not_a_store_is_an_error(tmp_path: Path) -> None:
    file = save(tmp_path, "letter.db", "Dear Ana, this is no database. " * 100)
    ran = Terminal(file)("sessions", fine=False)
    assert ran.code == 2
    assert "letter.db" in ran.err
    assert file.read_text("utf-8").startswith("Dear Ana")


@pytest.mark.slow
def test_each_method_has_its_own_memories(run: Terminal) -> None:
    run("import", str(HARBOUR), "--method", "exchange")
    assert len(run("memories", "--user", "ana", "--method", "exchange", "--json").json) == 65
    assert run("memories", "--user", "ana", "--method", "theanine", "--json").json == []
    recall = [
        "recall",
        "What is Ana allergic to?",
        "--user",
        "ana",
        "--method",
        "exchange",
        "--json",
    ]
    result = run(*recall, "--set", "retrieved=2").json
    assert 1 <= len(result["parts"]) <= 2
    assert "hazelnut" in result["text"]
    assert count_tokens(run(*recall, "--budget", "60").json["text"]) <= 60
    for setting, expected in (("retrieved", "NAME=VALUE"), ("colour=1", "no setting colour")):
        ran = run(
            "recall", "x", "--user", "ana", "--method", "exchange", "--set", setting, fine=False
        )
        assert (ran.code, expected in ran.err) == (2, True)


def test_the_profile_names_the_turns_of_its_lines(ana: Terminal) -> None:
    shown = ana("profile", "--user", "ana").out
    profile = ana("profile", "--user", "ana", "--json").json
    for each in (*profile["lines"], *profile["changes"]):
        assert f"[{each['turn']}]" in shown
    assert re.search(r"^  Lucija \(sister\) 7 turns, last on 08 Feb 2025$", shown, re.MULTILINE)
    then = ana("profile", "--user", "ana", "--as-of", "2024-04-01", "--json").json
    assert [line["text"] for line in then["lines"] if line["area"] == "home"] == [
        "I live in Rijeka, two streets above the harbour."
    ]
    early = ana("profile", "--user", "ana", "--as-of", "2020-01-01", fine=False)
    assert early.code == 1 and early.out.startswith("Nothing is known yet")


def test_a_model_writes_the_profile_only_if_told_to(tmp_path: Path) -> None:
    run = Terminal(tmp_path / "memory.db")
    run("add", "I live in Rijeka.", "--user", "ana")
    run("add", "I moved to Ljubljana.", "--user", "ana")
    with ScriptedServer(answer) as server:
        model = ["--model", "openai:scripted", "--base-url", server.base_url]
        assert "Written by" not in run("profile", "--user", "ana", *model).out
        assert not server.requests
        shown = run("profile", "--user", "ana", "--with-model", *model).out
        lines = run("profile", "--user", "ana", "--with-model", *model, "--json").json["lines"]
        assert len(server.requests) == 1
    assert "Written by openai:scripted from what the user said, in the turns [5]." in shown
    assert "I moved to Ljubljana. [2]" in shown
    assert [line["source_turns"] for line in lines] == [[2], [1]]
    refused = run("profile", "--user", "ana", "--with-model", fine=False)
    assert refused.code == 2 and "asks a language model, and none is set" in refused.err
    assert run("cost", "--user", "ana", "--json").json[0]["step"] == "profile"
