"""The command line: `theanine COMMAND`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run it. Exits with 2 for the user's mistakes and 1 for failures at run time."""
    from theanine.cli.app import app
    from theanine.errors import TheanineError, UserError

    try:
        app()
    except TheanineError as error:
        print(f"theanine: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, UserError) else 1)
