"""SeCom: the sessions of one user, each a list of exchanges, as its ``example.json`` has them.

``[["<Turn 0>: [human]: …\\n[bot]: …", …], …]``: an exchange is one text. The user and the assistant
have no names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from theanine.errors import BadInput
from theanine.importers.base import Entry, Format, Intake
from theanine.importers.json_stream import ITEMS, select
from theanine.importers.timestamps import UntimedSession, make_history
from theanine.types import History

_START = re.compile(r'\s*\[\s*\[\s*"\s*(?:<?Turn \d+>?:?\s*)?\[(?:human|user)\]:', re.IGNORECASE)
_EXCHANGE = re.compile(
    r"\s*(?:<?Turn \d+>?:?\s*)?\[(?:human|user)\]:\s*(?P<user>.*?)\s*\n\s*\[(?:bot|agent)\]:\s*"
    r"(?P<assistant>.*?)\s*",
    re.DOTALL | re.IGNORECASE,
)


def split_exchange(text: str) -> tuple[str, str] | None:
    """Return what the user and the assistant say in an exchange; None if it doesn't name both."""
    match = _EXCHANGE.fullmatch(text)
    return (match["user"], match["assistant"]) if match else None


def _sniff(intake: Intake) -> bool:
    return _START.match(intake.source.head.decode("utf-8", "replace")) is not None


def _read(intake: Intake) -> Iterator[History]:
    intake.notes = Counter()
    yield make_history(intake, intake.user_name(intake.stem), list(_sessions(intake)))


def _sessions(intake: Intake) -> Iterator[UntimedSession]:
    for (index,), session in select(intake.source.stream(), intake.name, ITEMS):
        where = f"{intake.name}, [{index}]"
        with intake.catching():
            turns: list[Entry] = []
            for i, at_exchange, exchange in intake.items(str, session, where):
                with intake.catching():
                    if (said := split_exchange(exchange)) is None:
                        raise BadInput('it is not "[human]: …" and "[bot]: …"', at_exchange)
                    for role, text, key in zip(
                        ("user", "assistant"), said, (2 * i + 1, 2 * i + 2), strict=True
                    ):
                        if text:
                            turns.append(Entry(at_exchange, role, text=text, key=str(key)))
            yield UntimedSession(f"{intake.stem}/{int(index) + 1}", turns, where)


FORMAT = Format(name="secom", sniff=_sniff, read=_read, kind="json")
