"""Recall: what matters for a question or a dialogue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from theanine.client.options import RecallArguments
from theanine.server.access import Readable
from theanine.server.problems import responses
from theanine.types import Message, Recollection, Utterance

router = APIRouter(prefix="/v1/users/{user}", tags=["recall"])

Moment = Annotated[
    str,
    Field(description="A time with its UTC offset, a day, or its name, such as `last week`."),
]


class RecallRequest(BaseModel, extra="forbid"):
    """What may be returned."""

    budget: int | None = Field(default=None, ge=0, le=1_000_000, description="Most tokens.")
    limit: int | None = Field(default=None, ge=1, le=1_000, description="Most parts.")
    min_relevance: float | None = Field(default=None, ge=0, le=1)
    since: Moment | None = None
    until: Moment | None = None
    as_of: Moment | None = Field(default=None, description="What was known then.")
    where: dict[str, Any] | None = Field(default=None, description="Metadata that must match.")

    def arguments(self) -> RecallArguments:
        """Return the arguments of the library's recall that were given."""
        names = RecallArguments.__annotations__
        given = {name: getattr(self, name) for name in names if name in self.model_fields_set}
        return RecallArguments(**given)  # pyright: ignore[reportArgumentType]  # same names


class Recalled(BaseModel):
    """What was recalled.

    ``messages`` go after the user's newest message to your own model; none if nothing is relevant.
    """

    recollection: Recollection
    text: str
    messages: list[Message]

    @classmethod
    def of(cls, found: Recollection) -> Recalled:
        """Return a recollection as an answer."""
        return cls(recollection=found, text=found.text, messages=found.messages())


class Question(RecallRequest):
    """A question, or a dialogue whose latest message comes last."""

    dialogue: str | list[dict[str, Any]] = []
    utterances: list[Utterance] = Field(default=[], description="In place of a dialogue.")

    @property
    def given(self) -> str | Sequence[Message | Utterance]:
        """The question or the dialogue."""
        return self.utterances or self.dialogue


@router.post("/recall", responses=responses(502))
async def recall(memory: Readable, question: Question) -> Recalled:
    """Return what matters for a question or a dialogue, with its sources."""
    return Recalled.of(await memory.recall(question.given, **question.arguments()))
