"""Print sizes of source trees: files, lines, functions, words of prose, and import cycles.

    python tools/code_stats.py packages/*/src/*

Lines are all lines of Python files; prose is the words of docstrings and comments. Cycles are
counted between modules and between the sub-packages of each tree, from imports that run at import
time or inside functions, without those for type checking alone.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path


def docstring_words(tree: ast.Module) -> int:
    """Return the words of all docstrings and of strings under assignments."""
    return sum(
        len(node.value.value.split())
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def comment_words(text: str) -> int:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(len(t.string.lstrip("#").split()) for t in tokens if t.type == tokenize.COMMENT)


def type_checking_nodes(tree: ast.Module) -> set[ast.AST]:
    """Return every node under ``if TYPE_CHECKING:``."""
    return {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for statement in node.body
        for child in ast.walk(statement)
    }


def imported_modules(tree: ast.Module, modules: set[str]) -> Iterator[str]:
    skipped = type_checking_nodes(tree)
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name in modules:
                    yield name
                elif node.module in modules:
                    yield node.module


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:  # noqa: C901
    """Return the strongly connected components of two or more nodes (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(graph.get(node, ())):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            component: list[str] = []
            while True:
                component.append(stack.pop())
                if component[-1] == node:
                    break
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def main(roots: list[str]) -> None:
    sys.setrecursionlimit(10_000)
    for root in map(Path, roots):
        paths = sorted(root.rglob("*.py"))
        names = {
            ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(
                ".__init__"
            ): path
            for path in paths
        }
        texts = {name: path.read_text("utf-8") for name, path in names.items()}
        trees = {name: ast.parse(text) for name, text in texts.items()}
        graph = {
            name: set(imported_modules(tree, set(names))) - {name} for name, tree in trees.items()
        }
        folders: dict[str, set[str]] = {}
        for name, targets in graph.items():
            folder = ".".join(name.split(".")[:2])
            folders.setdefault(folder, set()).update(
                ".".join(target.split(".")[:2]) for target in targets
            )
            folders[folder].discard(folder)
        del folders[root.name]  # the package itself re-exports its public names
        functions = [
            (node.end_lineno or node.lineno) - node.lineno + 1
            for tree in trees.values()
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        print(root.name)
        print(f"  files                {len(paths):7,}")
        print(f"  lines                {sum(t.count(chr(10)) for t in texts.values()):7,}")
        print(f"  functions            {len(functions):7,}")
        print(f"  docstring words      {sum(map(docstring_words, trees.values())):7,}")
        print(f"  comment words        {sum(map(comment_words, texts.values())):7,}")
        for label, edges in (("module cycles", graph), ("sub-package cycles", folders)):
            found = cycles(edges)
            print(f"  {label:20} {len(found):7,}")
            for component in found:
                print(f"    {' ↔ '.join(component)}")


if __name__ == "__main__":
    main(sys.argv[1:])
