"""Make a file of questions, history by history; what is in the file already is left alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import theanine
from theanine.client.client import AsyncClient
from theanine.clock import system_clock
from theanine.errors import BadInput, ModelError, SettingsError
from theanine.llm.base import ChatModel
from theanine.llm.chat import Chat
from theanine.llm.gather import gather
from theanine.llm.limits import Limits
from theanine.store import open_store
from theanine.types import History, Scope
from theanine_bench.teafarm.generate import Talks, blank_questions, make_questions
from theanine_bench.teafarm.question import Question
from theanine_bench.teafarm.sheet import outline, write_block, write_head

AT_ONCE = 4
"""Histories in work at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What became of one history: how many questions were written, or why none."""

    user: str
    questions: int = 0
    failure: str = ""


async def make_file(
    histories: Sequence[History],
    out: Path,
    *,
    data: Path | None = None,
    store: Path | None = None,
    model: ChatModel | None = None,
    many: int = 1,
    limits: Limits | None = None,
    progress: Callable[[Made], None] = lambda _: None,
) -> list[Made]:
    """Write questions about each history that has none in the file yet.

    ``data`` or ``store`` is where the sessions are. Beside the file, ``OUT.db`` holds the journal
    of a model, so that the same call after a failure pays nothing twice. Without a model the
    questions are left blank, with a memory as evidence, for a person to fill in.
    Raises BadInput for a file that holds the questions on other data.
    """
    head = {"data": _beside(out, data), "store": _beside(out, store)}
    done = _begun(out, head)
    todo = [history for history in histories if history.name not in done]
    with TemporaryDirectory(prefix="theanine-teafarm-") as folder:
        place = out.with_name(f"{out.name}.db") if model else Path(folder) / "log.db"
        journal = open_store(str(place))
        agent = theanine.aopen(journal, method="no-memory")
        async with agent:
            chat = Chat(model, journal, system_clock, limits) if model else None
            made = await _all(todo, out, agent, chat, many, progress)
            if chat:
                await chat.close()
    return made


async def _all(
    histories: Sequence[History],
    out: Path,
    agent: AsyncClient,
    chat: Chat | None,
    many: int,
    progress: Callable[[Made], None],
) -> list[Made]:
    found: list[Made] = []
    for start in range(0, len(histories), AT_ONCE):
        some = histories[start : start + AT_ONCE]
        made = await gather([partial(_one, one, agent, chat, many) for one in some])
        for history, outcome in zip(some, made, strict=True):
            found.append(_kept(out, history.name, outcome))
            progress(found[-1])
    return found


def _kept(out: Path, user: str, outcome: list[Question] | str) -> Made:
    if isinstance(outcome, str):
        return Made(user=user, failure=outcome)
    with out.open("a", encoding="utf-8") as file:
        file.write("".join(f"\n{write_block(question)}" for question in outcome))
        file.flush()
        os.fsync(file.fileno())
    return Made(user=user, questions=len(outcome))


async def _one(
    history: History, agent: AsyncClient, chat: Chat | None, many: int
) -> list[Question] | str:
    """The questions, or why there are none."""
    await agent.log(history)
    sessions = await agent.sessions(history.name)
    talks = Talks(
        user=history.name,
        sessions=[one for one in sessions if one.turn_count],
        turns={one.id: await agent.turns(history.name, session=one.id) for one in sessions},
    )
    try:
        if chat is None:
            return await blank_questions(talks, many)
        return await make_questions(talks, partial(chat.for_scope, Scope(history.name)), many)
    except (BadInput, ModelError) as error:
        return str(error)


def _begun(out: Path, head: dict[str, str]) -> set[str]:
    """The users that the file has questions on; a new file gets its head."""
    if not out.exists():
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(write_head(**head), "utf-8")
        except OSError as error:
            raise SettingsError(f"{out} can't be written ({error.strerror})") from error
        return set()
    known, users = outline(out)
    if known != head:
        shown = known["data"] or known["store"]
        raise BadInput(f"it holds the questions on {shown}; name another file", str(out))
    return users


def _beside(out: Path, place: Path | None) -> str:
    """The place as the file names it: relative to its own folder."""
    return "" if place is None else Path(os.path.relpath(place, out.parent)).as_posix()
