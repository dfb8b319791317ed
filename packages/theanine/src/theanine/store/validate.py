"""Validation of logged data, shared by all stores. Functions raise BadInput."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from math import isfinite
from typing import Any, cast, get_args

from theanine.clock import fault_of_time
from theanine.errors import BadInput
from theanine.tokenizer import sanitize, sanitize_json
from theanine.types import Message, Metadata, Role, Scope, Transcript, Utterance

MAX_TEXT = 4 * 1024 * 1024
"""Longest text in bytes of UTF-8."""

MAX_METADATA = 16 * 1024
"""Longest metadata of a turn or a session, in characters of JSON."""

MAX_CONTENT = 64 * 1024 * 1024
"""Longest content of a message in characters of JSON: enough for its images."""

ROLES = get_args(Role)


def check_scope(scope: Scope) -> None:
    """Check the three names of a scope."""
    for name in ("user", "agent", "tenant"):
        check_name(getattr(scope, name), f"the {name}'s name", "")


def check_name(value: object, what: str, where: str) -> None:
    """Check a name, which must not be blank; ``what`` and ``where`` are for the message."""
    check_text(value, what, where)
    if not str(value).strip():
        raise BadInput(f"{what} is empty; give one", where)


def check_text(value: object, what: str, where: str = "") -> None:
    """Check that a value is a string that can be stored unchanged and is not too long."""
    if not isinstance(value, str):
        raise BadInput(f"{what} must be a string, not {type(value).__name__}", where)
    if (position := value.find("\0")) >= 0:
        raise BadInput(
            f"{what} has a NUL or half of a character, at character {position + 1}, which no "
            "store holds; remove it",
            where,
        )
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise BadInput(
            f"{what} has a lone surrogate (half a character) at character {error.start + 1}, "
            "which can't be stored; decode the source as UTF-8 or UTF-16 first",
            where,
        ) from None
    if size > MAX_TEXT:
        raise BadInput(f"{what} has {size:,} bytes; the maximum is {MAX_TEXT:,}: split it", where)


def check_time(value: object, what: str, where: str = "") -> None:
    """Check that a value is an aware datetime of a plausible year and UTC offset."""
    if not isinstance(value, datetime):
        raise BadInput(f"{what} must be an aware datetime, not {type(value).__name__}", where)
    if value.utcoffset() is None:
        raise BadInput(
            f"{what} ({value.isoformat()}) has no time zone; use an aware datetime", where
        )
    if fault := fault_of_time(value):
        raise BadInput(f"{what} {fault}", where)


def check_utterance(utterance: Utterance, where: str = "") -> None:
    """Check all fields of an utterance."""
    check_text(utterance.text, "the text", where)
    check_text(utterance.attachment, "the attachment", where)
    check_name(utterance.speaker, "the speaker's name", where)
    if utterance.key is not None:
        check_name(utterance.key, "the turn's key", where)
    if utterance.role not in ROLES:
        raise BadInput(f"unknown role {utterance.role!r}; must be one of {', '.join(ROLES)}", where)
    encode_content(utterance.content, where)
    if not utterance.text.strip() and not utterance.attachment.strip():
        raise BadInput("the turn is empty: it has neither text nor attachment", where)
    check_time(utterance.at, "the turn's time", where)
    check_metadata(utterance.metadata, where)


def check_metadata(metadata: object, where: str = "") -> None:
    """Check that metadata is an object of named JSON scalars, and is not too long."""
    if not isinstance(metadata, Mapping):
        raise BadInput(
            'the metadata must be a mapping such as {"channel": "web"}, not '
            f"{type(metadata).__name__}",
            where,
        )
    for key, value in cast("Mapping[Any, Any]", metadata).items():
        check_name(key, "a key of the metadata", where)
        if isinstance(value, str):
            check_text(value, f"the metadata {key!r}", where)
        elif isinstance(value, float) and not isfinite(value):
            raise BadInput(f"the metadata {key!r} is {value}, which JSON can't hold", where)
        elif value is not None and not isinstance(value, (bool, int, float)):
            raise BadInput(
                f"the metadata {key!r} must be a string, a number, true, false or null, not "
                f"{type(value).__name__}; write times with isoformat()",
                where,
            )
    if metadata and len(json.dumps(dict(cast("Mapping[str, Any]", metadata)))) > MAX_METADATA:
        raise BadInput(
            f"the metadata is longer than {MAX_METADATA:,} characters; keep long data elsewhere",
            where,
        )


def encode_content(content: Sequence[Message], where: str = "") -> str:
    """Return a turn's content as JSON; empty if there is none. Raises BadInput if it can't be."""
    if not content:
        return ""
    try:
        text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BadInput(f"the message's content can't be stored as JSON: {error}", where) from None
    if len(text) > MAX_CONTENT:
        raise BadInput(
            f"the message's content has {len(text):,} characters; the maximum is "
            f"{MAX_CONTENT:,}: pass large images by their URL",
            where,
        )
    return text


def repair_metadata(metadata: Metadata) -> Metadata:
    """Return metadata with its texts repaired; see :func:`repair_utterance`."""
    if not isinstance(cast("object", metadata), Mapping):
        return metadata
    texts = {name: value for name, value in metadata.items() if isinstance(value, str)}
    repaired = {name: sanitize(value) for name, value in texts.items()}
    return metadata if repaired == texts else {**metadata, **repaired}


def repair_utterance(utterance: Utterance) -> Utterance:
    """Replace NUL and lone surrogates in what an utterance says by U+FFFD.

    Half of an emoji, where a stream was cut, or a NUL in a tool's result must not cost the words.
    Names by which something is found again stay as they are. An utterance without such characters
    is returned itself.
    """
    repaired: dict[str, Any] = {
        name: sanitize(value)
        for name in ("text", "speaker", "attachment")
        if isinstance(value := getattr(utterance, name), str) and sanitize(value) != value
    }
    content = [sanitize_json(dict(part)) for part in utterance.content]
    if content != [*utterance.content]:
        repaired["content"] = tuple(content)
    metadata = repair_metadata(utterance.metadata)
    if metadata is not utterance.metadata:
        repaired["metadata"] = metadata
    return replace(utterance, **repaired) if repaired else utterance


def storable_utterances(utterances: Sequence[Utterance], where: str = "") -> list[Utterance]:
    """Return repaired utterances; an error gives the position of the first that can't be stored."""
    storable = [*map(repair_utterance, utterances)]
    for position, utterance in enumerate(storable, 1):
        check_utterance(utterance, turn_position(where, position, len(storable)))
    return storable


def turn_position(where: str, position: int, count: int) -> str:
    """Describe a turn's position for a message; empty for a single turn outside a session."""
    if not where and count == 1:
        return ""
    return f"{where}, turn {position}" if where else f"turn {position}"


def storable_transcript(transcript: Transcript) -> Transcript:
    """Return a transcript as it can be stored; an error names the session and the turn."""
    where = f"session {transcript.key!r}"
    check_name(transcript.key, "the session's key", where)
    check_time(transcript.at, "the session's time", where)
    transcript = replace(
        transcript,
        turns=tuple(storable_utterances(transcript.turns, where)),
        metadata=repair_metadata(transcript.metadata),
    )
    check_metadata(transcript.metadata, where)
    seen: set[str] = set()
    for position, turn in enumerate(transcript.turns, 1):
        if turn.key is not None and turn.key in seen:
            raise BadInput(
                f"an earlier turn has the key {turn.key!r} too; keys must differ",
                turn_position(where, position, len(transcript.turns)),
            )
        seen.add(turn.key or "")
    for position, memory in enumerate(transcript.memories, 1):
        memory_where = f"{where}, memory {position}"
        check_name(memory.text, "the text", memory_where)
        for name in (*memory.speakers, *memory.source_keys):
            check_text(name, "a name or key", memory_where)
    if not transcript.turns and not transcript.memories:
        raise BadInput("the session has no turns and no memories; leave it out", where)
    return transcript
