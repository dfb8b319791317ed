"""The built-in embedder gives what its package gives, without importing it, and fast."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from theanine.embeddings.static import MAX_CHARACTERS, StaticEmbedder
from theanine.tokenizer import count_tokens

TEXTS = [
    "I'm terrified of ships since the storm.",
    "Shall we book that cruise?",
    "Ünïcödé, 日本語, العربية and 🙂👩‍👩‍👧",
    "a",
    "  spaces   and\nlines\tand tabs  ",
    "word " * 300,
]
REFERENCE = """
import json, sys
from pathlib import Path
import wordllama
from wordllama import WordLlama
model = WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
texts = json.load(sys.stdin)
print(json.dumps(model.embed(texts, norm=True).tolist()))
"""


def test_it_agrees_with_the_package() -> None:
    run = subprocess.run(
        [sys.executable, "-c", REFERENCE],
        input=json.dumps(TEXTS),
        capture_output=True,
        text=True,
        check=True,
    )
    expected = np.array(json.loads(run.stdout), np.float32)
    np.testing.assert_allclose(StaticEmbedder().vectors(TEXTS), expected, atol=2e-6)


def test_the_package_itself_is_never_imported_nor_logging_touched() -> None:
    code = (
        "import sys, logging\n"
        "from theanine.embeddings.static import StaticEmbedder\n"
        "StaticEmbedder().vectors(['hello'])\n"
        "assert 'wordllama' not in sys.modules, 'imported'\n"
        "assert not logging.getLogger().handlers, 'logging configured'\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_alone_and_in_a_batch_the_bits_are_the_same() -> None:
    texts = [f"{text} {number}" for number in range(150) for text in TEXTS[:3]]
    embedder = StaticEmbedder()
    batch = embedder.vectors(texts)
    alone = np.concatenate([embedder.vectors([text]) for text in texts])
    np.testing.assert_array_equal(batch, alone)


def test_only_the_first_characters_of_a_long_text_count() -> None:
    embedder = StaticEmbedder()
    text = "storm and ships " * 250
    assert len(text) == MAX_CHARACTERS
    np.testing.assert_array_equal(
        embedder.vectors([text + "but then something else " * 500]), embedder.vectors([text])
    )


def test_no_token_gives_zeros() -> None:
    rows = StaticEmbedder().vectors(["", "storm", ""])
    assert not rows[[0, 2]].any()
    assert np.linalg.norm(rows[1]) == pytest.approx(1)


def test_it_tells_meanings_apart() -> None:
    ship, cruise, tax = StaticEmbedder().vectors(
        ["She is afraid of ships.", "Sailing scares her.", "The tax office sent a letter."]
    )
    assert ship @ cruise > ship @ tax + 0.1


def test_threads_may_share_a_fresh_one() -> None:
    embedder = StaticEmbedder()
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(embedder.vectors, [TEXTS[:2]] * 16))
    assert all(np.array_equal(row, rows[0]) for row in rows)


def test_tokens_are_counted() -> None:
    assert count_tokens("") == 0
    assert count_tokens("hello world") == 2
    assert count_tokens("\ud800") > 0
