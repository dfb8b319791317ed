"""Cache of the newest turns of threads, so that only newer ones must be read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from theanine.client.hiding import find_hidden
from theanine.clock import Clock
from theanine.messages import without_unpaired
from theanine.store.base import Store
from theanine.types import CALLED, Role, Scope, Turn

CAPACITY = 500
"""Maximum dialogues in a client's cache."""
KEPT, MOST_KEPT = 100, 1_000
"""Maximum turns of a dialogue that are kept, the newest ones; the second where more are shown."""


class Dialogue:
    """The turns of a thread, or of one session, as far as they were read: the newest ones.

    Attributes:
        session: number of the session of a dialogue without a thread; None before it has one.
    """

    def __init__(self, store: Store, scope: Scope, thread: str | None, clock: Clock) -> None:
        self.session: int | None = None
        self._store, self._scope, self._thread, self._clock = store, scope, thread, clock
        self._epoch = -1  # ScopeVersion.epoch when they were read; a later one may have erased some
        self._turns: list[Turn] = []  # in order and without gaps
        self._kept = KEPT
        self._before = 0  # the number of turns before them
        self._older_system: Turn | None = None  # the newest system turn before them
        self._searched = False  # whether it was looked for

    @property
    def last(self) -> Turn | None:
        """The last turn that was read; None without any."""
        return self._turns[-1] if self._turns else None

    def extend(self, turns: Iterable[Turn]) -> None:
        """Add turns that follow; another task may have added some of them."""
        last = self._turns[-1].id if self._turns else 0
        self._turns += [turn for turn in turns if turn.id > last]
        if (surplus := len(self._turns) - self._kept) > 0:
            removed, self._turns = self._turns[:surplus], self._turns[surplus:]
            self._before += surplus
            if system := _last_system(removed):
                self._older_system, self._searched = system, True

    async def shown(self, count: int | None, *, in_steps: bool = False) -> list[Turn]:
        """Return the newest ``count`` turns, or all with None, as a chat model can be shown them.

        Calls of tools and their results come together or not at all, and have their content. With
        ``in_steps``, up to half as many more are shown, so that the first one stays the same for
        some turns, and a provider's cache of the prompt is of use.
        """
        if in_steps and count is not None:
            step = max(count // 2, 1)
            await self._newest(count + step - 1)
            surplus = self._before + len(self._turns) - count
            count += surplus % step if surplus > 0 else 0
        turns, read = await self._newest(count), count
        while read is not None and len(turns) == read and turns[0].role == "tool":
            read *= 2  # its call may be before it
            turns = await self._newest(read)
        shown = _with_calls(turns, count)
        if tools := [turn.id for turn in shown if turn.role == "tool"]:
            full = await self._store.turns(self._scope, ids=tools, with_content=True)
            by_id = {turn.id: turn for turn in full}
            shown = without_unpaired([by_id.get(turn.id, turn) for turn in shown])
        return _in_time(shown)

    async def prompt(self, count: int | None, *, in_steps: bool = False) -> list[Turn]:
        """Return :meth:`shown`, preceded by the newest system turn if that is older."""
        shown = await self.shown(count, in_steps=in_steps)
        system = await self.system()
        return [system, *shown] if system and shown and system.id < shown[0].id else shown

    async def system(self) -> Turn | None:
        """Return the system's newest turn."""
        if not await self._newest(1):
            return None
        known = _last_system(self._turns)
        if known is None and not self._searched:
            found = await self._read(last=1, role="system")
            self._older_system, self._searched = next(iter(found), None), True
        return known or self._older_system

    async def _newest(self, count: int | None) -> list[Turn]:
        if self._thread is None and self.session is None:
            return []
        self._kept = max(self._kept, min(count or MOST_KEPT, MOST_KEPT))
        version = await self._store.scope_version(self._scope)
        has_them = not self._before or (count is not None and len(self._turns) >= count)
        last = self._turns[-1].id if self._turns else 0
        if self._epoch != version.epoch or not has_them:
            turns = await self._read(last=None if count is None else count + 1)
            total = len(turns)
            if count is not None and total > count:
                total = await self._store.count_turns(
                    self._scope, session=self.session, thread=self._thread
                )
            # At once: another task may use this object while this one waits.
            self._turns, self._before = turns, max(total - len(turns), 0)
            self._epoch = version.epoch
            self._older_system, self._searched = None, not self._before
        elif version.turns > last:
            later = await self._read(after=last)
            if self._epoch != version.epoch:  # something was erased meanwhile
                return await self._newest(count)
            self.extend(later)
        shown = self._turns[-count:] if count else list(self._turns)
        if hidden := await find_hidden(self._store, self._scope, version, self._clock()):
            return [turn for turn in shown if not hidden.has_turn(turn.id, turn.session)]
        return shown

    async def _read(
        self, *, last: int | None = None, after: int = 0, role: Role | None = None
    ) -> list[Turn]:
        return await self._store.turns(
            self._scope,
            session=self.session,
            thread=self._thread,
            last=last,
            after=after,
            role=role,
        )


class DialogueCache:
    """The dialogues of one client by the keys of their threads."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._dialogues: OrderedDict[tuple[Scope, str], Dialogue] = OrderedDict()

    def get(self, scope: Scope, key: str) -> Dialogue:
        """Return the dialogue of a key."""
        dialogue = self._dialogues.get((scope, key))
        dialogue = dialogue or Dialogue(self._store, scope, key, self._clock)
        self._dialogues[scope, key] = dialogue
        self._dialogues.move_to_end((scope, key))
        if len(self._dialogues) > CAPACITY:
            self._dialogues.popitem(last=False)
        return dialogue


def _with_calls(turns: Sequence[Turn], count: int | None) -> list[Turn]:
    """Return the newest ``count`` turns, and those before them with the calls of their results."""
    start = 0 if count is None else max(len(turns) - count, 0)
    while start and turns[start].role == "tool" and not _is_call(turns[start]):
        start -= 1
    while start and _is_call(turns[start]) and _is_call(turns[start - 1]):
        start -= 1
    return list(turns[start:])


def _in_time(turns: Sequence[Turn]) -> list[Turn]:
    """Return turns with those that came late in their place, but never after a call of a tool."""
    placed: list[Turn] = []
    for turn in turns:
        place = len(placed)
        while turn.role != "tool" and place and placed[place - 1].at > turn.at:
            place -= 1
        while place < len(placed) and placed[place].role == "tool":
            place += 1
        placed.insert(place, turn)
    return placed


def _last_system(turns: Sequence[Turn]) -> Turn | None:
    return next((turn for turn in reversed(turns) if turn.role == "system"), None)


def _is_call(turn: Turn) -> bool:
    return turn.role == "tool" and turn.text.startswith(CALLED)
