"""Record each turn that is worth it: its context, and the knowledge in it.

Source: section 3.1 ("Conditional memory") and appendix C.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.errors import SettingsError
from theanine.llm.bounds import ReplyBounds, one_of
from theanine.llm.gather import gather
from theanine.llm.prompt import load_prompt
from theanine.llm.published import find_labeled
from theanine.methods.shared.memories import make_memory
from theanine.quotes import without_attribution
from theanine.summarization import local_summarize, repeats_memories
from theanine.text.formatting import format_dialogue, format_speaker, one_line
from theanine.text.numbering import copied_lines, copying_tokens, format_numbered, turn_numbers
from theanine.types import LOCAL_MODEL, NewMemory, Turn
from theanine_methods.conditional.config import CONDITIONAL, ConditionalConfig
from theanine_methods.conditional.prompt_windows import (
    PromptWindow,
    batched_windows,
    single_windows,
)
from theanine_methods.shared.repeats import join_repeated

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

RECORDS_PER_CALL = 24
FIELD_LIMIT = 600
"""Maximum characters of a field; the prompt asks for at most 50 words."""
LOCAL_CONTEXT_LIMIT = 200
"""Maximum characters of the earlier turn that a local record quotes as its context."""
LOCAL_KNOWLEDGE_LIMIT = 400
"""Maximum characters quoted of a turn that discloses nothing."""
_CONTEXT_TURNS = 2
"""How many turns back the local context is searched."""


class Record(BaseModel):
    """One record of the model's reply."""

    turn: int = Field(description="number of the turn")
    related: list[int] = Field(description="numbers of the turns that the context rests on")
    context: str = Field(description="why the speaker said it")
    knowledge: str = Field(description="a note for later")


class Records(BaseModel):
    """The model's reply: one record for each turn asked about."""

    records: list[Record]


def _published(reply: str, values: Mapping[str, str]) -> dict[str, object]:
    """Read the record of one turn: the related turns copied out, the summary and the note."""
    labels = {"related": "Context", "context": "Summary", "knowledge": "Note"}
    fields = find_labeled(reply, labels)
    related = copied_lines(fields["related"], values["turns"])
    return {"records": [{**fields, "turn": values["asked"], "related": related}]}


RECORD = load_prompt(
    "theanine_methods.conditional", "conditional-record", 1, Records, published=_published
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRecord:
    """A record before it is worded as a memory.

    Attributes:
        turn: the turn worth a record.
        related: the turns that support the context, without ``turn``.
        context: why the speaker said it; empty if nothing shows it.
        knowledge: a note for later.
    """

    turn: Turn
    related: tuple[Turn, ...]
    context: str
    knowledge: str


async def record(
    turns: Sequence[Turn],
    session: Sequence[Turn],
    chat: ScopedChat | None,
    config: ConditionalConfig,
) -> list[NewMemory]:
    """Return one memory for each of ``turns``, in order, with the parts that ``config`` keeps.

    ``session`` is the whole session of the turns. The source turns are the turn and, if the context
    is kept, its related turns. Raises ModelError when the model fails, and SettingsError for a
    published prompt, which asks about one turn, without ``recording=turn``.
    """
    if chat is None:
        drafts = local_records(turns, session)
        return [_memory(draft, config, LOCAL_MODEL, "") for draft in drafts]
    if chat.replaced(RECORD).in_published_form and config.recording != "turn":
        raise SettingsError("the published prompt asks about one turn: set recording=turn")
    ids = {turn.id for turn in turns}
    if config.recording == "turn":
        windows = single_windows(session, ids)
    else:
        windows = batched_windows(session, ids, RECORDS_PER_CALL)
    replies = await gather([partial(_record_window, window, chat) for window in windows])
    by_turn = {draft.turn.id: draft for drafts in replies for draft in drafts}
    return join_repeated(
        _memory(by_turn[turn.id], config, chat.model, RECORD.label) for turn in turns
    )


async def _record_window(window: PromptWindow, chat: ScopedChat) -> list[DraftRecord]:
    turns, shown = window.turns, format_numbered(window.lines)
    tokens = 50 + 250 * len(window.targets)
    if chat.replaced(RECORD).in_published_form:
        tokens = copying_tokens(shown)
    reply = await chat.ask(
        RECORD,
        source_sessions=window.source_sessions,
        check=partial(_fault, window),
        bounds=_bounds(window, tokens),
        turns=shown,
        asked=window.numbers,
        input=format_dialogue(window.targets.values()),
    )
    return [
        DraftRecord(
            turn=turns[record.turn],
            related=tuple(turns[n] for n in sorted(set(record.related) - {record.turn})),
            context=one_line(record.context),
            knowledge=one_line(record.knowledge),
        )
        for record in reply.records
    ]


def _bounds(window: PromptWindow, tokens: int) -> ReplyBounds:
    count = len(window.targets)
    return ReplyBounds(
        tokens,
        {
            "records": {"minItems": count, "maxItems": count},
            "records[].turn": one_of(window.targets),
            **turn_numbers("records[].related", window.lines),
            "records[].context": {"minLength": 1, "maxLength": FIELD_LIMIT},
            "records[].knowledge": {"minLength": 1, "maxLength": FIELD_LIMIT},
        },
    )


def _fault(window: PromptWindow, reply: Records) -> str | None:
    """Return what is wrong with the records, or None."""
    targets = list(window.targets)
    numbers = [record.turn for record in reply.records]
    if missing := sorted(set(targets) - set(numbers)):
        return f"there is no record of turns {missing}"
    if unasked := sorted(set(numbers) - set(targets)):
        return f"turns {unasked} were not asked about, only {targets}"
    if doubled := sorted({number for number in numbers if numbers.count(number) > 1}):
        return f"there is more than one record of turns {doubled}"
    for record in reply.records:
        where = f"record of turn {record.turn}"
        if wrong := sorted(set(record.related) - set(window.turns)):
            return f"{where}: the related turns {wrong} were not shown"
        for name, text in (("context", record.context), ("knowledge", record.knowledge)):
            if not text.strip():
                return f"{where}: its {name} is empty"
            if len(text) > FIELD_LIMIT:
                return f"{where}: keep its {name} under {FIELD_LIMIT} characters"
    return None


def local_records(turns: Sequence[Turn], session: Sequence[Turn]) -> list[DraftRecord]:
    """Quote what each of ``turns`` discloses, with the turn before it as the context."""
    positions = {turn.id: position for position, turn in enumerate(session)}
    drafts: list[DraftRecord] = []
    for turn in turns:
        position = positions[turn.id]
        earlier = reversed(session[max(0, position - _CONTEXT_TURNS) : position])
        related = next(
            (other for other in earlier if other.full_text.strip() and not repeats_memories(other)),
            None,
        )
        context = ""
        if related:
            quote = one_line(related.full_text, LOCAL_CONTEXT_LIMIT)
            context = f"{format_speaker(related.speaker)}: “{quote}”"
        disclosures = [without_attribution(memory.text) for memory in local_summarize([turn])]
        knowledge = one_line(" … ".join(disclosures))
        drafts.append(
            DraftRecord(
                turn=turn,
                related=(related,) if related else (),
                context=context,
                knowledge=knowledge or f"“{one_line(turn.full_text, LOCAL_KNOWLEDGE_LIMIT)}”",
            )
        )
    return drafts


def _memory(draft: DraftRecord, config: ConditionalConfig, made_by: str, prompt: str) -> NewMemory:
    """Word a record as ``Context: … Knowledge (Ana): …``; both parts are embedded together."""
    sources = (draft.turn, *(draft.related if config.context else ()))
    speaker = format_speaker(draft.turn.speaker)
    if not config.knowledge:
        text = f"Context ({speaker}): {draft.context or draft.knowledge}"
    else:
        context = f"Context: {draft.context} " if config.context and draft.context else ""
        text = f"{context}Knowledge ({speaker}): {draft.knowledge}"
    return make_memory(
        text,
        sorted(sources, key=lambda turn: turn.id),
        kind=CONDITIONAL,
        speakers=[draft.turn.speaker],
        made_by=made_by,
        prompt=prompt,
    )
