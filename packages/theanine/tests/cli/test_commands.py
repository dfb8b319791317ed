"""The list of commands: lazily imported, with plug-ins of other packages."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_group

from support.hiding import hide_packages
from support.running import Terminal
from theanine.cli.app import COMMANDS, build_app
from theanine.cli.lazy import LazyCommand, PluginCommand
from theanine.errors import CommandFailedToLoad, UserError

HELP = """
import sys
from theanine.cli import main
try:
    main(["--help"])
except SystemExit:
    print(*sorted(sys.modules))
"""


OTHERS = ("theanine_bench", "theanine_server")


def commands(app: typer.Typer) -> dict[str, LazyCommand]:
    group: Any = get_group(app)
    return {name: group.commands[name] for name in group.list_commands(None)}


def first_paragraph(text: str | None) -> str:
    return " ".join((text or "").partition("\n\n")[0].split())


@pytest.mark.parametrize("name", [c.name for c in COMMANDS])
def test_summary_is_the_first_paragraph_of_the_commands_own_help(name: str) -> None:
    command = commands(build_app())[name]
    assert command.help == first_paragraph(command.load().help)


@pytest.mark.slow
def test_summary_of_a_plugin_is_the_first_paragraph_of_its_own_help() -> None:
    for command in commands(build_app()).values():
        if isinstance(command, PluginCommand):
            command.get_short_help_str(1000)
            assert command.help == first_paragraph(command.load().help)


def test_help_imports_no_command() -> None:
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    modules = done.stdout.splitlines()[-1].split()
    allowed = ["app", "config_file", "interrupt", "lazy", "own_code", "text"]
    assert [m for m in modules if m.startswith("theanine.cli.")] == [
        f"theanine.cli.{name}" for name in allowed
    ]
    assert not {"numpy", "rich", "sqlalchemy", "pydantic", *OTHERS} & set(modules)


def plugin(folder: Path, name: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package with one module and one command, all of the same name."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[theanine.commands]\n{name} = {name}:run\n", "utf-8")
    (folder / f"{name}.py").write_text(code, "utf-8")
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])


def test_a_command_of_another_package_is_listed_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = (
        '"""Say hello."""\n\n\ndef run(name: str) -> None:\n    """Say hello."""\n    print(name)\n'
    )
    plugin(tmp_path, "hello", code, monkeypatch)
    app = build_app()
    app(["--help"], standalone_mode=False)
    assert "  hello     Say hello.\n" in capsys.readouterr().out
    assert "hello" not in sys.modules
    app(["hello", "Ana"], standalone_mode=False)
    assert capsys.readouterr().out == "Ana\n"


def test_a_plugin_that_fails_to_load_is_named_and_breaks_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin(tmp_path, "broken", '"""Break."""\nraise ValueError("no luck")\n', monkeypatch)
    app = build_app()
    app(["--help"], standalone_mode=False)
    app(["recall", "--help"], standalone_mode=False)
    assert "Break." in capsys.readouterr().out
    with pytest.raises(CommandFailedToLoad, match=r"package broken .*ValueError: no luck"):
        app(["broken"], standalone_mode=False)


@pytest.mark.slow
@pytest.mark.parametrize("debug", [False, True])
def test_a_command_that_raises_is_reported_as_its_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, debug: bool
) -> None:
    plugin(tmp_path, "faulty", 'def run() -> None:\n    {}["a\\nb"]\n', monkeypatch)
    path = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    start = [sys.executable, "-c", "from theanine.cli import main; main()"]
    ran = subprocess.run(
        [*start, *(["--debug"] if debug else []), "faulty"],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 1
    assert ("Traceback" in ran.stderr) is debug
    if not debug:
        assert ran.stderr == (
            "theanine: the command faulty of faulty:run failed with KeyError: 'a\\nb' "
            "(faulty.py, line 2). The fault is in its code; `theanine --debug` before the command "
            "shows the trace\n"
        )


def test_a_plugin_cant_replace_a_command_of_this_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin(tmp_path, "recall", "", monkeypatch)
    assert commands(build_app())["recall"].target == "theanine.cli.recall:recall"


BENCH = (
    "is in the package theanine-bench: pip install theanine-bench, or in a checkout: pip install "
    "packages/theanine-methods packages/theanine-bench"
)
SERVER = (
    "needs an optional part: pip install 'theanine[server]' (in a checkout: "
    "packages/theanine-server 'packages/theanine[server]')"
)
MCP = SERVER.replace("[server]", "[mcp]")
MISSING = {
    **dict.fromkeys(("bench", "compare", "rate", "teafarm"), BENCH),
    **dict.fromkeys(("audit", "keys", "open", "serve", "webhooks"), SERVER),
    "mcp": MCP,
}


@pytest.mark.parametrize("name", MISSING)
def test_a_command_of_a_package_that_is_missing_says_how_to_get_it(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hide_packages(monkeypatch, "theanine-bench", "theanine-server")
    app = build_app()
    with pytest.raises(UserError) as caught:
        app([name, "qa", "--limit", "3"], standalone_mode=False)
    assert str(caught.value) == f"`theanine {name}` {MISSING[name]}"
    app(["--help"], standalone_mode=False)
    assert f"  {name} " not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["theanine", "mem"], ["memories"]),
        (["theanine", "recall", "--bud"], ["--budget"]),
        (["theanine", "recall", "--method", "sec"], ["secom"]),
        (["theanine", "recall", "--user", "an"], ["ana"]),
        (["theanine", "config", "set", "memory_m"], ["memory_model"]),
    ],
)
def test_the_shell_completes(
    run: Terminal, monkeypatch: pytest.MonkeyPatch, words: list[str], expected: list[str]
) -> None:
    run("add", "I'm vegan.", "--user", "ana")
    monkeypatch.setenv("THEANINE_STORE", str(run.store))
    monkeypatch.setenv("_THEANINE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    assert run.bare().out.split() == expected


def test_the_version_is_printed(run: Terminal) -> None:
    assert run.bare("--version").out == f"theanine {version('theanine')}\n"
