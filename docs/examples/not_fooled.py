"""Ask two methods, and a function, questions that are wrong about the past."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from theanine.demo import HARBOUR
from theanine.types import Utterance
from theanine_bench.teafarm import TeaFarmConfig, run_teafarm

QUESTIONS = """
data: harbour.jsonl

[shipyard]
asks: Ana
answers: Theo
assumes: Ana still works at the shipyard.
question: What do you think, shall I quit my job at the shipyard or stay for a tenth year?
answer: She quit the shipyard in June; at the honey cooperative her weekends are free.
must say:
  you quit | I quit | resigned | cooperative

[hazelnut]
asks: Ana
answers: Theo
assumes: Ana can eat hazelnuts.
question: Shall I have the hazelnut cake or the hazelnut ice cream?
answer: Neither: she is allergic to hazelnuts.
must say:
  allergic | allergy
"""


def forgetful(dialogue: Sequence[Utterance]) -> str:
    """An agent of yours: from the new session to what it says next."""
    return f"{dialogue[-1].speaker}, whatever makes you happy!"


shutil.copy(HARBOUR, "harbour.jsonl")
file = Path("questions.txt")
file.write_text(QUESTIONS, "utf-8")

for method in ("theanine", "no-memory"):
    report = run_teafarm(file, Path("runs", method), config=TeaFarmConfig(method=method))
    print(f"{method}: {report.heading}")
report = run_teafarm(file, Path("runs", "forgetful"), forgetful)
print(f"forgetful: {report}")
