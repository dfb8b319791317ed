"""What a method writes is held against gold memories and against its own source turns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from support.answering import Answering
from support.prompting import ATTACK, check_fences, check_length, check_snapshot
from support.real_data import DATA, needs_data
from theanine.cli.app import app
from theanine.errors import BadInput, UnusableReply
from theanine.testing import ScriptedServer
from theanine_bench.config import RunConfig
from theanine_bench.datasets.gold import UNTRACED, GoldMemory, read_gold
from theanine_bench.judges.memories import MATCH, SUPPORT, match, supports
from theanine_bench.metrics.memory_rules import (
    WrittenMemory,
    bag_overlap,
    content_stems,
    coverage,
    find_duplicates,
    grounding,
    overlap,
)
from theanine_bench.runs.folder import RunFolder
from theanine_bench.runs.replay import replay
from theanine_bench.runs.runner import run_task
from theanine_bench.samples import SampleResult
from theanine_bench.tasks.memory import (
    MATCHED,
    REPEATED,
    SUPPORTED,
    ByRule,
    data_hash,
    memory_task,
)

pytestmark = pytest.mark.anyio


def turn(number: int, words: str, speaker: str = "Ana") -> dict[str, Any]:
    at = f"2024-03-01T10:{number:02}:00+00:00"
    return {"turn": number, "session": 1, "speaker": speaker, "at": at, "text": words}


STORM = turn(1, "A storm sank my yellow boat in March.")
SONS = turn(2, "My two sons play chess.", "Bo")
WRITTEN = [
    WrittenMemory(id=11, text="Ana's yellow boat sank in a storm.", sources=[STORM]),
    WrittenMemory(id=12, text="A storm sank Ana's yellow boat.", sources=[STORM]),
    WrittenMemory(id=13, text="Bo wants a parrot.", sources=[SONS]),
    WrittenMemory(id=14, text="Ana!", sources=[STORM]),
]
GOLD: list[dict[str, Any]] = [
    {"text": "Ana's yellow boat sank.", "speaker": "Ana", "session": "s", "turns": []},
    {"text": "Bo's sons play chess.", "speaker": "Bo", "session": "s", "turns": []},
]


def item(written: Sequence[WrittenMemory] = WRITTEN) -> SampleResult:
    parts = [{"text": w.text, "memories": [w.id], "sources": w.sources} for w in written]
    extra = {"gold": GOLD, "speakers": ["Ana", "Bo"]}
    return SampleResult(id="h", group="h", question="?", answer="", recalled=parts, extra=extra)


# gold memories


def lines(folder: Path, name: str, records: Sequence[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text("".join(json.dumps(one) + "\n" for one in records), "utf-8")
    return file


def said(user: str, day: int, words: str, speaker: str = "Ana") -> dict[str, Any]:
    at = f"2024-03-{day:02}T10:00:00+00:00"
    return {"user": user, "session": str(day), "speaker": speaker, "text": words, "at": at}


def gold(user: str, day: int, words: str, *sources: str) -> dict[str, Any]:
    about = {"speakers": ["Ana"], "sources": list(sources)}
    return {"user": user, "session": str(day), "memory": words, **about}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    boat = "A storm sank my yellow boat in the harbour last night."
    son = "My oldest son plays chess for the school every Friday now."
    return lines(
        tmp_path,
        "talks.jsonl",
        [
            *(said(user, 1, boat) for user in ("u", "v")),
            *(said(user, 2, son) for user in ("u", "v")),
            *(gold(user, 1, "A storm sank Ana's yellow boat.", "1") for user in ("u", "v")),
            *(gold(user, 2, "Ana keeps seven parrots.") for user in ("u", "v")),
        ],
    )


def test_gold_comes_with_the_history_and_never_goes_into_it(data: Path) -> None:
    one, _ = read_gold(data)
    assert [transcript.memories for transcript in one.history.transcripts] == [(), ()]
    assert one.memories[0] == GoldMemory(
        text="A storm sank Ana's yellow boat.",
        speaker="Ana",
        session="1",
        turns=("Ana: A storm sank my yellow boat in the harbour last night.",),
    )
    assert one.dropped == {UNTRACED: 1}


def test_gold_of_persona_summaries_is_a_sentence_each(tmp_path: Path) -> None:
    for number, persona in ((2, "I like ships."), (1, "I have a boat. It is yellow.")):
        turns = [
            {"id": "bot_0", "text": "Hello."},
            {"id": "bot_1", "text": "Boats!", "persona_text": persona},
        ]
        record = {"initial_data_id": "valid_7", "dialog": turns}
        lines(tmp_path / f"session_{number}", "valid.jsonl", [record])
    (one,) = read_gold(tmp_path)
    assert one.history.name == "valid_7"
    assert [t.key for t in one.history.transcripts] == ["valid_7/session_1", "valid_7/session_2"]
    assert [w.text for w in one.memories] == ["I have a boat.", "It is yellow.", "I like ships."]
    assert {w.speaker for w in one.memories} == {"Speaker 2"}
    assert one.memories[2].turns == ("Speaker 2: Boats!",)
    lines(tmp_path / "session_3", "valid.jsonl", [{"dialog": []}])
    with pytest.raises(BadInput, match=r'valid\.jsonl, line 1: the field "initial_data_id" is'):
        read_gold(tmp_path)


def test_memories_of_what_was_never_talked_are_refused(tmp_path: Path) -> None:
    bare = tmp_path / "memories.json"
    bare.write_text(json.dumps([{"dataID": "ana", "summary": {"s1-m1": "Ana has a boat."}}]))
    with pytest.raises(BadInput, match=r"memories\.json: ana has memories and no turns.* --gold"):
        read_gold(bare)


def test_gold_of_a_second_file_goes_by_name_and_session(tmp_path: Path, data: Path) -> None:
    summary = {"s1-m1": "She sails.", "s2-m1": "Her son plays chess.", "s2-m2": "On Fridays."}
    file = tmp_path / "gold.json"
    file.write_text(json.dumps([{"dataID": "v", "summary": summary}]), "utf-8")
    (one,) = read_gold(data, file)
    assert one.history.name == "v"
    assert [(w.session, w.text) for w in one.memories] == [
        ("1", "She sails."),
        ("2", "Her son plays chess."),
        ("2", "On Fridays."),
    ]
    with pytest.raises(BadInput, match="no gold memories in it"):
        read_gold(lines(tmp_path, "bare.jsonl", [said("u", 1, "Hello there.")]))


# by words alone


async def test_the_rule_counts_what_is_said_supported_repeated_and_empty() -> None:
    scored = await ByRule().score(item(), None)
    values = {name.removeprefix("rule/"): value for name, value in scored.values.items()}
    bags = {name: values.pop(f"words-{name}") for name in ("precision", "recall", "f1")}
    assert values == {
        "precision": 0.5,
        "recall": 0.5,
        "f1": 0.5,
        "unsupported": 0.25,
        "duplicate": 0.25,
        "empty": 0.25,
        "written": 4.0,
    }
    assert 0 < bags["precision"] < bags["f1"] < bags["recall"] < 1
    rows = scored.verdict["memories"]
    assert [row["turns"] for row in rows] == [[1], [1], [2], [1]]
    assert rows[1]["repeats"] == 11
    assert [one["said by"] for one in scored.verdict["gold"]] == [[11, 12], []]
    assert set(ByRule().worst) == set(scored.values)


async def test_what_rests_on_nothing_is_unsupported_and_nothing_is_no_fault() -> None:
    bare = [WrittenMemory(id=1, text="Ana's yellow boat sank.", sources=[])]
    scored = await ByRule().score(item(bare), None)
    assert scored.values["rule/unsupported"] == 1.0
    assert scored.values["rule/precision"] == 1.0
    nothing = await ByRule().score(item([]), None)
    assert nothing.values == ByRule().worst


def test_a_memory_says_nothing_of_whom_its_turns_are_not_of() -> None:
    names = frozenset[str]()
    assert coverage(WRITTEN[:1], [("The yellow boat sank", "Ana")], names) == [[1.0]]
    assert coverage(WRITTEN[:1], [("The yellow boat sank", "Bo")], names) == [[0.0]]
    assert coverage(WRITTEN[:1], [("The yellow boat sank", "")], names) == [[1.0]]


@settings(deadline=None)
@given(st.lists(st.frozensets(st.sampled_from("abcdef")), max_size=6))
def test_repeats_point_back_to_what_is_said_once(memories: list[frozenset[str]]) -> None:
    found = find_duplicates(memories)
    assert all(earlier < place and earlier not in found for place, earlier in found.items())
    assert all(overlap(memories[a], memories[b]) >= 0.8 for a, b in found.items())


@settings(deadline=None)
@given(st.text(max_size=40), st.lists(st.text(max_size=40), max_size=4))
def test_shares_are_shares(text: str, others: list[str]) -> None:
    assert 0 <= grounding(content_stems(text), others) <= 1
    assert all(0 <= value <= 1 for value in bag_overlap([text], others))
    precision, recall, f1 = bag_overlap([text], [text])
    assert precision == recall == f1


# by a judge


def near_all(wanted: Sequence[str], memories: Sequence[str]) -> list[list[int]]:
    return [list(range(len(memories))) for _ in wanted]


def matches(*said: tuple[int, list[int]]) -> dict[str, Any]:
    found = [{"wanted": n, "explanation": "x", "memories": numbers} for n, numbers in said]
    return {"matches": found}


async def prompts(attack: str = "") -> dict[str, str]:
    texts, turns = [attack or w.text for w in WRITTEN], [STORM, SONS]
    if attack:
        turns = [{**one, "text": attack, "speaker": attack} for one in turns]
    wanted = [attack or one["text"] for one in GOLD]
    labels = {"explanation": "", "label": "supported"}
    verdicts = {"verdicts": [{"memory": n, **labels} for n in (1, 2, 3, 4)]}
    caller = Answering([matches((1, []), (2, [])), verdicts])
    await match(wanted, texts, near_all(wanted, texts), caller)
    resting = [
        replace(one, text=text, sources=[turns[one.sources[0]["turn"] - 1]])
        for one, text in zip(WRITTEN, texts, strict=True)
    ]
    await supports(resting, caller)
    return {one.step.partition("@")[0]: one.prompt for one in caller.asked}


async def test_prompts_are_read_short_and_fenced() -> None:
    calm, attacked = await prompts(), await prompts(ATTACK)
    for step in (MATCH, SUPPORT):
        check_snapshot(step.name, calm[step.name])
        check_length(step)
        check_fences(calm[step.name], attacked[step.name])


async def test_a_judge_matches_what_it_is_shown_and_faults_are_sent_back() -> None:
    caller = Answering(
        [
            matches((1, [1])),
            matches((1, [1]), (2, [3])),
            matches((1, [2, 1]), (2, [])),
        ]
    )
    found = await match(["boat", "chess", "far off"], ["a", "b", "c"], [[0, 2], [2], []], caller)
    assert found == [[0, 2], [], []]
    assert caller.faults == [
        "it needs 1 to 2, each once, not [1]",
        "there are no memories [3], only 1 to 2",
    ]
    assert "<<<memories\n1. a\n2. c\n>>>" in caller.asked[0].prompt
    assert "far off" not in caller.asked[0].prompt


async def test_match_gives_precision_and_recall_with_its_rows() -> None:
    scored = await MATCHED.score(item(), Answering([matches((1, [1, 2]))]))
    assert scored.values == {"match/precision": 0.5, "match/recall": 0.5, "match/f1": 0.5}
    assert scored.verdict["gold"][0] == {
        "gold": 1,
        "text": "Ana's yellow boat sank.",
        "said by": [11, 12],
    }
    assert scored.verdict["memories"][0] == {
        "memory": 11,
        "text": "Ana's yellow boat sank in a storm.",
        "turns": [1],
        "says": [1],
    }


async def test_support_is_judged_against_the_memories_own_turns() -> None:
    bare = WrittenMemory(id=15, text="Nobody said this.", sources=[])
    labels = ["supported", "partly", "unsupported", "empty"]
    said = [{"memory": n, "explanation": "x", "label": label} for n, label in enumerate(labels, 1)]
    caller = Answering([{"verdicts": said[:3]}, {"verdicts": said}])
    scored = await SUPPORTED.score(item([*WRITTEN, bare]), caller)
    assert scored.values == {
        "support/unsupported": 0.4,
        "support/partly": 0.2,
        "support/empty": 0.2,
    }
    assert caller.faults == ["it needs 1 to 4, each once, not [1, 2, 3]"]
    assert "[2] (1 March 2024) Bo: My two sons play chess." in caller.asked[0].prompt
    assert "3. Bo wants a parrot. [2]" in caller.asked[0].prompt
    assert scored.verdict["memories"][4]["label"] == "unsupported"


async def test_repeats_are_judged_against_earlier_memories_alone() -> None:
    caller = Answering([matches((1, [1]))])
    scored = await REPEATED.score(item(), caller)
    assert scored.values == {"repeat/duplicate": 0.25}
    assert scored.verdict["memories"] == [
        {"memory": 12, "text": WRITTEN[1].text, "turns": [1], "repeats": [11]}
    ]
    with pytest.raises(UnusableReply):
        await REPEATED.score(item(), Answering([]))


async def test_long_histories_are_asked_about_in_parts() -> None:
    wanted, memories = [f"w{n}" for n in range(25)], ["m"]
    some = [matches(*((n, [1]) for n in range(1, size + 1))) for size in (10, 10, 5)]
    caller = Answering(some)
    assert await match(wanted, memories, near_all(wanted, memories), caller) == [[0]] * 25
    long = [turn(n, "word " * 900) for n in range(4)]
    resting = [WrittenMemory(id=n, text=f"m{n}", sources=[one]) for n, one in enumerate(long)]
    labels = {"explanation": "", "label": "supported"}
    caller = Answering([{"verdicts": [{"memory": n, **labels} for n in (1, 2)]} for _ in range(2)])
    assert len(await supports(resting, caller)) == 4
    assert len(caller.asked) == 2


# whole runs


@pytest.mark.slow
async def test_every_row_names_the_turns_behind_it(tmp_path: Path, data: Path) -> None:
    plan = memory_task(read_gold(data), data_hash(data, None))
    folder = RunFolder(tmp_path / "run")
    setup = RunConfig()
    _, summary = await run_task(plan, setup, folder)
    assert summary["metrics"]["rule/recall"]["mean"] == 0.5
    assert summary["metrics"]["rule/unsupported"]["mean"] == 0.0
    assert summary["dropped"] == {UNTRACED: 2}
    for one in folder.results().values():
        rows = one.verdicts["rule"]["memories"]
        assert len(rows) == len(one.recalled) == one.scores["rule/written"]
        assert all(row["turns"] for row in rows)
        turns = {source["turn"] for part in one.recalled for source in part["sources"]}
        assert turns == {number for row in rows for number in row["turns"]}
    again = await replay(plan, setup, folder)
    assert again.different == []


@pytest.mark.parametrize("method", ["memory-update", "recursive-summary", "session"])
async def test_what_is_made_of_memories_is_traced_to_turns(
    tmp_path: Path, data: Path, method: str
) -> None:
    plan = memory_task(read_gold(data)[:1], "0")
    folder = RunFolder(tmp_path / "run")
    await run_task(plan, RunConfig(method=method), folder)
    (one,) = folder.results().values()
    assert all(part["sources"] for part in one.recalled)
    if method == "recursive-summary":  # the earlier summary is no longer live
        assert {s["session"] for part in one.recalled for s in part["sources"]} == {1, 2}


@pytest.mark.slow
async def test_other_kinds_do_not_count(tmp_path: Path, data: Path) -> None:
    plan = memory_task(read_gold(data)[:1], "0", kinds=["diary"])
    folder = RunFolder(tmp_path / "run")
    await run_task(plan, RunConfig(), folder)
    (one,) = folder.results().values()
    assert one.scores["rule/written"] == 0.0
    assert plan.data != memory_task(read_gold(data)[:1], "0").data


@pytest.mark.slow
def test_the_command_measures_without_a_key_and_with_a_judge(tmp_path: Path, data: Path) -> None:
    line = ["bench", "memory", str(data), "--limit", "1"]
    done = CliRunner().invoke(app, [*line, "--out", str(tmp_path / "a")], env={"COLUMNS": "150"})
    assert done.exit_code == 0, done.output
    assert "rule/recall" in done.output
    assert "match/" not in done.output
    with ScriptedServer() as server:
        judged = ["--judge", "openai:test", "--judge-base-url", server.base_url]
        done = CliRunner().invoke(
            app,
            [*line, *judged, "--out", str(tmp_path / "b")],
            env={"OPENAI_API_KEY": "none", "COLUMNS": "150"},
        )
    assert done.exit_code == 0, done.output
    measures = RunFolder(tmp_path / "b").summary()["metrics"]
    assert measures["match/recall"]["mean"] == 0.5
    assert {"support/unsupported", "repeat/duplicate", "rule/f1"} <= set(measures)
    assert all(one["failed"] == 0 for one in measures.values())


@pytest.mark.data
@needs_data("locomo")
def test_observations_of_locomo_name_their_turns() -> None:
    found = read_gold(DATA / "locomo" / "locomo5_dev.json")
    assert sum(len(one.memories) for one in found) == 1128
    assert all(wanted.turns for one in found for wanted in one.memories)
