"""The words for people in JSON whose fields aren't all known, so that none are lost.

A service puts words where nobody expects them: in a document that a tool wrote, in the preview of a
link, in a poll. What a format doesn't read by name is searched for them; what is still left out is
named in a note.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from datetime import UTC
from typing import cast

from theanine.importers.schema import MAX_BYTES, Object, get, is_object, printable
from theanine.importers.wording import wording
from theanine.importers.written_dates import written_time
from theanine.lazy_pattern import lazy_pattern
from theanine.messages.parts import (
    call_arguments,
    is_call,
    is_result,
    part_kind,
    part_name,
    part_transcript,
    read_call,
)

TOOLS = "tool calls and results left out"
THOUGHTS = "thoughts left out"
REPORTS = "reports of the program left out"
QUOTES = "quotes of other messages left out"
UNREAD = "words in other fields left out: "
_REASONS = {why: re.compile(field, re.IGNORECASE) for why, field in wording("left_out").items()}
"""Why the words of a field are no part of a dialogue, by its name."""
_MAX_UNREAD = 40
OWN_WORDS = r"(?:i|ich|yo|je|j'|io|eu|ik|jag|jeg|ja|я|minä|ben|أنا)\b|मैंने|我|나는|내가|제가|私"
"""Words in the first person that begin a message of a person; no notice of a program does so."""
_DEEP = 40
_LONGEST_NOTICE = 300
_QUOTATION = " \"'“”„«»「」"
_FULL_NAMES = (("givenName", "familyName"), ("first_name", "last_name"), ("firstName", "lastName"))
"""Fields of a person that are one name together."""
_FIRST_NAMES = frozenset(first for first, _ in _FULL_NAMES)

_FIELDS = wording("fields")
_MACHINE, _WORDED = frozenset(_FIELDS["machine"]), frozenset(_FIELDS["worded"])
_WORD = re.compile(r"[^\W\d_]{2,}|\d+")
_TAG = re.compile(r"<[^<>]*>|\\[nt]|[-_]")
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*://|data:|www\.|mailto:)\S*$", re.IGNORECASE)
_PROSE = re.compile(r"\w['’.,;:!?)]*\s+['‘\"(¿¡]*\w")
_DATED = re.compile(r"[\d\s.,:/TZ+()-]*(?:[A-Z]{2,5}|AM|PM)?[\d\s.,:/TZ+()-]*")
_DOCUMENTS = re.compile("|".join(_FIELDS["document_tools"]), re.IGNORECASE)
_REPORT = re.compile(rf"(?:^|_)(?:{'|'.join(_FIELDS['reports'])})(?:_|$)")
_TOOL_RESULT = re.compile(
    r"tool(?:_call_result|_response|\Z)|(?:tool_)?(?:search|open|read_link|fetch|find)"
)
_OF_GEMINI = frozenset(
    {"functionCall", "functionResponse", "executableCode", "codeExecutionResult"}
)
"""Fields of parts of Gemini's API, which have no type."""
_SHARED = {"image": "a picture", "file": "a file", "audio": "a recording", "video": "a video"}


def strings(value: object, *, several: bool = False) -> list[tuple[str, str]]:
    """Return the strings in a JSON value with the keys that lead to them, in their order.

    ``several`` passes over those that are one word of ASCII at most, as most in an export are.
    """
    found: list[tuple[str, str]] = []
    _collect({"": value}, "", 0, several, found)
    return found


def _collect(
    fields: Object, path: str, depth: int, several: bool, found: list[tuple[str, str]]
) -> None:
    named: Sequence[str] = ()
    if not _FIRST_NAMES.isdisjoint(fields):
        named = next((p for p in _FULL_NAMES if fields.get(p[0]) and fields.get(p[1])), ())
    if named:
        full = " ".join(str(fields[each]) for each in named)
        found.append((f"{path}.name" if path else "name", full))
    for key, value in fields.items():
        if not value or key in named:
            continue
        inner = f"{path}.{key}" if path and key else path or key
        items = cast("list[object]", value) if isinstance(value, list) else (value,)
        for each in items:
            if isinstance(each, str):
                if not several or " " in each or not each.isascii():
                    found.append((inner, each))
            elif depth < _DEEP and isinstance(each, dict | list):
                nested = (
                    {"": cast("object", each)} if isinstance(each, list) else cast("Object", each)
                )
                _collect(nested, inner, depth + 1, several, found)


def is_prose(text: str) -> bool:
    """Return whether a string is several words, or one in another script than Latin."""
    text = text.strip()
    if not text or _URL.match(text) or _DATED.fullmatch(text):
        return False
    return bool(_PROSE.search(text)) or any(c.isalpha() and ord(c) > 0x24F for c in text)


def _is_said(path: str, text: str) -> bool:
    key = _last_word(path)
    if key in _WORDED:
        return any(c.isalnum() for c in text) and not _URL.match(text.strip())
    return key not in _MACHINE and is_prose(text)


def _last_word(path: str) -> str:
    return in_snake_case(path.rpartition(".")[2]).rpartition("_")[2]


def in_snake_case(name: str) -> str:
    """Return a name such as ``createdAt`` as ``created_at``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().replace("i\u0307", "i")  # of İ


def said_in(value: object, skipped: Container[str] = ()) -> list[str]:
    """Return the strings for people in a JSON value, each once, in its order.

    ``skipped`` are keys of the value that are passed over.
    """
    if is_object(value):
        value = {key: each for key, each in value.items() if key not in skipped}
    found = (text.strip() for path, text in strings(value) if _is_said(path or "text", text))
    return list(dict.fromkeys(found))


def note_unread(
    notes: Counter[str], value: object, read: Iterable[str], skipped: Container[str] = ()
) -> None:
    """Name in the notes the fields of a value with words that aren't among those ``read``."""
    whole = "\n".join(read)
    known: set[str] | None = None
    for path, text in strings(value, several=True):
        if text in whole:
            continue
        if path.partition(".")[0] in skipped or not is_prose(text) or text.strip() in whole:
            continue
        if written_time(text, UTC):
            continue
        known = set(_WORD.findall(whole)) if known is None else known
        if set(_WORD.findall(_TAG.sub(" ", html.unescape(text)))) <= known:
            continue
        # An id as a key would make a note of its own of each message.
        name = ".".join(step for step in path.split(".") if not re.search(r"\d{3}|-", step))[:80]
        if reason := next((why for why, field in _REASONS.items() if field.search(path)), ""):
            notes[reason] += 1
            continue
        note = UNREAD + printable(f'"{name}"')
        if note not in notes and sum(each.startswith(UNREAD) for each in notes) >= _MAX_UNREAD:
            note = UNREAD + "more fields"
        notes[note] += 1


_OF_PEOPLE = re.compile("WHO|BY")
_OFFICES = (
    r"(?:(?:an?|the|group|(?:d|ein)e[rmn]|une?|uma?|el|la|le|il|l'|o) ){0,2}"
    r"(?:admin|mod[eé]r|sender|author|absender|exp[eé]dit|auteur|aut[oe]r)\w*"
)
"""Those whom a notice names by what they are; before a name or alone."""
_NOTICES = {
    why: (
        lazy_pattern("|".join(_OF_PEOPLE.sub(".{1,60}", each) for each in notices), re.IGNORECASE),
        [
            lazy_pattern(
                each.replace("WHO", "(?P<who>.{1,60}?)", 1).replace("BY", "(?P<by>.{1,60})", 1),
                re.IGNORECASE,
            )
            for each in notices
        ],
    )
    for why, notices in wording("notices").items()
}
"""Notices of programs in place of messages, by why they are left out: a pattern for any, and a
pattern for each with groups for the people it names."""
_OFFICE, _OWN = (re.compile(each, re.IGNORECASE) for each in (rf"{_OFFICES}\b ?", OWN_WORDS))


def notice_in(text: str, speaker: str = "", others: Container[str] = ()) -> str:
    """Return why words that are a program's, in place of a message, are left out; else nothing.

    People say the same of others, so a notice that names someone must name its speaker, or one of
    the ``others`` of the chat if it says by whom the message was taken away.
    """
    bare = text.strip(" \n\u200e\u200f.…。।()[]<>*_")
    if len(bare) > _LONGEST_NOTICE or (_OWN.match(bare) and "encrypted" not in bare):
        return ""
    for why, (possible, notices) in _NOTICES.items():
        if possible.fullmatch(bare):
            matches = (match for each in notices if (match := each.fullmatch(bare)))
            return why if any(_names(match, speaker, others) for match in matches) else ""
    return ""


def _names(notice: re.Match[str], speaker: str, others: Container[str]) -> bool:
    """Return whether a notice names nobody but those whom it can name."""
    groups = notice.groupdict()
    who, by = ((groups.get(each) or "").strip(_QUOTATION) for each in ("who", "by"))
    if by and (office := _OFFICE.match(by)):
        by = by[office.end() :]
    return (not who or _is_called(speaker, who)) and (
        not by or by in others or _is_called(speaker, by)
    )


def _is_called(speaker: str, name: str) -> bool:
    return f"{speaker} ".startswith(f"{name} ")


class Words:
    """Collects the words of a message and what was shared with it.

    Attributes:
        texts: the words.
        shared: descriptions of what was shared.
        documents: names and texts of the files that came with it.
        passed: the texts that were left out and noted, or read in another writing.
    """

    def __init__(self, notes: Counter[str]) -> None:
        self.texts: list[str] = []
        self.shared: list[str] = []
        self.documents: list[tuple[str, str]] = []
        self.passed: list[str] = []
        self._notes = notes

    @property
    def read(self) -> list[str]:
        """All strings that were seen to."""
        documents = (each for document in self.documents for each in document)
        return [*self.texts, *self.shared, *self.passed, *documents]

    @property
    def text(self) -> str:
        """The words, a line a piece."""
        return storable("\n".join(text for text in self.texts if text.strip()))

    @property
    def attachment(self) -> str:
        """What was shared, in words."""
        return storable(", ".join(dict.fromkeys(self.shared)))

    def __bool__(self) -> bool:
        return any(text.strip() for text in self.texts) or bool(self.shared)

    def share(self, what: str, value: object, skipped: Container[str] = ()) -> bool:
        """Add something shared with all its words; return whether there are any."""
        said = said_in(value, skipped)
        self.shared += [quoted(what, said)] if said else []
        return bool(said)

    def add(self, value: object, depth: int = 0) -> None:
        """Add a content: a text, a part, or a list of them, of whatever kind."""
        if isinstance(value, str):
            self.texts.append(value)
        elif depth > _DEEP:
            return
        elif isinstance(value, list):
            for each in cast("list[object]", value):
                self.add(each, depth + 1)
        elif is_object(value):
            self._add_part(value, depth)

    def _add_part(self, part: Object, depth: int) -> None:
        kind = part_kind(part)
        named = in_snake_case(str(part.get("type") or part.get("pt") or ""))
        style = part.get("style")
        thinks = get(style, "type") == "thinking" or part.get("aType") == "reasoning"
        if kind == "reasoning" or thinks or named in ("think", "thoughts", "thought"):
            self._leave_out(part, THOUGHTS)
        elif kind == "result" or is_result(part) or _TOOL_RESULT.match(named) or _is_tool(part):
            self._leave_out(part, TOOLS)
        elif kind == "call" or is_call(part) or re.search("tool_(?:call|invocation)", named):
            if not self._add_document(part):
                self._leave_out(part, TOOLS)
        elif kind in _SHARED or named in _SHARED or "video" in named:
            self._share_file(part, _SHARED.get(kind) or _SHARED.get(named) or "a video")
        elif _REPORT.search(named):
            self._leave_out(part, REPORTS)
        else:
            field = next((f for f in _FIELDS["texts"] if part.get(f) not in (None, "", [])), None)
            before = len(self.texts), len(self.shared), len(self.passed)
            if field is not None:
                self.add(part[field], depth + 1)
            if before == (len(self.texts), len(self.shared), len(self.passed)):
                said = said_in(part, ("type", "content_type", "language"))
                self.texts += said
                self._notes["parts that are not text left out"] += not said and bool(part)

    def _leave_out(self, part: Object, why: str) -> None:
        self._notes[why] += 1
        self.passed += (text for _, text in strings(part))

    def _add_document(self, call: Object) -> bool:
        """Add what a tool was asked to write for the user, such as an artifact or a canvas."""
        _, name, arguments = read_call(call)
        is_document = name in ("", "tool_use") or bool(_DOCUMENTS.search(name))
        return is_document and self.add_document(call_arguments(arguments))

    def add_document(self, document: object) -> bool:
        """Add a document's title and text; return whether it has a text."""
        if not is_object(document):
            return False
        texts: list[str] = []
        for field in _FIELDS["of_documents"]:
            value = document.get(field)
            texts += [value] if isinstance(value, str) else said_in(value) if value else []
        title = document.get("title") or document.get("name")
        body = [text for text in texts if text != title and text.strip()]
        if isinstance(title, str):
            body = [title, *body]
        self.texts += dict.fromkeys(body)
        return bool(body)

    def _share_file(self, part: Object, what: str) -> None:
        name = part_name(part)
        transcript = part_transcript(part)
        what = file_named(name, what)
        self.shared.append(quoted(what, [transcript] if transcript else []))
        text = part.get("text") or part.get("extracted_content")
        if isinstance(text, str) and text.strip():
            self.documents.append((name or "file", storable(text)))


def _is_tool(part: Object) -> bool:
    return not _OF_GEMINI.isdisjoint(part) and not part.get("text")


def file_named(name: object, otherwise: str = "a file") -> str:
    """Return how a file that was shared is called; ``otherwise`` if it has no name."""
    return f'the file "{name}"' if isinstance(name, str) and name else otherwise


def quoted(what: str, said: Iterable[str]) -> str:
    """Return what was shared with its words."""
    words = "; ".join(said)
    return f'{what} that says "{words}"' if words else what


def storable(text: str) -> str:
    """Return a text that can be stored: without NULs and lone surrogates, and not too long."""
    text = text.replace("\0", "")
    if text.isascii() and len(text) <= MAX_BYTES:
        return text
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_BYTES:
        return data.decode("utf-8")
    return data[: MAX_BYTES - 4].decode("utf-8", "ignore") + "…"
