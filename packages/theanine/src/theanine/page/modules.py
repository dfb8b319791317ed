"""Join the JavaScript modules of the page into one script.

They keep to a few forms of ``import`` and ``export``, which are translated here, so that no bundler
is needed: each module becomes a function that returns what it exports. Nothing is renamed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from posixpath import dirname, join, normpath

STYLE = "style.css"

_IMPORT = re.compile(r'\bimport\s*(?:(\w+)|\{([^{}]*)\})\s*from\s*"([^"]+)";?')
_REEXPORT = re.compile(r'^export\s*\{([^{}]*)\}\s*from\s*"([^"]+)";?', re.MULTILINE)
_EXPORT_LIST = re.compile(r"\bexport\s*\{([^{}]*)\};?\s*$")
_EXPORT_DEFAULT = re.compile(r"\bexport default\s+")
_EXPORT = re.compile(r"^export ((?:async )?function\*?|class|const) (\w+)", re.MULTILINE)


_COMMENT = re.compile(r"^[ \t]*(?:/\*.*?\*/|//[^\n]*)[ \t]*\n", re.MULTILINE | re.DOTALL)
_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)


def read_source(path: str) -> str:
    """Return a file below ``static/``."""
    return files("theanine.page").joinpath("static").joinpath(path).read_text("utf-8")


def join_styles() -> str:
    """Return all styles of the page, first those that all views share."""
    folder = files("theanine.page").joinpath("static")
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".css"))
    names.sort(key=lambda name: name != STYLE)
    return "".join(read_source(name) for name in names)


def join_modules(entry: str, read: Callable[[str], str] = read_source) -> str:
    """Return one script that runs a module after all that it imports; ``read`` gives a module.

    Raises ValueError for modules that import each other, and for other forms of import or export.
    """
    names: dict[str, str] = {}
    parts: list[str] = []
    begun: list[str] = []

    def add(path: str) -> str:
        if path in begun:
            raise ValueError(f"these import each other: {' '.join([*begun, path])}")
        if path not in names:
            begun.append(path)
            body = _translate(path, read(path), add)
            begun.pop()
            names[path] = f"m{len(names)}"
            parts.append(f"const {names[path]} = (() => {{\n{body}\n}})();\n")
        return names[path]

    add(entry)
    return "".join(parts)


def _translate(path: str, source: str, add: Callable[[str], str]) -> str:
    """Return a module as the body of a function that returns what it exports."""
    exported: dict[str, str] = {}

    def module(name: str) -> str:
        return add(normpath(join(dirname(path), name)))

    def replace_import(match: re.Match[str]) -> str:
        default, listed, name = match.groups()
        if default:
            return f"const {default} = {module(name)}.default;"
        return f"const {{{', '.join(f'{a}: {b}' for a, b in _pairs(listed))}}} = {module(name)};"

    def replace_reexport(match: re.Match[str]) -> str:
        exported.update({b: f"{module(match[2])}.{a}" for a, b in _pairs(match[1])})
        return ""

    def replace_list(match: re.Match[str]) -> str:
        exported.update({b: a for a, b in _pairs(match[1])})
        return ""

    def replace_default(match: re.Match[str]) -> str:
        exported["default"] = "default_"
        return "const default_ = "

    def replace_export(match: re.Match[str]) -> str:
        exported[match[2]] = match[2]
        return f"{match[1]} {match[2]}"

    if not path.startswith("vendor/"):
        source = _INDENT.sub("", _COMMENT.sub("", source))
    source = _IMPORT.sub(replace_import, source)
    source = _REEXPORT.sub(replace_reexport, source)
    source = _EXPORT_LIST.sub(replace_list, source.rstrip())
    source = _EXPORT_DEFAULT.sub(replace_default, source)
    source = _EXPORT.sub(replace_export, source)
    if left := re.search(r"^(?:import|export)\b.*", source, re.MULTILINE):
        raise ValueError(f"{path} has a form that is not translated: {left[0]}")
    values = ", ".join(f"{name}: {value}" for name, value in exported.items())
    return f"{source}\nreturn {{ {values} }};"


def _pairs(listed: str) -> list[tuple[str, str]]:
    """Return (name, alias) of each entry of a list such as ``a, b as c``."""
    pairs = [part.split(" as ") for part in listed.split(",") if part.strip()]
    return [(pair[0].strip(), pair[-1].strip()) for pair in pairs]
