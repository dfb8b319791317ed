"""Answers to the prompts of the method ``secom``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from theanine.testing.answers.blocks import Write

_NUMBER = re.compile(r"^\[(\d+)\] ", re.MULTILINE)
_CONVERSATION = re.compile(r"^== (\d+)$", re.MULTILINE)
_RUN = 3
"""Numbered turns of a segment; the last may have fewer."""


def _segment(blocks: Mapping[str, str]) -> str:
    """Segments of three numbered turns each."""
    numbers = [int(number) for number in _NUMBER.findall(blocks.get("turns", ""))]
    runs = [numbers[i : i + _RUN] for i in range(0, len(numbers), _RUN)]
    return json.dumps({"segments": [{"first": run[0], "last": run[-1]} for run in runs]})


def _reflect(blocks: Mapping[str, str]) -> str:
    """A rule that tells how many were learned before, from the first conversation."""
    known = [line for line in blocks.get("rules", "").splitlines() if line.startswith("Rule ")]
    shown = _CONVERSATION.findall(blocks.get("conversations", ""))
    return json.dumps(
        {
            "errors": "The segments were drawn without regard to what is said.",
            "rule": f"Mind what is said, for reason {len(known) + 1}.",
            "example": int(shown[0]) if shown else 1,
            "lesson": "A question about something else begins a segment.",
        }
    )


STEPS: Mapping[str, Write] = {
    "segment": _segment,
    "segment-guided": _segment,
    "segment-reflect": _reflect,
}
