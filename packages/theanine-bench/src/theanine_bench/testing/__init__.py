"""Scripted replies to the prompts of judges, TeaFarm and generators, for `theanine.testing`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from theanine.testing.answers import Write
from theanine_bench.testing import generation, judges, teafarm

__all__ = ["STEPS"]


def _as_text(reply: Callable[[Mapping[str, str]], dict[str, Any]]) -> Write:
    def write(blocks: Mapping[str, str]) -> str:
        return json.dumps(reply(defaultdict(str, blocks)), ensure_ascii=False)

    return write


STEPS: Mapping[str, Write] = {
    **{
        step: _as_text(reply)
        for step, reply in {**generation.STEPS, **judges.STEPS, **teafarm.STEPS}.items()
    },
    **generation.TEXT_STEPS,
}
"""Step name → writer of its reply; found through the group `theanine.scripted_answers`."""
