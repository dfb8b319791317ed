"""The commands that change a store (forget, remember, reembed), and doctor."""

from __future__ import annotations

import re
import socket
import time
from pathlib import Path

import pytest

import theanine
from support.forking import Python
from support.history_samples import line, save
from support.running import START, Terminal
from theanine.cli.detached import FINISHING
from theanine.demo import HARBOUR
from theanine.retrieval.snapshot import MIN_LAG
from theanine.testing import ScriptedServer, answer, status

SECRET = "the combination is 4417 cormorant"


def test_forget_erases_every_byte_and_reports_it(run: Terminal, tmp_path: Path) -> None:
    run("import", str(save(tmp_path, "a.jsonl", line(text=f"I changed the lock: {SECRET}."))))
    user = next(iter(run("sessions", "--json").json))
    assert SECRET in run("memories", "--user", user).out
    ran = run("forget", "--user", user, "--yes")
    assert "verified gone from every file" in ran.out
    for file in tmp_path.glob("memory.db*"):
        assert SECRET.encode() not in file.read_bytes()


@pytest.mark.slow
def test_forget_confirms_first(run: Terminal) -> None:
    run("import", str(HARBOUR))
    ran = run.typed("forget", "--user", "ana", text="n\n")
    assert "Erase all that ana has: 10 sessions with 130 turns? This can't be undone." in ran.err
    assert (ran.code, ran.out, "Nothing was done." in ran.err) == (1, "", True)
    assert len(run("sessions", "--user", "ana", "--json").json["ana"]) == 10
    ran = run.typed("forget", "--user", "ana", "--turn", "1", text="")
    assert 'Erase turn 1 of ana ("' in ran.err
    assert (ran.code, "--yes goes on without asking" in ran.err) == (2, True)
    assert run.typed("forget", "--user", "ana", "--session", "1", text="y\n").code == 0
    assert len(run("sessions", "--user", "ana", "--json").json["ana"]) == 9


def test_what_is_not_there_is_not_asked_about(run: Terminal) -> None:
    run("add", "I'm vegan.", "--user", "ana")
    for what in ("--session", "--turn", "--memory", "--thread"):
        ran = run("forget", "--user", "ana", what, "99", fine=False)
        assert (ran.code, ran.out, "Erase" in ran.err) == (2, "", False)


@pytest.mark.slow
def test_an_interrupted_import_says_how_to_finish(run: Terminal, tmp_path: Path) -> None:
    talks = (line(session=f"s{n % 20}", text=f"I sold boat {n} in Rijeka.") for n in range(600))
    file = save(tmp_path, "talk.jsonl", "".join(talks))
    with Python(START, "import", str(file), "-u", "ana", "--store", str(run.store)) as process:
        assert process.stderr.readline() == "ana: remembering 600 turns\n"
        process.interrupt()
        code, _, err = process.communicate()
        assert code == 130
    assert "what is stored so far is safe" in err
    assert re.search(r"\nana: interrupted: `theanine remember` finishes the .* logged\n$", err)
    doctor = run("doctor").out
    assert "•" in doctor
    assert "Run `theanine remember`" in doctor
    run("remember", "-u", "ana")
    assert "all remembered" in run("doctor").out


@pytest.mark.slow
def test_one_process_makes_the_vectors_of_all_users_of_an_import(run: Terminal) -> None:
    users = ("ana", "bo")
    with theanine.open(str(run.store)) as client:
        for user in users:
            said = [f"I counted {n} herons near Vis." for n in range(MIN_LAG)]
            client.user(user).add([{"role": "user", "content": words} for words in said])
    assert run("remember", *(f"{FINISHING}={user}" for user in users)).out == ""
    made = list(run.store.parent.glob(f"{run.store.name}.index/*-log-*"))
    assert len(made) == len(users)


@pytest.mark.slow
def test_a_large_import_is_remembered_by_another_process(run: Terminal, tmp_path: Path) -> None:
    talks = (line(session=f"s{n % 40}", text=f"I sold boat {n} in Rijeka.") for n in range(1_200))
    file = save(tmp_path, "talk.jsonl", "".join(talks))
    with Python(START, "import", str(file), "-u", "ana", "--store", str(run.store)) as process:
        code, out, err = process.communicate()
    assert code == 0
    assert "1,200 new turns, 40 sessions being remembered" in out
    assert "`theanine remember` waits for that" in err
    assert "boat 7 " in run("recall", "boat 7", "-u", "ana").out
    run("remember", "-u", "ana")
    assert "all remembered" in run("doctor").out
    with theanine.open(str(run.store)) as client:
        assert client.user("ana").memories()


@pytest.mark.slow
def test_another_embedder_is_an_error_until_reembed(run: Terminal) -> None:
    run("import", str(HARBOUR))
    ran = run("recall", "ships", "--user", "ana", "--embedder", "hash:64", fine=False)
    assert (ran.code, "theanine reembed" in ran.err) == (2, True)
    assert "73 vectors made by hash:64" in run("reembed", "--embedder", "hash:64").out
    assert "ship" in run("recall", "ships", "--user", "ana", "--embedder", "hash:64").out


@pytest.mark.slow
def test_a_failing_model_keeps_the_turns_and_the_next_run_resumes(
    run: Terminal, tmp_path: Path
) -> None:
    file = save(tmp_path, "a.jsonl", line(text="I sold the boat because the engine died."))
    with ScriptedServer(lambda _: status(400)) as server:
        model = ["--model", "openai:scripted", "--base-url", server.base_url]
        ran = run("import", str(file), "--user", "ana", *model, fine=False)
    assert ran.code == 1
    assert "theanine remember" in ran.err
    assert "failed" in run("sessions", "--user", "ana").out
    before = run("doctor", fine=False)
    assert (before.code, "theanine remember" in before.out) == (1, True)
    with ScriptedServer(answer) as server:
        model = ["--model", "openai:scripted", "--base-url", server.base_url]
        assert "1 memory, 0 links" in run("remember", *model).out
        after = run("doctor", *model)
        assert "openai:scripted answers" in after.out
        calls = len(server.calls)
        run("doctor", *model, "--no-ask")
        assert len(server.calls) == calls
    assert "summarize" in run("cost", "--user", "ana").out


def test_doctor_on_a_fresh_machine_reports_no_problem(run: Terminal) -> None:
    ran = run("doctor", "--json")
    assert [item["what"] for item in ran.json] == [
        "theanine",
        "store",
        "embedder",
        "reranker",
        "model",
    ]
    assert not any(item["fix"] for item in ran.json)
    assert not run.store.exists()


@pytest.mark.slow
def test_doctor_reports_problems(run: Terminal) -> None:
    run("import", str(HARBOUR))
    ran = run("doctor", "--model", "gpt", "--embedder", "hash:64", fine=False)
    assert ran.code == 1
    assert "is not the name of a model" in ran.out
    assert "theanine reembed" in ran.out


def test_only_the_default_folder_is_made(
    run: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    run.bare("add", "I'm vegan.", "--user", "ana")
    assert (tmp_path / "data" / "theanine" / "memory.db").exists()
    mistyped = Terminal(tmp_path / "typo" / "memory.db")
    ran = mistyped("add", "I'm vegan.", "--user", "ana", fine=False)
    assert (ran.code, "there is no folder" in ran.err) == (2, True)
    assert not (tmp_path / "typo").exists()


def test_doctor_waits_for_a_model_no_longer_than_asked(run: Terminal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # which accepts, and says nothing
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        model = ("--model", "openai:silent", "--base-url", url, "--timeout", "0.5")
        started = time.monotonic()
        ran = run("doctor", *model, fine=False)
    assert ran.code == 1 and "no answer within 0.5 s" in ran.out
    assert time.monotonic() - started < 30
