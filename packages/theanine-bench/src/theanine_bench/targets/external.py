"""An agent from elsewhere, behind an OpenAI-compatible address, in the place of ours in a run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Literal, cast

from theanine.clock import system_clock
from theanine.errors import ModelError
from theanine.llm.base import ChatModel, Message, RawReply
from theanine.llm.chat import Chat
from theanine.llm.prompt import PromptTemplate
from theanine.methods.base import Reply
from theanine.remembering.remember import RememberReport
from theanine.store import Store
from theanine.text.formatting import day_label, format_dialogue, format_speaker
from theanine.types import Recollection, Scope, Session, Turn, Utterance
from theanine_bench.runs.runner import Running
from theanine_bench.runs.setup import PassingModel, RecordedModel
from theanine_bench.samples import Case
from theanine_bench.targets.target import Tested, log_alone

OUTSIDE = "outside"
"""What a run's settings call the method of such an agent."""
Known = Literal["sent", "replayed", "none"]
"""How it learns of the earlier sessions: with each request, as a system message; beforehand, turn
by turn as they were talked, for one with a memory of its own; or not at all."""
STEP = PromptTemplate("outside-agent", 1, "$request", str)
Said = list[dict[str, str]]
"""Messages of a chat request."""


class OutsideModel(PassingModel):
    """Sends what the journal keeps as one text for the chat request that it is.

    ``inner`` gives the name and the settings; a recorded one answers for itself.
    """

    def __init__(self, inner: ChatModel, base_url: str) -> None:
        super().__init__(inner)
        self._base_url = base_url

    async def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None
    ) -> RawReply:
        """One request, with the standard field ``user`` that tells whose conversation it is."""
        if isinstance(self._inner, RecordedModel):
            return await super().complete(messages, schema)
        request = json.loads(messages[0].text)
        return await _sent(self, self._base_url, request["user"], request["messages"])


async def _sent(model: OutsideModel, base_url: str, user: str, messages: Said) -> RawReply:
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
    asked = [
        ModelResponse(parts=[TextPart(one["content"])])
        if one["role"] == "assistant"
        else ModelRequest(parts=[parts[one["role"]](one["content"])])
        for one in messages
    ]
    provider = openai_provider(base_url)
    bare = model.name.partition(":")[2]
    with translate_errors(model.name, base_url):
        async with provider:
            response = await model_request(
                OpenAIChatModel(bare, provider=provider),
                asked,
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


class OutsideAgent(Tested):
    """Takes the agent's place in a run: asked in its own way, journalled like everything else.

    Args:
        known: how it learns of the earlier sessions.
        speakers: in whose place it answers, by user.
        running: the run; its set-up names the agent and its address.
        store: the run's store.
    """

    def __init__(
        self,
        known: Known,
        speakers: Mapping[str, Sequence[str]],
        running: Running,
        store: Store,
    ) -> None:
        super().__init__(log_alone(store))
        agent = running.models.agent
        assert agent  # a run of an outside agent names it
        self._store, self._known, self._speakers = store, known, speakers
        # Its conversation is its own: it is never told to answer in another form.
        limits = replace(running.limits, repairs=0)
        model = OutsideModel(agent, running.setup.base_url or "")
        self._chat = Chat(running.spending.watch(model), store, system_clock, limits)
        self._done: set[str] = set()

    async def pending(self, user: str) -> Sequence[object]:
        """Sessions that it was not told yet in this run."""
        if self._known != "replayed" or user in self._done:
            return ()
        return await self._sessions(user)

    async def remember(self, user: str) -> Sequence[RememberReport]:
        """Talk the sessions through with it, oldest first; what is journalled isn't said again."""
        reports: list[RememberReport] = []
        for session in await self._sessions(user):
            failure = await self._replay(user, session)
            scope = Scope(user)
            reports.append(RememberReport(scope=scope, session=session.id, failure=failure))
            if failure:
                return reports
        self._done.add(user)
        return reports

    async def reply(self, case: Case, user: str, budget: int | None) -> Reply:
        """What it says next. Raises ModelError."""
        before: Said = []
        touches: list[int] = []
        if self._known == "sent":
            sessions = await self._sessions(user)
            touches = [session.id for session in sessions]
            before = [await self._told(user, case.speaker, sessions)] if sessions else []
        messages = [*before, *messages_of(case.dialogue, case.speaker)]
        text = await self._ask(user, case.speaker, messages, touches)
        empty = Recollection(query=case.dialogue[-1].full_text)
        return Reply(text=text, recollection=empty, made_by=self._chat.model.name)

    async def _ask(
        self, user: str, speaker: str, messages: Said, touches: Sequence[int] = ()
    ) -> str:
        scope = Scope(user)
        if not (await self._store.scope_version(scope)).scope_id:
            # The journal keeps calls of known scopes alone.
            await self._store.start_session(scope, system_clock(), key=OUTSIDE)
        name = user if len(self._speakers.get(user, ())) < 2 else f"{user}/{speaker}"
        request = json.dumps({"user": name, "messages": messages}, ensure_ascii=False)
        return await self._chat.for_scope(scope).ask(STEP, source_sessions=touches, request=request)

    async def _sessions(self, user: str) -> list[Session]:
        if not (await self._store.scope_version(Scope(user))).scope_id:
            return []
        return [one for one in await self._agent.sessions(user) if one.turn_count]

    async def _replay(self, user: str, session: Session) -> str | None:
        """Why it could not be told the session, or None."""
        turns = await self._agent.turns(user, session=session.id)
        for speaker in self._speakers.get(user, ()):
            for upto in answered(turns, speaker):
                messages = messages_of(turns[:upto], speaker)
                try:
                    await self._ask(user, speaker, messages, [session.id])
                except ModelError as error:
                    return f"{type(error).__name__}: {error}"
        return None

    async def _told(self, user: str, speaker: str, sessions: Sequence[Session]) -> dict[str, str]:
        undated = {one.id for one in sessions if not one.dated}
        parts = [
            f"You are {format_speaker(speaker)}. These are your earlier conversations, "
            "oldest first."
        ]
        for session in sessions:
            turns: Sequence[Turn] = await self._agent.turns(user, session=session.id)
            day = day_label(session.started_at, session.id not in undated)
            parts.append(f"-- {day}\n{format_dialogue(turns)}")
        return {"role": "system", "content": "\n\n".join(parts)}


def answered(turns: Sequence[Utterance], speaker: str) -> list[int]:
    """How many turns there were each time that it was the speaker's turn to answer."""
    return [
        place
        for place in range(1, len(turns) + 1)
        if turns[place - 1].speaker != speaker
        and (place == len(turns) or turns[place].speaker == speaker)
    ]


def messages_of(dialogue: Sequence[Utterance], speaker: str) -> Said:
    """A dialogue as chat messages: the speaker's turns are the assistant's, all others the user's.

    Turns of one side that follow each other are one message; where several people speak, their
    names stand before their words.
    """
    several = len({said.speaker for said in dialogue if said.speaker != speaker}) > 1
    messages: Said = []
    for own, turns in groupby(dialogue, key=lambda said: said.speaker == speaker):
        lines = [
            f"{said.speaker}: {said.full_text}" if several and not own else said.full_text
            for said in turns
        ]
        messages.append({"role": "assistant" if own else "user", "content": "\n".join(lines)})
    return messages
