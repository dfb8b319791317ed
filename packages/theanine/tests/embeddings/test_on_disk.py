"""Names of models in folders and on the hub: two models never share one."""

from __future__ import annotations

import shutil
from contextlib import chdir
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine.embeddings.on_disk import fingerprint, option_for, resolve_source
from theanine.errors import SettingsError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that looks like a model's."""
    made = tmp_path / "minilm"
    (made / "1_Pooling").mkdir(parents=True)
    (made / "model.safetensors").write_bytes(bytes(range(256)) * 10_000)
    (made / "1_Pooling" / "config.json").write_text("{}")
    return made


def test_a_folder_gives_its_name_and_a_fingerprint(folder: Path) -> None:
    source = resolve_source("fastembed", str(folder))
    assert source.name == f"fastembed:minilm@{fingerprint(folder)}"
    assert source.folder == folder.resolve()


def test_a_moved_folder_keeps_its_name(folder: Path, tmp_path: Path) -> None:
    before = resolve_source("x", str(folder)).name
    moved = tmp_path / "elsewhere" / "minilm"
    shutil.move(folder, moved)
    assert resolve_source("x", str(moved)).name == before


def test_a_relative_path_is_the_same_model(folder: Path) -> None:
    with chdir(folder.parent):
        assert resolve_source("x", "minilm") == resolve_source("x", str(folder))
        assert resolve_source("x", "./minilm/") == resolve_source("x", str(folder))


def test_another_model_at_the_same_path_has_another_name(folder: Path) -> None:
    before = resolve_source("x", str(folder)).name
    weights = folder / "model.safetensors"
    changed = bytearray(weights.read_bytes())
    changed[-1] ^= 1
    weights.write_bytes(changed)
    assert resolve_source("x", str(folder)).name != before


def test_a_file_more_or_under_another_name_makes_another_model(folder: Path) -> None:
    first = fingerprint(folder)
    (folder / "added.json").write_text("")
    second = fingerprint(folder)
    (folder / "added.json").rename(folder / "renamed.json")
    assert len({first, second, fingerprint(folder)}) == 3


def test_what_is_no_part_of_the_model_does_not_count(folder: Path) -> None:
    before = fingerprint(folder)
    (folder / "README.md").write_text("Read me.")
    (folder / ".git").mkdir()
    (folder / ".git" / "config.json").write_text("{}")
    assert fingerprint(folder) == before


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "intfloat/e5-small-v2", "a/b.c_d-1"])
def test_a_name_on_the_hub_is_kept(name: str) -> None:
    source = resolve_source("cross-encoder", name)
    assert (source.name, source.model, source.folder) == (f"cross-encoder:{name}", name, None)


@pytest.mark.parametrize(
    "model", ["", " ", "/nowhere/minilm", "./minilm", "a/b/c", "~/no/such/x", "~nobody-here"]
)
def test_a_path_without_a_folder_is_named(model: str) -> None:
    with pytest.raises(SettingsError, match="Give the path of a model") as raised:
        resolve_source("fastembed", model)
    assert f"fastembed:{model}" in str(raised.value)


def test_the_name_of_a_stored_model_leads_back_to_its_folder(folder: Path) -> None:
    name = resolve_source("fastembed", str(folder)).name
    assert option_for(name) == "fastembed:…/minilm"
    assert option_for("openai:text-embedding-3-small") == "openai:text-embedding-3-small"
    with pytest.raises(SettingsError, match="give the path of that folder"):
        resolve_source("fastembed", name.removeprefix("fastembed:"))


@pytest.mark.slow
@given(st.text(max_size=400))
def test_any_name_is_a_hubs_or_an_error_of_ours(model: str) -> None:
    try:
        source = resolve_source("x", model)
    except SettingsError:
        return
    assert source.folder is not None or source.name == f"x:{model}"
