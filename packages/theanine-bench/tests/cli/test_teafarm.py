"""`theanine teafarm`: make, run and report."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from support.forking import Python
from support.run_samples import sample_run
from support.running import START, Terminal
from theanine.demo import HARBOUR
from theanine.testing import ScriptedServer, answer, by_step, status
from theanine_bench.runs.folder import RunFolder

RULED = """\
data: talks.jsonl

[yard]
asks: Ana
answers: Theo
question: Will it be overtime again at the shipyard?
answer: She quit the shipyard.
must say:
  quit | resigned

[nuts]
asks: Ana
answers: Theo
question: Which hazelnut cake shall I bake for myself?
answer: None: she is allergic.
must say:
  allergic | allergy | close my throat
must not say:
  penicillin
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    """Talks and questions in the folder where the commands run."""
    shutil.copy(HARBOUR, tmp_path / "talks.jsonl")
    first = HARBOUR.read_text("utf-8").splitlines(keepends=True)[:26]
    (tmp_path / "short.jsonl").write_text("".join(first), "utf-8")
    (tmp_path / "ruled.txt").write_text(RULED, "utf-8")
    with chdir(tmp_path):
        yield tmp_path


def model(server: ScriptedServer) -> list[str]:
    return ["--model", "openai:scripted", "--base-url", server.base_url]


def judge(server: ScriptedServer) -> list[str]:
    return ["--judge", "openai:judge", "--judge-base-url", server.base_url]


def teafarm(run: Terminal, *arguments: str, fine: bool = True) -> Any:
    return run.bare("teafarm", *arguments, fine=fine)


@pytest.mark.slow
def test_questions_run_report_and_replay(run: Terminal, folder: Path) -> None:
    with ScriptedServer(answer) as server:
        made = teafarm(
            *(run, "make", "short.jsonl", "--out", "q.txt", "--questions", "2", *model(server)),
            *("--model-set", "max_tokens=999"),
        )
        sent = server.requests[0]
        assert (sent["temperature"], sent["max_tokens"]) == (0.75, 999)
        assert made.out == "q.txt: 2 questions\n"
        # The scripted reply repeats the first part, which must be the best one.
        best = ["--method", "theanine-paper", "--set", "retrieval=hybrid", "--set", "retrieved=1"]
        command = ["run", "q.txt", "--out", "r", *best, *model(server), *judge(server)]
        ran = teafarm(run, *command, "--min-success", "0.9")
        assert "success        1.000" in ran.out and "judging: 2 calls" in ran.out
        paid = len(server.calls)
        assert teafarm(run, *command, "--json").json["metrics"]["success"]["mean"] == 1
        assert "all identical" in teafarm(run, *command, "--replay").out
        assert len(server.calls) == paid
    report = teafarm(run, "report", "r").out
    assert "success  mean   95 %           by paper  95 %           n" in report
    assert "all      1.000  0.342 – 1.000  1.000     0.342 – 1.000  2" in report
    assert "Theanine " in report and "0.21" in report
    assert (folder / "q.txt").read_text("utf-8").count("a-dog | a-dog-") == 2


@pytest.mark.slow
def test_without_a_judge_phrases_decide_the_exit_code(run: Terminal) -> None:
    ran = teafarm(run, "run", "ruled.txt", "--min-success", "1")
    assert "success_by_rule  1.000" in ran.out and "no judge read the replies" in ran.out
    ran = teafarm(
        run, "run", "ruled.txt", "--method", "no-memory", "--min-success", "0.5", fine=False
    )
    assert ran.code == 1
    assert "0.000 of all questions are answered correctly, less than the required 0.5" in ran.err
    name = next(Path("runs").glob("teafarm-no-memory-*"))
    report = teafarm(run, "report", str(name)).out
    assert "it doesn't say “quit | resigned”" in report and "nothing was recalled" in report
    output = teafarm(run, "report", str(name), "--json").json
    assert (output["success"], output["by_rule"], len(output["fooled"])) == (0, True, 2)
    assert teafarm(run, "run", "ruled.txt", "--method", "no-memory").code == 0  # a figure, no check


@pytest.mark.slow
def test_store_is_used_unchanged(run: Terminal) -> None:
    run("import", "talks.jsonl")
    before = run.store.read_bytes()
    for name in ("yard", "nuts"):
        text = Path("ruled.txt").read_text("utf-8").replace(f"[{name}]\n", f"[{name}]\nuser: ana\n")
        Path("ruled.txt").write_text(text, "utf-8")
    ran = run("teafarm", "run", "ruled.txt", "--out", "r", "--min-success", "1")
    assert "remembering" not in ran.out
    assert run.store.read_bytes() == before
    run("teafarm", "make", "--user", "ana", "--out", "new.txt")
    assert "store: memory.db" in Path("new.txt").read_text("utf-8")
    assert run.store.read_bytes() == before


@pytest.mark.slow
def test_external_agent(run: Terminal) -> None:
    def reply(request: Any) -> str:
        return "You quit." if "overtime" in request["messages"][-1]["content"] else "A big one!"

    with ScriptedServer(reply) as server:
        command = ["run", "ruled.txt", "--agent-url", server.base_url, "--agent-model", "mine"]
        ran = teafarm(run, *command, "--out", "r", "--min-success", "0.9", fine=False)
        assert (ran.code, "success_by_rule  0.500" in ran.out) == (1, True)
        assert {request["model"] for request in server.requests} == {"mine"}
        assert server.requests[0]["messages"][0]["role"] == "system"
        teafarm(run, *command, "--history", "none", "--out", "n")
        assert server.requests[-1]["messages"][0]["role"] == "user"
    report = teafarm(run, "report", "r").out
    assert "Theo said: A big one!" in report and "nothing was recalled" not in report


@pytest.mark.slow
def test_failures_are_reported_and_counted(run: Terminal) -> None:
    with ScriptedServer(by_step({"teafarm-judge": status(400)})) as server:
        command = ["run", "ruled.txt", "--out", "r", *judge(server)]
        ran = teafarm(run, *command, fine=False)
        assert (ran.code, "failed 2 ×: success: ModelRejected" in ran.out) == (1, True)
        assert teafarm(run, *command, "--min-success", "0", fine=False).code == 1  # not complete
        assert "2" in teafarm(run, "report", "r").out.splitlines()[1].split()
        failing = ["make", "talks.jsonl", "--out", "q.txt", *model(server)]
        server.script(by_step({"teafarm-question": status(400)}))
        ran = teafarm(run, *failing, fine=False)
        assert (ran.code, "ana: no questions: " in ran.err, "400" in ran.err) == (1, True, True)
        server.script(answer)
        before = len(server.calls)
        teafarm(run, *failing)
        assert len(server.calls) - before == 2  # the summaries were paid for


@pytest.mark.slow
def test_killed_run_resumes_without_paying_twice(run: Terminal) -> None:
    text = RULED.replace("talks.jsonl", "short.jsonl")
    Path("ruled.txt").write_text(text, "utf-8")
    victims: list[Python] = []
    with ScriptedServer(answer) as server:
        command = ["teafarm", "run", "ruled.txt", "--method", "memory-retrieval", "--out", "r"]
        wanted = [*command, *model(server), *judge(server)]
        run.bare(*wanted[:6], "smooth", *wanted[7:])
        smooth = len(server.calls)
        left = iter(range(smooth))

        def murderous(request: Any) -> Any:
            if next(left, 0) == smooth - 3:
                victims[0].kill()
            return answer(request)

        server.script(murderous)
        victims.append(Python(START, *wanted))
        with victims[0] as victim:
            assert victim.wait() < 0
        server.script(answer)
        run.bare(*wanted)
        assert len(server.calls) - smooth <= smooth + 2  # what was in flight reached nobody
    first, other = (
        {id: item.answer for id, item in RunFolder(Path(name)).results().items()}
        for name in ("smooth", "r")
    )
    assert first == other and len(first) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["make", "--out", "q.txt"], "either a history file or a store"),
        (["make", "talks.jsonl", "--store", "m.db", "--out", "q.txt"], "either"),
        (["make", "talks.jsonl", "--user", "bo", "--out", "q.txt"], "has no user bo; it has ana"),
        (["make", "no.jsonl", "--out", "q.txt"], "no.jsonl"),
        (["make", "--store", "no.db", "--out", "q.txt"], "there is no store"),
        (["run", "no.txt"], "can't be read"),
        (["run", "bare.txt"], "1 of 1 questions need a judge, first bare.txt, line 2 [a]"),
        (["run", "ruled.txt", "--replay"], "--out"),
        (["run", "ruled.txt", "--set", "retrieved"], "NAME=VALUE"),
        (["report", "no-run"], "not a run's folder"),
        (["report", "other"], "it holds a run of qa"),
    ],
)
def test_invalid_arguments_are_reported_and_write_nothing(
    run: Terminal, folder: Path, arguments: list[str], message: str
) -> None:
    bare = "data: talks.jsonl\n[a]\nasks: Ana\nquestion: Why?\nanswer: Because.\n"
    (folder / "bare.txt").write_text(bare, "utf-8")
    sample_run(folder / "other", [], finished=False)
    ran = teafarm(run, *arguments, fine=False)
    assert (ran.code, message in ran.err) == (2, True), ran
    assert not (folder / "q.txt").exists() and not (folder / "runs").exists()


def test_blank_questions_must_be_filled_in(run: Terminal) -> None:
    ran = teafarm(run, "make", "talks.jsonl", "--out", "q.txt")
    assert ran.out == "q.txt: 1 question to fill in: no language model is configured (--model)\n"
    ran = teafarm(run, "run", "q.txt", fine=False)
    assert (ran.code, "q.txt, line 11: [ana/1] has no question; write" in ran.err) == (2, True)


def test_teabag_needs_no_other_data(run: Terminal, folder: Path) -> None:
    talk = ["Speaker 1: I never had a car.", "Speaker 2: I do not sing."]
    question = {"question": "How is your car?", "answer": "Speaker 2: You never had one."}
    episode = {
        "id": "e",
        "session1": talk,
        "questions": [question],
        "session6": [["Speaker 1: Hi."]],
    }
    (folder / "teabag_msc.json").write_text(json.dumps([episode]), "utf-8")
    with ScriptedServer(answer) as server:
        teafarm(run, "run", "teabag_msc.json", "--out", "r", *judge(server))
    report = teafarm(run, "report", "r").out
    assert "this run (theanine)" in report
