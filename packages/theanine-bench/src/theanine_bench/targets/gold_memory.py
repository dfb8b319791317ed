"""Gold memory in place of a method's own: the personas that people wrote of the past.

Source: LLM-Rsum, table 4 ("Rp. Gt. memory"), whose gold memories are MSC's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType

from theanine.clock import system_clock
from theanine.methods.shared.respond import local_respond, respond
from theanine.types import Part, Recollection, Scope
from theanine_bench.samples import Sample
from theanine_bench.targets.target import Output, Target, TargetContext

GOLD_MEMORY = "gold-memory"
"""``RunConfig.method`` of a run with gold memory."""
PERSONA = "persona"
"""Key of ``Sample.extra`` for the statements that people wrote of the past, by speaker."""


class GoldMemoryTarget(Target):
    """Replies from the dialogue and the sample's personas, which stand for what is remembered."""

    def __init__(self, context: TargetContext) -> None:
        self._store = context.store
        self._chat = context.open_chat()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._chat:
            await self._chat.close()

    async def answer(self, sample: Sample, user: str) -> Output:
        """Return the reply in the place of the sample's speaker. Raises ModelError."""
        personas: Mapping[str, Sequence[str]] = sample.extra.get(PERSONA, {})
        parts = [
            Part(text=f"{speaker}: {text}", memories=(), source_turns=())
            for speaker, texts in personas.items()
            for text in texts
        ]
        recollection = Recollection(query=sample.dialogue[-1].full_text, parts=tuple(parts))
        if self._chat is None:
            return Output.from_reply(local_respond(sample.dialogue, recollection))
        scope = Scope(user)
        if not (await self._store.scope_version(scope)).scope_id:
            # The journal only keeps calls of known scopes.
            await self._store.start_session(scope, system_clock(), key=GOLD_MEMORY)
        chat = self._chat.for_scope(scope)
        return Output.from_reply(await respond(sample.dialogue, recollection, sample.speaker, chat))
