"""Scripted answers to the judges' prompts: deterministic, by the words that two texts share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from theanine_bench.judges.replies import PERSPECTIVES

Blocks = Mapping[str, str]
Reply = dict[str, Any]
_WORD = re.compile(r"\w{4,}")
_NUMBERED = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)
_ANSWER = re.compile(r"^(\d+): (.*)$", re.MULTILINE)
_TURN = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_UNKNOWN = re.compile(r"\b(not known|don't know|do not know|never|not mentioned|no idea)\b", re.I)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _share(part: str, whole: str) -> float:
    """Return the share of the words of ``part`` in ``whole``; 1 if ``part`` has none."""
    words = _words(part)
    return len(words & _words(whole)) / len(words) if words else 1.0


def _covered(blocks: Blocks) -> float:
    """Return the share of the reference or, without one, of the evidence in the answer."""
    reference = blocks["reference"]
    return _share(blocks["evidence"] if reference == "(nothing)" else reference, blocks["answer"])


def _explain(share: float) -> str:
    return f"{share:.0%} of the words are shared"


def _gpt4score(blocks: Blocks) -> Reply:
    share = _covered(blocks)
    return {"explanation": _explain(share), "score": round(100 * share)}


def _gpt_score(blocks: Blocks) -> Reply:
    share = _covered(blocks)
    return {"score": 2 if share == 1 else int(share > 0)}


def _right(blocks: Blocks) -> Reply:
    share = _covered(blocks)
    return {"explanation": _explain(share), "label": "right" if share >= 0.5 else "wrong"}


def _abstains(blocks: Blocks) -> Reply:
    match = _UNKNOWN.search(blocks["answer"])
    explanation = f"it says {match[0]!r}" if match else "it answers"
    return {"explanation": explanation, "label": "right" if match else "wrong"}


def _halumem(blocks: Blocks) -> Reply:
    share = _covered(blocks)
    return {"explanation": _explain(share), "label": "correct" if share >= 0.5 else "omission"}


def _memops(blocks: Blocks) -> Reply:
    share = _share(blocks["reference"], blocks["answer"])
    names = re.findall(r"^(\w+): ", blocks["checks"], re.MULTILINE)
    checks = [{"check": name, "holds": share >= 0.5} for name in names]
    return {"explanation": _explain(share), "right": share >= 0.5, "checks": checks}


def _rubric(blocks: Blocks) -> Reply:
    points: list[Reply] = []
    for number, point in _NUMBERED.findall(blocks["points"]):
        share = _share(point, blocks["answer"])
        met = "fully" if share >= 0.8 else "partly" if share >= 0.3 else "no"
        points.append({"point": int(number), "explanation": _explain(share), "met": met})
    return {"points": points}


def _order(blocks: Blocks) -> Reply:
    """Match each clause to the first unmatched point with a third of its words in it."""
    unmatched = {int(n): point for n, point in _NUMBERED.findall(blocks["points"])}
    events: list[Reply] = []
    for event in re.split(r"(?<=[.,;:])\s+", blocks["answer"]):
        point = next((n for n, text in unmatched.items() if _share(text, event) >= 0.3), None)
        unmatched.pop(point or 0, None)
        events.append({"event": event, "point": point})
    return {"events": events, "missing": list(unmatched)}


def _quality(blocks: Blocks) -> Reply:
    share = _share(blocks["reply"], f"{blocks['past']} {blocks['conversation']}")
    return {"explanation": _explain(share), "score": 1 + round(99 * share)}


def _entailment(blocks: Blocks) -> Reply:
    share = _share(blocks["reply"], blocks["past"])
    denies = " not " in f" {blocks['reply']} "
    label = "contradicts" if denies and share else "entails" if share >= 0.3 else "neutral"
    return {"explanation": _explain(share), "label": label}


def _needs_past(blocks: Blocks) -> Reply:
    share = _share(blocks["next"], blocks["past"])
    return {"explanation": _explain(share), "label": "needs it" if share >= 0.3 else "does without"}


def _helpfulness(blocks: Blocks) -> Reply:
    share = _share(blocks["conversation"], blocks["recalled"])
    label = "definitely agree" if share >= 0.3 else "definitely disagree"
    return {"explanation": _explain(share), "label": label}


def _perspectives(blocks: Blocks) -> Reply:
    share = _share(blocks["reply"], blocks["past"])
    return {"explanation": _explain(share), **dict.fromkeys(PERSPECTIVES, round(3 * share))}


def _better(first: float, second: float) -> Reply:
    """Choose the higher score; of equal ones the first, like a judge with a position bias."""
    explanation = f"{first:.0%} against {second:.0%} of the words"
    return {"explanation": explanation, "better": 2 if second > first else 1}


def _compare(blocks: Blocks) -> Reply:
    """Compare by the words of a response in the past, the reference or the conversation."""
    names = ("past", "reference", "evidence")
    source = " ".join(blocks[name] for name in names if name in blocks) or blocks["conversation"]
    first, second = (
        len(_words(text) & _words(source)) for _, text in _ANSWER.findall(blocks["responses"])
    )
    return _better(first / 100, second / 100)


def _compare_recalled(blocks: Blocks) -> Reply:
    first, second = (
        _share(blocks["conversation"], blocks[f"recollection {number}"]) for number in (1, 2)
    )
    return _better(first, second)


def _choose(blocks: Blocks) -> Reply:
    answers = _ANSWER.findall(blocks["answers"])
    shares = [_share(blocks["reference"], text) for _, text in answers]
    return {"best": 1 + shares.index(max(shares))}


def _match_memories(blocks: Blocks) -> Reply:
    """Match memories that have two thirds of the words."""
    memories = _NUMBERED.findall(blocks["memories"])
    matches = [
        {
            "wanted": int(number),
            "explanation": "by shared words",
            "memories": [int(n) for n, memory in memories if _share(text, memory) >= 0.66],
        }
        for number, text in _NUMBERED.findall(blocks["wanted"])
    ]
    return {"matches": matches}


def _support_memories(blocks: Blocks) -> Reply:
    turns = dict(_TURN.findall(blocks["turns"]))
    verdicts: list[Reply] = []
    for number, memory in _NUMBERED.findall(blocks["memories"]):
        text, _, sources = memory.rpartition(" [")
        source_text = " ".join(turns.get(turn, "") for turn in sources.strip("]").split(","))
        share = _share(text, source_text)
        label = "supported" if share >= 0.6 else "partly" if share >= 0.3 else "unsupported"
        label = label if _words(text) else "empty"
        verdicts.append({"memory": int(number), "explanation": _explain(share), "label": label})
    return {"verdicts": verdicts}


STEPS: Mapping[str, Callable[[Blocks], Reply]] = {
    "judge-gpt4score": _gpt4score,
    "judge-gpt-score": _gpt_score,
    "judge-right": _right,
    "judge-abstains": _abstains,
    "judge-halumem": _halumem,
    "judge-memops": _memops,
    "judge-rubric": _rubric,
    "judge-order": _order,
    "judge-quality": _quality,
    "judge-entailment": _entailment,
    "judge-needs-past": _needs_past,
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
