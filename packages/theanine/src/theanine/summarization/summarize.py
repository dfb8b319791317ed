"""Turn a session into statements, each with the turns that support it: by a model, or locally."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.gather import gather
from theanine.llm.prompt import load_prompt
from theanine.summarization.local_summarize import local_summarize
from theanine.text.formatting import format_speaker
from theanine.text.numbering import Line, format_numbered, split_windows
from theanine.text.words import containment, content_words
from theanine.types import NewMemory, Turn

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

LONGEST_STATEMENT = 600
"""Characters; the prompt asks for 60 words."""
REPEATED = 0.75
"""Share of a statement's content words in a recalled memory from which it is no news."""


class Statement(BaseModel):
    """One thing worth remembering, as the model words it."""

    text: str = Field(description="the statement, third person")
    speakers: list[str] = Field(description="names of those it is about")
    turns: list[int] = Field(description="numbers of the turns that support it")


class Summary(BaseModel):
    """The model's answer for one session, or for one window of a long one."""

    statements: list[Statement]


SUMMARIZE = load_prompt("theanine.summarization", "summarize", 1, Summary)


async def summarize(
    turns: Sequence[Turn],
    caller: ScopedChat | None,
    *,
    dated: bool = True,
    recalled: Mapping[int, str] | None = None,
) -> list[NewMemory]:
    """The memories of one session, in the model's order; local where there is no caller.

    Args:
        turns: the whole session, in order.
        caller: the language model, or None.
        dated: False when the session's times only keep its order.
        recalled: texts of the memories that the agent had in front of it, by id; what only repeats
            them is not remembered again.

    Raises ModelError when the model fails or keeps answering unusably.
    """
    if caller is None:
        made = local_summarize(turns, dated=dated)
    else:
        made = await _with_model(turns, caller, dated)
    return drop_recalled(made, turns, recalled or {})


def drop_recalled(
    memories: Sequence[NewMemory], turns: Sequence[Turn], texts: Mapping[int, str]
) -> list[NewMemory]:
    """Without the memories that only repeat what the agent had just been reminded of.

    Dropped is a memory whose every source is an agent's turn with recalled memories, and whose
    content words stand almost all (``REPEATED``) in one of those memories' ``texts``.
    """
    by_id = {turn.id: turn for turn in turns}
    return [memory for memory in memories if not _repeats(memory, by_id, texts)]


def _repeats(memory: NewMemory, by_id: Mapping[int, Turn], texts: Mapping[int, str]) -> bool:
    sources = [by_id[source] for source in memory.source_turns]
    if not sources or any(turn.role != "assistant" or not turn.recalled for turn in sources):
        return False
    said = content_words(memory.text) - content_words(" ".join(memory.speakers))
    reminded = {id for turn in sources for id in turn.recalled if id in texts}
    return any(containment(said, content_words(texts[id])) >= REPEATED for id in reminded)


async def _with_model(turns: Sequence[Turn], caller: ScopedChat, dated: bool) -> list[NewMemory]:
    async def ask(window: Sequence[Line]) -> list[Statement]:
        summary = await caller.ask(
            SUMMARIZE,
            source_sessions={line.turn.session for line in window},
            check=_checker(window),
            turns=format_numbered(window, dated=dated),
        )
        return summary.statements

    answers = await gather([partial(ask, window) for window in split_windows(turns)])
    return [_memory(s, turns, caller.model) for statements in answers for s in statements]


def _checker(window: Sequence[Line]) -> Callable[[Summary], str | None]:
    numbers = {line.number for line in window}
    names = {format_speaker(line.turn.speaker).casefold() for line in window}
    most = max(12, 2 * len(window))

    def check(summary: Summary) -> str | None:
        if len(summary.statements) > most:
            return f"{len(summary.statements)} statements are too many: keep at most {most}"
        for position, statement in enumerate(summary.statements, 1):
            if fault := _fault(statement, numbers, names):
                return f"statement {position}: {fault}"
        return None

    return check


def _fault(statement: Statement, numbers: set[int], names: set[str]) -> str | None:
    if not statement.text.strip():
        return "its text is empty"
    if len(statement.text) > LONGEST_STATEMENT:
        return f"its text is too long, keep it under {LONGEST_STATEMENT} characters"
    if not statement.turns:
        return "it names no turn that supports it"
    if wrong := sorted(set(statement.turns) - numbers):
        return f"turns {wrong} were not shown; shown are {min(numbers)} to {max(numbers)}"
    strangers = [s for s in statement.speakers if format_speaker(s).casefold() not in names]
    if strangers:
        return f"{strangers} do not speak here; the speakers are {sorted(names)}"
    return None


def _memory(statement: Statement, turns: Sequence[Turn], model: str) -> NewMemory:
    supporting = [turns[number - 1] for number in sorted(set(statement.turns))]
    names = {format_speaker(turn.speaker).casefold(): turn.speaker for turn in turns}
    about = [names[format_speaker(speaker).casefold()] for speaker in statement.speakers]
    return NewMemory(
        text=" ".join(statement.text.split()),
        at=max(turn.at for turn in supporting),
        source_turns=tuple(sorted(turn.id for turn in supporting)),
        speakers=tuple(dict.fromkeys(about or [turn.speaker for turn in supporting])),
        made_by=model,
        prompt=SUMMARIZE.label,
    )
