"""`python -m tests.crash --kills 200`: prints what was found; exits with 1 on any violation."""

from __future__ import annotations

import argparse
import sys

from .harness import Tally, crash


def main() -> None:
    """Kill, count, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    def progress(tally: Tally) -> None:
        print(f"\r{sum(tally.kills.values())} kills", end="", file=sys.stderr, flush=True)

    tally = crash(options.kills, options.seed, progress)
    kinds = ", ".join(f"{count} × {kind}" for kind, count in tally.kills.items())
    rows = {
        "kills": f"{sum(tally.kills.values())} ({kinds}) over {tally.stores} stores",
        "acknowledged turns": tally.acknowledged,
        "of them found": tally.found,
        "model calls": tally.calls,
        "repeated (answered, but killed before it was journalled)": tally.repeated,
        "violations": len(tally.violations),
    }
    print(file=sys.stderr)
    for name, value in rows.items():
        print(f"{name:>58}  {value}")
    for violation in tally.violations:
        print(f"  {violation}")
    sys.exit(bool(tally.violations) or tally.acknowledged != tally.found)


if __name__ == "__main__":
    main()
