"""Recall: what matters for a question or a dialogue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from theanine.client.explaining import Explanation
from theanine.client.options import SEARCH_LIMIT, RecallArguments
from theanine.client.searching import SearchHit
from theanine.types import Message, Recollection, Utterance
from theanine_server.access import Readable
from theanine_server.bodies import JsonBody, JsonRoute
from theanine_server.problems import Refused, responses
from theanine_server.state import ServerState, State

router = APIRouter(prefix="/v1/users/{user}", route_class=JsonRoute, tags=["recall"])

Moment = Annotated[
    str,
    Field(description="A time with its UTC offset, a day, or its name, such as `last week`."),
]


class SearchBounds(BaseModel, extra="forbid"):
    """Bounds of a search."""

    min_relevance: float | None = Field(default=None, ge=0, le=1)
    since: Moment | None = None
    until: Moment | None = None
    as_of: Moment | None = Field(default=None, description="Use only what was known at this time.")
    where: dict[str, Any] | str | None = Field(
        default=None,
        description="A filter by metadata, such as `channel=web and priority>=2`, or the same as "
        "an object.",
    )


class RecallBounds(SearchBounds):
    """Bounds of a recall."""

    budget: int | None = Field(default=None, ge=0, le=1_000_000, description="Maximum tokens.")
    limit: int | None = Field(default=None, ge=1, le=1_000, description="Maximum parts.")
    profile: bool = Field(
        default=False, description="Put what is known of the user first, in at most 300 tokens."
    )

    def arguments(self) -> RecallArguments:
        """Return the arguments of the library's recall that were given."""
        names = RecallArguments.__annotations__
        given = {name: getattr(self, name) for name in names if name in self.model_fields_set}
        return RecallArguments(**given)  # pyright: ignore[reportArgumentType]  # same names


class RecallRequest(RecallBounds):
    """Bounds of a recall, and its deadline."""

    deadline: float | None = Field(
        default=None,
        gt=0,
        le=60,
        description="Seconds within which to answer, by doing less if need be; `notes` say what "
        "was left out. Less than 0.1 counts as 0.1. Default: as the service is set.",
    )

    def in_time(self, state: ServerState) -> RecallArguments:
        """Return the arguments with a deadline: that of the service unless another is given."""
        arguments = self.arguments()
        arguments["deadline"] = self.deadline or state.options.recall_deadline
        return arguments


class Recalled(BaseModel):
    """The result of a recall.

    ``messages`` go after the user's newest message to your own model; none if nothing is relevant.
    """

    recollection: Recollection
    text: str
    messages: list[Message]

    @classmethod
    def of(cls, found: Recollection) -> Recalled:
        """Return the answer for a recollection."""
        return cls(recollection=found, text=found.text, messages=found.messages())


class Asked(BaseModel, extra="forbid"):
    """A question, or a dialogue whose latest message comes last."""

    dialogue: str | list[dict[str, Any]] = []
    utterances: list[Utterance] = Field(default=[], description="Turns, instead of a dialogue.")

    @property
    def given(self) -> str | Sequence[Message | Utterance]:
        """The question or the dialogue."""
        return self.utterances or self.dialogue


class Question(RecallRequest, Asked):
    """A question or a dialogue, and the bounds of its recall."""


@router.post("/recall", responses=responses(413, 502, 507))
async def recall(state: State, memory: Readable, question: JsonBody[Question]) -> Recalled:
    """Return what matters for a question or a dialogue, with its sources."""
    return Recalled.of(await memory.recall(question.given, **question.in_time(state)))


class Search(SearchBounds):
    """A question or words, and the bounds of the search."""

    query: str = Field(min_length=1)
    limit: int | None = Field(
        default=None, ge=1, le=1_000, description=f"Maximum hits; {SEARCH_LIMIT} by default."
    )
    exact: bool = Field(
        default=False,
        description="Find all turns that have each of the words, in any case and order.",
    )
    speaker: str | None = Field(
        default=None, min_length=1, description="Of an exact search: only this speaker's turns."
    )
    session: int | None = Field(
        default=None, ge=1, description="Of an exact search: only turns of this session."
    )
    oldest_first: bool = Field(
        default=False, description="Of an exact search: the oldest first, not the newest."
    )


FOUND = "Theanine-Found"
"""Header with the number of hits without the limit."""


@router.post("/search", responses=responses(413, 502, 507))
async def search(memory: Readable, wanted: JsonBody[Search], response: Response) -> list[SearchHit]:
    """Return the turns and memories that match a question or words best, with their scores.

    The header `Theanine-Found` has how many there are without the limit.
    """
    options = wanted.model_dump(exclude={"query"}, exclude_none=True)
    hits = await memory.search(wanted.query, **options)
    response.headers[FOUND] = str(hits.found)
    return hits


class Explained(RecallBounds, Asked):
    """A question, a dialogue, or a past reply."""

    reply: int | None = Field(
        default=None, ge=1, description="Id of a past reply to explain, instead of a dialogue."
    )
    method: str | None = Field(
        default=None, min_length=1, description="A method other than the service's."
    )


@router.post("/explain", responses=responses(404, 413, 502, 507))
async def explain(memory: Readable, asked: JsonBody[Explained]) -> Explanation:
    """Recall, and return how it came to its result: candidates, scores, what was left out.

    A past reply is explained as of the turn before it, unless there is another `as_of`.
    """
    if asked.reply is None:
        return await memory.explain(asked.given, method=asked.method, **asked.arguments())
    turns = await memory.turns(ids=[asked.reply])
    if not turns:
        raise Refused(404, "not_found", f"there is no turn {asked.reply}")
    return await memory.explain(turns[0], method=asked.method, **asked.arguments())
