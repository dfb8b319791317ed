"""Forgetting what is older than its retention, and what has come to its own end."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from theanine.clock import micros
from theanine.errors import DamagedData
from theanine.remembering.left_out import LeftOut
from theanine.store.base import Store
from theanine.store.values import ForgetReport
from theanine.types import Scope

_log = logging.getLogger(__name__)

ROUNDING = timedelta(hours=1)
"""How much later than due what has expired is forgotten where times are rounded, at most."""


async def forget_expired(
    store: Store, scope: Scope | None, now: datetime, *, rounded: bool = False
) -> list[ForgetReport]:
    """Forget what one scope or, with None, any keeps longer than its retention or its own end.

    Each erasure rewrites the store's files; where times are ``rounded``, there is one in
    ``ROUNDING`` at most, or in a 24th of a shorter retention.

    Returns one report for each scope that had any. Raises DamagedData, after all others are done,
    if the data of some can't be read.
    """
    damaged: list[LeftOut] = []
    reports: list[ForgetReport] = []
    ended_by = _rounded(now, ROUNDING) if rounded else now
    for owner, retention in await store.retentions(scope, ended_by):
        before = None if retention is None else now - retention
        if rounded and before and retention:
            before = _rounded(before, min(ROUNDING, retention / 24))
        try:
            report = await store.expire(owner, before, ended_by)
        except DamagedData as error:
            damaged.append(LeftOut(owner, str(error)))
            continue
        if report:
            _log.info("%d turns and %d memories expired", report.turns, report.memories)
            reports.append(report)
    if damaged:
        raise DamagedData("; ".join(map(str, damaged)))
    return reports


def _rounded(at: datetime, step: timedelta) -> datetime:
    """Return the latest time not after another one that is a multiple of a step."""
    return at - timedelta(microseconds=micros(at) % (step // timedelta.resolution))
