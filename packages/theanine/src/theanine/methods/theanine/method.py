"""Theanine: link memories into timelines of cause and change, and recall all that was said.

After Ong, Kim et al. (NAACL 2025); :mod:`theanine.methods.theanine.paper` is their method as
published. What differs here:

- A recall searches the whole log, not only memories; a model is asked only to select, and only if
  wanted; what is linked is returned together (:mod:`theanine.recall`).
- The query is the last six turns of the dialogue.
- One call relates a whole session, by the turns that support its memories and the older ones.
- The memories that a new one is compared with are found by rare words and speakers as well, ten of
  them without a model, which links the new one to at most two.
- Statements keep the time of the last turn that supports them, besides that of their session.
- A statement in which the assistant only repeats a recalled memory is not remembered again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from theanine.methods.base import Context, Reply
from theanine.methods.theanine.config import TheanineConfig, TheaninePaperConfig
from theanine.methods.theanine.former_settings import PAPER, current_settings
from theanine.methods.theanine.timelines import RemembersTimelines
from theanine.recall.policy import Policy
from theanine.recall.recall import recall_from_log
from theanine.text.words import format_date
from theanine.types import Recollection, Utterance

if TYPE_CHECKING:
    from theanine.methods.theanine.paper import TheaninePaper


SHOWN = 20
"""Latest turns that a model which selects is shown, where the query is the whole dialogue."""


class Theanine(RemembersTimelines[TheanineConfig]):
    """The default method."""

    name = "theanine"
    Config = TheanineConfig
    estimates_relevance = True
    recalls_from_log = True

    @staticmethod
    def paper(version: str = "2025") -> TheaninePaper:
        """Return the method as published, in the paper's version. Raises SettingsError."""
        from theanine.methods.theanine.paper import TheaninePaper  # few use it

        return TheaninePaper(TheaninePaperConfig.paper(version))

    @staticmethod
    def redirect(config: object, *, warn: bool = True) -> tuple[str, Any]:
        """Return the method that settings mean, by its id, and its settings."""
        if isinstance(config, TheaninePaperConfig):
            return PAPER, config
        if isinstance(config, Mapping):
            return current_settings(cast("Mapping[str, Any]", config), warn=warn)
        return Theanine.name, config

    @property
    def recall_asks_model(self) -> bool:
        """Whether a model selects what comes back."""
        return self.config.select == "model"

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Recall from the log, with the timelines of what is found."""
        config, chat = self.config, context.chat
        policy = Policy(
            query_turns=config.query_turns,
            query_names=config.query_names,
            budget=config.budget,
            min_relevance=config.min_relevance,
            links=config.timelines,
        )
        is_search = context.options.small_talk
        if not self.recall_asks_model or chat is None or is_search:
            return await recall_from_log(dialogue, context, policy)
        from theanine.methods.theanine.choose import choose  # few use it

        today = format_date(context.asked_at(dialogue))
        latest = dialogue[-(config.query_turns or SHOWN) :]
        return await recall_from_log(
            dialogue,
            context,
            policy,
            lambda lines: choose(lines, latest, today, context.index, chat),
        )

    async def respond(
        self,
        dialogue: Sequence[Utterance],
        recollection: Recollection,
        speaker: str,
        context: Context,
    ) -> Reply:
        """Reply from the dialogue and what was recalled; without a model, by quoting the log."""
        from theanine.methods.shared.respond import reply

        return await reply(
            dialogue,
            recollection,
            speaker,
            context,
            prompt=self.reply_prompt,
            index=None if context.chat else await context.index.log(context.embedder),
        )
