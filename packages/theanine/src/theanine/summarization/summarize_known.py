"""Summarize a session for a memory that holds something already.

The model is shown who is known and what is remembered of the session's matters. It names whom a
statement is about, and words by which one may ask for it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pydantic import BaseModel, Field, field_validator

from theanine.llm.bounds import ReplyBounds
from theanine.llm.itemized import ItemizedReply
from theanine.llm.prompt import load_prompt
from theanine.summarization.summarize import (
    STATEMENT_LIMIT,
    WRITTEN_LIMIT,
    WRITTEN_TOKENS,
    drop_recalled,
)
from theanine.text.formatting import day_label, format_speaker, group_by_day, one_line
from theanine.text.numbering import (
    Line,
    ask_windows,
    merge_repeated,
    most_notes,
    note_fault,
    split_windows,
    turn_numbers,
)
from theanine.text.words import is_unspaced
from theanine.types import Memory, NewMemory, Turn

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

MOST_ABOUT = 6
"""Most people that one statement is about."""
MOST_CUES = 4
"""Most cues of one statement."""
CUE_LIMIT = 60
"""Most characters of a cue."""
INFLECTED = 4
"""Letters from which a name may have an ending."""
MOST_ENDING = 2
"""Most letters of such an ending."""
_HANGUL = re.compile(r"[\uac00-\ud7a3]")
_COMMA = re.compile(r"\s*[,;，、；\n]\s*")
_CUE_TOKENS = 40
"""Tokens of the names and cues of a statement, in indented JSON."""


class CuedStatement(BaseModel):
    """One statement of the model's reply."""

    text: str = Field(description="the statement, third person")
    turns: list[int] = Field(description="numbers of the turns that support it")
    about: list[str] = []
    cues: str = Field("", description="separated by commas")

    @field_validator("about", mode="before")
    @classmethod
    def _as_list(cls, about: object) -> object:
        """Take one name, or null, for a list: neither is worth the statement."""
        if isinstance(about, str):
            return _COMMA.split(about)
        return [] if about is None else about

    @field_validator("cues", mode="before")
    @classmethod
    def _as_text(cls, cues: object) -> object:
        """Take a list, or null, for cues separated by commas."""
        if isinstance(cues, list):
            return ", ".join(map(str, cast("list[object]", cues)))
        return "" if cues is None else cues


class CuedSummary(ItemizedReply):
    """The model's reply for one window of a session."""

    statements: list[CuedStatement]


SUMMARIZE_KNOWN = load_prompt("theanine.summarization", "summarize", 2, CuedSummary)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a model is told of earlier sessions.

    Attributes:
        people: the session from which each name is known.
        statements: what is remembered of the matters of a session, in order of time.
    """

    people: Mapping[str, int]
    statements: Sequence[Memory]

    @property
    def sessions(self) -> set[int]:
        """The sessions of which it tells something."""
        return {*self.people.values(), *(memory.session for memory in self.statements)}

    @property
    def values(self) -> dict[str, str]:
        """The values of the prompt."""
        lines = ((day_label(m.at, m.dated), f"- {one_line(m.text)}") for m in self.statements)
        return {
            "people": ", ".join(map(format_speaker, self.people)) or "(nobody)",
            "known": group_by_day(lines) or "(nothing)",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarized:
    """The statements of a session.

    Attributes:
        memories: the statements.
        notes: what could not be used of the replies.
    """

    memories: Sequence[NewMemory]
    notes: Sequence[str] = ()


async def summarize_known(
    turns: Sequence[Turn],
    chat: ScopedChat,
    known: Known,
    *,
    recalled: Mapping[int, str] | None = None,
) -> Summarized:
    """Return the statements of one session; ``recalled`` is as in :func:`.summarize`.

    A statement without text or turns of the session is left out. Raises ModelError when the model
    fails.
    """
    windows = split_windows(turns)
    replies = await ask_windows(
        SUMMARIZE_KNOWN,
        turns,
        chat,
        _fault,
        _bounds,
        quoted_sessions=known.sessions,
        **known.values,
    )
    memories: list[NewMemory] = []
    notes: list[str] = []
    for window, reply in zip(windows, replies, strict=True):
        usable, faults = _usable(window, reply)
        merged = merge_repeated(usable, lambda written: written.text)
        memories += [_memory(each, turns, known.people, chat.model) for each in merged]
        if faults:
            notes.append(
                f"{SUMMARIZE_KNOWN.label}: {len(faults)} of {len(usable) + len(faults)} statements "
                f"could not be used: {'; '.join(faults)}"
            )
    return Summarized(memories=drop_recalled(memories, turns, recalled or {}), notes=notes)


def _bounds(window: Sequence[Line]) -> ReplyBounds:
    most = most_notes(window)
    return ReplyBounds(
        50 + (WRITTEN_TOKENS + _CUE_TOKENS) * most,
        {
            "statements": {"maxItems": most},
            "statements[].text": {"minLength": 1, "maxLength": WRITTEN_LIMIT},
            "statements[].about": {"maxItems": MOST_ABOUT},
            "statements[].about[]": {"maxLength": CUE_LIMIT},
            "statements[].cues": {"maxLength": MOST_CUES * CUE_LIMIT},
            **turn_numbers("statements[].turns", window, least=1),
        },
    )


def _usable(window: Sequence[Line], reply: CuedSummary) -> tuple[list[CuedStatement], list[str]]:
    """Return the statements that can be used, and what is wrong with the others."""
    shown = {line.number for line in window}
    usable: list[CuedStatement] = []
    faults = list(reply.unusable)
    most = max(12, 2 * len(window))
    for position, statement in enumerate(reply.statements, 1):
        turns = sorted(shown.intersection(statement.turns))
        fault = note_fault(statement.text, turns or statement.turns, window, limit=STATEMENT_LIMIT)
        if len(usable) == most:
            fault = f"there are more than {most}"
        if fault:
            faults.append(f"statements {position}: {fault}")
        else:
            usable.append(statement.model_copy(update={"turns": turns}))
    return usable, faults


def _fault(window: Sequence[Line], reply: CuedSummary) -> str | None:
    """Return what is wrong with a reply of which nothing can be used."""
    usable, faults = _usable(window, reply)
    return "; ".join(faults[:3]) if faults and not usable else None


def _memory(
    statement: CuedStatement, turns: Sequence[Turn], people: Collection[str], model: str
) -> NewMemory:
    sources = [turns[number - 1] for number in statement.turns]
    text = one_line(statement.text)
    return NewMemory(
        text=text,
        at=max(turn.at for turn in sources),
        source_turns=tuple(sorted(turn.id for turn in sources)),
        speakers=_about(statement, turns, sources, people)
        or tuple(dict.fromkeys(turn.speaker for turn in sources)),
        cues=tuple(_cues(statement)),
        made_by=model,
        prompt=SUMMARIZE_KNOWN.label,
    )


def _about(
    statement: CuedStatement,
    turns: Sequence[Turn],
    sources: Sequence[Turn],
    people: Collection[str],
) -> tuple[str, ...]:
    """Return the names of those whom a statement is about, as they are spelled, if any is known.

    A name is known of a speaker, from before, or where the statement or its turns have it.
    """
    spelled = {format_speaker(name).casefold(): name for name in people}
    spelled |= {format_speaker(turn.speaker).casefold(): turn.speaker for turn in turns}
    told = " ".join([statement.text, *(turn.full_text for turn in sources)]).casefold()
    names: list[str] = []
    for about in statement.about[:MOST_ABOUT]:
        name = format_speaker(about)
        if own := spelled.get(name.casefold()):
            names.append(own)
        elif _has_name(told, name.casefold()):
            names.append(name)
    return tuple(dict.fromkeys(names))


def _has_name(told: str, name: str) -> bool:
    """Whether words have a name, not only its letters: "Al" isn't in "also".

    One of four letters or more may have an ending: "Annas Boot".
    """
    if name == "?":  # what a blank name is shown as
        return False
    if is_unspaced(name) or _HANGUL.search(name):  # particles follow without a space
        return name in told
    ending = rf"\w{{0,{MOST_ENDING}}}" if len(name) >= INFLECTED else ""
    return re.search(rf"(?<!\w){re.escape(name)}{ending}(?!\w)", told) is not None


def _cues(statement: CuedStatement) -> list[str]:
    """Return the cues that add something to the text."""
    text = statement.text.casefold()
    cues = dict.fromkeys(one_line(cue, CUE_LIMIT) for cue in _COMMA.split(statement.cues))
    return [cue for cue in cues if cue and cue.casefold() not in text][:MOST_CUES]
