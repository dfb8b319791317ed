"""`theanine chat`: replies, session ends, and what the next run remembers."""

from __future__ import annotations

import io
import re
import time
from contextlib import redirect_stdout, suppress

import pytest

from support.forking import Python
from support.running import START, Terminal
from theanine.cli import main
from theanine.testing import Reply, ScriptedServer, answer, status


@pytest.mark.slow
def test_the_next_run_remembers(run: Terminal) -> None:
    first = run.typed("chat", "--user", "ana", text="I'm terrified of ships since the storm.\n")
    assert first.code == 0, first
    assert "No language model is configured" in first.err
    assert "Session 1 remembered: 1 memory" in first.out
    text = "Shall I book a cruise on a ship?\n/exit\nnever heard\n"
    second = run.typed("chat", "--user", "ana", "--why", text=text)
    assert "terrified of ships" in second.out
    assert "↳ turn 1" in second.out
    sessions = run("sessions", "--user", "ana", "--json").json["ana"]
    assert [item["turn_count"] for item in sessions] == [2, 2]


@pytest.mark.slow
def test_sources_are_shown_only_with_why(run: Terminal) -> None:
    run.typed("chat", "--user", "ana", text="I'm terrified of ships since the storm.\n")
    second = run.typed("chat", "--user", "ana", text="Are ships fine?\n")
    assert "↳" not in second.out


@pytest.mark.slow
def test_a_failing_model_loses_no_turn(run: Terminal) -> None:
    with ScriptedServer(lambda _: status(400)) as server:
        model = ["--model", "openai:scripted", "--base-url", server.base_url]
        ran = run.typed(
            *["chat", "--user", "ana", *model],
            text="I sold the boat.\n",
            environment={"OPENAI_API_KEY": "none"},
        )
    assert ran.code == 1
    assert "No reply:" in ran.out
    assert ".." not in ran.out
    assert "safe in the log" in ran.out
    [session] = run("sessions", "--user", "ana", "--json").json["ana"]
    assert session["turn_count"] == 1


@pytest.mark.slow
def test_a_model_replies(run: Terminal) -> None:
    with ScriptedServer(answer) as server:
        model = ["--model", "openai:scripted", "--base-url", server.base_url]
        key = {"OPENAI_API_KEY": "none"}
        first_text = "I sold the boat because the engine died.\n"
        run.typed("chat", "--user", "ana", *model, text=first_text, environment=key)
        again = run.typed(
            "chat", "--user", "ana", *model, text="What of the boat?\n", environment=key
        )
    assert "engine died" in again.out
    assert "No language model" not in again.err


class Screen(io.StringIO):
    """Standard output that is a terminal."""

    def isatty(self) -> bool:
        """Return true."""
        return True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "ends"),
    [
        (Reply(text="Off to sea  [bold] we go."), "Off to sea  [bold] we go.\n"),
        (Reply(text="Off to sea we go.", break_after=2), "Off to \n(No reply: "),
    ],
)
def test_a_terminal_shows_a_reply_as_it_arrives(
    run: Terminal, monkeypatch: pytest.MonkeyPatch, reply: Reply, ends: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Where to?\n"))
    screen = Screen()
    with ScriptedServer(lambda request: reply if request.get("stream") else "{}") as server:
        model = ["--model", "x", "--base-url", server.base_url, "--memory-model", "local"]
        with redirect_stdout(screen), suppress(SystemExit):
            main(["chat", "--user", "ana", *model, "--store", str(run.store)])
    assert server.requests[0]["stream"] is True
    assert ends in re.sub("\x1b\\[[0-9;]*m", "", screen.getvalue())


@pytest.mark.slow
def test_another_model_remembers(run: Terminal) -> None:
    with ScriptedServer(answer) as replying, ScriptedServer(answer) as remembering:
        ran = run.typed(
            *["chat", "--user", "ana", "--model", "large", "--base-url", replying.base_url],
            *["--model-set", "temperature=0.5", "--memory-model", "small"],
            *["--memory-base-url", remembering.base_url, "--memory-set", "max_tokens=900"],
            text="I sold the boat because the engine died.\n",
        )
    assert ran.code == 0, ran.err
    assert {request["model"] for request in replying.requests} == {"large"}
    assert {request["temperature"] for request in replying.requests} == {0.5}
    (request,) = remembering.requests
    assert (request["model"], request["max_tokens"]) == ("small", 900)


def test_a_wrong_setting_of_a_model_is_named(run: Terminal) -> None:
    ran = run("chat", "--user", "ana", "--model", "x", "--model-set", "heat=1", fine=False)
    assert ran.code == 2
    assert "no setting heat" in ran.err
    ran = run("chat", "--user", "ana", "--memory-set", "heat", fine=False)
    assert "--memory-set heat: write NAME=VALUE, such as temperature=0.7" in ran.err


@pytest.mark.slow
def test_a_silence_ends_the_session_while_input_is_awaited(run: Terminal) -> None:
    arguments = ["chat", "--user", "ana", "--pause", "0.01", "--store", str(run.store)]
    with Python(START, *arguments) as process:
        process.stdin.write("I'm terrified of ships since the storm.\n")
        process.stdin.flush()
        deadline = time.monotonic() + 30
        while _remembered(run) < 1 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert _remembered(run) == 1
        process.communicate("I sold my car too.\n")
    assert _remembered(run) == 2


def _remembered(run: Terminal) -> int:
    if not (run.store.exists() and run.store.stat().st_size):  # not there, or only just made
        return 0
    rows = run("sessions", "--json").json.get("ana", [])
    return sum(item["remembered_at"] is not None for item in rows)


@pytest.mark.slow
def test_a_killed_chat_is_remembered_by_the_next_run(run: Terminal) -> None:
    with Python(START, "chat", "--user", "ana", "--store", str(run.store)) as process:
        process.stdin.write("I'm terrified of ships since the storm.\n")
        process.stdin.flush()
        assert process.stdout.read(20)
        process.kill()
    run.typed("chat", "--user", "ana", text="")
    assert _remembered(run) == 1
