"""Which messages of a list are new to a thread: frameworks send the whole history again."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import chain

from theanine.messages.comparing import WordedPart, comparable_parts, text_part
from theanine.messages.parts import TEXTS, part_words
from theanine.types import Role, Utterance

FINGERPRINT_EDGE = 1_000
"""Characters of a long content, from its start and from its end, by which it is compared."""


@dataclass(frozen=True, slots=True)
class LoggedTurn:
    """A turn of the thread as it is compared: its ``parts`` by :func:`comparable_parts`."""

    key: str | None
    role: Role
    text: str
    parts: tuple[Hashable, ...]

    @classmethod
    def of(cls, turn: Utterance) -> LoggedTurn:
        """Return a turn, which has its content."""
        parts = comparable_parts(turn.role, turn.text, turn.content)
        return cls(turn.key, turn.role, turn.text, parts)


def select_new(
    logged: Sequence[LoggedTurn],
    sent: Sequence[Utterance],
    known_keys: Collection[str],
    *,
    complete: bool,
) -> list[Utterance]:
    """Return the utterances that the thread doesn't have, in order.

    One with a known key is logged; those without are compared by what their parts say, in whatever
    format they came. Of one that begins with logged turns, as where a format joins turns, the rest
    is new. A system turn is new if it differs from the last one before it.

    Args:
        logged: the thread's latest turns, in order.
        sent: the messages of the application.
        known_keys: those keys of ``sent`` that the thread has.
        complete: whether ``logged`` are all turns of the thread.
    """
    spoken = [turn for turn in logged if turn.role != "system"]
    keyless = {part for turn in spoken if turn.key is None for part in turn.parts}
    parts = [
        _sent_parts(utterance, known_keys, keyless)
        for utterance in sent
        if utterance.role != "system"
    ]
    sent_parts = [*chain.from_iterable(parts)]
    present = set(sent_parts)
    logged_parts = [_logged_parts(turn, known_keys, present) for turn in spoken]
    held = count_held([*chain.from_iterable(logged_parts)], sent_parts, complete=complete)
    ends = {of_one[-1] for of_one in logged_parts}
    instructions = [turn.text for turn in logged if turn.role == "system"][-1:]
    new: list[Utterance] = []
    following = iter(parts)
    for utterance in sent:
        if utterance.role == "system":
            if [utterance.text] != instructions and utterance.key not in known_keys:
                new.append(utterance)
                instructions = [utterance.text]
            continue
        own = next(following)
        if held < len(own) and utterance.key not in known_keys:
            is_joined = held > 0 and own[held - 1] in ends
            new.append(_without_parts(utterance, held) if is_joined else utterance)
        held = max(0, held - len(own))
    return new


def _logged_parts(
    turn: LoggedTurn, known_keys: Collection[str], sent: Collection[Hashable]
) -> list[Hashable]:
    if turn.key in known_keys:
        return [turn.key]
    parts: list[Hashable] = []
    for part in turn.parts:
        words = text_part(part.role, part.words) if isinstance(part, WordedPart) else part
        parts.append(words if part not in sent and words in sent else part)
    return parts


def _sent_parts(
    utterance: Utterance, known_keys: Collection[str], keyless: Collection[Hashable]
) -> tuple[Hashable, ...]:
    if utterance.key in known_keys:
        return (utterance.key,)
    parts = comparable_parts(utterance.role, utterance.text, utterance.content)
    # A key that is not logged makes a new message, unless it was logged before it had a key.
    is_new = utterance.key is not None and not all(part in keyless for part in parts)
    return (("new", utterance.key),) if is_new else parts


def _without_parts(utterance: Utterance, count: int) -> Utterance:
    """Return an utterance without its first parts."""
    rest = utterance.content[count:]
    is_text = len(rest) == 1 and rest[0].get("type") in TEXTS
    text = "\n".join(map(part_words, rest))
    return replace(utterance, text=text, content=() if is_text else rest)


def count_held(logged: Sequence[Hashable], sent: Sequence[Hashable], *, complete: bool) -> int:
    """Return how many messages from the start of ``sent`` need not be logged again.

    ``sent`` is a history if its messages are found in ``logged``, in order: up to the last one
    logged or, where ``logged`` is all of the thread, from the first one on. Either side may lack
    some: a history can be cut at its front or have a summary there, what was forgotten is still in
    it, and what was edited or generated again is only in the log. The history ends before the first
    message that replaces a logged one. All other lists are new from their start.
    """
    matched = skipped = pending = held = 0
    reaches_end = False
    matcher = SequenceMatcher(None, logged, sent, autojunk=False)
    for operation, _, last_logged, first, last in matcher.get_opcodes():
        if operation == "equal":
            matched += last - first
            skipped += pending
            pending, held, reaches_end = 0, last, last_logged == len(logged)
        elif operation == "insert" or (operation == "replace" and not matched):
            pending += last - first
        elif operation == "replace":
            break
    begins = complete and matched > 1 and logged[0] == sent[0]
    if matched <= skipped or not (reaches_end or begins):
        held = 0
    # Among equal messages, the matcher takes the first ones, not those at the end.
    overlaps = (n for n in range(min(len(logged), len(sent)), held, -1) if logged[-n:] == sent[:n])
    return next(overlaps, held)


def fingerprint(content: str) -> str:
    """Return what of a content, in JSON, is compared first: all, or its length, start and end."""
    if len(content) <= 2 * FINGERPRINT_EDGE:
        return content
    return f"{len(content)}{content[:FINGERPRINT_EDGE]}{content[-FINGERPRINT_EDGE:]}"
