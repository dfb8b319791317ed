"""What the log takes in: every store refuses the same things, in the same words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from theanine.errors import BadInput
from theanine.types import ImportedMemory, Scope, Transcript, Utterance

MAX_TEXT = 4 * 1024 * 1024
"""The longest text that is taken, in bytes of UTF-8."""

FIRST_YEAR, LAST_YEAR = 1900, 2199
"""Years outside are a mistake in the source, such as milliseconds read as seconds."""

ROLES = ("user", "assistant")


def check_scope(scope: Scope) -> None:
    """Raises BadInput for a scope with an empty or unkeepable name."""
    for name in ("user", "agent", "tenant"):
        check_name(getattr(scope, name), f"the {name}'s name", "")


def check_name(value: object, what: str, where: str) -> None:
    """Raises BadInput for a name that is empty, blank or can't be kept."""
    check_text(value, what, where)
    if not str(value).strip():
        raise BadInput(f"{what} is empty; give one", where)


def check_text(value: object, what: str, where: str = "") -> None:
    """Raises BadInput for what is no text, no store could give back unchanged, or is too long."""
    if not isinstance(value, str):
        raise BadInput(f"{what} must be a string, not {type(value).__name__}", where)
    if (position := value.find("\0")) >= 0:
        raise BadInput(
            f"{what} holds a NUL at character {position + 1}, which can't be kept; remove it",
            where,
        )
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise BadInput(
            f"{what} holds a lone surrogate (half a character) at character {error.start + 1}, "
            "which can't be kept; decode the source as UTF-8 or UTF-16 first",
            where,
        ) from None
    if size > MAX_TEXT:
        raise BadInput(
            f"{what} is {size:,} bytes long; at most {MAX_TEXT:,} are taken: split it",
            where,
        )


def check_time(value: object, what: str, where: str = "") -> None:
    """Raises BadInput for what is no datetime, a naive one, or an absurd year."""
    if not isinstance(value, datetime):
        raise BadInput(f"{what} must be an aware datetime, not {type(value).__name__}", where)
    if value.utcoffset() is None:
        raise BadInput(
            f"{what} ({value.isoformat()}) has no time zone; give an aware datetime",
            where,
        )
    offset = value.utcoffset() or timedelta()
    # A comparison in naive local time can't overflow at the ends of datetime's range.
    year = value.year if offset == timedelta() else _utc_year(value)
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise BadInput(
            f"{what} is in the year {year}; only {FIRST_YEAR} to {LAST_YEAR} is taken",
            where,
        )


def _utc_year(value: datetime) -> int:
    try:
        return value.astimezone(UTC).year
    except OverflowError:
        return value.year


def check_utterance(utterance: Utterance, where: str = "") -> None:
    """Raises BadInput for an utterance that can't be logged."""
    check_text(utterance.text, "the text", where)
    check_text(utterance.attachment, "what is shared", where)
    check_name(utterance.speaker, "the speaker's name", where)
    if utterance.key is not None:
        check_name(utterance.key, "the turn's key", where)
    if utterance.role not in ROLES:
        raise BadInput(f"the role is {utterance.role!r}; it must be user or agent", where)
    if not utterance.text.strip() and not utterance.attachment.strip():
        raise BadInput("the turn is empty: it has no words and shares nothing", where)
    check_time(utterance.at, "the turn's time", where)


def check_utterances(utterances: Sequence[Utterance], where: str = "") -> None:
    """Raises BadInput for the first utterance that can't be logged, naming its place."""
    for position, utterance in enumerate(utterances, 1):
        check_utterance(utterance, place(where, position, len(utterances)))


def place(where: str, position: int, count: int) -> str:
    """Where a turn stands, for a message; a single turn handed in from Python needs no number."""
    if not where and count == 1:
        return ""
    return f"{where}, turn {position}" if where else f"turn {position}"


def check_transcript(transcript: Transcript) -> None:
    """Raises BadInput for a transcript that can't be logged, naming the session and the turn."""
    where = f"session {transcript.key!r}"
    check_name(transcript.key, "the session's key", where)
    check_time(transcript.at, "the session's time", where)
    check_utterances(transcript.turns, where)
    seen: set[str] = set()
    for position, turn in enumerate(transcript.turns, 1):
        if turn.key is not None and turn.key in seen:
            raise BadInput(
                f"the key {turn.key!r} stands on an earlier turn too; keys must differ",
                place(where, position, len(transcript.turns)),
            )
        seen.add(turn.key or "")
    for position, memory in enumerate(transcript.memories, 1):
        _check_given(memory, f"{where}, memory {position}")
    if not transcript.turns and not transcript.memories:
        raise BadInput("it holds no turns and no memories; leave it out", where)


def _check_given(memory: ImportedMemory, where: str) -> None:
    check_name(memory.text, "the text", where)
    for name in (*memory.speakers, *memory.source_keys):
        check_text(name, "a name or key", where)
