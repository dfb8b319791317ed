"""Whether a kept text counts as a repetition of what was erased."""

from __future__ import annotations

import pytest

from theanine.store.sql.repetition import ErasedWords

REPEATED = [
    ("I moved to Lisbon last weekend.", "How is Lisbon?"),
    ("Mark is my boss.", "Mark called."),
    ("Mark is my boss.", "I heard that from Mark."),
    ("i met Mark", "mark called"),
    ("The code of my safe is 4711.", "It is still 4711."),
    ("The code word is swordfish, remember it.", "SWORDFISH is noted."),
    ("My sister has cancer.", "I'm sorry about the cancer."),
    ("I owe my brother money.", "Money from your brother is a gift. The rest is not."),
    ("We sold the house.", "You sold the house and the garden, and it was a great day for all."),
    ("The boat!", "A boat?"),
    ("Ich arbeite in Berlin.", "Berlin ist schön."),
    ("Tengo un perro que se llama Coco.", "Coco está bien."),
    ("我妹妹得了癌症", "癌症很难"),
    ("妹の田中に会った", "田中さんはお元気ですか"),
]
ORDINARY = [
    ("I sold the boat because the engine died.", "The boat is in the garden."),
    ("What should I make today? Something good.", "Here is something with tomatoes."),
    ("I got a raise at work and I feel great about it.", "That's great, well done!"),
    ("Thanks, that was what I wanted to know.", "Thanks! Please tell me more."),
    ("Mark is my boss.", "Shall I mark the page?"),
    ("Maybe I will call my mother.", "Maybe you could read a book."),
    ("Können Sie mir das sagen?", "Das weiß ich nicht, fragen Sie mal."),
    ("これは何ですか", "それはいいですね"),
    ("", "A boat?"),
]


@pytest.mark.parametrize(
    ("erased", "kept", "repeated"),
    [(*pair, True) for pair in REPEATED] + [(*pair, False) for pair in ORDINARY],
)
def test_names_numbers_and_rare_words_count_and_one_ordinary_word_does_not(
    erased: str, kept: str, *, repeated: bool
) -> None:
    words = ErasedWords()
    words.add("It was raining.")
    words.add(erased)
    assert words.are_repeated_by(f"Well. {kept}") is repeated
