"""One case's outcome, as one JSON line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from theanine.methods.base import Reply
from theanine.tokenizer import count_tokens
from theanine.types import LOCAL_MODEL, Part, Turn, Utterance
from theanine_bench.samples import Case

ANSWER = "answer"
"""The name under which a failure to answer stands among an item's failures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What became of a case. Holds nothing that a replay would not give again, to the byte.

    Attributes:
        group: whose memory was asked.
        asked: the words of the dialogue's last turn.
        dialogue: turns as ``{speaker, role, text, at}``.
        answer: what the agent said; None when it failed.
        made_by: the model that said it, or ``local``.
        recalled: parts as ``{text, memories, sources}``; a source is a turn's number, session,
            speaker, time and words.
        recalled_tokens: tokens of the recollection, by the bundled tokenizer.
        measures: numbers by name.
        verdicts: what judges said, by their name.
        failures: why something is missing, by the name of the measure, or ``answer``.
    """

    id: str
    group: str
    category: str = ""
    asked: str
    dialogue: Sequence[Mapping[str, Any]] = ()
    speaker: str = "assistant"
    reference: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    answer: str | None = None
    rationale: str = ""
    made_by: str = LOCAL_MODEL
    recalled: Sequence[Mapping[str, Any]] = ()
    recalled_tokens: int = 0
    measures: Mapping[str, float] = field(default_factory=dict[str, float])
    verdicts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    failures: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def complete(self) -> bool:
        """Whether nothing failed."""
        return not self.failures

    def failed(self, name: str) -> bool:
        """Whether the measure that a value is of failed, which isn't the same as having none."""
        return any(_is_of(name, one) for one in self.failures)

    def record(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def of_case(case: Case, group: str, reply: Reply | None, failure: str | None) -> Item:
    """The item of a case that was answered, or that failed; nothing is measured yet."""
    found = reply.recollection if reply else None
    return Item(
        id=case.id,
        group=group,
        category=case.category,
        asked=case.dialogue[-1].full_text,
        dialogue=[_said(said) for said in case.dialogue],
        speaker=case.speaker,
        reference=case.reference,
        extra=dict(case.extra),
        answer=reply.text if reply else None,
        rationale=reply.rationale if reply else "",
        made_by=reply.made_by if reply else LOCAL_MODEL,
        recalled=[_part(part) for part in found.parts] if found else (),
        recalled_tokens=count_tokens(found.text) if found else 0,
        failures={ANSWER: failure} if failure else {},
    )


def value_names(items: Iterable[Item]) -> list[str]:
    """The names of their values; a measure that gave none as it failed stands there by its own."""
    found = list(items)
    names = dict.fromkeys(name for item in found for name in item.measures)
    for failed in dict.fromkeys(name for item in found for name in item.failures):
        if failed != ANSWER and not any(_is_of(name, failed) for name in names):
            names[failed] = None
    return list(names)


def _is_of(name: str, measure: str) -> bool:
    return name == measure or name.startswith(f"{measure}/")


def _said(said: Utterance) -> dict[str, Any]:
    at = said.at.isoformat()
    return {"speaker": said.speaker, "role": said.role, "text": said.full_text, "at": at}


def _part(part: Part) -> dict[str, Any]:
    return {
        "text": part.text,
        "memories": [memory.id for memory in part.memories],
        "sources": [_source(turn) for turn in part.source_turns],
    }


def _source(turn: Turn) -> dict[str, Any]:
    return {
        "turn": turn.id,
        "session": turn.session,
        "speaker": turn.speaker,
        "at": turn.at.isoformat(),
        "text": turn.full_text,
    }
