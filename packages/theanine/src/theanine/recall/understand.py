"""Understand the question: its text as a query, which time, order, people and things it names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Literal

import numpy as np

from theanine.embeddings.base import embed_queries
from theanine.lazy_pattern import lazy_pattern
from theanine.recall.asking_part import (
    ASKS,
    asking_part,
    begin_of_question,
    ends_asking,
    without_frame,
    without_pasted,
)
from theanine.recall.context import RecallContext
from theanine.recall.identifiers import (
    Identifier,
    Owned,
    as_told,
    find_identifiers,
    find_names,
    find_owned,
)
from theanine.recall.naming import what_is_to_be_named
from theanine.retrieval import cue_words
from theanine.retrieval.calendar_days import WEEKDAYS, DateRange
from theanine.retrieval.candidates import CandidateIndex
from theanine.retrieval.languages import (
    UNSPACED,
    Language,
    guess_language,
)
from theanine.retrieval.lexical import content_words
from theanine.retrieval.parts_of_times import NamedTime
from theanine.retrieval.query import Query, is_small_talk
from theanine.retrieval.scope_index import RetrievalMode
from theanine.retrieval.temporal import find_intervals
from theanine.sentences import sentence_spans
from theanine.types import Utterance

MAX_QUERY = 4_000
"""Characters of a query, half of them its last: a longer one is a document, not a question."""
MAX_OF_A_TIME = 12
"""Words of a text that may name a time of which all is asked for, such as "Some of May 2024"."""
KEYWORDS = 4
"""Words of a text that are taken for what is looked for, even if they ask nothing."""
_PAST = lazy_pattern(
    r"\b(?:did|was|were|had|have|has|been|happen\w*|said|told|went|\w{3,}ed|ate|met|saw|got|made|"
    r"read|bought|came|left|took|gave|ran|spoke|wrote|thought|felt|heard|lost|won|paid|sold|since|"
    r"so far)\b",
    re.IGNORECASE,
)
_TO_DO = lazy_pattern(
    r"(?:\b(?:have|has)|['’](?:ve|s)) got\b|^\W*got (?:an?|the|some|my|our|this|two|three) |"
    r"\bgotta\b",
    re.IGNORECASE,
)
"""A present that looks like a past tense: "I've got a roof to do on Monday"."""
_SOMEBODY = lazy_pattern(
    r"\b(?:I|[Ww]e|[Mm]y|[Oo]ur|me|us|[Hh]is|[Hh]er|[Tt]heir|[Hh]e|[Ss]he|[Tt]hey)\b|"
    r"(?<!^)(?<![.?!:] )\b[A-Z]\w+"
)
"""A pronoun of a person or a name, in an English question."""
_WEEKDAY = lazy_pattern(rf"\W*(?:on |this |for |by )*(?:{'|'.join(WEEKDAYS)})s?\W*", re.IGNORECASE)
"""A day of the week alone, which may be the next one."""
_CLAUSE = lazy_pattern(
    r"\b(?:i|we|you|he|she|it|they|is|are|am|will|shall|do|does|can|could|should|would|must|might|"
    r"going|need|have to|plan\w*|next|upcoming)\b|['’](?:s|re|m|ll|d)\b",
    re.IGNORECASE,
)
"""What a text has that says something, rather than names a thing: "Anything from 10 May?"."""
_SPEAKING = (
    r"say|said|saying|tell|told|recommend\w*|suggest\w*|advis\w+|propos\w+|writ\w+|wrote|draft\w*|"
    r"translat\w+|explain\w*|answer\w*|repl\w+|mention\w*|list\w*|promis\w+|warn\w*|give|given|gave|"
    r"come up|came up|think|thought|offer\w*|ask\w*|want\w*|call\w*|describ\w+|claim\w*|"
    r"complain\w*|report\w*|announc\w+|admit\w*|agree\w*|refus\w+|plan\w*|intend\w*|find|found|pick\w*|"
    r"choose|chose\w*|come|dictat\w+|teach|taught|show\w*|send|sent|make|made"
)
"""Verbs for what somebody may have said."""
_ADVICE = (
    r"advice|suggestion|recommendation|answer|reply|explanation|proposal|tip|idea|opinion|offer"
)
_WORK = "poem|haiku|limerick|rhyme|joke|translation|summary|draft|recipe|definition|calculation"
_OF_ASSISTANT = lazy_pattern(
    rf"\b(?:did|have|had|were|was it) you (?:\w+ly )?(?:ever |just |once )?(?:{_SPEAKING})\b|"
    rf"\b(?<!did )(?<!do )(?<!if )you (?:told|gave|suggested|recommended|advised|proposed|wrote|"
    rf"explained|promised|offered|showed|sent) (?:me|us)\b|\byour (?:{_ADVICE}|{_WORK})s?\b|"
    r"\b\w+ of yours\b|\b(?:the|that|which|what) \w+ (?:that |was it )?you "
    r"(?:told|gave|suggested|recommended|proposed|wrote|composed|made|sent|showed)\b",
    re.IGNORECASE,
)
_OF_SPEAKER = lazy_pattern(
    r"\b(?:did|has|had|have) (?P<name>[^\W\d_][\w'’-]*(?: [A-Z][\w'’-]*)?) "
    rf"(?:\w+ly )?(?:ever |just |once )?(?:{_SPEAKING})\b|"
    rf"\b(?P<owner>[^\W\d_][\w’-]*)['’]s? (?:{_ADVICE})s?\b|\baccording to (?P<source>\w[\w'’-]*)",
    re.IGNORECASE,
)
_ASKED = lazy_pattern(
    r"\b(?:did|have|had) i (?:\w+ly )?(?:ever |just |once )?(?:ask|asked|request|requested)\b|"
    r"\bmy (?:\w+ )*(?:question|request)s?\b",
    re.IGNORECASE,
)
_SESSION = lazy_pattern(
    r"\b(?:last|latest|most recent|previous|first|earliest) (?:time (?:that )?we "
    r"(?:spoke|talked|chatted|met)|talk|chat|conversation|session|discussion)\b"
    r"(?! (?:about|on|of|with|regarding) (?!\W*$))|"
    r"\bwe (?:spoke|talked|chatted|met) last\b|\bwe last (?:spoke|talked|chatted|met)\b"
    r"(?! (?:about|of|with))",
    re.IGNORECASE,
)
"""What names the latest or the earliest session, not the latest talk about some matter."""
_CONTRACTED = re.compile(r"['’](?:s|re|ve|d|ll|m)\b")
_NOTHING = re.compile(r"(?!)")
_ASKING = ("when", "who", "where", "how many", "why", "what")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the last turn of a dialogue asks for.

    Attributes:
        text: the query: the latest turns of the dialogue.
        language: the language of the last turn.
        asks: whether it asks for something; otherwise what is told may bring a memory to mind.
        days: the days that it asks about, as ordinals of their first and last; empty for all.
        order: whether it asks for what was said last or first; None for neither.
        alone: whether nothing but that time or order is asked for.
        held: whether it asks how something was at that time, which may have been told earlier.
        before: the event before which it asks how something was; empty for none.
        of_session: whether it asks for something of the latest session, or the earliest.
        of_holiday: whether a time that it names is a holiday, of which people talk at other times.
        identifiers: the numbers and codes that it names.
        names: the people that it names, as far as its wording shows them.
        owned: what it asks for of somebody.
        of_assistant, asked: whether it asks for what the assistant said, or what the user asked it.
        of_speaker: the name of another one who speaks, if it asks for what they said.
        name_of: what they ask for the name of is in English, such as "wife" or "dog"; empty for no
            such question.
        spread: whether it asks for several things: a list, a count, an order, a summary.
        small_talk: whether it only greets, thanks or agrees.
    """

    text: str
    language: Language = "en"
    asks: bool = True
    days: tuple[tuple[int, int], ...] = ()
    order: Literal["newest", "oldest"] | None = None
    alone: bool = False
    held: bool = False
    before: str = ""
    of_session: bool = False
    of_holiday: bool = False
    identifiers: tuple[Identifier, ...] = ()
    names: tuple[str, ...] = ()
    owned: tuple[Owned, ...] = ()
    of_assistant: bool = False
    asked: bool = False
    of_speaker: str = ""
    name_of: tuple[str, ...] = ()
    spread: bool = False
    small_talk: bool = False

    @property
    def of_a_time(self) -> bool:
        """Whether it asks for what was said at a time, first or last, not for what holds now."""
        return bool(self.days or self.order or self.before)


def understand(
    dialogue: Sequence[Utterance],
    context: RecallContext,
    candidates: CandidateIndex,
    *,
    turns: int | None,
    names: bool = False,
) -> Question:
    """Return what the last of the ``turns`` latest turns of a dialogue asks for."""
    text = as_told(query_text(dialogue, turns, names=names), candidates)
    if not text:
        return Question(text=text)
    latest = as_told(cut_query(dialogue[-1].full_text), candidates)
    latest_turns = dialogue[-turns:] if turns else dialogue
    if all(
        is_small_talk(candidates.without_speakers(cut_query(turn.text))) for turn in latest_turns
    ):
        return Question(text=text, small_talk=True)
    language = guess_language(latest)
    asks = _asks(latest, language)
    if not asks and len(latest.split()) > MAX_OF_A_TIME:
        return Question(text=text, asks=False)
    today = context.asked_at(dialogue).date()
    years = sorted({*candidates.years, today.year})
    asking = asking_part(latest)
    english, times = find_intervals(asking, years, today)
    done = _TO_DO.sub(" ", english)
    past = language != "en" or _PAST.search(done) is not None
    named = not past and done == english and _CLAUSE.search(english) is None
    asked_from = begin_of_question(english)
    meant = [
        (time, days)
        for time in times
        if not (time.span[1] <= asked_from and time.ranges == ((today, today),))
        if (days := [each for each in time.ranges if each[0] <= today])
        and (past or _is_over(time, days, today.toordinal(), named=named))
        and (past or named or not _WEEKDAY.fullmatch(english, *time.span))
    ]
    rest = english
    for time, _ in reversed(meant):
        start, end = time.span
        rest = f"{rest[:start]} {rest[end:]}"
    order, talk = _order(rest, language)
    plain = candidates.without_speakers(rest)
    alone = bool(meant or talk) and _is_only_talk(plain, language)
    if not asks and not alone:
        return Question(text=text, asks=False)
    if not alone:
        meant = [each for each in meant if not _is_of_the_matter(each[0], candidates)]
    ranges = [each for _, days in meant for each in days]
    held = _asks_how_it_was(rest, language)
    matter, event = asking, ""
    if held and not meant and not order:
        matter, event = _before_event(asking, language)
    return Question(
        text=text.replace(asking, matter) if event else text,
        language=language,
        days=tuple((first.toordinal(), last.toordinal()) for first, last in ranges),
        order=order,
        alone=alone,
        held=held,
        before=event,
        of_session=order is not None and language == "en" and _SESSION.search(rest) is not None,
        of_holiday=any(time.is_holiday for time, _ in meant),
        identifiers=find_identifiers(matter if event else rest),
        names=find_names(rest if language == "en" else asking, language),
        owned=find_owned(asking, language),
        of_assistant=_about_assistant(language).search(latest) is not None,
        asked=language == "en" and _ASKED.search(latest) is not None,
        of_speaker=_speaker(latest, language, candidates),
        name_of=what_is_to_be_named(latest, language),
        spread=cue_words.SPREAD.get(language, cue_words.SPREAD["en"]).search(latest) is not None,
    )


def _asks_how_it_was(text: str, language: Language) -> bool:
    """Whether a question, without its times, asks how something of somebody was."""
    if language not in cue_words.HELD or not cue_words.HELD[language].search(text):
        return False
    return language != "en" or _SOMEBODY.search(text) is not None


def _before_event(text: str, language: Language) -> tuple[str, str]:
    """Return a question without the event before which something was so, and that event.

    Both are as they were, and nothing, for a question of which either has no word of its own.
    """
    cue = cue_words.BEFORE_EVENT[language].search(text)
    if not cue or text[cue.end() : cue.end() + 1] not in (" ", "'", "’"):  # "said it before: …"
        return text, ""
    before, event = text[: cue.start()], text[cue.end() :]
    if not any(character.isalnum() for character in before):  # "Before we moved, where …?"
        event, _, before = event.partition(",")
    both = before.strip(" ,"), event.strip(" ,?？؟'’")
    asks = cue_words.HELD[language].search(before)
    return both if asks and all(map(content_words, both)) else (text, "")


def _is_of_the_matter(time: NamedTime, candidates: CandidateIndex) -> bool:
    """Whether a time tells what something is, such as "before 1990": nothing was said so early."""
    first, last = time.ranges[0]
    if first != date.min:  # as most: the days of the log are not read
        return False
    days = candidates.days[~np.isnan(candidates.days)]
    return len(days) > 0 and last.toordinal() < days.min()


def _is_over(time: NamedTime, days: Sequence[DateRange], today: int, *, named: bool) -> bool:
    """Whether a time is a past one whatever the question's tense: with a year, or "last month".

    One that is only ``named`` may be without a year.
    """
    over = all(last.toordinal() < today for _, last in days)
    return over and (time.relative or len(time.ranges) == 1 or named)


def _asks(text: str, language: Language) -> bool:
    words = len(text.split()) + len("".join(UNSPACED.findall(text))) // 2
    if ASKS.search(text) or words <= KEYWORDS:
        return True
    cues = cue_words.QUESTION_CUES.get(language)
    return bool(cues) and any(cues[name].search(text) for name in _ASKING if name in cues)


def _about_assistant(language: Language) -> re.Pattern[str]:
    """Return what tells that a question is about what the assistant told the asker."""
    return _OF_ASSISTANT if language == "en" else cue_words.OF_ASSISTANT.get(language, _NOTHING)


def _speaker(text: str, language: Language, candidates: CandidateIndex) -> str:
    """Return the speaker whose words a question asks for; empty for nobody who ever spoke."""
    for match in _OF_SPEAKER.finditer(text) if language == "en" else ():
        name = next(filter(None, match.groups()))
        if speakers := candidates.speakers_named(name):
            return min(speakers)
    return ""


def _order(text: str, language: Language) -> tuple[Literal["newest", "oldest"] | None, bool]:
    """Return whether the latest or the earliest is asked for, and whether of all that was said."""

    def has(cues: Mapping[Language, re.Pattern[str]]) -> bool:
        return language in cues and cues[language].search(text) is not None

    if has(cue_words.LAST_TALK):
        return "newest", True
    if has(cue_words.FIRST_TALK):
        return "oldest", True
    if has(cue_words.NEWEST):
        return "newest", False
    return ("oldest", False) if has(cue_words.OLDEST) else (None, False)


def _is_only_talk(text: str, language: Language) -> bool:
    """Whether a question, without its time, has no word but those for talking and happening."""
    for cues in (cue_words.LAST_TALK, cue_words.FIRST_TALK, cue_words.TALK):
        if language in cues:
            text = cues[language].sub(" ", text)
    return not any(character.isalnum() for character in _CONTRACTED.sub("", text))


@lru_cache(maxsize=16)  # of one recall
def cut_query(text: str) -> str:
    """Return a message without its frame and what is pasted beside a question.

    Of one that is still too long for a query, what it asks at its beginning or end; if it asks
    nothing there, its beginning and its end.
    """
    text = without_pasted(without_frame(text))
    if len(text) <= MAX_QUERY:
        return text
    half = MAX_QUERY // 2
    ends = f"{text[:half]} … {text[-half:]}"
    asked = [ends[slice(*span)].strip() for span in sentence_spans(ends)]
    return " ".join(filter(ends_asking, asked)) or ends


def query_text(dialogue: Sequence[Utterance], turns: int | None, *, names: bool = False) -> str:
    """Return the text of the last ``turns`` turns of the dialogue, or of all turns with None.

    With ``names``, each begins with its speaker.
    """
    latest = dialogue[-turns:] if turns else dialogue
    if names:
        return "\n".join(f"{turn.speaker}: {turn.full_text}" for turn in latest)
    return "\n".join(cut_query(utterance.full_text) for utterance in latest).strip()


async def build_query(
    query: str,
    dialogue: Sequence[Utterance],
    context: RecallContext,
    mode: RetrievalMode,
    without_speakers: Callable[[str], str] | None = None,
) -> Query:
    """Return the query with its vector; the last turn gives the asker and the time.

    ``without_speakers`` removes the names of speakers; by default, those of the memories.

    Each text is embedded once per context, as a query where the embedder distinguishes queries.
    """
    remove = without_speakers or context.index.without_speakers
    topic = remove(query) if mode == "hybrid" else query
    if topic not in context.query_vectors:
        context.query_vectors[topic] = await embed_queries(context.embedder, [topic])
    last = dialogue[-1]
    return Query(
        text=query,
        vector=context.query_vectors[topic][0],
        latest=cut_query(last.full_text),
        asker=last.speaker,
        asked_at=context.asked_at(dialogue),
    )
