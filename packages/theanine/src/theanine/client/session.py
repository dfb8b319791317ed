"""A live session: hear, say, recall, reply; its end starts remembering."""

from __future__ import annotations

import logging
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, cast, overload

import anyio

from theanine.cancellation import finish
from theanine.client.arguments import check_arguments
from theanine.client.dialogues import Dialogue
from theanine.client.engine import Engine
from theanine.client.merging import memory_ids
from theanine.client.options import Moment, RecallArguments, RememberWhen
from theanine.client.own_ends import with_ends
from theanine.client.redaction import redact_utterances
from theanine.client.reply_options import ReplyArguments
from theanine.client.replying import Replying
from theanine.client.streaming import AsyncReplyStream
from theanine.errors import BadInput, NotFound, SettingsError
from theanine.messages import read_messages, write_messages
from theanine.remembering.report import RememberReport
from theanine.store.processes import process_holder
from theanine.store.resent import LoggedTurn, select_new, separate_edits
from theanine.store.validate import check_name, check_text, storable_utterances
from theanine.telemetry import RECORDS, memory_operation
from theanine.tokenizer import sanitize
from theanine.types import (
    Message,
    MessageFormat,
    Metadata,
    Recollection,
    Role,
    Scope,
    Turn,
    Utterance,
)

if TYPE_CHECKING:
    from theanine.methods.base import Reply

_log = logging.getLogger(__name__)

WINDOW = 20
"""Turns of a thread that a chat model is shown, unless the session says otherwise."""
Words = str | Sequence[Message]
"""A text, or the parts of a message's content: texts, images and more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddReport:
    """The result of adding messages.

    Attributes:
        session: number of the session that they are in; None if a key has no session yet.
        turns: the turns that were logged; a message with calls of tools can be several.
        known: how many turns were left out because the session, or one before it under the same
            key, has them already.
        left_out: these turns, as they were sent.
        repaired: how many turns had a NUL or half of a character, which no store holds: each is
            U+FFFD in the log.
    """

    session: int | None
    turns: tuple[Turn, ...]
    known: int = 0
    left_out: tuple[Utterance, ...] = ()
    repaired: int = 0

    def __str__(self) -> str:
        return f"session {self.session}: logged={len(self.turns)} known={self.known}"


def _report(
    session: int | None, turns: Sequence[Turn], left_out: tuple[Utterance, ...]
) -> AddReport:
    return AddReport(session=session, turns=tuple(turns), known=len(left_out), left_out=left_out)


@check_arguments
class AsyncLiveSession:
    """A session with a user, whose calls are logged one after the other.

    Without a key, it belongs to this object: it is logged with its first turn, and leaving the
    ``with`` block ends and remembers it. With a key, it belongs to the application: any object with
    this key continues it, in any process, and it ends by :meth:`end` or by a pause. Hearing
    something after the end starts another session, under the same key.

    Attributes:
        key: the application's key, or None.
        window: how many of the newest turns under the key :meth:`messages` and :meth:`reply` show
            at least; None is all. Up to half as many more are shown, so that the first one stays
            the same for some turns, and a provider's cache of the prompt is of use.
        id: number of the session; None before its first turn and after its end.
    """

    def __init__(
        self,
        engine: Engine,
        scope: Scope,
        speaker: str,
        key: str | None = None,
        shared: Sequence[Scope] = (),
        window: int | None = WINDOW,
        metadata: Metadata | None = None,
    ) -> None:
        if key is not None:
            check_name(key, "the session's key", "")
        self.window = _check_count("window", window)
        self._engine, self._scope, self._speaker, self.key = engine, scope, speaker, key
        self._shared, self._metadata = shared, {**(metadata or {})}
        self._dialogue = self._new_dialogue() if key is None else engine.dialogues.get(scope, key)
        self._recalled: tuple[int, ...] = ()
        self._lock = anyio.Lock()
        self.id: int | None = None

    def __repr__(self) -> str:
        key = f" {self.key!r}" if self.key is not None else ""
        return f"<{type(self).__name__}{key} of {self._scope}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        if self.key is None:
            await self.end(remember=None if kind is None else "later")

    # what is said

    async def hear(
        self,
        words: Words,
        *,
        speaker: str | None = None,
        id: str | None = None,
        at: datetime | None = None,
        metadata: Metadata | None = None,
        expires: Moment | None = None,
        verify_by: Moment | None = None,
    ) -> Turn:
        """Log what the user, or another ``speaker``, says. It is on disk when this returns.

        A reply that is being streamed is broken off.

        Args:
            words: a text, or parts of a message's content.
            speaker: whose words they are.
            id: the application's id of the message. If it is known with these words under the
                session's key, nothing is logged, and the turn that has it is returned: a request
                may be repeated. Other words under a known id are an edit, logged as a turn whose
                key is the id, ``~`` and a hash of them.
            at: when it was said; the default is now. It is not compared with the clock, so that a
                conversation that is replayed or simulated keeps its times.
            metadata: the application's own data about the turn.
            expires: when it ends: from then on it is not shown any more, and soon erased with what
                was made from it. A day ends with its last moment, in the user's time zone.
            verify_by: when it is to be verified: from then on recollections and profiles say so,
                and lists with ``due`` have it.

        Raises BadInput for empty words, for an id whose turn was forgotten, and for an ``expires``
        that is not after ``at``.
        """
        metadata = with_ends(metadata, expires, verify_by)
        return await self._log_one("user", words, speaker or self._speaker, id, at, metadata)

    async def say(
        self,
        words: Words,
        *,
        recalled: Recollection | Sequence[int] | None = None,
        id: str | None = None,
        at: datetime | None = None,
        metadata: Metadata | None = None,
        expires: Moment | None = None,
        verify_by: Moment | None = None,
    ) -> Turn:
        """Log what the assistant says, however its words were made.

        ``recalled`` is what was in the model's prompt, or the ids of its memories; by default, the
        last :meth:`recall` since the last turn. What only repeats it is not remembered again. All
        others as in :meth:`hear`.
        """
        shown = self._recalled if recalled is None else memory_ids(recalled, self._scope)
        speaker = assistant_name(self._scope)
        metadata = with_ends(metadata, expires, verify_by)
        return await self._log_one("assistant", words, speaker, id, at, metadata, shown)

    async def add(
        self,
        messages: str | Message | Sequence[Message | Utterance],
        *,
        recalled: Recollection | Sequence[int] | None = None,
        resent: bool = True,
        at: datetime | None = None,
        metadata: Metadata | None = None,
        expires: Moment | None = None,
        verify_by: Moment | None = None,
    ) -> AddReport:
        """Log messages as the APIs of OpenAI and Anthropic have them; see ``user.add``.

        ``recalled`` is what the assistant's new messages were written with, as in :meth:`say`.
        """
        await self._engine.break_off(self._stream_key)
        listed = isinstance(messages, Sequence) and not isinstance(messages, str)
        shown = self._recalled if recalled is None else memory_ids(recalled, self._scope)
        metadata = with_ends(metadata, expires, verify_by)
        utterances = [
            replace(utterance, recalled=utterance.recalled or shown)
            if utterance.role == "assistant"
            else utterance
            for utterance in self._read(messages, at, metadata)
        ]
        return await self._log(utterances, resent=resent and listed, arriving=at is None)

    async def add_alone(
        self,
        messages: str | Message | Sequence[Message | Utterance],
        *,
        at: datetime | None = None,
        metadata: Metadata | None = None,
    ) -> AddReport:
        """Log messages as a whole session, in one step, and remember it as the options say."""
        utterances = self._read(messages, at, metadata)
        utterances = await self._engine.read_ends(self._scope, utterances)
        utterances = redact_utterances(utterances, self._engine.redact)
        utterances, repaired = _repaired(utterances)
        if not utterances:
            return AddReport(session=None, turns=())
        with memory_operation("create_memory", self._scope.agent, self._scope.tenant) as span:
            result = await self._engine.store.continue_thread(
                self._scope, None, utterances, method=self._engine.stored_method, end=True
            )
            span.attributes[RECORDS] = len(result.turns)
        await self._engine.remember_ended(self._scope, None)
        return AddReport(session=result.session, turns=result.turns, repaired=repaired)

    def _read(
        self,
        messages: str | Message | Sequence[Message | Utterance],
        at: datetime | None,
        metadata: Metadata | None,
    ) -> list[Utterance]:
        if isinstance(messages, str):
            check_name(sanitize(messages), "the text", "")
            messages = [{"role": "user", "content": messages}]
        listed = messages if isinstance(messages, Sequence) else [messages]
        names = speakers(self._scope, self._speaker)
        return read_messages(listed, names, at or self._now(), metadata or {})

    async def _log_one(
        self,
        role: Role,
        words: Words,
        speaker: str,
        id: str | None,
        at: datetime | None,
        metadata: Metadata | None,
        recalled: tuple[int, ...] = (),
    ) -> Turn:
        await self._engine.break_off(self._stream_key)
        if isinstance(words, str | bytes) or not isinstance(cast("object", words), Sequence):
            check_text(sanitize(words) if isinstance(words, str) else words, "the text")
        if id is not None:
            check_name(id, "the message's id", "")
        message = {"role": role, "content": words, "id": id}
        names: dict[Role, str] = {**speakers(self._scope), role: speaker}
        read = read_messages([message], names, at or self._now(), metadata or {})
        if len(read) != 1 or read[0].role != role:
            raise BadInput(
                "the turn is empty: it has neither text nor attachment"
                if not read
                else f"the parts must be one turn of the {role}; pass calls of tools and their "
                "results to add()"
            )
        report = await self._log([replace(read[0], recalled=recalled)], arriving=at is None)
        logged = report.turns or await self._engine.store.turns(
            self._scope, thread=self.key, key=report.left_out[0].key
        )
        if not logged:
            raise BadInput(f"the message with the id {id!r} was forgotten; log it under another id")
        return logged[0]

    async def _log(
        self,
        utterances: Sequence[Utterance],
        epoch: int | None = None,
        *,
        resent: bool = False,
        arriving: bool = False,
    ) -> AddReport:
        if self._metadata:
            utterances = [
                replace(utterance, metadata=self._metadata | {**utterance.metadata})
                for utterance in utterances
            ]
        utterances = await self._engine.read_ends(self._scope, utterances)
        utterances = redact_utterances(utterances, self._engine.redact)
        storable, repaired = _repaired(utterances)  # before a session is started for them

        async def append() -> AddReport:
            log = self._log_own if self.key is None else self._log_keyed
            report = await log(storable, epoch, resent=resent, arriving=arriving)
            self._recalled = ()
            return replace(report, repaired=repaired)

        scope = self._scope
        with memory_operation("create_memory", scope.agent, scope.tenant) as span:
            async with self._lock:
                report = await finish(append())  # keep this object in step with the log
            span.attributes[RECORDS] = len(report.turns)
        _log.debug("%s: logged turns=%d session=%s", self._scope, len(report.turns), report.session)
        return report

    async def _log_keyed(
        self, utterances: Sequence[Utterance], epoch: int | None, *, resent: bool, arriving: bool
    ) -> AddReport:
        result = await self._engine.store.continue_thread(
            self._scope,
            self.key,
            utterances,
            method=self._engine.stored_method,
            pause=self._engine.options.pause,
            resent=resent,
            arriving=arriving,
            epoch=epoch,
        )
        self.id = result.session
        if result.ended is not None and self._engine.options.remembering == "background":
            self._engine.start_remembering(self._scope)
        last = self._dialogue.last
        if last is not None and result.previous == last.id:  # else there may be turns between
            self._dialogue.extend(result.turns)
        return _report(result.session, result.turns, result.known)

    async def _log_own(
        self, utterances: Sequence[Utterance], epoch: int | None, *, resent: bool, arriving: bool
    ) -> AddReport:
        """Append to the session of this object, starting it if need be."""
        store, dialogue = self._engine.store, self._dialogue
        selected: Sequence[Utterance | None] = utterances
        if resent and self.id is not None:
            turns = await store.turns(self._scope, session=self.id, with_content=True)
            logged = list(map(LoggedTurn.of, turns))
            keyed = {turn.key: turn for turn in logged if turn.key is not None}
            utterances = separate_edits(utterances, keyed)
            selected = select_new(logged, utterances, keyed, complete=True, dated=not arriving)
        left_out = tuple(each for each, new in zip(utterances, selected, strict=True) if not new)
        new = [utterance for utterance in selected if utterance is not None]
        if not new:
            return _report(self.id, (), left_out)
        if arriving and (last := dialogue.last):  # another call may have logged it meanwhile
            new = [replace(utterance, at=max(utterance.at, last.at)) for utterance in new]
        turns: list[Turn] = []
        if self.id is not None:
            try:
                turns = await store.append_turns(self._scope, self.id, new, epoch=epoch)
            except NotFound:  # another machine ended it, from which this process seemed dead
                self.id, self._dialogue = None, self._new_dialogue()
                dialogue = self._dialogue
        if self.id is None:
            result = await store.continue_thread(
                self._scope,
                None,
                new,
                method=self._engine.stored_method,
                epoch=epoch,
                holder=process_holder(),
            )
            self.id, turns = result.session, list(result.turns)
            dialogue.session = self.id
            self._engine.hold_sessions()
        dialogue.extend(turns)
        return _report(self.id, turns, left_out)

    # what was said

    async def turns(self) -> list[Turn]:
        """Return the session's turns so far, by whatever process they were logged.

        Empty before the first turn, after the end, and after a pause.
        """
        store = self._engine.store
        if self.key is not None:
            self.id = await store.open_session(self._scope, self.key, self._now())
        return [] if self.id is None else await store.turns(self._scope, session=self.id)

    async def messages(
        self, format: MessageFormat = "openai", *, last: int | None = None
    ) -> list[Message]:
        """Return the newest turns under the session's key as messages for a chat model.

        They may be of earlier sessions: a pause or an end decides what is remembered when, not
        what the model sees. A call of a tool and its result come together or not at all. The newest
        system prompt comes first if it is older than all of them.

        Args:
            format: ``openai`` (chat completions), ``responses`` (OpenAI's) or ``anthropic``, which
                has no messages of the system: :meth:`system` returns its prompt. A part that a
                format doesn't know is put in words.
            last: exactly how many turns, in place of ``window``; give the same number to
                :meth:`recall`.

        Raises SettingsError for a number below 1.
        """
        shown = await self._dialogue.prompt(self._count(last), in_steps=last is None)
        places = {turn.id: place for place, turn in enumerate(shown)}
        turns = await self._engine.store.turns(self._scope, ids=[*places], with_content=True)
        turns.sort(key=lambda turn: places[turn.id])
        return write_messages(turns, format)

    async def system(self) -> str:
        """Return the newest system prompt that was logged under the session's key, or ``""``."""
        turn = await self._dialogue.system()
        return turn.text if turn else ""

    async def recall(
        self, *, last: int | None = None, **options: Unpack[RecallArguments]
    ) -> Recollection:
        """Return what matters for the dialogue so far; options as in ``user.recall``.

        It leaves out the turns that :meth:`messages` shows, with the same ``last``, and finds all
        others, those of the open session too. For one's own loop:
        ``[*session.messages(), *recollection.messages()]`` is for one's own model.
        """
        bounds = await self._engine.recall_options(self._scope, options)
        shown = await self._dialogue.shown(self._count(last), in_steps=last is None)
        recollection = await self._engine.recalling.recall(shown, self._scope, bounds, self._shared)
        self._recalled = memory_ids(recollection, self._scope)
        return recollection

    def _count(self, last: int | None) -> int | None:
        return self.window if last is None else _check_count("last", last)

    @overload
    def reply(
        self,
        *,
        stream: Literal[True],
        at: datetime | None = None,
        **options: Unpack[ReplyArguments],
    ) -> AsyncReplyStream: ...

    @overload
    def reply(
        self,
        *,
        stream: Literal[False] = False,
        at: datetime | None = None,
        **options: Unpack[ReplyArguments],
    ) -> Coroutine[Any, Any, Reply]: ...

    def reply(
        self,
        *,
        stream: bool = False,
        at: datetime | None = None,
        **options: Unpack[ReplyArguments],
    ) -> AsyncReplyStream | Coroutine[Any, Any, Reply]:
        """Recall, let the model write the assistant's next turn, and log it.

        If something is forgotten meanwhile, the reply is generated again.

        Args:
            stream: return the text as it arrives, to be read with ``async for``, instead of the
                whole reply. It is logged when it ends; one that is not read to its end is logged as
                far as it was received, and marked as broken off.
            at: the time of the turn; None is the present.
            options: those of ``user.recall``, and how the model is asked, if there is one:

                - ``system``: instructions, at the beginning of the system message;
                - ``persona``: who the assistant is and how it speaks;
                - ``temperature``, ``max_tokens``, ``stop``: settings of the request;
                - ``tools``: functions that the model may ask for, in the form of OpenAI's or
                  Anthropic's API. ``Reply.tool_calls`` has the calls; they are logged as turns of
                  the tool, and :meth:`add` takes the results;
                - ``prompt``: ``chat``, or ``transcript`` for the dialogue in one message.

        Raises:
            ModelError: the model failed; the session goes on.
            SettingsError: an option is out of range, or the method's prompt can't follow it.
            Stale: something was forgotten during each of ``MAX_REPLIES`` attempts, or while the
                reply was streamed; then it is not logged.
        """
        names = speakers(self._scope, self._speaker)
        log = partial(self._log, arriving=at is None)
        replying = Replying(
            self._engine,
            self._scope,
            names,
            lambda: self._dialogue.prompt(self.window, in_steps=True),
            log,
            self._shared,
        )
        reply = AsyncReplyStream(replying.reply(stream, at, options), self._begin)
        return reply if stream else reply.whole()

    async def _begin(self, reply: AsyncReplyStream) -> None:
        await self._engine.break_off(self._stream_key)
        self._engine.streams[self._stream_key] = reply

    @property
    def _stream_key(self) -> object:
        """The key of this session's streams in the engine; objects with the same key share them."""
        return self if self.key is None else (self._scope, self.key)

    # the end

    async def end(
        self, *, remember: bool | RememberWhen | None = None, at: datetime | None = None
    ) -> list[RememberReport]:
        """End the session, and remember it.

        Args:
            remember: ``now``, in the ``background`` or ``later``, by ``theanine remember`` or
                ``client.remember()``; the default is the client's ``remembering``. True is now,
                False is later.
            at: when it ended; the default is its last turn's time.

        Returns the reports of what was remembered now. Raises RememberingFailed if that fails; the
        turns are safe in the log, and the next ``client.remember()`` tries again.
        """
        if not await finish(self._end(at)):  # nobody else ends it while this process lives
            return []
        return await self._engine.remember_ended(self._scope, remember)

    async def _end(self, at: datetime | None) -> bool:
        store = self._engine.store
        await self._engine.break_off(self._stream_key)
        async with self._lock:
            session = self.id
            if self.key is not None:
                session = await store.open_session(self._scope, self.key)
            if session is not None:
                with suppress(NotFound):  # another process has ended it
                    await store.end_session(self._scope, session, at, self._engine.stored_method)
            self.id, self._recalled = None, ()
            if self.key is None:
                self._dialogue = self._new_dialogue()
        return session is not None

    def _now(self) -> datetime:
        """Return the present, but never before the last turn: clocks can be set back."""
        now = self._engine.clock()
        last = self._dialogue.last
        return max(now, last.at) if last else now

    def _new_dialogue(self) -> Dialogue:
        return Dialogue(self._engine.store, self._scope, None, self._engine.clock)


def _repaired(utterances: Sequence[Utterance]) -> tuple[list[Utterance], int]:
    """Return utterances as they can be stored, and how many were repaired for that."""
    storable = storable_utterances(utterances)
    pairs = zip(utterances, storable, strict=True)
    return storable, sum(old is not new for old, new in pairs)


def _check_count(name: str, count: int | None) -> int | None:
    if count is not None and count < 1:
        raise SettingsError(f"{name} must be at least 1 turn, not {count!r}")
    return count


def speakers(scope: Scope, user: str = "") -> dict[Role, str]:
    """Return the default speaker of each role, for messages without a name."""
    return {
        "user": user or scope.user,
        "assistant": assistant_name(scope),
        "system": "system",
        "tool": "tool",
    }


def assistant_name(scope: Scope) -> str:
    """Return the speaker name of the scope's agent."""
    return scope.agent if scope.agent != "default" else "assistant"
