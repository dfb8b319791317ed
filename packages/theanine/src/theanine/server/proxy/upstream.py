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

    def request(self, request: Request, dialect: str, path: str, content: bytes) -> httpx2.Request:
        """Return a client's request in the form that is sent to the provider."""
        kept_here = HOP_BY_HOP | set(_WORD.findall(request.headers.get("connection", "").lower()))
        headers = [
            (name, value)
            for name, value in request.headers.items()
            if name not in kept_here and not name.startswith("theanine-")
        ]
        url = self._urls.get(dialect, self._default) + path
        query = f"?{request.url.query}" if request.url.query else ""
        return self.http.build_request(
            request.method, url + query, headers=_with_key(headers, dialect), content=content
        )


def _with_key(headers: Sequence[tuple[str, str]], dialect: str) -> list[tuple[str, str]]:
    """Replace a key of the service, in any header, by the provider's key from the environment."""
    kept = [
        (name, value)
        for name, value in headers
        if not any(is_own_key(word) for word in _WORD.findall(value))
    ]
    if len(kept) < len(headers) or not any(n in ("authorization", "x-api-key") for n, _ in kept):
        if dialect == "anthropic" and (key := os.environ.get("ANTHROPIC_API_KEY")):
            kept.append(("x-api-key", key))
        elif dialect != "anthropic" and (key := os.environ.get("OPENAI_API_KEY")):
            kept.append(("authorization", f"Bearer {key}"))
    return [*kept, ("accept-encoding", "identity")]
