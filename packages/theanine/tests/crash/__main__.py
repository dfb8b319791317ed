"""Run the harness and print its tally; exits with 1 on any violation."""

from __future__ import annotations

import argparse
import sys

from .harness import Tally, crash


def main() -> None:
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
