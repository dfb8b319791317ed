"""Say what the agent says next: with a language model, or by quoting what is remembered."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.prompt import load_step
from theanine.text.formatting import NO_MODEL as NO_MODEL
from theanine.text.formatting import dialogue_lines, name_of, one_line, sessions_of, when
from theanine.text.words import contained, content, day
from theanine.types import LOCAL, STATEMENT, Memory, Part, Recollection, Utterance

if TYPE_CHECKING:
    from theanine.llm.chat import Caller

NOTHING = "I remember nothing about this yet."


class Reasoned(BaseModel):
    """A reply with the reasoning before it."""

    rationale: str = Field(description="which remembered things apply and how")
    response: str = Field(description="the words to say")


RESPOND = load_step("theanine.methods.shared", "respond", 1, str)
RESPOND_REASONED = load_step("theanine.methods.shared", "respond-reasoned", 1, Reasoned)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What to say, why, and who worded it."""

    text: str
    rationale: str = ""
    made_by: str = LOCAL


async def respond(
    dialogue: Sequence[Utterance],
    recollection: Recollection,
    speaker: str,
    caller: Caller | None,
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
    touches = {memory.session for memory in recollection.memories} | sessions_of(dialogue)
    touches |= {turn.session for turn in recollection.sources} | set(behind)
    remembered = "\n".join(f"- {one_line(part.text)}" for part in recollection.parts)
    values = {
        "speaker": name_of(speaker),
        "remembered": remembered or "(nothing)",
        "dialogue": dialogue_lines(dialogue),
    }
    if not rationale:
        said = await caller.ask(RESPOND, touches=touches, check=_said_nothing, **values)
        return Spoken(text=said.strip(), made_by=caller.model)
    answer = await caller.ask(
        RESPOND_REASONED,
        touches=touches,
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
        return Spoken(text=f"{NOTHING} {NO_MODEL}")
    asked = content(dialogue[-1].words) if dialogue else frozenset[str]()
    part = max(recollection.parts, key=lambda part: part.score)
    statements = [memory for memory in part.memories if memory.kind == STATEMENT]
    if statements:
        retrieved = part.timeline.retrieved if part.timeline else statements[0].id
        best = max(statements, key=lambda m: (contained(asked, content(m.text)), m.id == retrieved))
        quoted = _with_source(best, part, undated)
    elif part.sources:
        turn = max(part.sources, key=lambda turn: contained(asked, content(turn.words)))
        quoted = f"{when(turn.at, turn.session, undated)}{turn.speaker}: “{turn.words.strip()}”"
    else:
        quoted = part.text
    return Spoken(text=f"I remember: {quoted}\n{NO_MODEL}")


def _with_source(memory: Memory, part: Part, undated: Collection[int]) -> str:
    if memory.made_by == LOCAL:
        return memory.text  # already the speaker's own words, with speaker and date
    source = next((turn for turn in part.sources if turn.id in memory.sources), None)
    date = "" if memory.session in undated else day(memory.at)
    said = f"{source.speaker}: “{source.words.strip()}”" if source else ""
    note = ", ".join(filter(None, (date, said)))
    return f"{memory.text} ({note})" if note else memory.text
