"""Read what the turns of a user tell, by their wording and by the fitted model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from theanine.profile.entities import ReadNames, read_names
from theanine.profile.model import AREA_ORDER, stated
from theanine.profile.statements import ReadTurn, Statement, read_turn, turn_order
from theanine.recall.context import RecallContext
from theanine.retrieval.candidates import embedded_text
from theanine.retrieval.lexical import tokenize
from theanine.retrieval.log_index import LogIndex
from theanine.types import NO_MODEL_NOTICE, Turn

NEWEST = 10_000
"""The user's newest turns, of which a profile is made."""
STATED = 0.7
"""Least chance that a sentence states something lasting, by the fitted model."""
PROMISING = 0.4
"""Least chance that a passage does, for its sentences to be read by that model."""
SENTENCES = 120
"""Sentences that it reads at most, those of the most promising passages: some .5 s, once."""
_UNREAD = object()


async def user_turns(context: RecallContext, log: LogIndex) -> list[Turn]:
    """Return the newest turns of users in order of time, without those of the dialogue."""
    candidates = log.candidates
    mask = candidates.by_user & ~candidates.notices
    within = context.index.candidate_mask(candidates)
    if within is not None:
        mask = mask & within
    numbers = np.unique(candidates.turns[mask])[-NEWEST:].tolist()
    turns = await log.turns(number for number in numbers if number not in context.current)
    return sorted(turns, key=turn_order)


async def unsearched_turns(context: RecallContext) -> list[Turn]:
    """Return the same turns from the store: to search the log, its turns would be embedded."""
    turns = [
        turn
        for turn in await context.index.all_turns()
        if turn.role == "user"
        and turn.id not in context.current
        and NO_MODEL_NOTICE not in turn.text
    ]
    return sorted(turns[-NEWEST:], key=turn_order)


def of_user(turns: Sequence[Turn], names: set[str]) -> list[Turn]:
    """Return the turns of the one who has one of these names, or who never talks with others."""
    wanted = {name.casefold() for name in names if name}
    speakers: defaultdict[int, set[str]] = defaultdict(set)
    for turn in turns:
        speakers[turn.session].add(turn.speaker)
    among_others = set[str]().union(*(each for each in speakers.values() if len(each) > 1))
    return [
        turn
        for turn in turns
        if turn.speaker not in among_others
        or not wanted.isdisjoint({turn.speaker.casefold(), turn.speaker.casefold().split()[0]})
    ]


def read_turns(turns: Sequence[Turn], log: LogIndex) -> list[tuple[ReadTurn, ReadNames]]:
    """Return what turns tell, each read once for as long as the log's index is held."""
    derived = log.derived  # which another task may empty meanwhile
    found: list[tuple[ReadTurn, ReadNames]] = []
    for turn in turns:
        known = derived.get(turn.id, _UNREAD)
        if known is _UNREAD:
            read = read_turn(turn)
            known = derived[turn.id] = read and (read, read_names(read))
        if known:
            found.append(cast("tuple[ReadTurn, ReadNames]", known))
    return found


async def read_by_model(
    known: Sequence[tuple[ReadTurn, ReadNames]], log: LogIndex
) -> list[tuple[ReadTurn, ReadNames]]:
    """Add what English sentences state in words of which no frame says so, by the fitted model."""
    left = SENTENCES
    found: dict[int, ReadTurn] = {}
    for read in promising([read for read, _ in known], log, PROMISING):
        if left <= 0:
            break
        left -= len(read.unread)  # all sentences of a turn at once
        found[read.turn.id] = await _read_sentences(read, log)
    return [(found.get(read.turn.id, read), names) for read, names in known]


def promising(known: Iterable[ReadTurn], log: LogIndex, least: float) -> list[ReadTurn]:
    """Return the English turns with sentences that may state something lasting, the best first.

    The chance of a passage of each, by the fitted model of the encoder's vectors, is ``least``.
    """
    candidates = log.candidates
    reads = {read.turn.id: read for read in known if read.unread and read.language == "en"}
    positions = np.flatnonzero(np.isin(candidates.turns, [*reads]))
    if not len(positions):
        return []
    promise = stated(candidates.embeddings(positions)).sum(axis=1)
    best = [at for at in np.argsort(-promise, kind="stable").tolist() if promise[at] >= least]
    turns = dict.fromkeys(int(candidates.turns[positions[at]]) for at in best)
    return [reads[turn] for turn in turns]


async def _read_sentences(read: ReadTurn, log: LogIndex) -> ReadTurn:
    """Return what a turn states, by its wording and by the model; each turn is read once."""
    known = log.derived.get(("stated", read.turn.id))
    if known is None:
        texts = [" ".join(read.turn.text[start:end].split()) for start, end in read.unread]
        vectors = await log.embedder.embed([embedded_text(text, log.embedder) for text in texts])
        chances = stated(vectors)
        found = [
            Statement(
                area=AREA_ORDER[int(chance.argmax())],
                text=text,
                turn=read.turn,
                start=start,
                core=text,
                terms=frozenset(tokenize(text)),
                vector=vector,
            )
            for (start, _), text, vector, chance in zip(
                read.unread, texts, vectors, chances, strict=True
            )
            if chance.sum() >= STATED
        ]
        statements = sorted((*read.statements, *found), key=lambda each: each.start)
        known = replace(read, statements=tuple(statements))
        log.derived["stated", read.turn.id] = known
    return cast("ReadTurn", known)
