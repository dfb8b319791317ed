"""The API against its OpenAPI document: schemathesis sends what it names, and what it doesn't.

In the suite, the same requests each time: the bounds of each parameter and field, wrong types,
missing and unknown parts, other methods, no key and wrong keys. Under ``make fuzz-api``, new ones
and sequences of requests as well.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from server.conftest import Service
from server.providers import Provider
from support.fuzzing import SCALE
from support.postgres import MISSING, database_url
from theanine.client import OpenOptions
from theanine_server import ServerOptions

pytestmark = [pytest.mark.fuzz, pytest.mark.slow]

CONFIG = Path(__file__).parents[4] / "tests" / "support" / "api_fuzzing.toml"
SAME = ("--seed=1", "--generation-deterministic")
LIMIT = 900
"""Seconds; on an idle machine a run takes twenty."""


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.skipif(bool(MISSING), reason=MISSING)),
    ]
)
def options(
    request: pytest.FixtureRequest, options: ServerOptions, tmp_path: Path
) -> Iterator[ServerOptions]:
    if request.param == "postgres":
        options = replace(options, client=OpenOptions(database_url(tmp_path)))
    with Provider() as provider:
        yield replace(options, openai_url=provider.url, anthropic_url=provider.url)


def fill(service: Service) -> None:
    """Store two threads of a user, remembered, and an operation."""
    with service.client(rights=["read", "write", "reply", "administer"]) as http:
        for thread in ("t1", "t2"):
            path = f"/v1/users/ana/threads/{thread}"
            http.post(f"{path}/hear", json={"content": "I live in Lisbon.", "id": "m1"})
            http.post(f"{path}/end", json={"remember": True})
        assert http.post("/v1/operations", json={"kind": "expire"}).status_code == 202


def try_out(service: Service, token: str, folder: Path, *arguments: str) -> None:
    """Run schemathesis from a folder of its own. Raises AssertionError with what it has found."""
    command = [sys.executable, "-m", "schemathesis.cli", f"--config-file={CONFIG}"]
    url = f"{service.url}/openapi.json"
    paths = os.pathsep.join([str(CONFIG.parents[1]), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [
            *command,
            "run",
            url,
            f"--header=Authorization: Bearer {token}",
            "--workers=1",  # more would have Python 3.11 parse in several threads, which fails
            "--continue-on-failure",
            "--no-color",
            *(SAME if SCALE == 1 else ("--generation-database=none",)),
            *arguments,
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT * SCALE,
    )
    print(run.stdout)
    assert run.returncode == 0, run.stdout[-20_000:]


def test_every_answer_is_one_of_the_document(service: Service, tmp_path: Path) -> None:
    fill(service)
    token = service.key(rights=["read", "write", "reply", "administer"])
    more = ("--phases=coverage,fuzzing,stateful", f"--max-examples={SCALE}")
    try_out(service, token, tmp_path, *(("--phases=coverage",) if SCALE == 1 else more))


@pytest.mark.parametrize("rights", [["read"], ["write"], ["administer"]])
def test_a_key_of_few_rights_gets_documented_answers(
    service: Service, tmp_path: Path, rights: list[str]
) -> None:
    fill(service)
    arguments = ("--phases=fuzzing", "--mode=positive", f"--max-examples={SCALE}")
    try_out(service, service.key(rights=rights, user="ana"), tmp_path, *arguments)
