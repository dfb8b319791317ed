"""Plans of the benches: which measures each takes, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from theanine.errors import SettingsError
from theanine.types import LOCAL_MODEL
from theanine_bench.files import hash_files
from theanine_bench.judges.registry import JUDGES
from theanine_bench.metrics.base import CorpusMetric, Metric
from theanine_bench.metrics.evidence import EVIDENCE, EvidenceRecalled
from theanine_bench.metrics.neural import NEURAL, neural_measure
from theanine_bench.metrics.ordering import ORDER, OrderByWords
from theanine_bench.metrics.overlap_measures import (
    CORPUS_BLEU,
    OVERLAP,
    corpus_bleus,
    overlap_measures,
)
from theanine_bench.runs.task import Task
from theanine_bench.samples import Group

DEFAULTS: Mapping[str, Sequence[str]] = {
    "qa": ("f1", "f1:locomo", "evidence", "right"),
    "responses": ("f1", "bleu-1", "bleu-2", "bleu-4", "rouge-l"),
}
"""What is measured where nothing is asked for; judges only where there is one."""


def answer_task(
    bench: str,
    data: Path,
    groups: Sequence[Group],
    names: Sequence[str] | None,
    judge: str,
    beside: Sequence[Path] = (),
) -> Task:
    """The bench's plan with the measures of these names, or with its own.

    ``beside`` are the files that the groups were made of beside the data, such as an answer key.
    Raises SettingsError for a measure that isn't known, and MissingExtra for one whose library
    isn't installed.
    """
    wanted = list(names or DEFAULTS[bench])
    if not names and judge == LOCAL_MODEL:
        wanted = [name for name in wanted if name not in JUDGES]
    measures, corpus = find_metrics(wanted)
    hashed = hash_files(data)
    if beside:
        told = " ".join([hashed, *map(hash_files, beside)])
        hashed = sha256(told.encode()).hexdigest()
    return Task(bench=bench, data=hashed, groups=groups, metrics=measures, corpus_metrics=corpus)


def find_metrics(names: Sequence[str]) -> tuple[list[Metric], list[CorpusMetric]]:
    """Measures of one item, judges among them, and measures of a whole run, by name.

    Raises as :func:`plan_of` does.
    """
    measures: list[Metric] = []
    corpus: list[CorpusMetric] = []
    for name in dict.fromkeys(names):
        if name in OVERLAP:
            measures += overlap_measures([name])
        elif name == EVIDENCE:
            measures.append(EvidenceRecalled())
        elif name == ORDER:
            measures.append(OrderByWords())
        elif name in JUDGES:
            measures.append(JUDGES[name])
        elif name in CORPUS_BLEU:
            corpus += corpus_bleus([name])
        elif name.partition("=")[0] in NEURAL:
            corpus.append(neural_measure(name))
        else:
            neural = [f"{one}=FOLDER" for one in NEURAL]
            known = ", ".join((*OVERLAP, EVIDENCE, ORDER, *CORPUS_BLEU, *neural, *JUDGES))
            raise SettingsError(f"unknown measure {name!r}; there are: {known}")
    return measures, corpus
