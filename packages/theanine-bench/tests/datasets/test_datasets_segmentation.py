"""SuperDialSeg and TIAGE as they are published, on small samples of our own."""

from __future__ import annotations

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
