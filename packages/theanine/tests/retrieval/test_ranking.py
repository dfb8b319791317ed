"""Each kind of evidence counts, the order of arrival in batches does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theanine.embeddings.static import StaticEmbedder
from theanine.retrieval.query import Query, SpeakerNames, is_standing_instruction, speaks_of_asker
from theanine.retrieval.ranking import Ranking, RankingConfig, Unit

EMBEDDER = StaticEmbedder()
MAY = datetime(2024, 5, 1, 9, tzinfo=UTC)
OFF = RankingConfig(
    dense=0, lexical=0, reach=0, speaker=0, asker=0, standing=0, date=0, substance=0
)


def said(speaker: str, text: str, session: int = 1, at: datetime | None = MAY) -> Unit:
    return Unit(text=text, session=session, at=at, speakers=(speaker,))


def ranking(units: Sequence[Unit], config: RankingConfig | None = None) -> Ranking:
    made = Ranking(config)
    made.extend(units, EMBEDDER.vectors([unit.text for unit in units]))
    return made


def scores(
    made: Ranking, question: str, *, asker: str = "", asked_at: datetime | None = None
) -> list[float]:
    vector = EMBEDDER.vectors([made.without_speakers(question)])[0]
    query = Query(text=question, vector=vector, asker=asker, asked_at=asked_at)
    return made.scores(query).tolist()


TALK = [
    said("Ana", "The harbour froze over and the ferry stayed in."),
    said("Ben", "What did you do with the tickets then?"),
    said("Ana", "Sold them to a man from Oslo."),
    said("Ben", "My sourdough starter finally came alive this morning.", 2),
    said("Ana", "Lovely, bring a loaf to the choir on Sunday.", 2),
    said("Ben", "Only if the oven in the parish hall works.", 2),
]


def test_shared_words_count() -> None:
    found = scores(ranking(TALK, replace(OFF, lexical=1.0)), "Which starter was it?")
    assert int(np.argmax(found)) == 3


def test_meaning_counts_without_shared_words() -> None:
    found = scores(ranking(TALK, replace(OFF, dense=1.0)), "Who bakes bread?")
    assert int(np.argmax(found)) in (3, 4, 5)


def test_neighbours_lend_weight_to_what_shares_no_word() -> None:
    question = "To whom were the ferry tickets sold?"
    alone = scores(ranking(TALK, replace(OFF, lexical=1.0)), question)
    beside = scores(ranking(TALK, replace(OFF, lexical=1.0, reach=2)), question)
    assert int(np.argmax(beside)) == 2
    assert beside[2] - beside[4] > alone[2] - alone[4]


def test_neighbours_of_another_session_lend_nothing() -> None:
    units = [said("Ana", "A violin"), said("Ana", "A lamp", 2), said("Ana", "A sofa", 3)]
    found = scores(ranking(units, replace(OFF, lexical=1.0, reach=2)), "violin")
    assert found[1] == found[2] < found[0]


def test_far_neighbours_lend_less_than_near_ones() -> None:
    long = " ".join(["gravel"] * 200)
    units = [said("Ana", "A violin"), said("Ana", "A lamp"), said("Ana", long), said("Ana", "Tea")]
    found = scores(ranking(units, replace(OFF, lexical=1.0, reach=3)), "violin")
    assert found[1] > found[3] + 0.1


def test_turns_that_no_unit_stands_for_part_neighbours() -> None:
    def found(turns: Sequence[int]) -> list[float]:
        units = [
            replace(said("Ana", text), turn=turn)
            for text, turn in zip(["A violin", "A lamp", "Tea"], turns, strict=True)
        ]
        return scores(ranking(units, replace(OFF, lexical=1.0, reach=1)), "violin")

    assert found([1, 2, 3]) == found([0, 0, 0])
    assert found([1, 5, 6])[1] < found([1, 2, 3])[1]


def test_who_is_asked_about_counts_for_that_speaker() -> None:
    found = scores(ranking(TALK, replace(OFF, speaker=1.0)), "What did Ben's mother say?")
    assert found == [-1, 1, -1, 1, -1, 1]
    assert scores(ranking(TALK, replace(OFF, speaker=1.0)), "Do Ana and Ben agree?") == [0] * 6


def test_i_stands_for_the_asker() -> None:
    made = ranking(TALK, replace(OFF, asker=1.0))
    assert scores(made, "What did I sell?", asker="ana") == [1, -1, 1, -1, 1, -1]
    assert scores(made, "What was sold?", asker="ana") == [0] * 6
    assert scores(made, "Give a summary of my days", asker="ana") == [0] * 6
    assert scores(made, "What did I sell?", asker="nobody") == [0] * 6


def test_i_stands_for_an_unnamed_user() -> None:
    units = [said("User", "I like figs"), said("Assistant", "Figs are fine")]
    assert scores(ranking(units, replace(OFF, asker=1.0)), "What do I like?", asker="ana") == [
        1,
        -1,
    ]


def test_a_shared_unit_lies_between() -> None:
    units = [
        Unit(text="Ana: Hello\nBen: Hi", session=1, speakers=("Ana", "Ben")),
        Unit(text="nobody", session=1),
        said("Ana", "Figs"),
    ]
    assert scores(ranking(units, replace(OFF, speaker=1.0)), "What does Ana eat?") == [0, 0, 1]


def test_the_askers_lasting_instructions_count_as_far_as_they_fit() -> None:
    units = [
        said("Ana", "Always give prices in euros when I ask about trains."),
        said("Ben", "Always give prices in euros when I ask about trains."),
        said("Ana", "The train was late."),
    ]
    found = scores(ranking(units, replace(OFF, standing=1.0)), "Train prices?", asker="Ana")
    assert found[0] > 0
    assert found[1:] == [0, 0]


@pytest.mark.parametrize(
    "text", ["I'd prefer tea", "Never call whenever I sleep", "From now on, no"]
)
def test_lasting_wishes_are_known(text: str) -> None:
    assert is_standing_instruction(text)
    assert not is_standing_instruction("I always lose my keys.")


@pytest.mark.parametrize(
    ("question", "expected"),
    [("What did I eat?", True), ("Who are my friends?", True), ("Is it in?", False)],
)
def test_first_person(question: str, *, expected: bool) -> None:
    assert speaks_of_asker(question) is expected


def test_the_day_asked_about_counts() -> None:
    days = [(4, 2), (5, 1), (5, 6), (7, 9)]
    units = [
        said("Ana", f"Tea {month}", at=datetime(2024, month, day, tzinfo=UTC))
        for month, day in days
    ]
    units.append(said("Ana", "Undated tea", at=None))
    made = ranking(units, replace(OFF, date=1.0))
    found = scores(made, "What was drunk on 1 May 2024?")
    assert found[1] == 1 > found[2] > found[3] >= 0
    assert found[4] == 0
    asked = datetime(2024, 5, 7, 12, tzinfo=UTC)
    assert int(np.argmax(scores(made, "What was drunk yesterday?", asked_at=asked))) == 2
    assert scores(made, "What was drunk?", asked_at=asked) == [0] * 5


def test_a_unit_of_hardly_a_word_counts_less() -> None:
    units = [said("Ana", "Okay!"), said("Ana", "The red kiln cracked along its northern seam.")]
    found = scores(ranking(units, replace(OFF, substance=1.0)), "kiln")
    assert found[0] < found[1]


def test_a_name_that_comes_later_is_known_from_then_on() -> None:
    names = SpeakerNames()
    assert names.find("Did Ana Silva call?") == frozenset()
    names.add(("Ana Silva", "user", " "))
    assert names.find("Did Ana's brother call the user?") == {"Ana Silva"}
    names.add(("ben", "Ana Silva"))
    assert names.find("Did Ben or Ana Silva call?") == {"Ana Silva", "ben"}
    assert names.remove_from("Did Ben or Ana Silva call?") == "Did   or   call?"
    assert names.find("Did Benjamin call the banana man?") == frozenset()


def test_names_are_left_out_of_the_topic() -> None:
    made = ranking([*TALK, said("user", "hm"), said("Will Smith", "hm")])
    assert (
        made.without_speakers("When did Ana's boat sink?").split() == "When did boat sink?".split()
    )
    assert made.without_speakers("Will the user will?").split() == "the user will?".split()
    assert made.without_speakers("Ana?") == "Ana?"


def test_an_empty_ranking_ranks_nothing() -> None:
    assert scores(ranking([]), "Anyone there, Ana, in May 2024?", asker="Ana") == []


_UNITS = st.lists(
    st.builds(
        Unit,
        text=st.text("ab 猫?", max_size=12),
        session=st.just(1),
        at=st.none() | st.datetimes(timezones=st.just(UTC)),
        speakers=st.lists(st.sampled_from(["Ana", "Ben", "user", ""]), max_size=2).map(tuple),
    ),
    max_size=8,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.lists(_UNITS, max_size=4),
    st.text("ab AnaBe 猫I?", max_size=20),
    st.sampled_from(["", "Ana", "user"]),
)
def test_however_units_are_batched_the_scores_are_the_same_and_finite(
    batches: list[list[Unit]], question: str, asker: str
) -> None:
    sessions = [[replace(u, session=i) for u in batch] for i, batch in enumerate(batches)]
    grown = Ranking()
    for batch in sessions:
        grown.extend(batch, EMBEDDER.vectors([unit.text for unit in batch]))
        scores(grown, question, asker=asker)
    at_once = ranking([unit for batch in sessions for unit in batch])
    found = scores(grown, question, asker=asker)
    assert found == scores(at_once, question, asker=asker)
    assert np.isfinite(found).all()
    assert len(found) == sum(map(len, batches))
