"""`theanine compare` shows what each method by itself recalls, as table, JSON and page."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

import theanine
from support.browser import chromium, needs_browser
from support.history_samples import line, save
from support.running import Terminal
from theanine.demo import HARBOUR, load_questions
from theanine.importers import read_histories
from theanine.testing import ScriptedServer, answer, by_step, status
from theanine.types import History, Transcript, Utterance
from theanine_bench.datasets.questions import UserQuestion, read_questions
from theanine_bench.report import bench_page, compare_page
from theanine_bench.runs import RunFolder, RunLimits, SavedRun, read_run, run_task
from theanine_bench.runs.folder import FACTS, ITEMS, SUMMARY
from theanine_bench.tasks.compare import (
    ComparedMethod,
    compare_config,
    compare_task,
    evidence_table,
    method_results,
    unknown_sources,
)

METHODS = ("exchange", "memory-retrieval", "no-memory")
EVIL = "</script><script>alert(1)</script><!-- & 'quotes' \"here\" @@SCRIPTS@@"


def compared(run: Terminal, folder: Path, *arguments: str, fine: bool = True) -> SavedRun:
    """The run that the command leaves in a folder."""
    run.bare("compare", *arguments, "--out", str(folder), fine=fine)
    return anyio.run(read_run, folder)


def compare(
    folder: Path,
    histories: Sequence[History],
    questions: Sequence[UserQuestion],
    method: str = "exchange",
    **config: Any,
) -> SavedRun:
    """The run of one method by a program."""

    async def execute() -> SavedRun:
        one = ComparedMethod(label=method, method=method, settings=config.pop("settings", {}))
        task = compare_task([method], histories, questions)
        limits = RunLimits(concurrency=1)
        await run_task(task, compare_config([one], **config), RunFolder(folder), limits=limits)
        return await read_run(folder)

    return anyio.run(execute)


def page_data(page: str) -> Any:
    data = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert data
    return json.loads(data[1])


def parts(run: SavedRun, sample: str) -> list[str]:
    return [part["text"] for part in run.results[sample].recalled]


@pytest.mark.slow
def test_it_shows_what_each_method_by_itself_recalls(run: Terminal, tmp_path: Path) -> None:
    found = compared(run, tmp_path / "run", "--methods", ",".join(METHODS))
    assert [one.label for one in method_results(found)] == list(METHODS)
    history = read_histories(HARBOUR).histories[0]
    for one in method_results(found):
        place = str(tmp_path / f"{one.label}.db")
        with theanine.open(place, method=one.label) as agent:
            agent.user(history.name).log(history)
            agent.user(history.name).remember()
            assert one.memories == len(agent.user(history.name).memories())
            last = history.transcripts[-1].turns[-1].at
            for asked, shown in zip(load_questions(), one.results.values(), strict=True):
                assert (shown.question, shown.reference) == (asked.question, asked.answer)
                said = Utterance(text=asked.question, speaker="Ana", at=last)
                alone = agent.user(history.name).recall([said])
                assert [part["text"] for part in shown.recalled] == [p.text for p in alone.parts]
                back = {turn.key for turn in alone.source_turns}
                share = len(back & set(asked.sources)) / len(asked.sources)
                assert shown.scores["evidence"] == share


@pytest.mark.slow
def test_evidence_has_intervals_and_differences_from_the_first_method(
    run: Terminal, tmp_path: Path
) -> None:
    for limit in (5, 1):
        found = compared(
            run, tmp_path / str(limit), "--methods", "exchange,no-memory", "--limit", str(limit)
        )
        first, second, *precision = evidence_table(found).rows
        assert [row[:2] for row in (first, second)] == [
            ["exchange", "evidence"],
            ["no-memory", "evidence"],
        ]
        assert first[3:] == [str(limit), "–", "–"]
        mine, none = method_results(found)
        assert mine.evidence is not None and none.evidence == 0
        assert first[2].startswith(f"{mine.evidence:.3f} [")
        assert second[4].startswith(f"{-mine.evidence:.3f}")
        assert (" [" in second[4]) == (limit > 1)  # one question has no interval
        assert (second[5] == "–") == (limit < 5)  # and fewer than five no p-value
        assert {row[1] for row in precision} == {"evidence precision"}


@pytest.mark.slow
def test_it_tells_what_each_takes_and_leaves_the_users_store_alone(
    run: Terminal, tmp_path: Path
) -> None:
    file = tmp_path / "a.json"
    ran = run.bare("compare", "--methods", "exchange,no-memory", "--json", str(file))
    assert "130 turns in 10 sessions, 5 questions" in ran.out
    for measure in (
        "given back",
        "evidence",
        "precision",
        "remember",
        "recall",
        "calls",
        "money",
        "disk",
    ):
        assert measure in ran.out
    assert not run.store.exists() and not Path("runs").exists()
    turn, nothing = json.loads(file.read_text("utf-8"))["facts"].values()
    assert turn["bytes"] > nothing["bytes"] == turn["log_bytes"] == nothing["log_bytes"] > 0
    assert turn["remember_seconds"] > 0
    found = compared(run, tmp_path / "run", "--methods", "no-memory")
    assert all(one.recalled_tokens == 0 for one in found.results.values())


@pytest.mark.slow
def test_the_models_calls_are_counted_where_they_were_made(run: Terminal, tmp_path: Path) -> None:
    with ScriptedServer(answer) as server:
        model = ["--model", "openai:scripted", "--base-url", server.base_url]
        found = compared(run, tmp_path / "run", "--methods", "theanine-paper,exchange", *model)
        calls = len(server.calls)
    one, other = method_results(found)
    assert one.remembering.calls + one.recalling.calls == calls > 0
    assert one.recalling.calls > 0
    assert one.remembering.cost is None  # nobody knows the price of the scripted model
    assert (other.remembering.calls, other.recalling.calls) == (0, 0)
    assert found.summary["spent"]["remembering"]["calls"] == one.remembering.calls


@pytest.mark.slow
def test_a_model_that_fails_is_a_failure_beside_the_others(run: Terminal, tmp_path: Path) -> None:
    file = save(tmp_path, "a.jsonl", line(text="I sold the boat because the engine died."))
    asked = save(tmp_path, "q.txt", "Where is the boat?")
    out = tmp_path / "run"
    with ScriptedServer(by_step({"summarize": status(400)})) as server:
        model = ["--model", "openai:scripted", "--base-url", server.base_url]
        chosen = ["--data", str(file), "--questions", str(asked), "--methods", "exchange,theanine"]
        ran = run.bare("compare", *chosen, *model, "--out", str(out), fine=False)
    assert ran.code == 1
    assert "theanine: a, session 1 is not remembered: " in ran.err
    found = anyio.run(read_run, out)
    exchange, theanine_ = method_results(found)
    assert [len(one.failures) for one in (exchange, theanine_)] == [0, 1]
    assert exchange.results[1].recalled
    assert theanine_.results[1].failures["answer"].startswith("not remembered: session 1: ")


@pytest.mark.slow
def test_the_same_command_tries_again_what_failed_and_pays_for_nothing_twice(
    run: Terminal, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    failing = [True]

    def respond(call: Any) -> Any:
        return by_step({"refine": status(503)} if failing[0] else {})(call)

    with ScriptedServer(respond) as server:
        model = ["--model", "openai:scripted", "--base-url", server.base_url, "--limit", "1"]
        compared(run, out, "--methods", "theanine-paper", *model, fine=False)
        remembered = method_results(anyio.run(read_run, out))[0].remembering.calls
        failing[0] = False
        found = compared(run, out, "--methods", "theanine-paper", *model)
        again = run.bare(
            "compare", "--methods", "theanine-paper", *model, "--out", str(out), "--replay"
        )
        calls = len(server.calls)
        compared(run, out, "--methods", "theanine-paper", *model)
        assert len(server.calls) == calls
    assert method_results(found)[0].remembering.calls == remembered > 0
    assert found.results["theanine-paper/1"].complete
    assert "1 result, all identical; no model was called" in again.out


def test_a_run_that_asks_a_model_is_kept_where_none_is_named(
    run: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ScriptedServer(answer) as server:
        chosen = ["--methods", "exchange", "--limit", "1", "--model", "openai:scripted"]
        ran = run.bare("compare", *chosen, "--base-url", server.base_url)
    [folder] = Path("runs").iterdir()
    assert folder.name.startswith("compare-several-")
    assert f"wrote {folder}" in ran.out
    assert sorted(file.name for file in (folder / "stores").iterdir()) == ["1.db"]


@pytest.mark.slow
def test_a_killed_run_resumes(run: Terminal, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    chosen = ["--methods", "exchange,utterance"]
    compared(run, whole, *chosen)
    compared(run, killed, *chosen)
    items = (killed / ITEMS).read_text("utf-8").splitlines(keepends=True)
    (killed / ITEMS).write_text("".join(items[:7]), "utf-8")
    facts = (killed / FACTS).read_text("utf-8").splitlines(keepends=True)
    (killed / FACTS).write_text(facts[0], "utf-8")
    (killed / SUMMARY).unlink()
    part = anyio.run(read_run, killed)
    assert [len(one.results) for one in method_results(part)] == [5, 2]
    assert page_data(bench_page(part))["questions"][2]["answers"][1] is None
    found = compared(run, killed, *chosen)
    assert (killed / ITEMS).read_bytes() == (whole / ITEMS).read_bytes()
    exchange, utterance = method_results(found)
    assert exchange.remember_seconds is not None
    assert utterance.remember_seconds is None  # the killed process can't tell
    assert utterance.memories == 130


@pytest.mark.slow
def test_runs_are_reported_exported_and_held_against_each_other(
    run: Terminal, tmp_path: Path
) -> None:
    few, many = str(tmp_path / "few"), str(tmp_path / "many")
    chosen = ["--methods", "exchange"]
    page = tmp_path / "page.html"
    compared(run, Path(few), *chosen, "--set", "retrieved=1", "--html", str(page))
    found = compared(run, Path(many), *chosen)
    diff = run.bare("bench", "diff", few, many, "--json").json
    assert diff["samples"] == 5
    means = diff["metrics"]["evidence"]["means"]
    exchange = method_results(found)[0].evidence
    assert means[1]["mean"] == pytest.approx(exchange)
    assert exchange > means[0]["mean"]
    run.bare("bench", "report", few)
    assert (Path(few) / "report.html").read_text("utf-8") == page.read_text("utf-8")
    table = run.bare("bench", "export", many, "--format", "md").out.splitlines()
    assert table[0].startswith("|  | memories | links |")
    assert table[2].startswith("| exchange | 65 | 0 |")
    assert "\\% " in run.bare("bench", "export", many, "--format", "latex").out
    rows = run.bare("bench", "export", many, "--format", "csv").out.splitlines()
    assert len(rows) == 6 and rows[1].startswith("exchange/1,exchange/ana,exchange,")


@pytest.mark.slow
def test_a_recall_that_fails_counts_as_nothing_found(tmp_path: Path) -> None:
    histories, asked = read_questions(HARBOUR, HARBOUR.with_suffix(".questions.json"))
    with ScriptedServer(by_step({"refine": status(400)})) as server:
        model = {"model": "openai:scripted", "base_url": server.base_url}
        run = compare(tmp_path / "run", histories, asked[:2], "theanine-paper", **model)
    (one,) = method_results(run)
    assert not one.failures
    assert all(r.failures and not r.recalled for r in one.results.values())
    assert one.evidence == 0


@pytest.mark.slow
def test_one_method_against_itself_with_another_setting(run: Terminal, tmp_path: Path) -> None:
    chosen = ["--methods", "exchange,few=exchange", "--set", "few.retrieved=1"]
    many, few = method_results(compared(run, tmp_path / "run", *chosen))
    assert (few.label, few.method, few.settings) == ("few", "exchange", {"retrieved": "1"})
    assert {len(one.recalled) for one in few.results.values()} == {1}
    assert {len(one.recalled) for one in many.results.values()} == {6}


@pytest.mark.slow
def test_a_budget_holds_for_all(run: Terminal, tmp_path: Path) -> None:
    chosen = ["--methods", "exchange,full-history", "--budget", "60"]
    found = compared(run, tmp_path / "run", *chosen)
    assert 0 < max(one.recalled_tokens for one in found.results.values()) <= 60


@pytest.mark.slow
def test_the_embedder_and_the_reranker_are_everybodys(run: Terminal, tmp_path: Path) -> None:
    chosen = ["--methods", "exchange", "--embedder", "hash:64"]
    plain = compared(run, tmp_path / "a", *chosen)
    other = [*chosen, "--reranker", "overlap", "--rerank-depth", "20"]
    reranked = compared(run, tmp_path / "b", *other)
    assert any(parts(plain, id) != parts(reranked, id) for id in plain.results)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--methods", "exchange,nothing-such"], "unknown method"),
        (["--methods", "exchange,exchange"], "label"),
        (["--methods", ""], "--methods names none"),
        (["--methods", "exchange", "--set", "retrieved"], "NAME=VALUE"),
        (["--methods", "exchange", "--set", "other.retrieved=2"], "LABEL.NAME=VALUE"),
        (["--methods", "exchange", "--set", "colour=red"], "no setting colour"),
        (["--html", "no/such/folder/a.html"], "can't be written"),
        (["--data", "no-such-file.jsonl"], "check the path"),
    ],
)
def test_mistakes_are_told_before_anything_is_done(
    run: Terminal, arguments: list[str], said: str
) -> None:
    ran = run.bare("compare", *arguments, fine=False)
    assert (ran.code, said in ran.err) == (2, True), ran.err


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Where?\n\nWhen?\n", ["Where?", "When?"]),
        ('["Where?", {"question": "When?", "answer": "Now."}]', ["Where?", "When?"]),
        ('{"question": "Where?"}\n{"question": "When?", "user": "ana"}\n', ["Where?", "When?"]),
    ],
)
def test_questions_come_in_three_forms(tmp_path: Path, text: str, asked: list[str]) -> None:
    histories, found = read_questions(HARBOUR, save(tmp_path, "q", text))
    assert [ask.text for ask in found] == asked
    assert {ask.user for ask in found} == {histories[0].name}
    assert found[0].dialogue[0].at == histories[0].transcripts[-1].turns[-1].at


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no question"),
        ("[1]", "question 1"),
        ('{"question": ""}', "question 1"),
        ('{"question": "Where?", "user": "bo"}', "no history"),
        ('{"question": "Where?", "sources": "a"}', "sources"),
        ("[", "invalid JSON"),
    ],
)
def test_questions_that_make_no_sense_name_their_place(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(theanine.UserError, match=said):
        read_questions(HARBOUR, save(tmp_path, "q", text))


@pytest.mark.slow
def test_sources_that_no_turn_is_called_are_named(run: Terminal, tmp_path: Path) -> None:
    entries = [
        {"question": "Which boat?", "sources": ["first-tea-1", "gone"]},
        {"question": "Which knee?", "sources": ["gone", "nowhere"]},
        {"question": "Which dog?", "sources": ["first-tea-2"]},
    ]
    asked = save(tmp_path, "q.json", json.dumps(entries))
    chosen = ["--questions", str(asked), "--methods", "exchange", "--data", str(HARBOUR)]
    page = tmp_path / "page.html"
    ran = run.bare("compare", *chosen, "--html", str(page))
    assert "2 sources of questions not in the data, left out: gone, nowhere" in ran.err
    assert '"unknown":["gone","nowhere"]' in page.read_text("utf-8")


@pytest.mark.slow
def test_a_source_of_one_history_is_known_to_a_question_of_all(tmp_path: Path) -> None:
    key = read_histories(HARBOUR).histories[0].transcripts[0].turns[0].key or ""
    said = Utterance(text="Which boat?", speaker="Ana", at=two()[0].transcripts[-1].at)
    asked = [
        UserQuestion(user=name, dialogue=(said,), gold=frozenset({("", key)}))
        for name in ("ana", "bo")
    ]
    found = compare(tmp_path / "run", two(), asked)
    assert not unknown_sources(found)
    assert [len(one.extra["gold"]) for one in found.results.values()] == [1, 0]


@pytest.mark.slow
def test_data_without_questions_is_asked_before_each_session_is_remembered(tmp_path: Path) -> None:
    histories, asked = read_questions(HARBOUR)
    transcripts = histories[0].transcripts
    assert [ask.before for ask in asked] == [one.key for one in transcripts[1:]]
    for ask, transcript in zip(asked, transcripts[1:], strict=True):
        assert ask.dialogue[-1].role == "user"
        assert list(ask.dialogue) == list(transcript.turns[: len(ask.dialogue)])
        assert all(turn.role != "user" for turn in transcript.turns[len(ask.dialogue) :])
    found = compare(tmp_path / "run", histories, asked, "utterance", settings={"retrieved": 999})
    (one,) = method_results(found)
    assert one.sessions == len(transcripts)
    session_keys = {t.turns[0].full_text: t.key for t in transcripts}
    by_id = {
        turn["session"]: session_keys[turn["text"]]
        for result in found.results.values()
        for part in result.recalled
        for turn in part["sources"]
        if turn["text"] in session_keys
    }
    for place, result in enumerate(one.results.values(), 1):
        seen = {by_id[turn["session"]] for part in result.recalled for turn in part["sources"]}
        assert seen == {transcript.key for transcript in transcripts[:place]}


@pytest.mark.slow
@pytest.mark.parametrize("way", ["store", "export"])
def test_a_store_of_ones_own_is_data_too(run: Terminal, tmp_path: Path, way: str) -> None:
    run("import", str(HARBOUR))
    with theanine.open(str(run.store)) as agent, agent.user("bo").session() as talk:
        talk.hear("I sold the boat because the engine died.")
        talk.reply()
    data = run.store
    if way == "export":
        data = save(tmp_path, "all.jsonl", run("export").out)
    with theanine.open(str(run.store)) as agent:
        before = list(agent.export())
    histories, asked = read_questions(data)
    assert [history.name for history in histories] == ["ana", "bo"]
    theirs, same = read_questions(HARBOUR)
    assert [ask.text for ask in asked] == [ask.text for ask in same]
    for ours, original in zip(histories[0].transcripts, theirs[0].transcripts, strict=True):
        assert [turn.full_text for turn in ours.turns] == [
            turn.full_text for turn in original.turns
        ]
    assert all(turn.recalled == () for turn in histories[1].transcripts[0].turns)
    found = compared(run, tmp_path / "run", "--data", str(data), "--methods", "exchange")
    assert method_results(found)[0].memories == 66
    with theanine.open(str(run.store)) as agent:
        assert list(agent.export()) == before


def test_a_store_without_a_session_has_nothing_to_compare(run: Terminal) -> None:
    with theanine.open(str(run.store)):
        pass
    ran = run.bare("compare", "--data", str(run.store), fine=False)
    assert (ran.code, "no session has ended" in ran.err) == (2, True)


def test_one_session_alone_has_nothing_to_ask(tmp_path: Path) -> None:
    with pytest.raises(theanine.UserError, match="--questions"):
        read_questions(save(tmp_path, "a.jsonl", line(text="I sold the boat.")))


def test_a_limit_spreads_over_all() -> None:
    histories, asked = read_questions(HARBOUR)
    task = compare_task(["exchange"], histories, asked, limit=3)
    assert [sample.id for group in task.groups for sample in group.samples] == [
        "exchange/1",
        "exchange/4",
        "exchange/7",
    ]
    assert task.data == compare_task(["exchange"], histories, asked).data


def two() -> list[History]:
    """Two users, who say the same things on other days."""
    first = read_histories(HARBOUR).histories[0]
    return [
        History(name=name, transcripts=first.transcripts[start : start + 2])
        for name, start in (("ana", 0), ("bo", 2))
    ]


@pytest.mark.slow
def test_users_are_kept_apart(tmp_path: Path) -> None:
    _, asked = read_questions(HARBOUR, HARBOUR.with_suffix(".questions.json"))
    both = [UserQuestion(user=name, dialogue=asked[0].dialogue) for name in ("ana", "bo")]
    found = compare(tmp_path / "run", two(), both)
    for result, history in zip(found.results.values(), two(), strict=True):
        texts = {turn.full_text for t in history.transcripts for turn in t.turns}
        said = {turn["text"] for part in result.recalled for turn in part["sources"]}
        assert said
        assert said <= texts
    assert method_results(found)[0].sessions == 4


def evil() -> tuple[list[History], Any]:
    at = read_histories(HARBOUR).histories[0].transcripts[0].at
    turns = [Utterance(text=f"I love {EVIL}", speaker=EVIL, at=at)]
    said = Utterance(text=f"{EVIL}?", speaker="Ana", at=at)
    history = History(name=EVIL, transcripts=[Transcript(key="a", turns=turns, at=at, dated=False)])
    return [history], [UserQuestion(user=EVIL, dialogue=(said,))]


def test_words_never_become_markup_on_the_page(tmp_path: Path) -> None:
    page = compare_page(replace(compare(tmp_path / "run", *evil()), name=EVIL))
    assert "alert(1)</script>" not in page
    assert page.count("<script") == 5
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="', page)
    read = page_data(page)
    assert read["questions"][0]["text"] == f"{EVIL}?"
    assert read["turns"][EVIL]["1"] == {"speaker": EVIL, "when": "", "words": f"I love {EVIL}"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.browser
@needs_browser
def test_in_a_browser(run: Terminal, tmp_path: Path, scheme: str) -> None:
    file = tmp_path / "compared.html"
    run.bare("compare", "--methods", "theanine,exchange,no-memory", "--html", str(file))
    with chromium() as browser:
        page = browser.new_page(color_scheme="light" if scheme == "light" else "dark")
        heard: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        assert page.locator("thead th").count() == 3
        assert page.locator("article:visible").count() == 15
        assert page.locator("tbody tr", has_text="Disk").locator("td.best").count() == 1
        first = page.locator("section").first
        assert first.locator("h2").inner_text() == load_questions()[0].question
        card = first.locator("article").nth(1)
        card.locator("summary").first.click()
        assert "turn" in card.locator("blockquote").first.inner_text()
        page.get_by_label("no-memory").uncheck()
        assert page.locator("article:visible").count() == 10
        assert page.locator("thead th:visible").count() == 2
        page.get_by_label("Search questions and recollections").fill("allergic to")
        assert page.locator("#count").inner_text() == "1 of 5 questions"
        page.get_by_label("Search questions and recollections").fill("zzz")
        assert page.locator("#none").is_visible()
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (int(re.findall(r"\d+", paper)[0]) < 128) == (scheme == "dark")
        assert heard == []
        assert asked == [file.as_uri()]
