"""Session memories without a language model: quotes, sorted by what their wording shows.

English cues only ever sort; a quote in which none is found, in whatever language, is an event.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from theanine.methods.comedy.aspects import ASPECTS, Aspect, about, note_kind
from theanine.summarization import local_summarize, repeats_memories
from theanine.text import cues
from theanine.text.attribution import attribute_quote, without_attribution
from theanine.text.words import FUNCTION_WORDS, sentences, words
from theanine.types import NewMemory, Turn

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

SUBSTANCE = 2
"""Words that tell something in a sentence that is noted for naming the other side."""


def local_notes(
    turns: Sequence[Turn],
) -> list[NewMemory]:
    """The session's disclosures, quoted and sorted into the three aspects, in time order in each.

    Turns that disclose nothing are quoted for what they say to the other side: thanks, promises,
    the other's name. What an agent only repeats is left out.
    """
    by_id = {turn.id: turn for turn in turns}
    found: list[tuple[Aspect, Turn, str]] = []
    for made in local_summarize(turns):
        turn = by_id[made.source_turns[0]]
        found.append(
            (
                local_aspect(without_attribution(made.text), turn.role == "assistant"),
                turn,
                made.text,
            )
        )
    telling = {turn.id for _, turn, _ in found}
    for turn in turns:
        if turn.id not in telling and not repeats_memories(turn):
            others = {one.speaker for one in turns} - {turn.speaker}
            if said := _said_to(turn, others):
                found.append(("relation", turn, attribute_quote(turn, said)))
    found.sort(key=lambda one: (ASPECTS.index(one[0]), one[1].id))
    return [_memory(aspect, turn, text, turns) for aspect, turn, text in found]


def local_aspect(quote: str, by_agent: bool = False) -> Aspect:
    """Which aspect a quote shows: of user and agent, of the user for good, or else an event."""
    text = cues.normal(quote)
    if _BETWEEN.search(text):
        return "relation"
    if by_agent:  # an agent has no life of its own to portray
        own = cues.FIRST_PERSON.search(text) and cues.SECOND_PERSON.search(text)
        return "relation" if own else "events"
    return "portrait" if lasting(quote) else "events"


def lasting(quote: str) -> int:
    """How many cues in a quote say something of its speaker for good."""
    return len(_LASTING.findall(cues.normal(quote)))


def _said_to(turn: Turn, others: set[str]) -> str:
    """The first sentence of a turn that turns to the other side, or empty."""
    for start, end in sentences(turn.text):
        sentence = turn.text[start:end]
        if _BETWEEN.search(cues.normal(sentence)) or _addresses(sentence, others):
            return sentence
    return ""


def _addresses(sentence: str, others: set[str]) -> bool:
    """Whether it names the other side and says more than a courtesy."""
    named = [name for name in others if name.strip() and _named(name).search(sentence)]
    said = [w for w in words(sentence) if w not in FUNCTION_WORDS and not cues.COURTESY.match(w)]
    return bool(named) and len(set(said) - set(words(" ".join(named)))) >= SUBSTANCE


def _named(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


def _memory(aspect: Aspect, turn: Turn, text: str, session: Sequence[Turn]) -> NewMemory:
    return NewMemory(
        text=text,
        at=turn.at,
        source_turns=(turn.id,),
        speakers=about(aspect, [turn], session),
        kind=note_kind(aspect),
    )
