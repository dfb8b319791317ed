"""What is known of a person: the data, and its text for a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Any, Literal

from theanine.fences import one_line
from theanine.text.formatting import day_label
from theanine.tokenizer import count_tokens
from theanine.types import LOCAL_MODEL, Turn

AREAS = {
    "rules": "Rules for the assistant",
    "about": "About",
    "home": "Home",
    "work": "Work",
    "people": "People",
    "health": "Health",
    "likes": "Likes and habits",
    "plans": "Plans",
    "possessions": "Pets and possessions",
}
"""The areas of a profile with their titles, in order."""
BUDGET = 300
"""Tokens of the form for a prompt."""
SHOWN = 160
"""Characters of a line in the form for a prompt."""

Certainty = Literal["repeated", "said", "may be outdated", "to be verified"]
"""How sure it is that a line holds: said in several sessions, said once, probably changed since or
told long ago, or past the time by which to verify it."""
TO_VERIFY = "To be verified with the user"
"""Title of the lines of that kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Words of the user's, and where they are.

    Attributes:
        text: the words, verbatim.
        turn, session: ids of the turn and its session.
        at: when they were said; without ``dated``, it only keeps the order.
    """

    text: str
    turn: int
    session: int
    at: datetime
    dated: bool = True

    @property
    def day(self) -> str:
        """The day as ``8 May 2023``, or ``date unknown``."""
        return day_label(self.at, self.dated)


def quoted(text: str, turn: Turn) -> dict[str, Any]:
    """Return the fields of a quote of words of a turn."""
    return {
        "text": text,
        "turn": turn.id,
        "session": turn.session,
        "at": turn.at,
        "dated": turn.dated,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileLine(Quote):
    """Something that holds of the user.

    The words are the user's own, or a model's; ``turn``, ``session`` and ``at`` are then those of
    the newest turn that supports them.

    Attributes:
        area: a key of ``AREAS``.
        since: when it was first said.
        before: what it was before, the latest first.
        certainty: how sure it is that it holds.
        is_correction: whether the newest words are a correction by ``user.correct``.
        source_turns: ids of the turns that support it, the oldest first.
        made_by: the model that wrote ``text``; ``local`` for the user's own words, verbatim.
    """

    area: str
    since: datetime
    before: tuple[Quote, ...] = ()
    certainty: Certainty = "said"
    is_correction: bool = False
    source_turns: tuple[int, ...] = ()
    made_by: str = LOCAL_MODEL

    @property
    def is_verbatim(self) -> bool:
        """Whether the text is the user's own words."""
        return self.made_by == LOCAL_MODEL


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileChange(Quote):
    """A change of the user's: the words that tell it, and what held before.

    Attributes:
        area: the area of what held before.
    """

    area: str
    before: Quote


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A person, place or thing that the user speaks of.

    Attributes:
        name: the name that is used most.
        kind: ``person``, ``animal``, ``place``, ``thing`` or, where the words tell none,
            ``unknown``.
        relation: what they are to the user, such as ``sister``; empty if that was never said.
        aliases: other names.
        introduced: the words that tell who or what it is, or the first that name it.
        mentions: number of the user's turns that name it.
        turns: their ids, the newest first.
        last_at: when it was mentioned last.
    """

    name: str
    kind: Literal["person", "animal", "place", "thing", "unknown"]
    relation: str = ""
    aliases: tuple[str, ...] = ()
    introduced: Quote
    mentions: int
    turns: tuple[int, ...]
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The known facts about a user, with their sources; false if there are none.

    Attributes:
        user: the user's name.
        lines: what holds, by area, in each the surest first, then the newest.
        changes: what changed in the last three months of the log, the newest first.
        entities: who and what comes up, the most mentioned first.
    """

    user: str
    lines: tuple[ProfileLine, ...] = ()
    changes: tuple[ProfileChange, ...] = ()
    entities: tuple[Entity, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.lines or self.changes or self.entities)

    @property
    def areas(self) -> dict[str, tuple[ProfileLine, ...]]:
        """The lines of each area that has any."""
        return {
            area: lines
            for area in AREAS
            if (lines := tuple(line for line in self.lines if line.area == area))
        }

    @property
    def text(self) -> str:
        """The form for a prompt, within ``BUDGET`` tokens."""
        return self.within(BUDGET)

    def within(self, budget: int) -> str:
        """Return the form for a prompt: areas with their lines and days.

        The user's own words have quotation marks, those that a model wrote don't.
        Rules for the assistant come first; then areas take turns, and at last what is to be asked
        for again because it is to be verified. What may be outdated is left out. It has at most
        ``budget`` tokens (bundled tokenizer). Empty if nothing is known.
        """
        chosen: dict[str, list[str]] = {}
        titles = {**AREAS, TO_VERIFY: TO_VERIFY}
        left = budget
        for area, item in self._items():
            cost = count_tokens(f"\n{item}")
            if area not in chosen:
                cost += count_tokens(f"\n{titles[area]}:")
            if cost <= left:
                left -= cost
                chosen.setdefault(area, []).append(item)
        areas = [area for area in titles if area in chosen]
        return "\n".join(f"{titles[area]}:\n" + "\n".join(chosen[area]) for area in areas)

    def shown(self, text: str) -> tuple[int, ...]:
        """Return the ids of the turns of the lines that a form for a prompt has."""
        return tuple(
            dict.fromkeys(line.turn for line in self.lines if _item(line) in text.split("\n"))
        )

    def _items(self) -> Iterator[tuple[str, str]]:
        """Yield the items by area in the order of their worth."""
        sure = [line for line in self.lines if line.certainty in ("repeated", "said")]
        queues: list[Sequence[tuple[str, str]]] = [
            [(area, _item(line)) for line in sure if line.area == area] for area in AREAS
        ]
        yield from queues.pop(0)  # the rules
        named = [
            f"{one_line(entity.name, 80)} ({entity.relation})"
            for entity in self.entities
            if entity.relation
        ]
        if named:
            queues.insert(0, [("people", "; ".join(named[:12]))])
        for level in zip_longest(*queues):
            yield from (entry for entry in level if entry)
        for line in self.lines:
            if line.certainty == "to be verified":
                yield TO_VERIFY, _item(line)


def _item(line: ProfileLine) -> str:
    """Return a line's words with its day, and what it was before."""
    notes = [f"since {line.since.day} {line.since:%B %Y}"] if line.dated else []
    notes += [f"before: {one_line(state.text, SHOWN)}" for state in line.before[:1]]
    note = f" ({'; '.join(notes)})" if notes else ""
    words = one_line(line.text, SHOWN)
    return (f"“{words}”" if line.is_verbatim else words) + note
