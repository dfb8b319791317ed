"""The settings of a run that decide its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from theanine.llm.prompt_folder import PromptFolder
from theanine.types import LOCAL_MODEL

NO_METHOD = "nobody"
"""``RunConfig.method`` of a run without a target: existing answers are only scored."""

SCORE = "score"
"""The bench of answers that were made elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """The target and the judge, by name. Saved with the run.

    Attributes:
        method: the memory method's id, or another target's.
        settings: the target's settings by name.
        model: the target's language model, or ``local`` for none.
        budget: maximum tokens of a recollection, or None.
        judge: the judging model, or ``local`` for none.
        judge_settings: settings of ``judge`` by name, or None for its defaults.
        model_settings: settings of ``model`` by name, or None for its defaults.
        memory_model, memory_base_url, memory_settings: of the model that remembers, as in
            :class:`theanine.OpenOptions`; None is ``model``.
        prompts: prompts in place of the target's and the judge's own; hashes of them are saved.
    """

    method: str = "theanine"
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    model: str = LOCAL_MODEL
    base_url: str | None = None
    embedder: str = LOCAL_MODEL
    budget: int | None = None
    judge: str = LOCAL_MODEL
    judge_base_url: str | None = None
    seed: int = 0
    model_settings: Mapping[str, object] | None = None
    memory_model: str | None = None
    memory_base_url: str | None = None
    memory_settings: Mapping[str, object] | None = None
    judge_settings: Mapping[str, object] | None = None
    prompts: PromptFolder | None = None

    def record(self) -> dict[str, Any]:
        """Return the settings as saved with a run, without later ones that are not set.

        A run of an earlier release, which did not know these, is then still found and resumed.
        """
        record = asdict(self) | {"prompts": self.prompts and self.prompts.hashes()}
        unset = {name for name in _LATER if record[name] is None}
        return {name: value for name, value in record.items() if name not in unset}


_LATER = (
    "model_settings",
    "memory_model",
    "memory_base_url",
    "memory_settings",
    "judge_settings",
    "prompts",
)
