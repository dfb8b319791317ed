"""A model's accounts of timelines during a recall, for which somebody waits.

The lines of a timeline say the same, so they take the place of an account that doesn't come or
can't be used: a recall never fails because of its model.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import anyio

from theanine.errors import ModelError, UnusableReply
from theanine.llm.chat import ScopedChat
from theanine.methods.theanine.refine import refine
from theanine.text.words import containment, content_words
from theanine.types import Timeline, Utterance

MIN_SHARED_WORDS = 0.25
"""Least share of an account's content words that its timeline has too. The prompt allows nothing
else, so most are shared; inflection and synonyms are why not all are."""

_log = logging.getLogger(__name__)


class TimelineAccounts:
    """The accounts of the timelines of one recall.

    Once the model has failed to reply, or refused to, it is not called again.
    """

    def __init__(self, chat: ScopedChat, dialogue: Sequence[Utterance], *, whole: bool) -> None:
        self._chat, self._dialogue, self._whole = chat, dialogue, whole
        self._waiting = anyio.CapacityLimiter(chat.limits.concurrency)
        self._failure = ""
        self._missing = 0

    @property
    def model(self) -> str:
        """The model's name."""
        return self._chat.model

    @property
    def notes(self) -> tuple[str, ...]:
        """What a recollection says of timelines without an account."""
        if not self._missing:
            return ()
        timelines = "1 timeline" if self._missing == 1 else f"{self._missing} timelines"
        reason = self._failure or "its text was unusable"
        return (f"{self.model} gave no account of {timelines} ({reason}): recalled as it was said",)

    async def write(self, timeline: Timeline) -> str | None:
        """Return the model's account, or None if it gives none that can be used."""
        async with self._waiting:  # for the failure of another call, too
            account = None if self._failure else await self._ask(timeline)
        if account is None:
            self._missing += 1
        return account

    async def _ask(self, timeline: Timeline) -> str | None:
        chat, reason = self._chat, "its text was unusable"
        try:
            account = await refine(
                timeline,
                self._dialogue,
                chat,
                whole=self._whole,
                repairs=0,
                limits=chat.limits.for_recall,
            )
            if is_of_timeline(account, timeline):
                return account
        except UnusableReply:
            pass
        except ModelError as error:
            reason = self._failure = type(error).__name__  # its message may quote the prompt
        _log.warning("%s gave no account of a timeline: %s", chat.model, reason)
        return None


def is_of_timeline(account: str, timeline: Timeline) -> bool:
    """Whether an account has enough words of what it is of, besides the speakers' names."""
    names = content_words(" ".join(name for each in timeline.memories for name in each.speakers))
    chain = content_words(" ".join(memory.text for memory in timeline.memories))
    return containment(content_words(account) - names, chain - names) >= MIN_SHARED_WORDS
