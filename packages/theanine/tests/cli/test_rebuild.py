"""`theanine rebuild`: another method over the same log, beside or instead; killed and resumed."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import theanine
from support.history_samples import line, save
from support.running import START, Ran, Terminal
from theanine.demo import HARBOUR
from theanine.testing import ScriptedServer, answer, by_step, status

HISTORY = str(HARBOUR)
WAITS = "another process is remembering ana: waiting for it\n"


def texts(run: Terminal, method: str, user: str = "ana") -> list[str]:
    found = run("memories", "--user", user, "--method", method, "--json").json
    return [memory["text"] for memory in found]


def held(run: Terminal) -> Counter[str]:
    """How many memories the store holds of each method, stages and all."""
    with theanine.open(str(run.store)) as agent:
        return Counter(one["method"] for one in agent.export() if one["type"] == "memory")


def alone(tmp_path: Path, *arguments: str) -> Terminal:
    """Another store, into which the history was imported with these arguments."""
    other = Terminal(tmp_path / "other.db")
    other("import", HISTORY, *arguments)
    return other


def failing(*steps: str) -> Any:
    return by_step(dict.fromkeys(steps, status(400)))


def on(server: ScriptedServer) -> list[str]:
    return ["--model", "openai:scripted", "--base-url", server.base_url]


def test_another_method_remembers_the_same_log_beside_the_old(
    run: Terminal, tmp_path: Path
) -> None:
    run("import", HISTORY)
    before = texts(run, "theanine")
    ran = run("rebuild", "--method", "exchange")
    assert "10 sessions (130 turns) to remember by exchange" in ran.out
    assert "no language model is called" in ran.out
    assert texts(run, "exchange") == texts(alone(tmp_path, "--method", "exchange"), "exchange")
    assert texts(run, "theanine") == before
    assert [one["text"] for one in run("memories", "--user", "ana", "--json").json] == before
    assert "ferry" in run("recall", "the ferry?", "--user", "ana", "--method", "exchange").out
    again = run("rebuild", "--method", "exchange")
    assert "has remembered every session" in again.out
    assert held(run) == {"theanine": 73, "exchange": 65}


def test_instead_drops_the_old_and_keeps_the_log(run: Terminal) -> None:
    run("import", HISTORY)
    run("rebuild", "--method", "session")
    ran = run("rebuild", "--method", "exchange", "--instead")
    assert "then 73 memories of theanine" in ran.out
    assert "dropped 73 memories of theanine" in ran.out
    assert held(run) == {"exchange": 65}
    run("rebuild", "--method", "theanine", "--instead")
    assert held(run) == {"theanine": 73}  # the log is the truth: there is always a way back


def test_a_failing_model_drops_nothing_and_the_next_run_goes_on(run: Terminal) -> None:
    run("import", HISTORY)
    before = texts(run, "theanine")
    with ScriptedServer(answer) as server:
        wanted = ["rebuild", "--method", "memory-retrieval", "--instead", *on(server)]
        some = iter([answer, answer, answer])
        server.script(lambda request: next(some, failing("summarize"))(request))
        ran = run(*wanted, fine=False)
        assert ran.code == 1
        assert "ana, session 4 is not remembered: " in ran.err and "400" in ran.err
        assert "7 sessions left" in ran.err
        assert "No old memory was dropped" in ran.err
        assert texts(run, "theanine") == before
        server.script(answer)
        paid = len(server.calls)
        ran = run(*wanted)
        assert "7 sessions (" in ran.out
        assert len(server.calls) - paid == 7
    assert set(held(run)) == {"memory-retrieval"}


def test_killed_half_way_it_goes_on_and_pays_nothing_twice(run: Terminal, tmp_path: Path) -> None:
    run("import", HISTORY)
    with ScriptedServer(answer) as server:
        other = alone(tmp_path, "--method", "memory-retrieval", *on(server))
        smooth = len(server.calls)
    victims: list[subprocess.Popen[bytes]] = []
    with ScriptedServer(answer) as server:
        asked = iter(range(smooth))

        def murderous(request: Any) -> Any:
            if next(asked, 0) == smooth // 2:
                victims[0].kill()
            return answer(request)

        server.script(murderous)
        wanted = ["rebuild", "--method", "memory-retrieval", "--instead", *on(server)]
        command = [sys.executable, "-c", START, *wanted, "--store", str(run.store)]
        victims.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
        assert victims[0].wait(60) < 0
        assert held(run)["theanine"] == 73
        assert 0 < held(run)["memory-retrieval"] < 73
        server.script(answer)
        run(*wanted)
        assert len(server.calls) <= smooth + 1  # what was in flight was not answered to anybody
    assert texts(run, "memory-retrieval") == texts(other, "memory-retrieval")
    assert set(held(run)) == {"memory-retrieval"}


def test_two_at_once_do_it_once_and_the_second_says_so(run: Terminal, tmp_path: Path) -> None:
    file = save(tmp_path, "a.jsonl", line(text="I sold the boat because the engine died."))
    run("import", str(file), "--user", "ana", "--method", "exchange")
    second: list[subprocess.Popen[str]] = []
    with ScriptedServer(answer) as server:
        wanted = ["rebuild", "--method", "memory-retrieval", *on(server)]
        command = [sys.executable, "-c", START, *wanted, "--store", str(run.store)]

        def until_the_second_waits(request: Any) -> Any:
            if not second:
                pipe = subprocess.PIPE
                second.append(subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True))
                assert second[0].stderr
                assert WAITS in iter(second[0].stderr.readline, "")
            return answer(request)

        server.script(until_the_second_waits)
        first = run(*wanted)
        told, _ = second[0].communicate(timeout=60)
        assert len(server.calls) == 1
    assert "1 session remembered by memory-retrieval: " in first.out
    assert "1 session remembered meanwhile by another process" in told
    assert second[0].returncode == 0
    assert held(run)["memory-retrieval"] > 0


def test_again_makes_anew_what_was_made_with_other_settings(run: Terminal, tmp_path: Path) -> None:
    run("import", HISTORY)
    links = ["--set", "link_to=all"]
    ran = run("rebuild", "--again", *links)
    assert "dropped 73 memories of theanine" in ran.out
    other = alone(tmp_path, *links)
    assert texts(run, "theanine") == texts(other, "theanine")
    with theanine.open(str(run.store)) as one, theanine.open(str(other.store)) as two:
        assert len(one.user("ana").links()) == len(two.user("ana").links()) > 22
        assert one.pending() == []
    assert held(run) == {"theanine": 73}


def test_again_keeps_the_old_in_use_until_all_is_made_anew(run: Terminal) -> None:
    run("import", HISTORY)
    before = texts(run, "theanine")
    with ScriptedServer(answer) as server:
        some = iter([answer, answer, answer])
        server.script(lambda request: next(some, failing("summarize"))(request))
        ran = run("rebuild", "--again", *on(server), fine=False)
        assert (ran.code, "No old memory was dropped" in ran.err) == (1, True)
        assert texts(run, "theanine") == before
        assert run("sessions", "--user", "ana").out.count("remembered") == 10
        assert sum(held(run).values()) > 73
        # With other settings it begins anew, and nothing is left of the first try.
        server.script(answer)
        run("rebuild", "--again", *on(server), "--set", "link_to=all")
    assert set(held(run)) == {"theanine"}
    assert texts(run, "theanine") != before


def test_again_pays_nothing_that_the_journal_holds(run: Terminal) -> None:
    with ScriptedServer(answer) as server:
        run("import", HISTORY, *on(server))
        before = texts(run, "theanine")
        paid = len(server.calls)
        run("rebuild", "--again", *on(server), "--set", "link_to=all")
        assert len(server.calls) == paid > 0
    assert texts(run, "theanine") == before


def test_the_estimate_is_near_what_it_takes_and_asks_nobody(run: Terminal) -> None:
    run("import", HISTORY, "--method", "exchange")
    with (
        ScriptedServer(answer) as server,
        theanine.open(
            str(run.store),
            method="theanine",
            model="openai:gpt-4o-mini",
            base_url=server.base_url,
        ) as agent,
    ):
        forecast = agent.user("ana").estimate(instead=True)
        assert len(server.calls) == 0
        assert (forecast.sessions, forecast.turns) == (10, 130)
        assert forecast.replaced == {"exchange": 65}
        done = agent.user("ana").rebuild()
        assert done.complete and len(done.reports) == 10
        usage = [report.usage for report in done.reports]
        assert 0.5 < forecast.calls / sum(one.calls for one in usage) < 2
        assert 0.33 < forecast.input_tokens / sum(one.input_tokens for one in usage) < 3
        cost = sum(one.cost or 0 for one in usage)
        assert forecast.cost and 0.33 < forecast.cost / cost < 3
        assert forecast.seconds > 0
        assert agent.estimate().sessions == 0
        # What the journal has seen of this model is believed more than any rule of thumb.
        slow = agent.estimate(again=True).seconds
        assert slow < forecast.seconds


def test_the_estimate_is_told_before_it_starts_and_alone_if_wanted(run: Terminal) -> None:
    run("import", HISTORY, "--method", "exchange")
    with ScriptedServer(answer) as server:
        ran = run("rebuild", "--method", "theanine", "--estimate", *on(server))
        assert len(server.calls) == 0
    for said in ("openai:scripted: ", "calls", "tokens in", "cost unknown", "at most"):
        assert said in ran.out
    assert held(run) == {"exchange": 65}


def at_a_terminal(run: Terminal, typed: str, *arguments: str) -> Ran:
    """Run with a terminal as standard input, on which something is typed."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", START, *arguments, "--store", str(run.store)]
    with subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        os.close(theirs)
        os.write(ours, typed.encode())
        out, err = process.communicate(timeout=60)
    os.close(ours)
    return Ran(process.returncode, out, err)


def test_it_asks_at_a_terminal_before_a_model_is_paid(run: Terminal) -> None:
    run("import", HISTORY, "--method", "exchange")
    with ScriptedServer(answer) as server:
        wanted = ["rebuild", "--method", "memory-retrieval", *on(server)]
        ran = at_a_terminal(run, "n\n", *wanted)
        assert (ran.code, len(server.calls)) == (1, 0)
        assert "Continue?" in ran.out and "tokens in" in ran.out
        assert held(run) == {"exchange": 65}
        ran = at_a_terminal(run, "y\n", *wanted)
        assert (ran.code, len(server.calls)) == (0, 10)
    assert "Continue?" not in at_a_terminal(run, "", "rebuild", "--method", "session").out
    with ScriptedServer(answer) as server:
        ran = at_a_terminal(run, "", "rebuild", "--method", "theanine", "--yes", *on(server))
        assert (ran.code, "Continue?" in ran.out, len(server.calls) > 0) == (0, False, True)


def test_it_never_asks_where_nobody_sits(run: Terminal) -> None:
    run("import", HISTORY, "--method", "exchange")
    with ScriptedServer(answer) as server:
        ran = run.typed("rebuild", "--method", "memory-retrieval", *on(server))
        assert (ran.code, len(server.calls)) == (0, 10)
    assert "Continue?" not in ran.out


def test_one_user_alone(run: Terminal, tmp_path: Path) -> None:
    run("import", HISTORY)
    other = save(tmp_path, "a.jsonl", line(text="I sold the boat because the engine died."))
    run("import", str(other), "--user", "bo")
    run("rebuild", "--method", "exchange", "--user", "bo", "--instead")
    assert texts(run, "theanine", "bo") == []
    assert len(texts(run, "exchange", "bo")) == 1
    assert (len(texts(run, "theanine")), texts(run, "exchange")) == (73, [])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--user", "nobody"], "nobody"), (["--method", "no-such"], "unknown method")],
)
def test_mistakes_change_nothing(run: Terminal, arguments: list[str], said: str) -> None:
    run("import", HISTORY)
    ran = run("rebuild", "--instead", *arguments, fine=False)
    assert (ran.code, said in ran.err) == (2, True)
    assert held(run) == {"theanine": 73}


def test_ready_made_memories_are_handed_to_each_method(run: Terminal, tmp_path: Path) -> None:
    record = {
        "sample_id": "ana",
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [{"speaker": "Ana", "dia_id": "D1:1", "text": "I sold my boat."}],
        },
        "observation": {"session_1_observation": {"Ana": [["Ana sold her boat.", "D1:1"]]}},
    }
    file = save(tmp_path, "locomo.json", json.dumps([record]))
    run("import", str(file), "--memories")
    run("rebuild", "--method", "memory-retrieval", "--instead")
    run("rebuild", "--method", "memory-retrieval", "--again")
    found = run("memories", "--user", "ana", "--method", "memory-retrieval", "--json").json
    assert [(one["text"], one["made_by"]) for one in found] == [("Ana sold her boat.", "given")]


@pytest.mark.anyio
async def test_from_python_with_await(run: Terminal) -> None:
    run("import", HISTORY)
    async with theanine.aopen(str(run.store), method="session") as agent:
        assert (await agent.user("ana").estimate()).sessions == 10
        seen: list[int] = []
        done = await agent.rebuild(progress=lambda report: seen.append(report.session))
        assert (done.complete, sorted(seen)) == (True, list(range(1, 11)))
        assert (await agent.rebuild(instead=True)).replaced == {"theanine": 73}
        assert (await agent.user("ana").recall("the ferry?")).parts


@pytest.mark.parametrize("again", [False, True])
def test_what_is_said_meanwhile_is_remembered_too(run: Terminal, again: bool) -> None:
    run("import", HISTORY, "--method", "session")
    with (
        theanine.open(str(run.store), method="utterance") as agent,
        theanine.open(str(run.store), method="session") as other,
    ):
        seen: list[int] = []

        def meanwhile(report: theanine.RememberReport) -> None:
            seen.append(report.session)
            if len(seen) == 3:
                talk = other.user("ana").session()
                talk.hear("I sold the old boat because the engine died.")
                talk.end(remember=False)

        done = agent.rebuild(again=again, instead=True, progress=meanwhile)
        assert (done.complete, done.replaced) == (True, {"session": 10})
        assert sorted(seen) == list(range(1, 12))
        assert "engine died" in agent.user("ana").memories()[-1].text
        assert agent.pending() == []
    assert held(run) == {"utterance": 131}


@pytest.mark.parametrize("method", ["memory-retrieval", "comedy", "recursive-summary"])
def test_what_the_agent_only_repeated_is_no_news_to_another_method(
    run: Terminal, method: str
) -> None:
    """Nor to the same method, when it remembers again: the old is still there to be known by."""
    repeat = "You sold the old boat because the engine died."
    with ScriptedServer(by_step({"respond": repeat})) as server:
        model: dict[str, Any] = {"model": "openai:scripted", "base_url": server.base_url}
        with theanine.open(str(run.store), **model) as agent:
            for said in ("I sold the old boat because the engine died.", "Where is my boat?"):
                with agent.user("ana").session() as talk:
                    talk.hear(said)
                    talk.reply()
            assert len(agent.user("ana").turns()) == 4
            before = [memory.text for memory in agent.user("ana").memories()]
            agent.user("ana").rebuild(again=True)
            assert [memory.text for memory in agent.user("ana").memories()] == before
        with theanine.open(str(run.store), method=method, **model) as agent:
            assert agent.user("ana").rebuild().complete
            assert [
                m.source_turns for m in agent.user("ana").memories() if m.source_turns == (4,)
            ] == []
