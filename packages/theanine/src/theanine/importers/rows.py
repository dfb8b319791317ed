"""Formats that are rows of :mod:`theanine.importers.table`.

What a row of ``formats.toml`` can't say is a few lines of Python here. None of these has seen a
real export; the layouts are as published loaders of each service read them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from theanine.errors import BadInput
from theanine.importers.agents import (
    exchanges,
    is_task,
    of_task,
    opencode_message,
    prompts,
    stored_message,
    task_message,
)
from theanine.importers.base import Format, Intake, format_named
from theanine.importers.folder import Folder
from theanine.importers.html_text import html_to_text
from theanine.importers.note_apps import (
    is_keep_page,
    keep_note,
    keep_pages,
    roam_page,
    simplenote_notes,
    standard_notes,
    transcript,
)
from theanine.importers.schema import Object, get, is_object, objects_in, parse, unpacked
from theanine.importers.table import (
    ROLES,
    SYSTEM,
    Entry,
    Layout,
    Reader,
    finish,
    first_of,
    full_name,
    layout_named,
    name_of,
    read_entry,
    read_talks,
    records_in,
    role_in,
    share_files,
    without,
)
from theanine.importers.web_pages import (
    is_messenger_page,
    is_voice_page,
    messenger_talks,
    voice_talks,
)
from theanine.importers.wording import wording
from theanine.importers.words import (
    QUOTES,
    REPORTS,
    THOUGHTS,
    TOOLS,
    Words,
    file_named,
    note_unread,
    quoted,
    strings,
)
from theanine.importers.written_dates import find_date
from theanine.importers.xml_chats import adium_talks, is_adium, is_sms, sms_row, sms_talks
from theanine.messages.parts import part_kind
from theanine.messages.read import message_parts
from theanine.types import History, Role

CALLS = "service messages left out"
_SKYPE_QUOTE = re.compile(
    r"<(?P<tag>quote\b|blockquote\b(?=[^<>]*schema\.skype\.com/Reply))[^<>]*>"
    r"(?:(?!<(?:block)?quote\b).)*?</(?P=tag)>",
    re.DOTALL,
)
_SKYPE_SHARED = re.compile(
    r'<(?P<tag>URIObject|contacts)\b(?:[^<>]*\btype="(?P<kind>[^"]*)")?.*?</(?P=tag)>',
    re.DOTALL | re.IGNORECASE,
)
_SKYPE_MARK = re.compile(r"<legacyquote>.*?</legacyquote>", re.DOTALL)
_SKYPE_PLAIN_QUOTE = re.compile(r"\A\[[^\]\n]{4,40}\] [^:\n]{1,80}: .*?\s<<< (?=\S)", re.DOTALL)


def _row(
    name: str,
    read_message: Reader = read_entry,
    is_page: Callable[[Intake], bool] | None = None,
    read_page: Callable[[Intake], Iterable[Object]] = lambda intake: (),
    unfold: Callable[[Intake, Object], Iterable[Object]] | None = None,
) -> Format:
    """Return a format whose row says all; some are also web pages, which are told and read so.

    ``unfold`` returns the conversations of a document that has them in pieces.
    """
    layout = layout_named(name)

    def read(intake: Intake) -> Iterator[History]:
        records: Iterable[tuple[str, Object]] | None = None
        if intake.kind == "text":
            records = ((intake.name, talk) for talk in read_page(intake))
        elif unfold is not None:
            records = (
                (at, talk)
                for at, whole in records_in(intake, layout)
                for talk in unfold(intake, whole)
            )
        return read_talks(intake, layout, read_message, records=records)

    return format_named(name, read, is_page)


def _version(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    """Read the version of a message that LM Studio shows."""
    versions = objects_in(message.get("versions"))
    chosen = message.get("currentlySelected")
    if not versions:
        return read_entry(intake, layout, message, where)
    note_unread(intake.notes, without(message, "versions"), ())
    number = chosen if isinstance(chosen, int) and 0 <= chosen < len(versions) else -1
    intake.notes["other answers left out"] += len(versions) - 1
    return read_entry(intake, layout, versions[number], where)


def _chunk(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    """Read a chunk of AI Studio, in which files are fields named after where they lie."""
    files = [key for key in message if key.startswith(("drive", "inline", "youtube"))]
    if not files and "errorMessage" in message and not message.get("text"):
        intake.notes[REPORTS] += 1
        return ()
    rest = {key: each for key, each in message.items() if key not in files}
    shared = [{"type": key, "name": name_of(message[key])} for key in files]
    return read_entry(intake, layout, {**rest, "attachments": shared}, where)


def _named_by_file(intake: Intake, chat: Object) -> Iterator[Object]:
    """Yield a chat with the name of its file as its title."""
    yield {"title": intake.stem, **chat}


def _cherry_topics(intake: Intake, backup: Object) -> Iterator[Object]:
    """Yield the topics of a backup of Cherry Studio, with the blocks of their messages in them."""
    packed = get(backup, "localStorage.persist:cherry-studio")
    kept = unpacked(packed)
    store = unpacked(get(backup, "redux.assistants") or kept.get("assistants"))
    assistants = [store.get("defaultAssistant"), *objects_in(store.get("assistants"))]
    about = {t.get("id"): t for each in assistants for t in objects_in(get(each, "topics"))}
    others = {key: each for key, each in backup.items() if key != "indexedDB"}
    note_unread(intake.notes, {"settings": {**others, "localStorage": kept or packed}}, ())
    found = (_block(each) for each in objects_in(get(backup, "indexedDB.message_blocks")))
    blocks = {str(each.get("id")): each for each in found}
    for topic in objects_in(get(backup, "indexedDB.topics")):
        messages = [dict(each) for each in objects_in(topic.get("messages"))]
        for message in messages:
            ids = cast("list[object]", message.get("blocks") or [])
            message["blocks"] = [blocks.pop(id) for each in ids if (id := str(each)) in blocks]
        yield {**about.get(topic.get("id"), {}), **topic, "messages": messages}
    note_unread(intake.notes, {"message_blocks": [*blocks.values()]}, ())


def _block(block: Object) -> Object:
    kind = str(block.get("type"))
    parts = {
        "main_text": "text",
        "tool": "tool_result",
        "citation": "tool_result",
        "error": "debug",
    }
    name = get(block, "file.origin_name")
    named = {"file": {"filename": name}} if name else {}
    return {**block, **named, "type": parts.get(kind, kind)}


def _chatbox_threads(intake: Intake, backup: Object) -> Iterator[Object]:
    """Yield the threads of a backup of Chatbox, of which the last one lies in its session."""
    kept = {key: each for key, each in backup.items() if key.startswith("session:")}
    sessions = objects_in([*kept.values(), *objects_in(backup.get("chat-sessions"))])
    others = {key: each for key, each in backup.items() if key not in (*kept, "chat-sessions")}
    note_unread(intake.notes, {"settings": others}, [str(each.get("name")) for each in sessions])
    for session in sessions:
        threads = objects_in(session.get("threads"))
        yield from threads
        yield without(session, "threads")


def _openrouter_chats(intake: Intake, chat: Object) -> Iterator[Object]:
    """Yield a chat of OpenRouter, with the items of its messages in them."""
    held, messages = chat.get("items"), chat.get("messages")
    items = dict(held) if is_object(held) else Object()
    found = messages.values() if is_object(messages) else messages
    whole = [dict(each) for each in objects_in([*cast("Iterable[object]", found or ())])]
    for message in whole:
        refs = (str(each.get("id")) for each in objects_in(message.get("items")))
        parts = [data for id in refs if is_object(data := get(items.pop(id, None), "data"))]
        if parts:
            message["content"] = parts
            message["role"] = next((each["role"] for each in parts if "role" in each), None)
    about = {key: each for key, each in chat.items() if key not in ("items", "characters")}
    note_unread(intake.notes, {"settings": chat.get("characters")}, ())
    note_unread(intake.notes, {"items": [*items.values()]}, ())
    yield {**about, "messages": whole}


def _exchange(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    """Read a question with its answer, as a turn each."""
    answers = [
        (each.get("intended_usage"), get(text, "answer") or "".join(map(str, chunks or ())))
        for each in objects_in(message.get("blocks"))
        if is_object(text := each.get("markdown_block"))
        for chunks in [cast("list[object] | None", text.get("chunks"))]
    ]
    whole = [text for usage, text in answers if usage == "ask_text"]
    answer = first_of(message, ("answer", "response")) or whole or [text for _, text in answers]
    asked, said = Words(intake.notes), Words(intake.notes)
    asked.add(first_of(message, layout.words))
    said.add(answer)
    share_files(asked, message)
    both = [*asked.read, *said.read, str(message.get("thread_title"))]
    found: list[Entry] = []
    sides: tuple[tuple[Words, Role], ...] = ((asked, "user"), (said, "assistant"))
    for words, role in sides:
        if words or not (asked or said):
            words.passed += both
            entry = Entry(where, role, intake.speaker_of(role))
            found += finish(intake, message, words, entry, layout)
    return found


def _teams(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    """Read a message of Teams as Microsoft Graph returns it, whose words are HTML."""
    body = str(get(message, "body.content") or "")
    text = html_to_text(body) if get(message, "body.contentType") == "html" else body
    files = objects_in(message.get("attachments"))
    shared = [each for each in files if each.get("contentType") != "messageReference"]
    intake.notes[QUOTES] += len(files) - len(shared)
    shared = [{**each, "content": _held(each.get("content"))} for each in shared]
    whole = {**message, "content": text, "attachments": shared}
    return read_entry(intake, layout, without(whole, "body.content"), where)


def _held(content: object) -> object:
    """Return what an attachment of Teams holds; of a forwarded message its words and writer."""
    held = unpacked(content)
    text = held.get("originalMessageContent")
    if not isinstance(text, str):
        return held
    sender = held.get("originalMessageSender")
    name = name_of(first_of(sender, ("user", "application")))
    rest = {key: each for key, each in held.items() if not key.startswith("originalMessage")}
    return {**rest, "text": f"{name}: {html_to_text(text)}" if name else html_to_text(text)}


_MATRIX_QUOTE = re.compile(r"\A(?:> ?[^\n]*(?:\n|\Z))+\s*")


def _room(intake: Intake, room: Object) -> Iterator[Object]:
    """Yield a room of Matrix with its people's names, and the last wording of each message."""
    field = next((each for each in ("messages", "chunk") if isinstance(room.get(each), list)), "")
    events = [dict(each) for each in objects_in(room.get(field))]
    known = {str(each.get("event_id")): each for each in events}
    names = {str(e.get("state_key")): get(e, "content.displayname") for e in events}
    kept: list[object] = []
    for event in events:
        event["name"] = names.get(str(event.get("sender")))
        original = _relation(event).get("event_id")
        if _relation(event).get("rel_type") == "m.replace" and original in known:
            known[str(original)]["content"] = event["content"]
            intake.notes["earlier wordings left out"] += 1
        else:
            kept.append(event)
    yield {**room, field: kept} if field else room


def _relation(event: Object) -> Object:
    content = event.get("content")
    relation = content.get("m.relates_to") if is_object(content) else None
    return relation if is_object(relation) else {}


def _event(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    """Read a message of Matrix, whose replies begin with what they answer."""
    held = message.get("content")
    held = (held.get("m.new_content") or held) if is_object(held) else held
    content = dict(held) if is_object(held) else Object()
    body = str(content.get("body") or "")
    kind, name = str(content.get("msgtype")), content.get("filename") or body
    if kind in ("m.image", "m.file", "m.audio", "m.video"):
        message = {**message, "attachments": [{"name": name, "type": kind}]}
        body = "" if body == name else body
    relation = _relation(message)
    if "m.in_reply_to" in relation:
        body, quotes = _MATRIX_QUOTE.subn("", body)
        intake.notes[QUOTES] += quotes
    if content.pop("format", None):  # the same words as HTML
        content.pop("formatted_body", None)
    thread = relation.get("event_id") if relation.get("rel_type") == "m.thread" else None
    content["body"] = body
    return read_entry(intake, layout, {**message, "content": content, "thread": thread}, where)


def _named_talk(intake: Intake, talk: Object) -> Iterator[Object]:
    """Yield direct messages of X with the name of the account's owner, which is in another file."""
    names: dict[str, str] = {}
    folder = intake.folder
    for file in folder.select("account.js") if folder else ():
        with cast("Folder", folder).open(file) as source:
            for account in objects_in(parse(source.unpacked().text(), file)):
                id = str(get(account, "account.accountId"))
                names[id] = full_name(account, "account.accountDisplayName")
    for each in objects_in(get(talk, "dmConversation.messages")):
        message = each.get("messageCreate")
        if is_object(message):
            message["name"] = names.get(str(message.get("senderId")))
        elif is_object(name := each.get("conversationNameUpdate")):
            cast("Object", talk["dmConversation"])["name"] = name.get("name")
    yield talk


def _direct(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    """Read a direct message of X, in which links are shortened."""
    text = str(message.get("text") or "")
    for link in objects_in(message.get("urls")):
        if (short := name_of(link.get("url"))) and (long := name_of(link.get("expanded"))):
            text = text.replace(short, long)
    shared = [{"type": "image"} for _ in cast("list[object]", message.get("mediaUrls") or [])]
    return read_entry(intake, layout, {**message, "text": text, "attachments": shared}, where)


def _hangout(intake: Intake, talk: Object) -> Iterator[Object]:
    """Yield a chat of Hangouts with the names of its people and the words of its events."""
    for each in objects_in(talk.get("conversation_state")):  # of older exports
        yield from _hangout(intake, {**each, **unpacked(each.get("conversation_state"))})
    about = talk.get("conversation")
    path = "conversation.participant_data"
    people = objects_in(get(about, path) or get(about, "participant_data"))
    names = {str(first_of(each, _IDS)): name_of(each.get("fallback_name")) for each in people}
    events = [dict(each) for each in objects_in(talk.get("events") or talk.get("event"))]
    for event in events:
        id = str(first_of(event.get("sender_id"), ("gaia_id", "chat_id")))
        event["name"] = names.get(id) or id
        content = get(event, "chat_message.message_content")
        pieces = objects_in(get(content, "segment"))
        event["words"] = "".join(
            str(each.get("text") or ("\n" if each.get("type") == "LINE_BREAK" else ""))
            for each in pieces
        )
        kinds = (get(each, "embed_item.type") for each in objects_in(get(content, "attachment")))
        event["attachments"] = [
            {"type": "".join(text for _, text in strings(k)[:1])} for k in kinds
        ]
    if events:
        rest = {key: each for key, each in talk.items() if key != "event"}
        yield {**rest, "conversation_state": None, "events": events}


_IDS = ("id.gaia_id", "id.chat_id")
_PART = re.compile(r"(?P<chat>.*\bmessage_)\d+(?P<suffix>\.\w+)")
"""The name of a file of Messenger's; long chats are cut into several."""


def _other_parts(intake: Intake) -> Sequence[str]:
    """Return the files with more of the chat of Messenger in a file, which are then not read."""
    part = _PART.fullmatch(intake.name)
    if intake.folder is None or part is None:
        return ()
    whole = re.compile(rf"{re.escape(part['chat'])}\d+{re.escape(part['suffix'])}")
    names = [name for name in intake.folder.names if whole.fullmatch(name)]
    intake.seen |= {*names}
    return [name for name in names if name != intake.name]


def _whole(
    intake: Intake, talks: Iterable[Object], read: Callable[[Intake], Iterable[Object]]
) -> Iterator[Object]:
    """Yield the chats of a file of Messenger; one that is cut into several files is one chat."""
    if not (others := _other_parts(intake)):
        yield from talks
        return
    messages: list[object] = []
    chat = Object()
    for talk in talks:
        chat = talk
        held = talk.get("messages")
        messages += cast("list[object]", held) if isinstance(held, list) else []
    for name in others:
        with intake.catching(), cast("Folder", intake.folder).open(name) as source:
            for talk in read(replace(intake, source=source.put_right())):
                messages += objects_in(talk.get("messages"))
    yield {**chat, "messages": messages}


def _whole_chat(intake: Intake, chat: Object) -> Iterator[Object]:
    return _whole(intake, [chat], lambda part: (each for _, each in part.records()))


def _whole_page(intake: Intake) -> Iterator[Object]:
    return _whole(intake, messenger_talks(intake), messenger_talks)


_MESSENGER = re.compile("|".join(wording("messenger")["said"]))


def _shared(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    """Read a message of Messenger or Instagram, which say in words that something was shared."""
    text = str(message.get("content") or "").strip()
    name = name_of(first_of(message, layout.name))
    about = next(
        (text[len(each) + 1 :] for each in (name, "You") if text.startswith(f"{each} ")), ""
    )
    if _MESSENGER.fullmatch(about):
        intake.notes[CALLS] += 1
        return ()
    if is_object(message.get("share")) and re.fullmatch(r"[^:/?!]{1,60}\.", about):
        intake.notes[CALLS] += 1
        message = without(message, "content")
    return read_entry(intake, layout, message, where)


def _character(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    """Read a message of Character.AI, of whose answers the primary one is read."""
    candidates = objects_in(message.get("candidates"))
    primary = message.get("primary_candidate_id")
    chosen = next((c for c in candidates if c.get("candidate_id") == primary), None)
    chosen = chosen or next(iter(candidates), dict[str, object]())
    author = message.get("author") or message.get("src")
    ours = author.get("is_human") if is_object(author) else message.get("is_human")
    rest = {key: value for key, value in message.items() if key != "candidates"}
    intake.notes["other answers left out"] += max(len(candidates) - 1, 0)
    return read_entry(intake, layout, {**chosen, **rest, "is_human": bool(ours)}, where)


def _skype(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    """Read a message of Skype or Teams, whose words are HTML."""
    content = message.get("content")
    if isinstance(content, str):
        words = _skype_words(intake, _SKYPE_SHARED.sub("", content))
        message = {**message, "content": words, "attachments": [*_skype_shared(content)]}
    sender = str(message.get("from") or "")
    name = message.get("displayName") or message.get("imdisplayname") or sender.partition(":")[2]
    return read_entry(intake, layout, {**message, "displayName": name}, where)


def _skype_shared(content: str) -> Iterator[Object]:
    """Yield what was shared in a message of Skype, without Skype's words around it."""
    for shared in _SKYPE_SHARED.finditer(content):
        kind = shared["kind"] or "contact"
        names = re.findall(r'<OriginalName v="([^"]+)"', shared[0])
        said = re.findall(r'<c\b[^<>]*\bf="([^"]+)"|<Title>(?:Title: )?([^<]+)', shared[0])
        yield {
            "type": kind,
            "name": html.unescape("".join(names[:1])),
            "text": [] if names else [html.unescape("".join(each)) for each in said],
        }


def _skype_words(intake: Intake, content: str) -> str:
    """Return the words of a message without what it answers; all if it only passes that on."""
    own, quotes, count = content, 0, 1
    while count:  # the innermost first
        own, count = _SKYPE_QUOTE.subn("", own)
        quotes += count
    text = html_to_text(own)
    if quotes and not text:
        return html_to_text(_SKYPE_MARK.sub("", content))
    text, plain = _SKYPE_PLAIN_QUOTE.subn("", text)
    intake.notes[QUOTES] += quotes + plain
    return text


def _posts(intake: Intake, line: Object) -> Iterator[Object]:
    """Yield the post of a line of Mattermost with its channel; an answer of its API as it is."""
    kind = next((each for each in ("post", "direct_post") if is_object(line.get(each))), "")
    post = line.get(kind)
    if not is_object(post):
        if isinstance(line.get("posts"), dict | list):
            yield line
        else:
            note_unread(intake.notes, line, ())
        return
    note_unread(intake.notes, without(line, kind), ())
    members = post.get("channel_members")
    people = " & ".join(map(str, cast("list[object]", members))) if members else ""
    rest = {key: each for key, each in post.items() if key != "channel_members"}
    yield {"message": None, **rest, "talk": people or post.get("channel")}


def _topics(intake: Intake, dump: Object) -> Iterator[Object]:
    """Yield the messages of Zulip with people's names; a topic is a conversation and one thread."""
    folder, realm = intake.folder, Object()
    for file in folder.select("realm.json") if folder else ():
        realm = cast("Folder", folder).object(file)
    people, streams, ends = (
        {each.get("id"): each for each in objects_in(realm.get(f"zerver_{table}"))}
        for table in ("userprofile", "stream", "recipient")
    )
    fields = ("messages", "zerver_message")
    for each in (each for field in fields for each in objects_in(dump.get(field))):
        end, shown = ends.get(each.get("recipient"), Object()), each.get("display_recipient")
        names = [name_of(person) for person in objects_in(shown)]
        stream = streams.get(end.get("type_id"), Object()).get("name")
        talk = name_of(shown) or " & ".join(names) or name_of(stream) or str(each.get("recipient"))
        note_unread(intake.notes, {"recipients": shown}, [talk])
        topic = name_of(each.get("subject"))
        talk = f"{talk} > {topic}" if topic else talk
        content, sender = each.get("content"), people.get(each.get("sender"))
        if each.get("content_type") == "text/html" and isinstance(content, str):
            content = html_to_text(content)
        name = name_of(each.get("sender_full_name")) or name_of(sender) or each.get("sender")
        read = ("display_recipient", "sender_full_name", "subject")
        rest = {key: value for key, value in each.items() if key not in read}
        about: Object = {"content": content, "name": str(name), "talk": talk}
        yield {**rest, **about, "thread": "topic" if topic else None}
    rest = {key: each for key, each in dump.items() if key not in fields}
    note_unread(intake.notes, rest, ())


def _activity(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    """Read a post of Mastodon, whose words are HTML, in the name of the account's owner."""
    held = message.get("object")
    post = dict(held) if is_object(held) else Object()
    if not post and held is not None:
        note_unread(intake.notes, {"object": held}, ())
    files = objects_in(post.pop("attachment", None))
    note_unread(intake.notes, {"files": files}, [str(each.get("name")) for each in files])
    shared: list[Object] = [{"type": f.get("mediaType"), "text": f.get("name")} for f in files]
    choices = [each.get("name") for key in ("oneOf", "anyOf") for each in objects_in(post.get(key))]
    if choices:
        shared.append({"type": "poll", "text": choices})
    whole = {**message, "object": post, "attachments": shared}
    name = _owner_of(intake) or str(message.get("actor") or "").rstrip("/").rpartition("/")[2]
    return read_entry(intake, layout, {**whole, "name": name}, where)


def _owner_of(intake: Intake) -> str:
    """Return the name of the owner of Mastodon's archive, which is in another file."""
    folder = intake.folder
    files = folder.select("actor.json") if folder else ()
    actors = (cast("Folder", folder).object(file) for file in files)
    names = (name_of(first_of(actor, ("name", "preferredUsername"))) for actor in actors)
    return intake.options.speaker or next(names, "")


_MOMENT = re.compile(r"!\[[^\]\n]*\]\(dayone-[^()\n]*\)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_PLACE = ("placeName", "localityName", "country")
_OF_JOURNAL = {
    "photos": "a picture",
    "videos": "a video",
    "audios": "a recording",
    "pdfAttachments": "a file",
}


def _journal_entry(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    """Read an entry of Day One, whose words are Markdown, with where it was written."""
    message = {**message, "richText": unpacked(message.get("richText")) or message.get("richText")}
    words = Words(intake.notes)
    text = message.get("text")
    if not isinstance(text, str):
        pieces = objects_in(get(message, "richText.contents"))
        text = "".join(str(each.get("text") or "") for each in pieces)
    words.add(_ESCAPED.sub(r"\1", _MOMENT.sub("", text)).strip())
    words.passed.append(text)
    for field, what in _OF_JOURNAL.items():
        for each in objects_in(message.get(field)):
            name = name_of(first_of(each, ("filename", "pdfName", "title")))
            said = name_of(each.get("transcription"))
            words.shared.append(quoted(file_named(name, what), [said] if said else []))
    places = [name_of(get(message, f"location.{each}")) for each in _PLACE]
    if words and any(places):
        words.shared.append(quoted("a place", [", ".join(filter(None, places))]))
        words.passed += places
    return finish(intake, message, words, Entry(where, "user"), layout)


# Message lists of language models: OpenAI's and Anthropic's {"role", "content"}, alone or below
# "messages", "input" or "conversation", as in files for fine-tuning. Their parts are read by
# theanine.messages.

_MESSAGES = layout_named("messages")


def _holds_messages(intake: Intake) -> bool:
    first = intake.first
    return _is_message(first) or any(_is_conversation(first, field) for field in _MESSAGES.messages)


def _is_message(record: Mapping[str, object]) -> bool:
    message = _plain(record)
    return role_in(_MESSAGES, message)[0] is not None and bool({*_MESSAGES.words} & message.keys())


def _plain(record: Mapping[str, object]) -> Object:
    """Return a message as it is; what LangChain writes is in "data" or "kwargs", with a type."""
    inner = next(
        (each for key in ("data", "kwargs") if is_object(each := record.get(key))), Object()
    )
    message: Object = {**record, **inner} if "content" in inner else {**record}
    path = cast("list[object]", id) if isinstance(id := record.get("id"), list) else []
    kind = str(inner.get("type") or (path[-1] if path else record.get("type")))
    kind = kind.removesuffix("Chunk").removesuffix("Message").lower()
    return {**message, "role": kind} if kind in ROLES and "role" not in message else message


def _is_conversation(record: Mapping[str, object], field: str) -> bool:
    return any(_is_message(item) for item in objects_in(record.get(field))[:8])


def _read_messages(intake: Intake) -> Iterator[History]:
    records = ((where, _exported(_with_output(record))) for where, record in intake.records())
    return read_talks(
        intake, _MESSAGES, _message, intake.user_name(intake.own_name), records=records
    )


def _with_output(record: Object) -> Object:
    """Return a record of OpenAI's responses with what was asked and answered as its messages."""
    output = objects_in(record.get("output"))
    if "input" not in record or not any(map(_is_message, output)):
        return record
    given = record["input"]
    asked = [{"role": "user", "content": given}] if isinstance(given, str) else objects_in(given)
    rest = without(without(record, "input"), "output")
    return {**rest, "messages": [*asked, *output]}


def _exported(record: Object) -> Object:
    """Return a chat that a browser extension saved, which writes the month first, in ISO dates.

    It has ``metadata`` with ``title``, ``dates`` and ``powered_by``, and says its words in ``say``.
    """
    about = record.get("metadata")
    if not is_object(about) or not is_object(dates := about.get("dates")):
        return record
    about = {**without(about, "powered_by"), "dates": {k: _iso(v) for k, v in dates.items()}}
    messages = [
        {**each, "time": _iso(each.get("time"))} for each in objects_in(record.get("messages"))
    ]
    return {**record, "metadata": about, "messages": messages}


def _iso(date: object) -> object:
    """Return a date with slashes, the month first, in ISO 8601; anything else as it is."""
    if not isinstance(date, str) or "/" not in date or not (found := find_date(date)):
        return date
    found = found.swapped if found.swappable else found
    day = f"{found.year}-{found.month:02}-{found.day:02}"
    return f"{date[: found.span[0]]}{day}{date[found.span[1] :]}"


def _message(intake: Intake, layout: Layout, record: Object, where: str) -> Sequence[Entry]:
    record = _plain(record)
    role, named = role_in(layout, record)
    item = part_kind(record)
    if role is None and item in ("call", "result", "reasoning"):  # of OpenAI's responses
        intake.notes[THOUGHTS if item == "reasoning" else TOOLS] += 1
        return ()
    if role in ("system", "tool"):
        intake.notes[SYSTEM] += 1
        return ()
    words = Words(intake.notes)
    content = first_of(record, layout.words)
    try:
        message = {**record, "role": role or "user", "content": content}
        words.add([part for _, part in message_parts(message, where)])
    except BadInput:
        words.add(content)
    share_files(words, record)
    calls = [record.get("tool_calls"), record.get("function_call")]
    words.passed += (text for _, text in strings(calls))
    entry = Entry(where, role, name_of(record.get("name")) or named)
    return finish(intake, record, words, entry, layout)


MESSAGES = format_named("messages", _read_messages, _holds_messages)
FORMATS = (
    *map(_row, ("deepseek", "grok", "open-webui", "librechat")),
    _row("lmstudio", _version),
    *map(_row, ("jan", "google-chat")),
    _row("character-ai", _character),
    _row("messenger", _shared, is_messenger_page, _whole_page, unfold=_whole_chat),
    *map(_row, ("sillytavern", "nextchat")),
    _row("aistudio", _chunk, unfold=_named_by_file),
    _row("cherry-studio", unfold=_cherry_topics),
    _row("chatbox", unfold=_chatbox_threads),
    _row("openrouter", unfold=_openrouter_chats),
    _row("perplexity", _exchange),
    _row("anythingllm", _exchange),
    _row("teams", _teams),
    _row("skype", _skype),
    *map(_row, ("typingmind", "chatbot-ui", "mistral", "snapchat", "tiktok", "tinder", "x-grok")),
    _row("matrix", _event, unfold=_room),
    *map(_row, ("intercom", "zendesk", "freshdesk", "help-scout")),
    _row("x", _direct, unfold=_named_talk),
    _row("mattermost", unfold=_posts),
    _row("rocket-chat"),
    _row("zulip", unfold=_topics),
    _row("mastodon", _activity),
    _row("day-one", _journal_entry, unfold=_named_by_file),
    _row("sms", read_entry, is_sms, sms_talks, unfold=sms_row),
    _row("adium", read_entry, is_adium, adium_talks),
    _row("hangouts", unfold=_hangout),
    _row("google-voice", read_entry, is_voice_page, voice_talks),
    _row("keep", read_entry, is_keep_page, keep_pages, unfold=keep_note),
    _row("simplenote", unfold=simplenote_notes),
    _row("standard-notes", unfold=standard_notes),
    _row("roam", unfold=roam_page),
    _row("transcript", unfold=transcript),
    _row("vscode-copilot", unfold=exchanges),
    *map(_row, ("gemini-cli", "continue")),
    _row("opencode", opencode_message, unfold=stored_message),
    _row("cline", task_message, is_task, unfold=of_task),
    _row("prompts", unfold=prompts),
)
