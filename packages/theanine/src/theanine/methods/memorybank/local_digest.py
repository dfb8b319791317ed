"""The digests without a language model: lines that were said, chosen, never reworded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from theanine.methods.memorybank.digest import DayLine, Digest
from theanine.methods.memorybank.extract import telling
from theanine.retrieval.query import is_standing_instruction
from theanine.summarization import local_summarize
from theanine.text import cues
from theanine.text.attribution import without_attribution
from theanine.types import NewMemory, Turn

DAY_LINES = 6
DAY_LIMIT = 1_200
"""Characters of a day's digest."""
ALL_LINES = 8
ALL_LIMIT = 1_600
"""Characters of a digest of all days."""
_TRAIT = re.compile(
    r"(?<![\w'])i(?:'m| am|'ve| have)? (?:(?:really|always|never|often|usually|just|so|still|"
    r"don't|can't) )*(?:lov(?:e|ed)|lik(?:e|ed)|enjoy(?:ed)?|prefer|adore|collect|believe|value|"
    r"always|never|usually|often|tend to|stand|passionate|into|fond|a (?:big )?fan|allergic|"
    r"an? \w+ person|the (?:kind|type|sort) of)(?![\w'])"
)
"""Words in which people tell what they are like."""
_QUOTE = re.compile("“(.+?)”")
_SHOWN = re.compile(r" shared(?: on [^:]+)?: (.+)$", re.MULTILINE)
"""What a local line quotes of a turn's words, and of what was shown without any."""


def local_day(
    turns: Sequence[Turn],
    before: tuple[Sequence[str], Sequence[str]],
) -> tuple[Digest, Digest]:
    """The telling of what a session discloses and of what stood there before: events, traits.

    Traits are what people say of their likes, habits and feelings; agents are left out.
    """
    people = {turn.id for turn in turns if turn.role == "user"}
    found = local_summarize(turns)
    shown = [
        memory for memory in found if people.issuperset(memory.source_turns) and _shows(memory)
    ]
    return _day(found, before[0]), _day(shown, before[1])


def local_all(days: Sequence[DayLine], before: str) -> str:
    """The telling lines of the digest before them and of all days, oldest first, one a line."""
    lines = [*filter(str.strip, before.splitlines()), *(line.text for line in days)]
    return "\n".join(lines[place] for place in telling(lines, ALL_LINES, ALL_LIMIT))


def quoted(text: str, turns: Iterable[Turn]) -> tuple[int, ...]:
    """The turns that a local digest quotes, of those that its days rest on."""
    found: list[int] = []
    quotes = [*_QUOTE.findall(text), *_SHOWN.findall(text)]
    for turn in turns:
        said = " ".join(f"{turn.text} {turn.attachment}".split())
        if any(quote in said for quote in quotes):
            found.append(turn.id)
    return tuple(found)


def _day(found: Sequence[NewMemory], before: Sequence[str]) -> Digest:
    lines = [*before, *(" ".join(memory.text.split()) for memory in found)]
    places = telling(lines, DAY_LINES, DAY_LIMIT)
    chosen = [found[place - len(before)] for place in places if place >= len(before)]
    return Digest(
        tuple(lines[place] for place in places),
        tuple(sorted({source for memory in chosen for source in memory.source_turns})),
    )


def _shows(memory: NewMemory) -> bool:
    said = cues.normal(without_attribution(memory.text))
    felt = cues.FEELING.search(said) is not None and cues.FIRST_PERSON.search(said) is not None
    return felt or _TRAIT.search(said) is not None or is_standing_instruction(said)
