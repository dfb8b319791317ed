"""Each command, option, variable, file and service that the files in deploy/ name exists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.core import TyperGroup
from typer.main import get_command

from theanine.cli.app import app
from theanine.cli.config_file import SETTINGS, variable
from theanine.cli.lazy import LazyCommand, MissingCommand

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
KUBERNETES: list[dict[str, Any]] = [
    document
    for file in sorted(DEPLOY.glob("kubernetes*.yaml"))
    for document in yaml.safe_load_all(file.read_text("utf-8"))
]
PAGE = (ROOT / "docs" / "containers.md").read_text("utf-8")
OURS = re.compile(r"(?<![\w/.-])theanine ((?:[a-z]+)(?: [^\n`|>&;)]*)?)")
"""A command line in a page or a comment."""


def pods() -> dict[str, dict[str, Any]]:
    """Return the specifications of pods, by the names of what makes them."""
    return {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]
        for each in KUBERNETES
        if each["kind"] in ("Deployment", "Job")
    }


def containers() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, pod in pods().items():
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            yield f"{name}/{container['name']}", container


def command_lines() -> Iterator[tuple[str, list[str]]]:
    for name, service in COMPOSE["services"].items():
        if "command" in service and service.get("image") == "theanine":
            yield f"compose/{name}", service["command"]
    for name, container in containers():
        yield name, container["args"]
    written = {file.name: file.read_text("utf-8") for file in DEPLOY.iterdir() if file.is_file()}
    for name, text in {**written, "containers.md": PAGE}.items():
        lines = re.findall(r"(?:^#? *(?:docker|kubectl) .*-- )(.*)", text, re.M)
        lines += re.findall(r"^.*\b(?:exec|run) (?:-\S+ )*\w+ (theanine .*)", text, re.M)
        in_new_container = re.findall(r"^.*\.yaml run (?:-\S+ )*\w+ (.*)", text, re.M)
        lines += [f"theanine {line}" for line in in_new_container]
        lines += re.findall(r"`(theanine [^`]+)`", text)
        for line in lines:
            for arguments in OURS.findall(line):
                yield f"{name}: {arguments}", shlex.split(arguments)


COMMAND_LINES = [
    (name, words) for name, words in dict(command_lines()).items() if not words[0].isupper()
]


def load(command: Any) -> Any:
    """Return a command itself instead of its stand-in."""
    return command.load() if isinstance(command, LazyCommand) else command


def find_command(words: list[str]) -> tuple[Any, list[str]]:
    """Return the command that words name, and the words after it."""
    command: Any = get_command(app)
    while isinstance(command, TyperGroup):
        found = command.get_command(typer.Context(command), words[0])
        assert found is not None, words
        command, words = load(found), words[1:]
    return command, words


@pytest.mark.parametrize(("name", "words"), COMMAND_LINES, ids=[name for name, _ in COMMAND_LINES])
def test_every_command_line_is_understood(name: str, words: list[str]) -> None:
    command, rest = find_command(words)
    command.make_context(words[0], [*rest])  # raises an error for what it doesn't know


def test_command_lines_are_found() -> None:
    commands = {" ".join(words[:2]) for _, words in COMMAND_LINES}
    assert {"serve --processes", "worker --json", "db migrate", "keys create"} <= commands


def known_variables() -> set[str]:
    known = {variable(name) for name in SETTINGS}
    waiting: list[Any] = [get_command(app)]
    while waiting:
        command = load(waiting.pop())
        for parameter in command.params:
            names: Any = parameter.envvar or ()
            known |= {names} if isinstance(names, str) else {*names}
        if isinstance(command, TyperGroup):
            command.list_commands(typer.Context(command))  # finds those of other packages
            waiting += [
                each for each in command.commands.values() if not isinstance(each, MissingCommand)
            ]
    return known


def test_every_variable_of_ours_is_one_of_an_option() -> None:
    texts = [file.read_text("utf-8") for file in DEPLOY.iterdir() if file.is_file()]
    named = set(re.findall(r"\bTHEANINE_[A-Z_]+\b", "\n".join([*texts, PAGE])))
    assert {"THEANINE_STORE", "THEANINE_MODEL", "THEANINE_HOST"} <= named
    # The script of the database reads its own.
    assert named - known_variables() == {"THEANINE_PASSWORD_FILE"}


def test_every_file_that_is_mounted_exists() -> None:
    for service in COMPOSE["services"].values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            exists = (DEPLOY / source).exists() if source.startswith(".") else True
            assert exists or source in COMPOSE["volumes"], source
            assert source.startswith(".") or source in COMPOSE["volumes"], source
        assert {*service.get("secrets", ())} <= COMPOSE["secrets"].keys()


def test_every_service_and_file_that_the_page_names_exists() -> None:
    for line in re.findall(r"^docker compose .*", PAGE, re.M):
        words = shlex.split(line.split(" >")[0].split(" <")[0])
        verb = next(word for word in words if word in ("up", "stop", "build", "exec", "run"))
        rest = [word for word in words[words.index(verb) + 1 :] if not word.startswith("-")]
        for service in rest[:1] if verb in ("exec", "run") else rest:
            assert service in COMPOSE["services"], line
        # Only the entrypoint gives theanine the password of the database.
        assert verb != "exec" or COMPOSE["services"][rest[0]].get("image") != "theanine", line
        if "--profile" in words:
            profile = words[words.index("--profile") + 1]
            profiles = [each.get("profiles", []) for each in COMPOSE["services"].values()]
            assert [profile] in profiles
    for name in re.findall(r"deploy/([\w.-]+\.\w+)", PAGE):
        assert (DEPLOY / name).exists() or name in (".env",), name
    deployments = {each["metadata"]["name"] for each in KUBERNETES if each["kind"] == "Deployment"}
    [scaled] = set(re.findall(r"kubectl scale deployment (.+) --replicas", PAGE))
    assert {*scaled.split()} == deployments
    [job] = {each["metadata"]["name"] for each in KUBERNETES if each["kind"] == "Job"}
    assert f"job/{job}" in PAGE and f"delete job {job} " in PAGE


def test_nothing_starts_before_the_tables_are_of_its_version() -> None:
    services = COMPOSE["services"]
    for name in ("server", "worker"):
        waits = services[name]["depends_on"]
        assert waits["migrate"] == {"condition": "service_completed_successfully"}
    assert services["migrate"]["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert services["migrate"]["restart"] == "no"
    for name, pod in pods().items():
        [image] = {each["image"] for each in (*pod.get("initContainers", ()), *pod["containers"])}
        assert image == "registry.example.com/theanine:0.2.0", name
        first = pod.get("initContainers", pod["containers"])[0]["args"]
        assert first[:2] == ["db", "migrate"], name
        # A pod waits for the job, which alone changes anything.
        assert ("--check" in first) == (name != "theanine-migrate"), name


def test_server_and_worker_have_the_store_and_the_keys_of_all_providers() -> None:
    for name in ("migrate", "server", "worker"):
        service = COMPOSE["services"][name]
        assert service["environment"]["THEANINE_STORE"].startswith("postgresql://")
        assert service["env_file"] == [{"path": "secrets/providers.env", "required": False}]
        # An empty variable would hide the one of the file.
        assert not [each for each in service["environment"] if each.endswith("_KEY")]
    for name, container in containers():
        assert [each["name"] for each in container["env"]] == ["THEANINE_STORE"], name
        if container["args"][0] in ("serve", "worker"):
            secret = {"name": "theanine-providers", "optional": True}
            assert container["envFrom"] == [{"secretRef": secret}]


def test_secrets_are_kept_out_of_the_repository() -> None:
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert {"deploy/secrets/", "deploy/.env"} <= {*ignored}
