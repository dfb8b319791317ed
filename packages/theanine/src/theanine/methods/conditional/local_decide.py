"""Decide without a language model: what discloses, demands or corrects is worth remembering.

The cues are English and only ever add to what discloses something in any language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from theanine.retrieval.query import is_standing_instruction
from theanine.summarization import local_summarize
from theanine.text.cues import normal
from theanine.text.words import sentences
from theanine.types import Turn

_DEMAND = re.compile(
    r"(?<![\w'])(?:"
    r"(?:please |can you |could you )?(?:always|never|only ever) \w+|from now on|next time|"
    r"in (?:the )?future|going forward|(?:don't|do not|stop) (?:use|using|call|calling|give|giving|"
    r"write|writing|add|adding|repeat|repeating|assume|assuming|make|making)|"
    r"(?:keep|make) (?:it|them|your (?:answers?|repl(?:y|ies))|the (?:answers?|repl(?:y|ies))) "
    r"(?:\w+ )?(?:short|shorter|brief|simple|simpler|longer|concise|formal|informal|detailed)|"
    r"i'd (?:rather|prefer) (?:you|if)|i (?:want|need|expect|would like|prefer) you to|"
    r"you (?:should|must|need to|have to)|call me"
    r")(?![\w'])"
)
_CORRECTION = re.compile(
    r"^\W*(?:no|nope|wrong|actually|not quite)[\s,.:;!—-]+(?=\w)|(?<![\w'])(?:"
    r"that's (?:not (?:what|right|correct|it)|wrong|incorrect)|"
    r"(?:not|isn't|wasn't) what i (?:meant|asked|wanted|said)|i (?:meant|mean)|"
    r"you (?:misunderstood|forgot|missed|got (?:it|that) wrong|made a mistake|(?:were|are) wrong)|"
    r"(?:it|that|this) (?:should|ought to) (?:be|have)|too (?:long|short|vague|formal|generic)"
    r")(?![\w'])"
)
_TASK = re.compile(
    r"(?:(?:hey|hi|hello|ok|okay|so|now|then|and|great|thanks|thank you)[,!.]? )*"
    r"(?:(?:can|could|would|will) you (?:please |also |maybe )?|please )?"
    r"(?:add|analy[sz]e|answer|calculate|capitali[sz]e|check|come up with|compare|compose|convert|"
    r"correct|create|define|describe|design|draft|edit|elaborate|explain|expand|find|fix|format|"
    r"generate|give|go on|continue|help|improve|list|look up|make|name|outline|proofread|provide|"
    r"recommend|rephrase|rewrite|share|shorten|show|solve|suggest|summari[sz]e|teach|tell|"
    r"translate|turn|write)(?![\w'])"
)
_OWN = re.compile(
    r"(?<![\w'])(?:i|i'(?:m|ve|d|ll)|my|mine|myself|we|we'(?:re|ve|d|ll)|our|ours)(?![\w'])"
)
_LEAST_WORDS = 3


def local_decide(session: Sequence[Turn]) -> set[int]:
    """Ids of the turns of a session that are worth remembering. The same turns, the same ids.

    Of two turns of one speaker with the same words only the first is.
    """
    told = local_summarize([_without_tasks(turn) for turn in session])
    disclosing = {source for memory in told for source in memory.source_turns}
    worth: set[int] = set()
    said: set[tuple[str, str]] = set()
    for turn in session:
        words = (turn.speaker, " ".join(turn.full_text.split()))
        if words not in said and (turn.id in disclosing or demands(turn.text)):
            worth.add(turn.id)
        said.add(words)
    return worth


def demands(text: str) -> bool:
    """Whether a text demands something for good, or corrects what was said before."""
    plain = normal(text)
    if len(plain.split()) < _LEAST_WORDS:
        return False
    return is_standing_instruction(text) or bool(_DEMAND.search(plain) or _CORRECTION.search(plain))


def _without_tasks(turn: Turn) -> Turn:
    """The turn without the sentences that only set the agent a task: "me" in them tells nothing.

    One with "I" or "my" stays, since it tells something of the speaker.
    """
    if turn.role != "user":
        return turn
    kept: list[str] = []
    for start, end in sentences(turn.text):
        sentence = turn.text[start:end]
        plain = normal(sentence)
        if not _TASK.match(plain) or _OWN.search(plain):
            kept.append(sentence)
        elif sentence.endswith("?"):
            kept.append("?")  # what follows is still an answer
    return replace(turn, text=" ".join(kept))
