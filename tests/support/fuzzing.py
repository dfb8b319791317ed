"""How many cases a fuzz test tries: few in the suite, many under ``make fuzz``."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

SCALE = int(os.environ.get("FUZZ_SCALE", "1"))
"""How many times the cases of the suite; set by ``make fuzz``."""


def cases(number: int) -> settings:
    """Return hypothesis settings: ``number`` examples in the suite, ``SCALE`` times as many else.

    The examples of the suite are the same in each run; those of ``make fuzz`` are new ones. A test
    without hypothesis multiplies its number of cases by ``SCALE`` itself.
    """
    return settings(
        max_examples=number * SCALE,
        derandomize=SCALE == 1,
        deadline=None,
        print_blob=True,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.function_scoped_fixture,
        ],
    )
