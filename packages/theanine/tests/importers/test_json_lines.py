"""Our JSON Lines: sessions, defaults, memories, faults, and a round trip."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.history_samples import line, save
from theanine.errors import BadInput
from theanine.importers import read_histories
from theanine.types import ImportedMemory, Utterance

NOON = datetime(2024, 5, 8, 12, tzinfo=UTC)


def read(text: str, *, memories: bool = False) -> list[tuple[str, list[str]]]:
    reading = read_histories(StringIO(text), format="jsonl", memories=memories)
    return [(t.key, [u.text for u in t.turns]) for h in reading.histories for t in h.transcripts]


def at(minutes: int) -> str:
    return (NOON + timedelta(minutes=minutes)).isoformat()


def test_a_pause_of_more_than_30_minutes_starts_a_session() -> None:
    text = "".join(line(text=str(m), at=at(m)) for m in (0, 30, 61, 62))
    assert read(text) == [(at(0), ["0", "30"]), (at(61), ["61", "62"])]


def test_sessions_may_be_interleaved_and_users_are_separate() -> None:
    text = "".join(
        line(text=t, session=s, user=u, at=at(i))
        for i, (t, s, u) in enumerate(
            [("a", "x", "ana"), ("b", "y", "ana"), ("c", "x", "ana"), ("d", "x", "bo")]
        )
    )
    reading = read_histories(StringIO(text))
    assert [h.name for h in reading.histories] == ["ana", "bo"]
    assert read(text) == [("x", ["a", "c"]), ("y", ["b"]), ("x", ["d"])]


def test_without_a_user_the_file_names_the_history(tmp_path: Path) -> None:
    file = save(tmp_path, "ana.jsonl", line())
    assert read_histories(file).histories[0].name == "ana"
    assert read_histories(file, name="eva").histories[0].name == "eva"


def test_metadata_is_read_and_other_kinds_of_values_are_faults() -> None:
    metadata = {"channel": "web", "priority": 2, "paid": True, "score": 0.5, "topic": None}
    [turn] = read_histories(StringIO(line(metadata=metadata))).histories[0].transcripts[0].turns
    assert turn.metadata == metadata
    with pytest.raises(BadInput, match=r"metadata\.tags.*found a list"):
        read_histories(StringIO(line(metadata={"tags": ["a"]})))


def test_offsets_are_kept_and_naive_times_need_a_zone() -> None:
    offset = read_histories(StringIO(line())).histories[0].transcripts[0].turns[0].at
    assert offset.utcoffset() == timedelta(hours=2)
    naive = line(at="2024-05-08T13:56:00")
    with pytest.raises(BadInput, match="no UTC offset"):
        read_histories(StringIO(naive))
    zone = timezone(timedelta(hours=-3))
    turn = read_histories(StringIO(naive), zone=zone).histories[0].transcripts[0].turns[0]
    assert turn.at == datetime(2024, 5, 8, 13, 56, tzinfo=zone)


def test_a_repeated_turn_is_dropped_and_a_reused_key_is_an_error() -> None:
    reading = read_histories(StringIO(line(key="k") + line(key="k")))
    assert len(reading.histories[0].transcripts[0].turns) == 1
    assert reading.notes == {"repeated turns": 1}
    with pytest.raises(BadInput, match=r'line 2.*the key "k" is taken'):
        read(line(key="k") + line(key="k", text="Else."))


def test_unknown_fields_are_counted() -> None:
    assert read_histories(StringIO(line(mood="fine"))).notes == {
        'unknown fields ignored: "mood"': 1
    }


MEMORY = json.dumps({"memory": "Ana sails.", "session": "x", "speakers": ["Ana"], "sources": ["1"]})


def test_memories_belong_to_their_session() -> None:
    text = MEMORY + "\n" + line(session="x")
    (transcript,) = read_histories(StringIO(text), memories=True).histories[0].transcripts
    assert transcript.memories == [
        ImportedMemory(text="Ana sails.", speakers=("Ana",), source_keys=("1",))
    ]
    reading = read_histories(StringIO(text))
    assert not reading.histories[0].transcripts[0].memories
    assert sum(reading.notes.values()) == 1
    with pytest.raises(BadInput, match="import it with --memories"):
        read(MEMORY)


def test_memories_without_turns_are_undated_unless_they_have_a_date() -> None:
    dated = json.dumps({"memory": "Bo too.", "session": "y", "at": at(0)})
    transcripts = (
        read_histories(StringIO(f"{MEMORY}\n{dated}"), memories=True).histories[0].transcripts
    )
    assert [(t.key, t.dated) for t in transcripts] == [("x", False), ("y", True)]


def test_a_memory_must_name_turns_of_its_session() -> None:
    text = line(session="x") + MEMORY.replace('"1"', '"7"')
    with pytest.raises(BadInput, match=r'line 2: the source "7" is not a turn'):
        read(text, memories=True)


BAD_LINES = {
    "{oops": "broken JSON at column 2",
    "[1]": "expected an object",
    "{" * 3 + '"a":1': "broken JSON",
    "[" * 100_000: "nested too deeply",
    "9" * 5000: "broken JSON",
    line(speaker=None): '"speaker" is missing',
    line(text=None): '"text" is missing',
    line(at=None): '"at" is missing',
    line(speaker=" "): '"speaker" is empty',
    line(text="  "): "an empty turn",
    line(text=7): "expected text",
    line(role="boss"): "expected 'user'",
    line(at="yesterday"): "not an ISO 8601 time",
    line(at="1024-05-08T13:56:00+02:00"): "the year 1024",
    line(at="9999-12-31T23:59:59-12:00"): "the year 9999",
    line(at=1715169360): "expected text",
    line(text="a\0b"): "a NUL at character 1",
    line(text="ab\ud800"): r"a lone surrogate \(U\+D800\) at character 2",
    line(key="\udfff"): "a lone surrogate",
    line(text="é" * (2 * 1024 * 1024 + 1)): "at most 4,194,304",
}


@pytest.mark.parametrize(("bad", "reason"), BAD_LINES.items(), ids=range(len(BAD_LINES)))
def test_a_bad_line_is_named_and_skipped_with_keep_going(bad: str, reason: str) -> None:
    text = line(text="before", at=at(0)) + bad.strip() + "\n" + line(text="after", at=at(1))
    with pytest.raises(BadInput, match=reason) as caught:
        read(text)
    assert caught.value.where.startswith("standard input, line 2")
    reading = read_histories(StringIO(text), format="jsonl", keep_going=True)
    assert [u.text for u in reading.histories[0].transcripts[0].turns] == ["before", "after"]
    assert len(reading.rejected) == 1
    assert reading.rejected[0].where.startswith("standard input, line 2")


def test_a_turn_of_a_megabyte() -> None:
    assert len(read(line(text="x" * 1_000_000))[0][1][0]) == 1_000_000


def test_a_turn_out_of_order_is_named() -> None:
    with pytest.raises(BadInput, match=r"line 2: out of order.*sort the turns"):
        read(line(at=at(5)) + line(at=at(1)))


def test_all_bad_lines_are_listed_up_to_twenty() -> None:
    with pytest.raises(BadInput) as caught:
        read("{oops\n" * 25)
    message = str(caught.value)
    assert "25 items" in message
    assert "line 20:" in message
    assert "line 21:" not in message
    assert "and 5 more" in message


def test_the_format_is_detected_despite_a_bad_first_line(tmp_path: Path) -> None:
    file = save(tmp_path, "x.data", "{oops\n" + line())
    with pytest.raises(BadInput, match="line 1: broken JSON"):
        read_histories(file)


def test_bytes_of_a_stream_are_checked() -> None:
    stream = TextIOWrapper(BytesIO(line().encode() + b'{"speaker": "\xff"}\n'))
    with pytest.raises(BadInput, match=rf"line 2: not UTF-8 at byte {len(line()) + 13}"):
        read_histories(stream)


turns = st.lists(
    st.tuples(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
        st.sampled_from(["Ana", "李雪", "🦊"]),
        st.sampled_from(["user", "assistant", "agent"]),
        st.integers(0, 10**7),
        st.sampled_from(["x", "y"]),
    ).filter(lambda t: bool(t[0].strip())),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60)
@given(turns, st.integers(-12, 14))
def test_round_trip(items: Sequence[tuple[str, str, str, int, str]], offset: int) -> None:
    zone, time, text_lines = timezone(timedelta(hours=offset)), NOON, ""
    expected: dict[str, list[Utterance]] = {}
    for text, speaker, role, seconds, session in items:
        time = (time + timedelta(seconds=seconds)).astimezone(zone)
        session_turns = expected.setdefault(session, [])
        utterance = Utterance(
            text=text,
            speaker=speaker,
            at=time,
            role="user" if role == "user" else "assistant",
            key=str(len(session_turns) + 1),
        )
        session_turns.append(utterance)
        text_lines += line(
            text=text, speaker=speaker, role=role, at=time.isoformat(), session=session
        )
    reading = read_histories(StringIO(text_lines))
    assert {t.key: t.turns for t in reading.histories[0].transcripts} == expected
