"""Denoise a copy of a text for the index: drop what hardly tells it from any other text.

Source: SeCom (2025), section 2.3: what is redundant in a memory is noise to the search for it. The
paper compresses with LLMLingua-2 at a rate of 75 %; the local version goes by self-information.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from anyio import to_thread

from theanine.errors import MissingExtra, SettingsError

Denoising = Literal["local", "llmlingua2", "none"]
"""By self-information, by an LLMLingua-2 model (extra ``llmlingua``), or not at all."""


async def denoise(
    lines: Sequence[str], how: Denoising, rate: float = 0.75, model_path: str = ""
) -> list[str]:
    """As many lines, with the share ``rate`` of all their words, in order.

    ``model_path`` is the folder of the LLMLingua-2 model. Raises as :func:`check_denoising` does.
    """
    if how == "none" or rate >= 1:
        return list(lines)
    if how == "local":
        from theanine.text.denoising.local import local_denoise

        return local_denoise(lines, rate)
    check_denoising(how, model_path)
    from theanine.text.denoising.llmlingua2 import model_denoise

    return await to_thread.run_sync(model_denoise, lines, rate, model_path)


def check_denoising(how: Denoising, model_path: str) -> None:
    """Whether this way to denoise can work here: nothing is ever fetched.

    Raises MissingExtra without the extra ``llmlingua``, SettingsError without the model's folder.
    """
    if how != "llmlingua2":
        return
    if find_spec("torch") is None or find_spec("transformers") is None:
        raise MissingExtra("llmlingua", "denoising with LLMLingua-2")
    if not model_path or not Path(model_path).is_dir():
        raise SettingsError(
            f"llmlingua_model must name the folder of an LLMLingua-2 model, not {model_path!r}: "
            "download one, such as microsoft/llmlingua-2-xlm-roberta-large-meetingbank, once"
        )


def keep_words(lines: Sequence[str], rate: float, worth: Sequence[Sequence[float]]) -> list[str]:
    """The lines with the ``rate`` of all words that are worth most; at least one word if any.

    ``worth`` has a figure for each word of each line, words being parted by spaces. Of words worth
    the same, the earlier is kept.
    """
    words = [line.split() for line in lines]
    places = [(row, place) for row, line in enumerate(words) for place in range(len(line))]
    count = max(1, round(rate * len(places)))
    best = nlargest(count, places, key=lambda at: (worth[at[0]][at[1]], -at[0], -at[1]))
    kept = set(best)
    return [
        " ".join(word for place, word in enumerate(line) if (row, place) in kept)
        for row, line in enumerate(words)
    ]
