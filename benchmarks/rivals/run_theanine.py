"""Measure theanine as it comes, by the same program as the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import cast

from measuring import ROOT, Question, Rival, Said, System, main

import theanine
from theanine.types import History, Part, Recollection, Role, Transcript, Utterance


class Theanine:
    """A store with one user; ``remember`` has made its memories before it is asked."""

    def __init__(self, folder: Path) -> None:
        self._client = theanine.open(str(folder / "memory.db"))

    def add(self, turns: Sequence[Said], user: str) -> None:
        """Log the sessions and remember them."""
        self._user = self._client.user("user", name=user)
        sessions = [list(said) for _, said in groupby(turns, key=lambda turn: turn.session)]
        transcripts = [
            Transcript(
                key=said[0].session,
                at=datetime.fromisoformat(said[0].at),
                turns=[
                    Utterance(
                        text=turn.text,
                        speaker=turn.speaker,
                        at=datetime.fromisoformat(turn.at),
                        key=turn.id,
                        role=cast("Role", turn.role),
                    )
                    for turn in said
                ],
            )
            for said in sessions
        ]
        self._user.log(History(name=user, transcripts=transcripts))
        self._user.remember()
        self._user.warm_up()

    def ask(self, question: str, limit: int | None) -> list[str]:
        """Recall; what is of too little relevance is left out, as by default."""
        if limit is None:
            found = self._user.recall(question)
        else:
            found = self._user.recall(question, limit=limit, budget=100 * limit)
        return _turns(_best_first(found))

    def fill(self, question: str, tokens: int) -> list[str]:
        """Recall within a budget; of a long turn, only the passage that matters is quoted."""
        return _turns(self._user.recall(question, budget=tokens).parts)

    def quote(self, question: Question) -> list[tuple[str, list[str]]]:
        """Recall as by default, when the user says it."""
        at = datetime.fromisoformat(question.at)
        said = Utterance(text=question.text, speaker=question.speaker, at=at)
        return [(part.text, _turns([part])) for part in _best_first(self._user.recall([said]))]

    def close(self) -> None:
        """Close the store."""
        self._client.close()


def _best_first(found: Recollection) -> list[Part]:
    return sorted(found.parts, key=lambda part: -(part.relevance or 0))


def _turns(parts: Iterable[Part]) -> list[str]:
    keys = [turn.key for part in parts for turn in part.source_turns if turn.key]
    return list(dict.fromkeys(keys))


def open_system(folder: Path, endpoint: str, dimension: int) -> System:
    """Open it; it computes its vectors itself."""
    return Theanine(folder)


RIVAL = Rival(
    "theanine",
    (str(ROOT / "packages" / "theanine"),),
    "recall: 600 tokens, with a least relevance",
    open_system,
    __file__,
)

if __name__ == "__main__":
    main(RIVAL)
