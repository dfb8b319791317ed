"""Records of the candidates that each stage of a recall ranked and kept, for explanations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from theanine.retrieval.candidates import Candidate, RankedCandidate
from theanine.retrieval.log_index import LogIndex
from theanine.retrieval.query import Query
from theanine.sentences import Span
from theanine.types import Memory, Part, Turn

CandidateKey = tuple[int, int, int]
"""A candidate's position in the index, its turn and its memory; 0 for what it doesn't have."""
StageScores = dict[CandidateKey, tuple[float, float | None]]
"""The score and the relevance of each candidate that a stage has left, best first."""


class RecallTrace:
    """Receives the stages of a recall while it runs; this class ignores them."""

    def search(self, log: LogIndex, query: Query, ranked: Sequence[RankedCandidate]) -> None:
        """Note the log that was searched, and what it found."""

    def period(self, log: LogIndex, ranked: Sequence[RankedCandidate]) -> None:
        """Note all that was said at the time that is asked for, in its order."""

    def record(self, stage: str, ranked: Iterable[RankedCandidate]) -> None:
        """Note the candidates that are left after a stage, best first."""

    def record_memories(self, stage: str, ranked: Iterable[tuple[Memory, float]]) -> None:
        """Note memories that are left after a stage; a method may search several times."""

    def record_part(
        self, part: Part, passages: Iterable[Candidate], repetitions: Iterable[Turn]
    ) -> None:
        """Note what is in a part, and the turns that it only counts as they say the same."""

    def stop(self, reason: str) -> None:
        """Note why nothing is searched."""


NO_TRACE = RecallTrace()


@dataclass(slots=True, eq=False)
class RecordedTrace(RecallTrace):
    """All that a method tells of a recall.

    Attributes:
        log: where the candidates' texts are; None where they are memories.
        evidence: parts of the evidence by their names, and by the positions of candidates.
        stages: what each stage has left, by its name.
        parts: the parts that were made, with the passages and statements in them.
        repetitions: ids of turns that are only counted.
        stopped: why nothing was searched, or empty.
    """

    log: LogIndex | None = None
    evidence: Mapping[str, Mapping[int, float]] = field(
        default_factory=dict[str, Mapping[int, float]]
    )
    stages: dict[str, StageScores] = field(default_factory=dict[str, StageScores])
    parts: list[tuple[Part, frozenset[tuple[Turn | Memory, Span]]]] = field(
        default_factory=list[tuple[Part, frozenset[tuple[Turn | Memory, Span]]]]
    )
    repetitions: set[int] = field(default_factory=set[int])
    stopped: str = ""

    def search(self, log: LogIndex, query: Query, ranked: Sequence[RankedCandidate]) -> None:
        """Note the log, the evidence of what it found, and the stage ``ranking``."""
        self.log = log
        self.evidence = log.candidates.explain(query, [found.position for found in ranked])
        self.record("ranking", ranked)

    def period(self, log: LogIndex, ranked: Sequence[RankedCandidate]) -> None:
        """Note the log, and the stage ``time``."""
        self.log = log
        self.record("time", ranked)

    def record(self, stage: str, ranked: Iterable[RankedCandidate]) -> None:
        """Note the candidates that are left after a stage, best first."""
        self.stages[stage] = {
            (found.position, found.turn, found.memory): (found.score, found.relevance)
            for found in ranked
        }

    def record_memories(self, stage: str, ranked: Iterable[tuple[Memory, float]]) -> None:
        """Note memories that are left after a stage, with those of earlier searches."""
        scores: StageScores = {(0, 0, memory.id): (score, None) for memory, score in ranked}
        self.stages.setdefault(stage, {}).update(scores)

    def record_part(
        self, part: Part, passages: Iterable[Candidate], repetitions: Iterable[Turn]
    ) -> None:
        """Note what is in a part, and the turns that it only counts."""
        told = frozenset((passage.owner, passage.span) for passage in passages)
        self.parts.append((part, told))
        self.repetitions.update(turn.id for turn in repetitions)

    def stop(self, reason: str) -> None:
        """Note why nothing is searched."""
        self.stopped = reason
