"""A dialogue that an application writes into one text, a line a turn: "Ana: Where is it?"."""

from __future__ import annotations

import re
from collections.abc import Collection

_TURN = re.compile(r"\s*(?P<speaker>[^\W\d_][\w’'-]*(?: [\w’'-]+){0,2}): +(?P<text>\S.*)")
_USER = frozenset({"user", "human", "me"})


def split_transcript(text: str, user_names: Collection[str]) -> list[tuple[str, str]]:
    """Return the speaker and the words of each turn; empty for a text that is no transcript.

    Each turn begins on a line of its own, and the last one is the user's, under one of their names,
    or as "User", "Human" or "Me": a transcript that somebody pasted ends otherwise.
    """
    turns: list[tuple[str, str]] = []
    for line in text.splitlines():
        if match := _TURN.fullmatch(line):
            turns.append((match["speaker"], match["text"].rstrip()))
        elif turns:
            speaker, words = turns[-1]
            turns[-1] = speaker, f"{words}\n{line}".rstrip()
        elif line.strip():
            return []
    known = _USER | {name.casefold() for name in user_names}
    return turns if len(turns) > 1 and turns[-1][0].casefold() in known else []
