"""`theanine rebuild`: another method over the same log; killed and resumed."""

from __future__ import annotations

import json
import os
import pty
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import theanine
from support.forking import Python
from support.history_samples import line, save
from support.running import START, Ran, Terminal
from theanine.demo import HARBOUR
from theanine.testing import ScriptedServer, answer, by_step, status

HISTORY = str(HARBOUR)
WAITS = "another process is remembering ana: waiting for it\n"


def texts(run: Terminal, method: str, user: str = "ana") -> list[str]:
    listed = run("memories", "--user", user, "--method", method, "--json").json
    return [memory["text"] for memory in listed]


def memory_counts(run: Terminal) -> Counter[str]:
    """Return the number of stored memories by method, including stages."""
    with theanine.open(str(run.store)) as client:
        return Counter(item["method"] for item in client.export() if item["type"] == "memory")


def import_alone(tmp_path: Path, *arguments: str) -> Terminal:
    """Return another store with the history, imported with these arguments."""
    other = Terminal(tmp_path / "other.db")
    other("import", HISTORY, *arguments)
    return other


def failing_steps(*steps: str) -> Any:
    return by_step(dict.fromkeys(steps, status(400)))


def model_options(server: ScriptedServer) -> list[str]:
    return ["--model", "openai:scripted", "--base-url", server.base_url]


@pytest.mark.slow
def test_another_method_remembers_the_same_log(run: Terminal, tmp_path: Path) -> None:
    run("import", HISTORY)
    before = texts(run, "theanine")
    ran = run("rebuild", "--method", "exchange")
    assert "10 sessions (130 turns) to remember by exchange" in ran.out
    assert "no language model is called" in ran.out
    assert texts(run, "exchange") == texts(
        import_alone(tmp_path, "--method", "exchange"), "exchange"
    )
    assert texts(run, "theanine") == before
    assert [item["text"] for item in run("memories", "--user", "ana", "--json").json] == before
    assert "ferry" in run("recall", "the ferry?", "--user", "ana", "--method", "exchange").out
    again = run("rebuild", "--method", "exchange")
    assert "has remembered every session" in again.out
    assert memory_counts(run) == {"theanine": 73, "exchange": 65}


@pytest.mark.slow
def test_instead_drops_old_memories_and_keeps_the_log(run: Terminal) -> None:
    run("import", HISTORY)
    run("rebuild", "--method", "session")
    ran = run("rebuild", "--method", "exchange", "--instead")
    assert "then 73 memories of theanine" in ran.out
    assert "dropped 73 memories of theanine" in ran.out
    assert memory_counts(run) == {"exchange": 65}
    run("rebuild", "--method", "theanine", "--instead")
    assert memory_counts(run) == {"theanine": 73}  # every method can be rebuilt from the log


@pytest.mark.slow
def test_a_failing_model_drops_nothing_and_the_next_run_resumes(run: Terminal) -> None:
    run("import", HISTORY)
    before = texts(run, "theanine")
    with ScriptedServer(answer) as server:
        command_args = [
            "rebuild",
            "--method",
            "memory-retrieval",
            "--instead",
            *model_options(server),
        ]
        answers = iter([answer, answer, answer])
        server.script(lambda request: next(answers, failing_steps("summarize"))(request))
        ran = run(*command_args, fine=False)
        assert ran.code == 1
        assert "ana, session 4 is not remembered: " in ran.err and "400" in ran.err
        assert "7 sessions left" in ran.err
        assert "No old memory was dropped" in ran.err
        assert texts(run, "theanine") == before
        server.script(answer)
        calls_before = len(server.calls)
        ran = run(*command_args)
        assert "7 sessions (" in ran.out
        assert len(server.calls) - calls_before == 7
    assert set(memory_counts(run)) == {"memory-retrieval"}


@pytest.mark.slow
def test_a_killed_rebuild_resumes_and_pays_nothing_twice(run: Terminal, tmp_path: Path) -> None:
    run("import", HISTORY)
    with ScriptedServer(answer) as server:
        other = import_alone(tmp_path, "--method", "memory-retrieval", *model_options(server))
        total_calls = len(server.calls)
    processes: list[Python] = []
    with ScriptedServer(answer) as server:
        numbers = iter(range(total_calls))

        def kill_halfway(request: Any) -> Any:
            if next(numbers, 0) == total_calls // 2:
                processes[0].kill()
            return answer(request)

        server.script(kill_halfway)
        command_args = [
            "rebuild",
            "--method",
            "memory-retrieval",
            "--instead",
            *model_options(server),
        ]
        processes.append(Python(START, *command_args, "--store", str(run.store)))
        with processes[0] as process:
            assert process.wait() < 0
        assert memory_counts(run)["theanine"] == 73
        assert 0 < memory_counts(run)["memory-retrieval"] < 73
        server.script(answer)
        run(*command_args)
        assert len(server.calls) <= total_calls + 1  # one call was in flight
    assert texts(run, "memory-retrieval") == texts(other, "memory-retrieval")
    assert set(memory_counts(run)) == {"memory-retrieval"}


@pytest.mark.slow
def test_concurrent_rebuilds_remember_once(run: Terminal, tmp_path: Path) -> None:
    file = save(tmp_path, "a.jsonl", line(text="I sold the boat because the engine died."))
    run("import", str(file), "--user", "ana", "--method", "exchange")
    second: list[Python] = []
    with ScriptedServer(answer) as server:
        command_args = ["rebuild", "--method", "memory-retrieval", *model_options(server)]

        def start_second(request: Any) -> Any:
            if not second:
                second.append(Python(START, *command_args, "--store", str(run.store)))
                assert WAITS in iter(second[0].stderr.readline, "")
            return answer(request)

        server.script(start_second)
        first = run(*command_args)
        with second[0] as process:
            code, output, _ = process.communicate()
        assert len(server.calls) == 1
    assert "1 session remembered by memory-retrieval: " in first.out
    assert "1 session remembered meanwhile by another process" in output
    assert code == 0
    assert memory_counts(run)["memory-retrieval"] > 0


def linked(run: Terminal) -> set[tuple[int, int]]:
    """Return the pairs of memories that are linked, by their numbers among all."""
    with theanine.open(str(run.store)) as client:
        ana = client.user("ana")
        number = {memory.id: number for number, memory in enumerate(ana.memories())}
        return {(number[link.older], number[link.newer]) for link in ana.links()}


@pytest.mark.slow
def test_again_replaces_memories_made_with_other_settings(run: Terminal, tmp_path: Path) -> None:
    run("import", HISTORY)
    before = linked(run)
    links = ["--method", "theanine-paper", "--set", "link_to=all"]
    ran = run("rebuild", "--again", *links)
    assert "dropped 73 memories of theanine" in ran.out
    other = import_alone(tmp_path, *links)
    assert texts(run, "theanine") == texts(other, "theanine")
    assert linked(run) == linked(other) != before
    with theanine.open(str(run.store)) as client:
        assert client.pending() == []
    assert memory_counts(run) == {"theanine": 73}


@pytest.mark.slow
def test_again_keeps_old_memories_until_all_are_replaced(run: Terminal) -> None:
    run("import", HISTORY)
    before = texts(run, "theanine")
    with ScriptedServer(answer) as server:
        answers = iter([answer, answer, answer])
        server.script(lambda request: next(answers, failing_steps("summarize"))(request))
        ran = run("rebuild", "--again", *model_options(server), fine=False)
        assert (ran.code, "No old memory was dropped" in ran.err) == (1, True)
        assert texts(run, "theanine") == before
        assert run("sessions", "--user", "ana").out.count("remembered") == 10
        assert sum(memory_counts(run).values()) > 73
        # With other settings it starts again, and nothing is left of the first attempt.
        server.script(answer)
        run("rebuild", "--again", *model_options(server), "--set", "budget=300")
    assert set(memory_counts(run)) == {"theanine"}
    assert texts(run, "theanine") != before


@pytest.mark.slow
def test_again_repeats_no_call_in_the_journal(run: Terminal) -> None:
    with ScriptedServer(answer) as server:
        run("import", HISTORY, *model_options(server))
        before = texts(run, "theanine")
        calls_before = len(server.calls)
        run("rebuild", "--again", *model_options(server), "--set", "budget=300")
        assert len(server.calls) == calls_before > 0
    assert texts(run, "theanine") == before


@pytest.mark.slow
def test_fresh_asks_the_model_again(run: Terminal, tmp_path: Path) -> None:
    """A bad reply that was accepted is replayed by ``--again``, and not by ``--fresh``."""
    lines = [
        line(text=f"I keep the {thing} in the shed.", session=thing, at=f"2024-05-0{day}T09:00:00Z")
        for day, thing in enumerate(["boat", "cart", "lamp"], 1)
    ]
    file = save(tmp_path, "a.jsonl", "".join(lines))
    method = ["--method", "recursive-summary"]
    bad = '{"sentences": [], "outdated": []}'
    with ScriptedServer(lambda _: bad) as server:
        model = [*method, *model_options(server)]
        run("import", str(file), "--user", "ana", *model)
        run("rebuild", "--again", *model)
        assert (texts(run, "recursive-summary"), len(server.calls)) == ([], 3)
        again = run("rebuild", "--again", "--estimate", *model).out
        fresh = run("rebuild", "--fresh", "--estimate", *model).out
        assert "at most about 3 calls" in fresh and "calls in the journal are repeated" in fresh
        assert fresh.replace("are repeated", "are not repeated") == again
        assert len(server.calls) == 3
        answers = iter([answer])
        server.script(lambda request: next(answers, failing_steps("update-summary"))(request))
        assert run("rebuild", "--fresh", *model, fine=False).code == 1
        server.script(answer)
        calls_before = len(server.calls)
        run("rebuild", "--fresh", *model)  # resumes with the second session
        assert len(server.calls) - calls_before == 2
        assert len(texts(run, "recursive-summary")) == 3
        run("rebuild", "--again", *model)  # replays the new replies
        assert len(server.calls) - calls_before == 2
        assert len(texts(run, "recursive-summary")) == 3
    ran = run("rebuild", "--fresh", *method, fine=False)
    assert (ran.code, "asks a language model again, and none is set" in ran.err) == (2, True)


@pytest.mark.slow
def test_the_estimate_is_close_and_calls_no_model(run: Terminal) -> None:
    run("import", HISTORY, "--method", "exchange")
    with (
        ScriptedServer(answer) as server,
        theanine.open(
            str(run.store), method="theanine", model="openai:gpt-4o-mini", base_url=server.base_url
        ) as client,
    ):
        estimated = client.user("ana").estimate(instead=True)
        assert len(server.calls) == 0
        assert (estimated.sessions, estimated.turns) == (10, 130)
        assert estimated.replaced == {"exchange": 65}
        result = client.user("ana").rebuild()
        assert result.complete and len(result.reports) == 10
        usage = [report.usage for report in result.reports]
        assert 0.5 < estimated.calls / sum(item.calls for item in usage) < 2
        assert 0.33 < estimated.input_tokens / sum(item.input_tokens for item in usage) < 3
        cost = sum(item.cost or 0 for item in usage)
        assert estimated.cost and 0.33 < estimated.cost / cost < 3
        assert estimated.seconds > 0
        assert client.estimate().sessions == 0
        # The journal's latencies replace the default assumptions.
        slow = client.estimate(again=True).seconds
        assert slow < estimated.seconds


@pytest.mark.slow
def test_the_estimate_is_shown_first_or_alone(run: Terminal) -> None:
    run("import", HISTORY, "--method", "exchange")
    with ScriptedServer(answer) as server:
        ran = run("rebuild", "--method", "theanine", "--estimate", *model_options(server))
        assert len(server.calls) == 0
    for expected in ("openai:scripted: ", "calls", "tokens in", "cost unknown", "at most"):
        assert expected in ran.out
    assert memory_counts(run) == {"exchange": 65}


def run_on_terminal(run: Terminal, answer_text: str, *arguments: str) -> Ran:
    """Run with a terminal as standard input, on which a text is typed."""
    ours, theirs = pty.openpty()
    with Python(START, *arguments, "--store", str(run.store), stdin=theirs) as process:
        os.write(ours, answer_text.encode())
        ran = Ran(*process.communicate())
    os.close(ours)
    return ran


@pytest.mark.slow
def test_it_confirms_on_a_terminal_before_calling_a_model(run: Terminal) -> None:
    run("import", HISTORY, "--method", "exchange")
    with ScriptedServer(answer) as server:
        command_args = ["rebuild", "--method", "memory-retrieval", *model_options(server)]
        ran = run_on_terminal(run, "n\n", *command_args)
        assert (ran.code, len(server.calls)) == (1, 0)
        assert "Continue?" in ran.err and "tokens in" in ran.out
        assert memory_counts(run) == {"exchange": 65}
        ran = run_on_terminal(run, "y\n", *command_args)
        assert (ran.code, len(server.calls)) == (0, 10)
    assert "Continue?" not in run_on_terminal(run, "", "rebuild", "--method", "session").err
    with ScriptedServer(answer) as server:
        ran = run_on_terminal(
            run, "", "rebuild", "--method", "theanine", "--yes", *model_options(server)
        )
        assert (ran.code, "Continue?" in ran.err, len(server.calls) > 0) == (0, False, True)


@pytest.mark.slow
def test_it_does_not_confirm_without_a_terminal(run: Terminal) -> None:
    run("import", HISTORY, "--method", "exchange")
    with ScriptedServer(answer) as server:
        ran = run.typed("rebuild", "--method", "memory-retrieval", *model_options(server))
        assert (ran.code, len(server.calls)) == (0, 10)
    assert "Continue?" not in ran.err


@pytest.mark.slow
def test_only_one_user(run: Terminal, tmp_path: Path) -> None:
    run("import", HISTORY)
    other = save(tmp_path, "a.jsonl", line(text="I sold the boat because the engine died."))
    run("import", str(other), "--user", "bo")
    run("rebuild", "--method", "exchange", "--user", "bo", "--instead")
    assert texts(run, "theanine", "bo") == []
    assert len(texts(run, "exchange", "bo")) == 1
    assert (len(texts(run, "theanine")), texts(run, "exchange")) == (73, [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [(["--user", "nobody"], "nobody"), (["--method", "no-such"], "unknown method")],
)
def test_mistakes_change_nothing(run: Terminal, arguments: list[str], expected: str) -> None:
    run("import", HISTORY)
    ran = run("rebuild", "--instead", *arguments, fine=False)
    assert (ran.code, expected in ran.err) == (2, True)
    assert memory_counts(run) == {"theanine": 73}


def test_each_method_gets_imported_memories(run: Terminal, tmp_path: Path) -> None:
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
    listed = run("memories", "--user", "ana", "--method", "memory-retrieval", "--json").json
    assert [(item["text"], item["made_by"]) for item in listed] == [("Ana sold her boat.", "given")]


@pytest.mark.slow
@pytest.mark.anyio
async def test_from_python_with_await(run: Terminal) -> None:
    run("import", HISTORY)
    async with theanine.aopen(str(run.store), method="session") as client:
        assert (await client.user("ana").estimate()).sessions == 10
        seen: list[int] = []
        result = await client.rebuild(progress=lambda report: seen.append(report.session))
        assert (result.complete, sorted(seen)) == (True, list(range(1, 11)))
        assert (await client.rebuild(instead=True)).replaced == {"theanine": 73}
        assert (await client.user("ana").recall("the ferry?")).parts


@pytest.mark.slow
@pytest.mark.parametrize("again", [False, True])
def test_turns_logged_meanwhile_are_remembered(run: Terminal, again: bool) -> None:
    run("import", HISTORY, "--method", "session")
    with (
        theanine.open(str(run.store), method="utterance") as client,
        theanine.open(str(run.store), method="session") as other,
    ):
        seen: list[int] = []

        def hear_meanwhile(report: theanine.RememberReport) -> None:
            seen.append(report.session)
            if len(seen) == 3:
                live = other.user("ana").session()
                live.hear("I sold the old boat because the engine died.")
                live.end(remember=False)

        result = client.rebuild(again=again, instead=True, progress=hear_meanwhile)
        assert (result.complete, result.replaced) == (True, {"session": 10})
        assert sorted(seen) == list(range(1, 12))
        assert "engine died" in client.user("ana").memories()[-1].text
        assert client.pending() == []
    assert memory_counts(run) == {"utterance": 131}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["memory-retrieval", "comedy", "recursive-summary"])
def test_another_method_ignores_what_the_assistant_only_repeated(
    run: Terminal, method: str
) -> None:
    """The same holds for the same method when it remembers again."""
    repeat = "You sold the old boat because the engine died."
    with ScriptedServer(by_step({"respond": repeat})) as server:
        model: dict[str, Any] = {"model": "openai:scripted", "base_url": server.base_url}
        with theanine.open(str(run.store), **model) as client:
            for expected in ("I sold the old boat because the engine died.", "Where is my boat?"):
                with client.user("ana").session() as live:
                    live.hear(expected)
                    live.reply()
            assert len(client.user("ana").turns()) == 4
            before = [memory.text for memory in client.user("ana").memories()]
            client.user("ana").rebuild(again=True)
            assert [memory.text for memory in client.user("ana").memories()] == before
        with theanine.open(str(run.store), method=method, **model) as client:
            assert client.user("ana").rebuild().complete
            assert [
                m.source_turns for m in client.user("ana").memories() if m.source_turns == (4,)
            ] == []
