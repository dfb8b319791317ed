"""An item as a judging model is shown it: quoted, one line a turn, unable to leave its fence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from theanine.text.formatting import format_speaker, one_line
from theanine.text.words import format_date
from theanine_bench.judges.judge import Unjudged
from theanine_bench.samples import SampleResult

NOTHING = "(nothing)"
UNSAID = "Nothing in the past says it. A right answer says that it is not known."
"""The reference of a question that the past does not answer."""


def conversation(item: SampleResult) -> str:
    """What was said so far, one turn a line."""
    turns = [f"{format_speaker(one['speaker'])}: {one_line(one['text'])}" for one in item.dialogue]
    return "\n".join(turns) or one_line(item.question) or NOTHING


def answer(item: SampleResult) -> str:
    """What the agent answered, on one line."""
    return one_line(item.answer or "") or NOTHING


def reply(item: SampleResult) -> str:
    """The same behind the speaker's name."""
    return f"{format_speaker(item.speaker)}: {answer(item)}"


def answerable(item: SampleResult) -> bool:
    """Whether the past answers the question; a case that does not say is taken to be answerable."""
    return item.extra.get("answerable", True) is not False


def reference(item: SampleResult) -> str:
    """What a good answer says, or why there is none. Raises Unjudged where the item has neither."""
    if words := one_line(item.reference):
        return words
    if not answerable(item):
        return UNSAID
    raise Unjudged(f"there is no reference for {item.id}, nothing to judge its answer by")


def evidence(item: SampleResult) -> str:
    """The labelled turns' words, where the case carries them (``extra["evidence"]``)."""
    return lines(_texts(item.extra.get("evidence")))


def past(item: SampleResult) -> str:
    """What is known of the speakers, oldest first; see :func:`past_lines`."""
    return lines(past_lines([item]))


def past_lines(items: Sequence[SampleResult]) -> list[str]:
    """What is known of the speakers, for one run's item of a case or several runs' items of it.

    The case's own (``extra["past"]``, ``extra["persona"]``) where it carries any, else the turns
    behind what the agents recalled, with their days. A recollection itself is never taken for the
    truth, and no run's recollection decides alone.
    """
    if known := [*_texts(items[0].extra.get("past")), *_texts(items[0].extra.get("persona"))]:
        return known
    turns = {
        (source["session"], source["turn"]): source
        for item in items
        for part in item.recalled
        for source in part["sources"]
    }
    ordered = sorted(turns.values(), key=lambda one: (_at(one), one["turn"]))
    return [
        f"({format_date(_at(one))}) {format_speaker(one['speaker'])}: {one['text']}"
        for one in ordered
    ]


def _at(turn: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(turn["at"])


def recalled(item: SampleResult) -> str:
    """What the agent had before it, part by part."""
    return lines(part["text"] for part in item.recalled)


def lines(texts: Iterable[str]) -> str:
    """Texts as a list, one line each."""
    return "\n".join(f"- {line}" for text in texts if (line := one_line(text))) or NOTHING


def _texts(given: object) -> list[str]:
    """Texts, or turns as ``{speaker, text}``, or either by speaker."""
    if isinstance(given, str):
        return [given]
    if isinstance(given, Mapping):
        known = cast("Mapping[str, object]", given)
        if "text" in known:
            return [
                f"{format_speaker(str(known.get('speaker', '')))}: {known['text']}".removeprefix(
                    ": "
                )
            ]
        return [f"{who}: {text}" for who, some in known.items() for text in _texts(some)]
    if isinstance(given, Sequence):
        return [text for one in cast("Sequence[object]", given) for text in _texts(one)]
    return []
