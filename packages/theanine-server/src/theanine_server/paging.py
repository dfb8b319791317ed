"""Lists in pages; an opaque cursor names the beginning of the next page."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Generic, TypeVar

from fastapi import Depends, Query
from pydantic import BaseModel

from theanine_server.parameters import IN_DIGITS
from theanine_server.problems import Refused

MAX_LIMIT = 500
Item = TypeVar("Item")


class Page(BaseModel, Generic[Item]):
    """A page of a list; ``next`` is the cursor of the page after it, null on the last page."""

    items: list[Item]
    next: str | None = None


class PageRequest:
    """The page that a request asks for.

    Attributes:
        limit: maximum number of items.
    """

    def __init__(
        self,
        limit: Annotated[
            int, Query(ge=1, le=MAX_LIMIT, description="Maximum items on a page."), IN_DIGITS
        ] = 50,
        cursor: Annotated[str | None, Query(description="`next` of the previous page.")] = None,
    ) -> None:
        self.limit = limit
        self._cursor = None if cursor is None else _decode(cursor)

    @property
    def after(self) -> str | None:
        """The cursor as a name or id. Answers 422 if it is another list's."""
        if self._cursor is not None and "\0" in self._cursor:
            raise bad_cursor()
        return self._cursor

    @property
    def after_id(self) -> int | None:
        """The cursor as the id of the last item. Answers 422 if it is another list's."""
        if self.after is None:
            return None
        if not self.after.isdecimal() or len(self.after) > 9:
            raise bad_cursor()
        return int(self.after)

    @property
    def after_names(self) -> tuple[str, str] | None:
        """The cursor as a user and an agent. Answers 422 if it is another list's."""
        if self._cursor is None:
            return None
        user, separator, agent = self._cursor.partition("\0")
        if not separator or "\0" in agent:
            raise bad_cursor()
        return user, agent


Paging = Annotated[PageRequest, Depends()]


async def read_page(
    paging: PageRequest,
    read: Callable[[int], Awaitable[Sequence[Item]]],
    key: Callable[[Item], object],
) -> Page[Item]:
    """Return a page of what ``read`` gives for a number of items; ``key`` names an item."""
    found = await read(paging.limit + 1)
    items = list(found[: paging.limit])
    following = _encode(str(key(items[-1]))) if len(found) > paging.limit else None
    return Page(items=items, next=following)


def _encode(value: str) -> str:
    return urlsafe_b64encode(value.encode()).decode().rstrip("=")


def _decode(cursor: str) -> str:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        return urlsafe_b64decode(padded).decode()
    except ValueError:
        raise bad_cursor() from None


def bad_cursor() -> Refused:
    """Return the error for a cursor that is not of this list."""
    return Refused(422, "bad_cursor", "the cursor is not one that this list has given")
