"""Files of programs that nobody knows: a mapping says where their messages are.

A mapping is a JSON object; docs/formats.md has its fields, whose values are paths of keys or, in
CSV, names of columns. :func:`propose` makes one for JSON, JSON Lines and CSV by what their fields
hold: times, a few names, roles, and words.
"""

from __future__ import annotations

import codecs
import csv
import html
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC
from itertools import islice, pairwise
from typing import Any, cast

from theanine.errors import BadInput, SettingsError
from theanine.importers.base import SPEAKERS, Intake, Options, format_named
from theanine.importers.charsets import is_utf8
from theanine.importers.folder import Folder
from theanine.importers.schema import MAX_BYTES, Object, get, is_object, parse
from theanine.importers.table import ROLES, Layout, first_of, layout_named, read_talks
from theanine.importers.wording import read_data, wording
from theanine.importers.words import in_snake_case, is_prose
from theanine.importers.written_dates import any_time, find_date
from theanine.lazy_pattern import lazy_pattern
from theanine.types import History, Role

FIELDS = (
    *("conversations", "messages", "item", "words", "role", "name", "time", "id", "title"),
    *("conversation", "roles", "people", "delimiter", "direction", "file", "subject", "left_out"),
    *("shared", "markup"),
)
_COLUMNS: Mapping[str, Mapping[str, Any]] = wording("columns")
"""Names of columns by language and field."""


def _in_any(*fields: str, also: Sequence[str] = ()) -> re.Pattern[str]:
    words = (language[field] for field in fields for language in _COLUMNS.values())
    return lazy_pattern("|".join([*words, *also]), re.IGNORECASE)


_WORDS, _NAMES, _TIMES, _TALKS = map(_in_any, ("words", "name", "time", "talk"))
_IDS = re.compile("id|uuid|message_?id|uid", re.IGNORECASE)
_OUT, _SERVICE = _in_any("out"), _in_any("service")
_SENT, _GOT = _in_any("out", also=["1|true|yes"]), _in_any("in", also=["0|false|no"])
_OURS = "is_?sender|(?:is_?)?from_?me|is_?mine|is_?outgoing"
"""Columns whose flags say whether the user sent a message."""
_DIRECTION = _in_any("out", "in", "service")
_DRAFT = re.compile(r"(?:is_)?(?:message_)?draft", re.IGNORECASE)
_CLOCK = re.compile(r"[^\d\n]{0,12}\d{1,2}[:.]\d\d(?:[:.]\d\d)?\W?.{0,12}")
_XML = re.compile(r"\s*<(?:\?xml|msg)\b.*", re.DOTALL)
_TITLES = re.compile(r"<(?:title|des)>(?:<!\[CDATA\[)?([^<\]]+)")
_URLS = re.compile(r"[,;|\s]+(?=https?://)")
_PATH = re.compile(r"^https?://[^?#]*/(?=[^/?#])")
_NO_VALUE = frozenset(("NULL", r"\N", "(null)", "<null>", "[NULL]"))
"""Signs for a cell without a value in tables that databases write."""
_SEPARATOR = re.compile(r'"?sep=(?P<mark>[,;\t|])"?\s*', re.IGNORECASE)
"""A first line that tells Excel what is between the columns."""
_IN_NUMBERS = re.compile(r"(\d{1,2})([./-])(\d{1,2})[./-](?:\d{4}|\d{2})\b")
_MONTHS = 12
_BEFORE_HEADING = 20
"""Lines among which the first that isn't blank has the names of the columns."""
_GARBLED = re.compile(r"[À-ÖØ-öø-ÿ]{4}")
"""Letters that text in another script becomes if it is read in a charset of Western Europe."""
_ROWS: Sequence[Mapping[str, Any]] = read_data("formats.toml")["csv"]["rows"]
_DELIMITERS = ",;\t|"
_SAMPLE = 200


def layout_of(mapping: Mapping[str, object]) -> Layout:
    """Return a mapping as a layout. Raises SettingsError for one that isn't right."""
    if unknown := mapping.keys() - set(FIELDS):
        raise SettingsError(
            f"unknown fields in the mapping: {', '.join(sorted(unknown))}; "
            f"known: {', '.join(FIELDS)}"
        )
    if not mapping.get("words"):
        raise SettingsError('the mapping has no "words": name the field with a message\'s words')

    def paths(name: str) -> Sequence[str]:
        value = mapping.get(name)
        if value in (None, ""):
            return ()
        values = cast("list[object]", value) if isinstance(value, list) else [value]
        if not all(isinstance(each, str) for each in values):
            raise SettingsError(f'"{name}" of the mapping must be a path of keys, such as "a.b"')
        return tuple(str(each) for each in values)

    roles = cast("object", mapping.get("roles") or {})
    known = {"user", "assistant", "system", "tool"}
    if not is_object(roles) or not all(role in known for role in roles.values()):
        raise SettingsError('"roles" of the mapping must give user, assistant, system or tool')
    rules = cast("object", mapping.get("left_out") or {})
    if not is_object(rules) or not all(isinstance(why, str) for why in rules.values()):
        raise SettingsError('"left_out" of the mapping must give the reason for each "field=value"')
    given = cast("object", mapping.get("shared") or {})
    if not is_object(given) or not all(isinstance(what, str) for what in given.values()):
        raise SettingsError('"shared" of the mapping must say what is shared by each "field=value"')
    markup = mapping.get("markup") or ""
    if markup not in ("", "entities", "html"):
        raise SettingsError('"markup" of the mapping must be "entities" or "html"')
    talks = "".join(paths("conversations")[:1])
    usual = layout_named("usual")
    return replace(
        usual,
        talks=f"{talks.removesuffix('.*')}.*" if talks else "",
        messages=paths("messages"),
        item="".join(paths("item")[:1]),
        subject=paths("subject"),
        words=paths("words"),
        role=paths("role"),
        name=paths("name"),
        time=paths("time"),
        id=paths("id") or usual.id,
        title=paths("title") or paths("conversation") or usual.title,
        roles={name.lower(): cast("Role", role) for name, role in roles.items()},
        ours=(),
        people=mapping.get("people") is True,
        left_out={rule: str(why) for rule, why in rules.items()},
        shared={rule: str(what) for rule, what in given.items()},
        markup=markup,
    )


def read_mapped(intake: Intake, mapping: Mapping[str, object]) -> Iterator[History]:
    """Read a source by a mapping."""
    layout = layout_of({key: each for key, each in mapping.items() if key != "clock"})
    records = None
    if intake.kind == "text":
        column, delimiter = mapping.get("conversation"), mapping.get("delimiter")
        rows = csv_rows(intake, str(delimiter or "") or sniff_delimiter(intake))
        rows = _directed(intake, rows, mapping)
        is_title = list(mapping.values()).count(column) == 1
        records = group_rows(intake, rows, str(column or ""), is_title=is_title)
        layout = replace(layout, messages=("messages",), title=("title",))
    yield from read_talks(intake, layout, records=records)


def _read(intake: Intake) -> Iterator[History]:
    mapping = intake.options.layout
    if mapping is None:
        raise BadInput("it is read by a mapping only: give one with --map", intake.name)
    return read_mapped(intake, mapping)


# CSV


def sniff_delimiter(intake: Intake) -> str:
    """Return the character between the columns of a CSV, by its heading."""
    told = _SEPARATOR.fullmatch("".join(intake.source.peek(1)))
    return told["mark"] if told else _delimiter(_heading(intake, _charset(intake)))


def _delimiter(heading: str) -> str:
    return max(_DELIMITERS, key=lambda each: len(_cells(heading, each)))


def _cells(heading: str, delimiter: str) -> list[str]:
    return [each.strip() for each in next(csv.reader([heading], delimiter=delimiter), list[str]())]


def _heading(intake: Intake, charset: str) -> str:
    text = intake.source.head.decode(charset, "replace")
    lines = re.split(r"[\r\n]", text, maxsplit=_BEFORE_HEADING)
    lines = [line for each in lines[:_BEFORE_HEADING] if (line := each.strip())]
    return next((x for x in lines if not _SEPARATOR.fullmatch(x)), "").replace("\0", " ")


def _charset(intake: Intake, *, whole: bool = False) -> str:
    """Return the charset of a CSV: UTF-8, or that of Excel in the language of its heading."""
    data = intake.source.stream().read() if whole else intake.source.head
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=whole)
    except UnicodeDecodeError:
        found = [
            (len(mapping), charset)
            for language in _COLUMNS
            for charset in _COLUMNS[language]["charsets"]
            for heading in [_heading(intake, charset)]
            if (mapping := _in_language(_cells(heading, _delimiter(heading)), language))
        ]
        _, charset = max(found, key=lambda each: each[0], default=(0, "utf-8"))
        text = data.decode(charset, "ignore")
        if not is_utf8(data) and not _GARBLED.search(text):
            return charset
    return "utf-8"


def csv_heading(intake: Intake) -> Sequence[str]:
    """Return the names of the columns of a CSV; nothing for a text that is none."""
    if intake.kind != "text" or not intake.lines:
        return ()
    names = _cells(_heading(intake, _charset(intake)), sniff_delimiter(intake))
    return names if len(names) > 1 and all(0 < len(name) < 60 for name in names) else ()


def csv_rows(intake: Intake, delimiter: str) -> Iterator[tuple[str, Object]]:
    """Yield the rows of a CSV by their columns' names, with their places. Raises BadInput."""
    csv.field_size_limit(MAX_BYTES)
    if (charset := _charset(intake, whole=True)) != "utf-8":
        intake.repaired(f"tables in the charset {charset}", intake.name)
    stream = intake.source.stream()
    if skipped := bool(_SEPARATOR.fullmatch("".join(intake.source.peek(1)))):
        stream.readline()
    text = io.TextIOWrapper(cast("Any", stream), charset, newline="")
    reader = csv.DictReader(text, delimiter=delimiter)
    try:
        for row in reader:
            where = f"{intake.name}, line {reader.line_num + skipped}"
            extra = row.pop(None, None)
            if extra:
                intake.repaired("cells without a column", where)
            said = (each for each in row.items() if each[1] and each[1].strip() not in _NO_VALUE)
            yield where, {str(key).strip(): value for key, value in said}
    except (csv.Error, UnicodeDecodeError) as fault:
        where = f"{intake.name}, line {reader.line_num + skipped + 1}"
        raise BadInput(f"not CSV in UTF-8 ({fault}); save it as that", where) from None
    finally:
        text.detach()  # the source stays open


def group_rows(
    intake: Intake, rows: Iterable[tuple[str, Object]], column: str, *, is_title: bool = False
) -> Iterator[tuple[str, Object]]:
    """Yield the conversations of rows, told apart by a column, as objects with ``messages``.

    ``is_title`` takes that column from the messages.
    """
    talks: dict[str, list[object]] = {}
    for _, row in rows:
        talk = row.pop(column, "") if is_title else row.get(column)
        talks.setdefault(str(talk or "") if column else "", []).append(row)
    for title, messages in talks.items():
        about: Object = {"id": title, "title": title} if title else {"id": intake.stem}
        yield intake.name, {**about, "messages": messages}


def _directed(
    intake: Intake, rows: Iterable[tuple[str, Object]], mapping: Mapping[str, object]
) -> Iterator[tuple[str, Object]]:
    """Yield rows whose sent ones have the user's name, with what was attached, but no notices."""
    direction, file, clock = (
        str(mapping.get(each) or "") for each in ("direction", "file", "clock")
    )
    words, time, name = (_columns(mapping, each) for each in ("words", "time", "name"))
    rows = list(rows)
    for _, row in rows if clock else ():
        if _CLOCK.fullmatch(str(row.get(clock, "")).strip()):
            row[time[0]] = f"{row.get(time[0], '')} {row.pop(clock)}".strip()
    _order_dates([row for _, row in rows], time)
    others = {first_of(row, name) for _, row in rows if _GOT.fullmatch(str(row.get(direction, "")))}
    for where, row in rows:
        value = str(row.pop(direction, "")) if direction else ""
        if _XML.fullmatch(text := str(row.get(words[0], ""))):  # WeChat's
            row[words[0]] = ": ".join(map(html.unescape, _TITLES.findall(text)))
        if _SERVICE.fullmatch(value):
            intake.notes["service messages left out"] += 1
            continue
        if name and _SENT.fullmatch(value):  # some name the other one in both
            own = "" if first_of(row, name) in others else first_of(row, name)
            row[name[0]] = intake.options.speaker or own or SPEAKERS["user"]
        if file and (attached := row.pop(file, "")):
            names = [_PATH.sub("", each) for each in _URLS.split(str(attached))]
            row["attachments"] = [{"name": name} for name in names]
        yield where, row


def _order_dates(rows: Sequence[Object], columns: Sequence[str]) -> None:
    """Write dates in numbers anew: in the order that those of the whole table tell.

    Years of two digits get four, as in a table of messages they are no numbers of versions.
    """
    for column in columns:
        found = [
            (row, text, date, numbers)
            for row in rows
            for text in [str(row.get(column, ""))]
            if (date := find_date(text)) and (numbers := _IN_NUMBERS.match(text, date.span[0]))
        ]
        day_first, month_first = (any(int(each[3][n]) > _MONTHS for each in found) for n in (1, 3))
        for row, text, date, numbers in found:
            if day_first != month_first:
                date = date.swapped if date.swappable and month_first else date
                day = f"{date.year}-{date.month:02}-{date.day:02}"
            else:
                day = numbers[2].join((numbers[1], numbers[3], str(date.year)))
            row[column] = f"{text[: date.span[0]]}{day}{text[date.span[1] :]}"


def _columns(mapping: Mapping[str, object], field: str) -> Sequence[str]:
    """Return the columns of a field of a mapping, by their rank."""
    value = mapping.get(field) or ()
    return (
        [value] if isinstance(value, str) else [str(each) for each in cast("list[object]", value)]
    )


def _csv_mapping(names: Sequence[str]) -> dict[str, object] | None:
    """Return the mapping of columns by their names alone; None if they aren't those of a chat."""
    for row in _ROWS:
        if {row["words"], row["direction"], row["time"][0]} <= {*names}:
            return dict(row)

    found = (_in_language(names, language) for language in _COLUMNS)
    return max(filter(None, found), key=len, default=None)


def _in_language(names: Sequence[str], language: str) -> dict[str, object] | None:
    """Return the mapping of columns that are named in a language, or in English; or None."""

    def named(field: str) -> str:
        patterns = (_COLUMNS[each][field] for each in dict.fromkeys((language, "en")))
        plain = [re.sub(r"\s+", "_", unicodedata.normalize("NFKC", each)) for each in names]
        found = (
            name
            for pattern in patterns
            for name, each in zip(names, plain, strict=True)
            if re.fullmatch(pattern, each, re.IGNORECASE)
        )
        return next(found, "")

    words, name, time, role = map(named, ("words", "name", "time", "role"))
    if not words or not (name or role) or not time:
        return None
    mapping: dict[str, object] = {"words": words, "name": name, "time": time}
    if (day := named("day")) and (clock := named("clock")) and day != clock:
        mapping |= {"time": day, "clock": clock}
    mapping["role"] = [each for each in (role, name) if each]
    mapping |= {
        field: column
        for field, kind in (("conversation", "talk"), ("file", "file"), ("subject", "subject"))
        if (column := named(kind)) and column not in (words, name)
    }
    drafts = (each for each in names if _DRAFT.fullmatch(each.replace(" ", "_")))
    if draft := next(drafts, ""):
        mapping["left_out"] = {f"{draft}=(?i)yes|true|1": "drafts left out"}
    return mapping


def _direction(intake: Intake, names: Sequence[str]) -> str:
    """Return the column that says whether a message was sent or received; empty if none does."""
    trial = replace(intake, notes=Counter())  # the rows are read again
    rows = [row for _, row in islice(csv_rows(trial, sniff_delimiter(intake)), _SAMPLE)]
    for name in names:
        values = {str(row[name]).strip() for row in rows if name in row}
        is_ours = re.fullmatch(_OURS, in_snake_case(name).replace(" ", "_"))
        if is_ours and all(_SENT.fullmatch(each) or _GOT.fullmatch(each) for each in values):
            return name
        if any(map(_OUT.fullmatch, values)) and all(map(_DIRECTION.fullmatch, values)):
            return name
    return ""


def _is_copilot(intake: Intake) -> bool:
    return {"conversation", "time", "author", "message"} == {n.lower() for n in csv_heading(intake)}


def _sniff_csv(intake: Intake) -> bool:
    names = csv_heading(intake)
    return bool(names) and not _is_copilot(intake) and _csv_mapping(names) is not None


def _read_csv(intake: Intake) -> Iterator[History]:
    mapping = _csv_mapping(csv_heading(intake))
    if mapping is None:
        raise BadInput(
            "no columns for the words, the author and the time of a message; name them with --map",
            intake.name,
        )
    direction = mapping.get("direction") or _direction(intake, csv_heading(intake))
    yield from read_mapped(intake, {**mapping, "direction": direction, "people": bool(direction)})


# Proposals


def propose(intake: Intake) -> dict[str, object] | None:
    """Return a mapping of a source in an unknown format, by what its fields hold; None if none.

    The fields of the mapping that nothing speaks for are left out.
    """
    if intake.kind == "text":
        if not csv_heading(intake):
            return None
        delimiter = sniff_delimiter(intake)
        try:
            rows = [row for _, row in islice(csv_rows(intake, delimiter), _SAMPLE)]
        except BadInput:
            return None
        found = _fields(rows)
        return {"delimiter": delimiter, **found} if found else None
    if intake.kind == "lines":
        return _proposal([cast("object", record) for record in intake.ahead])
    try:
        document = parse(intake.source.text(), intake.name)
    except BadInput:
        return None
    return _proposal(document)


def _proposal(document: object) -> dict[str, object] | None:
    best: tuple[int, dict[str, object]] | None = None
    for path, records in _lists(document, ""):
        if (found := _fields(records[:_SAMPLE])) is None:
            continue
        mapping = {**_places(path), **found}
        if best is None or len(records) > best[0]:
            best = len(records), mapping
    return best[1] if best else None


def _places(path: str) -> dict[str, object]:
    """Return where conversations and messages are, by the path to all messages."""
    steps = [step for step in path.split(".") if step]
    if steps and steps[-1] == "*":
        steps = steps[:-1]
    if "*" not in steps:
        return {"messages": ".".join(steps)} if steps else {}
    last = len(steps) - 1 - steps[::-1].index("*")
    talks = ".".join(step for step in steps[:last])
    found: dict[str, object] = {"messages": ".".join(steps[last + 1 :])}
    return {"conversations": talks, **found} if talks and "*" not in talks else found


def _lists(value: object, path: str, depth: int = 0) -> Iterator[tuple[str, list[Object]]]:
    """Yield the lists and dictionaries of objects in a document, those of one path together."""
    groups: dict[str, list[Object]] = {}

    def visit(value: object, path: str, depth: int) -> None:
        if depth > 8:
            return
        items: list[object] = []
        if isinstance(value, list):
            items = cast("list[object]", value)
        elif is_object(value) and len(value) > 1 and all(is_object(v) for v in value.values()):
            items = list(value.values())
        records = [item for item in items if is_object(item)]
        if records:
            groups.setdefault(f"{path}.*" if path else "*", []).extend(records)
            for record in records[:_SAMPLE]:
                visit(record, f"{path}.*" if path else "*", depth + 1)
        elif is_object(cast("object", value)):
            for key, each in cast("Object", value).items():
                visit(each, f"{path}.{key}" if path else key, depth + 1)

    visit(value, path, depth)
    yield from groups.items()


def _fields(records: Sequence[Object]) -> dict[str, object] | None:
    """Return which fields of records are words, role, name, time and id; None without words."""
    values: dict[str, list[object]] = {}
    for record in records:
        for key, value in _leaves(record):
            values.setdefault(key, []).append(value)
    enough = {key: found for key, found in values.items() if len(found) * 2 > len(records)}
    texts = {
        key: sum(map(len, strings)) / len(strings)
        for key, found in values.items()
        if (strings := [each for each in found if isinstance(each, str)])
        and sum(is_prose(each) for each in strings) * 3 >= len(strings)
        and len(set(strings)) * 2 > len(strings)
    }
    if not texts:
        return None
    words = max(texts, key=lambda key: texts[key] * (3 if _is_named(key, _WORDS) else 1))
    mapping: dict[str, object] = {"words": words}
    times = [
        k for k, found in enough.items() if k != words and all(any_time(v, UTC) for v in found)
    ]
    if time := next((k for k in times if _is_named(k, _TIMES)), times[0] if times else ""):
        mapping["time"] = time
    few = {
        key: {each for each in found if isinstance(each, str)}
        for key, found in enough.items()
        if key not in (words, time) and all(isinstance(each, str | bool) for each in found)
    }
    role = next((k for k, n in few.items() if n and all(v.lower() in ROLES for v in n)), "")
    name = next((k for k, n in few.items() if k != role and n and _is_named(k, _NAMES)), "")
    if not role and not name:
        name = _alternating(records, few)
    mapping |= {k: v for k, v in (("role", role), ("name", name)) if v}
    if id := next((k for k in enough if _is_named(k, _IDS)), ""):
        mapping["id"] = id
    if talk := next((k for k in enough if _is_named(k, _TALKS) and k not in (words, name)), ""):
        mapping["conversation"] = talk
    if not role and name:
        mapping["people"] = True
    return mapping if time or role or name else None


def _alternating(records: Sequence[Object], few: Mapping[str, set[str]]) -> str:
    """Return the field of few short values that changes most from one record to the next."""
    best, most = "", 0
    for key, names in few.items():
        values = [get(record, key) for record in records]
        changes = sum(a != b for a, b in pairwise(values))
        is_short = all(len(name) <= 40 and "://" not in name for name in names)
        if 2 <= len(names) <= 20 and is_short and changes > most and not _is_named(key, _IDS):
            best, most = key, changes
    return best


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    if is_object(value):
        for key, each in value.items():
            if "." not in key:
                yield from _leaves(each, f"{path}.{key}" if path else key)
    elif isinstance(value, str | int | float) and value != "":
        yield path, value


def _is_named(path: str, pattern: re.Pattern[str]) -> bool:
    key = in_snake_case(path.rpartition(".")[2]).replace(" ", "_")
    return pattern.fullmatch(key) is not None


def _pick_csv(folder: Folder) -> Sequence[str]:
    """Return the tables of a folder that are chats; archives have others beside them."""
    found: list[str] = []
    for name in folder.select("*.csv"):
        with suppress(BadInput), folder.open(name) as source:
            intake = Intake(source, "text", Options(), source, lines=source.peek(1))
            found += [name] if _sniff_csv(intake) else []
    return found


FORMAT = format_named("csv", _read_csv, _sniff_csv, _pick_csv)
COPILOT = format_named("copilot", _read_csv, _is_copilot)
MAPPED = format_named("mapped", _read, lambda intake: False)
