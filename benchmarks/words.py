"""Endless plausible statements: seeded, varied, and about as long as real memories."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

NAMES = "Ana Bruno Clara Dario Elena Filip Greta Hugo Iva Jakov Klara Luka".split()
VERBS = [
    "moved to", "wants to visit", "stopped going to", "found a job in", "got lost in",
    "met an old friend in", "is afraid of", "bought a house near", "took a photo of",
    "remembers the summer in", "dreams of", "complained about", "was invited to", "left",
]  # fmt: skip
PLACES = [
    "the old harbour", "Split", "the mountain hut", "Lisbon", "a bakery by the station",
    "the music school", "the island of Vis", "a village in Istria", "the climbing hall",
    "the university library", "a farm with forty goats", "the night market", "Kyoto",
    "the swimming pool", "a theatre in Graz", "the hospital", "her grandmother's garden",
]  # fmt: skip
WHY = [
    "because the rent went up", "after the divorce", "to learn pottery", "with two cousins",
    "since the storm", "although the doctor advised against it", "for the third time",
    "when the orchestra was on tour", "to sell honey and candles", "without telling anybody",
    "to be closer to the sea", "because of a broken ankle", "as a birthday present",
]  # fmt: skip
THINGS = (
    "violin bicycle sourdough telescope kayak marathon novel exam visa allergy dog parrot loan "
    "guitar ferry wedding vineyard chess rowing tattoo engine scholarship lighthouse tomatoes"
).split()


def statements(seed: int = 0) -> Iterator[str]:
    """Generate statements."""
    rng = Random(seed)
    while True:
        yield (
            f"{rng.choice(NAMES)} {rng.choice(VERBS)} {rng.choice(PLACES)} {rng.choice(WHY)}, and "
            f"thinks about the {rng.choice(THINGS)} and the {rng.choice(THINGS)} "
            f"from {rng.randrange(1970, 2024)}."
        )


def questions(seed: int = 0) -> Iterator[str]:
    """Generate questions about the statements."""
    rng = Random(seed + 1)
    while True:
        yield (
            f"Why does {rng.choice(NAMES)} think about the {rng.choice(THINGS)} in "
            f"{rng.choice(PLACES)}, and what happened {rng.choice(WHY)}?"
        )
