"""Mail: one ``.eml``, an ``.mbox``, or a folder or archive of them, such as Gmail's from Takeout.

A thread is a session, its mails are turns in the order of their dates; a thread is told by Gmail's
thread id, or the first of ``References``, ``In-Reply-To`` and ``Message-ID``. Quoted replies and
signatures are stripped, HTML becomes text, attachments are named. Spam, trash, drafts, newsletters
and automatic mails of an mbox are left out and counted. The user is the owner of the mailbox, as
``Delivered-To`` or Gmail's label *Sent* tells.

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
from dataclasses import dataclass
from datetime import UTC, datetime
from email.header import decode_header, make_header
from email.message import Message
from typing import BinaryIO, cast

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, SessionBuilder
from theanine.importers.dates import check_date
from theanine.importers.html_text import html_to_text
from theanine.importers.quotes import strip_quotes
from theanine.importers.schema import require_storable
from theanine.types import History, Utterance

_FROM = re.compile(rb"From \S+.*\d{4}|From \S+")
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
_FIELD = re.compile(
    r"(?:From|To|Cc|Subject|Date|Received|Return-Path|Message-ID|MIME-Version|Delivered-To|Reply-To|"
    r"Content-Type|In-Reply-To|References|X-[\w-]+|DKIM-Signature|List-[\w-]+):.*",
    re.IGNORECASE,
)
_UNWANTED_LABELS = ("spam", "trash", "draft", "entwürfe", "papierkorb")
_MALFORMED = (LookupError, ValueError, TypeError, AttributeError, AssertionError, RecursionError)
"""What the standard library raises for malformed mails, besides its own errors."""
_MAX_MAIL = 64 << 20


@dataclass(frozen=True, slots=True)
class _Mail:
    """Where a mail is in its source, and what its thread and its place in that are."""

    offset: int
    length: int
    thread: str
    at: datetime
    number: int


def _sniff(intake: Intake) -> bool:
    if intake.kind != "text":
        return False
    lines = intake.lines
    if _FROM.match(intake.source.head.lstrip()):
        lines = lines[1:]
    return sum(bool(_FIELD.fullmatch(line)) for line in lines[:12]) >= 2 and bool(
        _FIELD.fullmatch(lines[0])
    )


def _read(intake: Intake) -> Iterator[History]:
    threads: dict[str, list[_Mail]] = {}
    owners = Counter[str]()
    is_box = bool(_FROM.match(intake.source.head))
    for number, (offset, data) in enumerate(_split(intake, is_box), 1):
        where = f"{intake.name}, mail {number}" if is_box else intake.name
        with intake.catching():
            headers = _parse(data.partition(b"\n\n")[0].partition(b"\r\n\r\n")[0], where)
            if is_box and (reason := _unwanted(headers)):
                intake.notes[reason] += 1
                continue
            owners.update(_owner(headers))
            at = _date(intake, headers, where)
            thread = _thread(headers, data)
            threads.setdefault(thread, []).append(_Mail(offset, len(data), thread, at, number))
    owner = owners.most_common(1)[0][0] if owners else ""
    for thread, mails in threads.items():
        yield from _session(intake, intake.user_name(owner), thread, mails, is_box)
    yield intake.part(intake.user_name(owner))


def _split(intake: Intake, is_box: bool) -> Iterator[tuple[int, bytes]]:
    """Yield offset and bytes of each mail."""
    stream = intake.source.raw()
    if not is_box:
        data = stream.read(_MAX_MAIL + 1)
        if len(data) > _MAX_MAIL:
            raise BadInput("a mail of more than 64 MiB; save it without attachments", intake.name)
        yield 0, data
        return
    start, lines, size = 0, list[bytes](), 0
    after_blank = True
    for line in _lines(stream):
        if after_blank and _FROM.match(line) and size:
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


def _header(message: Message, name: str) -> str:
    """Return a header without its encoding; empty if there is none."""
    return _without_encoding(message.get(name, "")).strip()


def _without_encoding(value: object) -> str:
    text = str(value).encode("utf-8", "replace").decode("utf-8")
    try:
        decoded = str(make_header(decode_header(text))) if "=?" in text else text
    except (*_MALFORMED, email.errors.MessageError):
        decoded = text
    return re.sub(r"\s+", " ", decoded)


def _unwanted(headers: Message) -> str:
    labels = _header(headers, "X-Gmail-Labels").lower()
    if any(label in labels for label in _UNWANTED_LABELS):
        return "mails in spam, trash or drafts left out"
    automatic = _header(headers, "Auto-Submitted").lower() not in ("", "no")
    bulk = _header(headers, "Precedence").lower() in ("bulk", "junk")
    newsletter = bool(headers.get("List-Unsubscribe")) and not headers.get("List-Post")
    return "newsletters and automatic mails left out" if automatic or bulk or newsletter else ""


def _owner(headers: Message) -> list[str]:
    """Return the address that the mail was delivered to, or sent from by the owner."""
    if delivered := _header(headers, "Delivered-To"):
        return [delivered.lower()]
    if "sent" in _header(headers, "X-Gmail-Labels").lower():
        return [email.utils.parseaddr(_header(headers, "From"))[1].lower()]
    return []


def _thread(headers: Message, data: bytes) -> str:
    if gmail := _header(headers, "X-GM-THRID"):
        return gmail
    for name in ("References", "In-Reply-To", "Message-ID"):
        if ids := re.findall(r"<[^<>\s]+>", _header(headers, name)):
            return ids[0]
    return hashlib.sha256(data).hexdigest()[:16]


def _date(intake: Intake, headers: Message, where: str) -> datetime:
    text = _header(headers, "Date")
    try:
        at = email.utils.parsedate_to_datetime(text)
    except (*_MALFORMED, OverflowError):
        raise BadInput(f'"{text[:40]}" is not the date of a mail; leave it out', where) from None
    if at.tzinfo is None:  # "-0000": a time in UTC whose zone isn't told
        at = at.replace(tzinfo=UTC)
    return check_date(at, where)


def _session(
    intake: Intake, name: str, thread: str, mails: Sequence[_Mail], is_box: bool
) -> Iterator[History]:
    session: SessionBuilder | None = None
    for mail in sorted(mails, key=lambda each: (each.at, each.number)):
        where = f"{intake.name}, mail {mail.number}" if is_box else intake.name
        with intake.catching():
            stream = intake.source.raw()
            stream.seek(mail.offset)
            data = stream.read(mail.length)
            if is_box:
                data = _ESCAPED.sub(rb"\1", data)
            message = _parse(data, where)
            if session is None:
                subject = require_storable(_header(message, "Subject"), where)
                session = SessionBuilder(
                    require_storable(thread, where), intake.notes, title=subject
                )
            text, attachment = _content(message, where)
            if not session.turns and (subject := session.metadata.get("title")):
                text = f"Subject: {subject}\n\n{text}".strip()
            if not text and not attachment:
                intake.notes["mails without own words left out"] += 1
                continue
            sender, address = email.utils.parseaddr(str(message.get("From", "")))
            sender = _without_encoding(sender)
            key = _header(message, "Message-ID") or hashlib.sha256(data).hexdigest()[:16]
            turn = Utterance(
                text=text,
                speaker=require_storable(
                    sender.strip() or address.strip() or "Unknown sender", where
                ),
                at=mail.at,
                key=require_storable(key, where),
                attachment=attachment,
            )
            session.append(turn, where)
    if session:
        yield intake.part(name, session.build())


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
                files.append(f'the file "{_without_encoding(name)}"' if name else "a file")
    except (*_MALFORMED, email.errors.MessageError) as fault:
        raise BadInput(f"a malformed mail ({fault}); leave it out", where) from None
    text = "\n".join(texts["text/plain"])
    if not text.strip():
        text = html_to_text("\n".join(texts["text/html"]), without_quotes=True)
    text = strip_quotes(text.replace("\0", "")).encode("utf-8", "replace").decode("utf-8").strip()
    return require_storable(text, where), require_storable(", ".join(files), where)


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
    try:
        return data.decode(part.get_content_charset("utf-8"), "replace")
    except LookupError:  # an unknown charset
        return data.decode("utf-8", "replace")


FORMAT = Format(
    name="mail",
    sniff=_sniff,
    read=_read,
    pick=lambda folder: folder.select("*.mbox", "*.eml", "mbox"),
    kind="text",
)
