"""Statements among which the local linker finds changes that it is not sure of."""

from __future__ import annotations

import theanine

THINGS = ("red car", "blue house", "old piano", "new bike")


def log_doubtful(user: theanine.UserMemory) -> None:
    """Log such statements of a user, and remember them."""
    for thing in THINGS:
        user.add(f"I have a {thing}.")
    for thing in THINGS:
        user.add(f"I sold the {thing}.")
    user.remember()
