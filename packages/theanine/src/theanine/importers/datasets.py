"""Data sets of research on long dialogues, as they are published.

locomo
    ``{"sample_id", "conversation": {"session_1": [{"speaker", "dia_id", "text", "blip_caption"?}],
    "session_1_date_time": "1:56 pm on 8 May, 2023"}, "observation"?: {"session_1_observation":
    {speaker: [[fact, dia_id]]}}}``; the facts are its memories.
msc
    Multi-Session Chat: ``{"dialog": [{"id": "Speaker 1", "text"}], "metadata":
    {"initial_data_id"}, "previous_dialogs": [{"dialog", "time_back": "6 days ago", "personas":
    [["I have a son."], …]}]}``: an episode with all earlier sessions, whose personas are its
    memories. Those of the last session are the earlier ones in other words and are not read.
cc
    Conversation Chronicles: ``{"dataID", "time interval": ["Start", "A few days after", …], "first
    session dialogue": [text], "first session speakers": [name], … "fifth session …"}``.
memorybank
    ``{user: {"name", "history": {"2023-04-27": [{"query", "response"}]}}}``: a day is a session.
beam
    ``[{"turns": [[{"role", "content", "id", "time_anchor": "March-15-2024"}]]}]``, of which a batch
    is a session, or ``[{"plan-1": [batch, …]}, {"plan-2": …}]``. The history is named after the
    file's folder, as the file of each chat is called ``chat.json``.
longmemeval
    ``[{"question_id", "haystack_session_ids", "haystack_dates": ["2023/05/20 (Sat) 02:21"],
    "haystack_sessions": [[{"role", "content"}]]}]``: each question has a history.
secom
    ``[["<Turn 0>: [human]: …\\n[bot]: …", …], …]``: the sessions of one user, lists of exchanges.
memories
    ``[{"dataID", "summary": {"s1-m1": sentence, …}}]``: memories of sessions without their turns.

Dates have no zone; those without a time are noon. Sessions without dates are put on a synthetic
calendar, with the gaps that the data tells (few = 3, couple = 2), else a day apart.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import timedelta
from pathlib import PurePosixPath
from typing import Literal

from pydantic import Field

from theanine.errors import BadInput
from theanine.importers.base import SPEAKERS, Entry, Intake, each_record, format_named
from theanine.importers.dates import parse_duration
from theanine.importers.folder import Folder
from theanine.importers.json_stream import ITEMS, select
from theanine.importers.schema import (
    Filled,
    Item,
    Object,
    Text,
    as_object,
    check,
    is_object,
    require_storable,
)
from theanine.importers.sessions import UntimedSession, make_history
from theanine.types import History, ImportedMemory


def _text(value: object, where: str) -> str:
    return require_storable(check(str, value, where), where)


# LoCoMo

_SESSION = re.compile(r"session_(\d{1,6})")
_TURN_ID = re.compile(r"D\d+:\d+")
_LOCOMO_DATES = ("%I:%M %p on %d %B, %Y", "%I:%M %p on %d %B %Y")


class _Sample(Item):
    sample_id: Filled
    conversation: Object
    observation: Object | None = None


class _LocomoTurn(Item):
    speaker: Filled
    dia_id: Filled
    text: Text | None = None
    blip_caption: Text | None = None
    img_url: object = None


def _locomo(intake: Intake, record: Object, where: str) -> History:
    sample = check(_Sample, record, where)
    return make_history(intake, sample.sample_id, _locomo_sessions(intake, sample, where))


def _locomo_sessions(intake: Intake, sample: _Sample, where: str) -> Iterator[UntimedSession]:
    """Yield the sessions by number. Dates of sessions that don't exist occur and are ignored."""
    conversation = sample.conversation
    for number in sorted(int(m[1]) for key in conversation if (m := _SESSION.fullmatch(key))):
        key = f"session_{number}"
        at_session = f"{where}.conversation.{key}"
        with intake.catching():
            if (date := conversation.get(f"{key}_date_time")) is None:
                reason = f'the field "{key}_date_time" is missing'
                raise BadInput(reason, f"{where}.conversation")
            at_date = f"{at_session}_date_time"
            at = intake.date(check(str, date, at_date), _LOCOMO_DATES, at_date)
            turns: list[Entry] = []
            for _, at_turn, turn in intake.items(_LocomoTurn, conversation[key], at_session):
                picture = turn.blip_caption or ("a picture" if turn.img_url else "")
                text = turn.text or ""
                turns.append(Entry(at_turn, "user", turn.speaker, text, picture, turn.dia_id))
            memories: list[ImportedMemory] = []
            if intake.options.memories:
                facts = (sample.observation or {}).get(f"{key}_observation")
                at_facts = f"{where}.observation.{key}_observation"
                memories += _facts(intake, facts, {turn.key for turn in turns}, at_facts)
            session_key = f"{sample.sample_id}/{key}"
            yield UntimedSession(session_key, turns, at_session, at, memories=memories)


def _facts(
    intake: Intake, facts: object, turn_keys: Set[str | None], where: str
) -> Iterator[ImportedMemory]:
    """Yield the facts of a session, given the keys of its turns."""
    for speaker, items in check(dict[str, object], facts or {}, where).items():
        with intake.catching():
            require_storable(speaker, where)
            for _, at_fact, parts in intake.items(list[object], items, f"{where}.{speaker}"):
                with intake.catching():
                    text = _text(parts[0] if parts else None, at_fact)
                    if not text.strip():
                        raise BadInput("an empty fact; fill it or leave it out", at_fact)
                    # "D1:3", "D1:3, D1:4" or ["D1:3", "D1:4"]
                    sources = dict.fromkeys(_TURN_ID.findall(str(parts[1:])))
                    known = tuple(key for key in sources if key in turn_keys)
                    unknown = len(sources) - len(known)
                    intake.notes["memories' sources that name no turn of their session"] += unknown
                    yield ImportedMemory(text=text, speakers=(speaker,), source_keys=known)


# Multi-Session Chat

_MSC_FILE = re.compile(r"session_(\d{1,6})/[^/]+\.jsonl")
_MSC_SPEAKERS = ("Speaker 1", "Speaker 2")


class _Metadata(Item):
    initial_data_id: Filled


class _Dialog(Item):
    dialog: list[object]
    personas: list[list[object]] | None = None
    time_back: Text | None = None


class _Episode(_Dialog):
    metadata: _Metadata
    previous_dialogs: list[_Dialog] | None = None


class _MscTurn(Item):
    id: Text | None = None
    text: Filled


def _msc(intake: Intake, record: Object, where: str) -> History:
    episode = check(_Episode, record, where)
    name = episode.metadata.initial_data_id
    sessions: list[UntimedSession] = []
    previous_age: timedelta | None = None
    dialogs: list[_Dialog] = [*(episode.previous_dialogs or []), episode]
    for i, dialog in enumerate(dialogs):
        at_dialog, age = where, timedelta()
        if dialog is not episode:
            at_dialog = f"{where}, previous_dialogs[{i}]"
            age = parse_duration(dialog.time_back or "")
            intake.notes["sessions without a gap"] += age is None
        gap = previous_age - age if previous_age is not None and age is not None else None
        previous_age = age
        turns = _msc_turns(intake, dialog, at_dialog)
        read = intake.options.memories and dialog is not episode
        memories = list(_personas(intake, dialog.personas or [], at_dialog)) if read else []
        key = f"{name}/session_{i + 1}"
        sessions.append(UntimedSession(key, turns, at_dialog, gap=gap, memories=memories))
    return make_history(intake, name, sessions)


def _personas(
    intake: Intake, personas: Sequence[Sequence[object]], where: str
) -> Iterator[ImportedMemory]:
    """Yield the statements about each speaker; the first list is Speaker 1's."""
    for i, (speaker, lines) in enumerate(zip(_MSC_SPEAKERS, personas, strict=False)):
        for j, line in enumerate(lines):
            with intake.catching():
                if text := _text(line, f"{where}.personas[{i}][{j}]").strip():
                    yield ImportedMemory(text=text, speakers=(speaker,))


def _msc_turns(intake: Intake, dialog: _Dialog, where: str) -> list[Entry]:
    turns: list[Entry] = []
    for i, at_turn, turn in intake.items(_MscTurn, dialog.dialog, f"{where}.dialog"):
        speaker = turn.id
        if speaker not in _MSC_SPEAKERS:
            # Session 1 names nobody, and some first turns carry a worker's number.
            intake.notes["turns whose speaker goes by position"] += 1
            speaker = _MSC_SPEAKERS[i % 2]
        turns.append(Entry(at_turn, "user", speaker, turn.text))
    return turns


def _pick_msc(folder: Folder) -> Sequence[str]:
    """Return the files ``session_N/*.jsonl``, the longest histories first."""
    files = [(int(match[1]), name) for name in folder.names if (match := _MSC_FILE.fullmatch(name))]
    return [name for _, name in sorted(files, key=lambda file: (-file[0], file[1]))]


# Conversation Chronicles, and memories without turns


class _Named(Item):
    data_id: Filled = Field(validation_alias="dataID")


class _Summary(_Named):
    summary: Object


_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_MEMORY_KEY = re.compile(r"s(\d{1,6})-m(\d{1,6})")


def _with_blanks(record: Mapping[str, object]) -> Object:
    """Return an object whose names have blanks where they may have underscores."""
    return {key.replace("_", " "): value for key, value in record.items()}


def _cc(intake: Intake, record: Object, where: str) -> History:
    record = _with_blanks(record)
    name = check(_Named, record, where).data_id
    return make_history(intake, name, _cc_sessions(intake, record, name, where))


def _cc_sessions(intake: Intake, record: Object, name: str, where: str) -> Iterator[UntimedSession]:
    intervals = check(list[Text], record.get("time interval") or [], f"{where}, time interval")
    for i, ordinal in enumerate(_ORDINALS):
        session = f"{ordinal} session"
        if f"{session} dialogue" not in record:
            continue
        gap = parse_duration(intervals[i]) if i < len(intervals) else None
        intake.notes["sessions without a gap"] += i > 0 and gap is None
        at_dialogue = f"{where}, {session} dialogue"
        texts = check(list[Text], record[f"{session} dialogue"], at_dialogue)
        if record.get(f"{session} speakers") is None:
            raise BadInput(f'the field "{session} speakers" is missing', where)
        speakers = check(list[Text], record[f"{session} speakers"], f"{where}, {session} speakers")
        if len(speakers) != len(texts):
            reason = f"{len(texts)} turns but {len(speakers)} speakers; make them match"
            raise BadInput(reason, at_dialogue)
        turns: list[Entry] = []
        for number, (speaker, text) in enumerate(zip(speakers, texts, strict=True)):
            with intake.catching():
                at_turn = f"{at_dialogue}[{number}]"
                if not speaker.strip():
                    raise BadInput("a turn without a speaker; name the speaker", at_turn)
                turns.append(Entry(at_turn, "user", speaker, text))
        yield UntimedSession(f"{name}/session_{i + 1}", turns, f"{where}, {session}", gap=gap)


def _memories(intake: Intake) -> Iterator[History]:
    if not intake.options.memories:
        raise BadInput("it holds only memories; import it with --memories", intake.name)
    yield from each_record(_summary)(intake)


def _summary(intake: Intake, record: Object, where: str) -> History:
    episode = check(_Summary, record, where)
    sessions: dict[int, dict[int, ImportedMemory]] = defaultdict(dict)
    for key, sentence in episode.summary.items():
        with intake.catching():
            if not (match := _MEMORY_KEY.fullmatch(key)):
                raise BadInput(
                    f'"{key[:40]}" is not a memory\'s name; write s1-m1 for session 1, memory 1',
                    f"{where}, summary",
                )
            at_memory = f"{where}, summary.{key}"
            if not (text := _text(sentence, at_memory)).strip():
                raise BadInput("an empty memory; fill it or leave it out", at_memory)
            sessions[int(match[1])][int(match[2])] = ImportedMemory(text=text)
    untimed: list[UntimedSession] = []
    for number, by_position in sorted(sessions.items()):
        memories = [memory for _, memory in sorted(by_position.items(), key=lambda each: each[0])]
        key = f"{episode.data_id}/s{number}"
        untimed.append(UntimedSession(key, (), where, memories=memories))
    return make_history(intake, episode.data_id, untimed)


# MemoryBank


class _User(Item):
    name: Text | None = None
    history: Object


class _Query(Item):
    query: Filled


class _Response(Item):
    response: Filled


def _is_memorybank(intake: Intake) -> bool:
    users = list(intake.first.values())
    objects = [user for user in users if is_object(user)]
    return bool(users) and users == objects and is_object(objects[0].get("history"))


def _memorybank(intake: Intake) -> Iterator[History]:
    for where, users in intake.records():
        for key, value in users.items():
            at_user = f"{where}, {key}"
            with intake.catching():
                intake.notes = Counter()
                require_storable(key, where)
                user = check(_User, value, at_user)
                name = (user.name or "").strip() or key.strip()
                if not name:
                    raise BadInput("a user without a name; name the user", where)
                days = _days(intake, name, user.history, f"{at_user}, history")
                history = make_history(intake, name, days)
                if not history.transcripts:
                    raise BadInput("it has no turns; leave it out", at_user)
                yield history


def _days(intake: Intake, name: str, days: Object, where: str) -> Iterator[UntimedSession]:
    for day, exchanges in days.items():
        at_day = f"{where}, {day}"
        with intake.catching():
            at = intake.date(day, ("%Y-%m-%d",), at_day)
            turns: list[Entry] = []
            for i, at_exchange, exchange in intake.items(object, exchanges, at_day):
                with intake.catching():
                    # The query is read even if its response can't be.
                    query = check(_Query, exchange, at_exchange).query
                    turns.append(Entry(at_exchange, "user", name, query, key=str(2 * i + 1)))
                    text = check(_Response, exchange, at_exchange).response
                    key = str(2 * i + 2)
                    turns.append(Entry(at_exchange, "assistant", "AI", text, key=key))
            yield UntimedSession(f"{name}/{day}", turns, at_day, at)


# Chats with an assistant: BEAM, LongMemEval and SeCom

_LONGMEMEVAL_DATES = ("%Y/%m/%d (%a) %H:%M", "%Y/%m/%d %H:%M")
_EXCHANGES = re.compile(
    r'\s*\[\s*\[\s*"\s*(?:<?Turn \d+>?:?\s*)?\[(?:human|user)\]:', re.IGNORECASE
)
_EXCHANGE = re.compile(
    r"\s*(?:<?Turn \d+>?:?\s*)?\[(?:human|user)\]:\s*(?P<user>.*?)\s*\n\s*\[(?:bot|agent)\]:\s*"
    r"(?P<assistant>.*?)\s*",
    re.DOTALL | re.IGNORECASE,
)


class _ChatTurn(Item):
    role: Literal["user", "assistant"]
    content: Filled

    def entry(self, where: str, key: str) -> Entry:
        return Entry(where, self.role, SPEAKERS[self.role], self.content, key=key)


class _BeamTurn(_ChatTurn):
    id: object = None
    time_anchor: Text | None = None


class _Batch(Item):
    turns: list[list[object]]
    time_anchor: Text | None = None


class _Question(Item):
    question_id: Filled
    haystack_sessions: list[object]
    haystack_dates: list[Text]
    haystack_session_ids: list[Text]


def _holds_plans(record: Mapping[str, object]) -> bool:
    return bool(record) and all(key.startswith("plan-") for key in record)


def _beam(intake: Intake) -> Iterator[History]:
    folder = intake.source.path.resolve().parent.name if intake.source.path else ""
    key = f"beam-{folder}" if folder else intake.stem
    sessions: list[UntimedSession] = []
    with intake.catching():
        for where, batch in _batches(intake):
            with intake.catching():
                sessions.append(_batch(intake, f"{key}/{len(sessions) + 1}", batch, where))
        history = make_history(intake, intake.options.name or key, sessions)
        if history.transcripts:
            yield history


def _batches(intake: Intake) -> Iterator[tuple[str, Object]]:
    """Yield each batch with its place, of all plans in order; other plans may be named as null."""
    for where, record in intake.records():
        if not _holds_plans(record):
            yield where, record
            continue
        for plan, batches in record.items():
            with intake.catching():
                for _, at_batch, batch in intake.items(object, batches or [], f"{where}.{plan}"):
                    with intake.catching():
                        yield at_batch, as_object(batch, at_batch)


def _batch(intake: Intake, key: str, record: Object, where: str) -> UntimedSession:
    batch = check(_Batch, record, where)
    turns: list[Entry] = []
    anchor = batch.time_anchor
    for number, group in enumerate(batch.turns):
        for _, at_turn, turn in intake.items(_BeamTurn, group, f"{where}.turns[{number}]"):
            with intake.catching():
                anchor = anchor or turn.time_anchor
                turn_key = str(len(turns) + 1 if turn.id is None else turn.id)
                turns.append(turn.entry(at_turn, require_storable(turn_key, at_turn)))
    at = intake.date(anchor, ("%B-%d-%Y",), where) if anchor else None
    return UntimedSession(key, turns, where, at)


def _pick_beam(folder: Folder) -> Sequence[str]:
    """Return the file of each chat, or its truncated version if there is one."""

    def number(name: str) -> tuple[int, str]:
        chat = PurePosixPath(name).parent.name
        return (int(chat) if chat.isdecimal() else 0, chat)

    # The published name of the truncated chats is misspelled.
    short = {name: name.removesuffix("chat.json") + "chat_trunecated.json" for name in folder.names}
    return [
        short[name] if short[name] in short else name
        for name in sorted(folder.select("chat.json"), key=number)
        if name.count("/") < 2
    ]


def _longmemeval(intake: Intake, record: Object, where: str) -> History:
    question = check(_Question, record, where)
    return make_history(intake, question.question_id, _haystack(intake, question, where))


def _haystack(intake: Intake, question: _Question, where: str) -> Iterator[UntimedSession]:
    sessions, dates = question.haystack_sessions, question.haystack_dates
    ids = question.haystack_session_ids
    if not len(sessions) == len(dates) == len(ids):
        raise BadInput(
            "haystack_sessions, haystack_dates, haystack_session_ids differ in length; "
            "make them match",
            where,
        )
    uses = Counter[str]()
    for i, (items, date, id) in enumerate(zip(sessions, dates, ids, strict=True)):
        at_session = f"{where}.haystack_sessions[{i}]"
        with intake.catching():
            at = intake.date(date, _LONGMEMEVAL_DATES, at_session)
            uses[id] += 1
            key = f"{question.question_id}/{id}"
            if uses[id] > 1:
                intake.notes["sessions under a name used before"] += 1
                key += f" ({uses[id]})"
            turns = [
                # Keyed by position, so that a turn that is left out renumbers no other.
                turn.entry(at_turn, str(number + 1))
                for number, at_turn, turn in intake.items(_ChatTurn, items, at_session)
            ]
            yield UntimedSession(key, turns, at_session, at)


def split_exchange(text: str) -> tuple[str, str] | None:
    """Return what the user and the assistant say in an exchange; None if it doesn't name both."""
    match = _EXCHANGE.fullmatch(text)
    return (match["user"], match["assistant"]) if match else None


def _secom(intake: Intake) -> Iterator[History]:
    intake.notes = Counter()
    yield make_history(intake, intake.user_name(intake.stem), list(_secom_sessions(intake)))


def _secom_sessions(intake: Intake) -> Iterator[UntimedSession]:
    for (index,), session in select(intake.source.stream(), intake.name, ITEMS):
        where = f"{intake.name}, [{index}]"
        with intake.catching():
            turns: list[Entry] = []
            for i, at_exchange, exchange in intake.items(str, session, where):
                with intake.catching():
                    if (said := split_exchange(exchange)) is None:
                        raise BadInput('it is not "[human]: …" and "[bot]: …"', at_exchange)
                    user, answer = said
                    both = (
                        Entry(at_exchange, "user", text=user, key=str(2 * i + 1)),
                        Entry(at_exchange, "assistant", text=answer, key=str(2 * i + 2)),
                    )
                    turns += (each for each in both if each.text)
            yield UntimedSession(f"{intake.stem}/{int(index) + 1}", turns, where)


def _is_cc(intake: Intake) -> bool:
    return "dataID" in intake.first and "first session dialogue" in _with_blanks(intake.first)


def _is_beam(intake: Intake) -> bool:
    return _holds_plans(intake.first)


def _is_secom(intake: Intake) -> bool:
    return _EXCHANGES.match(intake.source.head.decode("utf-8", "replace")) is not None


MSC = format_named("msc", each_record(_msc), pick=_pick_msc)
CC = format_named("cc", each_record(_cc), _is_cc)
FORMATS = (
    *(format_named("locomo", each_record(_locomo)), MSC, CC),
    format_named("memorybank", _memorybank, _is_memorybank),
    format_named("beam", _beam, _is_beam, _pick_beam),
    format_named("longmemeval", each_record(_longmemeval)),
    format_named("secom", _secom, _is_secom),
)
MEMORIES = format_named("memories", _memories)
