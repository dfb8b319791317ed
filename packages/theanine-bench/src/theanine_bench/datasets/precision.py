"""PrecisionMemBench: beliefs of a user, and queries with exactly the beliefs that belong to them.

The format and the scoring are those of the benchmark (github.com/tenurehq/precisionMemBench, MIT):
its retrieval cases, on external providers.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from theanine.errors import BadInput

BELIEFS, CASES = "beliefs.seed.json", "retrieval.cases.json"
DEFAULT_USER = "test-user"
MAX_BELIEFS = 20

Belief = Mapping[str, Any]
Search = Callable[[str, str, str], Awaitable[Sequence[str]]]
"""Returns the ids of the beliefs found for a user, a query and a scope, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredCase:
    """A case and its scores; None where they are not defined.

    Attributes:
        passed: whether all that the case expects of the beliefs is so.
    """

    id: str
    category: str
    precision: float | None
    recall: float | None
    passed: bool

    @property
    def is_active(self) -> bool:
        """Whether it passed with something to be found."""
        return self.passed and self.precision is not None


class PrecisionBench:
    """The beliefs and cases of a folder. Raises BadInput if it lacks one of the files."""

    def __init__(self, folder: Path) -> None:
        for name in (BELIEFS, CASES):
            if not (folder / name).is_file():
                raise BadInput(
                    f"PrecisionMemBench has a file {name}, which is not here", str(folder)
                )
        self.beliefs: list[Belief] = json.loads((folder / BELIEFS).read_text("utf-8"))
        self.cases: list[dict[str, Any]] = json.loads((folder / CASES).read_text("utf-8"))
        self._by_id = {belief["_id"]: belief for belief in self.beliefs}

    @staticmethod
    def text(belief: Belief) -> str:
        """Return the words of a belief as providers are given them."""
        parts = (
            belief["canonical_name"],
            *belief.get("aliases", ()),
            belief["content"],
            belief.get("why_it_matters"),
        )
        return " ".join(filter(None, parts))

    async def score(self, case: Mapping[str, Any], search: Search) -> ScoredCase:
        """Return the scores of a case."""
        user, scopes = case.get("userId", DEFAULT_USER), case["scope"]
        most = case.get("budget", {}).get("maxBeliefs", MAX_BELIEFS)
        pinned = [b["_id"] for b in self.beliefs if b["pinned"] and self._is_open(b, user, scopes)]
        lists = [
            [id for id in await search(user, case["query"], scope) if id not in pinned][:most]
            for scope in (scopes if case["query"].strip() and most else ())
        ]
        ranked = [id for rank in zip_longest(*lists) for id in rank if id]
        found = list(dict.fromkeys(ranked))[:most]
        found += self._participants(found, pinned, user, scopes)
        pinned = pinned[:most]
        found = found[: max(0, most - len(pinned))]
        expected = case["expect"].get("relevantBeliefs", {})
        only = expected.get("shouldOnlyInclude")
        right = (
            set(only)
            if only is not None
            else {id for id in expected.get("mustInclude", ()) if not self._by_id[id]["pinned"]}
        )
        hits = len(right.intersection(found))
        precision = hits / len(found) if found else None if not right else 0.0
        return ScoredCase(
            id=case["caseId"],
            category=case["category"],
            precision=precision,
            recall=hits / len(right) if right else None,
            passed=_passes(expected, found, pinned),
        )

    def _is_open(self, belief: Belief, user: str, scopes: Sequence[str]) -> bool:
        return (
            belief["user_id"] == user
            and belief["type"] != "open_question"
            and not belief["superseded_by"]
            and not belief["resolved_at"]
            and not set(scopes).isdisjoint(belief["scope"])
        )

    def _participants(
        self, found: Sequence[str], pinned: Sequence[str], user: str, scopes: Sequence[str]
    ) -> list[str]:
        """Return the beliefs that the relations found are between."""
        ids = [
            id
            for relation in found
            if self._by_id[relation]["type"] == "relation"
            for id in self._by_id[relation].get("participants") or ()
        ]
        return [
            id
            for id in dict.fromkeys(ids)
            if id in self._by_id
            and id not in {*found, *pinned}
            and self._by_id[id]["type"] != "open_question"
            and self._by_id[id]["user_id"] == user
            and not set(scopes).isdisjoint(self._by_id[id]["scope"])
        ]


def _passes(expected: Mapping[str, Any], found: Sequence[str], pinned: Sequence[str]) -> bool:
    shown = {*found, *pinned}
    only = expected.get("shouldOnlyInclude")
    return all(
        (
            shown.issuperset(expected.get("mustInclude", ())),
            shown.issuperset(expected.get("shouldInclude", ())),
            shown.isdisjoint(expected.get("mustExclude", ())),
            only is None or set(found) == set(only),
            len(found) <= expected.get("maxCount", len(found)),
            len(found) >= expected.get("minCount", 0),
            all(
                a in found and b in found and found.index(a) < found.index(b)
                for a, b in expected.get("orderedBefore", ())
            ),
        )
    )
