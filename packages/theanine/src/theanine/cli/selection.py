"""Options that select what commands return: limits, times and conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from theanine.client.options import ListArguments, RecallArguments
from theanine.filters import every, read_where

BudgetOption = Annotated[
    int | None,
    typer.Option(
        envvar="THEANINE_BUDGET", min=0, metavar="TOKENS", help="Maximum tokens to return."
    ),
]


@dataclass(frozen=True, kw_only=True)
class SelectionOptions:
    """Options that limit what a recall returns."""

    budget: BudgetOption = None
    limit: Annotated[
        int | None,
        typer.Option(
            envvar="THEANINE_LIMIT", min=1, metavar="N", help="Maximum number of parts to return."
        ),
    ] = None
    min_relevance: Annotated[
        float | None,
        typer.Option(
            envvar="THEANINE_MIN_RELEVANCE",
            min=0,
            max=1,
            metavar="P",
            help="Least relevance, 0 to 1 (default: the method's).",
        ),
    ] = None

    def arguments(self) -> RecallArguments:
        """Return the arguments of the client's recall."""
        return RecallArguments(
            budget=self.budget, limit=self.limit, min_relevance=self.min_relevance
        )


SinceOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only what was said on this day or later.")
]
UntilOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only what was said on this day or earlier.")
]


@dataclass(frozen=True, kw_only=True)
class TimeOptions:
    """Options that bound a recall in time."""

    since: SinceOption = None
    until: UntilOption = None
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="What was known on this day: a date (UTC) or an ISO time with its offset.",
        ),
    ] = None

    def arguments(self) -> RecallArguments:
        """Return the arguments of the client's recall."""
        return RecallArguments(since=self.since, until=self.until, as_of=self.as_of)


WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="FILTER",
        help="Only with this metadata: NAME=VALUE, NAME=A,B for any of these, NAME>=2; joined by "
        "`and`, `or`; or JSON.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class EndOptions:
    """Options of a command that logs something that ends by itself."""

    expires: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="When it ends and is erased, such as 2027-05-01."),
    ] = None
    verify_by: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="When to verify it; from then on it is marked."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """Options of a command that lists records, the latest last."""

    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the last N.")] = None
    before: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Only those before this number.")
    ] = None
    search: Annotated[
        str, typer.Option(metavar="WORDS", help="Only with all of these words, in any order.")
    ] = ""
    since: SinceOption = None
    until: UntilOption = None
    where: WhereOption = None
    due: Annotated[
        bool, typer.Option("--due", help="Only what is past the time by which to verify it.")
    ] = False

    def arguments(self, *, default_limit: int | None = None) -> ListArguments:
        """Return the arguments of the client's lists, from the last record to the first."""
        return ListArguments(
            limit=self.limit or default_limit,
            after=self.before,
            newest_first=True,
            search=self.search,
            since=self.since,
            until=self.until,
            where=parse_where(self.where or []),
            due=self.due,
        )


def parse_where(conditions: Sequence[str]) -> Mapping[str, Any] | None:
    """Return filters in words as one, all of which must hold; None for none.

    Raises SettingsError.
    """
    return every([read_where(each) for each in conditions]) if conditions else None
