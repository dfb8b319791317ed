"""Relate two memories without a language model, by a fitted classifier.

See :mod:`theanine.linking.model` for what it was fitted on and how often it is right.
Statements that say the same are never related as cause and effect.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from theanine.linking.features import feature_names, pair_features, relation_features
from theanine.linking.model import LABELS, RELATIONS, load_model
from theanine.linking.reading import CUES, Reading, may_be_linked, read_statement
from theanine.methods.shared.pairs import Pair
from theanine.methods.theanine.judgement import Judgement
from theanine.text import cues
from theanine.text.words import content_words
from theanine.types import Relation

LINKED = 0.63
"""Minimum chance of a link: on held-out histories, six of seven such links are right."""
RELATED_LINK = 0.55
"""Minimum chance of a link with a relation, which speaks for the link as well."""
SHORT, IN_SHORT = 20, 0.4
"""Earlier memories up to which a history is short, and the minimum chance of a link there, which
says less than ``LINKED`` only that both are on the same topic: chance likeness is rarer among few,
so that about as many of these links are right as in long histories."""
RELATED = 0.4
"""Minimum score of a relation; below it, a link says that both are on the same topic."""
TOLD = 0.5
"""Share of the older statement's weighted words that the newer one repeats when it plainly speaks
of it: then a causal connective or a cue beside them decides."""
CUE = 0.1
"""Added to the chance of a relation if the newer statement has a cue of it, the older none."""
SAME, DENIED = 0.75, 0.5
"""Share of both statements' weighted words in common at which they say the same; and at which one
that denies the other changes it."""
_BITS = {name: 1 << number for number, (name, _) in enumerate(CUES)}
_CUES: dict[Relation, tuple[str, str]] = {
    Relation.CHANGED: ("change", "a change"),
    Relation.CAUSE: ("so", "an effect"),
    Relation.REASON: ("because", "a reason"),
    Relation.HINDERED_BY: ("hindrance", "a hindrance"),
    Relation.REACT: ("feeling", "a feeling"),
    Relation.WANT: ("wish", "a wish"),
}
"""The cue of each relation, and its name in an explanation."""
_PLAIN = (Relation.HINDERED_BY, Relation.CHANGED, Relation.REACT, Relation.WANT)
"""Relations that a cue may decide, the first one that has one."""
_PATTERNS = dict(CUES)


def local_relate(pairs: Sequence[Pair], *, short: bool = False) -> list[Judgement]:
    """Return one judgement for each pair; its explanation says what speaks for it.

    ``short`` tells that the history has few memories yet.
    """
    if not pairs:
        return []
    judgements = [Judgement(relation=None, explanation="no rare words in common")] * len(pairs)
    likely: list[tuple[int, Reading, Reading]] = []
    for number, pair in enumerate(pairs):
        older = read_statement(pair.older.text, pair.older.speakers)
        newer = read_statement(pair.newer.text, pair.newer.speakers)
        if short or may_be_linked(older, newer):
            likely.append((number, older, newer))
    if not likely:
        return judgements
    read = [(older, newer, _days(pairs[n])) for n, older, newer in likely]
    rows = pair_features(read)
    floor = IN_SHORT if short else RELATED_LINK
    chances = load_model().link_chances(rows, floor)
    linked = np.flatnonzero(chances >= floor)
    labels = load_model().label_chances(
        relation_features([read[at] for at in linked], rows[linked])
    )
    overlaps = rows[:, feature_names().index("smaller share")].tolist()
    for number, _, _ in likely:
        judgements[number] = Judgement(
            relation=None, explanation="probably not about the same matter"
        )
    for at, shares in zip(linked.tolist(), labels, strict=True):
        number, older, newer = likely[at]
        chance = float(chances[at])
        relation, evidence = judge(older, newer, chance, shares, overlaps[at], short=short)
        if relation is not None:
            why = "; ".join(filter(None, (evidence, _mentioned(older, newer))))
            judgements[number] = Judgement(
                relation=relation, explanation=f"{why} ({chance:.0%})", chance=chance
            )
    return judgements


def read_chance(explanation: str) -> float | None:
    """Return the chance that an explanation of a link tells; None if it tells none."""
    found = re.search(r"\((\d{1,3})%\)$", explanation)
    return int(found[1]) / 100 if found else None


def _days(pair: Pair) -> float | None:
    if not pair.older.dated:
        return None
    return (pair.newer.at - pair.older.at).total_seconds() / 86_400


def judge(
    older: Reading,
    newer: Reading,
    chance: float,
    labels: NDArray[np.float32],
    overlap: float,
    *,
    short: bool = False,
) -> tuple[Relation | None, str]:
    """Return the relation of a pair, None if it is not linked, and its cue in words.

    Args:
        chance: that it is linked.
        labels: the chance of each of ``LABELS``.
        overlap: share of both statements' weighted words in common.
        short: whether the history has few memories yet.
    """
    relation, evidence = Relation.SAME_TOPIC, ""
    if chance >= (LINKED if short else RELATED_LINK):
        relation, evidence = _choose_relation(older, newer, labels, overlap)
    if relation is Relation.SAME_TOPIC and chance < (IN_SHORT if short else LINKED):
        return None, ""
    return relation, evidence


def _choose_relation(
    older: Reading, newer: Reading, labels: NDArray[np.float32], overlap: float
) -> tuple[Relation, str]:
    """Return the relation of a pair if it is linked, and its cue in words.

    An explicit one comes first: a denial, or a causal connective with the older statement on one
    side.
    """
    denied = (older.cues ^ newer.cues) & _BITS["negation"]
    if denied and overlap >= DENIED:
        match = cues.NEGATION.search(newer.text) or cues.NEGATION.search(older.text)
        return Relation.CHANGED, f"denied on one side, “{match[0] if match else ''}”"
    if overlap >= SAME or newer.text.strip(" “”") in older.text:
        return Relation.SAME_TOPIC, ""
    if connected := _by_connective(older, newer):
        return connected
    new = newer.related_cues(older) & ~older.cues
    told = sum(older.idf[term] for term in older.idf.keys() & newer.idf.keys())
    if told >= TOLD * older.total:
        for relation in _PLAIN:
            if new & _BITS[_CUES[relation][0]]:
                return relation, _evidence(relation, newer)
    scores = score_relations(older, newer, labels)
    relation = max(scores, key=lambda relation: scores[relation])
    if scores[relation] < RELATED:
        return Relation.SAME_TOPIC, ""
    return relation, _evidence(relation, newer)


def score_relations(
    older: Reading, newer: Reading, labels: NDArray[np.float32]
) -> dict[Relation, float]:
    """Return the chance of each relation other than SameTopic, with what its cue adds."""
    new = newer.cues & ~older.cues
    return {
        relation: float(labels[LABELS.index(relation)])
        + (CUE if new & _BITS[_CUES[relation][0]] else 0)
        for relation in RELATIONS
    }


def _evidence(relation: Relation, newer: Reading) -> str:
    """Return the newer statement's cue of a relation in words, if it has one."""
    cue, name = _CUES[relation]
    match = _PATTERNS[cue].search(newer.text)
    return f"{name}, “{match[0]}”" if match else ""


def _by_connective(older: Reading, newer: Reading) -> tuple[Relation, str] | None:
    """Return cause or reason, by the side of a causal connective that the older one is about."""
    text, shared = newer.text, older.idf.keys()
    match = cues.EFFECT_THEN_CAUSE.search(text)
    cause_first = match is None
    match = match or cues.CAUSE_THEN_EFFECT.search(text)
    if match is None:
        return None
    before = sum(
        older.idf[w] for w in content_words(cues.CLAUSE.split(text[: match.start()])[-1]) & shared
    )
    after = sum(older.idf[w] for w in content_words(text[match.end() :]) & shared)
    if max(before, after) < TOLD * older.total or before == after:
        return None
    if (before > after) == cause_first:
        return Relation.CAUSE, f"“{match[0]}” makes it the cause"
    return Relation.REASON, f"“{match[0]}” explains it"


def _mentioned(older: Reading, newer: Reading) -> str:
    shared = older.idf.keys() & newer.idf.keys()
    if not shared:
        return "similar words"
    rare = sorted(shared, key=lambda term: (-newer.idf[term], term))[:4]
    mentioned = [word for term, word in zip(newer.idf, newer.words, strict=True) if term in rare]
    return "both mention " + ", ".join(mentioned)
