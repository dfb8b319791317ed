"""Edit a JSON file with comments in place: all that is not edited keeps its form.

Comments and trailing commas are read as well, as in the settings of VS Code and its kin.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Path = Sequence[str | int]
"""Names of members and indexes of items, from the outermost."""

_TOKEN = re.compile(
    r"""(?P<space>[\s\ufeff]+|//[^\n]*|/\*.*?\*/)
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<literal>-?[0-9][0-9.eE+-]*|true|false|null)
    |(?P<mark>[{}\[\],:])""",
    re.DOTALL | re.VERBOSE,
)
_INDENT = re.compile(r"\n([ \t]+)\S")
_SPACE = "\ufeff \t\r\n"
MAX_DEPTH = 100


class NotJson(ValueError):
    """The text is not JSON; the message says where."""


@dataclass(slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


@dataclass(slots=True)
class _Node:
    """A value: its place in the text, and its members or items.

    Attributes:
        commas: for each member or item, the place of the comma after it; None for none.
        begins: for each, where it begins, the key of a member included.
    """

    start: int
    end: int
    value: Any
    children: list[_Node] = field(default_factory=list["_Node"])
    begins: list[int] = field(default_factory=list[int])
    commas: list[int | None] = field(default_factory=list["int | None"])
    keys: list[str] = field(default_factory=list[str])

    def index(self, name: str | int) -> int | None:
        """Return which child is named, of several members of a name the last, as readers do."""
        if isinstance(name, int):
            return name if name < len(self.children) else None
        return max((i for i, key in enumerate(self.keys) if key == name), default=None)


def read(text: str) -> Any:
    """Return the value; an empty object for an empty text. Raises NotJson."""
    return _parse(text).value if text.strip(_SPACE) else {}


def put(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with a member set; objects on the way to it are added where they are missing.

    Raises NotJson.
    """
    if not text.strip(_SPACE):
        text = "{}\n"
    node, depth = _parse(text), 0
    while depth < len(path) and (index := node.index(path[depth])) is not None:
        node = node.children[index]
        depth += 1
    if depth == len(path):
        return text[: node.start] + _dump(text, value, node.start) + text[node.end :]
    if not isinstance(node.value, dict):
        raise NotJson(f"{'.'.join(path[:depth])} is not an object")
    for name in reversed(path[depth + 1 :]):
        value = {name: value}
    return _insert(text, node, f"{json.dumps(path[depth], ensure_ascii=False)}: ", value)


def append(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with an item at the end of a list, which is added if it is missing.

    Raises NotJson.
    """
    node = _find(text, path)
    if node is None:
        return put(text, path, [value])
    if not isinstance(node.value, list):
        raise NotJson(f"{'.'.join(path)} is not a list")
    return _insert(text, node, "", value)


def remove(text: str, path: Path) -> str:
    """Return the text without a member or an item; what is left empty by that goes, too."""
    *above, name = path
    node = _find(text, above)
    index = None if node is None else node.index(name)
    if node is None or index is None:
        return text
    if len(node.children) == 1 and above:
        return remove(text, above)
    begin = node.begins[index]
    start = begin - len(_space_at_end(text[node.start + 1 : begin]))
    left, right = text[:start], text[node.children[index].end :]
    if (comma := node.commas[index]) is not None:
        right = text[node.children[index].end : comma] + text[comma + 1 :]
    elif index:
        previous = node.commas[index - 1]
        assert previous is not None  # the items are parted by commas
        left = text[:previous] + text[previous + 1 : start]
    if _ends_in_comment(left) and not right.lstrip(" \t").startswith("\n"):
        left += "\n"
    return left + right


def _find(text: str, path: Path) -> _Node | None:
    """Return the value at a path; None if there is none."""
    if not text.strip(_SPACE):
        return None
    node = _parse(text)
    for name in path:
        if (index := node.index(name)) is None:
            return None
        node = node.children[index]
    return node


def _insert(text: str, node: _Node, key: str, value: Any) -> str:
    """Insert a member or an item after the last one of an object or list."""
    if not node.children:
        inner = _line_indent(text, node.start) + _step(text)
        new = f"\n{inner}{key}{_dump(text, value, node.start, deeper=True)}"
        at = node.end - 1
        start = at - len(_space_at_end(text[node.start + 1 : at]))
        return f"{text[:start]}{new}\n{_line_indent(text, node.start)}{text[at:]}"
    last = node.children[-1]
    inner = _line_indent(text, node.begins[-1])
    comma = node.commas[-1]
    at = last.end if comma is None else comma + 1
    rest = _same_line_comment(text, at)
    new = f"\n{inner}{key}{_dump(text, value, node.begins[-1])}"
    if comma is None:
        return f"{text[:at]},{text[at : at + rest]}{new}{text[at + rest :]}"
    return f"{text[: at + rest]}{new},{text[at + rest :]}"


def _same_line_comment(text: str, at: int) -> int:
    """Return the length of the space and comments after a place on its line."""
    match = re.compile(r"(?:[ \t]*(?://[^\n]*|/\*[^\n]*?\*/))*").match(text, at)
    return len(match[0]) if match else 0


def _ends_in_comment(text: str) -> bool:
    """Whether a text ends in a comment that lasts until the end of its line."""
    last = ""
    for match in _TOKEN.finditer(text):
        last = match[0]
    return last.startswith("//")


def _space_at_end(text: str) -> str:
    """Return the white space at the end of a text."""
    return text[len(text.rstrip()) :]


def _dump(text: str, value: Any, place: int, *, deeper: bool = False) -> str:
    """Return a value as JSON, indented as the line of a place is, or one step deeper."""
    step = _step(text)
    indent = _line_indent(text, place) + (step if deeper else "")
    return json.dumps(value, indent=step, ensure_ascii=False).replace("\n", f"\n{indent}")


def _line_indent(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip())]


def _step(text: str) -> str:
    """Return what a level is indented by: as the first indented line is, or two spaces."""
    match = _INDENT.search(text)
    return match[1] if match else "  "


def _parse(text: str) -> _Node:
    tokens = list[_Token]()
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise NotJson(f"{_place(text, at)}: {text[at : at + 20]!r} is not JSON")
        if match.lastgroup != "space":
            tokens.append(_Token(match.lastgroup, match[0], at, match.end()))
        at = match.end()
    return _Parser(text, tokens).document()


def _place(text: str, at: int) -> str:
    return f"line {text.count(chr(10), 0, at) + 1}"


class _Parser:
    def __init__(self, text: str, tokens: Sequence[_Token]) -> None:
        self._text, self._tokens, self._at = text, tokens, 0

    def document(self) -> _Node:
        """Read the one value of the text, which is an object."""
        node = self._value(0)
        if self._at < len(self._tokens):
            raise self._error()
        if not isinstance(node.value, dict):
            raise NotJson("the file is not an object")
        return node

    def _value(self, depth: int) -> _Node:
        token = self._next()
        if depth > MAX_DEPTH:
            raise NotJson("nested too deeply")
        if token.text in ("{", "["):
            return self._container(token, depth)
        if token.kind not in ("string", "literal"):
            raise self._error(token)
        return _Node(token.start, token.end, self._load(token))

    def _container(self, opening: _Token, depth: int) -> _Node:
        closing = "}" if opening.text == "{" else "]"
        node = _Node(opening.start, 0, None)
        while self._peek() != closing:
            if node.children and node.commas[-1] is None:
                raise self._error()
            node.begins.append(self._tokens[self._at].start)
            if closing == "}":
                key = self._next()
                if key.kind != "string" or self._next().text != ":":
                    raise self._error(key)
                node.keys.append(self._load(key))
            node.children.append(self._value(depth + 1))
            node.commas.append(self._next().start if self._peek() == "," else None)
        node.end = self._next().end
        values = [child.value for child in node.children]
        node.value = dict(zip(node.keys, values, strict=True)) if closing == "}" else values
        return node

    def _load(self, token: _Token) -> Any:
        try:
            return json.loads(token.text)
        except ValueError:
            raise self._error(token) from None

    def _peek(self) -> str:
        if self._at == len(self._tokens):
            raise NotJson("the file ends too early")
        return self._tokens[self._at].text

    def _next(self) -> _Token:
        self._peek()
        self._at += 1
        return self._tokens[self._at - 1]

    def _error(self, token: _Token | None = None) -> NotJson:
        token = token or self._tokens[self._at]
        return NotJson(f"{_place(self._text, token.start)}: {token.text[:20]!r} is not expected")
