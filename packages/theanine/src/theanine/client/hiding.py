"""Find what must not be shown any more, because it is about to be erased."""

from __future__ import annotations

from datetime import datetime

from theanine.store.base import Store
from theanine.store.values import Hidden, ScopeVersion
from theanine.types import Scope


async def find_hidden(store: Store, scope: Scope, state: ScopeVersion, now: datetime) -> Hidden:
    """Return what is about to be erased: as somebody asked, or because its own end has come."""
    if state.expires_at is None or state.expires_at > now:
        return state.hidden
    return state.hidden | await store.ended(scope, now)


async def load_hidden(store: Store, scope: Scope, now: datetime) -> Hidden:
    """Return the same of the scope as it is now."""
    return await find_hidden(store, scope, await store.scope_version(scope), now)
