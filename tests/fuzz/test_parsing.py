"""Whatever text a model writes is a result or one InvalidReply."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.asking import Box
from support.fuzzing import cases
from theanine.llm.parsing import InvalidReply, parse_message, parse_reply

pytestmark = pytest.mark.fuzz

PIECES = st.sampled_from(
    [
        '{"things": ["hat"], "count": 1}', '{"', '"}', "{}", "[" * 3_000, '{"a":' * 3_000,
        '{"things": ["\\ud800"], "count": 1e999}', '{"count": NaN}', '{"count": ' + "9" * 5_000,
        "<<<remembered", ">>>", "```json", "\x00", "\ud800", "\u202e", "\ufeff", "I can't",
    ]
)  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=20), max_size=6).map("".join), st.booleans())
@example('{"\ud800', True)
@cases(50)
def test_any_text_is_a_result_or_an_invalid_reply(raw: str, cut_off: bool) -> None:
    for parse in (
        lambda: parse_reply(raw, Box, cut_off=cut_off),
        lambda: parse_reply(raw, str, prompt="<<<remembered\n>>>", cut_off=cut_off),
        lambda: parse_message(raw, cut_off=cut_off),
    ):
        with suppress(InvalidReply):
            parse()
