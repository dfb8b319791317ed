"""The table-driven reader of chats in JSON: a format is a row that says where things are.

A :class:`Layout` names where a document has its conversations, where these have their messages,
and what a message's fields are called. Messages are a list, a dictionary, or a tree by parents, of
which the branch that ends at the current message is read. Names are tried in order, so most rows
leave out what is usual.

One odd thing costs one thing: a message without a time gets its neighbor's, one without a role
takes its turn, one without a parent follows the message before it; each is noted. A message is
empty only if no words for people are anywhere in it.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Literal, cast

from theanine.fences import without_remembered
from theanine.importers.base import ZONELESS, Entry, Intake
from theanine.importers.dates import Calendar
from theanine.importers.html_text import html_to_text
from theanine.importers.json_stream import select
from theanine.importers.markup import without_markup
from theanine.importers.schema import Object, Path, as_object, get, is_object, objects_in
from theanine.importers.sessions import NO_TIME, SYNTHETIC, ChatSessions, SessionBuilder
from theanine.importers.wording import read_data, wording
from theanine.importers.words import Words, file_named, note_unread, notice_in, said_in, storable
from theanine.importers.written_dates import any_time, is_zoneless, time_in_name
from theanine.types import History, Role

ROLES: Mapping[str, Role] = {
    name: cast("Role", role) for role, names in wording("roles").items() for name in names
}
SYSTEM = "system and tool messages left out"
EMPTY = "empty messages left out"
INSTRUCTIONS = "instructions and settings left out"
HIDDEN = "hidden messages left out"
OTHER_BRANCHES = "messages of other branches left out"
NO_TEXT = "conversations without text"
NO_ROLE = "messages without a role took their turn"
NO_PARENT = "messages without a parent put after the one before"
ODD_TIME = "times that can't be read"
_DEEP = 6
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z]\w{1,31});")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where a document has its conversations and messages, and what their fields are called.

    Fields of several names are tried in order. A path is of keys with dots between them.

    Attributes:
        talks: the path to the list of conversations, with ``?`` for keys that are their titles;
            empty if the document is one, or a list.
        messages: the paths to a conversation's messages; empty if the document itself is a list, or
            lines, of messages.
        item: the path from an item of the messages to the message itself.
        role, subject, words, name, time, id: names of a message's fields.
        parent, children: of a tree, the message before and those after it.
        current, talk_id, title, talk_time: names of a conversation's fields.
        roles: roles by the names that this format has for them, in lower case.
        ours: names of fields that are true if the user wrote the message.
        talk: names of a message's field with the id of its conversation, of messages in one list.
        guessed: whether these are guesses: if some messages have none, all are of one conversation.
        thread: names of a message's field with the id of the message that began its thread.
        people: whether it is a chat between people, whose sessions are cut at pauses.
        own: whether all of it is the user's own, such as notes.
        mojibake: whether its UTF-8 is written as Latin-1.
        markup: what the words are written in: ``html``, or ``entities`` if only its characters are
            escaped; nothing if they are plain.
        every_time: whether a message without a time is odd even if no other has one.
        left_out: why messages aren't read, by a path at which they have something, or by a path,
            "=" and a regular expression for the whole of what they have there.
        shared: what messages without words brought along, by such a rule.
        opening: paths in a conversation to the fields of its first message, by their names in one.
        writer: names of a message's field with the id of who wrote it, under which a person with a
            name is somewhere in the conversation.
    """

    messages: Sequence[Path]
    role: Sequence[Path]
    words: Sequence[Path]
    name: Sequence[Path]
    time: Sequence[Path]
    id: Sequence[Path]
    parent: Sequence[Path]
    children: Sequence[Path]
    current: Sequence[Path]
    talk_id: Sequence[Path]
    title: Sequence[Path]
    talk_time: Sequence[Path]
    ours: Sequence[Path]
    subject: Sequence[Path] = ()
    thread: Sequence[Path] = ()
    talks: Path = ""
    talk: Sequence[Path] = ()
    guessed: bool = False
    item: Path = ""
    roles: Mapping[str, Role] = field(default_factory=dict[str, Role])
    people: bool = False
    own: bool = False
    mojibake: bool = False
    markup: Literal["", "entities", "html"] = ""
    every_time: bool = False
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
    shared: Mapping[str, str] = field(default_factory=dict[str, str])
    opening: Mapping[str, Path] = field(default_factory=dict[str, str])
    writer: Sequence[Path] = ()


def layout_named(name: str) -> Layout:
    """Return a row of ``formats.toml``."""
    table = read_data("formats.toml")
    row = {**table["usual"], **table[name]}
    return Layout(**{each.name: row[each.name] for each in fields(Layout) if each.name in row})


Reader = Callable[[Intake, Layout, Object, str], Sequence[Entry]]
"""Reads a message at a place: its turn, what it brought along, or nothing, which is then noted."""


def without(value: Mapping[str, object], path: Path) -> Object:
    """Return an object without what is at a path."""
    key, _, rest = path.partition(".")
    inner = value.get(key)
    if not rest or not is_object(inner):
        return {name: each for name, each in value.items() if name != key or (rest and inner)}
    return {**value, key: without(inner, rest)}


def first_of(value: object, paths: Iterable[Path]) -> object:
    """Return the first value at one of the paths that says something; None if none does."""
    for path in paths:
        if (found := get(value, path)) not in (None, "", [], {}):
            return found
    return None


def name_of(value: object) -> str:
    """Return a name: a text, or that of an object; empty if there is none."""
    if is_object(value):
        named = first_of(value, ("nickname", "display_name", "displayName", "name", "full_name",
                                 "user_name"))  # fmt: skip
        value = named or full_name(value, "first", "last") or value.get("email")
    return storable(value.strip()) if isinstance(value, str) else ""


def full_name(record: object, *fields: Path) -> str:
    """Return the name that several fields are together; empty if none is there."""
    return " ".join(filter(None, (name_of(get(record, each)) for each in fields)))


def key_of(value: object) -> str | None:
    """Return an id as a key; None if there is none. MongoDB's are objects."""
    if is_object(value):
        value = value.get("$oid")
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        return None
    return storable(str(value))


def project_of(record: Object, id: object = None) -> dict[str, str]:
    """Return metadata of a talk with a program: its id, and the folder in which it was."""
    found = {"conversation": key_of(id) or ""}
    if isinstance(folder := record.get("cwd"), str):
        found["project"] = storable(PurePosixPath(folder.replace("\\", "/")).name)
    return {name: text for name, text in found.items() if text}


def time_at(intake: Intake, value: object, paths: Iterable[Path], where: str) -> datetime | None:
    """Return the time at one of the paths, noting what can't be read and what has no zone."""
    odd = False
    for path in paths:
        found = get(value, path)
        if found in (None, "", 0):
            continue
        if at := any_time(found, intake.options.local):
            intake.notes[ZONELESS] += intake.options.zone is None and is_zoneless(found)
            return at
        odd = True
    if odd:
        intake.repaired(ODD_TIME, where)
    return None


def role_in(layout: Layout, message: Object) -> tuple[Role | None, str]:
    """Return a message's role, None if unknown, and the name that stands in its place."""
    for path in layout.ours:
        if isinstance(ours := get(message, path), bool):
            return ("user" if ours else "assistant"), ""
    unknown = ""
    for path in layout.role:
        value = get(message, path)
        if is_object(value):
            value = value.get("role") or name_of(value)
        if isinstance(value, str) and value.strip():
            named = value.strip().lower()
            if role := layout.roles.get(named) or ROLES.get(named):
                return role, unknown
            unknown = unknown or storable(value.strip())
    return None, unknown


def first_rule(rules: Mapping[str, str], message: Object) -> str:
    """Return what the first rule says that a message fits, such as of ``left_out``; or nothing."""
    for rule, why in rules.items():
        path, _, pattern = rule.partition("=")
        value = get(message, path)
        if value and not pattern:
            return why
        if pattern and value is not None and re.fullmatch(pattern, str(value), re.DOTALL):
            return why
    return ""


def plain_text(text: str, markup: str) -> str:
    """Return words without their markup, which is ``html``, or ``entities`` alone."""
    if markup == "html":
        return html_to_text(text)
    # Where each "&" is escaped, one that begins no whole entity is of a link.
    return _ENTITY.sub(lambda found: html.unescape(found[0]), text)


def read_entry(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    """Read a message by its layout."""
    role, named = role_in(layout, message)
    if role in ("system", "tool"):
        intake.notes[SYSTEM] += 1
        return ()
    words = Words(intake.notes)
    for path in layout.words:
        words.add(get(message, path))
        if words:
            break
    if layout.markup:
        words.passed += words.texts
        words.texts = [plain_text(text, layout.markup) for text in words.texts]
    share_files(words, message)
    subject = name_of(first_of(message, layout.subject))
    words.texts[:0] = [subject] if subject else []
    if not words and (shared := first_rule(layout.shared, message)):
        words.shared.append(shared)
    name = name_of(first_of(message, layout.name))
    return finish(intake, message, words, Entry(where, role, name or named), layout)


_FIELDS = wording("fields")
_ABOUT_PEOPLE = frozenset(_FIELDS["about_people"])


def share_files(words: Words, message: Object, fields: Iterable[str] = _FIELDS["files"]) -> None:
    """Add what is attached to a message: names, and the words in it."""
    for field_name in fields:
        value = message.get(field_name)
        items = cast("list[object]", value) if isinstance(value, list) else [value]
        for item in items:
            if not is_object(item):
                continue
            names = ("name", "filename", "fileName", "file_name", "original_name", "title")
            name, what = name_of(first_of(item, names)), _kind_of(field_name, item)
            passed = names
            if what == "a link":
                passed, url = (), name_of(first_of(item, ("link", "url", "href")))
                known = not url or any(url in text for text in words.texts)
                what = what if known else f"{what} to {url}"
            else:
                what = file_named(name, what)
            if not words.share(what, item, passed):
                words.shared.append(what)


def _kind_of(field_name: str, item: Object) -> str:
    kind = str(item.get("mime_type") or item.get("contentType") or item.get("type") or field_name)
    kinds = wording("shared").items()
    found = (what for part, what in kinds if part in kind.lower() or part in field_name)
    return next(found, "a file")


def finish(
    intake: Intake,
    message: Object,
    words: Words,
    entry: Entry,
    layout: Layout,
) -> Sequence[Entry]:
    """Fill in an entry's words, key and time; nothing, noted, if nothing for people is in it."""
    if not words:
        named = (*layout.name, *layout.role, *layout.time, *layout.children)
        skipped = {path.partition(".")[0] for path in named} | _ABOUT_PEOPLE
        noted = {text.strip() for text in words.passed}
        if not (said := [text for text in said_in(message, skipped) if text not in noted]):
            intake.notes[EMPTY] += 1
            return ()
        words.texts += said
    if any("\0" in text for text in (*words.texts, *words.shared)):
        intake.repaired("NUL characters taken out", entry.where)
    text = words.text
    if entry.role == "assistant":
        text = without_markup(text, intake.notes)
    elif entry.role == "user" and "</" in text:
        text = without_frames(text, intake.notes)
    entry.text, entry.attachment = without_remembered(text), words.attachment
    is_bare = entry.role is None and not entry.attachment
    if is_bare and (why := notice_in(entry.text, entry.name)):
        intake.notes[why] += 1
        return ()
    if not entry.text.strip() and not entry.attachment:
        intake.notes[EMPTY] += 1
        return ()
    entry.key = entry.key or key_of(first_of(message, layout.id))
    entry.thread = entry.thread or key_of(first_of(message, layout.thread)) or ""
    entry.at = entry.at or time_at(intake, message, layout.time, entry.where)
    note_unread(intake.notes, message, [*words.read, entry.name], layout.children)
    return (entry, *documents(words, entry))


def has_only_parts(intake: Intake, message: Object, words: Words) -> bool:
    """Return whether a content has only parts that are counted, noting the words beside it."""
    if words or not isinstance(content := message.get("content"), list) or not content:
        return False
    note_unread(intake.notes, message, words.read)
    return True


def documents(words: Words, entry: Entry) -> Iterator[Entry]:
    """Yield the texts of files that came with a message, as turns of a tool."""
    for number, (name, text) in enumerate(words.documents, 1):
        key = f"{entry.key}/{number}" if entry.key else None
        yield replace(entry, role="tool", name=name, text=text, attachment="", key=key)


_FRAME = re.compile(rf"^<({'|'.join(_FIELDS['frames'])})>", re.IGNORECASE | re.MULTILINE)


def without_frames(text: str, notes: Counter[str]) -> str:
    """Return a user's words without what programs put round them for a model, noting it."""
    kept: list[str] = []
    end, unclosed = 0, set[str]()
    for opening in _FRAME.finditer(text):
        close = f"</{opening[1]}>"
        if opening.start() < end or close in unclosed:
            continue
        if (at := text.find(close, opening.end())) < 0:
            unclosed.add(close)
            continue
        kept.append(text[end : opening.start()])
        end = at + len(close)
    notes[INSTRUCTIONS] += len(kept)
    return "".join((*kept, text[end:])).strip() if kept else text


def read_talks(
    intake: Intake,
    layout: Layout,
    read: Reader = read_entry,
    name: str | None = None,
    records: Iterable[tuple[str, Object]] | None = None,
) -> Iterator[History]:
    """Read all conversations of a document, or those among ``records``, which have their places."""
    calendar = Calendar(intake.options.start)
    name = name or intake.user_name()
    loose: list[tuple[str, Object]] = []
    for number, (where, record) in enumerate(records or records_in(intake, layout), 1):
        with intake.catching():
            if layout.mojibake:
                record = cast("Object", mended(record))
            record = _opened(record, layout)
            paths = (p for p in layout.messages if isinstance(get(record, p), list | dict))
            path = next(paths, None)
            messages = None if path is None else get(record, path)
            is_header = intake.kind == "lines" and number == 1
            if messages is None and looks_like_talk(record, layout) and not is_header:
                intake.notes[NO_TEXT] += 1
            elif messages is None:
                loose.append((where, record))
            elif len(talks := _by_talk(messages, layout)) > 1:
                note_unread(intake.notes, without(record, path or ""), ())
                for key, group in talks.items():
                    talk = Talk(intake, layout, {}, key or intake.stem, where, calendar)
                    yield from talk.read([*group.values()], read, name)
            else:
                session = Talk(intake, layout, record, f"{intake.stem}/{number}", where, calendar)
                yield from session.read(messages, read, name)
    if loose:
        about = _header(loose, layout)
        if not about:
            about, intake.around = intake.around, {}
        for key, group in _by_talk([record for _, record in loose], layout).items():
            places = [loose[i][0] for i in group]
            talk = Talk(intake, layout, about, key or intake.stem, intake.name, calendar)
            yield from talk.read([*group.values()], read, name, places=places)


def _opened(record: Object, layout: Layout) -> Object:
    """Return a conversation with what opens it as the first of its messages."""
    if not layout.opening:
        return record
    path = next((p for p in layout.messages if isinstance(get(record, p), list)), "")
    fields = ((field, get(record, path)) for field, path in layout.opening.items())
    first = {field: value for field, value in fields if value is not None}
    if first_of(first, layout.words) is None:
        return record
    rest = cast("list[object]", get(record, path)) if path else []
    return {**without(record, path), layout.messages[-1]: [first, *rest]}


def people_in(value: object, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the ids and names of all objects in a value that have both."""
    if is_object(value):
        if (id := key_of(value.get("id"))) and (name := name_of(value)):
            yield id, name
        value = list(value.values())
    if isinstance(value, list) and depth < _DEEP:
        for each in cast("list[object]", value):
            yield from people_in(each, depth + 1)


def _by_talk(messages: object, layout: Layout) -> Mapping[str, Mapping[int, object]]:
    """Return the messages of a list with their places, by the id of their conversation.

    That of those that have none is empty; they are all so if some are and the names are guesses.
    """
    held = cast("list[object]", messages) if isinstance(messages, list) else []
    talks: dict[str, dict[int, object]] = {}
    for i, message in enumerate(held):
        id = key_of(first_of(message, layout.talk)) or ""
        for path in layout.talk if id and is_object(message) else ():
            message = without(cast("Object", message), path)
        talks.setdefault(id, {})[i] = message
    return {"": dict(enumerate(held))} if "" in talks and layout.guessed else talks


def looks_like_talk(record: Object, layout: Layout) -> bool:
    """Return whether an object is a conversation whose messages are missing."""
    words = {path.partition(".")[0] for path in (*layout.words, *layout.role, *layout.ours)}
    message = get(record, layout.item)
    return not words & (message if is_object(message) else record).keys()


def _header(loose: list[tuple[str, Object]], layout: Layout) -> Object:
    """Take the first of lines of messages away if it is about the chat, and return it."""
    if len(loose) > 1 and looks_like_talk(loose[0][1], layout):
        return loose.pop(0)[1]
    return {}


def records_in(intake: Intake, layout: Layout) -> Iterator[tuple[str, Object]]:
    """Yield the conversations of a document with their places, or its objects if it has none."""
    path = layout.talks.split(".")
    if layout.talks and intake.kind == "json" and path[0] in ("?", *intake.first):
        patterns = [(*outer, *path) for outer in intake.inside or [()]]
        roots: set[str] = set()
        if path[0] != "?":
            note_unread(intake.notes, without(intake.first, layout.talks[:-2]), ())
        for place, value in select(intake.source.stream(), intake.name, *patterns):
            where = f"{intake.name}, {'.'.join(map(str, place))}"
            roots.add(str(place[0]))
            if path[-1] == "?":
                value = {"title": place[-1], "messages": value}
            with intake.catching():
                yield where, as_object(value, where)
        if path[0] == "?":
            note_unread(intake.notes, intake.first, (), roots)
        return
    yield from intake.records()


def mended(value: object) -> object:
    """Return a value whose strings are UTF-8 that was written as Latin-1, as it was meant."""
    if isinstance(value, str):
        if value.isascii():
            return value
        try:
            return value.encode("latin-1").decode("utf-8")
        except UnicodeError:
            return value
    if isinstance(value, list):
        return [mended(each) for each in cast("list[object]", value)]
    return {mended(k): mended(v) for k, v in value.items()} if is_object(value) else value


class Talk:
    """One conversation that is being read."""

    def __init__(
        self,
        intake: Intake,
        layout: Layout,
        about: Object,
        key: str,
        where: str,
        calendar: Calendar | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        self._intake, self._layout, self._about = intake, layout, about
        self._where, self._metadata = where, metadata or {}
        self._calendar = calendar or Calendar(intake.options.start)
        self.title = name_of(first_of(about, layout.title))
        self.key = key_of(first_of(about, layout.talk_id)) or key

    def read(
        self,
        messages: object,
        read: Reader,
        name: str,
        places: Sequence[str] | None = None,
    ) -> Iterator[History]:
        """Yield the conversation's session, or the sessions of a chat between people."""
        entries: list[Entry] = []
        people = dict(people_in(self._about)) if self._layout.writer else {}
        for node in self._branch(messages, places):
            where, id, item = node.where, node.id, node.item
            with self._intake.catching():
                message = get(item, self._layout.item)
                if self._layout.item:
                    rest = without(item, self._layout.item)
                    note_unread(self._intake.notes, rest, (), self._layout.children)
                    if message is None:
                        continue
                message = as_object(message, where)
                if why := first_rule(self._layout.left_out, message):
                    self._intake.notes[why] += 1
                    continue
                writer = key_of(first_of(message, self._layout.writer)) or ""
                if writer in people:
                    message = {**message, "writer": people[writer]}
                found = read(self._intake, self._layout, message, where)
                for number, entry in enumerate(found):
                    entry.name = entry.name or writer
                    entry.key = (f"{id}/{number}" if number else id) if id else entry.key
                    entry.thread = entry.thread or node.thread
                    entries.append(entry)
        if isinstance(people := self._about.get("participants"), list):
            self._intake.people |= {name_of(each) for each in cast("list[object]", people)}
        rest = self._about
        for path in self._layout.messages:
            rest = without(rest, path)
        said = (each for entry in entries for each in (entry.name, entry.text))
        note_unread(self._intake.notes, rest, (self.title, *said))
        self._intake.notes[NO_TEXT] += not entries
        yield from self.finish(entries, name)

    def finish(
        self, entries: Sequence[Entry], name: str, at: datetime | None = None
    ) -> Iterator[History]:
        """Yield the session of entries, or those of a chat; ``at`` is the time if none is known."""
        if not entries:
            return
        entries = _oldest_first(entries)
        if "last_id" in self._about and not any(entry.at for entry in entries):
            # OpenAI's lists have the newest item first, and their items may have no times.
            ends = entries[0].role, entries[-1].role
            entries = entries[::-1] if ends == ("assistant", "user") else entries
        self._fill_roles(entries)
        dated = self._fill_times(entries, at)
        if self._layout.people and dated:
            yield from self._chat(entries, name)
        else:
            yield from self._session(entries, name, dated)

    def _branch(self, messages: object, places: Sequence[str] | None) -> Iterator[_Node]:
        """Yield each message of the branch that is read."""
        layout, intake = self._layout, self._intake
        nodes: list[_Node] = []
        items = (
            messages.items() if is_object(messages) else enumerate(cast("list[object]", messages))
        )
        for key, value, thread in _unfolded(items, layout):
            where = places[int(key)] if places else f"{self._where}, {layout_place(layout, key)}"
            if value is None:
                continue
            with intake.catching():
                item = as_object(value, where)
                id = key_of(key) if isinstance(key, str) else None
                inner = get(item, layout.item)
                for each in (item, inner):
                    id = id or (key_of(first_of(each, layout.id)) if is_object(each) else None)
                nodes.append(_Node(where, id, item, inner if is_object(inner) else item, thread))
        keep = select_branch(nodes, layout, self._about)
        if keep is None:
            yield from nodes
            return
        branch, mended_count = keep
        if mended_count:
            intake.repaired(NO_PARENT, self._where, mended_count)
        left_out = sum(is_object(get(node.item, layout.item)) for node in nodes) - sum(
            is_object(get(node.item, layout.item)) for node in branch
        )
        intake.notes[OTHER_BRANCHES] += left_out
        yield from branch

    def _fill_roles(self, entries: Sequence[Entry]) -> None:
        """Give messages without a role the one whose turn it is; between people, the user's."""
        previous: Role = "assistant"
        for entry in entries:
            own = self._layout.people or self._layout.own
            if entry.role is None and (own or entry.name):
                entry.role = "user"
            elif entry.role is None:
                self._intake.repaired(NO_ROLE, entry.where)
                entry.role = "assistant" if previous == "user" else "user"
            previous = entry.role if entry.role != "tool" else previous

    def _fill_times(self, entries: Sequence[Entry], otherwise: datetime | None) -> bool:
        """Give all entries times, from their neighbors, the conversation or the file.

        Return whether they have a date at all.
        """
        intake = self._intake
        start = time_at(intake, self._about, self._layout.talk_time, self._where)
        for paths in ("chat", "conversation"):
            start = start or time_at(intake, get(self._about, paths), self._layout.talk_time, "")
        known = next((entry.at for entry in entries if entry.at), None)
        previous = start if start and known and start <= known else known or start
        previous = previous or time_in_name(intake.source.name, intake.options.local) or otherwise
        untimed = [entry.where for entry in entries if entry.at is None]
        if untimed and (known or self._layout.every_time):
            intake.repaired(NO_TIME, untimed[0], len(untimed))
        elif previous:  # many formats give a time to the conversation only
            intake.notes[NO_TIME] += len(untimed)
        if previous is None:
            times = self._calendar.place(len(entries), None, self._where)
            for entry, at in zip(entries, times, strict=True):
                entry.at = at
            intake.notes[SYNTHETIC] += not self._calendar.dated
            return self._calendar.dated
        for entry in entries:
            entry.at = entry.at or previous
            previous = max(previous, entry.at)
        return True

    def _session(self, entries: Sequence[Entry], name: str, dated: bool) -> Iterator[History]:
        intake = self._intake
        session = SessionBuilder(self.key, intake.notes, **self._metadata)
        session.describe(title=self.title)
        for entry in entries:
            with intake.catching():
                session.append(intake.turn(entry, _free_key(session, entry)), entry.where)
        if session:
            yield intake.part(name, session.build(dated=dated))

    def _chat(self, entries: Sequence[Entry], name: str) -> Iterator[History]:
        sessions = ChatSessions(self._intake, name, self.title or self.key)
        for entry in sorted(entries, key=lambda entry: cast("datetime", entry.at)):
            yield from sessions.add(entry)
        yield from sessions.end()


def _unfolded(
    items: Iterable[tuple[str | int, object]], layout: Layout, thread: str = ""
) -> Iterator[tuple[str | int, object, str]]:
    """Yield items with their keys and threads, each followed by the messages inside as children."""
    for key, value in items:
        inner = [each for path in layout.children for each in objects_in(get(value, path))]
        own = thread or (f"replies to {key}" if inner else "")
        yield key, value, own
        yield from _unfolded(((key, each) for each in inner), layout, own)


def layout_place(layout: Layout, key: object) -> str:
    """Return how the place of a message in its conversation is written."""
    path = layout.messages[0] if layout.messages else ""
    return f'{path}["{str(key)[:40]}"]' if isinstance(key, str) else f"{path}[{key}]"


def _oldest_first(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return entries in their order; those of a file that is newest first turned round."""
    falls = sum(a.at > b.at for a, b in pairwise(entries) if a.at and b.at)
    return entries[::-1] if falls * 2 > len(entries) - 1 else entries


def _free_key(session: SessionBuilder, entry: Entry) -> str | None:
    """Return an entry's key, with a digest of its words if another turn has the same."""
    if entry.key is None or entry.key not in session.keys:
        return entry.key
    if any(t.key == entry.key and t.text == entry.text for t in session.turns):
        return entry.key
    return f"{entry.key}/{hashlib.sha256(entry.text.encode()).hexdigest()[:8]}"


@dataclass(slots=True)
class _Node:
    where: str
    id: str | None
    item: Object
    message: Object
    thread: str = ""


def select_branch(
    nodes: Sequence[_Node], layout: Layout, about: Object
) -> tuple[list[_Node], int] | None:
    """Return the branch from the root to the current message, and how many breaks were mended.

    None if the messages name no parents. Without a current message it is the one that comes last.
    """
    declared = [_link(node, layout.parent) for node in nodes]
    position = {node.id: i for i, node in reversed(list(enumerate(nodes))) if node.id}
    by_child = {
        key: i
        for i, node in enumerate(nodes)
        for child in cast("list[object]", _list(node, layout.children))
        if (key := key_of(child))
    }
    if not any(parent in position for parent in declared) and not by_child:
        return None
    parents = [position.get(parent) if parent else None for parent in declared]
    for i, node in enumerate(nodes):
        if (parents[i] is None or parents[i] == i) and node.id in by_child:
            parents[i] = by_child[node.id] if by_child[node.id] != i else None
    current = key_of(first_of(about, layout.current))
    leaf = position.get(current) if current else None
    if leaf is None:
        within = {parent for parent in parents if parent is not None}
        leaf = max((i for i in range(len(nodes)) if i not in within), default=len(nodes) - 1)
    branch: list[int] = []
    breaks = 0
    while leaf is not None and leaf not in branch:
        branch.append(leaf)
        if (parent := parents[leaf]) is None or parent in branch:
            parent = _before(leaf, nodes, declared, parents, layout, branch)
            breaks += parent is not None
        leaf = parent
    return [nodes[i] for i in branch[::-1]], breaks


def _before(
    top: int,
    nodes: Sequence[_Node],
    declared: Sequence[str | None],
    parents: Sequence[int | None],
    layout: Layout,
    branch: Sequence[int],
) -> int | None:
    """Return what comes before a message whose parent is unknown; None if it is a first one.

    Several first messages are a question that was asked again, if their unknown parent is the same.
    """
    first = next((i for i, parent in enumerate(parents) if parent is None), top)
    if first == top:
        return None
    starts = is_object(get(nodes[first].item, layout.item)) or not layout.item
    role = role_in(layout, nodes[top].message)[0]
    if starts and declared[top] == declared[first] and role != "assistant":
        return None
    return next((i for i in range(top - 1, -1, -1) if i not in branch), None)


def _link(node: _Node, paths: Sequence[Path]) -> str | None:
    return key_of(first_of(node.item, paths)) or key_of(first_of(node.message, paths))


def _list(node: _Node, paths: Sequence[Path]) -> object:
    found = first_of(node.item, paths)
    return cast("object", found) if isinstance(found, list) else list[object]()
