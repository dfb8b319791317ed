"""Learn guidance for the model that segments, from labelled conversations that it divides badly.

Source: SeCom (2025), section 2.2 and appendix A.1 and A.3: of the sessions that the model segments
worst without guidance (by WindowDiff), 100 in 10 batches are shown to it with the gold segments; of
each batch it makes one rule and chooses one telling example. Here a batch also sees the rules of
those before it, so that each adds something.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pydantic import BaseModel, Field

from theanine.llm.chat import ScopedChat
from theanine.llm.prompt import load_prompt
from theanine.methods.secom.guidance import Example, Guidance, bounds, turn_lines
from theanine.text.formatting import one_line

HARDEST = 100
"""Conversations that are looked back on, the worst ones."""
BATCHES = 10
"""Rules, and examples, that are learned of them."""
_LONGEST_RULE = 600


class Lesson(BaseModel):
    """What the model learns of one batch."""

    errors: str = Field(description="what was got wrong, and what the people went by")
    rule: str = Field(description="one rule, for conversations on any subject")
    example: int = Field(description="number of the most telling conversation")
    lesson: str = Field(description="what in it is easily got wrong, and why")


REFLECT = load_prompt("theanine.methods.secom", "segment-reflect", 1, Lesson)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A labelled conversation as the model divided it.

    Attributes:
        id: its name.
        turns: its turns' words.
        right: the lengths of the gold segments.
        drawn: the lengths of the segments that were drawn.
        error: how wrong they are (WindowDiff, 0 to 1); higher is worse.
    """

    id: str
    turns: Sequence[str]
    right: Sequence[int]
    drawn: Sequence[int]
    error: float


async def reflect(
    attempts: Sequence[Attempt],
    caller: ScopedChat,
    *,
    progress: Callable[[], None] = lambda: None,
) -> Guidance | None:
    """Guidance from the worst attempts, one call a batch; None when none was wrong.

    ``progress`` is called after each batch. Raises ModelError when the model fails.
    """
    wrong = [attempt for attempt in attempts if attempt.error > 0]
    hardest = sorted(wrong, key=lambda attempt: -attempt.error)[:HARDEST]
    if not hardest:
        return None
    rules: list[str] = []
    examples: list[Example] = []
    for batch in batches_of(hardest):
        lesson = await caller.ask(
            REFLECT,
            check=partial(_fault, len(batch)),
            rules="\n".join(f"Rule {n}: {rule}" for n, rule in enumerate(rules, 1)) or "(none)",
            conversations=_shown(batch),
        )
        rules.append(one_line(lesson.rule))
        chosen = batch[lesson.example - 1]
        examples.append(
            Example(
                id=chosen.id,
                turns=list(chosen.turns),
                right=list(chosen.right),
                drawn=list(chosen.drawn),
                lesson=one_line(lesson.lesson),
            )
        )
        progress()
    return Guidance(made_by=caller.model, prompt=REFLECT.label, rules=rules, examples=examples)


def batches_of(attempts: Sequence[Attempt]) -> list[list[Attempt]]:
    """At most ``BATCHES`` batches of nearly the same size, in order."""
    count = min(BATCHES, len(attempts))
    cuts = [len(attempts) * place // count for place in range(count + 1)]
    return [list(attempts[cuts[i] : cuts[i + 1]]) for i in range(count)]


def _shown(batch: Sequence[Attempt]) -> str:
    lines: list[str] = []
    for number, one in enumerate(batch, 1):
        lines += [f"== {number}", *turn_lines(one.turns)]
        lines += [f"right: {bounds(one.right)}", f"yours: {bounds(one.drawn)}"]
    return "\n".join(lines)


def _fault(count: int, lesson: Lesson) -> str | None:
    if not lesson.rule.strip():
        return "the rule is empty"
    if len(lesson.rule) > _LONGEST_RULE:
        return "the rule is too long: at most 50 words"
    if not 1 <= lesson.example <= count:
        return f"there is no conversation {lesson.example}, only 1 to {count}"
    return None
