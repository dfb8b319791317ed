"""Summarize without a language model: quote the sentences that disclose something.

Extractive: a memory is an attributed quote (:mod:`theanine.text.attribution`) and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from theanine.retrieval.query import is_small_talk
from theanine.sentences import sentence_spans
from theanine.text import cues
from theanine.text.attribution import QUOTE_LIMIT, attribution, clip_quote
from theanine.text.words import FUNCTION_WORDS, is_unspaced, words
from theanine.types import NO_MODEL_NOTICE, NewMemory, Turn

MIN_TURN_SCORE = 2.6
"""A turn is remembered if its best sentence scores at least this."""
MIN_SENTENCE_SCORE = 1.6
"""In a remembered turn, the sentences that score at least this are quoted."""
MEMORIES_PER_TURN = 8
"""Maximum memories from one turn: the best-scoring ones."""
ANSWER_BONUS = 0.8
"""Added to each sentence of a turn that answers another speaker's question."""
ATTACHMENT_BONUS = 1.0
"""Added to the best sentence of a turn with an attachment, which says more than its caption."""

_ENGLISH = frozenset(
    "the and i i'm i've to of is it it's my you that with this your we for have was are".split()
)
_QUESTION = re.compile(r"[?？؟\u037e][\"'”’)\]」』]*$")
_NAMED = re.compile(r"(?<=[a-z,;:] )[A-Z]\w+|[\"“]\w")
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a turn's text, by its offsets, with its score."""

    start: int
    end: int
    score: float


def local_summarize(
    turns: Sequence[Turn], *, show_dates: bool = True, keep_notes: bool = False
) -> list[NewMemory]:
    """Return the memories of one session, in the order of its turns. Deterministic.

    Args:
        show_dates: False leaves dates out of the texts, as for turns without dates.
        keep_notes: whether a session of nothing but one statement of the user, such as "I'm
            vegan.", is remembered however little it discloses.
    """
    is_note = keep_notes and len(turns) == 1 and _is_statement_of_user(turns[0])
    memories: list[NewMemory] = []
    questioner: str | None = None
    seen: set[tuple[str, str]] = set()
    for turn in turns:
        words_of_speaker = (turn.speaker, turn.full_text)
        if not repeats_memories(turn) and words_of_speaker not in seen:
            seen.add(words_of_speaker)
            answers = questioner not in (None, turn.speaker)
            memories += _summarize_turn(turn, answers, show_dates, is_note)
        questioner = turn.speaker if _QUESTION.search(turn.text.rstrip()) else None
    return memories


def repeats_memories(turn: Turn) -> bool:
    """Whether a turn of the assistant may only repeat recalled memories.

    True for every reply made without a model, or with memories in the prompt.
    """
    return turn.role == "assistant" and (bool(turn.recalled) or NO_MODEL_NOTICE in turn.text)


def _is_statement_of_user(turn: Turn) -> bool:
    asks = _QUESTION.search(turn.text.rstrip()) is not None
    return turn.role == "user" and not asks and not is_small_talk(turn.text)


def _summarize_turn(
    turn: Turn, answers: bool, show_date: bool, is_note: bool
) -> Iterator[NewMemory]:
    scored = _score_sentences(turn.text, answers)
    best = max((sentence.score for sentence in scored), default=0.0)
    if turn.attachment:
        best += ATTACHMENT_BONUS
    kept = [sentence for sentence in scored if sentence.score >= MIN_SENTENCE_SCORE]
    if best < MIN_TURN_SCORE and not (turn.attachment and not turn.text.strip()):
        if not is_note:
            return
        kept = scored
    for position, chunk in enumerate(_chunks(kept) or [[]]):
        quote = _quote(turn.text, chunk)
        attachment = turn.attachment[:QUOTE_LIMIT].strip() if position == 0 else ""
        if quote or attachment:
            content = f"{quote} (shares {attachment})" if quote and attachment else quote
            verb = "said" if quote else "shared"
            yield NewMemory(
                text=f"{attribution(turn, verb, show_date=show_date)}: {content or attachment}",
                at=turn.at,
                source_turns=(turn.id,),
                speakers=(turn.speaker,),
            )


def _score_sentences(text: str, answers: bool) -> list[_Sentence]:
    start = words(text[:2_000])
    english = 8 * sum(word in _ENGLISH for word in start) >= len(start) > 0
    score = _score_english if english else _score_other
    bonus = ANSWER_BONUS if answers else 0.0
    return [_Sentence(a, b, score(text[a:b]) + bonus) for a, b in sentence_spans(text)]


def _score_english(sentence: str) -> float:
    """How much an English sentence discloses, by its wording; about 0 to 8."""
    text = cues.normal(sentence)
    score = 0.4 * min(8, sum(word not in FUNCTION_WORDS for word in words(text)))
    score += 2.0 * bool(cues.FIRST_PERSON.search(text))
    score += 1.0 * bool(_DIGIT.search(text))
    score += 0.8 * bool(cues.TIME.search(text))
    score += 0.7 * bool(_NAMED.search(sentence))
    score += 0.4 * bool(cues.DESIRE.search(text))
    score += 0.3 * bool(cues.CHANGE.search(text))
    score -= 1.2 * bool(cues.SECOND_PERSON.search(text))
    score -= 1.0 * bool(cues.COURTESY.match(text))
    return score - 2.0 * bool(_QUESTION.search(text))


def _score_other(sentence: str) -> float:
    """The same for any other language, by form alone: length, digits, question mark."""
    weight = 0.3 if is_unspaced(sentence) else 0.4
    score = weight * min(12, len(words(sentence)))
    return score + bool(_DIGIT.search(sentence)) - 2.0 * bool(_QUESTION.search(sentence))


def _chunks(kept: Sequence[_Sentence]) -> list[list[_Sentence]]:
    """Group sentences into runs of at most ``QUOTE_LIMIT`` characters; keep the best, in order."""
    runs: list[list[_Sentence]] = []
    for sentence in kept:
        if runs and sentence.end - runs[-1][0].start <= QUOTE_LIMIT:
            runs[-1].append(sentence)
        else:
            runs.append([sentence])
    if len(runs) <= MEMORIES_PER_TURN:
        return runs
    ranked = sorted(range(len(runs)), key=lambda i: (-max(s.score for s in runs[i]), i))
    return [runs[i] for i in sorted(ranked[:MEMORIES_PER_TURN])]


def _quote(text: str, chunk: Sequence[_Sentence]) -> str:
    """Quote sentences verbatim: adjacent ones in one pair of quotation marks, gaps as ``…``."""
    spans: list[tuple[int, int]] = []
    for sentence in chunk:
        if spans and not text[spans[-1][1] : sentence.start].strip():
            spans[-1] = (spans[-1][0], sentence.end)
        else:
            spans.append((sentence.start, sentence.end))
    return " … ".join(f"“{clip_quote(text[a:b])}”" for a, b in spans)
