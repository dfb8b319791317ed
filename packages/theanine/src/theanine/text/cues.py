"""English cue words: feelings, wishes, changes, hindrances, causes and the like.

Patterns match text in the form of :func:`normal`. Other languages show no cue.
"""

from __future__ import annotations

import re

from theanine.lazy_pattern import lazy_pattern


def _cue(alternatives: str) -> re.Pattern[str]:
    return lazy_pattern(rf"(?<![\w'])(?:{alternatives})(?![\w'])")


FIRST_PERSON = _cue(
    r"i|i'(?:m|ve|d|ll)|me|my|mine|myself|we|we'(?:re|ve|d|ll)|us|our|ours|ourselves"
)
SECOND_PERSON = _cue(r"you|you'(?:re|ve|d|ll)|your|yours|yourself")

FEELING = _cue(
    r"afraid|amazed|angry|annoyed|anxious|ashamed|bored|calmer|confident|delighted|depressed|"
    r"devastated|disappointed|discouraged|ecstatic|embarrassed|excited|exhausted|frustrated|"
    r"grateful|grief|grieving|guilty|happy|happier|heartbroken|homesick|hopeful|jealous|"
    r"lonely|lonelier|miserable|nervous|overjoyed|overwhelmed|panicked|proud|regrets?|"
    r"regretted|relieved|sad|scared|shocked|stressed|surprised|terrified|thankful|thrilled|"
    r"upset|worried|worries|fears?|hates?|hated|miss|misses|missed|dreads?|dreaded"
)
DESIRE = _cue(
    r"wants?|wanted|wanna|wish|wishes|wished|hope|hopes|hoped|hoping|plans?|planned|planning|"
    r"intends?|intended|dreams? of|dreaming of|look(?:s|ing)? forward|aims?|aiming|aspires?|"
    r"(?:'d|would) (?:love|like)|gonna|considering|considers|thinking (?:of|about)|"
    r"interested in|eager|keen|decid(?:e|es|ed)|can't wait|saving (?:up )?for|set on"
)
CHANGE = _cue(
    r"no longer|any ?more|instead|used to|changed|switched|quit|quits|gave up|given up|"
    r"stopped|sold|became|turned into|replaced|broke up|divorced|over now|from now on|"
    r"recovered|got over|overcame|cancell?ed|retired|resigned|rather than|upgraded|converted|"
    r"promoted|fired|laid off|got (?:married|engaged|better|worse)|moved (?:in|out|to|away|"
    r"back|the|my|our|his|her|from)|rescheduled"
)
NO_LONGER = _cue(r"no longer|any ?more")
HINDRANCE = _cue(
    r"can't(?! wait| help| believe)|cannot(?! wait)|couldn't(?! be| wait)|unable|"
    r"won't be able|wasn't able|isn't able|aren't able|weren't able|not able|too (?:busy|"
    r"tired|expensive|far|late|sick|scared|afraid|old)|no time|(?:hasn't|haven't|"
    r"hadn't) (?:had (?:the |any )?time|been able)|had to (?:cancel|skip|miss|postpone|"
    r"put off)|postponed?|delayed|prevent(?:s|ed|ing)? (?:me|us|him|her|them)|keeps? (?:me|us|"
    r"him|her|them) from|kept (?:me|us|him|her|them) from|stops? (?:me|us|him|her|them) from|"
    r"get(?:s|ting)? in the way|got in the way|struggl(?:e|es|ed|ing) to|"
    r"(?<!work )(?<!worked )(?<!working )(?<!trying )hard to|difficult to|hinder(?:s|ed)?|"
    r"stuck|called off|fell through|short of (?:time|money)"
)
NEGATION = _cue(
    r"not|never|no|none|nobody|nothing|neither|nor|without|don't|doesn't|didn't|isn't|aren't|"
    r"wasn't|weren't|won't|wouldn't|can't|cannot|couldn't|haven't|hasn't|hadn't|shouldn't"
)
TIME = _cue(
    r"yesterday|today|tonight|tomorrow|ago|last (?:\w+)|next (?:\w+)|this (?:week|weekend|"
    r"month|year|morning|afternoon|evening|summer|winter|spring|fall|autumn)|recently|lately|"
    r"since|soon|already|the other day|a while back|growing up|years?|months?|weeks?|(?:mon|"
    r"tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|"
    r"september|october|november|december"
)
COURTESY = lazy_pattern(
    r"(?:hey|hi|hello|thanks|thank you|wow|cool|great|nice|awesome|amazing|congrats|"
    r"congratulations|good (?:luck|job|morning|evening|night)|bye|take care|see you|"
    r"talk (?:soon|later|to you)|sounds? (?:great|good|fun|amazing|awesome|like)|that(?:'s|"
    r" is| sounds| must)|glad|sorry|no worries|no problem|you're welcome|welcome|sure|"
    r"absolutely|definitely|totally|for sure|keep (?:it up|going)|so (?:cool|happy for you|"
    r"proud of you|glad)|good for you|i (?:agree|see|understand|get it|hear you)|exactly|"
    r"right|yeah|yep|yes|ok|okay|cheers|let me know|have fun|enjoy|best of luck|happy to hear|"
    r"haha|lol|oh|ah|phew|no way|woah|whoa|woohoo|yay)(?![\w'])"
)


def normal(text: str) -> str:
    """Return the text in lower case with straight apostrophes."""
    return text.lower().replace("’", "'")


CLAUSE = re.compile(r",\s|\b(?:and|but|so|then)\b")
"""Possible beginnings of a clause."""
_DENIED = re.compile(r"(?:\bnot|n't|\bnever|\bwithout)\s+(?:\w+\s+)?$")


def denied(text: str, start: int) -> bool:
    """Whether the match at ``start`` is negated by the words right before it."""
    return _DENIED.search(text, max(0, start - 30), start) is not None
