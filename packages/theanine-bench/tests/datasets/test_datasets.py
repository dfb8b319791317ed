"""The readers of public sets, on small samples of our own in the published forms."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.dataset_samples import causal_graph, locomo_questions, long_mt
from support.history_samples import msc, save
from support.real_data import DATA, needs_data
from support.running import Terminal
from theanine.errors import BadInput
from theanine_bench.datasets.evidence import read_evidence
from theanine_bench.datasets.formats.causaleval import CausalEdge, read_causal_graphs
from theanine_bench.datasets.formats.longmt import ONE_SIDED
from theanine_bench.datasets.formats.memorybank import STRAY
from theanine_bench.datasets.qa import read_qa
from theanine_bench.datasets.reading import surrounding_indices
from theanine_bench.datasets.registry import resolve_data_path
from theanine_bench.datasets.responses import read_responses
from theanine_bench.files import read_json
from theanine_bench.tasks.check_data import check_dataset
from theanine_methods.segmentation import exchanges


@pytest.mark.parametrize("lines", [False, True])
def test_long_mt_bench_has_exchanges_questions_and_answers(tmp_path: Path, lines: bool) -> None:
    rows = long_mt() * 2
    rows[1] = {**rows[1], "conversation_id": "c2"}
    text = "\n".join(map(json.dumps, rows)) if lines else rows
    group, _ = read_qa(save(tmp_path, "long.jsonl" if lines else "long.json", text))
    [history] = group.stages[0].histories
    said = [[(t.speaker, t.role, t.text) for t in one.turns] for one in history.transcripts]
    assert said == [
        [
            ("user", "user", "Which glue holds oak?"),
            ("assistant", "assistant", "Bone glue.\n\n1. Warm it."),
            ("user", "user", "Just this."),
        ],
        [("user", "user", "Name a gull."), ("assistant", "assistant", "Kittiwake.")],
    ]
    assert [(c.id, c.reference) for c in group.samples] == [("c1/1", "Bone glue."), ("c1/2", "")]
    assert group.dropped == {"questions without words": 1}
    assert history.notes == {ONE_SIDED: 1}
    assert not any(one.dated for one in history.transcripts)


def test_evidence_of_long_mt_bench_follows_from_the_topics_of_mt_bench(tmp_path: Path) -> None:
    def turn(text: str, topic: str) -> dict[str, str]:
        return {"from": "human", "value": text, "turn-info": topic}

    def chat(closing: str) -> dict[str, Any]:
        turns = [turn("Which glue holds oak?", "stem-1-0"), turn("And elm?", "stem-1-1")]
        return {
            "id": closing,
            "conversations": [*turns, turn("Name a gull.", "math-2-0"), turn(closing, "stem-1-Q")],
        }

    sessions = [
        [f"[human]: {text}\n[bot]: So." for text in texts]
        for texts in (
            ["Name a gull.", "Hello."],
            ["Which glue holds oak?", "And elm?", "Name a gull."],
        )
    ]
    asked = ["Which  glue did you name?", "Which bird?", "Which wood?"]
    row = {"conversation_id": "c", "sessions": sessions, "questions": asked, "answers": []}
    path = save(tmp_path, "long.json", [row])
    assert read_evidence(path)[0].questions == ()
    other = chat("Which wood?")
    other["conversations"][1:3] = [turn("Elsewhere.", "stem-1-1"), turn("Far.", "stem-1-2")]
    save(tmp_path, "mtbenchplus.json", [chat("Which glue did you name?"), other])
    [labeled] = read_evidence(path)
    [question] = labeled.questions
    assert question.gold == {("c/2", key) for key in "1234"}
    assert labeled.dropped == {"questions without evidence": 2}


def conditional(folder: Path) -> Path:
    """A sample of each task, as the authors' programs name and write them."""

    def turns(*texts: str) -> list[dict[str, str]]:
        roles = ("user", "assistant")
        return [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]

    sessions = [turns("I drive a tram.", "Nice."), turns("I moved to Split.", "By the sea!")]
    knowledge = "\n".join(map(json.dumps, sessions)) + "\n"
    save(folder, "data_msc/msc_test_history_12.txt", knowledge)
    asked = turns("What do I drive?", "You drive a tram.", "Where do I live?", "In Split.", "And?")
    save(folder, "data_msc/msc_test_reference_12.txt", asked)
    save(folder, "data_msc/msc_test_history_9.txt", [turns("I knit.", " ")])
    save(folder, "data_msc/msc_test_reference_9.txt", turns("What do I do?", "You knit."))
    save(folder, "data_msc/msc_test_history_3.txt", turns("Alone", "here"))
    save(folder, "data2/refine_test_history_48.txt", turns("Name a sport.", "Chess.", "Shorter!"))
    save(folder, "data2/refine_test_reference_48.txt", turns("Name a fruit.", "Fig."))
    save(folder, "code/code_test_history_200.txt", turns("Plot it.", "import plot"))
    save(folder, "code/code_test_reference_200.txt", turns("Now in red.", "plot(red)"))
    return folder


def test_conditional_memory_has_three_tasks(tmp_path: Path) -> None:
    groups = read_qa(conditional(tmp_path))
    asked = [
        (c.category, c.id, c.dialogue[-1].text, c.reference) for g in groups for c in g.samples
    ]
    assert asked == [
        ("continue", "continue-200/1", "Now in red.", "plot(red)"),
        ("knowledge", "knowledge-9/1", "What do I do?", "You knit."),
        ("knowledge", "knowledge-12/1", "What do I drive?", "You drive a tram."),
        ("knowledge", "knowledge-12/2", "Where do I live?", "In Split."),
        ("feedback", "feedback-48/1", "Name a fruit.", "Fig."),
    ]
    assert [len(group.stages[0].histories[0].transcripts) for group in groups] == [1, 1, 2, 1]
    assert [group.dropped for group in groups] == [
        {"samples that can't be asked": 1},
        {"empty turns": 1},
        {"test turns without a reference": 1},
        {},
    ]
    assert len(read_qa(tmp_path / "data2")) == 1


def coqa(count: int) -> dict[str, Any]:
    story = "Mia has a goat. It eats hats.\nHer brother hides his hat."
    return {
        "version": "1.0",
        "data": [
            {
                "id": f"p{number}",
                "source": "mctest",
                "story": story,
                "questions": [
                    {"input_text": "What does Mia have?", "turn_id": 1},
                    {"input_text": "What does it eat?", "turn_id": 2},
                    {"input_text": "How old is it?", "turn_id": 3},
                    {"input_text": "Lost?", "turn_id": 4},
                ],
                "answers": [
                    {"input_text": "a goat", "span_start": 8, "span_end": 14, "turn_id": 1},
                    {"input_text": "hats", "span_start": 16, "span_end": 28, "turn_id": 2},
                    {"input_text": "unknown", "span_start": -1, "span_end": -1, "turn_id": 3},
                ],
            }
            for number in range(count)
        ],
    }


def test_a_coqa_passage_stands_among_the_ten_around_it(tmp_path: Path) -> None:
    groups = read_qa(save(tmp_path, "coqa.json", coqa(14)))
    assert len(groups) == 14
    [history] = groups[7].stages[0].histories
    keys = [transcript.key for transcript in history.transcripts]
    assert keys == [f"coqa/p{number}" for number in range(2, 13)]
    assert [turn.text for turn in history.transcripts[0].turns] == [
        "Mia has a goat.", "It eats hats.", "Her brother hides his hat.",
    ]  # fmt: skip
    first, second, third = groups[7].samples
    assert [turn.text for turn in second.dialogue] == [
        "What does Mia have?", "a goat", "What does it eat?",
    ]  # fmt: skip
    assert (first.reference, second.extra["gold"]) == ("a goat", [["coqa/p7", "2"]])
    assert (third.extra["answerable"], third.extra["gold"]) == (False, [])
    assert groups[0].dropped == {"questions without words or an answer": 1}
    assert first.dialogue[0].at > history.transcripts[-1].turns[-1].at


def persona_chat(tmp_path: Path, count: int) -> Path:
    file = tmp_path / "chats.csv"
    with file.open("w", newline="", encoding="utf-8") as out:
        table = csv.writer(out)
        table.writerow(["user 1 personas", "user 2 personas", "Best Generated Conversation"])
        for number in range(count):
            said = (
                f'User 1: Hi {number}.\n\nUser 2: Hello,\nI am back.\nUser 1: "Good".\nuser 2: Yes.'
            )
            table.writerow(["I row.\nI knit.", "I keep bees.", said])
        table.writerow(["I row.", "I sing.", "nothing that can be read"])
    return file


def test_a_persona_chat_stands_among_the_five_around_it(tmp_path: Path) -> None:
    groups = read_responses(persona_chat(tmp_path, 8))
    [history] = groups[4].stages[0].histories
    names = [transcript.key for transcript in history.transcripts]
    assert names == [f"persona-chat/{number}" for number in (3, 4, 6, 7, 8)]
    first, second = groups[4].samples
    said = [(turn.speaker, turn.text) for turn in second.dialogue]
    assert said == [
        ("User 1", "I row. I knit."),
        ("User 2", "I keep bees."),
        ("User 1", "Hi 4."),
        ("User 2", "Hello, I am back."),
        ("User 1", '"Good".'),
    ]
    assert (first.reference, second.reference, second.speaker) == (
        "Hello, I am back.", "Yes.", "User 2",
    )  # fmt: skip
    assert second.extra["persona"]["User 2"] == ["I keep bees."]
    assert groups[0].dropped == {"chats that can't be read": 1}


def memory_bank(tmp_path: Path) -> Path:
    days = {
        "2023-04-27": [{"query": "I swim.", "response": "Good."}, {"query": "", "response": ""}]
    }
    save(tmp_path, "memory_bank_xy.json", {" Ana ": {"name": " Ana ", "history": days}})
    asked = {" Ana": ["What do I do?", '"When did I say so?"', 'What is "it"?', ""], "Bo": ["?"]}
    save(tmp_path, "probing_questions_xy.jsonl", json.dumps(asked) + "\n")
    return tmp_path


@pytest.mark.parametrize("path", ["", "memory_bank_xy.json"])
def test_memorybank_has_questions_beside_its_users(tmp_path: Path, path: str) -> None:
    [group] = read_qa(memory_bank(tmp_path) / path)
    assert [case.dialogue[-1].text for case in group.samples] == [
        "What do I do?", "When did I say so?", 'What is "it"?',
    ]  # fmt: skip
    assert {case.dialogue[-1].speaker for case in group.samples} == {"Ana"}
    assert group.stages[0].histories[0].notes[STRAY] == 1
    assert group.dropped == {
        "questions of users who are not there": 1,
        "turns or days that can't be read": 1,
    }
    (tmp_path / "probing_questions_xy.jsonl").unlink()
    with pytest.raises(BadInput, match=r"are missing: probing_questions_xy\.jsonl"):
        read_qa(tmp_path)


def test_labels_that_are_none_and_turns_that_are_faulty_are_counted(tmp_path: Path) -> None:
    record = locomo_questions([["D2:1", "D:1:2"], ["D2:2; D9:9"], []])
    record[0]["conversation"]["session_1"][0]["text"] = ""
    [one] = read_evidence(save(tmp_path, "pair.json", record))
    assert one.dropped == {
        "turns that can't be read": 1,
        "labels that can't be read": 1,
        "labels of no turn": 1,
        "questions without evidence": 1,
    }


def test_a_haystack_with_empty_turns_is_read_all_the_same(tmp_path: Path) -> None:
    record = {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "What did I adopt?",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/21 (Sun) 02:21"],
        "haystack_session_ids": ["s2"],
        "haystack_sessions": [
            [
                {"role": "user", "content": ""},
                {"role": "user", "content": "I adopted a parrot.", "has_answer": True},
            ],
        ],
        "answer_session_ids": ["s2", "s9"],
        "answer": "a parrot",
    }
    second = {**record, "question_id": "q2"}
    one, two = read_evidence(save(tmp_path, "long.json", [record, second]))
    assert one.dropped == {"turns that can't be read": 1, "sessions of no haystack": 1}
    assert [question.gold for question in two.questions] == [{("q2/s2", "2")}]


def test_msc_is_read_as_it_is_published(tmp_path: Path) -> None:
    file = save(tmp_path, "session_3/test.txt", (json.dumps(msc()) + "\n") * 2)
    [group] = read_responses(file, [3])
    assert [case.reference for case in group.samples] == ["How was it?"]


@given(st.integers(1, 40), st.integers(0, 12), st.data())
def test_the_samples_around_are_the_nearest_and_never_itself(
    count: int, others: int, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, count - 1))
    found = surrounding_indices(place, count, others)
    assert place not in found
    assert len(found) == min(others, count - 1)
    assert sorted({*found, place}) == list(range(min([*found, place]), max([*found, place]) + 1))


def test_a_file_that_is_broken_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="line 2: invalid JSON"):
        read_json(save(tmp_path, "a.jsonl", '{"a": 1}\n{"a"\n'))
    with pytest.raises(BadInput, match="invalid JSON"):
        read_json(save(tmp_path, "b.json", "words"))
    with pytest.raises(BadInput, match="nested too deeply"):
        read_json(save(tmp_path, "deep.json", "[" * 100_000))
    with pytest.raises(BadInput, match="can't be read: "):
        read_json(tmp_path / "missing.json")


EMPTY: list[tuple[object, str]] = [
    ({"data": [{"story": "A.", "questions": [], "answers": []}]}, "none of its passages has"),
    ([{"sessions": [], "questions": ["?"]}], "none of its histories has"),
]


@pytest.mark.parametrize(("document", "fault"), EMPTY)
def test_a_set_without_questions_is_told(tmp_path: Path, document: object, fault: str) -> None:
    with pytest.raises(BadInput, match=fault):
        read_qa(save(tmp_path, "empty.json", document))


def test_what_a_set_holds_is_counted(tmp_path: Path) -> None:
    record = locomo_questions([["D2:1", "nowhere"], ["D2:2"], []])
    record[0]["qa"][1]["question"] = record[0]["qa"][0]["question"]
    record[0]["qa"][2].update(category=5)
    [found] = check_dataset(save(tmp_path, "pair.json", record), ["retrieval", "qa", "memory"])
    assert found.bench == "qa"
    assert dict(found.contents) == {
        "histories": 1, "sessions": 2, "turns": 4, "memories of their own": 1,
    }  # fmt: skip
    assert found.samples == {"single-hop": 2, "adversarial": 1}
    assert found.dropped == {"labels that can't be read": 1}
    assert found.warnings == {
        "dates without a zone": 2,
        "questions asked twice": 1,
        "questions without a reference answer": 2,
        "questions without evidence": 1,
    }
    with pytest.raises(BadInput, match="no bench can read it"):
        check_dataset(save(tmp_path, "other.json", {"weather": "fine"}))
    nothing: list[object] = [{}, []]
    for document in nothing:
        with pytest.raises(BadInput, match="finds nothing in it"):
            check_dataset(save(tmp_path, "empty.json", document))


REAL: list[tuple[str, int, dict[str, int]]] = [
    ("locomo/locomo5_dev.json", 932, {"labels of no turn": 1, "labels that can't be read": 1}),
    ("beam100k", 200, {}),
    ("mtbenchplus/mtbenchplus_dev.json", 27, {}),
    ("memorybank/en", 100, {}),
    ("memorybank/cn/memory_bank_cn.json", 100, {}),
    ("longmemeval/longmemeval_s_one_item.json", 1, {}),
    ("segmentation/dialseg711_dev.json", 355, {}),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.data
@needs_data()
@pytest.mark.parametrize(("path", "asked", "dropped"), REAL)
def test_the_faults_of_real_files_are_counted(
    path: str, asked: int, dropped: dict[str, int]
) -> None:
    if not (DATA / path).exists():
        pytest.skip(f"{path} is not among the real data")
    [found] = check_dataset(DATA / path)
    assert (sum(found.samples.values()), dict(found.dropped)) == (asked, dropped)


@needs_data("mtbenchplus")
def test_turns_without_answers_are_exchanges_of_their_own() -> None:
    """MT-Bench+ is published without the assistant's turns."""
    for labeled in read_evidence(DATA / "mtbenchplus/mtbenchplus_dev.json"):
        [transcript] = labeled.history.transcripts
        assert len(exchanges(transcript.turns)) == len(transcript.turns) > 1


@pytest.mark.data
def test_causal_questions_name_the_turns_that_tell_their_nodes(tmp_path: Path) -> None:
    file = save(tmp_path, "graph_0.json", causal_graph())
    for path in (file, tmp_path):
        [one] = read_evidence(path)
        [question] = one.questions
        assert (question.id, question.category) == ("graph_0/1", "attribution")
        assert question.gold == {("", "S1:1"), ("", "S2:1")}
        assert [one.category for one in one.unlabeled] == ["update"]
        assert one.dropped == {"nodes that no turn tells": 1, "questions without evidence": 1}
    [graph] = read_causal_graphs(file)
    assert graph.turns == {0: "S1:1", 1: "S2:1", 2: "S2:2"}
    assert graph.edges == [
        CausalEdge(older="S1:1", newer="S2:1", relation="caused"),
        CausalEdge(older="S2:1", newer="S2:2", relation="prevented"),
    ]


def test_a_fault_in_a_causal_graph_is_named(tmp_path: Path) -> None:
    record = causal_graph()
    record["qa"][1]["evidence_nodes"] = "3"
    with pytest.raises(BadInput, match=r"graph_0.json, qa\[1\].evidence_nodes: expected a list"):
        read_evidence(save(tmp_path, "graph_0.json", record))


@needs_data()
def test_real_causal_nodes_are_all_told() -> None:
    graphs = read_causal_graphs(DATA / "causaleval")
    assert sum(len(graph.turns) for graph in graphs) == 110
    assert not any(graph.labeled.dropped for graph in graphs)


@needs_data()
def test_real_exchanges_name_both_speakers(tmp_path: Path) -> None:
    file = DATA / "secom_example" / "example.json"
    if not file.exists():
        pytest.skip("the example is not among the real data")
    row = {"sessions": json.loads(file.read_text("utf-8")), "questions": ["?"], "answers": ["!"]}
    [group] = read_qa(save(tmp_path, "long.json", [row]))
    [history] = group.stages[0].histories
    assert [len(one.turns) for one in history.transcripts] == [28, 28, 26, 26, 30]
    assert history.notes == {}


@pytest.mark.slow
def test_each_set_runs_through_its_bench(run: Terminal, tmp_path: Path) -> None:
    questions = {
        "knowledge": conditional(tmp_path / "conditional"),
        "long": save(tmp_path, "long.json", long_mt()),
        "coqa": save(tmp_path, "coqa.json", coqa(3)),
        "memorybank": memory_bank(tmp_path / "bank"),
    }
    runs = {name: ["qa", str(path), "--merge", "10"] for name, path in questions.items()}
    runs["persona"] = ["responses", str(persona_chat(tmp_path, 3))]
    measured: set[str] = set()
    for name, (bench, *rest) in runs.items():
        out = ("--out", str(tmp_path / name), "--method", "exchange", "--metric", "f1")
        told = run.bare("bench", bench, *rest, *out, "--json").json
        assert told["done"] == told["samples"] > 1
        assert told["failures"] == {}
        measured |= {name} if "f1" in told["metrics"] else set()
    assert measured == {*runs} - {"memorybank"}  # which has no reference answers


@pytest.mark.parametrize("language", ["en", "de", "es", "zh", "ja"])
def test_each_language_has_the_same_questions_with_evidence(language: str) -> None:
    labeled = read_evidence(resolve_data_path(Path(f"everyday-{language}")))
    assert [len(one.questions) for one in labeled] == [50, 16]
    assert not any(one.dropped or one.unlabeled for one in labeled)
    gold = [[sorted(q.gold) for q in one.questions] for one in labeled]
    english = read_evidence(resolve_data_path(Path("everyday-en")))
    assert gold == [[sorted(q.gold) for q in one.questions] for one in english]


def test_our_json_lines_may_end_with_questions(tmp_path: Path) -> None:
    turn = {"speaker": "Ana", "text": "I sail.", "at": "2024-05-08T12:00:00Z", "user": "ana"}
    question = {"user": "ana", "question": "Who sails? ", "sources": [1], "at": turn["at"]}
    lines = [turn, question, question | {"sources": ["9"], "category": "who"}]
    text = "\n".join(map(json.dumps, lines))
    [labeled] = read_evidence(save(tmp_path, "own.jsonl", text))
    assert [(q.text, q.gold) for q in labeled.questions] == [("Who sails?", {("", "1")})]
    assert [q.category for q in labeled.unlabeled] == ["who"]
    assert labeled.questions[0].asked_at == labeled.history.transcripts[0].turns[0].at
    other = save(
        tmp_path, "other.jsonl", "\n".join(map(json.dumps, [turn, question | {"user": "x"}]))
    )
    with pytest.raises(BadInput, match="questions of 'x', but no turns"):
        read_evidence(other)


@needs_data("memorybank/cn")
def test_six_users_of_the_chinese_memorybank_are_labeled() -> None:
    groups = read_qa(DATA / "memorybank" / "cn")
    turns = {
        (transcript.key, turn.key)
        for group in groups
        for history in group.stages[0].histories
        for transcript in history.transcripts
        for turn in transcript.turns
    }
    gold = [sample.extra["gold"] for group in groups for sample in group.samples]
    assert sum(map(bool, gold)) == 42
    assert all(tuple(label) in turns for labels in gold for label in labels)
