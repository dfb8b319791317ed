"""Overlap as a run measures it: by name, of an item and over all, unanswered ones included."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from theanine.errors import SettingsError
from theanine_bench.metrics.overlap import (
    CORPUS_BLEU,
    OVERLAP,
    SacreBleu,
    rouge,
    token_f1,
)
from theanine_bench.metrics.registry import find_metrics
from theanine_bench.metrics.rsum import METRICS
from theanine_bench.runs.summary import summarize_run
from theanine_bench.samples import SampleResult

pytestmark = pytest.mark.anyio
ANSWER, REFERENCE = "A cat sat on the mat.", "The cat sat on my mat."


def item(number: int = 1, **more: Any) -> SampleResult:
    given: dict[str, Any] = {"answer": ANSWER, "reference": REFERENCE, "category": "one", **more}
    return SampleResult(id=str(number), group="g", question="Where was it?", **given)


async def test_every_measure_gives_its_own_name_and_no_more_than_1() -> None:
    for measure in OVERLAP.values():
        scored = (await measure.score(item(), None)).values
        assert set(scored) == set(measure.worst) == {measure.name}
        assert 0 < scored[measure.name] <= 1 or measure.name == "exact"
        assert measure.worst[measure.name] == 0
        assert not measure.needs_judge
        assert (await measure.score(item(answer=REFERENCE), None)).values[measure.name] > 0.999


async def test_the_names_mean_what_they_say() -> None:
    scored: dict[str, float] = {}
    for name in ("f1", "exact", "bleu-1", "bleu-2", "bleu-4", "rouge-1", "rouge-2", "rouge-l"):
        measure = OVERLAP[name]
        scored |= (await measure.score(item(), None)).values
    assert scored["f1"] == token_f1(ANSWER, REFERENCE)
    assert scored["bleu-2"] == SacreBleu(order=2).sentence(ANSWER, REFERENCE)
    assert scored["rouge-1"] == rouge(ANSWER, REFERENCE, "1")
    assert scored["rouge-2"] == rouge(ANSWER, REFERENCE, "2")
    assert scored["rouge-l"] == rouge(ANSWER, REFERENCE, "L")
    stemmed = [OVERLAP[name] for name in ("rouge-2:stemmed", "f1:parlai", "f1:locomo")]
    run = item(answer="Cats ran", reference="cat ran, and's")
    found = [(await measure.score(run, None)).values[measure.name] for measure in stemmed]
    assert found == pytest.approx([2 / 4, 2 / 6, 2 * 2 / 5])


async def test_nothing_to_compare_with_has_no_value() -> None:
    for measure in OVERLAP.values():
        assert (await measure.score(item(reference=""), None)).values == {}


async def test_a_question_without_an_answer_has_locomos_rule() -> None:
    measure = OVERLAP["f1:locomo"]
    for said, right in (("That is not mentioned.", 1), ("On the mat.", 0)):
        asked = item(answer=said, reference="", extra={"answerable": False}, category="adversarial")
        assert (await measure.score(asked, None)).values == {"f1:locomo": right}


def test_over_all_over_each_category_and_their_mean() -> None:
    items = [
        item(1),
        item(2, answer=None),
        item(3, answer=REFERENCE, category="two"),
        item(4, reference="", category="three"),
    ]
    measure = CORPUS_BLEU["corpus-bleu-1"]
    found, bleu = measure.score(items), SacreBleu(order=1)
    assert found == {
        "corpus-bleu-1": bleu.corpus([ANSWER, "", REFERENCE], [REFERENCE] * 3),
        "corpus-bleu-1/one": bleu.corpus([ANSWER, ""], [REFERENCE] * 2),
        "corpus-bleu-1/two": 1.0,
        "corpus-bleu-1/mean": (found["corpus-bleu-1/one"] + 1) / 2,
    }
    assert found["corpus-bleu-1/one"] < bleu.corpus([ANSWER], [REFERENCE])
    assert set(measure.score(items[:2])) == {"corpus-bleu-1"}
    assert measure.score(items[3:]) == {}
    assert summarize_run(items, total=4, corpus_metrics=[measure])["corpus"] == found


def test_without_smoothing_it_is_0_where_no_four_words_in_a_row_are_shared() -> None:
    items = [item(answer="On my mat, a cat.")]
    smooth, plain = CORPUS_BLEU["corpus-bleu-4"], CORPUS_BLEU["corpus-bleu-4:evaluate"]
    assert plain.score(items) == {"corpus-bleu-4:evaluate": 0}
    assert smooth.score(items)["corpus-bleu-4"] > 0


def test_metrics_are_found_by_name() -> None:
    each, corpus = find_metrics(["f1", "corpus-bleu-4", "recall@7", "right", "mauve=x", "f1"])
    assert [metric.name for metric in each] == ["f1", "recall@7", "right"]
    assert [metric.name for metric in corpus] == ["corpus-bleu-4", "mauve:x"]
    with pytest.raises(SettingsError, match=r"unknown metric 'f2'; there are: .*f1, exact, bleu-1"):
        find_metrics(["f2"])
    assert not set(OVERLAP) & set(CORPUS_BLEU)


ABSENT = """
import sys
for package in ("bert_score", "mauve"):
    sys.modules[package] = None  # as if it were not installed
from theanine.errors import MissingExtra
from theanine_bench.metrics.neural import find_metric
for name in ("mauve", "bertscore=x"):
    try: find_metric(name).score([])
    except MissingExtra as error: print(error.extra)
"""


def test_a_missing_extra_is_named_before_anything_is_measured() -> None:
    ran = subprocess.run([sys.executable, "-c", ABSENT], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["neural", "neural"]


def test_bleu_of_rsum_is_that_of_its_script() -> None:
    answers = ["I saw Ray. Is it a yes?", "Ships scare me!", ""]
    references = ["We can't go. He said so.", "I am afraid of ships.", "Yes, a lot."]
    items = [
        item(n, answer=answer, reference=reference, category=category)
        for n, (answer, reference, category) in enumerate(
            zip(answers, references, ["one", "two", "two"], strict=True)
        )
    ]
    bleu = METRICS["bleu:rsum"]
    scores = bleu.score([*items, item(9, reference=" ")])
    # utils/evaluation.py's compute_bleu, with word_tokenize's result written out
    inf_tok = [
        ["We", "ca", "n't", "go", ".", "He", "said", "so", "."],
        ["I", "am", "afraid", "of", "ships", "."],
        ["Yes", ",", "a", "lot", "."],
    ]
    tra_tok = [
        ["I", "saw", "Ray", ".", "Is", "it", "a", "yes", "?"],
        ["Ships", "scare", "me", "!"],
        [],
    ]
    bleu_score: Any = import_module("nltk.translate.bleu_score")
    smoothing = bleu_score.SmoothingFunction().method7
    weights = [(0.5, 0.5), (0.333, 0.333, 0.334), (0.25,) * 4, (0.2,) * 5]
    both = bleu_score.corpus_bleu(inf_tok, tra_tok, weights=weights, smoothing_function=smoothing)
    assert (scores["bleu:rsum/1"], scores["bleu:rsum/2"]) == tuple(both[:2])
    assert {"bleu:rsum/1/one", "bleu:rsum/2/two", "bleu:rsum/2/mean"} < set(scores)
    assert bleu.score([]) == {}
    backwards = [replace(each, reference=each.reference[::-1]) for each in items]
    assert bleu.score(backwards)["bleu:rsum/1"] == pytest.approx(scores["bleu:rsum/1"], rel=0.05)
