"""The web pages on which people rate, served on loopback only."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from theanine.cli.text import csv_cell
from theanine.errors import BadInput, MissingExtra
from theanine_bench.rating.ratings import Rating, Ratings
from theanine_bench.report.page import page_templates, static_folder

try:
    from fastapi import FastAPI, HTTPException, Request
    from fastapi.responses import HTMLResponse, JSONResponse, Response
    from fastapi.staticfiles import StaticFiles
    from starlette.middleware.trustedhost import TrustedHostMiddleware
except ImportError as error:
    raise MissingExtra("rating", "rating on pages", "theanine-bench") from error

HOSTS = ("127.0.0.1", "localhost", "[::1]", "testserver")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


def rating_app(ratings: Mapping[str, Ratings]) -> FastAPI:
    """Build the application over the ratings of forms, by the form's name.

    It answers to loopback host names only, so that no page from elsewhere can reach it.
    """
    app = FastAPI(title="theanine rate", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(HOSTS))
    app.add_exception_handler(BadInput, _bad_input)
    app.mount("/static", StaticFiles(directory=static_folder()), name="static")
    views = _Views(ratings)
    app.get("/")(views.start)
    app.get("/forms/{form}")(views.rate)
    app.post("/forms/{form}/ratings")(views.add)
    app.get("/forms/{form}/ratings.csv")(views.export)
    app.get("/results")(views.results)
    app.get("/results.json")(views.results_json)
    return app


class _Views:
    """The request handlers."""

    def __init__(self, ratings: Mapping[str, Ratings]) -> None:
        self._ratings = ratings

    def start(self) -> HTMLResponse:
        """Render the start page, which asks for the rater's name and the form."""
        return self._page(
            "start.html", title="Rate", forms=list(map(_progress, self._ratings.values()))
        )

    def rate(self, form: str, rater: str) -> HTMLResponse:
        """Render a form's tasks for a rater."""
        ratings = self._get(form)
        return self._page(
            "rate.html",
            title=ratings.form.title,
            form=ratings.form,
            data=_page_data(ratings, rater),
            rater=rater.strip(),
        )

    async def add(self, form: str, request: Request) -> Response:
        """Store a rating."""
        if request.headers.get("content-type", "") != "application/json":
            raise HTTPException(415, "send JSON")
        try:
            sent = await request.json()
            rating = Rating(task=sent["task"], answers=sent["answers"], note=sent.get("note", ""))
            self._get(form).add(sent["rater"], rating)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise HTTPException(422, f"this is not a rating: {error}") from None
        return Response(status_code=204)

    def export(self, form: str) -> Response:
        """Return every rating of a form as CSV."""
        headers = {"Content-Disposition": f'attachment; filename="{form}.csv"'}
        return Response(as_csv(self._get(form)), media_type="text/csv", headers=headers)

    def results(self) -> HTMLResponse:
        """Render the results of all forms."""
        forms = [(each.form, each.results(), each.raters()) for each in self._ratings.values()]
        return self._page("results.html", title="Results", forms=forms)

    def results_json(self) -> JSONResponse:
        """Return the results of all forms as JSON."""
        return JSONResponse(
            {name: list(map(asdict, each.results())) for name, each in self._ratings.items()}
        )

    def _get(self, form: str) -> Ratings:
        if form not in self._ratings:
            raise HTTPException(404, f"unknown form {form!r}")
        return self._ratings[form]

    def _page(self, name: str, **values: Any) -> HTMLResponse:
        text = page_templates().get_template(f"rating/{name}").render(**values)
        return HTMLResponse(text, headers={"Content-Security-Policy": POLICY})


def _bad_input(_: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, 422)


def as_csv(ratings: Ratings) -> str:
    """Return all ratings as CSV, a row each."""
    out = io.StringIO()
    columns = ["rater", "task", *(question.id for question in ratings.form.questions), "note"]
    writer = csv.DictWriter(out, columns, restval="")
    writer.writeheader()
    for row in ratings.rows():
        writer.writerow({name: csv_cell(value) for name, value in row.items()})
    return out.getvalue()


def _progress(ratings: Ratings) -> dict[str, Any]:
    done = {rater: len(ratings.by_rater(rater)) for rater in ratings.raters()}
    return {"form": ratings.form, "tasks": len(ratings.tasks), "done": done}


def _page_data(ratings: Ratings, rater: str) -> dict[str, Any]:
    """Return the data for the page's script."""
    return {
        "form": ratings.form.name,
        "rater": rater.strip(),
        "questions": [asdict(question) for question in ratings.form.questions],
        "tasks": [
            {"id": task.id, "blocks": [asdict(block) for block in task.blocks]}
            for task in ratings.tasks
        ],
        "ratings": {task: asdict(rating) for task, rating in ratings.by_rater(rater).items()},
    }
