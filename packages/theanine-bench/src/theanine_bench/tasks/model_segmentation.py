"""The segmentation bench with a language model, and the guidance that it learns from its errors."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from theanine.clock import Clock, moment, system_clock
from theanine.embeddings.static import StaticEmbedder
from theanine.errors import UnusableReply
from theanine.llm.base import ChatModel
from theanine.llm.chat import Chat, ScopedChat
from theanine.llm.gather import gather
from theanine.llm.limits import Limits
from theanine.methods.secom.ask_segments import ask_segments
from theanine.methods.secom.guidance import Guidance
from theanine.methods.secom.reflect import Attempt, reflect
from theanine.segmentation import Span, segment_locally
from theanine.store import open_store
from theanine.types import Scope, Usage, Utterance
from theanine_bench.datasets.segmentation import SegmentedDialogue
from theanine_bench.tasks.segmentation import SegmentationRun, check_dialogues, measured

SCOPE = Scope("bench segmentation")
"""Under which the calls are journalled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRun:
    """A run with a language model.

    Attributes:
        model: its full name.
        run: what was measured.
        fallbacks: dialogues whose replies stayed unusable: the local segmenter divided them.
        usage: calls to the model, replays from the journal, and tokens.
    """

    model: str
    run: SegmentationRun
    fallbacks: int
    usage: Usage

    @property
    def counts(self) -> dict[str, int]:
        """Its counts by name."""
        names = ("calls", "replayed", "input_tokens", "output_tokens")
        return {"fallbacks": self.fallbacks} | {name: getattr(self.usage, name) for name in names}


@asynccontextmanager
async def asking(
    model: ChatModel,
    journal: Path | None = None,
    *,
    limits: Limits | None = None,
    clock: Clock = system_clock,
) -> AsyncGenerator[ScopedChat]:
    """The model, every call of it journalled in a store of its own.

    With ``journal``, a file, a run that is repeated is replayed from it for nothing.
    """
    with TemporaryDirectory() as folder:
        store = open_store(str(journal or Path(folder) / "journal.db"))
        await store.open()
        chat = Chat(model, store, clock, limits)
        try:
            if not (await store.scope_version(SCOPE)).scope_id:
                await store.start_session(SCOPE, clock())  # a journal is kept of known scopes only
            yield chat.for_scope(SCOPE)
        finally:
            await chat.close()
            await store.close()


async def bench_with_model(
    dialogues: Sequence[SegmentedDialogue],
    caller: ScopedChat,
    *,
    guidance: Guidance | None = None,
    progress: Callable[[], None] = lambda: None,
    seed: int = 0,
) -> ModelRun:
    """Let the model divide each dialogue, side by side as its limits allow, and measure it.

    ``progress`` is called after each dialogue. Raises BadInput where nothing can be measured and
    ModelError when the model fails; an unusable reply is a fallback.
    """
    check_dialogues(dialogues)
    text = guidance.text if guidance else ""
    started = time.perf_counter()
    drawn = await gather(
        [partial(_divided, one.texts, caller, text, progress) for one in dialogues]
    )
    seconds = time.perf_counter() - started
    return ModelRun(
        model=caller.model,
        run=measured(dialogues, [spans for spans, _ in drawn], seconds, seed),
        fallbacks=sum(fell_back for _, fell_back in drawn),
        usage=caller.usage,
    )


async def learn(
    dialogues: Sequence[SegmentedDialogue],
    run: SegmentationRun,
    caller: ScopedChat,
    *,
    progress: Callable[[], None] = lambda: None,
) -> Guidance | None:
    """Guidance from the dialogues that a run without guidance divided worst; None if none was."""
    attempts = [
        Attempt(id=item.id, turns=one.texts, right=item.gold, drawn=item.drawn, error=item.wd)
        for one, item in zip(dialogues, run.items, strict=True)
    ]
    return await reflect(attempts, caller, progress=progress)


async def _divided(
    texts: Sequence[str], caller: ScopedChat, guidance: str, progress: Callable[[], None]
) -> tuple[Sequence[Span], bool]:
    """The segments, and whether the local segmenter drew them in the model's place."""
    turns = [
        Utterance(text=text, speaker="AB"[place % 2], at=moment(0))
        for place, text in enumerate(texts)
    ]
    try:
        return await ask_segments(turns, caller, guidance=guidance), False
    except UnusableReply:
        return segment_locally(texts, StaticEmbedder().vectors(texts)), True
    finally:
        progress()
