"""The command line: ``theanine COMMAND``."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command, by default with the process's own arguments.

    Raises:
        SystemExit: always; 0 for success, 2 for the user's mistakes, 1 for failures at run time,
            130 after an interrupt. Always 0 for a hook of a coding agent.
    """
    if arguments is None:
        from theanine.cli.resident.client import run_in_resident

        if (code := run_in_resident(sys.argv[1:])) is not None:
            sys.exit(code)
    run(arguments)


def run(arguments: Sequence[str] | None = None) -> None:
    """Run a command in this process; otherwise as ``main``."""
    given = sys.argv[1:] if arguments is None else arguments
    if [*given[:1]] == ["hook"] and {"-h", "--help"}.isdisjoint(given):
        # Nothing may fail or stop the agent: not even a wrong option or a broken installation.
        from theanine.cli.coding_agents.guard import run_guarded

        run_guarded(lambda: _run(arguments), records="--record" in given)
    _run(arguments)


def _run(arguments: Sequence[str] | None) -> None:
    # Not before: a command that the resident process runs needs none of it.
    from theanine.cli.interrupt import answering_interrupts, is_interrupt

    with answering_interrupts():
        from traceback import print_exception

        from theanine.cli.app import app  # after this package itself is imported
        from theanine.cli.own_code import SHOW_TRACE, describe_failure
        from theanine.cli.text import visible
        from theanine.errors import TheanineError, UserError

        try:
            app(None if arguments is None else list(arguments), prog_name="theanine")
        except Exception as error:
            if is_interrupt(error):  # as Python 3.11 and loaders of plugins raise it
                raise
            if isinstance(error, TheanineError):
                if SHOW_TRACE.get():
                    print_exception(error)
                print(visible(f"theanine: {error}"), file=sys.stderr)
                sys.exit(2 if isinstance(error, UserError) else 1)
            failure = None if SHOW_TRACE.get() else describe_failure(error)
            if failure is None:
                raise
            print(visible(f"theanine: {failure}"), file=sys.stderr)
            sys.exit(1)
