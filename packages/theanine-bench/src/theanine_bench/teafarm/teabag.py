"""TeaBag: 100 episodes of MSC and CC, each with two counterfactual questions and two sessions 6.

The paper (appendix D) describes the contents; no description of the fields is published, so this
reader goes by the fields' names and accepts every plausible spelling:

- the file: a JSON list of episodes, an object of them by name, an episode a line, or a table in
  CSV or Parquet with a row for an episode or a question;
- sessions 1 to 5: ``session1`` … or ``first session dialogue`` …, or a list ``sessions``;
- questions: a list (or an object by speaker) ``questions`` or ``qa`` of objects with ``question``,
  ``answer`` and optionally ``speaker`` and ``session6``; or ``question1``, ``answer1``, … or
  ``q1``, ``a1``, …, of which the first may also be such an object; or lists of the same length,
  ``questions`` and ``answers``; or the text that a model wrote to the paper's prompt; or one
  ``question`` and ``answer``, where rows with the same sessions are one episode;
- session 6: with its question, or in a list ``session6``, or as ``session6_1``, …, or
  ``session6_q1``, …;
- a session: ``Speaker: words`` lines, in a text or a list; objects with ``speaker`` and ``text``;
  or bare texts with the names in a field such as ``first session speakers``, else alternating.

Session 6 may end with its question, as the prompt that made it asks for; its speaker then asks.
As nothing tells whether the file is read as it was meant, the reader says which fields it read and
which it didn't.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from theanine.errors import BadInput
from theanine.importers.dates import Calendar, parse_duration
from theanine.types import History, Transcript, Utterance
from theanine_bench.files import hash_files, read_json
from theanine_bench.teafarm.qa_text import parse_qa_text
from theanine_bench.teafarm.questions import CounterfactualQuestion, QuestionFile, bare_words
from theanine_bench.teafarm.rows import is_table, read_rows

Turns = list[tuple[str, str]]
"""Speakers and texts."""


class Fields(dict[str, Any]):
    """A JSON object with normalized keys (:func:`_normalize_key`), which notes what is read.

    Attributes:
        names_read: the keys that were looked up and are there.
    """

    def __init__(self, record: Mapping[str, Any]) -> None:
        super().__init__({_normalize_key(key): value for key, value in record.items()})
        self.names_read: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        self.names_read.add(key)
        return value

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or the default."""
        try:
            return self[key]
        except KeyError:
            return default


SPEAKERS = ("Speaker 1", "Speaker 2")
SESSIONS = 5
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
_SPEAKER = re.compile(r"\s*([^\W\d_][\w .'’()&-]{0,39}?)\s*:\s+(.+)", re.DOTALL)
_DATA_SETS = {"msc": "MSC", "multi": "MSC", "cc": "CC", "chronicles": "CC"}
"""Word in an episode's source or in the file's name → data set."""
_EPISODE_KEYS = ("data id", "episode id", "initial data id", "episode", "id")
_SOURCE_KEYS = ("dataset", "data set", "source", "from")
_SPEAKER_KEYS = ("speaker", "id", "role", "name", "asker", "asks", "question speaker", "from")
_TEXT_KEYS = ("text", "utterance", "content", "words", "value")
_DIALOGUE_KEYS = ("dialogue", "dialog", "turns", "utterances", "conversation")
_QUESTION_KEYS = ("question", "counterfactual question", "query", "q")
_ANSWER_KEYS = ("answer", "correct answer", "a")
_ASKER_KEYS = ("speaker", "asker", "asks", "question speaker")
_ANSWER_LIST_KEYS = ("answers", "correct answers", *_ANSWER_KEYS)
_ASKER_LIST_KEYS = ("askers", "question speakers", "asker")
_NUMBERED_QUESTIONS = ("question {}", "q {}", "counterfactual question {}")
_NUMBERED_ANSWERS = ("answer {}", "a {}", "correct answer {}")
_LIST_KEYS = (
    "questions",
    "qa",
    "qas",
    "qa pairs",
    "counterfactual qa",
    "counterfactual questions",
    "question",
    "q",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TeaBag:
    """The questions, the episodes before them, and the file's hash.

    Attributes:
        read, unread: the number of episodes with each field that was read or not, by its name in
            lower case.
    """

    question_file: QuestionFile
    histories: Sequence[History]
    hash: str
    read: Mapping[str, int]
    unread: Mapping[str, int]


def is_teabag(file: Path) -> bool:
    """Return whether a file is JSON or a table, which a file of questions to edit is not."""
    if is_table(file) and file.is_file():
        return True
    try:
        with file.open(encoding="utf-8-sig") as text:
            return re.match(r"\s*(\{|\[\s*[{\]])", text.read(200)) is not None
    except (OSError, ValueError) as error:
        raise BadInput(f"can't be read: {error}", str(file)) from None


def read_teabag(file: Path) -> TeaBag:
    """Read the file. Raises BadInput, naming the episode and what it lacks."""
    questions: list[CounterfactualQuestion] = []
    histories: dict[str, History] = {}
    asked = Counter[str]()
    read, unread = Counter[str](), Counter[str]()
    for number, (name, record) in enumerate(_episodes(file), 1):
        fields = Fields(record)
        where = f"{file.name}, episode {number}"
        user = name or _first_text(fields, _EPISODE_KEYS) or f"episode {number}"
        sessions = json.dumps(_earlier_sessions(fields)) if _is_question_row(fields) else where
        if sessions not in histories:
            histories[sessions] = _history(user, fields, where)
        user = histories[sessions].name
        found = _questions(user, _data_set(fields, file), fields, where, first=asked[user])
        asked[user] += len(found)
        questions += found
        read.update(fields.names_read)
        unread.update(fields.keys() - fields.names_read)
    return TeaBag(
        question_file=QuestionFile(questions=tuple(questions)),
        histories=[*histories.values()],
        hash=hash_files(file),
        read=read,
        unread=unread,
    )


def _episodes(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each episode, with its name if the file is an object of episodes by name."""
    document = read_rows(file) if is_table(file) else read_json(file)
    episodes: list[tuple[str, Any]]
    if isinstance(document, dict):
        by_name = cast("dict[str, Any]", document)
        named = all(isinstance(value, dict) for value in by_name.values())
        episodes = list(by_name.items()) if named else [("", by_name)]
    else:
        episodes = [("", record) for record in cast("list[Any]", document)]
    for number, (name, record) in enumerate(episodes, 1):
        yield name, _as_object(record, f"{file.name}, episode {number}")


def _history(user: str, fields: Fields, where: str) -> History:
    intervals: Any = fields.get("time interval") or []
    if not isinstance(intervals, list):
        raise BadInput("its time interval is no list", where)
    calendar = Calendar(None)
    transcripts: list[Transcript] = []
    for number, turns in enumerate(_earlier_sessions(fields), 1):
        interval = cast("list[Any]", intervals)[number - 1 : number]
        gap = parse_duration(str(interval[0])) if interval else None
        times = calendar.place(len(turns), gap, where)
        utterances = [
            Utterance(text=text, speaker=speaker, at=at, key=str(position))
            for position, ((speaker, text), at) in enumerate(zip(turns, times, strict=True), 1)
        ]
        key = f"{user}/session_{number}"
        transcripts.append(Transcript(key=key, turns=utterances, at=times[0], dated=False))
    if not transcripts:
        raise BadInput(f"no sessions in it (session1, …); {_field_names(fields)}", where)
    return History(name=user, transcripts=transcripts)


def _earlier_sessions(fields: Fields) -> list[Turns]:
    """Return sessions 1 to 5."""
    if isinstance(listed := fields.get("sessions") or fields.get("dialogues"), list):
        sessions = [_turns(value, ()) for value in cast("list[Any]", listed)[:SESSIONS]]
    else:
        sessions = [_session(fields, number) for number in range(1, SESSIONS + 1)]
    return [turns for turns in sessions if turns]


def _session(fields: Fields, number: int) -> Turns:
    """Return the session with a number, in any spelling; empty if there is none."""
    for key in _session_keys(number):
        if key in fields:
            speakers = fields.get(f"{_ORDINALS[number - 1]} session speakers") or ()
            return _turns(fields[key], cast("Sequence[str]", speakers))
    return []


def _session_keys(number: int) -> list[str]:
    prefixes = [f"session {number}", f"{_ORDINALS[number - 1]} session"]
    suffixes = ["", *(f" {key}" for key in _DIALOGUE_KEYS)]
    return [f"{prefix}{suffix}" for prefix in prefixes for suffix in suffixes]


def _turns(value: Any, speakers: Sequence[str]) -> Turns:
    """Parse a session in any of its forms; empty for anything else."""
    if isinstance(value, dict):
        fields = Fields(cast("Mapping[str, Any]", value))
        inner = next((fields[key] for key in _DIALOGUE_KEYS if key in fields), None)
        return _turns(inner, fields.get("speakers") or speakers)
    if isinstance(value, str):
        value = [line for line in value.splitlines() if line.strip()]
    if not isinstance(value, list):
        return []
    turns: Turns = []
    for i, item in enumerate(cast("list[Any]", value)):
        named = i < len(speakers)
        turns.append(_turn(item, speakers[i] if named else SPEAKERS[i % 2], named=named))
    return [(speaker, text) for speaker, text in turns if text]


def _turn(item: Any, speaker: str, *, named: bool) -> tuple[str, str]:
    """Parse a turn; ``named`` says that the speaker is known and not part of the text."""
    if isinstance(item, dict):
        fields = Fields(cast("Mapping[str, Any]", item))
        return _first_text(fields, _SPEAKER_KEYS) or speaker, _first_text(fields, _TEXT_KEYS)
    match = None if named else _SPEAKER.fullmatch(str(item))
    return (match[1], match[2].strip()) if match else (speaker, str(item).strip())


def _questions(
    user: str, data_set: str, fields: Fields, where: str, *, first: int = 0
) -> list[CounterfactualQuestion]:
    """Return the questions of an episode; ``first`` counts those that other rows had."""
    people = list(dict.fromkeys(name for turns in _earlier_sessions(fields) for name, _ in turns))
    questions = [
        _question(
            entry,
            _last_session(entry, fields, i),
            people,
            CounterfactualQuestion(
                id=f"{user}/{i + 1}",
                user=user,
                asks=people[i % len(people)],
                text=_first_text(entry, _QUESTION_KEYS),
                answer=_first_text(entry, _ANSWER_KEYS),
                data_set=data_set,
                where=where,
            ),
        )
        for i, entry in enumerate(_question_entries(fields, where), first)
    ]
    if not questions:
        raise BadInput(f"no questions in it (questions, …); {_field_names(fields)}", where)
    return questions


def _question_entries(fields: Fields, where: str) -> list[Fields]:
    """Return the questions as objects."""
    if _is_question_row(fields):
        return [_row_entry(fields)]
    listed: Any = next((fields[key] for key in _LIST_KEYS if key in fields), None)
    if isinstance(listed, str):
        listed = parse_qa_text(listed)
    elif (lists := _parallel_lists(listed, fields)) is not None:
        listed = lists
    elif isinstance(listed, dict):
        by_speaker = cast("dict[str, Any]", listed)
        listed = [
            {"speaker": speaker, **_as_object(value, f"{where}, the question of {speaker}")}
            for speaker, value in by_speaker.items()
        ]
    if not isinstance(listed, list):
        listed = list(_numbered_entries(fields))
    return [
        Fields(_as_object(value, f"{where}, question {number}"))
        for number, value in enumerate(cast("list[Any]", listed), 1)
    ]


def _is_question_row(fields: Fields) -> bool:
    """Return whether an object is one question with its answer, besides the episode's sessions."""
    single = (_QUESTION_KEYS, _ANSWER_KEYS)
    return all(any(isinstance(fields.get(key), str) for key in keys) for keys in single)


def _row_entry(fields: Fields) -> Fields:
    """Return the question of a row, without the fields that name its episode."""
    own = {*_QUESTION_KEYS, *_ANSWER_KEYS, *_session_keys(6), *_ASKER_KEYS}
    return Fields({key: fields[key] for key in fields if key in own})


def _parallel_lists(listed: Any, fields: Fields) -> list[dict[str, Any]] | None:
    """Return the questions of lists beside each other; None if there are none.

    Each may be a field, or all are in one object. A list of texts alone has texts as a model wrote
    them, or pairs.
    """
    if isinstance(listed, dict):
        fields = Fields(cast("Mapping[str, Any]", listed))
        listed = next((fields[key] for key in _QUESTION_KEYS if key in fields), None)
    if not isinstance(listed, list) or not listed:
        return None
    texts = cast("list[Any]", listed)
    if all(isinstance(text, list) and len(cast("list[Any]", text)) == 2 for text in texts):
        return [dict(zip(("question", "answer"), pair, strict=True)) for pair in texts]
    if not all(isinstance(text, str) for text in texts):
        return None
    answers: Any = next((fields[key] for key in _ANSWER_LIST_KEYS if key in fields), None)
    if isinstance(answers, list) and len(cast("list[Any]", answers)) == len(texts):
        askers: Any = next((fields[key] for key in _ASKER_LIST_KEYS if key in fields), None)
        entries = [
            {"question": question, "answer": answer}
            for question, answer in zip(texts, cast("list[Any]", answers), strict=True)
        ]
        if isinstance(askers, list):
            for entry, asker in zip(entries, cast("list[Any]", askers), strict=False):
                entry["speaker"] = asker
        return entries
    return [entry for text in texts for entry in parse_qa_text(text)]


def _numbered_entries(fields: Fields) -> Iterator[Mapping[str, Any]]:
    """Yield ``question1`` with ``answer1``, or ``q1`` with ``a1``, and so on."""
    for number in range(1, 10):
        asked = next(
            (k.format(number) for k in _NUMBERED_QUESTIONS if k.format(number) in fields), ""
        )
        if not asked:
            continue
        entry: Any = fields[asked]
        if not isinstance(entry, dict):
            answers = [key.format(number) for key in _NUMBERED_ANSWERS]
            entry = {"question": entry, "answer": _first_text(fields, answers)}
        yield cast("Mapping[str, Any]", entry)


def _last_session(entry: Fields, fields: Fields, index: int) -> Turns:
    """Return session 6 of the question with an index."""
    if turns := _session(entry, 6):
        return turns
    for key in _session_keys(6):
        for numbered in (f"{key} {index + 1}", f"{key} q {index + 1}"):
            if turns := _turns(fields.get(numbered), ()):
                return turns
        listed: Any = fields.get(key)
        if isinstance(listed, dict):
            listed = list(cast("dict[str, Any]", listed).values())
        if isinstance(listed, list) and index < len(cast("list[Any]", listed)):
            return _turns(listed[index], ())
    return []


def _question(
    entry: Fields, session: Turns, people: Sequence[str], question: CounterfactualQuestion
) -> CounterfactualQuestion:
    """Complete a question by who asks whom, and by its session without the question itself."""
    text, answer = question.text, question.answer
    if not text or not answer:
        raise BadInput(f"question {question.id} has no text or no answer", question.where)
    asks = _first_text(entry, _SPEAKER_KEYS)
    match = _SPEAKER.fullmatch(text)
    if match and match[1] in people:
        asks, text = match[1], match[2].strip()
    if session and bare_words(session[-1][1]) == bare_words(text):
        asks, session = asks or session[-1][0], session[:-1]
    asks = asks or question.asks
    others = [name for name in people if name != asks]
    speaker, _, rest = answer.partition(": ")
    return replace(
        question,
        asks=asks,
        answers=others[0] if others else "assistant",
        text=text,
        answer=rest if speaker in people else answer,
        session=tuple(session),
    )


def _data_set(fields: Fields, file: Path) -> str:
    names = f"{_first_text(fields, _SOURCE_KEYS)} {file.stem}".casefold()
    words = set(re.split(r"[\W_]+", names))
    return next((name for word, name in _DATA_SETS.items() if word in words), "")


def _as_object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise BadInput("it is no JSON object", where)
    return cast("Mapping[str, Any]", value)


def _field_names(fields: Fields) -> str:
    return f"it has the fields {', '.join(list(fields)[:12])}"


def _first_text(fields: Mapping[str, Any], keys: Sequence[str]) -> str:
    """Return the first of these fields that is not empty, as text."""
    return next((str(fields[key]).strip() for key in keys if fields.get(key)), "")


def _normalize_key(key: str) -> str:
    """Return a key in one spelling: ``Session_1`` and ``session1`` become ``session 1``."""
    spaced = re.sub(r"(?<=[a-z])(?=\d)|(?<=[a-z])(?=[A-Z])", " ", key)
    return re.sub(r"[\s_-]+", " ", spaced).strip().casefold()
