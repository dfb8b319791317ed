"""A counterfactual question: what it wrongly assumes, what is right, what leads to it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A turn that shows what is right: its session's and its own key, who said it, the words.

    What a person noted in other words has only ``text``.
    """

    session: str = ""
    turn: str = ""
    speaker: str = ""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One counterfactual question.

    Attributes:
        id: unique in its file.
        user: whose memory is asked; empty where the data has one history only.
        asks: who asks, in the new session.
        answers: who is asked: the speaker whose place the agent takes.
        assumes: the falsehood that the question takes for true; may be empty.
        text: the question.
        answer: what somebody says who remembers rightly.
        evidence: the turns that show it.
        session: the new session before the question, as (speaker, words).
        must_say: what a right reply has, checked without a judge; each line of it is alternatives
            divided by ``|``, of which one must occur.
        must_not_say: none of these may occur.
        at: when the new session begins; None for a week after the last one.
        data_set: whose figures it counts among, such as ``MSC``; may be empty.
        where: its place in its file, for messages.
    """

    id: str
    user: str = ""
    asks: str
    answers: str = "assistant"
    assumes: str = ""
    text: str
    answer: str
    evidence: tuple[Evidence, ...] = ()
    session: tuple[tuple[str, str], ...] = ()
    must_say: tuple[str, ...] = ()
    must_not_say: tuple[str, ...] = ()
    at: datetime | None = None
    data_set: str = ""
    where: str = ""

    @property
    def has_rules(self) -> bool:
        """Whether a reply can be checked without a judge."""
        return bool(self.must_say or self.must_not_say)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """Questions, and where the sessions before them are: a history file or a store, as written."""

    questions: tuple[Question, ...]
    data: str = ""
    store: str = ""
