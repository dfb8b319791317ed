"""Lists of sessions, turns and memories, filtered and in pages."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import sqlalchemy as sa

from theanine.clock import micros
from theanine.filters import NO_FILTER
from theanine.folding import fold
from theanine.store.sql import schema as t
from theanine.store.sql.memories import load_memories
from theanine.store.sql.rows import Columns, chunks, numbered, read_metadata
from theanine.store.sql.scopes import find_scope
from theanine.store.sql.turns import load_sessions, load_turns
from theanine.store.values import Hidden, Listing, TurnText
from theanine.types import PIN_KINDS, Memory, Metadata, Scope, Session, Turn

_ROWS = 500  # fetched at a time


def list_sessions(
    db: sa.Connection,
    scope: Scope,
    listing: Listing,
    method: str,
    *,
    thread: str | None = None,
) -> list[Session]:
    """Return a page of sessions; words to search for may be in the title or any turn."""
    scope_id = find_scope(db, scope)
    session = t.session.c
    found = _find_sessions(db, scope_id, listing) if listing.search or listing.where else None
    query = sa.select(session.id, session.metadata).where(session.scope == scope_id)
    if thread is not None:
        query = query.where(session.thread == thread)
    if sessions := listing.hidden.sessions:
        query = query.where(session.id.not_in(sessions))
    numbers = _select_page(
        db, query, session.id, session.started_at, replace(listing, where=NO_FILTER), found
    )
    by_number = {
        stored.id: stored
        for some in chunks(numbers)
        for stored in load_sessions(db, scope, method, ids=some)
    }
    return [by_number[number] for number in numbers]


def list_turns(
    db: sa.Connection,
    scope: Scope,
    listing: Listing,
    *,
    session: int | None = None,
    thread: str | None = None,
    with_content: bool = False,
) -> list[Turn]:
    """Return a page of turns."""
    turn, owner = t.turn.c, t.session.c
    scope_id = find_scope(db, scope)
    of_session = owner.metadata.label("session_metadata")
    query = (
        sa.select(turn.id, turn.speaker, turn.text, turn.shared, turn.metadata, of_session)
        .join(t.session, sa.and_(owner.scope == turn.scope, owner.id == turn.session))
        .where(turn.scope == scope_id)
    )
    if session is not None:
        query = query.where(turn.session == session)
    if thread is not None:
        query = query.where(owner.thread == thread)
    query = _shown(query, listing.hidden, turn.session, turn.id, listing.hidden.turns)
    if listing.in_effect:
        of_corrected = t.source.c.memory.in_(_select_corrected(scope_id))
        behind = sa.select(t.source.c.turn).where(t.source.c.scope == scope_id, of_corrected)
        query = query.where(turn.id.not_in(behind))

    def has_words(row: sa.Row[Any]) -> bool:
        return listing.matches(f"{row.speaker} {row.text} {row.shared}")

    numbers = _select_page(
        db, query, turn.id, turn.at, listing, has_words if listing.search else None
    )
    stored_turns = load_turns(db, scope, ids=numbers, with_content=with_content)
    by_number = {stored.id: stored for stored in stored_turns}
    return [by_number[number] for number in numbers]


def list_memories(
    db: sa.Connection,
    scope: Scope,
    listing: Listing,
    method: str,
    *,
    pinned: bool | None = None,
) -> list[Memory]:
    """Return a page of a method's memories."""
    memory = t.memory.c
    scope_id = find_scope(db, scope)
    query = sa.select(memory.id, memory.text, memory.speakers, memory.metadata)
    query = query.where(memory.scope == scope_id, memory.method == method)
    if pinned is not None:
        last = (
            sa.select(sa.func.max(t.mark.c.id))
            .where(t.mark.c.scope == scope_id, t.mark.c.kind.in_(PIN_KINDS))
            .group_by(t.mark.c.memory)
        )
        pins = sa.select(t.mark.c.memory).where(
            t.mark.c.scope == scope_id, t.mark.c.kind == "pinned", t.mark.c.id.in_(last)
        )
        # A correction took the pin over: none of a corrected memory is in a recollection.
        pins = pins.where(t.mark.c.memory.not_in(_select_corrected(scope_id)))
        query = query.where(memory.id.in_(pins) if pinned else memory.id.not_in(pins))
    query = _shown(query, listing.hidden, memory.session, memory.id, listing.hidden.memories)
    if listing.in_effect:
        query = query.where(memory.id.not_in(_select_corrected(scope_id)))

    def has_words(row: sa.Row[Any]) -> bool:
        return listing.matches(" ".join([*json.loads(row.speakers), row.text]))

    numbers = _select_page(
        db, query, memory.id, memory.at, listing, has_words if listing.search else None
    )
    by_number = {stored.id: stored for stored in load_memories(db, scope, ids=numbers)}
    return [by_number[number] for number in numbers]


def _select_corrected(scope_id: int) -> sa.Select[int]:
    mark = t.mark.c
    return sa.select(mark.memory).where(mark.scope == scope_id, mark.kind == "corrected")


def _shown(
    query: sa.Select[*Columns],
    hidden: Hidden,
    session: sa.Column[int],
    number: sa.Column[int],
    numbers: frozenset[int],
) -> sa.Select[*Columns]:
    """Leave out the rows that are hidden."""
    if not hidden:
        return query
    return query.where(session.not_in(hidden.sessions), number.not_in(numbers))


def _find_sessions(
    db: sa.Connection, scope_id: int, listing: Listing
) -> Callable[[sa.Row[Any]], bool]:
    """Return whether a session has the words, in its title or turns, and metadata that matches.

    The metadata is its own or, since most applications give it to turns, that of any of its turns.
    """
    turn, wanted, where = t.turn.c, listing.words, listing.where
    found: defaultdict[int, set[str]] = defaultdict(set)
    matching: set[int] = set()
    query = sa.select(turn.session, turn.speaker, turn.text, turn.shared, turn.metadata)
    query = query.where(turn.scope == scope_id).execution_options(yield_per=_ROWS)
    own = {
        row.id: row.metadata
        for row in db.execute(
            sa.select(t.session.c.id, t.session.c.metadata).where(t.session.c.scope == scope_id)
        )
    }
    for id, metadata in own.items():
        title = fold(str(read_metadata(metadata).get("title", "")))
        found[id].update(word for word in wanted if word in title)
    for row in db.execute(query):
        text = fold(f"{row.speaker} {row.text} {row.shared}")
        found[row.session].update(word for word in wanted if word in text)
        if where.matches(read_metadata(own.get(row.session), row.metadata)):
            matching.add(row.session)
    return lambda row: (
        found[row.id] >= wanted
        and (row.id in matching or where.matches(read_metadata(row.metadata)))
    )


def _select_page(
    db: sa.Connection,
    query: sa.Select[*Columns],
    number: sa.Column[int],
    at: sa.Column[int],
    listing: Listing,
    is_wanted: Callable[[sa.Row[Any]], bool] | None,
) -> list[int]:
    """Return the numbers of the rows on a page; ``is_wanted`` decides on each, None on none."""
    if listing.after is not None:
        after = listing.after
        query = query.where(number < after if listing.newest_first else number > after)
    if listing.since is not None:
        query = query.where(at >= micros(listing.since))
    if listing.until is not None:
        query = query.where(at <= micros(listing.until))
    query = query.order_by(number.desc() if listing.newest_first else number)

    def matching(rows: Iterable[Any]) -> Iterator[int]:
        for row in rows:
            if listing.where and not listing.where.matches(
                read_metadata(getattr(row, "session_metadata", None), row.metadata)
            ):
                continue
            if is_wanted is None or is_wanted(row):
                yield row.id

    if listing.hidden.everything:
        return []
    with db.execute(query.execution_options(yield_per=_ROWS)) as rows:
        return list(islice(matching(rows), listing.limit))


def load_turn_metadata(
    db: sa.Connection, scope: Scope, *, after: int = 0, upto: int | None = None
) -> list[tuple[int, Metadata]]:
    """Return numbers and metadata, with their session's, of turns that have any."""
    turn, session = t.turn.c, t.session.c
    own = sa.and_(session.scope == turn.scope, session.id == turn.session)
    query = (
        sa.select(turn.id, turn.metadata, session.metadata.label("session_metadata"))
        .join_from(t.turn, t.session, own)
        .where(turn.scope == find_scope(db, scope), numbered(turn.id, after, upto))
        .where(sa.or_(turn.metadata != "{}", session.metadata != "{}"))
        .order_by(turn.id)
    )
    return [
        (row.id, read_metadata(row.session_metadata, row.metadata)) for row in db.execute(query)
    ]


def load_turn_texts(
    db: sa.Connection, scope: Scope, *, after: int = 0, upto: int | None = None
) -> list[TurnText]:
    """Return what a search for words needs of turns, by number."""
    turn = t.turn.c
    query = (
        sa.select(turn.id, turn.session, turn.at, turn.speaker, turn.text, turn.shared)
        .where(turn.scope == find_scope(db, scope), numbered(turn.id, after, upto))
        .order_by(turn.id)
    )
    return [TurnText(*row) for row in db.execute(query)]
