"""Session memories: events, the user's portrait and the relation, by the model or locally.

Source: the paper's first task, session-level memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.bounds import Keywords, ReplyBounds
from theanine.llm.prompt import load_prompt
from theanine.methods.shared.memories import make_memory
from theanine.quotes import without_attribution
from theanine.sentences import sentence_spans
from theanine.summarization import local_summarize, repeats_memories
from theanine.text import cues
from theanine.text.attribution import attribute_quote
from theanine.text.numbering import (
    Line,
    ask_windows,
    merge_repeated,
    most_notes,
    note_fault,
    turn_numbers,
)
from theanine.text.words import FUNCTION_WORDS, words
from theanine.types import NewMemory, Turn
from theanine_methods.comedy.aspects import ASPECTS, Aspect, session_kind, subjects

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

NOTE_LIMIT = 500
"""Maximum characters of a note; the prompt asks for 40 words."""
_MIN_CONTENT = 2
"""Content words that a sentence needs besides the addressee's name to be quoted for the name."""


class Note(BaseModel):
    """One note of the model's reply."""

    text: str = Field(description="the note, third person")
    turns: list[int] = Field(description="numbers of the turns that support it")


class SessionMemory(BaseModel):
    """The model's reply for one window of a session."""

    events: list[Note]
    portrait: list[Note]
    relation: list[Note]

    def notes(self, aspect: Aspect) -> list[Note]:
        """Return the notes on one aspect."""
        return {"events": self.events, "portrait": self.portrait, "relation": self.relation}[aspect]


SESSION_MEMORY = load_prompt("theanine_methods.comedy", "session-memory", 1, SessionMemory)


async def note_session(turns: Sequence[Turn], chat: ScopedChat) -> list[NewMemory]:
    """Return the model's session memories by aspect, each with its source turns.

    A very long session is shown in windows. Raises ModelError when the model fails.
    """
    replies = await ask_windows(SESSION_MEMORY, turns, chat, _fault, _bounds)
    memories: list[NewMemory] = []
    for aspect in ASPECTS:
        notes = [merge_repeated(reply.notes(aspect), lambda note: note.text) for reply in replies]
        for note in chain.from_iterable(notes):
            sources = [turns[number - 1] for number in sorted(set(note.turns))]
            memories.append(
                make_memory(
                    " ".join(note.text.split()),
                    sources,
                    kind=session_kind(aspect),
                    speakers=subjects(aspect, sources, turns),
                    made_by=chat.model,
                    prompt=SESSION_MEMORY.label,
                )
            )
    return memories


def _bounds(window: Sequence[Line]) -> ReplyBounds:
    most = most_notes(window)
    fields: dict[str, Keywords] = {}
    for aspect in ASPECTS:
        fields |= {
            aspect: {"maxItems": most},
            f"{aspect}[].text": {"minLength": 1, "maxLength": NOTE_LIMIT},
            **turn_numbers(f"{aspect}[].turns", window, least=1),
        }
    return ReplyBounds(50 + 2 * 110 * most, fields)


def _fault(window: Sequence[Line], reply: SessionMemory) -> str | None:
    limit = max(12, 2 * len(window))
    for aspect in ASPECTS:
        notes = reply.notes(aspect)
        if len(notes) > limit:
            return f"{len(notes)} {aspect} are too many: keep at most {limit}"
        for position, note in enumerate(notes, 1):
            if fault := note_fault(note.text, note.turns, window, limit=NOTE_LIMIT):
                return f"{aspect}, note {position}: {fault}"
    return None


# Without a model: quotes, sorted by English cues. A quote without a cue, in any language, is an
# event.

_LASTING = re.compile(
    r"(?<![\w'])(?:i(?:'m| am)(?: (?:so|really|very|quite|also|just|still|always|usually))* (?:"
    r"an?(?! (?:bit|little|few|lot))|from|into|in love|good at|bad at|\d+|single|married|engaged|"
    r"divorced|allergic|vegan|vegetarian|shy|afraid|terrified|scared|used to|someone|the kind|"
    r"never|often|more of|no longer|proud|fond|obsessed|left-handed)|"
    r"i (?:was born|grew up|was raised)|"
    r"i(?:'ve)? (?:always |never |usually |often |really |still |also |just )*(?:love|like|enjoy|"
    r"hate|prefer|dislike|adore|fear|believe in|value|live|lived|work as|work at|work for|work in|"
    r"collect|teach|study|speak|own|can't stand|have (?:an?|two|three|four|five|always|never))|"
    r"i (?:always|never|usually|hardly ever)|"
    r"my (?:name|job|birthday|hobby|hobbies|passion|dream|home|hometown|faith|favou?rite)"
    r"(?: \w+){0,3} (?:is|are|was|were|has|have)|"
    r"(?:all|most of) my life|since i was|every (?:day|morning|evening|night|week|weekend|year|"
    r"summer|winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|makes me (?:feel|happy|sad|"
    r"nervous|anxious|angry))(?![\w'])"
)
_BETWEEN = re.compile(
    r"(?<![\w'])(?:thank(?:s| you)(?: (?:so|very) much| a lot)?(?: \w+)? for|thank you so much|"
    r"i promise|promise me|you promised|i(?:'ll| will) (?:remind|tell you|ask you|let you|help|be "
    r"here|remember|check in|keep)|remind me|you(?:'ve| have)? (?:really )?(?:helped|reminded|"
    r"told me|listen|listened|remember|remembered|understand me)|"
    r"our (?:talks?|chats?|friendship|conversations?)|"
    r"between us|(?:i )?trust you|talk(?:ing)? (?:to|with) you|missed (?:you|our)|"
    r"grateful (?:to|for) you|proud of you|i'm here for you|i am here for you|please call me|"
    r"(?:good|nice|great|lovely) to meet you|forgive me|i'm sorry (?:i|for|that i))(?![\w'])"
)


def local_note_session(turns: Sequence[Turn]) -> list[NewMemory]:
    """Quote the session's disclosures by aspect, in time order in each.

    A turn without disclosures is quoted for what it says to the other side (thanks, promises, the
    name). The assistant's turns that only repeat memories are left out.
    """
    by_id = {turn.id: turn for turn in turns}
    quotes: list[tuple[Aspect, Turn, str]] = []
    for memory in local_summarize(turns):
        turn = by_id[memory.source_turns[0]]
        quote = without_attribution(memory.text)
        quotes.append((local_aspect(quote, turn.role == "assistant"), turn, memory.text))
    disclosing = {turn.id for _, turn, _ in quotes}
    for turn in turns:
        if turn.id not in disclosing and not repeats_memories(turn):
            others = {other.speaker for other in turns} - {turn.speaker}
            if sentence := _addressing_sentence(turn, others):
                quotes.append(("relation", turn, attribute_quote(turn, sentence)))
    quotes.sort(key=lambda quote: (ASPECTS.index(quote[0]), quote[1].id))
    return [
        make_memory(
            text, [turn], kind=session_kind(aspect), speakers=subjects(aspect, [turn], turns)
        )
        for aspect, turn, text in quotes
    ]


def local_aspect(quote: str, by_assistant: bool = False) -> Aspect:
    """Return the aspect of a quote: relation, portrait if it shows a lasting trait, else events.

    The assistant has no life to portray.
    """
    text = cues.normal(quote)
    if _BETWEEN.search(text):
        return "relation"
    if by_assistant:
        both = cues.FIRST_PERSON.search(text) and cues.SECOND_PERSON.search(text)
        return "relation" if both else "events"
    return "portrait" if count_lasting_cues(quote) else "events"


def count_lasting_cues(quote: str) -> int:
    """Return how many cues of lasting traits a quote has."""
    return len(_LASTING.findall(cues.normal(quote)))


def _addressing_sentence(turn: Turn, others: set[str]) -> str:
    """Return the first sentence of a turn that addresses the other side, or an empty string."""
    for start, end in sentence_spans(turn.text):
        sentence = turn.text[start:end]
        if _BETWEEN.search(cues.normal(sentence)) or _names(sentence, others):
            return sentence
    return ""


def _names(sentence: str, others: set[str]) -> bool:
    """Whether a sentence names the other side and says more than a courtesy."""
    named = [
        name
        for name in others
        if name.strip() and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence)
    ]
    content = {w for w in words(sentence) if w not in FUNCTION_WORDS and not cues.COURTESY.match(w)}
    return bool(named) and len(content - set(words(" ".join(named)))) >= _MIN_CONTENT
