"""Copying a store into another one, user by user: what is there already isn't copied again.

Each scope goes over in one transaction, by an export and a restore. Then what the destination has
is read back, and counts and digests of its records are compared with those of the source.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from threading import Event
from typing import Any, Literal, cast

import anyio
from anyio import from_thread

from theanine.errors import BadInput, DamagedData, EmbedderMismatch, SettingsError
from theanine.store.base import Store
from theanine.store.sql.export_codec import Digest
from theanine.store.sql.versions import Order, Versions, compare
from theanine.store.values import Restored
from theanine.types import Scope

_BATCH = 500
"""Records in memory at a time."""
_COVERED = (Order.SAME, Order.NEWER)
"""What a version of the destination must be to that of the source, to have all of its changes."""
_OF_STORE = ("theanine", "erased_scope")
"""Types of the records that belong to no scope."""

Outcome = Literal["copied", "present", "newer", "forgotten", "failed"]
Summary = Mapping[str, Mapping[str, Any]]
"""Count and digest of a scope's records by their type; empty for a scope that is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeCopy:
    """What became of one user.

    Attributes:
        outcome: ``copied`` now, or ``present`` before: the records are equal in both stores.
            ``newer``: the destination has all changes of the source and later ones of its own.
            ``forgotten``: left out, because the destination has forgotten this user. ``failed``:
            the destination lacks something, which ``reason`` names.
        records: how many of them were compared.
        reason: what failed; empty if nothing did.
    """

    scope: Scope
    outcome: Outcome
    records: int = 0
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.scope}: {self.reason or self.outcome}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyReport:
    """What became of the users of a store that was copied.

    Attributes:
        copied: users that were copied now.
        present: users of whom the destination had everything.
        records: records of these, which were compared and are equal in both stores.
        newer: users with later changes at the destination, which stay. Their records differ, so
            what tells that nothing is missing is their version alone.
        forgotten: users who were left out, because the destination has forgotten them.
        changed: users whom the source has changed or forgotten since they were copied: copy again.
        failed: users of whom the destination lacks something.
        erased: users who were erased at the destination, because the source has forgotten them.
        kept_settings: settings of the store that the destination keeps although the source has
            others, such as its default method.
        failure: why the settings and tombstones of the store are not at the destination; empty if
            they are, or if only some users were copied.
    """

    copied: int = 0
    present: int = 0
    records: int = 0
    newer: tuple[Scope, ...] = ()
    forgotten: tuple[Scope, ...] = ()
    changed: tuple[Scope, ...] = ()
    failed: tuple[ScopeCopy, ...] = ()
    erased: int = 0
    kept_settings: tuple[str, ...] = ()
    failure: str = ""

    @property
    def complete(self) -> bool:
        """Whether the destination lacks nothing that the source had when it was read."""
        return not self.failed and not self.failure


class StoreCopy:
    """A copy of a store in progress, or a comparison of two stores."""

    def __init__(self, source: Store, destination: Store, *, verify_only: bool = False) -> None:
        self._source, self._destination = source, destination
        self._verify_only = verify_only

    async def run(
        self,
        selected: Callable[[Scope], bool] | None = None,
        progress: Callable[[ScopeCopy, int], None] = lambda _scope, _total: None,
    ) -> CopyReport:
        """Copy the selected scopes or, with None, all of the store.

        ``progress`` gets each scope and how many there are. Raises SettingsError if the stores have
        vectors of different embedders, StoreError if one of them can't be used any more.
        """
        await self._check_embedders()
        erased, kept, failure = 0, (), ""
        if selected is None:  # first, because a user's export sets what the destination lacks
            erased, kept, failure = await self._copy_settings()
        versions = await self._source_versions(selected)
        theirs = await self._destination.export_versions()
        done: list[ScopeCopy] = []
        for scope, version in versions.items():
            order = compare(theirs[scope], version) if theirs.get(scope) else None
            done.append(await self._copy_scope(scope, order))
            progress(done[-1], len(versions))
        changed: list[Scope] = []
        if not self._verify_only:
            settled = {each.scope for each in done if each.outcome in ("failed", "forgotten")}
            now = await self._source_versions(selected)
            theirs = await self._destination.export_versions()
            changed = [
                scope
                for scope, version in now.items()
                if scope not in settled and compare(theirs.get(scope, {}), version) not in _COVERED
            ]
            changed += (scope for scope in versions if scope not in now)  # forgotten since
        equal = [each for each in done if each.outcome in ("copied", "present")]
        return CopyReport(
            copied=sum(each.outcome == "copied" for each in equal),
            present=sum(each.outcome == "present" for each in equal),
            records=sum(each.records for each in equal),
            newer=tuple(each.scope for each in done if each.outcome == "newer"),
            forgotten=tuple(each.scope for each in done if each.outcome == "forgotten"),
            changed=tuple(changed),
            failed=tuple(each for each in done if each.outcome == "failed"),
            erased=erased,
            kept_settings=kept,
            failure=failure,
        )

    async def _source_versions(
        self, selected: Callable[[Scope], bool] | None
    ) -> dict[Scope, Versions]:
        versions = await self._source.export_versions()
        return {scope: versions[scope] for scope in versions if not selected or selected(scope)}

    async def _check_embedders(self) -> None:
        mine = await self._source.active_embedder()
        theirs = await self._destination.active_embedder()
        if mine is not None and theirs is not None and mine != theirs:
            raise SettingsError(
                f"{self._source.location} has vectors of {mine[0]}, {self._destination.location} "
                f"of {theirs[0]}: copy into an empty store, or run `theanine reembed` on one first"
            )

    # scopes

    async def _copy_scope(self, scope: Scope, order: Order | None) -> ScopeCopy:
        """Copy a scope unless ``order``, its version there to that here, says that it is there."""
        copied = not self._verify_only and order not in _COVERED
        try:
            if copied:
                mine, restored = await self._transfer(scope)
                if restored.forgotten:
                    return ScopeCopy(scope=scope, outcome="forgotten")
            else:
                mine = await _summarize(self._source, scope)
            theirs = await _summarize(self._destination, scope)
        except (BadInput, EmbedderMismatch, DamagedData) as error:
            return ScopeCopy(scope=scope, outcome="failed", reason=str(error))
        if mine == theirs:
            records = sum(each["records"] for each in mine.values())
            outcome = "copied" if copied else "present"
            return ScopeCopy(scope=scope, outcome=outcome, records=records)
        versions = [await each.export_versions(scope) for each in (self._destination, self._source)]
        if compare(*(each.get(scope, {}) for each in versions)) is Order.NEWER:
            return ScopeCopy(scope=scope, outcome="newer")
        return ScopeCopy(scope=scope, outcome="failed", reason=_describe(mine, theirs))

    async def _transfer(self, scope: Scope) -> tuple[Summary, Restored]:
        """Restore an export of the scope; return what it had, and the result."""
        digests: dict[str, Digest] = {}
        async with (
            aclosing(_stream(self._source, scope)) as records,
            aclosing(_summarized(records, digests)) as summarized,
        ):
            restored = await _restore(self._destination, summarized)
        return _summary(digests), restored

    # what belongs to the store

    async def _copy_settings(self) -> tuple[int, tuple[str, ...], str]:
        """Copy settings and tombstones.

        Returns how many users were erased by them, which settings stay, and what failed.
        """
        try:
            mine, erased = await self._source.export_settings(), 0
        except DamagedData as error:
            return 0, (), str(error)
        if not self._verify_only:
            digest = Digest()
            for record in mine:
                digest.add(record)
            try:
                restored = await self._destination.restore([*mine, digest.end_record()])
            except BadInput as error:
                return 0, (), str(error)
            erased = len(restored.replaced)
        theirs = await self._destination.export_settings()
        tombstones = {record["hash"]: record["versions"] for record in theirs[1:]}
        lacking = sum(
            compare(tombstones.get(record["hash"], {}), record["versions"]) not in _COVERED
            for record in mine[1:]
        )
        if lacking:
            return erased, (), f"it doesn't know of {lacking} users that they were forgotten"
        kept = [
            f"{name} {theirs[0].get(name) or 'none'}, not {mine[0].get(name) or 'none'}"
            for name in ("method", "retention", "tenants")
            if theirs[0].get(name) != mine[0].get(name)
        ]
        if kept and compare(theirs[0]["versions"], mine[0]["versions"]) is Order.OLDER:
            return erased, (), f"it has other settings: {', '.join(kept)}"
        return erased, tuple(kept), ""


def _describe(mine: Summary, theirs: Summary) -> str:
    """Return what the destination lacks or has otherwise."""
    if not theirs:
        return "the destination has nothing of this user"
    name = next(name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name))
    counts = [each[name]["records"] if name in each else 0 for each in (mine, theirs)]
    if counts[0] == counts[1]:
        return f"{counts[0]} records of type {name} differ"
    return f"{counts[0]} records of type {name} are {counts[1]} at the destination"


def _stream(store: Store, scope: Scope | None) -> AsyncGenerator[Mapping[str, Any]]:
    """Return an export as the generator that it is, to be closed at once."""
    return cast("AsyncGenerator[Mapping[str, Any]]", store.export(scope))


# counts and digests


async def _summarize(store: Store, scope: Scope) -> Summary:
    """Read all records of a scope."""
    digests: dict[str, Digest] = {}
    async with aclosing(_stream(store, scope)) as records:
        async for _ in _summarized(records, digests):
            pass
    return _summary(digests)


async def _summarized(
    records: AsyncIterator[Mapping[str, Any]], digests: dict[str, Digest]
) -> AsyncGenerator[Mapping[str, Any]]:
    """Yield records, adding them to the digests of their types."""
    async for record in records:
        if record["type"] not in (*_OF_STORE, "end"):
            content = {name: value for name, value in record.items() if name != "versions"}
            digests.setdefault(record["type"], Digest()).add(content)
        yield record


def _summary(digests: Mapping[str, Digest]) -> Summary:
    return {name: digest.end_record() for name, digest in digests.items()}


# restoring what is read in an event loop


class _StoppedError(Exception):
    """The copy was cancelled while a scope was restored."""


async def _restore(store: Store, records: AsyncIterator[Mapping[str, Any]]) -> Restored:
    """Restore records while they are read; if the caller is cancelled, nothing is restored."""
    stopped = Event()

    async def read_batch() -> list[Mapping[str, Any]]:
        batch: list[Mapping[str, Any]] = []
        async for record in records:
            batch.append(record)
            if len(batch) == _BATCH:
                break
        return batch

    def read() -> Iterator[Mapping[str, Any]]:  # in the thread that restores
        while batch := from_thread.run(read_batch):
            if stopped.is_set():
                raise _StoppedError
            yield from batch

    restoring = asyncio.ensure_future(store.restore(read()))
    try:
        return await asyncio.shield(restoring)
    except asyncio.CancelledError:
        stopped.set()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([restoring])
        if not restoring.cancelled():
            restoring.exception()  # else it would be reported as never retrieved
        raise
