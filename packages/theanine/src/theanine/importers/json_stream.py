"""Reading large JSON a piece at a time, so that memory is bounded by the largest piece.

Half of a surrogate pair, as in a text that was cut inside an emoji, is read as ``?``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import ijson  # pyright: ignore[reportMissingTypeStubs]

from theanine.errors import BadInput
from theanine.importers.schema import parse

_ijson = cast("Any", ijson)  # which has no types
Place = tuple[str | int, ...]
"""The keys and indexes that lead to a value."""

ITEMS = ("*",)
"""The pattern of the items of a list that is the whole document."""

_MAX_DEPTH = 200
_PREVIEW, _PREVIEWED = 20_000, 3
"""Events, and objects of a list, that are read to tell a format."""
_REPARSED = 64 << 20


def select(stream: BinaryIO, where: str, *patterns: tuple[str, ...]) -> Iterator[tuple[Place, Any]]:
    """Yield place and value of each value that matches a pattern, in the document's order.

    A pattern is a sequence of keys; ``*`` stands for each index of a list, ``?`` for each key of an
    object. A matched value is built whole, all else is passed over.

    Raises:
        BadInput: the JSON is broken, or a value nested more than 200 deep.
    """
    place: list[str | int] = []
    builder: _Builder | None = None
    for event, value in _events(stream, where):
        if builder is None:
            _move(place, event, value)
            begins = not event.startswith("end") and event != "map_key"
            if begins and any(_matches(place, pattern) for pattern in patterns):
                builder = _Builder(where)
        if builder is not None:
            builder.feed(event, value)
            if not builder.depth:
                yield tuple(place), builder.value
                builder = None
        elif event == "start_map":
            place.append("")
        elif event == "start_array":
            place.append(-1)


def _move(place: list[str | int], event: str, value: Any) -> None:
    """Move the place to the value that an event begins, or out of the container that it ends."""
    if event == "map_key":
        place[-1] = value
    elif event in ("end_map", "end_array"):
        place.pop()
    elif place and isinstance(place[-1], int):
        place[-1] += 1


def preview(stream: BinaryIO, where: str) -> object:
    """Return the beginning of a document: a list up to its third object, or part of an object.

    Raises:
        BadInput: the JSON is broken there.
    """
    builder, objects = _Builder(where), 0
    for count, (event, value) in enumerate(_events(stream, where)):
        builder.feed(event, value)
        document = builder.value
        at_top = builder.depth == 1 and isinstance(document, list)
        objects += event == "end_map" and at_top
        if objects == _PREVIEWED or count > _PREVIEW:
            break
    return builder.value


def whole_part(stream: BinaryIO, where: str) -> object:
    """Return what is whole of a document that is cut off at its end; None of any other."""
    builder = _Builder(where)
    try:
        for event, value in _ijson.basic_parse(stream, use_float=True):
            builder.feed(event, value)
    except ijson.IncompleteJSONError:
        return builder.value
    except (ijson.JSONError, UnicodeDecodeError, BadInput):
        return None
    return None


def _matches(place: list[str | int], pattern: tuple[str, ...]) -> bool:
    return len(place) == len(pattern) and all(
        wanted in (step, "?") if isinstance(step, str) else wanted == "*"
        for step, wanted in zip(place, pattern, strict=True)
    )


class _Builder:
    """Builds a value from events; ``depth`` is how many containers of it aren't closed yet."""

    def __init__(self, where: str) -> None:
        self._builder, self._where = _ijson.ObjectBuilder(), where
        self.depth = 0

    def feed(self, event: str, value: Any) -> None:
        self._builder.event(event, value)
        self.depth += event.startswith("start_") - event.startswith("end_")
        if self.depth > _MAX_DEPTH:
            reason = f"JSON nested more than {_MAX_DEPTH} deep; flatten it"
            raise BadInput(reason, self._where)

    @property
    def value(self) -> object:
        return getattr(self._builder, "value", None)


def _events(stream: BinaryIO, where: str) -> Iterator[tuple[str, Any]]:
    start = stream.tell()
    try:
        yield from _ijson.basic_parse(stream, use_float=True)
    except (ijson.JSONError, UnicodeDecodeError) as fault:
        _explain(stream, start, where)
        reason = str(fault).strip().split("\n")[0] or "cut off"
        raise BadInput(f"broken JSON: {reason}", where) from None


def _explain(stream: BinaryIO, start: int, where: str) -> None:
    """Raise BadInput with line and column of the fault, if the document isn't too large."""
    stream.seek(start)
    data = stream.read(_REPARSED + 1)
    if len(data) <= _REPARSED:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as fault:
            raise BadInput(
                f"not UTF-8 at byte {start + fault.start} (0x{data[fault.start]:02x}); "
                "convert it to UTF-8",
                where,
            ) from None
        parse(text, where)
