"""TeaBag: 100 episodes of MSC and CC, each with two counterfactual questions and two sessions 6.

The paper (appendix D) says what it holds; no description of its fields is published, so this reader
goes by what the fields are called and takes every spelling that it can tell:

- the file: a JSON list of episodes, an object of them by name, or an episode a line;
- sessions 1 to 5: ``session1`` … or ``first session dialogue`` …, or a list ``sessions``;
- questions: a list (or an object by speaker) ``questions`` or ``qa`` of objects with ``question``,
  ``answer`` and perhaps ``speaker`` and ``session6``; or ``question1``, ``answer1``, …;
- session 6: with its question, or in a list ``session6``, or as ``session6_1``, ``session6_2``;
- a session: ``Speaker: words`` lines, in a text or a list; objects with ``speaker`` and ``text``;
  or bare words with the names in a field such as ``first session speakers``, else by turns.

Session 6 may end with its question, as the prompt that made it asks for; its speaker then asks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from theanine.errors import BadInput
from theanine.importers.dates import Calendar, parse_duration
from theanine.types import History, Transcript, Utterance
from theanine_bench.files import hash_files
from theanine_bench.teafarm.questions import CounterfactualQuestion, QuestionFile

Turns = list[tuple[str, str]]
"""Speakers and words."""
Record = Mapping[str, Any]

SPEAKERS = ("Speaker 1", "Speaker 2")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
_SPEAKER = re.compile(r"\s*([^\W\d_][\w .'’()&-]{0,39}?)\s*:\s+(.+)", re.DOTALL)
_NAMES = ("data id", "episode id", "initial data id", "episode", "id")
_SETS = {"msc": "MSC", "multi": "MSC", "cc": "CC", "chronicles": "CC"}
_WHO = ("speaker", "id", "role", "name", "asker", "from")
_WORDS = ("text", "utterance", "content", "words", "value")
_INSIDE = ("dialogue", "dialog", "turns", "utterances", "conversation")
_QUESTION = ("question", "counterfactual question", "query", "q")
_ANSWER = ("answer", "correct answer", "a")
_LISTS = ("questions", "qa", "qas", "qa pairs", "counterfactual qa", "counterfactual questions")


@dataclass(frozen=True, slots=True, kw_only=True)
class TeaBag:
    """The questions, the episodes before them, and the file's hash."""

    sheet: QuestionFile
    histories: Sequence[History]
    hash: str


def is_teabag(file: Path) -> bool:
    """Whether it is JSON, which a file of questions that a person wrote is not."""
    try:
        with file.open(encoding="utf-8-sig") as text:
            return re.match(r"\s*(\{|\[\s*[{\]])", text.read(200)) is not None
    except (OSError, ValueError) as error:
        raise BadInput(f"can't be read: {error}", str(file)) from None


def read_teabag(file: Path) -> TeaBag:
    """All of it. Raises BadInput, naming the episode and what it lacks."""
    questions: list[CounterfactualQuestion] = []
    histories: list[History] = []
    for number, (name, record) in enumerate(_episodes(file), 1):
        fields = {_plain(key): value for key, value in record.items()}
        where = f"{file.name}, episode {number}"
        user = name or _first(fields, _NAMES) or f"episode {number}"
        histories.append(_history(user, fields, where))
        questions += _questions(user, _data_set(fields, file), fields, where)
    return TeaBag(
        sheet=QuestionFile(questions=tuple(questions)), histories=histories, hash=hash_files(file)
    )


def _episodes(file: Path) -> Iterator[tuple[str, Record]]:
    """Each episode, with its name where the file is an object of them by name."""
    text = file.read_text("utf-8-sig")
    try:
        found: Any = json.loads(text)
    except ValueError:
        try:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise BadInput(f"neither JSON nor JSON Lines: {error}", str(file)) from None
    if isinstance(found, dict):
        by_name = cast("dict[str, Any]", found)
        inside = all(isinstance(one, dict) for one in by_name.values())
        pairs: list[tuple[str, Any]] = list(by_name.items()) if inside else [("", by_name)]
    else:
        pairs = [("", one) for one in cast("list[Any]", found)]
    for number, (name, record) in enumerate(pairs, 1):
        if not isinstance(record, dict):
            raise BadInput("it is no JSON object", f"{file.name}, episode {number}")
        yield name, cast("Record", record)


def _history(user: str, fields: Record, where: str) -> History:
    calendar = Calendar(None)
    transcripts: list[Transcript] = []
    told: Any = fields.get("time interval") or []
    if not isinstance(told, list):
        raise BadInput("its time interval is no list", where)
    intervals = cast("list[Any]", told)
    for number, turns in enumerate(_sessions(fields), 1):
        gap = parse_duration(str(intervals[number - 1])) if number <= len(intervals) else None
        times = calendar.place(len(turns), gap, where)
        said = [
            Utterance(text=words, speaker=speaker, at=at, key=str(place))
            for place, ((speaker, words), at) in enumerate(zip(turns, times, strict=True), 1)
        ]
        key = f"{user}/session_{number}"
        transcripts.append(Transcript(key=key, turns=said, at=times[0], dated=False))
    if not transcripts:
        known = ", ".join(list(fields)[:12])
        raise BadInput(f"no sessions in it (session1, …); it has the fields {known}", where)
    return History(name=user, transcripts=transcripts)


def _sessions(fields: Record) -> list[Turns]:
    """Sessions 1 to 5."""
    if isinstance(listed := fields.get("sessions") or fields.get("dialogues"), list):
        found = [_turns(one, ()) for one in cast("list[Any]", listed)[:5]]
    else:
        found = [_numbered(fields, number) for number in range(1, 6)]
    return [turns for turns in found if turns]


def _numbered(fields: Record, number: int) -> Turns:
    ordinal = _ORDINALS[number - 1]
    for name in _spellings(number):
        if name in fields:
            speakers = fields.get(f"{ordinal} session speakers") or ()
            return _turns(fields[name], cast("Sequence[str]", speakers))
    return []


def _spellings(number: int) -> list[str]:
    bare = [f"session {number}", f"{_ORDINALS[number - 1]} session"]
    return [f"{one}{end}" for one in bare for end in ("", *(f" {inside}" for inside in _INSIDE))]


def _turns(value: Any, speakers: Sequence[str]) -> Turns:
    """A session in any of its forms; nothing for what is none."""
    if isinstance(value, dict):
        record = {_plain(key): one for key, one in cast("Record", value).items()}
        inner = next((record[name] for name in _INSIDE if name in record), None)
        return _turns(inner, record.get("speakers") or speakers)
    if isinstance(value, str):
        value = [line for line in value.splitlines() if line.strip()]
    if not isinstance(value, list):
        return []
    turns: Turns = []
    for place, one in enumerate(cast("list[Any]", value)):
        fallback = speakers[place] if place < len(speakers) else SPEAKERS[place % 2]
        turns.append(_turn(one, fallback, named=place < len(speakers)))
    return [(speaker, words) for speaker, words in turns if words]


def _turn(one: Any, fallback: str, *, named: bool) -> tuple[str, str]:
    if isinstance(one, dict):
        record = {_plain(key): value for key, value in cast("Record", one).items()}
        return _first(record, _WHO) or fallback, _first(record, _WORDS)
    match = None if named else _SPEAKER.fullmatch(str(one))
    return (match[1], match[2].strip()) if match else (fallback, str(one).strip())


def _questions(
    user: str, data_set: str, fields: Record, where: str
) -> list[CounterfactualQuestion]:
    people = list(dict.fromkeys(speaker for turns in _sessions(fields) for speaker, _ in turns))
    found = [
        _question(f"{user}/{number}", user, data_set, asked, led, people, where)
        for number, (asked, led) in enumerate(zip(*_asked(fields, where), strict=True), 1)
    ]
    if not found:
        known = ", ".join(list(fields)[:12])
        raise BadInput(f"no questions in it (questions, …); it has the fields {known}", where)
    return found


def _asked(fields: Record, where: str) -> tuple[Sequence[Record], Sequence[Turns]]:
    """The questions as objects, and the session 6 of each."""
    listed = next((fields[name] for name in _LISTS if name in fields), None)
    if isinstance(listed, dict):
        by_speaker = cast("dict[str, Record]", listed)
        listed = [
            {"speaker": speaker, **_object(one, f"{where}, the question of {speaker}")}
            for speaker, one in by_speaker.items()
        ]
    if not isinstance(listed, list):
        listed = [
            {"question": fields[f"question {n}"], "answer": fields.get(f"answer {n}", "")}
            for n in range(1, 10)
            if f"question {n}" in fields
        ]
    asked = [
        {_plain(key): value for key, value in _object(one, f"{where}, question {place}").items()}
        for place, one in enumerate(cast("list[Any]", listed), 1)
    ]
    return asked, [_led(one, fields, place) for place, one in enumerate(asked)]


def _object(value: Any, where: str) -> Record:
    if not isinstance(value, dict):
        raise BadInput("it is no JSON object", where)
    return cast("Record", value)


def _led(asked: Record, fields: Record, place: int) -> Turns:
    """Session 6 of the question at a place."""
    if turns := _numbered(asked, 6):
        return turns
    for name in _spellings(6):
        if turns := _turns(fields.get(f"{name} {place + 1}"), ()):
            return turns
        listed: Any = fields.get(name)
        if isinstance(listed, list) and place < len(cast("list[Any]", listed)):
            return _turns(listed[place], ())
        if isinstance(listed, dict):
            return _turns(list(cast("Record", listed).values())[place], ())
    return []


def _question(
    id: str,
    user: str,
    data_set: str,
    asked: Record,
    led: Turns,
    people: Sequence[str],
    where: str,
) -> CounterfactualQuestion:
    text, answer = _first(asked, _QUESTION), _first(asked, _ANSWER)
    if not text or not answer:
        raise BadInput(f"question {id} has no words or no answer", where)
    named = _SPEAKER.fullmatch(text)
    asks = _first(asked, _WHO)
    if named and named[1] in people:
        asks, text = named[1], named[2].strip()
    if led and _same(led[-1][1], text):
        asks, led = asks or led[-1][0], led[:-1]
    asks = asks or people[(int(id.rpartition("/")[2]) - 1) % len(people)]
    others = [name for name in people if name != asks]
    return CounterfactualQuestion(
        id=id,
        user=user,
        asks=asks,
        answers=others[0] if others else "assistant",
        text=text,
        answer=answer.partition(": ")[2] if answer.split(": ")[0] in people else answer,
        session=tuple(led),
        data_set=data_set,
        where=where,
    )


def _same(one: str, other: str) -> bool:
    return re.findall(r"\w+", one.casefold()) == re.findall(r"\w+", other.casefold())


def _data_set(fields: Record, file: Path) -> str:
    told = f"{_first(fields, ('dataset', 'data set', 'source', 'from'))} {file.stem}".casefold()
    words = set(re.split(r"[\W_]+", told))
    return next((name for word, name in _SETS.items() if word in words), "")


def _first(record: Record, names: Sequence[str]) -> str:
    """The first of these fields that has words."""
    return next((str(record[name]).strip() for name in names if record.get(name)), "")


def _plain(key: str) -> str:
    """A field's name in one spelling: ``Session_1`` and ``session1`` are ``session 1``."""
    spaced = re.sub(r"(?<=[a-z])(?=\d)|(?<=[a-z])(?=[A-Z])", " ", key)
    return re.sub(r"[\s_-]+", " ", spaced).strip().casefold()
