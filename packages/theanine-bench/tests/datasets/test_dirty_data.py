"""Faulty data sets: whatever is wrong in a file, it is read, or refused in words with its place."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.dataset_samples import (
    COQA,
    DIALOGUES,
    LABELED_TURNS,
    LONGMEMEVAL,
    MT_BENCH,
    PROBES,
    SUMMARIES,
    locomo_questions,
    long_mt,
)
from support.history_samples import beam, msc, save
from theanine.errors import BadInput
from theanine_bench.datasets.gold import read_gold
from theanine_bench.datasets.qa import read_qa
from theanine_bench.datasets.responses import read_responses
from theanine_bench.datasets.segmentation import read_segmented
from theanine_bench.tasks.check_data import check_dataset

Place = tuple[str | int, ...]


def _beam(folder: Path, name: str, text: str) -> Path:
    save(folder, "1/chat.json", beam())
    save(folder, "1/probing_questions/probing_questions.json", PROBES)
    save(folder, f"1/{name}", text)
    return folder


def _file(name: str, folder: Path, text: str) -> Path:
    return save(folder, name, text)


def _persona(folder: Path, text: str) -> Path:
    save(folder, "session_1/valid.jsonl", text)
    return folder


Read = Callable[[Path], object]
Put = Callable[[Path, str], Path]
SETS: Mapping[str, tuple[object, Put, Read]] = {
    "locomo": (locomo_questions([["D1:1"], ["D2:1"]]), partial(_file, "a.json"), read_qa),
    "longmemeval": (LONGMEMEVAL, partial(_file, "a.json"), read_qa),
    "beam chat": (beam(), lambda folder, text: _beam(folder, "chat.json", text), read_qa),
    "beam probes": (
        PROBES,
        lambda folder, text: _beam(folder, "probing_questions/probing_questions.json", text),
        check_dataset,
    ),
    "mt-bench-plus": (MT_BENCH, partial(_file, "a.json"), read_qa),
    "long-mt-bench-plus": (long_mt(), partial(_file, "a.json"), read_qa),
    "coqa": (COQA, partial(_file, "a.json"), read_qa),
    "dialseg": (DIALOGUES, partial(_file, "a.json"), read_segmented),
    "superdialseg": (
        {"dial_data": {"test": [{"dial_id": "d", "turns": LABELED_TURNS}]}},
        partial(_file, "a.json"),
        read_segmented,
    ),
    "tiage": ({"1": [["hi", "-1"], ["two cats", "1"]]}, partial(_file, "a.json"), read_segmented),
    "qmsum": (
        {
            "meeting_transcripts": [{"content": "hi"}, {"content": "two cats"}],
            "topic_list": [{"relevant_text_span": [["0", "0"]]}],
        },
        partial(_file, "a.json"),
        read_segmented,
    ),
    "msc": (msc(), partial(_file, "a.jsonl"), lambda path: read_responses(path, [2, 3])),
    "personas": (SUMMARIES, _persona, read_gold),
}
WRONG: list[object] = [None, 7, True, "", "words", [], {}, [None], [["a"]], {"a": 1}]


def _places(node: object, above: Place = ()) -> Iterator[Place]:
    """Every place in a document but itself."""
    inner: Mapping[str | int, object] = {}
    if isinstance(node, dict):
        inner = cast("dict[str | int, object]", node)
    elif isinstance(node, list):
        inner = dict(enumerate(cast("list[object]", node)))
    for key, value in inner.items():
        yield (*above, key)
        yield from _places(value, (*above, key))


@st.composite
def faulty(draw: st.DrawFn, document: object) -> str:
    """The document's JSON with one thing missing or of another kind, or cut off."""
    broken: Any = copy.deepcopy(document)
    *above, last = draw(st.sampled_from(sorted(_places(broken), key=str)))
    node: Any = broken
    for key in above:
        node = node[key]
    if isinstance(node, dict) and draw(st.booleans()):
        del node[last]
    else:
        node[last] = draw(st.sampled_from(WRONG))
    text = json.dumps(broken)
    return text[: draw(st.integers(1, len(text)))] if draw(st.integers(0, 9)) == 0 else text


def _fault(read: Read, path: Path) -> BadInput | None:
    try:
        read(path)
    except BadInput as fault:
        return fault
    return None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dirty")


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
@settings(max_examples=40)
@given(data=st.data())
def test_a_faulty_file_is_read_or_refused_with_its_place(
    name: str, folder: Path, data: st.DataObject
) -> None:
    document, put, read = SETS[name]
    path = put(folder / name, data.draw(faulty(document)))
    fault = _fault(read, path)
    assert fault is None or fault.where


@pytest.mark.parametrize("name", SETS)
def test_what_is_broken_there_is_sound_here(name: str, folder: Path) -> None:
    document, put, read = SETS[name]
    assert read(put(folder / "sound" / name, json.dumps(document)))


def drop(document: object, *place: str | int) -> str:
    broken: Any = copy.deepcopy(document)
    node = broken
    for key in place[:-1]:
        node = node[key]
    del node[place[-1]]
    return json.dumps(broken)


@pytest.mark.parametrize(
    ("name", "place", "where"),
    [
        ("locomo", (0, "sample_id"), "a.json, [0]"),
        ("locomo", (0, "conversation"), "a.json, [0]"),
        ("locomo", (0, "qa"), "a.json"),
        ("longmemeval", (0, "question_date"), "a.json, [0]"),
        ("longmemeval", (0, "question"), "a.json, [0]"),
        ("mt-bench-plus", (0, "id"), "a.json, [0]"),
        ("mt-bench-plus", (0, "conversations", 0), "a.json, [0].conversations"),
        ("personas", ("initial_data_id",), "valid.jsonl, line 1"),
    ],
)
def test_what_is_missing_has_its_place(name: str, place: Place, where: str, tmp_path: Path) -> None:
    document, put, read = SETS[name]
    with pytest.raises(BadInput) as caught:
        read(put(tmp_path, drop(document, *place)))
    assert caught.value.where.endswith(where)


@pytest.mark.parametrize(
    ("name", "place", "where"),
    [
        ("locomo", (0, "qa", 1, "question"), "a.json, [0].qa[1].question"),
        ("longmemeval", (0, "haystack_sessions", 0), "a.json, [0].haystack_sessions[0]"),
        ("mt-bench-plus", (0, "conversations", 2, "value"), "a.json, [0].conversations[2].value"),
        ("personas", ("dialog", 0, "text"), "valid.jsonl, line 1, dialog[0].text"),
    ],
)
def test_what_is_of_another_type_has_its_place(
    name: str, place: Place, where: str, tmp_path: Path
) -> None:
    document, put, read = SETS[name]
    broken: Any = copy.deepcopy(document)
    *above, last = place
    node = broken
    for key in above:
        node = node[key]
    node[last] = 7
    with pytest.raises(BadInput) as caught:
        read(put(tmp_path, json.dumps(broken)))
    assert caught.value.where.endswith(where)


def test_a_question_that_is_none_has_its_place_and_one_without_words_is_dropped(
    tmp_path: Path,
) -> None:
    probes = copy.deepcopy(PROBES)
    del probes["abstention"][0]["question"]
    path = _beam(tmp_path, "probing_questions/probing_questions.json", json.dumps(probes))
    [group] = read_qa(path)
    assert [case.id for case in group.samples] == ["1/event_ordering/1"]
    assert group.dropped == {"questions without words": 1}
    _beam(tmp_path, "probing_questions/probing_questions.json", '{"abstention": ["Who?"]}')
    with pytest.raises(BadInput) as caught:
        check_dataset(path)
    assert caught.value.where.endswith("probing_questions.json, abstention[0]")


def test_the_folder_of_one_chat_is_a_set_of_one(tmp_path: Path) -> None:
    chats = _beam(tmp_path, "probing_questions/probing_questions.json", json.dumps(PROBES))
    assert read_qa(chats / "1") == read_qa(chats)


def test_a_rubric_of_one_point_may_be_a_text(tmp_path: Path) -> None:
    probes = '{"abstention": [{"question": "Who?", "rubric": "says so"}]}'
    [group] = read_qa(_beam(tmp_path, "probing_questions/probing_questions.json", probes))
    assert group.samples[0].extra["rubric"] == ["says so"]
