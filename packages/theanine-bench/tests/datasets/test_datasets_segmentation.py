"""SuperDialSeg, TIAGE and QMSum as they are published, on small samples of our own."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from support.history_samples import save
from theanine.errors import BadInput
from theanine_bench.datasets.segmentation import read_segmented
from theanine_bench.tasks.check_data import check_dataset


def turn(text: object, label: object) -> dict[str, object]:
    return {"utterance": text, "segmentation_label": label, "role": "user", "topic_id": 0}


def superdialseg(*dialogues: list[dict[str, object]]) -> dict[str, object]:
    rows = [{"dial_id": f"d{i}", "turns": turns} for i, turns in enumerate(dialogues, 1)]
    return {"dial_data": {"superseg-v2": rows}}


def test_superdialseg_labels_the_last_turn_of_a_segment(tmp_path: Path) -> None:
    sample = superdialseg(
        [turn("a", 0), turn("b", 1), turn("c", 0)],
        [turn("a", 1), turn("b", 0), turn("c", 0), turn("d", 1)],
    )
    one, two = read_segmented(save(tmp_path, "s.json", sample))
    assert (one.id, one.texts, one.lengths) == ("d1", ("a", "b", "c"), (2, 1))
    assert two.lengths == (1, 3)


def test_tiage_labels_the_first_turn_of_a_topic(tmp_path: Path) -> None:
    sample = {
        "7": [["hi", "-1"], ["hello", "0"], ["any pets", "1"], ["two cats", "0"], ["bye", "1"]],
        "8": [["hi", -1], ["hello", 0]],
    }
    one, two = read_segmented(save(tmp_path, "t.json", sample))
    assert (one.id, one.texts[2], one.lengths) == ("7", "any pets", (2, 2, 1))
    assert two.lengths == (2,)


def meeting(turns: int, *topics: list[list[object]]) -> dict[str, object]:
    return {
        "topic_list": [{"topic": "some", "relevant_text_span": spans} for spans in topics],
        "general_query_list": [],
        "meeting_transcripts": [{"speaker": "A", "content": f"turn {at}"} for at in range(turns)],
    }


@pytest.mark.parametrize(
    ("topics", "lengths"),
    [
        pytest.param([[["0", "2"]], [["3", "7"]]], (3, 5), id="adjacent"),
        pytest.param([[[0, 2]], [[3, 7]]], (3, 5), id="numbers"),
        pytest.param([[["2", "3"]], [["6", "7"]]], (6, 2), id="turns of no topic"),
        pytest.param([[["0", "4"]], [["3", "7"]]], (3, 5), id="overlap"),
        pytest.param([[["5", "7"]], [["0", "4"]]], (5, 3), id="out of order"),
        pytest.param([[["0", "1"], ["2", "3"]], [["4", "7"]]], (4, 4), id="one topic goes on"),
        pytest.param([[["0", "1"], ["5", "7"]], [["2", "4"]]], (2, 3, 3), id="a topic again"),
        pytest.param([[["0", "3"]], [["0", "7"]]], (8,), id="the same first turn"),
    ],
)
def test_qmsum_names_the_spans_of_topics(
    tmp_path: Path, topics: list[list[list[object]]], lengths: tuple[int, ...]
) -> None:
    [one] = read_segmented(save(tmp_path, "meeting.json", meeting(8, *topics)))
    assert (one.texts[0], one.lengths) == ("turn 0", lengths)


def test_qmsum_has_a_meeting_a_line(tmp_path: Path) -> None:
    unusable: list[object] = [
        {"meeting_transcripts": [], "topic_list": []},
        {"meeting_transcripts": [{"content": 1}], "topic_list": [{"relevant_text_span": []}]},
        {"meeting_transcripts": [{"content": "a"}]},
        meeting(4, [["x", "3"]]),
    ]
    meetings = [meeting(4, [["0", "1"]], [["2", "3"]]), *unusable, meeting(3, [["0", "2"]])]
    file = tmp_path / "test.jsonl"
    file.write_text("\n".join(map(json.dumps, meetings)), "utf-8")
    dropped = Counter[str]()
    one, two = read_segmented(file, dropped)
    assert (one.id, one.lengths, two.id, two.lengths) == ("1", (2, 2), "6", (3,))
    assert dropped == {"dialogues that can't be read": 4}


def test_what_can_not_be_used_is_left_out_and_counted(tmp_path: Path) -> None:
    sample = superdialseg(
        [turn("a", 0), turn(" ", 1), turn("b", 0), turn("", 0), turn("c", 1)],
        [turn("a", "x"), turn("b", 0)],
        [turn(None, 0)],
        [],
    )
    file = save(tmp_path, "s.json", sample)
    dropped = Counter[str]()
    [one] = read_segmented(file, dropped)
    assert (one.texts, one.lengths) == (("a", "b", "c"), (1, 2))
    assert dropped == {"empty turns": 2, "dialogues that can't be read": 3}
    [found] = check_dataset(file, ["segmentation"])
    assert (dict(found.contents), dict(found.dropped)) == (
        {"dialogues": 1, "turns": 3, "segments": 2},
        dict(dropped),
    )


OTHERS: list[object] = [{"a": [["b"]]}, {"weather": "fine"}, {"dial_data": {}}, {}]


@pytest.mark.parametrize("other", OTHERS)
def test_other_objects_are_refused(tmp_path: Path, other: object) -> None:
    with pytest.raises(BadInput, match="is expected"):
        read_segmented(save(tmp_path, "other.json", other))
