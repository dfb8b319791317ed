"""The providers behind the proxy, and the requests that they receive."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterable, Sequence
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2
from starlette.requests import Request

from theanine_server.keys import is_own_key
from theanine_server.problems import Refused
from theanine_server.provider_paths import Provider

HOP_BY_HOP = frozenset(
    "alt-svc connection cookie expect host keep-alive proxy-authenticate proxy-authorization "
    "set-cookie strict-transport-security te trailer transfer-encoding upgrade".split()
)
"""Headers that are not forwarded: those of one connection or host."""
_KEEPING_NOTHING = frozenset(
    "chat/completions completions embeddings images/edits images/generations images/variations "
    "audio/speech audio/transcriptions audio/translations moderations responses messages "
    "messages/count_tokens".split()
)
"""Paths of the calls that the operator's key is lent for.

By others, such as those of files, each tenant would see what all have at the operator's account.
"""
_WORD = re.compile(r"[\w-]+")
TIMEOUT = httpx2.Timeout(600, connect=10)


class Upstream:
    """The providers behind the proxy.

    Args:
        openai_url: base URL of an OpenAI-compatible API, such as ``https://api.openai.com/v1``.
        anthropic_url: base URL of Anthropic's API, such as ``https://api.anthropic.com/v1``.
    """

    def __init__(self, openai_url: str, anthropic_url: str) -> None:
        self._urls: dict[Provider, str] = {
            "openai": openai_url.rstrip("/"),
            "anthropic": anthropic_url.rstrip("/"),
        }
        # All tenants share this client, so it accepts no cookie.
        no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        limits = httpx2.Limits(max_connections=1_000)
        self.http = httpx2.AsyncClient(timeout=TIMEOUT, limits=limits, cookies=no_cookies)

    def without_path(self, provider: Provider) -> str:
        """Return a provider's base URL if it has no path, which may be missing; empty otherwise."""
        url = self._urls[provider]
        return "" if httpx2.URL(url).path.strip("/") else url

    def lends_key(self, request: Request, provider: Provider, path: str) -> bool:
        """Whether a request, which has no key of a provider, is sent with the operator's.

        Answers 401 for one that is passed on only with a key of its own.
        """
        kept = _kept_headers(request)
        if _has_key(kept):
            return False
        if not _keeps_nothing(request.method, path):
            raise Refused(
                401,
                "provider_key_needed",
                f"{request.method} {request.url.path} is not a path of the service, and is passed "
                "on to the provider only with a key of your own for it: send that as ever, and "
                "the key of the service as Theanine-Key",
            )
        return _operators_key(provider) is not None

    def request(
        self,
        request: Request,
        provider: Provider,
        path: str,
        content: bytes | AsyncIterable[bytes],
        *,
        readable: bool = False,
    ) -> httpx2.Request:
        """Return a client's request in the form that is sent to the provider.

        ``readable`` asks for an answer that is not compressed.
        """
        headers = _kept_headers(request)
        if not _has_key(headers) and (lent := _operators_key(provider)):
            headers.append(lent)
        if isinstance(content, bytes):  # which may be longer than what came
            headers = [(name, value) for name, value in headers if name != "content-length"]
        if readable or "accept-encoding" not in request.headers:
            headers = [(name, value) for name, value in headers if name != "accept-encoding"]
            headers.append(("accept-encoding", "identity"))
        query = f"?{request.url.query}" if request.url.query else ""
        url = f"{self._urls[provider]}{path}{query}"
        return self.http.build_request(request.method, url, headers=headers, content=content)


def _keeps_nothing(method: str, path: str) -> bool:
    """Whether a call keeps nothing at the provider that others with the same key could see.

    Nor goes anything to the provider because somebody has mistyped a path of the service.
    """
    if method == "GET":
        return path.split("/")[1] == "models"
    return method == "POST" and path.strip("/") in _KEEPING_NOTHING


def _kept_headers(request: Request) -> list[tuple[str, str]]:
    """Return the headers that are forwarded: none of one connection, none with a service's key."""
    kept_here = HOP_BY_HOP | set(_WORD.findall(request.headers.get("connection", "").lower()))
    return [
        (name, value)
        for name, value in request.headers.items()
        if name not in kept_here
        and not name.startswith("theanine-")
        and not any(is_own_key(word) for word in _WORD.findall(value))
    ]


def _has_key(kept: Sequence[tuple[str, str]]) -> bool:
    return any(name in ("authorization", "x-api-key") for name, _ in kept)


def _operators_key(provider: Provider) -> tuple[str, str] | None:
    """Return the header with the key from the environment."""
    if provider == "anthropic":
        key = os.environ.get("ANTHROPIC_API_KEY")
        return ("x-api-key", key) if key else None
    key = os.environ.get("OPENAI_API_KEY")
    return ("authorization", f"Bearer {key}") if key else None
