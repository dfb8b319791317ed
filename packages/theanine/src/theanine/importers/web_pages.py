"""Chats that services export as web pages, told and read by their structure.

Telegram, Discord's exporter, Messenger and Instagram, and Google Takeout write a page of blocks,
one a message. What a block's parts are is told by their classes and places, never by their wording,
so pages in any language are read. A page is read in pieces; only the open block is kept.
"""

from __future__ import annotations

import html
import json
import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import cast

from theanine.importers.base import Intake
from theanine.importers.html_text import BLOCKS, VOID
from theanine.importers.schema import Object, is_object
from theanine.importers.wording import wording
from theanine.importers.words import quoted
from theanine.importers.written_dates import written_time

_PIECE = 1 << 16


@dataclass(slots=True)
class Node:
    """An element with its attributes and what is in it."""

    tag: str
    attributes: dict[str, str]
    children: list[Node | str] = field(default_factory=list["Node | str"])

    @property
    def classes(self) -> list[str]:
        """The classes of the element."""
        return self.attributes.get("class", "").split()

    def __iter__(self) -> Iterator[Node]:
        """Yield the elements directly in it."""
        return (child for child in self.children if isinstance(child, Node))

    def all(self) -> Iterator[Node]:
        """Yield all elements in it, in the page's order."""
        for child in self:
            yield child
            yield from child.all()

    def find(self, *names: str) -> Node | None:
        """Return the first element in it that has one of the classes, or is of such a tag."""
        return next((n for n in self.all() if {n.tag, *n.classes} & {*names}), None)

    def text(self, without: Sequence[str] = ()) -> str:
        """Return its words, a line a block, leaving out elements of some classes."""
        raw = re.sub(r"[ \t\r\f\v\xa0]+", " ", "".join(self._pieces(set(without))))
        lines = [line.strip() for line in raw.split("\n")]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

    def _pieces(self, without: set[str]) -> Iterator[str]:
        if without & set(self.classes) or self.tag in ("script", "style"):
            return
        block = self.tag in BLOCKS
        if block:
            yield "\n- " if self.tag == "li" else "\n"
        for child in self.children:
            if isinstance(child, Node):
                yield from child._pieces(without)
            else:
                yield re.sub(r"\s+", " ", child)
        if self.tag == "img" and (alt := self.attributes.get("alt")):
            yield alt
        if block and self.tag != "br":
            yield "\n"


class _Blocks(HTMLParser):
    """Collects the elements that match, each whole."""

    def __init__(self, matches: Callable[[Node], bool]) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[Node] = []
        self._matches = matches
        self.open: list[Node] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        if self.open:
            self.open[-1].children.append(node)
        elif not self._matches(node):
            return
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        if not any(node.tag == tag for node in self.open):
            return
        while (node := self.open.pop()).tag != tag:
            pass
        if not self.open:
            self.found.append(node)

    def handle_data(self, data: str) -> None:
        if self.open:
            self.open[-1].children.append(data)


def blocks(intake: Intake, *names: str, tags: Sequence[str] = ()) -> Iterator[Node]:
    """Yield the outermost elements of a page that have one of the classes, or a tag."""

    def matches(node: Node) -> bool:
        return node.tag in tags or bool(set(names) & set(node.classes))

    parser, decoder = _Blocks(matches), getincrementaldecoder("utf-8")("replace")
    stream = intake.source.stream()
    while piece := stream.read(_PIECE):
        parser.feed(decoder.decode(piece))
        yield from parser.found
        parser.found.clear()
    parser.close()
    yield from parser.found
    yield from parser.open[:1]  # cut off at the end


def head_of(intake: Intake) -> str:
    """Return the beginning of a page, or nothing of a text that is none."""
    if intake.kind != "text":
        return ""
    text = intake.source.head.decode("utf-8", "replace")
    return (
        text
        if re.match(r"\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype|html|head|body|div)", text, re.I)
        else ""
    )


# Google Takeout

_TITLED = re.compile(r"gemini\.google\.com/app/|google\.[\w.]+/search\?")
_LISTED = re.compile(r"[-–•]\s*(?P<name>[^\n]{1,200}?(?P<suffix>\.\w{2,5})?)")


_PRODUCT = re.compile(r"""header-cell[^>]*>\s*(?:<p[^>]*>)?([^<]*)""")


def product_of_page(intake: Intake) -> str:
    """Return the product of the first entry of Takeout's activity; empty if a page is none."""
    head = head_of(intake)
    found = _PRODUCT.search(head) if "outer-cell" in head else None
    return found[1] if found else ""


def activity_cells(intake: Intake) -> Iterator[tuple[str, Object]]:
    """Yield the entries of Takeout's activity, as its JSON has them, with their places."""
    for number, cell in enumerate(blocks(intake, "outer-cell"), 1):
        where = f"{intake.name}, entry {number}"
        product = cell.find("header-cell")
        content = cell.find("content-cell")
        if content is None:
            continue
        children = content.children
        dates = [
            i
            for i, child in enumerate(children)
            if isinstance(child, str) and ":" in child and written_time(child, intake.options.local)
        ]
        first_block = next(
            (i for i, c in enumerate(children) if isinstance(c, Node) and c.tag in BLOCKS - {"br"}),
            len(children),
        )
        date = next((i for i in reversed(dates) if i < first_block), dates[0] if dates else None)
        split = first_block if date is None else date
        asked = Node("div", {}, children[:split])
        title, files = _attached(asked.text(), [n.text() for n in asked.all() if n.tag == "a"])
        answer = Node("div", {}, children[split + (date is not None) :]).text()
        links = (node.attributes.get("href", "") for node in cell.all())
        yield (
            where,
            {
                "header": product.text() if product else "Gemini",
                "title": title,
                "attachedFiles": files,
                "time": cast("str", children[date]).strip() if date is not None else None,
                "titleUrl": next((link for link in links if _TITLED.search(link)), ""),
                "safeHtmlItem": [{"html": html.escape(answer).replace("\n", "<br>")}]
                if answer
                else [],
            },
        )


def _attached(title: str, links: Sequence[str]) -> tuple[str, list[str]]:
    """Return a title without the files that are listed below it, and their names.

    Above the list, in any language, is a line with how many there are.
    """
    lines, files = title.split("\n"), list[str]()
    while lines and (match := _LISTED.fullmatch(lines[-1])):
        if match["name"] not in links and not match["suffix"]:
            break
        files.insert(0, match["name"])
        lines.pop()
        while lines and not lines[-1]:
            lines.pop()
    count = re.findall(r"\d+", lines[-1]) if files and len(lines) > 1 else []
    if not files or [int(each) for each in count] != [len(files)]:
        return title, []
    return "\n".join(lines[:-1]).strip(), files


# Google Voice


def is_voice_page(intake: Intake) -> bool:
    """Return whether a page has texts or a call of Google Voice."""
    return re.search(r'class="(?:hChatLog|haudio)\b', head_of(intake)) is not None


def voice_talks(intake: Intake) -> Iterable[Object]:
    """Yield the texts on a page of Google Voice, or what was said after the tone.

    What the user wrote has no name: "Me", in any language, is marked as short for one.
    """
    title, messages = "", list[object]()
    for block in blocks(intake, "message", "haudio", "participants"):
        people = [each for each in block.all() if "tel" in each.classes]
        names = [each.text() or each.attributes.get("href", "")[len("tel:") :] for each in people]
        if "participants" in block.classes:
            title = ", ".join(names)
            continue
        is_ours = any(each.tag == "abbr" and "fn" in each.classes for each in block.all())
        at, said = block.find("dt", "published"), block.find("q", "full-text")
        shared: dict[str, list[Object]] = {_MEDIA_TAGS[n.tag]: [{}] for n in _media_in(block)}
        messages.append(
            {
                "name": "" if is_ours else "".join(names[:1]),
                "time": at.attributes.get("title") if at else None,
                "text": said.text() if said else "",
                **shared,
            }
        )
    return [{"title": title or intake.stem.partition(" - ")[0], "messages": messages}]


# Telegram


def is_telegram_page(intake: Intake) -> bool:
    """Return whether a page is a chat that Telegram exported."""
    head = head_of(intake)
    return 'class="message ' in head and ("from_name" in head or "page_header" in head)


def telegram_blocks(intake: Intake) -> Iterator[tuple[str, Object]]:
    """Yield the messages of a chat that Telegram exported as HTML, as its JSON has them.

    The first object has the chat's ``name``.
    """
    sender = ""
    for block in blocks(intake, "message", "page_header"):
        if "page_header" in block.classes:
            yield intake.name, {"name": block.text()}
            continue
        id = block.attributes.get("id", "").removeprefix("message")
        where = f"{intake.name}, message {id}"
        if "service" in block.classes:
            yield where, {"type": "service"} if not id.startswith("-") else {}
            continue
        body = block.find("body") or block
        name = next((n for n in body if "from_name" in n.classes), None)
        sender = name.text(("details", "date")) if name else sender
        inner = next((n for n in body if {"forwarded", "body"} <= set(n.classes)), None)
        said = inner or body
        text = next((n for n in said if "text" in n.classes), None)
        date = block.find("date")
        message: Object = {
            "type": "message",
            "id": id,
            "from": sender,
            "date": date.attributes.get("title") or date.text() if date else None,
            "text": text.text() if text else "",
        }
        if inner:
            author = next((n for n in inner if "from_name" in n.classes), None)
            message["forwarded_from"] = author.text(("details", "date")) if author else ""
        shared = [_media(n) for n in said if "media_wrap" in n.classes]
        message["shared"] = [each for each in shared if each]
        yield where, message


def _media(wrap: Node) -> str:
    names = " ".join(name for node in wrap.all() for name in node.classes)
    kinds = wording("telegram")["classes"].items()
    what = next((words for part, words in kinds if part in names), "a file")
    found = [
        node.text().removeprefix("- ")
        for node in wrap.all()
        if {"title", "description", "question", "answer", "status"} & set(node.classes)
        and not ("status" in node.classes and what not in ("a place", "a contact", "a sticker"))
    ]
    links = [node.attributes.get("href", "") for node in wrap.all() if node.tag == "a"]
    if what == "a place":
        found += [m[1] for link in links if (m := re.search(r"q=(-?[\d.]+,-?[\d.]+)", link))]
    if what == "a file" and found:
        return f'the file "{found[0]}"'
    return quoted(what, dict.fromkeys(each for each in found if each))


# Discord's exporter


def is_discord_page(intake: Intake) -> bool:
    """Return whether a page is a channel by DiscordChatExporter."""
    return "chatlog" in (head := head_of(intake)) and "preamble" in head


def discord_blocks(intake: Intake) -> Iterator[tuple[str, Object]]:
    """Yield the messages of a channel by DiscordChatExporter, as its JSON has them.

    The first object has the channel's ``name``.
    """
    for group in blocks(intake, "chatlog__message-group", "preamble"):
        if "preamble" in group.classes:
            entries = [n.text() for n in group.all() if "preamble__entry" in n.classes]
            yield intake.name, {"name": " #".join(each for each in entries[:2] if each)}
            continue
        author = group.find("chatlog__author", "chatlog__author-name")
        stamp = group.find("chatlog__timestamp")
        messages = [n for n in group.all() if "data-message-id" in n.attributes] or [group]
        for message in messages:
            id = message.attributes.get("data-message-id", "")
            own = message.find("chatlog__author", "chatlog__author-name") or author
            at = message.find("chatlog__timestamp", "chatlog__short-timestamp") or stamp
            content = message.find("chatlog__content")
            files = [
                each
                for each in message.all()
                if "chatlog__attachment" in " ".join(each.classes) and each.tag == "div"
            ]
            names = [each.attributes.get("title") or each.text() for each in files]
            embeds = [n.text() for n in message.all() if "chatlog__embed-content" in n.classes]
            yield (
                f"{intake.name}, message {id}",
                {
                    "id": id,
                    "author": {"name": own.text() if own else ""},
                    "timestamp": (at.attributes.get("title") or at.text()) if at else None,
                    "content": content.text(("chatlog__edited-timestamp",)) if content else "",
                    "attachments": [{"fileName": name} for name in names if name],
                    "embeds": [{"description": text} for text in embeds if text],
                },
            )


# Messenger and Instagram


def is_messenger_page(intake: Intake) -> bool:
    """Return whether a page is a chat of Messenger or Instagram."""
    head = head_of(intake)
    new = ("uiBoxWhite" in head and "noborder" in head) or ("_a6-g" in head and "_a6-p" in head)
    return new or _is_old_page(head)


def _is_old_page(head: str) -> bool:
    return 'class="thread"' in head and 'class="message_header"' in head


def messenger_talks(intake: Intake) -> Iterable[Object]:
    """Return the chats on a page of Messenger or Instagram, as their JSON has them."""
    return (_old_threads if _is_old_page(head_of(intake)) else _new_thread)(intake)


def _old_threads(intake: Intake) -> Iterable[Object]:
    """Return the threads on a page of Facebook's until 2018, in which words follow their heads."""
    threads: dict[str, list[object]] = {}
    for block in blocks(intake, "thread"):
        title = " ".join(each for each in block.children if isinstance(each, str)).strip()
        messages = threads.setdefault(title, [])
        for node in block:
            if header := node.find("message_header"):
                parts = [each.text() if each else "" for each in map(header.find, ("user", "meta"))]
                messages.append({"sender_name": parts[0], "timestamp": parts[1], "content": ""})
            elif messages and (text := node.text()):
                last = cast("Object", messages[-1])
                last["content"] = f"{last['content']}\n{text}".strip()
    return [{"title": title, "messages": messages} for title, messages in threads.items()]


_LISTED_REACTIONS = ("_tqp",)
_MEDIA_TAGS = {"img": "photos", "video": "videos", "audio": "audio_files"}


def _media_in(part: Node) -> Sequence[Node]:
    return [node for node in part.all() if node.tag in _MEDIA_TAGS]


def _new_thread(intake: Intake) -> Iterable[Object]:
    title, messages = "", list[object]()
    for block in blocks(intake, "noborder", "_a6-g", tags=("title",)):
        if block.tag == "title":
            title = block.text()
            continue
        parts = [child for child in block if child.text() or _media_in(child)]
        times = [
            i for i, part in enumerate(parts)
            if len(text := part.text()) < 80 and written_time(text, intake.options.local)
        ]  # fmt: skip
        if len(parts) < 2 or not times:
            continue
        titled = parts[0].tag == "h2" or "_a6-h" in parts[0].classes
        name = parts[0].text() if titled or (times[-1] > 0 and len(parts) > 2) else ""
        said = [part for i, part in enumerate(parts) if i != times[-1] and not (i == 0 and name)]
        media = [n for part in said for n in _media_in(part)]
        messages.append(
            {
                "sender_name": name,
                "timestamp": parts[times[-1]].text(),
                "content": "\n".join(part.text(_LISTED_REACTIONS) for part in said),
                "reactions": [n.text() for part in said if (n := part.find(*_LISTED_REACTIONS))],
                **{
                    field: [{"uri": n.attributes.get("src", "")} for n in media if n.tag == tag]
                    for tag, field in _MEDIA_TAGS.items()
                },
            }
        )
    return [{"title": title, "messages": messages}]


# ChatGPT


def is_chatgpt_page(intake: Intake) -> bool:
    """Return whether a page is ``chat.html`` of ChatGPT's export."""
    return re.search(r"jsonData\s*=\s*\[", head_of(intake)) is not None


def chatgpt_conversations(intake: Intake) -> Iterator[tuple[str, Object]]:
    """Yield the conversations in ``chat.html`` of ChatGPT's export, which are JSON in a script."""
    text = intake.source.text()
    found = re.search(r"jsonData\s*=\s*(?=\[)", text)
    if found is None:
        return
    value, _ = json.JSONDecoder().raw_decode(text, found.end())
    for number, each in enumerate(cast("list[object]", value)):
        if is_object(each):
            yield f"{intake.name}, [{number}]", each
