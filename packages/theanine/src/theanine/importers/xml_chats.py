"""Messages in XML: Android's text messages, and the logs of Adium.

SMS Backup & Restore writes ``<smses>`` with ``<sms address date type body contact_name/>`` and
``<mms msg_box><parts><part ct text/></parts><addrs><addr address type/></addrs></mms>``, with dates
in milliseconds; so did Signal. The app SMS Import / Export writes the same rows of Android's
database as lines of JSON. Adium writes ``<chat account><message sender alias time>`` with HTML.

Sources: synctech.com.au "Fields in XML Backup Files", tmo1/sms-ie, martin-ueding/adium2pidgin
``parser.py``. Never seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import cast
from xml.etree.ElementTree import Element, ParseError, XMLPullParser, tostring

from theanine.importers.base import Intake
from theanine.importers.html_text import html_to_text
from theanine.importers.schema import Object, get, objects_in
from theanine.importers.table import name_of

_HEAD = 4000
_HALVES = re.compile(rb"&#(5[5-6]\d{3});&#(5[6-7]\d{3});")
"""A character as two halves, as Android writes those beyond 16 bits, which XML forbids."""
_SENDER = "137"
"""The type of the address from which a message came."""
_RECEIVED = "1"
_NOTHING = ("", "null", "(Unknown)", "(unknown)", "NoSubject", None)


def is_sms(intake: Intake) -> bool:
    """Return whether a source is a backup of text messages in XML."""
    return intake.kind == "text" and b"<smses" in intake.source.head[:_HEAD]


def is_adium(intake: Intake) -> bool:
    """Return whether a source is a log of Adium."""
    head = intake.source.head[:_HEAD]
    return intake.kind == "text" and b"<chat" in head and b"purl.org/net/ulf" in head


def _elements(intake: Intake, *tags: str) -> Iterator[Element]:
    """Yield the elements of these names, whose namespaces are taken off, as they end.

    What comes before a fault is read; the fault is the source's.
    """
    parser: XMLPullParser[Element] = XMLPullParser(("start", "end"))
    holder: list[Element] = []
    try:
        for _, _, line in intake.source.lines(blank=True):
            parser.feed(_HALVES.sub(_joined, line))
            for event, element in cast("Iterator[tuple[str, Element]]", parser.read_events()):
                element.tag = element.tag.rpartition("}")[2]
                if event == "start":
                    holder.append(element)
                    continue
                holder.pop()
                if element.tag in tags:
                    yield element
                    if holder:
                        holder[-1].remove(element)
        parser.close()
    except ParseError as fault:
        intake.broken_xml(fault)


def _joined(halves: re.Match[bytes]) -> bytes:
    high, low = int(halves[1]), int(halves[2])
    return b"&#%d;" % (0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))


def sms_talks(intake: Intake) -> Iterator[Object]:
    """Yield the conversations of a backup of text messages, one for each number or group."""
    rows: list[Object] = []
    names: dict[str, str] = {}
    for element in _elements(intake, "sms", "mms"):
        row: Object = {key: each for key, each in element.items() if each not in _NOTHING}
        row["parts"] = [dict(each.items()) for each in element.iter("part")]
        row["addrs"] = [dict(each.items()) for each in element.iter("addr")]
        address, contact = str(row.get("address")), name_of(row.pop("contact_name", None))
        if contact and "~" not in address:
            names[address] = contact
        rows.append({**row, "title": contact or address})
    talks: dict[str, list[object]] = {}
    titles: dict[str, object] = {}
    for row in rows:
        address = str(row.get("address"))
        titles[address] = row.pop("title")
        talks.setdefault(address, []).append(_message(row, names))
    for address, messages in talks.items():
        yield {"id": address, "title": titles[address], "messages": messages}


def sms_row(intake: Intake, row: Object) -> Iterator[Object]:
    """Yield a line of SMS Import / Export as a message."""
    parts, sender = objects_in(row.get("__parts")), row.get("__sender_address")
    person = get(sender, "__display_name") or row.get("__display_name")
    address = str(get(sender, "address") or row.get("address"))
    rest = {key: each for key, each in row.items() if not key.startswith("__")}
    others = objects_in(row.get("__recipient_addresses")) if _is_ours(row) else []
    names = [name_of(each.get("__display_name") or each.get("address")) for each in others]
    about: Object = {"address": address, "parts": parts, "addrs": []}
    message = _message({**rest, **about}, {address: name_of(person)})
    yield {"body": None, **message, "talk": ", ".join(names) or name_of(person) or address}


def _is_ours(row: Object) -> bool:
    return str(row.get("type") or row.get("msg_box") or _RECEIVED) != _RECEIVED


def _message(row: Object, names: Mapping[str, str]) -> Object:
    """Return a text message with its words, what came with it, and who sent it."""
    parts, addresses = objects_in(row.pop("parts", None)), objects_in(row.pop("addrs", None))
    texts = [
        str(each["text"]) for each in parts if each.get("ct") == "text/plain" and "text" in each
    ]
    files = [each for each in parts if each.get("ct") not in ("text/plain", "application/smil")]
    row["attachments"] = [
        {"type": each.get("ct"), "name": next((n for n in found if n not in _NOTHING), None)}
        for each in files
        for found in [(each.get("name"), each.get("fn"), each.get("cl"))]
    ]
    if parts:
        row["body"] = [text for text in texts if text not in _NOTHING]
    senders = (str(each.get("address")) for each in addresses if each.get("type") == _SENDER)
    number = next(senders, "") or str(row.pop("address", None) or "")
    row["kind"] = str(row.pop("type", None) or row.pop("msg_box", None))
    row["name"] = "" if row["kind"] not in (_RECEIVED, "None") else names.get(number) or number
    return row


def adium_talks(intake: Intake) -> Iterator[Object]:
    """Yield the conversation of a log of Adium."""
    messages: list[object] = []
    for each in _elements(intake, "message", "action"):
        for inner in each.iter():
            inner.tag = inner.tag.rpartition("}")[2]
        text = html_to_text(tostring(each, "unicode"))
        messages.append({**dict(each.items()), "text": text})
    yield {"title": intake.stem.partition(" (")[0], "messages": messages}
