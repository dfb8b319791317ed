"""`theanine import`: valid and bad files, repeated, from standard input, and store exports."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile

import pytest

from support.chat_exports import WRITERS, Said
from support.history_samples import line, locomo, msc, save
from support.running import Terminal
from theanine.demo import HARBOUR
from theanine.store.sqlite import SqliteStore

TALK = """Ana: I sold the boat because the engine died.
Bo: Oh no. What will you do?
Ana: I want to learn to ride a horse instead.
"""


@pytest.mark.slow
def test_repeating_an_import_changes_nothing(run: Terminal) -> None:
    first = run("import", str(HARBOUR))
    assert "ana: 10 new sessions (0 known), 130 new turns" in first.out
    before = run("memories", "--user", "ana", "--json").json
    again = run("import", str(HARBOUR))
    assert "ana: 0 new sessions (10 known), 0 new turns, 0 new memories" in again.out
    assert run("memories", "--user", "ana", "--json").json == before


@pytest.mark.slow
def test_plain_text_keeps_its_speakers_and_order(run: Terminal, tmp_path: Path) -> None:
    file = save(tmp_path, "talk.txt", TALK)
    run("import", str(file), "--user", "ana", "--start", "2024-05-08")
    [session] = run("sessions", "--user", "ana", "--json").json["ana"]
    assert session["turn_count"] == 3
    assert session["started_at"].startswith("2024-05-08")
    assert "horse" in run("recall", "What does Ana want to learn?", "--user", "ana").out


def test_memories_of_a_format_without_them_are_an_error(run: Terminal, tmp_path: Path) -> None:
    ran = run("import", str(save(tmp_path, "talk.txt", TALK)), "--memories", fine=False)
    assert (ran.code, "no memories" in ran.err) == (2, True)


@pytest.mark.slow
def test_standard_input(run: Terminal) -> None:
    ran = run.typed("import", "-", "--user", "ana", text=line() + line(text="I bought a horse."))
    assert ran.code == 0, ran
    assert "2 new turns" in ran.out
    assert len(run("sessions", "--user", "ana", "--json").json["ana"]) == 1


def test_a_bad_line_is_named_and_nothing_is_imported(run: Terminal, tmp_path: Path) -> None:
    file = save(tmp_path, "talk.jsonl", line() + "{broken\n" + line(text="I bought a horse."))
    ran = run("import", str(file), "--user", "ana", fine=False)
    assert ran.code == 2
    assert "talk.jsonl, line 2" in ran.err
    assert "--keep-going" in ran.err
    assert not run.store.exists()


def test_keep_going_imports_valid_lines_and_names_the_others(run: Terminal, tmp_path: Path) -> None:
    file = save(tmp_path, "talk.jsonl", line() + "{broken\n" + line(text="I bought a horse."))
    ran = run("import", str(file), "--user", "ana", "--keep-going")
    assert "left out: talk.jsonl, line 2" in ran.err
    assert "2 new turns" in ran.out


def test_imported_memories_are_linked(run: Terminal, tmp_path: Path) -> None:
    file = save(tmp_path, "locomo.json", [locomo()])
    run("import", str(file), "--memories", "--user", "ana")
    texts = [memory["text"] for memory in run("memories", "--user", "ana", "--json").json]
    assert "Ana owns a red boat." in texts


def test_each_history_of_a_file_becomes_a_user(run: Terminal, tmp_path: Path) -> None:
    conversations = [locomo(), {**locomo(), "sample_id": "conv-2"}]
    file = save(tmp_path, "locomo.json", conversations)
    run("import", str(file))
    assert set(run("sessions", "--json").json) == {"conv-1", "conv-2"}
    ran = run("import", str(file), "--user", "ana", fine=False)
    assert ran.code == 2
    assert "holds 2 histories (conv-1, conv-2" in ran.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nowhere.jsonl"], "nowhere.jsonl"),
        ([str(HARBOUR), "--format", "word"], "unknown format"),
        ([str(HARBOUR), "--zone", "Europe/Nowhere"], "unknown time zone"),
        ([str(HARBOUR), "--start", "yesterday"], "--start"),
        ([str(HARBOUR), "--model", "gpt"], "is not the name of a model"),
        ([str(HARBOUR), "--embedder", "hash:many"], "dimension"),
    ],
)
def test_user_errors_exit_with_2_and_advise(
    run: Terminal, arguments: list[str], expected: str
) -> None:
    ran = run("import", *arguments, fine=False)
    assert ran.code == 2
    assert expected in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("empty.jsonl", "", "empty"),
        ("odd.json", '{"a": [1, 2', "odd.json"),
        ("unknown.json", '[{"weather": "fine"}]', "unknown.json"),
        ("naive.jsonl", line(at="2024-05-08T13:56:00"), "time zone"),
        ("absurd.jsonl", line(at="2024-13-40T99:00:00Z"), "line 1"),
        ("missing.jsonl", line(speaker=None), "speaker"),
        ("twice.jsonl", line(key="a") + line(key="a", text="Other words."), "line 2"),
        ("surrogate.jsonl", line(text="x").replace('"x"', '"\\ud800"'), "surrogate"),
    ],
)
def test_nothing_of_a_bad_file_is_imported(
    run: Terminal, tmp_path: Path, name: str, content: str, expected: str
) -> None:
    file = save(tmp_path, name, content)
    ran = run("import", str(file), "--user", "ana", fine=False)
    assert (ran.code, "Traceback" in ran.err) == (2, False), ran
    assert expected in ran.err
    assert not run.store.exists()


def test_a_cut_archive_is_named_with_its_file(run: Terminal, tmp_path: Path) -> None:
    with ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr(
            "conversations.json", '[{"title": "Boats", "mapping": {}, "create_time": 1'
        )
    ran = run("import", str(tmp_path / "export.zip"), fine=False)
    assert "export.zip, conversations.json: broken JSON" in ran.err
    assert "download the export again" in ran.err


@pytest.mark.slow
def test_an_export_is_restored_without_loss(run: Terminal, tmp_path: Path) -> None:
    run("import", str(HARBOUR))
    export = save(tmp_path, "all.jsonl", run("export").out)
    other = Terminal(tmp_path / "other.db")
    records = len(export.read_text("utf-8").splitlines())
    assert f"{records - 2} new records" in other("import", str(export)).out
    assert other("export").out == run("export").out
    assert "0 new records" in other("import", str(export)).out


def test_an_export_of_another_history_is_refused(run: Terminal, tmp_path: Path) -> None:
    other = Terminal(tmp_path / "other.db")
    for terminal, text in ((run, "I keep bees."), (other, "I keep goats.")):
        terminal("import", str(save(tmp_path, "talk.jsonl", line(text=text))), "--user", "ana")
    export = save(tmp_path, "all.jsonl", run("export").out)
    before = other("export").out
    ran = other("import", str(export), fine=False)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert f"{export}: ana is not empty here (sessions: 1, turns: 1, memories: 1)" in ran.err
    assert other("export").out == before


@pytest.mark.slow
def test_a_broken_export_names_the_line(run: Terminal, tmp_path: Path) -> None:
    run("import", str(HARBOUR))
    lines = run("export").out.splitlines()
    lines[5] = lines[5][:-3]
    file = save(tmp_path, "all.jsonl", "\n".join(lines))
    ran = Terminal(tmp_path / "other.db")("import", str(file), fine=False)
    assert ran.code == 2
    assert "line 6" in ran.err


def test_an_export_that_was_cut_off_leaves_no_new_store(run: Terminal, tmp_path: Path) -> None:
    talk = save(tmp_path, "talk.jsonl", line())
    run("import", str(talk), "--user", "ana")
    *records, _ = run("export").out.splitlines(keepends=True)
    cut = save(tmp_path, "cut.jsonl", "".join(records))
    stored = run("export").out
    other = Terminal(tmp_path / "other.db")
    for files, left in (([cut], False), ([talk, cut], True), ([cut], True)):
        ran = other("import", *map(str, files), fine=False)
        assert (ran.code, "not a whole export" in ran.err) == (2, True)
        assert [path.exists() for path in SqliteStore(other.store).files[:2]] == [left, False]
    assert len(other("sessions", "--user", "talk", "--json").json["talk"]) == 1
    assert run("import", str(cut), fine=False).code == 2
    assert run("export").out == stored


def test_a_zone_for_dates_without_one(run: Terminal, tmp_path: Path) -> None:
    file = save(tmp_path, "talk.jsonl", line(at="2024-05-08T13:56:00"))
    run("import", str(file), "--user", "ana", "--zone", "Europe/Zagreb")
    [session] = run("sessions", "--user", "ana", "--json").json["ana"]
    assert session["started_at"] == "2024-05-08T13:56:00+02:00"


def test_undated_sessions_show_no_date(run: Terminal, tmp_path: Path) -> None:
    file = save(tmp_path, "msc.jsonl", json.dumps(msc()))
    run("import", str(file), "--user", "bo")
    for command in (["sessions"], ["memories"], ["timeline"], ["recall", "How was it?"]):
        assert "2000" not in run(*command, "--user", "bo").out
    assert {item["dated"] for item in run("memories", "--user", "bo", "--json").json} <= {False}
    for command in (["log"], ["sessions"], ["memories"], ["recall", "How was it?"]):
        assert "2000" not in run(*command, "--user", "bo", "--json").out


CHAT = [Said("I booked the ferry to Cres."), Said("How do you feel?", "assistant", 1)]


def test_a_dry_run_says_what_would_come_in(run: Terminal, tmp_path: Path) -> None:
    export = WRITERS["whatsapp"](tmp_path, CHAT)
    ran = run("import", str(export), "--dry-run", "--zone", "Europe/Zagreb")
    assert ran.out.splitlines() == [
        f"{export}: whatsapp",
        "Ana: 1 session, 2 turns, 2024-05-08 to 2024-05-08",
        "  speakers: Ana (1), Bo (1)",
    ]
    assert "2 × system lines left out" in ran.err
    assert not run.store.exists()


def test_a_dry_run_of_undated_turns_and_memories(run: Terminal, tmp_path: Path) -> None:
    ran = run("import", str(save(tmp_path, "talk.txt", TALK)), "--dry-run", "--user", "ana")
    assert "ana: 1 session, 3 turns, without dates" in ran.out
    ran = run("import", str(save(tmp_path, "l.json", [locomo()])), "--dry-run", "--memories")
    assert "conv-1: 2 sessions, 3 turns, 3 memories, 2023-05-08 to 2023-06-01" in ran.out


@pytest.mark.slow
def test_the_speaker_is_the_user(run: Terminal, tmp_path: Path) -> None:
    run("import", str(WRITERS["chatgpt"](tmp_path, CHAT)), "--speaker", "Ana")
    [session] = run("sessions", "--user", "Ana", "--json").json["Ana"]
    assert session["turn_count"] == 2
    ran = run("import", str(WRITERS["slack"](tmp_path, CHAT)), "--speaker", "Anna", fine=False)
    assert (ran.code, "the speakers are Ana, Bo" in ran.err) == (2, True)


def test_whose_memory_it_is_is_said_where_nobody_was_named(run: Terminal, tmp_path: Path):
    file = str(save(tmp_path, "talk.jsonl", line(text="I love boats.")))
    for extra in (("--dry-run",), ()):
        ran = run("import", file, *extra)
        assert "talk.jsonl does not say whose it is: this is the memory of the user talk" in ran.err
        assert "\ntalk: " in f"\n{ran.out}"
        assert "--user NAME" in ran.err
    own = str(save(tmp_path, "own.jsonl", line(user="bo", text="I love trains.")))
    assert run("import", own).err == "", "the file says whose it is"
    assert "--user" not in run("import", file, "--user", "ana").err
    assert "--user" not in run("import", file, "--user", "bo", "--dry-run").err
