"""The questions and memories that ``fit_relevance.py`` fits on and reports.

Besides each conversation with its own questions: parts of it, small and large, with and without
the evidence; one side of it in the first person; questions of other conversations; questions about
matters that nobody mentioned; and plain statements, alone or said in the course of a chat.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.static import StaticEmbedder
from theanine.retrieval.candidates import CandidateIndex
from theanine.retrieval.query import ROLE_NAMES, Query
from theanine.types import Turn, Utterance
from theanine_bench.datasets.evidence import read_evidence
from theanine_bench.datasets.labels import LabeledHistory

FOLDS = 5
FOREIGN = 240
"""Questions of other conversations asked of each one."""
NEVER = 45
"""Questions about matters that nobody mentioned asked of each conversation."""
PARTS = 80
"""Questions asked of parts of a conversation, of each kind."""
STATEMENT_MEMORIES = 120
"""Memories made of plain statements, alone and within a chat."""
EMBEDDER = StaticEmbedder()
REPLIES = ("Okay.", "Noted!", "Thanks for telling me.", "Good to know.", "Got it.")
START = datetime(2026, 3, 2, 9, tzinfo=UTC)


@dataclass(kw_only=True)
class Sample:
    """The candidates of one question asked of one memory.

    Attributes:
        set: data set of the memory, by which figures are reported.
        kind: how memory and question were made.
        fold: fold that the sample is held out in; -1 if it is never fitted on.
        features: a row for each candidate.
        turns: turn of each candidate.
        tokens: tokens of each candidate's line.
        gold: turns with evidence; empty if the memory can't answer.
    """

    set: str
    kind: str
    fold: int
    question: str
    features: NDArray[np.float32]
    turns: NDArray[np.int64]
    tokens: NDArray[np.int64]
    gold: frozenset[int]


@lru_cache(maxsize=200_000)
def _vector(text: str) -> NDArray[np.float32]:
    return EMBEDDER.vectors([text])[0]


class Log:
    """Turns that are candidates, and the questions asked of them."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = turns
        self.last = max(turn.at for turn in turns)
        self.index = CandidateIndex()
        self.index.add_turns(turns, lambda texts: np.stack([_vector(text) for text in texts]))

    def ask(
        self,
        question: str,
        gold: Iterable[int] = (),
        *,
        asker: str,
        set: str,
        kind: str,
        fold: int,
        at: datetime | None = None,
    ) -> Sample:
        query = Query(
            text=question,
            vector=_vector(self.index.without_speakers(question)),
            latest=question,
            asker=asker,
            asked_at=at or self.last,
        )
        features, positions = self.index.features(query)
        return Sample(
            set=set,
            kind=kind,
            fold=fold,
            question=question,
            features=features,
            turns=self.index.turns[positions],
            tokens=self.index.tokens[positions].astype(np.int64),
            gold=frozenset(gold),
        )


class Conversation(Log):
    """A labeled history."""

    def __init__(self, labeled: LabeledHistory) -> None:
        self.labeled = labeled
        self.asker = labeled.history.name
        numbers: dict[tuple[str, str], int] = {}
        turns: list[Turn] = []
        for session, transcript in enumerate(labeled.history.transcripts, 1):
            for place, turn in enumerate(transcript.turns, 1):
                key = turn.key or f"#{place}"
                for group in (transcript.key, ""):
                    numbers[group, key] = len(turns) + 1
                values = {field.name: getattr(turn, field.name) for field in fields(Utterance)}
                turns.append(Turn(**values, id=len(turns) + 1, session=session))
        super().__init__(turns)
        self.speakers = list(dict.fromkeys(turn.speaker for turn in turns))
        self.all_questions = [
            (question, frozenset(numbers[ref] for ref in question.gold))
            for question in labeled.questions
        ]
        self.questions = [(q, gold) for q, gold in self.all_questions if q.answerable]

    @property
    def named(self) -> list[str]:
        """The speakers who have a name."""
        return [name for name in self.speakers if name.casefold() not in ROLE_NAMES]


def read_conversations(path: Path, never: dict[str, Sequence[str]]) -> Iterator[Sample]:
    """Yield the samples of a data set."""
    conversations = [Conversation(labeled) for labeled in read_evidence(path)]
    size = -(-len(conversations) // FOLDS)
    for place, own in enumerate(conversations):
        random = Random(place)
        common = {"asker": own.asker, "set": path.stem, "fold": place // size}
        for question, gold in own.all_questions:
            kind = "own" if question.answerable else "adversarial"
            yield own.ask(question.text, gold, kind=kind, at=question.asked_at, **common)
        for question in own.labeled.unlabeled:
            if not question.answerable:
                yield own.ask(question.text, kind="abstention", at=question.asked_at, **common)
        others = [
            _rename(question.text, other, own)
            for other in conversations
            if other is not own
            for question, _ in other.all_questions
        ]
        for text in random.sample(others, min(FOREIGN, len(others))):
            yield own.ask(text, kind="foreign", **common)
        for kind, texts in never.items():
            fitting = [text for text in texts if own.named or "{name}" not in text]
            for text in random.sample(fitting, min(NEVER, len(fitting))):
                text = text.replace("{name}", random.choice(own.named or [""]))
                yield own.ask(text, kind=kind, **common)
        yield from _halves(own, random, common)
        yield from _small(own, random, common, never["never"])
        yield from _first_person(own, random, common, never["never"])
        print(f"read {path.name}: {own.asker}", flush=True)


def _rename(text: str, other: Conversation, own: Conversation) -> str:
    """Return a question about the speakers of a conversation with those of another."""
    for old, new in zip(other.speakers, own.speakers, strict=False):
        text = re.sub(rf"\b{re.escape(old)}\b", new, text)
    return text


def _halves(own: Conversation, random: Random, common: dict) -> Iterator[Sample]:
    """Ask questions of half of the sessions: with the evidence, and without any."""
    middle = own.turns[-1].session // 2
    for half in (
        [turn for turn in own.turns if turn.session <= middle],
        [turn for turn in own.turns if turn.session > middle],
    ):
        log, ids = Log(half), {turn.id for turn in half}
        inside = [(q, gold) for q, gold in own.questions if gold and gold <= ids]
        outside = [(q, frozenset[int]()) for q, gold in own.questions if gold and not gold & ids]
        for kind, questions in (("half", inside), ("half, absent", outside)):
            for question, gold in random.sample(questions, min(PARTS // 2, len(questions))):
                yield log.ask(question.text, gold, kind=kind, at=question.asked_at, **common)


def _small(
    own: Conversation, random: Random, common: dict, never: Sequence[str]
) -> Iterator[Sample]:
    """Ask questions of 5 to 100 turns around the evidence, and ones that these can't answer."""
    for question, gold in random.sample(own.questions, min(PARTS, len(own.questions))):
        log = Log(_window(own.turns, gold, random))
        ids = {turn.id for turn in log.turns}
        if not gold or not gold <= ids:
            continue
        yield log.ask(question.text, gold, kind="small", at=question.asked_at, **common)
        absent = [q.text for q, other in own.questions if other and not other & ids]
        for text in random.sample(absent, min(2, len(absent))):
            yield log.ask(text, kind="small, absent", **common)
        text = random.choice(never).replace("{name}", random.choice(own.named or ["Ada"]))
        yield log.ask(text, kind="small, never", **common)


def _window(turns: Sequence[Turn], gold: frozenset[int], random: Random) -> list[Turn]:
    """Return some consecutive turns with each turn of evidence."""
    size = int(5 * 20 ** random.random() / max(len(gold), 1)) + 1
    keep: set[int] = set()
    places = {turn.id: place for place, turn in enumerate(turns)}
    for evidence in gold:
        start = places[evidence] - random.randrange(size)
        keep.update(range(start, start + size))
    return [turn for place, turn in enumerate(turns) if place in keep]


def _first_person(
    own: Conversation, random: Random, common: dict, never: Sequence[str]
) -> Iterator[Sample]:
    """Ask in the first person what one speaker said, of that speaker's turns alone."""
    for speaker in own.named:
        side = [turn for turn in own.turns if turn.speaker == speaker]
        ids = {turn.id for turn in side}
        questions = [
            (_as_first_person(question.text, speaker), gold)
            for question, gold in own.questions
            if gold
            and gold <= ids
            and speaker in question.text
            and not any(name in question.text for name in own.speakers if name != speaker)
        ]
        asked = common | {"asker": speaker}
        for text, gold in random.sample(questions, min(PARTS // 2, len(questions))):
            log = Log(_window(side, gold, random))
            inside = {turn.id for turn in log.turns}
            yield log.ask(text, gold, kind="first person", **asked)
            absent = [other for other, evidence in questions if not evidence & inside]
            for other in random.sample(absent, min(1, len(absent))):
                yield log.ask(other, kind="first person, absent", **asked)
            other = random.choice([text for text in never if "{name}" not in text])
            yield log.ask(other, kind="first person, never", **asked)


def _as_first_person(text: str, speaker: str) -> str:
    name = re.escape(speaker)
    for pattern, replacement in (
        (rf"\b{name}['’]s\b", "my"),
        (rf"\bdoes {name}\b", "do I"),
        (rf"\bhas {name}\b", "have I"),
        (rf"\bis {name}\b", "am I"),
        (rf"\b(for|to|with|from|about|of|by|at|on) {name}\b", r"\1 me"),
        (rf"\b{name}\b", "I"),
    ):
        text = re.sub(pattern, replacement, text)
    return text


def read_statements(
    path: Path, set: str, kind: str, held_out: bool, chats: Path
) -> Iterator[Sample]:
    """Yield questions about plain statements, of memories that contain these and others.

    Every other memory is a chat of two people, in the course of which one makes the statements.
    """
    content = json.loads(path.read_text())
    statements = {entry["statement"]: entry["questions"] for entry in content["statements"]}
    never = [text for text in content["never"] if "{name}" not in text]
    dialogues = [json.loads(line)["dialog"] for line in chats.open()]
    random = Random(7)
    for number in range(STATEMENT_MEMORIES):
        size = min(int(4 * 13 ** random.random()) + 1, len(statements))
        speaker = random.choice(["user", "ana", "Mike", "Lu Wei"])
        said = [(speaker, text) for text in random.sample(list(statements), size)]
        if number % 2:
            said = _within_chat(said[:8], random.sample(dialogues, 6), random)
        elif number % 4 == 0:
            said = [line for pair in said for line in (pair, ("assistant", random.choice(REPLIES)))]
        turns: list[Turn] = []
        session = 1
        for id, (who, text) in enumerate(said, 1):
            session += random.random() < 0.1
            at = START + timedelta(days=session, minutes=id)
            turns.append(Turn(text=text, speaker=who, at=at, id=id, session=session))
        log = Log(turns)
        asked = {"asker": speaker, "set": set, "fold": -1 if held_out else number % FOLDS}
        present = {turn.text: turn.id for turn in turns if turn.text in statements}
        absent = [text for text in statements if text not in present]
        for text in random.sample(list(present), min(5, len(present))):
            yield log.ask(random.choice(statements[text]), [present[text]], kind=kind, **asked)
        for text in random.sample(absent, min(2, len(absent))):
            yield log.ask(random.choice(statements[text]), kind=f"{kind}, absent", **asked)
        for text in random.sample(never, 4):
            yield log.ask(text, kind=f"{kind}, never", **asked)


def _within_chat(
    said: Sequence[tuple[str, str]], dialogues: Sequence[Sequence[dict[str, str]]], random: Random
) -> list[tuple[str, str]]:
    """Return the turns of some dialogues with statements of one side among them."""
    speaker = said[0][0]
    chat = [
        (speaker if turn["id"] == "Speaker 1" else "assistant", turn["text"])
        for dialogue in dialogues
        for turn in dialogue
    ]
    places = sorted(random.sample(range(len(chat)), len(said)))
    for place, statement in zip(places, said, strict=True):
        chat.insert(place, statement)
    return chat
