"""A recall with a deadline returns by then, by doing less, and says what it left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

import anyio
import pytest
from anyio import to_thread

import theanine
from theanine.client.deadline import LEAST
from theanine.embeddings.base import Scores, Vectors
from theanine.errors import SettingsError, StoreUnavailable
from theanine.llm.base import DEFAULT_REQUEST, Message, RawReply, RequestOptions
from theanine.store.sqlite import SqliteStore
from theanine.store.values import ScopeVersion
from theanine.testing import HashEmbedder, OverlapReranker, ScriptedModel
from theanine.types import Recollection, Scope

pytestmark = pytest.mark.anyio

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
SHORT = 2.0
"""Long enough for what is done in time to be done on a busy machine, too."""
LONG = 60.0
QUESTION = "Where do I live?"
HOMES = ["I live in Lisbon.", "I moved from Lisbon to Porto, so I live in Porto now."]


class Stuck(OverlapReranker):
    """Scores nothing until it is let, in a thread that can't be cancelled."""

    def __init__(self) -> None:
        self.let = Event()

    async def score(self, question: str, texts: Sequence[str]) -> Scores:
        """Like the base class, later."""
        await to_thread.run_sync(self.let.wait)
        return await super().score(question, texts)


class Silent(ScriptedModel):
    """A model that never answers."""

    async def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        options: RequestOptions = DEFAULT_REQUEST,
    ) -> RawReply:
        """Wait."""
        await anyio.sleep_forever()
        raise AssertionError("unreachable")


class Loading(HashEmbedder):
    """Embeds what was said only once it is let; a question at once."""

    def __init__(self) -> None:
        super().__init__(64)
        self.let = anyio.Event()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Like the base class, later."""
        await self.let.wait()
        return await super().embed(texts)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed at once."""
        return self.vectors(texts)


async def hear(location: Path, **options: Any) -> None:
    async with theanine.aopen(location, **options) as client:
        for day, text in enumerate(HOMES):
            await client.user("ana").add(text, at=AT + timedelta(days=day))


def words(found: Recollection) -> list[str]:
    return [part.text for part in found.parts]


async def test_in_time_nothing_is_left_out(tmp_path: Path) -> None:
    await hear(tmp_path / "m.db")
    async with theanine.aopen(tmp_path / "m.db") as client:
        ana = client.user("ana")
        assert await ana.recall(QUESTION, deadline=LONG) == await ana.recall(QUESTION)
        for bad in (0, -1.0, float("inf")):
            with pytest.raises(SettingsError, match="deadline must be above 0"):
                await ana.recall(QUESTION, deadline=bad)


async def test_a_slow_reranker_is_left_out(tmp_path: Path) -> None:
    await hear(tmp_path / "m.db")
    async with theanine.aopen(tmp_path / "m.db") as client:
        plain = await client.user("ana").recall(QUESTION)
    stuck = Stuck()
    async with theanine.aopen(tmp_path / "m.db", reranker=stuck) as client:
        ana = client.user("ana")
        found = await ana.recall(QUESTION, deadline=SHORT)
        assert words(found) == words(plain)
        assert found.notes == ("there was no time for a model within 2 s",)
        live = ana.session("t")
        await live.hear(QUESTION)
        reply = await live.reply(deadline=SHORT)
        assert reply.recollection.notes == found.notes and "Lisbon" in reply.text
        stuck.let.set()
        assert (await ana.recall(QUESTION, deadline=LONG)).notes == ()


async def test_a_slow_model_is_left_out(tmp_path: Path) -> None:
    """The lines of a timeline take the place of what the model would make of them."""
    await hear(tmp_path / "m.db")
    paper = "theanine-paper"
    async with theanine.aopen(tmp_path / "m.db", method=paper) as client:
        await client.user("ana").remember()
        plain = await client.user("ana").recall(QUESTION)
        assert plain.timelines
    async with theanine.aopen(tmp_path / "m.db", method=paper, model=Silent("")) as client:
        found = await client.user("ana").recall(QUESTION, deadline=SHORT)
        assert words(found) == words(plain)
        [note] = found.notes
        assert "no time for a model" in note


async def test_while_the_log_is_loaded_the_newest_turns_are_searched(tmp_path: Path) -> None:
    loading = Loading()
    await hear(tmp_path / "m.db", embedder=HashEmbedder(64))
    async with theanine.aopen(tmp_path / "m.db", embedder=loading) as client:
        ana = client.user("ana")
        [memory] = [each for each in await ana.memories() if "Porto" in each.text][:1]
        await ana.pin(memory.id)
        found = await ana.recall(QUESTION, deadline=SHORT)
        assert "Porto" in found.text and found.parts[0].pinned
        note = "there was only time to search the newest 500 turns within 2 s"
        assert found.notes == (note,)
        bounded = await ana.recall(QUESTION, until=AT, deadline=SHORT)
        assert "Lisbon" in bounded.text and "Porto" not in bounded.text
        assert bounded.notes == (note,)
        loading.let.set()  # it has gone on meanwhile
        assert (await ana.recall(QUESTION, deadline=LONG)).notes == ()


async def test_what_was_corrected_is_not_found_either(tmp_path: Path) -> None:
    loading = Loading()
    await hear(tmp_path / "m.db", embedder=HashEmbedder(64))
    async with theanine.aopen(tmp_path / "m.db", embedder=HashEmbedder(64)) as client:
        ana = client.user("ana")
        [wrong] = [each for each in await ana.memories() if "moved" in each.text]
        await ana.correct(wrong.id, "Ana lives in Faro.")
        await ana.add("I like tea.", at=AT + timedelta(days=9))
        whole = await ana.recall(QUESTION)
    async with theanine.aopen(tmp_path / "m.db", embedder=loading) as client:
        found = await client.user("ana").recall(QUESTION, deadline=SHORT)
        assert found.notes
        for each in (whole, found):
            assert "Faro" in each.text and "(corrected on" in each.text


class Gone(SqliteStore):
    """Answers nothing until it is let."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.let = anyio.Event()

    async def scope_version(self, scope: Scope) -> ScopeVersion:
        """Like the base class, later."""
        await self.let.wait()
        return await super().scope_version(scope)


async def test_a_store_that_gives_nothing_is_unavailable(tmp_path: Path) -> None:
    await hear(tmp_path / "m.db")
    store = Gone(tmp_path / "m.db")
    async with theanine.aopen(store) as client:
        ana = client.user("ana")
        for deadline, counted in ((1e-9, LEAST), (0.2, 0.2)):
            with pytest.raises(StoreUnavailable, match=f"gave nothing within {counted} s"):
                await ana.recall(QUESTION, deadline=deadline)
        store.let.set()
        assert (await ana.recall(QUESTION)).parts


async def test_other_methods_keep_a_deadline_too(tmp_path: Path) -> None:
    stuck = Stuck()
    async with theanine.aopen(tmp_path / "m.db", method="exchange", reranker=stuck) as client:
        ana = client.user("ana")
        await ana.add([{"role": "user", "content": HOMES[0]}], at=AT)
        found = await ana.recall(QUESTION, deadline=SHORT)
        stuck.let.set()
        assert "Lisbon" in found.text
        assert found.notes == ("there was no time for a model within 2 s",)
