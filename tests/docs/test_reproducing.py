"""docs/reproducing.md: each of its commands runs to its end, and it has every table of results."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import certifi
import pytest

from support.blocks import blocks_of, commands_of
from support.history_samples import save
from support.published_sets import write_sets
from support.running import Terminal
from theanine.testing import ScriptedServer
from theanine_bench.analysis.reproduction import STATES, Inputs, cell_states, table_recipe
from theanine_bench.analysis.tables import load_tables

PAGE = Path(__file__).parents[2] / "docs" / "reproducing.md"
MORE = {
    "reproduce": ("--limit", "3", "--set", "denoise=local"),
    "rate": ("--results",),
    **dict.fromkeys(("qa", "responses", "pairwise", "memory"), ("--limit", "1")),
}
"""Options by command that make it small, with samples of three sessions for means of sessions;
`rate` would serve its pages."""
LOCAL = ("--model", "--embedder", "--mauve", "--bertscore")
"""Options that name a model which a test doesn't have."""


def page_commands() -> Iterator[list[str]]:
    """Yield the page's commands, made small."""
    for block in blocks_of(PAGE):
        for command in commands_of(block):
            words = shlex.split(command.words)[1:]
            for option in LOCAL:
                if option in words:
                    at = words.index(option)
                    del words[at : at + 2]
            name = words[words[0] == "bench"]
            if words[-1] == "reproduce":  # which lists the tables
                yield words
                continue
            secom = ("--set", "denoise=local") if "secom" in words and name == "qa" else ()
            yield [*words, *MORE.get(name, ()), *secom]


@pytest.mark.slow
def test_every_command_of_the_page_runs_to_its_end(
    run: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sets(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("THEANINE_EMBEDDER", "local")
    # Reading all of certifi's certificates takes half the time of a run.
    first, end, _ = certifi.contents().partition("-----END CERTIFICATE-----\n")
    monkeypatch.setenv("SSL_CERT_FILE", str(save(tmp_path, "one.pem", first + end)))
    needs_past = '{"explanation": "It does.", "label": "needs it"}'
    with ScriptedServer({"judge-needs-past": needs_past}) as server:
        for name in ("THEANINE_MODEL", "THEANINE_JUDGE"):
            monkeypatch.setenv(name, "openai:scripted")
        for name in ("THEANINE_BASE_URL", "THEANINE_JUDGE_BASE_URL"):
            monkeypatch.setenv(name, server.base_url)
        for words in page_commands():
            ran = run.bare(*words)
            if "reproduce" in words[:-1]:
                # A row of a run in the table, with a value: its name, two spaces, the columns.
                assert re.search(r"^ours: .*?  +.*\d", ran.out, re.M), ran


def test_the_page_has_every_table() -> None:
    text = PAGE.read_text("utf-8")
    by_people = {"theanine-memories", "secom-human"}
    absent = {table.id for table in load_tables() if not re.search(rf"`?\b{table.id}\b", text)}
    by_session = {name for name in absent if re.search(r"-(msc|cc)-session-\d$", name)}
    assert absent - by_session == by_people


def test_a_table_with_a_deviation_is_reproduced_in_part() -> None:
    sections = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.M)
    for table in load_tables():
        if table.id in {"theanine-memories", "secom-human"}:
            continue
        made = table_recipe(table, Inputs(out=Path("runs")))
        [section] = [part for part in sections if part.startswith(f"{table.paper} (")]
        row = re.search(rf"^\| {table.location} \| (.+?) \|(.*)\|$", section, re.M)
        assert row is not None
        # What the user chooses is said at the top of the page.
        reasons = [reason for reason in made.deviations if " are those of " not in reason]
        exact = not reasons and not made.omitted
        assert row[1] == ("reproducible" if exact else "in part"), (table.id, reasons)
        assert exact or row[2].strip()


def test_the_page_counts_its_states() -> None:
    sections = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.M)
    rows = [
        Counter(
            re.findall(r"^\| (?:table|figure) \S+ \| (reproducible|in part|not) \|", part, re.M)
        )
        for part in sections
    ]
    counted = [found for found in rows if found]
    shown = re.findall(r"^\| [^|]+ \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", sections[-1], re.M)
    expected = [*counted, sum(counted, Counter[str]())]
    states = ("reproducible", "in part", "not")
    assert [tuple(map(int, row)) for row in shown] == [
        (found.total(), *(found[state] for state in states)) for found in expected
    ]
    total = expected[-1]
    sentence = " ".join(sections[0].split())
    assert (
        f"Of {total.total()}, {total['reproducible']} are reproducible, {total['in part']} in part "
        f"and {total['not']} is not"
    ) in sentence


def test_the_page_counts_the_states_of_all_figures() -> None:
    counts = Counter(state for table in load_tables() for state, _ in cell_states(table))
    reproduced, in_part, impossible = (f"{counts[state]:,}" for state in STATES)
    sentence = f"{reproduced} are reproduced, {in_part} in part and {impossible} not possible."
    text = " ".join(PAGE.read_text("utf-8").split())
    assert f"Of {counts.total():,} figures, {sentence}" in text
