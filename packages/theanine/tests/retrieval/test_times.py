"""Times in questions in all languages."""

from __future__ import annotations

import calendar
from datetime import date, timedelta

import pytest

from theanine.retrieval.calendar_days import DAY_NUMBERS, DateRange
from theanine.retrieval.languages import Language
from theanine.retrieval.temporal import find_intervals

TODAY = date(2024, 6, 19)
"""A Wednesday."""
DAYS: tuple[DateRange, ...] = (
    (date(2024, 6, 18), date(2024, 6, 18)),
    (date(2024, 6, 10), date(2024, 6, 16)),
    (date(2024, 3, 1), date(2024, 3, 31)),
    (date(2024, 6, 10), date(2024, 6, 10)),
    (date(2024, 6, 16), date(2024, 6, 16)),
    (date(2023, 1, 1), date(2023, 12, 31)),
    (date(2024, 6, 17), TODAY),
)
QUESTIONS: dict[Language, str] = {
    "en": "What did I do {}?",
    "de": "Was habe ich {} gemacht?",
    "es": "¿Qué hice yo {}?",
    "fr": "Qu'est-ce que j'ai fait {} ?",
    "it": "Che cosa ho fatto {}?",
    "pt": "O que eu fiz {}?",
    "hr": "Što sam radila {}?",
    "ru": "Что я делала {}?",
    "ar": "ماذا فعلت {}؟",
    "hi": "मैंने {} क्या किया?",
    "tr": "Ben {} ne yaptım?",
    "ko": "내가 {} 뭘 했지?",
    "zh": "我{}做了什么？",
    "ja": "私は{}何をした？",
}
TIMES: dict[Language, tuple[str, ...]] = {
    "en": (
        "yesterday",
        "last week",
        "in March 2024",
        "on 10 June",
        "three days ago",
        "last year",
        "since Monday",
    ),
    "de": (
        "gestern",
        "letzte Woche",
        "im März 2024",
        "am 10. Juni",
        "vor drei Tagen",
        "letztes Jahr",
        "seit Montag",
    ),
    "es": (
        "ayer",
        "la semana pasada",
        "en marzo de 2024",
        "el 10 de junio",
        "hace tres días",
        "el año pasado",
        "desde el lunes",
    ),
    "fr": (
        "hier",
        "la semaine dernière",
        "en mars 2024",
        "le 10 juin",
        "il y a trois jours",
        "l'année dernière",
        "depuis lundi",
    ),
    "it": (
        "ieri",
        "la settimana scorsa",
        "a marzo 2024",
        "il 10 giugno",
        "tre giorni fa",
        "l'anno scorso",
        "da lunedì",
    ),
    "pt": (
        "ontem",
        "na semana passada",
        "em março de 2024",
        "no dia 10 de junho",
        "há três dias",
        "no ano passado",
        "desde segunda-feira",
    ),
    "hr": (
        "jučer",
        "prošli tjedan",
        "u ožujku 2024.",
        "10. lipnja",
        "prije tri dana",
        "prošle godine",
        "od ponedjeljka",
    ),
    "ru": (
        "вчера",
        "на прошлой неделе",
        "в марте 2024 года",
        "10 июня",
        "три дня назад",
        "в прошлом году",
        "с понедельника",
    ),
    "ar": (
        "أمس",
        "الأسبوع الماضي",
        "في مارس 2024",
        "في 10 يونيو",
        "قبل ثلاثة أيام",
        "العام الماضي",
        "منذ الاثنين",
    ),
    "hi": (
        "कल",
        "पिछले हफ़्ते",
        "मार्च 2024 में",
        "10 जून को",
        "तीन दिन पहले",
        "पिछले साल",
        "सोमवार से",
    ),
    "tr": (
        "dün",
        "geçen hafta",
        "Mart 2024'te",
        "10 Haziran'da",
        "üç gün önce",
        "geçen yıl",
        "pazartesiden beri",
    ),
    "ko": (
        "어제",
        "지난주에",
        "2024년 3월에",
        "6월 10일에",
        "3일 전에",
        "작년에",
        "월요일부터",
    ),
    "zh": (
        "昨天",
        "上周",
        "2024年3月",
        "6月10日",
        "三天前",
        "去年",
        "从周一开始",
    ),
    "ja": (
        "昨日",
        "先週",
        "2024年3月に",
        "6月10日に",
        "三日前に",
        "去年",
        "月曜日から",
    ),
}
BOUNDS: tuple[DateRange, ...] = (
    (date.min, date(2024, 6, 9)),
    (date.min, date(2024, 3, 31)),
    (date(2024, 4, 1), TODAY),
    (date(2023, 1, 1), TODAY),
)
BOUNDED: dict[Language, tuple[str, ...]] = {
    "de": (
        "vor dem 10. Juni",
        "bis März 2024",
        "nach März 2024",
        "seit 2023",
    ),
    "es": (
        "antes del 10 de junio",
        "hasta marzo de 2024",
        "después de marzo de 2024",
        "desde 2023",
    ),
    "fr": (
        "avant le 10 juin",
        "jusqu'en mars 2024",
        "après mars 2024",
        "depuis 2023",
    ),
    "it": (
        "prima del 10 giugno",
        "fino a marzo 2024",
        "dopo marzo 2024",
        "dal 2023",
    ),
    "pt": (
        "antes de 10 de junho",
        "até março de 2024",
        "depois de março de 2024",
        "desde 2023",
    ),
    "hr": (
        "prije 10. lipnja",
        "do ožujka 2024.",
        "nakon ožujka 2024.",
        "od 2023.",
    ),
    "ru": (
        "перед 10 июня",
        "до марта 2024",
        "после марта 2024",
        "с 2023",
    ),
    "ar": (
        "قبل 10 يونيو",
        "حتى مارس 2024",
        "بعد مارس 2024",
        "منذ 2023",
    ),
    "hi": (
        "10 जून से पहले",
        "मार्च 2024 तक",
        "मार्च 2024 के बाद",
        "2023 से",
    ),
    "tr": (
        "10 Haziran'dan önce",
        "Mart 2024'e kadar",
        "Mart 2024'ten sonra",
        "2023'ten beri",
    ),
    "ko": (
        "6월 10일 이전에",
        "2024년 3월까지",
        "2024년 3월 이후로",
        "2023년부터",
    ),
    "zh": (
        "6月10日之前",
        "直到2024年3月",
        "2024年3月以后",
        "从2023年起",
    ),
    "ja": (
        "6月10日より前に",
        "2024年3月まで",
        "2024年3月の後に",
        "2023年から",
    ),
}


def intervals(language: Language, phrase: str) -> list[DateRange]:
    question = QUESTIONS[language].format(phrase)
    return [days for time in find_intervals(question, [2024], TODAY)[1] for days in time.ranges]


@pytest.mark.parametrize("language", TIMES)
def test_a_time_is_understood(language: Language) -> None:
    read = {phrase: intervals(language, phrase) for phrase in TIMES[language]}
    assert read == dict(zip(TIMES[language], [[days] for days in DAYS], strict=True))


@pytest.mark.parametrize("language", BOUNDED)
def test_a_time_may_be_a_bound(language: Language) -> None:
    read = {phrase: intervals(language, phrase) for phrase in BOUNDED[language]}
    assert read == dict(zip(BOUNDED[language], [[days] for days in BOUNDS], strict=True))


@pytest.mark.parametrize(
    ("language", "phrase", "days"),
    [
        ("ru", "неделю назад", (date(2024, 6, 10), date(2024, 6, 14))),
        ("ar", "قبل شهر", (date(2024, 5, 10), date(2024, 5, 30))),
        ("hr", "2023. godine", (date(2023, 1, 1), date(2023, 12, 31))),
        ("fr", "l’an dernier", (date(2023, 1, 1), date(2023, 12, 31))),
        ("zh", "周一", (date(2024, 6, 17), date(2024, 6, 17))),
    ],
)
def test_other_wording_is_understood(language: Language, phrase: str, days: DateRange) -> None:
    assert intervals(language, phrase) == [days]


ORDERS = ("first", "second", "third", "fourth")


@pytest.mark.parametrize("month", range(1, 13))
@pytest.mark.parametrize("number", range(4))
def test_a_week_of_a_month(month: int, number: int) -> None:
    phrase = f"in the {ORDERS[number]} week of {calendar.month_name[month]} 2023"
    first = date(2023, month, 1 + 7 * number)
    assert intervals("en", phrase) == [(first, first + timedelta(days=6))]


@pytest.mark.parametrize("month", range(1, 13))
@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_ends_of_a_month(month: int, count: int) -> None:
    of = f"of {calendar.month_name[month]} 2023"
    begin, end = date(2023, month, 1), date(2023, month, calendar.monthrange(2023, month)[1])
    days = timedelta(days=10 * count - 1)
    assert intervals("en", f"in the first {10 * count} days {of}")[0] == (
        begin,
        min(begin + days, end),
    )
    assert intervals("en", f"in the last {10 * count} days {of}")[0] == (
        max(end - days, begin),
        end,
    )
    of_year = [
        days for each in (f"in the last {count} months of 2023",) for days in intervals("en", each)
    ]
    assert of_year == [(date(2023, 13 - count, 1), date(2023, 12, 31))]


LAST_AND_FIRST: dict[Language, tuple[str, str]] = {
    "en": ("on the last day of {}", "on the first day of {}"),
    "de": ("am letzten Tag des Jahres {}", "am ersten Tag von {}"),
    "es": ("el último día del año {}", "el primer día de {}"),
    "fr": ("le dernier jour de l'année {}", "le premier jour de {}"),
    "it": ("l'ultimo giorno del {}", "il primo giorno dell'anno {}"),
    "pt": ("no último dia do ano {}", "no primeiro dia de {}"),
    "hr": ("na zadnji dan {}", "na prvi dan godine {}"),
    "ru": ("в последний день {} года", "в первый день {} года"),
    "ar": ("في آخر يوم من عام {}", "في أول يوم من عام {}"),
    "hi": ("{} के आखिरी दिन", "{} के पहले दिन"),
    "tr": ("{} yılının son gününde", "{} yılının ilk gününde"),
    "ko": ("{}년 마지막 날에", "{}년 첫날에"),
    "zh": ("{}年的最后一天", "{}年的第一天"),
    "ja": ("{}年の最後の日", "{}年の最初の日"),
}


@pytest.mark.parametrize("language", LAST_AND_FIRST)
@pytest.mark.parametrize("year", [2022, 2023])
def test_the_ends_of_a_year(language: Language, year: int) -> None:
    last, first = (phrase.format(year) for phrase in LAST_AND_FIRST[language])
    assert intervals(language, last) == [(date(year, 12, 31), date(year, 12, 31))]
    assert intervals(language, first) == [(date(year, 1, 1), date(year, 1, 1))]


@pytest.mark.parametrize("back", [*range(1, 8), 30, 100, 300])
def test_a_weekday_with_its_day_of_the_month(back: int) -> None:
    day = TODAY - timedelta(days=back)
    ordinal = {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10 * (day.day // 10 != 1), "th")
    for phrase in ("on {w}, the {d}", "last {w} the {d}", "{w} {d}"):
        asked = phrase.format(w=calendar.day_name[day.weekday()], d=f"{day.day}{ordinal}")
        meant, *others = intervals("en", asked)
        assert not others
        assert meant[0] == meant[1]
        assert (meant[0].day, meant[0].weekday()) == (day.day, day.weekday())
        assert day <= meant[0] < TODAY


@pytest.mark.parametrize(("name", "number"), DAY_NUMBERS.items())
def test_a_day_may_be_told_in_words(name: str, number: str) -> None:
    day = date(2023, 10, int(number))
    for phrase in (
        f"on the {name} of October 2023",
        f"on October the {name.replace('-', ' ')}, 2023",
    ):
        assert intervals("en", phrase) == [(day, day)]


@pytest.mark.parametrize(
    ("phrase", "first", "last"),
    [
        ("the day after Christmas 2023", date(2023, 12, 27), date(2023, 12, 27)),
        ("two days before 10 May 2023", date(2023, 5, 8), date(2023, 5, 8)),
        ("the week after 10 May 2023", date(2023, 5, 11), date(2023, 5, 17)),
        ("in the spring of last year", date(2023, 3, 1), date(2023, 5, 31)),
        ("on the 24th of last month", date(2024, 5, 24), date(2024, 5, 24)),
        ("the second weekend of June 2023", date(2023, 6, 10), date(2023, 6, 11)),
    ],
)
def test_what_is_beside_or_part_of_a_time(phrase: str, first: date, last: date) -> None:
    assert intervals("en", phrase) == [(first, last)]


def test_two_times_apart_agree() -> None:
    question = "In 2023, where were we on 24 December?"
    times = find_intervals(question, [2022, 2023, 2024], TODAY)[1]
    day = date(2023, 12, 24)
    assert {days for time in times for days in time.ranges} == {(day, day)}
