"""Work on all users that goes on when the data of some is damaged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from theanine.errors import DamagedData
from theanine.store.base import Store
from theanine.types import Scope


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A user for whom something was not done, because stored data is damaged."""

    scope: Scope
    reason: str

    def __str__(self) -> str:
        return f"{self.scope}: {self.reason}"


async def for_each_scope(
    store: Store,
    scope: Scope | None,
    work: Callable[[Scope | None], Awaitable[object]],
    damaged: Collection[Scope] = (),
) -> list[LeftOut]:
    """Do the work for one scope or, with None, for all at once.

    If ``scope`` is None and scopes are known to be damaged, or the work finds that, it is done for
    each other scope by itself. What was not committed is then done again. Returns the scopes that
    were found damaged.
    """
    if scope is not None or not damaged:
        try:
            await work(scope)
        except DamagedData:
            if scope is not None:
                raise
        else:
            return []
    left_out: list[LeftOut] = []
    for each in await store.scopes():
        if each in damaged:
            continue
        try:
            await work(each)
        except DamagedData as error:
            left_out.append(LeftOut(each, str(error)))
    return left_out
