"""Generated lives: matters that begin, change and end, in words that people use. Seeded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from random import Random

from support.chat_exports import chatgpt_conversation, save_zip
from theanine.embeddings.static import StaticEmbedder
from theanine.store import open_store
from theanine.types import MemoryBatch, NewLink, NewMemory, Relation, Scope, Transcript, Utterance

START = datetime(2023, 1, 9, 8, tzinfo=UTC)
DAYS = 1_000
SAME, CHANGED, CAUSE = Relation.SAME_TOPIC, Relation.CHANGED, Relation.CAUSE
REASON, REACT, WANT, HINDERED = Relation.REASON, Relation.REACT, Relation.WANT, Relation.HINDERED_BY

STORIES: tuple[tuple[tuple[Relation, str], ...], ...] = (
    (
        (SAME, "I started violin lessons with {name} at the music school in {place}."),
        (SAME, "I practise the violin for {name}'s concert every {day}."),
        (CHANGED, "I stopped the violin lessons in {place} because my shoulder hurts."),
        (REACT, "I miss the violin and {name}'s jokes in {place}."),
        (WANT, "I want to play the violin again with {name} next autumn."),
    ),
    (
        (SAME, "We rent a small flat in {place} together with {name}."),
        (CAUSE, "The rent in {place} went up, so {name} is looking for something cheaper."),
        (CHANGED, "I moved out of the flat in {place}; {name} kept the balcony plants."),
        (REACT, "I feel relieved that the flat in {place} is behind me, says {name}."),
    ),
    (
        (SAME, "I adopted a dog called {name} from the shelter in {place}."),
        (SAME, "{name} pulls on the lead whenever we walk along the river in {place}."),
        (HINDERED, "I can't travel this {day}, because nobody in {place} looks after {name}."),
        (CHANGED, "{name} walks calmly since the dog school in {place}."),
    ),
    (
        (SAME, "I work as an accountant for {name}'s bakery in {place}."),
        (SAME, "The overtime at the bakery in {place} ruins every {day}, {name} agrees."),
        (CHANGED, "I quit the bakery in {place} and told {name} on {day}."),
        (CAUSE, "I became a bookkeeper for {name}'s honey cooperative near {place}."),
    ),
    (
        (SAME, "I run ten kilometres around the lake near {place} with {name}."),
        (HINDERED, "The doctor in {place} found a torn meniscus, so no running with {name}."),
        (CHANGED, "I swim in the pool of {place} instead of running with {name}."),
        (WANT, "I want to run the {place} marathon with {name} some day."),
    ),
    (
        (SAME, "I'm allergic to hazelnuts, so {name} in {place} bakes with almonds."),
        (SAME, "At {name}'s party in {place} I had to leave, because of hazelnut cream."),
        (REASON, "Hazelnuts close my throat, I told {name} in {place}."),
    ),
    (
        (SAME, "I plan a cruise from {place} with {name} for June."),
        (REACT, "I'm terrified of ships since the storm off {place} with {name}."),
        (CHANGED, "I cancelled the cruise from {place}, and {name} understood."),
        (CHANGED, "I took the short ferry to {place} with {name}; I'm no longer afraid."),
    ),
    (
        (SAME, "I write a novel about a lighthouse near {place}; {name} reads each chapter."),
        (SAME, "Chapter {n} of the lighthouse novel is done, {name} liked the fog."),
        (HINDERED, "The noise in {place} keeps me from the novel, {name} lent me a room."),
        (CHANGED, "The lighthouse novel is finished; {name} sends it to a publisher in {place}."),
    ),
    (
        (SAME, "My sister {name} is getting married on {n} May in {place}."),
        (CHANGED, "{name} moved the wedding in {place} to {n} October."),
        (REACT, "{name}'s wedding in {place} was beautiful and I cried."),
    ),
    (
        (SAME, "I planted {n} tomatoes in the garden behind {name}'s house in {place}."),
        (CAUSE, "Hail destroyed the tomatoes in {place}, so {name} built a roof."),
        (WANT, "I want a greenhouse like {name}'s in {place}."),
    ),
    ((SAME, "I met {name} by chance at the station of {place}."),),
    ((SAME, "The museum in {place} has a new wing, {name} says."),),
    ((SAME, "I lent {name} my grey umbrella in {place}."),),
)
NAMES = (
    "Ana Bruno Clara Dario Elena Filip Greta Hugo Iva Jakov Klara Luka Mira Nino Olga Petar Rosa "
    "Sven Tine Ulla Vito Wanda Xenia Yara Zora Alma Boris Cora Dunja Emil"
).split()
PLACES = (
    "Split Rijeka Zadar Ljubljana Graz Trieste Lisbon Porto Kyoto Bergen Malmö Tartu Vilnius Riga "
    "Ghent Bruges Basel Bern Turin Parma Siena Lecce Bari Cádiz Ronda León Vigo Tours Nantes Metz"
).split()
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


@dataclass(frozen=True, slots=True)
class Statement:
    """What was said on a day.

    Attributes:
        matter: number of the matter that it belongs to.
        relation: how it follows from the statement before it in its matter.
    """

    matter: int
    day: int
    text: str
    relation: Relation


def statements(count: int, seed: int = 0) -> list[Statement]:
    """Return statements in order of time; a matter takes from a day to a year."""
    rng = Random(seed)
    made: list[Statement] = []
    for matter in range(count):
        story = rng.choice(STORIES)
        values = {"name": rng.choice(NAMES), "place": rng.choice(PLACES)}
        day = rng.randrange(DAYS)
        for relation, form in story:
            text = form.format(**values, day=rng.choice(WEEKDAYS), n=rng.randrange(2, 30))
            made.append(Statement(matter, day, text, relation))
            day = min(DAYS, day + rng.randrange(1, 120))
        if len(made) >= count:
            break
    made.sort(key=lambda statement: statement.day)
    return made[:count]


async def fill_store(location: str | Path, count: int, *, user: str = "ana") -> None:
    """Write so many memories of a user with their links into a store, a session a day."""
    store, embedder, scope = open_store(str(location)), StaticEmbedder(), Scope(user)
    await store.open()
    last: dict[int, int] = {}
    number = 0
    try:
        for day, group in groupby(statements(count), key=lambda statement: statement.day):
            said = list(group)
            at = START + timedelta(days=day)
            turns = [
                Utterance(text=each.text, speaker="Ana", at=at + timedelta(minutes=minute))
                for minute, each in enumerate(said)
            ]
            logged = await store.log_transcript(
                scope, Transcript(key=f"day-{day}", turns=turns, at=at), "theanine"
            )
            batch, last = _link(said, turns, number, last)
            vectors = await embedder.embed([each.text for each in said])
            lease = await store.acquire_lease(scope, "generator", timedelta(days=36_500)) or 0
            await store.commit_batch(
                scope,
                logged.session,
                "theanine",
                MemoryBatch(memories=batch.memories, links=batch.links, vectors=vectors),
                embedder=embedder.name,
                lease=lease,
                at=at,
            )
            await store.release_lease(scope, lease)
            number += len(said)
    finally:
        await store.close()


def _link(
    said: Sequence[Statement], turns: Sequence[Utterance], number: int, last: dict[int, int]
) -> tuple[MemoryBatch, dict[int, int]]:
    """Return the memories of a day with links to the last ones of their matters."""
    memories = [
        NewMemory(text=turn.text, at=turn.at, source_turns=(number + i + 1,), speakers=("Ana",))
        for i, turn in enumerate(turns)
    ]
    links = [
        NewLink(
            older=last[each.matter],
            newer=i,
            relation=each.relation,
            explanation="told of the same matter",
            similarity=0.6,
        )
        for i, each in enumerate(said)
        if last.get(each.matter, number + 1) <= number
    ]
    following = last | {each.matter: number + i + 1 for i, each in enumerate(said)}
    return MemoryBatch(memories=memories, links=links), following


def chatgpt_export(path: Path, conversations: int) -> Path:
    """Write an export of ChatGPT with so many conversations, each of two to four statements."""
    rng = Random(1)
    said = iter(statements(conversations * 4))
    made = [_conversation(i, rng, said) for i in range(conversations)]
    return save_zip(path, {"conversations.json": json.dumps(made)})


def _conversation(number: int, rng: Random, said: Iterator[Statement]) -> dict[str, object]:
    chosen = [next(said) for _ in range(rng.randrange(2, 5))]
    texts = [
        text
        for each in chosen
        for text in (each.text, rng.choice(("I see. Tell me more.", "Noted.", "That is a lot.")))
    ]
    start = (START + timedelta(days=chosen[0].day, hours=number % 12)).timestamp()
    return chatgpt_conversation(f"c{number}", texts, start=start, title=chosen[0].text[:30])
