"""``theanine hook`` with the hosts' own payloads: it recalls, records, and never fails its host."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import theanine
from support.forking import Python
from support.running import START, Terminal
from theanine.fences import REMEMBERED_HEADING

DEADLINE = 120
FEAR = "I'm terrified of ships since the storm."
QUESTION = "Shall we book that cruise on a ship?"
SECRET = "cormorant-4417"


@dataclass
class Agent:
    """A coding agent on this machine, whose hooks are run as it runs them."""

    home: Path
    store: Path
    recorded: int = 0
    log: Path = field(init=False)

    def __post_init__(self) -> None:
        self.log = self.home / "state" / "theanine" / "hook.log"

    def run(self, payload: Any, *options: str, records: bool = True) -> Any:
        """Run a hook, wait for what it records, and return what it answers; None for nothing."""
        arguments = ["hook", "--user", "ana", "--store", str(self.store), *options]
        text = payload if isinstance(payload, str) else json.dumps(payload)
        environment = {
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.home / "state"),
            "THEANINE_CONFIG": str(self.home / "config.toml"),
            "THEANINE_HOOK_LIMIT": str(DEADLINE),
        }
        with Python(START, *arguments, environment=environment) as process:
            status, output, _ = process.communicate(text)
        assert status == 0
        self.recorded += records and '"UserPromptSubmit"' not in text
        self.wait()
        return json.loads(output) if output else None

    def wait(self) -> None:
        """Wait until as many recorders as were started have ended."""
        deadline = time.monotonic() + DEADLINE
        while self.logged().count(": recorded") < self.recorded:
            assert time.monotonic() < deadline, self.logged()
            time.sleep(0.05)

    def logged(self) -> str:
        return self.log.read_text("utf-8") if self.log.exists() else ""

    def turns(self) -> list[str]:
        with theanine.open(self.store) as client:
            return [f"{turn.role}: {turn.text}" for turn in client.user("ana").turns()]


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path, tmp_path / "memory.db")


def session_id(number: int) -> str:
    return str(UUID(int=number, version=4))


class Claude:
    """Sessions of Claude Code, as its files and its payloads have them."""

    def __init__(self, agent: Agent, number: int = 1, project: str = "trips") -> None:
        self.agent, self.id, self.project = agent, session_id(number), project
        self.file = agent.home / ".claude/projects" / f"-home-ana-{project}" / f"{self.id}.jsonl"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.lines = 0

    def write(self, *said: tuple[str, str]) -> None:
        with self.file.open("a", encoding="utf-8") as file:
            for role, text in said:
                self.lines += 1
                content: Any = text if role == "user" else [{"type": "text", "text": text}]
                line = {
                    "type": role,
                    "uuid": f"{self.id}-{self.lines}",
                    "sessionId": self.id,
                    "cwd": f"/home/ana/{self.project}",
                    "timestamp": f"2026-11-01T10:00:{self.lines:02}.000Z",
                    "message": {"role": role, "content": content},
                }
                file.write(json.dumps(line) + "\n")

    def payload(self, name: str, **fields: Any) -> dict[str, Any]:
        return {
            "session_id": self.id,
            "transcript_path": str(self.file),
            "cwd": f"/home/ana/{self.project}",
            "permission_mode": "default",
            "hook_event_name": name,
            **fields,
        }

    def talk(self, prompt: str, reply: str) -> None:
        """Say something and have the reply recorded, as Stop does."""
        self.write(("user", prompt), ("assistant", reply))
        stopped = self.payload("Stop", stop_hook_active=False, last_assistant_message=reply)
        assert self.agent.run(stopped) is None


@pytest.mark.slow
def test_what_claude_code_is_told_is_recalled_in_the_next_session(agent: Agent) -> None:
    first = Claude(agent)
    assert agent.run(first.payload("SessionStart", source="startup")) is None
    assert agent.run(first.payload("UserPromptSubmit", prompt=FEAR)) is None
    first.talk(FEAR, "Then let's take the train.")
    first.talk("And when does it leave?", "At nine.")
    expected = [
        f"user: {FEAR}",
        "assistant: Then let's take the train.",
        "user: And when does it leave?",
        "assistant: At nine.",
    ]
    assert agent.turns() == expected
    # What the model has in its own session is not told again.
    assert agent.run(first.payload("UserPromptSubmit", prompt=QUESTION)) is None
    assert agent.run(first.payload("SessionEnd", reason="exit")) is None
    assert agent.turns() == expected

    second = Claude(agent, 2)
    answer = agent.run(second.payload("UserPromptSubmit", prompt=QUESTION))
    assert list(answer) == ["hookSpecificOutput"]
    assert answer["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    context = answer["hookSpecificOutput"]["additionalContext"]
    assert context.startswith(REMEMBERED_HEADING) and context.endswith("\n>>>")
    assert "terrified of ships" in context
    assert agent.run(second.payload("UserPromptSubmit", prompt="/clear")) is None
    unrelated = "What does the constructor of a Haskell monad transformer return?"
    assert agent.run(second.payload("UserPromptSubmit", prompt=unrelated)) is None


@pytest.mark.slow
def test_a_session_starts_with_the_rules_of_the_user(agent: Agent) -> None:
    first = Claude(agent)
    first.talk("use tabs", "Will do.")
    first.talk("Always answer in French.", "Oui.")
    agent.run(first.payload("SessionEnd", reason="exit"))
    other = Claude(agent, 2, project="taxes").payload("SessionStart", source="startup")
    context = agent.run(other)["hookSpecificOutput"]["additionalContext"]
    assert "Rules for the assistant:\n  “Always answer in French.”" in context
    assert "“use tabs”" in context
    assert agent.run(other, "--no-profile") is None


@pytest.mark.slow
def test_a_session_starts_with_what_its_project_has(agent: Agent) -> None:
    first = Claude(agent)
    first.talk("We decided to sail from Split in May.", "Noted.")
    agent.run(first.payload("SessionEnd", reason="exit"))
    answer = agent.run(Claude(agent, 2).payload("SessionStart", source="startup"))
    assert "sail from Split" in answer["hookSpecificOutput"]["additionalContext"]
    compacted = agent.run(first.payload("SessionStart", source="compact"))
    assert "sail from Split" in compacted["hookSpecificOutput"]["additionalContext"]
    assert agent.run(first.payload("SessionStart", source="resume")) is None
    other = Claude(agent, 3, project="taxes")
    assert agent.run(other.payload("SessionStart", source="startup"), "--no-profile") is None
    with theanine.open(agent.store) as client:
        memories = client.user("ana").memories()
        client.user("ana").pin(memories[0].id)
    pinned = agent.run(other.payload("SessionStart", source="clear"))
    assert "sail from Split" in pinned["hookSpecificOutput"]["additionalContext"]


@pytest.mark.slow
def test_the_import_adds_what_hooks_have_missed(
    agent: Agent, run: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(agent.home))
    recorded, missed = Claude(agent), Claude(agent, 2)
    recorded.talk(FEAR, "Noted.")
    missed.write(("user", "I live in Split."), ("assistant", "A fine place."))
    arguments = ["import", "--from", "claude-code", "--user", "ana", "--store", str(agent.store)]
    assert "1 new sessions (1 known), 2 new turns" in run.bare(*arguments).out.replace(
        "1 new session ", "1 new sessions "
    )
    assert "0 new turns" in run.bare(*arguments).out
    recorded.talk("Good night.", "Good night, Ana.")
    assert "0 new turns" in run.bare(*arguments).out
    assert len(agent.turns()) == 6


@pytest.mark.slow
def test_codex_writes_its_rollout(
    agent: Agent, run: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = session_id(7)
    file = agent.home / f".codex/sessions/2026/11/01/rollout-2026-11-01T10-00-00-{id}.jsonl"
    file.parent.mkdir(parents=True)

    def item(role: str, text: str, at: int) -> str:
        kind = "input_text" if role == "user" else "output_text"
        content = [{"type": kind, "text": text}]
        payload = {"type": "message", "role": role, "content": content}
        stamp = f"2026-11-01T10:00:{at:02}.000Z"
        return json.dumps({"timestamp": stamp, "type": "response_item", "payload": payload}) + "\n"

    meta = {"id": id, "cwd": "/srv/trips", "cli_version": "0.153.2"}
    stamp = {"timestamp": "2026-11-01T10:00:00.000Z", "type": "session_meta"}
    scaffolding = "<environment_context>\n  <cwd>/srv/trips</cwd>\n</environment_context>"
    file.write_text(
        json.dumps({**stamp, "payload": meta})
        + "\n"
        + item("user", scaffolding, 0)
        + item("user", FEAR, 1)
        + item("assistant", "Then take the train.", 2)
    )
    payload = {
        "session_id": id,
        "turn_id": "turn-1",
        "transcript_path": str(file),
        "cwd": "/srv/trips",
        "model": "gpt-5.6",
        "permission_mode": "default",
    }
    stop = {"hook_event_name": "Stop", "stop_hook_active": False}
    stop["last_assistant_message"] = "Then take the train."
    assert agent.run({**payload, **stop}) is None
    assert agent.turns() == [f"user: {FEAR}", "assistant: Then take the train."]
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": QUESTION}
    assert agent.run({**payload, **prompt}) is None  # it was said in this session
    other = {"session_id": session_id(8), "transcript_path": None}
    answer = agent.run({**payload, **prompt, **other})
    assert "terrified of ships" in answer["hookSpecificOutput"]["additionalContext"]
    monkeypatch.setenv("HOME", str(agent.home))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    arguments = ["import", "--from", "codex", "--user", "ana", "--store", str(agent.store)]
    assert "0 new turns" in run.bare(*arguments).out


def cursor_payload(name: str, number: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "conversation_id": session_id(number),
        "generation_id": session_id(100 + number),
        "model": "gpt-5.6",
        "hook_event_name": name,
        "cursor_version": "3.20.17",
        "workspace_roots": ["/srv/trips"],
        "user_email": "ana@example.com",
        **fields,
    }


@pytest.mark.slow
def test_cursor_says_what_was_said(
    agent: Agent, run: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert agent.run(cursor_payload("beforeSubmitPrompt", prompt=FEAR, attachments=[])) is None
    agent.run(cursor_payload("afterAgentResponse", text="Then take the train."))
    assert agent.turns() == [f"user: {FEAR}", "assistant: Then take the train."]
    assert (
        agent.run(cursor_payload("sessionEnd", session_id=session_id(1), reason="closed")) is None
    )
    answer = agent.run(cursor_payload("beforeSubmitPrompt", 2, prompt=QUESTION))
    assert list(answer) == ["continue", "additional_context"] and answer["continue"] is True
    assert "terrified of ships" in answer["additional_context"]
    started = agent.run(cursor_payload("sessionStart", 3, composer_mode="agent"))
    assert list(started) == ["additional_context"] and "ships" in started["additional_context"]

    database = agent.home / ".config/Cursor/User/globalStorage/state.vscdb"
    database.parent.mkdir(parents=True)
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE, value BLOB)")
        for number, words in ((1, FEAR), (9, "I live in Split.")):
            chat, bubble = session_id(number), f"b{number}"
            document = {
                "createdAt": 1_790_000_000_000,
                "fullConversationHeadersOnly": [{"bubbleId": bubble}],
            }
            message = {"type": 1, "text": words, "bubbleId": bubble}
            for key, value in (
                (f"composerData:{chat}", document),
                (f"bubbleId:{chat}:{bubble}", message),
            ):
                db.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, json.dumps(value)))
    monkeypatch.setenv("HOME", str(agent.home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    before = agent.turns()
    arguments = ["import", "--from", "cursor", "--user", "ana", "--store", str(agent.store)]
    for _ in range(2):
        run.bare(*arguments)
        assert sorted(agent.turns()) == sorted([*before, "user: I live in Split."])


def broken(agent: Agent, kind: str) -> tuple[Any, Sequence[str]]:
    """Return a payload and options with which a hook can do nothing."""
    claude = Claude(agent)
    prompt = claude.payload("UserPromptSubmit", prompt=f"My password is {SECRET}.")
    stop = claude.payload("Stop", last_assistant_message=SECRET)
    if kind == "store":
        agent.store.write_text("not a store")
        return prompt, ()
    if kind == "configuration":
        (agent.home / "config.toml").write_text("store = [")
        return prompt, ()
    if kind == "transcript":
        claude.file.write_text(f"{{broken {SECRET}")
        return stop, ()
    payloads: dict[str, tuple[Any, Sequence[str]]] = {
        "no input": ("", ()),
        "no json": (f"{{{SECRET}", ()),
        "no event": ({"prompt": SECRET}, ()),
        "option": (prompt, ("--no-such-option",)),
        "model": (prompt, ("--model", "nobody:nothing")),
        "service": (prompt, ("--url", "http://127.0.0.1:1")),
    }
    return payloads[kind]


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        *("no input", "no json", "no event", "option", "model", "service"),
        *("store", "configuration", "transcript"),
    ],
)
def test_it_never_fails_its_host(agent: Agent, kind: str) -> None:
    payload, options = broken(agent, kind)
    assert agent.run(payload, *options, records=False) is None
    deadline = time.monotonic() + DEADLINE
    while not {"ERROR", "WARNING"} & {*agent.logged().split()}:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert SECRET not in agent.logged()


def test_events_of_others_are_passed_over(agent: Agent) -> None:
    used = Claude(agent).payload("PreToolUse", tool_name="Bash", tool_input={"command": "ls"})
    assert agent.run(used, records=False) is None
    assert agent.logged() == "" and not agent.store.exists()


def test_a_hook_that_takes_too_long_gives_up(tmp_path: Path) -> None:
    code = "import time; from theanine.cli.coding_agents.guard import run_guarded\n"
    code += "run_guarded(lambda: (print('half', end=''), time.sleep(600)), records=False)"
    environment = {"XDG_STATE_HOME": str(tmp_path), "THEANINE_HOOK_LIMIT": "0.3"}
    with Python(code, environment=environment) as process:
        assert process.communicate() == (0, "", "")
    assert "given up" in (tmp_path / "theanine" / "hook.log").read_text()


@pytest.mark.slow
def test_hooks_that_run_at_once_share_a_store(agent: Agent) -> None:
    sessions = [Claude(agent, number) for number in range(1, 5)]
    for session in sessions:
        session.write(("user", f"I was in {session.id}."), ("assistant", f"Noted {session.id}."))

    def stop(session: Claude) -> None:
        arguments = ["hook", "--user", "ana", "--store", str(agent.store)]
        environment = {"HOME": str(agent.home), "XDG_STATE_HOME": str(agent.home / "state")}
        payload = session.payload("Stop", last_assistant_message=f"Noted {session.id}.")
        with Python(START, *arguments, environment=environment) as process:
            assert process.communicate(json.dumps(payload))[0] == 0

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(stop, sessions * 3))
    agent.recorded = len(sessions) * 3
    agent.wait()
    assert "ERROR" not in agent.logged()
    expected = [f"user: I was in {session.id}." for session in sessions]
    expected += [f"assistant: Noted {session.id}." for session in sessions]
    assert sorted(agent.turns()) == sorted(expected)
    with theanine.open(agent.store) as client:
        assert client.check() == ""
