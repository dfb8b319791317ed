"""Run the harness and print its tally; exits with 1 on any violation."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from .harness import Tally, crash
from .maintenance import crash_maintenance


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--maintenance-kills", type=int, default=30, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    def progress(tally: Tally) -> None:
        print(f"\r{sum(tally.kills.values())} kills", end="", file=sys.stderr, flush=True)

    def progress_of_maintenance(kills: Counter[str]) -> None:
        print(f"\r{kills.total()} kills in maintenance", end="", file=sys.stderr, flush=True)

    tally = crash(options.kills, options.seed, progress)
    maintained, violations = crash_maintenance(
        options.maintenance_kills, options.seed, progress_of_maintenance
    )
    tally.violations += violations
    kinds = ", ".join(f"{count} × {kind}" for kind, count in tally.kills.items())
    rows = {
        "kills": f"{sum(tally.kills.values())} ({kinds}) over {tally.stores} stores",
        "kills in maintenance": ", ".join(
            f"{count} × {kind}" for kind, count in maintained.items()
        ),
        "acknowledged turns": tally.acknowledged,
        "of them stored": tally.stored,
        "model calls": tally.calls,
        "repeated (killed between reply and journal)": tally.repeated,
        "violations": len(tally.violations),
    }
    print(file=sys.stderr)
    for name, value in rows.items():
        print(f"{name:>42}  {value}")
    for violation in tally.violations:
        print(f"  {violation}")
    sys.exit(bool(tally.violations) or tally.acknowledged != tally.stored)


if __name__ == "__main__":
    main()
