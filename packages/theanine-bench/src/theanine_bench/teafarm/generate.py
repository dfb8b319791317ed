"""Steps 1 to 3 of TeaFarm: summarize each session, ask counterfactual questions, lead to them.

Theanine (NAACL 2025), section 5.1 and Figures 23 and 24. Differences from the paper: the summary is
of statements, each with its turns, so that every question has evidence; an assistant is only asked,
as nobody would put it in the place of its user; the number of questions can be chosen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pydantic import BaseModel, Field

from theanine.errors import BadInput
from theanine.llm.chat import ScopedChat
from theanine.llm.gather import gather
from theanine.llm.prompt import load_prompt
from theanine.summarization import summarize
from theanine.text.formatting import (
    day_label,
    estimate_tokens,
    format_dialogue,
    format_speaker,
    group_by_day,
    one_line,
)
from theanine.types import NewMemory, Session, Turn
from theanine_bench.teafarm.question import Evidence, Question

STATEMENT_TOKENS = 12_000
"""Of statements that the question's prompt shows, by a rough upper count; the oldest go first."""
LAST_TURNS = 40
"""Turns of the last session that the new one goes on from."""
SHORTEST, LONGEST = 4, 20
"""Turns that a new session may have before its question; 9 to 14 are asked for."""

Pair = tuple[str, str]
"""Who asks, and who is asked."""
Callers = Callable[[int | None], ScopedChat]
"""Gives the model for remembering the session of a number, or for what comes after."""


class Asked(BaseModel):
    """One counterfactual question, as the model words it."""

    pair: int = Field(description="the line's number")
    assumes: str = Field(description="the falsehood")
    question: str
    answer: str = Field(description="what is right")
    evidence: list[int] = Field(description="numbers of the statements that show it")


class Questions(BaseModel):
    """All that were wanted."""

    questions: list[Asked]


class Said(BaseModel):
    """One turn of the new session."""

    speaker: str
    text: str


class Led(BaseModel):
    """The new session up to its question."""

    turns: list[Said]


QUESTION = load_prompt("theanine_bench.teafarm", "teafarm-question", 1, Questions)
SESSION = load_prompt("theanine_bench.teafarm", "teafarm-session", 1, Led)


@dataclass(frozen=True, slots=True, kw_only=True)
class Talks:
    """One user's sessions as they were logged, oldest first."""

    user: str
    sessions: Sequence[Session]
    turns: Mapping[int, Sequence[Turn]]

    @property
    def undated(self) -> frozenset[int]:
        """Sessions whose times only keep their order."""
        return frozenset(one.id for one in self.sessions if not one.dated)

    @property
    def all_turns(self) -> list[Turn]:
        """Every turn, oldest session first."""
        return [turn for one in self.sessions for turn in self.turns[one.id]]

    @property
    def last(self) -> Sequence[Turn]:
        """The end of the last session."""
        return self.turns[self.sessions[-1].id][-LAST_TURNS:]


async def make_questions(talks: Talks, caller_of: Callers, many: int) -> list[Question]:
    """Counterfactual questions about the talks, ``many`` of each asker, each with its new session.

    Raises BadInput where only one person speaks, ModelError when the model fails.
    """
    pairs = pairs_of(talks.all_turns)
    statements = await _statements(talks, caller_of)
    caller = caller_of(None)
    found = await caller.ask(
        QUESTION,
        source_sessions=[one.id for one in talks.sessions],
        check=lambda answer: fault_of(answer, len(statements), pairs, many),
        statements=_numbered(statements, talks),
        pairs=_lines(pairs, many),
    )
    asked = sorted(found.questions, key=lambda one: one.pair)
    questions = [
        Question(
            id=f"{talks.user}/{number}",
            user=talks.user,
            asks=pairs[one.pair - 1][0],
            answers=pairs[one.pair - 1][1],
            assumes=one_line(one.assumes),
            text=one_line(one.question),
            answer=one_line(one.answer),
            evidence=_evidence([statements[n - 1] for n in one.evidence], talks),
        )
        for number, one in enumerate(asked, 1)
    ]
    sessions = await gather([partial(_lead, one, talks, caller) for one in questions])
    return [_with(one, session) for one, session in zip(questions, sessions, strict=True)]


async def blank_questions(talks: Talks, many: int) -> list[Question]:
    """Without a model: what the newest memories say, with room for a person's own questions."""
    pairs = pairs_of(talks.all_turns)
    made = [
        memory for one in talks.sessions for memory in await summarize(talks.turns[one.id], None)
    ]
    newest = list(reversed(made))
    return [
        Question(
            id=f"{talks.user}/{number}",
            user=talks.user,
            asks=asks,
            answers=answers,
            text="",
            answer="",
            evidence=_evidence(newest[number - 1 : number], talks),
        )
        for number, (asks, answers) in enumerate((pair for pair in pairs for _ in range(many)), 1)
    ]


def pairs_of(turns: Sequence[Turn]) -> list[Pair]:
    """Who asks whom: each of two people the other; where there is an assistant, it is asked.

    Raises BadInput where there is nobody to ask.
    """
    spoke = Counter(turn.speaker for turn in turns)
    agents = {turn.speaker for turn in turns if turn.role == "assistant"}
    order = [name for name, _ in spoke.most_common()]
    asking = [name for name in order if name not in agents]
    pairs: list[Pair] = []
    for name in asking:
        others = [one for one in order if one != name and (one in agents or not agents)]
        if others:
            pairs.append((name, others[0]))
    if not pairs:
        raise BadInput("one voice alone: somebody has to ask, and somebody else to be asked")
    return pairs


def _lines(pairs: Sequence[Pair], many: int) -> str:
    return "\n".join(
        f"{number}: {format_speaker(asks)} asks {format_speaker(answers)} (questions: {many})"
        for number, (asks, answers) in enumerate(pairs, 1)
    )


async def _statements(talks: Talks, caller_of: Callers) -> list[NewMemory]:
    """Of all sessions, oldest first; the newest that fit the prompt."""
    made = await gather(
        [partial(summarize, talks.turns[one.id], caller_of(one.id)) for one in talks.sessions]
    )
    kept: list[NewMemory] = []
    room = STATEMENT_TOKENS
    for memory in reversed([memory for memories in made for memory in memories]):
        room -= estimate_tokens(memory.text) + 20
        if room < 0:
            break
        kept.append(memory)
    if not kept:
        raise BadInput("nothing in it is worth remembering, so there is nothing to ask")
    return kept[::-1]


def _numbered(statements: Sequence[NewMemory], talks: Talks) -> str:
    session = {turn.id: turn.session for turn in talks.all_turns}
    return group_by_day(
        (
            day_label(one.at, session[one.source_turns[0]] not in talks.undated),
            f"[{number}] {one_line(one.text)}",
        )
        for number, one in enumerate(statements, 1)
    )


def _evidence(statements: Sequence[NewMemory], talks: Talks) -> tuple[Evidence, ...]:
    wanted = {source for one in statements for source in one.source_turns}
    keys = {one.id: one.key for one in talks.sessions}
    return tuple(
        Evidence(
            session=one_line(keys[turn.session]),
            turn=one_line(turn.key or str(turn.id)),
            speaker=one_line(turn.speaker),
            text=one_line(turn.full_text),
        )
        for turn in talks.all_turns
        if turn.id in wanted
    )


def fault_of(answer: Questions, statements: int, pairs: Sequence[Pair], many: int) -> str | None:
    """What is wrong with the model's questions, in words for it."""
    counts = Counter(one.pair for one in answer.questions)
    if counts != Counter(dict.fromkeys(range(1, len(pairs) + 1), many)):
        return f"wanted are exactly {many} for each of the pairs 1 to {len(pairs)}"
    for place, one in enumerate(answer.questions, 1):
        if not all(text.strip() for text in (one.assumes, one.question, one.answer)):
            return f"question {place}: a text is empty"
        if not one.evidence or set(one.evidence) - set(range(1, statements + 1)):
            return f"question {place}: its evidence must name statements from 1 to {statements}"
        before = one.question.partition(":")[0].strip().casefold()
        if before in {format_speaker(name).casefold() for name in pairs[one.pair - 1]}:
            return f"question {place}: a name stands before the words; give the words alone"
    return None


async def _lead(question: Question, talks: Talks, caller: ScopedChat) -> Led:
    return await caller.ask(
        SESSION,
        source_sessions=[one.id for one in talks.sessions],
        check=lambda answer: lead_fault(_kept(answer, question), question),
        speakers=f"{format_speaker(question.asks)}\n{format_speaker(question.answers)}",
        last=format_dialogue(talks.last),
        question=f"{format_speaker(question.asks)}: {one_line(question.text)}",
    )


def _kept(answer: Led, question: Question) -> list[Said]:
    """Without the question itself, should the model have ended with it."""
    turns = list(answer.turns)
    if turns and _same(turns[-1].text, question.text):
        turns.pop()
    return turns


def lead_fault(turns: Sequence[Said], question: Question) -> str | None:
    """What is wrong with the new session, in words for the model."""
    names = {format_speaker(name).casefold() for name in (question.asks, question.answers)}
    if not SHORTEST <= len(turns) <= LONGEST:
        return f"{len(turns)} turns before the question; 9 to 14 are wanted"
    for place, turn in enumerate(turns, 1):
        if format_speaker(turn.speaker).casefold() not in names or not turn.text.strip():
            return f"turn {place}: give words, and one of the two speakers as written"
    if format_speaker(turns[-1].speaker).casefold() == format_speaker(question.asks).casefold():
        return f"the last turn before the question must not be {format_speaker(question.asks)}'s"
    return None


def _with(question: Question, led: Led) -> Question:
    names = {format_speaker(one).casefold(): one for one in (question.asks, question.answers)}
    session = tuple(
        (names[format_speaker(turn.speaker).casefold()], one_line(turn.text))
        for turn in _kept(led, question)
    )
    return replace(question, session=session)


def _same(one: str, other: str) -> bool:
    def plain(text: str) -> str:
        return " ".join(re.findall(r"\w+", text.casefold()))

    return plain(one).endswith(plain(other))
