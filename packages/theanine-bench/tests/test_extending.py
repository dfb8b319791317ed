"""A metric, a data set and a bench are one file each, as CONTRIBUTING.md says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import theanine_bench

METRIC = """
from theanine_bench.samples import Score

class Loudness:
    name, needs_judge, binary, worst = "loud", False, True, {"loud": 0.0}

    async def score(self, result, judge):
        return Score(values={"loud": float((result.answer or "").endswith("!"))})

METRICS = {"loud": Loudness()}
"""
FORMAT = """
from theanine.clock import moment
from theanine.types import Utterance
from theanine_bench.datasets.formats import QaFormat
from theanine_bench.samples import Group, Sample, Stage

def read(path, document):
    samples = tuple(
        Sample(id=str(n), dialogue=(Utterance(text=text, speaker="user", at=moment(n)),))
        for n, text in enumerate(document["cries"])
    )
    return [Group(id="cries", stages=(Stage(samples=samples),))]

FORMAT = QaFormat(
    name="cries", matches=lambda path, document: "cries" in document, read=read
)
"""
BENCH = '''"""Say everything back."""

from theanine_bench.cli.execution import run_and_show
from theanine_bench.cli.run_options import DataArgument, JudgingOptions, run_command
from theanine_bench.datasets.qa import read_qa
from theanine_bench.files import hash_files
from theanine_bench.metrics.registry import find_metrics
from theanine_bench.runs.task import Task
from theanine_bench.targets import Output, Target

class Parrot(Target):
    def __init__(self, context): ...

    async def answer(self, sample, user):
        return Output(text=sample.dialogue[-1].text)

@run_command
def parrot(data: DataArgument, *, options: JudgingOptions) -> None:
    """Say everything back."""
    metrics, _ = find_metrics(["loud"])
    run_and_show(
        Task(bench="parrot", data=hash_files(data), groups=read_qa(data), metrics=metrics,
             target=Parrot),
        options,
    )
'''


@pytest.mark.slow
def test_each_is_found_in_the_file_that_defines_it(tmp_path: Path) -> None:
    package = tmp_path / "theanine_bench"
    shutil.copytree(Path(theanine_bench.__file__).parent, package)
    (package / "cli/bench/parrot.py").write_text(BENCH, "utf-8")
    (package / "datasets/formats/cries.py").write_text(FORMAT, "utf-8")
    (package / "metrics/loud.py").write_text(METRIC, "utf-8")
    (tmp_path / "data.json").write_text(json.dumps({"cries": ["Help!", "Thanks."]}), "utf-8")
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))

    def run(*arguments: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", "from theanine.cli import main; main()", "bench", *arguments],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, timeout=60,
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip

    summary = json.loads(run("parrot", "data.json", "--out", "run", "--json"))
    assert summary["metrics"]["loud"]["mean"] == 0.5
    assert summary["metrics"]["loud"]["low"] == pytest.approx(0.095, abs=0.001)  # as it is binary
    assert "| loud | 0.500 |" in run("export", "run", "--format", "md")
    assert "parrot" in run("--help") and "Say everything back." in run("--help")

    loud = package / "metrics/loud.py"
    loud.write_text(METRIC.replace("return Score", "1 / 0; return Score"), "utf-8")
    with pytest.raises(subprocess.CalledProcessError) as failed:
        run("parrot", "data.json", "--out", "faulty")
    message = "theanine: the metric loud failed with ZeroDivisionError: division by zero (loud.py"
    assert failed.value.stderr.splitlines()[-1].startswith(message)
