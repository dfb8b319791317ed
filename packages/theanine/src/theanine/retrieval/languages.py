"""The language of a text, guessed from its script and function words, and its words.

English, German, Spanish, Chinese and Japanese are told apart; any other text passes for English,
whose stop words and stemmer do little harm elsewhere. In the other four languages, everyday words
get their English equivalents (``everyday_words.txt``): the bundled word vectors are English, and
synonyms become one term. In German and Spanish these replace the words, in Chinese and Japanese
they are added to the words, whose characters are more telling.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal, cast

import Stemmer

from theanine.stop_words import STOP_WORDS

Language = Literal["en", "de", "es", "zh", "ja"]
COLUMNS: tuple[Language, ...] = ("en", "de", "es", "zh", "ja")
"""Of ``everyday_words.txt``."""
MIN_TELLING = 6
"""Letters of an everyday word that tells the language of a text without function words."""
MIN_COMPOUND = 7
"""Letters of a German word that may be a compound."""

WORD = re.compile(r"[^\W_]+")
UNSPACED = re.compile(r"[\u0e00-\u0eff\u3005\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_KANA = re.compile(r"[\u3040-\u30ff]")
_HAN = re.compile(r"[\u3400-\u9fff]")
_KATAKANA = re.compile(r"[\u30a1-\u30ff]{2,}")
_UMLAUT_OR_ACCENT = re.compile("[äöüß]|[ñáéíóú¿¡]")
_ACCENTS = str.maketrans("áéíóú", "aeiou")
_MODAL_MAY = re.compile(
    r"(?<!in )(?<!of )(?<!by )(?<!last )(?<!next )(?<!this )(?<!early )(?<!late )(?<!since )"
    r"(?<!until )(?<!\d )(?<!st )(?<!nd )(?<!rd )(?<!th )\bmay\b(?! \d)"
    r"|(?:^|(?<=[.?!] ))May(?= (?:I|we|you|he|she|it|they)\b)"
)
"""The verb, which would else match the month."""
_AMBIGUOUS = frozenset(
    "da den die bin dies er era hat hay im la mal man me no nun o sea si sin so solo son tan um "
    "war was will y ya".split()
)
"""Function words of German or Spanish that are words of another language too."""
_OTHERS = (
    "je il elle est et mais pas dans pour sur avec des du au mon cette nous vous ai suis "
    "ik het een van niet met voor maar ook aan zijn mijn di che non per sono ho ma della anche io "
    "não eu uma com do em meu minha você são"
).split()
"""Function words of French, Dutch, Italian and Portuguese, which are not mistaken for Spanish."""
_MONTHS: dict[Language, str] = {
    "de": "januar februar märz mai juni juli oktober dezember",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre "
    "diciembre",
}
_votes: dict[str, Language] = dict.fromkeys(_OTHERS, "en")
_votes |= {name: language for language, names in _MONTHS.items() for name in names.split()}
_votes |= {
    word: language
    for language in ("de", "es", "en")
    for word in STOP_WORDS[language] - (_AMBIGUOUS if language != "en" else frozenset())
    if not any(word in STOP_WORDS[other] for other in ("en", "de", "es") if other != language)
}
"""The language that a function word of only one of them speaks for."""
_GRAMMAR: dict[Language, re.Pattern[str]] = {
    "zh": re.compile(
        "什么时候|什么样|为什么|多长时间|怎么样|什么|怎么|哪里|哪儿|哪个|哪天|哪一?[类种部些]|多少|多久|"
        "这样|那样|这些|那些|我们|你们|他们|她们|咱们|自己|一下|一个|一些|因为|所以|但是|不过|可是|如果|要是|"
        "的时候|已经|现在|以后|之后|然后|还是|就是|不是|没有|有没有|可以|"
        "[的了吗呢吧啊呀么是在有和跟与就都也还很太这那我你您他她它们把被给对让从到要会能没不过着地得谁几吗]"
    ),
    "ja": re.compile(
        "どのくらい|どうやって|どうして|どんなふうに|どんな|どこ|どれ|どの|どう|いくら|いくつ|いつも|いつ|なぜ|なに|何の|何を|"
        "という|そういえば|そう|これ|それ|あれ|この|その|あの|ここ|です|ます|でした|ました|ません|ない|なかった|"
        "している|してい[るた]|して[るた]|てい[るた]|してる|した|する|される|された|だった|だよ|だけど|だから|けど|から|まで|"
        "より|ので|のに|とき|こと|もの|ところ|かな|よね|でしょう|ください|私|僕|俺|あなた|"
        "[はがをにでとのもへやかねよわなだてたしれるらりっいうくきえせさんげ]"
    ),
}
"""Function words and endings of languages without spaces, which carry no subject."""
_STEMMERS: dict[str, Any] = {
    code: cast("Any", Stemmer).Stemmer(name)  # a C extension without types
    for code, name in (("en", "english"), ("de", "german"), ("es", "spanish"))
}


def normalize(text: str) -> str:
    """Return the text in lower case, with full-width and half-width forms unified."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


@lru_cache(maxsize=4_096)
def guess_language(text: str) -> Language:
    """Return the language that a text seems to be in; English if in doubt."""
    plain = text = normalize(text)
    if not text.isascii():
        if _KANA.search(text):
            return "ja"
        if len(_HAN.findall(text)) * 4 > len(text):
            return "zh"
        plain = text.translate(_ACCENTS)
    votes = [_votes[word] for word in WORD.findall(plain) if word in _votes]
    if not text.isascii():
        votes += ["de" if mark in "äöüß" else "es" for mark in _UMLAUT_OR_ACCENT.findall(text)]
    languages = votes or [_vote_of_everyday_word(word) for word in WORD.findall(text)]
    return cast("Language", max(("en", "de", "es"), key=languages.count))


def _vote_of_everyday_word(word: str) -> str:
    """Return the language of an everyday word that is hardly an English one, or an empty string."""
    if len(word) < MIN_TELLING or word in _written_words("en"):
        return ""
    languages = [language for language in ("de", "es") if word in _written_words(language)]
    return languages[0] if len(languages) == 1 else ""


@cache
def _written_words(language: Language) -> frozenset[str]:
    """Return the words of a column as they are written."""
    return frozenset(word for cells in _table() for word in cells[COLUMNS.index(language)])


@lru_cache(maxsize=50_000)
def stem(word: str, language: Language = "en") -> str:
    """Return the stem of a lower-case word; words of other scripts stay as they are."""
    if language == "es":
        word = word.translate(_ACCENTS)
    stemmer = _STEMMERS.get(language)
    return str(stemmer.stemWord(word)) if stemmer else word


def without_modal(text: str) -> str:
    """Return an English text without the verb "may", so that only the month is left."""
    return _MODAL_MAY.sub(" ", text) if "may" in text or "May" in text else text


def split_words(text: str) -> list[tuple[str, str]]:
    """Return the content words of a text, each with its term: its stem, or an English stem."""
    language = guess_language(text)
    text = normalize(without_modal(text) if language == "en" else text)
    stop_words = STOP_WORDS[language]
    if language == "en" and not UNSPACED.search(text):
        return [
            (word, stem(word))
            for word in WORD.findall(text)
            if word not in stop_words
            and (word.isascii() or word.translate(_ACCENTS) not in stop_words)
        ]
    words: list[tuple[str, str]] = []
    for word in WORD.findall(text):
        if UNSPACED.search(word):
            words += _split_unspaced(word, language)
        elif word.translate(_ACCENTS) not in stop_words and word not in stop_words:
            words += _translate(word, language) if language != "en" else [(word, stem(word))]
    return words


def written_words(text: str) -> list[str]:
    """Return the content words of a text as written; in scripts without spaces its characters."""
    stop_words = STOP_WORDS[guess_language(text)]
    words = [word for word in WORD.findall(normalize(text)) if word not in stop_words]
    return [part for word in words for part in (word if UNSPACED.search(word) else [word])]


def in_english(text: str) -> str:
    """Return the content words of a text, in English where they are known; English as it is."""
    if guess_language(text) == "en":
        return text
    return " ".join(word for word, _ in split_words(text))


def _translate(word: str, language: Language) -> Iterator[tuple[str, str]]:
    """Yield the English equivalents of a word, or the word; of a German compound, both."""
    term = stem(word, language)
    known = everyday_words(language)
    translated = known.get(term, ())
    if not translated:
        yield word, term
        if language == "de" and len(word) >= MIN_COMPOUND:
            translated = _compound_parts(word)
    yield from ((english, stem(english)) for english in translated)


@lru_cache(maxsize=20_000)
def _compound_parts(word: str) -> tuple[str, ...]:
    """Return the English equivalents of the longest known beginning and end of a compound."""
    known = everyday_words("de")
    heads = (known.get(stem(word[:end], "de")) for end in range(len(word) - 3, 2, -1))
    tails = (known.get(stem(word[start:], "de")) for start in range(3, len(word) - 2))
    return (*next(filter(None, heads), ()), *next(filter(None, tails), ()))


def _split_unspaced(run: str, language: Language) -> Iterator[tuple[str, str]]:
    """Yield the known words of a run, in English and as written, and the characters of the rest."""
    language = language if language in _GRAMMAR else "zh"
    known = everyday_words(language)
    for piece, is_word in _segments(run, language):
        if is_word:
            yield from ((english, stem(english)) for english in known[piece])
            yield piece, piece
            continue
        for part in _GRAMMAR[language].split(piece):
            if _KATAKANA.fullmatch(part):
                yield part, part
                continue
            for i in range(len(part)):
                yield part[i], part[i]
                if i + 1 < len(part):
                    yield part[i : i + 2], part[i : i + 2]


def _segments(run: str, language: Language) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a run, and whether each is a known word."""
    end = 0
    for match in _known_pattern(language).finditer(run):
        yield run[end : match.start()], False
        yield match[0], True
        end = match.end()
    yield run[end:], False


@cache
def _known_pattern(language: Language) -> re.Pattern[str]:
    """Compile a pattern of the known words of a language without spaces, longest first."""
    words = sorted(everyday_words(language), key=lambda word: (-len(word), word))
    return re.compile("|".join(map(re.escape, words)))


@cache
def _table() -> list[list[list[str]]]:
    """Return the words of each row and column of ``everyday_words.txt``."""
    lines = (files("theanine.retrieval") / "everyday_words.txt").read_text("utf-8").splitlines()
    return [
        [normalize(cell).split() for cell in line.split("|")]
        for line in lines
        if not line.startswith("#")
    ]


@cache
def everyday_words(language: Language) -> dict[str, tuple[str, ...]]:
    """Return the English equivalents of everyday words, by their stems."""
    equivalents: dict[str, list[str]] = {}
    for cells in _table():
        for word in cells[COLUMNS.index(language)]:
            equivalents.setdefault(stem(word, language), []).extend(cells[0])
    return {word: tuple(dict.fromkeys(english)) for word, english in equivalents.items()}
