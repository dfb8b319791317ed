"""Topics and timelines: each memory in one, by links and words, with titles from these words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theanine.linking.topics import (
    MAX_MEMORIES,
    MAX_TITLE,
    Topic,
    find_timelines,
    find_topics,
)
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


def test_what_is_linked_or_shares_rare_words_is_one_topic() -> None:
    found = topics(
        [
            "I take the ferry from Brestova on Fridays.",
            "My meniscus hurts.",
            "The ferry to Brestova is late.",
            "The doctor found nothing.",
            "There is a café in Brestova, a friend tells me.",
        ],
        link(2, 4),
    )
    assert [topic.memories for topic in found] == [(1, 3, 5), (2, 4)]
    assert [topic.title for topic in found] == ["Brestova, ferry", "My meniscus hurts."]


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
    [topic] = topics(["The bow, my guitar's sound.", "My guitar’s, and my bow."], link(1, 2))
    assert topic.title == "Bow, guitar"


def test_one_word_is_no_title_but_the_clause_that_tells_it_first() -> None:
    texts = ["We chose a dog, a brown mongrel called Bura.", "I walk Bura."]
    [topic] = topics(texts, link(1, 2))
    assert topic.title == "A brown mongrel called Bura"
    [topic] = topics(["Bura!", "Bura?"], link(1, 2))
    assert topic.title == "Bura!", "no clause is long enough"


def test_a_word_that_describes_is_no_title() -> None:
    texts = ["I own a scorched stamp and an album.", "The scorched one is in the album: a stamp."]
    [topic] = topics(texts, link(1, 2))
    assert {*topic.title.lower().split(", ")} == {"album", "stamp"}


@pytest.mark.parametrize("speaker", ["Theo", "Ana"])
def test_what_the_assistant_says_is_of_no_matter(speaker: str) -> None:
    texts = ["I play the violin in Brestova.", "The violin of Brestova is a fine violin."]
    memories = [memory(1, texts[0]), memory(2, texts[1], (speaker,)), memory(3, texts[1])]
    related = link(1, 2, Relation.SAME_TOPIC)
    found = find_topics(memories, [related], frozenset({"Theo"}))
    together = next(topic.memories for topic in found if 1 in topic.memories)
    assert (2 in together) is (speaker == "Ana")
    changed = find_topics(memories, [link(1, 2)], frozenset({"Theo"}))
    assert any({1, 2} <= {*topic.memories} for topic in changed), "a relation is told of both"


def test_misspelled_function_words_tie_nothing() -> None:
    texts = ["thandi danced wiht the postman", "i go to the canal wiht ginger", "wiht whom"]
    assert all(len(topic.memories) == 1 for topic in topics(texts))


def test_two_lines_need_more_than_words_in_common() -> None:
    texts = [
        "I'm with the little ones, who can't tie their shoes yet, twice a week.",
        "My grandson helps me write a game with a mouse who collects shoes for the little ones.",
    ]
    memories = [memory(1, texts[0]), memory(60, texts[1])]
    assert [topic.memories for topic in find_topics(memories, [])] == [(60,), (1,)]
    linked = find_topics(memories, [link(1, 60, Relation.SAME_TOPIC)])
    assert [topic.memories for topic in linked] == [(1, 60)]


def test_scripts_without_spaces_have_titles_too() -> None:
    [topic] = topics(["我每天练习小提琴。", "小提琴老师搬走了。"], link(1, 2))
    assert topic.title == "小提琴"


def test_a_topic_is_no_longer_than_a_story() -> None:
    count = 3 * MAX_MEMORIES
    texts = [f"I play the violin in hall {number}." for number in range(count)]
    found = topics(texts, *(link(n, n + 1) for n in range(1, count)))
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
    listed = [number for topic in found for number in (*topic.memories, *topic.repeats)]
    assert sorted(listed) == list(range(1, len(texts) + 1))
    assert all(list(topic.memories) == sorted(topic.memories) for topic in found)
    newest = [topic.memories[-1] for topic in found]
    assert newest == sorted(newest, reverse=True)
    assert all(
        len(topic.title) <= MAX_TITLE and len(topic.memories) <= MAX_MEMORIES for topic in found
    )
    assert topics(texts, *links) == found


def test_a_title_is_no_verb_and_no_adverb() -> None:
    [topic] = topics(
        ["I celebrated awfully loudly, because of the orchestra, on a terrace.",
         "They celebrate loudly when an orchestra plays on the terrace, and we celebrate."],
        link(1, 2),
    )  # fmt: skip
    assert topic.title == "Orchestra, terrace"


@pytest.mark.parametrize("relation", [Relation.CHANGED, Relation.SAME_TOPIC])
def test_the_same_sentence_told_again_is_no_line(relation: Relation) -> None:
    texts = ["I live in Rijeka.", "I moved to Ljubljana.", "I live in Rijeka!", "I live in Rijeka."]
    [topic] = topics(texts, *(link(1, n, relation) for n in (2, 3, 4)))
    if relation is Relation.CHANGED:  # each of them may hold again
        assert (topic.memories, topic.repeats) == ((1, 2, 3, 4), ())
    else:
        assert (topic.memories, topic.repeats) == ((1, 2), (3, 4))


def test_a_change_stays_in_a_long_story() -> None:
    texts = [f"The orchestra rehearses Mahler in hall {number}." for number in range(12)]
    found = topics([*texts, "It moved."], link(1, 13))
    assert any({1, 13} <= {*topic.memories} for topic in found)


def test_timelines_are_topics_of_several_memories_or_that_of_one() -> None:
    texts = ["I play the violin.", "My dog barks.", "I sold the violin.", "I play the violin."]
    memories = [memory(n, text) for n, text in enumerate(texts, 1)]
    links = [
        link(1, 3),
        Link(older=1, newer=4, relation=Relation.CAUSE),
        Link(older=3, newer=4, relation=Relation.CHANGED),
    ]
    [timeline] = find_timelines(memories, links)
    assert (timeline.title, timeline.retrieved) == ("I play the violin", 4)
    assert [each.id for each in timeline.memories] == [1, 3, 4]
    assert timeline.links == tuple(links)
    assert [step and step.older for _, step in timeline.steps] == [None, 1, 3], "Changed says most"
    assert find_timelines(memories, links, 3) == [replace(timeline, retrieved=3)]
    [alone] = find_timelines(memories, links, 2)
    assert (alone.title, [each.id for each in alone.memories], alone.links) == ("", [2], ())


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_timeline_is_the_same_for_each_of_its_memories(data: st.DataObject) -> None:
    texts = data.draw(
        st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join))
    )
    numbers = range(1, len(texts) + 1)
    memories = [memory(n, text) for n, text in zip(numbers, texts, strict=True)]
    pairs = [(a, b) for a in numbers for b in numbers if a < b]
    drawn = data.draw(st.lists(st.sampled_from(pairs), max_size=8)) if pairs else []
    links = [link(a, b, data.draw(st.sampled_from(Relation))) for a, b in drawn]
    timelines = find_timelines(memories, links)
    for timeline in timelines:
        assert len(timeline.memories) <= MAX_MEMORIES and timeline.title
        times = [each.order for each in timeline.memories]
        assert times == sorted(times)
        for each, step in timeline.steps:
            assert step is None or step.newer == each.id
            [own] = find_timelines(memories, links, each.id)
            assert own == replace(timeline, retrieved=each.id)
