"""A chat that WhatsApp exported, from Android or iOS: the zip archive or the text file.

::

    08/05/2024, 13:56 - Ana: I booked the ferry.           (Android)
    [08.05.24, 13:56:02] Ana: I booked the ferry.          (iOS)

Dates follow the phone's language: the order of day and month is found over the whole file, by days
beyond 12, then by the order in which no date goes back. Unmarked lines continue the message above
them. Lines without a speaker, and notes of WhatsApp itself, are left out and counted; pictures,
recordings and files become attachments. In a chat of two, the user is the one whom the chat isn't
named after.

Sources: joweich/chat-miner ``chatminer/chatparsers.py`` and ``test/whatsapp``, Dlurak/Whis
``src/lib/constants/whatsapp.ts``, and loaders that read Finnish, Arabic and Chinese exports.
Never seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, tzinfo

from theanine.errors import BadInput
from theanine.importers.base import ZONELESS, Format, Intake
from theanine.importers.chats import ChatMessage, chat_sessions
from theanine.importers.dates import check_date
from theanine.importers.folder import Folder
from theanine.importers.schema import require_storable
from theanine.importers.source import decode
from theanine.types import History

_MARK = "\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"
_LEFT_TO_RIGHT = "\u200e"  # before what iOS writes itself
_SPACE = "[ \u00a0\u202f\u2009]"
_AM = ("am", "a.m.", "a. m.", "上午", "凌晨", "早上", "清晨", "오전", "午前", "ص", "π.μ.", "πμ")
_PM = ("pm", "p.m.", "p. m.", "下午", "晚上", "中午", "오후", "午後", "م", "μ.μ.", "μμ")
_HALF = "|".join(re.escape(word).replace(r"\ ", _SPACE) for word in (*_AM, *_PM))
_HEADER = re.compile(
    rf"[{_MARK}]*(?P<bracket>\[)?[{_MARK}]*"
    rf"(?P<a>\d{{1,4}})(?P<dot>[./-]){_SPACE}?[{_MARK}]*(?P<b>\d{{1,2}})(?P=dot){_SPACE}?[{_MARK}]*"
    rf"(?P<c>\d{{1,4}})\.?[{_MARK}]*(?:[,،]|{_SPACE}(?:klo|kl\.|um|om|à|às|a las|ob|o))?{_SPACE}*"
    rf"(?:(?P<before>{_HALF}){_SPACE}?)?"
    rf"(?P<hour>\d{{1,2}})[:.](?P<minute>\d{{2}})(?:[:.](?P<second>\d{{2}}))?"
    rf"(?:{_SPACE}?(?P<after>{_HALF}|uhr|uur|h))?[{_MARK}]*"
    rf"(?(bracket)\]{_SPACE}?|{_SPACE}[-–]{_SPACE})(?P<rest>.*)",
    re.IGNORECASE,
)
_SPEAKER = re.compile(
    rf"[{_MARK}~]*{_SPACE}*(?P<speaker>[^:\"“”]{{1,80}}?){_SPACE}?:(?: |$)(?P<text>.*)"
)
_PLACEHOLDER = re.compile(r"<[^<>\d]{3,60}>")
_IOS_FILE = re.compile(
    rf"(?P<title>.*?)[{_MARK}]*<[^<>:]{{3,40}}:{_SPACE}(?P<file>[^<>]+)>(?P<more>.*)"
)
_ANDROID_FILE = re.compile(
    rf"[{_MARK}]*(?P<file>[^\n]{{1,200}}\.\w{{2,5}}){_SPACE}\([^()\n]{{3,60}}\)"
)
_EDITS = (
    "This message was edited", "Diese Nachricht wurde bearbeitet", "Se editó este mensaje",
    "Ce message a été modifié", "Mensagem editada", "Questo messaggio è stato modificato",
    "Dit bericht is bewerkt",
)  # fmt: skip
_EDITED = re.compile(
    rf"{_SPACE}{{0,3}}"
    rf"(?:{_LEFT_TO_RIGHT}<[^<>:]{{3,60}}>|<(?:{'|'.join(map(re.escape, _EDITS))})\.?>)\Z"
)
_KINDS = (
    ("a sticker", r"sticker|stk-"),
    ("a GIF", r"\bgif"),
    ("a picture", r"image|photo|bild|foto|imagen|imagem|immagine|afbeelding|slika|img-"),
    ("a video", r"video|vidéo|vídeo|vid-"),
    ("a recording", r"audio|ptt-|aud-|sprach|opus"),
    ("a contact", r"contact|kontakt|vcf"),
    ("a file", r"document|dokument|documento|doc-"),
)
_DELETED = frozenset({
    "this message was deleted", "you deleted this message", "diese nachricht wurde gelöscht",
    "du hast diese nachricht gelöscht", "se eliminó este mensaje", "eliminaste este mensaje",
    "ce message a été supprimé", "vous avez supprimé ce message", "mensagem apagada",
    "esta mensagem foi apagada", "questo messaggio è stato eliminato",
    "dit bericht is verwijderd", "ova poruka je izbrisana", "null",
})  # fmt: skip
_TITLE = re.compile(
    r"^.*?whatsapp[- ]*(?:chat|conversation)?"
    r"(?:\s+(?:with|mit|con|avec|com|met|sa|s)\s+|\s*-\s*)",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Order:
    """What the dates of a file say about the order of their numbers.

    Attributes:
        first, second: the greatest first and second number.
        back: how often a date is before the previous one, with the day first and the month first.
        previous: the previous date in either order.
        us: whether all dates are written as in the United States, such as 5/8/24, 1:56 PM.
        speakers: the speakers of the file.
    """

    first: int = 0
    second: int = 0
    back: list[int] = field(default_factory=lambda: [0, 0])
    previous: list[tuple[int, ...]] = field(default_factory=lambda: [(), ()])
    us: bool = True
    speakers: set[str] = field(default_factory=set[str])

    def add(self, header: re.Match[str]) -> None:
        if len(header["a"]) > 2:
            return
        a, b, year = int(header["a"]), int(header["b"]), int(header["c"])
        self.first, self.second = max(self.first, a), max(self.second, b)
        for order, date in enumerate(((year, b, a), (year, a, b))):
            self.back[order] += date < self.previous[order]
            self.previous[order] = date
        half = header["after"] or header["before"] or ""
        self.us = self.us and header["dot"] == "/" and half in ("AM", "PM")

    @property
    def is_known(self) -> bool:
        return max(self.first, self.second) > 12 or self.back[0] != self.back[1]

    @property
    def month_first(self) -> bool:
        if max(self.first, self.second) > 12:
            return self.second > 12
        return self.back[1] < self.back[0] if self.is_known else self.us


def _read(intake: Intake) -> Iterator[History]:
    order = _Order()
    for _, line in _lines(intake):
        if header := _HEADER.fullmatch(line):
            order.add(header)
            if speaker := _SPEAKER.fullmatch(header["rest"]):
                order.speakers.add(speaker["speaker"])
    chat = _chat_name(intake)
    others = order.speakers - {chat}
    owner = others.pop() if len(order.speakers) == 2 and len(others) == 1 else ""
    if order.first and not order.is_known and order.first != order.second:
        intake.notes["files whose dates could also have month and day the other way round"] += 1
    yield from chat_sessions(intake, intake.user_name(owner), chat, _messages(intake, order))
    yield intake.part(intake.user_name(owner))


def _lines(intake: Intake) -> Iterator[tuple[int, str]]:
    number = 0
    for number, offset, line in intake.source.lines():
        text = decode(line, f"{intake.name}, line {number}", offset)
        yield number, text.rstrip("\r\n")


def _messages(intake: Intake, order: _Order) -> Iterator[ChatMessage]:
    header: re.Match[str] | None = None
    started, lines = 0, list[str]()
    last = 0
    for number, line in _lines(intake):
        if match := _HEADER.fullmatch(line):
            if header:
                yield from _message(intake, header, lines, started, order)
            header, lines, started = match, [match["rest"]], number
        elif header:
            lines += [""] * (number - last - 1) + [line]  # blank lines aren't read
        else:
            intake.notes["lines before the first message left out"] += 1
        last = number
    if header:
        yield from _message(intake, header, lines, started, order)


def _message(
    intake: Intake, header: re.Match[str], lines: list[str], number: int, order: _Order
) -> Iterator[ChatMessage]:
    where = f"{intake.name}, line {number}"
    with intake.catching():
        match = _SPEAKER.fullmatch(lines[0])
        if not match or not match["speaker"].strip():
            intake.notes["system lines left out"] += 1
            return
        text, attachment = _content("\n".join([match["text"], *lines[1:]]))
        if not text and not attachment:
            intake.notes["deleted and system messages left out"] += 1
            return
        at = _time(header, order, where, intake.options.local)
        intake.notes[ZONELESS] += intake.options.zone is None
        yield ChatMessage(
            at=check_date(at, where),
            speaker=require_storable(match["speaker"].strip(), where),
            text=require_storable(text, where),
            attachment=require_storable(attachment, where),
            where=where,
        )


def _time(header: re.Match[str], order: _Order, where: str, zone: tzinfo) -> datetime:
    a, b, c = int(header["a"]), int(header["b"]), int(header["c"])
    if len(header["a"]) > 2:
        year, month, day = a, b, c
    else:
        year, (month, day) = c, ((a, b) if order.month_first else (b, a))
    if year < 100:
        year += 2000
    elif year > 2400:  # the Buddhist calendar
        year -= 543
    hour = int(header["hour"])
    half = re.sub(_SPACE, " ", header["after"] or header["before"] or "").lower()
    if half == "中午":  # noon, from 11 to 1
        hour += 12 if hour < 10 else 0
    elif half in _AM or half in _PM:
        hour = hour % 12 + (12 if half in _PM else 0)
    minute, second = int(header["minute"]), int(header["second"] or 0)
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=zone)
    except ValueError:
        raise BadInput(f'"{header[0][:24]}" is not a date; check the line', where) from None


def _content(text: str) -> tuple[str, str]:
    """Return a message's words and what was shared; both empty for notes of WhatsApp itself."""
    text = _EDITED.sub("", text)
    automatic = text.startswith(_LEFT_TO_RIGHT)
    bare = text.strip(f"{_LEFT_TO_RIGHT} \u200f")
    if bare.rstrip(".").lower() in _DELETED:
        return "", ""
    if _PLACEHOLDER.fullmatch(bare) and any(word in bare.lower() for word in _OMITTED):
        return "", "a picture, a video or a recording"
    first, _, rest = text.partition("\n")
    if match := _IOS_FILE.fullmatch(first):
        return f"{match['more']}\n{rest}".strip(), _kind(match["file"])
    if match := _ANDROID_FILE.fullmatch(first):
        return rest.strip(), _kind(match["file"])
    if automatic or f" {_LEFT_TO_RIGHT}" in first:
        name = first.split(_LEFT_TO_RIGHT)[0].rstrip(" •")
        kind = _kind(first if automatic else first.rsplit(_LEFT_TO_RIGHT, 1)[1])
        if any(word in first.lower() for word in _OMITTED):
            return rest.strip(), f'the file "{name}"' if name else kind
        if automatic:
            return "", ""
    return text.strip(), ""


_OMITTED = (
    "omitted", "weggelassen", "ausgeschlossen", "omitid", "omitió", " omis", "omess", " ocult",
    "weggelaten", "izostavljen", "省略", "略去", "pominięto", "utelämna", "udelad", "utelat",
    "пропущен", "без медиа", "изостав", "dahil edilmedi", "jätettiin", "kihagyva", "vynech", "제외",
    "含まれていません", "diabaikan",
)  # fmt: skip
"""What the line of a file that was left out says of it, by language."""


def _kind(name: str) -> str:
    lowered = name.lower()
    return next((kind for kind, word in _KINDS if re.search(word, lowered)), f'the file "{name}"')


def _chat_name(intake: Intake) -> str:
    archive = intake.folder.name.rsplit("/", 1)[-1] if intake.folder else ""
    name = intake.source.stem
    if name == "_chat" and archive:
        name = archive.removesuffix(".zip")
    return require_storable(_TITLE.sub("", name), intake.name).strip() or "chat"


def _pick(folder: Folder) -> list[str]:
    texts = [name for name in folder.names if name.lower().endswith(".txt")]
    return [n for n in texts if n.endswith("_chat.txt") or "whatsapp" in n.lower()]


FORMAT = Format(
    name="whatsapp",
    sniff=lambda intake: (
        intake.kind == "text" and any(_HEADER.fullmatch(line) for line in intake.lines[:10])
    ),
    read=_read,
    pick=_pick,
    kind="text",
)
