"""`theanine compare` shows what each method by itself recalls, as table, JSON and page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

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
from theanine_bench.report import compare_page
from theanine_bench.tasks.compare import compare_methods
from theanine_bench.tasks.comparison import Entrant, With

METHODS = ("exchange", "memory-retrieval", "no-memory")
EVIL = "</script><script>alert(1)</script><!-- & 'quotes' \"here\" @@SCRIPTS@@"


def written(run: Terminal, file: Path, *arguments: str, fine: bool = True) -> Any:
    run.bare("compare", *arguments, "--json", str(file), fine=fine)
    return json.loads(file.read_text("utf-8"))


def test_it_shows_what_each_method_by_itself_recalls(run: Terminal, tmp_path: Path) -> None:
    found = written(run, tmp_path / "a.json", "--methods", ",".join(METHODS))
    assert [column["label"] for column in found["columns"]] == list(METHODS)
    assert [one["text"] for one in found["questions"]] == [one.question for one in load_questions()]
    history = read_histories(HARBOUR).histories[0]
    for column in found["columns"]:
        place = str(tmp_path / f"{column['label']}.db")
        with theanine.open(place, method=column["label"]) as agent:
            agent.user(history.name).log(history)
            agent.user(history.name).remember()
            assert column["memories"] == len(agent.user(history.name).memories())
            last = history.transcripts[-1].turns[-1].at
            for asked, shown in zip(load_questions(), column["answers"], strict=True):
                said = Utterance(text=asked.question, speaker="Ana", at=last)
                alone = agent.user(history.name).recall([said])
                assert [piece["text"] for piece in shown["pieces"]] == [p.text for p in alone.parts]
                back = {turn.key for turn in alone.source_turns}
                assert shown["found"] == len(back & set(asked.sources)) / len(asked.sources)


def test_it_tells_what_each_takes_and_leaves_the_users_store_alone(
    run: Terminal, tmp_path: Path
) -> None:
    ran = run.bare("compare", "--methods", "exchange,no-memory")
    assert "130 turns in 10 sessions, 5 questions" in ran.out
    for measure in ("given back", "evidence", "remember", "recall", "calls", "money", "disk"):
        assert measure in ran.out
    assert not run.store.exists()
    found = written(run, tmp_path / "a.json", "--methods", "exchange,no-memory")
    turn, nothing = found["columns"]
    assert turn["disk"] > nothing["disk"] == found["log"] > 0
    assert turn["remember_seconds"] > 0
    assert all(one["tokens"] == 0 for one in nothing["answers"])


def test_the_models_calls_are_counted_where_they_were_made(run: Terminal, tmp_path: Path) -> None:
    with ScriptedServer(answer) as server:
        model = ["--model", "openai:scripted", "--base-url", server.base_url]
        found = written(run, tmp_path / "a.json", "--methods", "theanine,exchange", *model)
        calls = len(server.calls)
    one, other = found["columns"]
    assert one["remembering"]["calls"] + one["recalling"]["calls"] == calls > 0
    assert one["recalling"]["calls"] > 0
    assert one["remembering"]["cost"] is None  # nobody knows the price of the scripted model
    assert (other["remembering"]["calls"], other["recalling"]["calls"]) == (0, 0)


def test_a_model_that_fails_is_a_failure_beside_the_others(run: Terminal, tmp_path: Path) -> None:
    file = save(tmp_path, "a.jsonl", line(text="I sold the boat because the engine died."))
    asked = save(tmp_path, "q.txt", "Where is the boat?")
    with ScriptedServer(by_step({"summarize": status(400)})) as server:
        model = ["--model", "openai:scripted", "--base-url", server.base_url]
        chosen = ["--data", str(file), "--questions", str(asked), "--methods", "exchange,theanine"]
        ran = run.bare("compare", *chosen, *model, fine=False)
        found = written(run, tmp_path / "a.json", *chosen, *model, fine=False)
    assert ran.code == 1
    assert "theanine: " in ran.err and "is not remembered" in ran.err
    assert [len(column["failures"]) for column in found["columns"]] == [0, 1]
    assert found["columns"][0]["answers"][0]["pieces"]


def test_a_recall_that_fails_counts_as_nothing_found(tmp_path: Path) -> None:
    histories, asked = read_questions(HARBOUR, HARBOUR.with_name("questions.json"), 2)
    with ScriptedServer(by_step({"refine": status(400)})) as server:
        common = With(model="openai:scripted", base_url=server.base_url)
        entrant = Entrant(label="theanine", method="theanine")
        (column,) = compare_methods([entrant], histories, asked, common).columns
    assert not column.failures and not column.complete
    assert all(one.failure and not one.pieces for one in column.answers)
    assert column.found == 0


def test_one_method_against_itself_with_another_setting(run: Terminal, tmp_path: Path) -> None:
    found = written(
        run, tmp_path / "a.json", "--methods", "exchange,few=exchange", "--set", "few.retrieved=1"
    )
    many, few = found["columns"]
    assert (few["label"], few["method"], few["settings"]) == ("few", "exchange", {"retrieved": "1"})
    assert {len(one["pieces"]) for one in few["answers"]} == {1}
    assert {len(one["pieces"]) for one in many["answers"]} == {6}


def test_a_budget_holds_for_all(run: Terminal, tmp_path: Path) -> None:
    chosen = ["--methods", "exchange,full-history", "--budget", "60"]
    found = written(run, tmp_path / "a.json", *chosen)
    tokens = [one["tokens"] for column in found["columns"] for one in column["answers"]]
    assert 0 < max(tokens) <= 60


def test_the_embedder_and_the_reranker_are_everybodys(run: Terminal, tmp_path: Path) -> None:
    chosen = ["--methods", "exchange", "--embedder", "hash:64"]
    plain = written(run, tmp_path / "a.json", *chosen)["columns"][0]["answers"]
    other = [*chosen, "--reranker", "overlap", "--rerank-depth", "20"]
    reranked = written(run, tmp_path / "b.json", *other)["columns"][0]["answers"]
    assert [one["pieces"] for one in plain] != [one["pieces"] for one in reranked]


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
        ("[", "be read as JSON"),
    ],
)
def test_questions_that_make_no_sense_name_their_place(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(theanine.UserError, match=said):
        read_questions(HARBOUR, save(tmp_path, "q", text))


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


def test_a_source_of_one_history_is_known_to_a_question_of_all() -> None:
    key = read_histories(HARBOUR).histories[0].transcripts[0].turns[0].key or ""
    said = Utterance(text="Which boat?", speaker="Ana", at=two()[0].transcripts[-1].at)
    asked = [
        UserQuestion(user=name, dialogue=(said,), gold=frozenset({("", key)}))
        for name in ("ana", "bo")
    ]
    found = compare_methods([Entrant(label="exchange", method="exchange")], two(), asked)
    assert not found.unknown
    assert [len(one.gold) for one in found.questions] == [1, 0]


def test_data_without_questions_is_asked_before_each_session_is_remembered() -> None:
    histories, asked = read_questions(HARBOUR)
    transcripts = histories[0].transcripts
    assert [ask.before for ask in asked] == [one.key for one in transcripts[1:]]
    for ask, transcript in zip(asked, transcripts[1:], strict=True):
        assert ask.dialogue[-1].role == "user"
        assert list(ask.dialogue) == list(transcript.turns[: len(ask.dialogue)])
        assert all(turn.role != "user" for turn in transcript.turns[len(ask.dialogue) :])
    entrants = [Entrant(label="u", method="utterance", settings={"retrieved": 999})]
    found = compare_methods(entrants, histories, asked)
    later: list[set[str]] = []
    with_keys = {turn.key: t.key for t in transcripts for turn in t.turns}
    for answered in found.columns[0].answers:
        turns = [n for piece in answered.pieces for n in piece.sources]
        later.append({with_keys[found.turns["ana"][n].key] for n in turns})
    for place, seen in enumerate(later, 1):
        assert seen == {one.key for one in transcripts[:place]}


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
    found = written(run, tmp_path / "a.json", "--data", str(data), "--methods", "exchange")
    assert found["columns"][0]["memories"] == 66
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


def test_a_limit_spreads_over_all(tmp_path: Path) -> None:
    _, all_of_them = read_questions(HARBOUR)
    _, few = read_questions(HARBOUR, limit=3)
    assert few == [all_of_them[0], all_of_them[3], all_of_them[6]]


def two() -> list[History]:
    """Two users, who say the same things on other days."""
    first = read_histories(HARBOUR).histories[0]
    return [
        History(name=name, transcripts=first.transcripts[start : start + 2])
        for name, start in (("ana", 0), ("bo", 2))
    ]


def test_users_are_kept_apart(tmp_path: Path) -> None:
    _, asked = read_questions(HARBOUR, HARBOUR.with_name("questions.json"), 1)
    both = [*asked, *(UserQuestion(user="bo", dialogue=ask.dialogue) for ask in asked)]
    found = compare_methods([Entrant(label="exchange", method="exchange")], two(), both)
    for question, answered in zip(found.questions, found.columns[0].answers, strict=True):
        said = {turn for piece in answered.pieces for turn in piece.sources}
        assert said
        assert said <= set(found.turns[question.user])
    assert found.sessions == 4


def evil() -> tuple[list[History], Any]:
    at = read_histories(HARBOUR).histories[0].transcripts[0].at
    turns = [Utterance(text=f"I love {EVIL}", speaker=EVIL, at=at)]
    said = Utterance(text=f"{EVIL}?", speaker="Ana", at=at)
    history = History(name=EVIL, transcripts=[Transcript(key="a", turns=turns, at=at, dated=False)])
    return [history], [UserQuestion(user=EVIL, dialogue=(said,))]


def test_words_never_become_markup_on_the_page() -> None:
    found = compare_methods([Entrant(label="exchange", method="exchange")], *evil())
    page = compare_page(found, title=EVIL)
    assert "alert(1)</script>" not in page
    assert page.count("<script") == 5
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="', page)
    data = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert data
    read = json.loads(data[1])
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
