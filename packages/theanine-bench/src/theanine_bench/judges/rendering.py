"""Format results for judging prompts, so that quoted text can't leave its fence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from theanine.text.formatting import format_speaker, one_line
from theanine_bench.judges.judge import Unjudged
from theanine_bench.samples import PAST_KEYS, SampleResult

NOTHING = "(nothing)"
UNSAID = "Nothing in the past says it. A right answer says that it is not known."
"""The reference of a question that the past does not answer; part of prompts."""


def conversation(result: SampleResult) -> str:
    """Return the dialogue with one turn per line, or the question without one."""
    turns = [f"{format_speaker(t['speaker'])}: {one_line(t['text'])}" for t in result.dialogue]
    return "\n".join(turns) or one_line(result.question) or NOTHING


def answer(result: SampleResult) -> str:
    """Return the answer on one line."""
    return one_line(result.answer or "") or NOTHING


def answerable(result: SampleResult) -> bool:
    """Return whether the past answers the question; True if the sample doesn't say."""
    return result.extra.get("answerable", True) is not False


def reference(result: SampleResult) -> str:
    """Return the reference answer, or :data:`UNSAID` for an unanswerable question.

    Raises Unjudged for an answerable question without a reference.
    """
    if text := one_line(result.reference):
        return text
    if not answerable(result):
        return UNSAID
    raise Unjudged(f"there is no reference for {result.id}, nothing to judge its answer by")


def evidence(result: SampleResult) -> str:
    """Return the labeled evidence turns of the sample (``extra["evidence"]``) as a list."""
    return bullet_list(_texts(result.extra.get("evidence")))


def past(result: SampleResult) -> str:
    """Return :func:`past_lines` as a list."""
    return bullet_list(past_lines(result))


def past_lines(result: SampleResult) -> list[str]:
    """Return what is known of the speakers, the same for every method; empty if nothing is.

    It is the sample's own history and personas (``extra["past"]`` and ``extra["persona"]``), else
    its gold evidence. What the method recalled is no part of it, right or wrong.

    Raises Unjudged for a result that has none of these labels.
    """
    extra = result.extra
    if not any(key in extra for key in PAST_KEYS):
        raise Unjudged(
            f"the past of {result.id} is not in its result: run the bench again in a new folder"
        )
    own = [*_texts(extra.get("past")), *_texts(extra.get("persona"))]
    return own or _texts(extra.get("evidence"))


def bullet_list(texts: Iterable[str]) -> str:
    """Return texts as a list, one line each."""
    return "\n".join(f"- {line}" for text in texts if (line := one_line(text))) or NOTHING


def _texts(value: object) -> list[str]:
    """Flatten texts, turns as ``{speaker, text}``, or mappings of a speaker to either."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        if "text" not in fields:
            return [f"{name}: {text}" for name, each in fields.items() for text in _texts(each)]
        speaker = format_speaker(str(fields.get("speaker", "")))
        return [f"{speaker}: {fields['text']}".removeprefix(": ")]
    if isinstance(value, Sequence):
        return [text for each in cast("Sequence[object]", value) for text in _texts(each)]
    return []
