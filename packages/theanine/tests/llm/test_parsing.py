"""A reply is read leniently around the answer and strictly inside it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from theanine.llm.parsing import InvalidReply, find_object, parse_reply
from theanine.llm.schema import schema_of

PLAIN_TEXT = st.text(st.characters(exclude_characters='{}"', exclude_categories=("Cs",)))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


class Named(BaseModel):
    """A docstring that no model needs to pay for."""

    title: str = Field(description="its name")
    parts: list[Part]


class Part(BaseModel):
    """Another one."""

    size: int


@pytest.mark.slow
@given(before=PLAIN_TEXT, value=st.dictionaries(st.text(), VALUES), after=PLAIN_TEXT)
def test_text_around_the_object_is_ignored(
    before: str, value: dict[str, object], after: str
) -> None:
    assert find_object(f"{before}{json.dumps(value)}{after}") == value
    assert find_object(f"{before}\n```json\n{json.dumps(value, indent=2)}\n```\n{after}") == value


@pytest.mark.slow
@given(value=st.dictionaries(st.text(), VALUES, min_size=1), data=st.data())
def test_a_cut_off_object_is_never_accepted(value: dict[str, object], data: st.DataObject) -> None:
    whole = json.dumps(value)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(InvalidReply):
        find_object(cut)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ("No.", "no JSON object; it begins 'No.'"),
        ('{"title": "a", "parts": [{"size": 1}, {"si', "broken or cut off"),
        ('{"title": "a", "parts": [], }', "broken or cut off"),
        ('{"title": "a"} {"title": "b"}', "2 JSON objects"),
        ('{"title": "a", "parts": [{"size": "big"}]}', "parts.0.size: Input should be"),
        ('{"title": "a", "parts": ' + "[" * 50_000, "nested too deeply"),
        ('{"title": ' + "9" * 5_000 + "}", "broken or cut off"),
        ("I cannot help with this.", "looks like a refusal"),
    ],
)
def test_the_fault_is_named(raw: str, says: str) -> None:
    with pytest.raises(InvalidReply) as caught:
        parse_reply(raw, Named)
    assert says in str(caught.value)
    assert len(str(caught.value)) < 800


@pytest.mark.parametrize("unit", ["{", '{"', '{"a":', "[", '{"a":1}', "}", "x", "🙂"])
def test_hostile_lengths_are_read_at_once(unit: str) -> None:
    with pytest.raises(InvalidReply):
        parse_reply(unit * (300_000 // len(unit)), Named)


def test_plain_text_is_stripped() -> None:
    assert parse_reply("  so it is\n", str) == "so it is"


def test_the_schema_keeps_what_the_fields_mean_and_drops_the_rest() -> None:
    schema = schema_of(Named)
    assert schema is not None
    assert schema["properties"]["title"] == {"description": "its name", "type": "string"}
    assert "docstring" not in json.dumps(schema)
    assert "Another" not in json.dumps(schema)
    assert schema["$defs"]["Part"]["required"] == ["size"]
    assert schema_of(str) is None
