"""Dates and times in all languages of CLDR, as devices and people write them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.resources import files
from itertools import product
from pathlib import Path

import pytest

from support.history_samples import save
from theanine.importers import read_histories
from theanine.importers.written_dates import (
    find_clock,
    find_date,
    hour_of,
    time_in_name,
    written_time,
)

MAY, FEBRUARY = datetime(2024, 5, 13, 21, 56, tzinfo=UTC), datetime(2024, 2, 3, 8, 5, tzinfo=UTC)
SAMPLES: list[list[str]] = json.loads(
    Path(__file__).with_name("locale_dates.json").read_text("utf-8")
)
WORDS = json.loads((files("theanine.importers") / "calendar_words.json").read_text("utf-8"))
NO_DIGITS = {"tok", "dz"}
"""Languages that write the date or the time as a sentence."""
OTHER_CLOCKS = {"brx", "ee", "sq", "yo", "yo_BJ", "dz"}
"""Languages whose parts of the day mean others elsewhere, or that write no leading zero."""


def samples(*left_out: str) -> list[list[str]]:
    return [row for row in SAMPLES if row[0] not in {*NO_DIGITS, *left_out}]


@pytest.mark.parametrize("layout", ["{date}, {time} - ", "[{date}, {time}] ", "{date} {time} - "])
def test_chats_of_whatsapp_in_all_locales(layout: str, tmp_path: Path) -> None:
    wrong: dict[str, object] = {}
    for name, date, _, short, medium, date2, _, short2, medium2 in samples(*OTHER_CLOCKS):
        bracket = layout.startswith("[")
        first = layout.format(date=date2, time=medium2 if bracket else short2)
        second = layout.format(date=date, time=medium if bracket else short)
        chat = f"{first}Ana: Bok: kako si?\nOr later.\n{second}Bo: Dobro.\n"
        history = read_histories(
            save(tmp_path, "WhatsApp Chat with Bo.txt", chat), format="whatsapp"
        ).histories[0]
        said = [
            (turn.speaker, turn.text, turn.at.replace(second=0))
            for session in history.transcripts
            for turn in session.turns
        ]
        if said != [("Ana", "Bok: kako si?\nOr later.", FEBRUARY), ("Bo", "Dobro.", MAY)]:
            wrong[name] = said
    assert wrong == {}


def test_halves_of_the_day_before_and_after_the_time(tmp_path: Path) -> None:
    wrong: list[str] = []
    for word, span in WORDS["halves"].items():
        hour = hour_of(9, (span[0], span[1]))
        if not any(character.isdigit() or character in ":-" for character in word):
            before = len(word) % 2
            stamp = f"13/05/2024 {word} 9:56" if before else f"13/05/2024, 9:56 {word}"
            file = save(tmp_path, "WhatsApp Chat with Bo.txt", f"{stamp} - Ana: Hello.\n")
            (session,) = read_histories(file, format="whatsapp").histories[0].transcripts
            if (session.at.hour, session.at.minute) != (hour, 56):
                wrong.append(stamp)
    assert len(wrong) <= 0.01 * len(WORDS["halves"]), wrong


STAMPS = [
    "2025년 3월 21일 금요일 {} 8시 4분 9초 UTC",
    "2025年3月21日 星期五 {}8时04分09秒 UTC",
    "2025年3月21日金曜日 {} 8時4分9秒 UTC",
    "2025년 3월 21일 금요일 {} 8:04:09 UTC",
    "Friday, March 21, 2025 at 8:04:09 {} UTC",
    "viernes, 21 de marzo de 2025, 8:04:09 {} UTC",
]
AMBIGUOUS = {"12.00", "24.00", "2ja", "f", "m.d.", "mo", "u.t.", "بعد از چاشت"}
"""Numbers, and words that mean other hours in another language but for dots and spaces."""


@pytest.mark.parametrize("stamp", STAMPS)
def test_halves_of_the_day_between_a_weekday_a_time_and_a_zone(stamp: str, tmp_path: Path) -> None:
    words = [word for word in WORDS["halves"] if word not in AMBIGUOUS]
    messages = [
        {
            "creator": {"name": "Ana"},
            "created_date": stamp.format(word),
            "text": word,
            "topic_id": word,
        }
        for word in words
    ]
    reading = read_histories(save(tmp_path, "messages.json", {"messages": messages}))
    assert reading.format == "google-chat"
    read = {turn.text: turn.at for s in reading.histories[0].transcripts for turn in s.turns}
    right = {
        word: f"2025-03-21T{hour_of(8, tuple(WORDS['halves'][word])):02}:04:09" for word in words
    }
    wrong = {w: (at, read.get(w)) for w, at in right.items() if f"{read.get(w):%FT%T}" != at}
    assert wrong == {}


@pytest.mark.parametrize(
    ("text", "right"),
    [("오후 12시 30분", "12:30:00"), ("下午8点", "20:00:00"), ("8點04分", "08:04:00"),
     ("9h 5m 3s 20ms", "09:05:03"), ("8時間4分", None), ("3시간 전", None)],
)  # fmt: skip
def test_times_of_day_in_units(text: str, right: str | None) -> None:
    clock = find_clock(text)
    assert (clock and clock.isoformat()) == right


@pytest.mark.parametrize(
    ("word", "hour", "right"),
    [("pm", 12, 12), ("am", 12, 0), ("中午", 11, 11), ("中午", 12, 12), ("凌晨", 12, 0),
     ("晚上", 6, 18), ("下午", 1, 13), ("ÖS", 9, 21), ("ب.ظ", 9, 21), ("р.\u00a0m.", 9, 9)],
)  # fmt: skip
def test_hours_of_parts_of_the_day(word: str, hour: int, right: int) -> None:
    clock = find_clock(f"{hour}:30 {word}")
    assert clock is not None
    assert clock.hour == right


LONG = {
    *("aa ab af ar az be bg bn bs ca cs cy da de el en en_US es es_MX et eu fa fi fil fr fr_CA ga"
      " gl gu ha he hi hr hu hy id ig is it ja ka kk km kn ko ky lo lt lv mk ml mr ms my nb ne nl"
      " nn or pa pl ps pt ro ru sd si sk sl so sq sr sv sw ta te th tk tr uk ur uz vi zh zh_Hant"
      " zu").split()
}  # fmt: skip


@pytest.mark.parametrize("row", [row for row in SAMPLES if row[0] in LONG and row[0] != "aa"])
def test_long_dates(row: list[str]) -> None:
    for text, (month, day) in ((row[2], (5, 13)), (row[6], (2, 3))):
        found = find_date(text)
        assert found is not None, text
        assert (found.year, found.month, found.day) == (2024, month, day), text


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("Friday, May 10th 2024, 9:00:00 am", "2024-05-10T09:00"),
        ("11.05.2024", "2024-05-11T12:00"),
        ("[[2024-05-08]]", "2024-05-08T12:00"),
        ("2024_05_08", "2024-05-08T12:00"),
        ("202405081356 Boats", "2024-05-08T12:00"),
        ("May 8th, 2024", "2024-05-08T12:00"),
        ("2024-W19", "2024-05-06T12:00"),
        ("mar. 14 mai 2024 à 21h05", "2024-05-14T21:05"),
        ("2024-05-09T10:00", "2024-05-09T10:00"),
        ("8 de mayo de 2024", "2024-05-08T12:00"),
        ("۱۴۰۳/۰۲/۲۴", "2024-05-13T12:00"),
        ("13/5/2567", "2024-05-13T12:00"),
        ("13. Mai 2024 um 21:56 Uhr", "2024-05-13T21:56"),
        ("13-05-2024-10-30", "2024-05-13T12:00"),
        ("Version 1.2.3", None),
        ("Chapter 3", None),
        ("Recipe: 10.5 eggs, 1/2 cup", None),
        ("Maya 2024", None),
        ("31.02.2024", None),
    ],
)
def test_dates_as_people_write_them(text: str, right: str | None) -> None:
    at = written_time(text, UTC)
    assert (at and f"{at:%FT%H:%M}") == right


DATES = ("2024-05-13", "2024.05.13", "2024_5_13", "20240513", "2024-05.13")
BEFORE = ("", "S01E02 ", "Interview 12 ", "May-", "talk with March 12 ", "v1.2 ", "x_", "GMT")
AFTER = {
    **dict.fromkeys(("", " final", "_1080p.vtt", "_1440p", " 9999", "-7", " (2)"), "12:00"),
    **dict.fromkeys(("-195600", "_19-56", "T1956Z", " 19.56.00 cut", " @ 19h56m00"), "19:56"),
}


@pytest.mark.parametrize(("before", "date"), list(product(BEFORE, DATES)))
def test_a_files_name_is_dated_by_the_date_with_the_year_first(before: str, date: str) -> None:
    wrong: dict[str, object] = {}
    for after, clock in AFTER.items():
        at = time_in_name(f"{before}{date}{after}", UTC)
        if f"{at:%F %H:%M}" != f"2024-05-13 {clock}":
            wrong[after] = at
    assert wrong == {}
