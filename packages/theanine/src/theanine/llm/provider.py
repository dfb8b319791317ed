"""Names, addresses, keys and errors of providers, shared by the pydantic-ai adapters."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, contextmanager
from traceback import format_exception
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit, urlunsplit

import httpx2
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
from pydantic_ai.providers import Provider
from pydantic_ai.providers.openai import OpenAIProvider

from theanine.credentials import redact_credentials
from theanine.errors import ModelError, ModelRejected, ModelUnavailable, SettingsError

T = TypeVar("T")
_OPENAI = ("openai", "openai-chat")
_TRANSIENT = (408, 409, 425, 429)
_MAX_MESSAGE = 300
MAX_REPLY_BYTES = 16_000_000
"""Maximum bytes of a chat model's reply, decompressed; about 50,000 tokens of a stream."""


def openai_name(name: str, base_url: str | None) -> str | None:
    """Return the model's name without provider if its endpoint is OpenAI-compatible, else None.

    With a base URL every endpoint is; other colons, as in Ollama's tags, are part of the name.
    """
    provider, colon, rest = name.partition(":")
    if colon and provider in _OPENAI:
        return rest
    return name if base_url else None


def openai_provider(base_url: str | None) -> OpenAIProvider:
    """Return a provider for OpenAI or the server at ``base_url``, without its own retries.

    Raises SettingsError if no URL and no key is set.
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
    """Call ``build``, which opens the model ``name``; turn its errors into SettingsError."""
    try:
        return build()
    except ImportError as error:
        package = re.search(r"pip install \"?([\w\-\[\],]+)", str(error))
        required = package[1] if package else "the provider's own package"
        raise SettingsError(f"{name} needs another package: pip install '{required}'") from error
    except (UserError, ValueError) as error:
        key = re.search(r"[A-Z][A-Z0-9_]*_(?:API_)?KEY\b|[A-Z][A-Z0-9_]*_TOKEN\b", str(error))
        hint = f": set the environment variable {key[0]}" if key else f": {error}"
        raise SettingsError(f"the model {name} can't be set up{hint}") from error


def redact_secrets(url: str) -> str:
    """Remove user name, password and query from a URL."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def bound_bytes(provider: Provider[Any] | None, most: int = MAX_REPLY_BYTES) -> None:
    """Let the provider's HTTP client read at most so many bytes of a reply, also of an error.

    More raises ModelRejected while it is read. Does nothing for the few providers that have no
    client of httpx2.
    """
    client: object = getattr(provider, "_own_http_client", None)  # there is no public way

    async def bound(response: httpx2.Response) -> None:
        # A response of its own decompresses the bytes piece by piece, so that they can be counted.
        inner = httpx2.Response(200, headers=response.headers, stream=response.stream)
        response.headers.pop("Content-Encoding", None)
        response.stream = _BoundedStream(inner, most)

    if isinstance(client, httpx2.AsyncClient):
        client.event_hooks = {
            **client.event_hooks,
            "response": [*client.event_hooks["response"], bound],
        }


class _BoundedStream(httpx2.AsyncByteStream):
    """The decompressed body of a response, up to ``most`` bytes."""

    def __init__(self, response: httpx2.Response, most: int) -> None:
        self._response = response
        self._most = most

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        size = 0
        async with aclosing(self._response.aiter_bytes()) as pieces:
            async for piece in pieces:
                size += len(piece)
                if size > self._most:
                    raise ModelRejected(
                        f"the reply is larger than {self._most:,} bytes and was not read to its "
                        "end. Check the server at the base URL"
                    )
                yield piece

    async def aclose(self) -> None:
        await self._response.aclose()


@contextmanager
def translate_errors(name: str, address: str) -> Generator[None]:
    """Turn the provider's errors into ModelUnavailable and ModelRejected, with advice.

    So is every other exception: of a reply in no known form, libraries raise whatever they stumble
    over, such as IndexError for an empty list of choices. Credentials that a server echoes are left
    out, with the cause that quotes them.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001 (raised again as one of ours)
        trace = "".join(format_exception(error))
        cause = error if redact_credentials(trace) == trace else None
        raise _translate(error, name, address) from cause


def _translate(error: Exception, name: str, address: str) -> ModelError:
    match error:
        case ModelError():
            return type(error)(f"{name} at {address}: {error}")
        case ModelAPIError():
            if isinstance(own := _root_cause(error), ModelRejected):
                return ModelRejected(f"{name} at {address}: {own}")
            return _translate_api_error(error, name, address)
        case UnexpectedModelBehavior():
            return _unknown_reply(name, address, error.message)
        case UserError():
            return ModelRejected(f"{name} can't take this request: {_one_line(error.message)}")
        case _:
            return _unknown_reply(name, address, f"{type(error).__name__}: {error}")


def _unknown_reply(name: str, address: str, reason: str) -> ModelUnavailable:
    return ModelUnavailable(f"{name} at {address} sent an unknown reply: {_one_line(reason)}")


def _one_line(text: str) -> str:
    """Return the start of a library's or server's message, in one line."""
    text = redact_credentials(text[: 20 * _MAX_MESSAGE])  # before a cut leaves half of one
    return " ".join(text[: 2 * _MAX_MESSAGE].split())[:_MAX_MESSAGE]


def _root_cause(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _translate_api_error(error: ModelAPIError, name: str, address: str) -> ModelError:
    status, message = None, error.message
    if isinstance(error, ModelHTTPError):
        status = error.status_code
        message = f"status {status}, {_reason(error.body)}"
    message = f"{name} at {address}: {_one_line(message)}"
    if isinstance(error, ModelQuotaExceededError):
        return ModelRejected(f"{message}. The account's quota or credit is used up")
    if isinstance(error, ModelAuthenticationError):
        return ModelRejected(
            f"{message}. Check the key in the environment (such as OPENAI_API_KEY)"
        )
    if isinstance(error, ModelNotFoundError):
        advice = "Check the model's name and the base URL"
        if not urlsplit(address).path.strip("/"):
            advice += f"; where an API is below /v1, as most are, that is {address.rstrip('/')}/v1"
        return ModelRejected(f"{message}. {advice}")
    if isinstance(error, ModelContextWindowExceededError):
        return ModelRejected(
            f"{message}. The prompt is too long for this model: choose one with a larger context"
        )
    if status is not None and status < 500 and status not in _TRANSIENT:
        return ModelRejected(f"{message}. The provider rejects this request")
    return ModelUnavailable(message, retry_after=error.retry_after)


def _reason(body: object) -> str:
    if isinstance(body, dict):
        fields = cast(dict[str, object], body)
        return str(fields.get("message") or fields)
    return str(body or "no reason given")
