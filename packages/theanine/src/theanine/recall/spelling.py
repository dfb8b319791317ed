"""Read misspelled words of a question as the words that were said."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from theanine.embeddings.encoder import FOLDER
from theanine.linking.reading import word_weights
from theanine.recall.understand import Question
from theanine.retrieval.languages import guess_language, is_similar, stem
from theanine.retrieval.lexical import content_words
from theanine.retrieval.log_index import LogIndex
from theanine.text.words import stem as talk_stem

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_WORD = re.compile(r"(?<![\w'’.@/-])[a-z]{5,}(?![\w'’@/-])")
"""Plain words in lower case; names and codes are read as they are."""


async def with_said_spelling(question: Question, log: LogIndex) -> Question:
    """Return an English question with misspelled words spelled as in the log.

    A word is misspelled if nobody ever said it, it is no common word, and one that was said differs
    from it in one letter. Of several such, the most frequent one is meant.
    """
    text = question.text
    if not question.asks or guess_language(text) != "en":
        return question
    unknown = {
        word
        for word in _WORD.findall(text)
        if not log.candidates.knows(word) and not is_common_word(word)
    }
    meant = {word: said for word in sorted(unknown) if (said := await _said(word, log))}
    if not meant:
        return question
    return replace(
        question, text=_WORD.sub(lambda match: meant.get(match[0], match[0]), question.text)
    )


async def _said(word: str, log: LogIndex) -> str | None:
    """Return the word that was said and is meant by a misspelled one; None if there is none."""
    for form in dict.fromkeys((word, word.removesuffix("s"))):  # "parots", and "parrot" was said
        if form != word and (is_common_word(form) or log.candidates.knows(form)):
            break
        found = log.candidates.similar_terms(form)
        loaded = await log.load([position for _, position in found])
        for term, position in found:
            for said in content_words(loaded[position].text) if position in loaded else ():
                if stem(said) == term and is_similar(form, said):
                    return said
    return None


def is_common_word(word: str) -> bool:
    """Whether an English word is in the vocabulary of the fitted encoder, or of everyday talk."""
    return _vocabulary().token_to_id(word) is not None or talk_stem(word) in word_weights()


def common_words(count: int) -> list[str]:
    """Return so many words of the vocabulary of the fitted encoder, the most frequent first."""
    vocabulary = _vocabulary()
    tokens = map(vocabulary.id_to_token, range(vocabulary.get_vocab_size()))
    return list(islice((token for token in tokens if token and token.isalpha()), count))


@cache
def _vocabulary() -> Tokenizer:
    from tokenizers import Tokenizer  # only here: most questions have no unknown word

    return Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
