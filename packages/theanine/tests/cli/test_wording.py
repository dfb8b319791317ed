"""The wording of each command: its help and its usual output, as snapshots.

Other tests look at exit codes, errors and JSON. Delete a snapshot to have it written again.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.history_samples import line, save
from support.running import Ran, Terminal
from support.snapshots import check_snapshot
from theanine.cli.app import COMMANDS
from theanine.demo import HARBOUR

SNAPSHOTS = Path(__file__).with_name("snapshots")
MAX_LINES = 12

EXAMPLES: dict[str, list[str]] = {
    "demo": [],
    "import": [str(HARBOUR)],
    "recall": ["What is Ana allergic to?", "--user", "ana"],
    "memories": ["--user", "ana"],
    "timeline": ["--user", "ana"],
    "profile": ["--user", "ana"],
    "sessions": ["--user", "ana"],
    "cost": [],
    "remember": [],
    "forget": ["--user", "ana", "--session", "3", "--yes"],
    "export": [],
    "reembed": ["--embedder", "hash:64"],
    "rebuild": ["--method", "session"],
    "doctor": [],
}


@pytest.fixture
def ana(run: Terminal) -> Terminal:
    run("import", str(HARBOUR))
    return run


def printed(ran: Ran, run: Terminal) -> str:
    """Return the start of what a command printed, without what differs from run to run."""
    lines = ran.out.splitlines()
    shown = [*lines[:MAX_LINES], *(["…"] if len(lines) > MAX_LINES else [])]
    text = "".join(f"{line.rstrip()}\n" for line in [*shown, *ran.err.splitlines()])
    text = text.replace(str(run.store), "STORE").replace(str(HARBOUR), "harbour.jsonl")
    text = re.sub(r"about [\d.]+ (s|min)", "about … s", text)
    text = re.sub(r"[\d.]+ MB", "… MB", text)
    text = re.sub(r"\S+ on Python \S+", "… on Python …", text)
    return re.sub(r'("\w+_at"|"at"|"version"|"created\w*"): "[^"]*"', r"\1: …", text)


@pytest.mark.parametrize("name", [str(command.name) for command in COMMANDS])
def test_help(name: str, run: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = run.bare(name, "--help").out
    assert max(map(len, shown.splitlines())) <= 80
    check_snapshot(SNAPSHOTS / f"{name}-help.txt", shown)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in ("demo", "export")])
def test_usual_output(name: str, ana: Terminal) -> None:
    command = [name, *EXAMPLES[name]]
    shown = [word.replace(str(HARBOUR), "harbour.jsonl") for word in command]
    ran = ana(*command)
    check_snapshot(SNAPSHOTS / f"{name}.txt", f"$ theanine {' '.join(shown)}\n{printed(ran, ana)}")


def test_the_demo(run: Terminal) -> None:
    check_snapshot(SNAPSHOTS / "demo.txt", printed(run.bare("demo"), run))


@pytest.mark.slow
def test_mistakes(ana: Terminal, tmp_path: Path) -> None:
    bad = save(tmp_path, "bad.jsonl", line(text="") + line(at="yesterday") + "{")
    commands = [
        ["recall", "Who?", "--user", "bo"],
        ["recall", "Who?", "--user", "ana"],
        ["recall", "Is Ana allergic to hazelnuts?", "--user", "ana", "--budget", "1"],
        ["recall", "Who?", "--user", "ana", "--set", "retrieved"],
        ["recall", "Who?", "--user", "ana", "--since", "Marchtember"],
        ["recall", "Who?", "--user", "ana", "--as-of", "2024-03-01T18:00"],
        ["recall", "Who?", "--user", "ana", "--as-of", "2001-01-01"],
        ["recall", "Who?", "--user", "ana", "--min-relevance", "0.999"],
        ["recall", "Who?", "--user", "ana", "--min-relevance", "0.5", "--method", "session"],
        ["memories", "--user", "ana", "--as-of", "99"],
        ["timeline", "--user", "ana", "--html", "no/such/page.html"],
        ["import", "nowhere.jsonl"],
        ["import", str(bad)],
        ["import", str(HARBOUR), "--zone", "Europe/Nowhere"],
    ]
    text = ""
    for command in commands:
        ran = ana(*command, fine=False)
        text += f"$ theanine {' '.join(command)}\n{printed(ran, ana)}"
    missing = Terminal(tmp_path / "none.db")
    text += f"$ theanine cost\n{printed(missing('cost', fine=False), missing)}"
    check_snapshot(
        SNAPSHOTS / "mistakes.txt",
        text.replace(f"{tmp_path}/", "").replace(str(HARBOUR), "harbour.jsonl"),
    )
