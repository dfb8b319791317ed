"""Replace secrets and personal data in what is said, before anything of it is stored."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, TypeAlias, TypeVar, cast

from theanine.credentials import CREDENTIAL, PLACEHOLDER
from theanine.errors import MissingExtra, SettingsError
from theanine.types import Transcript, Utterance

Redact: TypeAlias = Callable[[str], str]
U = TypeVar("U", bound=Utterance)

# Bounded, as RFC 5321 has it: else a long run of such characters takes the square of its length.
_EMAIL = re.compile(r"[\w.!#$%&*+/=?^`{|}~-]{1,64}@[\w-]++(?:\.[\w-]++)+")
_DATA_URL = re.compile(r"data:[\w.+-]+/[\w.+-]+(?:;[\w.=+-]+)*;base64,[\w+/=%-]*")
_CARD = re.compile(r"(?<![\w.])\d(?:[ -]?\d){12,18}(?![\w.]\d|\w)")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z\d]{2,4}){3,8}\b")
_PASSWORD = re.compile(
    r"(?i)\b(password|passwort|passwd|passphrase|contraseña|api[ _-]?key|secret|token)"
    r"(\s*(?::|=|\bis\b|\bist\b|\bes\b)\s*[\"'“]?)([^\s\"'”,;]*[^\s\"'”,;.!?])"
)


def _emails(text: str) -> str:
    return _EMAIL.sub("[email]", text) if "@" in text else text


def _cards(text: str) -> str:
    return _CARD.sub(lambda found: "[card]" if _passes_luhn(found[0]) else found[0], text)


def _ibans(text: str) -> str:
    return _IBAN.sub(lambda found: "[iban]" if _passes_mod_97(found[0]) else found[0], text)


def _secrets(text: str) -> str:
    text = CREDENTIAL.sub(PLACEHOLDER, text)
    return _PASSWORD.sub(lambda found: f"{found[1]}{found[2]}{PLACEHOLDER}", text)


def _phones(text: str) -> str:
    from phonenumbers import Leniency, PhoneNumberMatcher

    for region in ("ZZ", "US"):  # numbers with a country's code, then those of one country
        matches = list(PhoneNumberMatcher(text, region, leniency=Leniency.VALID))
        for match in reversed(matches):
            text = f"{text[: match.start]}[phone]{text[match.end :]}"
    return text


KINDS: Mapping[str, Redact] = {
    "secrets": _secrets,
    "emails": _emails,
    "ibans": _ibans,
    "cards": _cards,
    "phones": _phones,
}
"""Kinds of data that can be redacted by name, in the order of redaction."""


def redaction(redact: Redact | str | Sequence[str] | None) -> Redact | None:
    """Return one function for the option ``redact``; None for nothing to redact.

    Raises SettingsError for an unknown kind, and MissingExtra for ``phones`` without its library.
    """
    if redact is None or callable(redact):
        return redact
    names = [name.strip() for name in redact.split(",")] if isinstance(redact, str) else redact
    if unknown := [name for name in names if name not in KINDS]:
        raise SettingsError(
            f"redact has no kind {unknown[0]!r}; there are: {', '.join(KINDS)} (and, in Python, "
            "a function of a text)"
        )
    if "phones" in names and find_spec("phonenumbers") is None:
        raise MissingExtra("redact", "redacting phone numbers")
    chosen = [apply for name, apply in KINDS.items() if name in names]

    def apply_all(text: str) -> str:
        for apply in chosen:
            text = apply(text)
        return text

    return apply_all if chosen else None


def redact_utterances(utterances: Sequence[U], redact: Redact | None) -> list[U]:
    """Return utterances with their words, attachments and content redacted."""
    if redact is None:
        return [*utterances]
    return [
        replace(
            utterance,
            text=redact(utterance.text),
            attachment=redact(utterance.attachment) if utterance.attachment else "",
            content=tuple(_redact_all(part, redact) for part in utterance.content),
        )
        for utterance in utterances
    ]


def redact_transcript(transcript: Transcript, redact: Redact | None) -> Transcript:
    """Return a transcript with its turns and imported memories redacted."""
    if redact is None:
        return transcript
    return replace(
        transcript,
        turns=redact_utterances(transcript.turns, redact),
        memories=[replace(memory, text=redact(memory.text)) for memory in transcript.memories],
    )


def redact_document(text: str, redact: Redact) -> str:
    """Return a text redacted; one that is JSON by its strings, so that it stays JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return redact(text)
    redacted = _redact_all(value, redact)
    return text if redacted == value else json.dumps(redacted, ensure_ascii=False)


def _redact_all(value: Any, redact: Redact) -> Any:
    """Redact all strings of a JSON value, but neither images nor the names of its fields."""
    if isinstance(value, str):
        return value if _DATA_URL.fullmatch(value) else redact(value)
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        data = "data" if fields.get("type") == "base64" else None  # as Anthropic has images
        return {
            name: item if name == data and _is_base64(item) else _redact_all(item, redact)
            for name, item in fields.items()
        }
    if isinstance(value, (list, tuple)):
        return [_redact_all(item, redact) for item in cast("Sequence[Any]", value)]
    return value


def _is_base64(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(b64decode(value, validate=True))
    except ValueError:
        return False


def _passes_luhn(card: str) -> bool:
    digits = [int(character) for character in card if character.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _passes_mod_97(iban: str) -> bool:
    compact = iban.replace(" ", "")
    return int("".join(str(int(c, 36)) for c in compact[4:] + compact[:4])) % 97 == 1
