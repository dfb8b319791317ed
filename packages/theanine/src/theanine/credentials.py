"""API keys and other credentials in texts: those in the environment, and what has their form."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

T = TypeVar("T")

PLACEHOLDER = "[secret]"

CREDENTIAL = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:sk|pk|rk)[-_](?:[a-z]+[-_])*[A-Za-z\d_-]{16,}"  # OpenAI, Anthropic, Stripe
    r"|\bgh[opusr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{20,}"  # GitHub, GitLab
    r"|\b(?:AKIA|ASIA)[A-Z\d]{16}\b|\bAIza[\w-]{30,}|\bhf_\w{20,}"  # AWS, Google, Hugging Face
    r"|\btheanine_[\da-f]{16}_[\w-]{30,}"  # our own
    r"|\bxox[abeoprs]-[\w-]{10,}|\bya29\.[\w-]{20,}"  # Slack, Google OAuth
    r"|\beyJ[\w-]{8,1000}+\.[\w-]{8,}+\.[\w-]{8,}",  # JSON web tokens
    re.DOTALL,
)
"""Matches private keys, and API keys and tokens in the forms of well-known services."""

_BEARER = re.compile(r"(?i)\b(bearer\s+)[\w.~+/=-]{8,}")
_NAME = re.compile(r"(?i)(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD)(?:_|$)")
_MIN_LENGTH = 8
"""A shorter value of such a variable is more likely a setting or a placeholder than a secret."""


def environment_credentials() -> list[str]:
    """Return the values of variables such as OPENAI_API_KEY or HF_TOKEN, the longest first."""
    values = {value.strip() for name, value in os.environ.items() if _NAME.search(name)}
    return sorted((v for v in values if len(v) >= _MIN_LENGTH), key=len, reverse=True)


def redact_environment(text: str) -> str:
    """Replace the credentials of the environment in a text."""
    for credential in environment_credentials():
        text = text.replace(credential, PLACEHOLDER)
    return text


def redact_credentials(text: str) -> str:
    """Replace all that is, or looks like, a credential: for texts that nobody wrote to be kept."""
    text = CREDENTIAL.sub(PLACEHOLDER, redact_environment(text))
    return _BEARER.sub(lambda match: match[1] + PLACEHOLDER, text)


async def redact_stream(pieces: AsyncGenerator[str | T]) -> AsyncGenerator[str | T]:
    """Yield the pieces of a text without the credentials of the environment.

    The beginning of a credential is held back until the next pieces show whether it is one. Items
    of another type end the text before them.
    """
    held = ""
    async with aclosing(pieces):
        async for piece in pieces:
            if isinstance(piece, str):
                held = redact_environment(held + piece)
                end = len(held) - _unfinished(held)
                ready, held = held[:end], held[end:]
            else:
                ready, held = held, ""
            if ready:
                yield ready
            if not isinstance(piece, str):
                yield piece


def _unfinished(text: str) -> int:
    """Return how many characters at a text's end begin a credential."""
    return max(
        (
            length
            for credential in environment_credentials()
            for length in range(1, min(len(credential), len(text) + 1))
            if text.endswith(credential[:length])
        ),
        default=0,
    )
