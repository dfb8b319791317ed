"""Cues of each language, which ``cue_words.toml`` lists and explains.

The English cues of texts and questions are those of other modules. Small talk is told in all
languages at once, since it is too short to guess its language.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from theanine.lazy_pattern import lazy_pattern
from theanine.retrieval.languages import MARKS, Language
from theanine.stop_words import STOP_WORDS

_Cue = TypeVar("_Cue")

_LETTER = rf"[\w{MARKS}]"
_UNSPACED: tuple[Language, ...] = ("zh", "ja")
"""Languages without spaces, in which a cue may be part of a run of characters."""
_PREFIXES: dict[Language, str] = {"ar": "(?:[وفبلك]?(?:ال)?|لل)"}
"""Conjunctions, prepositions and articles that are written together with a word."""
SPELLINGS: dict[Language, dict[str, str]] = {
    "ar": {"أ": "[أا]", "إ": "[إا]", "آ": "[آا]", "ة": "[ةه]", "ى": "[ىي]"},
    "hi": {"ँ": "[ँं]"},
    "hr": {"č": "[čc]", "ć": "[ćc]", "š": "[šs]", "ž": "[žz]", "đ": "[đd]"},
    "ru": {"ё": "[ёе]"},
}
"""Other letters that are often written for one."""
_SIGN = re.compile(
    r"(?P<gap>\s*…\s*)|(?P<space>\s+)|(?P<start>(?<!\S)\*)|\[\^[^\]]*\][*+]|\[[^\]]*\]|\(\?|."
)
"""The parts of a phrase: gaps, spaces, letters at its beginning, sets of letters, characters."""


@cache
def _sections() -> dict[Language, dict[str, Any]]:
    content: Any = tomllib.loads(
        (files("theanine.retrieval") / "cue_words.toml").read_text("utf-8")
    )
    return content


def _phrases(cue: str) -> list[str]:
    return re.split(r"\s*,\s+", cue.strip())


def _expression(cue: str, language: Language) -> str:
    """Return the regular expression for the phrases of a cue, of which longer ones win."""
    spaced = language not in _UNSPACED
    begin = rf"(?<!{_LETTER}){_PREFIXES.get(language, '')}" if spaced else ""
    end = rf"(?!{_LETTER})" if spaced else ""
    signs = {
        "#": rf"{_LETTER}*\d{_LETTER}*" if spaced else r"\d",
        "*": rf"{_LETTER}*",
        "^": r"^\W*",
        "$": r"\W*$",
        "(": "(?:",
        "'": "['’]",
        **SPELLINGS.get(language, {}),
    }

    def translate(match: re.Match[str]) -> str:
        if match["gap"]:
            return rf"{end}[^.?!。？！]*{begin}"
        if match["space"]:
            return r"[\s,]+"
        return rf"{_LETTER}+" if match["start"] else signs.get(match[0], match[0])

    phrases = _phrases(cue)
    phrases.sort(key=lambda phrase: (-len(phrase), phrase))
    wanted = [_SIGN.sub(translate, phrase) for phrase in phrases if phrase[0] != "-"]
    others = [_SIGN.sub(translate, phrase[1:]) for phrase in phrases if phrase[0] == "-"]
    but = f"(?!(?:{'|'.join(others)}){end})" if others else ""
    return f"{begin}{but}(?:{'|'.join(wanted)}){end}"


def _compile(cue: str, language: Language) -> re.Pattern[str]:
    return re.compile(_expression(cue, language), re.IGNORECASE)


class _ByLanguage(Mapping[Language, _Cue]):
    """What the languages that have a cue say for it, read when it is first looked up."""

    def __init__(self, read: Callable[[dict[str, Any], Language], _Cue]) -> None:
        self._read = read
        self._cues: dict[Language, _Cue] = {}

    def __getitem__(self, language: Language) -> _Cue:
        if language not in self._cues:
            self._cues[language] = self._read(_sections()[language], language)
        return self._cues[language]

    def __iter__(self) -> Iterator[Language]:
        return (language for language in _sections() if language in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _cue(name: str) -> _ByLanguage[re.Pattern[str]]:
    return _ByLanguage(lambda section, language: _compile(section[name], language))


def _table(name: str) -> _ByLanguage[dict[str, re.Pattern[str]]]:
    return _ByLanguage(
        lambda section, language: {
            key: _compile(cue, language) for key, cue in section[name].items()
        }
    )


def _first_person(section: dict[str, Any], language: Language) -> re.Pattern[str]:
    cues = [section["text"]["first person"], section.get("asker", "")]
    return _compile(", ".join(filter(None, cues)), language)


def _talk(section: dict[str, Any], language: Language) -> re.Pattern[str]:
    return _compile(", ".join([section["talk"].strip(), *sorted(STOP_WORDS[language])]), language)


def _together(name: str, *languages: Language) -> str:
    """Return one regular expression for a cue of several languages."""
    return "|".join(_expression(_sections()[each][name], each) for each in languages)


TIME_PHRASES = _ByLanguage(
    lambda section, _: {english: _phrases(cue) for english, cue in section["time"].items()}
)
"""What "since", "until", "before" and "after" a time are, which stands where the … is.

These are regular expressions, in which spaces may be of any length.
"""
TEXT_CUES, QUESTION_CUES = _table("text"), _table("asks")
ASKER = _ByLanguage(_first_person)
STANDING = _cue("standing")
OF_ASSISTANT = _cue("of_assistant")
"""Questions about what the assistant told the asker."""
SMALL_TALK = lazy_pattern(lambda: _together("small_talk", *_sections()), re.IGNORECASE)
"""Greetings, thanks, and answers that say no more than yes or no."""


@cache
def negation() -> tuple[str, str]:
    """Return expressions for words that deny, and for those in scripts without ends of words."""
    return (
        _together("negation", "de", "es", "fr", "it", "pt", "hr", "ru", "tr"),
        _together("negation", "zh", "ja", "ar", "hi", "ko"),
    )


TALK = _ByLanguage(_talk)
"""What is left of a question that asks for nothing but what was said or done at a time."""
LAST_TALK = _cue("last_talk")
"""Questions about the latest talk, whatever it was about."""
FIRST_TALK = _cue("first_talk")
"""Questions about the earliest talk."""
NEWEST, OLDEST = _cue("newest"), _cue("oldest")
"""Questions about the latest or the earliest of several."""
SPREAD = _cue("spread")
"""Questions about several things: lists, counts, order and summaries."""
HELD = _cue("held")
"""Questions about how something was, rather than about what happened."""
BEFORE_EVENT = _cue("before_event")
"""What begins a clause or names a thing before which something was so: "before we moved"."""
