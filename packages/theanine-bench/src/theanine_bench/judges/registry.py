"""Judges by name."""

from __future__ import annotations

from collections.abc import Mapping

from theanine.errors import SettingsError
from theanine_bench.judges.answers import ANSWER_JUDGES
from theanine_bench.judges.judge import Judge
from theanine_bench.judges.replies import REPLY_JUDGES

JUDGES: Mapping[str, Judge] = {judge.name: judge for judge in (*ANSWER_JUDGES, *REPLY_JUDGES)}
METRICS = JUDGES


def find_judge(name: str) -> Judge:
    """Return a judge by name, such as ``gpt4score``. Raises SettingsError, listing the names."""
    try:
        return JUDGES[name]
    except KeyError:
        raise SettingsError(f"unknown judge {name!r}; there are: {', '.join(JUDGES)}") from None
