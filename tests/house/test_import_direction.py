"""Imports run one way: cli, server, evaluation → agent → methods → … → errors. Never back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from house.tree import ROOT, SOURCE, imports_of, module_of

AGENT = 5
LAYERS = {
    "errors": 0, "clock": 0,
    "conversation": 1, "memory": 1, "graph": 1,
    "retrieval": 2, "models": 2, "store": 2, "formats": 2,
    "steps": 3,
    "methods": 4,
    # Whatever is not named here stands beside the agent: config, sync, remembering and the like.
    "agent": AGENT,
    "testing": 6,
    "cli": 7, "server": 7, "evaluation": 7, "__main__": 7,
    "": 8,
}  # fmt: skip
ADAPTERS = (
    "models.fastembed", "models.open", "models.provider", "models.pydantic_ai",
    "models.scripted", "models.sentence_transformers", "models.static",
    "store.postgres", "store.sqlite",
)  # fmt: skip

FILES = sorted(SOURCE.rglob("*.py"))


def layer(module: str) -> int:
    return LAYERS.get(module.partition(".")[0], AGENT)


def crossings(path: Path) -> Iterator[tuple[str, str, str]]:
    """Place, importer and imported of each import that leaves its top-level package."""
    module = module_of(path)
    for line, name in imports_of(path):
        if name.partition(".")[0] != module.partition(".")[0]:
            yield f"{path.relative_to(ROOT)}:{line}", module, name


def test_the_source_is_found() -> None:
    assert SOURCE / "errors.py" in FILES


def test_imports_never_run_back() -> None:
    # The package itself may be imported by the outermost layers, as any user would.
    wrong = [
        f"{where} imports theanine.{name}"
        for path in FILES
        for where, module, name in crossings(path)
        if layer(name) > layer(module)
        and not (name in ("", "__version__") and layer(module) >= LAYERS["testing"])
    ]
    assert wrong == []


def test_nothing_but_the_outermost_layer_imports_the_testing_server() -> None:
    wrong = [
        f"{where} imports theanine.{name}"
        for path in FILES
        for where, module, name in crossings(path)
        if name.startswith("testing") and layer(module) <= AGENT
    ]
    assert wrong == []


def test_sibling_methods_never_import_each_other() -> None:
    methods = {path.name for path in (SOURCE / "methods").iterdir() if path.is_dir()}
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports theanine.{name}"
        for path in FILES
        if (parts := module_of(path).split("."))[0] == "methods" and parts[1:]
        for line, name in imports_of(path)
        if (to := name.split("."))[0] == "methods" and to[1:]
        and parts[1] in methods and to[1] in methods and to[1] != parts[1]
    ]  # fmt: skip
    assert wrong == []


@pytest.mark.parametrize("package", ["steps", "methods"])
def test_methods_and_steps_see_ports_never_adapters(package: str) -> None:
    wrong = [
        f"{where} imports theanine.{name}"
        for path in FILES
        for where, module, name in crossings(path)
        if module.partition(".")[0] == package
        and any(name == one or name.startswith(f"{one}.") for one in ADAPTERS)
    ]
    assert wrong == []
