"""LLMLingua-2 on a model of a few numbers that keeps certain words, made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from theanine.errors import SettingsError
from theanine_methods.denoising.denoise import denoise
from theanine_methods.denoising.llmlingua2 import model_denoise

torch: Any = pytest.importorskip("torch", reason="torch is not installed (make extras)")
library: Any = pytest.importorskip(
    "transformers", reason="transformers is not installed (make extras)"
)
pytestmark = [pytest.mark.anyio, pytest.mark.model]

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
STAY = ["storm", "mast", "har", "##bour"]
GO = ["the", "a", "in", "broke", "oh", "."]
WIDTH = 8


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A token classifier without a layer: STAY tokens lean one way, all others the other."""
    pieces = SPECIAL + STAY + GO
    (tmp_path / "vocab.txt").write_text("\n".join(pieces) + "\n", "utf-8")
    library.BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    config = library.BertConfig(
        vocab_size=len(pieces),
        hidden_size=WIDTH,
        num_hidden_layers=0,
        num_attention_heads=1,
        intermediate_size=WIDTH,
        max_position_embeddings=16,
        num_labels=2,
    )
    model = library.BertForTokenClassification(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
        embeddings = model.bert.embeddings
        embeddings.LayerNorm.weight.fill_(1)
        for memory, piece in enumerate(pieces):
            sign = 1.0 if piece in STAY else -1.0
            embeddings.word_embeddings.weight[memory, 0] = sign
            embeddings.word_embeddings.weight[memory, 1] = -sign
        model.classifier.weight[1, 0] = 1.0
    model.save_pretrained(tmp_path)
    return str(tmp_path)


async def test_the_words_that_the_model_keeps_stay_in_their_order(folder: str) -> None:
    lines = ["oh the storm", "broke a mast in the harbour"]
    assert model_denoise(lines, 0.6, folder) == ["storm", "mast harbour"]
    assert await denoise(lines, "llmlingua2", 0.6, folder) == ["storm", "mast harbour"]


def test_full_stops_are_forced_and_a_line_is_never_emptied(folder: str) -> None:
    assert model_denoise(["Oh the Storm in the harbour."], 0.6, folder) == ["Storm harbour."]
    assert model_denoise(["the a in", "Oh!"], 0.6, folder) == ["the a in", "Oh!"]


def test_a_text_longer_than_the_model_takes_goes_in_pieces(folder: str) -> None:
    (kept,) = model_denoise(["the a. " * 9 + "in the storm"], 0.5, folder)
    assert kept == "." * 9 + " storm"


def test_empty_texts_are_accepted(folder: str) -> None:
    assert model_denoise(["", " "], 0.75, folder) == ["", ""]
    assert model_denoise([], 0.75, folder) == []


def test_a_folder_without_a_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="holds no LLMLingua-2 model"):
        model_denoise(["a storm"], 0.75, str(tmp_path))
