"""Metadata in the store: what is logged with turns and sessions, and what memories inherit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from theanine.errors import BadInput
from theanine.store import Store
from theanine.types import MemoryBatch, Metadata, NewMemory

from .conftest import CASES, StoreCase
from .test_store import ANA, AT, METHOD, export, remember, transcript, unit, utterance_at

pytestmark = pytest.mark.anyio

VALUES: Metadata = {"channel": "web", "priority": 2, "paid": True, "score": 0.5, "topic": None}


async def test_turns_and_sessions_keep_their_metadata(store: Store) -> None:
    session = await store.start_session(ANA, AT, key="thread", metadata={"channel": "web"})
    heard = await store.append_turns(
        ANA,
        session,
        [utterance_at("one", metadata=VALUES), utterance_at("two", metadata={"channel": "app"})],
    )
    assert await store.turns(ANA) == heard
    assert [turn.metadata for turn in heard] == [VALUES, {"channel": "app"}]
    [stored] = await store.sessions(ANA, METHOD)
    assert stored.metadata == {"channel": "web"}
    [third] = await store.append_turns(ANA, session, [utterance_at("three", 1)])
    assert third.metadata == {"channel": "web"}, "a turn has its session's metadata too"


async def test_a_sessions_metadata_never_changes(store: Store) -> None:
    session = await store.start_session(ANA, AT, key="thread", metadata={"channel": "web"})
    assert await store.start_session(ANA, AT, key="thread") == session
    assert await store.start_session(ANA, AT, key="thread", metadata={"channel": "web"}) == session
    with pytest.raises(BadInput, match="'thread' has other metadata"):
        await store.start_session(ANA, AT, key="thread", metadata={"channel": "app"})
    imported = transcript("file", "one", metadata={"channel": "web"})
    await store.log_transcript(ANA, imported, METHOD)
    await store.log_transcript(ANA, imported, METHOD)
    with pytest.raises(BadInput, match="'file' has other metadata"):
        await store.log_transcript(ANA, replace(imported, metadata={"channel": "app"}), METHOD)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (["web"], "must be a mapping"),
        ({"": 1}, "a key of the metadata is empty"),
        ({3: 1}, "a key of the metadata must be a string"),
        ({"tags": ["a"]}, "'tags' must be a string, a number"),
        ({"at": AT}, "isoformat"),
        ({"ratio": float("nan")}, "'ratio' is nan"),
        ({"a\0b": "text"}, "NUL or half of a character, at character 2"),
        ({"text": "x" * 20_000}, "longer than 16,384 characters"),
    ],
)
async def test_unusable_metadata_is_refused(store: Store, metadata: Any, message: str) -> None:
    session = await store.start_session(ANA, AT)
    with pytest.raises(BadInput, match=message):
        await store.append_turns(ANA, session, [utterance_at("one", metadata=metadata)])
    with pytest.raises(BadInput, match=message):
        await store.start_session(ANA, AT, metadata=metadata)
    with pytest.raises(BadInput, match=message):
        await store.log_transcript(ANA, transcript("s", "one", metadata=metadata), METHOD)


@pytest.mark.parametrize("odd", ["\0", "\ud83d"])
async def test_odd_characters_of_metadata_are_repaired(store: Store, odd: str) -> None:
    session = await store.start_session(ANA, AT, metadata={"channel": f"we{odd}b"})
    [turn] = await store.append_turns(ANA, session, [utterance_at("x", metadata={"a": odd})])
    assert turn.metadata == {"channel": "we\ufffdb", "a": "\ufffd"}
    logged = transcript("file", "one", metadata={"channel": odd})
    await store.log_transcript(ANA, logged, METHOD)
    assert (await store.sessions(ANA, METHOD))[-1].metadata == {"channel": "\ufffd"}


async def test_memories_inherit_what_their_sources_share(store: Store) -> None:
    session = await store.start_session(ANA, AT, metadata={"channel": "web", "bot": "a"})
    utterances = [
        utterance_at("one", metadata={"topic": "food", "level": 1}),
        utterance_at("two", metadata={"topic": "food", "level": True}),
        utterance_at("three", metadata={"topic": "ships", "bot": "b"}),
    ]
    await store.append_turns(ANA, session, utterances)
    await store.end_session(ANA, session, AT, METHOD)
    common: dict[str, Any] = {"at": AT}
    memories = [
        NewMemory(text="1 and 2", source_turns=(1, 2), **common),
        NewMemory(text="2 and 3", source_turns=(2, 3), **common),
        NewMemory(text="all", source_turns=(), derived_from_new=(0, 1), **common),
        NewMemory(text="none", source_turns=(), **common),
    ]
    made = await remember(
        store, ANA, session, MemoryBatch(memories=memories, vectors=unit(len(memories)))
    )
    assert [memory.metadata for memory in made] == [
        {"channel": "web", "bot": "a", "topic": "food"},
        {"channel": "web"},
        {"channel": "web"},
        {"channel": "web", "bot": "a"},
    ]
    assert await store.memories(ANA) == made


@pytest.mark.parametrize("case", CASES)
async def test_metadata_is_exported_and_restored(case: StoreCase, tmp_path: Path) -> None:
    source, target = case.make(tmp_path / "a"), case.make(tmp_path / "b")
    await source.open()
    await target.open()
    await source.log_transcript(ANA, transcript("plain", "zero"), METHOD)
    plain = await export(source)
    assert not [record for record in plain if "metadata" in record]
    await source.log_transcript(ANA, transcript("new", "one", day=1, metadata=VALUES), METHOD)
    new = NewMemory(text="one", at=AT, source_turns=(2,))
    await remember(source, ANA, 2, MemoryBatch(memories=[new], vectors=unit(1)))
    records = json.loads(json.dumps(await export(source)))
    await target.restore(records)
    assert await export(target) == records
    assert [turn.metadata for turn in await target.turns(ANA)] == [{}, VALUES]
    assert (await target.memories(ANA))[0].metadata == VALUES
    [bad] = [dict(record) for record in records if record["type"] == "turn"][-1:]
    with pytest.raises(BadInput, match="'tags' must be a string"):
        await target.restore([{**bad, "metadata": {"tags": []}}], partial=True)
    await source.close()
    await target.close()


async def test_a_forgotten_sessions_metadata_is_in_no_file(
    store: Store, store_case: StoreCase, tmp_path: Path
) -> None:
    secret = "confidential-ticket-4711"
    session = await store.start_session(ANA, AT, metadata={"ticket": secret})
    await store.append_turns(ANA, session, [utterance_at("one")])
    await store.start_session(ANA, AT)
    await store.end_session(ANA, session, AT, METHOD)
    new = NewMemory(text="one", at=AT, source_turns=(1,))
    await remember(store, ANA, session, MemoryBatch(memories=[new], vectors=unit(1)))
    receipt = await store.forget(ANA, session=session)
    assert receipt.verified or receipt.remaining
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert bool(files) == store_case.files
    assert not [path for path in files if secret.encode() in path.read_bytes()]
