"""Fit an encoder that brings questions and what answers them together.

    python tools/fit_encoder.py --base FOLDER --out FOLDER CORPUS.jsonl … [--diaries FOLDER …]

The base is a sentence encoder of the kind of BERT with mean pooling (all-MiniLM-L6-v2). Each step
takes whole histories: each of their questions is to be nearer to the turns that answer it than to
all other turns of the step; turns that answered it once (``outdated``) count on neither side. The
state is saved after each epoch, and a run that was stopped goes on from there. Prints, for
each file of ``--judge``, how often the nearest turn of a question's history answers it, and its
recall at 5 and 10. Needs torch, transformers and onnx.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from transformers import AutoModel, AutoTokenizer

from theanine.retrieval.candidates import turn_texts
from theanine.types import Turn
from theanine_bench.datasets.evidence import read_evidence

TEXT_TOKENS, QUESTION_TOKENS = 96, 64
TEMPERATURE = 0.05
RATE = 6e-5
TURNS = 90
"""Turns of a step, at least: histories are added until there are so many."""
LONG = 60
"""Consecutive turns into which long histories are cut, each time elsewhere."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A history with its questions, each with the places of turns that answer it, or did."""

    texts: Sequence[str]
    questions: Sequence[tuple[str, frozenset[int], frozenset[int]]]


def turns_of(rows: Sequence[dict[str, Any]]) -> list[Turn]:
    sessions: dict[str, int] = {}
    return [
        Turn(
            text=row["text"],
            speaker=row["speaker"],
            role=row["role"],
            at=datetime.fromisoformat(row["at"]).replace(tzinfo=UTC),
            id=number,
            session=sessions.setdefault(row.get("session", row["at"][:10]), len(sessions) + 1),
        )
        for number, row in enumerate(rows, 1)
    ]


def read_corpus(path: Path) -> Iterator[Asked]:
    """Yield the histories of a part of the corpus, or of a diary."""
    records = (
        [json.loads(path.read_text())]
        if path.suffix == ".json"
        else [json.loads(line) for line in path.open()]
    )
    for record in records:
        yield Asked(
            texts=turn_texts(turns_of(record["turns"])),
            questions=[
                (
                    question["q"],
                    frozenset(question.get("turns") or question.get("current") or ()),
                    frozenset(question.get("outdated", ())) | frozenset(question.get("needed", ())),
                )
                for question in record["questions"]
            ],
        )


def read_conversations(path: Path, without: str = "") -> Iterator[Asked]:
    """Yield the conversations of a data set of questions with evidence.

    ``without`` is ``K/N``: every N-th is left out, from the K-th on, counted from 0.
    """
    left_out, _, parts = without.partition("/")
    for place, labeled in enumerate(read_evidence(path)):
        if parts and place % int(parts) == int(left_out):
            continue
        turns: list[Turn] = []
        places: dict[tuple[str, str], int] = {}
        for session, transcript in enumerate(labeled.history.transcripts, 1):
            for number, said in enumerate(transcript.turns, 1):
                key = said.key or f"#{number}"
                places[transcript.key, key] = places["", key] = len(turns)
                turns.append(
                    Turn(
                        text=said.full_text,
                        speaker=said.speaker,
                        role=said.role,
                        at=said.at or datetime(2026, 1, 1, tzinfo=UTC),
                        id=len(turns) + 1,
                        session=session,
                    )
                )
        yield Asked(
            texts=turn_texts(turns),
            questions=[
                (q.text, frozenset(places[ref] for ref in q.gold), frozenset())
                for q in labeled.questions
                if q.answerable
            ],
        )


class Encoder:
    """A model with mean pooling, and its tokenizer."""

    def __init__(self, base: Path) -> None:
        self.tokenizer: Any = AutoTokenizer.from_pretrained(base)
        self.model: Any = AutoModel.from_pretrained(base)

    def encode(self, texts: Sequence[str], limit: int) -> torch.Tensor:
        """Return unit vectors, ``(n, d)``; texts of like length are run together."""
        ids: list[list[int]] = self.tokenizer(
            list(texts), truncation=True, max_length=limit, verbose=False
        )["input_ids"]
        order = sorted(range(len(ids)), key=lambda at: len(ids[at]))
        rows: list[torch.Tensor] = []
        for start in range(0, len(order), 16):
            batch = [ids[at] for at in order[start : start + 16]]
            width = max(map(len, batch))
            padded = torch.tensor([each + [0] * (width - len(each)) for each in batch])
            mask = torch.tensor([[1] * len(each) + [0] * (width - len(each)) for each in batch])
            hidden = self.model(input_ids=padded, attention_mask=mask).last_hidden_state
            weights = mask[:, :, None].float()
            rows.append((hidden * weights).sum(1) / weights.sum(1))
        vectors = torch.cat(rows)[torch.argsort(torch.tensor(order))]
        return torch.nn.functional.normalize(vectors, dim=1)

    def vectors(self, texts: Sequence[str], limit: int = TEXT_TOKENS) -> NDArray[np.float32]:
        """Return vectors without gradients."""
        self.model.eval()
        with torch.inference_mode():
            parts = [
                self.encode(texts[at : at + 256], limit).numpy() for at in range(0, len(texts), 256)
            ]
        self.model.train()
        return np.concatenate(parts)


def steps(histories: Sequence[Asked], random: Random) -> Iterator[list[Asked]]:
    """Yield the histories of each step of an epoch, long ones in parts."""
    cut = [part for asked in histories for part in _parts(asked, random) if part.questions]
    order = random.sample(cut, len(cut))
    batch: list[Asked] = []
    for asked in order:
        batch.append(asked)
        if sum(map(len, (each.texts for each in batch))) >= TURNS:
            yield batch
            batch = []
    if batch:
        yield batch


def _parts(asked: Asked, random: Random) -> Iterator[Asked]:
    """Yield a history in parts, each with the questions that a turn of it answers."""
    if len(asked.texts) <= LONG:
        yield asked
        return
    first = random.randrange(LONG // 2, LONG)
    for start in range(first - LONG, len(asked.texts), LONG):
        kept = range(max(start, 0), min(start + LONG, len(asked.texts)))
        questions = [
            (
                text,
                frozenset(at - kept.start for at in gold if at in kept),
                frozenset(at - kept.start for at in old if at in kept),
            )
            for text, gold, old in asked.questions
            if any(at in kept for at in gold)
        ]
        yield Asked(texts=asked.texts[kept.start : kept.stop], questions=questions)


def loss_of(encoder: Encoder, batch: Sequence[Asked]) -> torch.Tensor | None:
    """Return the loss of a step: of each question, the share of what does not answer it."""
    texts = [text for asked in batch for text in asked.texts]
    questions: list[str] = []
    rows: list[tuple[int, frozenset[int], frozenset[int]]] = []
    start = 0
    for asked in batch:
        for text, gold, old in asked.questions:
            if gold:
                questions.append(text)
                rows.append((start, gold, old))
        start += len(asked.texts)
    if not questions:
        return None
    right = torch.zeros(len(questions), len(texts), dtype=torch.bool)
    ignored = torch.zeros_like(right)
    for row, (start, gold, old) in enumerate(rows):
        right[row, [start + at for at in gold]] = True
        ignored[row, [start + at for at in old - gold]] = True
    logits = (
        encoder.encode(questions, QUESTION_TOKENS)
        @ encoder.encode(texts, TEXT_TOKENS).T
        / TEMPERATURE
    ).masked_fill(ignored, -1e4)
    shares = torch.log_softmax(logits, 1)
    return -(shares * right).sum(1).div(right.sum(1)).mean()


def fit(
    encoder: Encoder, histories: Sequence[Asked], out: Path, *, epochs: int, judged: Sequence[Path]
) -> None:
    """Fit the encoder, going on after the last epoch that was saved."""
    state_path = out / "state.pt"
    optimizer = torch.optim.AdamW(encoder.model.parameters(), lr=RATE, weight_decay=0.01)
    total = epochs * sum(1 for _ in steps(histories, Random(0)))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / 30, max(1 - step / (total + 1), 0.02))
    )
    done = 0
    if state_path.exists():
        state = torch.load(state_path)
        encoder.model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        done = state["epochs"]
    for epoch in range(done, epochs):
        encoder.model.train()
        losses: list[float] = []
        begun = time.monotonic()
        for number, batch in enumerate(steps(histories, Random(epoch)), 1):
            if (loss := loss_of(encoder, batch)) is None:
                continue
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(encoder.model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            if number % 20 == 0:
                pace = (time.monotonic() - begun) / number
                print(
                    f"  {number} steps, {pace:.1f} s each: {np.mean(losses[-20:]):.3f}", flush=True
                )
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.3f}", flush=True)
        out.mkdir(parents=True, exist_ok=True)
        partial = state_path.with_suffix(".tmp")
        torch.save(
            {
                "model": encoder.model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "schedule": schedule.state_dict(),
                "epochs": epoch + 1,
            },
            partial,
        )
        partial.replace(state_path)
        encoder.model.save_pretrained(out)
        encoder.tokenizer.save_pretrained(out)
        for path in judged:
            judge(encoder, path)


def judge(encoder: Encoder, path: Path) -> None:
    """Print how well the plain cosine finds the turns that answer the questions of a file."""
    read = read_conversations if path.suffix != ".jsonl" else read_corpus
    first, among5, among10 = [], [], []
    for asked in read(path):
        questions = [(text, gold) for text, gold, _ in asked.questions if gold]
        if not questions:
            continue
        cosines = (
            encoder.vectors([text for text, _ in questions], QUESTION_TOKENS)
            @ encoder.vectors(asked.texts).T
        )
        for (_, gold), row in zip(questions, cosines, strict=True):
            ranked: list[int] = np.argsort(-row).tolist()
            first.append(ranked[0] in gold)
            among5.append(len(gold & set(ranked[:5])) / len(gold))
            among10.append(len(gold & set(ranked[:10])) / len(gold))
    print(
        f"{path.name}: {len(first)} questions, first {np.mean(first):.3f}, "
        f"@5 {np.mean(among5):.3f}, @10 {np.mean(among10):.3f}",
        flush=True,
    )


def export(encoder: Encoder, folder: Path) -> None:
    """Write the model, rounded to 8 bits, and its tokenizer as theanine reads them."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    class Pooled(torch.nn.Module):
        def __init__(self, model: torch.nn.Module) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            hidden = self.model(input_ids=input_ids, attention_mask=attention_mask)
            weights = attention_mask[:, :, None].float()
            pooled = (hidden.last_hidden_state * weights).sum(1) / weights.sum(1)
            return torch.nn.functional.normalize(pooled, dim=1)

    with tempfile.TemporaryDirectory() as work:
        torch.onnx.export(
            Pooled(encoder.model.eval()).eval(),
            (torch.ones(2, 4, dtype=torch.long), torch.ones(2, 4, dtype=torch.long)),
            f"{work}/float.onnx",
            input_names=["input_ids", "attention_mask"],
            output_names=["vectors"],
            dynamic_axes={
                "input_ids": {0: "texts", 1: "tokens"},
                "attention_mask": {0: "texts", 1: "tokens"},
                "vectors": {0: "texts"},
            },
            opset_version=17,
            dynamo=False,  # the other way needs onnxscript
        )
        # Half of the range, for processors whose 8-bit sums overflow.
        quantize_dynamic(
            f"{work}/float.onnx",
            str(folder / "model.onnx"),
            weight_type=QuantType.QInt8,
            per_channel=True,
            reduce_range=True,
        )
    share_words(folder / "model.onnx")
    encoder.tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))


def share_words(path: Path, encoder: Path | None = None) -> None:
    """Move a model's vectors of words to ``words.bin`` beside it, or use those of an encoder."""
    model = onnx.load(path)
    words, scale, zero = word_vectors(model)
    if encoder:
        own = word_vectors(onnx.load(encoder, load_external_data=False))
        scale.CopyFrom(rename(own[1], scale.name))
        zero.CopyFrom(rename(own[2], zero.name))
    else:
        path.with_name("words.bin").write_bytes(numpy_helper.to_array(words).tobytes())
    size = path.with_name("words.bin").stat().st_size
    words.ClearField("raw_data")
    words.ClearField("int32_data")
    words.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", "words.bin"), ("offset", "0"), ("length", str(size))):
        words.external_data.add(key=key, value=value)
    path.write_bytes(model.SerializeToString())


def word_vectors(model: Any) -> list[Any]:
    """Return the tensors of a model's vectors of words, of their scale and of their zero."""
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    name = next(name for name in tensors if name.endswith("word_embeddings.weight_quantized"))
    stem = name.removesuffix("quantized")
    return [tensors[stem + part] for part in ("quantized", "scale", "zero_point")]


def rename(tensor: Any, name: str) -> Any:
    """Return a copy of a tensor by another name."""
    result = onnx.TensorProto()
    result.CopyFrom(tensor)
    result.name = name
    return result


def main() -> None:
    """Read the command line, fit and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, nargs="*")
    parser.add_argument("--conversations", type=Path, nargs="*", default=[])
    parser.add_argument("--without", default="", metavar="K/N", help="conversations left out")
    parser.add_argument("--export", type=Path, help="write the files that theanine reads there")
    parser.add_argument("--judge", type=Path, nargs="*", default=[])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=4)
    options = parser.parse_args()
    torch.manual_seed(0)
    encoder = Encoder(options.base)
    for path in options.judge:
        judge(encoder, path)
    histories = [asked for path in options.corpus for asked in read_corpus(path)]
    for path in options.conversations:
        histories += read_conversations(path, options.without)
    fit(encoder, histories, options.out, epochs=options.epochs, judged=options.judge)
    if options.export:
        export(encoder, options.export)


if __name__ == "__main__":
    main()
