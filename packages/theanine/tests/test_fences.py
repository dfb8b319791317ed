from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from theanine.fences import REMEMBERED_HEADING, append_remembered, remembered_block

texts = st.lists(st.text(st.characters(codec="utf-8") | st.sampled_from("<>\n\u2028")), max_size=4)


@given(texts)
def test_remembered_text_stays_on_its_lines_and_inside_its_fence(parts: list[str]) -> None:
    lines = remembered_block(parts).split("\n")
    if not parts:
        assert lines == [""]
        return
    assert lines[:2] == [REMEMBERED_HEADING, "<<<remembered"]
    assert lines[-1] == ">>>"
    assert len(lines) == len(parts) + 3
    assert not any("<<<" in line or ">>>" in line for line in lines[2:-1])


@given(st.text(min_size=1), texts)
def test_the_words_come_first_and_unchanged(words: str, parts: list[str]) -> None:
    message = append_remembered(words, parts)
    assert message.startswith(words)
    assert message[len(words) :] == (f"\n\n{remembered_block(parts)}" if parts else "")


def test_without_words_the_message_is_what_was_recalled() -> None:
    assert append_remembered("", ["Ana fears ships."]) == (
        f"{REMEMBERED_HEADING}\n<<<remembered\n- Ana fears ships.\n>>>"
    )
