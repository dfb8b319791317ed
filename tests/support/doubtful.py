"""Statements among which the local linker finds changes that it is not sure of."""

from __future__ import annotations

import theanine

THINGS = {
    "red car": (
        "on the very day on which my aunt in Graz wrote that the roof of her mill leaks, that the "
        "tax office wants its papers and that nobody can find the key of the chapel"
    ),
    "blue house": (
        "while the children learnt to skate on the frozen pond, the baker ran out of poppy seed "
        "rolls and our choir rehearsed the same four bars for an hour"
    ),
    "old piano": (
        "since the neighbors' parrot keeps whistling a waltz, my dentist moved to Oslo and the "
        "trams are on strike until the snow is gone from the bridges, while my cousin bakes for "
        "the fire brigade and the museum shows stuffed owls until Easter"
    ),
}


def log_doubtful(user: theanine.UserMemory) -> None:
    """Log such statements of a user, and remember them."""
    for thing in THINGS:
        user.add(f"I have a {thing}.")
    for thing, meanwhile in THINGS.items():
        user.add(f"I sold the {thing} {meanwhile}.")
    user.remember()
