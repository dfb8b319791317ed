"""Draw worked examples for few-shot replies from a run on the validation set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from theanine.cli.output import check_writable, write_text
from theanine.cli.text import pluralize
from theanine_bench.runs.folder import RunFolder
from theanine_bench.tasks.examples import draw_examples


def examples(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder of a run of `bench responses`.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File of examples to write.")],
    count: Annotated[int, typer.Option(min=1, metavar="N", help="Number of examples.")] = 3,
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed.")] = 0,
) -> None:
    """Draw worked examples for few-shot replies from a run on the validation set.

    An example is what the run's method recalled for a sample, the dialogue, and the reply that a
    person gave. Use them for a run on the test set.

    \b
    theanine bench responses msc-valid --method recursive-summary --model openai:m --out runs/valid
    theanine bench examples runs/valid --count 3 --out examples.md
    theanine bench responses msc --method recursive-summary --model openai:m \\
        --set examples=examples.md --set demonstrations=3
    """
    check_writable(out)
    write_text(out, draw_examples(RunFolder(run), count, seed))
    print(f"{out}: {pluralize(count, 'examples')}")
