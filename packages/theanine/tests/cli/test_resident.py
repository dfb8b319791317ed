"""The resident process: commands that it runs do what they do in a process of their own."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import rmtree
from subprocess import PIPE
from tempfile import mkdtemp
from typing import Any

import pytest

import theanine
from theanine.cli.resident import address

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="it runs on Linux"),
]

PATIENCE = 120
QUESTION = "Shall we book that cruise on a ship?"
PROMPT = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "a", "prompt": QUESTION})
COMMAND = [sys.executable, "-m", "theanine"]
SERVER = [sys.executable, "-P", "-m", "theanine.cli.resident.server"]


def until(is_so: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Machine:
    """A user's session on this machine, with at most one resident process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = folder / "memory.db"
        self.added = folder / "modules"
        self.added.mkdir()
        self.runtime = Path(mkdtemp())  # the path of a socket has at most 108 characters
        self.server: subprocess.Popen[str] | None = None

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "HOME": str(self.folder),
            "PYTHONPATH": os.pathsep.join(filter(None, [*self._path(), str(self.added)])),
            "THEANINE_HOOK_LIMIT": str(PATIENCE),
            "THEANINE_RESIDENT": "on",
            "THEANINE_STORE": str(self.store),
            "THEANINE_USER": "ana",
            "XDG_RUNTIME_DIR": str(self.runtime),
            "XDG_STATE_HOME": str(self.folder / "state"),
        }

    def _path(self) -> list[str]:
        return os.environ.get("PYTHONPATH", "").split(os.pathsep)

    def sockets(self) -> list[Path]:
        return [*self.runtime.glob("theanine/*.sock")]

    def serve(self, idle: float = PATIENCE) -> subprocess.Popen[str]:
        self.server = subprocess.Popen(
            [*SERVER, str(idle)], env=self.environment, stdout=subprocess.DEVNULL, text=True
        )
        until(lambda: self.sockets() or self.server is None or self.server.poll() is not None)
        return self.server

    def kill(self) -> None:
        if self.server is not None:
            self.server.kill()
            self.server.wait()

    def end(self) -> None:
        self.kill()
        rmtree(self.runtime)

    def start(self, *arguments: str, **changes: str) -> subprocess.Popen[str]:
        environment = {**self.environment, **changes}
        environment = {name: value for name, value in environment.items() if value}
        return subprocess.Popen(
            [*COMMAND, *arguments],
            env=environment, cwd=self.folder, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True,
        )  # fmt: skip

    def run(self, *arguments: str, text: str = "", **changes: str) -> tuple[int, str, str]:
        with self.start(*arguments, **changes) as process:
            out, err = process.communicate(text, PATIENCE)
        return process.returncode, out, err

    def children(self) -> list[int]:
        assert self.server is not None
        pid = self.server.pid
        return [*map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]

    def served(self, *arguments: str, text: str = "", **changes: str) -> bool:
        """Run a command, and return whether it was the resident process that ran it."""
        assert self.server is not None
        status = Path(f"/proc/{self.server.pid}/stat")

        def spent() -> int:
            return sum(map(int, status.read_text().rpartition(")")[2].split()[13:15]))

        before = spent()
        assert self.run(*arguments, text=text, **changes)[0] == 0
        return spent() - before > 2  # hundredths of a second; to decline one takes less


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("resident"))
    machine.serve()
    yield machine
    machine.end()


@pytest.fixture
def machine(shared: Machine, tmp_path: Path) -> Machine:
    """A machine whose resident process runs; its store has a turn."""
    shared.store = tmp_path / "memory.db"
    with theanine.open(shared.store) as client:
        client.user("ana").add("I'm terrified of ships since the storm.")
    return shared


@pytest.fixture
def other(tmp_path: Path) -> Generator[Machine]:
    """A machine whose resident process does not run yet."""
    machine = Machine(tmp_path)
    yield machine
    machine.end()


@pytest.mark.parametrize(
    "arguments",
    [
        ("log",),
        ("log", "--json"),
        ("log", "--help"),
        ("log", "--user", "ben"),
        ("log", "--no-such-option"),
        ("recall", QUESTION),
        ("recall", QUESTION, "--json"),
        ("recall", "What is the capital of Peru?"),
        ("recall", QUESTION, "--embedder", "nobody:nothing"),
        ("profile",),
        ("hook",),
        ("hook", "--no-such-option"),
    ],
)
def test_output_and_exit_code_are_the_same(machine: Machine, arguments: tuple[str, ...]) -> None:
    expected = machine.run(*arguments, text=PROMPT, THEANINE_RESIDENT="off")
    assert machine.run(*arguments, text=PROMPT) == expected
    assert expected[1] or expected[2] or arguments[0] == "hook"


def test_what_is_added_is_stored_once(machine: Machine) -> None:
    assert machine.served("add", "I moved to Split.")
    assert machine.served("add", "--metadata", "source=notes", text="I keep a boat.\r\nIt is red.")
    with theanine.open(machine.store) as client:
        texts = [turn.text for turn in client.user("ana").turns()][1:]
    assert texts == ["I moved to Split.", "I keep a boat.\r\nIt is red."]


def test_the_callers_folder_and_environment_apply(machine: Machine) -> None:
    folder = machine.folder / "elsewhere"
    folder.mkdir()
    machine.folder, before = folder, machine.folder
    try:
        for user in ("ben", "eva"):
            changes = {"THEANINE_USER": user, "THEANINE_STORE": f"{user}.db", "TZ": "Asia/Tokyo"}
            assert machine.served("add", f"I am {user}.", **changes)
            expected = machine.run("log", "--json", **changes, THEANINE_RESIDENT="off")
            assert machine.run("log", "--json", **changes) == expected
            assert json.loads(expected[1])[0]["text"] == f"I am {user}."
            assert (folder / f"{user}.db").exists()
        code, _, err = machine.run("log")
        assert code == 0 and "ben" not in err
    finally:
        machine.folder = before


def test_a_terminal_is_one(machine: Machine) -> None:
    def shown(resident: str) -> bytes:
        leader, follower = pty.openpty()
        environment = {**machine.environment, "THEANINE_RESIDENT": resident, "TERM": "xterm"}
        subprocess.run(
            [*COMMAND, "recall", QUESTION, "--explain"],
            env=environment, stdin=follower, stdout=follower, stderr=follower, check=True,
        )  # fmt: skip
        os.close(follower)
        parts: list[bytes] = []
        try:
            while part := os.read(leader, 10_000):
                parts.append(part)
        except OSError:  # how Linux says that no one has the other end
            os.close(leader)
        return b"".join(parts)

    assert b"\x1b[" in shown("off") and shown("on") == shown("off")


def test_a_reader_that_stops_reading_is_told_as_ever(machine: Machine) -> None:
    def ended(resident: str) -> int:
        reading, writing = os.pipe()
        os.close(reading)
        environment = {**machine.environment, "THEANINE_RESIDENT": resident}
        with subprocess.Popen([*COMMAND, "log"], env=environment, stdout=writing) as process:
            os.close(writing)
        return process.returncode

    assert ended("on") == ended("off") != 0


def test_many_at_once_are_not_mixed_up(machine: Machine, tmp_path: Path) -> None:
    def talk(number: int) -> str:
        changes = {"THEANINE_USER": f"u{number}", "THEANINE_STORE": str(tmp_path / f"{number}.db")}
        assert machine.run("add", f"My number is {number}.", **changes)[0] == 0
        return machine.run("log", "--json", **changes)[1]

    with ThreadPoolExecutor(4) as pool:
        logs = [json.loads(text) for text in pool.map(talk, range(8))]
    assert [[turn["text"] for turn in log] for log in logs] == [
        [f"My number is {number}."] for number in range(8)
    ]


def test_many_at_once_share_a_store(machine: Machine) -> None:
    def add(number: int) -> int:
        return machine.run("add", f"My number is {number}.")[0]

    with ThreadPoolExecutor(4) as pool:
        assert {*pool.map(add, range(8))} == {0}
    with theanine.open(machine.store) as client:
        assert len(client.user("ana").turns()) == 9


def test_it_is_not_used_where_it_is_switched_off(machine: Machine) -> None:
    assert machine.served("log")
    assert not machine.served("log", THEANINE_RESIDENT="off")
    config = machine.folder / "config.toml"
    config.write_text('resident = "off"\n')
    assert not machine.served("log", THEANINE_CONFIG=str(config), THEANINE_RESIDENT="")
    config.write_text("")
    assert machine.served("log", THEANINE_CONFIG=str(config), THEANINE_RESIDENT="")
    assert not machine.served("sessions")  # no command for it


def test_another_installation_does_not_use_it(machine: Machine, tmp_path: Path) -> None:
    path = os.pathsep.join([machine.environment["PYTHONPATH"], str(tmp_path)])
    assert not machine.served("log", PYTHONPATH=path)


def test_a_folder_that_others_may_enter_is_not_used(machine: Machine) -> None:
    folder = machine.runtime / "theanine"
    folder.chmod(0o755)
    try:
        assert not machine.served("log")
        assert subprocess.run(SERVER, env=machine.environment, stderr=PIPE).returncode
    finally:
        folder.chmod(0o700)
    assert machine.served("log")


def test_a_process_in_a_sandbox_does_not_get_out_by_it(machine: Machine) -> None:
    program = (
        "import ctypes, sys; assert ctypes.CDLL(None).prctl(38, 1, 0, 0, 0) == 0\n"  # no new rights
        "from theanine.cli import main; main()"
    )
    before = [*COMMAND]
    COMMAND[:] = [sys.executable, "-c", program]
    try:
        assert not machine.served("log")
    finally:
        COMMAND[:] = before


def test_a_store_that_is_deleted_or_made_anew_is_noticed(machine: Machine) -> None:
    assert machine.served("recall", QUESTION)
    machine.store.rename(machine.store.with_name("moved.db"))
    code, _, err = machine.run("log")
    assert code == 2 and "there is no store" in err
    with theanine.open(machine.store) as client:
        client.user("ana").add("I live in Faro.")
    assert [turn["text"] for turn in json.loads(machine.run("log", "--json")[1])] == [
        "I live in Faro."
    ]
    assert machine.run("forget", "--user", "ana", "--yes")[0] == 0
    assert machine.run("log")[0] == 2


def test_an_interrupt_reaches_the_command(machine: Machine) -> None:
    with machine.start("add") as process:
        until(machine.children)
        time.sleep(0.5)  # it waits for what is piped to it
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "") and "stopping" in err
    until(lambda: not machine.children())


def test_a_command_ends_with_its_caller(machine: Machine) -> None:
    with machine.start("add") as process:
        until(machine.children)
        process.kill()
        until(lambda: not machine.children())
    assert machine.served("log")


def test_a_caller_ends_with_its_command(machine: Machine) -> None:
    with machine.start("add") as process:
        until(machine.children)
        time.sleep(0.5)
        os.kill(machine.children()[0], signal.SIGKILL)
        assert process.wait(PATIENCE) == 128 + signal.SIGKILL


def test_nothing_is_done_for_a_caller_that_has_given_up(machine: Machine) -> None:
    request = {
        "installation": None,
        "command": ["theanine", "add", "I moved to Split."],
        "environment": machine.environment,
        "folder": "/",
        "umask": 0o077,
        "interruptible": True,
        "streams": [("utf-8", "strict")] * 3,
    }
    shown = subprocess.run(
        [sys.executable, "-P", "-c",
         "import json; from theanine.cli.resident import address; "
         "print(json.dumps(address.installation()))"],
        env=machine.environment, stdout=PIPE, check=True,
    )  # fmt: skip
    for installation, is_ready in ((json.loads(shown.stdout), True), (["other"], False)):
        text = json.dumps({**request, "installation": installation}).encode()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(str(machine.sockets()[0]))
            socket.send_fds(connection, [len(text).to_bytes(address.LENGTH)], [0, 1, 2])
            connection.sendall(text)
            assert bool(connection.recv(address.LENGTH)) is is_ready
        until(lambda: not machine.children())
    with theanine.open(machine.store) as client:
        assert len(client.user("ana").turns()) == 1


def test_a_hook_starts_it_for_the_next_ones(other: Machine) -> None:
    assert other.run("add", "I'm terrified of ships since the storm.")[0] == 0
    assert other.run("hook", text=PROMPT, THEANINE_RESIDENT="off")[0] == 0
    assert not (other.runtime / "theanine").exists()
    expected = other.run("hook", text=PROMPT)
    assert "terrified of ships" in expected[1]
    until(other.sockets)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(other.sockets()[0]))
        process = address.peer_of(connection)[0]
    try:
        assert os.getsid(process) == process  # it does not end with the terminal
        assert other.run("hook", text=PROMPT) == expected
        log = (other.folder / "state" / "theanine" / "hook.log").read_text()
        assert log.count("added") == 3
    finally:
        os.kill(process, signal.SIGTERM)
    until(lambda: not other.sockets())


def test_there_is_one_and_it_ends_when_it_is_idle(other: Machine) -> None:
    first = other.serve(idle=1.0)
    assert subprocess.run(SERVER, env=other.environment).returncode == 0
    assert first.wait(PATIENCE) == 0 and other.sockets() == []


def test_a_killed_one_is_passed_over_and_replaced(other: Machine) -> None:
    other.serve()
    with other.start("add") as process:
        until(other.children)
        time.sleep(0.5)
        other.kill()
        assert process.stdin is not None
        out, err = process.communicate("I moved to Split.", PATIENCE)
    assert (process.returncode, out) == (1, "turn 1 in session 1\n")
    assert "it is not known how `theanine add` has ended" in err
    assert len(other.sockets()) == 1
    assert other.run("log")[0] == 0
    other.server = None
    other.sockets()[0].rename(other.runtime / "old")
    other.serve()
    assert other.served("log")


def test_it_ends_for_an_update_and_after_its_commands(other: Machine) -> None:
    server = other.serve()
    with other.start("add") as process:
        until(other.children)
        time.sleep(0.5)
        (other.added / "update.py").write_text("")
        code, _, err = other.run("log")
        assert code == 2 and "there is no store" in err
        assert other.sockets() == [] and server.poll() is None
        assert process.communicate("I moved to Split.", PATIENCE) == ("turn 1 in session 1\n", "")
    assert process.returncode == server.wait(PATIENCE) == 0
