"""An expression that is compiled late finds what the compiled one finds."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from theanine.lazy_pattern import lazy_pattern

EXPRESSION = r"(?P<first>a+)|b(c?)"


@given(st.text("abcA "), st.sampled_from([0, re.IGNORECASE]), st.booleans())
def test_it_is_the_compiled_one(text: str, flags: int, later: bool) -> None:
    compiled = re.compile(EXPRESSION, flags)
    lazy = lazy_pattern((lambda: EXPRESSION) if later else EXPRESSION, flags)
    assert [match.groupdict() for match in lazy.finditer(text)] == [
        match.groupdict() for match in compiled.finditer(text)
    ]
    assert (lazy.findall(text), lazy.sub("-", text)) == (
        compiled.findall(text),
        compiled.sub("-", text),
    )
    assert (lazy.pattern, lazy.flags, lazy.groups) == (
        compiled.pattern,
        compiled.flags,
        compiled.groups,
    )


def test_nothing_is_compiled_before_its_first_use() -> None:
    made: list[str] = []

    def expression() -> str:
        made.append("once")
        return EXPRESSION

    lazy = lazy_pattern(expression)
    assert not made
    assert lazy.search("xb") and lazy.match("aa")
    assert made == ["once"]
