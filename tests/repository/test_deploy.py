"""The files in deploy/: linted, their steps run without a container, and their arguments tried."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from server.processes import START_LIMIT

import theanine
from support.debian_postgres import NO_PROGRAMS, Server, free_port
from support.postgres import MISSING, database_url
from theanine.client.worker import GRACE as WORKER_GRACE
from theanine.testing.contract.histories import demo
from theanine_server import ServerOptions
from theanine_server.cli.serve import GRACE as SERVER_GRACE

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "command",
    [
        ["hadolint", "deploy/Containerfile"],
        ["yamllint", "--strict", "-c", "deploy/.yamllint", "deploy"],
        ["check-jsonschema", "--builtin-schema", "vendor.compose-spec", "deploy/compose.yaml"],
        ["kubernetes-validate", "--strict", *sorted(map(str, DEPLOY.glob("kubernetes*.yaml")))],
        ["sh", "-n", "deploy/create-database.sh"],
    ],
    ids=lambda command: command[0],
)
def test_linters_find_nothing(command: list[str]) -> None:
    scripts = sysconfig.get_path("scripts")
    path = f"{scripts}:{os.environ['PATH']}"
    ran = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What the container file's steps made of an empty folder, and how it is started."""
    folder = tmp_path_factory.mktemp("image") / "root"
    installed = sysconfig.get_path("purelib")
    ran = subprocess.run(
        [sys.executable, "tools/container_steps.py", str(folder), "--installed", installed],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def start(
    image: Mapping[str, Any], arguments: list[str], **environment: str
) -> subprocess.Popen[str]:
    """Start what the image starts."""
    variables = {**image["environment"], **environment}
    command = subprocess.run(
        ["sh", "-c", f"command -v {image['ENTRYPOINT'][0]}"],
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    return subprocess.Popen([command, *arguments], env=variables, stderr=subprocess.PIPE, text=True)


def wait_until_healthy(image: Mapping[str, Any], port: int, process: subprocess.Popen[str]) -> None:
    """Run the image's health check until it succeeds."""
    check = [word.replace("8321", str(port)) for word in image["HEALTHCHECK"]]
    deadline = time.monotonic() + START_LIMIT
    while subprocess.run(check, env=image["environment"], capture_output=True).returncode:
        assert process.poll() is None and time.monotonic() < deadline, "it does not become healthy"
        time.sleep(0.1)


def stop(process: subprocess.Popen[str]) -> str:
    """Stop a process as a container is stopped, and return its log."""
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=START_LIMIT)
    assert process.returncode in (0, -signal.SIGTERM), errors
    return errors


def test_the_containers_steps_make_a_service(image: Mapping[str, Any]) -> None:
    port = free_port()
    process = start(image, image["CMD"], THEANINE_PORT=str(port), THEANINE_HOST="127.0.0.1")
    try:
        wait_until_healthy(image, port, process)
        version = httpx2.get(f"http://127.0.0.1:{port}/openapi.json").json()["info"]["version"]
        assert version.startswith("0.")
        assert httpx2.get(f"http://127.0.0.1:{port}/v1/whoami").status_code == 401
        assert Path(image["environment"]["THEANINE_STORE"]).exists()
        log = stop(process)
    finally:
        process.kill()
        process.wait()
    assert all(json.loads(line)["level"] for line in log.splitlines())


@pytest.mark.skipif(bool(NO_PROGRAMS), reason=NO_PROGRAMS)
def test_the_database_of_compose_has_a_role_for_whom_walls_hold(tmp_path: Path) -> None:
    server = Server()
    try:
        server.execute("DROP ROLE theanine")
        (tmp_path / "password").write_text("it's tea\n")
        environment = {
            "PATH": f"{server.programs}:{os.environ['PATH']}",
            "PGHOST": "127.0.0.1",
            "PGPORT": str(server.port),
            "THEANINE_PASSWORD_FILE": str(tmp_path / "password"),
        }
        script = ["sh", str(DEPLOY / "create-database.sh")]
        subprocess.run(script, env=environment, check=True, capture_output=True)
        with theanine.open(server.url("theanine")) as client:
            client.user("ana").add("I live in Lisbon.")
        roles = server.execute("SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolcanlogin")
        assert (False, False) in roles
    finally:
        server.remove()


COMPOSE = "docker compose -f deploy/compose.yaml "
"""What the commands of the documents begin with."""


def commands_of_containers(mark: str) -> list[str]:
    """Return the commands for the database in a marked block of docs/containers.md."""
    page = (ROOT / "docs" / "containers.md").read_text("utf-8")
    [block] = re.findall(rf"^```bash {mark}\n(.*?)^```", page, re.M | re.S)
    inside = f"{COMPOSE}exec -T database "
    return [line.removeprefix(inside) for line in block.splitlines() if line.startswith(inside)]


@pytest.mark.skipif(bool(NO_PROGRAMS), reason=NO_PROGRAMS)
def test_the_commands_of_the_page_back_up_and_restore(tmp_path: Path) -> None:
    server = Server(fsync="off")
    environment = {
        "PATH": f"{server.programs}:{os.environ['PATH']}",
        "PGHOST": "127.0.0.1",
        "PGPORT": str(server.port),
    }

    def run(mark: str) -> None:
        for command in commands_of_containers(mark):
            shell = ["sh", "-ec", command]
            subprocess.run(shell, cwd=tmp_path, env=environment, check=True, capture_output=True)

    try:
        url = server.create_database("theanine")
        with theanine.open(url) as client:
            client.user("ana").log(demo())
            client.user("ana").remember()
            before = list(client.export())
            run("backup")
            client.user("ana").add("I moved to Porto.")
            client.user("ana").forget(session=1)
        run("restore")
        with theanine.open(url) as client:
            assert list(client.export()) == before
            client.user("ana").add("I keep bees on the roof.")
            assert client.user("ana").recall("What is kept on the roof?")
        roles = server.execute(
            "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'",
            database="theanine",
        )
        assert roles == [("theanine",)]
    finally:
        server.remove()


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_kubernetes_starts_a_server_and_a_worker_that_run(
    image: Mapping[str, Any], tmp_path: Path
) -> None:
    documents = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8")))
    containers = {
        container["name"]: container["args"]
        for document in documents
        if document["kind"] == "Deployment"
        for container in document["spec"]["template"]["spec"]["containers"]
    }
    port, metrics, worker_metrics = free_port(), free_port(), free_port()
    store = {
        "THEANINE_STORE": database_url(tmp_path),
        "THEANINE_HOST": "127.0.0.1",
        "THEANINE_PORT": str(port),
    }
    arguments = [word.replace("9321", str(metrics)) for word in containers["server"]]
    server = start(image, arguments, **store)
    arguments = [word.replace("9321", str(worker_metrics)) for word in containers["worker"]]
    worker = start(image, arguments, **store)
    try:
        wait_until_healthy(image, port, server)
        assert "theanine_request_seconds" in httpx2.get(f"http://127.0.0.1:{metrics}/").text
        compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]
        _, *check = compose["worker"]["healthcheck"]["test"]
        check = [word.replace("9321", str(worker_metrics)) for word in check]
        wait_until_healthy({**image, "HEALTHCHECK": check}, worker_metrics, worker)
        stop(worker)
        stop(server)
    finally:
        for process in (server, worker):
            process.kill()
            process.wait()


def test_containers_are_stopped_no_sooner_than_the_service_stops() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]
    assert set(compose) == {"database", "migrate", "server", "worker", "proxy"}
    longest = SERVER_GRACE + ServerOptions().grace
    assert int(compose["server"]["stop_grace_period"].removesuffix("s")) >= longest
    assert int(compose["worker"]["stop_grace_period"].removesuffix("s")) >= WORKER_GRACE
    for document in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8")):
        if document["kind"] == "Deployment":
            [container] = document["spec"]["template"]["spec"]["containers"]
            grace = document["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
            drain = 5 if "--drain" in container["args"] else 0
            assert grace >= (longest + drain if drain else WORKER_GRACE)
