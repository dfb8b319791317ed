"""The past of a sample as judges and raters see it, the same for every method under test.

The data set decides: its personas, else its gold evidence, else the history before the sample
within :data:`PAST_TOKENS`. What a method recalled is never part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from theanine.text.formatting import format_day, format_speaker, one_line
from theanine.tokenizer import count_tokens
from theanine.types import Transcript
from theanine_bench.samples import PAST_KEYS, Group, Sample

PAST_TOKENS = 4_000
"""Maximum tokens of the history that stands for the past (bundled tokenizer), newest turns first.

All sessions of MSC fit: before the fifth there are 2,613 tokens at most (LLM-Rsum, table 1).
"""
LEFT_OUT = "(older turns are left out)"


def with_past(groups: Iterable[Group], tokens: int = PAST_TOKENS) -> list[Group]:
    """Return the groups with ``extra["past"]``, lines of the history, in samples without labels.

    Samples with a persona or gold evidence stay as they are.
    """
    return [_with_past(group, tokens) for group in groups]


def _with_past(group: Group, tokens: int) -> Group:
    before: list[Transcript] = []
    stages = list(group.stages)
    for number, stage in enumerate(stages):
        before += [one for history in stage.histories for one in history.transcripts]
        if any(_is_bare(sample) for sample in stage.samples):
            past = history_lines(before, tokens)
            samples = tuple(
                replace(one, extra={**one.extra, "past": past}) if _is_bare(one) else one
                for one in stage.samples
            )
            stages[number] = replace(stage, samples=samples)
    return replace(group, stages=tuple(stages))


def _is_bare(sample: Sample) -> bool:
    return not any(sample.extra.get(key) for key in PAST_KEYS)


def history_lines(transcripts: Sequence[Transcript], tokens: int) -> list[str]:
    """Return the newest turns within a number of tokens, one line each, oldest first.

    The first line says so if older turns are left out.
    """
    lines: list[str] = []
    for transcript in reversed(transcripts):
        for turn in reversed(transcript.turns):
            day = format_day(turn.at, transcript.dated)
            line = f"{day}{format_speaker(turn.speaker)}: {one_line(turn.full_text)}"
            tokens -= count_tokens(line)
            if tokens < 0:
                return [LEFT_OUT, *reversed(lines)]
            lines.append(line)
    return lines[::-1]
