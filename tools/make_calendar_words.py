"""Write the words of dates and times in all languages of Unicode CLDR, as ``babel`` has it.

    pip install babel
    python tools/make_calendar_words.py

``calendar_words.json`` of the importers has the names of months by language, and the words for
halves and parts of the day with the hours that they span. ``locale_dates.json`` of their tests has
two times as each locale writes them.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

BABEL: Any = import_module("babel")  # not in the environment for development
DATES: Any = import_module("babel.dates")
ROOT = Path(__file__).parent.parent / "packages/theanine"
WORDS = ROOT / "src/theanine/importers/calendar_words.json"
SAMPLES = ROOT / "tests/importers/locale_dates.json"
HALVES = {"am": (0, 12), "pm": (12, 24), "noon": (11, 14), "midnight": (23, 1)}
TIMES = [datetime(2024, 5, 13, 21, 56, 7, tzinfo=UTC), datetime(2024, 2, 3, 8, 5, 9, tzinfo=UTC)]


def fold(word: str) -> str:
    """Return a word as it is looked up: without case, marks of direction and odd spaces."""
    plain = "".join(
        c for c in unicodedata.normalize("NFC", word) if unicodedata.category(c) != "Cf"
    )
    return re.sub(r"\s+", " ", plain).strip().casefold()


def locales() -> list[Any]:
    found: list[Any] = []
    for identifier in sorted(BABEL.localedata.locale_identifiers()):
        try:
            found.append(BABEL.Locale.parse(identifier))
        except (BABEL.UnknownLocaleError, ValueError):
            continue
    return [locale for locale in found if locale.language != "root"]


def halves() -> dict[str, tuple[int, int]]:
    """Return words with the hours that they span; one that means several keeps the most usual."""
    spans: dict[str, Counter[tuple[int, int]]] = {}
    for locale in locales():
        rules = dict[str, tuple[int, int]](HALVES)
        for name, times in locale.day_period_rules.get(None, {}).items():
            span = times[0]
            if "from" in span and "before" in span:
                rules.setdefault(name, (span["from"] // 3600, span["before"] // 3600))
        for width in ("abbreviated", "wide", "narrow"):
            for context in ("format", "stand-alone"):
                words = locale.day_periods.get(context, {}).get(width, {})
                for name, word in words.items():
                    if name in rules and len(fold(word)) > (width == "narrow"):
                        sure = 100 if name in ("am", "pm") else 1
                        spans.setdefault(fold(word), Counter())[rules[name]] += sure
    return {word: found.most_common(1)[0][0] for word, found in sorted(spans.items())}


def months() -> dict[str, dict[str, int]]:
    """Return the months' names by language; a locale that only repeats its language is left out."""
    found: dict[str, dict[str, int]] = {}
    for locale in locales():
        names = found.setdefault(locale.language, {})
        for context in ("format", "stand-alone"):
            for width in ("wide", "abbreviated"):
                for number, name in locale.months[context][width].items():
                    word = fold(name).rstrip(".")
                    if not re.search(r"\d", word) and word:
                        names.setdefault(word, number)
    distinct: dict[str, dict[str, int]] = {}
    for language, names in sorted(found.items()):
        if names and names not in distinct.values():
            distinct[language] = dict(sorted(names.items(), key=lambda item: (item[1], item[0])))
    return distinct


def samples() -> list[list[str]]:
    seen: dict[tuple[str, ...], str] = {}
    for locale in locales():
        texts: list[str] = []
        for at in TIMES:
            texts += [
                DATES.format_date(at, "short", locale=locale),
                DATES.format_date(at, "long", locale=locale),
            ]
            texts += [DATES.format_time(at, width, locale=locale) for width in ("short", "medium")]
        seen.setdefault(tuple(texts), str(locale))
    return [[name, *texts] for texts, name in seen.items()]


def rows(values: list[str]) -> str:
    return ",\n".join(f" {value}" for value in values)


def text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    parts = rows([f"{text(word)}: {list(span)}" for word, span in halves().items()])
    names = rows([f"{text(language)}: {text(words)}" for language, words in months().items()])
    WORDS.write_text(f'{{"halves": {{\n{parts}\n}},\n"months": {{\n{names}\n}}}}\n', "utf-8")
    SAMPLES.write_text(f"[\n{rows([text(row) for row in samples()])}\n]\n", "utf-8")
