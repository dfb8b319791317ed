"""LangGraph: a ``BaseStore`` whose items are in a user's memory.

::

    store = TheanineStore(client.user("ana"))
    graph = builder.compile(store=store)
    store.put(("facts",), "pet", {"text": "Ana's dog is called Rex."})
    store.search(("facts",), query="What is her dog called?")
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from theanine.errors import BadInput
from theanine.types import Recollection, Turn
from theanine_adapters.handles import Call, UserHandle, call, call_now, needs_extra, run_now
from theanine_adapters.words import check_json, json_lines, new_lines

with needs_extra("langgraph"):
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        get_text_at_path,
        tokenize_path,
        validate_op_namespace,
    )

_LAST = chr(0x10FFFF)
"""Follows all other characters, so that it ends the range of strings with a prefix."""


class _Place(NamedTuple):
    """Where an item is."""

    namespace: tuple[str, ...]
    key: str


class TheanineStore(BaseStore):
    """A store of LangGraph's in the memory of one user.

    Each put is logged as a turn of the assistant, so that ``user.recall`` finds its words, a change
    keeps the earlier version as history, and ``forget_all`` erases it with everything else. The
    latest version is the item. ``delete`` erases all versions from the files, which takes longer
    than a put. A ``search`` with a query puts the items that ``user.recall`` finds first, with
    their relevance as the score; the others follow, the latest first, without a score.

    ``index=False`` stores an item that neither recall nor a model ever sees; ``index=[…]`` names
    the fields whose words they see. Values must be JSON. There is no ``ttl``: use
    ``user.set_retention``.

    Args:
        user: the handle of the user, whose memory holds all namespaces. For ``batch``, ``get``,
            ``put`` and the like it must be of ``theanine.open``; for ``abatch`` and the like either
            will do.
    """

    def __init__(self, user: UserHandle) -> None:
        self._user = user

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: what is read is the state before; the last put of a key counts."""
        return run_now(self._batch(list(ops), call_now))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: what is read is the state before; the last put of a key counts."""
        return await self._batch(list(ops), call)

    async def _batch(self, ops: Sequence[Op], call: Call) -> list[Result]:
        for op in ops:
            validate_op_namespace(op)
        results: list[Result] = []
        puts: dict[_Place, PutOp] = {}
        for op in ops:
            result: Result = None
            if isinstance(op, GetOp):
                result = await self._get(_Place(op.namespace, op.key), call)
            elif isinstance(op, SearchOp):
                result = await self._search(op, call)
            elif isinstance(op, ListNamespacesOp):
                result = await self._list_namespaces(op, call)
            elif isinstance(op, PutOp):
                puts[_Place(op.namespace, op.key)] = op
            else:
                raise BadInput(f"unknown operation {type(op).__name__}")
            results.append(result)
        for place, op in puts.items():
            await self._put(place, op, call)
        return results

    async def _get(self, place: _Place, call: Call) -> Item | None:
        versions = await call(self._user.turns, thread=_thread(place), with_content=True)
        return _read_item(place, versions) if versions else None

    async def _put(self, place: _Place, op: PutOp, call: Call) -> None:
        known = await self._get(place, call)
        if op.value is None:
            if known:
                await call(self._user.forget, thread=_thread(place))
            return
        value, before = dict(op.value), _words(known.value, op.index) if known else ()
        check_json(value, f"the value of {op.key!r}")
        words = "\n".join(new_lines(before, _words(value, op.index)))
        message: dict[str, Any] = {
            "role": "assistant",
            "content": [{"type": "item", "text": words, "value": value}],
        }
        if not words:
            message = {"role": "tool", "content": f"[stored {place.key}]", "value": value}
        await call(
            self._user.add,
            message,
            session=_thread(place),
            metadata={"langgraph_namespace": _prefix(place.namespace), "langgraph_key": place.key},
        )

    async def _search(self, op: SearchOp, call: Call) -> list[SearchItem]:
        where = _within(op.namespace_prefix)
        items = await self._load(where, call)
        matching = {
            place: item for place, item in items.items() if _matches(item.value, op.filter or {})
        }
        scores: dict[_Place, float | None] = {}
        if op.query and op.query.strip() and matching:
            found = await call(self._user.recall, op.query, where=where, budget=None)
            scores = _score(found, matching)
        latest = sorted(matching, key=lambda place: matching[place].updated_at, reverse=True)
        ranked = [*scores, *(place for place in latest if place not in scores)]
        return [
            _search_item(matching[place], scores.get(place))
            for place in ranked[op.offset :][: op.limit]
        ]

    async def _list_namespaces(self, op: ListNamespacesOp, call: Call) -> list[tuple[str, ...]]:
        turns = await call(self._user.turns, where=_within(()))
        namespaces = {
            place.namespace
            for place in map(_place, turns)
            if all(_fits(place.namespace, each) for each in op.match_conditions or ())
        }
        cut = sorted({namespace[: op.max_depth] for namespace in namespaces})
        return cut[op.offset :][: op.limit]

    async def _load(self, where: Mapping[str, Any], call: Call) -> dict[_Place, Item]:
        versions: dict[_Place, list[Turn]] = {}
        for turn in await call(self._user.turns, where=where):
            versions.setdefault(_place(turn), []).append(turn)
        latest = [turns[-1].id for turns in versions.values()]
        read = await call(self._user.turns, ids=latest, with_content=True) if latest else []
        full = {turn.id: turn for turn in read}
        return {  # what another process erased in between is gone
            place: _read_item(place, [*turns[:-1], full[turns[-1].id]])
            for place, turns in versions.items()
            if turns[-1].id in full
        }


def _thread(place: _Place) -> str:
    return "langgraph:" + json.dumps([*place.namespace, place.key], ensure_ascii=True)


def _prefix(namespace: Sequence[str]) -> str:
    """Return a namespace as a string that those of the namespaces in it begin with."""
    return "".join(f"{label}." for label in namespace)  # no label has a period


def _within(namespace: Sequence[str]) -> dict[str, Any]:
    prefix = _prefix(namespace)
    return {"langgraph_namespace": {">=": prefix, "<": prefix + _LAST}}


def _place(turn: Turn) -> _Place:
    namespace = str(turn.metadata["langgraph_namespace"])
    return _Place(tuple(namespace.split(".")[:-1]), str(turn.metadata["langgraph_key"]))


def _read_item(place: _Place, versions: Sequence[Turn]) -> Item:
    [part] = versions[-1].content
    return Item(
        value=deepcopy(part["value"]),
        key=place.key,
        namespace=place.namespace,
        created_at=versions[0].at,
        updated_at=versions[-1].at,
    )


def _search_item(item: Item, score: float | None) -> SearchItem:
    return SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)


def _words(value: Mapping[str, Any], index: Any) -> list[str]:
    """Return the lines of a value that recall and a model may see."""
    if index is False:
        return []
    if index is None:
        return json_lines(value)
    return [text for path in index for text in get_text_at_path(value, tokenize_path(path))]


def _score(found: Recollection, items: Mapping[_Place, Item]) -> dict[_Place, float | None]:
    """Return the items whose words are in a recollection, the most relevant first."""
    scores: dict[_Place, float | None] = {}
    for part in sorted(found.parts, key=lambda part: part.score, reverse=True):
        for turn in part.source_turns:
            if "langgraph_key" not in turn.metadata:
                continue
            place = _place(turn)
            current = "\n".join(json_lines(items[place].value)) if place in items else ""
            # What only an earlier version says is no match.
            if any(line in current for line in turn.text.split("\n")):
                scores.setdefault(place, part.relevance)
    return scores


def _matches(value: Any, wanted: Any) -> bool:
    """Whether a value has what a filter names: equal values, or comparisons such as ``$gt``."""
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compare(value, name, bound) for name, bound in wanted.items())
        return isinstance(value, Mapping) and all(
            _matches(value.get(name), inner) for name, inner in wanted.items()
        )
    if isinstance(wanted, (list, tuple)):
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(wanted)
            and all(map(_matches, value, wanted))
        )
    return value == wanted


def _compare(value: Any, operator: str, bound: Any) -> bool:
    if operator == "$eq":
        return value == bound
    if operator == "$ne":
        return value != bound
    if operator not in ("$gt", "$gte", "$lt", "$lte"):
        raise BadInput(f"unknown operator {operator!r}; there are $eq, $ne, $gt, $gte, $lt, $lte")
    try:
        number, limit = float(value), float(bound)
    except (TypeError, ValueError):
        return False
    if operator == "$gt":
        return number > limit
    if operator == "$gte":
        return number >= limit
    return number < limit if operator == "$lt" else number <= limit


def _fits(namespace: Sequence[str], condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    is_prefix = condition.match_type == "prefix"
    labels = namespace[: len(path)] if is_prefix else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(labels, path, strict=True))
