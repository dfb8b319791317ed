"""Dates in other languages, put into English words.

German, Spanish, Chinese and Japanese have rules of their own; the words of the others are those of
Unicode CLDR (``date_words.json``, made by ``tools/make_date_words.py``).
"""

from __future__ import annotations

import re
from calendar import day_name, month_name
from collections.abc import Callable, Iterable
from functools import cache

from theanine.retrieval.cue_words import TIME_PHRASES
from theanine.retrieval.date_phrases import (
    HOLIDAYS,
    SEASONS,
    Replacement,
    Rule,
    rules_of_parts,
    rules_of_phrases,
)
from theanine.retrieval.languages import Language, date_words, guess_language, normalize

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

_HABITS = re.compile(r"\blos (?:lunes|martes|miércoles|jueves|viernes|sábados|domingos)\b")
"""Weekdays on which something is done again and again, which are no dates."""
_SPACES = re.compile(" {2,}")


def english_dates(text: str) -> str:
    """Return a text with its dates in the English wording of :mod:`theanine.retrieval.temporal`."""
    language = guess_language(text)
    if language == "en":
        return text
    text = _SPACES.sub(" ", normalize(text).replace("’", "'"))
    text = _HABITS.sub(" ", text) if language == "es" else text
    for pattern, replacement in _all_rules(language):
        text, count = pattern.subn(replacement, text)
        text = _SPACES.sub(" ", text) if count else text
    return text


@cache
def _all_rules(language: Language) -> tuple[Rule, ...]:
    """Return the rules of a language in the order in which they apply."""
    return (
        *rules_of_phrases(language),
        *(_rules(language) if language in _UNITS else ()),
        *(_rules_of_words(language) if language in date_words() else ()),
        *rules_of_parts(language),
        *_rules_of_bounds(language),
    )


def _number(text: str, language: Language) -> int:
    """Return the value of a number up to 99."""
    if text.isdigit():
        return int(text)
    if language in _NUMBERS:
        words = _NUMBERS[language].split()
        return next(n for n, word in enumerate(words, 1) if re.fullmatch(word, text))
    tens, ten, ones = text.rpartition("十")
    return 10 * _HAN_DIGITS.get(tens, 1) * bool(ten) + _HAN_DIGITS.get(ones, 0)


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

    def weekday(signs: str) -> Callable[[re.Match[str]], str]:
        return lambda match: f" {day_name[min(signs.index(match['w']), 6)]} "

    rules: dict[Language, list[tuple[str, Replacement]]] = {
        "de": [
            (r"\b(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})\b", day),
            (rf"\b(?P<d>\d{{1,2}})\.? (?P<m>{month})\b(?: (?P<y>\d{{4}}))?", day),
            (rf"\b(?:im|letzten) (?P<m>{month})\b"
             r"(?: (?P<y>\d{4}))?", day),
            (rf"\bvor {number} (?:{unit})\b", relative("{n} {u} ago")),
            (rf"\b(?:letzten|vergangenen) {number} (?:{unit})\b", relative("last {n} {u}")),
            (rf"\b(?:letzte|vorige|vergangene)[mnrs]? (?:{unit})\b", relative("last {u}")),
            (rf"\bdiese[mnrs]? (?:{unit})\b", relative("this {u}")),
            (r"\bvorgestern\b", "the day before yesterday"),
            (r"\bgestern\b", "yesterday"),
            (r"\bheute\b", "today"),
            (r"\b(?:im jahr|von) (?=\d{4}\b)", "in "),
        ],
        "es": [
            (rf"\b(?P<d>\d{{1,2}}) de (?P<m>{month})\b(?: del? (?P<y>\d{{4}}))?", day),
            (rf"\b(?:en|durante) (?P<m>{month})\b(?: del? (?P<y>\d{{4}}))?", day),
            (rf"\bhace {number} (?:{unit})\b", relative("{n} {u} ago")),
            (rf"\búltim[oa]s {number} (?:{unit})\b", relative("last {n} {u}")),
            (rf"\b(?:{unit}) pasad[oa]\b", relative("last {u}")),
            (rf"\best[ea] (?:{unit})\b", relative("this {u}")),
            (r"\banteayer\b", "the day before yesterday"),
            (r"\bayer\b|\banoche\b", "yesterday"),
            (r"\bhoy\b", "today"),
            (r"\b(?:en|el año) (?=\d{4}\b)", "in "),
        ],
        "zh": [
            (rf"(?:(?P<y>\d{{4}})年)?(?P<m>{month})月(?P<d>{_HAN_NUMBER})[日号]", day),
            (rf"(?:(?P<y>\d{{4}})年)(?P<m>{month})月", day),
            (rf"{number}(?:{unit})[以之]?前", relative("{n} {u} ago")),
            (rf"(?:最近|过去){number}(?:{unit})", relative("last {n} {u}")),
            (rf"(?<!\d)(?P<m>{month})月", day),
            (r"(?<!每)[上这本]?个?(?:星期|周|礼拜)(?P<w>[一二三四五六日天])",
             weekday("一二三四五六日天")),
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
            (r"(?<!毎週)(?:先週の?)?(?P<w>[月火水木金土日])曜日?(?!日?は)",
             weekday("月火水木金土日")),
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


def _rules_of_words(language: Language) -> list[tuple[re.Pattern[str], Replacement]]:
    """Compile the rules of a language by its words for dates, in the order in which they apply."""
    words = date_words()[language]
    months: dict[str, int] = words["months"]
    weekdays = words["weekdays"]
    relative, numbers = words["relative"], words["numbers"]
    number = rf"(?P<n>\d{{1,3}}{''.join(f'|{word}' for word in numbers)})"

    def day(match: re.Match[str]) -> str:
        name = month_name[months[match["m"]]]
        return _written(name, match["d"] or "", match["y"] or "")

    def month(match: re.Match[str]) -> str:  # the months of Korean are numbers
        number = int(match["m"])
        name = month_name[number] if 1 <= number <= 12 else ""
        return _written(name, match["d"] or "", match["y"] or "")

    def ago(unit: str) -> Callable[[re.Match[str]], str]:
        return lambda match: f" {numbers.get(match['n'], match['n'])} {unit} ago "

    def of(english: str) -> str:
        return f" {english} "

    link = r"(?:(?:de|di|del|do|da|\.|er|º|°)\s?)?\s?"
    rules: list[tuple[str, Replacement]] = []
    if language == "ko":
        rules.append((r"(?:(?P<y>\d{4})년\s?)?(?P<m>\d{1,2})월(?:\s?(?P<d>\d{1,2})일)?", month))
    rules.append(
        (rf"(?:(?P<d>\d{{1,2}})\s?{link})?(?P<m>{_any_of(months)})(?:\s{link}(?P<y>\d{{4}}))?", day)
    )
    for pattern, unit in sorted(words["ago"].items(), key=lambda item: -len(item[0])):
        rules.append((re.escape(pattern).replace(r"\#", number), ago(unit)))
    for phrases in (relative, weekdays):
        longest_first = sorted(phrases, key=len, reverse=True)
        rules += [(re.escape(phrase), of(phrases[phrase])) for phrase in longest_first]
    after_month = "".join(rf"(?<!{name} )" for name in month_name[1:])
    rules.append(
        (
            after_month
            + r"(?<![\d.,/-])(?<!\d\. )(?P<year>(?:19|20)\d\d)(?![\d,/-]|\. ?\d)년?(?=\D*$)",
            r" in \g<year> ",
        )
    )
    if language != "ko":  # in Korean, particles follow without a space
        rules = [(rf"(?<![^\s'’(«¿¡\"“]){rule}(?![^\s'’)»?؟!.,;:।\"”])", by) for rule, by in rules]
    return [(re.compile(pattern), replacement) for pattern, replacement in rules]


def _rules_of_bounds(language: Language) -> list[tuple[re.Pattern[str], Replacement]]:
    """Compile the rules for times, in English by then, that something began or ended with."""
    months, weekdays = "|".join(month_name[1:]), "|".join(day_name)
    time = (
        rf"(?P<time>(?:19|20)\d\d|(?:\d{{1,2}} )?(?:{months})(?: \d{{4}})?|{weekdays}|"
        rf"(?:last|this) (?:week|weekend|month|year|{'|'.join(SEASONS)}|{months}|{weekdays})|"
        rf"(?:{'|'.join([*HOLIDAYS, *SEASONS])}) (?:19|20)\d\d|{'|'.join(HOLIDAYS)}|"
        r"the (?:week|month|year) before last|the day before yesterday|yesterday|today|"
        r"\d{1,3} (?:day|week|month|year) ago)"
    )
    begin, end = (r"(?<!\w)", r"(?!\w)") if language in date_words() else ("", "")
    if language == "ko":
        end = ""
    rules: list[tuple[str, Replacement]] = []
    phrases = [(p, english) for english, them in TIME_PHRASES[language].items() for p in them]
    for phrase, english in sorted(phrases, key=lambda item: -len(item[0])):
        before, after = (part.strip().replace(" ", r"\s+") for part in phrase.split("…"))
        rule = rf"{begin}{before}\s*(?:in )?{time}\s*{after}{end}"
        rules.append((rule, rf" {english} \g<time> "))
    return [(re.compile(rule), replacement) for rule, replacement in rules]


def _written(month: str, day: str, year: str) -> str:
    """Return a day or a month in English, as part of a sentence."""
    return f" {day} {month} {year} " if day or year else f" in {month} "


def _any_of(words: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
