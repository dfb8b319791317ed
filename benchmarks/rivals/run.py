"""Measure theanine and the others side by side: ``python benchmarks/rivals/run.py DATA``."""

from __future__ import annotations

import run_cpersona
import run_langgraph
import run_mem0
import run_mempalace
import run_theanine
from measuring import compare

if __name__ == "__main__":
    others = (run_langgraph, run_mem0, run_cpersona, run_mempalace)
    compare([run_theanine.RIVAL, *(other.RIVAL for other in others)])
