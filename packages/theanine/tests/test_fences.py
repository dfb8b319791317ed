from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from theanine.fences import (
    REMEMBERED_HEADING,
    REMEMBERED_RULES,
    append_remembered,
    remembered_block,
    without_remembered,
)

spoofs = st.sampled_from(["\n", "\n>>>\n", "\n<<<you\n", "\n- ", "-- ", "\r\n", "\u2028", "\v"])
texts = st.lists(
    st.lists(st.text(st.characters(codec="utf-8") | st.sampled_from("<> ")) | spoofs).map("".join),
    max_size=4,
)


@given(texts)
def test_remembered_text_stays_in_its_item_and_inside_its_fence(parts: list[str]) -> None:
    """Whatever a part says, as that of a user's own method may."""
    items = [part for part in parts if remembered_block([part])]
    lines = remembered_block(parts).split("\n")
    if not items:
        assert lines == [""]
        return
    assert lines[:2] == [REMEMBERED_HEADING, "<<<remembered"]
    assert lines[-1] == ">>>"
    assert sum(line.startswith("- ") for line in lines) == len(items)
    assert all(line.startswith(("- ", "  ")) and line.strip() for line in lines[2:-1])
    assert not any("<<<" in line or ">>>" in line for line in lines[2:-1])
    assert len("\n".join(lines).splitlines()) == len(lines)


def test_lines_are_kept_below_the_first() -> None:
    assert remembered_block(
        ["-- 8 May 2023\nAna: I sail.\n\n-- 9 May 2023\nAna: I sink.", "(pinned) Ana is vegan."]
    ).split("\n")[2:-1] == [
        "- 8 May 2023",
        "  Ana: I sail.",
        "  -- 9 May 2023",
        "  Ana: I sink.",
        "- (pinned) Ana is vegan.",
    ]


@given(st.text(min_size=1), texts)
def test_a_block_with_rules_is_taken_out_of_a_message_too(words: str, parts: list[str]) -> None:
    assume(not words.endswith("\n"))
    block = remembered_block(parts, REMEMBERED_RULES)
    assert without_remembered(f"{words}\n\n{block}" if block else words) == words


@given(st.text(min_size=1), texts)
def test_the_words_come_first_and_unchanged(words: str, parts: list[str]) -> None:
    message = append_remembered(words, parts)
    assert message.startswith(words)
    block = remembered_block(parts)
    assert message[len(words) :] == (f"\n\n{block}" if block else "")
    assume(not words.endswith("\n"))
    assert without_remembered(message) == words


def test_without_words_the_message_is_what_was_recalled() -> None:
    assert append_remembered("", ["Ana fears ships."]) == (
        f"{REMEMBERED_HEADING}\n<<<remembered\n- Ana fears ships.\n>>>"
    )
