"""LLMLingua-2 keeps the words that the authors' package keeps, with a random tiny model."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from support.tiny_models import library, token_classifier
from theanine.tokenizer import load_tokenizer
from theanine_methods.denoising.llmlingua2 import model_denoise

pytestmark = pytest.mark.model
WORDS = "storm mast harbour the a in broke oh ship's well-known Faro 1950 , . ! (boat) ...".split()


class _Counter:
    """Counts tokens as theanine does; the package's own counter is downloaded."""

    def encode(self, word: str) -> list[int]:
        return load_tokenizer().encode(word.lstrip("▁"), add_special_tokens=False).ids


def _compressor(folder: Path) -> Any:
    """The package's compressor, which would download a tokenizer in its own ``__init__``."""
    package = library("llmlingua")

    class Offline(package.PromptCompressor):
        def __init__(self) -> None:
            self.model_name, self.use_slingua = str(folder), False
            self.oai_tokenizer = _Counter()
            self.load_model(self.model_name, "cpu", {})
            self.init_llmlingua2()

    return Offline()


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.5, 0.75, 0.9])
def test_the_same_words_are_kept_and_forced_ones_always(tmp_path: Path, rate: float) -> None:
    folder = token_classifier(tmp_path / "xlm-roberta-large")
    random = Random(7)
    lines = [" ".join(random.choices(WORDS, k=length)) for length in range(5, 45)]
    expected = _compressor(folder).compress_prompt_llmlingua2(
        lines, rate=rate, force_tokens=["."], use_context_level_filter=False
    )["compressed_prompt_list"]
    found = model_denoise(lines, rate, str(folder))
    assert found == expected
    assert sum(map(len, found)) < sum(map(len, lines))
    for line, kept in zip(lines, found, strict=True):
        assert kept.count(" .") >= line.count(" . ")
