"""Serve the papers' rating forms as local pages."""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import typer

from theanine.cli.options import JsonOption, show_json
from theanine.cli.rendering import console, pluralize, show_table
from theanine.errors import BadInput
from theanine_bench.rating.forms import FORMS, get_form
from theanine_bench.rating.ratings import Ratings
from theanine_bench.rating.tasks import draw_tasks, ratings_folder
from theanine_bench.runs.folder import RunFolder


def rate(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN…", help="Folders of runs; two are compared.")
    ],
    form: Annotated[
        list[str] | None,
        typer.Option(
            "--form",
            metavar="NAME",
            help="summaries, linking, refinement, entailment, helpfulness or perspectives; "
            "repeatable (default: all that fit).",
        ),
    ] = None,
    sample: Annotated[int, typer.Option(min=1, metavar="N", help="Tasks of each form.")] = 100,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Random seed of the sample and of the order of runs.")
    ] = 0,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, metavar="N", help="Port to serve on; 0 for any.")
    ] = 8321,
    results: Annotated[
        bool, typer.Option("--results", help="Print the results so far; serve nothing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Serve the papers' rating forms as local pages.

    Each rater enters a name and can stop and continue. Ratings and tasks are stored in the folder
    of the first run; all raters see the same tasks. With two runs, their recollections are compared
    without naming the runs. Where the metric needs-past has judged a run, entailment is rated of
    the turns that need the past.

    \b
    theanine rate runs/qa-theanine-1a2b3c4d
    theanine rate runs/qa-theanine-1a2b3c4d runs/qa-turn-5e6f7a8b --form helpfulness
    theanine rate runs/qa-theanine-1a2b3c4d --results
    """
    ratings = _open_ratings([RunFolder(run) for run in runs], form or [], sample, seed)
    if results or as_json:
        _show(ratings, as_json=as_json)
    else:
        _serve(ratings, port)


def _open_ratings(
    runs: list[RunFolder], names: list[str], sample: int, seed: int
) -> dict[str, Ratings]:
    """Return the ratings of the named forms, by default of all forms that fit the runs."""
    for run in runs:
        run.settings()  # raises BadInput if the folder is not a run's
    forms = [get_form(name) for name in names]
    ratings: dict[str, Ratings] = {}
    for form in forms or [form for form in FORMS.values() if form.runs == len(runs)]:
        try:
            tasks = anyio.run(partial(draw_tasks, runs, form, sample, seed))
        except BadInput:
            if names:
                raise
            continue
        ratings[form.name] = Ratings(ratings_folder(runs[0].path, form), form, tasks)
    if not ratings:
        raise BadInput("there is nothing to rate in it", ", ".join(str(run.path) for run in runs))
    return ratings


def _serve(ratings: dict[str, Ratings], port: int) -> None:
    from theanine_bench.rating.app import rating_app

    import uvicorn  # isort: skip  # only after rating.app has checked that the extra is installed

    config = uvicorn.Config(rating_app(ratings), host="127.0.0.1", port=port, log_level="warning")
    server = uvicorn.Server(config)
    listener = config.bind_socket()
    listener.listen()  # early requests wait instead of being refused
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    print(
        f"{pluralize(len(ratings), 'forms')} at {url} (Ctrl-C to stop)", file=sys.stderr, flush=True
    )
    server.run(sockets=[listener])


def _show(ratings: dict[str, Ratings], *, as_json: bool) -> None:
    results = {name: form_ratings.results() for name, form_ratings in ratings.items()}
    if as_json:
        show_json({name: list(map(asdict, rows)) for name, rows in results.items()})
        return
    show_table(
        ["form", "question", "raters", "tasks", "by majority", "mean", "Fleiss' kappa", "alpha"],
        (
            [
                name,
                row.question,
                row.raters,
                row.rated,
                ", ".join(f"{label} {share:.0%}" for label, share in row.shares.items()) or "–",
                "–" if row.mean is None else f"{row.mean:.2f}",
                "–" if row.kappa is None else f"{row.kappa:.3f} over {row.compared}",
                "–" if row.alpha is None else f"{row.alpha:.3f}",
            ]
            for name, rows in results.items()
            for row in rows
        ),
    )
    for name, form_ratings in ratings.items():
        console().print(f"{name}: {form_ratings.folder}", markup=False)
