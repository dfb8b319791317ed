"""The segmentation bench: how well a segmenter finds the gold topic segments of dialogues."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self

from theanine.clock import moment, system_clock
from theanine.embeddings.static import StaticEmbedder
from theanine.errors import BadInput, SettingsError, UnusableReply
from theanine.llm.chat import Chat
from theanine.llm.limits import Limits
from theanine.store import open_store
from theanine.types import LOCAL_MODEL, Scope, Utterance
from theanine_bench.config import RunConfig
from theanine_bench.datasets.segmentation import SegmentedDialogue
from theanine_bench.metrics.registry import find_metrics
from theanine_bench.runs.folder import RunFolder
from theanine_bench.runs.task import Task, open_models
from theanine_bench.samples import Group, Sample, SampleResult, Stage
from theanine_bench.targets.target import Output, Target, TargetContext
from theanine_bench.targets.texttiling import similarity_dips, text_tiling
from theanine_methods.secom.ask_segments import ask_segments
from theanine_methods.secom.guidance import Guidance
from theanine_methods.secom.reflect import Attempt, reflect
from theanine_methods.segmentation import (
    Span,
    check_tiling,
    fixed_length_spans,
    lengths_of,
    segment_locally,
)
from theanine_methods.segmentation.trained import check_segmenter, segment_by_classifier

BENCH = "segmentation"
METRICS = ("Pk", "WD", "F1", "score", "Pk:gaps", "WD:gaps", "F1:gaps")
LLM = "llm"
"""The segmenter that asks the language model."""
SCOPE = Scope("bench segmentation")
"""The scope of the model's calls in the journal."""
Segmenter = Callable[[Sequence[str]], Sequence[Span]]
"""Takes a dialogue's turns and returns its segments."""


def segmentation_task(
    dialogues: Sequence[SegmentedDialogue],
    data: str,
    *,
    guidance: Guidance | None = None,
    segmenter: Segmenter | None = None,
    dropped: Mapping[str, int] | None = None,
    dataset: str = "",
) -> Task:
    """Return a task with a sample for each dialogue.

    ``data`` is the hash of its file; ``guidance`` is for the segmenter ``llm``; ``segmenter`` takes
    the place of the one that the run's configuration names; ``dataset`` is the data set's name for
    tables. Raises BadInput where there is no boundary to find.
    """
    if not dialogues:
        raise BadInput("no dialogues: nothing can be measured")
    if all(len(dialogue.lengths) < 2 for dialogue in dialogues):
        raise BadInput("no dialogue has more than one segment: there is no boundary to find")
    unique = len({dialogue.id for dialogue in dialogues}) == len(dialogues)
    samples = tuple(
        Sample(
            id=dialogue.id if unique else f"{number}/{dialogue.id}",
            category=dialogue.part,
            dialogue=_turns(dialogue.texts),
            extra={"gold": list(dialogue.lengths)},
        )
        for number, dialogue in enumerate(dialogues, 1)
    )
    stage = Stage(samples=samples)
    group = Group(id=BENCH, stages=(stage,), dropped=dropped or {}, dataset=dataset)
    metrics, corpus = find_metrics(METRICS)
    return Task(
        bench=BENCH,
        data=data,
        groups=[group],
        metrics=metrics,
        corpus_metrics=corpus,
        target=partial(_make_target, guidance=guidance, segmenter=segmenter),
        uses_store=False,
    )


def _turns(texts: Sequence[str]) -> tuple[Utterance, ...]:
    return tuple(
        Utterance(text=text, speaker="AB"[i % 2], at=moment(0)) for i, text in enumerate(texts)
    )


def _make_target(
    context: TargetContext, guidance: Guidance | None, segmenter: Segmenter | None
) -> Target:
    if context.config.method == LLM:
        return ModelSegmenter(context, guidance)
    return LocalSegmenter(segmenter or find_segmenter(context.config.method))


def find_segmenter(name: str) -> Segmenter:
    """Return ``local``, ``dips``, ``text-tiling``, ``trained:FOLDER`` or ``every:N``.

    Raises BadInput for others, and as :func:`check_segmenter` does.
    """
    embedder = StaticEmbedder()
    if name == "local":
        return lambda texts: segment_locally(texts, embedder.vectors(texts))
    if name == "dips":
        return lambda texts: similarity_dips(embedder.vectors(texts))
    if name == "text-tiling":
        return text_tiling
    kind, _, folder = name.partition(":")
    if kind == "trained" and folder:
        check_segmenter(folder)
        return lambda texts: segment_by_classifier(texts, folder)
    size = name.removeprefix("every:")
    if size != name and size.isdecimal() and int(size) > 0:
        return lambda texts: fixed_length_spans(int(size), len(texts))
    raise BadInput(
        f"no segmenter {name!r}: use local, dips, text-tiling, trained:FOLDER or every:N, such as "
        "every:4"
    )


class LocalSegmenter(Target):
    """A segmenter that asks no model. One that doesn't tile a dialogue raises ValueError."""

    def __init__(self, segmenter: Segmenter) -> None:
        self._segmenter = segmenter

    async def __aenter__(self) -> Self:
        self._segmenter(["Hello.", "Good morning."])  # loading a model is not its speed
        return self

    async def answer(self, sample: Sample, user: str) -> Output:
        """Return the lengths of the segments."""
        texts = [turn.text for turn in sample.dialogue]
        started = time.perf_counter()
        spans = self._segmenter(texts)
        seconds = time.perf_counter() - started
        return Output(data={"segments": _lengths(spans, len(texts))}, seconds=seconds)


class ModelSegmenter(Target):
    """The language model; where its reply stays unusable, the local segmenter takes its place."""

    has_facts = True

    def __init__(self, context: TargetContext, guidance: Guidance | None = None) -> None:
        chat = context.open_chat()
        if chat is None:
            raise SettingsError("the segmenter llm needs a language model: name one with --model")
        self._store = context.store
        self._guidance = guidance.text if guidance else ""
        self._chat = chat
        self._caller = self._chat.for_scope(SCOPE)
        self._fallbacks = 0

    async def __aenter__(self) -> Self:
        # The journal only keeps calls of known scopes.
        await self._store.start_session(SCOPE, system_clock(), key=SCOPE.user)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._chat.close()

    async def answer(self, sample: Sample, user: str) -> Output:
        """Return the lengths of the segments. Raises ModelError."""
        texts = [turn.text for turn in sample.dialogue]
        made_by = self._chat.model.name
        try:
            spans = await ask_segments(sample.dialogue, self._caller, guidance=self._guidance)
        except UnusableReply:
            self._fallbacks += 1
            made_by = LOCAL_MODEL
            spans = segment_locally(texts, StaticEmbedder().vectors(texts))
        return Output(data={"segments": _lengths(spans, len(texts))}, made_by=made_by)

    async def facts(self, user: str) -> Mapping[str, Any]:
        """Return the number of fallbacks, and of replies that the journal gave."""
        return {"fallbacks": self._fallbacks, "replayed": self._caller.usage.replayed}


def _lengths(spans: Sequence[Span], turns: int) -> list[int]:
    check_tiling(spans, turns)
    return lengths_of(spans)


async def learn_guidance(
    results: Sequence[SampleResult],
    folder: RunFolder,
    config: RunConfig,
    limits: Limits | None = None,
) -> Guidance | None:
    """Return guidance learned from the dialogues that a run divided worst; None if none was wrong.

    The calls are journalled with the run. Raises ModelError.
    """
    model = open_models(config).agent
    assert model  # the run had one
    store = open_store(str(folder.store))
    await store.open()
    chat = Chat(model, store, system_clock, limits, prompts=config.prompts)
    try:
        attempts = [
            Attempt(
                id=result.id,
                turns=[turn["text"] for turn in result.dialogue],
                right=result.extra["gold"],
                drawn=result.output["segments"],
                error=result.scores["WD"],
            )
            for result in results
            if result.output
        ]
        return await reflect(attempts, chat.for_scope(SCOPE))
    finally:
        await chat.close()
        await store.close()
