"""What no file in the repository may hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.tree import PACKAGES, ROOT, tracked_files

MACHINE_PATH = re.compile(r"/(?:root|work|farm|home/\w+|Users/\w+|opt/\w+)/\w")
REGISTRY = re.compile(
    r"\bpy(?:pi|thonhosted)\.(?:org|io)|\bnpm(?:js|mirror)\.(?:org|com)|--(?:extra-)?index-url|"
    r"--find-links|\bproxy\.golang"
)
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


def _lines() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for path in tracked_files():
        text = path.read_bytes().decode("utf-8", "replace")
        where = path.relative_to(ROOT)
        found += [(f"{where}:{i}", line) for i, line in enumerate(text.splitlines(), 1)]
    return found


@pytest.mark.parametrize("forbidden", [MACHINE_PATH, REGISTRY], ids=["machine-path", "registry"])
def test_no_file_names_a_place_of_one_machine_or_a_registry(forbidden: re.Pattern[str]) -> None:
    this = str(Path(__file__).relative_to(ROOT))
    found = [
        f"{where}: {line.strip()[:100]}"
        for where, line in _lines()
        if forbidden.search(line) and not where.startswith(this)
    ]
    assert found == []


def test_no_merge_was_left_half_done() -> None:
    assert [where for where, line in _lines() if re.match(r"(<{7}|>{7}) ", line)] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_the_lock_pins_and_hashes_everything_and_names_no_place(lock: Path) -> None:
    text = re.sub(r"#.*", "", lock.read_text("utf-8"))
    entries = [" ".join(entry.split()) for entry in text.replace("\\\n", " ").splitlines()]
    entries = [entry for entry in entries if entry]
    shape = re.compile(r"[\w.-]+(\[[\w,-]+\])?==\S+( ; [^-]+?)?( --hash=sha256:[0-9a-f]{64})+")
    assert len(entries) > 20
    assert [entry[:80] for entry in entries if not shape.fullmatch(entry)] == []


def test_the_locks_agree() -> None:
    base, dev, extras, integrations = (
        set(re.findall(r"^([\w.-]+==\S+)", lock.read_text("utf-8"), re.MULTILINE)) for lock in LOCKS
    )
    assert base
    assert base <= dev
    of_extras, of_dev = (dict(pin.split("==") for pin in pins) for pins in (extras, dev))
    twice = {name for name, version in of_extras.items() if of_dev.get(name, version) != version}
    assert twice <= {"huggingface-hub"}  # fastembed keeps to an older one; tokenizers takes either
    of_integrations = dict(pin.split("==") for pin in integrations)
    held = of_dev | of_extras
    twice = {
        name for name, version in of_integrations.items() if held.get(name, version) != version
    }
    assert twice <= {
        "opentelemetry-api"
    }  # Google ADK keeps to an older one; the others take either


def test_every_folder_of_the_source_is_a_package() -> None:
    homeless = {
        str(path.parent.relative_to(ROOT))
        for source in PACKAGES.values()
        for path in source.rglob("*.py")
        if not (path.parent / "__init__.py").is_file() and "migrations" not in path.parts
    }
    assert homeless == set()


def test_files_are_written_for_their_owner_alone() -> None:
    """Code creates files and folders by ``theanine.private_files``, or in a temporary folder."""
    creating = re.compile(
        r"\.mkdir\(|\.touch\(|makedirs|(?<!private_files)\.write_(?:text|bytes)\("
        r"|\bopen\((?!.*opener=).*[\"'](?:[wax]|r\+)b?\+?[\"']"
    )
    temporary = ("importers/cursor.py", "private_files.py")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for package in PACKAGES.values()
        for path in sorted(package.rglob("*.py"))
        if not str(path).endswith(temporary)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if creating.search(line)
    ]
    assert found == []
