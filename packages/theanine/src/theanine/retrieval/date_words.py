"""Dates in German, Spanish, Chinese and Japanese, put into English words."""

from __future__ import annotations

import re
from calendar import month_name
from collections.abc import Callable
from functools import cache

from theanine.retrieval.languages import Language, guess_language, normalize

_MONTHS: dict[Language, str] = {
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre "
    "diciembre",
}
_NUMBERS: dict[Language, str] = {
    "de": "eine?[mrn]? zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "es": "un[ao]? dos tres cuatro cinco seis siete ocho nueve diez once doce",
}
_NAMES = ("day", "week", "month", "year")
_UNITS: dict[Language, tuple[str, str, str, str]] = {
    "de": ("tage?n?", "wochen?", "monate?n?", "jahre?n?"),
    "es": ("días?", "semanas?", "mes(?:es)?", "años?"),
    "zh": ("[天日]", "个?星期|周|个?礼拜", "个月", "年"),
    "ja": ("日", "週間?", "か月|ヶ月|カ月", "年"),
}
_HAN_DIGITS = {digit: value for value, digit in enumerate("〇一二三四五六七八九")} | {"两": 2}
_HAN_NUMBER = r"(?:\d{1,2}|[〇一二两三四五六七八九十]{1,3})"

Replacement = Callable[[re.Match[str]], str] | str


def english_dates(text: str) -> str:
    """Return a text with its dates in the English wording of :mod:`theanine.retrieval.temporal`."""
    language = guess_language(text)
    if language == "en":
        return text
    text = normalize(text)
    for pattern, replacement in _rules(language):
        text = pattern.sub(replacement, text)
    return text


def _number(text: str, language: Language) -> int:
    """Return the value of a number up to 99."""
    if text.isdigit():
        return int(text)
    if language in _NUMBERS:
        words = _NUMBERS[language].split()
        return next(n for n, word in enumerate(words, 1) if re.fullmatch(word, text))
    tens, ten, ones = text.rpartition("十")
    return 10 * _HAN_DIGITS.get(tens, 1) * bool(ten) + _HAN_DIGITS.get(ones, 0)


@cache
def _rules(language: Language) -> list[tuple[re.Pattern[str], Replacement]]:
    """Compile a language's rules, in the order in which they apply."""
    spaced = language in _MONTHS
    number = "|".join(_NUMBERS[language].split()) if spaced else ""
    number = rf"(?P<n>\d{{1,3}}|{number})" if spaced else f"(?P<n>{_HAN_NUMBER})"
    unit = "|".join(f"(?P<{name}>{u})" for name, u in zip(_NAMES, _UNITS[language], strict=True))
    month = "|".join(_MONTHS[language].split()) if spaced else _HAN_NUMBER

    def day(match: re.Match[str]) -> str:
        groups = match.groupdict()
        if not spaced:
            at = _number(groups["m"], language)
        elif groups["m"].isdigit():
            at = int(groups["m"])
        else:
            at = _MONTHS[language].split().index(groups["m"]) + 1
        name = month_name[at] if 1 <= at <= 12 else ""
        year = groups.get("y") or ""
        if not groups.get("d"):
            return f" {name} {year} " if year else f" in {name} "
        return f" {_number(groups['d'], language)} {name} {year} "

    def relative(form: str) -> Callable[[re.Match[str]], str]:
        def replace(match: re.Match[str]) -> str:
            groups = match.groupdict()
            name = next((name for name in _NAMES if groups.get(name)), "")
            count = _number(groups["n"], language) if groups.get("n") else ""
            return f" {form.format(n=count, u=name)} "

        return replace

    rules: dict[Language, list[tuple[str, Replacement]]] = {
        "de": [
            (r"\b(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})\b", day),
            (rf"\b(?P<d>\d{{1,2}})\.? (?P<m>{month})\b(?: (?P<y>\d{{4}}))?", day),
            (rf"\b(?:im|seit|bis|ab|anfang|ende|mitte|letzten) (?P<m>{month})\b"
             r"(?: (?P<y>\d{4}))?", day),
            (rf"\bvor {number} (?:{unit})\b", relative("{n} {u} ago")),
            (rf"\b(?:letzten|vergangenen) {number} (?:{unit})\b", relative("last {n} {u}")),
            (rf"\b(?:letzte|vorige|vergangene)[mnrs]? (?:{unit})\b", relative("last {u}")),
            (rf"\bdiese[mnrs]? (?:{unit})\b", relative("this {u}")),
            (r"\bvorgestern\b", "the day before yesterday"),
            (r"\bgestern\b", "yesterday"),
            (r"\bheute\b", "today"),
            (r"\b(?:im jahr|seit|von) (?=\d{4}\b)", "in "),
        ],
        "es": [
            (rf"\b(?P<d>\d{{1,2}}) de (?P<m>{month})\b(?: del? (?P<y>\d{{4}}))?", day),
            (rf"\b(?:en|desde|hasta|durante) (?P<m>{month})\b(?: del? (?P<y>\d{{4}}))?", day),
            (rf"\bhace {number} (?:{unit})\b", relative("{n} {u} ago")),
            (rf"\búltim[oa]s {number} (?:{unit})\b", relative("last {n} {u}")),
            (rf"\b(?:{unit}) pasad[oa]\b", relative("last {u}")),
            (rf"\best[ea] (?:{unit})\b", relative("this {u}")),
            (r"\banteayer\b", "the day before yesterday"),
            (r"\bayer\b|\banoche\b", "yesterday"),
            (r"\bhoy\b", "today"),
            (r"\b(?:en|desde|el año) (?=\d{4}\b)", "in "),
        ],
        "zh": [
            (rf"(?:(?P<y>\d{{4}})年)?(?P<m>{month})月(?P<d>{_HAN_NUMBER})[日号]", day),
            (rf"(?:(?P<y>\d{{4}})年)(?P<m>{month})月", day),
            (rf"{number}(?:{unit})[以之]?前", relative("{n} {u} ago")),
            (rf"(?:最近|过去){number}(?:{unit})", relative("last {n} {u}")),
            (rf"(?<!\d)(?P<m>{month})月", day),
            (r"上个?(?:星期|周|礼拜)", " last week "),
            (r"上个?月", " last month "),
            (r"去年", " last year "),
            (r"[这本]个?(?:星期|周|礼拜)", " this week "),
            (r"[这本]个?月", " this month "),
            (r"今年", " this year "),
            (r"前天", " the day before yesterday "),
            (r"昨[天晚日]", " yesterday "),
            (r"今[天早晚日]", " today "),
            (r"(\d{4})年", r" in \1 "),
        ],
        "ja": [
            (rf"(?:(?P<y>\d{{4}})年)?(?P<m>{month})月(?P<d>{_HAN_NUMBER})日", day),
            (rf"(?:(?P<y>\d{{4}})年)(?P<m>{month})月", day),
            (rf"{number}(?:{unit})前", relative("{n} {u} ago")),
            (rf"(?:この|過去){number}(?:{unit})", relative("last {n} {u}")),
            (rf"(?<!\d)(?P<m>{month})月(?!曜)", day),
            (r"先週", " last week "),
            (r"先月", " last month "),
            (r"去年|昨年", " last year "),
            (r"今週", " this week "),
            (r"今月", " this month "),
            (r"今年", " this year "),
            (r"一昨日|おととい", " the day before yesterday "),
            (r"昨[日夜晩]|きのう", " yesterday "),
            (r"今[日朝夜晩]|きょう", " today "),
            (r"(\d{4})年", r" in \1 "),
        ],
    }  # fmt: skip
    return [(re.compile(pattern), replacement) for pattern, replacement in rules[language]]
