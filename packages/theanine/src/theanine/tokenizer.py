"""The bundled tokenizer: token counts without a network, and clean-up of text for tokenizers.

Token budgets and estimates use one tokenizer for all models, since most providers publish none.
Its file is read from the folder of the ``wordllama`` package; ``import wordllama`` is avoided, as
it takes half a second and 17 MB and configures the root logger of the process.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from theanine.errors import SettingsError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_UNSPLITTABLE = re.compile(r"^ | {2}| $|[<▁]|^$")
"""Texts whose tokens are not those of their words: for a space, the tokenizer writes ▁."""
_UNSENDABLE = re.compile("[\x00\ud800-\udfff]")


def sanitize(text: str) -> str:
    """Replace NUL and lone surrogates, which many models and stores reject, by U+FFFD.

    Two halves of one character become the character.
    """
    if text.isascii() and "\0" not in text:
        return text
    if not _UNSENDABLE.search(text):
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\0", "\ufffd")


def sanitize_json(value: Any) -> Any:
    """Return a JSON value with all its strings by :func:`sanitize`."""
    if isinstance(value, str):
        return sanitize(value)
    if isinstance(value, list):
        return [sanitize_json(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {sanitize(name): sanitize_json(item) for name, item in fields.items()}
    return value


def count_tokens(text: str) -> int:
    """Count the tokens of a text by the bundled tokenizer.

    Other models split text differently: use it as an estimate, mostly a little high for English.
    """
    return len(encode(text))


def encode(text: str) -> list[int]:
    """Return the ids of a text's tokens."""
    text = sanitize(text)
    if _UNSPLITTABLE.search(text):
        return load_tokenizer().encode(text, add_special_tokens=False).ids
    # No token goes beyond a single space, and most words are frequent.
    return list(chain.from_iterable(map(_encode_word, text.split(" "))))


@lru_cache(maxsize=20_000)
def _encode_word(word: str) -> tuple[int, ...]:
    """Return the tokens of a text without spaces."""
    return tuple(load_tokenizer().encode(word, add_special_tokens=False).ids)


@cache
def load_tokenizer() -> Tokenizer:
    """Return the bundled tokenizer (Llama 2, 32,000 tokens). Raises SettingsError if missing."""
    from tokenizers import Tokenizer  # only here: most importers of this module count no tokens

    tokenizer = Tokenizer.from_file(str(wordllama_file(_TOKENIZER)))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # Its cache keys on whole texts, as this tokenizer has no word boundaries: 60 MB without a hit.
    tokenizer.model._resize_cache(0)  # pyright: ignore[reportPrivateUsage]  (no public way)
    return tokenizer


def wordllama_file(name: str) -> Path:
    """Return the path of a file in the ``wordllama`` package. Raises SettingsError if missing."""
    spec = find_spec("wordllama")
    path = Path(spec.origin).parent / name if spec and spec.origin else None
    if path is None or not path.is_file():
        raise SettingsError(
            f"the built-in embedder's file {name} is missing: reinstall it with "
            "pip install --force-reinstall wordllama, or name another embedder"
        )
    return path
