"""Generate TeaFarm questions: summaries, counterfactual questions, and sessions that lead to them.

Steps 1 to 3 of Theanine (NAACL 2025), section 5.1, figures 24 and 25. Differences from the
paper: the summary consists of statements with their turns, so that every question has evidence; an
assistant is only asked, never asks; the number of questions can be chosen.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import BaseModel, Field

import theanine
from theanine.client.client import AsyncClient
from theanine.clock import system_clock
from theanine.errors import BadInput, ModelError, SettingsError
from theanine.llm.base import ChatModel
from theanine.llm.bounds import ReplyBounds
from theanine.llm.chat import Chat, ScopedChat
from theanine.llm.gather import gather
from theanine.llm.limits import Limits
from theanine.llm.parsing import InvalidReply
from theanine.llm.prompt import load_prompt
from theanine.llm.prompt_folder import PromptFolder
from theanine.private_files import make_folder, owner_only, write_text
from theanine.store import open_store
from theanine.summarization import summarize
from theanine.text.formatting import (
    day_label,
    estimate_tokens,
    format_dialogue,
    format_speaker,
    group_by_day,
    one_line,
)
from theanine.types import History, NewMemory, Scope, Session, Turn
from theanine_bench.teafarm.questions import (
    CounterfactualQuestion,
    EvidenceTurn,
    bare_words,
    format_header,
    format_question,
    read_outline,
)

MAX_STATEMENT_TOKENS = 12_000
"""Estimated tokens of the statements in the question prompt; the oldest are left out first."""
LAST_TURNS = 40
"""Turns of the last session in the prompt for the new one."""
MIN_TURNS, MAX_TURNS = 4, 20
"""Accepted numbers of turns before the question; the prompt asks for 9 to 14."""
CONCURRENCY = 4
"""Histories processed at once."""

Pair = tuple[str, str]
"""The speaker who asks and the one who is asked."""
ChatOfSession = Callable[[int | None], ScopedChat]
"""Returns the chat model for summarizing a session by id, or for other steps (None)."""


class Asked(BaseModel):
    """One counterfactual question in the model's reply."""

    pair: int = Field(description="the line's number")
    assumes: str = Field(description="the falsehood")
    question: str
    answer: str = Field(description="what is right")
    evidence: list[int] = Field(description="numbers of the statements that show it")


class Questions(BaseModel):
    """The reply with all questions."""

    questions: list[Asked]


class Said(BaseModel):
    """One turn of the session in the model's reply."""

    speaker: str
    text: str


class Led(BaseModel):
    """The reply with the session that leads to a question."""

    turns: list[Said]


def _spoken(text: str, speakers: Sequence[str]) -> list[dict[str, str]]:
    """Return the turns of a dialogue in which each turn is a line after its speaker's name."""
    names = "|".join(map(re.escape, speakers))
    pieces = re.split(rf"^\W*({names})\W*:", text, flags=re.MULTILINE | re.IGNORECASE)
    return [
        {"speaker": speaker, "text": text.strip()}
        for speaker, text in zip(pieces[1::2], pieces[2::2], strict=True)
    ]


def _published_questions(reply: str, values: Mapping[str, str]) -> dict[str, object]:
    """Read two questions with their answers, which name no statements: they rest on all.

    The prompt ends with the name of the first speaker.
    """
    speakers = [values["speaker_1"], values["speaker_2"]]
    text = re.sub(r"^\W*(?:question|answer)(?: \d)?\W*$", "", reply, flags=re.I | re.MULTILINE)
    turns = _spoken(text, speakers)
    if len(turns) == 3:
        turns = _spoken(f"{speakers[0]}: {text.strip()}", speakers)
    order = [speakers[number].casefold() for number in (0, 1, 1, 0)]
    if [turn["speaker"].casefold() for turn in turns] != order:
        raise InvalidReply(
            "it needs a question of each speaker, with the other one's answer, after speaker tags"
        )
    evidence = re.findall(r"^\[(\d+)\]", values["statements"], re.MULTILINE)
    pairs = [(1, *turns[:2]), (2, *turns[2:])]
    return {
        "questions": [
            {
                "pair": pair,
                "assumes": question["text"],
                "question": question["text"],
                "answer": answer["text"],
                "evidence": evidence,
            }
            for pair, question, answer in pairs
        ]
    }


def _published_session(reply: str, values: Mapping[str, str]) -> dict[str, object]:
    return {"turns": _spoken(reply, values["speakers"].splitlines())}


QUESTION = load_prompt(
    "theanine_bench.teafarm",
    "teafarm-question",
    1,
    Questions,
    ReplyBounds(8_000),
    published=_published_questions,
)
SESSION = load_prompt(
    "theanine_bench.teafarm",
    "teafarm-session",
    1,
    Led,
    ReplyBounds(4_000),
    published=_published_session,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedSessions:
    """One user's logged sessions, oldest first, with their turns by session id."""

    user: str
    sessions: Sequence[Session]
    turns: Mapping[int, Sequence[Turn]]

    @property
    def all_turns(self) -> list[Turn]:
        """Every turn, oldest session first."""
        return [turn for session in self.sessions for turn in self.turns[session.id]]


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationResult:
    """The number of questions written about one user, or why there are none."""

    user: str
    questions: int = 0
    failure: str = ""


async def write_question_file(
    histories: Sequence[History],
    out: Path,
    *,
    data: Path | None = None,
    store: Path | None = None,
    model: ChatModel | None = None,
    per_speaker: int = 1,
    limits: Limits | None = None,
    prompts: PromptFolder | None = None,
    progress: Callable[[GenerationResult], None] = lambda _: None,
) -> list[GenerationResult]:
    """Append questions about each history that the file has none about.

    ``data`` or ``store`` is where the sessions are. Without a model the questions are left blank,
    with a memory as evidence, for a person to fill in. The model's replies are journaled in
    ``OUT.db``, so that the same call after a failure pays for nothing twice.

    Raises BadInput for a file with questions about other data.
    """
    header = {"data": _relative(out, data), "store": _relative(out, store)}
    done = _prepare_file(out, header)
    todo = [history for history in histories if history.name not in done]
    results: list[GenerationResult] = []
    with TemporaryDirectory(prefix="theanine-teafarm-") as folder:
        location = out.with_name(f"{out.name}.db") if model else Path(folder) / "log.db"
        journal = open_store(str(location))
        async with theanine.aopen(journal, method="no-memory") as client:
            chat = Chat(model, journal, system_clock, limits, prompts=prompts) if model else None
            for start in range(0, len(todo), CONCURRENCY):
                batch = todo[start : start + CONCURRENCY]
                outcomes = await gather(
                    [partial(_generate, history, client, chat, per_speaker) for history in batch]
                )
                for history, outcome in zip(batch, outcomes, strict=True):
                    results.append(_append(out, history.name, outcome))
                    progress(results[-1])
            if chat:
                await chat.close()
    return results


def _append(out: Path, user: str, outcome: list[CounterfactualQuestion] | str) -> GenerationResult:
    if isinstance(outcome, str):
        return GenerationResult(user=user, failure=outcome)
    with open(out, "a", encoding="utf-8", opener=owner_only) as file:
        file.write("".join(f"\n{format_question(question)}" for question in outcome))
        file.flush()
        os.fsync(file.fileno())
    return GenerationResult(user=user, questions=len(outcome))


async def _generate(
    history: History, client: AsyncClient, chat: Chat | None, per_speaker: int
) -> list[CounterfactualQuestion] | str:
    """Return the questions about a history, or why there are none."""
    user = client.user(history.name)
    await user.log(history)
    sessions = await user.sessions()
    logged = LoggedSessions(
        user=history.name,
        sessions=[session for session in sessions if session.turn_count],
        turns={session.id: await user.turns(session=session.id) for session in sessions},
    )
    try:
        if chat is None:
            return await blank_questions(logged, per_speaker)
        chat_of_session = partial(chat.for_scope, Scope(history.name))
        return await generate_questions(logged, chat_of_session, per_speaker)
    except (BadInput, ModelError) as error:
        return str(error)


def _prepare_file(out: Path, header: dict[str, str]) -> set[str]:
    """Return the users that the file has questions about; start a new file with its header."""
    if not out.exists():
        try:
            make_folder(out.parent)
            write_text(out, format_header(**header))
        except OSError as error:
            raise SettingsError(f"{out} can't be written ({error.strerror})") from error
        return set()
    current, users = read_outline(out)
    if current != header:
        shown = current["data"] or current["store"]
        raise BadInput(f"it holds the questions on {shown}; name another file", str(out))
    return users


def _relative(out: Path, path: Path | None) -> str:
    """Return a path relative to the folder of the question file."""
    return "" if path is None else Path(os.path.relpath(path, out.parent)).as_posix()


async def generate_questions(
    sessions: LoggedSessions, chat_of_session: ChatOfSession, per_speaker: int
) -> list[CounterfactualQuestion]:
    """Generate ``per_speaker`` questions of each asker, each with the session that leads to it.

    Raises BadInput if only one person speaks, ModelError if the model fails, and SettingsError for
    the published prompt where two people don't ask each other one question.
    """
    pairs = speaker_pairs(sessions.all_turns)
    chat = chat_of_session(None)
    if chat.replaced(QUESTION).in_published_form and (len(pairs), per_speaker) != (2, 1):
        raise SettingsError(
            f"the published prompt of {QUESTION.label} has two people ask each other one question: "
            f"{sessions.user} would have {len(pairs) * per_speaker} by {len(pairs)} of the speakers"
        )
    statements = await _summarize(sessions, chat_of_session)
    reply = await chat.ask(
        QUESTION,
        source_sessions=[session.id for session in sessions.sessions],
        check=lambda reply: find_question_fault(reply, len(statements), pairs, per_speaker),
        statements=_format_statements(statements, sessions),
        speaker_1=format_speaker(pairs[0][0]),
        speaker_2=format_speaker(pairs[0][1]),
        pairs="\n".join(
            f"{number}: {format_speaker(asks)} asks {format_speaker(answers)} "
            f"(questions: {per_speaker})"
            for number, (asks, answers) in enumerate(pairs, 1)
        ),
    )
    questions = [
        CounterfactualQuestion(
            id=f"{sessions.user}/{number}",
            user=sessions.user,
            asks=pairs[question.pair - 1][0],
            answers=pairs[question.pair - 1][1],
            assumes=one_line(question.assumes),
            text=one_line(question.question),
            answer=one_line(question.answer),
            evidence=_evidence([statements[n - 1] for n in question.evidence], sessions),
        )
        for number, question in enumerate(sorted(reply.questions, key=lambda q: q.pair), 1)
    ]
    return await gather(
        [partial(_with_session, question, sessions, chat) for question in questions]
    )


async def blank_questions(
    sessions: LoggedSessions, per_speaker: int
) -> list[CounterfactualQuestion]:
    """Return blank questions, each with one of the newest memories as evidence; calls no model."""
    pairs = speaker_pairs(sessions.all_turns)
    memories = [
        memory
        for session in sessions.sessions
        for memory in await summarize(sessions.turns[session.id], None)
    ]
    newest = memories[::-1]
    repeated = [pair for pair in pairs for _ in range(per_speaker)]
    return [
        CounterfactualQuestion(
            id=f"{sessions.user}/{number}",
            user=sessions.user,
            asks=asks,
            answers=answers,
            text="",
            answer="",
            evidence=_evidence(newest[number - 1 : number], sessions),
        )
        for number, (asks, answers) in enumerate(repeated, 1)
    ]


def speaker_pairs(turns: Sequence[Turn]) -> list[Pair]:
    """Return who asks whom: two people ask each other; everyone asks an assistant, if there is one.

    Raises BadInput if there is nobody to ask.
    """
    counts = Counter(turn.speaker for turn in turns)
    assistants = {turn.speaker for turn in turns if turn.role == "assistant"}
    speakers = [name for name, _ in counts.most_common()]
    pairs: list[Pair] = []
    for asks in speakers:
        candidates = [
            name for name in speakers if name != asks and (name in assistants or not assistants)
        ]
        if candidates and asks not in assistants:
            pairs.append((asks, candidates[0]))
    if not pairs:
        raise BadInput(
            "only one speaker: questions need somebody who asks and somebody who is asked"
        )
    return pairs


async def _summarize(sessions: LoggedSessions, chat_of_session: ChatOfSession) -> list[NewMemory]:
    """Return the newest statements of all sessions that fit the prompt, oldest first."""
    by_session = await gather(
        [
            partial(summarize, sessions.turns[session.id], chat_of_session(session.id))
            for session in sessions.sessions
        ]
    )
    kept: list[NewMemory] = []
    tokens = 0
    for statement in reversed([statement for each in by_session for statement in each]):
        tokens += estimate_tokens(statement.text) + 20
        if tokens > MAX_STATEMENT_TOKENS:
            break
        kept.append(statement)
    if not kept:
        raise BadInput("the summaries of its sessions are empty, so there is nothing to ask about")
    return kept[::-1]


def _format_statements(statements: Sequence[NewMemory], sessions: LoggedSessions) -> str:
    dated = {turn.id: turn.dated for turn in sessions.all_turns}
    return group_by_day(
        (day_label(memory.at, dated[memory.source_turns[0]]), f"[{number}] {one_line(memory.text)}")
        for number, memory in enumerate(statements, 1)
    )


def _evidence(
    statements: Sequence[NewMemory], sessions: LoggedSessions
) -> tuple[EvidenceTurn, ...]:
    """Return the source turns of the statements."""
    sources = {turn for statement in statements for turn in statement.source_turns}
    keys = {session.id: session.key for session in sessions.sessions}
    return tuple(
        EvidenceTurn(
            session=one_line(keys[turn.session]),
            turn=one_line(turn.key or str(turn.id)),
            speaker=one_line(turn.speaker),
            text=one_line(turn.full_text),
        )
        for turn in sessions.all_turns
        if turn.id in sources
    )


def find_question_fault(
    reply: Questions, statements: int, pairs: Sequence[Pair], per_speaker: int
) -> str | None:
    """Return what is wrong with the model's questions, worded for the model; None if nothing."""
    counts = Counter(question.pair for question in reply.questions)
    if counts != Counter(dict.fromkeys(range(1, len(pairs) + 1), per_speaker)):
        return f"wanted are exactly {per_speaker} for each of the pairs 1 to {len(pairs)}"
    for number, question in enumerate(reply.questions, 1):
        if not all(text.strip() for text in (question.assumes, question.question, question.answer)):
            return f"question {number}: a text is empty"
        if not question.evidence or set(question.evidence) - set(range(1, statements + 1)):
            return f"question {number}: its evidence must name statements from 1 to {statements}"
        prefix = question.question.partition(":")[0].strip().casefold()
        if prefix in {format_speaker(name).casefold() for name in pairs[question.pair - 1]}:
            return f"question {number}: a name stands before the words; give the words alone"
    return None


async def _with_session(
    question: CounterfactualQuestion, sessions: LoggedSessions, chat: ScopedChat
) -> CounterfactualQuestion:
    """Return the question with a generated session that leads to it."""
    reply = await chat.ask(
        SESSION,
        source_sessions=[session.id for session in sessions.sessions],
        check=lambda reply: find_session_fault(_without_question(reply, question), question),
        speakers=f"{format_speaker(question.asks)}\n{format_speaker(question.answers)}",
        last=format_dialogue(sessions.turns[sessions.sessions[-1].id][-LAST_TURNS:]),
        question=f"{format_speaker(question.asks)}: {one_line(question.text)}",
    )
    names = {format_speaker(name).casefold(): name for name in (question.asks, question.answers)}
    session = tuple(
        (names[format_speaker(turn.speaker).casefold()], one_line(turn.text))
        for turn in _without_question(reply, question)
    )
    return replace(question, session=session)


def _without_question(reply: Led, question: CounterfactualQuestion) -> list[Said]:
    """Return the session's turns, without the question itself if the model ended with it."""
    turns = list(reply.turns)
    if turns and bare_words(turns[-1].text).endswith(bare_words(question.text)):
        turns.pop()
    return turns


def find_session_fault(turns: Sequence[Said], question: CounterfactualQuestion) -> str | None:
    """Return what is wrong with the new session, worded for the model; None if nothing."""
    names = {format_speaker(name).casefold() for name in (question.asks, question.answers)}
    if not MIN_TURNS <= len(turns) <= MAX_TURNS:
        return f"{len(turns)} turns before the question; 9 to 14 are wanted"
    for number, turn in enumerate(turns, 1):
        if format_speaker(turn.speaker).casefold() not in names or not turn.text.strip():
            return f"turn {number}: give words, and one of the two speakers as written"
    if format_speaker(turns[-1].speaker).casefold() == format_speaker(question.asks).casefold():
        return f"the last turn before the question must not be {format_speaker(question.asks)}'s"
    return None
