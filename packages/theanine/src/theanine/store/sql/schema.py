"""The tables of every SQL store.

The key of every table with a column ``scope`` begins with it, so that a database can be distributed
by it. The others, such as the scopes' names, are small and rarely written.

``metadata`` is a JSON object: the caller's own data or, of a memory, what its sources share.
``scope_state.epoch`` rises when cached rows become stale; ``next_*`` are counters that number a
scope's rows. Times are microseconds since 1970 UTC; ``zone`` is the UTC offset in minutes of a
turn, or of the turn that a memory's time comes from. The tables are created by ``migrations/``; a
test compares the two.

Some columns have older names than the values that they hold: ``turn.shared`` is
``Utterance.attachment``, ``memory.made_at`` is ``Memory.session_ended_at``, ``source`` holds
``Memory.source_turns``, ``origin`` holds ``Memory.derived_from`` and ``given`` holds imported
memories.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

metadata = sa.MetaData()


@event.listens_for(metadata, "before_create")
def _copy_conditions(_target: sa.MetaData, db: sa.Connection, **_options: Any) -> None:
    """Give indexes their conditions in PostgreSQL, whose dialect other stores need not load."""
    if db.dialect.name == "postgresql":
        for table in metadata.tables.values():
            for index in table.indexes:
                index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"][
                    "where"
                ]


_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
"""Text that every database sorts by its code points."""
_INTEGER = sa.Integer()


def _table(name: str, *columns: sa.Column[Any] | sa.Constraint | sa.Index) -> sa.Table:
    return sa.Table(name, metadata, *columns, sqlite_with_rowid=False)


def _key(name: str, kind: sa.types.TypeEngine[Any] = _INTEGER) -> sa.Column[Any]:
    return sa.Column(name, kind, primary_key=True, autoincrement=False)


def _only(condition: sa.TextClause) -> dict[str, Any]:
    """Return the options of an index of the rows that meet a condition."""
    return {"sqlite_where": condition}  # see _copy_conditions


setting = _table("setting", _key("name", _TEXT), sa.Column("value", _TEXT, nullable=False))

scope = sa.Table(
    "scope",  # the names of each scope, read once by what works in it; see scopes.py
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("tenant", _TEXT, nullable=False),
    sa.Column("agent", _TEXT, nullable=False),
    sa.Column("user", _TEXT, nullable=False),
    sa.UniqueConstraint("tenant", "agent", "user"),
    sqlite_autoincrement=True,  # never reuse a forgotten scope's number
)

scope_state = _table(
    "scope_state",  # one row for each scope: all about it that changes
    _key("scope"),
    sa.Column("epoch", _INTEGER, nullable=False, server_default="0"),
    sa.Column("next_session", _INTEGER, nullable=False, server_default="1"),
    sa.Column("next_turn", _INTEGER, nullable=False, server_default="1"),
    sa.Column("next_memory", _INTEGER, nullable=False, server_default="1"),
    sa.Column("next_mark", _INTEGER, nullable=False, server_default="1"),
    sa.Column("lease_holder", _TEXT),
    sa.Column("lease_until", sa.BigInteger),
    sa.Column("lease_number", _INTEGER, nullable=False, server_default="0"),
    sa.Column("time_zone", _TEXT),  # an IANA name
    sa.Column("retention", sa.BigInteger),  # seconds
    # Which state it is, so that of two exports the later one can be told; see versions.py.
    sa.Column("revision", _INTEGER, nullable=False, server_default="0"),
    sa.Column("restored_versions", _TEXT, nullable=False, server_default="{}"),
    sa.Column("recent_changes", _TEXT, nullable=False, server_default=""),  # see changes.py
    sa.Column("hidden", _TEXT, nullable=False, server_default=""),  # see hiding.py
    sa.Column("expires_at", sa.BigInteger),  # the earliest end of anything in it; see ends.py
)

holder = _table(
    "holder",  # processes with open sessions, until when they live by the database's clock
    _key("name", _TEXT),
    sa.Column("until", sa.BigInteger, nullable=False),
)

reservation = _table(
    "reservation",  # what model calls under way may use of a budget
    _key("scope"),
    _key("number", sa.BigInteger()),
    sa.Column("session", sa.Integer),
    sa.Column("holder", _TEXT, nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("cost", sa.Float, nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
)

session = _table(
    "session",
    _key("scope"),
    _key("id"),
    sa.Column("key", _TEXT, nullable=False),
    sa.Column("started_at", sa.BigInteger, nullable=False),
    sa.Column("ended_at", sa.BigInteger),
    sa.Column("dated", sa.Boolean, nullable=False),
    sa.Column("holder", _TEXT, nullable=False, server_default=""),
    sa.Column("metadata", _TEXT, nullable=False, server_default="{}"),
    sa.Column("thread", _TEXT),
    sa.Column("pause", sa.BigInteger),  # microseconds without a turn that end it
    sa.Index("session_key", "scope", "key", unique=True),
    sa.Index("session_thread", "scope", "thread"),
    sa.Index("session_open", "scope", "id", **_only(sa.text("ended_at IS NULL"))),
)

turn = _table(
    "turn",
    _key("scope"),
    _key("id"),
    sa.Column("session", sa.Integer, nullable=False),
    sa.Column("key", _TEXT),
    sa.Column("speaker", _TEXT, nullable=False),
    sa.Column("role", _TEXT, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("zone", sa.Integer, nullable=False),
    sa.Column("text", _TEXT, nullable=False),
    sa.Column("shared", _TEXT, nullable=False),
    sa.Column("recalled", _TEXT, nullable=False),
    sa.Column("notes", _TEXT, nullable=False, server_default="{}"),
    sa.Column("metadata", _TEXT, nullable=False, server_default="{}"),
    # Last, because it can be large: other columns are read without it.
    sa.Column("content", _TEXT, nullable=False, server_default=""),
    sa.Index("turn_session", "scope", "session"),
    sa.Index("turn_key", "scope", "session", "key", unique=True),
)

given = _table(
    "given",  # memories that were imported with a session
    _key("scope"),
    _key("session"),
    _key("position"),
    sa.Column("text", _TEXT, nullable=False),
    sa.Column("speakers", _TEXT, nullable=False),
    sa.Column("source_keys", _TEXT, nullable=False),
)

remembering = _table(
    "remembering",  # a method's progress in an ended session
    _key("scope"),
    _key("session"),
    _key("method", _TEXT),
    sa.Column("remembered_at", sa.BigInteger),
    sa.Column("upto", sa.Integer, nullable=False, server_default="0"),  # last remembered turn
    sa.Column("given", sa.Integer, nullable=False, server_default="0"),  # last position
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("failure", _TEXT),
    sa.Column("retry_at", sa.BigInteger),  # no worker tries it before, by the database's clock
    sa.Column("set_aside", _TEXT),  # why no worker tries it: it has failed too often, or cancelled
    # Only of what is pending, so that workers find it among all that is remembered.
    sa.Index(
        "remembering_pending",
        *("method", "scope", "retry_at"),
        **_only(sa.text("remembered_at IS NULL AND set_aside IS NULL")),
    ),
)

memory = _table(
    "memory",
    _key("scope"),
    _key("id"),
    sa.Column("session", sa.Integer, nullable=False),
    sa.Column("method", _TEXT, nullable=False),
    sa.Column("kind", _TEXT, nullable=False),
    sa.Column("text", _TEXT, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("zone", sa.Integer, nullable=False, server_default="0"),
    sa.Column("made_at", sa.BigInteger, nullable=False),
    sa.Column("speakers", _TEXT, nullable=False),
    sa.Column("made_by", _TEXT, nullable=False),
    sa.Column("prompt", _TEXT, nullable=False),
    sa.Column("metadata", _TEXT, nullable=False, server_default="{}"),
    sa.Column("cues", _TEXT, nullable=False, server_default="[]"),
)

source = _table("source", _key("scope"), _key("memory"), _key("turn"))

origin = _table(
    "origin",  # the memories that a memory was derived from
    _key("scope"),
    _key("memory"),
    _key("origin"),
    sa.Index("origin_of", "scope", "origin"),
)

mark = _table(
    "mark",  # memories that are no longer live
    _key("scope"),
    _key("id"),
    sa.Column("memory", sa.Integer, nullable=False),
    sa.Column("kind", _TEXT, nullable=False),
    sa.Column("by", sa.Integer),
    sa.Column("session", sa.Integer, nullable=False),
    sa.Column("method", _TEXT, nullable=False),
    sa.Column("reason", _TEXT, nullable=False),
    sa.Column("made_by", _TEXT, nullable=False),
    sa.Column("prompt", _TEXT, nullable=False),
)

erased = _table(
    "erased",  # tombstones: salted hashes that block the re-import of erased data
    _key("scope"),
    _key("session"),
    _key("hash", _TEXT),
)

erased_scope = _table(
    "erased_scope",  # tombstones of scopes: a salted hash of the names, and the last versions
    _key("hash", _TEXT),
    sa.Column("versions", _TEXT, nullable=False),
)

link = _table(
    "link",
    _key("scope"),
    _key("newer"),
    _key("older"),
    sa.Column("method", _TEXT, nullable=False),
    sa.Column("relation", _TEXT),
    sa.Column("explanation", _TEXT, nullable=False),
    sa.Column("similarity", sa.Float, nullable=False),
    sa.Column("made_by", _TEXT, nullable=False),
    sa.Column("prompt", _TEXT, nullable=False),
)

embedder = sa.Table(
    "embedder",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", _TEXT, nullable=False, unique=True),
    sa.Column("dimension", sa.Integer, nullable=False),
    sa.Column("active", sa.Boolean, nullable=False),
)

vector = _table(
    "vector",
    _key("scope"),
    _key("embedder"),
    _key("memory"),
    sa.Column("data", sa.LargeBinary, nullable=False),  # float16, unit norm
)

sidecar = _table(
    "sidecar",  # what can be derived from the other tables, where there are no files for it
    _key("scope"),
    _key("name", _TEXT),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
event.listen(
    sidecar,
    "after_create",  # vectors can't be compressed, and trying takes longer than writing them
    sa.DDL("ALTER TABLE sidecar ALTER data SET STORAGE EXTERNAL").execute_if(dialect="postgresql"),
)

journal = _table(
    "journal",
    _key("scope"),
    _key("key", _TEXT),
    sa.Column("step", _TEXT, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("model", _TEXT, nullable=False),
    sa.Column("settings", _TEXT, nullable=False),
    sa.Column("prompt", _TEXT, nullable=False),
    sa.Column("reply", _TEXT, nullable=False),
    sa.Column("error", _TEXT, nullable=False),
    sa.Column("rejected", sa.Boolean, nullable=False),
    sa.Column("input_tokens", sa.Integer, nullable=False),
    sa.Column("output_tokens", sa.Integer, nullable=False),
    sa.Column("cost", sa.Float),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("session", sa.Integer),
    sa.Column("touches", _TEXT, nullable=False),
    # Covers sums of costs, which would otherwise read all prompts.
    sa.Index(
        "journal_costs",
        *("scope", "session", "step", "model"),
        *("rejected", "input_tokens", "output_tokens", "cost", "seconds"),
    ),
)

api_key = _table(
    "api_key",  # keys of the service; their secrets are stored as hashes
    _key("id", _TEXT),
    sa.Column("hash", _TEXT, nullable=False),
    sa.Column("name", _TEXT, nullable=False),
    sa.Column("tenant", _TEXT, nullable=False),
    sa.Column("user", _TEXT),
    sa.Column("agent", _TEXT),
    sa.Column("rights", _TEXT, nullable=False),
    sa.Column("rate", sa.Integer),  # requests a minute
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger),
    sa.Column("revoked_at", sa.BigInteger),
    sa.Column("maker", _TEXT),  # the key that made it
)

operation = _table(
    "operation",  # long work that a request to the service has started
    _key("id", _TEXT),
    sa.Column("tenant", _TEXT, nullable=False),
    sa.Column("user", _TEXT),
    sa.Column("agent", _TEXT),
    sa.Column("kind", _TEXT, nullable=False),
    sa.Column("options", _TEXT, nullable=False),
    sa.Column("state", _TEXT, nullable=False),
    sa.Column("cancelling", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("taking", sa.Integer, nullable=False, server_default="0"),  # fences late writers
    sa.Column("tries", sa.Integer, nullable=False, server_default="0"),
    sa.Column("until", sa.BigInteger),  # its process lives, by the database's clock
    sa.Column("done", sa.Integer, nullable=False, server_default="0"),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("ended_at", sa.BigInteger),
    sa.Column("result", _TEXT, nullable=False, server_default="{}"),
    sa.Column("error", _TEXT, nullable=False, server_default=""),
    sa.Column("not_before", sa.BigInteger),  # by the database's clock
    sa.Index("operation_state", "state", "created_at"),
    sa.Index("operation_tenant", "tenant", "created_at"),
)

audit = _table(
    "audit",  # requests to the service; users are in it by pseudonyms
    _key("id", _TEXT),  # begins with the time
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("tenant", _TEXT, nullable=False),
    sa.Column("key", _TEXT, nullable=False),
    sa.Column("user", _TEXT),
    sa.Column("agent", _TEXT),
    sa.Column("action", _TEXT, nullable=False),
    sa.Column("request", _TEXT, nullable=False),
    sa.Column("status", sa.Integer, nullable=False),
    sa.Column("request_id", _TEXT, nullable=False),
    sa.Index("audit_tenant", "tenant", "id"),
)

idempotent_request = _table(
    "idempotent_request",  # requests to the service that are carried out once, with their answers
    _key("tenant", _TEXT),
    _key("api_key", _TEXT),  # empty without keys
    _key("name", _TEXT),  # hash of the key that the client sent
    sa.Column("fingerprint", _TEXT, nullable=False),
    sa.Column("user", _TEXT),
    sa.Column("agent", _TEXT),
    sa.Column("taking", sa.Integer, nullable=False),  # fences late writers
    sa.Column("holder", _TEXT, nullable=False),
    sa.Column("until", sa.BigInteger),  # its process lives, by the database's clock; null: it ended
    sa.Column("changed", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("kept", sa.Boolean, nullable=False, server_default=sa.true()),
    sa.Column("status", sa.Integer),
    sa.Column("headers", _TEXT, nullable=False, server_default="{}"),
    sa.Column("body", sa.LargeBinary),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Index("idempotent_request_expiry", "expires_at"),
    sa.Index("idempotent_request_user", "tenant", "user", "agent"),
)

webhook = _table(
    "webhook",  # URLs that get messages about changes
    _key("id", _TEXT),
    sa.Column("tenant", _TEXT, nullable=False),
    sa.Column("user", _TEXT),
    sa.Column("agent", _TEXT),
    sa.Column("name", _TEXT, nullable=False),
    sa.Column("url", _TEXT, nullable=False),
    sa.Column("kinds", _TEXT, nullable=False),
    sa.Column("secret", _TEXT, nullable=False),  # as it is, since it signs
    sa.Column("former_secret", _TEXT),  # signs, too, for a while
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("disabled", _TEXT),  # why
    # By the database's clock:
    sa.Column("former_until", sa.BigInteger),
    sa.Column("failing_since", sa.BigInteger),  # the last success was before
    sa.Column("not_before", sa.BigInteger),  # nothing is sent
    sa.Column("until", sa.BigInteger),  # the process that sends lives
    sa.Column("failures", sa.Integer, nullable=False, server_default="0"),  # in a row
    sa.Column("taking", sa.Integer, nullable=False, server_default="0"),  # fences late writers
    sa.Column("holder", _TEXT, nullable=False, server_default=""),
    sa.Index("webhook_tenant", "tenant"),
)

webhook_delivery = _table(
    "webhook_delivery",  # messages for webhooks, stored with the change that they are about
    _key("webhook", _TEXT),
    _key("id", _TEXT),  # begins with the time
    sa.Column("tenant", _TEXT, nullable=False),
    sa.Column("kind", _TEXT, nullable=False),
    sa.Column("payload", _TEXT, nullable=False),
    sa.Column("state", _TEXT, nullable=False, server_default="waiting"),
    sa.Column("tries", sa.Integer, nullable=False, server_default="0"),
    sa.Column("status", sa.Integer),
    sa.Column("error", _TEXT, nullable=False, server_default=""),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("tried_at", sa.BigInteger),  # by the database's clock
    sa.Column("not_before", sa.BigInteger, nullable=False, server_default="0"),  # likewise
    sa.Index(
        "webhook_delivery_waiting",
        *("webhook", "not_before", "id"),
        **_only(sa.text("state = 'waiting'")),
    ),
    sa.Index("webhook_delivery_age", "created_at"),
)
