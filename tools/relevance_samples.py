"""The questions and memories that ``fit_relevance.py`` fits on and reports.

Besides each conversation with its own questions: parts of it, small and large, with and without
the evidence; one side of it in the first person; questions of other conversations; questions about
matters that nobody mentioned; plain statements, alone, in the course of a chat, within a long text
or a large log; questions about states that change, alone and within foreign conversations; and
dialogues that ask nothing, of which older turns of the same matter are known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import anyio
import numpy as np
from numpy.typing import NDArray

from theanine.clock import micros
from theanine.embeddings import open_embedder
from theanine.embeddings.static import StaticEmbedder
from theanine.retrieval.candidates import CandidateIndex
from theanine.retrieval.features import FEATURES
from theanine.retrieval.languages import in_english
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
LIFE, LIVES = 8, "Robin"
"""Cases that one person is made to have lived, and that person's name."""
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


class Embedding:
    """The vectors of texts, by the bundled word vectors or another embedder; each is made once."""

    def __init__(self) -> None:
        self._embed: Callable[[Sequence[str]], NDArray[np.float32]] = EMBEDDER.vectors
        self._prepare: Callable[[str], str] = in_english
        self._known: dict[str, NDArray[np.float16]] = {}

    def use(self, name: str) -> None:
        """Embed with another embedder from now on."""
        embedder = open_embedder(name)
        self._embed, self._prepare = lambda texts: anyio.run(embedder.embed, texts), str

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, ``(n, d)``, rounded as they are stored."""
        prepared = [self._prepare(text) for text in texts]
        if missing := [text for text in dict.fromkeys(prepared) if text not in self._known]:
            made = self._embed(missing).astype(np.float16)
            self._known.update(zip(missing, made, strict=True))
        return np.stack([self._known[text] for text in prepared]).astype(np.float32)


embedding = Embedding()


def vector_of(text: str) -> NDArray[np.float32]:
    """Return the vector of a text, ``(d,)``."""
    return embedding.vectors([text])[0]


class Log:
    """Turns that are candidates, and the questions asked of them."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = turns
        self.last = max(turn.at for turn in turns)
        self.index = CandidateIndex()
        self.index.add_turns(turns, embedding.vectors)

    def find(
        self,
        question: str,
        *,
        asker: str,
        at: datetime | None = None,
        latest: str = "",
        upto: datetime | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the features and the positions of the candidates; arguments as of ``ask``."""
        query = Query(
            text=question,
            vector=vector_of(self.index.without_speakers(question)),
            latest=latest,
            asker=asker,
            asked_at=at or self.last,
        )
        among = None if upto is None else self.index.times <= micros(upto)
        return self.index.features(query, among)

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
        latest: str = "",
        upto: datetime | None = None,
        passages: bool = False,
    ) -> Sample:
        """Return the candidates for a question.

        ``latest`` is the last turn of a dialogue that is all of ``question``; ``upto`` leaves out
        what was said later; with ``passages``, ``gold`` are positions of passages, not turns.
        """
        features, positions = self.find(question, asker=asker, at=at, latest=latest, upto=upto)
        return Sample(
            set=set,
            kind=kind,
            fold=fold,
            question=question,
            features=features,
            turns=positions + 1 if passages else self.index.turns[positions],
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
        log = Log(window(own.turns, gold, random))
        ids = {turn.id for turn in log.turns}
        if not gold or not gold <= ids:
            continue
        yield log.ask(question.text, gold, kind="small", at=question.asked_at, **common)
        absent = [q.text for q, other in own.questions if other and not other & ids]
        for text in random.sample(absent, min(2, len(absent))):
            yield log.ask(text, kind="small, absent", **common)
        text = random.choice(never).replace("{name}", random.choice(own.named or ["Ada"]))
        yield log.ask(text, kind="small, never", **common)


def window(turns: Sequence[Turn], gold: frozenset[int], random: Random) -> list[Turn]:
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
            log = Log(window(side, gold, random))
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


AFTER_NOISE = timedelta(days=731)
"""How much later foreign conversations are put, so that they overlap with the changes."""
WITHIN = 200
"""Cases at most that are put within foreign conversations, which takes long."""
POINT = ("now", "as_of", "when")
"""What questions about changes ask that have one right state."""


@dataclass(frozen=True, kw_only=True)
class ChangeQuestion:
    """A question about a state that may have changed, and the memory that it is asked of.

    Attributes:
        memory: how the memory was made: ``alone``, ``within`` a foreign conversation, or ``mixed``
            with other cases as if one person had lived them all.
        number: of each turn of the case, its number in the memory.
    """

    log: Log
    memory: str
    case: dict[str, Any]
    question: dict[str, Any]
    text: str
    fold: int
    asker: str
    number: Sequence[int]

    @property
    def upto(self) -> datetime | None:
        """The end of the day of which it asks."""
        if not self.question["as_of"]:
            return None
        day = datetime.fromisoformat(self.question["as_of"]).replace(tzinfo=UTC)
        return day + timedelta(days=1)

    @property
    def at(self) -> datetime:
        """When it is asked."""
        return self.upto or self.log.last + timedelta(days=10)


def read_change_questions(path: Path, foreign: Path) -> Iterator[ChangeQuestion]:
    """Yield the questions of change cases, each asked of three memories."""
    strangers = [
        [replace(turn, at=turn.at + AFTER_NOISE) for turn in Conversation(labeled).turns]
        for labeled in read_evidence(foreign)
    ]
    cases = [json.loads(line) for line in path.open()]
    lives: dict[tuple[int, str, int], list[int]] = {}
    for number, case in enumerate(cases):
        place = number // (FOLDS * LIFE)
        lives.setdefault((number % FOLDS, case["language"], place), []).append(number)
    for number, case in enumerate(cases):
        own = _turns_of_case(case)
        user = next(turn.speaker for turn in own if turn.role == "user")
        yield from _questions_of(case, Log(own), "alone", number % FOLDS, user)
        if number * WITHIN % len(cases) < WITHIN:
            within = _merged([own, strangers[number % len(strangers)]])
            yield from _questions_of(case, Log(within), "within", number % FOLDS, user)
    for (fold, _, _), numbers in lives.items():
        turns = _merged([_turns_of_case(cases[number], LIVES) for number in numbers])
        log = Log(turns)
        for number in numbers:
            yield from _questions_of(cases[number], log, "mixed", fold, LIVES)


def _questions_of(
    case: dict[str, Any], log: Log, memory: str, fold: int, asker: str
) -> Iterator[ChangeQuestion]:
    user = next(turn["speaker"] for turn in case["turns"] if turn["role"] == "user")
    numbers = {(turn.at, turn.text): turn.id for turn in log.turns}
    for question in case["questions"]:
        yield ChangeQuestion(
            log=log,
            memory=memory,
            case=case,
            question=question,
            text=question["q"].replace(user, asker),
            fold=fold,
            asker=asker,
            number=[numbers[turn.at, turn.text] for turn in _turns_of_case(case)],
        )


def read_changes(path: Path, foreign: Path) -> Iterator[Sample]:
    """Yield the questions of change cases.

    The evidence is the state that holds at the asked time, or all that the answer needs.
    """
    for asked in read_change_questions(path, foreign):
        question = asked.question
        places = question["current"] if question["asks"] in POINT else question["needed"]
        english = asked.case["language"] == "en"
        kind = f"changes {asked.memory}" + ("" if english else ", other languages")
        sample = asked.log.ask(
            asked.text,
            [asked.number[place] for place in places],
            asker=asked.asker,
            set="changes",
            kind=kind + ("" if places else ", never"),
            fold=asked.fold,
            at=asked.at,
            upto=asked.upto,
        )
        sample.features[:, FEATURES.index("first in session")] = 0  # as they are written, no rule
        yield sample


def _turns_of_case(case: dict[str, Any], user: str = "") -> list[Turn]:
    """Return the turns of a case, with another name of its user."""
    sessions: dict[str, int] = {}
    return [
        Turn(
            text=turn["text"],
            speaker=user if user and turn["role"] == "user" else turn["speaker"],
            role="assistant" if turn["role"] == "assistant" else "user",
            at=datetime.fromisoformat(turn["at"]).replace(tzinfo=UTC),
            id=number,
            session=sessions.setdefault(turn["session"], len(sessions) + 1),
        )
        for number, turn in enumerate(case["turns"], 1)
    ]


def _merged(logs: Sequence[Sequence[Turn]]) -> list[Turn]:
    """Return the turns of several logs as one, in order of their sessions' times."""
    sessions: dict[tuple[int, int], list[Turn]] = {}
    for number, turns in enumerate(logs):
        for turn in turns:
            sessions.setdefault((number, turn.session), []).append(turn)
    ordered = sorted(sessions.values(), key=lambda turns: turns[0].at)
    flat = [(turn, number) for number, turns in enumerate(ordered, 1) for turn in turns]
    return [replace(turn, id=id, session=number) for id, (turn, number) in enumerate(flat, 1)]


def read_diaries(paths: Iterable[Path]) -> Iterator[tuple[Log, int, dict[str, Any]]]:
    """Yield the questions of diaries: what one person told an assistant over a year or two.

    Each comes with the diary, its fold, and pairs of its turns of which one followed the other.
    ``paths`` are files of JSON Lines, or folders with a JSON file for each diary.
    """
    diaries = [
        json.loads(text)
        for path in paths
        for text in (
            [file.read_text() for file in sorted(path.glob("*.json"))]
            if path.is_dir()
            else path.read_text().splitlines()
        )
    ]
    for number, diary in enumerate(diaries):
        days: dict[str, int] = {}
        turns = [
            Turn(
                text=turn["text"],
                speaker=turn["speaker"],
                role="assistant" if turn["role"] == "assistant" else "user",
                at=datetime.fromisoformat(turn["at"]).replace(tzinfo=UTC),
                id=id,
                session=days.setdefault(turn["at"][:10], len(days) + 1),
            )
            for id, turn in enumerate(diary["turns"], 1)
        ]
        log = Log(turns)
        succession = {
            frozenset((older + 1, newer + 1))
            for question in diary["questions"]
            for older in question.get("outdated", ())
            for newer in question["turns"]
        }
        for question in diary["questions"]:
            asked = {"asker": diary["user"], "succession": succession}
            yield log, number % FOLDS, question | asked


def read_diary_questions(paths: Iterable[Path]) -> Iterator[Sample]:
    """Yield the questions of diaries; of those that continue a matter, what they go back to."""
    for log, fold, question in read_diaries(paths):
        told = ", told" if question["form"] == "tells" else ""
        yield log.ask(
            question["q"],
            [place + 1 for place in question["turns"]],
            asker=question["asker"],
            set="diaries",
            kind=f"diary{told}" if question["turns"] else "diary, never",
            fold=fold,
            at=log.last + timedelta(days=10),
        )


def read_replies(pairs: Path, conversations: Path) -> Iterator[Sample]:
    """Yield turns that ask nothing as queries, with the older turns that they go back to.

    The labels are those of pairs of turns. Every other query is a dialogue: the turn with the two
    before it.
    """
    related: dict[tuple[str, str], set[str]] = {}
    for line in pairs.open():
        pair = json.loads(line)
        if pair["label"] != "None" and not pair["newer"]["text"].rstrip().endswith("?"):
            key = (pair["history"], pair["newer"]["text"])
            related.setdefault(key, set()).add(pair["older"]["text"])
    for fold, labeled in enumerate(read_evidence(conversations)):
        turns = Conversation(labeled).turns
        for number, ((_, newer), olders) in enumerate(sorted(related.items())):
            at = next((n for n, turn in enumerate(turns) if turn.text == newer), None)
            if at is None:
                continue
            known = [turn for turn in turns if turn.session < turns[at].session]
            gold = [turn.id for turn in known if turn.text in olders]
            if not gold:
                continue
            first = at if number % 2 else max(at - 2, 0)
            said = [turn.text for turn in turns[first : at + 1]]
            yield Log(known).ask(
                "\n".join(said),
                gold,
                asker=turns[at].speaker,
                set="replies",
                kind="reply",
                fold=fold,
                at=turns[at].at,
                latest=said[-1],
            )


LONG_TEXTS, LARGE_LOGS = 40, 6
"""Long texts, and large logs, into which plain statements are put."""


def read_long(statements: Path, prose: Sequence[str], *, seed: int = 3) -> Iterator[Sample]:
    """Yield questions about a statement in a pasted text of 10 to 400 kB, and in large logs.

    ``prose`` are sentences of other conversations.
    """
    content = json.loads(statements.read_text())
    entries = content["statements"]
    never = [text for text in content["never"] if "{name}" not in text]
    random = Random(seed)
    for number in range(LONG_TEXTS):
        size = int(10_000 * 40 ** (number / LONG_TEXTS))
        told = random.sample(entries, 4)
        lines: list[str] = []
        length = 0
        while length < size:
            lines.append(random.choice(prose))
            length += len(lines[-1]) + 1
        for entry in told:
            lines.insert(random.randrange(len(lines)), entry["statement"])
        text = " ".join(lines)
        small = [entry["statement"] for entry in random.sample(entries, 6) if entry not in told]
        turns = [
            Turn(text=words, speaker="ana", at=START + timedelta(days=id), id=id, session=id)
            for id, words in enumerate([text, *small], 1)
        ]
        log = Log(turns)
        spans = log.index.spans(range(len(log.index)))
        common = {"asker": "ana", "set": "long", "fold": number % FOLDS, "passages": True}
        for entry in told:
            start = text.index(entry["statement"])
            gold = [
                position + 1
                for position, (first, last) in spans.items()
                if log.index.turns[position] == 1 and first <= start < last
            ]
            yield log.ask(random.choice(entry["questions"]), gold, kind="long text", **common)
        for absent in random.sample(never, 3):
            yield log.ask(absent, kind="long text, never", **common)
    for number in range(LARGE_LOGS):
        size = int(2_000 * 20 ** (number / (LARGE_LOGS - 1)))
        told = random.sample(entries, 25)
        ours = {entry["statement"] for entry in told}
        said = [random.choice(prose) for _ in range(size)]
        for entry in told:
            said.insert(random.randrange(len(said)), entry["statement"])
        turns = [
            Turn(
                text=words,
                speaker=("ana", "assistant")[id % 2 if words not in ours else 0],
                at=START + timedelta(minutes=id),
                id=id,
                session=id // 20 + 1,
            )
            for id, words in enumerate(said, 1)
        ]
        log = Log(turns)
        ids = {turn.text: turn.id for turn in turns}
        common = {"asker": "ana", "set": "long", "fold": number % FOLDS}
        for entry in told:
            question = random.choice(entry["questions"])
            yield log.ask(question, [ids[entry["statement"]]], kind="large log", **common)
        for absent in random.sample(never, 6):
            yield log.ask(absent, kind="large log, never", **common)
