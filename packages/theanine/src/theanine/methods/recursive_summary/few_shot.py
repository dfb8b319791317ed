"""Reply after a few worked examples.

Source: LLM-Rsum, section 6.3 (table 5) and the response prompt of figure 12.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from theanine.llm.chat import ScopedChat
from theanine.llm.prompt import load_prompt
from theanine.methods.base import Reply
from theanine.text.formatting import dialogue_sessions, format_dialogue, format_speaker, one_line
from theanine.types import Recollection, Utterance

PACKAGE = "theanine.methods.recursive_summary"
RESPOND_FEW_SHOT = load_prompt(PACKAGE, "respond-few-shot", 1, str)


@cache
def demonstrations() -> tuple[str, ...]:
    """The worked examples: what is remembered, a conversation, and a good reply to it."""
    file = files(PACKAGE) / "prompts" / f"demonstrations.v{RESPOND_FEW_SHOT.version}.md"
    return tuple(one.strip() for one in file.read_text(encoding="utf-8").split("\n---\n"))


async def respond_few_shot(
    dialogue: Sequence[Utterance],
    recollection: Recollection,
    speaker: str,
    caller: ScopedChat,
    *,
    examples: int,
    touches: set[int],
) -> Reply:
    """What ``speaker`` says next, after the first ``examples`` demonstrations.

    ``touches`` are all sessions whose words may stand in the recollection. Raises ModelError when
    the model fails.
    """
    said = await caller.ask(
        RESPOND_FEW_SHOT,
        source_sessions=touches | dialogue_sessions(dialogue),
        check=lambda reply: None if reply.strip() else "the reply is empty",
        examples="\n\n".join(demonstrations()[:examples]),
        speaker=format_speaker(speaker),
        remembered="\n".join(f"- {one_line(part.text)}" for part in recollection.parts)
        or "(nothing)",
        dialogue=format_dialogue(dialogue),
    )
    return Reply(text=said.strip(), recollection=recollection, made_by=caller.model)
