"""Say what the agent says next: with a language model, or by quoting what is remembered."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.prompt import load_prompt
from theanine.text.formatting import NO_MODEL_NOTICE as NO_MODEL_NOTICE
from theanine.text.formatting import (
    dialogue_sessions,
    format_day,
    format_dialogue,
    format_speaker,
    one_line,
)
from theanine.text.words import containment, content_words, format_date
from theanine.types import LOCAL_MODEL, STATEMENT, Memory, Part, Recollection, Utterance

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

NOTHING = "I remember nothing about this yet."


class Reasoned(BaseModel):
    """A reply with the reasoning before it."""

    rationale: str = Field(description="which remembered things apply and how")
    response: str = Field(description="the words to say")


RESPOND = load_prompt("theanine.methods.shared", "respond", 1, str)
RESPOND_REASONED = load_prompt("theanine.methods.shared", "respond-reasoned", 1, Reasoned)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What to say, why, and who worded it."""

    text: str
    rationale: str = ""
    made_by: str = LOCAL_MODEL


async def respond(
    dialogue: Sequence[Utterance],
    recollection: Recollection,
    speaker: str,
    caller: ScopedChat | None,
    *,
    rationale: bool = False,
    undated: Collection[int] = (),
    behind: Collection[int] = (),
) -> Spoken:
    """What ``speaker`` says next, given the dialogue and what is remembered.

    ``rationale`` makes the model reason first which memories apply and how. Without a caller the
    best-supported memory is quoted, with no date for the sessions in ``undated``. ``behind`` are
    sessions whose words may stand in the recollection, beside those of its memories and sources.
    Raises ModelError when the model fails.
    """
    if caller is None:
        return local_respond(dialogue, recollection, undated)
    touches = {memory.session for memory in recollection.memories} | dialogue_sessions(dialogue)
    touches |= {turn.session for turn in recollection.source_turns} | set(behind)
    remembered = "\n".join(f"- {one_line(part.text)}" for part in recollection.parts)
    values = {
        "speaker": format_speaker(speaker),
        "remembered": remembered or "(nothing)",
        "dialogue": format_dialogue(dialogue),
    }
    if not rationale:
        said = await caller.ask(RESPOND, source_sessions=touches, check=_said_nothing, **values)
        return Spoken(text=said.strip(), made_by=caller.model)
    answer = await caller.ask(
        RESPOND_REASONED,
        source_sessions=touches,
        check=lambda reply: _said_nothing(reply.response),
        **values,
    )
    return Spoken(
        text=answer.response.strip(),
        rationale=answer.rationale.strip(),
        made_by=caller.model,
    )


def _said_nothing(text: str) -> str | None:
    return None if text.strip() else "the reply is empty"


def local_respond(
    dialogue: Sequence[Utterance],
    recollection: Recollection,
    undated: Collection[int] = (),
) -> Spoken:
    """The best-supported memory, quoted with its date and source, and why it is no more."""
    if not recollection:
        return Spoken(text=f"{NOTHING} {NO_MODEL_NOTICE}")
    asked = content_words(dialogue[-1].full_text) if dialogue else frozenset[str]()
    part = max(recollection.parts, key=lambda part: part.score)
    statements = [memory for memory in part.memories if memory.kind == STATEMENT]
    if statements:
        retrieved = part.timeline.retrieved if part.timeline else statements[0].id
        best = max(
            statements, key=lambda m: (containment(asked, content_words(m.text)), m.id == retrieved)
        )
        quoted = _with_source(best, part, undated)
    elif part.source_turns:
        turn = max(
            part.source_turns, key=lambda turn: containment(asked, content_words(turn.full_text))
        )
        quoted = f"{format_day(turn.at, turn.dated)}{turn.speaker}: “{turn.full_text.strip()}”"
    else:
        quoted = part.text
    return Spoken(text=f"I remember: {quoted}\n{NO_MODEL_NOTICE}")


def _with_source(memory: Memory, part: Part, undated: Collection[int]) -> str:
    if memory.made_by == LOCAL_MODEL:
        return memory.text  # already the speaker's own words, with speaker and date
    source = next((turn for turn in part.source_turns if turn.id in memory.source_turns), None)
    date = "" if memory.session in undated else format_date(memory.at)
    said = f"{source.speaker}: “{source.full_text.strip()}”" if source else ""
    note = ", ".join(filter(None, (date, said)))
    return f"{memory.text} ({note})" if note else memory.text
