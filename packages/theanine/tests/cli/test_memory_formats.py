"""`theanine export --format`: what is remembered, for other memories."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

import theanine
from support.history_samples import save
from theanine.cli.app import app
from theanine.importers import read_histories


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    clock = lambda: datetime(2024, 5, 8, 13, 56, tzinfo=UTC)  # noqa: E731
    with theanine.open(path, clock=clock) as client:
        ana = client.user("ana")
        ana.add("I sail on Sundays with my sister Klara.")
        ana.remember()
        (old,) = ana.memories()
        ana.correct(old.id, "I sail on Mondays with my sister Klara.")
    return path


def export(store: Path, format: str) -> list[dict[str, object]]:
    result = CliRunner().invoke(app, ["export", "--format", format, "--store", str(store)])
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.output.splitlines()]


def test_the_graph_of_server_memory_is_read_again(store: Path, tmp_path: Path) -> None:
    (entity,) = export(store, "server-memory")
    assert (entity["type"], entity["name"], entity["entityType"]) == ("entity", "ana", "person")
    assert entity["observations"] == ["I sail on Mondays with my sister Klara. (2024-05-08)"]
    (history,) = read_histories(save(tmp_path, "memory.jsonl", json.dumps(entity))).histories
    assert "Mondays" in history.transcripts[0].turns[0].text


def test_arguments_of_mem0(store: Path) -> None:
    (line,) = export(store, "mem0")
    assert line == {
        "messages": [{"role": "user", "content": "I sail on Mondays with my sister Klara."}],
        "user_id": "ana",
        "infer": False,
        "timestamp": int(datetime(2024, 5, 8, 13, 56, tzinfo=UTC).timestamp()),
        "metadata": {"source": "theanine", "id": 2},
    }


@pytest.mark.parametrize("options", [["--format", "zep"], ["--format", "mem0", "--csv"]])
def test_mistakes(options: list[str], store: Path) -> None:
    result = CliRunner().invoke(app, ["export", *options, "--store", str(store)])
    assert result.exit_code != 0
