"""Link two memories without a language model: a fitted model reads both.

See :mod:`theanine.linking.model` for what it was fitted on and how often it is right. That
one memory changes another is claimed only where the wording says so (:mod:`~.recall.claims`). The
model reads English: nothing is linked in other languages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import exp, log1p

from theanine.embeddings.encoder import has_runtime
from theanine.linking.model import Statement, link_logits
from theanine.linking.reading import MAX_IDF, Reading, may_be_linked, read_statement
from theanine.methods.shared.pairs import Pair
from theanine.methods.theanine.judgement import Judgement
from theanine.quotes import without_attribution
from theanine.recall.claims import governs, replaces
from theanine.retrieval.languages import guess_language
from theanine.types import Relation

READ = 2
"""Pairs of each new memory that are read at most, those that promise most."""
LIKENESS, SHARED, EARLIER, LOGIT, INTERCEPT = 4.241, 0.766, -0.939, 0.465, 0.756
"""Logistic regression of the chance of a link on the cosine of the words' vectors, the weight of
the words that both have, the logarithm of the number of earlier memories, among which chance finds
something alike, and the model's logit. Fitted on 39 diaries of ``corpus/diaries_choose.jsonl``,
alone, by six, and all as if one person had written them; ``tools/fit_links.py --calibrate`` fits
them again (3.0, .77, -.82, .39 and .43, of which .75 is what .8 is of these)."""
FEW = 20
"""Least number of earlier memories that is counted with: the first days have small talk to tell."""
HIGHEST = 5.0
"""Highest logit that was ever seen: a pair for which it would make no link is not read."""
LINKED = 0.8
"""Least chance of a link: nine of ten such links are right (``theanine bench links``)."""
REPLACED = 0.4
"""Least chance of a link where the wording says that the older one holds no more."""


def local_relate(pairs: Sequence[Pair], earlier: int = FEW) -> list[Judgement]:
    """Return one judgement for each pair; its explanation says what speaks for it.

    ``earlier`` is the number of memories among which the older ones were found.
    """
    judgements = [Judgement(relation=None, explanation="no rare words in common")] * len(pairs)
    likely = [number for number, pair in enumerate(pairs) if may_be_linked(*_read(pair))]
    chances = _chances([pairs[number] for number in likely], earlier)
    for number, chance in zip(likely, chances, strict=True):
        pair = pairs[number]
        relation, evidence = _relation(pair, chance)
        if relation is None:
            why = "probably not about the same matter"
            judgements[number] = Judgement(relation=None, explanation=why)
            continue
        told = "; ".join(filter(None, (evidence, _mentioned(*_read(pair)))))
        judgements[number] = Judgement(
            relation=relation, explanation=f"{told} ({chance:.0%})", chance=chance
        )
    return judgements


def _read(pair: Pair) -> tuple[Reading, Reading]:
    return (
        read_statement(pair.older.text, pair.older.speakers),
        read_statement(pair.newer.text, pair.newer.speakers),
    )


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


def _chances(pairs: Sequence[Pair], earlier: int) -> list[float]:
    """Return the chance of a link of each pair; 0 for those that promise too little to be read."""
    chances = [0.0] * len(pairs)
    if not has_runtime():
        return chances
    start = EARLIER * log1p(max(earlier, FEW)) + INTERCEPT
    promises = [start + LIKENESS * pair.similarity + SHARED * shared_weight(pair) for pair in pairs]
    count = Counter[int]()
    chosen: list[int] = []
    for number in sorted(range(len(pairs)), key=promises.__getitem__, reverse=True):
        pair = pairs[number]
        promising = _logistic(promises[number] + LOGIT * HIGHEST) >= LINKED
        if count[pair.newer_index] < READ and (promising or _replaces(pair)) and is_english(pair):
            count[pair.newer_index] += 1
            chosen.append(number)
    logits: list[float] = link_logits([statements_of(pairs[number]) for number in chosen]).tolist()
    for number, logit in zip(chosen, logits, strict=True):
        chances[number] = _logistic(promises[number] + LOGIT * logit)
    return chances


def shared_weight(pair: Pair) -> float:
    """Return the weight of the words that both have, as a multiple of the highest of one word."""
    older, newer = _read(pair)
    shared = older.idf.keys() & newer.idf.keys()
    return sum(newer.idf[term] for term in shared) / MAX_IDF


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-x))


def is_english(pair: Pair) -> bool:
    """Whether both statements are in the language that the model reads."""
    return all(guess_language(words) == "en" for words in _words(pair))


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


def statements_of(pair: Pair) -> tuple[Statement, Statement, float | None]:
    """Return a pair as the model reads it."""
    newer, older = _words(pair)
    return (
        Statement(older, " and ".join(pair.older.speakers)),
        Statement(newer, " and ".join(pair.newer.speakers)),
        _days(pair),
    )


def _mentioned(older: Reading, newer: Reading) -> str:
    shared = older.idf.keys() & newer.idf.keys()
    if not shared:
        return ""
    rare = sorted(shared, key=lambda term: (-newer.idf[term], term))[:4]
    mentioned = [word for term, word in zip(newer.idf, newer.words, strict=True) if term in rare]
    return "both mention " + ", ".join(mentioned)
