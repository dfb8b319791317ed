"""Plain text: how it is split into turns and sessions."""

from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO

import pytest

from theanine.errors import BadInput
from theanine.importers import read_histories
from theanine.types import Transcript


def sessions(text: str) -> list[Transcript]:
    return list(read_histories(StringIO(text), format="text").histories[0].transcripts)


def turns_by_session(text: str) -> list[list[str]]:
    return [[f"{t.speaker}={t.text}" for t in s.turns] for s in sessions(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ana: a\nBo: b\n\nAna: c\n", [["Ana=a", "Bo=b"], ["Ana=c"]]),
        ("Ana: a\nBo: b\n---\nAna: c\n\nBo: d", [["Ana=a", "Bo=b"], ["Ana=c", "Bo=d"]]),
        ("Ana: a\n\nBo: b\n\nAna: c\n\nBo: d\n", [["Ana=a", "Bo=b", "Ana=c", "Bo=d"]]),
        ("# one\nAna: a\n# two\nAna: b\n", [["Ana=a"], ["Ana=b"]]),
        ("Ana: a\nand more\n  Note: indented\n", [["Ana=a\nand more\nNote: indented"]]),
        ("Ana: see\nhttps://x.test/y\n", [["Ana=see\nhttps://x.test/y"]]),
        (
            "安娜：你好\r\nDr. O'Neil-Smith (host): hi\r\n",
            [["安娜=你好", "Dr. O'Neil-Smith (host)=hi"]],
        ),
    ],
)
def test_turns_and_sessions(text: str, expected: list[list[str]]) -> None:
    assert turns_by_session(text) == expected


def test_dates_separate_and_order_sessions() -> None:
    text = (
        "# 2024-05-09\nAna: late\n---\n\nBo: same day\n"
        "# Tuesday, 2024-05-08 13:56\nAna: early\n# 2024-05-09\nAna: again\n"
    )
    first, second, third = sessions(text)
    assert first.at == datetime(2024, 5, 8, 13, 56, tzinfo=UTC)
    assert [t.text for t in second.turns] == ["late", "same day"]
    assert second.at == datetime(2024, 5, 9, 12, tzinfo=UTC)
    assert third.at > second.turns[-1].at
    assert all(t.dated for t in (first, second, third))


def test_an_offset_in_a_header_is_kept() -> None:
    (only,) = sessions("# 2024-05-08 13:56 +02:00\nAna: hi\n")
    assert only.at.isoformat() == "2024-05-08T13:56:00+02:00"


def test_assistants_are_recognized_by_name() -> None:
    (only,) = sessions("Ana: hi\nAssistant: hello\n")
    assert [t.role for t in only.turns] == ["user", "assistant"]


@pytest.mark.parametrize(
    ("text", "where", "reason"),
    [
        ("well well\nAna: hi\n", "line 1", "Speaker"),
        ("Ana: hi\nBo:\n", "line 2", "empty turn"),
        ("Ana: hi\n# 2024-05-08\nAna: hi\n", "line 1", "before the first date"),
        ("# 2024-13-08\nAna: hi\n", "line 1", "ISO 8601"),
        ("# 1066-10-14\nAna: hi\n", "line 1", "1066"),
        ("Ana: h\0i\n", "line 1", "NUL"),
    ],
)
def test_faults_name_their_line(text: str, where: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason) as caught:
        sessions(text)
    assert caught.value.where == f"standard input, {where}"


def test_session_keys_depend_on_the_text() -> None:
    first, second = sessions("Ana: hi\n"), sessions("Ana: ho\n")
    assert first[0].key != second[0].key
    assert first[0].key == sessions("Ana: hi\n")[0].key
