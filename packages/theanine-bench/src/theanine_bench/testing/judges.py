"""Scripted answers to the judges' prompts: deterministic, by the words that two texts share."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from theanine.testing.answers.blocks import Write

_WORD = re.compile(r"\w{4,}")
_NUMBERED = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)
_ANSWER = re.compile(r"^(\d+): (.*)$", re.MULTILINE)
_TURN = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_UNKNOWN = re.compile(r"\b(not known|don't know|do not know|never|not mentioned|no idea)\b", re.I)
_PERSPECTIVES = ("coherence", "consistency", "memorability", "engagingness", "humanness")


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _share(part: str, whole: str) -> float:
    """Return the share of the words of ``part`` in ``whole``; 1 if ``part`` has none."""
    wanted = _words(part)
    return len(wanted & _words(whole)) / len(wanted) if wanted else 1.0


def _known(blocks: Mapping[str, str]) -> str:
    reference = blocks.get("reference", "")
    return blocks.get("evidence", "") if reference == "(nothing)" else reference


def _covered(blocks: Mapping[str, str]) -> float:
    return _share(_known(blocks), blocks.get("answer", ""))


def _json(**values: object) -> str:
    return json.dumps(values, ensure_ascii=False)


def _why(share: float) -> str:
    return f"{share:.0%} of the words are shared"


def _gpt4score(blocks: Mapping[str, str]) -> str:
    share = _covered(blocks)
    return _json(explanation=_why(share), score=round(100 * share))


def _gpt_score(blocks: Mapping[str, str]) -> str:
    share = _covered(blocks)
    return _json(score=2 if share == 1 else int(share > 0))


def _right(blocks: Mapping[str, str]) -> str:
    share = _covered(blocks)
    return _json(explanation=_why(share), label="right" if share >= 0.5 else "wrong")


def _abstains(blocks: Mapping[str, str]) -> str:
    said = _UNKNOWN.search(blocks.get("answer", ""))
    why = f"it says {said[0]!r}" if said else "it answers"
    return _json(explanation=why, label="right" if said else "wrong")


def _rubric(blocks: Mapping[str, str]) -> str:
    points: list[dict[str, object]] = []
    for number, point in _NUMBERED.findall(blocks.get("points", "")):
        share = _share(point, blocks.get("answer", ""))
        met = "fully" if share >= 0.8 else "partly" if share >= 0.3 else "no"
        points.append({"point": int(number), "explanation": _why(share), "met": met})
    return _json(points=points)


def _order(blocks: Mapping[str, str]) -> str:
    """Match each clause to the first unmatched point with a third of its words in it."""
    left = {int(n): point for n, point in _NUMBERED.findall(blocks.get("points", ""))}
    events: list[dict[str, object]] = []
    for event in re.split(r"(?<=[.,;:])\s+", blocks.get("answer", "")):
        found = next((n for n, point in left.items() if _share(point, event) >= 0.3), None)
        left.pop(found or 0, None)
        events.append({"event": event, "point": found})
    return _json(events=events, missing=list(left))


def _quality(blocks: Mapping[str, str]) -> str:
    share = _share(blocks.get("reply", ""), f"{blocks.get('past')} {blocks.get('conversation')}")
    return _json(explanation=_why(share), score=1 + round(99 * share))


def _entailment(blocks: Mapping[str, str]) -> str:
    share = _share(blocks.get("reply", ""), blocks.get("past", ""))
    denies = " not " in f" {blocks.get('reply', '')} "
    label = "contradicts" if denies and share else "entails" if share >= 0.3 else "neutral"
    return _json(explanation=_why(share), label=label)


def _helpfulness(blocks: Mapping[str, str]) -> str:
    share = _share(blocks.get("conversation", ""), blocks.get("recalled", ""))
    label = "definitely agree" if share >= 0.3 else "definitely disagree"
    return _json(explanation=_why(share), label=label)


def _perspectives(blocks: Mapping[str, str]) -> str:
    share = _share(blocks.get("reply", ""), blocks.get("past", ""))
    ratings = dict.fromkeys(_PERSPECTIVES, round(3 * share))
    return _json(explanation=_why(share), **ratings)


def _better(first: float, second: float) -> str:
    """Choose the higher score; of equal ones the first, like a judge with a position bias."""
    better = 2 if second > first else 1
    return _json(explanation=f"{first:.0%} against {second:.0%} of the words", better=better)


def _numbered(blocks: Mapping[str, str], name: str) -> list[str]:
    return [text for _, text in _ANSWER.findall(blocks.get(name, ""))]


def _compare(blocks: Mapping[str, str]) -> str:
    """Compare by the words of a response in the past, the reference or the conversation."""
    names = ("past", "reference", "evidence")
    known = " ".join(blocks[name] for name in names if name in blocks)
    first, second = (
        len(_words(text) & _words(known or blocks.get("conversation", "")))
        for text in _numbered(blocks, "responses")
    )
    return _better(first / 100, second / 100)


def _compare_recalled(blocks: Mapping[str, str]) -> str:
    asked = blocks.get("conversation", "")
    first, second = (_share(asked, blocks.get(f"recollection {n}", "")) for n in (1, 2))
    return _better(first, second)


def _choose(blocks: Mapping[str, str]) -> str:
    shares = [_share(blocks.get("reference", ""), text) for text in _numbered(blocks, "answers")]
    return _json(best=1 + shares.index(max(shares)))


def _match_memories(blocks: Mapping[str, str]) -> str:
    """Match memories that have two thirds of the words."""
    memories = _NUMBERED.findall(blocks.get("memories", ""))
    matches = [
        {
            "wanted": int(number),
            "explanation": "by shared words",
            "memories": [int(n) for n, memory in memories if _share(text, memory) >= 0.66],
        }
        for number, text in _NUMBERED.findall(blocks.get("wanted", ""))
    ]
    return _json(matches=matches)


def _support_memories(blocks: Mapping[str, str]) -> str:
    turns = dict(_TURN.findall(blocks.get("turns", "")))
    verdicts: list[dict[str, object]] = []
    for number, text in _NUMBERED.findall(blocks.get("memories", "")):
        words, _, behind = text.rpartition(" [")
        said = " ".join(turns.get(one, "") for one in behind.strip("]").split(","))
        share = _share(words, said)
        label = "supported" if share >= 0.6 else "partly" if share >= 0.3 else "unsupported"
        label = label if _words(words) else "empty"
        verdicts.append({"memory": int(number), "explanation": _why(share), "label": label})
    return _json(verdicts=verdicts)


STEPS: Mapping[str, Write] = {
    "judge-gpt4score": _gpt4score,
    "judge-gpt-score": _gpt_score,
    "judge-right": _right,
    "judge-abstains": _abstains,
    "judge-rubric": _rubric,
    "judge-order": _order,
    "judge-quality": _quality,
    "judge-entailment": _entailment,
    "judge-helpfulness": _helpfulness,
    "judge-perspectives": _perspectives,
    "compare-replies": _compare,
    "compare-with-past": _compare,
    "compare-answers": _compare,
    "compare-recalled": _compare_recalled,
    "choose-answer": _choose,
    "match-memories": _match_memories,
    "support-memories": _support_memories,
}
