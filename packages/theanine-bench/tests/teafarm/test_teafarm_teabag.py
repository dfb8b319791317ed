"""TeaBag in every plausible spelling of its fields."""

from __future__ import annotations

import csv
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from support.running import Terminal
from theanine.errors import BadInput, SettingsError
from theanine_bench.teafarm.sources import from_histories
from theanine_bench.teafarm.task import teafarm_task
from theanine_bench.teafarm.teabag import TeaBag, is_teabag, read_teabag

SIX = [
    ["Speaker 1: Hello again.", "Speaker 2: Hi!", "Speaker 1: How was your trip to Japan?"],
    ["Speaker 2: Hi.", "Speaker 1: Hello.", "Speaker 2: Speaker 2: Is the car new?"],
]
ASKED = [
    {"question": "How was your trip to Japan?", "answer": "I have never been there."},
    {"question": "Speaker 2: Is the car new?", "answer": "Speaker 1: I have no car."},
]


def talk(number: int) -> list[str]:
    return [f"Speaker 1: This is talk {number}.", f"Speaker 2: Yes, number {number}: indeed."]


def listed() -> dict[str, Any]:
    sessions = {f"session{n}": talk(n) for n in range(1, 6)}
    return {"id": "e1", **sessions, "questions": ASKED, "session6": SIX}


def numbered() -> dict[str, Any]:
    sessions = {f"Session_{n}": "\n".join(talk(n)) for n in range(1, 6)}
    entries = {
        f"{name}_{n}": entry[name]
        for n, entry in enumerate(ASKED, 1)
        for name in ("question", "answer")
    }
    return {"dataset": "MSC", "episode_id": "e1", **sessions, **entries,
            "session6_1": SIX[0], "session6_2": SIX[1]}  # fmt: skip


def short() -> dict[str, Any]:
    sessions = {f"session{n}": talk(n) for n in range(1, 6)}
    first, two = ASKED
    return {"id": "e1", **sessions, "q1": first["question"], "a1": first["answer"], "q2": two,
            "session6_q1": SIX[0], "session6_q2": SIX[1], "model": "x"}  # fmt: skip


def chronicles() -> dict[str, Any]:
    names = ("first", "second", "third", "fourth", "fifth")
    sessions: dict[str, Any] = {}
    for number, name in enumerate(names, 1):
        sessions[f"{name} session dialogue"] = [line.partition(": ")[2] for line in talk(number)]
        sessions[f"{name} session speakers"] = ["Speaker 1", "Speaker 2"]
    inside = [{**entry, "session 6": led} for entry, led in zip(ASKED, SIX, strict=True)]
    gaps = ["Start", "A few weeks after", *["A few days after"] * 3]
    return {"dataID": "e1", "time interval": gaps, **sessions, "counterfactual_qa": inside}


def objects() -> dict[str, Any]:
    sessions = [
        {
            "dialogue": [
                dict(zip(("speaker", "text"), line.split(": ", 1), strict=True)) for line in talk(n)
            ]
        }
        for n in range(1, 6)
    ]
    by_speaker = {
        f"Speaker {n}": {**entry, "session6": led}
        for n, (entry, led) in enumerate(zip(ASKED, SIX, strict=True), 1)
    }
    return {"id": "e1", "sessions": sessions, "qa": by_speaker}


def parallel() -> dict[str, Any]:
    lists = {f"{name}s": [entry[name] for entry in ASKED] for name in ("question", "answer")}
    sessions = {f"session{n}": talk(n) for n in range(1, 6)}
    return {"id": "e1", **sessions, **lists, "session6": SIX}


def in_one() -> dict[str, Any]:
    lists = {name: [entry[name] for entry in ASKED] for name in ("question", "answer")}
    return {"id": "e1", "sessions": [talk(n) for n in range(1, 6)], "qa": lists, "session6": SIX}


def pairs() -> dict[str, Any]:
    entries = [[entry["question"], entry["answer"]] for entry in ASKED]
    return {"id": "e1", "sessions": [talk(n) for n in range(1, 6)], "qas": entries, "session6": SIX}


RAW = {
    "marks": "[Question 1]\n{0}\n[Answer 1]\nSpeaker 2: {1}\n[Question 2]\n{2}\n[Answer 2]\n{3}",
    "no first mark": "{0}\n[Answer 1]: {1}\n\n[Question 2]:\n{2}\n[Answer 2]\n{3}\n",
    "short": "Q1: {0}\nA1: {1}\nQ2: {2}\nA2: {3}",
    "bold": "**Question 1:** {0}\n**Answer 1:** {1}\n\n**Question 2:** {2}\n**Answer 2:** {3}",
    "lines": "Speaker 1: {0}\nSpeaker 2: {1}\n{2}\n{3}",
}


def raw(form: str) -> str:
    return RAW[form].format(*(entry[name] for entry in ASKED for name in ("question", "answer")))


def as_text(form: str) -> Any:
    def made() -> dict[str, Any]:
        sessions = {f"session{n}": talk(n) for n in range(1, 6)}
        return {"id": "e1", **sessions, "counterfactual_qa": raw(form), "session6": SIX}

    made.__name__ = form
    return made


def a_row_each() -> list[dict[str, Any]]:
    sessions = {f"session{n}": talk(n) for n in range(1, 6)}
    return [
        {"dataset": "MSC", "id": "e1", **sessions, **entry, "session6": led}
        for entry, led in zip(ASKED, SIX, strict=True)
    ]


def write_table(file: Path, rows: list[dict[str, Any]], dump: Any) -> None:
    """Write rows with their lists and objects as texts in cells."""
    cells = [{k: v if isinstance(v, str) else dump(v) for k, v in row.items()} for row in rows]
    with file.open("w", encoding="utf-8", newline="") as out:
        delimiter = "\t" if file.suffix == ".tsv" else ","
        writer = csv.DictWriter(out, [*cells[0]], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(cells)


def read(folder: Path, value: Any, name: str = "teabag.json") -> TeaBag:
    file = folder / name
    file.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    assert is_teabag(file)
    return read_teabag(file)


FORMS = [listed, numbered, short, chronicles, objects, parallel, in_one, pairs, a_row_each]


@pytest.mark.parametrize("form", [*FORMS, *map(as_text, RAW)], ids=lambda form: form.__name__)
@pytest.mark.parametrize("name", ["t.json", "t.csv", "t.tsv", "python.csv", "t.parquet"])
def test_every_spelling_gives_the_same_questions(tmp_path: Path, form: Any, name: str) -> None:
    made: Any = form()
    rows: list[dict[str, Any]] = [made] if isinstance(made, dict) else made
    file = tmp_path / name
    if name == "t.parquet":
        table = pytest.importorskip("pyarrow").Table.from_pylist(rows)
        pytest.importorskip("pyarrow.parquet").write_table(table, file)
    elif name == "t.json":
        file.write_text(json.dumps(rows), "utf-8")
    else:
        write_table(file, rows, repr if name == "python.csv" else json.dumps)
    assert is_teabag(file)
    bag = read_teabag(file)
    first, two = bag.question_file.questions
    assert (first.user, first.asks, first.answers) == ("e1", "Speaker 1", "Speaker 2")
    assert (first.text, first.answer) == (ASKED[0]["question"], "I have never been there.")
    assert (two.asks, two.answers) == ("Speaker 2", "Speaker 1")
    assert (two.text, two.answer) == ("Is the car new?", "I have no car.")
    assert first.session == (("Speaker 1", "Hello again."), ("Speaker 2", "Hi!"))
    assert two.session[:2] == (("Speaker 2", "Hi."), ("Speaker 1", "Hello."))
    (history,) = bag.histories
    assert [len(t.turns) for t in history.transcripts] == [2] * 5
    assert history.transcripts[2].turns[1].text == "Yes, number 3: indeed."
    assert not any(t.dated for t in history.transcripts)
    (group,) = teafarm_task(
        bag.question_file, from_histories(bag.histories, bag.hash), "openai:x"
    ).groups
    assert [case.speaker for case in group.samples] == ["Speaker 2", "Speaker 1"]
    assert group.samples[0].dialogue[-1].text == ASKED[0]["question"]


def test_the_fields_that_were_read_and_those_that_were_not_are_told(
    run: Terminal, tmp_path: Path
) -> None:
    bag = read(tmp_path, [short(), {**short(), "id": "e2"}])
    assert bag.unread == {"model": 2}
    assert {"session 1", "q 1", "a 1", "q 2", "session 6 q 2", "id"} <= bag.read.keys()
    shown = run.bare("bench", "data", str(tmp_path / "teabag.json"), "--check").out
    assert "fields read: a 1, id, q 1, q 2, session 1" in shown
    assert "2 episodes with 'model', not read" in shown


def test_files_of_many_episodes(tmp_path: Path) -> None:
    two = [{**listed(), "id": "a"}, {**listed(), "id": "b"}]
    lines = "\n".join(json.dumps(episode) for episode in two)
    named = {"a": listed(), "b": listed()}
    for value in (two, lines, named):
        assert [history.name for history in read(tmp_path, value).histories] == ["a", "b"]
    assert len(read(tmp_path, two).question_file.questions) == 4


@pytest.mark.parametrize(
    ("name", "more", "data_set"),
    [
        ("teabag_msc.json", {}, "MSC"),
        ("cc-test.json", {}, "CC"),
        ("teabag.json", {"dataset": "Conversation Chronicles"}, "CC"),
        ("teabag.json", {}, ""),
        ("accents.json", {}, ""),
    ],
)
def test_data_set_is_named_by_field_or_file(
    tmp_path: Path, name: str, more: dict[str, Any], data_set: str
) -> None:
    bag = read(tmp_path, [{**listed(), **more}], name)
    assert {question.data_set for question in bag.question_file.questions} == {data_set}


def test_the_gaps_between_sessions_are_kept(tmp_path: Path) -> None:
    (history,) = read(tmp_path, [chronicles()]).histories
    days = [(t.at - history.transcripts[0].at).days for t in history.transcripts]
    assert days[1] == 21 and days[2] == 24


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([{"id": "e"}], "episode 1: no sessions in it .* fields id"),
        ([{"id": "e", "session1": talk(1)}], "episode 1: no questions in it .* session 1"),
        (
            [{**listed(), "questions": [{"question": "Q"}]}],
            "question e1/1 has no text or no answer",
        ),
        ([{**listed(), "questions": [3]}], "episode 1, question 1: it is no JSON object"),
        ([{**listed(), "questions": {"Ana": 3}}], "the question of Ana: it is no JSON object"),
        ([{**listed(), "time interval": True}], "its time interval is no list"),
        ([listed(), 3], "episode 2: it is no JSON object"),
        ("{ no", "invalid JSON"),
    ],
)
def test_missing_fields_are_reported(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read(tmp_path, value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "", "it has no rows"),
        ("t.csv", "a,b\n1,2,3\n", "more cells than there are columns"),
        ("t.csv", 'a,b\n"1"2,3\n', "expected after"),
        ("t.tsv", "id\tsession1\n1\tA: Hi\n", "episode 1: no questions in it"),
    ],
)
def test_a_faulty_table_is_reported(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(BadInput, match=message):
        read_teabag(tmp_path / name)


@pytest.mark.skipif(find_spec("pyarrow") is not None, reason="pyarrow is installed")
def test_parquet_names_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(SettingsError, match=r"t\.parquet needs pyarrow: pip install pyarrow"):
        read_teabag(tmp_path / "t.parquet")


def test_question_file_is_not_teabag(tmp_path: Path) -> None:
    for text in ("[ana/1]\nasks: A\n", "data: x\n", ""):
        (tmp_path / "q.txt").write_text(text, "utf-8")
        assert not is_teabag(tmp_path / "q.txt")
    with pytest.raises(BadInput, match="can't be read"):
        is_teabag(tmp_path / "no.txt")
