"""After a session: all session memories made into one short memory, in three parts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.prompt import load_prompt
from theanine.methods.comedy.aspects import ASPECTS, Aspect
from theanine.text.formatting import estimate_tokens, format_day, one_line
from theanine.types import LOCAL_MODEL

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

LONGEST_SENTENCE = 500
"""Characters; the prompt asks for 40 words."""
LINE_TOKENS = 12
"""What a note costs in the prompt beside its words: number, date."""


class Sentence(BaseModel):
    """One sentence of the compressed memory, as the model words it."""

    text: str = Field(description="the sentence")
    notes: list[int] = Field(description="numbers of the notes that it rests on")


class Compressed(BaseModel):
    """The model's answer."""

    events: list[Sentence]
    portrait: list[Sentence]
    relation: list[Sentence]

    def of(self, aspect: Aspect) -> list[Sentence]:
        """The sentences of one part."""
        return {"events": self.events, "portrait": self.portrait, "relation": self.relation}[aspect]


COMPRESS = load_prompt("theanine.methods.comedy", "compress", 1, Compressed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A session memory, or a sentence of a compressed one: what compressing takes and gives.

    Attributes:
        aspect: the part that it belongs to.
        text, at, speakers: as in a memory.
        session: the session that it is kept under; its date is shown unless that is undated.
        sources: ids of the turns that it rests on.
        origins: ids of the stored memories whose words may be in it.
        beside: indexes of the new session memories whose words may be in it.
        behind: numbers of the sessions whose words may be in it.
        made_by: as in a memory.
    """

    aspect: Aspect
    text: str
    at: datetime
    speakers: tuple[str, ...]
    session: int
    sources: frozenset[int]
    origins: frozenset[int] = frozenset()
    beside: frozenset[int] = frozenset()
    behind: frozenset[int] = frozenset()
    made_by: str = LOCAL_MODEL


async def compress(
    notes: Sequence[Piece],
    earlier: Sequence[Piece],
    since: Sequence[Piece],
    caller: ScopedChat,
    *,
    sentences: int,
    input_budget: int | None,
    undated: Collection[int] = (),
) -> list[Piece]:
    """The compressed memory, at most ``sentences`` in each part.

    Args:
        notes: all session memories: they are compressed at once if they fit ``input_budget``.
        earlier: the compressed memory so far, and
        since: the session memories that are not in it: else these are compressed together, in as
            many steps as it takes, oldest first.
        caller: the language model.
        sentences: how many each part may have.
        input_budget: tokens of what one call is shown, by a rough upper count; None for no limit.
            What was compressed before may pass it by half, so that each step takes in as much.
        undated: sessions whose dates are not shown.

    Raises ModelError when the model fails or keeps answering unusably.
    """
    if input_budget is None or sum(map(_cost, notes)) <= input_budget:
        return await _compressed(notes, caller, sentences, undated)
    held, rest = list(earlier), list(since if earlier else notes)
    while rest:
        left = max(input_budget - sum(map(_cost, held)), input_budget // 2)
        taken = 0
        while taken < len(rest) and (taken == 0 or left >= _cost(rest[taken])):
            left -= _cost(rest[taken])
            taken += 1
        held = await _compressed([*held, *rest[:taken]], caller, sentences, undated)
        rest = rest[taken:]
    return held


def _cost(piece: Piece) -> int:
    return estimate_tokens(piece.text) + LINE_TOKENS


async def _compressed(
    pieces: Sequence[Piece], caller: ScopedChat, sentences: int, undated: Collection[int]
) -> list[Piece]:
    shown = [piece for aspect in ASPECTS for piece in pieces if piece.aspect == aspect]
    answer = await caller.ask(
        COMPRESS,
        source_sessions={session for piece in shown for session in piece.behind},
        check=lambda reply: _fault(reply, len(shown), sentences),
        notes=_lines(shown, undated),
        sentences=str(sentences),
    )
    made = replace(
        max(shown, key=lambda piece: (piece.at, piece.session)),
        origins=frozenset[int]().union(*(piece.origins for piece in shown)),
        beside=frozenset[int]().union(*(piece.beside for piece in shown)),
        behind=frozenset[int]().union(*(piece.behind for piece in shown)),
        made_by=caller.model,
    )
    return [
        _resting(replace(made, aspect=aspect, text=" ".join(sentence.text.split())), [
            shown[number - 1] for number in sorted(set(sentence.notes))
        ])
        for aspect in ASPECTS
        for sentence in answer.of(aspect)
    ]  # fmt: skip


def _resting(made: Piece, on: Sequence[Piece]) -> Piece:
    """The sentence with time, speakers and turns of the notes that it names.

    Its origins stay all notes that the model was shown: what it says of one may come of another.
    """
    return replace(
        made,
        at=max(piece.at for piece in on),
        speakers=tuple(dict.fromkeys(name for piece in on for name in piece.speakers)),
        sources=frozenset[int]().union(*(piece.sources for piece in on)),
    )


def _lines(shown: Sequence[Piece], undated: Collection[int]) -> str:
    lines: list[str] = []
    for aspect in ASPECTS:
        lines.append(f"-- {aspect}")
        lines += [
            f"[{number}] {_date(piece, undated)}{one_line(piece.text)}"
            for number, piece in enumerate(shown, 1)
            if piece.aspect == aspect
        ]
    return "\n".join(lines)


def _date(piece: Piece, undated: Collection[int]) -> str:
    return (
        "" if piece.made_by == LOCAL_MODEL else format_day(piece.at, piece.session not in undated)
    )


def _fault(answer: Compressed, shown: int, most: int) -> str | None:
    if not any(answer.of(aspect) for aspect in ASPECTS):
        return "all three lists are empty"
    for aspect in ASPECTS:
        if len(found := answer.of(aspect)) > most:
            return f"{len(found)} sentences of {aspect} are too many: keep the {most} that matter"
        for place, sentence in enumerate(found, 1):
            if fault := _sentence_fault(sentence, shown):
                return f"{aspect}, sentence {place}: {fault}"
    return None


def _sentence_fault(sentence: Sentence, shown: int) -> str | None:
    if not sentence.text.strip():
        return "its text is empty"
    if len(sentence.text) > LONGEST_SENTENCE:
        return f"its text is too long, keep it under {LONGEST_SENTENCE} characters"
    if not sentence.notes:
        return "it names no note that it rests on"
    if strange := sorted({n for n in sentence.notes if not 1 <= n <= shown}):
        return f"there are no notes {strange}, only 1 to {shown}"
    return None
