"""Names, addresses, keys and errors of model providers, for the pydantic-ai adapters."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar, cast
from urllib.parse import urlsplit, urlunsplit

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.providers.openai import OpenAIProvider

from theanine.errors import ModelError, ModelRejected, ModelUnavailable, SettingsError

T = TypeVar("T")
_OPENAI = ("openai", "openai-chat")
_PASSING = (408, 409, 425, 429)
_SAID = 300


def openai_name(name: str, base_url: str | None) -> str | None:
    """The bare model name if ``name`` goes to an OpenAI-compatible endpoint, else None.

    With a base URL every name does; a colon in it, as Ollama's tags have, is then part of it.
    """
    provider, colon, rest = name.partition(":")
    if colon and provider in _OPENAI:
        return rest
    return name if base_url else None


def openai_provider(base_url: str | None) -> OpenAIProvider:
    """A provider for OpenAI, or for whatever answers at ``base_url``, without its own retries.

    Raises SettingsError when OpenAI itself is meant and no key is set.
    """
    address = base_url or os.environ.get("OPENAI_BASE_URL")
    key = os.environ.get("OPENAI_API_KEY")
    if not key and not address:
        raise SettingsError(
            "OpenAI needs a key: set the environment variable OPENAI_API_KEY, "
            "or give a base URL of a server that needs none"
        )
    provider = OpenAIProvider(base_url=address, api_key=key or "none-is-set")
    provider.client.max_retries = 0
    return provider


def call_provider_factory(build: Callable[[], T], name: str) -> T:
    """What ``build`` makes of a name, its errors turned into SettingsError."""
    try:
        return build()
    except ImportError as error:
        package = re.search(r"pip install \"?([\w\-\[\],]+)", str(error))
        wanted = package[1] if package else "the provider's own package"
        raise SettingsError(f"{name} needs another package: pip install '{wanted}'") from error
    except (UserError, ValueError) as error:
        key = re.search(r"[A-Z][A-Z0-9_]*_(?:API_)?KEY\b|[A-Z][A-Z0-9_]*_TOKEN\b", str(error))
        hint = f": set the environment variable {key[0]}" if key else f": {error}"
        raise SettingsError(f"the model {name} can't be set up{hint}") from error


def redact_secrets(url: str) -> str:
    """A URL without user name, password and query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


@contextmanager
def translate_errors(name: str, address: str) -> Generator[None]:
    """Turn the provider's errors into ModelUnavailable and ModelRejected, with what to do."""
    try:
        yield
    except ModelAPIError as error:
        raise _translation(error, name, address) from error
    except UnexpectedModelBehavior as error:
        said = error.message[:_SAID]
        raise ModelUnavailable(f"{name} at {address} answered in no known form: {said}") from error
    except UserError as error:
        raise ModelRejected(f"{name} can't take this request: {error.message[:_SAID]}") from error


def _translation(error: ModelAPIError, name: str, address: str) -> ModelError:
    status = error.status_code if isinstance(error, ModelHTTPError) else None
    said = f"{name} at {address}: {_said(error)}"
    if isinstance(error, ModelQuotaExceededError):
        return ModelRejected(f"{said}. The account's quota or credit is used up")
    if isinstance(error, ModelAuthenticationError):
        return ModelRejected(f"{said}. Check the key in the environment (such as OPENAI_API_KEY)")
    if isinstance(error, ModelNotFoundError):
        return ModelRejected(f"{said}. Check the model's name and the base URL")
    if isinstance(error, ModelContextWindowExceededError):
        return ModelRejected(f"{said}. The prompt is too long for this model: choose a larger one")
    if status is not None and status < 500 and status not in _PASSING:
        return ModelRejected(f"{said}. The provider refuses this request as it stands")
    return ModelUnavailable(said, retry_after=error.retry_after)


def _said(error: ModelAPIError) -> str:
    words = error.message
    if isinstance(error, ModelHTTPError):
        words = f"status {error.status_code}, {_reason(error.body)}"
    return " ".join(words.split())[:_SAID]


def _reason(body: object) -> str:
    if isinstance(body, dict):
        fields = cast(dict[str, object], body)
        return str(fields.get("message") or fields)
    return str(body or "no reason given")
