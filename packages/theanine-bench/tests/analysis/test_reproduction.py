"""The commands that fill the papers' tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.history_samples import save
from support.published_sets import write_sets
from support.running import Terminal
from theanine.errors import SettingsError
from theanine.methods.registry import METHODS, all_settings
from theanine_bench.analysis.reproduction import Inputs, Recipe, table_recipe
from theanine_bench.analysis.tables import load_tables
from theanine_bench.datasets.responses import read_responses

BY_PEOPLE = {"theanine-memories", "secom-human"}
INPUTS = Inputs(out=Path("runs"), judge="openai:j", neural={"mauve": "m"}, options={"model": "x"})


def recipe(name: str, inputs: Inputs = INPUTS) -> Recipe:
    return table_recipe(load_tables([name])[0], inputs)


def options(words: tuple[str, ...], name: str) -> list[str]:
    return [words[i + 1] for i, word in enumerate(words) if word == name]


@pytest.mark.slow
def test_every_row_of_a_method_has_a_run_with_its_settings() -> None:
    for table in load_tables():
        if table.id in BY_PEOPLE:
            continue
        made = table_recipe(table, INPUTS)
        assert len(made.runs) == len(set(made.runs)) >= 1
        methods = {word for words in made.commands for word in options(words, "--method")}
        assert {row.method for row in table.rows if row.method in METHODS} <= methods
        for words in made.commands:
            for method in set(options(words, "--method")) & set(METHODS):
                given = dict(each.split("=", 1) for each in options(words, "--set"))
                all_settings(method, given)  # raises for an unknown one
        assert set(made.omitted) <= {row.label for row in table.rows if not row.method}


def test_a_comparison_differs_in_what_the_row_is_about() -> None:
    commands = recipe("conditional-reflection-feedback").commands
    last = commands[-1]
    assert (last[:2], options(last, "--criteria")) == (("bench", "pairwise"), ["gsb"])
    answers = {words[-1]: options(words, "--set") for words in commands}
    assert [answers[run][-1] for run in last[2:4]] == ["rounds=1", "rounds=0"]
    *_, golden = recipe("theanine-g-eval").commands
    assert "--golden" in golden
    first = recipe("theanine-g-eval-msc-session-4").commands[0]
    assert (options(first, "--sessions"), options(first, "--set")) == (["4"], ["paper=2024"])


def test_metrics_without_their_model_are_left_out() -> None:
    assert options(recipe("theanine-msc").commands[0], "--metric")[-1] == "mauve=m"
    alone = recipe("secom-cost", Inputs(out=Path("runs"))).commands[0]
    assert options(alone, "--metric") == []
    with pytest.raises(SettingsError, match="filled by people"):
        recipe("secom-human")


def test_a_second_speakers_turns_alone_are_generated(tmp_path: Path) -> None:
    write_sets(tmp_path)
    [group] = read_responses(tmp_path / "msc", range(3, 6), speaker=2)
    assert [sample.speaker for sample in group.samples] == ["Speaker 2"] * 3
    with pytest.raises(SettingsError, match="Persona-Chat"):
        read_responses(save(tmp_path, "chats.csv", "a"), speaker=2)


@pytest.mark.slow
def test_commands_are_printed(run: Terminal) -> None:
    out = run.bare("bench", "reproduce", "rsum-ablation", "--commands").out
    assert out.count("$ theanine bench responses msc --method ") == 3
