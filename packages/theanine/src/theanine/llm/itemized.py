"""Replies in which a malformed item of a list costs that item, not the whole reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

from pydantic import (
    BaseModel,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationError,
    model_validator,
)

_Place = tuple[str, int]
"""The name of a list and the position of an item in it."""


class ItemizedReply(BaseModel):
    """A reply of lists, which lose the items that don't fit the schema."""

    _unusable: list[str] = PrivateAttr(default_factory=list[str])

    @property
    def unusable(self) -> Sequence[str]:
        """What is wrong with each item that was left out: ``links 3: a: Field required``.

        Items are counted from 1.
        """
        return tuple(self._unusable)

    @model_validator(mode="wrap")
    @classmethod
    def _keep_usable(cls, fields: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(fields)
        except ValidationError as error:
            faults: dict[_Place, str] = {}
            for each in error.errors(include_url=False, include_context=False, include_input=False):
                match each["loc"]:
                    case (str(name), int(position), *path):
                        where = ".".join(map(str, path))
                        fault = f"{where}: {each['msg']}" if where else each["msg"]
                        faults.setdefault((name, position), f"{name} {position + 1}: {fault}")
                    case _:
                        raise
        given = cast("Mapping[str, list[object]]", fields)
        kept = {
            name: [item for position, item in enumerate(items) if (name, position) not in faults]
            if any(name == faulty for faulty, _ in faults)
            else items
            for name, items in given.items()
        }
        reply = handler(kept)
        reply._unusable = [faults[place] for place in sorted(faults)]
        return reply
