"""Have a language model write a profile from numbered passages of the user's own words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from anyio import to_thread
from pydantic import BaseModel, Field

from theanine.embeddings.encoder import NAME as ENCODER
from theanine.fences import one_line
from theanine.llm.bounds import ReplyBounds, number_between, number_list, one_of
from theanine.llm.chat import ScopedChat
from theanine.llm.prompt import load_prompt
from theanine.profile.build import (
    UserReading,
    certainty_of,
    is_over,
    make_profile,
    read_user,
)
from theanine.profile.profile import AREAS, Profile, ProfileLine, Quote, quoted
from theanine.profile.reading import promising
from theanine.profile.statements import is_told, own_sentences, own_words
from theanine.profile.states import ProfileFindings
from theanine.recall.context import RecallContext
from theanine.text.formatting import day_label, estimate_tokens, group_by_day
from theanine.text.numbering import MAX_SOURCE_TURNS
from theanine.types import Turn

PASSAGE_TOKENS = 6_000
"""Maximum tokens of the passages, by an upper estimate."""
_NUMBER_TOKENS = 12
"""Tokens of a passage besides its text: number, and heading with the day."""
PROMISING = 0.2
"""Least chance that a passage states something lasting, for the model to read it."""
MOST_LINES = 40
LINE_LIMIT = 300
"""Maximum characters of a line; the prompt asks for 20 words."""
WRITTEN_LIMIT = 200
"""Characters to which a schema bounds a line: 20 long words."""
WRITTEN_TOKENS = 120
"""Tokens of a line of this length, with its numbers, in indented JSON."""


class WrittenLine(BaseModel):
    """A fact that the model found, with the numbers of its passages."""

    area: str
    text: str = Field(description="the fact, without a name for the person")
    passages: list[int] = Field(description="numbers of the passages that support it")
    since: int = Field(default=0, description="number of the passage that says it first")
    before: int = Field(default=0, description="number of the passage with what it was before")


class WrittenProfile(BaseModel):
    """The model's reply."""

    lines: list[WrittenLine]


PROFILE = load_prompt("theanine.profile", "profile", 1, WrittenProfile)


@dataclass(frozen=True, slots=True)
class Passage:
    """Words of the user's that a model is shown: those of a turn, verbatim, on one line."""

    turn: Turn
    text: str

    @property
    def tokens(self) -> int:
        """An upper estimate of its tokens in a prompt."""
        return estimate_tokens(self.text) + _NUMBER_TOKENS

    @property
    def quote(self) -> Quote:
        """The passage as a profile has it."""
        return Quote(**quoted(self.text, self.turn))


async def write_profile(context: RecallContext, chat: ScopedChat, name: str = "") -> Profile:
    """Return the profile of :func:`find_profile` with lines that a model writes, in one call.

    The model reads the user's own words alone: what the profile without it has, and what else
    promises most, within the bounds of the context's options. It isn't asked if there are none.
    Raises ModelError when the model fails.
    """
    reading = await read_user(context, name)
    profile = make_profile(context, reading)
    passages = await to_thread.run_sync(find_passages, reading)
    if not passages:
        return profile
    newest = reading.turns[-1]
    most = min(MOST_LINES, 2 * len(passages))
    written = await chat.ask(
        PROFILE,
        source_sessions={passage.turn.session for passage in passages},
        check=partial(_fault, most, len(passages)),
        bounds=_bounds(most, len(passages)),
        # Somebody waits for it, as for a reply.
        limits=replace(chat.limits, retries=chat.limits.reply_retries),
        day=day_label(newest.at, newest.dated),
        most=str(most),
        words=format_passages(passages),
    )
    corrections = {turn.id for turn in reading.found.corrections}
    lines: list[ProfileLine] = []
    for each in written.lines:
        line = _line(each, passages, newest, context.options.present)
        is_correction = line.turn in corrections
        lines.append(replace(line, made_by=chat.model, is_correction=is_correction))
    lines.sort(key=lambda line: (line.at, line.turn), reverse=True)
    by_area = [line for area in AREAS for line in lines if line.area == area]
    return replace(profile, lines=tuple(by_area))


def find_passages(reading: UserReading) -> list[Passage]:
    """Return what a model is shown, the oldest first, within ``PASSAGE_TOKENS``.

    First come corrections, the statements that hold, and changes, then what they were before, then
    other sentences; none twice. What was corrected is left out.
    """
    kept: dict[int, list[Passage]] = {}
    left = PASSAGE_TOKENS
    for passage in (*_stated(reading), *_others(reading)):
        own = kept.get(passage.turn.id, [])
        within = [each for each in own if each.text in passage.text]
        cost = passage.tokens - sum(each.tokens for each in within)
        if cost <= left and not any(passage.text in each.text for each in own):
            kept[passage.turn.id] = [*(each for each in own if each not in within), passage]
            left -= cost
    return sorted((each for own in kept.values() for each in own), key=_order)


def format_passages(passages: Sequence[Passage]) -> str:
    """Return passages as numbered lines, counted from 1, under their days."""
    return group_by_day(
        (day_label(passage.turn.at, passage.turn.dated), f"[{number}] {passage.text}")
        for number, passage in enumerate(passages, 1)
    )


def _stated(reading: UserReading) -> Iterator[Passage]:
    """Yield what the profile without a model is made of, the newest first."""
    found = reading.found
    states = [
        state
        for own in found.states.values()
        for state in own
        if not is_over(state, reading.turns[-1])
        and not _is_corrected(state.statement.turn, state.statement.text, found, stated=True)
    ]
    held = [state.statement for state in states if not state.ended]
    changes = [by for _, by in found.changes if not _is_corrected(by.turn, by.text, found)]
    ended = [state.statement for state in states if state.ended]
    yield from (
        _passage(turn, turn.text)
        for turn in reversed(found.corrections)
        if not _is_corrected(turn, turn.text, found)
    )
    for group in ([*held, *changes], ended):
        passages = [_passage(each.turn, each.text) for each in group]
        yield from sorted(passages, key=_order, reverse=True)


def _others(reading: UserReading) -> Iterator[Passage]:
    """Yield the other sentences: those that promise most, then the newest of those unweighed.

    These are in another language than English, or there are no vectors of the encoder.
    """
    reads = {read.turn.id: read for read, _ in reading.known}
    turns = [turn for turn in reversed(reading.turns) if is_told(turn)]
    if reading.log.embedder.name == ENCODER:
        best = promising(reads.values(), reading.log, PROMISING)
        weighed = {turn for turn, read in reads.items() if read.language == "en"}
        turns = [*(read.turn for read in best), *(turn for turn in turns if turn.id not in weighed)]
    for turn in turns:
        read = reads.get(turn.id)
        for start, end in read.unread if read else own_sentences(own_words(turn.text)):
            text = turn.text[start:end]
            if not _is_corrected(turn, text, reading.found):
                yield _passage(turn, text)


def _passage(turn: Turn, text: str) -> Passage:
    return Passage(turn, one_line(text))


def _order(passage: Passage) -> tuple[datetime, int, int]:
    return passage.turn.at, passage.turn.id, one_line(passage.turn.text).find(passage.text)


def _is_corrected(turn: Turn, text: str, found: ProfileFindings, *, stated: bool = False) -> bool:
    """Whether words of a turn tell what the user has corrected.

    A memory in other words than the user's may rest on any of them but those ``stated``, of which
    it is known.
    """
    words = one_line(text)
    for told, states in found.corrected.get(turn.id, ()):
        if not stated and told not in " ".join(turn.text.split()):
            return True
        texts = [told, *(state.statement.text for state in states)]
        if any(words in one_line(each) or one_line(each) in words for each in texts):
            return True
    return False


def _bounds(most: int, passages: int) -> ReplyBounds:
    return ReplyBounds(
        50 + WRITTEN_TOKENS * most,
        {
            "lines": {"maxItems": most},
            "lines[].area": one_of(AREAS),
            "lines[].text": {"minLength": 1, "maxLength": WRITTEN_LIMIT},
            **number_list("lines[].passages", 1, passages, MAX_SOURCE_TURNS, least=1),
            "lines[].since": number_between(0, passages),
            "lines[].before": number_between(0, passages),
        },
    )


def _fault(most: int, passages: int, written: WrittenProfile) -> str | None:
    if len(written.lines) > most:
        return f"{len(written.lines)} lines are too many: give at most {most}"
    for position, line in enumerate(written.lines, 1):
        if fault := _line_fault(line, passages):
            return f"line {position}: {fault}"
    return None


def _line_fault(line: WrittenLine, passages: int) -> str | None:
    if line.area not in AREAS:
        return f"there is no area {line.area!r}, only {', '.join(AREAS)}"
    if not line.text.strip():
        return "its text is empty"
    if len(line.text) > LINE_LIMIT:
        return f"its text is too long, keep it under {LINE_LIMIT} characters"
    if not line.passages:
        return "it names no passage that supports it"
    numbers = {*line.passages, line.since or 1, line.before or 1}
    if wrong := sorted(number for number in numbers if not 1 <= number <= passages):
        return f"passages {wrong} were not shown; shown are 1 to {passages}"
    if max(line.since, line.before) > max(line.passages):
        return "since and before are later than the passages that support it"
    return None


def _line(
    written: WrittenLine,
    passages: Sequence[Passage],
    newest: Turn,
    present: datetime | None,
) -> ProfileLine:
    sources = [passages[number - 1] for number in sorted({*written.passages})]
    turns = [passage.turn for passage in sources]
    return ProfileLine(
        **quoted(one_line(written.text), turns[-1]),
        area=written.area,
        since=(passages[written.since - 1] if written.since else sources[0]).turn.at,
        before=(passages[written.before - 1].quote,) if written.before else (),
        certainty=certainty_of(turns, newest, present),
        source_turns=tuple(dict.fromkeys(turn.id for turn in turns)),
    )
