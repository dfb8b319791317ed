"""Enough turns for approximate search, with a low threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from random import Random

import theanine
from theanine.retrieval.ranking import RankingConfig
from theanine.types import History, Transcript, Utterance

LOW = RankingConfig(exact_upto=150)
START = datetime(2022, 1, 1, 9, tzinfo=UTC)
WHO = ["Ana", "Ben"]
VERBS = "mended painted lost sold bought found borrowed hid washed dropped".split()
THINGS = (
    "violin kayak telescope bicycle lamp kettle rope tent ladder carpet anchor basket candle "
    "drum easel fiddle globe hammer icebox jacket kite lantern mirror net oar piano quilt"
).split()
PLACES = "harbour orchard attic library market bakery chapel stable cellar meadow".split()


def texts(seed: int = 0) -> Iterator[str]:
    """Yield statements without end, hardly any two the same."""
    rng = Random(seed)
    while True:
        yield (
            f"I {rng.choice(VERBS)} the {rng.choice(THINGS)} near the {rng.choice(PLACES)} and "
            f"{rng.choice(VERBS)} {rng.randrange(2, 90)} {rng.choice(THINGS)}s."
        )


def questions(count: int, seed: int = 7) -> list[str]:
    """Questions about these statements, some with a name or a day."""
    rng = Random(seed)
    forms = (
        "Who {verb} a {thing} in the {place}?",
        "What did Ben do with the {thing}?",
        "Something to make music with",
        "What was {verb} on 3 January 2022?",
        "Did I ever mention the {place}, or a {thing}?",
    )
    return [
        forms[i % len(forms)].format(
            verb=rng.choice(VERBS), thing=rng.choice(THINGS), place=rng.choice(PLACES)
        )
        for i in range(count)
    ]


def history(sessions: Sequence[int], each: int = 50) -> History:
    """Return numbered sessions; the same number gives the same session."""
    made: list[Transcript] = []
    for session in sessions:
        at = START + timedelta(hours=8 * session)
        turns = [
            Utterance(text=text, speaker=WHO[i % 2], at=at + timedelta(minutes=i))
            for i, text in enumerate(islice(texts(session), each))
        ]
        made.append(Transcript(key=f"s{session}", turns=turns, at=at))
    return History(name="ana", transcripts=made)


def add(agent: theanine.Client, sessions: Sequence[int], each: int = 50) -> None:
    """Log and remember sessions of Ana."""
    agent.user("ana").log(history(sessions, each))
    agent.user("ana").remember()


def found(agent: theanine.Client, asked: Sequence[str]) -> list[list[int]]:
    """Return the memories recalled for each question."""
    return [[memory.id for memory in agent.user("ana").recall(one).memories] for one in asked]


def agreement(one: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> float:
    """Return the share of the first's memories that the second has, by question."""
    both = sum(len({*a} & {*b}) for a, b in zip(one, other, strict=True))
    return both / sum(map(len, one))
