"""Prompts of the user's own in place of those of the package, such as the ones of a paper."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from theanine.errors import SettingsError
from theanine.llm.prompt import PromptTemplate

T = TypeVar("T")
SUFFIX = ".md"
_NAME = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)?\.v\d+")


@dataclass(frozen=True, slots=True)
class PromptFolder:
    """Texts that take the place of prompts.

    Attributes:
        texts: by the name of the file: step and version, such as ``relate-pair.v1``, or step, asker
            and version, such as ``respond.full-history.v1``. The asker is a memory method, or the
            metric that asks a judge.
    """

    texts: Mapping[str, str]

    @classmethod
    def read(cls, folder: str | PathLike[str]) -> PromptFolder:
        """Read the files ``STEP.vN.md`` and ``STEP.ASKER.vN.md``. Raises SettingsError."""
        files = sorted(Path(folder).glob(f"*{SUFFIX}"))
        if not files:
            raise SettingsError(
                f"there are no prompts in {folder}: files such as respond.v1{SUFFIX}, named by "
                "step and version"
            )
        texts: dict[str, str] = {}
        for file in files:
            name = file.name.removesuffix(SUFFIX)
            if not _NAME.fullmatch(name):
                raise SettingsError(
                    f"{file} is not named by a step and its version, such as respond.v1{SUFFIX} or "
                    f"respond.full-history.v1{SUFFIX}"
                )
            try:
                texts[name] = file.read_text(encoding="utf-8").strip()
            except (OSError, UnicodeError) as error:
                raise SettingsError(f"{file} can't be read: {error}") from error
            if not texts[name]:
                raise SettingsError(f"{file} is empty")
        return cls(texts)

    def hashes(self) -> dict[str, str]:
        """Return a short hash of each text, by name, for the record of a run."""
        return {name: sha256(text.encode()).hexdigest()[:12] for name, text in self.texts.items()}

    def replace(self, step: PromptTemplate[T], asker: str = "") -> PromptTemplate[T]:
        """Return the step with its text of the folder, if there is one, the asker's own first.

        Its reply is then read in the published form, where the step has one.
        """
        for name in (f"{step.name}.{asker}", step.name):
            if text := self.texts.get(f"{name}.v{step.version}"):
                form: dict[str, Any] = {"in_published_form": step.published is not None}
                return replace(step, template=text, **form)
        return step


NO_PROMPTS = PromptFolder({})
