"""Keep only what has a figure in it: amounts, sizes, dates, times, addresses."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from theanine.methods.base import Context, Estimate, Reply
from theanine.methods.shared.retrieve import query_of, reply, retrieve
from theanine.retrieval.budget import within
from theanine.text.formatting import one_line, when
from theanine.types import (
    GivenMemory,
    NewMemory,
    Part,
    Recollection,
    Remembered,
    Session,
    Turn,
    Utterance,
)

Dialogue = Sequence[Utterance]
SENTENCE = re.compile(r"\S(?:[^.!?]|[.!?](?=\S))*[.!?]?")  # 3.50 and 9:30 stay in one


@dataclass(frozen=True, kw_only=True)
class FiguresConfig:
    retrieved: int = 5


class Figures:
    name = "figures"
    Config = FiguresConfig

    def __init__(self, config: FiguresConfig | None = None) -> None:
        self.config = config or FiguresConfig()

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        return Estimate()  # remembering asks no language model

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        given: Sequence[GivenMemory],
        context: Context,
    ) -> Remembered:
        memories: list[NewMemory] = []
        for turn in turns:
            for sentence in SENTENCE.findall(turn.words):
                if turn.role == "user" and re.search(r"\d", sentence):
                    text, who = f"{turn.speaker}: {one_line(sentence)}", (turn.speaker,)
                    new = NewMemory(text=text, at=turn.at, sources=(turn.id,), speakers=who)
                    memories.append(new)
        vectors = await context.embedder.embed([memory.text for memory in memories])
        return Remembered(memories=memories, vectors=vectors)

    async def recall(self, dialogue: Dialogue, context: Context) -> Recollection:
        query, parts = query_of(dialogue, turns=6), list[tuple[Part, str]]()
        k = self.config.retrieved
        for memory, score in await retrieve(query, dialogue, k, context, "hybrid"):
            text = when(memory.at, memory.session, context.view.undated) + memory.text
            sources = tuple(await context.view.turns(memory.sources))
            parts.append((Part(text=text, memories=(memory,), sources=sources, score=score), text))
        return Recollection(query=query, parts=tuple(within(parts, context.budget)))

    async def respond(
        self, dialogue: Dialogue, recollection: Recollection, speaker: str, context: Context
    ) -> Reply:
        return await reply(dialogue, recollection, speaker, context)
