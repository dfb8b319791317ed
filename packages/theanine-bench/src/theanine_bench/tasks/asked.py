"""Ask histories whose right answers are known, and judge what a method recalls.

Each history has a store of its own, without a model and with the method's default settings.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import theanine
from theanine.embeddings import open_embedder
from theanine.llm.chat import ScopedChat
from theanine.llm.gather import gather
from theanine.tokenizer import count_tokens
from theanine.types import Part, Recollection, Turn, Usage, Utterance
from theanine_bench.datasets.asked import AskedHistory, AskedQuestion
from theanine_bench.judges.recollections import judge_recollection
from theanine_bench.statistics.intervals import Interval, mean_interval

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "limit 1": {"limit": 1},
    "limit 3": {"limit": 3},
    "150 tokens": {"budget": 150},
    "default": {},
    "relevance .3": {"min_relevance": 0.3},
}
"""How each question about a state is asked."""
BASELINES: Mapping[str, Mapping[str, Any]] = {
    "BM25": {"retrieval": "lexical"},
    "vectors": {"retrieval": "dense"},
}
"""Settings of the method ``utterance`` for what plain search reaches."""
NEWEST = "newest"
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
MIN_WORDS, MIN_CHARACTERS = 4, 8
"""Words of a sentence, or characters in a script without spaces, that tell a turn by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What was recalled for a question.

    Attributes:
        setting: how it was asked; see :data:`SETTINGS`.
        shown: whether a right turn is shown.
        first: whether it stands before any outdated one, the most relevant part first.
        outdated: whether an outdated one is shown without it.
        needed: share of the turns that are needed which are shown.
        returned: turns that are returned.
        right: of these, those that are right or needed.
        is_empty: whether nothing is recalled.
        is_right: whether the recollection has and lacks what it must, or is empty as it must be.
        text: the recollection.
        told: ``right``, ``outdated`` or ``nothing``, as a model judges what the recollection tells;
            None where none was asked or nothing that was said answers.
    """

    history: AskedHistory
    question: AskedQuestion
    setting: str
    shown: bool
    first: bool
    outdated: bool
    needed: float
    returned: int
    right: int
    tokens: int
    is_empty: bool
    is_right: bool
    text: str
    told: str | None = None


@dataclass(slots=True, kw_only=True)
class MethodCost:
    """The CPU time and model calls of a method, over all histories that it was asked.

    Attributes:
        sessions: sessions that it was to remember.
        pending: of these, those that are not, as no reply of the model could be used for them, or
            for one before.
        fell_back: other sessions, and recalls, of which a step did without the model for that.
        recalls: CPU seconds of each recall.
        remembering, recalling: what the model was asked for each.
    """

    sessions: int = 0
    pending: int = 0
    fell_back: int = 0
    recalls: list[float] = field(default_factory=list[float])
    remembering: Usage = field(default_factory=Usage)
    recalling: Usage = field(default_factory=Usage)


def _has_answer(judged: Judged) -> bool:
    return judged.question.asks == "now" and bool(judged.question.needed)


def _has_outdated(judged: Judged) -> bool:
    return judged.question.asks == "now" and bool(judged.question.outdated)


def precision(judged: Judged) -> float:
    """Return the share of the turns that are returned that are right; 0 if there are none."""
    return judged.right / judged.returned if judged.returned else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A figure of judged answers: their value, and which of them count.

    Attributes:
        binary: whether it holds of an answer or doesn't, so that its mean is a share of them.
        counts: the questions that count.
    """

    value: Callable[[Judged], float]
    binary: bool = False
    counts: Callable[[Judged], bool] = lambda _: True

    def mean(self, judged: Sequence[Judged]) -> Interval | None:
        """Return the mean with its interval; None where no question counts."""
        values = [float(self.value(each)) for each in judged if self.counts(each)]
        return mean_interval(values, binary=self.binary) if values else None


MEASURES: Mapping[str, Measure] = {
    "found": Measure(value=lambda each: each.needed, counts=_has_answer),
    "precision": Measure(value=precision, counts=_has_answer),
    "holds": Measure(value=lambda each: each.first, binary=True, counts=_has_outdated),
    "outdated": Measure(value=lambda each: each.outdated, binary=True, counts=_has_outdated),
    "never": Measure(
        value=lambda each: each.is_empty, binary=True, counts=lambda each: each.question.is_empty
    ),
    "lost": Measure(
        value=lambda each: each.is_empty,
        binary=True,
        counts=lambda each: each.question.asks == "now" and not each.question.is_empty,
    ),
}
"""The columns of `bench methods`."""
TOLD: Mapping[str, Measure] = {
    "told": Measure(
        value=lambda each: each.told == "right",
        binary=True,
        counts=lambda each: each.told is not None,
    ),
    "misled": Measure(
        value=lambda each: each.told == "outdated",
        binary=True,
        counts=lambda each: each.told is not None and _has_outdated(each),
    ),
}
"""Its columns with a judging model."""


async def ask_histories(
    histories: Sequence[AskedHistory],
    method: str,
    settings: Mapping[str, Mapping[str, Any]] = {"default": {}},
    noise: Sequence[theanine.Transcript] = (),
    *,
    embedder: str = "local",
    config: Mapping[str, Any] | None = None,
    models: Mapping[str, Any] | None = None,
    cost: MethodCost | None = None,
) -> AsyncIterator[Judged]:
    """Yield what is recalled for each question with each of the settings.

    Args:
        noise: sessions of other people that are logged into each store before.
        config: settings of the method.
        models: options of :func:`theanine.aopen` for language models; none is asked by default.
        cost: what the recalls cost is added to it.
    """
    cost = MethodCost() if cost is None else cost
    embedding = open_embedder(embedder)
    for history in histories:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "memory.db"
            async with theanine.aopen(
                path, method=method, config=config, embedder=embedding, **(models or {})
            ) as client:
                user = client.user("user", name=history.user)
                if noise:
                    await user.log(theanine.History(name=history.user, transcripts=[*noise]))
                await user.log(history.history)
                for report in await user.remember():
                    cost.fell_back += bool(report.notes and not report.failure)
                cost.pending += len(await user.pending())
                await user.warm_up()  # no recall is by the words alone
                for question in history.questions:
                    asked = Utterance(text=question.text, speaker=history.user, at=question.at)
                    for name, options in settings.items():
                        started = time.process_time()
                        found = await user.recall([asked], **{**question.options, **options})
                        cost.recalls.append(time.process_time() - started)
                        cost.fell_back += bool(found.notes)
                        yield judge(history, question, name, found)
                cost.sessions += len(history.history.transcripts)
                for line in await user.costs():
                    if line.session is None:
                        cost.recalling += line
                    else:
                        cost.remembering += line


async def ask_baselines(
    histories: Sequence[AskedHistory],
    limit: int,
    noise: Sequence[theanine.Transcript] = (),
    *,
    embedder: str = "local",
) -> AsyncIterator[Judged]:
    """Yield what so many turns show: the best by BM25, by the vectors, and the newest ones."""
    for name, config in BASELINES.items():
        settings = {f"{name}, limit {limit}": {"limit": limit}}
        asked = ask_histories(
            histories, "utterance", settings, noise, embedder=embedder, config=config
        )
        async for each in asked:
            yield each
    for history in histories:
        for question in history.questions:
            until = question.options.get("as_of", question.at)
            known = sorted((t for t in history.turns if t.at <= until), key=lambda turn: turn.at)
            turns = [
                Turn(text=said.text, speaker=said.speaker, at=said.at, id=number, session=1)
                for number, said in enumerate(known[-limit:], 1)
            ]
            parts = [
                Part(text=turn.text, memories=(), source_turns=(turn,), score=turn.id)
                for turn in turns
            ]
            found = Recollection(query=question.text, parts=tuple(parts))
            yield judge(history, question, f"{NEWEST}, limit {limit}", found)


def judge(
    history: AskedHistory, question: AskedQuestion, setting: str, found: Recollection
) -> Judged:
    """Return what was recalled for a question, judged by its labels."""
    parts = sorted(
        found.parts,
        key=lambda part: -(part.score if part.relevance is None else part.relevance),
    )
    text = _normal("\n".join(part.text for part in parts))
    places = {
        turn: min(
            (at for form in _forms(history.states[turn]) if (at := _find(text, form)) >= 0),
            default=-1,
        )
        for turn in {*question.current, *question.outdated, *question.needed}
    }
    current = [places[turn] for turn in question.current if places[turn] >= 0]
    old = [places[turn] for turn in question.outdated if places[turn] >= 0]
    needed = [places[turn] >= 0 for turn in question.needed]
    gold = {history.turns[turn].text for turn in {*question.current, *question.needed}}
    returned = [turn.text for turn in found.source_turns]
    has = all(words in found.text for words in question.has)
    hasnt = not any(words in found.text for words in question.hasnt)
    return Judged(
        history=history,
        question=question,
        setting=setting,
        shown=bool(current),
        first=bool(current) and (not old or min(current) < min(old)),
        outdated=bool(old) and not current,
        needed=sum(needed) / len(needed) if needed else 0.0,
        returned=len(returned),
        right=sum(text in gold for text in returned),
        tokens=count_tokens(found.text),
        is_empty=not found.text.strip(),
        is_right=has and hasnt and (not question.is_empty or not found.text.strip()),
        text=found.text,
    )


async def judge_told(judged: Sequence[Judged], judge: ScopedChat) -> list[Judged]:
    """Return the same, with what a model says that each recollection tells. Raises ModelError."""

    async def ask(one: Judged) -> Judged:
        question, turns = one.question, one.history.turns
        if not (said := sorted({*question.current, *question.needed})):
            return one
        told = await judge_recollection(
            question.text,
            one.text,
            said=[turns[turn] for turn in said],
            outdated=[turns[turn] for turn in question.outdated],
            judge=judge,
        )
        return replace(one, told=told)

    return await gather([partial(ask, one) for one in judged])


def measure(
    judged: Sequence[Judged], measures: Mapping[str, Measure] = MEASURES
) -> dict[str, Interval | None]:
    """Return the means of measures, with intervals; None where no question counts."""
    return {name: one.mean(judged) for name, one in measures.items()}


def _normal(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _forms(state: str) -> list[str]:
    """Return the forms by which a turn counts as shown: the whole, and sentences long enough."""
    forms = [_normal(state)]
    for sentence in _SENTENCE.split(state):
        form = _normal(sentence)
        if _UNSPACED.search(form):
            is_telling = len(form.replace(" ", "")) >= MIN_CHARACTERS
        else:
            is_telling = len(form.split()) >= MIN_WORDS
        if is_telling:
            forms.append(form)
    return forms


def _find(text: str, form: str) -> int:
    return f" {text} ".find(f" {form} ")
