"""Commands for what waits to be remembered: worker, pending."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.metadata import entry_points
from types import FrameType
from typing import Annotated, Any

import typer

from theanine import Client, Worker
from theanine.cli.options import (
    HostOption,
    MetricsPortOption,
    RememberOptions,
    StoreOptions,
    UsersOptions,
    WebhookAllowOption,
    expand_options,
)
from theanine.cli.output import FormatOptions, json_default, resumable
from theanine.cli.rendering import show_table
from theanine.cli.text import pluralize, visible
from theanine.client.worker import CONCURRENCY, GRACE, MIN_LEASE, POLL
from theanine.errors import MissingExtra, SettingsError
from theanine.remembering.report import LEASE, RememberReport
from theanine.store.values import Pending
from theanine.types import Scope


@expand_options
def worker(
    options: RememberOptions,
    poll: Annotated[
        float,
        typer.Option(
            envvar="THEANINE_POLL",
            min=0.1,
            metavar="SECONDS",
            help="Time between looks at the database while nothing waits.",
        ),
    ] = POLL,
    concurrency: Annotated[
        int,
        typer.Option(
            envvar="THEANINE_CONCURRENCY",
            min=1,
            metavar="N",
            help="Number of users to remember at once.",
        ),
    ] = CONCURRENCY,
    lease: Annotated[
        float,
        typer.Option(
            envvar="THEANINE_LEASE",
            min=MIN_LEASE,
            metavar="SECONDS",
            help="Time after which others take over from a worker that is gone or stands still.",
        ),
    ] = LEASE.total_seconds(),
    grace: Annotated[
        float,
        typer.Option(
            envvar="THEANINE_GRACE",
            min=0,
            metavar="SECONDS",
            help="Time that sessions in progress get to finish after SIGTERM or Ctrl-C.",
        ),
    ] = GRACE,
    host: HostOption = "127.0.0.1",
    metrics_port: MetricsPortOption = None,
    webhook_allow: WebhookAllowOption = None,
    once: Annotated[
        bool, typer.Option("--once", help="Exit when nothing is due, with 1 if a session failed.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")] = False,
) -> None:
    """Remember what waits, of all users, until stopped.

    Run any number of them, on any machines that reach the store. A session that fails is tried
    again after 1, 4, 16, 64 and 256 minutes, then set aside: see `theanine pending`. The port of
    the metrics has the probes /health and /ready, too. With the extra server, it also sends what
    waits for webhooks.

    \b
    theanine worker
    theanine worker --memory-model openai:gpt-4o-mini --concurrency 16
    theanine worker --once
    """
    counts: Counter[str] = Counter()
    count: Callable[[str], object] = str

    def show(report: RememberReport) -> None:
        record = _describe_report(report)
        counts[record["result"]] += 1
        count(record["result"])
        line = json.dumps(record, default=json_default, ensure_ascii=False)
        print(visible(line if as_json else _format_line(record)), flush=True)

    with options.open() as client, resumable():
        running = client.worker(
            poll=poll, concurrency=concurrency, lease=lease, grace=grace, progress=show
        )
        if metrics_port is not None:
            count = _serve_metrics(running, host, metrics_port)
        if not once:
            users = pluralize(concurrency, "users")
            _notify(f"worker of {client.location}: looks every {poll:g} s, {users} at once")
        location = str(options.open_options().location)
        with _stopped_by_signals(running), _delivering(client, location, webhook_allow, once=once):
            running.run(once=once)
    if not once:
        _notify(
            ", ".join([f"{n} {result}" for result, n in counts.items()]) or "nothing remembered"
        )
    elif counts["failed"] or counts["set-aside"]:
        raise typer.Exit(1)


def _serve_metrics(running: Worker, host: str, port: int) -> Callable[[str], object]:
    """Serve metrics and probes of a worker, and return what counts the results of sessions."""
    serve = _find_addition("metrics")
    if serve is None:
        raise MissingExtra("server", "metrics")
    port, count = serve(running, host, port)
    _notify(f"metrics on http://{host}:{port}/metrics")
    return count


def _delivering(
    client: Client, location: str, allowed: Sequence[str] | None, *, once: bool
) -> AbstractContextManager[None]:
    """Send what waits for webhooks during the block or, with ``once``, after it.

    Raises MissingExtra if networks are named and the extra server isn't installed.
    """
    deliver = _find_addition("webhooks")
    if deliver is None:
        if allowed:
            raise MissingExtra("server", "webhooks")
        return nullcontext()
    return deliver(client, location, allowed or (), once=once)


def _find_addition(name: str) -> Any:
    """Return what another package adds to the worker, such as theanine-server; None for nothing."""
    points = entry_points(group="theanine.worker", name=name)
    return next((point.load() for point in points), None)


@contextmanager
def _stopped_by_signals(running: Worker) -> Generator[None]:
    """Stop a worker at the first SIGTERM or SIGINT, and interrupt it at the second."""
    signals = 0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal signals
        signals += 1
        if signals > 1:
            raise KeyboardInterrupt
        running.stop()
        _notify("stopping: sessions in progress are finished first; a second signal leaves them")

    numbers = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as under nohup
        numbers.remove(signal.SIGINT)
    previous = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _describe_report(report: RememberReport) -> dict[str, Any]:
    """Return a report as a line for logs, without words of what was said."""
    record: dict[str, Any] = {"result": _result(report), **_describe_scope(report.scope)}
    record |= {"session": report.session, "seconds": round(report.seconds, 2)}
    if report.failure is None:
        record |= {"memories": report.memories, "links": report.links}
    else:
        record |= {"error": report.error, "tries": report.attempts}
    if report.usage.calls:
        record |= {"calls": report.usage.calls, "cost": report.usage.cost}
    return record


def _result(report: RememberReport) -> str:
    if report.failure is None:
        return "remembered"
    if report.error in ("LeaseLost", "NotFound"):
        return "taken-over" if report.error == "LeaseLost" else "forgotten"
    return "set-aside" if report.set_aside else "failed"


def _describe_scope(scope: Scope) -> dict[str, str]:
    names = {"user": scope.user, "agent": scope.agent, "tenant": scope.tenant}
    return {key: name for key, name in names.items() if key == "user" or name != "default"}


def _format_line(record: dict[str, Any]) -> str:
    """Return ``result name=value …``; values with blanks or quotes are in JSON."""
    values = [f"{name}={_format_value(record[name])}" for name in record if name != "result"]
    return " ".join([record["result"], *values])


def _format_value(value: object) -> str:
    text = "unknown" if value is None else str(value)
    plain = text and not set(text) & set(' "=\n\t')
    return text if plain else json.dumps(text, ensure_ascii=False)


def _notify(message: str) -> None:
    typer.echo(visible(f"theanine: {message}"), err=True)


@expand_options
def pending(
    users: UsersOptions,
    options: StoreOptions,
    output: FormatOptions,
    session: Annotated[
        int | None, typer.Option(metavar="N", help="Only this session of the user.")
    ] = None,
    retry: Annotated[
        bool,
        typer.Option("--retry", help="Have them tried again at once, also those set aside."),
    ] = False,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Have nobody remember the session; it stays logged.")
    ] = False,
) -> None:
    """List what waits to be remembered, failed or was set aside; retry or cancel it.

    \b
    theanine pending
    theanine pending --user ana --session 3 --retry
    theanine pending --user ana --session 3 --cancel
    theanine pending --all-users --retry
    """
    if retry and cancel:
        raise SettingsError("--retry and --cancel exclude each other: leave one out")
    with options.open() as client:
        handle = users.handle(client)
        owner = None if users.all_users or users.user is None else client.user(users.user)
        if session is not None and owner is None:
            raise SettingsError("sessions are numbered by user: name the user with --user")
        if cancel:
            if owner is None or session is None:
                raise SettingsError(
                    "--cancel is for one session: name it with --user and --session"
                )
            changed = owner.cancel_remembering(session)
            print("Cancelled." if changed else "It was cancelled before.")
            return
        if retry:
            count = owner.retry_remembering(session) if owner else handle.retry_remembering()
            print(f"{pluralize(count, 'sessions')} to remember at once.")
            return
        listed = [
            item for item in handle.pending(cancelled=True) if session in (None, item.session)
        ]
    if output:
        output.show(listed)
    elif not listed:
        print("Nothing waits.")
    else:
        show_table(
            ["user", "session", "state", "tries", "next try", "reason"], map(_format_row, listed)
        )


def _format_row(item: Pending) -> list[object]:
    waits = item.retry_at is not None and not item.due and item.state in ("waiting", "failed")
    next_try = f"{item.retry_at:%Y-%m-%d %H:%M} UTC" if waits else ""
    state, reason = item.state, item.failure or ""
    return [item.scope, item.session, state, item.attempts or "", next_try, reason]
