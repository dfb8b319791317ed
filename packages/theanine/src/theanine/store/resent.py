"""Which messages of a list are new to a thread: frameworks send the whole history again."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from hashlib import sha256
from itertools import chain

from theanine.clock import micros
from theanine.messages.comparing import WordedPart, comparable_parts, text_part
from theanine.messages.parts import TEXTS, part_words
from theanine.types import Role, Utterance

FINGERPRINT_EDGE = 1_000
"""Characters of a long content, from its start and from its end, by which it is compared."""


@dataclass(frozen=True, slots=True)
class LoggedTurn:
    """A turn of the thread as it is compared: its ``parts`` by :func:`comparable_parts`.

    ``at`` is its time in microseconds.
    """

    key: str | None
    at: int
    role: Role
    text: str
    parts: tuple[Hashable, ...]

    @classmethod
    def of(cls, turn: Utterance) -> LoggedTurn:
        """Return a turn, which has its content."""
        parts = comparable_parts(turn.role, turn.text, turn.content)
        return cls(turn.key, micros(turn.at), turn.role, turn.text, parts)

    def says(self, utterance: Utterance) -> bool:
        """Whether an utterance has the same words, in whatever format it came."""
        return utterance.role == self.role and (
            utterance.text == self.text
            or comparable_parts(utterance.role, utterance.text, utterance.content) == self.parts
        )


def possible_keys(sent: Iterable[Utterance]) -> list[str]:
    """Return the keys under which the utterances may be logged: their own and that of an edit."""
    keyed = [utterance for utterance in sent if utterance.key is not None]
    return [key for each in keyed for key in (str(each.key), _edit_key(each))]


def separate_edits(sent: Sequence[Utterance], logged: Mapping[str, LoggedTurn]) -> list[Utterance]:
    """Give an utterance a key of its own if other words were logged under its key: it was edited.

    The identity of a turn is its key with its words. The same edit has the same key again.

    Args:
        sent: the messages of the application.
        logged: the turns with their keys, by key.
    """
    turns, separated = dict(logged), list[Utterance]()
    for utterance in sent:
        first = LoggedTurn.of(utterance)
        edited = utterance.key is not None and not turns.setdefault(utterance.key, first).says(
            utterance
        )
        separated.append(replace(utterance, key=_edit_key(utterance)) if edited else utterance)
    return separated


def _edit_key(utterance: Utterance) -> str:
    digest = sha256(f"{utterance.role} {utterance.text}".encode()).hexdigest()
    return f"{utterance.key}~{digest[:12]}"


def select_new(
    logged: Sequence[LoggedTurn],
    sent: Sequence[Utterance],
    known_keys: Collection[str],
    *,
    complete: bool,
    dated: bool = False,
) -> list[Utterance | None]:
    """Return each utterance if the thread doesn't have it, else None.

    One with a known key is logged; those without are compared by what their parts say, in whatever
    format they came. Of one that begins with logged turns, as where a format joins turns, the rest
    is new. A system turn is new if it differs from the last one before it.

    Args:
        logged: the thread's latest turns, in order.
        sent: the messages of the application.
        known_keys: those keys of ``sent`` that the thread has.
        complete: whether ``logged`` are all turns of the thread.
        dated: whether the application says when ``sent`` was said. Words that were said at another
            time were said again.
    """
    instructions = [turn.text for turn in logged if turn.role == "system"][-1:]
    if dated:
        times = {micros(utterance.at) for utterance in sent}
        logged = [turn for turn in logged if turn.at in times]
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
    new: list[Utterance | None] = []
    following = iter(parts)
    for utterance in sent:
        if utterance.role == "system":
            is_new = [utterance.text] != instructions and utterance.key not in known_keys
            instructions = [utterance.text] if is_new else instructions
            new.append(utterance if is_new else None)
            continue
        own = next(following)
        if own == _new_parts(utterance):
            new.append(utterance)
        elif held >= len(own) or utterance.key in known_keys:
            new.append(None)
        else:
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
    return _new_parts(utterance) if is_new else parts


def _new_parts(utterance: Utterance) -> tuple[Hashable, ...]:
    """Return what stands for a message that is new by its key."""
    return (("new", utterance.key),)


def _without_parts(utterance: Utterance, count: int) -> Utterance:
    """Return an utterance without its first parts."""
    rest = utterance.content[count:]
    is_text = len(rest) == 1 and rest[0].get("type") in TEXTS
    text = "\n".join(map(part_words, rest))
    return replace(utterance, text=text, content=() if is_text else rest)


def count_held(logged: Sequence[Hashable], sent: Sequence[Hashable], *, complete: bool) -> int:
    """Return how many messages from the start of ``sent`` need not be logged again.

    ``sent`` is a history if two or more of its messages are found in ``logged``, in order: up to
    the last one logged or, where ``logged`` is all of the thread, from the first one on; or if it
    goes on from the only one. A single message may have been said again. Either side may lack some:
    a history can be cut at its front or have a summary there, what was forgotten is still in it,
    and what was edited or generated again is only in the log. The history ends before the first
    message that replaces a logged one. All other lists are new from their start.
    """
    matched = skipped = pending = held = 0
    reaches_end = False
    operations = SequenceMatcher(None, logged, sent, autojunk=False).get_opcodes()
    for operation, _, last_logged, first, last in operations:
        if operation == "equal":
            matched += last - first
            skipped += pending
            pending, held, reaches_end = 0, last, last_logged == len(logged)
        elif operation == "insert" or (operation == "replace" and not matched):
            pending += last - first
        elif operation == "replace":
            break
    goes_on_from_the_only_one = complete and len(logged) == 1 and len(sent) > 1
    fewest = 1 if goes_on_from_the_only_one else 2
    begins = complete and operations[:1] and operations[0][0] == "equal"
    if matched < fewest or matched <= skipped or not (reaches_end or begins):
        held = 0
    # Where words are said again, more than one reading is possible. The matcher takes the first of
    # equal messages; the reading by which none is lost takes those at the end.
    longest = min(len(logged), len(sent))
    overlaps = (n for n in range(longest, fewest - 1, -1) if logged[-n:] == sent[:n])
    return next(overlaps, held)


def fingerprint(content: str) -> str:
    """Return what of a content, in JSON, is compared first: all, or its length, start and end."""
    if len(content) <= 2 * FINGERPRINT_EDGE:
        return content
    return f"{len(content)}{content[:FINGERPRINT_EDGE]}{content[-FINGERPRINT_EDGE:]}"
