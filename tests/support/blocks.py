"""Read and run the fenced examples of a Markdown file.

In a file's own order, in one empty folder:

- ```` ```python ```` blocks run in one namespace, as one reader would type them.
- ```` ```console ```` blocks: each ``$ theanine …`` or ``$ … | theanine …`` line must succeed, the
  former in this process, the latter in a shell; other commands aren't run. With ``console exact``
  the output must match: a line of only ``…`` stands for any lines, ``…`` in a line for any
  characters. With ``console fails`` the command must fail. ``console needs=…`` marks what a test
  doesn't have, such as a key; it isn't run.
- A block with ``file=NAME`` is written to that file first.

A block in an HTML comment runs as well: what an example needs and its reader has.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from theanine.cli import main

FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})(?P<info>[^`\n]*)\n(?P<body>.*?)^ *(?P=fence)\s*$", re.M | re.S
)
OURS = re.compile(r"^\$ (?:[^\n]*\| )?theanine\b", re.M)
SHELL_SYNTAX = re.compile(r"[|<>;&$`*?~]")
TIME_LIMIT = 60


@dataclass(frozen=True)
class Block:
    """One fenced example: its line, language, marks and text."""

    path: Path
    line: int
    language: str
    marks: tuple[str, ...]
    text: str

    def mark(self, name: str) -> str | None:
        """Return the value of ``name=value`` among the marks."""
        return next((m.partition("=")[2] for m in self.marks if m.startswith(f"{name}=")), None)


@dataclass(frozen=True)
class Command:
    """One ``$`` line of a console block, with the output shown under it."""

    line: int
    words: str
    shown: str


def blocks_of(path: Path) -> list[Block]:
    """Return all fenced examples of a Markdown file in order."""
    text = path.read_text("utf-8")
    found: list[Block] = []
    for match in FENCE.finditer(text):
        language, *marks = match["info"].split() or [""]
        indent = len(match["indent"])
        body = "".join(row[indent:] or "\n" for row in match["body"].splitlines(keepends=True))
        line = text.count("\n", 0, match.start()) + 2
        found.append(Block(path, line, language, tuple(marks), body))
    return found


def commands_of(block: Block) -> Iterator[Command]:
    """Return the commands of a console block; a backslash at a line's end continues it."""
    joined = re.sub(r"\\\n[> ]*", " ", block.text)
    for match in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", joined, re.M):
        line = block.line + joined.count("\n", 0, match.start())
        yield Command(line, match[1], match[2])


def run(blocks: list[Block], folder: Path) -> None:
    """Run one file's examples in a folder; the first failure is raised with its line."""
    module = ModuleType("example")
    sys.modules["example"] = module  # dataclasses and pydantic look their own module up
    try:
        with chdir(folder):
            for block in blocks:
                _run_block(block, module, folder)
    finally:
        del sys.modules["example"]


def _run_block(block: Block, module: ModuleType, folder: Path) -> None:
    if name := block.mark("file"):
        (folder / name).write_text(block.text, "utf-8")
    elif block.language == "python":
        # Blank lines before it let a traceback name the line of the Markdown file.
        source = "\n" * (block.line - 1) + block.text
        exec(compile(source, str(block.path), "exec"), module.__dict__)
    elif block.language == "console" and block.mark("needs") is None:
        for command in commands_of(block):
            if OURS.match(f"$ {command.words}"):
                _run_command(block, command, folder)


def _run_command(block: Block, command: Command, folder: Path) -> None:
    where = f"{block.path.name}:{command.line}: $ {command.words}"
    unquoted = re.sub(r"'[^']*'|\"[^\"$`]*\"", "", command.words)
    in_process = command.words.startswith("theanine ") and not SHELL_SYNTAX.search(unquoted)
    code, printed = _run_here(command, folder) if in_process else _run_in_shell(command, folder)
    assert (code != 0) == ("fails" in block.marks), f"{where}\nexit {code}\n{printed}"
    if "exact" in block.marks:
        assert matches(command.shown, printed), (
            f"{where}\n--- shown\n{command.shown}\n--- printed\n{printed}"
        )


def _run_in_shell(command: Command, folder: Path) -> tuple[int, str]:
    done = subprocess.run(
        ["/bin/sh", "-c", command.words],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=TIME_LIMIT,
        text=True,
    )
    return done.returncode, done.stdout


def _run_here(command: Command, folder: Path) -> tuple[int, str]:
    printed, code = io.StringIO(), 0
    with _environment_of(folder), redirect_stdout(printed), redirect_stderr(printed):
        try:
            main(shlex.split(command.words)[1:])
        except SystemExit as stop:
            code = int(stop.code or 0)
    return code, printed.getvalue()


@contextmanager
def _environment_of(folder: Path) -> Generator[None]:
    """Set the environment and an empty standard input for an example in this process."""
    before, stdin = dict(os.environ), sys.stdin
    example = environment(folder)
    os.environ.clear()
    os.environ.update(example)
    try:
        with open(os.devnull, encoding="utf-8") as nothing:
            sys.stdin = nothing
            yield
    finally:
        sys.stdin = stdin
        os.environ.clear()
        os.environ.update(before)


def environment(folder: Path) -> dict[str, str]:
    """Return an environment without a terminal or settings, with ``theanine`` on the PATH."""
    tools = folder / ".tools"
    tools.mkdir(exist_ok=True)
    program = "import sys; sys.argv[0] = 'theanine'; from theanine.cli import main; main()"
    shim = tools / "theanine"
    shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "{program}" "$@"\n', "utf-8")
    shim.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("THEANINE_", "OPENAI_"))}
    return kept | {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "NO_COLOR": "1",
        "TERM": "dumb",
        "TZ": "UTC",
        "PYTHONUTF8": "1",
        "THEANINE_RESIDENT": "off",
    }


def matches(shown: str, printed: str) -> bool:
    """Return whether an output matches; ``…`` matches any text in a line, or any lines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "…\n" else re.escape(line).replace("…", ".*")
        for line in _tidy(shown).splitlines(keepends=True)
    )
    return re.fullmatch(pattern, _tidy(printed)) is not None


def _tidy(text: str) -> str:
    """Return text without trailing spaces and outer empty lines, ending with a newline."""
    return "\n".join(row.rstrip() for row in text.strip("\n").splitlines()).rstrip() + "\n"
