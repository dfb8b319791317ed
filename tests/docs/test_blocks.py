"""The runner of examples finds them, runs them in order, and notices when one is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.blocks import blocks_of, commands_of, matches, run

ROOT = Path(__file__).parents[2]
PAGE = """# A page

```jsonl file=talk.jsonl
{"a": 1}
```

```python
from dataclasses import dataclass
from pathlib import Path

@dataclass
class Told:
    text: str

told = Told(Path("talk.jsonl").read_text())
```

1. A list:

   ```python
   assert told.text == '{"a": 1}\\n'
   Path("done").touch()
   ```

```console exact
$ theanine recall \\
    "a question"
an answer
$ echo not ours
not ours
```
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE, "utf-8")
    return path


def test_blocks_are_found_with_their_lines_and_marks(page: Path) -> None:
    found = blocks_of(page)
    assert [(b.language, b.line) for b in found] == [
        ("jsonl", 4),
        ("python", 8),
        ("python", 21),
        ("console", 26),
    ]
    assert found[0].mark("file") == "talk.jsonl"
    assert found[2].text.startswith("assert")


def test_commands_carry_the_output_under_them(page: Path) -> None:
    first, second = commands_of(blocks_of(page)[-1])
    assert first.words.split() == ["theanine", "recall", '"a', 'question"']
    assert first.shown == "an answer\n"
    assert second.words == "echo not ours"


def test_python_blocks_share_a_namespace_and_a_folder(page: Path, tmp_path: Path) -> None:
    run(blocks_of(page)[:3], tmp_path)
    assert (tmp_path / "done").exists()


def test_a_wrong_example_names_its_line(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n```python\nx = 1\nassert x == 2\n```\n", "utf-8")
    with pytest.raises(AssertionError) as caught:
        run(blocks_of(page), tmp_path)
    assert (caught.traceback[-1].path, caught.traceback[-1].lineno) == (page, 4)


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("one\ntwo\n", "one  \ntwo\n\n", True),
        ("one\ntwo\n", "one\n2\n", False),
        ("one\n…\nfour\n", "one\ntwo\nthree\nfour\n", True),
        ("one\n…\nfour\n", "one\nfour\n", True),
        ("one\n…\nfour\n", "one\ntwo\n", False),
        ("took … s\n", "took 0.3 s\n", True),
        ("took … s\n", "took 0.3\n s\n", False),
        ("(a+b)\n", "(a+b)\n", True),
    ],
)
def test_output_is_compared_line_by_line(shown: str, printed: str, same: bool) -> None:
    assert matches(shown, printed) is same


def test_every_line_that_installs_is_one_of_a_checkout() -> None:
    """Until theanine is in an index, ``pip install theanine`` would install nothing of it."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for words in re.findall(r"pip install ([^`\n]*)", page.read_text("utf-8")):
            named = re.findall(r"[\w/-]*\btheanine(?:-bench)?\b", words)
            assert all(name.startswith("packages/") for name in named), (page.name, words)
