"""What a comparison of methods is made of, and what it gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from theanine.retrieval.rerank import DEFAULT_RERANK_DEPTH
from theanine.types import Turn, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """A method that is compared: its label, its id, and its settings by name."""

    label: str
    method: str
    settings: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class With:
    """What all methods have in common; see :func:`theanine.open`. ``budget`` is of each recall."""

    model: str = "local"
    base_url: str | None = None
    embedder: str = "local"
    reranker: str | None = None
    reranked: int = DEFAULT_RERANK_DEPTH
    budget: int | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a recollection: its words, the numbers of its source turns, who worded it."""

    text: str
    sources: tuple[int, ...]
    made_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a method recalled for a question.

    Attributes:
        tokens: of the recollection, by the bundled tokenizer.
        seconds: how long the recall took.
        found: the share of the labelled turns that came back; None where none are labelled.
        failure: why the recall failed, or None; then nothing came back.
    """

    pieces: tuple[Piece, ...] = ()
    tokens: int = 0
    seconds: float = 0.0
    found: float | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One method's results.

    Attributes:
        model: the language model, or ``local``.
        failures: why sessions are not remembered, by session.
        remember_seconds: time spent remembering, without logging.
        remembering, recalling: what the model was asked for each.
        disk: bytes of the store's files when it is closed.
        answers: one a question, in their order.
    """

    label: str
    method: str
    settings: Mapping[str, object]
    model: str
    memories: int
    links: int
    failures: Mapping[str, str]
    remember_seconds: float
    remembering: Usage
    recalling: Usage
    disk: int
    answers: Sequence[Answer]

    @property
    def complete(self) -> bool:
        """Whether every session was remembered and every recall came back."""
        return not self.failures and all(answer.failure is None for answer in self.answers)

    @property
    def tokens(self) -> float:
        """Tokens given back for a question, on average."""
        return sum(answer.tokens for answer in self.answers) / len(self.answers)

    @property
    def recall_seconds(self) -> float:
        """The median time of a recall."""
        return sorted(answer.seconds for answer in self.answers)[len(self.answers) // 2]

    @property
    def found(self) -> float | None:
        """The mean share of labelled turns that came back; a failed recall counts as none."""
        shares = [answer.found for answer in self.answers if answer.found is not None]
        return sum(shares) / len(shares) if shares else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked: its words, whose memory, the wanted answer, and the numbers of gold turns."""

    user: str
    text: str
    answer: str
    category: str
    gold: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All of it.

    Attributes:
        sessions, said: how many sessions and turns each method was given.
        log: bytes of a store that holds the log alone.
        turns: the turns that came back or are gold, by user and number.
        undated: by user, numbers of the sessions whose times only keep their order.
        unknown: what questions name as their sources and no turn is called; it counts for nothing.
    """

    sessions: int
    said: int
    log: int
    questions: Sequence[Question]
    columns: Sequence[Column]
    turns: Mapping[str, Mapping[int, Turn]]
    undated: Mapping[str, frozenset[int]]
    unknown: Sequence[str] = ()
