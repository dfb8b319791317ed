"""Phrases for times in other languages, put into English words.

``date_phrases.toml`` has them, and explains what they are made of.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from calendar import day_name, month_name
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from theanine.retrieval.cue_words import SPELLINGS
from theanine.retrieval.languages import MARKS, Language, date_words

Replacement = Callable[[re.Match[str]], str] | str
Rule = tuple[re.Pattern[str], Replacement]

SEASONS = ("spring", "summer", "autumn", "winter")
HOLIDAYS = (
    "christmas eve", "christmas day", "christmas", "boxing day", "new year's eve",
    "new year's day", "good friday", "easter sunday", "easter monday", "easter", "pentecost",
    "valentine's day", "halloween",
)  # fmt: skip
_UNITS = ("day", "week", "month", "year")
_WRITTEN_PLAIN = "áàâãäéèêëíìîïóòôõöúùûüçñğışœ"
_PLAIN = "aaaaaeeeeiiiiooooouuuucngiso"
_SPELLINGS: dict[Language, dict[str, str]] = {
    "de": {"ä": "(?:ä|ae)", "ö": "(?:ö|oe)", "ü": "(?:ü|ue)"},
    "hi": {"\u093c": "\u093c?"},
}
_PLAIN_SPELLINGS = {
    accented: f"[{accented}{plain}]" for accented, plain in zip(_WRITTEN_PLAIN, _PLAIN, strict=True)
}
"""Other letters that are often written for one, beyond those of cues."""
_ACCENTED: tuple[Language, ...] = ("es", "fr", "it", "pt", "tr")
"""Languages in which accents are often left out."""
_UNSPACED: tuple[Language, ...] = ("zh", "ja")
_HAN_DIGITS = "一二三四五六七八九"
_TOKEN = re.compile(r" \?|\(\?<[=!][^()]*\)|\[[^\]]*\]|\(\?[=!]|\(\?|\(|.", re.DOTALL)
_OPTIONAL = re.compile(r"\(\?:[^()]*\)\?|\[[^\]]*\]\?|[^)\]]\?(?![:=!<])")
_NIGHT = ("night", "evening")

_SMALL = "|".join([*month_name[1:], *SEASONS, *HOLIDAYS])
_LARGE = r"(?:last|this) (?:week|month|year)|the (?:week|month|year) before last"
_YEAR = r"(?:in )?(?P<year>(?:19|20)\d\d)(?!\d)"
_DAY = (
    rf"the day before yesterday|yesterday|today|{'|'.join(day_name)}|(?:day|week|month|year) ago|"
    rf"\d{{1,2}} (?:{'|'.join(month_name[1:])})(?: (?:19|20)\d\d)?"
)
_PERIOD = (
    rf"(?:in )?(?:the )?(?P<time>(?:last|this) (?:week|month|year|weekend|{'|'.join(SEASONS)})|"
    rf"the (?:week|month|year) before last|"
    rf"(?:{'|'.join([*month_name[1:], *SEASONS])})(?: (?:19|20)\d\d)?|(?:19|20)\d\d(?!\d))"
)


@cache
def _sections() -> dict[Language, dict[str, Any]]:
    content: Any = tomllib.loads(
        (files("theanine.retrieval") / "date_phrases.toml").read_text("utf-8")
    )
    return content


class _Phrases:
    """Makes regular expressions of the phrases of a language."""

    def __init__(self, language: Language) -> None:
        self.language: Language = language
        self.section = _sections()[language]
        letter = rf"[\w{MARKS}]"
        self.begin, self.end = rf"(?<!{letter})", rf"(?!{letter})"
        if language in _UNSPACED:
            self.begin = self.end = ""
        elif language == "ko":  # particles follow without a space
            self.end = ""
        elif language == "ar":
            self.begin += "(?:[وفبل])?"
        self.spellings = {**SPELLINGS.get(language, {}), **_SPELLINGS.get(language, {})}
        if language in _ACCENTED:
            self.spellings |= _PLAIN_SPELLINGS
        words = date_words().get(language, {})
        self.numbers: dict[str, int] = words.get("numbers", {})
        self.few = [self.expression(phrase) for phrase in _split(self.section["few"])]
        self.day_parts = "|".join(map(self.expression, _split(self.section["day_parts"])))
        self.units = self.read(self.section["units"])
        self.nouns: list[tuple[str, str]] = [
            *self.read(self.section["nouns"]),
            *((re.escape(word), month_name[number]) for word, number in _items(words, "months")),
            *((re.escape(word), day) for word, day in _items(words, "weekdays")),
        ]
        link = [
            self.expression(word) + (r"\s*" if word[-1] == "'" else rf"{self.end}\s*")
            for word in _split(self.section["of"])
        ]
        self.link = rf"\s*(?:{self.begin}(?:{'|'.join(link)})){{0,4}}"

    def expression(self, phrase: str, **signs: str) -> str:
        """Return the regular expression of a phrase, with what its signs stand for."""
        phrase = unicodedata.normalize("NFKC", phrase.replace("…", "\0"))
        written = {"\0": signs.get("time", ""), "#": signs.get("number", "")}
        written |= {" ": r"\s+", " ?": r"\s*", "(": "(?:", "@": rf"\s*(?:{signs.get('part', '')})"}
        written |= self.spellings
        tokens: list[str] = _TOKEN.findall(phrase)
        return "".join(written.get(token, token) for token in tokens)

    def rule(self, expression: str, replacement: Replacement) -> Rule:
        return re.compile(f"{self.begin}(?:{expression}){self.end}"), replacement

    def number(self) -> str:
        words = sorted(map(re.escape, self.numbers), key=len, reverse=True)
        if self.language in _UNSPACED:
            words = [rf"[两{_HAN_DIGITS}十]{{1,3}}"]
        before = r"(?<![月年\d])" if self.language in _UNSPACED else ""
        article = "(?:ال)?" if self.language == "ar" else ""
        return rf"{before}{article}(?P<number>{'|'.join([*self.few, *words])}|\d{{1,3}})"

    def counted(self, text: str) -> str:
        """Return a number in English."""
        if any(re.fullmatch(each, text) for each in self.few):
            return "few"
        if self.language in _UNSPACED and not text.isdigit():
            tens, ten, ones = text.replace("两", "二").rpartition("十")
            digits = {"": 0} | {digit: n for n, digit in enumerate(_HAN_DIGITS, 1)}
            return str(10 * (digits.get(tens, 0) or 1) * bool(ten) + digits.get(ones, 0))
        return str(self.numbers.get(text, text))

    def noun(self, text: str, nouns: Iterable[tuple[str, str]]) -> str:
        return next((name for noun, name in nouns if re.fullmatch(noun, text)), "")

    def read(self, table: Mapping[str, str]) -> list[tuple[str, str]]:
        return [(self.expression(p), name) for name, them in table.items() for p in _split(them)]


@cache
def _phrases(language: Language) -> _Phrases:
    return _Phrases(language)


def _split(phrases: str) -> list[str]:
    return phrases.split(", ")


def _items(words: Mapping[str, Mapping[str, Any]], kind: str) -> Iterable[tuple[str, Any]]:
    return words.get(kind, {}).items()


def _any_noun(nouns: Iterable[tuple[str, str]]) -> str:
    """Return an expression for nouns, of which longer ones win."""
    return "|".join(sorted((noun for noun, _ in nouns), key=_least, reverse=True))


def _least(expression: str) -> int:
    """Return the length of an expression without what may be missing."""
    return len(_OPTIONAL.sub("", expression))


def _fixed(english: str) -> Replacement:
    return lambda _: f" {english} "


def rules_of_phrases(language: Language) -> list[Rule]:
    """Compile the rules that come before those of words, in the order in which they apply."""
    phrases = _phrases(language)
    names = [
        (phrases.expression(phrase, part=phrases.day_parts), english)
        for english, them in phrases.section["names"].items()
        for phrase in _split(them)
    ]
    names.sort(key=lambda name: -_least(name[0]))
    nouns = [noun for noun in [*phrases.units, *phrases.nouns] if noun[1] != "day"]
    holidays = [(name, name) for name in HOLIDAYS]
    return [
        *_rules_of_forms(phrases, phrases.units, counted=True),
        *_rules_of_forms(phrases, nouns),
        *(phrases.rule(expression, _fixed(english)) for expression, english in names),
        *_rules_of_forms(phrases, holidays),
    ]


def _rules_of_forms(
    phrases: _Phrases, nouns: Sequence[tuple[str, str]], *, counted: bool = False
) -> Iterator[Rule]:
    """Yield the rules for "last" and the like with some nouns, or with a number of them."""
    signs = {"number": phrases.number(), "time": f"(?P<noun>{_any_noun(nouns)})"}
    for english, them in phrases.section["forms"].items():
        # One expression for all that stands before the noun, and one for all that follows it.
        around: dict[tuple[bool, bool], list[str]] = {}
        for phrase in _split(them):
            if ("#" in phrase) == counted:
                sides = phrase.partition("…")
                around.setdefault((not sides[0], not sides[2]), []).append(phrase)
        for (first, last), forms in around.items():
            if counted or first == last:
                expressions = [phrases.expression(form, **signs) for form in forms]
            else:
                rest = "|".join(phrases.expression(form.replace("…", "")) for form in forms)
                expressions = [
                    f"{signs['time']}(?:{rest})" if first else f"(?:{rest}){signs['time']}"
                ]
            replacement = (
                _counting(phrases, english) if counted else _formed(phrases, english, nouns)
            )
            for expression in expressions:
                yield phrases.rule(expression, replacement)


def _counting(phrases: _Phrases, form: str) -> Replacement:
    def replace(match: re.Match[str]) -> str:
        unit = phrases.noun(match["noun"], phrases.units).removesuffix("s")
        if unit not in _UNITS:
            return match[0]
        number = phrases.counted(match["number"])
        return f" {number} {unit} ago " if form == "ago" else f" last {number} {unit} "

    return replace


def _formed(phrases: _Phrases, form: str, nouns: Iterable[tuple[str, str]]) -> Replacement:
    def replace(match: re.Match[str]) -> str:
        name = phrases.noun(match["noun"], nouns)
        plural = name.removesuffix("s") in _UNITS and name.endswith("s")
        if form == "last":
            name = f"few {name}" if plural else "night" if name in _NIGHT else name
            return f" last {name} "
        if plural or (form == "before last" and name in (*HOLIDAYS, *month_name)):
            return match[0]
        if form == "before last":
            return f" the {name} before last "
        return f" {name} " if name in HOLIDAYS else f" this {name} "

    return replace


def rules_of_parts(language: Language) -> list[Rule]:
    """Compile the rules for times in English by then, of which one narrows the other."""
    phrases = _phrases(language)
    nouns, link = phrases.read(phrases.section["nouns"]), phrases.link
    nouns = [noun for noun in nouns if noun[1] in (*SEASONS, *HOLIDAYS)]
    # A noun that is no time by itself is one beside a year.
    noun = rf"(?P<noun>{_any_noun(nouns)})"
    begin, end = phrases.begin, phrases.end

    def dated(match: re.Match[str]) -> str:
        groups = match.groupdict()
        name = groups.get("small") or phrases.noun(match["noun"], nouns)
        if year := groups.get("year"):
            return f" {name} {year} "
        article = "in the " if name in SEASONS else "" if name in HOLIDAYS else "in "
        both = [f"{article}{name}", match["large"]]
        is_first = match.start("large") == match.start()
        return f" {' '.join(reversed(both) if is_first else both)} "

    small, large = rf"(?<!\d )(?:in )?(?:the )?(?P<small>{_SMALL})", f"(?P<large>{_LARGE})"
    expressions = [
        rf"{begin}{noun}{end}{link}(?:{large}|{_YEAR})",
        rf"(?:{large}|{_YEAR}){link}{begin}{noun}{end}",
        rf"\b{small}\b{link}(?:{large}|{_YEAR})",
        rf"(?:{large}|{_YEAR}){link}\b{small}\b",
    ]
    rules: list[Rule] = [(re.compile(expression), dated) for expression in expressions]
    if not nouns:
        rules = rules[2:]
    rules.append(
        (re.compile(rf"(?P<day>{_DAY})\s*{begin}(?:{phrases.day_parts}){end}"), r"\g<day> ")
    )
    if before := phrases.section.get("day_parts_before"):
        parts = "|".join(map(phrases.expression, _split(before)))
        rules.append((re.compile(rf"{begin}(?:{parts})\s+(?P<day>{_DAY})"), r" \g<day> "))
    parts = phrases.section["parts"].items()
    said = [(phrase, english) for english, them in parts for phrase in _split(them)]
    for phrase, english in sorted(said, key=lambda each: -_least(each[0])):
        time = f"{link if phrase[0] != '…' else ''}{_PERIOD}{link if phrase[-1] != '…' else ''}"
        expression = phrases.expression(phrase.replace(" …", "…").replace("… ", "…"), time=time)
        first = begin if phrase[0] != "…" else ""
        last = end if phrase[-1] != "…" else ""
        rules.append((re.compile(first + expression + last), rf" {english} of \g<time> "))
    return rules
