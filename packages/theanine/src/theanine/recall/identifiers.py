"""Numbers, codes and names in a question: a passage with another one of its kind is no evidence."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, product

from theanine.retrieval.candidates import CandidateIndex
from theanine.retrieval.languages import UNSPACED, Language, everyday_words, is_similar, stem
from theanine.stop_words import STOP_WORDS

_TOKEN = re.compile(r"(?<![\w.])\+?\w*\d\w*(?:[-./:]\w+)*|(?<!\w)[A-Z]{1,5}(?:-\w+)*-\w*\d[\w-]*")
_ADDRESS = re.compile(
    r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:\bhttps?://|\bwww\.)[^\s<>\"')]*\w"
)
"""An address of mail or of a page."""
_SYMBOL = re.compile(r"\b(?:[a-z]+[A-Z]\w+|[A-Za-z]+_\w+)\b")
"""A name in code: parseHeader or parse_header."""
_SCHEME = re.compile(r"(?:https?://)?(?:www\.)?", re.IGNORECASE)
_SPACED_DIGITS = re.compile(r"(?<!\w)\+?\d[\d ()/-]{6,}\d(?!\w)")
_CODE = re.compile(
    r"(?<![\w+-])(?:(?:[A-Z]{1,5}[ -]?|[a-z]{1,5})\d{2,}(?:[ -]\d{2,})*|\d{2,}(?: \d{2,})*)"
    r"(?![\w-])"
)
"""A code, or a number, perhaps in groups."""
_THOUSANDS = re.compile(r"(?<![\w.,'’])\d{1,3}(?:([.,'’])\d{3}(?:\1\d{3})*)(?![\w.,'’]?\d)(?!\w)")
"""A number whose thousands are parted by a sign, which differs by language: 1.450, 1,450."""
_YEAR = re.compile(r"(?:19|20)\d\d")
_TIME = re.compile(r"\d{1,2}:\d\d|\d{1,2}(?:am|pm)", re.IGNORECASE)
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s|k|x)", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_RUN = re.compile(r"\d+|[^\W\d_]+")
_BEFORE = re.compile(r"([^\W\d_]+)\.?[ #:]*$")
_AFTER = re.compile(r" ?([A-Z][^\W\d_]+)")
_UNIT = re.compile(
    r" ?(?!(?:is|was|has|takes|goes|leaves|runs|stops|comes|gets|costs|opens|closes|arrives|"
    r"departs|starts|begins|ends|says|needs|works|belongs|brings|stands|lies|expires|does)\b)"
    r"([^\W\d_A-Z][^\W\d_]*)"
)
"""The word after a number, unless it is one of these verbs: "97 miles", not "bus 97 takes"."""
PHONE = "phone"
"""The shape of long numbers, whatever their writing."""
MAIL, PAGE, SYMBOL = "mail", "page", "symbol"
"""The shapes of addresses, and of names in code."""
_GROUP = (2, 3, 4)
"""Digits of a group in a longer number."""
_GROUPED, _MAX_GROUPED = 5, 16
"""Digits that people put in groups, at least and at most."""
_OF_A_DATE = 8
"""Digits of a date with its year."""
_LONG = 3
"""Digits from which a number stands for something, rather than counts it."""
_COUNTED = frozenset(
    "last past previous next first least most than about around over under in at by of for to from "
    "after before within every the and or a with on is are was were only".split()
)
_NAME = r"(?P<name>[A-ZÀ-ÖØ-ÞČĆŠŽĐİŞĞ][^\W\d_]{2,})"
_TITLE = (
    r"(?:Mr|Mrs|Ms|Miss|Dr|Doctor|Prof|Professor|Sir|Captain|Frau|Herrn?|Doktor|Señora?|Sra?|Dra|"
    r"Don|Doña|Doctora|Madame|Mme|Monsieur|Maître|Signora?|Sig|Dott|Dottor|Dottoressa|Senhora?|"
    r"Dona|Gospođa|gospođa|Gospodin|gospodin|señora?|madame|monsieur|signora?|senhora?)\.? "
)
_NAMED = (
    re.compile(rf"(?<!^)(?<![.?!] )\b{_NAME}['’]s\b"),
    re.compile(
        r"\b(?:did|does|is|was|has|will|would|can|about|(?:know|heard|anything|something) of|uncle|"
        r"aunt|cousin|brother|sister|son|daughter|husband|wife|friend|boss|colleague|neighbou?r) "
        rf"(?:{_TITLE})?{_NAME}\b(?! [A-Z])"
    ),
)
_NAMED_ELSEWHERE: Mapping[str, re.Pattern[str]] = {
    language: re.compile(rf"(?<!\w)(?:(?:{before}) (?:{_TITLE})?|(?P<title>{_TITLE})){_NAME}\b")
    for language, before in {
        "de": r"[Ww]er (?:ist|war)(?: denn| eigentlich)?|(?<![Ww]er )(?:ha(?:t|tte)|wird|"
        r"will|kann|soll|darf|muss|wohnt|arbeitet|mag|isst|studiert|lebt|sagte?|meinte?)"
        r"(?: sich| mir| uns| denn)?|"
        r"(?:Groß|Schwieger)?(?:[Oo]nkel|[Tt]ante|[Cc]ousine?|[Bb]ruder|[Ss]chwester|[Ss]ohn|"
        r"[Tt]ochter|[Ff]reund(?:in)?|[Cc]hef(?:in)?|[Kk]olleg(?:e|en|in)|[Nn]achbar(?:n|in)?|"
        r"[Oo]ma|[Oo]pa)",
        "es": r"[Qq]uién (?:es|era|fue)|dijo|contó|sobre|"
        r"(?:tí|prim|herman|hij|amig|vecin|abuel|suegr|cuñad)[oa]|"
        r"marido|mujer|esposa|jef[ea]|compañer[oa]",
        "fr": r"[Qq]ui (?:est|était)(?: donc)?|dit|sur|"
        r"oncle|tante|cousine?|frère|sœur|soeur|fils|fille|"
        r"mari|femme|amie?|copine?|chef(?:fe)?|collègue|voisine?|grand-(?:mère|père)",
        "it": r"[Cc]hi (?:è|era)|detto|su|"
        r"zi[oa]|cugin[oa]|fratello|sorella|figli[oa]|marito|moglie|"
        r"amic[oa]|capo|collega|vicin[oa]|nonn[oa]|suocer[oa]",
        "pt": r"(?:[Qq]uem (?:é|era|foi)|disse|contou|sobre)(?: [oa])?|"
        r"ti[oa]|prim[oa]|irmão|irmã|filh[oa]|marido|mulher|amig[oa]|"
        r"chef[ea]|colega|vizinh[oa]|avó|avô|sogr[oa]",
        "hr": r"[Tt]ko je(?: bio| bila| ono)?|(?:tet|ujak|stric|strin|bratić|brat|sestr|sin|kćer|"
        r"muž|žen|prijatelj|šef|kolegic|koleg|susjed|bak|djed)\w{0,3}",
    }.items()
}
"""Patterns by language for the name of a person after a title, a relative or a verb of people."""
_OWNER = r"(?P<owner>[A-ZÀ-ÖØ-ÞČĆŠŽĐİŞĞ][^\W\d_]{2,})"
_OWNED = (
    re.compile(rf"(?<!\w){_OWNER}['’]s? (?P<thing>[^\W\d_]{{3,}})"),
    re.compile(rf"(?<!\w)(?P<thing>[^\W\d_]{{3,}}) (?:of|von|de|di|do|da|du|d['’]) ?{_OWNER}"),
)
"""Possession by a name: "Klara's number", "el número de Klara"."""
_CONTRACTED = frozenset("what where who here there that it how let when why one".split())
"""English words before "'s" that are nobody."""
_CASE_ENDING = re.compile(r"(?:[oe]m|[auei])$")
"""Case endings of Croatian names; without them, the forms of one differ by at most a letter."""


@dataclass(frozen=True, slots=True)
class Identifier:
    """A number or code in a text.

    Attributes:
        key: its letters and digits in lower case.
        shape: its runs of letters and of digits with the signs between them: ``a-0-0``.
        words: its words that have a digit, of an address all of them, in lower case.
        context: for a short number, the word before or after it, in lower case.
    """

    key: str
    shape: str
    words: tuple[str, ...] = ()
    context: str = ""

    @classmethod
    def read(cls, token: str, shape: str, context: str = "") -> Identifier:
        """Return the identifier that a token is."""
        lower = token.casefold()
        words = [word for word in _WORD.findall(lower) if any(map(str.isdigit, word))]
        return cls("".join(_RUN.findall(lower)), shape, tuple(words), context)

    def is_same(self, other: Identifier) -> bool:
        """Whether both are the same.

        Telephone numbers may differ in their prefixes; of two pages, one may be in the other.
        """
        if self.shape == other.shape == PHONE:
            shorter, longer = sorted((self.key.lstrip("0"), other.key.lstrip("0")), key=len)
            return longer.endswith(shorter)
        if self.shape == other.shape == PAGE:
            return self.key.startswith(other.key) or other.key.startswith(self.key)
        return self.key == other.key

    @property
    def may_be_apart(self) -> bool:
        """Whether its parts may have been told apart, so that only the whole text tells."""
        is_number = self.shape == f"0{len(self.key)}" and len(self.key) > _LONG
        return self.shape == PHONE or is_number

    def conflicts(self, other: Identifier) -> bool:
        """Whether a text that has ``other``, and not this one, is of something else."""
        if self.shape == SYMBOL:
            return False  # a file has many of them
        alike = other.context == self.context if self.context else other.shape == self.shape
        return alike and not self.is_same(other)


def find_identifiers(text: str) -> tuple[Identifier, ...]:
    """Return the numbers and codes that a text names; dates, times and amounts are none."""
    return tuple(dict.fromkeys(_identifiers(text)))


def _identifiers(text: str) -> Iterator[Identifier]:
    # Full-width forms are other signs for the same; writing without spaces has no other borders.
    text = UNSPACED.sub(r" \g<0> ", unicodedata.normalize("NFKC", text))
    text = _THOUSANDS.sub(_joined, text)
    phones = [
        (match.span(), phone)
        for match in _SPACED_DIGITS.finditer(text)
        if not _YEAR.fullmatch(match[0][:4])
        and len((phone := Identifier.read(match[0], PHONE)).key) > 2 * _LONG
    ]
    for _, phone in phones:
        yield phone
    addresses = [(match.span(), _read_address(match[0])) for match in _ADDRESS.finditer(text)]
    for _, address in addresses:
        yield address
    for match in _SYMBOL.finditer(text):
        yield Identifier.read(match[0], SYMBOL)
    for match in _TOKEN.finditer(text):
        if any(start <= match.start() < end for (start, end), _ in (*phones, *addresses)):
            continue
        token = match[0].rstrip(".:/-")
        if any(form.fullmatch(token) for form in (_YEAR, _TIME, _ORDINAL)):
            continue
        if identifier := _read_token(token, text[: match.start()], text[match.end() :]):
            yield identifier


def _joined(number: re.Match[str]) -> str:
    return "".join(filter(str.isdigit, number[0]))


def _thousands(digits: str) -> list[str]:
    """Return the digits of a number by thousands: 1 and 450 of 1450."""
    first = len(digits) % 3 or 3
    return [digits[:first], *(digits[at : at + 3] for at in range(first, len(digits), 3))]


def _read_address(text: str) -> Identifier:
    plain = _SCHEME.sub("", text.casefold(), count=1)
    key = "".join(_RUN.findall(plain))
    return Identifier(key, MAIL if "@" in text else PAGE, tuple(_WORD.findall(plain)))


def _read_token(token: str, before: str, after: str) -> Identifier | None:
    """Return what a token with a digit identifies, between other words; None for an amount."""
    if not any(map(str.isdigit, token)):
        return None
    digits = token.removeprefix("+")
    if digits.isdigit() and len(digits) > 2 * _LONG:
        return Identifier.read(token, PHONE)
    if not token.isdigit():
        return Identifier.read(token, _shape(token))
    last, following = _BEFORE.search(before), _AFTER.match(after)
    context = last[1].casefold() if last else ""
    if _counts(after, context):
        return None
    if len(token) >= _LONG:
        return Identifier.read(token, _shape(token))
    if following and (not context or context in _COUNTED):
        return Identifier.read(token, "0", following[1].casefold())
    if context and context not in _COUNTED:
        return Identifier.read(token, "0", context)
    return None


def _counts(following: str, before: str) -> bool:
    """Whether a number counts or measures what follows it."""
    if not (unit := _UNIT.match(following)):
        return False
    if UNSPACED.match(unit[1]):  # a counter, or what else may follow it, has no other sign
        return True
    return unit[1].endswith("s") or not before or before in _COUNTED


def _shape(token: str) -> str:
    """Return the shape of a code; of a plain number with its length, as any two are numbers."""
    if token.isdigit():
        return f"0{len(token)}"
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", token))


def find_names(text: str, language: Language) -> tuple[str, ...]:
    """Return the capitalized words of a question that its wording shows to be names."""
    if language == "en":
        found = [match["name"] for pattern in _NAMED for match in pattern.finditer(text)]
        return tuple(dict.fromkeys(found))
    pattern, known = _NAMED_ELSEWHERE.get(language), everyday_words(language)
    found = [
        match["name"]
        for match in (pattern.finditer(text) if pattern else ())
        if (match["title"] and language != "de")
        or stem(match["name"].lower(), language) not in known
    ]
    return tuple(_CASE_ENDING.sub("", name) if language == "hr" else name for name in found)


def is_other(asked: Iterable[Identifier], told: Iterable[Identifier]) -> bool:
    """Whether a text tells another number or code of the kind of one asked for, and not that."""
    return any(
        not any(each.is_same(own) for own in told) and any(each.conflicts(own) for own in told)
        for each in asked
    )


@dataclass(frozen=True, slots=True)
class Owned:
    """Something that is said to be somebody's, by their name; both in lower case."""

    thing: str
    owner: str


def find_owned(text: str, language: Language) -> tuple[Owned, ...]:
    """Return what a text says is somebody's, by name: "Here's the key" says nothing of the kind."""
    others, known = STOP_WORDS[language], everyday_words(language)
    return tuple(
        Owned(match["thing"].casefold(), owner)
        for pattern in _OWNED
        for match in pattern.finditer(text)
        if (owner := match["owner"].casefold()) not in others
        and owner not in _CONTRACTED
        and stem(owner, language) not in known
    )


def is_of_another(asked: Iterable[Owned], text: str, language: Language) -> bool:
    """Whether a text tells of the like of what is asked for, but of somebody else's alone."""
    told = find_owned(text, language)
    words = _WORD.findall(text.casefold()) if told else ()
    return any(
        own.thing == each.thing and not any(is_similar(each.owner, word) for word in words)
        for each in asked
        for own in told
    )


def is_unknown(asked: Identifier, candidates: CandidateIndex) -> bool:
    """Whether a number or code occurs nowhere in the memory but in questions, in any writing."""
    if asked.context or asked.shape in (PHONE, SYMBOL):  # nothing is known without the context
        return False
    if asked.shape in (MAIL, PAGE):
        return not all(map(candidates.tells, asked.words))
    digits = [run for run in _RUN.findall(asked.key) if run[0].isdigit()]
    if asked.key.isdigit() and candidates.tells_together(_thousands(asked.key)):
        return False
    return not all(map(candidates.tells, asked.words)) and not all(map(candidates.tells, digits))


def as_told(text: str, candidates: CandidateIndex) -> str:
    """Return a text with its numbers and codes in groups, or without, as they were told."""

    def joined(match: re.Match[str]) -> str:
        number = _joined(match)
        return number if candidates.tells(number) and not _YEAR.fullmatch(number) else match[0]

    def written(match: re.Match[str]) -> str:
        runs = _RUN.findall(match[0])
        digits = sum(len(run) for run in runs if run.isdigit())
        is_date = digits == _OF_A_DATE and any(map(_YEAR.fullmatch, runs))
        if is_date or digits > _MAX_GROUPED:
            return match[0]
        joined = "".join(runs)
        if candidates.tells(joined.casefold()):
            return joined
        if candidates.tells(match[0].casefold()):
            return match[0]
        for groups in product(*(_groupings(run) for run in runs)) if digits >= _GROUPED else ():
            parts = [*chain.from_iterable(groups)]
            if candidates.tells_together([part.casefold() for part in parts]):
                return " ".join(parts)
        is_number = joined.isdigit() and not _YEAR.fullmatch(joined)
        thousands = _thousands(joined) if is_number else []
        if len(thousands) > 1 and candidates.tells_together(thousands):
            return ".".join(thousands)
        return match[0]

    return _CODE.sub(written, _THOUSANDS.sub(joined, text))


def _groupings(run: str) -> Iterator[list[str]]:
    """Yield how digits may be put in groups of two to four, first together; letters as they are."""
    yield [run]
    for end in _GROUP if run.isdigit() else ():
        if len(run) - end >= _GROUP[0]:
            yield from ([run[:end], *rest] for rest in _groupings(run[end:]))


def is_unknown_name(name: str, candidates: CandidateIndex) -> bool:
    """Whether nobody has ever told of somebody of that name, or of one a letter away."""
    return not candidates.tells(name.casefold(), similar=True)
