"""Operations on the records of a user: list, read, correct, pin and forget them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Unpack

from anyio import to_thread

from theanine.client.arguments import check_arguments
from theanine.client.engine import Engine
from theanine.client.options import ListArguments, Moment
from theanine.client.own_ends import read_ends, with_ends
from theanine.errors import BadInput, NotFound, SettingsError
from theanine.quotes import without_attribution
from theanine.store.values import ForgetReport, Hidden, UserSettings
from theanine.telemetry import memory_operation
from theanine.types import (
    LIVE_KINDS,
    REPLACED,
    Link,
    Mark,
    Memory,
    Scope,
    Session,
    Timeline,
    Turn,
)

if TYPE_CHECKING:
    from theanine.profile import Profile


@check_arguments
class RecordOperations:
    """Operations on the records of one user.

    Lists come in the order of ids, which is that of logging, or the other way round with
    ``newest_first``. They take:

    - ``limit``: at most so many; ``after``: those that come after the one with this id, to go on
      where a page has ended;
    - ``search``: words that each has, in any case and order;
    - ``since``, ``until``: what was said at or after, and at or before; a day is read in the user's
      time zone, as ``date(2024, 5, 1)``, ``"2024-05-01"``, ``"last week"`` or ``"3 weeks ago"``;
    - ``where``: what its metadata matches, such as ``{"channel": "web"}``; see
      :mod:`theanine.filters`;
    - ``due``: only what is to be verified, because its ``verify_by`` has passed, and was not
      corrected since.

    While a list is read in pages, what was there at the start comes exactly once.
    """

    _engine: Engine
    scope: Scope
    name: str

    # lists

    async def sessions(
        self, *, thread: str | None = None, **options: Unpack[ListArguments]
    ) -> list[Session]:
        """Return the sessions in time order, all or one thread's; pages by id.

        Pages are lists with ``limit`` or ``after``.
        ``search`` finds sessions whose title and turns together have all the words, ``where``
        those that match themselves or by one of their turns.
        """
        listing = await self._engine.listing(self.scope, options)
        found = await self._engine.store.list_sessions(
            self.scope, listing, self._engine.stored_method, thread=thread
        )
        if listing.limit is None and listing.after is None and not listing.newest_first:
            found.sort(key=lambda session: session.order)
        return found

    async def turns(
        self,
        *,
        session: int | None = None,
        thread: str | None = None,
        ids: Sequence[int] | None = None,
        with_content: bool = False,
        **options: Unpack[ListArguments],
    ) -> list[Turn]:
        """Return turns: all, those of one session or thread, or those of ``ids``.

        A thread is all sessions of a key: ``user.session(key)``. With ``with_content``, turns of
        messages with several parts have these, images included, in ``Turn.content``.
        """
        listing = await self._engine.listing(self.scope, options)
        store = self._engine.store
        if ids is None and options:
            return await store.list_turns(
                self.scope, listing, session=session, thread=thread, with_content=with_content
            )
        if options or (ids is not None and thread is not None):
            raise SettingsError("turns() takes ids or options of a list, not both")
        found = await store.turns(
            self.scope, session=session, thread=thread, ids=ids, with_content=with_content
        )
        if hidden := await self._hidden():
            return [turn for turn in found if not hidden.has_turn(turn.id, turn.session)]
        return found

    async def memories(
        self, *, pinned: bool | None = None, **options: Unpack[ListArguments]
    ) -> list[Memory]:
        """Return memories: all, or only those that are ``pinned``, or not."""
        listing = await self._engine.listing(self.scope, options)
        method = self._engine.stored_method
        if pinned is None and not options:
            found = await self._engine.store.memories(self.scope, method=method)
            return _shown(found, await self._hidden())
        return await self._engine.store.list_memories(self.scope, listing, method, pinned=pinned)

    async def marks(self) -> list[Mark]:
        """Return the marks of memories that are not in effect, in the order of their ids."""
        marks = await self._engine.store.marks(self.scope, method=self._engine.stored_method)
        marks = [mark for mark in marks if mark.kind not in LIVE_KINDS]
        if marks and await self._hidden():
            shown = {None, *(memory.id for memory in await self.memories())}
            return [mark for mark in marks if {mark.memory, mark.by} <= shown]
        return marks

    async def links(self) -> list[Link]:
        """Return the links between memories."""
        links = await self._engine.store.links(self.scope, method=self._engine.stored_method)
        if links and await self._hidden():
            shown = {memory.id for memory in await self.memories()}
            return [link for link in links if link.older in shown and link.newer in shown]
        return links

    async def timelines(self, memory: int | None = None) -> list[Timeline]:
        """Return what is remembered of each matter, oldest first, as a timeline with a title.

        The timeline with the newest memory comes first. A memory is in at most one; what nothing
        else belongs to, and what only repeats another memory, is in none. With ``memory``, only the
        timeline of that one, which may be alone in it. Raises NotFound for an unknown memory.
        """
        index = (await self._engine.recalling.context(self.scope)).index
        memories = [each for each in index.memories if index.includes(each.id)]
        if memory is not None and memory not in {each.id for each in memories}:
            raise self._unknown(memory)
        links = [*index.graph.links.values()]
        assistants = await self._engine.store.assistants(self.scope)
        from theanine.linking.topics import find_timelines  # takes long to load

        return await to_thread.run_sync(find_timelines, memories, links, memory, assistants)

    async def profile(self, *, as_of: Moment | None = None, with_model: bool = False) -> Profile:
        """Return what is known of the user, in the user's own words; no model is asked.

        What holds now by area, with its turn, since when, what it was before and how sure it is;
        what changed lately; and the people, places and things that come up. It is made from the
        log as it is now: what was corrected or forgotten counts at once. With ``as_of``, it is what
        was known then.

        With ``with_model``, the client's language model writes the lines, in one call, each with
        the turns that support it: short sentences instead of the user's words
        (``ProfileLine.made_by``). The same words of the same user are asked about once; then the
        reply is replayed.

        Raises SettingsError for a time that can't be read, and for ``with_model`` without a model;
        ModelError if the model fails, and Stale if something was forgotten meanwhile.
        """
        options = await self._engine.recall_options(self.scope, {"as_of": as_of})
        return await self._engine.recalling.profile(
            self.scope, self.name, options, with_model=with_model
        )

    # one memory

    async def get(self, memory: int) -> Memory:
        """Return the memory with this id. Raises NotFound."""
        found = await self._engine.store.memories(self.scope, ids=[memory])
        if not (found := _shown(found, await self._hidden())):
            raise self._unknown(memory)
        return found[0]

    async def history(self, memory: int) -> list[Memory]:
        """Return what the memory was before and what it became, with itself, oldest first.

        These are the memories that changes and corrections join with it, directly or not. Raises
        NotFound.
        """
        known = await self.get(memory)
        store = self._engine.store
        changes = [
            (link.older, link.newer)
            for link in await store.links(self.scope, method=known.method)
            if link.relation in REPLACED
        ]
        changes += [
            (mark.memory, mark.by)
            for mark in await store.marks(self.scope, method=known.method)
            if mark.by is not None
        ]
        versions, last = {memory}, set[int]()
        while versions != last:
            last = set(versions)
            versions |= {number for pair in changes if not last.isdisjoint(pair) for number in pair}
        found = await store.memories(self.scope, ids=sorted(versions))
        found = _shown(found, await self._hidden())
        return sorted(found, key=lambda version: version.order)

    async def correct(
        self,
        memory: int,
        text: str,
        *,
        expires: Moment | None = None,
        verify_by: Moment | None = None,
    ) -> Memory:
        """Replace what a memory says, and return the new one. Nothing is lost of the old one.

        The correction is logged as a turn of the user, in a session of its own. The old memory
        stays, marked as corrected and linked as changed: recall returns the new one, and where it
        quotes the old words, with a note that they were corrected. The new one expires when the old
        one would have, and is verified, unless ``expires`` and ``verify_by`` say otherwise, as of
        :meth:`AsyncLiveSession.hear`: to confirm what a memory says, correct it by its own text.

        Raises NotFound, and BadInput for an empty text or a memory that was corrected before.
        """
        embedder, redact = self._engine.embedder, self._engine.redact
        text = redact(text) if redact else text
        ends = with_ends(None, expires, verify_by)
        if ends:
            now = await self._engine.now(self.scope)
            ends = read_ends(ends, now, now)
        with memory_operation("update_memory", self.scope.agent, self.scope.tenant):
            [vector] = await embedder.embed([without_attribution(text)])
            return await self._engine.store.correct_memory(
                self.scope,
                memory,
                text,
                vector,
                speaker=self.name,
                embedder=embedder.name,
                at=self._engine.clock(),
                ends=ends,
            )

    async def pin(self, memory: int) -> bool:
        """Have a memory in every recollection, as far as its budget goes; False if it was pinned.

        Bounds and filters of a recall hold for it too. Raises NotFound, and BadInput for a memory
        that was corrected.
        """
        return await self._set_pin(memory, True)

    async def unpin(self, memory: int) -> bool:
        """Take the pin off a memory; False if it was not pinned. Raises NotFound."""
        return await self._set_pin(memory, False)

    async def _set_pin(self, memory: int, pinned: bool) -> bool:
        with memory_operation("update_memory", self.scope.agent, self.scope.tenant):
            return await self._engine.store.set_pin(self.scope, memory, pinned)

    async def _hidden(self) -> Hidden:
        """Return what is about to be erased, and not shown any more."""
        return await self._engine.hidden(self.scope)

    def _unknown(self, memory: int) -> NotFound:
        return NotFound(f"{self.scope} has no memory {memory}; `theanine memories` lists them")

    # settings and forgetting

    async def settings(self) -> UserSettings:
        """Return what is set for this user."""
        return await self._engine.store.settings(self.scope)

    async def set_time_zone(self, name: str | None) -> None:
        """Set the user's time zone by its IANA name, such as ``Europe/Zagreb``; None unsets it.

        Dates in recollections, days in options such as ``since``, and words like "yesterday" in
        questions are then read in it. Raises SettingsError for an unknown name.
        """
        await self._engine.store.set_time_zone(self.scope, name)

    async def set_retention(self, retention: timedelta | None) -> None:
        """Set how long this user's turns and memories are kept; None leaves it to the store.

        What is older is forgotten by the next ``remember`` or ``expire``. Raises SettingsError for
        less than a minute.
        """
        await self._engine.store.set_retention(self.scope, retention)

    async def forget(
        self,
        *,
        session: int | None = None,
        thread: str | None = None,
        turn: int | Sequence[int] | None = None,
        memory: int | None = None,
        keep_turns: bool = False,
    ) -> ForgetReport:
        """Erase one thing from every file of the store: a session, thread, turn or memory.

        All that was made from it goes as well. A thread is all sessions of that key; ``turn`` can
        name several turns, which go in one step; those that are gone are passed over. A memory goes
        with the turns that support it and no other memory; with ``keep_turns`` they stay, and can
        be found and remembered again.
        :meth:`forget_all` erases the user.

        Raises NotFound if none of it is there, and BadInput unless exactly one thing is named.
        """
        if (session, thread, turn, memory) == (None,) * 4:
            raise BadInput(
                "nothing to forget: name one session=, thread=, turn= or memory=, which must not "
                "be None; forget_all() erases the user"
            )
        with memory_operation("delete_memory", self.scope.agent, self.scope.tenant):
            return await self._engine.store.forget(
                self.scope,
                session=session,
                thread=thread,
                memory=memory,
                turn=turn,
                keep_turns=keep_turns,
            )

    async def forget_all(self) -> ForgetReport:
        """Erase the user, with everything that was said, made and set, from every file.

        Raises NotFound for a user who has no data.
        """
        with memory_operation("delete_memory_store", self.scope.agent, self.scope.tenant):
            return await self._engine.store.forget(self.scope)


def _shown(memories: list[Memory], hidden: Hidden) -> list[Memory]:
    """Return the memories that are not hidden."""
    if not hidden:
        return memories
    return [memory for memory in memories if not hidden.has_memory(memory.id, memory.session)]
