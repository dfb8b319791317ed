"""Scripts: what a scripted server does for a request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from theanine.testing.answers import answer
from theanine.testing.faults import Delay, Drop, Outcome, Reply, Status, Truncate
from theanine.testing.scripted import task_of

Request = Mapping[str, Any]
"""A parsed chat completion request: ``model``, ``messages`` and the rest."""
Writer = Callable[[Request], Outcome]
"""Returns the outcome of a request."""
Script = Outcome | Writer | Mapping[str, Outcome | Writer] | Sequence[Outcome]
"""One outcome for all requests, a function, outcomes by step name (see :func:`by_step`), or a
sequence of outcomes, after which :func:`theanine.testing.answer` answers."""

_OUTCOMES = (str, Reply, Status, Drop, Truncate, Delay)


def prompt_of(request: Request) -> str:
    """Return the first user message: the prompt, without later repairs."""
    return next(_texts(request, "user"), "")


def step_of(request: Request) -> str | None:
    """Return the step of the prompt, such as ``summarize``; None for a foreign prompt.

    A reply as a chat is ``respond``.
    """
    return task_of(next(_texts(request, "system"), "")) or task_of(prompt_of(request))


def _texts(request: Request, role: str) -> Iterator[str]:
    for message in request.get("messages", ()):
        if message.get("role") == role:
            content = message.get("content") or ""
            if isinstance(content, str):
                yield content
            else:
                yield "".join(part.get("text", "") for part in content)


def by_step(steps: Mapping[str, Outcome | Writer], otherwise: Script = answer) -> Writer:
    """Return a script with outcomes by step name; ``otherwise`` serves other steps."""
    rest = writer(otherwise)

    def write(request: Request) -> Outcome:
        chosen = steps.get(step_of(request) or "")
        return rest(request) if chosen is None else writer(chosen)(request)

    return write


def writer(script: Script | None) -> Writer:
    """Return a script as a function; None is the default answer."""
    if script is None:
        return answer
    if isinstance(script, _OUTCOMES):
        return lambda _: script
    if isinstance(script, Mapping):
        return by_step(cast("Mapping[str, Outcome | Writer]", script))
    if isinstance(script, Sequence):
        rest: Iterator[Outcome] = iter(cast("Sequence[Outcome]", script))

        def write(request: Request) -> Outcome:
            outcome = next(rest, None)
            return answer(request) if outcome is None else outcome

        return write
    return script
