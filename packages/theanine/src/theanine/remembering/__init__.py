"""Remember sessions that have ended, and rebuild what was remembered from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theanine.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from theanine.remembering.rebuild import Rebuilder, RebuildEstimate, RebuildReport
    from theanine.remembering.remember import RememberWorker
    from theanine.remembering.report import Progress, RememberReport

__all__ = [
    "Progress",
    "RebuildEstimate",
    "RebuildReport",
    "Rebuilder",
    "RememberReport",
    "RememberWorker",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "rebuild": "Rebuilder RebuildEstimate RebuildReport",
        "remember": "RememberWorker",
        "report": "Progress RememberReport",
    },
)
