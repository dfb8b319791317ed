"""Learn guidance for the segmenting model from labeled conversations that it segments badly.

Source: SeCom (2025), section 2.2 and appendices A.1 and A.3. The 100 sessions that the model
segments worst without guidance (by WindowDiff) are shown to it with their gold segments in 10
batches; from each batch it makes one rule and chooses one example. Unlike in the paper, a batch is
shown the rules so far, so that it adds a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pydantic import BaseModel, Field

from theanine.llm.chat import ScopedChat
from theanine.llm.prompt import load_prompt
from theanine.text.formatting import one_line
from theanine_methods.secom.guidance import Example, Guidance, bounds, turn_lines

HARDEST = 100
"""Number of worst conversations to learn from."""
BATCHES = 10
"""Number of batches, and so of rules and examples."""
_RULE_LIMIT = 600


class Lesson(BaseModel):
    """The model's reply for one batch."""

    errors: str = Field(description="what was got wrong, and what the people went by")
    rule: str = Field(description="one rule, for conversations on any subject")
    example: int = Field(description="number of the most telling conversation")
    lesson: str = Field(description="what in it is easily got wrong, and why")


REFLECT = load_prompt("theanine_methods.secom", "segment-reflect", 1, Lesson)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A labeled conversation as the model segmented it.

    Attributes:
        id: its name.
        turns: the text of its turns.
        right: lengths of the gold segments.
        drawn: lengths of the model's segments.
        error: WindowDiff of the model's segments, 0 to 1; lower is better.
    """

    id: str
    turns: Sequence[str]
    right: Sequence[int]
    drawn: Sequence[int]
    error: float


async def reflect(
    attempts: Sequence[Attempt],
    chat: ScopedChat,
    *,
    progress: Callable[[], None] = lambda: None,
) -> Guidance | None:
    """Return guidance from the worst attempts, or None if all are right.

    The model is called once for each batch, and ``progress`` after each. Raises ModelError when the
    model fails.
    """
    wrong = [attempt for attempt in attempts if attempt.error > 0]
    hardest = sorted(wrong, key=lambda attempt: -attempt.error)[:HARDEST]
    if not hardest:
        return None
    rules: list[str] = []
    examples: list[Example] = []
    for batch in split_into_batches(hardest):
        lesson = await chat.ask(
            REFLECT,
            check=partial(_fault, len(batch)),
            rules="\n".join(f"Rule {n}: {rule}" for n, rule in enumerate(rules, 1)) or "(none)",
            conversations=_format(batch),
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
    return Guidance(made_by=chat.model, prompt=REFLECT.label, rules=rules, examples=examples)


def split_into_batches(attempts: Sequence[Attempt]) -> list[list[Attempt]]:
    """Split attempts into at most ``BATCHES`` batches of nearly the same size, in order."""
    count = min(BATCHES, len(attempts))
    cuts = [len(attempts) * n // count for n in range(count + 1)]
    return [list(attempts[cuts[i] : cuts[i + 1]]) for i in range(count)]


def _format(batch: Sequence[Attempt]) -> str:
    lines: list[str] = []
    for number, attempt in enumerate(batch, 1):
        lines += [f"== {number}", *turn_lines(attempt.turns)]
        lines += [f"right: {bounds(attempt.right)}", f"yours: {bounds(attempt.drawn)}"]
    return "\n".join(lines)


def _fault(count: int, lesson: Lesson) -> str | None:
    if not lesson.rule.strip():
        return "the rule is empty"
    if len(lesson.rule) > _RULE_LIMIT:
        return "the rule is too long: at most 50 words"
    if not 1 <= lesson.example <= count:
        return f"there is no conversation {lesson.example}, only 1 to {count}"
    return None
