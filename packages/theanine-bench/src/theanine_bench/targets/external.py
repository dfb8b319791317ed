"""An external agent behind an OpenAI-compatible URL, as a target."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Literal, cast

from theanine.clock import system_clock
from theanine.errors import ModelError
from theanine.llm.base import DEFAULT_REQUEST, ChatModel, Message, RawReply, RequestOptions
from theanine.llm.chat import Chat
from theanine.llm.prompt import PromptTemplate
from theanine.text.formatting import day_label, format_dialogue, format_speaker
from theanine.types import History, Recollection, Scope, Session, Turn, Utterance
from theanine_bench.samples import Sample
from theanine_bench.targets.models import ModelWrapper, RecordedModel
from theanine_bench.targets.target import ClientTarget, Output, TargetContext

EXTERNAL = "outside"
"""``RunConfig.method`` of a run of an external agent."""
HistoryMode = Literal["sent", "replayed", "none"]
"""How the agent learns of earlier sessions: ``sent`` as a system message with each request;
``replayed`` beforehand, turn by turn, for an agent with a memory of its own; or ``none``."""
STEP = PromptTemplate("outside-agent", 1, "$request", str)
ChatMessages = list[dict[str, str]]
"""Messages of a chat request."""


class ExternalModel(ModelWrapper):
    """Sends the chat request that the journal keeps as the text of one message.

    ``inner`` provides the name and the settings; a :class:`RecordedModel` answers itself.
    """

    def __init__(self, inner: ChatModel, base_url: str) -> None:
        super().__init__(inner)
        self._base_url = base_url

    async def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        options: RequestOptions = DEFAULT_REQUEST,
    ) -> RawReply:
        """Send the request, with the standard field ``user``."""
        if isinstance(self._inner, RecordedModel):
            return await super().complete(messages, schema, options)
        request = json.loads(messages[0].text)
        return await _send(self, self._base_url, request["user"], request["messages"])


async def _send(model: ExternalModel, base_url: str, user: str, messages: ChatMessages) -> RawReply:
    from pydantic_ai.direct import model_request
    from pydantic_ai.messages import (
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        UserPromptPart,
    )
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIChatModelSettings

    from theanine.llm.provider import openai_provider, translate_errors

    parts = {"system": SystemPromptPart, "user": UserPromptPart}
    history = [
        ModelResponse(parts=[TextPart(message["content"])])
        if message["role"] == "assistant"
        else ModelRequest(parts=[parts[message["role"]](message["content"])])
        for message in messages
    ]
    provider = openai_provider(base_url)
    bare = model.name.partition(":")[2]
    with translate_errors(model.name, base_url):
        async with provider:
            response = await model_request(
                OpenAIChatModel(bare, provider=provider),
                history,
                model_settings=OpenAIChatModelSettings(
                    openai_user=user, temperature=cast("float", model.settings["temperature"])
                ),
            )
    return RawReply(
        text=response.text or "",
        input_tokens=response.usage.input_tokens,
        output_tokens=response.usage.output_tokens,
        finish=response.finish_reason or "stop",
    )


class ExternalTarget(ClientTarget):
    """An external agent; every request to it is journalled.

    Args:
        context: its config names the agent's model and URL.
        mode: how the agent learns of earlier sessions.
        speakers: the speakers that the agent answers for, by user.
    """

    def __init__(
        self, context: TargetContext, mode: HistoryMode, speakers: Mapping[str, Sequence[str]]
    ) -> None:
        super().__init__(context, context.open_log())
        assert context.model  # a run of an external agent names it
        self._store, self._mode, self._speakers = context.store, mode, speakers
        # No repairs: the agent's conversation must not contain requests for another format.
        limits = replace(context.limits, repairs=0)
        model = context.meter(ExternalModel(context.model, context.config.base_url or ""))
        self._chat = Chat(model, context.store, system_clock, limits)
        self._replayed: set[str] = set()

    async def remember(self, user: str, histories: Sequence[History]) -> str | None:
        """Log the sessions and, in mode ``replayed``, play them to the agent, oldest first.

        What an earlier run has played is answered from the journal.
        """
        for history in histories:
            await self.client.user(user).log(history)
        if self._mode != "replayed" or user in self._replayed:
            return None
        for session in await self._sessions(user):
            if failure := await self._replay(user, session):
                return f"session {session.id}: {failure}"
        self._replayed.add(user)
        return None

    async def answer(self, sample: Sample, user: str) -> Output:
        """Return the agent's next turn. Raises ModelError."""
        before: ChatMessages = []
        session_ids: list[int] = []
        if self._mode == "sent":
            sessions = await self._sessions(user)
            session_ids = [session.id for session in sessions]
            if sessions:
                before = [await self._history_message(user, sample.speaker, sessions)]
        messages = [*before, *chat_messages(sample.dialogue, sample.speaker)]
        return Output(
            text=await self._ask(user, sample.speaker, messages, session_ids),
            made_by=self._chat.model.name,
            recollection=Recollection(query=sample.dialogue[-1].full_text),
        )

    async def _ask(
        self, user: str, speaker: str, messages: ChatMessages, session_ids: Sequence[int] = ()
    ) -> str:
        scope = Scope(user)
        if not (await self._store.scope_version(scope)).scope_id:
            # The journal only keeps calls of known scopes.
            await self._store.start_session(scope, system_clock(), key=EXTERNAL)
        name = user if len(self._speakers.get(user, ())) < 2 else f"{user}/{speaker}"
        request = json.dumps({"user": name, "messages": messages}, ensure_ascii=False)
        return await self._chat.for_scope(scope).ask(
            STEP, source_sessions=session_ids, request=request
        )

    async def _sessions(self, user: str) -> list[Session]:
        if not (await self._store.scope_version(Scope(user))).scope_id:
            return []
        return [s for s in await self.client.user(user).sessions() if s.turn_count]

    async def _replay(self, user: str, session: Session) -> str | None:
        """Play a session to the agent; return the error message if that failed."""
        turns = await self.client.user(user).turns(session=session.id)
        for speaker in self._speakers.get(user, ()):
            for count in answer_positions(turns, speaker):
                messages = chat_messages(turns[:count], speaker)
                try:
                    await self._ask(user, speaker, messages, [session.id])
                except ModelError as error:
                    return f"{type(error).__name__}: {error}"
        return None

    async def _history_message(
        self, user: str, speaker: str, sessions: Sequence[Session]
    ) -> dict[str, str]:
        name = format_speaker(speaker)
        parts = [f"You are {name}. These are your earlier conversations, oldest first."]
        for session in sessions:
            turns: Sequence[Turn] = await self.client.user(user).turns(session=session.id)
            day = day_label(session.started_at, session.dated)
            parts.append(f"-- {day}\n{format_dialogue(turns)}")
        return {"role": "system", "content": "\n\n".join(parts)}


def answer_positions(turns: Sequence[Utterance], speaker: str) -> list[int]:
    """Return, for each point where ``speaker`` had to answer, the number of turns before it."""
    return [
        i
        for i in range(1, len(turns) + 1)
        if turns[i - 1].speaker != speaker and (i == len(turns) or turns[i].speaker == speaker)
    ]


def chat_messages(dialogue: Sequence[Utterance], speaker: str) -> ChatMessages:
    """Format a dialogue as chat messages: ``speaker`` is the assistant, all others the user.

    Consecutive turns of one side become one message; several users are told apart by a prefix
    with their name.
    """
    several = len({turn.speaker for turn in dialogue if turn.speaker != speaker}) > 1
    messages: ChatMessages = []
    for own, turns in groupby(dialogue, key=lambda turn: turn.speaker == speaker):
        lines = [
            f"{turn.speaker}: {turn.full_text}" if several and not own else turn.full_text
            for turn in turns
        ]
        messages.append({"role": "assistant" if own else "user", "content": "\n".join(lines)})
    return messages
