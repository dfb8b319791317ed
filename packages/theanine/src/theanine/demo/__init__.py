"""The bundled conversations, and questions about them.

Ana's was written for this package. Linda's is of other authors (``linda.LICENSE``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypedDict, cast

ConversationName = Literal["ana", "linda"]
"""Name of a bundled conversation, which is also its user's."""

_FOLDER = Path(__file__).parent
HARBOUR = _FOLDER / "harbour.jsonl"
"""Ten dated sessions of the user ``ana``, in our JSON Lines."""
LINDA = _FOLDER / "linda.jsonl"
"""Ten dated sessions of the user ``linda``, of MemoryBank."""

CONVERSATIONS: dict[ConversationName, tuple[Path, str]] = {
    "ana": (HARBOUR, "over a year"),
    "linda": (LINDA, "over ten days, from MemoryBank (MIT licence)"),
}
"""The file of each conversation, and words that follow the number of its sessions."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about the conversation.

    Attributes:
        kind: ``change``, ``cause``, ``time``, ``hindrance`` or ``fact``.
        answer: the reference answer.
        sources: keys of turns that support the answer; a recollection should hold one of them.
    """

    kind: str
    question: str
    answer: str
    sources: tuple[str, ...]


class _Row(TypedDict):
    kind: str
    question: str
    answer: str
    sources: list[str]


def load_questions(conversation: ConversationName = "ana") -> tuple[Question, ...]:
    """Return the five questions that the demo asks about a conversation."""
    file = CONVERSATIONS[conversation][0].with_suffix(".questions.json")
    rows = cast("list[_Row]", json.loads(file.read_text(encoding="utf-8")))
    return tuple(
        Question(row["kind"], row["question"], row["answer"], tuple(row["sources"])) for row in rows
    )
