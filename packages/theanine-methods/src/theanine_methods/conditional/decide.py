"""Decide which turns of a user are worth a record (section 3.1, appendix C.2).

A decision is made with the reply and noted on the assistant's turn, or made after the session.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.bounds import ReplyBounds, one_of
from theanine.llm.gather import gather
from theanine.llm.prompt import load_prompt
from theanine.retrieval.query import is_standing_instruction
from theanine.sentences import sentence_spans
from theanine.summarization import local_summarize
from theanine.text.cues import normal
from theanine.text.numbering import format_numbered
from theanine.types import LOCAL_MODEL, Turn, Utterance
from theanine_methods.conditional.prompt_windows import (
    PromptWindow,
    batched_windows,
    single_windows,
)

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

YES, NO = "yes", "no"
DECISIONS_PER_CALL = 400
"""Turns that one call decides about; the reply is a list of numbers."""
_WORTH, _OF, _BY = "worth", "of", "by"
"""Keys of a noted decision: ``yes`` or ``no``, the time of the user's turn, and the model."""


class Worth(BaseModel):
    """The model's reply: which undecided turns of a session are worth a record."""

    worth: list[int] = Field(description="numbers of the turns worth remembering")


DECIDE = load_prompt("theanine_methods.conditional", "conditional-decide", 1, Worth)


def decision_notes(worth: bool, turn: Utterance, made_by: str) -> dict[str, str]:
    """Return the notes of an assistant's turn that decides on the user's ``turn``."""
    return {_WORTH: YES if worth else NO, _OF: _utc_time(turn), _BY: made_by}


def noted_decisions(turns: Sequence[Turn]) -> dict[int, bool]:
    """Return the decisions that a model made with the replies, by id of the user's turn.

    Local decisions don't count: they cost nothing to repeat, and a model may decide better.
    """
    decisions: dict[int, bool] = {}
    for position, turn in enumerate(turns):
        worth = turn.notes.get(_WORTH)
        by_model = turn.role == "assistant" and turn.notes.get(_BY) != LOCAL_MODEL
        if not by_model or worth not in (YES, NO):
            continue
        decided = [
            earlier
            for earlier in turns[:position]
            if earlier.role == "user"
            and _utc_time(earlier) == turn.notes.get(_OF, _utc_time(earlier))
        ]
        if decided:
            decisions[decided[-1].id] = worth == YES
    return decisions


def candidate_turns(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns that may be worth a record: a user's with text."""
    return [turn for turn in turns if turn.role == "user" and turn.full_text.strip()]


async def decide(
    turns: Sequence[Turn],
    session: Sequence[Turn],
    chat: ScopedChat | None,
    *,
    by_turn: bool = False,
) -> list[Turn]:
    """Return those of ``turns`` that are worth a record, in order.

    ``session`` is the whole session of the turns. Noted decisions are final. On the other turns the
    model decides in one call (in one for each window of a very long session), or
    :func:`local_decide`; ``by_turn``, in a call for each, which shows no later turn. Raises
    ModelError when the model fails.
    """
    noted = noted_decisions(turns)
    candidates = candidate_turns(turns)
    undecided = {turn.id for turn in candidates if turn.id not in noted}
    if chat is None:
        chosen = undecided & local_decide(session)
    else:
        windows = (
            single_windows(session, undecided)
            if by_turn
            else batched_windows(session, undecided, DECISIONS_PER_CALL)
        )
        replies = await gather([partial(_decide_window, window, chat) for window in windows])
        chosen = {turn for reply in replies for turn in reply}
    return [turn for turn in candidates if noted.get(turn.id, turn.id in chosen)]


async def _decide_window(window: PromptWindow, chat: ScopedChat) -> set[int]:
    def check(reply: Worth) -> str | None:
        unasked = sorted(set(reply.worth) - set(window.targets))
        return f"turns {unasked} were not asked about, only {window.numbers}" if unasked else None

    reply = await chat.ask(
        DECIDE,
        source_sessions=window.source_sessions,
        check=check,
        bounds=ReplyBounds(
            50 + 10 * len(window.targets),
            {"worth": {"maxItems": len(window.targets)}, "worth[]": one_of(window.targets)},
        ),
        turns=format_numbered(window.lines),
        asked=window.numbers,
    )
    return {window.targets[number].id for number in reply.worth}


def _utc_time(turn: Utterance) -> str:
    return turn.at.astimezone(UTC).isoformat()


# Without a model: disclosures in any language, and English demands and corrections.

_DEMAND = re.compile(
    r"(?<![\w'])(?:"
    r"(?:please |can you |could you )?(?:always|never|only ever) \w+|from now on|next time|"
    r"in (?:the )?future|going forward|(?:don't|do not|stop) (?:use|using|call|calling|give|giving|"
    r"write|writing|add|adding|repeat|repeating|assume|assuming|make|making)|"
    r"(?:keep|make) (?:it|them|your (?:answers?|repl(?:y|ies))|the (?:answers?|repl(?:y|ies))) "
    r"(?:\w+ )?(?:short|shorter|brief|simple|simpler|longer|concise|formal|informal|detailed)|"
    r"i'd (?:rather|prefer) (?:you|if)|i (?:want|need|expect|would like|prefer) you to|"
    r"you (?:should|must|need to|have to)|call me"
    r")(?![\w'])"
)
_CORRECTION = re.compile(
    r"^\W*(?:no|nope|wrong|actually|not quite)[\s,.:;!—-]+(?=\w)|(?<![\w'])(?:"
    r"that's (?:not (?:what|right|correct|it)|wrong|incorrect)|"
    r"(?:not|isn't|wasn't) what i (?:meant|asked|wanted|said)|i (?:meant|mean)|"
    r"you (?:misunderstood|forgot|missed|got (?:it|that) wrong|made a mistake|(?:were|are) wrong)|"
    r"(?:it|that|this) (?:should|ought to) (?:be|have)|too (?:long|short|vague|formal|generic)"
    r")(?![\w'])"
)
_TASK = re.compile(
    r"(?:(?:hey|hi|hello|ok|okay|so|now|then|and|great|thanks|thank you)[,!.]? )*"
    r"(?:(?:can|could|would|will) you (?:please |also |maybe )?|please )?"
    r"(?:add|analy[sz]e|answer|calculate|capitali[sz]e|check|come up with|compare|compose|convert|"
    r"correct|create|define|describe|design|draft|edit|elaborate|explain|expand|find|fix|format|"
    r"generate|give|go on|continue|help|improve|list|look up|make|name|outline|proofread|provide|"
    r"recommend|rephrase|rewrite|share|shorten|show|solve|suggest|summari[sz]e|teach|tell|"
    r"translate|turn|write)(?![\w'])"
)
_OWN = re.compile(
    r"(?<![\w'])(?:i|i'(?:m|ve|d|ll)|my|mine|myself|we|we'(?:re|ve|d|ll)|our|ours)(?![\w'])"
)
_MIN_WORDS = 3


def local_decide(session: Sequence[Turn]) -> set[int]:
    """Return the ids of the turns worth a record. Deterministic.

    Of turns of one speaker with equal text only the first is worth it.
    """
    disclosures = local_summarize([_without_tasks(turn) for turn in session])
    disclosing = {source for memory in disclosures for source in memory.source_turns}
    worth: set[int] = set()
    seen: set[tuple[str, str]] = set()
    for turn in session:
        utterance = (turn.speaker, " ".join(turn.full_text.split()))
        if utterance not in seen and (turn.id in disclosing or _demands(turn.text)):
            worth.add(turn.id)
        seen.add(utterance)
    return worth


def _demands(text: str) -> bool:
    """Whether a text makes a standing demand or corrects what the assistant said."""
    plain = normal(text)
    if len(plain.split()) < _MIN_WORDS:
        return False
    return is_standing_instruction(text) or bool(_DEMAND.search(plain) or _CORRECTION.search(plain))


def _without_tasks(turn: Turn) -> Turn:
    """Drop the sentences of a user's turn that only ask for something to be done.

    Sentences with "I" or "my" stay: they tell something about the speaker.
    """
    if turn.role != "user":
        return turn
    kept: list[str] = []
    for start, end in sentence_spans(turn.text):
        sentence = turn.text[start:end]
        plain = normal(sentence)
        if not _TASK.match(plain) or _OWN.search(plain):
            kept.append(sentence)
        elif sentence.endswith("?"):
            kept.append("?")  # so that the next turn still counts as an answer
    return replace(turn, text=" ".join(kept))
