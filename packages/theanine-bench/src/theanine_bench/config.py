"""The settings of a run that decide its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from theanine.types import LOCAL_MODEL

NO_METHOD = "nobody"
"""``RunConfig.method`` of a run without a target: existing answers are only scored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """The target and the judge, by name. Saved with the run.

    Attributes:
        method: the memory method's id, or another target's.
        settings: the target's settings by name.
        model: the target's language model, or ``local`` for none.
        budget: maximum tokens of a recollection, or None.
        judge: the judging model, or ``local`` for none.
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
