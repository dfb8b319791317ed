"""A live session: hear, recall, reply; its end starts remembering."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Self, Unpack

import anyio

from theanine.client.engine import Engine
from theanine.client.options import RecallArguments, recall_options
from theanine.errors import RememberingFailed, Stale
from theanine.methods.base import RecallOptions, Reply
from theanine.remembering.remember import RememberReport
from theanine.store.processes import process_holder
from theanine.store.validate import check_time, check_utterance
from theanine.types import Recollection, Scope, Turn, Utterance

MAX_REPLIES = 3
"""How often a reply is generated when something is forgotten meanwhile."""


class AsyncLiveSession:
    """A session with a user. Leaving its ``with`` block ends and remembers it.

    The session is logged with its first turn. Hearing something after its end starts another one.
    """

    def __init__(self, engine: Engine, scope: Scope, speaker: str) -> None:
        self._engine, self._scope, self._speaker = engine, scope, speaker
        self._turns: list[Turn] = []
        self.id: int | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        await self.end(remember=kind is None)

    async def hear(
        self, text: str, *, speaker: str | None = None, at: datetime | None = None
    ) -> Turn:
        """Log what the user, or another ``speaker``, says. It is on disk when this returns."""
        return await self._log(
            Utterance(text=text, speaker=speaker or self._speaker, at=at or self._now())
        )

    async def recall(self, **options: Unpack[RecallArguments]) -> Recollection:
        """Return what matters for the dialogue so far; options as in ``user.recall``."""
        return await self._engine.recall(self._turns, self._scope, recall_options(**options))

    async def reply(
        self, *, at: datetime | None = None, **options: Unpack[RecallArguments]
    ) -> Reply:
        """Recall, generate the assistant's next turn, and log it; options as in ``user.recall``.

        If something is forgotten meanwhile, the reply is generated again.

        Raises:
            ModelError: the model failed; the session goes on.
            Stale: something was forgotten during each of ``MAX_REPLIES`` attempts.
        """
        if at is not None:  # before a model call is paid for
            check_time(at, "the reply's time")
        bounds = recall_options(**options)
        for _ in range(MAX_REPLIES - 1):
            with suppress(Stale):
                return await self._reply(at, bounds)
        return await self._reply(at, bounds)

    async def _reply(self, at: datetime | None, options: RecallOptions) -> Reply:
        name = assistant_name(self._scope)
        reply, epoch = await self._engine.reply(self._turns, self._scope, name, options)
        await self._log(
            Utterance(
                text=reply.text,
                speaker=name,
                at=at or self._now(),
                role="assistant",
                recalled=tuple(memory.id for memory in reply.recollection.memories),
                notes=reply.notes,
            ),
            epoch,
        )
        return reply

    async def end(
        self, *, remember: bool = True, at: datetime | None = None
    ) -> list[RememberReport]:
        """End the session and remember it.

        Raises RememberingFailed if remembering fails; the turns are safe in the log, and the next
        ``client.remember()`` tries again.
        """
        if self.id is None:
            return []
        last = self._turns[-1].at if self._turns else self._engine.clock()
        with anyio.CancelScope(shield=True):  # nobody else ends it while this process lives
            await self._engine.store.end_session(
                self._scope, self.id, at or last, self._engine.method.name
            )
        self.id, self._turns = None, []
        if not remember:
            return []
        reports = await self._engine.remember(self._scope)
        if failed := [report for report in reports if report.failure]:
            reason = str(failed[0].failure).rstrip(".")
            raise RememberingFailed(
                f"session {failed[0].session} of {self._scope} is safe in the log but not "
                f"remembered yet: {reason}. `theanine remember` or client.remember() tries again"
            )
        return reports

    async def _log(self, utterance: Utterance, epoch: int | None = None) -> Turn:
        check_utterance(utterance)  # before a session is started for it
        store = self._engine.store
        with anyio.CancelScope(shield=True):  # keep _turns in step with the log
            if self.id is None:
                self.id = await store.start_session(
                    self._scope, utterance.at, holder=process_holder()
                )
            self._turns += await store.append_turns(self._scope, self.id, [utterance], epoch=epoch)
        return self._turns[-1]

    def _now(self) -> datetime:
        """Return the present, but never before the last turn: clocks can be set back."""
        now = self._engine.clock()
        return max(now, self._turns[-1].at) if self._turns else now


def assistant_name(scope: Scope) -> str:
    """Return how the scope's agent is called in its turns."""
    return scope.agent if scope.agent != "default" else "assistant"
