"""BERTScore and MAUVE with a model of a few thousand numbers, and what is said without one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.tiny_models import library, sentence_transformer
from theanine.errors import SettingsError
from theanine_bench.metrics.neural import BertScore, Mauve
from theanine_bench.metrics.registry import find_metrics
from theanine_bench.runs.summary import summarize_run
from theanine_bench.samples import SampleResult

PAIRS = [
    ("a storm at sea", "a boat at sea"),
    ("a quiet evening", "a quiet evening"),
    ("the day of the storm", "no boat"),
]


def neural(name: str) -> BertScore | Mauve:
    _, [metric] = find_metrics([name])
    assert isinstance(metric, BertScore | Mauve)
    return metric


@pytest.fixture
def model(tmp_path: Path) -> Iterator[Path]:
    """A one-layer BERT; skips the test where the libraries are not installed."""
    for name in ("torch", "transformers", "bert_score", "mauve"):
        library(name)
    torch = library("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a model this small only waits for others
    sentence_transformer(tmp_path)
    yield tmp_path / "bert"
    torch.set_num_threads(threads)


def items(*pairs: tuple[str | None, str], category: str = "") -> list[SampleResult]:
    return [
        SampleResult(
            id=f"{category}{n}", group="g", question="?", answer=a, reference=r, category=category
        )
        for n, (a, r) in enumerate(pairs)
    ]  # fmt: skip


def greedy(model: Path, answer: str, reference: str) -> float:
    """F1 of each token's nearest token of the other text, [CLS] and [SEP] not counted."""
    torch, transformers = library("torch"), library("transformers")
    bert = transformers.AutoModel.from_pretrained(model).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    rows: list[Any] = []
    for text in (answer, reference):
        with torch.no_grad():
            hidden = bert(**tokenizer(text, return_tensors="pt"))[0][0]
        rows.append(hidden / hidden.norm(dim=1, keepdim=True))
    alike = rows[0] @ rows[1].T
    precision = float(alike.max(1).values[1:-1].mean())
    recall = float(alike.max(0).values[1:-1].mean())
    return 2 * precision * recall / (precision + recall)


def test_bertscore_is_what_the_paper_defines_and_bert_score_gives(model: Path) -> None:
    measure = neural(f"bertscore={model}@1")
    found = measure.score(items(*PAIRS))
    library_scores = library("bert_score").score(
        [a for a, _ in PAIRS], [r for _, r in PAIRS], model_type=str(model), num_layers=1
    )
    assert found == {"bertscore": pytest.approx(float(library_scores[2].mean()))}
    by_hand = [greedy(model, answer, reference) for answer, reference in PAIRS]
    assert found["bertscore"] == pytest.approx(sum(by_hand) / 3, abs=1e-5)
    assert measure.score(items(PAIRS[1])) == {"bertscore": pytest.approx(1)}


def test_bertscore_of_no_answer_is_0_and_each_session_has_its_own(model: Path) -> None:
    measure = BertScore(folder=model, layer=1)
    asked = [
        *items(PAIRS[1], (None, "a boat"), category="session 3"),
        *items(PAIRS[1], (" ", "a boat"), ("a boat", ""), category="session 4"),
        *items(PAIRS[0], category="session 5"),
    ]
    found = measure.score(asked)
    last = measure.score(items(PAIRS[0]))["bertscore"]
    assert found["bertscore/session 3"] == found["bertscore/session 4"] == pytest.approx(0.5)
    assert found["bertscore/session 5"] == pytest.approx(last)
    assert found["bertscore/mean"] == pytest.approx((1 + last) / 3)
    assert found["bertscore"] == pytest.approx((2 + last) / 5)
    assert measure.score([]) == {}


def test_mauve_is_what_mauve_text_gives(model: Path) -> None:
    said = [f"day {n} of the storm" for n in range(30)]
    other = [f"a quiet evening {n}" for n in range(30)]
    measure = neural(f"mauve={model}")
    [found] = measure.score(items(*zip(said, other, strict=True))).items()
    theirs = library("mauve").compute_mauve(
        p_text=said, q_text=other, featurize_model_name=str(model), seed=25
    )
    assert found == ("mauve", pytest.approx(theirs.mauve))
    same = measure.score(items(*zip(said, reversed(said), strict=True)))["mauve"]
    assert found[1] < same == pytest.approx(1)


def test_mauve_of_each_session_and_with_answers_missing(model: Path) -> None:
    said = [f"day {n} of the storm" for n in range(30)]
    pairs = list(zip(said, reversed(said), strict=True))
    silent = [(None, reference) for _, reference in pairs]
    three, four = items(*pairs, category="session 3"), items(*silent, category="session 4")
    measure = Mauve(folder=model)
    found = measure.score([*three, *four])
    assert set(found) == {
        "mauve", "mauve/session 3", "mauve/session 4", "mauve/mean",
    }  # fmt: skip
    assert found["mauve/session 3"] == pytest.approx(1)
    assert found["mauve/session 4"] < found["mauve"] < 1
    assert set(measure.score([*three, *four[:9]])) == {"mauve"}


def test_what_a_model_lacks_is_said_in_one_line(model: Path, tmp_path: Path) -> None:
    asked = items(*PAIRS * 10)
    nameless = shutil.copytree(model, tmp_path / "vectors")
    for measure, said in (
        (neural("bertscore"), r"bertscore needs the folder of a model: download roberta"),
        (neural("mauve"), r"mauve needs the folder of a model: download gpt2-large"),
        (neural(f"mauve={nameless}"), r"vectors must have gpt2 or bert in it"),
        (neural("mauve=/no/bert"), r"mauve: there is no folder /no/bert"),
        (neural(f"bertscore={model}"), r"knows no model 'bert': say which layer"),
        (neural(f"bertscore={model}@9"), r"can't be used: Invalid num_layers"),
    ):
        with pytest.raises(SettingsError, match=said) as raised:
            measure.score(asked)
        assert "\n" not in str(raised.value)
        shown = summarize_run(asked, total=30, corpus_metrics=[measure])["corpus"]
        assert shown == {measure.name: str(raised.value)}
    with pytest.raises(SettingsError, match="3 answers are too few, it takes 20"):
        Mauve(folder=model).score(items(*PAIRS))


def test_a_torn_model_and_one_without_a_length_are_named(model: Path) -> None:
    config = model / "tokenizer_config.json"
    saved = json.loads(config.read_text())
    config.write_text(json.dumps({k: v for k, v in saved.items() if k != "model_max_length"}))
    with pytest.raises(SettingsError, match="says no model_max_length"):
        BertScore(folder=model, layer=1).score(items(*PAIRS))
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(SettingsError, match=f"the model in {model} can't be used: "):
        BertScore(folder=model, layer=1).score(items(*PAIRS))


def test_names_say_the_model_and_the_layer() -> None:
    assert neural("bertscore=/m/roberta-large").name == "bertscore:roberta-large"
    assert neural("bertscore=/m/roberta-large@17").name == "bertscore:roberta-large@17"
    assert neural("bertscore=/m/a@home").name == "bertscore:a@home"
    assert neural("mauve=/m/gpt2-large").name == "mauve:gpt2-large"
    assert [neural(name).name for name in ("bertscore", "mauve")] == ["bertscore", "mauve"]
    with pytest.raises(SettingsError, match="unknown metric 'bleurt=x'"):
        neural("bleurt=x")
