"""The files of the page: small, complete, and of no other host."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest

import theanine.page
from theanine.page.modules import join_modules
from theanine.profile.profile import AREAS, Certainty
from theanine_server.page.assets import ENTRY, POLICY, load_assets

LIMIT = 130_000
"""Bytes that a browser loads, gzipped."""
STATIC = Path(theanine.page.__file__).parent / "static"
FILES = [path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.*")]
TEXTS = [path for path in FILES if path.startswith("texts/")]
KEY = re.compile(r'^  (?:"([\w. -]+)"|(\w+)):', re.MULTILINE)
USED = re.compile(r"""\bt\(["']([\w.]+)["']|title: ["'](nav\.[\w.]+)["']""")
VALUE = re.compile(r"\{(\w+)\}")
CALL = re.compile(r"""\bt\(["']([\w. -]+)["'](?:, \{([^{}]*)\})?\)""")


def text(path: str) -> str:
    return (STATIC / path).read_text("utf-8")


def own(ending: str) -> list[str]:
    return [path for path in FILES if path.endswith(ending) and not path.startswith("vendor/")]


def test_the_whole_page_is_small() -> None:
    sizes = {name: len(asset.gzipped) for name, asset in load_assets().items()}
    assert sum(sizes.values()) < LIMIT, sizes


def test_no_file_names_another_host() -> None:
    allowed = ("http://www.w3.org/",)
    for name, asset in load_assets().items():
        addresses = re.findall(r"https?://[\w./-]+", asset.content.decode())
        assert [a for a in addresses if not a.startswith(allowed)] == [], name
    assert "http" not in POLICY and "unsafe" not in POLICY


def test_every_module_is_served() -> None:
    script = load_assets()[ENTRY].content.decode() + join_modules("file.js")
    for path in own(".js"):
        exported = re.findall(
            r"^export (?:async )?(?:function\*?|const|class) (\w+)", text(path), re.M
        )
        assert all(f" {name}" in script for name in exported), path


@pytest.mark.parametrize(
    ("files", "error"),
    [
        (
            {"a.js": 'import { b } from "./b.js";', "b.js": 'import { a } from "./a.js";'},
            "each other",
        ),
        ({"a.js": 'import * as b from "./b.js";'}, "not translated"),
        ({"a.js": "export let a = 1;"}, "not translated"),
    ],
)
def test_other_forms_of_modules_are_refused(files: dict[str, str], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        join_modules("a.js", files.__getitem__)


def test_nothing_stored_can_become_markup() -> None:
    for path in own(".js"):
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|\beval\(|new Function", text(path)
        )


def test_every_language_has_every_text_with_the_same_values() -> None:
    english = read_texts("texts/en.js")
    assert len(TEXTS) >= 2
    for path in TEXTS:
        translated = read_texts(path)
        assert translated.keys() == english.keys(), path
        for key, words in translated.items():
            assert set(VALUE.findall(words)) == set(VALUE.findall(english[key])), (path, key)


def test_every_text_that_is_asked_for_is_there() -> None:
    keys = read_texts("texts/en.js").keys()
    used = {a or b for path in own(".js") for a, b in USED.findall(text(path))}
    assert len(used) > 20
    assert used - keys == set()


def test_every_value_of_a_text_is_given() -> None:
    english = read_texts("texts/en.js")
    calls = [call for path in own(".js") for call in CALL.findall(text(path))]
    assert len(calls) > 100
    for key, given in calls:
        names = {part.split(":")[0].strip() for part in given.split(",")}
        assert set(VALUE.findall(english[key])) <= names, key


def test_all_that_a_profile_says_has_a_text() -> None:
    keys = read_texts("texts/en.js").keys()
    assert {f"certainty.{each}" for each in get_args(Certainty) if each != "said"} <= keys
    assert {f"area.{area}" for area in AREAS} <= keys


def test_other_texts_than_code_are_in_the_files_of_languages() -> None:
    """Words between tags, such as ``<p>Loading</p>``, would stay in one language."""
    words = re.compile(r"<(?:p|h\d|button|label|strong|a|li|span)\b[^<>{}$]*>\s*[A-Z][a-z]+ [a-z]")
    for path in own(".js"):
        assert not words.search(text(path)), (path, words.search(text(path)))


def read_texts(path: str) -> dict[str, str]:
    """Return the source of each text of a language by its key."""
    source = text(path)
    starts = [*KEY.finditer(source)]
    ends = [match.start() for match in starts[1:]] + [len(source)]
    return {m[1] or m[2]: source[m.end() : end] for m, end in zip(starts, ends, strict=True)}


@pytest.mark.parametrize("path", TEXTS)
def test_no_text_is_given_twice(path: str) -> None:
    keys = sorted(match[1] or match[2] for match in KEY.finditer(text(path)))
    assert [a for a, b in pairwise(keys) if a == b] == []
