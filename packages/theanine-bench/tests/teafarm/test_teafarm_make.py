"""Generation of TeaFarm questions: prompts, repairs, and resuming."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.answering import Answering, turn
from support.prompting import ATTACK, check_fences, check_length, check_snapshot
from theanine.demo import HARBOUR
from theanine.errors import BadInput, ModelUnavailable, SettingsError, UnusableReply
from theanine.importers import read_histories
from theanine.llm.limits import Limits
from theanine.llm.parsing import InvalidReply
from theanine.llm.prompt import PromptTemplate
from theanine.llm.prompt_folder import PromptFolder
from theanine.testing.answers import answer
from theanine.testing.scripted import ScriptedModel, task_of
from theanine.text.formatting import format_speaker
from theanine.types import History, Session, Transcript, Turn, Utterance
from theanine_bench.judges.answers import TEAFARM_PROMPT
from theanine_bench.samples import SampleResult
from theanine_bench.teafarm.generate import (
    QUESTION,
    SESSION,
    Asked,
    Led,
    LoggedSessions,
    Questions,
    Said,
    find_question_fault,
    find_session_fault,
    generate_questions,
    speaker_pairs,
    write_question_file,
)
from theanine_bench.teafarm.metrics import JudgedSuccess
from theanine_bench.teafarm.questions import CounterfactualQuestion, read_question_file

pytestmark = pytest.mark.anyio

FIRST = [turn(1, "I work at the shipyard."), turn(2, "For long?", "Theo", role="assistant")]
LAST = [
    turn(3, "I quit the shipyard because of the overtime.", session=2),
    turn(4, "What now?", "Theo", session=2, role="assistant"),
]
STATEMENTS = [
    {"statements": [{"text": "Ana works at the shipyard.", "speakers": [], "turns": [1]}]},
    {"statements": [{"text": "Ana quit the shipyard.", "speakers": [], "turns": [1]}]},
]
ASKED: dict[str, Any] = {
    "pair": 1,
    "assumes": "Ana still works there.",
    "question": "Will the shipyard let me off early?",
    "answer": "She quit it.",
    "evidence": [2],
}
SPOKEN = [
    {"speaker": "Ana" if index % 2 == 0 else "Theo", "text": f"Word {index}."} for index in range(8)
]
NOTHING: dict[str, list[Any]] = {"statements": []}
WHY = CounterfactualQuestion(id="1", asks="Ana", answers="Theo", text="Why?", answer="Because.")
ITEM = SampleResult(
    id="1", group="g", question="Is the\nyard fine?", reference="She quit.", answer="It is."
)


def talks(first: Sequence[Turn] = FIRST, last: Sequence[Turn] = LAST) -> LoggedSessions:
    sessions = [
        Session(id=n, key=f"s{n}", started_at=turns[0].at, turn_count=len(turns))
        for n, turns in ((1, first), (2, last))
    ]
    return LoggedSessions(user="ana", sessions=sessions, turns={1: first, 2: last})


async def _asked(name: str, of: LoggedSessions, item: SampleResult) -> str:
    """The prompt of a step."""
    if name == TEAFARM_PROMPT.name:
        caller = Answering([{"reason": "r", "open": False, "verdict": "Correct"}])
        await JudgedSuccess().score(item, caller)
        return caller.asked[0].prompt
    names = {turn.speaker[:3]: format_speaker(turn.speaker) for turn in of.all_turns}
    led = {"turns": [{**turn, "speaker": names[turn["speaker"][:3]]} for turn in SPOKEN]}
    caller = Answering([*STATEMENTS, {"questions": [ASKED]}, led])
    await generate_questions(of, lambda _: caller, 1)
    return next(call.prompt for call in caller.asked if call.step.startswith(f"{name}@"))


@pytest.mark.parametrize("step", [QUESTION, SESSION, TEAFARM_PROMPT], ids=lambda step: step.name)
async def test_prompts_match_their_snapshots_and_fence_quoted_text(
    step: PromptTemplate[Any],
) -> None:
    calm = await _asked(step.name, talks(), ITEM)
    check_snapshot(step.name, calm)
    check_length(step)
    evil = [
        [replace(turn, text=ATTACK, speaker=f"{turn.speaker}\n{ATTACK}") for turn in turns]
        for turns in (FIRST, LAST)
    ]
    item = replace(ITEM, question=ATTACK, reference=ATTACK, answer=ATTACK)
    check_fences(calm, await _asked(step.name, talks(*evil), item))


async def test_a_question_has_its_evidence_and_the_session_that_leads_to_it() -> None:
    ended = {"turns": [*SPOKEN, {"speaker": "Ana", "text": f"So: {ASKED['question']}"}]}
    caller = Answering([*STATEMENTS, {"questions": [ASKED]}, ended])
    (question,) = await generate_questions(talks(), lambda _: caller, 1)
    assert (question.id, question.user, question.asks, question.answers) == (
        "ana/1",
        "ana",
        "Ana",
        "Theo",
    )
    (evidence,) = question.evidence
    assert (evidence.session, evidence.turn, evidence.text) == ("s2", "3", LAST[0].text)
    assert [words for _, words in question.session] == [turn["text"] for turn in SPOKEN]
    assert all(set(call.touches) <= {1, 2} and call.touches for call in caller.asked)
    assert caller.asked[-1].touches == {1, 2}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"pair": 2}, "exactly 1 for each of the pairs 1 to 1"),
        ({"question": " "}, "question 1: a text is empty"),
        ({"evidence": []}, "its evidence must name statements from 1 to 2"),
        ({"evidence": [3]}, "its evidence must name statements from 1 to 2"),
        ({"question": "Ana: will they?"}, "give the words alone"),
    ],
)
def test_invalid_question_is_sent_back_with_the_error(
    changed: dict[str, Any], message: str
) -> None:
    answer = Questions(questions=[Asked.model_validate({**ASKED, **changed})])
    fault = find_question_fault(answer, 2, [("Ana", "Theo")], 1)
    assert fault and message in fault
    fine = Questions(questions=[Asked.model_validate({**ASKED, "question": "Tell me: will they?"})])
    assert find_question_fault(fine, 2, [("Ana", "Theo")], 1) is None


def test_invalid_session_is_sent_back_with_the_error() -> None:
    turns = [Said.model_validate(turn) for turn in SPOKEN]
    assert find_session_fault(turns, WHY) is None
    assert "2 turns before" in str(find_session_fault(turns[:2], WHY))
    assert "must not be Ana's" in str(find_session_fault(turns[:-1], WHY))
    strangers = [*turns, Said(speaker="Bo", text="Hi")]
    assert "turn 9" in str(find_session_fault(strangers, WHY))


async def test_unusable_input_or_reply_is_an_error() -> None:
    caller = Answering([*STATEMENTS, {"questions": []}])
    with pytest.raises(UnusableReply):
        await generate_questions(talks(), lambda _: caller, 1)
    assert caller.faults
    with pytest.raises(BadInput, match="the summaries of its sessions are empty"):
        await generate_questions(talks(), lambda _: Answering([NOTHING, NOTHING]), 1)


@pytest.mark.parametrize(
    ("first", "per_speaker", "count"),
    [(FIRST, 1, 1), ([turn(1, "a"), turn(2, "b", "Bo")], 2, 4)],
)
async def test_the_published_prompt_is_for_two_questions_of_two_people(
    first: Sequence[Turn], per_speaker: int, count: int
) -> None:
    caller = Answering([], PromptFolder({"teafarm-question.v1": "Ask."}))
    last = LAST if count == 1 else [turn(3, "c", session=2)]
    with pytest.raises(SettingsError, match=f"ana would have {count} by"):
        await generate_questions(talks(first, last), lambda _: caller, per_speaker)
    assert not caller.asked


@pytest.mark.parametrize(
    ("reply", "fine"),
    [
        ("Cows?\nBo: No.\nBo: A mill?\nAna: Yes.", True),
        ("Question 1\nAna: Cows?\nBo: No.\nQuestion 2\nBo: A mill?\nAna: Yes.", True),
        ("Ana: Cows?\nBo: No.\nAna: A mill?\nBo: Yes.", False),
        ("Bo: Cows?\nAna: No.\nAna: A mill?\nBo: Yes.", False),
        ("Ana: Cows?\nBo: No.", False),
    ],
)
def test_the_published_questions_are_of_one_speaker_each(reply: str, fine: bool) -> None:
    own = PromptFolder({"teafarm-question.v1": "Ask."}).replace(QUESTION)
    values = {"speaker_1": "Ana", "speaker_2": "Bo", "statements": "[1] Bo has no cows."}
    if not fine:
        with pytest.raises(InvalidReply, match="a question of each speaker"):
            own.parse(reply, values)
        return
    asked = [(one.pair, one.question, one.answer) for one in own.parse(reply, values).questions]
    assert asked == [(1, "Cows?", "No."), (2, "A mill?", "Yes.")]


def test_speaker_pairs() -> None:
    assert speaker_pairs(FIRST) == [("Ana", "Theo")]
    two = [turn(1, "a", "A"), turn(2, "b", "B"), turn(3, "c", "B")]
    assert speaker_pairs(two) == [("B", "A"), ("A", "B")]
    assert speaker_pairs([*FIRST, turn(5, "c", "Bo")]) == [("Ana", "Theo"), ("Bo", "Theo")]
    with pytest.raises(BadInput, match="only one speaker"):
        speaker_pairs(FIRST[:1])


# the file


def talk(prompt: str) -> str:
    return answer({"messages": [{"role": "user", "content": prompt}]})


def histories(*names: str) -> list[History]:
    transcripts = read_histories(HARBOUR).histories[0].transcripts[:2]
    return [History(name=name, transcripts=transcripts) for name in names]


@pytest.mark.slow
async def test_existing_file_is_extended(tmp_path: Path) -> None:
    out, data = tmp_path / "q.txt", tmp_path / "talks.jsonl"
    model = ScriptedModel(talk)
    made = await write_question_file(
        histories("ana", "bo"), out, data=data, model=model, per_speaker=2
    )
    assert [(result.user, result.questions, result.failure) for result in made] == [
        ("ana", 2, ""),
        ("bo", 2, ""),
    ]
    sheet = read_question_file(out)
    assert sheet.data == "talks.jsonl"
    assert [question.id for question in sheet.questions] == ["ana/1", "ana/2", "bo/1", "bo/2"]
    assert all(
        question.evidence and question.session and question.assumes for question in sheet.questions
    )
    edited = out.read_text("utf-8").replace("So you never", "By the way, you never", 1)
    out.write_text(edited, "utf-8")
    paid = len(model.prompts)
    assert await write_question_file(histories("ana", "bo"), out, data=data, model=model) == []
    assert (out.read_text("utf-8"), len(model.prompts)) == (edited, paid)
    more = await write_question_file(histories("ana", "cy"), out, data=data, model=model)
    assert [result.user for result in more] == ["cy"]
    with pytest.raises(BadInput, match=r"holds the questions on talks\.jsonl"):
        await write_question_file(histories("ana"), out, data=tmp_path / "other.jsonl", model=model)


async def test_failed_history_is_reported_and_completed_by_the_next_call(tmp_path: Path) -> None:
    out = tmp_path / "q.txt"

    def dying(prompt: str) -> Any:
        dead = task_of(prompt) == "teafarm-session"
        return ModelUnavailable("the line is dead") if dead else talk(prompt)

    limits = Limits(retries=0)
    one_voice = [Transcript(key="s", turns=[_said("Cy")], at=_said("Cy").at)]
    wanted = [*histories("ana"), History(name="cy", transcripts=one_voice)]
    model = ScriptedModel(dying)
    made = await write_question_file(wanted, out, data=tmp_path, model=model, limits=limits)
    assert [result.user for result in made if result.failure] == ["ana", "cy"]
    assert "the line is dead" in made[0].failure
    assert "only one speaker" in made[1].failure
    rest = ScriptedModel(talk)
    made = await write_question_file(wanted, out, data=tmp_path, model=rest)
    assert [(result.user, result.questions) for result in made] == [("ana", 1), ("cy", 0)]
    assert [task_of(prompt) for prompt in rest.prompts] == ["teafarm-session"]


def _said(speaker: str) -> Utterance:
    return Utterance(text="I sold the boat.", speaker=speaker, at=FIRST[0].at)


async def test_without_a_model_questions_are_blank(tmp_path: Path) -> None:
    out = tmp_path / "q.txt"
    made = await write_question_file(
        histories("ana"), out, data=tmp_path / "t.jsonl", per_speaker=3
    )
    assert (made[0].questions, made[0].failure) == (3, "")
    text = out.read_text("utf-8")
    assert text.count("\nquestion:\n") == text.count("evidence:\n  a-dog | ") == 3
    with pytest.raises(BadInput, match=r"line \d+: \[ana/1\] has no question"):
        read_question_file(out)
    assert not out.with_name("q.txt.db").exists()


def test_scripted_replies_fit() -> None:
    prompt = QUESTION.render(
        statements="[1] Ana sold the boat.", pairs="1: Ana asks Theo (questions: 2)"
    )
    assert (
        find_question_fault(Questions.model_validate_json(talk(prompt)), 1, [("Ana", "Theo")], 2)
        is None
    )
    led = Led.model_validate_json(
        talk(SESSION.render(speakers="Ana\nTheo", last="Ana: Hi", question="Ana: Q"))
    )
    assert find_session_fault(led.turns, replace(WHY, text="Q")) is None
    verdict = json.loads(
        talk(TEAFARM_PROMPT.render(question="Q", answer="the boat", reply="the boat"))
    )
    assert (verdict["open"], verdict["verdict"]) == (False, "Correct")
