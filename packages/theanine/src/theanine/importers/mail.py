"""Mail: one ``.eml``, an ``.mbox``, or a folder or archive of them, such as Gmail's from Takeout.

A thread is told by Gmail's thread id, or the first mail that ``References`` and ``In-Reply-To``
lead to, also in another file of the folder. The user is the owner of the mailbox, as
``Delivered-To`` or Gmail's label *Sent* tells. What Outlook saves as text has fields in its own
language, of which the first is the sender and the second the time.

Written from RFC 5322 and RFC 4155, read with the standard library's :mod:`email`, and Takeout's
``X-GM-THRID`` and ``X-Gmail-Labels`` (karlicoss/promnesia and purarue/google_takeout_parser name
them). Never seen real.
"""

from __future__ import annotations

import email
import email.errors
import email.policy
import email.utils
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.header import decode_header
from email.message import Message
from functools import lru_cache
from itertools import chain, pairwise
from typing import BinaryIO, cast

from theanine.clock import fault_of_time
from theanine.errors import BadInput
from theanine.importers.base import Entry, Intake, format_named
from theanine.importers.charsets import decode_charset
from theanine.importers.dates import DEFAULT_START
from theanine.importers.folder import Folder
from theanine.importers.html_text import html_to_text
from theanine.importers.quotes import strip_quotes
from theanine.importers.schema import printable, require_storable
from theanine.importers.sessions import SessionBuilder
from theanine.importers.source import Source
from theanine.importers.wording import wording
from theanine.importers.words import file_named
from theanine.importers.written_dates import any_time, is_zoneless
from theanine.types import History

_FROM = re.compile(rb"From \S+.*\d{4}|From \S+")
_ANY_FIELD = re.compile(rb"[!-9;-~]+:|>From ")
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
_NAMES = (
    r"(?:From|To|Cc|Subject|Date|Received|Return-Path|Message-ID|MIME-Version|Delivered-To|Reply-To|"
    r"Content-Type|In-Reply-To|References|X-[\w-]+|DKIM-Signature|Authentication-Results|ARC-[\w-]+|List-[\w-]+)"
)
_FIELD = re.compile(rf"{_NAMES}:.*", re.IGNORECASE)
_LABELS, _SUBJECTS = ("|".join(wording("mail")[each]) for each in ("headers", "subjects"))
_SAVED = re.compile(
    rf"(?:\ufeff)?(?:{_LABELS})[ \u00a0]?[:：][ \t]*(?P<sender>\S[^\n]*)\n"
    rf"(?!Date:)(?:{_LABELS})[ \u00a0]?[:：][ \t]*(?P<date>\S[^\n]*)\n"
    r"(?P<rest>(?:[^\s:：][^:：\n]{0,40}[:：](?:[ \t][^\n]*)?\n){0,9})(?:[ \t]*\n|\Z)"
)
"""The head of a mail that Outlook saved as text."""
_NAMED_FILES = re.compile(r"[^\n:：]+[:：]\t(?P<files>[^\n;]+\.\w{2,5}(?:;[^\n;]+\.\w{2,5})*)\s*")
_COUNTED = re.compile(rf"(\d{{1,9}})[ \t]*\r?\n(?={_NAMES}:|From )".encode())
_LIST = re.compile(rb"<\?xml[^<>]*>\s*<!DOCTYPE plist\b")
"""What Apple Mail writes around a mail: its length above, and a property list below."""
_ATTACHED = "X-Theanine-Attachments"
_UNWANTED_LABELS = ("spam", "trash", "draft", "entwürfe", "papierkorb")
_MALFORMED = (LookupError, ValueError, TypeError, AttributeError, AssertionError, RecursionError)
"""What the standard library raises for malformed mails, besides its own errors."""
_MAX_MAIL = 64 << 20
_HEAD = 1 << 14
_BLANK = re.compile(rb"\r?\n[ \t]*\r?\n")


@dataclass(frozen=True, slots=True)
class _Mail:
    """Where a mail is in its source, and what its thread and its place in that are."""

    offset: int
    length: int
    id: str
    gmail_thread: str
    at: datetime
    number: int
    dated: bool


@dataclass(slots=True)
class _Survey:
    """Threads and the owner's addresses, read from the headers of all mails of an import.

    Attributes:
        parents: by a mail's id, that of the mail that it answers, or of the first of its thread.
        owners: addresses that mails were delivered to, or sent from by the owner.
    """

    parents: dict[str, str] = field(default_factory=dict[str, str])
    owners: Counter[str] = field(default_factory=Counter[str])

    def add(self, headers: Message, data: bytes) -> str:
        """Add a mail, and return its id."""
        if delivered := _header(headers, "Delivered-To"):
            self.owners[delivered.lower()] += 1
        elif "sent" in _header(headers, "X-Gmail-Labels").lower():
            self.owners[email.utils.parseaddr(_header(headers, "From"))[1].lower()] += 1
        own, references, answered = (
            re.findall(r"<[^<>\s]+>", _header(headers, name))
            for name in ("Message-ID", "References", "In-Reply-To")
        )
        id = own[0] if own else hashlib.sha256(data).hexdigest()[:16]
        if earlier := references or answered:
            self.parents[id] = earlier[0]
        return id

    @property
    def owner(self) -> str:
        """The address of the mailbox; empty if nothing tells it."""
        return self.owners.most_common(1)[0][0] if self.owners else ""

    def first_mail(self, id: str) -> str:
        """Return the id of the first mail of a thread; the least one where they form a circle."""
        passed: set[str] = set()
        while id in self.parents and id not in passed:
            passed.add(id)
            id = self.parents[id]
        return min(passed) if id in passed else id


@lru_cache(maxsize=1)
def _survey(folder: Folder) -> _Survey:
    """Read the headers of all mails of a folder; what can't be read is reported by the reader."""
    survey = _Survey()
    for name in FORMAT.pick(folder):
        with suppress(BadInput), folder.open(name) as source:
            is_box = _is_box(source)
            for _, data in _split(source, is_box):
                with suppress(BadInput):
                    headers = _headers(data, name)
                    if not (is_box and _unwanted(headers)):
                        survey.add(headers, data)
    return survey


def _as_mail(data: bytes) -> bytes:
    """Return the mail in what Apple Mail keeps, or Outlook saved as text; all else as it is."""
    if counted := _COUNTED.match(data):
        lists = [each.start() for each in _LIST.finditer(data)]
        return data[counted.end() : lists[-1] if lists else counted.end() + int(counted[1])]
    end = _BLANK.search(data, 0, _HEAD)
    text = decode_charset(data[: end.end() if end else _HEAD], "utf-8").replace("\r\n", "\n")
    saved = _SAVED.match(text)
    if saved is None or not (at := any_time(date := saved["date"].strip(), UTC)):
        return data
    lines = saved["rest"].split("\n")
    subject = next((line for line in lines if re.match(rf"(?:{_SUBJECTS})\s?[:：]", line)), "")
    files = [named["files"] for line in lines if (named := _NAMED_FILES.fullmatch(line))]
    name, address = email.utils.parseaddr(saved["sender"])
    name = name if "@" in address else saved["sender"].strip()
    fields = {
        "From": f'"{name.replace(chr(34), "")}" <{address if "@" in address else ""}>',
        "Date": f"{at:%F %T}" if is_zoneless(date) else email.utils.format_datetime(at),
        "Subject": re.sub(r"^[^:：]*[:：]\s*", "", subject),
        _ATTACHED: "; ".join(files),
        "Content-Type": "text/plain; charset=utf-8",
    }
    head = "".join(f"{name}: {value}\n" for name, value in fields.items() if value)
    return head.encode("utf-8", "replace") + b"\n" + (data[end.end() :] if end else b"")


def _sniff(intake: Intake) -> bool:
    if _as_mail(intake.source.head) is not intake.source.head:
        return True
    lines = intake.lines
    if _FROM.match(intake.source.head.lstrip()):
        lines = lines[1:]
    return sum(bool(_FIELD.fullmatch(line)) for line in lines[:12]) >= 2 and bool(
        _FIELD.fullmatch(lines[0])
    )


def _read(intake: Intake) -> Iterator[History]:
    mails: list[_Mail] = []
    last: datetime | None = None
    survey = _survey(intake.folder) if intake.folder else _Survey()
    is_box = _is_box(intake.source)
    for number, (offset, data) in enumerate(_split(intake.source, is_box), 1):
        where = f"{intake.name}, mail {number}" if is_box else intake.name
        with intake.catching():
            headers = _headers(data, where)
            if is_box and (reason := _unwanted(headers)):
                intake.notes[reason] += 1
                continue
            at, dated = _date(intake, headers, data, last)
            last = at if dated else last
            id = survey.add(headers, data)
            gmail = _header(headers, "X-GM-THRID")
            mails.append(_Mail(offset, len(data), id, gmail, at, number, dated))
    threads: dict[str, list[_Mail]] = {}
    for mail in mails:
        threads.setdefault(mail.gmail_thread or survey.first_mail(mail.id), []).append(mail)
    for thread, members in threads.items():
        yield from _session(intake, survey, thread, members, is_box)


def _is_box(source: Source) -> bool:
    return bool(_FROM.match(source.head))


def _split(source: Source, is_box: bool) -> Iterator[tuple[int, bytes]]:
    """Yield offset and bytes of each mail."""
    stream = source.raw()
    if not is_box:
        data = stream.read(_MAX_MAIL + 1)
        if len(data) > _MAX_MAIL:
            raise BadInput("a mail of more than 64 MiB; save it without attachments", source.name)
        yield 0, _as_mail(data)
        return
    start, lines, size = 0, list[bytes](), 0
    after_blank = True
    for line, following in pairwise(chain(_lines(stream), [b""])):
        # A sentence that begins with "From" isn't followed by the headers of a mail.
        if after_blank and size and _FROM.match(line) and _ANY_FIELD.match(following):
            yield start, b"".join(lines)
            start, lines, size = start + size, [], 0
        size += len(line)
        # Of a mail that is too large, the beginning has its words; the rest are attachments.
        if size <= _MAX_MAIL:
            lines.append(line)
        after_blank = not line.strip()
    if lines:
        yield start, b"".join(lines)


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    while line := stream.readline(1 << 20):
        yield line


def _parse(data: bytes, where: str) -> Message:
    """Return a mail with its headers as they are: parsing them all takes ten times as long."""
    if _FROM.match(data):
        data = data.partition(b"\n")[2]
    try:
        return email.message_from_bytes(data, policy=email.policy.compat32)
    except (*_MALFORMED, email.errors.MessageError) as fault:
        raise BadInput(f"a malformed mail ({fault}); leave it out", where) from None


def _headers(data: bytes, where: str) -> Message:
    return _parse(data.partition(b"\n\n")[0].partition(b"\r\n\r\n")[0], where)


def _header(message: Message, name: str) -> str:
    """Return a header without its encoding; empty if there is none."""
    return _without_encoding(_field(message, name)).strip()


def _field(message: Message, name: str) -> str:
    """Return a header as it is; empty if there is none. Bytes in it are decoded."""
    raw = (value for key, value in message.raw_items() if key.lower() == name.lower())
    text = next((str(each) for each in raw), "")
    if not text.isascii():  # bytes that aren't encoded, in the charset of the words if they name it
        data = text.encode("utf-8", "surrogateescape")
        text = decode_charset(data, message.get_content_charset("utf-8"))
    return text


def _without_encoding(value: object) -> str:
    text = str(value)
    if "\x1b$" in text:  # not encoded at all
        text = decode_charset(text.encode("utf-8", "replace"), "utf-8")
    text = printable(text)
    if "=?" in text:
        with suppress(*_MALFORMED, email.errors.MessageError):
            text = "".join(
                decode_charset(part, charset or "utf-8") if isinstance(part, bytes) else part
                for part, charset in decode_header(text)
            )
    return re.sub(r"\s+", " ", text)


def _unwanted(headers: Message) -> str:
    labels = _header(headers, "X-Gmail-Labels").lower()
    if any(label in labels for label in _UNWANTED_LABELS):
        return "mails in spam, trash or drafts left out"
    automatic = _header(headers, "Auto-Submitted").lower() not in ("", "no")
    bulk = _header(headers, "Precedence").lower() in ("bulk", "junk")
    newsletter = bool(headers.get("List-Unsubscribe")) and not headers.get("List-Post")
    return "newsletters and automatic mails left out" if automatic or bulk or newsletter else ""


def _date(
    intake: Intake, headers: Message, data: bytes, before: datetime | None
) -> tuple[datetime, bool]:
    """Return when a mail was sent, and whether that is known: ``before`` is the mail above it."""
    text = _header(headers, "Date")
    if at := _mail_date(text):
        return at, True
    received = [str(each).rpartition(";")[2] for each in headers.get_all("Received", [])]
    envelope = data.partition(b"\n")[0].decode("ascii", "replace") if _FROM.match(data) else ""
    if re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", text):  # of what was saved as text
        return intake.iso_date(text, intake.name), True
    others = {
        "its date in other words": text,
        "when it was received": received[-1] if received else "",
        'the line "From "': re.sub(r"^From \S+\s*", "", envelope),
    }
    for reason, each in others.items():
        if at := _mail_date(each) or any_time(each, UTC):
            intake.notes[f"mails with an impossible date, dated by {reason}"] += 1
            return at, True
    if before:
        intake.notes["mails with an impossible date, dated by the mail above"] += 1
        return before, True
    intake.notes["mails without a date"] += 1
    return intake.source.modified or DEFAULT_START, False


def _mail_date(text: str) -> datetime | None:
    try:
        at = email.utils.parsedate_to_datetime(text)
    except (*_MALFORMED, OverflowError):
        return None
    if at.tzinfo is None:  # "-0000": a time in UTC whose zone isn't told
        at = at.replace(tzinfo=UTC)
    return None if fault_of_time(at) else at


def _session(
    intake: Intake, survey: _Survey, thread: str, mails: Sequence[_Mail], is_box: bool
) -> Iterator[History]:
    session: SessionBuilder | None = None
    for mail in sorted(mails, key=lambda each: (each.at, each.number)):
        where = f"{intake.name}, mail {mail.number}" if is_box else intake.name
        with intake.catching():
            stream = intake.source.raw()
            stream.seek(mail.offset)
            data = stream.read(mail.length) if is_box else _as_mail(stream.read())
            if is_box:
                data = _ESCAPED.sub(rb"\1", data)
            message = _parse(data, where)
            if session is None:
                subject = require_storable(_header(message, "Subject"), where)
                session = SessionBuilder(
                    require_storable(thread, where), intake.notes, title=subject
                )
            text, attachment = _content(message, where)
            is_first = not session.turns and not (intake.folder and mail.id in survey.parents)
            if is_first and (subject := session.metadata.get("title")):
                text = f"Subject: {subject}\n\n{text}".strip()
            if not text and not attachment:
                intake.notes["mails without own words left out"] += 1
                continue
            sender, address = email.utils.parseaddr(_field(message, "From"))
            sender = _without_encoding(sender)
            key = _header(message, "Message-ID") or hashlib.sha256(data).hexdigest()[:16]
            name = sender.strip() or address.strip() or "Unknown sender"
            entry = Entry(where, "user", name, text, attachment, key, mail.at)
            session.append(intake.turn(entry, key), where)
    if session:
        dated = all(mail.dated for mail in mails)
        yield intake.part(intake.user_name(survey.owner), session.build(dated=dated))


def _content(message: Message, where: str) -> tuple[str, str]:
    """Return the words of a mail without quotes, and what was attached."""
    texts: dict[str, list[str]] = {"text/plain": [], "text/html": []}
    files: list[str] = []
    try:
        for part in _parts(message):
            name, kind = part.get_filename(), part.get_content_type()
            if kind in texts and part.get_content_disposition() != "attachment" and not name:
                texts[kind].append(_decoded(part))
            else:
                files.append(file_named(_without_encoding(name) if name else ""))
    except (*_MALFORMED, email.errors.MessageError) as fault:
        raise BadInput(f"a malformed mail ({fault}); leave it out", where) from None
    files += [file_named(each.strip()) for each in _field(message, _ATTACHED).split(";") if each]
    text = "\n".join(texts["text/plain"])
    if not text.strip():
        text = html_to_text("\n".join(texts["text/html"]), without_quotes=True)
    return printable(strip_quotes(text.replace("\0", ""))).strip(), ", ".join(files)


def _parts(message: Message) -> Iterator[Message]:
    """Yield the parts of a mail; an attached mail is one part."""
    payload = message.get_payload()
    if message.get_content_maintype() == "multipart" and isinstance(payload, list):
        for part in cast("list[Message]", payload):
            yield from _parts(part)
    else:
        yield message


def _decoded(part: Message) -> str:
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    return decode_charset(data, part.get_content_charset("utf-8"))


FORMAT = format_named("mail", _read, _sniff)
