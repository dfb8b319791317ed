"""Runs of TeaFarm on memory methods, on a store, and on external agents."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import theanine
from theanine.demo import HARBOUR
from theanine.errors import BadInput, EmbedderMismatch, NotFound, SettingsError
from theanine.importers import read_histories
from theanine.testing import ScriptedServer, answer, by_step, status
from theanine.types import Utterance
from theanine_bench.config import RunConfig
from theanine_bench.runs.folder import RunFolder
from theanine_bench.runs.replay import replay
from theanine_bench.runs.runner import run_task
from theanine_bench.runs.task import Task
from theanine_bench.samples import ANSWER, SampleResult
from theanine_bench.targets.external import EXTERNAL, HistoryMode, answer_positions, chat_messages
from theanine_bench.teafarm.questions import (
    CounterfactualQuestion,
    EvidenceTurn,
    QuestionFile,
    format_header,
    format_question,
)
from theanine_bench.teafarm.report import Report
from theanine_bench.teafarm.run import TeaFarmConfig
from theanine_bench.teafarm.sources import EarlierSessions, read_sessions, read_store_histories
from theanine_bench.teafarm.task import load_task, teafarm_task

pytestmark = pytest.mark.anyio
AT = datetime(2024, 3, 1, tzinfo=UTC)

YARD = CounterfactualQuestion(
    id="yard",
    asks="Ana",
    answers="Theo",
    assumes="Ana still works at the shipyard.",
    text="Will it be overtime again at the shipyard after my holiday?",
    answer="She quit the shipyard in June.",
    evidence=(EvidenceTurn(session="a-letter", turn="a-letter-1", speaker="Ana", text="I quit."),),
    session=(("Ana", "Hi Theo, I am back."), ("Theo", "Welcome back!")),
    must_say=("quit | resigned",),
    where="q.txt, line 3",
)
NUTS = CounterfactualQuestion(
    id="nuts",
    user="ana",
    asks="Ana",
    answers="Theo",
    text="I love hazelnuts, which hazelnut cake shall I bake?",
    answer="None: she is allergic to hazelnuts.",
    must_say=("allergic | allergy",),
    must_not_say=("delicious",),
    where="q.txt, line 20",
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two questions beside the talks that they are about."""
    shutil.copy(HARBOUR, tmp_path / "talks.jsonl")
    out = tmp_path / "q.txt"
    blocks = "\n".join(map(format_question, (YARD, NUTS)))
    out.write_text(format_header(data="talks.jsonl") + "\n" + blocks, "utf-8")
    return out


async def done(farm: Task, setup: RunConfig, folder: Path) -> Report:
    run_folder, summary = await run_task(farm, setup, RunFolder(folder))
    items = list(run_folder.results().values())
    return Report(results=items, total=summary["samples"], folder=str(folder), method=setup.method)


def judged(server: ScriptedServer, **more: Any) -> RunConfig:
    return RunConfig(judge="openai:judge", judge_base_url=server.base_url, **more)


# the plan


def test_new_session_starts_a_week_after_the_last_one() -> None:
    past = read_sessions(HARBOUR)
    (group,) = teafarm_task(QuestionFile(questions=(YARD, NUTS)), past, "local").groups
    yard, _ = group.samples
    last = past.histories[0].transcripts[-1].turns[-1].at
    assert group.id == "ana" and len(group.stages[0].histories[0].transcripts) == 10
    assert [turn.text for turn in yard.dialogue] == [
        "Hi Theo, I am back.",
        "Welcome back!",
        YARD.text,
    ]
    assert [turn.role for turn in yard.dialogue] == ["user", "assistant", "user"]
    assert yard.dialogue[0].at == last + timedelta(days=7)
    assert (yard.speaker, yard.reference) == ("Theo", YARD.answer)
    dated = replace(YARD, at=last + timedelta(days=99))
    (group,) = teafarm_task(QuestionFile(questions=(dated,)), past, "local").groups
    assert group.samples[0].dialogue[0].at == dated.at


def test_questions_and_sessions_are_part_of_the_hash() -> None:
    past = read_sessions(HARBOUR)
    data_hash = teafarm_task(QuestionFile(questions=(YARD,)), past, "local").data
    moved = replace(YARD, where="elsewhere, line 9")
    assert teafarm_task(QuestionFile(questions=(moved,)), past, "local").data == data_hash
    assert (
        teafarm_task(QuestionFile(questions=(replace(YARD, answer="x"),)), past, "local").data
        != data_hash
    )
    assert (
        teafarm_task(QuestionFile(questions=(YARD,)), replace(past, hash="0"), "local").data
        != data_hash
    )


def test_without_a_judge_every_question_needs_its_phrases() -> None:
    bare = replace(NUTS, must_say=(), must_not_say=())
    sheet, past = QuestionFile(questions=(YARD, bare)), read_sessions(HARBOUR)
    with pytest.raises(SettingsError, match=r"1 of 2 .* q\.txt, line 20 \[nuts\]: name a model"):
        teafarm_task(sheet, past, "local")
    assert [metric.name for metric in teafarm_task(sheet, past, "openai:x").metrics] == [
        "success",
        "evidence",
    ]
    assert [m.name for m in teafarm_task(sheet, past, "x", recalls=False).metrics] == ["success"]
    assert teafarm_task(sheet, past, "local", limit=1).metrics[0].name == "success_by_rule"


def test_user_without_sessions_is_reported_with_the_line() -> None:
    with pytest.raises(BadInput, match=r"line 20: \[nuts\]: 'bo' has no sessions; .* ana"):
        teafarm_task(
            QuestionFile(questions=(replace(NUTS, user="bo"),)), read_sessions(HARBOUR), "local"
        )
    two = EarlierSessions(ends={"a": AT, "b": AT})
    with pytest.raises(BadInput, match="no user is named"):
        teafarm_task(QuestionFile(questions=(YARD,)), two, "local")


# our methods

# Without a model the reply quotes one memory; recall from timelines alone puts the best one first.
TIMELINES = RunConfig(
    method="theanine-paper", settings={"retrieval": "hybrid"}, embedder="wordllama"
)


@pytest.mark.slow
async def test_agent_with_memory_succeeds_and_without_fails(file: Path, tmp_path: Path) -> None:
    farm = await load_task(file, judge="local")
    ours = await done(farm, TIMELINES, tmp_path / "r")
    assert (ours.success, ours.by_rule, ours.incorrect, ours.errors) == (1.0, True, [], [])
    none = await done(farm, RunConfig(method="no-memory"), tmp_path / "n")
    assert none.success == 0
    text = str(none)
    for line in (
        "0 of 2 questions answered correctly (by rule",
        "[yard] Ana asked Theo: Will it be overtime",
        "falsely assumed: Ana still works",
        "right answer: She quit",
        "it doesn't say “quit | resigned”",
        "evidence: a-letter, turn a-letter-1, Ana: I quit.",
        "nothing was recalled",
    ):
        assert line in text
    few = await done(farm, RunConfig(method="exchange", settings={"retrieved": 1}), tmp_path / "t")
    for item in few.incorrect:
        assert f"from turn {item.recalled[0]['sources'][0]['turn']} of session" in str(few)


@pytest.mark.slow
async def test_judge_decides_and_its_failures_are_counted_separately(
    file: Path, tmp_path: Path
) -> None:
    farm = await load_task(file, judge="openai:judge")

    def judge(request: Any) -> Any:
        wrong = "hazelnut" in request["messages"][0]["content"]
        return (
            "no JSON at all"
            if wrong
            else '{"reason": "so it is", "open": true, "verdict": "Correct"}'
        )

    with ScriptedServer(by_step({"teafarm-judge": judge})) as server:
        report = await done(farm, judged(server), tmp_path / "r")
        assert (report.success, report.success_by_paper, report.by_rule) == (0, 0.5, False)
        assert report.heading == (
            "0 of 2 questions answered correctly, open answers counted as incorrect; 1 by the "
            "paper's rule"
        )
        assert [item.id for item in report.errors] == ["nuts"]
        assert "failed (success): UnusableReply" in str(report)
        assert [(line.unjudged, line.success and line.success.n) for line in report.lines] == [
            (1, 1)
        ]
        assert "  Incorrect (Correct by the paper's rule): so it is\n" in str(report)
        server.script('{"reason": "so it is not", "open": false, "verdict": "Incorrect"}')
        again = await done(farm, judged(server), tmp_path / "r")
        assert (again.success, again.success_by_paper, again.errors) == (0, 0.5, [])


@pytest.mark.slow
async def test_unanswered_question_is_incorrect_and_reported(file: Path, tmp_path: Path) -> None:
    farm = await load_task(file, judge="local")
    with ScriptedServer(
        by_step({"respond": status(400), "respond-reasoned": status(400)})
    ) as server:
        setup = RunConfig(model="openai:x", base_url=server.base_url)
        report = await done(farm, setup, tmp_path / "r")
    assert report.success == 0 and len(report.incorrect) == 2
    assert report.lines[0].unanswered == 2
    assert "failed (answer): ModelRejected" in str(report)


# a store


@pytest.mark.slow
async def test_memories_of_a_store_are_used_and_the_store_is_unchanged(
    file: Path, tmp_path: Path
) -> None:
    location = str(tmp_path / "memory.db")
    with theanine.open(location, embedder="wordllama") as agent:
        agent.user("ana").log(read_histories(HARBOUR).histories[0])
        agent.user("ana").remember()
        texts = {memory.id: memory.text for memory in agent.user("ana").memories()}
        (open_elsewhere,) = await read_store_histories(location, ["ana"])
        assert len(open_elsewhere.transcripts) == 10
    before = {path.name: path.read_bytes() for path in tmp_path.glob("memory.db*")}
    named = file.read_text("utf-8").replace("[yard]\n", "[yard]\nuser: ana\n")
    file.write_text(named, "utf-8")
    farm = await load_task(file, judge="local", store=location)
    report = await done(farm, TIMELINES, tmp_path / "r")
    assert report.success == 1
    assert {path.name: path.read_bytes() for path in tmp_path.glob("memory.db*")} == before
    with theanine.open(str(tmp_path / "r" / "memory.db")) as copy:
        assert {memory.id: memory.text for memory in copy.user("ana").memories()} == texts
    again = await replay(farm, TIMELINES, RunFolder(tmp_path / "r"))
    assert again.different == []
    with pytest.raises(EmbedderMismatch, match="--embedder wordllama"):
        await done(farm, RunConfig(embedder="hash:64"), tmp_path / "h")
    (history,) = await read_store_histories(location, [])
    original = read_histories(HARBOUR).histories[0]
    assert [t.key for t in history.transcripts] == [t.key for t in original.transcripts]
    assert [u.key for t in history.transcripts for u in t.turns] == [
        u.key for t in original.transcripts for u in t.turns
    ]


async def test_missing_store_or_unknown_user_is_an_error(file: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"\[yard\] names no user of the store"):
        await load_task(file, judge="local", store=str(tmp_path / "no.db"))
    file.write_text(file.read_text("utf-8").replace("[yard]\n", "[yard]\nuser: ana\n"), "utf-8")
    with pytest.raises(BadInput, match="there is no store"):
        await load_task(file, judge="local", store=str(tmp_path / "no.db"))
    assert not (tmp_path / "no.db").exists()
    with pytest.raises(BadInput, match="can't be copied"):
        await load_task(file, judge="local", store=str(file))
    with theanine.open(str(tmp_path / "m.db")) as agent, agent.user("bo").session() as talk:
        talk.hear("Hi.")
    with pytest.raises(NotFound, match="ana has no turns; the store has bo"):
        await load_task(file, judge="local", store=str(tmp_path / "m.db"))


@pytest.mark.slow
async def test_how_much_of_the_evidence_was_recalled(file: Path, tmp_path: Path) -> None:
    quit = "I quit my job at the shipyard yesterday."
    text = file.read_text("utf-8").replace(
        "Ana: I quit.\n", f"Ana: {quit}\n  x | y | Ana: Nothing.\n"
    )
    file.write_text(text, "utf-8")
    farm = await load_task(file, judge="local")
    report = await done(farm, RunConfig(), tmp_path / "r")
    evidence = {item.id: item.scores.get("evidence") for item in report.results}
    assert evidence == {"yard": 0.5, "nuts": None}
    none = await done(farm, RunConfig(method="no-memory"), tmp_path / "n")
    assert {item.id: item.scores.get("evidence") for item in none.results}["yard"] == 0


# from elsewhere


def replies(request: Any) -> Any:
    """An agent that knows of Ana only what its request says."""
    text = " ".join(message["content"] for message in request["messages"])
    if text.startswith("Task: "):
        return answer(request)
    return "You quit, and you are allergic." if "allergic" in text else "How delicious!"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("history_mode", "right", "calls"), [("sent", 2, 2), ("replayed", 0, 67), ("none", 0, 2)]
)
async def test_external_agent_gets_sessions_by_history_mode(
    file: Path, tmp_path: Path, history_mode: HistoryMode, right: int, calls: int
) -> None:
    farm = await load_task(file, judge="local", history_mode=history_mode)
    with ScriptedServer(replies) as server:
        setup = RunConfig(method=EXTERNAL, model="openai:mine", base_url=server.base_url)
        report = await done(farm, setup, tmp_path / "r")
        sent = server.requests
        assert await done(farm, setup, tmp_path / "r") == report  # nobody is asked twice
        assert len(server.requests) == len(sent) == calls
    assert report.success * 2 == right
    assert {(request["model"], request["user"]) for request in sent} == {("mine", "ana")}
    roles = [message["role"] for message in sent[-1]["messages"]]
    assert roles[-1] == "user" and ("system" in roles) == (history_mode == "sent")
    again = await replay(farm, setup, RunFolder(tmp_path / "r"))
    assert again.different == []
    assert "nothing was recalled" not in str(report)


@pytest.mark.slow
async def test_failed_replay_of_sessions_leaves_questions_for_the_next_run(
    file: Path, tmp_path: Path
) -> None:
    farm = await load_task(file, judge="local", history_mode="replayed")
    with ScriptedServer([*["Hm."] * 10, status(400)]) as server:
        setup = RunConfig(method=EXTERNAL, model="openai:mine", base_url=server.base_url)
        report = await done(farm, setup, tmp_path / "r")
        assert all("not remembered: session" in item.failures[ANSWER] for item in report.results)
        server.script(replies)
        paid = len(server.calls)
        report = await done(farm, setup, tmp_path / "r")
        assert not report.errors
        assert len(server.calls) - paid == 67 - 10


async def test_external_agent_with_own_history_needs_no_sessions(tmp_path: Path) -> None:
    out = tmp_path / "q.txt"
    out.write_text(format_question(NUTS), "utf-8")
    with pytest.raises(BadInput, match="doesn't say where the sessions are"):
        await load_task(out, judge="local", history_mode="sent")
    farm = await load_task(out, judge="local", history_mode="none")
    with ScriptedServer("You are allergic!") as server:
        setup = RunConfig(method=EXTERNAL, model="openai:mine", base_url=server.base_url)
        assert (await done(farm, setup, tmp_path / "r")).success == 1


def utterances(*words: tuple[str, str]) -> list[Utterance]:
    at = read_histories(HARBOUR).histories[0].transcripts[0].at
    return [Utterance(text=text, speaker=speaker, at=at) for speaker, text in words]


def test_a_dialogue_as_chat_messages() -> None:
    talk = utterances(("A", "1"), ("A", "2"), ("T", "3"), ("B", "4"))
    assert chat_messages(talk, "T") == [
        {"role": "user", "content": "A: 1\nA: 2"},
        {"role": "assistant", "content": "3"},
        {"role": "user", "content": "B: 4"},
    ]
    assert chat_messages(talk[:3], "T")[0]["content"] == "1\n2"
    assert answer_positions(talk, "T") == [2, 4]
    assert answer_positions(talk[:3], "A") == [3]


# the report


def item(
    id: str, success: float | None, data_set: str = "", asks: str = "Ana", **more: Any
) -> SampleResult:
    measures: Mapping[str, float] = {} if success is None else {"success": success}
    return SampleResult(
        id=id, group="g", question="?", answer="!", category=data_set, scores=measures,
        extra={"asks": asks}, **more,
    )  # fmt: skip


def test_success_counts_all_questions() -> None:
    items = [item("1", 1), item("2", 0), item("3", None, failures={"success": "UnusableReply"})]
    report = Report(results=items, total=10)
    assert report.success == 0.1
    (line,) = report.lines
    assert line.success and (line.success.mean, line.success.n, line.unjudged) == (0.5, 2, 1)
    with pytest.raises(ValueError, match="no questions"):
        _ = Report(results=[], total=0).success


def test_success_by_data_set_and_by_asker() -> None:
    items = [item("1", 1, "MSC"), item("2", 0, "MSC", "Bo"), item("3", 1, "CC", "Bo")]
    report = Report(results=items, total=3)
    success = {line.name: line.success and line.success.mean for line in report.lines}
    assert success == {
        "all": pytest.approx(2 / 3),
        "CC": 1,
        "MSC": 0.5,
        "Ana asks": 1,
        "Bo asks": 0.5,
    }
    assert [line.name for line in report.data_sets] == ["CC", "MSC", "Avg."]
    assert Report(results=[*items, item("4", 1)], total=4).data_sets == []


def test_settings_of_models_are_those_of_the_run() -> None:
    config = TeaFarmConfig(
        model="large",
        model_settings={"temperature": 0.5},
        memory_model="small",
        memory_settings={"max_tokens": 900},
        judge_settings={"temperature": 0.1},
    )
    run = config.run_config(None)
    assert (run.model_settings, run.memory_model) == ({"temperature": 0.5}, "small")
    assert (run.memory_settings, run.judge_settings) == ({"max_tokens": 900}, {"temperature": 0.1})
    external = config.run_config("http://127.0.0.1:9/v1")
    assert (external.memory_model, external.judge_settings) == (None, {"temperature": 0.1})
