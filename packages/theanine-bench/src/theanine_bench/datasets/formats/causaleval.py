"""CausalEval: dialogues that tell a graph of causes, a file each, and questions about its nodes.

A question is labeled with nodes. A node's evidence is the turn that tells it, found by its words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import log
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from theanine.errors import BadInput
from theanine.text.words import content_words
from theanine.types import History, Transcript, Utterance
from theanine_bench.datasets.formats import LabeledFormat
from theanine_bench.datasets.labels import LabeledHistory, Question, TurnRef, resolve_labels
from theanine_bench.files import read_json
from theanine_bench.validation import AnyAsText, OptionalAsText, OptionalText, Text, validate

CATEGORIES = {
    "11": "attribution",
    "12": "intervention",
    "13": "counterfactual",
    "14": "inhibition",
    "15": "temporal",
    "16": "transfer",
    "17": "update",
}
LEAST_OVERLAP = 0.25
"""Share of the weight of a node's words that the turn which tells it must have."""


class _Node(BaseModel):
    id: int
    action: Text


class _Edge(BaseModel):
    start: int = Field(alias="from")
    end: int = Field(alias="to")
    relation: str


class _Graph(BaseModel):
    nodes: list[_Node]
    edges: list[_Edge]


class _Turn(BaseModel):
    speaker: Text
    text: OptionalText = ""


class _Session(BaseModel):
    number: AnyAsText
    date_time: datetime
    turns: list[_Turn]


class _Conversation(BaseModel):
    sessions: list[_Session]


class _Question(BaseModel):
    category: AnyAsText
    question: OptionalText = ""
    answer: OptionalAsText = ""
    evidence_nodes: list[int]


class _Record(BaseModel):
    graph: _Graph
    conversations: list[_Conversation]
    qa: list[_Question]


@dataclass(frozen=True, slots=True, kw_only=True)
class CausalEdge:
    """An edge between two turns that tell its nodes, by their keys in time order."""

    older: str
    newer: str
    relation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CausalGraph:
    """A history with what its graph labels.

    Attributes:
        turns: key of the turn that tells each node, by node id, without the nodes that none tells.
        edges: the edges between nodes that two turns tell.
    """

    labeled: LabeledHistory
    turns: Mapping[int, str]
    edges: Sequence[CausalEdge]


def read_causal_graphs(path: Path) -> list[CausalGraph]:
    """Return the graphs of a file or folder, by number. Raises BadInput with a fault's place."""
    files = sorted(path.glob("graph_*.json"), key=_number) if path.is_dir() else [path]
    return [_read_graph(file, read_json(file)) for file in files]


def _number(file: Path) -> tuple[int, str]:
    number = file.stem.removeprefix("graph_")
    return (int(number) if number.isdecimal() else 0, number)


def _read_graph(file: Path, document: Any) -> CausalGraph:
    record = validate(_Record, document, str(file))
    transcripts = [
        _transcript(session)
        for conversation in record.conversations
        for session in conversation.sessions
        if any(turn.text.strip() for turn in session.turns)
    ]
    if not transcripts:
        raise BadInput("it has no turn with words", str(file))
    history = History(name=file.stem, transcripts=transcripts)
    turns = [turn for transcript in transcripts for turn in transcript.turns]
    told = turns_telling({node.id: node.action for node in record.graph.nodes}, turns)
    dropped = Counter({"nodes that no turn tells": len(record.graph.nodes) - len(told)})
    questions = [
        Question(
            id=f"{file.stem}/{number}",
            text=one.question.strip(),
            category=CATEGORIES.get(one.category, one.category),
            answer=one.answer,
            gold=_gold(one.evidence_nodes, told),
        )
        for number, one in enumerate(record.qa, 1)
    ]
    order = {turn.key: n for n, turn in enumerate(turns)}
    edges: list[CausalEdge] = []
    for edge in record.graph.edges:
        ends = {told[node] for node in (edge.start, edge.end) if node in told}
        if len(ends) == 2:
            older, newer = sorted(ends, key=lambda key: order[key])
            edges.append(CausalEdge(older=older, newer=newer, relation=edge.relation))
    labeled = resolve_labels(history, questions, unique=True, dropped=dropped)
    return CausalGraph(labeled=labeled, turns=told, edges=edges)


def _transcript(session: _Session) -> Transcript:
    at = session.date_time if session.date_time.tzinfo else session.date_time.replace(tzinfo=UTC)
    turns = [
        Utterance(
            text=turn.text,
            speaker=turn.speaker,
            at=at + timedelta(minutes=number),
            key=f"S{session.number}:{number}",
        )
        for number, turn in enumerate(session.turns, 1)
        if turn.text.strip()
    ]
    return Transcript(key=session.number, turns=turns, at=at)


def turns_telling(actions: Mapping[int, str], turns: Sequence[Utterance]) -> dict[int, str]:
    """Return the key of the turn that tells each action, without the actions that none tells.

    It is the turn that has most of the action's content words, weighted by how rare they are among
    the turns; of equal ones the earliest.
    """
    contents = [content_words(turn.text) for turn in turns]
    counts = Counter(word for content in contents for word in content)

    def weight(words: Iterable[str]) -> float:
        return sum(log((len(turns) + 1) / (counts[word] + 0.5)) for word in words)

    told: dict[int, str] = {}
    for node, action in actions.items():
        words = content_words(action)
        shared = [weight(words & content) for content in contents]
        best = max(shared, default=0.0)
        if best > 0 and best >= LEAST_OVERLAP * weight(words):
            told[node] = turns[shared.index(best)].key or ""
    return told


def _gold(nodes: Iterable[int], told: Mapping[int, str]) -> frozenset[TurnRef]:
    return frozenset(("", told[node]) for node in nodes if node in told)


def _matches(path: Path, document: Any) -> bool:
    if path.is_dir():
        return any(path.glob("graph_*.json"))
    return isinstance(document, dict) and "graph" in document and "qa" in document


def _read(path: Path, document: Any) -> list[LabeledHistory]:
    return [graph.labeled for graph in read_causal_graphs(path)]


FORMAT = LabeledFormat(name="CausalEval", matches=_matches, read=_read)
