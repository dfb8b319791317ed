"""Bring a running summary up to date with what was said since: by a model, or locally.

Source: LLM-Rsum, memory management (section 3.2.1 and figure 12): M_i is made of M_{i-1} and
session i. Each sentence names the turns and the earlier sentences that it rests on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, cast

from pydantic import BaseModel, Field, field_validator

from theanine.llm.prompt import load_prompt
from theanine.summarization.local_update_summary import local_update_summary
from theanine.summarization.running_summary import Sentence
from theanine.text.formatting import one_line
from theanine.text.numbering import Line, format_numbered, split_windows
from theanine.text.words import format_date, stem, words
from theanine.types import Turn

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

LONGEST_SENTENCE = 400
"""Characters; the prompt asks for 40 words."""
ALL_AT_ONCE = 4
"""From so many sentences on, a reply that keeps none of them has forgotten them."""


class WrittenSentence(BaseModel):
    """One sentence of the new summary, as the model gives it."""

    text: str = Field(default="", description="the sentence; left out when it stays as it is")
    turns: list[int] = Field(default=[], description="numbers of the turns that support it")
    kept: list[int] = Field(default=[], description="numbers of the earlier sentences in it")

    @field_validator("kept", mode="before")
    @classmethod
    def _labelled(cls, value: object) -> object:
        """Take ``"S3"`` for 3."""
        if not isinstance(value, list):
            return value
        items = cast("list[object]", value)
        return [one.strip().lstrip("Ss") if isinstance(one, str) else one for one in items]


class UpdatedSummary(BaseModel):
    """The model's answer: the whole new summary."""

    sentences: list[WrittenSentence]


UPDATE_SUMMARY = load_prompt("theanine.summarization", "update-summary", 1, UpdatedSummary)


async def update_summary(
    summary: Sequence[Sentence],
    turns: Sequence[Turn],
    caller: ScopedChat | None,
    *,
    most: int,
    dated: bool = True,
    touches: Collection[int] = (),
) -> list[Sentence]:
    """The summary after these turns, at most ``most`` sentences; local where there is no caller.

    What stays as it is comes back as it was; all else has no number yet. Turns that pass one
    window are taken in window by window.

    Args:
        summary: the sentences so far; none at the beginning.
        turns: what was said since, in order.
        caller: the language model, or None.
        most: how many sentences the summary may have.
        dated: False when the turns' times only keep their order.
        touches: numbers of all sessions whose words may stand in the summary so far.

    Raises ModelError when the model fails or keeps answering unusably.
    """
    if caller is None:
        return local_update_summary(summary, turns, most=most, dated=dated)
    updated = list(summary)
    for window in split_windows(turns):
        answer = await caller.ask(
            UPDATE_SUMMARY,
            source_sessions={*touches, *(turn.session for turn in turns)},
            check=_checker(len(updated), window, most),
            most=str(most),
            summary="\n".join(map(_line, range(1, len(updated) + 1), updated)) or "(empty)",
            turns=format_numbered(window, dated=dated),
        )
        updated = _applied(answer, updated, turns, caller.model, dated)
    return updated


def _line(number: int, sentence: Sentence) -> str:
    on = f" ({format_date(sentence.at)})" if sentence.dated else ""
    return f"S{number}{on} {one_line(sentence.text)}"


def _checker(
    before: int, window: Sequence[Line], most: int
) -> Callable[[UpdatedSummary], str | None]:
    turns, sentences = {line.number for line in window}, set(range(1, before + 1))

    def check(summary: UpdatedSummary) -> str | None:
        found = summary.sentences
        if len(found) > most:
            return (
                f"it has {len(found)} sentences and may have {most} at most: join what belongs "
                "together and leave out what matters least"
            )
        if before >= ALL_AT_ONCE and not any(one.kept for one in found):
            return "it keeps none of the earlier sentences; the whole new summary is asked for"
        for position, one in enumerate(found, 1):
            if fault := _fault(one, turns, sentences):
                return f"sentence {position}: {fault}"
        return None

    return check


def _fault(one: WrittenSentence, turns: set[int], sentences: set[int]) -> str | None:
    if wrong := sorted(set(one.kept) - sentences):
        return f"there are no earlier sentences {wrong}; there are {len(sentences)}"
    if not one.text.strip():
        if len(set(one.kept)) == 1:
            return None
        return 'without "text", "kept" must hold the one number of the sentence that stays'
    if len(one.text) > LONGEST_SENTENCE:
        return f"its text is too long, keep it under {LONGEST_SENTENCE} characters"
    if wrong := sorted(set(one.turns) - turns):
        return f"turns {wrong} were not shown; shown are {min(turns)} to {max(turns)}"
    if not one.turns and not one.kept:
        return "it names neither turns nor earlier sentences that support it"
    return None


def _applied(
    answer: UpdatedSummary,
    summary: Sequence[Sentence],
    turns: Sequence[Turn],
    model: str,
    dated: bool,
) -> list[Sentence]:
    updated: dict[Sentence, None] = {}
    for one in answer.sentences:
        kept = [summary[number - 1] for number in sorted(set(one.kept))]
        said = [turns[number - 1] for number in sorted(set(one.turns))]
        text = " ".join(one.text.split())
        if not text or [text] == [earlier.text for earlier in kept]:
            updated[kept[0]] = None
        else:
            updated[_sentence(text, said, kept, model, dated)] = None
    return list(updated)


def _sentence(
    text: str, said: Sequence[Turn], kept: Sequence[Sentence], model: str, dated: bool
) -> Sentence:
    sources = {turn.id for turn in said} | {n for one in kept for n in one.sources}
    times = [(one.at, one.dated) for one in kept]
    at, known = max([*times, *((turn.at, dated) for turn in said)])
    names = [*(turn.speaker for turn in said), *(name for one in kept for name in one.speakers)]
    return Sentence(
        text=text,
        at=at,
        sources=tuple(sorted(sources)),
        speakers=_about(text, names),
        kept=tuple(sorted({number for one in kept for number in one.stands_for})),
        dated=known,
        made_by=model,
        prompt=UPDATE_SUMMARY.label,
    )


def _about(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """Those of the speakers behind a sentence whom it names; all of them if it names none."""
    behind = tuple(dict.fromkeys(names))
    said = set(map(stem, words(text)))
    return tuple(name for name in behind if set(map(stem, words(name))) <= said) or behind
