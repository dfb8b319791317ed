"""Which messages of a list are new to a thread: frameworks send the whole history again."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from theanine.store.validate import encode_content
from theanine.types import Utterance

FINGERPRINT_EDGE = 1_000
"""Characters of a long content, from its start and from its end, by which it is compared."""


def select_new(
    logged: Sequence[Mapping[Any, Any]],
    sent: Sequence[Utterance],
    known_keys: Collection[str],
    *,
    complete: bool,
) -> list[Utterance]:
    """Return the utterances that the thread doesn't have, in order.

    One with a known key is logged; those without are compared by role and content. A system turn
    is new if it differs from the last one before it.

    Args:
        logged: the thread's latest turns, in order, with ``key``, ``role``, ``text`` and
            ``fingerprint`` (:func:`fingerprint`).
        sent: the messages of the application.
        known_keys: those keys of ``sent`` that the thread has.
        complete: whether ``logged`` are all turns of the thread.
    """
    spoken = [row for row in logged if row["role"] != "system"]
    keyless = {_content_token(row) for row in spoken if row["key"] is None}
    tokens = [row["key"] if row["key"] in known_keys else _content_token(row) for row in spoken]
    sent_tokens = [
        _sent_token(utterance, known_keys, keyless)
        for utterance in sent
        if utterance.role != "system"
    ]
    held = count_held(tokens, sent_tokens, complete=complete)
    instructions = [row["text"] for row in logged if row["role"] == "system"][-1:]
    new: list[Utterance] = []
    position = 0
    for utterance in sent:
        if utterance.role == "system":
            if [utterance.text] != instructions and utterance.key not in known_keys:
                new.append(utterance)
                instructions = [utterance.text]
            continue
        if position >= held and utterance.key not in known_keys:
            new.append(utterance)
        position += 1
    return new


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
    """Return what of a content, in JSON, is compared: all of it, or its length, start and end."""
    if len(content) <= 2 * FINGERPRINT_EDGE:
        return content
    return f"{len(content)}{content[:FINGERPRINT_EDGE]}{content[-FINGERPRINT_EDGE:]}"


def logged_turn(turn: Utterance) -> Mapping[str, Any]:
    """Return a logged turn, with its content, as :func:`select_new` compares it."""
    return {
        "key": turn.key,
        "role": turn.role,
        "text": turn.text,
        "fingerprint": fingerprint(encode_content(turn.content)),
    }


def _content_token(row: Mapping[Any, Any]) -> tuple[str, str, str]:
    return (row["role"], row["text"], row["fingerprint"])


def _sent_token(
    utterance: Utterance, known_keys: Collection[str], keyless: Collection[tuple[str, str, str]]
) -> Hashable:
    if utterance.key in known_keys:
        return utterance.key
    token = (utterance.role, utterance.text, fingerprint(encode_content(utterance.content)))
    # A key that is not logged makes a new message, unless it was logged before it had a key.
    return token if utterance.key is None or token in keyless else ("new", utterance.key)
