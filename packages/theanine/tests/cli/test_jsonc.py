"""JSON with comments is edited in place: all else keeps its form, to the byte."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine.cli.coding_agents import jsonc

SETTINGS = """\
// What the editor has
{
    /* of the user */ "model": "opus", // the best
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "say done"}]}, // loud
        ],
    },
    "url": "https://example.com/*not-a-comment*/", "n": [1, -2.5e3, null],
}
"""
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)
SPACES = st.sampled_from(["", " ", "\n", "\n  ", "\t", ' // a, "b": {\n', "/* ] */", " /*}*/ "])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """An object, written with any space and comments, and maybe trailing commas."""

    def write(value: Any) -> str:
        space = draw(SPACES)
        if isinstance(value, dict):
            parts = [
                f"{draw(SPACES)}{json.dumps(key)}{draw(SPACES)}:{write(each)}{draw(SPACES)}"
                for key, each in cast("dict[str, Any]", value).items()
            ]
            brackets = "{}"
        elif isinstance(value, list):
            parts, brackets = (
                [f"{write(each)}{draw(SPACES)}" for each in cast("list[Any]", value)],
                "[]",
            )
        else:
            return space + json.dumps(value)
        comma = "," if parts and draw(st.booleans()) else ""
        return f"{space}{brackets[0]}{','.join(parts)}{comma}{draw(SPACES)}{brackets[1]}"

    return write(draw(st.dictionaries(st.text(max_size=5), VALUES, max_size=4))) + draw(SPACES)


def test_comments_and_commas_are_read() -> None:
    value = jsonc.read(SETTINGS)
    assert value["model"] == "opus" and value["n"] == [1, -2500.0, None]
    assert value["url"] == "https://example.com/*not-a-comment*/"
    assert jsonc.read("\n") == {}


def test_a_member_is_added_beside_comments() -> None:
    text = jsonc.put('{\n  "a": 1 // one\n}\n', ["servers", "x"], {"b": 2})
    assert text == (
        '{\n  "a": 1, // one\n  "servers": {\n    "x": {\n      "b": 2\n    }\n  }\n}\n'
    )
    assert jsonc.remove(text, ["servers", "x"]) == '{\n  "a": 1 // one\n}\n'
    assert jsonc.put("", ["a"], 1) == '{\n  "a": 1\n}\n'


def test_an_item_is_added_to_a_list_with_a_trailing_comma() -> None:
    text = jsonc.append(SETTINGS, ["hooks", "Stop"], {"hooks": []})
    assert jsonc.read(text)["hooks"]["Stop"][1] == {"hooks": []}
    assert '"say done"}]}, // loud\n            {\n' in text
    assert jsonc.remove(text, ["hooks", "Stop", 1]) == SETTINGS


def test_what_is_left_empty_goes() -> None:
    assert jsonc.remove('{"a": {"b": {"c": 1}}, "d": 2}', ["a", "b", "c"]) == '{ "d": 2}'
    assert jsonc.remove('{"a": 1}', ["a"]) == "{}"
    assert jsonc.remove('{"a": 1}', ["b", "c"]) == '{"a": 1}'


def test_of_several_members_of_a_name_the_last_counts() -> None:
    assert jsonc.put('{"a": 1, "a": 2}', ["a"], 3) == '{"a": 1, "a": 3}'


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "1",
        "{",
        '{"a"}',
        '{"a": 1 "b": 2}',
        '{"a": 01}',
        "{,}",
        '{"a": "\n"}',
        "{'a': 1}",
        "{} {}",
    ],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(jsonc.NotJson):
        jsonc.read(text)


def test_a_deep_value_is_refused() -> None:
    with pytest.raises(jsonc.NotJson, match="too deeply"):
        jsonc.read('{"a":' * 5_000 + "1" + "}" * 5_000)


@given(documents(), VALUES, st.booleans())
def test_what_is_put_can_be_removed_again(text: str, value: Any, nested: bool) -> None:
    before = jsonc.read(text)
    path = ["theanine servers", "theanine"] if nested else ["theanine"]
    put = jsonc.put(text, path, value)
    assert jsonc.read(put) == {**before, path[0]: {path[1]: value} if nested else value}
    assert jsonc.put(put, path, value) == put or isinstance(value, dict | list)
    removed = jsonc.remove(put, path)
    assert jsonc.read(removed) == before
    if before:
        assert removed == text


@given(documents(), st.data())
def test_removing_any_member_leaves_the_others(text: str, data: st.DataObject) -> None:
    before = jsonc.read(text)
    if before:
        name = data.draw(st.sampled_from(sorted(before)))
        after = jsonc.read(jsonc.remove(text, [name]))
        assert after == {key: value for key, value in before.items() if key != name}
