"""Worked examples for few-shot replies, drawn from a run (LLM-Rsum, section 6.3 and table 5).

The paper draws them from the validation set: dialogues with the memory that was generated for them
and the labeled response.
"""

from __future__ import annotations

from random import Random

from theanine.errors import BadInput
from theanine_bench.runs.folder import RunFolder
from theanine_bench.tasks.responses import BENCH
from theanine_methods.recursive_summary.few_shot import format_examples


def draw_examples(run: RunFolder, count: int, seed: int = 0) -> str:
    """Return a file of examples, drawn at random from the samples for which something was recalled.

    Raises BadInput for a run of another bench, and for one with fewer such samples.
    """
    if (bench := run.settings()["bench"]) != BENCH:
        raise BadInput(f"it holds a run of {bench}, not of {BENCH}", str(run.path))
    usable = [one for one in run.results().values() if one.recalled and one.reference]
    if len(usable) < count:
        raise BadInput(
            f"it has {len(usable)} samples for which something was recalled, not {count}",
            str(run.path),
        )
    drawn = Random(seed).sample(sorted(usable, key=lambda result: result.id), count)
    return format_examples(
        (
            [part["text"] for part in result.recalled],
            [f"{turn['speaker']}: {turn['text']}" for turn in result.dialogue],
            result.reference,
        )
        for result in drawn
    )
