"""The worked example of a user's own method: built, installed, used, and held to the contract."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.running import Ran

pytest.importorskip("uv_build", reason="the builder is not installed: make test does it")

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = DOCS / "examples" / "own_method"
BUILD = "import sys, uv_build; print(uv_build.build_wheel(sys.argv[1]))"
TALK = """\
Ana: The dentist is at 9:30 on 12 March, and it costs 3.50 more. I don't like it.
Assistant: I'll note 9:30.
Ana: Thank you. My sister lives at 14 Harbour Street!
"""
BROKEN = """\
from figures import Figures
from theanine.types import MemoryBatch, NewMemory
from theanine.methods.base import Estimate
from theanine.methods.shared.estimates import count_turn_tokens
from theanine.llm.prompt import PromptTemplate
from theanine.text.formatting import format_dialogue

NOTE = PromptTemplate("note", 1, "Task: note\\n\\n<<<turns\\n$turns\\n>>>", str)

class Chatty(Figures):
    name = "chatty"

    async def recall(self, dialogue, context):
        from dataclasses import replace
        return await super().recall(dialogue, replace(context, budget=None))

class Rootless(Figures):
    name = "rootless"

    async def recall(self, dialogue, context):
        from dataclasses import replace
        found = await super().recall(dialogue, context)
        return replace(found, parts=tuple(replace(part, source_turns=()) for part in found.parts))

class Whimsical(Figures):
    name = "whimsical"

    async def remember(self, session, turns, given, context):
        from dataclasses import replace
        from secrets import token_hex
        made = await super().remember(session, turns, given, context)
        odd = [replace(one, text=f"{one.text} {token_hex(4)}") for one in made.memories]
        return replace(made, memories=odd)

class Gossip(Figures):
    name = "gossip"
    heard = []

    async def remember(self, session, turns, given, context):
        self.heard += turns
        return await super().remember(session, turns, given, context)

    async def recall(self, dialogue, context):
        from theanine.types import Part, Recollection
        parts = (Part(text=str(turn), memories=(), source_turns=(turn,)) for turn in self.heard)
        return Recollection(query="", parts=tuple(parts))

class Forgetful:
    name = "forgetful"

class Borrowed(Figures):
    name = "turn"

class Asking(Figures):
    name = "asking"

    def estimate(self, turns):
        return Estimate(calls=1, input_tokens=20 + count_turn_tokens(turns), output_tokens=5)

    async def remember(self, session, turns, given, context):
        if context.chat is None or not turns:
            return await super().remember(session, turns, given, context)
        quoted = format_dialogue(turns)
        said = await context.chat.ask(NOTE, source_sessions=[session.id], turns=quoted)
        made = NewMemory(
            text=said, at=turns[-1].at, source_turns=tuple(turn.id for turn in turns),
            made_by=context.chat.model, prompt=NOTE.label,
        )
        return MemoryBatch(memories=[made], vectors=await context.embedder.embed([said]))
"""
COMMANDS = f"""\
import json, sys
from dataclasses import astuple
from pathlib import Path

sys.path.append({str(Path(__file__).parents[1])!r})
from support.running import Terminal

run = Terminal(Path("m.db"))
print(json.dumps([astuple(run(*command, fine=False)) for command in json.loads(sys.argv[1])]))
"""
TESTS = """\
import pytest
from theanine.testing.contract import MethodContract

class TestBroken(MethodContract):
    @pytest.fixture(params=["chatty", "rootless", "whimsical", "gossip"])
    def method(self, request):
        return request.param

class TestAsking(MethodContract):
    name = "asking"
    answers = {"note": lambda request: f"A note of {len(request['messages'][0]['content'])}."}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment of a Python in which the example is installed from its own wheel."""
    folder = tmp_path_factory.mktemp("installed")
    source = shutil.copytree(EXAMPLE, folder / "source")
    site = folder / "site"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    # (the builder looks for its other half on the PATH)
    built = _run([sys.executable, "-c", BUILD, str(folder)], source, {**os.environ, "PATH": path})
    wheel = str(folder / built.out.split()[-1])
    pip = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--no-compile"]
    _run([*pip, "--quiet", "--target", str(site), wheel], folder, os.environ)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("THEANINE_")}
    kept["THEANINE_RESIDENT"] = "off"
    known = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    return {**kept, "PYTHONPATH": known, "PYTHONUTF8": "1"}


def _run(command: list[str], folder: Path, environment: Mapping[str, str]) -> Ran:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def theanine(environment: Mapping[str, str], folder: Path, *commands: list[str]) -> list[Ran]:
    """Run commands on one store, in a process that finds the installed methods."""
    ran = _run([sys.executable, "-c", COMMANDS, json.dumps(commands)], folder, environment)
    assert ran.code == 0, ran
    return [Ran(*fields) for fields in ran.json]


def as_its_author(environment: Mapping[str, str], file: Path, folder: Path, *options: str) -> Ran:
    """A pytest of its own, as the author of the package would run it."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rf", *options]
    return _run([*command, "-W", "error", str(file)], folder, environment)


def offered(environment: Mapping[str, str], folder: Path, **methods: str) -> dict[str, str]:
    """The environment with a package of broken methods beside the example."""
    site = folder / "broken-site"
    about = site / "broken-0.1.dist-info"
    about.mkdir(parents=True)
    (site / "broken.py").write_text(BROKEN, "utf-8")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 0.1\n", "utf-8")
    lines = [f"{name} = {place}" for name, place in methods.items()]
    points = "\n".join(["[theanine.methods]", *lines, ""])
    (about / "entry_points.txt").write_text(points, "utf-8")
    return {**environment, "PYTHONPATH": f"{site}{os.pathsep}{environment['PYTHONPATH']}"}


@pytest.mark.slow
def test_installed_it_is_one_more_method(installed: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "talk.txt").write_text(TALK, "utf-8")
    method = ["--user", "ana", "--method", "figures"]
    imported, memories, recalled, rebuilt, unknown, refused = theanine(
        installed,
        tmp_path,
        ["import", "talk.txt", *method, "--start", "2024-03-09"],
        ["memories", *method, "--json"],
        ["recall", "When is the dentist?", *method, "--set", "retrieved=1", "--json"],
        ["rebuild", "--method", "figures", "--again"],
        ["sessions", "--method", "no-such"],
        ["recall", "When?", *method, "--set", "paper=true"],
    )
    assert "2 new memories" in imported.out, imported
    assert [memory["text"] for memory in memories.json] == [
        "Ana: The dentist is at 9:30 on 12 March, and it costs 3.50 more.",
        "Ana: My sister lives at 14 Harbour Street!",
    ]
    (part,) = recalled.json["parts"]
    assert part["text"].startswith("(9 March 2024) Ana: The dentist is at 9:30")
    assert [turn["id"] for turn in part["source_turns"]] == [1]
    assert "dropped 2 memories of figures" in rebuilt.out, rebuilt
    assert (unknown.code, "figures" in unknown.err) == (2, True)
    assert (refused.code, "no settings of a paper" in refused.err) == (2, True)


@pytest.mark.slow
def test_it_keeps_to_the_contract(installed: Mapping[str, str], tmp_path: Path) -> None:
    ran = as_its_author(installed, EXAMPLE / "tests" / "test_figures.py", tmp_path)
    assert ran.code == 0, ran.out
    passed = re.search(r"(\d+) passed", ran.out)
    assert passed and int(passed[1]) > 30


@pytest.mark.slow
def test_the_contract_notices_what_is_broken(installed: Mapping[str, str], tmp_path: Path) -> None:
    names = ("Chatty", "Rootless", "Whimsical", "Gossip")
    environment = offered(installed, tmp_path, **{n.lower(): f"broken:{n}" for n in names})
    file = tmp_path / "test_broken.py"
    file.write_text(TESTS, "utf-8")
    chosen = "TestBroken and local and (budget or traced or at_once or never_see)"
    ran = as_its_author(environment, file, tmp_path, "-k", chosen)
    failed = set(re.findall(r"^FAILED \S+::test_(\w+)\[([^\]]+)", ran.out, re.MULTILINE))
    found = {(test, name) for test, ids in failed for name in ids.split("-")[:2]}
    assert ("a_recollection_never_exceeds_its_budget", "chatty") in found, ran.out
    assert ("memories_and_parts_are_traced_to_turns_of_the_user", "rootless") in found
    assert ("importing_at_once_in_steps_or_twice_gives_the_same", "whimsical") in found
    assert ("users_never_see_each_others_data", "gossip") in found
    assert "passed" in ran.out


@pytest.mark.slow
def test_a_method_that_asks_has_its_answers_scripted(
    installed: Mapping[str, str], tmp_path: Path
) -> None:
    environment = offered(installed, tmp_path, asking="broken:Asking")
    file = tmp_path / "test_asking.py"
    file.write_text(TESTS, "utf-8")
    killed = "(kill and not without)"
    chosen = f"TestAsking and ({killed} or failures or costs or estimate or at_once and scripted)"
    ran = as_its_author(environment, file, tmp_path, "-k", chosen)
    assert (ran.code, "5 passed" in ran.out) == (0, True), ran.out


@pytest.mark.slow
def test_pytest_is_asked_for_by_the_contract_alone(tmp_path: Path) -> None:
    look = "import sys, theanine.testing; print('pytest' in sys.modules)"
    assert _run([sys.executable, "-c", look], tmp_path, os.environ).out.strip() == "False"


@pytest.mark.slow
def test_what_is_no_method_is_said(installed: Mapping[str, str], tmp_path: Path) -> None:
    methods = {
        "forgetful": ("broken:Forgetful", "has no Config"),
        "borrowed": ("broken:Borrowed", "has the name 'turn'"),
        "lost": ("broken:Nothing", "failed to load"),
        "gone": ("no_such_module:Nothing", "failed to load"),
    }
    environment = offered(installed, tmp_path, **{name: at for name, (at, _) in methods.items()})
    commands = [["sessions", "--method", name] for name in methods]
    for (name, (_, message)), ran in zip(
        methods.items(), theanine(environment, tmp_path, *commands), strict=True
    ):
        assert (ran.code, name in ran.err, message in ran.err) == (2, True, True), ran


def test_the_page_shows_the_example_as_it_is() -> None:
    page = (DOCS / "own-method.md").read_text("utf-8")
    for part in ("src/figures/__init__.py", "pyproject.toml", "tests/test_figures.py"):
        assert f"```{(EXAMPLE / part).suffix.replace('.py', 'python').lstrip('.')}\n" in page
        assert f"\n{(EXAMPLE / part).read_text('utf-8')}```\n" in page


def test_the_example_is_short() -> None:
    lines = (EXAMPLE / "src" / "figures" / "__init__.py").read_text("utf-8").splitlines()
    assert sum(1 for line in lines if line.strip()) <= 60
