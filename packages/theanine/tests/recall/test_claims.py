"""Which statement certainly ends, replaces or corrects another, by its wording."""

from __future__ import annotations

import pytest

from theanine.recall.claims import governs, replaces


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Graz.", "I moved from Graz to Linz."),
        ("My cat Pixel is afraid of thunder.", "Pixel isn't afraid of thunder any more."),
        ("The monthly rent is 700.", "Our monthly rent is 720."),
        ("My dog is called Rex.", "My dog is called Luna."),
        ("The boiler man comes on Tuesday 3 March.", "The boiler man comes on Friday 6 March."),
        ("The dentist is on 12 May at nine.", "The dentist is on 19 May at nine."),
        ("Vivo en Lisboa.", "Me mudé de Lisboa a Oporto."),
        ("Ich wohne in Graz.", "Ich bin von Graz nach Linz gezogen."),
        ("I eat meat.", "I no longer eat meat."),
        ("Ana works at the clinic.", "Ana works at the clinic: this is no longer so."),
        ("I work at the shipyard in Rijeka.", "I quit my job at the shipyard yesterday."),
        ("My job at the bakery starts at four.", "I no longer work at the bakery."),
    ],
)
def test_explicit_changes(older: str, newer: str) -> None:
    assert replaces(newer, older)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Graz.", "I live in Graz."),  # said again
        ("I live in Graz.", "Do I still live in Graz?"),
        ("I moved from Porto to Lisbon.", "A friend from Lisbon sent me a snow globe."),
        ("I love swimming.", "I no longer eat meat."),
        ("My sister is a pilot.", "My brother is a nurse in Linz."),
        ("It costs 20 euros.", "The museum has 20 rooms."),
        ("I won't quit on my dreams.", "I won't quit, even when it's hard."),  # denied
        ("I sell the house in Split.", "We never sold the house in Split."),
        ("The gym sees me weekly.", "Glen goes to the gym weekly, his hats no longer fit."),
        ("The shop is closed on Monday.", "The shop is open from Monday to Friday."),
        ("Vivo en una torre de cristal.", "Subí a la torre de cristal para ver gaviotas."),
    ],
)
def test_what_is_no_change(older: str, newer: str) -> None:
    assert not replaces(newer, older)


@pytest.mark.parametrize("value", ["Rex", "Luna", "12"])
@pytest.mark.parametrize(
    "frame",
    [
        "{}'s dog is called VALUE.",
        "{} moved into flat VALUE last week.",
        "The dog of {} is called VALUE.",
        "I think that {} has the locker VALUE at school.",
    ],
)
@pytest.mark.parametrize("owners", [("Ana", "Bo"), ("My sister", "Bo"), ("Cleo", "Ana")])
def test_the_same_of_another_person_is_no_change(
    frame: str, value: str, owners: tuple[str, str]
) -> None:
    older, newer = (
        frame.format(owner).replace("VALUE", each)
        for owner, each in zip(owners, (value, "Milo" if value.isalpha() else "15"), strict=True)
    )
    assert not replaces(newer, older)
    assert not replaces(older, newer)


def test_a_cue_governs_what_its_clause_shares() -> None:
    older = "I can't walk to the harbour because the horns make me shake."
    assert governs("I have seen Dr. Novak. I no longer shake when I hear the horns.", older)
    assert not governs("I no longer eat meat. The horns of the harbour make me shake.", older)
    assert not governs("I no longer eat meat, but the horns of the harbour make me shake.", older)


PLANS = [
    "I plan to move from {} to {} in August.",
    "We want to move from {} to {}.",
    "I might move from {} to {} next year.",
    "I'd rather move from {} to {}, but who knows.",
    "She hopes to go from {} to {}.",
    "If I get the job, I move from {} to {}.",
]


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("towns", [("Rijeka", "Ljubljana"), ("Delft", "Ghent")])
def test_a_plan_or_a_wish_is_no_change(plan: str, towns: tuple[str, str]) -> None:
    older = f"I live in {towns[0]}, near the harbour."
    assert not replaces(plan.format(*towns), older)
    assert replaces(f"Last week we moved from {towns[0]} to {towns[1]}.", older)


def test_a_way_from_one_thing_to_another_ends_nothing() -> None:
    older = "We look at pictures of ships."
    assert not replaces("We went one small step at a time from pictures to the deck.", older)


def test_a_date_of_two_words_is_moved() -> None:
    older = "My appointment with Dr. Weber is on 12 May."
    assert replaces("The appointment was moved from 12 May to 3 June.", older)
