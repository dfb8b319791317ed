"""Reply with a language model, or by quoting the best memory when there is none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, Field

from theanine.errors import SettingsError
from theanine.llm.base import ReplyPrompt
from theanine.llm.bounds import ReplyBounds
from theanine.llm.prompt import PromptTemplate, load_prompt
from theanine.llm.published import labeled
from theanine.methods.base import Context, Reply
from theanine.methods.shared.chat_prompt import REPLY_TOKENS, RESPOND_CHAT, chat_messages
from theanine.methods.shared.provenance import dialogue_sessions, source_sessions
from theanine.quotes import without_attribution
from theanine.text.attribution import attribute_quote, memory_text
from theanine.text.formatting import (
    format_dialogue,
    format_recollection,
    format_speaker,
)
from theanine.text.words import containment, content_words, format_date
from theanine.types import (
    LOCAL_MODEL,
    NO_MODEL_NOTICE,
    REPLACED,
    STATEMENT,
    Memory,
    Part,
    Recollection,
    Utterance,
)

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat
    from theanine.retrieval.log_index import LogIndex

T = TypeVar("T")
REPLY_LIMIT = 4_000
"""Characters that bound it where it is a field of JSON."""
NOTHING = "I remember nothing about this yet."


class Reasoned(BaseModel):
    """A reply with the reasoning before it."""

    rationale: str = Field(description="which remembered things apply and how")
    response: str = Field(description="the words to say")


RESPOND = load_prompt("theanine.methods.shared", "respond", 1, str, ReplyBounds(REPLY_TOKENS))
RESPOND_REASONED = load_prompt(
    "theanine.methods.shared",
    "respond-reasoned",
    1,
    Reasoned,
    ReplyBounds(
        2 * REPLY_TOKENS,
        {
            "rationale": {"maxLength": REPLY_LIMIT},
            "response": {"minLength": 1, "maxLength": REPLY_LIMIT},
        },
    ),
    published=labeled(rationale="Rationale", response="Response"),
)


async def reply(
    dialogue: Sequence[Utterance],
    recollection: Recollection,
    speaker: str,
    context: Context,
    *,
    prompt: ReplyPrompt = "chat",
    rationale: bool = False,
    index: LogIndex | None = None,
) -> Reply:
    """Reply as ``speaker`` from the dialogue and the recollection.

    ``prompt`` is the form of the prompt if the call asks for none (``context.replying``).
    ``index`` has the links of a method that recalls from the log.
    ``rationale`` makes the model reason first which memories apply and how, over a transcript.
    Raises ModelError when the model fails, and SettingsError for options that only a chat can
    follow.
    """
    chat = context.chat
    if chat is None:
        own = [part for part in recollection.parts if part.scope in (None, context.scope)]
        told = {memory.id for part in own for memory in part.memories}
        links = (index or context.index).relations(told)
        changes = [pair for pair, relation in links.items() if relation in REPLACED]
        return local_respond(dialogue, recollection, changes, context.index.corrected)
    shown = source_sessions(recollection.memories, context.index)
    if rationale or (context.replying.prompt or prompt) == "transcript":
        forbid_chat_options(context, "a reply with its rationale" if rationale else "a transcript")
        return await respond(
            dialogue, recollection, speaker, chat, rationale=rationale, shown=shown
        )
    pieces = chat.converse(
        RESPOND_CHAT,
        chat_messages(dialogue, recollection, speaker, context.replying),
        context.replying.request,
        stream=context.replying.stream,
        source_sessions=_quoted_sessions(dialogue, recollection, shown),
    )
    begun = Reply(text="", recollection=recollection, made_by=chat.model, pieces=pieces)
    if context.replying.stream:
        return begun
    async with aclosing(pieces):
        (whole,) = [piece async for piece in pieces if not isinstance(piece, str)]
    return begun.completed(whole)


def forbid_chat_options(context: Context, what: str) -> None:
    """Raise SettingsError if options are set that only a chat prompt can follow."""
    if names := context.replying.for_chat:
        raise SettingsError(
            f'{names[0]} can\'t be used for {what}: it needs prompt="chat", which is the default '
            "but for the settings of a paper"
        )


async def respond(
    dialogue: Sequence[Utterance],
    recollection: Recollection,
    speaker: str,
    chat: ScopedChat,
    *,
    rationale: bool = False,
    shown: Iterable[int] = (),
) -> Reply:
    """Reply over a transcript; ``shown`` as in :func:`ask_reply`."""
    if not rationale:
        text = await ask_reply(RESPOND, dialogue, recollection, speaker, chat, shown=shown)
        return Reply(text=text, recollection=recollection, made_by=chat.model)
    answer = await ask_reply(
        RESPOND_REASONED,
        dialogue,
        recollection,
        speaker,
        chat,
        shown=shown,
        check=lambda reasoned: None if reasoned.response.strip() else "the reply is empty",
    )
    return Reply(
        text=answer.response.strip(),
        rationale=answer.rationale.strip(),
        recollection=recollection,
        made_by=chat.model,
    )


async def ask_reply(
    step: PromptTemplate[T],
    dialogue: Sequence[Utterance],
    recollection: Recollection,
    speaker: str,
    chat: ScopedChat,
    *,
    shown: Iterable[int] = (),
    check: Callable[[T], str | None] | None = None,
    **values: str,
) -> T:
    """Ask a step for the next turn of ``speaker``.

    ``shown`` are the sessions that the recollection may quote, besides those of its memories and
    source turns. Raises ModelError when the model fails.
    """
    return await chat.ask(
        step,
        source_sessions=_quoted_sessions(dialogue, recollection, shown),
        check=check,
        bounds=None,
        repairs=None,
        limits=None,
        speaker=format_speaker(speaker),
        remembered=format_recollection(recollection),
        dialogue=format_dialogue(dialogue),
        last=format_dialogue(dialogue[-1:]),
        **values,
    )


def _quoted_sessions(
    dialogue: Sequence[Utterance], recollection: Recollection, shown: Iterable[int]
) -> set[int]:
    return {
        *(memory.session for memory in recollection.memories),
        *dialogue_sessions(recollection.source_turns),
        *dialogue_sessions(dialogue),
        *shown,
    }


def local_respond(
    dialogue: Sequence[Utterance],
    recollection: Recollection,
    changes: Iterable[tuple[int, int]] = (),
    corrected: Mapping[int, int | None] = MappingProxyType({}),
) -> Reply:
    """Quote the best-scored memory with its date and source, and say that there is no model.

    What it has changed to since then, by ``changes`` from older to newer memories, is quoted too;
    of a memory in ``corrected``, only what replaces it.
    """
    parts = [part for part in recollection.parts if not part.is_profile]
    if not parts:
        return Reply(text=f"{NOTHING} {NO_MODEL_NOTICE}", recollection=recollection)
    question = content_words(dialogue[-1].full_text) if dialogue else frozenset[str]()
    part = max(parts, key=lambda part: part.score)
    statements = [memory for memory in part.memories if memory.kind == STATEMENT]
    remembered = {
        memory.id: (memory, each)
        for each in recollection.parts
        if each.scope == part.scope
        for memory in each.memories
    }
    newer = dict(sorted(changes, reverse=True))  # of several the first, which leads to others
    newer |= {old: new for old, new in corrected.items() if new is not None}
    # An excerpt of the log: a turn of it may answer of which nothing was remembered.
    quotes_turns = part.relevance is not None and not part.timeline
    if statements and not quotes_turns:
        retrieved = part.timeline.retrieved if part.timeline else statements[0].id
        best = max(  # the newest of those that say as much
            statements,
            key=lambda m: (
                containment(question, content_words(m.text)),
                m.id == retrieved,
                m.order,
            ),
        )
        quote = _with_changes(_with_source(best, part), best, remembered, newer, corrected)
    elif part.source_turns:
        turn = max(
            part.source_turns,
            key=lambda turn: (
                containment(question, content_words(turn.full_text)),
                turn.at,
                turn.id,
            ),
        )
        quote = attribute_quote(turn, turn.full_text)
        supported = (memory for memory in statements if turn.id in memory.source_turns)
        if told := next(supported, None):
            quote = _with_changes(quote, told, remembered, newer, corrected)
    else:
        quote = part.text
    return Reply(text=f"I remember: {quote}\n{NO_MODEL_NOTICE}", recollection=recollection)


def _with_changes(
    quote: str,
    memory: Memory,
    remembered: Mapping[int, tuple[Memory, Part]],
    newer: Mapping[int, int],
    corrected: Collection[int],
) -> str:
    """Return the quote of a memory with what it became, as far as that was recalled."""
    since: Memory | None = None
    current = memory
    while (following := remembered.get(newer.get(current.id, 0))) is not None:
        if current.id not in corrected:
            since = following[0]
        current = following[0]
    if current is memory:
        return quote
    if since is None:
        return _with_source(*remembered[current.id])
    when = f"since {format_date(since.at)}" if since.dated else "since then"
    return f"{quote}; {when}: {without_attribution(memory_text(current))}"


def _with_source(memory: Memory, part: Part) -> str:
    if memory.made_by == LOCAL_MODEL:
        return memory_text(memory)  # already quotes the speaker with the date
    source = next((turn for turn in part.source_turns if turn.id in memory.source_turns), None)
    date = format_date(memory.at) if memory.dated else ""
    told = source.full_text.strip() if source else ""
    quote = f"{source.speaker}: “{told}”" if source and told != memory.text else ""
    note = ", ".join(filter(None, (date, quote)))
    return f"{memory.text} ({note})" if note else memory.text
