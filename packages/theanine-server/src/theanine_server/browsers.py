"""Browsers: a cookie in place of a key, for requests of the page.

The cookie has the key that a person signed in with, or, for ``theanine open``, the secret that a
one-time link was exchanged for. No script can read it. It counts only in requests that name
``Theanine-Page``, which a browser sends to this service for no page of another site, and in links
that are followed on the page itself.
"""

from __future__ import annotations

from hmac import compare_digest
from secrets import token_urlsafe

from fastapi import Request, Response

PAGE_HEADER = "Theanine-Page"
"""Header, with any value, that only requests of the page have, not those of other sites."""

_OWN_SITE = "same-origin"
"""Value of ``Sec-Fetch-Site``, which scripts can't set, for links on a page of ours."""


def read_cookie(request: Request) -> str:
    """Return the token of the page's cookie; empty for other requests."""
    follows_link = request.method == "GET" and request.headers.get("sec-fetch-site") == _OWN_SITE
    if PAGE_HEADER not in request.headers and not follows_link:
        return ""
    return request.cookies.get(_name(request), "")


def set_cookie(request: Request, response: Response, token: str) -> None:
    """Have the browser sign in with a token until it is closed."""
    response.set_cookie(
        _name(request),
        token,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


def delete_cookie(request: Request, response: Response) -> None:
    """Have the browser delete the cookie."""
    response.delete_cookie(_name(request), httponly=True, samesite="strict")


def _name(request: Request) -> str:
    # All ports of a host share their cookies, so two services would overwrite each other's.
    return f"theanine_{request.url.port or request.url.scheme}"


class OwnBrowser:
    """The browser of ``theanine open``, which a one-time link signs in.

    Args:
        link: the secret in the link.
    """

    def __init__(self, link: str) -> None:
        self._link, self._session = link, ""

    def sign_in(self, link: str) -> str | None:
        """Return the secret of a new session; None if the link is wrong or was used."""
        if not self._link or not _equal(link, self._link):
            return None
        self._link, self._session = "", token_urlsafe(32)
        return self._session

    def is_signed_in(self, token: str) -> bool:
        """Return whether a cookie is the session's."""
        return bool(self._session) and _equal(token, self._session)


def _equal(a: str, b: str) -> bool:
    return compare_digest(a.encode("utf-8", "surrogatepass"), b.encode())
