"""After a session: what happened in it, what it shows of the user, and of user and agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.gather import gather
from theanine.llm.prompt import load_prompt
from theanine.methods.comedy.aspects import ASPECTS, Aspect, about, note_kind
from theanine.text.numbering import Line, format_numbered, split_windows
from theanine.types import NewMemory, Turn

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

LONGEST_NOTE = 500
"""Characters; the prompt asks for 40 words."""


class Note(BaseModel):
    """One thing noted of a session, as the model words it."""

    text: str = Field(description="the note, third person")
    turns: list[int] = Field(description="numbers of the turns that support it")


class SessionMemory(BaseModel):
    """The model's answer for one session, or for one window of a long one."""

    events: list[Note]
    portrait: list[Note]
    relation: list[Note]

    def of(self, aspect: Aspect) -> list[Note]:
        """The notes on one aspect."""
        return {"events": self.events, "portrait": self.portrait, "relation": self.relation}[aspect]


SESSION_MEMORY = load_prompt("theanine.methods.comedy", "session-memory", 1, SessionMemory)


async def notes_of(
    turns: Sequence[Turn],
    caller: ScopedChat,
) -> list[NewMemory]:
    """The session's memories by aspect, each in the model's order, with the turns behind it.

    A very long session is shown in windows. Raises ModelError when the model fails or keeps
    answering unusably.
    """

    async def ask(window: Sequence[Line]) -> SessionMemory:
        return await caller.ask(
            SESSION_MEMORY,
            source_sessions={line.turn.session for line in window},
            check=_checker(window),
            turns=format_numbered(window),
        )

    answers = await gather([partial(ask, window) for window in split_windows(turns)])
    return [
        _memory(note, aspect, turns, caller.model)
        for aspect in ASPECTS
        for answer in answers
        for note in answer.of(aspect)
    ]


def _checker(window: Sequence[Line]) -> Callable[[SessionMemory], str | None]:
    shown = {line.number for line in window}
    most = max(12, 2 * len(window))

    def check(answer: SessionMemory) -> str | None:
        for aspect in ASPECTS:
            if len(notes := answer.of(aspect)) > most:
                return f"{len(notes)} {aspect} are too many: keep at most {most}"
            for place, note in enumerate(notes, 1):
                if fault := _fault(note, shown):
                    return f"{aspect}, note {place}: {fault}"
        return None

    return check


def _fault(note: Note, shown: set[int]) -> str | None:
    if not note.text.strip():
        return "its text is empty"
    if len(note.text) > LONGEST_NOTE:
        return f"its text is too long, keep it under {LONGEST_NOTE} characters"
    if not note.turns:
        return "it names no turn that supports it"
    if wrong := sorted(set(note.turns) - shown):
        return f"turns {wrong} were not shown; shown are {min(shown)} to {max(shown)}"
    return None


def _memory(note: Note, aspect: Aspect, turns: Sequence[Turn], model: str) -> NewMemory:
    supporting = [turns[number - 1] for number in sorted(set(note.turns))]
    return NewMemory(
        text=" ".join(note.text.split()),
        at=max(turn.at for turn in supporting),
        source_turns=tuple(sorted(turn.id for turn in supporting)),
        speakers=about(aspect, supporting, turns),
        kind=note_kind(aspect),
        made_by=model,
        prompt=SESSION_MEMORY.label,
    )
