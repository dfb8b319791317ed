"""The tokenizer and the word vectors that ship inside the ``wordllama`` wheel.

They are read straight from the package's folder. ``import wordllama`` itself is avoided: it costs
half a second and 17 MB, and it configures the root logger of the whole process.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from theanine.errors import SettingsError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NAME = "wordllama:l2_supercat_256"
DIMENSION = 256
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_UNSENDABLE = re.compile("[\x00\ud800-\udfff]")


def sanitize(text: str) -> str:
    """The text with NUL and lone surrogates, which many models choke on, replaced by U+FFFD."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSENDABLE.sub("\ufffd", text)


@cache
def tokenizer() -> Tokenizer:
    """The bundled tokenizer (Llama 2's 32,000 pieces). Raises SettingsError when it is missing."""
    from tokenizers import Tokenizer  # only here: most who import this count no token

    loaded = Tokenizer.from_file(str(_file(_TOKENIZER)))
    loaded.no_truncation()
    loaded.no_padding()
    # Its cache keys on whole texts, as this tokenizer has no word bounds: 60 MB that never hit.
    loaded.model._resize_cache(0)  # pyright: ignore[reportPrivateUsage]  (no public way)
    return loaded


@cache
def weights() -> NDArray[np.float16]:
    """One row a piece of the tokenizer: ``(32000, 256)`` float16, kept so (16 MB)."""
    from safetensors.numpy import load

    return load(_file(_WEIGHTS).read_bytes())["embedding.weight"]


def count_tokens(text: str) -> int:
    """How many tokens the bundled tokenizer makes of a text.

    Other models cut texts differently: take it as an estimate, mostly a little high for English.
    """
    return len(tokenizer().encode(sanitize(text), add_special_tokens=False).ids)


def _file(name: str) -> Path:
    spec = find_spec("wordllama")
    path = Path(spec.origin).parent / name if spec and spec.origin else None
    if path is None or not path.is_file():
        raise SettingsError(
            f"the built-in embedder's file {name} is missing: reinstall it with "
            "pip install --force-reinstall wordllama, or name another embedder"
        )
    return path
