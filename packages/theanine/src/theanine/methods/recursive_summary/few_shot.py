"""Reply after worked examples (LLM-Rsum, section 6.3, table 5, and the prompt of figure 12)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from theanine.llm.bounds import ReplyBounds
from theanine.llm.chat import ScopedChat
from theanine.llm.prompt import load_prompt
from theanine.methods.base import Reply
from theanine.methods.shared.respond import REPLY_TOKENS, ask_reply
from theanine.types import Recollection, Utterance

PACKAGE = "theanine.methods.recursive_summary"
RESPOND_FEW_SHOT = load_prompt(PACKAGE, "respond-few-shot", 1, str, ReplyBounds(REPLY_TOKENS))


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
    text = await ask_reply(
        RESPOND_FEW_SHOT,
        dialogue,
        recollection,
        speaker,
        chat,
        shown=source_sessions,
        examples="\n\n".join(demonstrations()[:examples]),
    )
    return Reply(text=text, recollection=recollection, made_by=chat.model)
