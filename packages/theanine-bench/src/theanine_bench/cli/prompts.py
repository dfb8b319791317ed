"""Folders of prompts that take the place of ours."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from theanine.errors import SettingsError
from theanine.llm.prompt_folder import SUFFIX, PromptFolder
from theanine.methods.registry import names
from theanine.suggestion import suggest
from theanine_bench.judges.pairwise import CRITERIA
from theanine_bench.metrics.registry import registered_metrics
from theanine_bench.targets.gold_memory import GOLD_MEMORY


def read_prompts(folder: Path | None) -> PromptFolder | None:
    """Return the prompts of a folder; None without one.

    Raises SettingsError for a folder without prompts, and for one of no step or asker of ours.
    """
    if folder is None:
        return None
    prompts = PromptFolder.read(folder)
    for name in prompts.texts:
        step, *asker, version = name.split(".")
        if (known := f"{step}.{version}") not in step_names():
            raise SettingsError(
                f"{folder / name}{SUFFIX}: there is no step {known}{suggest(known, step_names())}"
            )
        for each in asker:
            if each not in (askers := (*names(), GOLD_MEMORY, *registered_metrics(), *CRITERIA)):
                raise SettingsError(
                    f"{folder / name}{SUFFIX}: no method and no metric is named {each}"
                    f"{suggest(each, askers)}"
                )
    return prompts


@cache
def step_names() -> frozenset[str]:
    """Return step and version of each prompt of ours, such as ``relate-pair.v1``."""
    return frozenset(
        file.name.removesuffix(SUFFIX)
        for package in ("theanine", "theanine_methods", "theanine_bench")
        for folder in _prompt_folders(files(package))
        for file in folder.iterdir()
    )


def _prompt_folders(folder: Traversable) -> Iterator[Traversable]:
    for child in folder.iterdir():
        if child.is_dir() and child.name == "prompts":
            yield child
        elif child.is_dir():
            yield from _prompt_folders(child)
