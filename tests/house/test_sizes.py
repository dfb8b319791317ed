"""Small files and small functions, as the tree's readers are promised."""

from __future__ import annotations

import ast

from house.tree import ROOT, SOURCE

LONGEST_FILE = 400
LONGEST_FUNCTION = 40


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """From ``def`` to the end; a docstring, however long, does no harm."""
    length = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is not None:
        length -= (first.end_lineno or first.lineno) - first.lineno + 1
    return length


def test_files_stay_short() -> None:
    sizes = {path: len(path.read_text("utf-8").splitlines()) for path in SOURCE.rglob("*.py")}
    assert {str(p.relative_to(ROOT)): n for p, n in sizes.items() if n > LONGEST_FILE} == {}


def test_functions_stay_short() -> None:
    long = {
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}": _lines(node)
        for path in SOURCE.rglob("*.py")
        if "migrations" not in path.parts  # a migration lists tables
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and _lines(node) > LONGEST_FUNCTION
    }
    assert long == {}
