"""Check the addresses of webhooks: none may be in the network that the service runs in.

A name is resolved and all its addresses are checked, when a webhook is made and again before each
message; the connection goes to an address that was checked, so a name that resolves to another one
a moment later changes nothing.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

import anyio
import httpx2

from theanine.errors import BadInput, SettingsError

Address = IPv4Address | IPv6Address

MAX_URL = 2_000
"""Longest URL in characters."""
RESOLVING = 5.0
"""Seconds within which a name must resolve when a webhook is made."""

_PUBLIC = IPv6Network("2000::/3")  # all of IPv6 that has been given out for the internet
_INTERNAL = tuple(
    map(
        ip_network,
        (
            *("192.0.0.0/24", "192.88.99.0/24"),  # special purposes, relays of 6to4
            "168.63.129.16/32",  # Azure's metadata and platform services
            *("2001::/23", "2002::/16"),  # special purposes such as Teredo, 6to4: IPv4 inside
            *("2001:db8::/32", "3fff::/20"),  # documentation
        ),
    )
)
"""Internal networks that Python's ``ipaddress`` does not list as such."""


class ForbiddenAddress(BadInput):
    """A URL that is not allowed for webhooks."""


class Guard:
    """Decides to which addresses messages are sent.

    Args:
        allowed: networks that are allowed though they are internal, also without TLS.

    Raises SettingsError for a malformed network.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        try:
            self._allowed = tuple(ip_network(network) for network in allowed)
        except ValueError as error:
            raise SettingsError(f"webhooks: {error}; name a network such as 10.0.0.0/8") from error

    async def check(self, url: str) -> None:
        """Raise ForbiddenAddress for a URL that messages can't or must not be sent to."""
        try:
            with anyio.fail_after(RESOLVING):
                await self.resolve(parse_url(url))
        except TimeoutError:
            raise _forbidden() from None

    async def resolve(self, url: httpx2.URL) -> list[Address]:
        """Return the addresses of a URL's host. Raises ForbiddenAddress if one is internal."""
        addresses = await _resolve(url.raw_host.decode("ascii"))
        for address in addresses:
            if self._is_allowed(address):
                continue
            if is_internal(address):
                raise _forbidden()
            if url.scheme != "https":
                raise ForbiddenAddress("the URL must begin with https://")
        return addresses

    def _is_allowed(self, address: Address) -> bool:
        return any(address in network for network in self._allowed)


async def _resolve(host: str) -> list[Address]:
    """Return the addresses of a host. Raises ForbiddenAddress if it has none."""
    if literal := _read_literal(host):
        return [literal]
    try:
        found = await anyio.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise _forbidden() from None
    return list(dict.fromkeys(ip_address(entry[4][0]) for entry in found))


def _forbidden() -> ForbiddenAddress:
    """Return the one refusal of a host: which names an internal network has is not told."""
    return ForbiddenAddress(
        "the URL's host has no address, or one in an internal network, where webhooks are not "
        "sent; the service's --webhook-allow names networks that are meant"
    )


def _read_literal(host: str) -> Address | None:
    """Return the address that a host is, in any form that resolvers know, such as 2130706433."""
    try:
        return ip_address(host)
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def parse_url(text: str) -> httpx2.URL:
    """Return the parts of a URL. Raises ForbiddenAddress unless it is one of a web server."""
    try:
        url = httpx2.URL(text)
    except (httpx2.InvalidURL, ValueError):
        raise ForbiddenAddress("the URL can't be read; write https://HOST/PATH") from None
    port_fits = url.port is None or 0 < url.port < 65_536
    if url.scheme not in ("http", "https") or not url.raw_host or not port_fits:
        raise ForbiddenAddress("the URL must be https://HOST/PATH, where :PORT may follow the host")
    if len(text) > MAX_URL:
        raise ForbiddenAddress(f"the URL is longer than {MAX_URL:,} characters")
    if url.userinfo or url.fragment:
        raise ForbiddenAddress("the URL must have no user, password or fragment")
    return url


def is_internal(address: Address) -> bool:
    """Return whether an address is not that of one machine on the internet.

    Addresses that contain another one, such as IPv4-mapped ones, always count as internal.
    """
    if isinstance(address, IPv6Address) and address not in _PUBLIC:
        return True
    other = not address.is_global or address.is_multicast or address.is_reserved
    return other or any(address in network for network in _INTERNAL)
