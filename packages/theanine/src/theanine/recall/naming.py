"""Questions for the name of somebody or something, and what tells it: "Petra, my wife"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from theanine.lazy_pattern import lazy_pattern
from theanine.retrieval.languages import Language, everyday_words, stem

_ROLE = r"(?:my|our|the) (?:\w+ ){0,2}?"
_END = r"(?:,? (?:again|please|now|then))?\W*$"
_ASKED = lazy_pattern(
    rf"\b{_ROLE}(?P<owner>\w+)['’]s? (?:first |full |last )?name{_END}|"
    rf"\bname of {_ROLE}(?P<of>\w+){_END}|"
    rf"\b{_ROLE}(?P<called>\w+) (?:called|named){_END}|"
    rf"\bwho(?:['’]s| is| was) {_ROLE}(?P<who>\w+){_END}|"
    rf"\b{_ROLE}(?P<topic>\w+),? what(?:['’]s| is| was) (?:the|his|her|its|their) name{_END}",
    re.IGNORECASE,
)
"""Questions for the name of somebody or something, by what they are to the asker."""
_ASKED_ELSEWHERE: Mapping[str, re.Pattern[str]] = {
    language: lazy_pattern(pattern, re.IGNORECASE)
    for language, pattern in {
        "de": r"wie (?:heißt|hieß|heissen|heißen) (?:mein|unser|de[rn]|die|das)\w* (?P<of>\w+)|"
        r"\bname (?:mein|unser)\w* (?P<of2>\w+)",
        "es": r"c[oó]mo se llam\w+ (?:mi|nuestr[oa]|el|la)s? (?P<of>\w+)|"
        r"nombre de (?:mi|nuestr[oa])s? (?P<of2>\w+)",
        "fr": r"comment s['’]appelle\w* (?:mon|ma|mes|notre|nos|le|la|les) (?P<of>\w+)|"
        r"comment (?:mon|ma|notre) (?P<of2>\w+) s['’]appelle|"
        r"nom de (?:mon|ma|mes|notre) (?P<of3>\w+)",
        "it": r"come si chiama\w* (?:(?:il|la|i|le) )?(?:mi[oa]|nostr[oa]) (?P<of>\w+)|"
        r"nome d(?:el|ella|i) (?:mi[oa]|nostr[oa]) (?P<of2>\w+)",
        "pt": r"como se chama\w* (?:(?:o|a) )?(?:meu|minha|noss[oa]) (?P<of>\w+)|"
        r"nome d[oae] (?:meu|minha|noss[oa]) (?P<of2>\w+)",
        "hr": r"kako se (?:ono )?zove\w* (?:moj|naš)\w* (?P<of>\w+)",
        "ru": r"как зовут (?:моего|мою|моих|нашего|нашу) (?P<of>\w+)",
        "tr": r"(?P<of>\w+)[ıiuü]m[ıiuü]z?[ıiuü]n ad[ıi]\b",
        "zh": r"我们?的?(?P<of>[\u4e00-\u9fff]{1,3}?)叫什么|"
        r"我们?的?(?P<of2>[\u4e00-\u9fff]{1,3})的名字",
        "ja": r"(?:私|うち|僕|俺|我が家)の(?P<of>\w{1,4}?)の名前|(?P<of2>[^のはが]{1,4})の名前は",
        "ko": r"(?:우리|내|제|저희) (?P<of>\w+?)(?:의|은|는|이|가)? 이름",
        "hi": r"(?:मेरे|मेरी|हमारे|हमारी) (?P<of>\S+) का नाम",
        "ar": r"ما اسم (?P<of>\w+?)(?:ي|نا)?\b",
    }.items()
}
"""The same in other languages."""


def what_is_to_be_named(text: str, language: Language) -> tuple[str, ...]:
    """Return words for what somebody or something is whose name is asked for; else nothing."""
    pattern = _ASKED if language == "en" else _ASKED_ELSEWHERE.get(language)
    if pattern is None or not (match := pattern.search(text)):
        return ()
    word = next(filter(None, match.groups())).lower()
    return (word,) if language == "en" else everyday_words(language).get(stem(word, language), ())


def naming_pattern(name_of: Sequence[str]) -> re.Pattern[str]:
    """Return what tells a name with what it is of: "Petra, my wife", "my boss Henrik"."""
    role = f"(?:{'|'.join(map(re.escape, name_of))})"
    name = r"[A-ZÀ-ÖØ-Þ][^\W\d_]+"
    ours = r"(?:[Mm]y|[Oo]ur|[Tt]he|[Aa]n?) (?:[\w-]+ ){0,2}"
    return re.compile(
        rf"\b{ours}{role}(?:,| is| was| called| named)* {name}|"
        rf"\b{name}(?:,| is| was)* {ours}{role}\b|"
        rf"\b{role}\b[^.!?]{{0,60}}\b(?:called|named|name is|name was) {name}"
    )
