"""Topics: each memory in one, by links and rare words, with titles from their own words."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from theanine.page.topics import MAX_MEMORIES, MAX_TITLE, Topic, find_topics
from theanine.types import Link, Memory, Relation

START = datetime(2024, 5, 8, 12, tzinfo=UTC)
WORDS = (
    "violin ferry Split hazelnut the and lighthouse Bura marathon meniscus Dr. 小提琴 naïve".split()
)


def memory(number: int, text: str, speakers: tuple[str, ...] = ("Ana",)) -> Memory:
    at = START + timedelta(days=number)
    return Memory(
        id=number,
        session=number,
        text=text,
        at=at,
        session_ended_at=at,
        source_turns=(number,),
        speakers=speakers,
    )


def link(older: int, newer: int, relation: Relation = Relation.CHANGED) -> Link:
    return Link(older=older, newer=newer, relation=relation, explanation="", similarity=0.8)


def topics(texts: Iterable[str], *links: Link) -> list[Topic]:
    return find_topics([memory(n, text) for n, text in enumerate(texts, 1)], links)


def test_what_is_linked_or_shares_a_rare_word_is_one_topic() -> None:
    found = topics(
        [
            "I sail from Brestova on Fridays.",
            "My meniscus hurts.",
            "The ferry to Brestova is late.",
            "The doctor found nothing.",
        ],
        link(2, 4),
    )
    assert [topic.memories for topic in found] == [(2, 4), (1, 3)]
    assert [topic.title for topic in found] == ["", "Brestova"]


def test_nothing_has_no_topics_and_one_memory_has_one_without_a_title() -> None:
    assert topics([]) == []
    assert topics(["I play the violin."]) == [Topic(title="", memories=(1,))]


def test_everyday_words_and_own_names_tie_and_name_nothing() -> None:
    found = topics(["Ana, it was a good day.", "Ana, what a good day.", "Such a good day, Ana."])
    assert all(topic.title == "" and len(topic.memories) == 1 for topic in found)


def test_names_keep_their_capitals_and_first_words_do_not() -> None:
    found = topics(
        ["I saw Dr. Novak about my tinnitus.", "Tinnitus again, and Dr. Novak is on holiday."],
        link(1, 2),
    )
    [title] = [topic.title for topic in found]
    assert "Novak" in title and "tinnitus" in title.lower()


def test_what_belongs_to_something_is_named_without_its_ending() -> None:
    [topic] = topics(["I love my guitar's sound.", "My guitar’s strings broke."], link(1, 2))
    assert topic.title == "Guitar"


def test_scripts_without_spaces_have_titles_too() -> None:
    [topic] = topics(["我每天练习小提琴。", "小提琴老师搬走了。"], link(1, 2))
    assert topic.title == "小提琴"


def test_a_topic_is_no_longer_than_a_story() -> None:
    count = 3 * MAX_MEMORIES
    found = topics(["I play the violin."] * count, *(link(n, n + 1) for n in range(1, count)))
    assert sum(len(topic.memories) for topic in found) == count
    assert max(len(topic.memories) for topic in found) <= MAX_MEMORIES


@given(
    texts=st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), max_size=24),
    pairs=st.lists(st.tuples(st.integers(1, 24), st.integers(1, 24)), max_size=24),
)
@settings(max_examples=100, deadline=None)
def test_each_memory_is_in_one_topic_in_order(
    texts: list[str], pairs: list[tuple[int, int]]
) -> None:
    links = [link(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]]
    found = topics(texts, *links)
    listed = [number for topic in found for number in topic.memories]
    assert sorted(listed) == list(range(1, len(texts) + 1))
    assert all(list(topic.memories) == sorted(topic.memories) for topic in found)
    newest = [topic.memories[-1] for topic in found]
    assert newest == sorted(newest, reverse=True)
    assert all(
        len(topic.title) <= MAX_TITLE and len(topic.memories) <= MAX_MEMORIES for topic in found
    )
    assert topics(texts, *links) == found
