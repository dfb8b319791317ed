"""Reply after worked examples (LLM-Rsum, section 6.3, table 5, and the prompt of figure 12)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from theanine.llm.chat import ScopedChat
from theanine.llm.prompt import load_prompt
from theanine.methods.base import Reply
from theanine.methods.shared.provenance import dialogue_sessions
from theanine.text.formatting import format_dialogue, format_recollection, format_speaker
from theanine.types import Recollection, Utterance

PACKAGE = "theanine.methods.recursive_summary"
RESPOND_FEW_SHOT = load_prompt(PACKAGE, "respond-few-shot", 1, str)


@cache
def demonstrations() -> tuple[str, ...]:
    """Return the worked examples: memories, a conversation, and a good reply to it."""
    file = files(PACKAGE) / "prompts" / f"demonstrations.v{RESPOND_FEW_SHOT.version}.md"
    text = file.read_text(encoding="utf-8")
    return tuple(example.strip() for example in text.split("\n---\n"))


async def respond_few_shot(
    dialogue: Sequence[Utterance],
    recollection: Recollection,
    speaker: str,
    chat: ScopedChat,
    *,
    examples: int,
    source_sessions: set[int],
) -> Reply:
    """Reply as ``speaker`` after the first ``examples`` demonstrations.

    ``source_sessions`` are all sessions that the recollection may quote. Raises ModelError when the
    model fails.
    """
    text = await chat.ask(
        RESPOND_FEW_SHOT,
        source_sessions=source_sessions | dialogue_sessions(dialogue),
        check=lambda reply: None if reply.strip() else "the reply is empty",
        examples="\n\n".join(demonstrations()[:examples]),
        speaker=format_speaker(speaker),
        remembered=format_recollection(recollection),
        dialogue=format_dialogue(dialogue),
    )
    return Reply(text=text.strip(), recollection=recollection, made_by=chat.model)
