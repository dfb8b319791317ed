"""The limits of a recall in one place, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a method asks of a recall.

    Attributes:
        query_turns: latest turns of the dialogue that form the query; None takes all.
        query_names: put each turn's speaker before it in the query.
        budget: maximum tokens of the recollection; None sets no limit.
        offered: tokens of the lines of which a model chooses, if it may, for smaller budgets: else
            twice the budget.
        min_relevance: relevance that the best candidate must have; otherwise nothing is recalled.
            One in a hundred of the questions that a memory can answer has less (LoCoMo and BEAM,
            ``tools/fit_relevance.py``).
        min_relevance_of_unknown: that for a question none of whose words was ever said, which
            likeness of meaning alone must answer.
        min_relevance_of_nonsense: that for one whose words, moreover, are in no vocabulary.
        min_relevance_of_foreign: that for a question in another language than what comes closest:
            few of its words are known in both, so that there is less evidence for the right answer.
        min_relevance_of_told: that for a dialogue that asks nothing, whose evidence is only what
            its matter brings to mind.
        enough: share of all relevance that may be left out: what comes after the rest of it tells
            next to nothing.
        weak, weak_in_all: share of the best relevance below which nothing is recalled, however much
            fits: ``weak`` in a memory of some passages, which are few enough that each is a little
            like the question; ``weak_in_all`` by the number of passages in larger ones, where the
            evidence for one answer is spread.
        weak_of_several: the same share where several things are asked for, of which each may have
            little evidence.
        links: whether states of one matter and what is linked come together.
    """

    query_turns: int | None = 6
    query_names: bool = False
    budget: int | None = 600
    offered: int = 1_200
    min_relevance: float = 0.03
    min_relevance_of_unknown: float = 0.1
    min_relevance_of_nonsense: float = 0.3
    min_relevance_of_foreign: float = 0.005
    min_relevance_of_told: float = 0.001
    enough: float = 0.02
    weak: float = 0.05
    weak_in_all: float = 10.0
    weak_of_several: float = 0.0001
    links: bool = True
