"""Link two memories without a language model: a fitted chance, and what is said explicitly.

See :mod:`theanine.linking.model` for what the chance was fitted on and how often it is right. That
one memory changes the other is claimed only where its wording says so (:mod:`~.recall.claims`);
other relations, which no wording tells surely enough, are left to a language model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from theanine.linking.features import pair_features
from theanine.linking.model import load_model
from theanine.linking.reading import Reading, may_be_linked, read_statement
from theanine.methods.shared.pairs import Pair
from theanine.methods.theanine.judgement import Judgement
from theanine.quotes import without_attribution
from theanine.recall.claims import governs, replaces
from theanine.types import Relation

LINKED = 0.8
"""Minimum chance of a link: nine of ten such links are right (``links/edges_dev.jsonl``)."""
REPLACED = 0.4
"""Minimum chance of a link where the newer one says that the older holds no more."""


def local_relate(pairs: Sequence[Pair]) -> list[Judgement]:
    """Return one judgement for each pair; its explanation says what speaks for it."""
    judgements = [Judgement(relation=None, explanation="no rare words in common")] * len(pairs)
    likely: list[tuple[int, Reading, Reading]] = []
    for number, pair in enumerate(pairs):
        older = read_statement(pair.older.text, pair.older.speakers)
        newer = read_statement(pair.newer.text, pair.newer.speakers)
        if may_be_linked(older, newer) or _replaces(pair):
            likely.append((number, older, newer))
    if not likely:
        return judgements
    rows = pair_features([(older, newer, _days(pairs[n])) for n, older, newer in likely])
    chances: list[float] = load_model().link_chances(rows, REPLACED).tolist()
    for (number, older, newer), chance in zip(likely, chances, strict=True):
        pair = pairs[number]
        relation, evidence = _relation(pair, chance)
        if relation is None:
            explanation = "probably not about the same matter"
            judgements[number] = Judgement(relation=None, explanation=explanation)
            continue
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


def _words(pair: Pair) -> tuple[str, str]:
    """Return what the newer and the older one say, without speaker and date."""
    newer, older = (without_attribution(each.text) for each in (pair.newer, pair.older))
    return newer.strip(" “”"), older.strip(" “”")


def _replaces(pair: Pair) -> bool:
    """Whether the same people say later that something holds no more."""
    same = {*pair.older.speakers} == {*pair.newer.speakers}
    return same and replaces(*_words(pair))


def _relation(pair: Pair, chance: float) -> tuple[Relation | None, str]:
    """Return the relation of a pair, None if it is not linked, and its evidence in words."""
    if chance >= REPLACED and _replaces(pair):
        return Relation.CHANGED, "the newer one says that the older one holds no more"
    if chance < LINKED:
        return None, ""
    newer, older = _words(pair)
    if governs(newer, older) and newer not in older:
        return Relation.CHANGED, "the newer one says that something has ended"
    return Relation.SAME_TOPIC, ""


def _mentioned(older: Reading, newer: Reading) -> str:
    shared = older.idf.keys() & newer.idf.keys()
    if not shared:
        return "similar words"
    rare = sorted(shared, key=lambda term: (-newer.idf[term], term))[:4]
    mentioned = [word for term, word in zip(newer.idf, newer.words, strict=True) if term in rare]
    return "both mention " + ", ".join(mentioned)
