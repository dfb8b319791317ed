"""What a statement is about, by its words: a plan, an event, a hindrance, a feeling or a habit.

How often such words occur in the older and in the newer statement says more about the relation of
the two than either count alone: a plan and then an event is a change, a plan and then a hindrance
is one that is hindered.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from theanine.text.words import words

_WORDS = {
    "plan": "aiming aims adopt adopting apply applying buy buying check considered considering "
    "could decide decided dream dreams eager goal goals gonna hope hopes hoping intend intends "
    "interested join joining keen learn learning looking maybe might plan planned planning plans "
    "possibly potentially ready saving someday start starting thinking tries try trying visit "
    "visiting wanna want wanted wants will wish wishes would",
    "event": "accepted adopted attended became began bought broke built cancelled changed "
    "completed created ended finished found gave got graduated grew helped hired improved joined "
    "launched learned left lost made married met moved opened ordered passed promoted quit "
    "received released retired returned signed sold started switched took tried upgraded visited "
    "went won",
    "hindrance": "afford allergic bad broke broken but busy can't cannot challenge challenging "
    "closed concerned cost costs couldn't debt delayed died difficult divorced exhausted "
    "expensive failed fired grief hard hate hated hesitant however hurdle hurt injured injury "
    "issue issues lack lost never not obstacle pain problem problems rain rough sad setback sick "
    "stressed struggle struggled struggles struggling stuck terrible though tired tough trouble "
    "unable unfortunately without worried worse worst",
    "feeling": "afraid amazing anxious comfortable concern concerned confident disappointed "
    "envious excited fear feel feeling feels felt frustrated fun glad grateful guilty happy "
    "jealous lonely love miss misses nervous overwhelmed proud regret regrets relieved rewarding "
    "sad scared stressed surprised thankful thrilled upset worried",
    "habit": "always been believes childhood enjoy enjoys experience family father favorite "
    "favourite grew has have is kid like likes live lives love loves mother parents passion "
    "passionate prefer prefers used values work works young",
}
STANCES = tuple(_WORDS)
_STANCES_OF: dict[str, list[int]] = {}
for _number, _list in enumerate(_WORDS.values()):
    for _word in _list.split():
        _STANCES_OF.setdefault(_word, []).append(_number)
_MOST = 3


def count_stances(text: str) -> NDArray[np.float32]:
    """Return the number of words of each stance, at most 3, for a text in lower case."""
    counts = np.zeros(len(STANCES), np.float32)
    for word in words(text):
        for stance in _STANCES_OF.get(word, ()):
            counts[stance] += 1
    return np.minimum(counts, _MOST)
