"""A profile that a language model writes: what it is shown, and what may become of its reply."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import theanine
from support.prompting import ATTACK, check_fences, check_length, check_snapshot
from theanine.embeddings.hashing import HashEmbedder
from theanine.errors import BudgetExceeded, ModelUnavailable, SettingsError, UnusableReply
from theanine.llm.limits import Limits
from theanine.profile import AREAS, PROFILE
from theanine.profile.write import MOST_LINES, PASSAGE_TOKENS
from theanine.testing import ScriptedModel, answer
from theanine.tokenizer import count_tokens

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOME = {"area": "home", "text": "Lives in Ljubljana.", "passages": [2], "before": 1}
Open = Callable[..., theanine.Client]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Opens the store with a script of profiles."""
    clients: list[theanine.Client] = []

    def opened(*replies: Any, **options: Any) -> theanine.Client:
        model = ScriptedModel([r if isinstance(r, Exception | str) else told(r) for r in replies])
        options = {"model": model, "memory_model": "local", **options}
        now = START + timedelta(days=400)
        clients.append(theanine.open(tmp_path / "m.db", clock=lambda: now, **options))
        return clients[-1]

    yield opened
    for client in clients:
        client.close()


def told(lines: list[dict[str, Any]]) -> str:
    return json.dumps({"lines": lines})


def add(ana: theanine.UserMemory, *texts: str) -> None:
    """Have the user say one thing a month."""
    for month, text in enumerate(texts):
        ana.add(text, at=START + timedelta(days=30 * month))


def prompts(client: theanine.Client) -> list[str]:
    model = client.inner._engine.options.model  # pyright: ignore[reportPrivateUsage]
    assert isinstance(model, ScriptedModel)
    return model.prompts


def words(client: theanine.Client) -> list[str]:
    """The numbered passages of the last prompt, without their numbers."""
    shown = prompts(client)[-1].partition("<<<words\n")[2].partition("\n>>>")[0].split("\n")
    return [line.partition("] ")[2] for line in shown if line.startswith("[")]


def test_a_line_is_the_models_with_the_turns_that_support_it(opened: Open) -> None:
    written = [
        {"area": "rules", "text": "Answer in French.", "passages": [3]},
        {**HOME, "passages": [4, 2], "since": 2},
    ]
    client = opened(written)
    ana = client.user("ana")
    add(ana, "I live in Rijeka.", "I moved to Ljubljana.", "Always answer in French.")
    ana.add("Our flat in Ljubljana is small.", at=START + timedelta(days=90))
    profile = ana.profile(with_model=True)
    rule, home = profile.lines
    first, second, third, fourth = ana.turns()
    assert (home.text, home.area, home.made_by) == ("Lives in Ljubljana.", "home", "scripted")
    assert (home.turn, home.session, home.at) == (fourth.id, fourth.session, fourth.at)
    assert home.source_turns == (second.id, fourth.id) and not home.is_verbatim
    assert (home.since, home.certainty) == (second.at, "repeated")
    assert [(b.text, b.turn) for b in home.before] == [("I live in Rijeka.", first.id)]
    assert (rule.turn, rule.since, rule.before) == (third.id, third.at, ())
    assert "Answer in French. (since 30 April 2026)\n" in profile.text and "“" not in profile.text
    plain = ana.profile()
    assert all(line.is_verbatim and line.turn in line.source_turns for line in plain.lines)
    assert (profile.user, profile.changes, profile.entities) == (
        plain.user,
        plain.changes,
        plain.entities,
    )
    assert len(prompts(client)) == 1


def test_the_model_reads_the_users_own_words_by_day(opened: Open) -> None:
    client = opened([], [])
    client.user("bo").add("I live in Zadar.", at=START)
    ana = client.user("ana", name="Ana")
    session = ana.session("group")
    session.hear("I live in Rijeka and I have a dog called Bura. Is it late?", at=START)
    session.hear("I live in Split.", speaker="Vlatka", at=START)
    session.say("You live in Sibenik, I think.", at=START)
    session.end()
    add(ana, "The flat above the bakery has two balconies.", "Živim u Ljubljani i imam psa.")
    assert not ana.profile(with_model=True).lines
    shown = words(client)
    assert shown == [
        "I live in Rijeka",
        "I have a dog called Bura.",
        "The flat above the bakery has two balconies.",
        "Živim u Ljubljani i imam psa.",
    ]
    [prompt] = prompts(client)
    assert "-- 1 March 2026\n[1] I live in Rijeka\n" in prompt
    assert "from 31 March 2026" in prompt
    for other in ("Zadar", "Split", "Vlatka", "Sibenik", "Is it late?"):
        assert other not in prompt


def test_without_vectors_of_the_encoder_the_newest_words_are_shown(opened: Open) -> None:
    client = opened([], embedder=HashEmbedder())
    ana = client.user("ana")
    add(ana, "I live in Rijeka.", "The flat above the bakery has two balconies.")
    ana.profile(with_model=True)
    assert words(client) == ["I live in Rijeka.", "The flat above the bakery has two balconies."]


def test_what_it_reads_is_bounded(opened: Open) -> None:
    client = opened([], embedder=HashEmbedder())
    ana = client.user("ana")
    clocks = [f"The clock in hall {n} is wound by the keeper of hall {n}." for n in range(600)]
    ana.add([{"role": "user", "content": text} for text in clocks], at=START)
    ana.profile(with_model=True)
    shown = words(client)
    assert 0 < sum(map(count_tokens, shown)) <= PASSAGE_TOKENS
    assert 100 < len(shown) < 600
    assert shown == clocks[-len(shown) :], "the newest are left, in order"


def test_hidden_forgotten_and_corrected_words_are_not_shown(opened: Open) -> None:
    client = opened([], [])
    ana = client.user("ana")
    add(ana, "I live in Rijeka. I'm allergic to hazelnuts.", "I work at the shipyard.")
    ana.add("I have a dog called Bura.", at=START, expires="2027-01-01")
    [allergy] = [each for each in ana.memories() if "hazelnuts" in each.text]
    ana.correct(allergy.id, "I'm allergic to peanuts.")
    [shipyard] = ana.turns(search="shipyard")
    ana.forget(turn=shipyard.id)
    ana.profile(with_model=True)
    assert not any(word in " ".join(words(client)) for word in ("hazelnuts", "shipyard", "Bura"))
    assert "I'm allergic to peanuts." in words(client)


def test_of_a_memory_in_other_words_all_that_it_may_rest_on_is_left_out(opened: Open) -> None:
    summary = {"text": "Ana's home has two balconies.", "speakers": ["ana"], "turns": [1]}
    steps = {"summarize": json.dumps({"statements": [{**summary, "about": [], "cues": []}]})}
    script = {**steps, "profile": told([]), "relate": json.dumps({"links": []})}
    client = opened(model=ScriptedModel(script), memory_model=None)
    ana = client.user("ana")
    ana.add("The flat above the bakery has a pair of terraces.", at=START)
    [memory] = ana.memories()
    assert "balconies" in memory.text
    ana.correct(memory.id, "The flat above the bakery has one terrace.")
    ana.profile(with_model=True)
    assert words(client) == ["The flat above the bakery has one terrace."]


def test_it_writes_what_was_known_at_a_time(opened: Open) -> None:
    client = opened([{**HOME, "text": "Lives in Rijeka", "passages": [1], "before": 0}])
    ana = client.user("ana")
    add(ana, "I live in Rijeka.", "I moved to Ljubljana.")
    profile = ana.profile(with_model=True, as_of=START + timedelta(days=1))
    assert words(client) == ["I live in Rijeka."]
    assert [line.text for line in profile.lines] == ["Lives in Rijeka"] and not profile.changes


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ({**HOME, "passages": []}, "line 1: it names no passage that supports it"),
        ({**HOME, "passages": [2, 9]}, "line 1: passages [9] were not shown; shown are 1 to 2"),
        ({**HOME, "before": 3}, "line 1: passages [3] were not shown"),
        ({**HOME, "since": -1}, "line 1: passages [-1] were not shown"),
        ({**HOME, "passages": [1], "before": 2}, "line 1: since and before are later than"),
        ({**HOME, "area": "hobby"}, "line 1: there is no area 'hobby', only rules, about"),
        ({**HOME, "text": " "}, "line 1: its text is empty"),
        ({**HOME, "text": "x" * 301}, "line 1: its text is too long"),
        ({"area": "home", "text": "Lives in Ljubljana."}, "lines.0.passages: Field required"),
    ],
)
def test_a_faulty_line_is_returned_with_its_fault(
    opened: Open, line: dict[str, Any], fault: str
) -> None:
    client = opened([line], [HOME])
    ana = client.user("ana")
    add(ana, "I live in Rijeka.", "I moved to Ljubljana.")
    assert [each.text for each in ana.profile(with_model=True).lines] == ["Lives in Ljubljana."]
    _, again = prompts(client)
    assert f"This reply can't be used: {fault}" in again.replace("it does not fit the schema: ", "")


def test_too_many_lines_are_refused_and_no_other_profile_takes_their_place(opened: Open) -> None:
    client = opened(*[[HOME] * (MOST_LINES + 1)] * 3)
    ana = client.user("ana")
    add(ana, *(f"I have a dog called Bura{n}." for n in range(MOST_LINES)))
    with pytest.raises(UnusableReply, match=r"profile@1.*41 lines are too many: give at most 40"):
        ana.profile(with_model=True)
    assert len(prompts(client)) == 3


def test_the_same_words_are_asked_about_once_and_counted(opened: Open) -> None:
    client = opened([HOME], [], [])
    ana = client.user("ana")
    add(ana, "I live in Rijeka.", "I moved to Ljubljana.")
    profile = ana.profile(with_model=True)
    assert ana.profile(with_model=True) == profile
    assert len(prompts(client)) == 1
    [cost] = ana.costs()
    assert (cost.step, cost.calls, cost.input_tokens > 100) == ("profile", 1, True)
    other = opened([])
    assert other.user("ana").profile(with_model=True) == profile and not prompts(other)
    ana.forget(turn=ana.turns()[0].id)
    ana.profile(with_model=True)
    assert words(client) == ["I moved to Ljubljana."]


def test_a_forgotten_turn_is_erased_from_the_journal(opened: Open, tmp_path: Path) -> None:
    client = opened([{**HOME, "text": "Lives in Xylopolis", "passages": [1], "before": 0}])
    ana = client.user("ana")
    add(ana, "I live in Xylopolis.")
    ana.profile(with_model=True)
    ana.forget(turn=ana.turns()[0].id)
    client.close()
    assert not any(b"Xylopolis" in file.read_bytes() for file in tmp_path.iterdir())


def test_budgets_and_failures_are_errors(opened: Open) -> None:
    client = opened([HOME], limits=Limits(tokens_per_call=50))
    ana = client.user("ana")
    add(ana, "I live in Rijeka.")
    with pytest.raises(BudgetExceeded):
        ana.profile(with_model=True)
    failing = opened(*[ModelUnavailable("down")] * 5, limits=Limits(first_wait=0.001))
    with pytest.raises(ModelUnavailable):
        failing.user("ana").profile(with_model=True)
    assert len(prompts(failing)) == 2


def test_a_model_is_asked_only_if_there_is_one_and_something_to_read(opened: Open) -> None:
    client = opened()
    assert not client.user("ana").profile(with_model=True)
    without = opened(model="local")
    with pytest.raises(SettingsError, match="asks a language model, and none is set"):
        without.user("ana").profile(with_model=True)


def test_a_correction_is_marked_and_old_words_may_be_outdated(opened: Open) -> None:
    written = [
        {"area": "home", "text": "Lives in Pula", "passages": [2]},
        {"area": "work", "text": "Works at the shipyard", "passages": [1]},
    ]
    client = opened(written)
    ana = client.user("ana")
    ana.add("I work at the shipyard.", at=START - timedelta(days=600))
    ana.add("I live in Rijeka.", at=START)
    [memory] = [each for each in ana.memories() if "Rijeka" in each.text]
    ana.correct(memory.id, "I live in Pula.")
    home, work = ana.profile(with_model=True).lines
    assert (home.is_correction, home.certainty, work.certainty) == (True, "said", "may be outdated")


def test_the_scripted_answers_know_the_step(opened: Open) -> None:
    client = opened(model=ScriptedModel(lambda prompt: answer(_request(prompt))))
    ana = client.user("ana")
    add(ana, "I live in Rijeka.", "I moved to Ljubljana.")
    lines = ana.profile(with_model=True).lines
    assert [line.text for line in lines] == ["I moved to Ljubljana.", "I live in Rijeka."]


def _request(prompt: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": prompt}]}


def test_the_prompt_matches_its_snapshot_and_names_every_area(opened: Open) -> None:
    client = opened([])
    ana = client.user("ana")
    add(ana, "I live in Rijeka and I have a dog called Bura.", "I moved to Ljubljana.")
    ana.profile(with_model=True)
    check_snapshot("profile", prompts(client)[0])
    check_length(PROFILE)
    assert all(f"\n- {area}: " in PROFILE.template for area in AREAS)


def test_quoted_words_cannot_leave_their_fence(opened: Open) -> None:
    client = opened([], [])
    ana = client.user("ana")
    add(ana, "I live in Rijeka.")
    ana.profile(with_model=True)
    client.user("ana").add(f"I live in Ljubljana. {ATTACK}", at=START + timedelta(days=1))
    ana.profile(with_model=True)
    check_fences(*prompts(client))
