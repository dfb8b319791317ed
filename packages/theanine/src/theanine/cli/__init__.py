"""The command line: `theanine COMMAND`."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it, by default on the process's own arguments.

    Exits with 0, with 2 for the user's mistakes, with 1 for failures at run time, and with 130
    when it is interrupted.
    """
    from theanine.cli.app import app
    from theanine.cli.rendering import visible
    from theanine.errors import TheanineError, UserError

    try:
        app(None if arguments is None else list(arguments), prog_name="theanine")
    except TheanineError as error:
        print(visible(f"theanine: {error}"), file=sys.stderr)
        sys.exit(2 if isinstance(error, UserError) else 1)
