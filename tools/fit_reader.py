"""Fit a reader: does a passage tell what a question asks? Print what it would gain.

    python tools/fit_reader.py --base FOLDER --out FOLDER --diaries FILE … --changes FILE …
        --conversations FILE … --answers FILE … --judge FILE … --judge-changes FILE …

The base is that of ``fit_encoder.py``, of which the first layers are taken. What it reads are the
best candidates of a question in the product's ranking. A step takes some questions, each with
passages that answer it or did, some of the best others, and nothing: what answers is to have the
highest logit, or where nothing does, all are to have one below 0. Of one question in four what
answers is left out. ``--answers`` are files of SelQA, questions each with the sentences of a
section, or of FriendsQA, each with the utterances of a scene. Every fifth conversation is left out
and judged, as are the diaries of ``--judge``; what ``compose_attributes.py`` writes has the form of
diaries.

No reader ships. Fitted on the corpus's diaries and changes and on conversations, it put what was
said before what was not in .80 of the pairs of unseen diaries, the ranking in .73; but of plain
statements about five people, which ``test_never_told.py`` has, in .58, the ranking in .98. Fitted
once over 16,000 questions, of them 4,556 of composed attributes and 4,758 of SelQA and FriendsQA,
it and the ranking together put the answer first for .71 of unseen attributes (the ranking alone:
.55) and .61 of unseen diaries (.61), left .08 and .15 of what was never said without an answer
(.03 and .07), and put .88 of the plain statements right (.93). Its loss still fell. Needs
torch, transformers and scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pair_network import PairNetwork, plan_steps
from relevance_samples import (
    FOLDS,
    POINT,
    Conversation,
    Log,
    embedding,
    read_change_questions,
    read_diaries,
    window,
)
from sklearn.linear_model import LogisticRegression
from transformers import AutoTokenizer

from theanine.embeddings import encoder
from theanine.retrieval.candidates import Candidate
from theanine.retrieval.relevance import load_model
from theanine_bench.datasets.evidence import read_evidence

LAYERS = 4
READ = 4
"""Best candidates that are read."""
TOKENS, QUESTION = 120, 240
"""Tokens of a pair that are read, and the last characters of its question."""
TOP = 12
"""Best candidates of a question that are fitted on."""
STEP, RATE = 8, 7e-5
LEFT_OUT = 0.25
"""Share of the questions of which what answers is left out."""
LOST = 0.01
"""Share of the questions with an answer that may get none."""
WINDOWS = 80
"""Questions asked of small parts of each conversation."""
FOREIGN = 50
"""Questions of other conversations asked of each one."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question with the best passages.

    Attributes:
        passages: each with its logit in the ranking, and whether it answers or once did.
        known: whether anything that was said answers it.
    """

    question: str
    passages: Sequence[tuple[str, float, bool]]
    known: bool


class Passages:
    """The passages of a log, as recall reads them."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self._turns = {turn.id: turn for turn in log.turns}
        self._spans = log.index.spans(range(len(log.index)))

    def ask(self, question: str, gold: frozenset[int], *, asker: str, **bounds: Any) -> Asked:
        """Return the best passages for a question; ``gold`` are turns that answer it, or did."""
        index = self.log.index
        features, positions = self.log.find(question, asker=asker, **bounds)
        logits = load_model(encoder.NAME).apply(features)[0]
        passages: list[tuple[str, float, bool]] = []
        found: set[int] = set()
        for place in np.argsort(-logits).tolist():
            position = int(positions[place])
            turn = int(index.turns[position])
            if turn in gold and turn in found:  # this other passage of it may answer or not
                continue
            if len(passages) < TOP or (turn in gold and len(passages) < TOP + 2):
                found.add(turn)
                said = self._turns[turn]
                text = Candidate(said, self._spans[position]).text
                passages.append((f"{said.speaker}: {text}", float(logits[place]), turn in gold))
        return Asked(
            question=f"{asker}: {question}"[-QUESTION:], passages=passages, known=bool(gold)
        )


def ask_diaries(paths: Sequence[Path]) -> Iterator[Asked]:
    """Yield the questions of diaries."""
    passages: Passages | None = None
    for log, _, question in read_diaries(paths):
        if question["form"] == "tells":
            continue
        if passages is None or passages.log is not log:
            passages = Passages(log)
        gold = frozenset(at + 1 for at in [*question["turns"], *question.get("outdated", ())])
        yield passages.ask(
            question["q"], gold, asker=question["asker"], at=log.last + timedelta(days=10)
        )


def ask_changes(path: Path, foreign: Path) -> Iterator[Asked]:
    """Yield the English questions of change cases, of cases as if one person had lived them."""
    passages: Passages | None = None
    for asked in read_change_questions(path, foreign):
        if asked.case["language"] != "en" or asked.memory != "mixed":
            continue
        if passages is None or passages.log is not asked.log:
            passages = Passages(asked.log)
        question = asked.question
        places = {at for name in ("current", "needed", "outdated") for at in question[name]}
        known = bool(question["current" if question["asks"] in POINT else "needed"])
        gold = frozenset(asked.number[at] for at in places) if known else frozenset[int]()
        yield passages.ask(asked.text, gold, asker=asked.asker, at=asked.at, upto=asked.upto)


def ask_conversations(path: Path, *, left_out: bool) -> Iterator[Asked]:
    """Yield the questions of conversations, and of others asked of each."""
    conversations = [Conversation(labeled) for labeled in read_evidence(path)]
    for place, own in enumerate(conversations):
        if (place % FOLDS == FOLDS - 1) is not left_out:
            continue
        passages = Passages(own)
        for question, gold in own.all_questions:
            answering = gold if question.answerable else frozenset[int]()
            yield passages.ask(question.text, answering, asker=own.asker, at=question.asked_at)
        texts = [q.text for other in conversations if other is not own for q, _ in other.questions]
        for text in Random(place).sample(texts, min(FOREIGN, len(texts))):
            yield passages.ask(text, frozenset(), asker=own.asker)


def ask_windows(path: Path) -> Iterator[Asked]:
    """Yield questions asked of small parts of the conversations left out."""
    for place, labeled in enumerate(read_evidence(path)):
        if place % FOLDS != FOLDS - 1:
            continue
        random, own = Random(place), Conversation(labeled)
        questions = [(question, gold) for question, gold in own.questions if gold]
        for question, gold in random.sample(questions, min(WINDOWS, len(questions))):
            turns = window(own.turns, gold, random)
            passages, ids = Passages(Log(turns)), {turn.id for turn in turns}
            yield passages.ask(question.text, gold, asker=own.asker)
            absent = [other.text for other, evidence in questions if not evidence & ids]
            for text in random.sample(absent, min(1, len(absent))):
                yield passages.ask(text, frozenset(), asker=own.asker)


def ask_scenes(path: Path) -> Iterator[Asked]:
    """Yield the questions of a file of FriendsQA, each with the utterances most like it."""
    for scene in json.loads(path.read_text())["data"]:
        for part in scene["paragraphs"]:
            said = {
                each["uid"]: f"{' and '.join(each['speakers'])}: {each['utterance']}"
                for each in part["utterances:"]
            }
            for asked in part["qas"]:
                gold = {answer["utterance_id"] for answer in asked["answers"]}
                words = set(asked["question"].lower().split())
                others = sorted(
                    said.keys() - gold,
                    key=lambda uid: len(words.intersection(said[uid].lower().split())),
                )
                chosen = [*sorted(gold & said.keys()), *others[: -TOP - 1 : -1]]
                yield Asked(
                    question=asked["question"],
                    passages=[(said[uid], 0.0, uid in gold) for uid in chosen],
                    known=bool(gold),
                )


def ask_sections(path: Path) -> Iterator[Asked]:
    """Yield the questions of a file of SelQA."""
    for entry in json.loads(path.read_text()):
        yield Asked(
            question=entry["question"],
            passages=[
                (text, 0.0, place in entry["answers"])
                for place, text in enumerate(entry["candidates"])
            ],
            known=bool(entry["answers"]),
        )


class Network(PairNetwork):
    """A network with one output."""

    def __init__(self, base: Path) -> None:
        super().__init__(base, layers=LAYERS, outputs=1)

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Return a logit for each pair, ``(n,)``."""
        return super().forward(*inputs)[:, 0]


def read(model: Network, tokenizer: Any, pairs: Sequence[tuple[str, str]]) -> torch.Tensor:
    """Return the logits of pairs, ``(n,)``; those of like length are run together."""
    read = tokenizer(
        [question for question, _ in pairs],
        [passage for _, passage in pairs],
        truncation="only_second",
        max_length=TOKENS,
    )
    ids, types = read["input_ids"], read["token_type_ids"]
    order = sorted(range(len(ids)), key=lambda at: len(ids[at]))
    parts: list[torch.Tensor] = []
    for start in range(0, len(order), 16):
        batch = order[start : start + 16]
        width = max(len(ids[at]) for at in batch)

        def padded(rows: Sequence[Sequence[int]], width: int = width) -> torch.Tensor:
            return torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])

        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=model.training):
            logits = model(
                padded([ids[at] for at in batch]),
                padded([[1] * len(ids[at]) for at in batch]),
                padded([types[at] for at in batch]),
            )
        parts.append(logits.float())
    return torch.cat(parts)[torch.argsort(torch.tensor(order))]


def loss_of(model: Network, tokenizer: Any, step: Sequence[Asked], random: Random) -> torch.Tensor:
    """Return the mean loss of some questions."""
    pairs: list[tuple[str, str]] = []
    sizes: list[tuple[int, int]] = []
    for asked in step:
        answers = [text for text, _, answers in asked.passages if answers]
        others = [text for text, _, answers in asked.passages if not answers]
        random.shuffle(answers)
        answers = [] if random.random() < LEFT_OUT else answers[:2]
        best, rest = others[:5], others[5:]
        chosen = random.sample(best, min(3, len(best))) + random.sample(rest, min(2, len(rest)))
        sizes.append((len(answers), len(answers) + len(chosen)))
        pairs += [(asked.question, text) for text in [*answers, *chosen]]
    logits = read(model, tokenizer, pairs)
    losses: list[torch.Tensor] = []
    for right, size in sizes:
        own, logits = logits[:size], logits[size:]
        nothing = torch.zeros(1)
        losses.append(
            torch.logsumexp(torch.cat([own, nothing]), 0)
            - torch.logsumexp(own[:right] if right else nothing, 0)
        )
    return torch.stack(losses).mean()


def fit(model: Network, tokenizer: Any, asked: Sequence[Asked], out: Path, *, epochs: int) -> None:
    """Fit the reader and save it."""
    usable = [
        each
        for each in asked
        if each.passages and (not each.known or any(right for _, _, right in each.passages))
    ]
    total = epochs * (len(usable) // STEP)
    optimizer, schedule = plan_steps(model.parameters(), RATE, total)
    losses: list[float] = []
    begun = time.monotonic()
    for epoch in range(epochs):
        random = Random(epoch)
        order = random.sample(usable, len(usable))
        for start in range(0, len(order) - STEP + 1, STEP):
            loss = loss_of(model, tokenizer, order[start : start + STEP], random)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            if len(losses) % 100 == 0:
                pace = (time.monotonic() - begun) / len(losses)
                print(
                    f"  {len(losses)} of {total} steps, {pace:.2f} s each: "
                    f"{np.mean(losses[-100:]):.3f}",
                    flush=True,
                )
    out.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), out / "reader.pt")


def features_of(model: Network, tokenizer: Any, asked: Asked) -> list[float]:
    """Return what the chance of an answer is made of.

    That is the best passage's logit in the ranking, what it tells, the most that a passage that is
    read tells, and the mean.
    """
    best = asked.passages[:READ]
    model.eval()
    with torch.inference_mode():
        told = read(model, tokenizer, [(asked.question, text) for text, _, _ in best]).numpy()
    return [best[0][1], float(told[0]), float(told.max()), float(told.mean())]


def judge(model: Network, tokenizer: Any, sources: dict[str, list[Asked]]) -> None:
    """Print how many questions of each source are left without an answer, if fitted on the others.

    The chance of an answer and the least of it are those that lose one in a hundred questions of
    the others that have an answer; each source weighs the same. Printed is the share of the
    questions without and with an answer that get none, and how often one with an answer has a
    higher chance than one without.
    """
    features: dict[str, NDArray[np.float64]] = {}
    known: dict[str, NDArray[np.bool_]] = {}
    for name, each in sources.items():
        usable = [asked for asked in each if asked.passages]
        features[name] = np.array([features_of(model, tokenizer, asked) for asked in usable])
        known[name] = np.array([asked.known for asked in usable])
    for columns, title in (([0], "the ranking alone"), ([0, 1, 2, 3], "with the reader")):
        print(title)
        for name in sources:
            others = [other for other in sources if other != name]
            rows = np.concatenate([features[other][:, columns] for other in others])
            labels = np.concatenate([known[other] for other in others])
            weights = np.concatenate(
                [np.full(len(known[other]), 1 / len(known[other])) for other in others]
            )
            fitted = LogisticRegression(C=100).fit(rows, labels, weights * len(weights))
            least = np.quantile(fitted.decision_function(rows)[labels], LOST)
            own = fitted.decision_function(features[name][:, columns])
            with_answer, without = own[known[name]], own[~known[name]]
            print(
                f"  {name}: none for {np.mean(without < least):.2f} of {len(without)} without an "
                f"answer and {np.mean(with_answer < least):.3f} of {len(with_answer)} with one; "
                f"higher with one {np.mean(with_answer[:, None] > without):.3f}"
            )


def main() -> None:
    """Read the command line, fit and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("diaries", "changes", "conversations", "answers", "judge", "judge-changes"):
        parser.add_argument(f"--{name}", type=Path, nargs="*", default=[])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=2)
    options = parser.parse_args()
    torch.manual_seed(0)
    embedding.use(encoder.NAME)
    model, tokenizer = Network(options.base), AutoTokenizer.from_pretrained(options.base)
    weights = options.out / "reader.pt"
    if weights.exists():
        model.load_state_dict(torch.load(weights))
    else:
        asked = [*ask_diaries(options.diaries)]
        for path in options.changes:
            asked += ask_changes(path, options.conversations[0])
        for path in options.conversations:
            asked += ask_conversations(path, left_out=False)
        for path in options.answers:
            is_of_scenes = path.read_text().lstrip().startswith("{")
            asked += (ask_scenes if is_of_scenes else ask_sections)(path)
        fit(model, tokenizer, asked, options.out, epochs=options.epochs)
    sources = {path.name: [*ask_diaries([path])] for path in options.judge}
    for path in options.judge_changes:
        sources[path.name] = [*ask_changes(path, options.conversations[0])]
    for path in options.conversations:
        sources[path.name] = [*ask_conversations(path, left_out=True)]
        sources[f"small parts of {path.name}"] = [*ask_windows(path)]
    judge(model, tokenizer, sources)


if __name__ == "__main__":
    main()
