"""The drawing of a wanted reply names every field, every choice and what may be left out."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from theanine.llm.schema import schema_hint, schema_of


class Item(BaseModel):
    number: int = Field(description="of the turn")
    kind: Literal["old", "new"]
    note: str | None = None


class Answer(BaseModel):
    items: list[Item]
    sure: bool


def test_the_short_form_of_a_schema() -> None:
    assert schema_hint(schema_of(Answer) or {}) == (
        '{"items": [{"number": whole number (of the turn), "kind": "old"|"new", '
        '"note"?: text|null}, …], "sure": true|false}'
    )
