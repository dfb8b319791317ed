"""Plant a word in each field of an export, and see whether it comes in or is named in a note."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator
from typing import Any, cast

from theanine.errors import BadInput
from theanine.importers import ImportedHistories
from theanine.importers.words import is_prose

STRUCTURE = frozenset(
    "type content_type object role sender recipient status currentlySelected currentId "
    "current_node candidate_id primary_candidate_id parent parentId parentMessageId children "
    "childrenIds parent_message_uuid messagetype command name_of_tool authorId recipientId "
    "chatId dateSent id header widget_state direction turn_id chat_id".split()
)
"""Fields whose values a program compares or follows; prose in them would be another structure."""

Step = str | int


def leaves(value: Any, path: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], Any]]:
    if isinstance(value, dict):
        for key, each in cast("dict[str, Any]", value).items():
            yield from leaves(each, (*path, key))
    elif isinstance(value, list):
        for i, each in enumerate(cast("list[Any]", value)):
            yield from leaves(each, (*path, i))
    else:
        yield path, value


def at(value: Any, path: tuple[Step, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def log_of(reading: ImportedHistories) -> str:
    parts: list[str] = []
    for history in reading.histories:
        parts.append(history.name)
        for session in history.transcripts:
            parts += [session.key, *map(str, session.metadata.values())]
            for turn in session.turns:
                parts += [turn.full_text, turn.speaker, turn.key or ""]
    return "\n".join(parts)


def lost_words(
    value: Any, read: Callable[[], ImportedHistories], skipped: Container[Any] = ()
) -> Iterator[str]:
    """Plant a word in each string of a value in turn; yield the fields whose word is lost.

    ``read`` reads the value as it is then. A field whose old words are still in the log is a copy
    of another one. Fields of ``STRUCTURE`` and those ``skipped`` are left alone.
    """
    before = Counter(read().notes)
    for number, (path, old) in enumerate(list(leaves(value))):
        name = next((step for step in reversed(path) if isinstance(step, str)), "")
        if not isinstance(old, str) or name in STRUCTURE or name in skipped:
            continue
        holder, key = at(value, path[:-1]), path[-1]
        holder[key] = f"Kestrel{number}x lands softly."
        try:
            reading = read()
        except BadInput as fault:
            yield f"{path}: {fault}"
        else:
            log, named = log_of(reading), Counter(reading.notes) - before or reading.rejected
            is_copy = is_prose(old) and old in log
            if f"Kestrel{number}x" not in log and not named and not is_copy:
                yield f"{path}: {old!r} {dict(reading.notes)}"
        holder[key] = old
