"""Histories of one user with questions whose right answers are known: states, times, identifiers.

Three formats are read: histories in which a state changes, with the turns that hold, are outdated
or are needed; cases of a recall with words that it must have and must not have; and diaries, whose
questions name the turns that answer them. The first and the last may be lines of JSON Lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, Self

from theanine.errors import BadInput
from theanine.types import History, Transcript, Utterance

AFTER = timedelta(days=10)
"""How long after its last turn a history is asked, unless it says otherwise."""
_OPTIONS = ("limit", "budget", "min_relevance")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question of the user.

    Attributes:
        kind: what it is about.
        asks: ``now``, ``as_of``, ``when``, ``before``, ``list``, ``both``, ``never`` or ``tells``;
            ``words`` where ``has`` and ``hasnt`` say what is right.
        at: when it is asked.
        options: those of the recall.
        current: turns of which any is right, by their places in the history.
        outdated: turns that are wrong without one of these.
        needed: turns that are all needed.
        has, hasnt: words that the recollection must have, and must not have.
        is_empty: whether nothing may be recalled.
    """

    text: str
    kind: str
    asks: str
    at: datetime
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    current: tuple[int, ...] = ()
    outdated: tuple[int, ...] = ()
    needed: tuple[int, ...] = ()
    has: tuple[str, ...] = ()
    hasnt: tuple[str, ...] = ()
    is_empty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The matters and relations that one reader marked in a history; turns by their places.

    Attributes:
        matters: the turns of each specific matter, such as one trip, pet or illness.
        relations: how an older turn relates to a newer one, by the two.
    """

    matters: tuple[frozenset[int], ...]
    relations: Mapping[tuple[int, int], str]

    @classmethod
    def from_json(cls, reading: Mapping[str, Any]) -> Self:
        """Read ``{"matters": [{"turns": …}], "relations": [[older, newer, relation, …]]}``."""
        return cls(
            matters=tuple(frozenset(matter["turns"]) for matter in reading["matters"]),
            relations={
                (older, newer): relation for older, newer, relation, *_ in reading["relations"]
            },
        )

    def to_json(self) -> dict[str, Any]:
        """Return what :meth:`from_json` reads."""
        return {
            "matters": [{"turns": sorted(matter)} for matter in self.matters],
            "relations": [[*pair, relation] for pair, relation in self.relations.items()],
        }

    def relates(self, older: int, newer: int) -> bool:
        """Whether two turns have a relation or a matter in common."""
        return (older, newer) in self.relations or any(
            older in matter and newer in matter for matter in self.matters
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedHistory:
    """What one user said, and questions about it.

    Attributes:
        states: of each turn, the words that the labels mean.
        readings: of each reader who marked what belongs together.
    """

    id: str
    language: str
    user: str
    turns: tuple[Utterance, ...]
    states: tuple[str, ...]
    questions: tuple[AskedQuestion, ...]
    readings: tuple[Reading, ...] = ()

    @property
    def history(self) -> History:
        """The turns by day."""
        ordered = sorted(self.turns, key=lambda turn: turn.at)
        days = [list(turns) for _, turns in groupby(ordered, key=lambda turn: turn.at.date())]
        transcripts = [
            Transcript(key=f"{self.id} {turns[0].at.date()}", at=turns[0].at, turns=turns)
            for turns in days
        ]
        return History(name=self.user, transcripts=transcripts)


def read_asked(path: Path) -> list[AskedHistory]:
    """Return the histories of a file or, with all files in it, of a folder.

    Raises BadInput for what can't be read, or holds no question.
    """
    files = sorted(path.rglob("*.json*")) if path.is_dir() else [path]
    histories: list[AskedHistory] = []
    for file in files:
        try:
            histories += _read_file(file)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            reason = f"lacks {error}" if isinstance(error, KeyError) else str(error)
            raise BadInput(f"no history with questions: {reason}", str(file)) from error
    if not any(history.questions for history in histories):
        raise BadInput("no history with questions is in it", str(path))
    return histories


def _read_file(file: Path) -> Iterator[AskedHistory]:
    text = file.read_text("utf-8")
    if file.suffix == ".jsonl":
        for line in filter(str.strip, text.splitlines()):
            record = json.loads(line)
            is_diary = "user" in record
            yield _read_diary(record, file.stem) if is_diary else _read_changes(record)
        return
    content: Any = json.loads(text)
    if isinstance(content, list):  # what cases share
        return
    if "asks" in content and content.get("test", "recall") == "recall":
        yield _read_case(content, file)
    elif "questions" in content:
        yield _read_diary(content, file.stem)


def _when(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _turns(rows: Sequence[Mapping[str, Any]]) -> tuple[Utterance, ...]:
    return tuple(
        Utterance(
            text=row["text"],
            speaker=row["speaker"],
            role="assistant" if row["role"] == "assistant" else "user",
            at=_when(row["at"]),
        )
        for row in rows
    )


def _read_changes(case: Mapping[str, Any]) -> AskedHistory:
    turns = _turns(case["turns"])
    last = max(turn.at for turn in turns)
    questions = tuple(
        AskedQuestion(
            text=question["q"],
            kind=_class(question) if question["asks"] == "never" else case["kind"],
            asks=question["asks"],
            at=last + AFTER,
            options={"as_of": _when(question["as_of"]) + timedelta(days=1, seconds=-1)}
            if question["as_of"]
            else {},
            current=tuple(question["current"]),
            outdated=tuple(question["outdated"]),
            needed=tuple(question["needed"]),
            is_empty=question["asks"] == "never",
        )
        for question in case["questions"]
    )
    return AskedHistory(
        id=case["id"],
        language=case["language"],
        user=next(turn.speaker for turn in turns if turn.role == "user"),
        turns=turns,
        states=tuple(turn.get("state", turn["text"]) for turn in case["turns"]),
        questions=questions,
    )


def _class(question: Mapping[str, Any]) -> str:
    """Return why nothing answers a question."""
    return str(question.get("class", "absent"))


def _read_case(case: Mapping[str, Any], file: Path) -> AskedHistory:
    log = [*case["log"]]
    if case.get("base"):
        log += json.loads((file.parents[2] / "base.json").read_text("utf-8"))
    rows = [
        {
            "at": at,
            "speaker": speaker,
            "text": text,
            "role": (role or ["user" if speaker != "Assistant" else "assistant"])[0],
        }
        for at, speaker, text, *role in sorted(log, key=lambda row: row[0])
    ]
    questions = tuple(
        AskedQuestion(
            text=ask["q"],
            kind=case["kind"],
            asks="words",
            at=_when(ask.get("now", case["now"])),
            options={name: ask[name] for name in _OPTIONS if name in ask},
            has=tuple(ask.get("has", ())),
            hasnt=tuple(ask.get("hasnt", ())),
            is_empty=bool(ask.get("empty")),
        )
        for ask in case["asks"]
    )
    turns = _turns(rows)
    return AskedHistory(
        id=case["id"],
        language=case.get("language", "en"),
        user=case["user"],
        turns=turns,
        states=tuple(turn.text for turn in turns),
        questions=questions,
    )


def _read_diary(diary: Mapping[str, Any], name: str) -> AskedHistory:
    turns = _turns(diary["turns"])
    last = max(turn.at for turn in turns)
    questions = tuple(
        AskedQuestion(
            text=question["q"],
            kind=_class(question) if question["form"] == "never" else question["form"],
            asks=question["form"] if question["form"] in ("never", "tells") else "now",
            at=last + AFTER,
            current=tuple(question["turns"]),
            outdated=tuple(question.get("outdated", ())),
            needed=tuple(question["turns"]),
            is_empty=not question["turns"],
        )
        for question in diary["questions"]
    )
    return AskedHistory(
        id=diary.get("id", name),
        language=diary.get("language", "en"),
        user=diary["user"],
        turns=turns,
        states=tuple(turn.text for turn in turns),
        questions=questions,
        readings=tuple(map(Reading.from_json, diary.get("readings", ()))),
    )
