"""The configuration file: profiles, precedence, and what is refused."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from typer.models import OptionInfo

from support.history_samples import line, save
from support.running import Ran, Terminal
from theanine.cli import options, selection
from theanine.cli.config_file import SETTINGS, config_path, variable
from theanine.cli.resident import address


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "settings" / "config.toml"
    monkeypatch.setenv("THEANINE_CONFIG", str(file))
    monkeypatch.delenv("THEANINE_RESIDENT")  # nothing here runs in a process of its own
    return file


@pytest.fixture
def ana(run: Terminal, tmp_path: Path) -> Terminal:
    run("import", str(save(tmp_path, "boats.jsonl", line(text="I love boats."))), "--user", "ana")
    return run


def test_a_default_user_is_set_and_unset(config: Path, ana: Terminal):
    assert ana("recall", "boats", fine=False).code == 2
    ana.bare("config", "set", "user", "ana")
    assert "I love boats" in ana("recall", "boats").out
    assert ana.bare("config").out.split()[-4:] == ["user", "ana", "config", "file"]
    ana.bare("config", "unset", "user")
    assert ana("recall", "boats", fine=False).code == 2
    assert ana.bare("config", "unset", "user", fine=False).code == 2


def test_command_line_environment_profile_file(
    config: Path, ana: Terminal, monkeypatch: pytest.MonkeyPatch
):
    ana.bare("config", "set", "user", "bo")
    ana.bare("config", "set", "--profile", "work", "user", "ana")
    command = ["recall", "boats", "--store", str(ana.store)]
    assert "no user bo" in ana.bare(*command, fine=False).err
    assert "boats" in ana.bare("--profile", "work", *command).out
    assert ana.bare("--profile", "work", "config", "--json").json == [
        {"setting": "user", "value": "ana", "from": "config file"}
    ]
    monkeypatch.setenv("THEANINE_PROFILE", "work")
    assert "boats" in ana.bare(*command).out
    monkeypatch.setenv("THEANINE_USER", "bo")
    assert "no user bo" in ana.bare(*command, fine=False).err
    assert "boats" in ana.bare(*command, "-u", "ana").out


def test_a_default_user_holds_for_imports(
    config: Path, run: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run.bare("config", "set", "user", "sofia")
    for file in ("one.txt", "two.txt"):  # the keys of their sessions differ, though not their user
        text = f"Sofia: I love boats, says {file}.\nBo: Since when?\n"
        assert "sofia: 1 new session" in run("import", str(save(tmp_path, file, text))).out
    assert "boats" in run("recall", "boats").out
    file = str(save(tmp_path, "talk.jsonl", line(text="I love horses.", user="bo")))
    assert run("import", file).out.startswith("bo:"), "the file names its user"
    assert run("import", file, "-u", "ana").out.startswith("ana:")
    backup = save(tmp_path, "all.jsonl", run("export").out)
    copy = Terminal(tmp_path / "copy.db")
    copy("import", str(backup))
    assert list(copy("sessions", "--json", "--all-users").json) == ["ana", "bo", "sofia"]
    monkeypatch.setenv("THEANINE_USER", "bo")
    assert list(run("sessions", "--json").json) == ["bo"]
    assert list(run("sessions", "--json", "-u", "ana").json) == ["ana"]
    assert run("rebuild", "--estimate", "--again", "--json").json[0]["sessions"] == 1
    assert run("rebuild", "--estimate", "--again", "--json", "--all-users").json[0]["sessions"] == 4
    assert run("cost", "--json").json == []
    assert run("remember", "--json").json == []


def test_no_command_takes_an_unknown_user_for_an_empty_one(ana: Terminal):
    for command in ("sessions", "cost", "remember", "rebuild", "export", "export --csv", "log"):
        ran = ana(*command.split(), "--user", "anna", fine=False)
        assert (ran.code, ran.out) == (2, ""), command
        assert "no user anna in this store (did you mean 'ana'?)" in ran.err


def test_forget_needs_a_named_user(config: Path, ana: Terminal):
    ana.bare("config", "set", "user", "ana")
    assert ana("forget", "--yes", fine=False).code == 2
    assert "I love boats" in ana("recall", "boats").out


def test_comments_stay(config: Path, run: Terminal):
    config.parent.mkdir()
    config.write_text("# mine\nbudget = 300 # tokens\n", "utf-8")
    run.bare("config", "set", "user", "ana")
    assert config.read_text("utf-8") == '# mine\nbudget = 300 # tokens\nuser = "ana"\n'


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("usr = 'ana'", "no setting 'usr' (did you mean 'user'?)"),
        ("user = ", "can't be read"),
        ("user = ['ana']", "write a text or a number"),
        ("profile = 3", "[profile.work]"),
        ("[profile.work]\nuser = true", "profile work, user"),
    ],
)
def test_a_wrong_file_is_refused(config: Path, run: Terminal, content: str, expected: str):
    config.parent.mkdir()
    config.write_text(content, "utf-8")
    ran = run("sessions", fine=False)
    assert (ran.code, expected in ran.err, str(config) in ran.err) == (2, True, True)


def test_an_unknown_profile_is_refused(config: Path, run: Terminal):
    run.bare("config", "set", "--profile", "work", "user", "ana")
    ran = run.bare("--profile", "wrok", "sessions", fine=False)
    assert (ran.code, "did you mean 'work'?" in ran.err) == (2, True)


def test_every_setting_is_the_environment_variable_of_its_option():
    groups = [options.ChatOptions, selection.SelectionOptions]
    hints: dict[str, Any] = {}
    for group in groups:
        own = get_type_hints(group, include_extras=True)
        hints |= {field.name: own[field.name] for field in fields(group)}
    hints["user"] = options.UserOption
    for name, hint in hints.items():
        option = next(item for item in hint.__metadata__ if isinstance(item, OptionInfo))
        expected = variable(name) if name in SETTINGS else None
        assert option.envvar == expected, name
    assert {"judge", "judge_base_url", "resident"} == set(SETTINGS) - set(hints)
    assert variable("resident") == address.VARIABLE  # which no option has


def test_the_path_is_in_the_users_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("THEANINE_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert config_path() == tmp_path / "theanine" / "config.toml"


def test_a_setting_can_be_read(config: Path, ana: Terminal) -> None:
    assert ana.bare("config", "get", "user", fine=False) == Ran(1, "", "")
    ana.bare("config", "set", "user", "ana")
    assert ana.bare("config", "get", "user").out == "ana\n"
    wrong = ana.bare("config", "get", "usr", fine=False)
    assert wrong.code == 2 and "user" in wrong.err
