"""Compress session memories into one short memory in three parts, by the model or locally."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.bounds import Keywords, ReplyBounds, number_list
from theanine.llm.prompt import load_prompt
from theanine.quotes import without_attribution
from theanine.text.cues import NEGATION, normal
from theanine.text.formatting import estimate_tokens, format_day, one_line
from theanine.text.numbering import merge_repeated
from theanine.text.words import containment, content_words
from theanine.types import LOCAL_MODEL
from theanine_methods.comedy.aspects import ASPECTS, Aspect
from theanine_methods.comedy.session_memory import count_lasting_cues

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

SENTENCE_LIMIT = 500
"""Maximum characters of a sentence; the prompt asks for 40 words."""
MAX_NOTES = 12
"""Maximum notes that a bounded reply names for a sentence."""
LINE_TOKENS = 12
"""Tokens of a note's number and date in the prompt."""
REPEATED = 0.8
"""Locally, a quote with this share of its content words in a newer one is dropped."""


class Sentence(BaseModel):
    """One sentence of the model's reply."""

    text: str = Field(description="the sentence")
    notes: list[int] = Field(description="numbers of the notes that it rests on")


class Compressed(BaseModel):
    """The model's reply: the compressed memory."""

    events: list[Sentence]
    portrait: list[Sentence]
    relation: list[Sentence]

    def sentences(self, aspect: Aspect) -> list[Sentence]:
        """Return the sentences of one part."""
        return {"events": self.events, "portrait": self.portrait, "relation": self.relation}[aspect]


COMPRESS = load_prompt("theanine_methods.comedy", "compress", 1, Compressed)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedText:
    """A session memory, or a sentence of a compressed memory, with its provenance.

    Attributes:
        aspect: the part that it belongs to.
        text, at, dated, speakers, made_by: as in a memory.
        session: the session that it is stored under.
        source_turns: ids of the turns that support it.
        derived_from: ids of the stored memories that it may quote.
        derived_from_new: positions of the new session memories that it may quote.
        source_sessions: ids of the sessions that it may quote.
    """

    aspect: Aspect
    text: str
    at: datetime
    dated: bool = True
    speakers: tuple[str, ...]
    session: int
    source_turns: frozenset[int]
    derived_from: frozenset[int] = frozenset()
    derived_from_new: frozenset[int] = frozenset()
    source_sessions: frozenset[int] = frozenset()
    made_by: str = LOCAL_MODEL


async def compress(
    session_memories: Sequence[TracedText],
    previous: Sequence[TracedText],
    new: Sequence[TracedText],
    chat: ScopedChat,
    *,
    max_sentences: int,
    input_budget: int | None,
) -> list[TracedText]:
    """Return the compressed memory.

    Args:
        session_memories: all of them; compressed in one call if they fit the budget.
        previous: the previous compressed memory. Otherwise it is compressed with ``new``, in as
            many calls as needed, oldest first.
        new: the session memories that are not in ``previous``.
        chat: the language model.
        max_sentences: maximum sentences of each part.
        input_budget: maximum tokens shown in one call, by a rough upper count; None for no limit.
            At least half of it is left for new session memories.

    Raises ModelError when the model fails.
    """
    if input_budget is None or sum(map(_tokens, session_memories)) <= input_budget:
        return await _compress_once(session_memories, chat, max_sentences)
    compressed = list(previous)
    pending = list(new if previous else session_memories)
    while pending:
        room = max(input_budget - sum(map(_tokens, compressed)), input_budget // 2)
        count = 0
        while count < len(pending) and (count == 0 or room >= _tokens(pending[count])):
            room -= _tokens(pending[count])
            count += 1
        compressed = await _compress_once([*compressed, *pending[:count]], chat, max_sentences)
        pending = pending[count:]
    return compressed


def _bounds(notes: int, max_sentences: int) -> ReplyBounds:
    fields: dict[str, Keywords] = {}
    for aspect in ASPECTS:
        fields |= {
            aspect: {"maxItems": max_sentences},
            f"{aspect}[].text": {"minLength": 1, "maxLength": SENTENCE_LIMIT},
            **number_list(f"{aspect}[].notes", 1, notes, min(notes, MAX_NOTES), least=1),
        }
    return ReplyBounds(50 + len(ASPECTS) * 110 * max_sentences, fields)


def _tokens(item: TracedText) -> int:
    return estimate_tokens(item.text) + LINE_TOKENS


async def _compress_once(
    items: Sequence[TracedText], chat: ScopedChat, max_sentences: int
) -> list[TracedText]:
    shown = [item for aspect in ASPECTS for item in items if item.aspect == aspect]
    reply = await chat.ask(
        COMPRESS,
        source_sessions={session for item in shown for session in item.source_sessions},
        check=lambda compressed: _fault(compressed, len(shown), max_sentences),
        bounds=_bounds(len(shown), max_sentences),
        notes=_format_notes(shown),
        sentences=str(max_sentences),
    )
    # A sentence may quote any note of the prompt, whichever ones it names.
    template = replace(
        max(shown, key=lambda item: (item.at, item.session)),
        derived_from=frozenset[int]().union(*(item.derived_from for item in shown)),
        derived_from_new=frozenset[int]().union(*(item.derived_from_new for item in shown)),
        source_sessions=frozenset[int]().union(*(item.source_sessions for item in shown)),
        made_by=chat.model,
    )
    compressed: list[TracedText] = []
    for aspect in ASPECTS:
        for sentence in merge_repeated(reply.sentences(aspect), lambda written: written.text):
            notes = [shown[number - 1] for number in sorted(set(sentence.notes))]
            compressed.append(
                replace(
                    template,
                    aspect=aspect,
                    text=" ".join(sentence.text.split()),
                    at=max(note.at for note in notes),
                    speakers=tuple(dict.fromkeys(name for note in notes for name in note.speakers)),
                    source_turns=frozenset[int]().union(*(note.source_turns for note in notes)),
                )
            )
    return compressed


def _format_notes(shown: Sequence[TracedText]) -> str:
    lines: list[str] = []
    for aspect in ASPECTS:
        lines.append(f"-- {aspect}")
        for number, item in enumerate(shown, 1):
            if item.aspect == aspect:
                date = "" if item.made_by == LOCAL_MODEL else format_day(item.at, item.dated)
                lines.append(f"[{number}] {date}{one_line(item.text)}")
    return "\n".join(lines)


def _fault(reply: Compressed, shown: int, limit: int) -> str | None:
    if not any(reply.sentences(aspect) for aspect in ASPECTS):
        return "all three lists are empty"
    for aspect in ASPECTS:
        sentences = reply.sentences(aspect)
        if len(sentences) > limit:
            return (
                f"{len(sentences)} sentences of {aspect} are too many: keep the {limit} that matter"
            )
        for position, sentence in enumerate(sentences, 1):
            if fault := _sentence_fault(sentence, shown):
                return f"{aspect}, sentence {position}: {fault}"
    return None


def _sentence_fault(sentence: Sentence, shown: int) -> str | None:
    if not sentence.text.strip():
        return "its text is empty"
    if len(sentence.text) > SENTENCE_LIMIT:
        return f"its text is too long, keep it under {SENTENCE_LIMIT} characters"
    if not sentence.notes:
        return "it names no note that it rests on"
    if strange := sorted({n for n in sentence.notes if not 1 <= n <= shown}):
        return f"there are no notes {strange}, only 1 to {shown}"
    return None


def local_compress(session_memories: Sequence[TracedText], max_sentences: int) -> list[TracedText]:
    """Keep the newest quotes of each part that no newer one repeats, newest first.

    Of the portrait, the quotes with the most cues of lasting traits are kept.
    """
    newest = sorted(
        session_memories, key=lambda item: (item.at, max(item.source_turns, default=0))
    )[::-1]
    compressed: list[TracedText] = []
    for aspect in ASPECTS:
        candidates = [item for item in newest if item.aspect == aspect]
        if aspect == "portrait":
            candidates.sort(key=lambda item: -count_lasting_cues(without_attribution(item.text)))
        chosen = {id(item) for item in _without_repeats(candidates, max_sentences)}
        compressed += [item for item in newest if id(item) in chosen]
    return compressed


def _without_repeats(items: Sequence[TracedText], limit: int) -> list[TracedText]:
    kept: list[TracedText] = []
    seen: list[tuple[frozenset[str], bool]] = []
    for item in items:
        quote = without_attribution(item.text)
        content, negated = content_words(quote), NEGATION.search(normal(quote)) is not None
        repeats = any(
            negated == other_negated and containment(content, other) >= REPEATED
            for other, other_negated in seen
        )
        if not repeats:
            kept.append(item)
            seen.append((content, negated))
        if len(kept) == limit:
            break
    return kept
