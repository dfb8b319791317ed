"""Search: turns and memories one by one, with their scores, the best first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random

import pytest

import theanine
from theanine.errors import BadInput, SettingsError
from theanine.folding import fold
from theanine.methods.registry import names


@pytest.fixture
def ana(tmp_path: Path) -> Iterator[theanine.UserMemory]:
    with theanine.open(str(tmp_path / "memory.db")) as client:
        user = client.user("ana")
        user.add("My brother's wedding is on 13 September.", metadata={"channel": "web"})
        user.add("I drink three cups of coffee every day.")
        user.add("I bought a blue dress for the wedding.", metadata={"channel": "app"})
        yield user


def test_a_turn_comes_with_its_memories_and_scores(ana: theanine.UserMemory) -> None:
    hits = ana.search("wedding")
    assert {hit.turn.id for hit in hits if hit.turn} == {1, 3}
    relevances = [hit.relevance or 0 for hit in hits]
    assert relevances == sorted(relevances, reverse=True) and relevances[-1] > 0
    for hit in hits:
        assert hit.turn and hit.text == hit.turn.text
        assert [memory.source_turns for memory in hit.memories] == [(hit.turn.id,)]
    assert ana.search("wedding", limit=1) == hits[:1]


def test_a_search_takes_the_bounds_of_a_recall(ana: theanine.UserMemory) -> None:
    for where in ({"channel": "app"}, "channel=app"):
        assert [hit.turn and hit.turn.id for hit in ana.search("wedding", where=where)] == [3]
    assert ana.search("wedding", until="yesterday") == []
    assert ana.search("wedding", as_of="2020-01-01") == []
    assert ana.search("wedding", min_relevance=1) == []
    assert ana.search("Which telescope does Ana own?", min_relevance=0.5) == []


def test_a_long_turn_is_one_hit_with_the_passage_that_matches(ana: theanine.UserMemory) -> None:
    filler = " ".join(f"Then chapter {n} is about the weather and the harbor." for n in range(40))
    ana.add(f"{filler} The zebra is called Kiko. {filler} The zebra eats hay.")
    [hit] = [hit for hit in ana.search("zebra Kiko") if hit.turn and hit.turn.id == 4]
    assert "zebra is called Kiko" in hit.text
    assert len(hit.text) < len(filler)


def test_a_corrected_memory_is_not_shown(ana: theanine.UserMemory) -> None:
    [wrong] = ana.memories(search="coffee")
    right = ana.correct(wrong.id, "I drink three cups of tea every day.")
    shown = {memory.id for hit in ana.search("cups every day") for memory in hit.memories}
    assert right.id in shown and wrong.id not in shown
    assert ana.forget(memory=right.id).verified
    shown = {memory.id for hit in ana.search("cups every day") for memory in hit.memories}
    assert wrong.id in shown and right.id not in shown


@pytest.mark.parametrize(
    ("query", "options", "error"),
    [
        (" ", {}, BadInput),
        ("wedding", {"limit": 0}, SettingsError),
        ("wedding", {"limit": "2"}, SettingsError),
        ("wedding", {"where": {"n": {}}}, SettingsError),
        (["wedding"], {}, BadInput),
    ],
)
def test_a_search_without_a_meaning_is_refused(
    ana: theanine.UserMemory, query: str, options: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        ana.search(query, **options)  # pyright: ignore[reportArgumentType]


def test_small_talk_is_searched_for(ana: theanine.UserMemory) -> None:
    said = ["Hello, I live in Split.", "Thanks for the recipe of the soup."]
    for text in said:
        ana.add(text)
    for query, text in zip(("hello", "Thanks!"), said, strict=True):
        assert ana.search(query)[0].text == text
        assert not ana.recall(query)


@pytest.mark.parametrize("method", ["theanine", "all-memories", "comedy", "memory-retrieval"])
def test_a_pinned_memory_is_no_hit_of_everything(
    method: str, ana: theanine.UserMemory, tmp_path: Path
) -> None:
    with theanine.open(str(tmp_path / "memory.db"), method=method) as client:
        client.remember()
        user = client.user("ana")
        queries = ("Thanks!", "Which telescope does Ana own?", "coffee", "?!")
        before = [user.search(query) for query in queries]
        user.pin(user.memories()[-1].id)
        assert [user.search(query) for query in queries] == before


def test_nothing_is_found_of_nobody(ana: theanine.UserMemory, tmp_path: Path) -> None:
    with theanine.open(str(tmp_path / "memory.db")) as client:
        assert client.user("nobody").search("wedding") == []


@pytest.mark.slow
@pytest.mark.parametrize("method", sorted({*names()} - {"no-memory", "full-history"}))
def test_every_method_can_be_searched(method: str, ana: theanine.UserMemory, tmp_path: Path):
    with theanine.open(str(tmp_path / "memory.db"), method=method) as client:
        client.remember()
        hits = client.user("ana").search("wedding", limit=2)
        assert hits
        assert all(hit.turn or hit.memories for hit in hits)
        own = {memory.method for hit in hits for memory in hit.memories}
        assert len(own) == 1


WORDS = (
    "ferry",
    "Ferry!",
    "STRASSE",
    "Straße",
    "don't",
    "don’t",
    "café",
    "cafe",
    "Łódź",
    "lodz",
    "Cafe\u0301",
    "C++",
    "海辺",
    "ﬁne",
    "fine",
    "İzmir",
    "a",
)


def make_turns(seed: int) -> list[str]:
    """Return texts of words that casing, punctuation and other scripts make alike or not."""
    rng = Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, 6))) for _ in range(40)]


@pytest.mark.parametrize("seed", range(4))
def test_every_turn_with_a_word_is_found(tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    with theanine.open(str(tmp_path / "memory.db")) as client:
        user = client.user("ana")
        start = datetime(2026, 1, 1, tzinfo=UTC)
        for text in make_turns(seed):
            user.add(text, at=start + timedelta(minutes=rng.randrange(100_000)))
            if rng.random() < 0.1:
                user.search(rng.choice(WORDS), exact=True)  # while the index grows
        turns = sorted(user.turns(), key=lambda turn: (turn.at, turn.id))
        for turn in turns:
            for word in turn.text.split():
                part = word[: rng.randint(1, len(word))]
                query = rng.choice([word, word.upper(), f"{rng.choice(turn.text.split())} {part}"])
                expected = [
                    each
                    for each in turns
                    if all(
                        wanted in fold(f"{each.speaker} {each.text}")
                        for wanted in fold(query).split()
                    )
                ]
                found = user.search(query, exact=True, limit=100, oldest_first=True)
                assert [hit.turn for hit in found] == expected, query
                assert {turn.id for turn in expected} == {
                    listed.id for listed in user.turns(search=query)
                }
                newest = user.search(query, exact=True, limit=3)
                assert [hit.turn for hit in newest] == expected[::-1][:3]


def test_an_exact_search_has_filters_and_says_how_many_there_are(tmp_path: Path) -> None:
    with theanine.open(str(tmp_path / "memory.db")) as client:
        ana = client.user("ana")
        for day in range(1, 6):
            session = ana.session(f"talk {day}")
            at = datetime(2026, 3, day, tzinfo=UTC)
            session.hear(f"The ferry of day {day}.", at=at, metadata={"day": day})
            session.say("Which ferry?", at=at)
            session.end()
        search = partial(ana.search, "ferry", exact=True)
        assert len(search(limit=3)) == 3
        assert {hit.turn.session for hit in search(session=2) if hit.turn} == {2}
        assert [hit.turn.text for hit in search(speaker="ana", session=2) if hit.turn] == [
            "The ferry of day 2."
        ]
        assert search(speaker="nobody") == []
        assert len(search(since="2026-03-02", until="2026-03-03")) == 4
        assert len(search(as_of="2026-03-03")) == 6
        assert [hit.turn.text for hit in search(where="day>=5", speaker="ana") if hit.turn] == [
            "The ferry of day 5."
        ]
        ana.forget(session=2)
        assert len(search(limit=99)) == 8
        assert search(session=2) == []
        with pytest.raises(SettingsError, match="min_relevance"):
            search(min_relevance=0.5)
        for name, value in {"speaker": "ana", "session": 1, "oldest_first": True}.items():
            with pytest.raises(SettingsError, match=f"{name} needs an exact search"):
                ana.search("ferry", **{name: value})  # pyright: ignore[reportArgumentType]
