"""Write client/sync.pyi, which shows editors the signatures of the synchronous API: `make docs`.

The synchronous methods are made of the asynchronous ones when the module is loaded, which editors
don't follow. The stub is made of the same source, so nothing in it is written twice by hand. With
`--check`, exit with 1 if it is out of date.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from theanine.client import client, options, records, reply_options, session, sync, user

SOURCES = (sync, session, user, records, client, options, reply_options)
STUB = Path(str(sync.__file__)).with_suffix(".pyi")
HEAD = '"""The synchronous API. Written by tools/write_stub.py: `make docs` after any change."""\n'
WRAPPERS = {"_run", "_call", "_iterate"}


def stub() -> str:
    """Return the stub, formatted."""
    tree = ast.parse(inspect.getsource(sync))
    body: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            body.append(_class(node))
        elif isinstance(node, ast.FunctionDef) and node.name == "open":
            body.append(_open(node))
    module = ast.fix_missing_locations(ast.Module(body=body, type_ignores=[]))
    code = ast.unparse(module)
    names = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)]
    used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    own = {node.name for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    text = HEAD + "\n".join(_imports(used - own - set(dir(builtins)))) + "\n\n" + code + "\n"
    for arguments in (("check", "--select", "I", "--fix"), ("format",)):
        command = [
            sys.executable,
            "-m",
            "ruff",
            *arguments,
            "--quiet",
            "--stdin-filename",
            STUB,
            "-",
        ]
        run = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        text = run.stdout
    return text


def _class(node: ast.ClassDef) -> ast.ClassDef:
    body: list[ast.stmt] = []
    overloaded = {
        each.name
        for each in node.body
        if isinstance(each, ast.FunctionDef) and "overload" in _decorators(each)
    }
    for each in node.body:
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call):
            body.append(_made(str(ast.unparse(each.targets[0])), each.value))
        elif isinstance(each, ast.FunctionDef):
            if each.name in overloaded and "overload" not in _decorators(each):
                continue
            doc = ast.get_docstring(each)
            if "overload" in _decorators(each):
                doc = inspect.getdoc(getattr(getattr(session, f"Async{node.name}"), each.name))
            body.append(_declared(each, doc, each.decorator_list))
        else:
            body.append(each)
    node.body, node.decorator_list = body, []
    return node


def _made(name: str, call: ast.Call) -> ast.FunctionDef:
    """Return the declaration of an attribute that a call makes."""
    if ast.unparse(call.func) == "property":
        doc = next(ast.literal_eval(each.value) for each in call.keywords if each.arg == "doc")
        empty = ast.parse(f"def {name}(self) -> str: ...").body[0]
        assert isinstance(empty, ast.FunctionDef)
        return _declared(empty, doc, [ast.Name("property")])
    assert ast.unparse(call.func) in WRAPPERS, ast.unparse(call)
    owner, _, method = ast.unparse(call.args[0]).partition(".")
    function = getattr(getattr(sync, owner), method)
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    node = ast.parse(source.replace("async def", "def", 1)).body[0]
    assert isinstance(node, ast.FunctionDef)
    assert node.returns is not None
    returns = ast.unparse(node.returns).replace("AsyncIterator", "Iterator")
    node.name, node.returns = name, ast.parse(returns, mode="eval").body
    return _declared(node, ast.get_docstring(node), [])


def _declared(
    node: ast.FunctionDef, doc: str | None, decorators: list[ast.expr]
) -> ast.FunctionDef:
    body: list[ast.stmt] = [ast.Expr(ast.Constant(doc))] if doc else []
    arguments = node.args
    if arguments.kwarg and "Unpack[" in (kind := ast.unparse(arguments.kwarg.annotation or node)):
        fields = getattr(options, name := kind[7:-1], None) or getattr(reply_options, name)
        for key, annotation in _fields(fields):
            arguments.kwonlyargs.append(ast.arg(key, annotation))
            arguments.kw_defaults.append(ast.Constant(...))
        arguments.kwarg = None
    node.body = body or [ast.Expr(ast.Constant(...))]
    node.decorator_list = decorators
    return node


def _fields(arguments: Any) -> Iterator[tuple[str, ast.expr]]:
    """Yield the fields of a typed dictionary, those of its bases first."""
    node = ast.parse(textwrap.dedent(inspect.getsource(arguments))).body[0]
    assert isinstance(node, ast.ClassDef)
    for base in map(ast.unparse, node.bases):
        if base != "TypedDict":
            yield from _fields(getattr(options, base))
    for each in node.body:
        if isinstance(each, ast.AnnAssign):
            yield ast.unparse(each.target), each.annotation


def _open(node: ast.FunctionDef) -> ast.FunctionDef:
    """Return `open` with the fields of its options as arguments."""
    tree = ast.parse(inspect.getsource(options.OpenOptions)).body[0]
    assert isinstance(tree, ast.ClassDef)
    fields = [each for each in tree.body if isinstance(each, ast.AnnAssign)]
    shown = [
        "*"
        if ast.unparse(each.target) == "_"
        else f"{ast.unparse(each.target)}: {ast.unparse(each.annotation)} = ..."
        for each in fields
    ]
    declared = ast.parse(f"def open({', '.join(shown)}) -> Client: ...").body[0]
    assert isinstance(declared, ast.FunctionDef)
    return _declared(declared, inspect.getdoc(sync.open), [])


def _decorators(node: ast.FunctionDef) -> list[str]:
    return [ast.unparse(decorator) for decorator in node.decorator_list]


def _imports(names: Iterable[str]) -> Iterator[str]:
    """Yield an import for each name, from where the sources have it."""
    for name in sorted(names):
        for source in SOURCES:
            origin = _origin(source, name)
            if origin:
                yield f"from {origin} import {name}"
                break
        else:
            raise LookupError(f"none of the sources has {name}")


def _origin(source: Any, name: str) -> str | None:
    for node in ast.walk(ast.parse(inspect.getsource(source))):
        if isinstance(node, ast.ImportFrom) and any(each.name == name for each in node.names):
            return node.module
    defined = hasattr(importlib.import_module(source.__name__), name)
    return source.__name__ if defined and source is not sync else None


def main() -> None:
    """Write the stub, or check it."""
    text = stub()
    if "--check" in sys.argv[1:]:
        if not STUB.exists() or STUB.read_text("utf-8") != text:
            sys.exit(f"{STUB.name} is out of date: run `make docs`")
        return
    STUB.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
