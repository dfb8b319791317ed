"""``theanine rebuild``: remember the log again, by another method or with other settings."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from theanine.cli.left_out import exit_if_left_out
from theanine.cli.options import RememberOptions, UsersOptions, YesOption, expand_options
from theanine.cli.output import FormatOptions, confirm, progress, resumable
from theanine.cli.text import pluralize
from theanine.remembering.left_out import LeftOut
from theanine.remembering.rebuild import RebuildEstimate, RebuildReport


@expand_options
def rebuild(
    users: UsersOptions,
    options: RememberOptions,
    output: FormatOptions,
    instead: Annotated[
        bool,
        typer.Option(
            "--instead",
            help="Drop other methods' memories once this one has remembered everything.",
        ),
    ] = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Also replace what the method remembers already, using the present settings.",
        ),
    ] = False,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh",
            help="Like --again, but ask the model again: no reply is taken from the journal.",
        ),
    ] = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Show the estimate and do nothing.")
    ] = False,
    yes: YesOption = False,
) -> None:
    """Remember the whole log again, by any method.

    Shows an estimate first and, on a terminal, asks before paying a language model. If it is
    interrupted, the same command resumes; no call is paid for twice (with --fresh, those of the
    interrupted session are). While another process remembers the same user, it waits. Old memories
    stay in use until everything is remembered, but for users whose data is damaged. The store's own
    method, used where none is named, doesn't change; with --instead it becomes this one.

    \b
    theanine rebuild --method exchange
    theanine rebuild --method secom --instead --model openai:gpt-4o-mini
    theanine rebuild --method theanine --again --set associates=5
    theanine rebuild --fresh --estimate --model openai:gpt-4o-mini
    """
    with options.open() as client:
        expected = users.handle(client).estimate(again=again, instead=instead, fresh=fresh)
        if not output:
            _show_estimate(expected)
        if estimate:
            if output:
                output.show([expected])
            exit_if_left_out(expected.left_out)
            return
        if expected.calls and not yes and sys.stdin.isatty():
            confirm("Continue?")
        with resumable(), progress(expected.sessions, expected.method) as step:
            report = users.handle(client).rebuild(
                again=again, instead=instead, fresh=fresh, progress=lambda _: step()
            )
    if output:
        output.show(report.reports)
    else:
        _show_report(expected, report)
    damaged = [LeftOut(each.scope, str(each.failure)) for each in report.reports if each.damaged]
    exit_if_left_out(dict.fromkeys((*damaged, *report.left_out)))
    if not report.complete:
        raise typer.Exit(1)


def _show_estimate(estimate: RebuildEstimate) -> None:
    if not estimate.sessions:
        print(f"{estimate.method} has remembered every session; --again remembers them again")
    else:
        sessions = pluralize(estimate.sessions, "sessions")
        turns = pluralize(estimate.turns, "turns")
        print(f"{sessions} ({turns}) to remember by {estimate.method}")
        time = f"about {_format_time(estimate.seconds)}"
        if not estimate.calls:
            print(f"no language model is called; {time}")
        else:
            cost = "cost unknown" if estimate.cost is None else f"about ${estimate.cost:.4f}"
            journal = "calls in the journal are not repeated"
            if estimate.fresh:
                journal = "calls in the journal are repeated"
            print(
                f"{estimate.model}: at most about {pluralize(estimate.calls, 'calls')}, "
                f"{pluralize(estimate.input_tokens, 'tokens')} in and "
                f"{estimate.output_tokens:,} out, {cost}, {time}; {journal}"
            )
    for method, count in estimate.replaced.items():
        print(f"then {pluralize(count, 'memories')} of {method} will be dropped")


def _show_report(estimate: RebuildEstimate, report: RebuildReport) -> None:
    remembered = [session for session in report.reports if session.failure is None]
    if remembered:
        memories = pluralize(sum(session.memories for session in remembered), "memories")
        links = pluralize(sum(session.links for session in remembered), "links")
        sessions = pluralize(len(remembered), "sessions")
        print(f"{sessions} remembered by {estimate.method}: {memories}, {links}")
    elsewhere = estimate.sessions - len(report.reports)
    if elsewhere > 0 and report.complete:
        print(f"{pluralize(elsewhere, 'sessions')} remembered meanwhile by another process")
    for method, count in report.replaced.items():
        print(f"dropped {pluralize(count, 'memories')} of {method}")
    damaged = {each.scope for each in report.reports if each.damaged}
    for session in report.waiting:
        if session.scope in damaged:  # which has a line of its own
            continue
        reason = session.failure or "it waits for an earlier session"
        print(
            f"{session.scope}, session {session.session} is not remembered: {reason}",
            file=sys.stderr,
        )
    if report.waiting:
        kept = " No old memory was dropped." if estimate.replaced and not report.replaced else ""
        print(
            f"{pluralize(len(report.waiting), 'sessions')} left to remember; run the same command "
            f"again to resume.{kept}",
            file=sys.stderr,
        )


def _format_time(seconds: float) -> str:
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / 60)} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
