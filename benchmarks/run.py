"""Measure speed, size and calls, each beside its goal: `make bench`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from caching import caching
from figures import Bench, Figure
from importing import importing
from natural import hearing, natural
from recalling import many_scopes, recalling
from remembering import histories, sessions
from sampling import sampling
from serving import serving
from starting import starting
from stepping import steps

from theanine.cli.rendering import console, show_table

BENCHES: Mapping[str, Bench] = {
    "starting": starting,
    "steps": steps,
    "sampling": sampling,
    "sessions": sessions,
    "caching": caching,
    "histories": histories,
    "importing": importing,
    "natural": natural,
    "hearing": hearing,
    "serving": serving,
    "recalling": recalling,
    "scopes": many_scopes,
}


def main() -> None:
    """Run them, or those named; exit with 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=BENCHES, default=list(BENCHES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    figures: list[Figure] = []
    for name in options.only:
        print(f"{name} …", file=sys.stderr)
        figures += BENCHES[name]()
    show_table(
        ["figure", "measured", "goal", "", "best peer", "note"],
        (
            [f.name, _amount(f), _goal(f), f.verdict, f.peer, f.note]
            for f in figures
        ),
    )  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=1))
    missed = [figure for figure in figures if figure.verdict == "MISSED"]
    console().print(f"\n{len(missed)} of {len(figures)} missed")
    sys.exit(bool(missed))


def _amount(figure: Figure) -> str:
    return "–" if figure.value is None else f"{figure.value:,.4g} {figure.unit}"


def _goal(figure: Figure) -> str:
    if figure.goal is None:
        return ""
    return f"{'≥' if figure.at_least else '≤'} {figure.goal:,g}"


if __name__ == "__main__":
    main()
