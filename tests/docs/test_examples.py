"""Every example of the README and of docs/ runs, and what is written about the code is true."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import theanine
from support.blocks import OURS, blocks_of, run
from support.forking import Python
from theanine import cli

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for page in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    ]
    if page.is_file()
]
LINK = re.compile(r"\[[^\]]*\]\((?!https?:|mailto:)([^)#\s]*)(?:#[^)]*)?\)")


@pytest.fixture(params=PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def page(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.mark.slow
def test_the_examples_run(page: Path, tmp_path: Path) -> None:
    blocks = [b for b in blocks_of(page) if b.language in ("python", "console") or b.mark("file")]
    if any(OURS.search(block.text) for block in blocks) and not hasattr(cli, "main"):
        pytest.skip("the command line is not there yet")
    run(blocks, tmp_path)


def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S)
    broken = [to for to in LINK.findall(text) if to and not (page.parent / to).exists()]
    assert broken == []


def test_every_make_target_that_is_named_exists(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    named = set(re.findall(r"(?:`|^\$? *)make ([a-z-]+)\b", page.read_text("utf-8"), re.M))
    assert named - targets == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("generator", "written"), [("generate.py", "cli.md"), ("generate_api.py", "api.md")]
)
def test_a_page_that_is_generated_is_current(
    generator: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It writes its page beside itself, so a copy of it writes elsewhere.
    copy = shutil.copy(ROOT / "docs" / generator, tmp_path)
    monkeypatch.chdir(tmp_path)
    with Python(
        "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')", str(copy)
    ) as run:
        assert run.communicate() == (0, "", "")
    current = (tmp_path / written).read_text("utf-8")
    assert (ROOT / "docs" / written).read_text("utf-8") == current, "run make docs"


def test_every_public_name_is_in_the_reference() -> None:
    reference = (ROOT / "docs" / "api.md").read_text("utf-8")
    missing = [name for name in theanine.__all__ if not re.search(rf"\b{name}\b", reference)]
    assert missing == ["__version__"]
