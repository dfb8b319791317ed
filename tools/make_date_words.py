"""Write the words for dates of some languages, taken from Unicode CLDR as ``dateparser`` has it.

``more_date_words.toml`` adds what it lacks.

    pip install dateparser
    python tools/make_date_words.py > packages/theanine/src/theanine/retrieval/date_words.json

Each language has its months and weekdays, what it calls days, weeks, months and years near today,
and how it says that something was some of them ago, all with what they are in English.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

LANGUAGES = ("de", "es", "fr", "it", "pt", "hr", "ru", "ar", "hi", "tr", "ko")
MONTHS = (
    "january february march april may june july august september october november december"
).split()
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
RELATIVE = {
    "0 day ago": "today",
    "0 week ago": "this week",
    "0 month ago": "this month",
    "0 year ago": "this year",
    "1 day ago": "yesterday",
    "2 day ago": "the day before yesterday",
    "1 week ago": "last week",
    "1 month ago": "last month",
    "1 year ago": "last year",
}
UNITS = ("day", "week", "month", "year")
NUMBER = r"(\d++[.,]?\d*+)"
MIN_LETTERS = 3
"""Letters of a name in a script with letters; shorter ones are words of other meanings."""


MORE: dict[str, dict[str, dict[str, str]]] = tomllib.loads(
    Path(__file__).with_name("more_date_words.toml").read_text("utf-8")
)


def is_name(word: str) -> bool:
    return not word.isascii() or len(word) > MIN_LETTERS


def read(language: str) -> dict[str, Any]:
    info = import_module(f"dateparser.data.date_translation_data.{language}").info
    names = {
        name.casefold(): number
        for number, month in enumerate(MONTHS, 1)
        for name in info[month]
        if is_name(name) and len(name) >= MIN_LETTERS
    }
    days = {
        name.casefold(): day.capitalize()
        for day in WEEKDAYS
        for name in info[day]
        if is_name(name) and len(name) >= MIN_LETTERS
    }
    relative = {
        words.casefold(): english
        for key, english in RELATIVE.items()
        for words in info["relative-type"].get(key, ())
        if len(words) > 1
    }
    ago = {
        pattern.replace(NUMBER, "#").casefold(): unit
        for unit in UNITS
        for pattern in info["relative-type-regex"].get(f"\\1 {unit} ago", ())
    }
    numbers = {
        word: int(value)
        for entry in info.get("simplifications", ())
        for word, value in entry.items()
        if re.fullmatch(r"[^\W\d]+", word) and str(value).isdigit() and int(value) <= 12
    }
    words = {
        "months": names,
        "weekdays": days,
        "relative": relative,
        "ago": ago,
        "numbers": numbers,
    }
    wrong = MORE.get(language, {}).get("not", {}).get("words", "").split(", ")
    return {
        kind: {word: english for word, english in entries.items() if word not in wrong}
        | more(language, kind)
        for kind, entries in words.items()
    }


def more(language: str, kind: str) -> dict[str, Any]:
    entries = MORE.get(language, {}).get(kind, {})
    return {
        word: int(english) if english.isdigit() else english
        for english, words in entries.items()
        for word in words.split(", ")
    }


if __name__ == "__main__":
    json.dump(
        {language: read(language) for language in LANGUAGES},
        sys.stdout,
        ensure_ascii=False,
        indent=1,
        sort_keys=True,
    )
    print()
