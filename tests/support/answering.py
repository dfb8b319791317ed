"""A chat that replies from a list and records its prompts; turns and memories to ask it about."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter

from theanine.errors import UnusableReply
from theanine.llm.bounds import ReplyBounds
from theanine.llm.chat import ScopedChat
from theanine.llm.limits import Limits
from theanine.llm.parsing import InvalidReply, parse_reply
from theanine.llm.prompt import PromptTemplate
from theanine.llm.prompt_folder import NO_PROMPTS, PromptFolder
from theanine.types import Memory, Role, Turn

T = TypeVar("T")
MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


@dataclass
class Asked:
    """A call of a step, with its whole prompt, the sessions that it quotes, and its bounds."""

    step: str
    prompt: str
    touches: set[int]
    bounds: ReplyBounds | None = None


class Answering(ScopedChat):
    """Returns the next of ``answers`` for each call, and another one while it is unusable.

    An answer may be a function of the prompt. Journal and retries are tested with ``Chat``.
    """

    def __init__(self, answers: Iterable[object], prompts: PromptFolder = NO_PROMPTS) -> None:
        self.answers = iter(answers)
        self.prompts = prompts
        self.asked: list[Asked] = []
        self.faults: list[str] = []

    @property
    def model(self) -> str:
        """The model's name."""
        return "scripted:test"

    @property
    def limits(self) -> Limits:
        """The default ones, which no call of it reaches."""
        return Limits()

    def replaced(self, step: PromptTemplate[T], asker: str = "") -> PromptTemplate[T]:
        """Return the step with its prompt of ``prompts``, if there is one."""
        return self.prompts.replace(step, asker)

    async def is_journalled(self, step: PromptTemplate[Any], /, **values: str) -> bool:
        """Return False: it has no journal."""
        return False

    async def ask(
        self,
        step: PromptTemplate[T],
        asker: str = "",
        /,
        *,
        source_sessions: Iterable[int] = (),
        check: Callable[[T], str | None] | None = None,
        bounds: ReplyBounds | None = None,
        repairs: int | None = None,
        limits: Limits | None = None,
        **values: str,
    ) -> T:
        """Return the next usable answer. Raises UnusableReply when they run out."""
        prompt = self.replaced(step, asker).render(**values)
        self.asked.append(Asked(step.label, prompt, set(source_sessions), bounds))
        for answer in self.answers:
            if callable(answer):
                answer = cast("Callable[[str], object]", answer)(prompt)
            try:
                if step.result is str:
                    reply = cast(T, parse_reply(str(answer), str))
                else:
                    reply = cast(T, TypeAdapter(step.result).validate_python(answer))
                fault = check(reply) if check else None
            except InvalidReply as error:
                fault = str(error)
            else:
                if fault is None:
                    return reply
            self.faults.append(fault)
        raise UnusableReply("no usable answer")


def turn(
    id: int,
    text: str,
    speaker: str = "Ana",
    *,
    session: int = 1,
    role: Role = "user",
    shared: str = "",
    recalled: tuple[int, ...] = (),
    dated: bool = True,
) -> Turn:
    """Make a turn, one minute after the previous id and a week after the previous session."""
    at = MONDAY + timedelta(days=7 * (session - 1), minutes=id)
    return Turn(
        id=id,
        session=session,
        text=text,
        speaker=speaker,
        at=at,
        role=role,
        attachment=shared,
        recalled=recalled,
        dated=dated,
    )


def memory(
    id: int,
    text: str,
    *,
    session: int = 1,
    speakers: tuple[str, ...] = ("Ana",),
    sources: tuple[int, ...] = (),
    made_by: str = "scripted:test",
) -> Memory:
    """Make a stored memory of the session's day."""
    at = MONDAY + timedelta(days=7 * (session - 1))
    return Memory(
        id=id,
        session=session,
        text=text,
        at=at,
        session_ended_at=at,
        speakers=speakers,
        source_turns=sources,
        made_by=made_by,
    )
