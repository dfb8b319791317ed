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
    base, dev, extras, integrations, server = (
        _versions(ROOT / "requirements" / f"{name}.txt")
        for name in ("base", "dev", "extras", "integrations", "server")
    )
    assert len(LOCKS) == 5
    assert base
    assert not _other_versions(base, dev) and base.keys() <= dev.keys()
    # fastembed keeps to an older one; tokenizers takes either
    assert _other_versions(extras, dev) <= {"huggingface-hub"}
    # Google ADK keeps to older ones; the others take either
    opentelemetry = {f"opentelemetry-{part}" for part in ("api", "sdk", "semantic-conventions")}
    assert _other_versions(integrations, dev | extras) <= opentelemetry
    assert not _other_versions(server, integrations | dev)
    assert server.keys() <= integrations.keys() | dev.keys()


def _versions(lock: Path) -> dict[str, set[str]]:
    """Return the versions of each package in a lock: more than one, for several Pythons."""
    versions: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==(\S+)", lock.read_text("utf-8"), re.MULTILINE):
        versions.setdefault(name, set()).add(version)
    return versions


def _other_versions(lock: dict[str, set[str]], held: dict[str, set[str]]) -> set[str]:
    """Return the packages of a lock that another one has in other versions."""
    return {name for name, versions in lock.items() if not versions <= held.get(name, versions)}


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
    temporary = ("importers/coding.py", "private_files.py")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for package in PACKAGES.values()
        for path in sorted(package.rglob("*.py"))
        if not str(path).endswith(temporary)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if creating.search(line)
    ]
    assert found == []
