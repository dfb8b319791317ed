"""A damaged export of a store is refused in one line, with nothing taken, or can be used."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import theanine
from support.fuzzing import cases
from support.running import Terminal
from support.tree import PACKAGES
from theanine import Scope
from theanine.errors import UserError

pytestmark = [pytest.mark.fuzz]
FIXTURE = PACKAGES["theanine"].parents[1] / "tests/fixtures/export-0.1.jsonl"
RECORDS: list[dict[str, Any]] = [
    json.loads(line) for line in FIXTURE.read_text("utf-8").splitlines()
]
_NUMBERS = [-1, 0, 1, 2**31, 2**53, 10**30, 1.5, 1e308, float("inf"), float("nan")]
_TEXTS = ["", "x", "\ud800", "a\0b", "theanine~x", "No/Where", "statement", "AAAA"]
_TIMES = ["9999-12-31T23:59:59-23:59", "1900-01-01T00:00:00Z", "2024-01-01T00:00:00+23:59:59"]
_OTHERS: list[Any] = [
    None,
    True,
    [],
    [1],
    ["x"],
    [2**31],
    [[]],
    {},
    {"a": "\ud800"},
    {"user": "\ud800"},
]
HOSTILE: st.SearchStrategy[Any] = (
    st.sampled_from([*_NUMBERS, *_TEXTS, *_TIMES, *_OTHERS]) | st.integers() | st.text()
)


@st.composite
def _damaged(draw: st.DrawFn) -> list[Any]:
    """The records of a store with up to three fields changed, removed or added, or out of order."""
    records: list[Any] = copy.deepcopy(RECORDS)
    for _ in range(draw(st.integers(1, 3))):
        record = records[draw(st.integers(0, len(records) - 1))]
        name = draw(st.sampled_from([*record, "unknown"]))
        if draw(st.booleans()):
            record[name] = draw(HOSTILE)
        else:
            record.pop(name, None)
    if draw(st.integers(0, 9)) == 0:
        records = draw(st.permutations(records))
    if draw(st.integers(0, 9)) == 0:
        records.insert(draw(st.integers(0, 5)), draw(HOSTILE))
    return records


def _with(type_: str, **changes: object) -> list[Any]:
    records: list[Any] = copy.deepcopy(RECORDS)
    next(record for record in records if record["type"] == type_).update(changes)
    return records


def _scopes(client: theanine.Client) -> Iterator[theanine.UserMemory]:
    for scope in client.users():
        yield client.user(scope.user, agent=scope.agent, tenant=scope.tenant)


@pytest.mark.slow
@given(_damaged())
@example(_with("theanine", method=""))
@example(_with("theanine", method="nonsense"))
@example(_with("theanine", method=["x"]))
@example(_with("theanine", retention=2**52))
@example(_with("theanine", tenants={"acme": 7}))
@example(_with("theanine", tenants={"acme": {"retention": "P1D"}}))
@example(_with("scope", next_memory=2**31))
@example(_with("memory", id=2**31))
@example(_with("turn", at="2024-01-01T00:00:00+23:59:59"))
@example(_with("turn", notes={"a": "\ud800"}))
@example(_with("journal", cost=float("inf")))
@example([*RECORDS, 5])
@cases(10)
@pytest.mark.filterwarnings("ignore:the export was written by an earlier theanine")
def test_a_damaged_export_is_refused_or_can_be_used(records: list[Any]) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        theanine.open(str(Path(folder) / "memory.db")) as client,
    ):
        try:
            client.restore(records, partial=True)  # else most are refused by their digest
        except UserError as raised:
            refused = str(raised)
        else:
            refused = ""
        if refused:
            assert "\n" not in refused
            assert not client.users()
            return
        client.pending()
        client.costs()
        for user in _scopes(client):
            for session in user.sessions():
                assert session.turn_count >= 0
            user.recall("Where do I live?")
            user.memories()
            user.timelines()
        exported = [*client.export()]
        with theanine.open(str(Path(folder) / "again.db")) as again:
            again.restore(exported)
            assert [*again.export()] == exported


HEADER = json.dumps(RECORDS[0]).encode()
LINES = [
    b"[1]", b"5", b"null", b'"x"', b"{", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000,
    b'{"type": ["x"]}', b'{"type": "\\ud800"}', b"NaN", b"9" * 5_000, b"{}",
]  # fmt: skip


@pytest.mark.parametrize("line", LINES, ids=lambda line: repr(line[:12]))
def test_a_line_that_is_no_record_is_one_line_with_exit_code_2(
    line: bytes, run: Terminal, tmp_path: Path
) -> None:
    file = tmp_path / "export.jsonl"
    file.write_bytes(HEADER + b"\n" + line + b"\n")
    ran = run("import", str(file), fine=False)
    assert ran.code == 2
    assert ran.err.startswith("theanine: ")
    assert ran.err.count("\n") == 1
    assert Scope("ana") not in theanine.open(str(run.store)).users()
