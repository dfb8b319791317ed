"""A chat model that follows a script; an embedder and a reranker that only look at words.

For tests and dry runs; adapters like any other: deterministic, in this process, no network.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any, cast

import numpy as np

from theanine.embeddings.base import Scores, Vectors
from theanine.embeddings.normalize import normalize_rows
from theanine.embeddings.wordllama import count_tokens, sanitize
from theanine.errors import ModelRejected
from theanine.llm.base import Message, RawReply

Answer = str | RawReply | Exception
"""What a script answers: words, a whole reply, or an error to raise."""
Writer = Callable[[str], Answer]
"""Makes an answer of a prompt."""
Script = Answer | Writer | Mapping[str, Answer | Writer] | Sequence[Answer]
"""One answer for all, a function, answers by step name, or answers to be used up in order."""

_TASK = re.compile(r"\s*Task: *(\S+)")
_LONGEST = 4_000


def task_of(prompt: str) -> str | None:
    """The step that a prompt of theanine's belongs to: its first line is ``Task: <step>``."""
    match = _TASK.match(prompt)
    return match[1] if match else None


class ScriptedModel:
    """Answers by a script, and counts tokens with the bundled tokenizer; it costs nothing.

    Args:
        reply: the script. A function gets the whole prompt: all messages of the request, a blank
            line between them.
        name: the model's name.

    Attributes:
        prompts: every prompt that it was asked, in order.

    A request for which the script has no answer raises ModelRejected.
    """

    def __init__(self, reply: Script, name: str = "scripted") -> None:
        self.prompts: list[str] = []
        self._name = name
        self._write = _writer(reply)
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The name that it was given."""
        return self._name

    @property
    def settings(self) -> Mapping[str, Any]:
        """None: only the script changes its answers."""
        return {}

    async def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None
    ) -> RawReply:
        """The script's answer; ``schema`` is ignored."""
        prompt = "\n\n".join(message.text for message in messages)
        with self._lock:
            self.prompts.append(prompt)
            answer = self._write(prompt)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, RawReply):
            return answer
        return RawReply(
            text=answer,
            input_tokens=count_tokens(prompt),
            output_tokens=count_tokens(answer),
            cost=0.0,
        )


def _writer(script: Script) -> Writer:
    if isinstance(script, (str, RawReply, Exception)):
        return lambda _: script
    if isinstance(script, Mapping):
        steps = cast("Mapping[str, Answer | Writer]", script)
        return lambda prompt: _writer(steps.get(task_of(prompt) or "", _silence(prompt)))(prompt)
    if isinstance(script, Sequence):
        rest = iter(cast("Sequence[Answer]", script))
        return lambda prompt: next(rest, _silence(prompt))
    return script


def _silence(prompt: str) -> ModelRejected:
    return ModelRejected(f"the script has no answer for: {prompt[:80]!r}")


class HashEmbedder:
    """Hashes a text's words and letter triples into a vector: alike texts get alike vectors.

    Needs no files. Case is ignored; characters after the 4,000th are left out. Its quality is
    far below the built-in embedder's: use it where only determinism and a small size matter.
    """

    def __init__(self, dimension: int = 64, name: str | None = None) -> None:
        self.dimension = dimension
        self._name = name or f"hash:{dimension}"

    @property
    def name(self) -> str:
        """``hash:`` and the dimension, unless another was given."""
        return self._name

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text; a text without a character gives zeros."""
        return self.vectors(texts)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """The same, without ``await``."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for feature in _features(text):
                code = zlib.crc32(feature.encode())
                row[(code >> 1) % self.dimension] += 1 if code & 1 else -1
        return normalize_rows(rows)


class OverlapReranker:
    """Rates a text by the share of the question's words that it has. Case is ignored."""

    name = "overlap"

    async def score(self, question: str, texts: Sequence[str]) -> Scores:
        """One number a text, from 0 to 1."""
        asked = _words(question)
        shares = [len(asked & _words(text)) / max(len(asked), 1) for text in texts]
        return np.array(shares, np.float32)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def _features(text: str) -> Iterator[str]:
    plain = sanitize(text[:_LONGEST]).casefold()
    for word in re.findall(r"\w+", plain):
        yield from (word, word)  # a shared word says more than a shared triple
    padded = f" {' '.join(plain.split())} "
    if padded.strip():
        yield from (padded[i : i + 3] for i in range(len(padded) - 2))
