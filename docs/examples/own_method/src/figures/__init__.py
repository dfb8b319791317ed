"""Keep only what has a figure in it: amounts, sizes, dates, times, addresses."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from theanine.methods import Context, Estimate, Reply
from theanine.methods.shared import pack, query_text, reply, retrieve
from theanine.text.formatting import format_day, one_line
from theanine.types import (
    ImportedMemory,
    MemoryBatch,
    NewMemory,
    Part,
    Recollection,
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
        return Estimate()  # remembering calls no language model

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        imported: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        memories: list[NewMemory] = []
        for turn in turns:
            for sentence in SENTENCE.findall(turn.full_text):
                if turn.role == "user" and re.search(r"\d", sentence):
                    text, who = f"{turn.speaker}: {one_line(sentence)}", (turn.speaker,)
                    new = NewMemory(text=text, at=turn.at, source_turns=(turn.id,), speakers=who)
                    memories.append(new)
        vectors = await context.embedder.embed([memory.text for memory in memories])
        return MemoryBatch(memories=memories, vectors=vectors)

    async def recall(self, dialogue: Dialogue, context: Context) -> Recollection:
        query, parts = query_text(dialogue, turns=6), list[Part]()
        k = self.config.retrieved
        for memory, score in await retrieve(query, dialogue, k, context, "hybrid"):
            text = format_day(memory.at, memory.dated) + memory.text
            turns = tuple(await context.index.turns(memory.source_turns))
            parts.append(Part(text=text, memories=(memory,), source_turns=turns, score=score))
        return pack(query, parts, context.budget)

    async def respond(
        self, dialogue: Dialogue, recollection: Recollection, speaker: str, context: Context
    ) -> Reply:
        return await reply(dialogue, recollection, speaker, context)
