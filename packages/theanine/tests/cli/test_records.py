"""The commands on records: add, log, search, correct, pin; and their formats."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from support.history_samples import line, save
from support.running import Ran, Terminal
from theanine.cli.options import ModelOptions
from theanine.cli.rendering import MAX_TURN_LINES
from theanine.llm.limits import Limits

ANA = ("--user", "ana")


@pytest.fixture
def ana(run: Terminal) -> Terminal:
    run("add", "I'm vegan.", *ANA)
    run("add", "I live in Rijeka.", *ANA, "--metadata", "channel=web")
    run("add", "Nice!", "--assistant", "--session", "chat-7", *ANA)
    return run


def rows(ran: Ran) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(ran.out)))


def test_log_lists_the_last_turns_in_order(ana: Terminal):
    assert [row["text"] for row in rows(ana("log", *ANA, "--csv"))] == [
        "I'm vegan.",
        "I live in Rijeka.",
        "Nice!",
    ]
    page = ana("log", *ANA, "--limit", "2")
    assert [line.split()[0] for line in page.out.splitlines()] == ["2", "3"]
    assert page.err == "Earlier turns: --before 2\n"
    before = ana("log", *ANA, "--limit", "2", "--before", "2")
    assert (before.out.split()[0], before.err) == ("1", "")


def test_what_ends_by_itself(ana: Terminal):
    run = ana
    run("add", "My locker is 12.", *ANA, "--verify-by", "2020-01-01", "--expires", "2127-01-01")
    [due] = run("memories", *ANA, "--due", "--json").json
    assert due["metadata"]["verify_by"] == "2020-01-01T23:59:59+00:00"
    assert [turn["text"] for turn in run("log", *ANA, "--due", "--json").json] == [
        "My locker is 12."
    ]
    assert "unverified since 1 January 2020" in run("recall", "Which locker is mine?", *ANA).out
    run("correct", str(due["id"]), "My locker is 12.", *ANA, "--verify-by", "2127-01-01")
    assert run("memories", *ANA, "--due", "--json").json == []
    ran = run("add", "Hello.", *ANA, "--expires", "soon", fine=False)
    assert ran.code == 2 and "expires ('soon') is not a date" in ran.err


def test_log_takes_filters(ana: Terminal):
    assert len(ana("log", *ANA, "--search", "RIJEKA live", "--json").json) == 1
    assert len(ana("log", *ANA, "--where", "channel=web,app", "--json").json) == 1
    assert ana("log", *ANA, "--where", "channel=app", "--json").json == []
    either = ("--where", 'channel=web or channel=app and n="1, or 2"')
    assert len(ana("log", *ANA, *either, "--json").json) == 1
    assert ana("log", *ANA, *either, "--where", "channel=app", "--json").json == []
    as_json = '{"or": [{"channel": "web"}, {"channel": null}]}'
    assert len(ana("log", *ANA, "--where", as_json, "--json").json) == 3
    assert ana("log", *ANA, "--until", "yesterday", "--json").json == []
    assert len(ana("log", *ANA, "--session", "3", "--json").json) == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--where", "channel"], "write NAME=VALUE"),
        (["--since", "Marchtember"], "is not a date"),
        (["--json", "--csv"], "exclude each other"),
    ],
)
def test_wrong_options_are_refused(ana: Terminal, options: list[str], expected: str):
    ran = ana("log", *ANA, *options, fine=False)
    assert (ran.code, expected in ran.err, ran.out) == (2, True, "")


def test_search_gives_the_best_first(ana: Terminal):
    hits = ana("search", "Where does Ana live?", *ANA, "--json").json
    assert hits[0]["text"] == "I live in Rijeka."
    assert [hit["relevance"] for hit in hits] == sorted(
        (hit["relevance"] for hit in hits), reverse=True
    )
    limited = ana("search", "Where does Ana live?", *ANA, "--limit", "1", "--json").json
    assert limited == hits[:1]
    only = rows(ana("search", "Where does Ana live?", *ANA, "--where", "channel=web", "--csv"))
    assert [row["id"] for row in only] == ["2"]


def test_search_lists_what_matches_by_itself(run: Terminal, tmp_path: Path):
    said = [
        ("ana", "My brother's wedding is on 13 September."),
        ("assistant", "How lovely!"),
        ("ana", "I drink three cups of coffee every day."),
        ("ana", "I bought a blue dress for the wedding."),
    ]
    file = tmp_path / "said.jsonl"
    session = {"user": "ana", "session": "s", "at": "2025-03-01T10:00:00+00:00"}
    lines = [{**session, "speaker": who, "text": text} for who, text in said]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run("import", str(file))
    hits = run("search", "wedding", *ANA, "--limit", "2", "--json").json
    assert {hit["id"] for hit in hits} == {1, 4}


def test_search_and_log_name_things_alike(ana: Terminal):
    [hit] = ana("search", "Where does Ana live?", *ANA, "--limit", "1", "--json").json
    [turn] = ana("log", *ANA, "--search", "Rijeka", "--json").json
    assert {name: hit[name] for name in turn} == turn
    assert hit.keys() - turn.keys() == {"record", "relevance", "score", "memories"}
    assert (hit["record"], hit["memories"]) == ("turn", [2])
    shown = ana("search", "Where does Ana live?", *ANA, "--limit", "1").out.splitlines()
    assert shown[0].split() == ["turn", "memory", "relevance", "date", "speaker", "text"]
    assert shown[-1].split()[:2] == ["2", "2"]


def test_a_turn_is_shown_as_it_was(run: Terminal, monkeypatch: pytest.MonkeyPatch):
    text = "\n".join(["def boat():", *(f"    return {n}" for n in range(40))])
    run("add", text, *ANA)
    assert run("log", *ANA, "--turn", "1").out == f"{text}\n"
    shown = run("log", *ANA).out.splitlines()
    assert shown[0].endswith("ana: def boat():")
    assert shown[1:] == [f"           return {n}" for n in range(40)]
    assert run("log", *ANA, "--turn", "2", fine=False).code == 2
    monkeypatch.setenv("FORCE_COLOR", "1")
    terminal = run("log", *ANA).out.splitlines()
    assert len(terminal) == MAX_TURN_LINES + 1
    assert terminal[-1].strip() == "… (all of it: --turn 1)"


def test_sessions_are_found_and_listed_by_their_titles(run: Terminal, tmp_path: Path):
    mapping = {
        "a": {
            "parent": None,
            "message": {
                "author": {"role": "user"},
                "create_time": 1715169600,
                "content": {"content_type": "text", "parts": ["I hate hills."]},
            },
        }
    }
    talk = {"id": 60 * "x", "title": "Three days in Porto", "mapping": mapping, "current_node": "a"}
    run("import", str(save(tmp_path, "conversations.json", [talk])), *ANA)
    listed = run("sessions").out
    assert "title" in listed
    assert "Three days in Porto" in listed
    assert 60 * "x" in listed
    assert len(run("sessions", "--search", "porto HILLS", "--json").json["ana"]) == 1
    assert run("sessions", "--search", "porto lakes", "--json").json == {"ana": []}


def test_tables_for_other_programs_have_no_padding_at_the_end(ana: Terminal):
    for command in ("search live", "memories", "sessions"):
        user = () if command == "sessions" else ANA
        lines = ana(*command.split(), *user).out.splitlines()
        assert lines == [line.rstrip() for line in lines]


def test_times_in_words(ana: Terminal):
    for option, words, found in (
        ("--since", "last week", 3),
        ("--since", "vor 3 Tagen", 3),
        ("--since", "2 May 2024", 3),
        ("--until", "last week", 0),
        ("--until", "May 2024", 0),
    ):
        assert len(ana("log", *ANA, option, words, "--json").json) == found, words


def test_a_sentence_is_no_time(ana: Terminal):
    ran = ana("log", *ANA, "--since", "the day I met Bo last week in Porto", fine=False)
    assert (ran.code, "is not a date; write it as" in ran.err) == (2, True)


def test_recall_shows_the_most_relevant_part_first(run: Terminal, tmp_path: Path):
    days = {"08": "I bought a red Skoda.", "09": "My car is at the garage.", "10": "I like cars."}
    lines = [line(text=text, at=f"2024-05-{day}T12:00:00Z") for day, text in days.items()]
    file = save(tmp_path, "talk.jsonl", "".join(lines))
    run("import", str(file), *ANA)
    question = ("What is at the garage?", *ANA)
    parts = run("recall", *question, "--json").json["parts"]
    shown = [x.split() for x in run("recall", *question).out.splitlines() if "relevance" in x]
    assert [float(words[1]) for words in shown] == sorted(
        (round(part["relevance"], 2) for part in parts), reverse=True
    )
    assert "garage" in run("recall", *question).out.split("relevance")[1]


def test_a_correction_replaces_a_memory(ana: Terminal):
    [_, memory] = ana("memories", *ANA, "--json").json
    ana("correct", str(memory["id"]), "Ana lives in Zagreb.", *ANA)
    assert "Zagreb" in ana("recall", "Where does Ana live?", *ANA).out
    assert "corrected by" in ana("memories", *ANA, "--history").out
    again = ana("correct", str(memory["id"]), "Elsewhere.", *ANA, fine=False)
    assert again.code == 2


def test_a_pinned_memory_is_always_recalled(ana: Terminal):
    [_, memory] = ana("memories", *ANA, "--json").json
    assert ana("pin", str(memory["id"]), *ANA).out == f"memory {memory['id']} is pinned\n"
    assert len(ana("memories", *ANA, "--pinned", "--json").json) == 1
    assert "Rijeka" in ana("recall", "What is the capital of France?", *ANA).out
    ana("pin", str(memory["id"]), "--remove", *ANA)
    assert ana("memories", *ANA, "--pinned", "--json").json == []


def test_one_turn_is_forgotten(ana: Terminal):
    ana("forget", "--turn", "1", *ANA, "--yes")
    assert "vegan" not in ana("log", *ANA).out


def test_reports_are_printed_for_programs(run: Terminal):
    added = run("add", "I'm vegan.", *ANA, "--json").json
    assert [turn["text"] for turn in added] == ["I'm vegan."]
    assert run("remember", "--json").json == []
    assert run("rebuild", "--method", "session", "--json").json[0]["memories"] == 1
    assert run("rebuild", "--method", "exchange", "--estimate", "--json").json[0]["turns"] == 1
    assert [row["text"] for row in rows(run("export", "--csv"))] == ["I'm vegan."]
    assert run("export", "--json").json == [json.loads(x) for x in run("export").out.splitlines()]
    assert rows(run("sessions", "--csv"))[0]["user"] == "ana"
    assert run("cost", "--csv").out == "\n"


@pytest.mark.slow
def test_what_is_stored_is_redacted_on_request(
    run: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run("add", "I live in Split, write to ana@example.org.", *ANA, "--redact", "emails,cards")
    file = save(tmp_path, "mail.jsonl", line(text="My other one is a@b.org."))
    monkeypatch.setenv("THEANINE_REDACT", "emails")
    run("import", str(file), *ANA)
    run("correct", "1", "Write to ana@example.com.", *ANA)
    assert [turn["text"] for turn in run("log", *ANA, "--json").json][:2] == [
        "I live in Split, write to [email].",
        "My other one is [email].",
    ]
    assert "example" not in run("export").out
    run("add", "It is ana@example.net.", *ANA, "--redact", "")
    assert "ana@example.net" in run("log", *ANA).out


def test_a_redaction_that_cannot_be_done_is_refused(run: Terminal, tmp_path: Path):
    ran = run("add", "Hello.", *ANA, "--redact", "email", fine=False)
    assert (ran.code, "no kind 'email'; there are: secrets, emails" in ran.err) == (2, True)
    assert not run.store.exists()
    run("add", "Write to ana@example.org.", *ANA)
    export = tmp_path / "all.jsonl"
    export.write_text(run("export").out, "utf-8")
    other = Terminal(tmp_path / "other.db")
    ran = other("import", str(export), "--redact", "emails", fine=False)
    assert (ran.code, "restored as it is" in ran.err) == (2, True)
    assert not other.store.exists()


def test_the_time_to_wait_for_a_model_is_an_option(run: Terminal, monkeypatch: pytest.MonkeyPatch):
    limits = ModelOptions(timeout=240).open_options().limits
    assert limits == Limits(timeout=240, patience=480, recall_patience=240)
    assert ModelOptions().open_options().limits == Limits()
    monkeypatch.setenv("THEANINE_TIMEOUT", "0")
    assert run("add", "Hello.", *ANA, fine=False).code == 2
