"""Recursive summary (Wang et al.): one summary of all sessions, updated after each."""

from theanine.methods.recursive_summary.config import RecursiveSummaryConfig
from theanine.methods.recursive_summary.method import RecursiveSummary

__all__ = ["RecursiveSummary", "RecursiveSummaryConfig"]
