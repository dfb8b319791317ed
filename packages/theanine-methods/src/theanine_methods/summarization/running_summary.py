"""Running summary: updated sentence by sentence after each session, by a model or locally.

Source: Wang et al., "Recursively Summarizing Enables Long-Term Dialogue Memory in Large Language
Models" (LLM-Rsum), memory management (section 3.2.1, figure 12): summary M_i is made of M_{i-1} and
session i. The paper lets the model write M_i freely. Here each sentence also names the turns and
the earlier sentences that support it, and by default a reply names only what changes: an earlier
sentence leaves the summary if the reply names it as outdated, or has its content in a new one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, cast

from pydantic import BaseModel, Field, field_validator

from theanine.llm.bounds import ReplyBounds, number_list
from theanine.llm.prompt import PromptTemplate, load_prompt
from theanine.llm.published import partition_label
from theanine.quotes import without_attribution
from theanine.sentences import sentence_spans
from theanine.summarization import local_summarize
from theanine.text.formatting import one_line
from theanine.text.numbering import (
    Line,
    format_numbered,
    merge_repeated,
    note_fault,
    split_windows,
    turn_numbers,
)
from theanine.text.words import containment, content_words, format_date, stem, words
from theanine.types import LOCAL_MODEL, NewMemory, Turn

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

SENTENCE_LIMIT = 400
"""Maximum characters of a sentence; the prompt asks for 40 words."""
INCLUDED = 0.6
"""Share of an earlier sentence's content words, without names, that a sentence must have to take it
up; otherwise the model is asked again."""

NEW_SHARE = 4
"""Locally, a session adds at most one in this many sentences to a full summary."""
REPEATED = 0.8
"""Locally, a sentence with this share of its content words in a newer one is replaced by it."""
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_HEADING = re.compile(r"^#+ |:[*_]*$")
FULL_LENGTH = 15
"""Content words beyond which a longer statement doesn't rank higher."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarySentence:
    """One sentence of a running summary.

    Attributes:
        text: the sentence.
        at: the time of its last source turn.
        dated: False when ``at`` only keeps the order.
        source_turns: ids of the turns that support it and the sentences in ``kept``, ascending.
        speakers: who it is about.
        id: its id as a stored memory; None when it is new.
        kept: ids of the stored sentences that a new one includes.
        made_by: the model, or ``local``.
        prompt: name and version of the prompt; empty without a model.
    """

    text: str
    at: datetime
    source_turns: tuple[int, ...]
    speakers: tuple[str, ...] = ()
    id: int | None = None
    kept: tuple[int, ...] = ()
    dated: bool = True
    made_by: str = LOCAL_MODEL
    prompt: str = ""

    @property
    def stored_ids(self) -> tuple[int, ...]:
        """Ids of the stored sentences in it: its own, or those in ``kept``."""
        return self.kept if self.id is None else (self.id,)


class WrittenSentence(BaseModel):
    """One sentence of the model's reply."""

    text: str = Field(default="", description="the sentence")
    turns: list[int] = Field(default=[], description="numbers of the turns that support it")
    kept: list[int] = Field(default=[], description="numbers of the earlier sentences in it")

    @field_validator("kept", mode="before")
    @classmethod
    def _strip_labels(cls, value: object) -> object:
        return _without_labels(value)


class WholeSummary(BaseModel):
    """The model's reply: the whole new summary."""

    sentences: list[WrittenSentence]


class SummaryChanges(WholeSummary):
    """The model's reply: what changes in the summary."""

    outdated: list[int] = Field(
        default=[], description="numbers of the earlier sentences that leave the summary"
    )

    @field_validator("outdated", mode="before")
    @classmethod
    def _strip_labels(cls, value: object) -> object:
        return _without_labels(value)


def _without_labels(value: object) -> object:
    """Read ``"S3"`` in a list as 3."""
    if not isinstance(value, list):
        return value
    items = cast("list[object]", value)
    return [item.strip().lstrip("Ss") if isinstance(item, str) else item for item in items]


_PACKAGE = "theanine_methods.summarization"


def _published(reply: str, values: Mapping[str, str]) -> dict[str, object]:
    """Read a summary in sentences without sources, which rest on all that the prompt shows.

    So each is erased with any session that it may quote.
    """
    turns = re.findall(r"^\[(\d+)\]", values["turns"], re.MULTILINE)
    kept = re.findall(r"^S(\d+) ", values["summary"], re.MULTILINE)
    _, found, summary = partition_label(reply, "(?:So )?(?:the )?updated memory(?: is)?")
    sentences = [
        {"text": text, "turns": turns, "kept": kept}
        for line in (summary if found else reply).splitlines()
        if (words := _BULLET.sub("", line).strip()) and not _HEADING.search(words)
        for start, end in sentence_spans(words)
        if (text := words[start:end].strip())
    ]
    return {"sentences": sentences}


UPDATE_SUMMARY: PromptTemplate[WholeSummary] = load_prompt(
    _PACKAGE, "update-summary", 2, SummaryChanges
)
REWRITE_SUMMARY = load_prompt(_PACKAGE, "rewrite-summary", 1, WholeSummary, published=_published)


async def update_summary(
    summary: Sequence[SummarySentence],
    turns: Sequence[Turn],
    chat: ScopedChat | None,
    *,
    max_sentences: int,
    rewrite: bool = False,
    source_sessions: Collection[int] = (),
) -> list[SummarySentence]:
    """Return the summary after ``turns``; unchanged sentences keep their ids.

    Turns beyond one window are added window by window. Without a chat model,
    :func:`local_update_summary` does it.

    Args:
        summary: the sentences so far.
        turns: the turns since, in order.
        chat: the language model, or None.
        max_sentences: maximum length of the new summary.
        rewrite: let the model write the whole summary again, as in the paper: what it leaves out is
            gone. Otherwise a sentence leaves the summary only if the reply names it as outdated, or
            has its content in a sentence that names it.
        source_sessions: ids of all sessions that ``summary`` may quote.

    Raises ModelError when the model fails.
    """
    if chat is None:
        return local_update_summary(summary, turns, max_sentences=max_sentences)
    step = REWRITE_SUMMARY if rewrite else UPDATE_SUMMARY
    updated = list(summary)
    for window in split_windows(turns):
        reply = await chat.ask(
            step,
            source_sessions={*source_sessions, *(turn.session for turn in turns)},
            check=partial(_fault, updated, turns, window, max_sentences),
            bounds=_bounds(len(updated), window, max_sentences, rewrite),
            summary="\n".join(map(_format, range(1, len(updated) + 1), updated)) or "(empty)",
            turns=format_numbered(window),
            most=str(max_sentences),
            room=str(max(max_sentences - len(updated), 0)),
        )
        updated = _apply(reply, updated, turns, chat.model, step.label)
    return updated


def local_update_summary(
    summary: Sequence[SummarySentence], turns: Sequence[Turn], *, max_sentences: int
) -> list[SummarySentence]:
    """Add the longest statements of the turns, and drop the oldest sentences beyond the maximum.

    A statement that contains an earlier sentence replaces it.
    """
    room = max(max_sentences - len(summary), max_sentences // NEW_SHARE, 1)
    updated = list(summary)
    for statement in _longest(local_summarize(turns), room):
        content = content_words(without_attribution(statement.text))
        repeated = [
            sentence
            for sentence in updated
            if containment(content_words(without_attribution(sentence.text)), content) >= REPEATED
        ]
        updated = [sentence for sentence in updated if sentence not in repeated]
        updated.append(
            SummarySentence(
                text=statement.text,
                at=statement.at,
                source_turns=statement.source_turns,
                speakers=statement.speakers,
                kept=tuple(sorted({id for sentence in repeated for id in sentence.stored_ids})),
                dated=all(turn.dated for turn in turns if turn.id in statement.source_turns),
            )
        )
    newest = sorted(range(len(updated)), key=lambda i: (updated[i].at, i))[-max_sentences:]
    return [updated[i] for i in sorted(newest)]


def _format(number: int, sentence: SummarySentence) -> str:
    date = f" ({format_date(sentence.at)})" if sentence.dated else ""
    return f"S{number}{date} {one_line(sentence.text)}"


def _fault(
    before: Sequence[SummarySentence],
    turns: Sequence[Turn],
    window: Sequence[Line],
    limit: int,
    reply: WholeSummary,
) -> str | None:
    whole = not isinstance(reply, SummaryChanges)
    if whole and before and not reply.sentences:
        return "it is empty; the whole new summary is asked for"
    if not whole and (fault := _unknown(reply.outdated, len(before))):
        return f"outdated: {fault}"
    for position, sentence in enumerate(reply.sentences, 1):
        if fault := _sentence_fault(sentence, len(before), window):
            return f"sentence {position}: {fault}"
    if not whole and (lacking := _lacking(reply, before, turns)):
        labels = ", ".join(f"S{number}" for number in sorted(lacking))
        return (
            f'{labels}: named in "kept" of a sentence that has few of its words. Write what it '
            'says, or take its number out of "kept"; if the sentence says the same in other words, '
            'name it in "outdated" as well'
        )
    length = len(_apply(reply, before, turns))
    if length <= limit:
        return None
    shorter = "leave out what matters least"
    if not whole:
        shorter = 'name the numbers of those that matter least in "outdated"'
    return (
        f"the summary would have {length} sentences and may have {limit} at most: join several in "
        f'one that says all that they say, with their numbers in "kept", or {shorter}'
    )


def _lacking(
    reply: WholeSummary, before: Sequence[SummarySentence], turns: Sequence[Turn]
) -> set[int]:
    """Return the numbers of the earlier sentences that are kept in new ones without their words.

    Those that the reply names as outdated too may go.
    """
    outdated = set(reply.outdated) if isinstance(reply, SummaryChanges) else set[int]()
    names = _names(before, turns)
    return {
        number
        for written in reply.sentences
        if written.text.strip()
        for number in set(written.kept) - outdated
        if not _includes(written.text, before[number - 1], names)
    }


def _names(summary: Sequence[SummarySentence], turns: Sequence[Turn]) -> frozenset[str]:
    speakers = {name for sentence in summary for name in sentence.speakers}
    return content_words(" ".join(speakers | {turn.speaker for turn in turns}))


def _sentence_fault(sentence: WrittenSentence, before: int, window: Sequence[Line]) -> str | None:
    fault = _unknown(sentence.kept, before)
    if not fault and sentence.kept and not sentence.text.strip():
        return None  # those that it names stay
    fault = fault or note_fault(
        sentence.text, sentence.turns, window, limit=SENTENCE_LIMIT, turns_required=False
    )
    if not fault and not sentence.turns and not sentence.kept:
        return "it names neither turns nor earlier sentences that support it"
    return fault


def _unknown(numbers: Collection[int], before: int) -> str | None:
    if wrong := sorted(set(numbers) - set(range(1, before + 1))):
        return f"there are no earlier sentences {wrong}; there are {before}"
    return None


def _bounds(before: int, window: Sequence[Line], max_sentences: int, rewrite: bool) -> ReplyBounds:
    earlier = ["sentences[].kept"] if rewrite else ["sentences[].kept", "outdated"]
    return ReplyBounds(
        50 + 120 * max_sentences,
        {
            "sentences": {"maxItems": max_sentences},
            "sentences[].text": {"maxLength": SENTENCE_LIMIT},
            **turn_numbers("sentences[].turns", window),
            **{
                path: keywords
                for field in earlier
                for path, keywords in number_list(field, 1, max(1, before), before).items()
            },
        },
    )


def _apply(
    reply: WholeSummary,
    summary: Sequence[SummarySentence],
    turns: Sequence[Turn],
    model: str = "",
    prompt: str = "",
) -> list[SummarySentence]:
    """Return the sentences that stay, and after them the new ones, each text once."""
    changes = isinstance(reply, SummaryChanges)
    by_text = {sentence.text: sentence for sentence in summary}
    leaving = {summary[number - 1] for number in reply.outdated} if changes else set(summary)
    new: list[SummarySentence] = []
    for written in merge_repeated(reply.sentences, lambda sentence: sentence.text):
        text = " ".join(written.text.split())
        earlier = [summary[number - 1] for number in sorted(set(written.kept))]
        if not text:
            leaving.difference_update(earlier)
            continue
        if text in by_text:
            leaving.discard(by_text[text])
            continue
        leaving.update(earlier)
        sources = [turns[number - 1] for number in sorted(set(written.turns))]
        new.append(_new_sentence(text, sources, earlier, model, prompt))
    return [sentence for sentence in summary if sentence not in leaving] + new


def _includes(text: str, sentence: SummarySentence, names: frozenset[str]) -> bool:
    """Whether a text has enough of the sentence's content, besides names, to stand for it."""
    content = content_words(without_attribution(sentence.text)) - names
    return not content or containment(content, content_words(text)) >= INCLUDED


def _new_sentence(
    text: str,
    turns: Sequence[Turn],
    kept: Sequence[SummarySentence],
    model: str,
    prompt: str,
) -> SummarySentence:
    at, dated = max((source.at, source.dated) for source in (*turns, *kept))
    sources = {turn.id for turn in turns} | {id for earlier in kept for id in earlier.source_turns}
    speakers = [turn.speaker for turn in turns]
    speakers += [name for earlier in kept for name in earlier.speakers]
    speakers = list(dict.fromkeys(speakers))
    stems = set(map(stem, words(text)))
    named = [name for name in speakers if set(map(stem, words(name))) <= stems]
    return SummarySentence(
        text=text,
        at=at,
        source_turns=tuple(sorted(sources)),
        speakers=tuple(named or speakers),
        kept=tuple(sorted({id for earlier in kept for id in earlier.stored_ids})),
        dated=dated,
        made_by=model,
        prompt=prompt,
    )


def _longest(statements: Sequence[NewMemory], limit: int) -> list[NewMemory]:
    """Keep the statements with most content words (of equal ones the latest), in their order."""

    def rank(position: int) -> tuple[int, int]:
        length = len(content_words(without_attribution(statements[position].text)))
        return (min(length, FULL_LENGTH), position)

    best = sorted(range(len(statements)), key=rank)[-limit:]
    return [statements[position] for position in sorted(best)]
