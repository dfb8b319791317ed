"""Train a segmenter: ``python tools/train_segmenter.py train.json --base FOLDER --out FOLDER``.

Needs torch and transformers (the extra ``segmenter``). The base is a model of the kind of RoBERTa
in a folder; the data are dialogues with gold segments, such as SuperDialSeg's training part. SeCom
(2025) fine-tunes RoBERTa on SuperDialSeg and gives no settings; those here are usual ones.
`theanine bench segmentation DATA --segmenter trained:FOLDER` measures the result.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

from theanine_bench.datasets.segmentation import SegmentedDialogue, read_segmented
from theanine_methods.segmentation.trained import boundary_inputs, encode

LabeledInput = tuple[tuple[str, str], int]
"""What the model reads at a turn, and 1 if a segment begins there, else 0."""


def labeled_inputs(dialogues: Sequence[SegmentedDialogue]) -> list[LabeledInput]:
    """Return an input for each turn but the first of each dialogue."""
    labeled: list[LabeledInput] = []
    for dialogue in dialogues:
        starts = set(accumulate(dialogue.lengths[:-1]))
        inputs = boundary_inputs(dialogue.texts)
        labeled += [(each, int(at in starts)) for at, each in enumerate(inputs, 1)]
    return labeled


def batches(
    labeled: Sequence[LabeledInput], size: int, epochs: int, seed: int
) -> Iterator[Sequence[LabeledInput]]:
    """Yield batches of all inputs, in a new order each epoch."""
    random = Random(seed)
    for _ in range(epochs):
        order = random.sample(labeled, len(labeled))
        for first in range(0, len(order), size):
            yield order[first : first + size]


def train(
    labeled: Sequence[LabeledInput],
    base: Path,
    out: Path,
    *,
    epochs: int,
    rate: float,
    size: int,
    seed: int,
) -> float:
    """Fine-tune the base model, save it with its tokenizer, and return the last epoch's loss."""
    torch: Any = import_module("torch")
    library: Any = import_module("transformers")
    torch.manual_seed(seed)
    tokenizer = library.AutoTokenizer.from_pretrained(base, local_files_only=True)
    model = library.AutoModelForSequenceClassification.from_pretrained(
        base, num_labels=2, local_files_only=True
    ).train()
    steps = epochs * -(-len(labeled) // size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    schedule = library.get_linear_schedule_with_warmup(optimizer, steps // 10, steps)
    losses: list[float] = []
    for step, batch in enumerate(batches(labeled, size, epochs, seed), 1):
        inputs = encode(tokenizer, [each for each, _ in batch], model)
        loss = model(**inputs, labels=torch.tensor([label for _, label in batch])).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        if step % 100 == 0:
            print(f"step {step:,} of {steps:,}: loss {sum(losses[-100:]) / 100:.3f}")
    model.eval().save_pretrained(out)
    tokenizer.save_pretrained(out)
    last = losses[-(len(losses) // epochs) :]
    return sum(last) / len(last)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train with the settings of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, help="dialogues with gold segments")
    parser.add_argument("--base", type=Path, required=True, help="folder of the model to train")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=2e-5, help="learning rate")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    labeled = labeled_inputs(read_segmented(chosen.data))
    loss = train(
        labeled, chosen.base, chosen.out,
        epochs=chosen.epochs, rate=chosen.rate, size=chosen.batch, seed=chosen.seed,
    )  # fmt: skip
    print(f"{chosen.out}: {len(labeled):,} places, loss of the last epoch {loss:.3f}")


if __name__ == "__main__":
    main()
