"""The language of a text, guessed from its script and function words, and its words.

The languages of :mod:`theanine.stop_words` are told apart; any other text passes for English, whose
stop words and stemmer do little harm elsewhere. In German, Spanish, French, Italian, Portuguese,
Croatian, Chinese and Japanese, everyday words get their English equivalents
(``everyday_words.txt``): the bundled word vectors are English, and synonyms become one term. These
replace the words, but in Chinese and Japanese they are added to the words, whose characters are
more telling.
"""

from __future__ import annotations

import json
import re
import unicodedata
from calendar import day_name, month_name
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain
from typing import Any, Literal, cast

import Stemmer

from theanine.folding import CROSSED
from theanine.lazy_pattern import lazy_pattern
from theanine.stop_words import STOP_WORDS

Language = Literal[
    "en", "de", "es", "zh", "ja", "fr", "it", "pt", "hr", "ru", "ar", "hi", "tr", "ko"
]
COLUMNS: tuple[Language, ...] = (
    *("en", "de", "es", "zh", "ja", "fr", "it", "pt", "hr", "ko", "ru", "ar", "hi", "tr"),
)
"""Of ``everyday_words.txt``."""
_ALSO_ENGLISH = frozenset(
    "ambulances application archives article articles association assurance bananas biscuits "
    "brochure carats catalogues caution circulation citation collections collier commander "
    "commission compliments conditions constant content corporation costumes couches couples "
    "crayons cuisine danger description director distances distribution documents dollars dosage "
    "dossier ensemble excuses explication familiar fissure fixation football forces formation "
    "fractions fracture fruits fusion golden grains guides habits individual inscription "
    "intention intervention intrigue jersey journal locales location manger manifestation mariner "
    "mentor messing migraine minuscule minutes obligation observer olives oranges palettes "
    "patients planning planter points portable portions portraits premier professor public "
    "raisins refuge regrets riches romance sardines scanner secrets smartphone stable suggestion "
    "tentative traces trainer training versions videos visage voyage voyager".split()
)
"""Everyday words of other languages that are English ones, too, and so tell no language."""
_TYPED_PLAIN: tuple[Language, ...] = ("tr", "hr")
"""Languages whose words are told without accents; those of French would often be English ones."""
MIN_VOTING = 2
"""Function words by which a language is told; with fewer, everyday words have a say, too."""
MIN_TELLING = 6
"""Letters of an everyday word that tells the language of a text without function words."""
MIN_COMPOUND = 7
"""Letters of a German word that may be a compound."""

MARKS = "\u0300-\u036f\u064b-\u0655\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963"
"""Signs of vowels and accents, which belong to the letter before them."""
WORD = re.compile(rf"(?:[^\W_][{MARKS}]*)+")
_UNSPACED_SIGN = r"[\u0e00-\u0eff\u3005\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
UNSPACED = re.compile(f"{_UNSPACED_SIGN}+")
# Each run is tried once, from its beginning: a pasted one may have a million letters.
_FOREIGN = re.compile(
    rf"(?<={_UNSPACED_SIGN})[a-z0-9]{{3,}}+|(?<![a-z0-9])[a-z0-9]{{3,}}+(?={_UNSPACED_SIGN})"
)
"""Latin words and numbers that stand in writing without spaces."""
_KANA = re.compile(r"[\u3040-\u30ff]")
_HAN = re.compile(r"[\u3400-\u9fff]")
_KATAKANA = re.compile(r"[\u30a1-\u30ff]{2,}")
_LETTERS: dict[Language, str] = {
    "de": "äßüö",
    "es": "ñ¿¡éáíóú",
    "fr": "èêâîûëïœéçàùô",
    "it": "èàìòù",
    "pt": "ãõéáíóúêâôç",
    "hr": "šđčćž",
    "tr": "ığşüöç",
}
"""Letters that speak for a language, as a word of it does."""
_ACCENTS = str.maketrans("áéíóú", "aeiou")
_LAST_LATIN = "\u024f"
_MODAL_MAY = lazy_pattern(
    r"(?<!in )(?<!of )(?<!by )(?<!last )(?<!next )(?<!this )(?<!early )(?<!late )(?<!since )"
    r"(?<!until )(?<!\d )(?<!st )(?<!nd )(?<!rd )(?<!th )\bmay\b(?! \d)"
    r"|(?:^|(?<=[.?!] ))May(?= (?:I|we|you|he|she|it|they)\b)"
)
"""The verb, which would else match the month."""
_LATIN: tuple[Language, ...] = ("en", "de", "es", "fr", "it", "pt", "hr", "tr")
"""The languages that function words tell apart; the first ones win where they tie."""
_LATIN_COLUMNS: list[Language] = [language for language in _LATIN if language in COLUMNS]
_SCRIPTS: dict[Language, re.Pattern[str]] = {
    "ru": re.compile(r"[\u0400-\u04ff]"),
    "ar": re.compile(r"[\u0600-\u06ff]"),
    "hi": re.compile(r"[\u0900-\u097f]"),
    "ko": re.compile(r"[\uac00-\ud7af\u1100-\u11ff]"),
}
"""Scripts that only one of the languages has."""
_ENGLISH_TOO = frozenset(
    "a also an ant are as at au aux ben bin bu c car com come comment d da dem den des die "
    "dieci dies do due e ed em en er era get go hat hay he i im in is it j k kim l m ma mal man "
    "mars me men mi mon n ni no non nun o on ont or per plus s sam sans se sea sei she si sin "
    "so solo son t ta tan te ti to tu tue u um un una uno van var via war was will y ya".split()
)
"""Function words of other languages that are English words, or names, too."""
_EVERYDAY: dict[Language, str] = {
    "de": "arbeite bitte danke esse gestern hab hallo heißt heute immer kannst mag morgen nie "
    "trinke wohne",
    "es": "adoro ayer bien como comí estoy fui gracias gusta hice hola hoy llama mañana me "
    "nunca odio puedo puedes quiero siempre trabajo vivo",
    "fr": "aime appelle aujourd beaucoup bien bois bonjour déteste habite hier hui jamais mange "
    "merci oui peux peut rien salut suis toujours travaille trop vais veux",
    "it": "abito adoro amo andiamo bene bevo chiama ciao domani faccio grazie ieri lavoro "
    "mangio niente odio oggi piace posso puoi può sempre vado vivo voglio vorrei",
    "pt": "adoro alguma amanhã bem coisa coisas disseste véspera chama "
    "comi estou falamos falei fiz fui gosto hoje moro nunca obrigada obrigado "
    "odeio oi olá ontem pode podes posso quero sempre sim trabalho vivo",
    "hr": "bok danas dobro hvala idem jako jedem jučer mogu molim moram mrzim možeš nikad pas "
    "pijem radim sutra umoran umorna uvijek volim više znam zove želim živim",
    "tr": "bugün bundan dün ederim ediyorum evet geldim gittim istiyorum lazım merhaba nefret "
    "selam seviyorum sonra tamam yarın yorgunum",
}
"""Other everyday words by which short texts can be told apart."""
_HALVES = frozenset("d ll m re s t ve".split())
"""What stands after the apostrophe of an English contraction or genitive."""
MIN_SHARED = 3
"""Function words that are English words, too, which speak for a language without any other."""
MIN_DATE = 4
"""Letters of a word for a date that speaks for a language."""


@cache
def date_words() -> dict[str, Any]:
    """Return the words for dates of the languages that have some, by language."""
    content: dict[str, Any] = json.loads(
        (files("theanine.retrieval") / "date_words.json").read_text("utf-8")
    )
    return content


def _words_for_dates(language: Language) -> frozenset[str]:
    """Return the words of dates that speak for a language."""
    dates = date_words().get(language, {})
    phrases = [*dates.get("ago", ()), *dates.get("numbers", ())]
    words = [word for phrase in phrases for word in phrase.split()]
    words += [*dates.get("months", ()), *dates.get("weekdays", ()), *dates.get("relative", ())]
    english = {name.casefold() for name in (*month_name, *day_name)}
    return frozenset(word for word in words if word.isalpha() and len(word) >= MIN_DATE) - english


def _shared(speakers: Mapping[Language, Iterable[str]]) -> dict[str, list[tuple[Language, float]]]:
    """Return the votes of words or letters, which the languages that have them share."""
    having: dict[str, list[Language]] = {}
    for language, words in speakers.items():
        for word in words:
            having.setdefault(word, []).append(language)
    return {
        word: [(language, 1 / len(languages)) for language in languages]
        for word, languages in having.items()
    }


_speakers: dict[Language, frozenset[str]] = {
    language: STOP_WORDS[language]
    | _words_for_dates(language)
    | frozenset(_EVERYDAY.get(language, "").split())
    for language in _LATIN
}
_english_too = _ENGLISH_TOO | STOP_WORDS["en"]
_own: dict[Language, frozenset[str]] = {
    language: words if language == "en" else words - _english_too
    for language, words in _speakers.items()
}
_votes = _shared(_own)
for _word in {word for language in _LATIN for word in _words_for_dates(language)} & _votes.keys():
    _votes[_word] = [(language, 2 * weight) for language, weight in _votes[_word]]
_votes_elsewhere = _shared(
    {language: _speakers[language] & _english_too for language in _LATIN[1:]}
)
"""What words that are English, too, say of a text in another language."""
_letter_votes = _shared(_LETTERS)
"""What function words, words for dates and letters say of the language of a text."""
GRAMMAR: dict[Language, re.Pattern[str]] = {
    "zh": lazy_pattern(
        "什么时候|什么样|为什么|多长时间|怎么样|什么|怎么|哪里|哪儿|哪个|哪天|哪一?[类种部些]|多少|多久|"
        "这样|那样|这些|那些|我们|你们|他们|她们|咱们|自己|一下|一个|一些|因为|所以|但是|不过|可是|如果|要是|"
        "的时候|已经|现在|以后|之后|然后|还是|就是|不是|没有|有没有|可以|"
        "[的了吗呢吧啊呀么是在有和跟与就都也还很太这那我你您他她它们把被给对让从到要会能没不过着地得谁几吗]"
    ),
    "ja": lazy_pattern(
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
    for code, name in (
        ("en", "english"),
        ("de", "german"),
        ("es", "spanish"),
        ("fr", "french"),
        ("it", "italian"),
        ("pt", "portuguese"),
        ("ru", "russian"),
        ("ar", "arabic"),
        ("hi", "hindi"),
        ("tr", "turkish"),
        ("hr", "serbian"),
    )
}


def normalize(text: str) -> str:
    """Return the text in lower case, with full-width and half-width forms unified."""
    if text.isascii():
        return text.casefold()
    return unicodedata.normalize("NFKC", text).casefold().replace("i\u0307", "i")  # the Turkish İ


_LATEST = 4_096
"""Texts whose words are kept: what is remembered is read several times in a row."""


@lru_cache(maxsize=_LATEST)
def guess_language(text: str) -> Language:
    """Return the language that a text seems to be in; English if in doubt."""
    if by_signs := _language_of_signs(text):
        return by_signs
    text = normalize(text)
    words = WORD.findall(text)
    if not text.isascii():
        words += [word for word in WORD.findall(text.translate(_ACCENTS)) if word not in words]
    votes: dict[Language, float] = dict.fromkeys(_LATIN, 0.0)
    found = [_votes.get(word, []) for word in words]
    if not text.isascii():
        found += [_letter_votes.get(letter, []) for letter in sorted(set(text))]
    for language, weight in chain.from_iterable(found):
        votes[language] += weight
    if sum(map(bool, found)) < MIN_VOTING and not votes["en"]:
        for word in words:
            if each := _vote_of_everyday_word(word):
                votes[each] += 1
    if max(votes.values()) == votes["en"]:
        return _by_shared_words({*words} - _HALVES, votes)
    for language, weight in chain.from_iterable(_votes_elsewhere.get(word, []) for word in words):
        votes[language] += weight
    return max(_LATIN[1:], key=lambda language: votes[language])


def _by_shared_words(words: set[str], votes: Mapping[Language, float]) -> Language:
    """Return the language of a text in which none has more votes than English.

    English, unless another language has all its English function words, and more besides.
    """
    shared = {language: words & STOP_WORDS[language] for language in _LATIN}
    having: list[Language] = [language for language in _LATIN if shared[language] >= shared["en"]]
    best = max(having, key=lambda each: len(shared[each]) + votes[each] * (each != "en"))
    return best if shared["en"] or len(shared[best]) >= MIN_SHARED else "en"


def _is_code(text: str) -> bool:
    """Whether a text with a digit is one word, among signs, or in capitals."""
    words = [word for word in text.split() if any(map(str.isalnum, word))]
    return any(map(str.isdigit, text)) and (len(words) == 1 or text.isupper())


def _language_of_signs(text: str) -> Language | None:
    """Return the language that has the script of a text alone, English for a code, or None."""
    if text.isascii():
        return "en" if _is_code(text) else None  # its parts are no words of a language
    text = normalize(text)
    if _KANA.search(text):
        return "ja"
    if len(_HAN.findall(text)) * 4 > len(text):
        return "zh"
    letters = sum(map(str.isalpha, text))
    scripts = _SCRIPTS.items()
    return next((each for each, own in scripts if len(own.findall(text)) * 2 > letters), None)


def _vote_of_everyday_word(word: str) -> Language | None:
    """Return the language of an everyday word that is hardly an English one, or None."""
    if len(word) < MIN_TELLING or word in _ALSO_ENGLISH or word in _written_words("en"):
        return None
    speaking: list[Language] = [each for each in _LATIN_COLUMNS if word in _written_words(each)]
    return speaking[0] if len(speaking) == 1 else None


@cache
def _written_words(language: Language) -> frozenset[str]:
    """Return the words of a column as they are written; of some also without accents."""
    words = [word for cells in _table() for word in cells[COLUMNS.index(language)]]
    return frozenset([*words, *map(_without_accents, words if language in _TYPED_PLAIN else ())])


@lru_cache(maxsize=50_000)
def stem(word: str, language: Language = "en") -> str:
    """Return the stem of a lower-case word; words of other scripts stay as they are."""
    if language == "es":
        word = word.translate(_ACCENTS)
    if language == "ko":
        return _korean_stem(word)
    stemmer = _STEMMERS.get(language)
    return str(stemmer.stemWord(word)) if stemmer else word


@lru_cache(maxsize=50_000)
def stems(word: str) -> frozenset[str]:
    """Return a lower-case word and its stems in all languages."""
    return frozenset({word, *(stem(word, language) for language in COLUMNS)})


_PARTICLE = re.compile(
    "(?:에서는|에서도|에게서|한테서|으로는|까지는|부터는|이라고|에서|에게|한테|으로|까지|부터|보다|"
    "처럼|이랑|하고|이나|라고|이라|들은|들이|들을|은|는|이|가|을|를|에|의|로|와|과|도|만|랑|들)$"
)
_ENDING = re.compile(
    "(?:었습니다|았습니다|였습니다|했습니다|습니다|습니까|었어요|았어요|였어요|했어요|었는데|았는데|했는데|"
    "었지만|았지만|했지만|었다|았다|였다|했다|었어|았어|였어|했어|었던|았던|했던|었지|았지|했지|었니|았니|했니|"
    "하는|하고|해서|하며|하면|하지|하다|한다|해요|해|했|는데|지만|니까|어서|아서|으면|려고|네요|"
    "어요|아요|고|는|던|은|을|지|니|면|다|어|아|요)$"
)
"""Particles of nouns and endings of verbs, the longest first."""


def _korean_stem(word: str) -> str:
    """Return a Korean word without its last particle and ending; a syllable is left at least."""
    noun = _PARTICLE.sub("", word)
    if len(noun) >= 2 and noun != word:
        word = noun
    verb = _ENDING.sub("", word)
    return verb or word


def is_similar(one: str, other: str) -> bool:
    """Whether one word becomes the other by a letter added, left out, changed or swapped.

    Accents don't count, and the first letter is the same.
    """
    if abs(len(one) - len(other)) > 1:
        return False
    one, other = sorted((_without_accents(one), _without_accents(other)), key=len)
    if one[:1] != other[:1]:
        return False
    at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    rest, others = one[at:], other[at:]
    if len(one) < len(other):
        return rest == others[1:]
    return rest[1:] == others[1:] or (rest[:2] == others[1::-1] and rest[2:] == others[2:])


def _without_accents(word: str) -> str:
    if word.isascii() or max(word) > _LAST_LATIN:  # elsewhere, marks make other letters
        return word
    plain = "".join(filter(str.isalnum, unicodedata.normalize("NFKD", word)))
    return plain.translate(CROSSED)


def without_modal(text: str) -> str:
    """Return an English text without the verb "may", so that only the month is left."""
    return _MODAL_MAY.sub(" ", text) if "may" in text or "May" in text else text


@lru_cache(maxsize=_LATEST)
def split_words(text: str) -> tuple[tuple[str, str], ...]:
    """Return the content words of a text, each with its term: its stem, or an English stem."""
    language = guess_language(text)
    text = normalize(without_modal(text) if language == "en" else text)
    stop_words = STOP_WORDS[language]
    if language == "en" and not UNSPACED.search(text):
        return tuple(
            (word, stem(_without_accents(word)))
            for word in WORD.findall(text)
            if word not in stop_words
            and (word.isascii() or word.translate(_ACCENTS) not in stop_words)
        )
    words: list[tuple[str, str]] = []
    for word in WORD.findall(_FOREIGN.sub(r" \g<0> ", text)):
        if UNSPACED.search(word):
            words += _split_unspaced(word, language)
        elif word.translate(_ACCENTS) not in stop_words and word not in stop_words:
            words += (
                _translate(word, language)
                if language != "en"
                else [(word, stem(_without_accents(word)))]
            )
    return tuple(words)


@lru_cache(maxsize=_LATEST)
def written_words(text: str) -> tuple[str, ...]:
    """Return the content words of a text as written; in scripts without spaces its characters."""
    stop_words = STOP_WORDS[guess_language(text)]
    words = [word for word in WORD.findall(normalize(text)) if word not in stop_words]
    return tuple(part for word in words for part in (word if UNSPACED.search(word) else [word]))


def in_english(text: str) -> str:
    """Return the content words of a text, in English where they are known; English as it is."""
    if guess_language(text) == "en":
        return text
    return " ".join(word for word, _ in split_words(text))


def _translate(word: str, language: Language) -> Iterator[tuple[str, str]]:
    """Yield the English equivalents of a word, or the word; of a German compound, both."""
    term = stem(word, language)
    translated = everyday_words(language).get(term, ())
    if not translated and word.isascii():
        translated = _everyday_words_without_accents(language).get(term, ())
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
    language = language if language in GRAMMAR else "zh"
    known = everyday_words(language)
    for piece, is_word in _segments(run, language):
        if is_word:
            yield from ((english, stem(english)) for english in known[piece])
            yield piece, piece
            continue
        for part in GRAMMAR[language].split(piece):
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
    text = normalize((files("theanine.retrieval") / "everyday_words.txt").read_text("utf-8"))
    return [
        [cell.split() for cell in line.split("|")]
        for line in text.splitlines()
        if not line.startswith("#")
    ]


@cache
def everyday_words(language: Language) -> dict[str, tuple[str, ...]]:
    """Return the English equivalents of everyday words, by their stems."""
    equivalents: dict[str, list[str]] = {}
    if language not in COLUMNS:
        return {}
    for cells in _table():
        for word in cells[COLUMNS.index(language)]:
            equivalents.setdefault(stem(word, language), []).extend(cells[0])
    return {word: tuple(dict.fromkeys(english)) for word, english in equivalents.items()}


@cache
def _everyday_words_without_accents(language: Language) -> dict[str, tuple[str, ...]]:
    """Return them by stems of the words without accents, as many people type: "gozluk"."""
    return {
        stem(_without_accents(word), language): everyday_words(language)[stem(word, language)]
        for cells in _table()
        for word in cells[COLUMNS.index(language)]
    }
