"""The command line: ``theanine COMMAND``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from theanine.cli.interrupt import answering_interrupts, is_interrupt
from theanine.errors import TheanineError, UserError


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command, by default with the process's own arguments.

    Raises:
        SystemExit: always; 0 for success, 2 for the user's mistakes, 1 for failures at run time,
            130 after an interrupt.
    """
    with answering_interrupts():
        from theanine.cli.app import app  # after this package itself is imported
        from theanine.cli.own_code import SHOW_TRACE, describe_failure
        from theanine.cli.text import visible

        try:
            app(None if arguments is None else list(arguments), prog_name="theanine")
        except Exception as error:
            if is_interrupt(error):  # as Python 3.11 and loaders of plugins raise it
                raise
            if isinstance(error, TheanineError):
                print(visible(f"theanine: {error}"), file=sys.stderr)
                sys.exit(2 if isinstance(error, UserError) else 1)
            failure = None if SHOW_TRACE.get() else describe_failure(error)
            if failure is None:
                raise
            print(visible(f"theanine: {failure}"), file=sys.stderr)
            sys.exit(1)
