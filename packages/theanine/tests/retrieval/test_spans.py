"""The days that a question names."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine.retrieval.temporal import find_date_ranges

TODAY = date(2024, 5, 15)  # a Wednesday


def day(month: int, number: int, year: int = 2024) -> tuple[date, date]:
    return (date(year, month, number), date(year, month, number))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did she plant on 3 March, 2023?", [day(3, 3, 2023)]),
        ("What did she plant on March 3rd, 2023?", [day(3, 3, 2023)]),
        ("Who called on 2023-03-03?", [day(3, 3, 2023)]),
        ("Where was he in March 2023?", [(date(2023, 3, 1), date(2023, 3, 31))]),
        ("Where was he in 2023?", [(date(2023, 1, 1), date(2023, 12, 31))]),
        ("Where was he in early February?", [(date(2024, 2, 1), date(2024, 2, 9))]),
        ("What broke in winter 2023?", [(date(2023, 12, 1), date(2024, 2, 29))]),
        ("What broke in the summer of 2023?", [(date(2023, 6, 1), date(2023, 8, 31))]),
        ("Who called on May 4?", [day(5, 4)]),
    ],
)
def test_named_days(question: str, expected: list[tuple[date, date]]) -> None:
    assert find_date_ranges(question, years=[2024]) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who called yesterday?", [day(5, 14)]),
        ("Who called the day before yesterday?", [day(5, 13)]),
        ("Who called on Sunday?", [day(5, 12)]),
        ("Who called last Wednesday?", [day(5, 8)]),
        ("What did I do last week?", [(date(2024, 5, 6), date(2024, 5, 12))]),
        ("What did I do last month?", [(date(2024, 4, 1), date(2024, 4, 30))]),
        ("What did I do last year?", [(date(2023, 1, 1), date(2023, 12, 31))]),
        ("What did I do in the past two weeks?", [(date(2024, 5, 1), TODAY)]),
        ("What did I do this month?", [(date(2024, 5, 1), TODAY)]),
        ("What did I do two weeks ago?", [(date(2024, 4, 29), date(2024, 5, 3))]),
    ],
)
def test_days_counted_from_today(question: str, expected: list[tuple[date, date]]) -> None:
    assert find_date_ranges(question, today=TODAY) == expected
    assert find_date_ranges(question) == []


@pytest.mark.parametrize(
    "question",
    [
        "May I march with you?",
        "Who won 2077 coins?",
        "What is at 30 May 99%?".replace("May", "of"),
        "Which of the 31 February plans?",
        "Call 2024-13-45 now",
    ],
)
def test_what_names_no_day(question: str) -> None:
    assert find_date_ranges(question, years=[2023]) == []


_PIECES = st.sampled_from(
    "last past this in on of the two 40 999 days weeks years ago May Mar 31 29 0 2024 1999 "
    "2024-02-30 yesterday Sunday winter , ? ’s".split()
)


@given(st.lists(_PIECES), st.dates(), st.lists(st.integers(1, 9999), max_size=3))
def test_any_wording_gives_spans_that_run_forward(
    pieces: list[str], today: date, years: list[int]
) -> None:
    for start, end in find_date_ranges(" ".join(pieces), years, today):
        assert start <= end


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("Was war am 8. Mai 2024?", "2024-05-08", "2024-05-08"),
        ("Was ist am 8.5.2024 passiert?", "2024-05-08", "2024-05-08"),
        ("Was habe ich im März gesagt?", "2024-03-01", "2024-03-31"),
        ("Was habe ich letzte Woche gemacht?", "2024-05-06", "2024-05-12"),
        ("Was war vor drei Tagen bei mir?", "2024-05-12", "2024-05-12"),
        ("Was habe ich gestern gegessen?", "2024-05-14", "2024-05-14"),
        ("¿Qué pasó el 8 de mayo de 2024?", "2024-05-08", "2024-05-08"),
        ("¿Qué dije en marzo?", "2024-03-01", "2024-03-31"),
        ("¿Qué hice la semana pasada?", "2024-05-06", "2024-05-12"),
        ("¿Qué hice hace tres días?", "2024-05-12", "2024-05-12"),
        ("5月8日我说了什么？", "2024-05-08", "2024-05-08"),
        ("二〇不算，五月八号我做了什么？", "2024-05-08", "2024-05-08"),
        ("三月我说了什么？", "2024-03-01", "2024-03-31"),
        ("上周我做了什么？", "2024-05-06", "2024-05-12"),
        ("上个月我做了什么？", "2024-04-01", "2024-04-30"),
        ("三天前我做了什么？", "2024-05-12", "2024-05-12"),
        ("５月８日に何をした？", "2024-05-08", "2024-05-08"),
        ("先週は何をした？", "2024-05-06", "2024-05-12"),
        ("三月に何があった？", "2024-03-01", "2024-03-31"),
        ("昨日は何を食べた？", "2024-05-14", "2024-05-14"),
    ],
)
def test_dates_in_other_languages(question: str, first: str, last: str) -> None:
    today = date(2024, 5, 15)
    expected = [(date.fromisoformat(first), date.fromisoformat(last))]
    assert find_date_ranges(question, years=[2024], today=today) == expected


@pytest.mark.parametrize(
    "question",
    ["Was mag meine Mai-Tante?", "¿Qué hago los lunes?", "每周四我做什么？", "月曜は何をする？"],
)
def test_no_dates_in_other_languages(question: str) -> None:
    assert find_date_ranges(question, years=[2024], today=date(2024, 5, 15)) == []
