"""User errors at the command line: one line, with control characters escaped."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from support.history_samples import line, save
from support.running import Terminal
from theanine.cli.output import progress
from theanine.cli.rendering import visible

EVIL = "I love \x1b[31mboats and\u202e evil \x9b2J."


@pytest.fixture(scope="module")
def ana(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    folder = tmp_path_factory.mktemp("ana")
    run = Terminal(folder / "memory.db")
    run("import", str(save(folder, "evil.jsonl", line(text=EVIL))), "--user", "ana")
    return run


@pytest.mark.parametrize("command", [["recall", "boats"], ["memories"]])
def test_control_characters_are_escaped(ana: Terminal, command: list[str]) -> None:
    shown = ana(*command, "--user", "ana").out
    assert "I love \\u001b[31mboats and\\u202e evil" in shown
    raw = ana(*command, "--user", "ana", "--json").out
    for text in (shown, raw):
        assert not {"\x1b", "\u202e", "\x9b"} & set(text)
    assert "boats and\u202e evil \x9b2J" in json.dumps(json.loads(raw), ensure_ascii=False)


def test_letters_of_all_scripts_are_unchanged() -> None:
    text = "naïve 東京 שלום नमस्ते 👩‍🚀\tand\nmore"
    assert visible(text) == text


def test_control_characters_in_errors_are_escaped(ana: Terminal) -> None:
    ran = ana("recall", "x", "--user", "a\x1b[2Jb", fine=False)
    assert (ran.code, "no user a\\u001b[2Jb" in ran.err) == (2, True)


def test_memories_without_timelines(ana: Terminal) -> None:
    assert ana("timeline", "--user", "ana").out.startswith("\nIn no timeline: 1 memory;")
    [memory] = ana("memories", "--user", "ana", "--json").json
    shown = ana("timeline", str(memory["id"]), "--user", "ana").out
    assert shown.startswith(f"\n● {visible(memory['text'])} [{memory['id']}]\n")
    assert ana("timeline", "--user", "ana", "--json").json == []


def test_a_budget_of_zero_is_not_an_empty_memory(ana: Terminal) -> None:
    ran = ana("recall", "boats", "--user", "ana", "--budget", "1", fine=False)
    assert ran.code == 1 and "--budget" in ran.out


@pytest.mark.parametrize("output", [[], ["--json"]])
@pytest.mark.parametrize("command", ["recall", "search"])
def test_who_finds_nothing_exits_with_1(ana: Terminal, command: str, output: list[str]) -> None:
    assert ana(command, "boats", "--user", "ana", *output).code == 0
    ran = ana(command, "quantum chromodynamics", "--user", "ana", *output, fine=False)
    assert (ran.code, ran.err) == (1, "")


@pytest.mark.parametrize("command", [["serve"], ["serve", "--processes", "2"], ["open"]])
def test_what_keeps_the_service_from_starting_is_one_line(
    ana: Terminal, tmp_path: Path, command: list[str]
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("no database", "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        cases = {
            "is not an SQLite database": Terminal(notes)(*command, fine=False),
            "is a folder": Terminal(tmp_path)(*command, fine=False),
            "there is no": Terminal(tmp_path / "none" / "memory.db")(*command, fine=False),
            f"port {port} of 127.0.0.1 can't be used": ana(*command, "--port", port, fine=False),
        }
    for expected, ran in cases.items():
        assert (ran.code, ran.err.count("\n"), expected in ran.err) == (2, 1, True), ran.err


def test_open_makes_no_store_and_no_user(ana: Terminal, tmp_path: Path) -> None:
    missing = tmp_path / "memory.db"
    assert "there is no store at" in Terminal(missing)("open", fine=False).err
    assert not missing.exists()
    assert "no user bo in this store; it has: ana" in ana("open", "-u", "bo", fine=False).err


def test_debug_shows_the_trace_of_an_error(ana: Terminal) -> None:
    ran = ana("--debug", "recall", "x", "--user", "bo", fine=False)
    assert (ran.code, "Traceback" in ran.err) == (2, True)


def test_an_empty_file_is_not_a_store(tmp_path: Path) -> None:
    file = tmp_path / "zero.db"
    file.touch()
    ran = Terminal(file)("memories", "--user", "a", fine=False)
    assert (ran.code, "there is no store at" in ran.err) == (2, True)
    assert file.stat().st_size == 0


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["recall", "x", "--user", "bo"], "no user bo"),
        (["recall", "x", "--user", "anna"], "did you mean 'ana'?"),
        (["recall", "x", "--user", "ana", "--method", "seccom"], "did you mean 'secom'?"),
        (["recall", "x", "--user", "ana", "--set", "budgt=3"], "did you mean 'budget'?"),
        (["recall", "x", "--user", "ana", "--method", "none-such"], "unknown method"),
        (["import", "no-file.txt"], "no such file"),
        (["timeline", "--user", "ana", "--html", "no/such/a.html"], "can't be written"),
        (["rebuild", "--user", "bo"], "no user bo"),
    ],
)
def test_a_user_error_prints_only_its_message(
    ana: Terminal, command: list[str], expected: str
) -> None:
    ran = ana(*command, fine=False)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert expected in ran.err


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["recall", "x", "--user", "ana", "--limit", "0"], "0: it must be at least 1"),
        (["recall", "x", "--user", "ana", "--limit", "x"], "'x' is not a whole number"),
        (["recall", "x", "--user", "ana", "--min-relevance", "2"], "2: it must be at most 1"),
        (["recall", "x", "--user", "ana", "--min-relevance", "y"], "'y' is not a number"),
        (["import", "x", "--start", "May"], "'May' is not a date; write it as 2024-05-08"),
        (["log", "--user", "ana", "--serch", "x"], "--serch (did you mean --search?)"),
        (["config", "set", "--profil", "x"], "--profil (did you mean --profile?)"),
    ],
)
def test_a_wrong_option_is_explained(run: Terminal, command: list[str], expected: str) -> None:
    ran = run.bare(*command, fine=False)
    assert (ran.code, ran.out, expected in ran.err) == (2, "", True), ran.err


def test_an_empty_question_is_an_error(ana: Terminal) -> None:
    ran = ana("recall", "", "--user", "ana", fine=False)
    assert (ran.code, "the question is empty" in ran.err) == (2, True)


def test_keep_going_is_suggested(run: Terminal, tmp_path: Path) -> None:
    lines = line(text="Hello.") + "\n" + '{"speaker": 1}\n{"speaker": 2}\n'
    ran = run("import", str(save(tmp_path, "half.jsonl", lines)), "--user", "ana", fine=False)
    assert (ran.code, "(--keep-going skips them)" in ran.err) == (2, True)


def test_no_progress_bar_without_a_terminal(
    ana: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress(2, "remembering") as step:
        step()
        step("again")
    assert capsys.readouterr().err == ""
    assert ana("rebuild", "--method", "exchange").err == ""
