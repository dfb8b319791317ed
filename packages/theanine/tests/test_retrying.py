"""The loop that repeats, and what the other side asks for."""

from __future__ import annotations

from random import Random

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine.retrying import Failure, read_retry_after, repeat


@given(
    outcomes=st.lists(st.sampled_from(["passing", "lasting", "done"]), min_size=1, max_size=6),
    attempts=st.integers(1, 6),
)
def test_the_first_result_or_the_last_failure(outcomes: list[str], attempts: int) -> None:
    made: list[str] = []

    async def attempt(elapsed: float) -> str | Failure:
        made.append(outcomes[min(len(made), len(outcomes) - 1)])
        error = ValueError(str(len(made)))
        return "done" if made[-1] == "done" else Failure(error, made[-1] == "passing")

    async def run() -> str | Failure:
        return await repeat(attempt, attempts=attempts, first_wait=0, max_wait=0, rng=Random(0))

    result = anyio.run(run)
    assert len(made) <= attempts and set(made[:-1]) <= {"passing"}
    if isinstance(result, Failure):
        assert result.attempts == len(made) == int(str(result.error))
        assert made[-1] == "lasting" or len(made) == attempts
    else:
        assert made[-1] == "done"


def test_no_attempt_after_the_patience() -> None:
    made = 0

    async def attempt(elapsed: float) -> Failure:
        nonlocal made
        made += 1
        return Failure(ValueError(), wait=5.0)

    async def run() -> object:
        return await repeat(
            attempt, attempts=9, first_wait=0, max_wait=60, patience=4, rng=Random(0)
        )

    anyio.run(run)
    assert made == 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120),
        (" 0 ", 0),
        ("Wed, 21 Oct 2015 07:28:30 GMT", 30),
        ("Wed, 21 Oct 2015 07:00:00 GMT", 0),
        ("Wednesday, 21-Oct-15 07:28:30 GMT", 30),
        ("soon", None),
        ("-1", None),
        ("1.5", None),
        ("²", None),
        ("", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(header: str, seconds: float | None) -> None:
    assert read_retry_after(header, "Wed, 21 Oct 2015 07:28:00 GMT") == seconds
