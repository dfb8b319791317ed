"""The base class of most methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from theanine.llm.base import ReplyPrompt
from theanine.methods.base import Context, Reply
from theanine.types import Recollection, Utterance

C = TypeVar("C")


class MethodBase(Generic[C]):
    """A method with settings, which replies from the dialogue and the recollection alone."""

    Config: type[C]

    def __init__(self, config: C | None = None) -> None:
        self.config: C = self.Config() if config is None else config

    async def respond(
        self,
        dialogue: Sequence[Utterance],
        recollection: Recollection,
        speaker: str,
        context: Context,
    ) -> Reply:
        """Reply as ``speaker``: worded by the model, or quoted when there is none."""
        from theanine.methods.shared.respond import reply  # what recalls needs no prompts

        return await reply(dialogue, recollection, speaker, context, prompt=self.reply_prompt)

    @property
    def reply_prompt(self) -> ReplyPrompt:
        """The form of a reply's prompt, unless a call says otherwise."""
        return getattr(self.config, "reply_prompt", "chat")
