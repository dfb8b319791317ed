"""The base of the default method and the paper's: it remembers statements and links them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from theanine.methods.base import Context, Estimate
from theanine.methods.shared.method_base import MethodBase
from theanine.methods.theanine.config import Linking
from theanine.types import ImportedMemory, MemoryBatch, Session, Turn


class LinkingConfig(Protocol):
    """Settings that say how memories are linked."""

    @property
    def linking(self) -> Linking:
        """How new memories are linked to older ones."""
        ...


C = TypeVar("C", bound=LinkingConfig)


class RemembersTimelines(MethodBase[C]):
    """A method that remembers statements and links them into timelines."""

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        imported: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Summarize, find associates, relate, link."""
        from theanine.methods.theanine.remember import remember  # what recalls needs none of it

        return await remember(session, turns, imported, context, self.config.linking)

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """Return the cost of the summary and of the relations."""
        from theanine.methods.theanine.estimate import estimate

        return estimate(turns, self.config.linking)

    def estimate_earlier(self, turns: int) -> Estimate:
        """Return the cost of showing the statements of so many earlier turns."""
        from theanine.methods.theanine.estimate import estimate_earlier

        return estimate_earlier(turns, self.config.linking)
