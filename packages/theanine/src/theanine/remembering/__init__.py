"""Remember sessions that have ended, and rebuild what was remembered from the log."""

from theanine.remembering.rebuild import Rebuilder, RebuildEstimate, RebuildReport
from theanine.remembering.remember import Progress, RememberReport, RememberWorker

__all__ = [
    "Progress",
    "RebuildEstimate",
    "RebuildReport",
    "Rebuilder",
    "RememberReport",
    "RememberWorker",
]
