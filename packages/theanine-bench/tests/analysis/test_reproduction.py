"""The commands that fill the papers' tables."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support.history_samples import save
from support.published_sets import write_sets
from support.running import Terminal
from theanine.errors import SettingsError
from theanine.methods.registry import all_settings, names
from theanine_bench.analysis.reproduction import (
    STATES,
    Inputs,
    Recipe,
    cell_states,
    table_recipe,
)
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
        assert {row.method for row in table.rows if row.method in names()} <= methods
        for words in made.commands:
            for method in set(options(words, "--method")) & set(names()):
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


SAID: list[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("paper_settings.toml").read_text("utf-8")
)["said"]
PUBLISHED = [table for table in load_tables() if table.id not in BY_PEOPLE]


def answers_of(made: Recipe) -> Iterator[tuple[tuple[str, ...], Mapping[str, object]]]:
    """Yield each command that answers with one of our methods, and all settings of the method."""
    for words in made.commands:
        for method in options(words, "--method"):
            if words[1] in ("responses", "qa", "run") and method in names():
                given = dict(each.split("=", 1) for each in options(words, "--set"))
                yield words, all_settings(method, given)


MODELS = {"model": "answers", "memory_model": "memories", "judge": "verdicts"}


@cache
def recipe_with(table: str, model: str) -> Recipe:
    """The recipe where one model answers, remembers and judges."""
    given = {"model": model, "memory-model": model}
    return recipe(table, Inputs(out=Path("runs"), judge=model, options=given))


@pytest.mark.parametrize("said", SAID, ids=lambda said: f"{said['paper']}: {said['place']}")
def test_recipes_are_as_the_papers_say(said: dict[str, Any]) -> None:
    tables = [t for t in PUBLISHED if any(fnmatch(t.id, each) for each in said["tables"])]
    assert tables
    for table in tables:
        assert table.paper == said["paper"]
        made = recipe_with(table.id, "openai:x")
        reasons = " / ".join(made.deviations)
        assert all(words in reasons for words in said.get("unsaid", ()))
        for key, what in MODELS.items():
            if model := said.get(key):
                assert f"the {what} are those of openai:x, in the paper of {model}" in reasons
                named = recipe_with(table.id, f"openai:{model}")
                assert f"the {what} are those of" not in str(named.deviations)
        asked = False
        for words, settings in answers_of(made):
            [method] = options(words, "--method")
            expected = {**said.get("settings", {}), **said.get("methods", {}).get(method, {})}
            wrong = {
                name: (settings[name], value)
                for name, value in expected.items()
                if name in settings and settings[name] != value
            }
            assert not wrong, (table.id, words)
            if rows := said.get("rows"):
                assert settings.get("retrieval") in (None, "hybrid", *rows.values())
            for name, value in said.get("options", {}).items():
                assert options(words, f"--{name}") == [value], words
            if embedder := said.get("embedder"):
                compares = settings.get("retrieval", "okapi") not in ("okapi", "lexical")
                assert options(words, "--embedder") == [embedder] * compares, words
                asked = asked or compares
        assert asked or "embedder" not in said
        for label, retrieval in said.get("rows", {}).items():
            rows = [row for row in table.rows if label in row.label]
            assert {row.settings["retrieval"] for row in rows} == {retrieval}


def test_replies_are_asked_for_as_the_papers_ask() -> None:
    """Over a transcript: the published prompts take no chat (``docs/prompts.md``)."""
    for table in PUBLISHED:
        for words, settings in answers_of(recipe_with(table.id, "openai:x")):
            assert settings["reply_prompt"] == "transcript", (table.id, words)


def test_every_figure_has_a_state_and_a_reason() -> None:
    states = Counter[str]()
    for table in load_tables():
        figures = list(cell_states(table))
        states += Counter(state for state, _ in figures)
        assert len(figures) == sum(v is not None for row in table.rows for v in row.values)
        assert all(state in STATES and bool(why) == (state != STATES[0]) for state, why in figures)
        if table.id in BY_PEOPLE:
            assert {state for state, _ in figures} == {"in part"}
            continue
        # What the commands print below the table are the reasons of its figures, and those alone.
        made = recipe_with(table.id, "openai:x")
        printed = [r for r in made.deviations if " are those of " not in r]
        lasting = {reason for state, why in figures if state == "in part" for reason in why}
        assert all(any(r.endswith(reason) for r in printed) for reason in lasting)
        assert all(any(r.endswith(reason) for _, why in figures for reason in why) for r in printed)
    assert all(states[state] for state in STATES)


def test_each_tables_settings_are_held_against_its_paper() -> None:
    for table in PUBLISHED:
        if table.bench != "segmentation":
            of_table = [said for said in SAID if any(fnmatch(table.id, t) for t in said["tables"])]
            said = {name for entry in of_table for name in entry}
            assert {"model", "settings"} & said or any(
                "no temperature" in str(each.get("unsaid")) for each in of_table
            ), table.id


def test_a_deviation_is_printed_below_the_table(run: Terminal) -> None:
    out = run.bare("bench", "reproduce", "rsum-retrieval", "--commands").out
    assert "# run in part, because of Chatgpt-DPR: DPR encodes" in out
    assert "# run in part, because the answers are those of local, in the paper of gpt-3.5" in out


def test_the_users_embedder_takes_the_place_of_the_papers() -> None:
    named = Inputs(out=Path("runs"), options={"model": "x", "embedder": "openai:e"})
    made = recipe("secom-cost", named)
    assert {each for words in made.commands for each in options(words, "--embedder")} == {
        "openai:e"
    }
    assert any("the vectors are those of openai:e" in reason for reason in made.deviations)
    folder = "sentence-transformers-euclidean:models/multi-qa-mpnet-base-dot-v1"
    downloaded = Inputs(out=Path("runs"), options={"model": "x", "embedder": folder})
    assert "the vectors are those of" not in str(recipe("secom-cost", downloaded).deviations)
    local = Inputs(out=Path("runs"), options={"model": "x", "embedder": "local"})
    made = recipe("secom-cost", local)
    assert not any(options(words, "--embedder") for words in made.commands)
    assert any("the vectors are those of local" in reason for reason in made.deviations)


def test_further_methods_run_beside_those_of_a_table() -> None:
    inputs = Inputs(out=Path("runs"), options={"model": "x"}, also=["summary-buffer"])
    own = recipe("theanine-msc", inputs)
    [words] = [each for each in own.commands if options(each, "--method") == ["summary-buffer"]]
    assert options(words, "--set") == ["temperature=0.75"]
    assert Path(words[-1]) in own.runs
    against = recipe("theanine-g-eval", Inputs(out=Path("runs"), also=["no-memory"]))
    assert against.commands[-1][:2] == ("bench", "pairwise")
    for name in ("segmentation-tiage", "conditional-ablation-feedback"):
        with pytest.raises(SettingsError, match="no place for other methods"):
            recipe(name, inputs)
    with pytest.raises(SettingsError, match="unknown method 'nosuch'"):
        recipe("theanine-msc", Inputs(out=Path("runs"), also=["nosuch"]))


@pytest.mark.slow
def test_commands_are_printed(run: Terminal) -> None:
    out = run.bare("bench", "reproduce", "rsum-ablation", "--commands").out
    assert out.count("$ theanine bench responses msc --method ") == 3


def test_all_tables_are_listed_with_the_states_of_their_figures(run: Terminal) -> None:
    rows = run.bare("bench", "reproduce").out.splitlines()
    counts = [list(map(int, row.replace(",", "").split()[-4:])) for row in rows[1:]]
    assert [row.split()[0] for row in rows[1:]] == [*(table.id for table in load_tables()), "all"]
    assert all(figures == sum(states) for figures, *states in counts)
    *tables, total = counts
    assert total == [sum(column) for column in zip(*tables, strict=True)]
    refused = run.bare("bench", "reproduce", "--limit", "3", fine=False)
    assert (refused.code, "name the table" in refused.err) == (2, True)
