"""Denoise the indexed copy of a text: drop the words that distinguish it least.

Source: SeCom (2025), section 2.3, which compresses with LLMLingua-2 at a rate of 75 %. The local
version selects by self-information.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from anyio import to_thread

from theanine.errors import MissingExtra, SettingsError
from theanine_methods.denoising.llmlingua2 import model_denoise
from theanine_methods.denoising.local import local_denoise

Denoising = Literal["local", "llmlingua2", "none"]
"""By self-information, by an LLMLingua-2 model (extra ``llmlingua``), or not at all."""


async def denoise(
    lines: Sequence[str], how: Denoising, rate: float = 0.75, model_path: str = ""
) -> list[str]:
    """Return the lines with the share ``rate`` of all their words, in order.

    ``model_path`` is the folder of the LLMLingua-2 model. Raises as :func:`check_denoising` does.
    """
    if how == "none" or rate >= 1:
        return list(lines)
    if how == "local":
        return local_denoise(lines, rate)
    check_denoising(how, model_path)
    return await to_thread.run_sync(model_denoise, lines, rate, model_path)


def check_denoising(how: Denoising, model_path: str) -> None:
    """Check that this kind of denoising works on this machine; nothing is downloaded.

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
