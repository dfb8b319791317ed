"""A damaged run folder is refused in one line by every command that reads it, or can be used."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.damaging import damaged
from support.fuzzing import cases
from support.run_samples import sample_item, sample_run, unanswered
from support.running import Terminal

pytestmark = [pytest.mark.fuzz, pytest.mark.slow]

COMMANDS = {
    "report": ["bench", "report", "RUN"],
    "diff": ["bench", "diff", "OTHER", "RUN"],
    "diff as JSON": ["bench", "diff", "RUN", "OTHER", "--json"],
    "export": ["bench", "export", "RUN"],
    "tables": ["bench", "tables", "--run", "RUN"],
    "rescore": ["bench", "rescore", "RUN", "--metric", "f1", "--out", "NEW"],
    "pairwise": ["bench", "pairwise", "RUN", "OTHER", "--criteria", "overall", "--out", "NEW"],
    "teafarm": ["teafarm", "report", "RUN"],
}
ITEMS = [
    sample_item(1, verdicts={"right": {"verdict": "yes", "why": "It says so."}}),
    sample_item(2, extra={"gold": [["s", "1"]], "past": ["Ana sails."], "evidence": []}),
    unanswered(3),
]


@pytest.mark.parametrize("command", COMMANDS)
@cases(5)
@given(data=st.data())
def test_a_damaged_run_is_refused_or_used(command: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        where = {"RUN": Path(folder) / "run", "OTHER": Path(folder) / "other"}
        where["NEW"] = Path(folder) / "new"
        finished = data.draw(st.booleans())
        for name in ("RUN", "OTHER"):
            sample_run(where[name], ITEMS, finished=finished)
        facts = {"group": "ana", "turns": 2, "remember_seconds": 1.5, "embedder": "local"}
        (where["RUN"] / "facts.jsonl").write_text(json.dumps(facts) + "\n")
        file = data.draw(st.sampled_from(sorted(where["RUN"].iterdir())))
        before = damaged(file.read_bytes(), data)
        file.write_bytes(before)
        arguments = [str(where.get(part, part)) for part in COMMANDS[command]]
        ran = Terminal(where["RUN"] / "none.db").bare(*arguments, fine=False)
        assert ran.code in (0, 1, 2), ran
        if ran.err:
            assert ran.err.startswith("theanine: "), ran
            assert ran.err.count("\n") == 1, ran
        assert ran.code != 2 or ran.err, ran
        assert file.read_bytes() == before
        written = [path for path in Path(folder).rglob("*") if path.is_file()]
        assert not [path for path in written if path.name.endswith(".part")]
        for path in written:
            if path.parent == where["NEW"] and path.suffix == ".json":
                json.loads(path.read_text("utf-8"))
