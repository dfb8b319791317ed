"""Serve the papers' forms about a run as pages on this machine, for people to rate."""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from theanine.cli.options import JsonOption, show_json
from theanine.cli.rendering import console, pluralize, show_table

if TYPE_CHECKING:
    from theanine_bench.rating.forms import RatingForm
    from theanine_bench.rating.ratings import Ratings
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
            help="linking, refinement, entailment, helpfulness or perspectives; several may be.",
        ),
    ] = None,
    sample: Annotated[int, typer.Option(min=1, metavar="N", help="Tasks of each form.")] = 100,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the sample and of the sides.")] = 0,
    port: Annotated[int, typer.Option(min=0, max=65_535, metavar="N", help="0 takes any.")] = 8321,
    results: Annotated[
        bool, typer.Option("--results", help="Say what it comes to so far, and serve nothing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Serve the papers' forms about a run as pages on this machine, for people to rate.

    Each rater goes by a name and can stop and go on. The ratings are kept in the folder of the
    first run, the tasks too: all raters see the same ones. With two runs, what they recalled is
    compared without saying whose it is.

    \b
    theanine rate runs/qa-theanine-1a2b3c4d
    theanine rate runs/qa-theanine-1a2b3c4d runs/qa-turn-5e6f7a8b --form helpfulness
    theanine rate runs/qa-theanine-1a2b3c4d --results
    """
    from theanine_bench.runs.folder import RunFolder

    found = _ratings([RunFolder(run) for run in runs], form, sample, seed)
    if results or as_json:
        _show(found, as_json=as_json)
        return
    _serve(found, port)


def _ratings(
    runs: list[RunFolder], names: list[str] | None, sample: int, seed: int
) -> dict[str, Ratings]:
    """The forms asked for; else all that these runs hold something for."""
    import anyio

    from theanine.errors import BadInput
    from theanine_bench.rating.forms import FORMS, get_form
    from theanine_bench.rating.ratings import Ratings
    from theanine_bench.rating.tasks import draw_tasks, ratings_folder

    for run in runs:
        run.settings()  # says what is wrong where it is no run
    fitting = [form for form in FORMS.values() if form.runs == len(runs)]
    forms: list[RatingForm] = [get_form(name) for name in names] if names else fitting
    found: dict[str, Ratings] = {}
    for form in forms:
        try:
            tasks = anyio.run(partial(draw_tasks, runs, form, sample, seed))
        except BadInput:
            if names:
                raise
            continue
        found[form.name] = Ratings(ratings_folder(runs[0].path, form), form, tasks)
    if not found:
        raise BadInput("there is nothing to rate in it", ", ".join(str(run.path) for run in runs))
    return found


def _serve(ratings: dict[str, Ratings], port: int) -> None:
    from theanine_bench.rating.app import rating_app

    import uvicorn  # isort: skip  # behind the check that the extra is installed

    config = uvicorn.Config(rating_app(ratings), host="127.0.0.1", port=port, log_level="warning")
    server = uvicorn.Server(config)
    listening = config.bind_socket()
    listening.listen()  # who opens the address at once is made to wait, not turned away
    place = f"http://127.0.0.1:{listening.getsockname()[1]}"
    print(
        f"{pluralize(len(ratings), 'forms')} at {place} (Ctrl-C ends it)",
        file=sys.stderr,
        flush=True,
    )
    server.run(sockets=[listening])


def _show(ratings: dict[str, Ratings], *, as_json: bool) -> None:
    found = {name: one.results() for name, one in ratings.items()}
    if as_json:
        show_json({name: list(map(asdict, results)) for name, results in found.items()})
        return
    show_table(
        ["form", "question", "raters", "tasks", "by majority", "mean", "Fleiss' kappa"],
        (
            [
                name,
                one.question,
                one.raters,
                one.rated,
                ", ".join(f"{label} {share:.0%}" for label, share in one.shares.items()) or "–",
                "–" if one.mean is None else f"{one.mean:.2f}",
                "–" if one.kappa is None else f"{one.kappa:.3f} over {one.compared}",
            ]
            for name, results in found.items()
            for one in results
        ),
    )
    for name, one in ratings.items():
        console().print(f"{name}: {one.folder}", markup=False)
