"""Every statement about one scope is bound to its number, in each table that it reads or writes.

So a database that is distributed by scope answers it in one place, and row-level security has
nothing to hide from it.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.sql import operators
from sqlalchemy.sql.elements import BinaryExpression, BooleanClauseList
from sqlalchemy.sql.visitors import iterate, replacement_traverse

from theanine.filters import Filter
from theanine.store import Store
from theanine.store.processes import process_holder
from theanine.store.sql import erasure, walls
from theanine.store.sql import schema as t
from theanine.store.sql.fixed import FixedSelect
from theanine.store.sql.holders import DatabaseTime
from theanine.store.sql.store import SqlStore
from theanine.store.values import JournalEntry, Listing, Reservation
from theanine.types import (
    ImportedMemory,
    MemoryBatch,
    NewLink,
    NewMark,
    NewMemory,
    Scope,
    Transcript,
    Utterance,
)

from .conftest import StoreCase

pytestmark = pytest.mark.anyio

ANA, BEN = Scope("ana"), Scope("ben")
AT = datetime(2024, 3, 1, 9, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)
ME = process_holder()
names = t.scope.c


# reading statements


def find_unbound(element: Any, outer: frozenset[Any] = frozenset()) -> Iterator[str]:
    """Yield the tables with a scope that a statement or a subquery reads without binding it.

    A table is bound by a comparison of its scope with a value, in the same SELECT, or with the
    scope of a table that is.
    """
    if isinstance(element, (sa.Table, sa.Column)):
        return
    if isinstance(element, (sa.Select, sa.Update, sa.Delete)):
        tables, conditions = _sources(element, outer)
        keyed = {table for table in tables if "scope" in table.c}
        bound: set[Any] = set()
        while new := {
            table
            for condition in conditions
            for table, other in _scope_comparisons(condition)
            if table in keyed - bound and (other is None or other in bound)
        }:
            bound |= new
        yield from (table.name for table in keyed - bound)
        outer = outer | tables
    for child in element.get_children():
        yield from find_unbound(child, outer)


def _sources(level: Any, outer: frozenset[Any]) -> tuple[frozenset[Any], list[Any]]:
    """Return the tables of one level of a statement, and all conditions that must hold."""
    where = level.whereclause
    conditions: list[Any] = [] if where is None else [where]
    tables: set[Any] = set()
    is_select = hasattr(level, "get_final_froms")
    froms: list[Any] = list(level.get_final_froms()) if is_select else [level.table]
    while froms:
        source = froms.pop()
        if isinstance(source, sa.Join):
            conditions.append(source.onclause)
            froms += [source.left, source.right]
        elif source not in outer:
            tables.add(source)
    flat: list[Any] = []
    while conditions:
        condition = conditions.pop()
        condition = getattr(condition, "element", condition)  # in parentheses
        if isinstance(condition, BooleanClauseList) and condition.operator is operators.and_:
            conditions += condition.clauses
        else:
            flat.append(condition)
    return frozenset(tables), flat


def _scope_comparisons(condition: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each table whose scope is compared, and the table that it is compared with.

    None if it is compared with a value.
    """
    if not isinstance(condition, BinaryExpression) or condition.operator is not operators.eq:
        return
    for side, other in ((condition.left, condition.right), (condition.right, condition.left)):
        if isinstance(side, sa.ColumnClause) and side.name == "scope":
            if isinstance(other, sa.BindParameter):
                yield side.table, None
            elif isinstance(other, sa.ColumnClause) and other.name == "scope":
                yield side.table, other.table


def uses_names(element: Any) -> bool:
    """Return whether any part of a statement reads or writes the table of names."""
    if isinstance(element, sa.Table):
        return element is t.scope
    if isinstance(element, sa.Column):
        return element.table is t.scope
    if isinstance(element, (sa.Update, sa.Delete, sa.Insert)) and element.table is t.scope:
        return True
    return any(uses_names(child) for child in element.get_children())


def is_lookup(statement: Any) -> bool:
    """Return whether a statement reads names alone: by all three, or of one number."""
    tables, conditions = _sources(statement, frozenset())
    compared = {condition.left for condition in conditions}
    keys = ({names.tenant, names.agent, names.user}, {names.id})
    return [*tables] == [t.scope] and compared in keys


@contextmanager
def statements(store: SqlStore) -> Generator[list[tuple[str, Any]]]:
    """Collect what is executed in the block, as text and as SQLAlchemy's statement, if it has."""
    executed: list[tuple[str, Any]] = []

    def note(_db: Any, _cursor: Any, text: str, _values: Any, context: Any, _many: bool) -> None:
        compiled = getattr(context, "compiled", None)
        executed.append((text, compiled and _without_time(compiled.statement)))

    event.listen(store.engine, "before_cursor_execute", note)
    yield executed
    event.remove(store.engine, "before_cursor_execute", note)


def _without_time(statement: Any) -> Any:
    """Replace the database's time, which SQLAlchemy can't show without a database."""

    def replace(element: Any, **_: Any) -> Any:
        return sa.literal(0) if isinstance(element, DatabaseTime) else None

    if any(isinstance(element, DatabaseTime) for element in iterate(statement)):
        return cast("Any", replacement_traverse(statement, {}, replace))
    return statement


def is_scan(statement: Any) -> bool:
    """Return whether a statement reads all texts, to compare SQLite's file with what was erased."""
    texts = {*erasure.TEXT_COLUMNS, *erasure.NAME_COLUMNS}
    return (
        isinstance(statement, sa.Select)
        and statement.whereclause is None
        and texts.issuperset(statement.selected_columns)
    )


def check(executed: Sequence[tuple[str, Any]], *, scans: bool) -> None:
    """Check that each statement begins with the scope, and that one alone reads names."""
    changes: list[str] = []
    faults: list[str] = []
    for text, statement in executed:
        if statement is None:
            for scope in (ANA, BEN):  # a lookup by all three names
                text = text.removesuffix(walls.look_up(scope))
            faults += [text for table in t.metadata.tables if f" {table} " in f"{text} "]
            continue
        if scans and is_scan(statement):
            continue
        faults += [f"{table} in {text}" for table in find_unbound(statement)]
        if uses_names(statement):
            if isinstance(statement, sa.Select):
                faults += [] if is_lookup(statement) else [text]
            else:
                changes.append(text.split()[0])
    assert faults == []
    # Scopes are made by being written to, and forgotten.
    assert changes.count("INSERT") <= 1
    assert changes.count("DELETE") <= 1
    assert "UPDATE" not in changes


# a run of all calls


class Calls:
    """A store that notes which of its methods were called."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.names: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.names.add(name)
        return getattr(self._store, name)


def said(text: str, minute: int, **fields: Any) -> Utterance:
    return Utterance(text=text, speaker="Ana", at=AT + timedelta(minutes=minute), **fields)


def batch(turn: int, *older: int) -> MemoryBatch:
    new = NewMemory(text=f"of {turn}", at=AT, source_turns=(turn,), derived_from=older)
    return MemoryBatch(
        memories=[new],
        vectors=np.eye(1, 4, dtype=np.float32),
        links=[NewLink(older=item, newer=0, relation=None) for item in older],
        marks=[NewMark(memory=item, kind="superseded", by=0) for item in older],
    )


async def log_and_remember(store: Any) -> None:
    """Write what can be written about a scope."""
    session = await store.start_session(ANA, AT, key="live", holder=ME, metadata={"a": 1})
    await store.append_turns(ANA, session, [said("one", 0, key="k1"), said("two", 1)])
    await store.append_turns(ANA, session, [said("one", 0, key="k1")], epoch=0)
    await store.end_session(ANA, session, None, "m")
    given = [ImportedMemory(text="given", source_keys=("a",))]
    for more in (1, 2):
        turns = [said(f"turn {i}", i, key="ab"[i]) for i in range(more)]
        transcript = Transcript(key="t", turns=turns, at=AT, memories=given)
        await store.log_transcript(ANA, transcript, "m")
    await store.log_transcripts(ANA, [Transcript(key="u", turns=[said("u", 0)], at=AT)], "m")
    pause = timedelta(minutes=5)
    for minute in (0, 1, 30):
        turns = [said("hello", minute, key=f"h{minute}"), said("there", minute, content=())]
        await store.continue_thread(
            ANA, "thread", turns, method="m", pause=pause, resent=True, arriving=True, holder=ME
        )
    await store.open_session(ANA, "thread", AT + HOUR)
    await store.end_idle_sessions(ANA, AT + 2 * HOUR, "m")
    await store.orphaned_sessions(ANA)
    older: tuple[int, ...] = ()
    for pending in await store.pending("m", ANA):
        turns, _ = await store.pending_input(ANA, pending.session, "m")
        lease = await store.acquire_lease(ANA, ME, HOUR)
        assert await store.renew_lease(ANA, lease, HOUR)
        made = await store.commit_batch(
            ANA,
            pending.session,
            "m",
            batch(turns[-1].id, *older),
            embedder="e",
            lease=lease,
            at=AT,
            seen=(turns[-1].id, 1),
        )
        older = (made[0].id,)
        await store.release_lease(ANA, lease)
    await store.mark_pending(ANA, "other")
    lease = await store.acquire_lease(ANA, ME, HOUR)
    options = {"lease": lease, "retry_in": HOUR, "holds_up": True, "epoch": 0}
    await store.record_failure(ANA, session, "other", "no reason", **options)
    assert await store.cancel_session(ANA, "other", session)
    assert await store.retry_sessions(ANA, "other", session)
    assert await store.retry_sessions(ANA, "other")
    await store.correct_memory(ANA, 1, "corrected", np.eye(1, 4)[0], embedder="e", at=AT)
    await store.set_pin(ANA, 2, True)
    await store.set_pin(ANA, 2, False)
    await store.set_time_zone(ANA, "Europe/Ljubljana")
    await store.set_retention(ANA, timedelta(days=1))
    entry = JournalEntry(key="k", step="s", version=1, model="m", at=AT, session=1, touches=(1,))
    reservation = Reservation(session=1, holder=ME, tokens=1, cost=0.0)
    number = await store.reserve(ANA, reservation, HOUR)
    await store.renew_reservation(ANA, number, HOUR)
    await store.spending(ANA, number + 1)
    await store.release_reservation(ANA, number)
    await store.add_journal_entry(ANA, entry, 1)
    await store.add_journal_entry(ANA, entry)
    await store.reject_journal_entries(ANA, ["k"], "bad")
    await store.retire_journal_entry(ANA, "k")


async def read(store: Any) -> None:
    """Read what can be read of a scope."""
    version = await store.scope_version(ANA)
    listing = Listing(search="one", where=Filter.parse({"a": 1}))
    pages = (Listing(limit=5), listing)
    for page in pages:
        await store.list_sessions(ANA, page, "m", thread="thread")
        await store.list_turns(ANA, page, session=1, thread="thread")
        for pinned in (None, True, False):
            await store.list_memories(ANA, page, "m", pinned=pinned)
    await store.sessions(ANA, "m")
    await store.sessions(ANA, "m", ids=[1, 2])
    await store.turns(ANA, with_content=True)
    await store.turns(ANA, session=1, thread="thread", role="user", key="k1", last=2)
    await store.turns(ANA, ids=[1, 2])
    await store.turns(ANA, after=1, upto=3)
    await store.assistants(ANA)
    await store.turns_with_recalls(ANA)
    await store.turn_metadata(ANA, after=0, upto=9)
    await store.count_turns(ANA, session=1)
    await store.count_turns(ANA, thread="thread")
    await store.memories(ANA, method="m", after=0)
    await store.memories(ANA, ids=[1, 2])
    await store.turns_and_memories(ANA, [1, 2], [1, 2])
    await store.vectors(ANA, method="m")
    await store.links(ANA, method="m", upto=5)
    await store.marks(ANA, method="m")
    await store.methods(ANA)
    await store.pending("m", ANA)
    await store.pending("m", ANA, set_aside=False, limit=1)
    await store.orphaned_sessions(ANA, remote=True)
    await store.find_journal_entry(ANA, "k")
    await store.costs(ANA)
    await store.settings(ANA)
    await store.retentions(ANA, AT)
    await store.ended(ANA, AT)
    await store.turn_texts(ANA)
    await store.write_sidecar(ANA, "index", version.epoch, [b"x"])
    await store.read_sidecar(ANA, "index")
    assert [record async for record in store.export(ANA)]
    assert await store.export_versions(ANA)


async def rebuild_and_forget(store: Any) -> None:
    """Replace and erase what can be replaced and erased."""
    session = await store.start_session(ANA, AT, holder=ME)
    await store.append_turns(ANA, session, [said("later", 100)])
    await store.end_session(ANA, session, None, "m")
    lease = await store.acquire_lease(ANA, ME, HOUR)
    for method in ("stage", "m"):
        for pending in await store.pending(method, ANA):
            turns, _ = await store.pending_input(ANA, pending.session, method)
            await store.commit_batch(
                *(ANA, pending.session, method, batch(turns[-1].id)),
                embedder="e",
                lease=lease,
                at=AT,
            )
    await store.carry_marks("stage", ANA)
    assert await store.promote("stage", "m", ANA) is not None
    await store.delete_method_data(["old"], ANA, replacement="m")
    assert await store.expire(ANA, AT + timedelta(seconds=1), AT)
    await store.forget(ANA, turn=(await store.turns(ANA))[0].id)
    memories = await store.memories(ANA)
    await store.forget(ANA, memory=memories[-1].id)
    await store.forget(ANA, memory=memories[0].id, keep_turns=True)
    await store.forget(ANA, session=(await store.turns(ANA))[-1].session)
    await store.forget(ANA, thread="thread")
    await store.forget(ANA)


@pytest.fixture
async def other_scope(store: Store) -> AsyncIterator[None]:
    """Another scope with data, so that the store exists and there is something not to be read."""
    await store.log_transcript(BEN, Transcript(key="t", turns=[said("ben", 0)], at=AT), "m")
    yield
    assert [turn.text for turn in await store.turns(BEN)] == ["ben"]


@pytest.mark.usefixtures("other_scope")
async def test_every_statement_about_a_scope_is_bound_to_it(
    store: Store, store_case: StoreCase
) -> None:
    assert isinstance(store, SqlStore)
    calls = Calls(store)
    with statements(store) as executed:
        await log_and_remember(calls)
        await read(calls)
        await rebuild_and_forget(calls)
    of_one_scope = {
        name
        for name, method in inspect.getmembers(Store, inspect.isfunction)
        if "scope" in inspect.signature(method).parameters
    }
    assert of_one_scope - calls.names == set()
    dialect = store.engine.dialect
    fixed = [(str(f.select.compile(dialect=dialect)), f.select) for f in FixedSelect.made]
    check([*executed, *fixed], scans=store_case.files)


async def test_what_is_not_bound_is_found() -> None:
    turn, session = t.turn.c, t.session.c
    own = sa.and_(session.scope == turn.scope, session.id == turn.session)
    joined = sa.select(turn.id).join(t.session, own)
    inner = sa.select(session.id).where(session.key == "k")
    assert list(find_unbound(joined.where(turn.scope == 1))) == []
    assert sorted(find_unbound(joined)) == ["session", "turn"]
    loose = sa.select(turn.id).join(t.session, session.id == turn.session)
    assert list(find_unbound(loose.where(turn.scope == 1))) == ["session"]
    within = t.turn.delete().where(turn.scope == 1, turn.session.in_(inner))
    assert list(find_unbound(within)) == ["session"]
    correlated = sa.exists().where(session.scope == turn.scope, session.id == turn.session)
    assert list(find_unbound(sa.select(turn.id).where(turn.scope == 1, correlated))) == ["session"]
    assert list(find_unbound(t.turn.update().values(text=""))) == ["turn"]
    joined = sa.select(turn.id).join(t.scope, names.id == turn.scope).where(turn.scope == 1)
    assert uses_names(joined)
    assert not is_lookup(joined)
    assert not is_lookup(sa.select(names.id).where(names.user == "", names.agent == ""))
    assert is_lookup(sa.select(names.user).where(names.id == 1))
