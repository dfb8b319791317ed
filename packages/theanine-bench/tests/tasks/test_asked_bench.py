"""Histories whose right answers are known: their formats, the judgement, and the commands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from support.answering import Answering
from support.prompting import ATTACK, check_fences, check_snapshot
from support.running import Terminal
from theanine.errors import BadInput
from theanine.methods.registry import names
from theanine.testing import ScriptedServer, answer, by_step
from theanine.testing.answers import blocks_of
from theanine.types import Utterance
from theanine_bench.datasets.asked import read_asked
from theanine_bench.datasets.precision import PrecisionBench
from theanine_bench.judges.recollections import judge_recollection
from theanine_bench.tasks.asked import ask_histories

TURNS: list[dict[str, Any]] = [
    {"at": "2024-03-01T10:00", "session": "a", "role": "user", "speaker": "Ana",
     "text": "I live in Graz, near the old bridge over the river."},
    {"at": "2024-03-01T10:01", "session": "a", "role": "assistant", "speaker": "Assistant",
     "text": "A fine town."},
    {"at": "2024-06-03T10:00", "session": "b", "role": "user", "speaker": "Ana",
     "text": "I moved from Graz to Linz for the new job."},
]  # fmt: skip
CHANGE: dict[str, Any] = {
    "id": "one", "language": "en", "kind": "explicit", "turns": TURNS,
    "succession": [[0, 2]], "not_succession": [],
    "questions": [
        {"q": "Where do I live?", "form": "direct", "asks": "now", "as_of": None,
         "current": [2], "needed": [], "outdated": [0]},
        {"q": "Which choir do I sing in?", "form": "direct", "asks": "never", "as_of": None,
         "current": [], "needed": [], "outdated": []},
    ],
}  # fmt: skip
CASE: dict[str, Any] = {
    "id": "case", "test": "recall", "kind": "a time", "user": "Ana",
    "now": "2024-06-04T10:00:00+00:00",
    "log": [[turn["at"], turn["speaker"], turn["text"]] for turn in TURNS],
    "asks": [
        {"q": "What did I say yesterday?", "has": ["Linz"], "hasnt": ["old bridge"]},
        {"q": "What did I say on 12 April 2024?", "has": [], "empty": True},
    ],
}  # fmt: skip
DIARY: dict[str, Any] = {
    "user": "Ana", "turns": TURNS,
    "questions": [
        {"q": "The old bridge is closed again.", "form": "tells", "turns": [0]},
        {"q": "Which choir do I sing in?", "form": "never", "turns": [], "class": "absent"},
        {"q": "Which town was I in first?", "form": "direct", "turns": [0]},
    ],
}  # fmt: skip


def read_questions(content: Any) -> list[Any]:
    return content.get("questions") or content["asks"]


def written(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.write_text(json.dumps(content) + "\n", "utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.jsonl", CHANGE),
        ("case.json", CASE),
        ("diary.json", DIARY),
        ("diaries.jsonl", DIARY),
    ],
)
def test_each_format_is_read(tmp_path: Path, name: str, content: object) -> None:
    (history,) = read_asked(written(tmp_path, name, content))
    assert history.user == "Ana"
    assert [turn.text for turn in history.turns] == [turn["text"] for turn in TURNS]
    assert [turn.role for turn in history.turns] == ["user", "assistant", "user"]
    assert len(history.questions) == len(read_questions(content))
    assert history.questions[1].is_empty
    assert [len(each.turns) for each in history.history.transcripts] == [2, 1]


@pytest.mark.parametrize(
    "content", [{"id": "x", "turns": [], "questions": []}, {"questions": [{"q": "x"}]}, {}, []]
)
def test_what_is_no_history_is_named(tmp_path: Path, content: object) -> None:
    path = written(tmp_path, "odd.json", content)
    with pytest.raises(BadInput, match="odd"):
        read_asked(path)


def test_the_state_that_holds_is_told_from_the_outdated_one(tmp_path: Path) -> None:
    histories = read_asked(written(tmp_path, "c.jsonl", CHANGE))

    async def ask(method: str, limit: int) -> list[tuple[bool, bool, bool]]:
        asked = ask_histories(histories, method, {"x": {"limit": limit}})
        return [(each.shown, each.first, each.outdated) async for each in asked]

    first, never = anyio.run(ask, "theanine", 1)
    assert first == (True, True, False)
    assert never == (False, False, False)


@pytest.mark.parametrize(
    ("command", "name", "content", "column"),
    [
        ("changes", "c.jsonl", CHANGE, "outdated"),
        ("never", "c.jsonl", CHANGE, "empty"),
        ("times", "case.json", CASE, "right"),
        ("identifiers", "case.json", CASE, "right"),
        ("never", "diaries.jsonl", DIARY, "absent"),
        ("statements", "diary.json", DIARY, "recall"),
        ("questions", "diaries.jsonl", DIARY, "BM25, limit 3"),
    ],
)
def test_each_command_prints_its_figures(
    run: Terminal, tmp_path: Path, command: str, name: str, content: object, column: str
) -> None:
    path = str(written(tmp_path, name, content))
    printed = run.bare("bench", command, path).out
    assert column in printed
    figures = run.bare("bench", command, path, "--json").json
    for name, row in figures.items():
        assert row.pop("n") and name in printed
        assert all(column in printed for column in row)


def test_plain_search_is_measured_beside(run: Terminal, tmp_path: Path) -> None:
    path = str(written(tmp_path, "c.jsonl", CHANGE))
    figures = run.bare("bench", "changes", path, "--json").json
    assert figures["newest, limit 3"]["first"] == 1  # the newest turn tells the state that holds
    assert {"BM25, limit 3", "vectors, limit 3"} < figures.keys()
    plain = run.bare("bench", "changes", path, "--no-baselines", "--json").json
    assert plain.keys() == figures.keys() - {f"{b}, limit 3" for b in ("BM25", "vectors", "newest")}


def test_languages_are_told_apart_where_there_are_several(run: Terminal, tmp_path: Path) -> None:
    german = {**DIARY, "language": "de"}
    lines = "".join(json.dumps(diary) + "\n" for diary in (DIARY, german))
    path = tmp_path / "two.jsonl"
    path.write_text(lines, "utf-8")
    printed = run.bare("bench", "questions", str(path), "--no-baselines").out
    assert "By language" in printed
    one = str(written(tmp_path, "one.jsonl", DIARY))
    assert "By language" not in run.bare("bench", "questions", one, "--no-baselines").out


def test_all_methods_are_compared_in_one_table(run: Terminal, tmp_path: Path) -> None:
    changes = str(written(tmp_path, "c.jsonl", CHANGE))
    diaries = str(written(tmp_path, "diaries.jsonl", DIARY))
    printed = run.bare("bench", "methods", changes, diaries)
    assert "5 questions on 2 histories" in printed.out
    assert all(name in printed.out for name in names())
    rows = run.bare(
        "bench",
        "methods",
        changes,
        diaries,
        "--methods",
        "theanine,no-memory,full-history",
        "--json",
    ).json
    assert rows["theanine"]["holds"]["mean"] == 1
    assert rows["no-memory"]["never"]["mean"] == rows["no-memory"]["lost"]["mean"] == 1
    assert rows["full-history"]["never"]["mean"] == 0
    assert rows["full-history"]["found"] == {"mean": 1, "low": 1, "high": 1, "n": 1}  # a share
    holds = {"mean": 1, "low": pytest.approx(0.2, abs=0.05), "high": 1, "n": 1}  # yes or no
    assert rows["theanine"]["holds"] == holds
    assert rows["full-history"]["precision"]["mean"] == pytest.approx(1 / 3)
    small = run.bare(
        "bench", "methods", changes, diaries, "--methods", "full-history", "--budget", "1", "--json"
    ).json
    assert small["full-history"]["tokens"] <= 1


def test_what_a_model_costs_is_beside_what_it_finds(run: Terminal, tmp_path: Path) -> None:
    path = str(written(tmp_path, "c.jsonl", CHANGE))
    with ScriptedServer() as server:
        model = ["--model", "openai:scripted", "--base-url", server.base_url]
        chosen = ["--methods", "theanine-paper,full-history", *model]
        rows = run.bare("bench", "methods", path, *chosen, "--json").json
        calls = len(server.requests)
    paper, plain = rows["theanine-paper"], rows["full-history"]
    assert paper["calls a session"] * 2 + paper["calls a recall"] * 2 == calls > 2
    assert paper["tokens a session"] > 0
    assert plain["calls a session"] == plain["calls a recall"] == 0
    assert paper["pending"] == plain["pending"] == paper["fell back"] == 0


def test_what_a_model_gave_nothing_usable_for_is_beside_what_was_found(
    run: Terminal, tmp_path: Path
) -> None:
    path = str(written(tmp_path, "c.jsonl", CHANGE))
    with ScriptedServer(by_step({"memos": answer}, "I'd rather not.")) as server:
        model = ["--model", "openai:scripted", "--base-url", server.base_url]
        chosen = ["--methods", "theanine-paper,memochat:retrieved=1,full-history", *model]
        rows = run.bare("bench", "methods", path, *chosen, "--json").json
    shares = [(row["pending"], row["fell back"]) for row in rows.values()]
    assert shares == [(1, 0), (0, 2 / 4), (0, 0)]


def test_a_file_without_such_questions_is_refused(run: Terminal, tmp_path: Path) -> None:
    path = str(written(tmp_path, "c.jsonl", CHANGE))
    done = run.bare("bench", "times", path, fine=False)
    assert done.code == 2
    assert "no question of this kind" in done.err


def belief(id: str, content: str, **other: Any) -> dict[str, Any]:
    return {
        "_id": id, "user_id": "test-user", "type": "preference", "canonical_name": id,
        "aliases": [], "content": content, "why_it_matters": "", "scope": ["domain:code"],
        "pinned": False, "superseded_by": None, "resolved_at": None, **other,
    }  # fmt: skip


def test_precision_is_scored_as_the_benchmark_does(tmp_path: Path) -> None:
    beliefs = [
        belief("redis", "Caches sessions in Redis."),
        belief("tabs", "Indents with tabs."),
        belief("terse", "Wants terse answers.", pinned=True),
        belief("both", "Uses both.", type="relation", participants=["redis", "tabs"]),
    ]
    cases: list[dict[str, Any]] = [
        {"caseId": "exact", "category": "a", "scope": ["domain:code"], "query": "redis",
         "expect": {"relevantBeliefs": {"shouldOnlyInclude": ["redis"]}}},
        {"caseId": "empty", "category": "a", "scope": ["domain:code"], "query": "",
         "expect": {"relevantBeliefs": {"shouldOnlyInclude": []}}},
        {"caseId": "relation", "category": "b", "scope": ["domain:code"], "query": "both",
         "expect": {"relevantBeliefs": {"mustInclude": ["redis", "terse"], "mustExclude": []}}},
    ]  # fmt: skip
    written(tmp_path, "beliefs.seed.json", beliefs)
    written(tmp_path, "retrieval.cases.json", cases)
    bench = PrecisionBench(tmp_path)
    answers = {"redis": ["redis", "tabs"], "both": ["both"]}

    async def search(user: str, query: str, scope: str) -> list[str]:
        return answers[query]

    async def score() -> list[tuple[float | None, float | None, bool, bool]]:
        scored = [await bench.score(case, search) for case in bench.cases]
        return [(each.precision, each.recall, each.passed, each.is_active) for each in scored]

    assert anyio.run(score) == [
        (0.5, 1.0, False, False),  # one too many
        (None, None, True, False),  # rightly nothing
        (1 / 3, 1.0, True, True),  # the relation brings its participants
    ]


def test_precision_prints_its_figures(run: Terminal, tmp_path: Path) -> None:
    written(tmp_path, "beliefs.seed.json", [belief("redis", "Caches sessions in Redis.")])
    cases: list[dict[str, Any]] = [
        {"caseId": "exact", "category": "a", "scope": ["domain:code"], "query": "Redis sessions",
         "expect": {"relevantBeliefs": {"shouldOnlyInclude": ["redis"]}}},
    ]  # fmt: skip
    written(tmp_path, "retrieval.cases.json", cases)
    figures = run.bare("bench", "precision", str(tmp_path), "--json").json
    assert figures["default"] == {"precision": 1.0, "recall": 1.0, "active": 1, "passed": 1}
    missing = run.bare("bench", "precision", str(tmp_path / "none"), fine=False)
    assert missing.code == 2
    assert "beliefs.seed.json" in missing.err


def _judging(body: Mapping[str, Any]) -> str:
    """Judge by the words: what is said is right, what is outdated is that."""
    prompt = body["messages"][-1]["content"]
    blocks = blocks_of(prompt)
    told = [line.rpartition(": ")[2] for line in blocks["said"].splitlines()]
    old = [line.rpartition(": ")[2] for line in blocks["outdated"].splitlines()]
    label = "nothing"
    if any(words in blocks["recollection"] for words in told):
        label = "right"
    elif any(words in blocks["recollection"] for words in old):
        label = "outdated"
    return json.dumps({"explanation": "so it reads", "label": label})


def test_a_model_judges_what_is_told_in_whatever_words(run: Terminal, tmp_path: Path) -> None:
    path = str(written(tmp_path, "c.jsonl", CHANGE))
    with ScriptedServer(_judging) as server:
        judge = ["--judge", "openai:scripted", "--judge-base-url", server.base_url]
        chosen = ["--methods", "full-history,utterance,no-memory", *judge]
        rows = run.bare("bench", "methods", path, *chosen, "--json").json
        prompts = [blocks_of(call.body["messages"][-1]["content"]) for call in server.calls]
    full, nothing = rows["full-history"], rows["no-memory"]
    assert full["told"]["mean"] == 1 and full["misled"]["mean"] == 0
    assert nothing["told"]["mean"] == 0  # without a call
    assert rows["utterance"]["told"]["mean"] == 1
    assert len(prompts) == full["told"]["n"] + nothing["told"]["n"]
    assert [*prompts[0]] == ["question", "said", "outdated", "recollection"]
    plain = run.bare("bench", "methods", path, "--methods", "full-history", "--json").json
    assert plain["full-history"].keys() == full.keys() - {"told", "misled"}


def test_the_prompt_of_the_judge_of_recollections() -> None:
    async def ask(text: str) -> str:
        said = Utterance(text=text, speaker="Ana", at=datetime(2024, 5, 3, tzinfo=UTC))
        caller = Answering([{"explanation": "it says so", "label": "right"}])
        asked = judge_recollection(text, text, said=[said], outdated=[], judge=caller)
        assert await asked == "right"
        return caller.asked[0].prompt

    calm = anyio.run(ask, "I live in Porto.")
    check_snapshot("judge-recalled", calm)
    check_fences(calm, anyio.run(ask, ATTACK))
