"""The providers behind the proxy, and the requests that they receive."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2
from starlette.requests import Request

from theanine.server.keys import is_own_key

HOP_BY_HOP = frozenset(
    "connection content-encoding content-length cookie host keep-alive proxy-authenticate "
    "proxy-authorization set-cookie te trailer transfer-encoding upgrade accept-encoding".split()
)
"""Headers that are not forwarded: those of one connection or host, or of the content's encoding."""
_WORD = re.compile(r"[\w-]+")
TIMEOUT = httpx2.Timeout(600, connect=10)


class Upstream:
    """The providers behind the proxy.

    Args:
        openai_url: base URL of an OpenAI-compatible API, such as ``https://api.openai.com/v1``.
        anthropic_url: base URL of Anthropic's API, such as ``https://api.anthropic.com/v1``.
    """

    def __init__(self, openai_url: str, anthropic_url: str) -> None:
        self._urls = {"anthropic": anthropic_url.rstrip("/")}
        self._default = openai_url.rstrip("/")
        # All tenants share this client, so it accepts no cookie.
        no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        limits = httpx2.Limits(max_connections=1_000)
        self.http = httpx2.AsyncClient(timeout=TIMEOUT, limits=limits, cookies=no_cookies)

    def lends_key(self, request: Request, dialect: str) -> bool:
        """Whether a request, which has no key of a provider, is sent with the operator's."""
        return _lent_key(_kept_headers(request), dialect) is not None

    def request(self, request: Request, dialect: str, path: str, content: bytes) -> httpx2.Request:
        """Return a client's request in the form that is sent to the provider."""
        kept = _kept_headers(request)
        lent = _lent_key(kept, dialect)
        headers = [*kept, *([lent] if lent else []), ("accept-encoding", "identity")]
        url = self._urls.get(dialect, self._default) + path
        query = f"?{request.url.query}" if request.url.query else ""
        return self.http.build_request(
            request.method, url + query, headers=headers, content=content
        )


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


def _lent_key(kept: Sequence[tuple[str, str]], dialect: str) -> tuple[str, str] | None:
    """Return the header with the key from the environment, for a request without one."""
    if any(name in ("authorization", "x-api-key") for name, _ in kept):
        return None
    if dialect == "anthropic":
        key = os.environ.get("ANTHROPIC_API_KEY")
        return ("x-api-key", key) if key else None
    key = os.environ.get("OPENAI_API_KEY")
    return ("authorization", f"Bearer {key}") if key else None
