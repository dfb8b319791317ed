"""Evaluation runs of ``theanine-bench`` in the folder ``runs`` where the service was started.

Comparisons that a tenant has asked for are in a folder of their own in it. All other runs may have
words of anybody, and are shown only to whoever needs no key, at the machine itself.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from theanine.client import AsyncClient
from theanine.errors import NotFound
from theanine.methods.registry import names
from theanine_server import operations as work
from theanine_server.access import ONCE, Administrator, bind
from theanine_server.bodies import JsonBody, JsonRoute
from theanine_server.comparing import (
    all_runs,
    is_installed,
    remove_outdated_runs,
    require_bench,
    runs_folder,
)
from theanine_server.context import Principal
from theanine_server.operations import Operation
from theanine_server.problems import Refused, responses, write_responses
from theanine_server.state import ServerState, State

router = APIRouter(prefix="/v1/evaluation", route_class=JsonRoute, tags=["operations"])

_REPORT = "report.html"
_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; font-src data:"
)
"""Content-Security-Policy of reports: no access to the page's cookie and storage, no network."""


class Run(BaseModel):
    """A finished run.

    ``scores`` are means by method or category and metric; the key ``""`` is all together.
    """

    name: str
    bench: str
    method: str
    samples: int
    failures: int
    scores: dict[str, dict[str, float]]
    cost: float | None
    has_report: bool


class Evaluation(BaseModel):
    """Whether ``theanine-bench`` is installed, where runs are looked for, and those found."""

    installed: bool
    folder: str
    runs: list[Run]


class ComparisonEstimate(BaseModel):
    """Estimated cost of remembering by a method; 0 without a model."""

    method: str
    model: str
    calls: int
    tokens: int
    cost: float | None
    seconds: float


class NewComparison(BaseModel, extra="forbid"):
    """Methods to compare on what a user said."""

    user: str = Field(min_length=1)
    agent: str | None = Field(default=None, min_length=1)
    methods: list[str] = Field(min_length=1, max_length=20)
    questions: int = Field(default=20, ge=1, le=500, description="Maximum number of questions.")
    max_cost: float | None = Field(
        default=None, gt=0, description="US dollars after which no more questions are asked."
    )


@router.get("", responses=responses(404))
async def evaluation(state: State, principal: Administrator) -> Evaluation:
    """Return the finished runs, by name. What can't be read as one is left out.

    They are the comparisons of all users of the tenant: 404 with a key of one user or agent. Other
    runs of the machine belong to no tenant: only a service without keys lists them, too.
    """
    folders = await _folders_of(state, principal)
    await remove_outdated_runs(state.store)
    found = [_read(path.parent) for path in _find(folders, "summary.json")]
    return Evaluation(
        installed=is_installed(),
        folder=str(folders[0] if not principal.key else folders[0].relative_to(Path.cwd())),
        runs=[run for run in found if run is not None],
    )


@router.get("/{run}/report", responses=responses(404), response_class=Response)
async def report(state: State, principal: Administrator, run: str) -> Response:
    """Return a run's page. A browser may open it by its cookie from a page of this service."""
    folders = await _folders_of(state, principal)
    await remove_outdated_runs(state.store)
    for path in _find(folders, _REPORT):
        if path.parent.name == run:
            headers = {"Content-Security-Policy": _POLICY}
            return Response(path.read_bytes(), media_type="text/html", headers=headers)
    raise NotFound(f"there is no report of a run {run}")


async def _folders_of(state: ServerState, principal: Principal) -> list[Path]:
    """Return the folders whose runs are shown. Answers 404 to a key of one user or agent."""
    if principal.user is not None or principal.agent is not None:
        raise NotFound("there are no runs of one user or agent")
    own = await runs_folder(state.store, principal.tenant)
    return [own] if principal.key else [all_runs(), own]


def _find(folders: list[Path], name: str) -> list[Path]:
    """Return the files of a name in the folders of runs, by the runs' names."""
    found = (path for folder in folders for path in folder.glob(f"*/{name}"))
    return sorted(found, key=lambda path: path.parent.name)


@router.get("/estimate", responses=responses(404))
async def estimate(
    state: State,
    principal: Administrator,
    user: Annotated[str, Query(min_length=1)],
    method: Annotated[list[str], Query(min_length=1, max_length=20)],
    agent: Annotated[str | None, Query(min_length=1)] = None,
) -> list[ComparisonEstimate]:
    """Return what remembering all that a user said would take by each of some methods.

    It is an upper bound; what the questions ask of a model comes on top.
    """
    only_user, agent = bind(principal, user, agent)
    _check(method)
    found: list[ComparisonEstimate] = []
    for name in method:
        options = replace(state.options.client, method=name, config=None, remembering="later")
        async with AsyncClient(options) as client:
            memory = client.user(
                only_user or user, agent=agent or "default", tenant=principal.tenant
            )
            usage = await memory.estimate(again=True)
        found.append(
            ComparisonEstimate(
                method=name,
                model=usage.model,
                calls=usage.calls,
                tokens=usage.input_tokens + usage.output_tokens,
                cost=usage.cost,
                seconds=usage.seconds,
            )
        )
    return found


@router.post("/comparisons", status_code=202, responses=write_responses(404), dependencies=[ONCE])
async def compare(
    state: State, response: Response, principal: Administrator, new: JsonBody[NewComparison]
) -> Operation:
    """Compare methods on what a user said, in a run of `theanine-bench`: 409 without it.

    Each gets a store of its own and the same questions. The run keeps what was said; it is deleted
    within a minute after something of the user was erased or replaced.
    """
    require_bench()
    user, agent = bind(principal, new.user, new.agent)
    _check(new.methods)
    memory = state.client.user(user or "", agent=agent or "default", tenant=principal.tenant)
    if not (await state.store.scope_version(memory.scope)).scope_id:
        raise NotFound(f"{memory.scope.user} has no data")
    options = {"methods": new.methods, "questions": new.questions, "max_cost": new.max_cost}
    operation = await state.store.write_concurrently(
        True,
        work.create_operation,
        principal.tenant,
        "compare",
        user,
        agent or "default",
        options,
        state.clock(),
    )
    state.operations.wake()
    response.headers["Location"] = f"/v1/operations/{operation.id}"
    return operation


def _check(methods: list[str]) -> None:
    """Refuse methods that are not installed, or named twice."""
    unknown = sorted(set(methods) - set(names()))
    if unknown or len(set(methods)) < len(methods):
        problem = f"there is no method {unknown[0]}" if unknown else "name each method once"
        raise Refused(422, "bad_input", f"{problem}; there are {', '.join(names())}")


def _read(path: Path) -> Run | None:
    try:
        summary = json.loads((path / "summary.json").read_text("utf-8"))
        settings = json.loads((path / "settings.json").read_text("utf-8"))
        groups = {"": summary["metrics"], **summary["categories"]}
        costs = [spent["cost"] for spent in summary["spent"].values()]
        return Run(
            name=path.name,
            bench=settings["bench"],
            method=settings["config"]["method"],
            samples=summary["samples"],
            failures=sum(summary["failures"].values()) + summary["unanswered"],
            scores={name: _means(metrics) for name, metrics in groups.items()},
            cost=None if None in costs else sum(costs),
            has_report=(path / _REPORT).is_file(),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # such as one that is being written


def _means(metrics: dict[str, Any]) -> dict[str, float]:
    return {name: one["mean"] for name, one in metrics.items() if one["mean"] is not None}
