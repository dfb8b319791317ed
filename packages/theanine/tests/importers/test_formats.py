"""A sample of every format of a data set: sessions, times, speakers, keys and notes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from support import history_samples as samples
from theanine.errors import BadInput, SettingsError
from theanine.importers import FORMATS, read_histories
from theanine.types import History, ImportedMemory

DAY = timedelta(days=1)
NEW_YEAR = datetime(2000, 1, 1, tzinfo=UTC)


def only(path: Path, *, memories: bool = False) -> History:
    reading = read_histories(path, memories=memories)
    assert len(reading.histories) == 1
    return reading.histories[0]


def starts(history: History) -> list[timedelta]:
    return [t.at - history.transcripts[0].at for t in history.transcripts]


SAMPLES = {
    "locomo": [samples.locomo()],
    "msc": samples.msc(),
    "cc": [samples.cc()],
    "memorybank": samples.memorybank(),
    "beam": samples.beam(),
    "longmemeval": samples.longmemeval(),
    "secom": [
        [
            "<Turn 0>: [human]: Is it [bot]: or not?\n[bot]: It is.\nReally.",
            "[user]: A\n[agent]: B",
        ],
        ["<Turn 0>: [human]: I sail.\n[bot]: "],
    ],
    "memories": samples.memories(),
    "text": "Ana: Hello.\nBo: Hi.\n",
    "jsonl": samples.line(),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_every_format_is_detected_by_its_content(name: str, tmp_path: Path) -> None:
    file = samples.save(tmp_path, "data", SAMPLES[name])
    detected = read_histories(file, memories=FORMATS[name].memories)
    named = read_histories(file, format=name, memories=FORMATS[name].memories)
    assert detected.format == name
    assert detected == named


@pytest.mark.parametrize("name", SAMPLES)
def test_times_never_go_back_and_keys_are_unique(name: str, tmp_path: Path) -> None:
    file = samples.save(tmp_path, "data", SAMPLES[name])
    for history in read_histories(file, memories=FORMATS[name].memories).histories:
        keys = [t.key for t in history.transcripts]
        assert len(keys) == len(set(keys)) > 0
        for transcript in history.transcripts:
            times = [turn.at for turn in transcript.turns]
            assert times == sorted(times)
            assert len({turn.key for turn in transcript.turns}) == len(transcript.turns)


def test_locomo_keeps_dates_order_pictures_and_turn_ids(tmp_path: Path) -> None:
    history = only(samples.save(tmp_path, "l.json", [samples.locomo()]))
    first, last = history.transcripts
    assert (history.name, first.key, last.key) == (
        "conv-1",
        "conv-1/session_2",
        "conv-1/session_10",
    )
    assert [(t.key, t.attachment) for t in first.turns] == [
        ("D2:1", "a red boat"),
        ("D2:2", "a grey cat"),
    ]
    assert first.turns[1].at == datetime(2023, 5, 8, 13, 56, 1, tzinfo=UTC)
    assert last.at == datetime(2023, 6, 1, 0, 5, tzinfo=UTC)
    assert first.dated
    assert history.notes == {"dates without a zone": 2}


def test_locomo_observations_are_memories_with_their_turns(tmp_path: Path) -> None:
    history = only(samples.save(tmp_path, "l.json", [samples.locomo()]), memories=True)
    assert history.transcripts[0].memories == [
        ImportedMemory(text="Ana owns a red boat.", speakers=("Ana",), source_keys=("D2:1",)),
        ImportedMemory(text="Both like cats.", speakers=("Ana",), source_keys=("D2:1", "D2:2")),
        ImportedMemory(text="Bo is late.", speakers=("Bo",), source_keys=("D2:2",)),
    ]
    assert history.notes["memories' sources that name no turn of their session"] == 1


def test_a_session_just_before_midnight_stays_on_its_day(tmp_path: Path) -> None:
    record = samples.locomo()
    turns = [{"speaker": "Bo", "dia_id": f"D1:{i}", "text": "Yes"} for i in range(200)]
    record["conversation"] = {"session_1_date_time": "11:59 pm on 8 May, 2023", "session_1": turns}
    times = [t.at for t in only(samples.save(tmp_path, "l.json", record)).transcripts[0].turns]
    assert len(set(times)) == 200
    assert {at.day for at in times} == {8}


def test_a_zone_for_naive_dates(tmp_path: Path) -> None:
    file = samples.save(tmp_path, "l.json", [samples.locomo()])
    reading = read_histories(file, zone=timezone(timedelta(hours=2)))
    assert reading.histories[0].transcripts[0].at == datetime(2023, 5, 8, 11, 56, tzinfo=UTC)
    assert reading.notes == {}


def test_msc_includes_the_earlier_sessions_with_their_gaps(tmp_path: Path) -> None:
    history = only(samples.save(tmp_path, "m.jsonl", samples.msc()))
    assert history.name == "valid_7"
    assert starts(history) == [timedelta(), 6 * DAY, 6 * DAY + timedelta(hours=3)]
    assert [t.speaker for s in history.transcripts for t in s.turns] == [
        "Speaker 1",
        "Speaker 2",
        "Speaker 1",
        "Speaker 1",
        "Speaker 2",
    ]
    assert history.transcripts[0].at == NEW_YEAR
    assert not any(t.dated for t in history.transcripts)


def test_msc_personas_of_earlier_sessions_are_memories_if_asked_for(tmp_path: Path) -> None:
    file = samples.save(tmp_path, "m.jsonl", samples.msc())
    assert not any(session.memories for session in only(file).transcripts)
    [history] = read_histories(file, memories=True).histories
    assert [
        [(memory.text, memory.speakers) for memory in session.memories]
        for session in history.transcripts
    ] == [[], [("I travel.", ("Speaker 1",)), ("I stay.", ("Speaker 2",))], []]
    broken: Any = samples.msc()
    broken["previous_dialogs"][1]["personas"] = [["ok", 3]]
    with pytest.raises(BadInput, match=r"previous_dialogs\[1\]\.personas\[0\]\[1\]"):
        read_histories(samples.save(tmp_path, "b.jsonl", broken), memories=True)


def test_undated_sessions_start_at_the_given_date(tmp_path: Path) -> None:
    file = samples.save(tmp_path, "m.jsonl", samples.msc())
    start = datetime(2020, 2, 2, tzinfo=UTC)
    first = read_histories(file, start=start).histories[0].transcripts[0]
    assert (first.at, first.dated) == (start, True)
    assert first.turns[1].at - first.turns[0].at == timedelta(minutes=1)


@pytest.mark.parametrize("separator", [" ", "_"])
def test_cc_accepts_both_spellings_of_its_fields(separator: str, tmp_path: Path) -> None:
    history = only(samples.save(tmp_path, "c.json", [samples.cc(separator)]))
    assert history.name == "episode-1"
    assert starts(history) == [timedelta(), 3 * DAY, 733 * DAY]
    assert history.transcripts[2].turns[1].speaker == "Neighbor B"
    assert history.transcripts[2].turns[1].key == "2"


def test_secoms_exchanges_have_both_speakers_and_no_dates(tmp_path: Path) -> None:
    history = only(samples.save(tmp_path, "example.json", SAMPLES["secom"]))
    said = [[turn.text for turn in one.turns] for one in history.transcripts]
    assert said == [["Is it [bot]: or not?", "It is.\nReally.", "A", "B"], ["I sail."]]
    assert [turn.role for turn in history.transcripts[0].turns] == ["user", "assistant"] * 2
    assert [one.key for one in history.transcripts] == ["example/1", "example/2"]
    assert not any(one.dated for one in history.transcripts)
    broken = samples.save(tmp_path, "broken.json", [["[human]: A\n[bot]: B", "[human]: alone"]])
    with pytest.raises(BadInput, match=r"broken.json, \[0\]\[1\]: it is not"):
        read_histories(broken)


def test_memorybank_has_one_session_per_day_with_the_assistant(tmp_path: Path) -> None:
    history = only(samples.save(tmp_path, "b.json", samples.memorybank()))
    first, second = history.transcripts
    assert (history.name, first.key) == ("Mia", "Mia/2023-04-27")
    assert [(t.speaker, t.role) for t in first.turns[:2]] == [("Mia", "user"), ("AI", "assistant")]
    assert first.at == datetime(2023, 4, 27, 12, tzinfo=UTC)
    assert second.at > first.at


def test_chatgpt_reads_the_current_branch_and_counts_what_it_omits(tmp_path: Path) -> None:
    history = only(samples.save(tmp_path, "conversations.json", samples.chatgpt()))
    (session,) = history.transcripts
    assert (history.name, session.key) == ("chatgpt", "c-1")
    assert [(t.key, t.role, t.full_text) for t in session.turns] == [
        ("u1", "user", "See this. [shares a picture]"),
        ("a1", "assistant", "I see."),
        ("u2", "user", "Thanks."),
    ]
    assert history.notes == {
        "system and tool messages left out": 1,
        "turns moved to keep time order": 1,
        "hidden messages left out": 1,
        "turns without a time": 1,
        "messages of other branches left out": 1,
    }


def test_chatgpt_export_folders(tmp_path: Path) -> None:
    samples.save(tmp_path, "conversations-000.json", samples.chatgpt())
    more = samples.chatgpt()
    more[0]["id"] = "c-2"
    samples.save(tmp_path, "conversations-001.json", more)
    samples.save(tmp_path, "user.json", {})
    assert [t.key for t in only(tmp_path).transcripts] == ["c-1", "c-2"]


def test_beam_has_one_session_per_batch(tmp_path: Path) -> None:
    history = only(samples.save(tmp_path, "7/chat.json", samples.beam()))
    assert history.name == "beam-7"
    assert [len(t.turns) for t in history.transcripts] == [4, 2]
    assert history.transcripts[1].at == datetime(2024, 4, 5, 12, tzinfo=UTC)
    assert [t.key for t in history.transcripts[1].turns] == ["4", "5"]


@pytest.mark.parametrize("others", [{}, {"plan-1": None, "plan-3": None}])
def test_beam_plans_of_batches(tmp_path: Path, others: dict[str, None]) -> None:
    first, second = samples.beam()
    plans = [{"plan-1": [first]}, {**others, "plan-2": [second]}]
    whole, split = (
        only(samples.save(tmp_path, f"{folder}/chat.json", chat))
        for folder, chat in (("7", [first, second]), ("8", plans))
    )
    assert split.name == "beam-8"
    for expected, actual in zip(whole.transcripts, split.transcripts, strict=True):
        assert (actual.turns, actual.at) == (expected.turns, expected.at)


def test_a_faulty_batch_of_a_plan_is_named(tmp_path: Path) -> None:
    file = samples.save(
        tmp_path, "8/chat.json", [{"plan-1": samples.beam()}, {"plan-2": [7]}, {"plan-3": 7}]
    )
    rejected = read_histories(file, keep_going=True).rejected
    assert [(item.where, item.reason) for item in rejected] == [
        ("chat.json, [1].plan-2[0]", "expected an object {…}, found a number"),
        ("chat.json, [2].plan-3", "expected a list […], found a number"),
    ]


def test_beam_folders_prefer_the_truncated_chat(tmp_path: Path) -> None:
    samples.save(tmp_path, "10/chat.json", samples.beam())
    samples.save(tmp_path, "9/chat.json", samples.beam())
    samples.save(tmp_path, "9/chat_trunecated.json", samples.beam()[:1])
    histories = read_histories(tmp_path).histories
    assert [(h.name, len(h.transcripts)) for h in histories] == [("beam-9", 1), ("beam-10", 2)]


def test_msc_folders_keep_the_longest_version_of_each_episode(tmp_path: Path) -> None:
    longest = samples.msc()
    shorter = {
        "dialog": [{"id": "Speaker 1", "text": "I leave now."}],
        "metadata": longest["metadata"],
        "previous_dialogs": [
            {"dialog": [{"text": "Hello."}, {"text": "Hi."}], "time_back": "6 days ago"}
        ],
    }
    samples.save(tmp_path, "session_3/valid.jsonl", longest)
    samples.save(tmp_path, "session_2/valid.jsonl", shorter)
    history = only(tmp_path)
    assert [len(t.turns) for t in history.transcripts] == [2, 1, 2]
    history = only(tmp_path, memories=True)  # of a session that ends a shorter file, too
    assert [len(t.memories) for t in history.transcripts] == [0, 2, 0]


def test_longmemeval_sorts_a_haystack_by_date(tmp_path: Path) -> None:
    history = only(samples.save(tmp_path, "h.json", samples.longmemeval()))
    assert [t.key for t in history.transcripts] == ["q1/s2", "q1/s1"]
    assert history.notes["sessions sorted by time"] == 2


def test_memories_without_turns(tmp_path: Path) -> None:
    file = samples.save(tmp_path, "m.json", samples.memories())
    history = only(file, memories=True)
    assert [(t.key, [m.text for m in t.memories]) for t in history.transcripts] == [
        ("episode-9/s1", ["Ana sails.", "Bo has a cat."]),
        ("episode-9/s2", ["Ana sold the boat."]),
    ]
    assert starts(history) == [timedelta(), DAY]
    with pytest.raises(BadInput, match="--memories"):
        read_histories(file)


def test_memories_of_a_format_without_them_are_an_error(tmp_path: Path) -> None:
    file = samples.save(tmp_path, "t.txt", "Ana: Hello.\n")
    with pytest.raises(SettingsError, match="holds no memories"):
        read_histories(file, memories=True)
