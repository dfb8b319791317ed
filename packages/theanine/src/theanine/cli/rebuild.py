"""`theanine rebuild`: remember the log anew, by another method or with other settings."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from theanine.cli.options import (
    BaseUrlOption,
    EachUser,
    EmbedderOption,
    MethodOption,
    ModelOption,
    SettingsOption,
    StoreOption,
    notify_if_local,
    open_client,
)
from theanine.cli.progress import progress
from theanine.cli.rendering import pluralize

if TYPE_CHECKING:
    from theanine.client.sync import Client
    from theanine.remembering.rebuild import RebuildEstimate, RebuildReport

InsteadOption = Annotated[
    bool,
    typer.Option(
        "--instead", help="Drop what other methods made, once everything is remembered by this one."
    ),
]
AgainOption = Annotated[
    bool,
    typer.Option(
        "--again", help="Also what the method remembers already, with the settings given now."
    ),
]
EstimateOption = Annotated[
    bool, typer.Option("--estimate", help="Say what it will take, and do nothing.")
]
YesOption = Annotated[bool, typer.Option("--yes", help="Don't ask.")]


def rebuild(
    method: MethodOption = None,
    user: EachUser = None,
    instead: InsteadOption = False,
    again: AgainOption = False,
    estimate: EstimateOption = False,
    yes: YesOption = False,
    store: StoreOption = "",
    model: ModelOption = "local",
    base_url: BaseUrlOption = None,
    embedder: EmbedderOption = "local",
    settings: SettingsOption = None,
) -> None:
    """Remember all that was ever said by a method, beside what other methods made of it.

    Says first what it will take, and asks before a language model is paid, on a terminal. Stopped
    half way, the same command goes on; no call is paid twice. While another process remembers the
    same user, it waits. What is replaced stays in use until
    all is remembered. The store's own method, used where none is named, stays what it was; with
    --instead it becomes this one.

    \b
    theanine rebuild --method turn
    theanine rebuild --method memory-retrieval --instead --model openai:gpt-4o-mini
    theanine rebuild --method theanine --again --set link_to=all
    """
    with open_client(store, model, base_url, embedder, method, settings) as agent:
        forecast = agent.estimate(user, again=again, instead=instead)
        notify_if_local(model, base_url)
        _foretell(forecast)
        if estimate:
            return
        if forecast.calls and not yes and sys.stdin.isatty():
            typer.confirm("Go on?", abort=True)
        done = _rebuild(agent, forecast, user, again=again, instead=instead)
    _tell(forecast, done)
    if not done.complete:
        raise typer.Exit(1)


def _rebuild(
    agent: Client, forecast: RebuildEstimate, user: str | None, *, again: bool, instead: bool
) -> RebuildReport:
    with progress(forecast.sessions, forecast.method) as step:
        return agent.rebuild(user, again=again, instead=instead, progress=lambda _: step())


def _foretell(forecast: RebuildEstimate) -> None:
    if not forecast.sessions:
        print(f"every session is remembered by {forecast.method}; --again makes it anew")
    else:
        print(
            f"{pluralize(forecast.sessions, 'sessions')} ({pluralize(forecast.turns, 'turns')}) "
            f"to be "
            f"remembered by {forecast.method}"
        )
        print(_takes(forecast))
    for name, count in forecast.replaced.items():
        print(f"then {pluralize(count, 'memories')} that {name} made will go")


def _takes(forecast: RebuildEstimate) -> str:
    time = f"about {_time(forecast.seconds)}"
    if not forecast.calls:
        return f"no language model is asked; {time}"
    cost = "money unknown" if forecast.cost is None else f"about ${forecast.cost:.4f}"
    return (
        f"{forecast.model}: about {pluralize(forecast.calls, 'calls')}, "
        f"{pluralize(forecast.input_tokens, 'tokens')} in and {forecast.output_tokens:,} out, "
        f"{cost}, {time} at most; what the journal holds is not asked again"
    )


def _tell(forecast: RebuildEstimate, done: RebuildReport) -> None:
    fine = [report for report in done.reports if report.failure is None]
    if fine:
        made, links = sum(one.memories for one in fine), sum(one.links for one in fine)
        print(
            f"{pluralize(len(fine), 'sessions')} remembered by {forecast.method}: "
            f"{pluralize(made, 'memories')}, {pluralize(links, 'links')}"
        )
    elsewhere = forecast.sessions - len(done.reports)
    if elsewhere > 0 and done.complete:
        print(f"{pluralize(elsewhere, 'sessions')} remembered meanwhile by another process")
    for name, count in done.replaced.items():
        print(f"gone: {pluralize(count, 'memories')} that {name} had made")
    for one in done.waiting:
        why = one.failure or "it waits for an earlier one"
        print(f"{one.scope}, session {one.session} is not remembered: {why}", file=sys.stderr)
    if done.waiting:
        kept = " Nothing of the old was dropped." if forecast.replaced else ""
        print(
            f"{pluralize(len(done.waiting), 'sessions')} still to be remembered; the same command "
            f"goes on.{kept}",
            file=sys.stderr,
        )


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / 60)} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
