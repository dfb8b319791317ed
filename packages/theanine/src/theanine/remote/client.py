"""The client of a service, and what it has for each user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NoReturn, Self

from pydantic import TypeAdapter

from theanine.cancellation import finish
from theanine.client.other_names import our_name
from theanine.errors import SettingsError
from theanine.remote.transport import TIMEOUT, Transport
from theanine.remote.user import AsyncRemoteUser
from theanine.store.values import UserSettings
from theanine.types import Scope


class AsyncRemoteClient:
    """A client of a service, with the face of :class:`theanine.AsyncClient`."""

    def __init__(self, url: str, *, key: str = "", timeout: float = TIMEOUT) -> None:
        self._transport = Transport(url, key, timeout)
        self._about: Mapping[str, Any] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.location}>"

    async def __aenter__(self) -> Self:
        try:
            self._about = await self._transport.call(_OBJECT, "GET", "/v1/methods")
        except BaseException:
            await finish(self.close())
            raise
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections. A second call does nothing."""
        await self._transport.close()

    def user(
        self,
        user: str,
        *,
        name: str = "",
        agent: str = "default",
        tenant: str = "default",
        shared: Sequence[str] = (),
    ) -> AsyncRemoteUser:
        """Return the handle of one user; see :meth:`theanine.AsyncClient.user`.

        The tenant is that of the key: naming another one raises SettingsError.
        """
        _check_tenant(None if tenant == "default" else tenant)
        if shared:
            raise SettingsError("a service recalls from one agent at a time; leave shared out")
        return AsyncRemoteUser(self._transport, Scope(user, agent), name)

    @property
    def location(self) -> str:
        """The address of the service."""
        return self._transport.url

    @property
    def method_name(self) -> str:
        """The method's id."""
        return str(self._about.get("current", ""))

    async def retention(self, *, tenant: str | None = None) -> timedelta | None:
        """Return how long turns of the key's tenant are kept, for users without a setting."""
        _check_tenant(tenant)
        return (await self._transport.call(_SETTINGS, "GET", "/v1/settings")).retention

    async def set_retention(
        self, retention: timedelta | None, *, tenant: str | None = None
    ) -> None:
        """Set how long turns of the key's tenant are kept, for users without a setting."""
        _check_tenant(tenant)
        body = {"retention": retention}
        await self._transport.call(_SETTINGS, "PATCH", "/v1/settings", body=body)

    async def users(self) -> list[Scope]:
        """Return the users of the key's tenant."""
        return await self._transport.list_all(Scope, "/v1/users", {})

    def __getattr__(self, name: str) -> NoReturn:
        if ours := our_name(name, of_client=True):
            raise AttributeError(f"a client of a service has no {name}; {ours} does it here")
        raise AttributeError(
            f"a client of a service has no {name}: what concerns the whole store is for the "
            "command line where the service runs"
        )


_OBJECT: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
_SETTINGS = TypeAdapter(UserSettings)


def _check_tenant(tenant: str | None) -> None:
    if tenant is not None:
        raise SettingsError("the key decides the tenant; leave tenant out")
