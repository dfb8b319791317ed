"""The conditional-memory paper's three sets (section 4, appendix A): knowledge, feedback, continue.

The steps are those of the authors' programs ``data_generation_*.py`` of RuifengYuan's
Evolving-LLM-Assistant-with-Long-Term-Conditional-Memory, in prompts of our own; the files are named
and laid out as theirs, which :mod:`theanine_bench.datasets.formats.conditional` reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from theanine.errors import BadInput
from theanine.fences import list_items, one_line
from theanine.importers import read_histories
from theanine.llm.bounds import ReplyBounds
from theanine.llm.chat import ScopedChat
from theanine.llm.parsing import InvalidReply
from theanine.llm.prompt import load_prompt
from theanine.llm.published import whole_text, without_label
from theanine.private_files import make_folder
from theanine.types import Transcript
from theanine_bench.files import read_lines, read_text, write_atomically
from theanine_bench.generation.drafts import PACKAGE, Draft, expect_call
from theanine_bench.samples import spread
from theanine_bench.validation import AnyAsText, OptionalText, Text, validate

SOURCE_SESSIONS = 4
"""Sessions of MSC that a sample of new knowledge remembers (table 2)."""
ANSWER_TOKENS = 250
"""Expected tokens of an answer, for the forecast."""
SHORT_TOKENS = 40
"""Expected tokens of a question or a piece of feedback."""
BACKGROUND_TURNS = 6
Message = Mapping[str, str]
Task = Literal["knowledge", "feedback", "continue"]
_FILES: Mapping[Task, str] = {"knowledge": "msc", "feedback": "refine", "continue": "code"}


class QuestionAnswer(BaseModel):
    """A test question about the user and its answer."""

    question: str
    answer: str


class Exchange(BaseModel):
    """A turn of the user and the assistant's answer."""

    user: str
    assistant: str


class Request(BaseModel):
    """A request like another one."""

    request: str


class Suggestion(BaseModel):
    """Feedback that would improve two answers."""

    suggestion: str


class Background(BaseModel):
    """The exchanges before a request."""

    exchanges: list[Exchange]


def _published_question(reply: str, _: Mapping[str, str]) -> dict[str, str]:
    """Read a question and its answer with [sep] between them."""
    question, separator, answer = without_label(reply, "Output").partition("[sep]")
    if not separator:
        raise InvalidReply("it lacks [sep] between question and answer")
    return {"question": question.strip(), "answer": answer.strip()}


_TURN = re.compile(r"<(user|human|assistant)(?: \d+)?>\s*:?", re.IGNORECASE)


def _published_turns(reply: str) -> list[dict[str, str]]:
    """Return the exchanges of a dialogue with <user> or <Human 1>: before each turn of the user's.

    A last turn of the user's without an answer is the request itself.
    """
    pieces = _TURN.split(re.sub(r"</?(?:start|end)_chat>", "", reply))
    texts = [piece.strip() for piece in pieces[2::2]]
    roles = ["assistant" if role.lower() == "assistant" else "user" for role in pieces[1::2]]
    if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2):
        raise InvalidReply("its turns are not the user's and the assistant's by turns")
    pairs = zip(texts[::2], texts[1::2], strict=False)
    return [{"user": user, "assistant": assistant} for user, assistant in pairs]


def _published_exchange(reply: str, _: Mapping[str, str]) -> dict[str, str]:
    if len(exchanges := _published_turns(reply)) != 1:
        raise InvalidReply(f"it has {len(exchanges)} exchanges of <user> and <assistant>, not 1")
    return exchanges[0]


def _published_background(reply: str, _: Mapping[str, str]) -> dict[str, object]:
    return {"exchanges": _published_turns(reply)}


_LONG = ReplyBounds(3_000)
QUESTION = load_prompt(
    PACKAGE, "generate-question", 1, QuestionAnswer, published=_published_question
)
CONTINUATION = load_prompt(
    PACKAGE,
    "generate-continuation",
    1,
    Exchange,
    ReplyBounds(3_000, {"user": {"maxLength": 4_000}, "assistant": {"maxLength": 12_000}}),
    published=_published_exchange,
)
SIMILAR = load_prompt(PACKAGE, "generate-similar", 1, Request, published=whole_text("request"))
ANSWER = load_prompt(PACKAGE, "generate-answer", 1, str, _LONG)
SUGGESTION = load_prompt(
    PACKAGE, "generate-suggestion", 1, Suggestion, published=whole_text("suggestion")
)
IMPROVED = load_prompt(PACKAGE, "generate-improved", 1, str, _LONG)
BACKGROUND = load_prompt(
    PACKAGE, "generate-background", 1, Background, published=_published_background
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionalSample:
    """A sample: the source dialogues, and the test turns with their reference replies."""

    number: int
    sessions: Sequence[Sequence[Message]]
    reference: Sequence[Message]


def user_says(text: str) -> Message:
    """Return a turn of the user's, as the files hold it."""
    return {"role": "user", "content": text}


def assistant_says(text: str) -> Message:
    """Return a turn of the assistant's, as the files hold it."""
    return {"role": "assistant", "content": text}


def conditional_drafts(
    task: Task, data: Path, limit: int | None = None
) -> list[Draft[ConditionalSample]]:
    """Return a draft for each sample that the data allows, at most ``limit``, evenly spaced.

    Args:
        data: for ``knowledge`` a file of MSC with personas, session 4 or later; for ``feedback``
            seed requests; for ``continue`` dialogues with an assistant in any imported format.

    Raises BadInput for unusable data.
    """
    return _READERS[task](data, limit)


class _Metadata(BaseModel):
    initial_data_id: AnyAsText


class _Episode(BaseModel):
    metadata: _Metadata
    init_personas: list[list[Text]]


def _knowledge_drafts(data: Path, limit: int | None) -> list[Draft[ConditionalSample]]:
    """Speaker 1 is the user, who is asked about each statement of their first persona."""
    personas = {
        episode.metadata.initial_data_id: episode.init_personas[0]
        for record, where in read_lines(data)
        if (episode := validate(_Episode, record, where)).init_personas
    }
    sources = [
        (personas[history.name], history.transcripts[:SOURCE_SESSIONS])
        for history in read_histories(data, format="msc").histories
        if personas.get(history.name) and len(history.transcripts) >= SOURCE_SESSIONS
    ]
    if not sources:
        raise BadInput(
            f"no episode of {SOURCE_SESSIONS} sessions with a persona: give MSC's file of session "
            f"{SOURCE_SESSIONS} or 5",
            str(data),
        )
    return [
        Draft(
            id=f"sample {number}",
            write=partial(_write_knowledge, number=number, persona=persona, sessions=[
                [_message(turn.full_text, turn.speaker == "Speaker 1") for turn in one.turns]
                for one in transcripts
            ]),
            calls=[expect_call(QUESTION, SHORT_TOKENS, statement) for statement in persona],
        )
        for number, (persona, transcripts) in enumerate(spread(sources, limit), 1)
    ]  # fmt: skip


def _message(text: str, is_user: bool) -> Message:
    return user_says(text) if is_user else assistant_says(text)


async def _write_knowledge(
    chat: ScopedChat, number: int, persona: Sequence[str], sessions: Sequence[Sequence[Message]]
) -> ConditionalSample:
    reference: list[Message] = []
    for statement in persona:
        pair = await chat.ask(
            QUESTION,
            check=lambda reply: find_empty(reply.question, reply.answer),
            statement=one_line(statement),
        )
        reference += [user_says(one_line(pair.question)), assistant_says(one_line(pair.answer))]
    return ConditionalSample(number=number, sessions=sessions, reference=reference)


def _continue_drafts(data: Path, limit: int | None) -> list[Draft[ConditionalSample]]:
    sessions = [
        transcript
        for history in read_histories(data).histories
        for transcript in history.transcripts
        if {turn.role for turn in transcript.turns} == {"user", "assistant"}
    ]
    if not sessions:
        raise BadInput("no session in it has turns of a user and an assistant", str(data))
    return [
        Draft(
            id=f"sample {number}",
            write=partial(_write_continuation, number=number, session=session),
            calls=[expect_call(CONTINUATION, SHORT_TOKENS + ANSWER_TOKENS, _format(session))],
        )
        for number, session in enumerate(spread(sessions, limit), 1)
    ]


def _format(session: Transcript) -> str:
    return list_items(f"{turn.role}: {turn.full_text}" for turn in session.turns)


async def _write_continuation(
    chat: ScopedChat, number: int, session: Transcript
) -> ConditionalSample:
    exchange = await chat.ask(
        CONTINUATION,
        check=lambda reply: find_empty(reply.user, reply.assistant),
        dialogue=_format(session),
    )
    return ConditionalSample(
        number=number,
        sessions=[[_message(turn.full_text, turn.role == "user") for turn in session.turns]],
        reference=[user_says(exchange.user.strip()), assistant_says(exchange.assistant.strip())],
    )


class _Instance(BaseModel):
    input: OptionalText = ""


class _Seed(BaseModel):
    instruction: Text
    instances: list[_Instance] = []


def read_seeds(data: Path) -> list[str]:
    """Return seed requests: self-instruct's (``data/seed_tasks.jsonl`` of yizhongw/self-instruct),
    or one a line.
    """
    if not read_text(data).lstrip().startswith("{"):
        return [line.strip() for line in read_text(data).splitlines() if line.strip()]
    seeds = [validate(_Seed, record, where) for record, where in read_lines(data)]
    return [
        "\n".join(filter(None, (seed.instruction, *(one.input for one in seed.instances[:1]))))
        for seed in seeds
    ]


def _feedback_drafts(data: Path, limit: int | None) -> list[Draft[ConditionalSample]]:
    seeds = read_seeds(data)
    if not seeds:
        raise BadInput("it holds no request", str(data))
    answer = "word " * ANSWER_TOKENS  # stands in for what the model will say

    def draft(number: int, seed: str) -> Draft[ConditionalSample]:
        return Draft(
            id=f"sample {number}",
            write=partial(_write_feedback, number=number, seed=seed),
            calls=[
                expect_call(BACKGROUND, BACKGROUND_TURNS * SHORT_TOKENS, seed),
                expect_call(SIMILAR, SHORT_TOKENS, seed),
                *[expect_call(ANSWER, ANSWER_TOKENS, seed)] * 2,
                expect_call(SUGGESTION, SHORT_TOKENS, seed, seed, answer, answer),
                *[expect_call(IMPROVED, ANSWER_TOKENS, seed, answer, seed)] * 2,
            ],
        )

    return [draft(number, seed) for number, seed in enumerate(spread(seeds, limit), 1)]


async def _write_feedback(chat: ScopedChat, number: int, seed: str) -> ConditionalSample:
    background = await chat.ask(BACKGROUND, check=find_background_fault, request=list_items([seed]))
    other = await chat.ask(
        SIMILAR, check=lambda reply: find_empty(reply.request), request=list_items([seed])
    )
    requests = seed, other.request.strip()
    answers = [await chat.ask(ANSWER, request=list_items([request])) for request in requests]
    feedback = await chat.ask(
        SUGGESTION,
        check=lambda reply: find_empty(reply.suggestion),
        request_1=list_items([requests[0]]),
        answer_1=list_items([answers[0]]),
        request_2=list_items([requests[1]]),
        answer_2=list_items([answers[1]]),
    )
    suggestion = one_line(feedback.suggestion)
    improved = [
        await chat.ask(
            IMPROVED,
            request=list_items([request]),
            answer=list_items([answer]),
            suggestion=suggestion,
        )
        for request, answer in zip(requests, answers, strict=True)
    ]
    source: list[Message] = []
    for exchange in background.exchanges:
        source += [user_says(exchange.user.strip()), assistant_says(exchange.assistant.strip())]
    source += [user_says(seed), assistant_says(answers[0])]
    source += [user_says(suggestion), assistant_says(improved[0])]
    return ConditionalSample(
        number=number,
        sessions=[source],
        reference=[user_says(requests[1]), assistant_says(improved[1])],
    )


def find_background_fault(reply: Background) -> str | None:
    """Return what is wrong with the background, worded for the model; None if nothing."""
    if len(reply.exchanges) != BACKGROUND_TURNS // 2:
        return f"wanted are {BACKGROUND_TURNS // 2} exchanges, not {len(reply.exchanges)}"
    return find_empty(*(text for one in reply.exchanges for text in (one.user, one.assistant)))


def find_empty(*texts: str) -> str | None:
    """Return that one of the texts is empty, worded for the model; None if none is."""
    return None if all(text.strip() for text in texts) else "a text is empty"


def write_samples(folder: Path, task: Task, samples: Iterable[ConditionalSample]) -> int:
    """Write two files for each sample, as the authors' programs do; return their number."""
    make_folder(folder)
    count = 0
    for sample in samples:
        history = [json.dumps(session, ensure_ascii=False) for session in sample.sessions]
        for kind, lines in (
            ("history", history),
            ("reference", [json.dumps(sample.reference, ensure_ascii=False)]),
        ):
            file = folder / f"{_FILES[task]}_test_{kind}_{sample.number}.txt"
            write_atomically(file, "".join(f"{line}\n" for line in lines))
        count += 1
    return count


_READERS = {
    "knowledge": _knowledge_drafts,
    "feedback": _feedback_drafts,
    "continue": _continue_drafts,
}
