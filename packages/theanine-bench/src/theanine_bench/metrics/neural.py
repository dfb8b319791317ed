"""BERTScore and MAUVE, with models in local folders (the extra ``neural``).

Nothing is ever fetched. Results without a reference are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from theanine.errors import SettingsError
from theanine_bench.metrics.categories import by_category
from theanine_bench.metrics.optional_imports import library, require_extra
from theanine_bench.samples import SampleResult

EXTRA = "neural"
BERTSCORE, MAUVE = "bertscore", "mauve"
NEURAL = (BERTSCORE, MAUVE)
"""Kinds of names; the folder of a model follows after "="."""
FEWEST = 20
"""Minimum number of texts for MAUVE; even these give only a rough value."""
_FAILURES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    SafetensorError,
    ValueError,
)
"""The errors of the two libraries for an unusable model."""
_MAX_MESSAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class BertScore:
    """bert-score's mean F1, 0 to 1, without idf weights or baseline (Zhang et al., 2020).

    A missing or blank answer counts as 0.

    Attributes:
        folder: the model's, such as a copy of ``roberta-large``, the default for English.
        layer: the layer whose vectors are compared; None for bert-score's choice for a model of
            the folder's name.
    """

    folder: Path | None = None
    layer: int | None = None

    @property
    def name(self) -> str:
        """The metric with the model's name; its scores are named ``bertscore``."""
        if self.folder is None:
            return BERTSCORE
        return f"{BERTSCORE}:{self.folder.name}" + (f"@{self.layer}" if self.layer else "")

    def score(self, results: Sequence[SampleResult]) -> Mapping[str, float]:
        """Return ``bertscore`` and, with several categories, ``bertscore/CATEGORY`` and their mean,
        ``bertscore/mean``.

        Raises MissingExtra without the extra, SettingsError without a usable model.
        """
        folder = _model(BERTSCORE, self.folder, "bert_score", "roberta-large")
        bert_score = library("bert_score")
        layer = self.layer or bert_score.utils.model2layers.get(folder.name)
        if layer is None:
            raise SettingsError(
                f"bert-score knows no model {folder.name!r}: say which layer's vectors are "
                f"compared, as in bertscore={folder}@17"
            )
        compared = [item for item in results if item.reference.strip()]
        scores = dict.fromkeys((item.id for item in compared), 0.0)
        said = [item for item in compared if (item.answer or "").strip()]
        if said:
            try:
                _, _, f1 = bert_score.score(
                    [item.answer for item in said],
                    [item.reference for item in said],
                    model_type=str(folder),
                    num_layers=layer,
                )
            except _FAILURES as error:
                raise _unusable(folder, error) from None
            scores |= {item.id: min(1.0, n) for item, n in zip(said, f1.tolist(), strict=True)}
        values = [scores[item.id] for item in compared]
        return by_category(
            BERTSCORE, compared, lambda rows: sum(values[row] for row in rows) / len(rows)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mauve:
    """mauve-text's MAUVE of all answers against all references, 0 to 1 (Pillutla et al., 2021).

    A missing answer counts as an empty line.

    Attributes:
        folder: the model's, such as a copy of ``gpt2-large``, the default. Its path must contain
            "gpt2" or "bert", by which mauve-text knows the kind.
        longest: maximum tokens of a text.
        seed: of the clustering.
    """

    folder: Path | None = None
    longest: int = 1024
    seed: int = 25

    @property
    def name(self) -> str:
        """The metric with the model's name; its scores are named ``mauve``."""
        return MAUVE if self.folder is None else f"{MAUVE}:{self.folder.name}"

    def score(self, results: Sequence[SampleResult]) -> Mapping[str, float]:
        """Return ``mauve`` and, with several categories of 20 texts or more, ``mauve/CATEGORY`` and
        their mean, ``mauve/mean``.

        Raises MissingExtra without the extra, SettingsError without a usable model or with fewer
        than 20 texts.
        """
        folder = _model(MAUVE, self.folder, "mauve", "gpt2-large")
        if not any(kind in str(folder) for kind in ("gpt2", "bert")):
            raise SettingsError(
                f"mauve-text tells models by their path: {folder} must have gpt2 or bert in it"
            )
        compared = [item for item in results if item.reference.strip()]
        if len(compared) < FEWEST:
            raise SettingsError(
                f"MAUVE compares clouds of texts: {len(compared)} answers are too few, it takes "
                f"{FEWEST} at least and some thousands for a sure figure"
            )
        try:
            answers = self._features(folder, [item.answer or "" for item in compared])
            references = self._features(folder, [item.reference for item in compared])
        except _FAILURES as error:
            raise _unusable(folder, error) from None
        return by_category(
            MAUVE,
            compared,
            lambda rows: self._mauve(answers[list(rows)], references[list(rows)]),
            FEWEST,
        )

    def _features(self, folder: Path, texts: Sequence[str]) -> Any:
        """Return ``(n, d)``, one row a text; mauve-text would leave out blank ones."""
        module = library("mauve.compute_mauve")
        filled = [text if text.strip() else "\n" for text in texts]
        return module.get_features_from_input(
            None, None, filled, str(folder), self.longest, -1, name="texts", batch_size=1
        )

    def _mauve(self, answers: Any, references: Any) -> float:
        compute = library("mauve.compute_mauve").compute_mauve
        scored = compute(p_features=answers, q_features=references, seed=self.seed)
        return min(1.0, float(scored.mauve))


NAMES = tuple(f"{kind}=FOLDER" for kind in NEURAL)


def find_metric(name: str) -> BertScore | Mauve | None:
    """Return ``bertscore=FOLDER``, ``bertscore=FOLDER@LAYER`` or ``mauve=FOLDER``; else None.

    Without a folder it is a metric that says what is missing.
    """
    kind, _, rest = name.partition("=")
    if kind == MAUVE:
        return Mauve(folder=Path(rest) if rest else None)
    if kind != BERTSCORE:
        return None
    folder, at, layer = rest.rpartition("@")
    if at and layer.isdecimal() and int(layer):
        return BertScore(folder=Path(folder), layer=int(layer))
    return BertScore(folder=Path(rest) if rest else None)


def _model(kind: str, folder: Path | None, package: str, usual: str) -> Path:
    """Return the folder if it and the extra exist. Raises MissingExtra or SettingsError."""
    for needed in (package, "torch"):
        require_extra(needed, EXTRA, f"the metric {kind}")
    if folder is None:
        raise SettingsError(
            f"{kind} needs the folder of a model: download {usual} once and ask for {kind}=FOLDER"
        )
    if not folder.is_dir():
        raise SettingsError(f"{kind}: there is no folder {folder}")
    return folder


def _unusable(folder: Path, error: Exception) -> SettingsError:
    said = " ".join((str(error) or type(error).__name__).split())[:_MAX_MESSAGE]
    if isinstance(error, OverflowError):
        said = "its tokenizer_config.json says no model_max_length"
    return SettingsError(f"the model in {folder} can't be used: {said}")
