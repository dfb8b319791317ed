"""Former settings of Theanine: those of its modes, which Theanine as published has now.

This module goes in the next release, but for ``paper``.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from theanine.errors import SettingsError

DEFAULT, PAPER = "theanine", "theanine-paper"
MODES: Mapping[str, str | int | bool] = {
    "search": "log",
    "retrieved": 3,
    "retrieval": "hybrid",
    "samples": 1,
    "relating": "session",
    "link_to": "best",
    "rationale": False,
    "relation_aware": True,
    "refine": True,
    "whole": False,
    "shuffle": False,
}
"""The settings that the default method no longer has, with its former defaults."""
_OF_ACCOUNTS = ("refine", "whole")
"""Those of accounts that a model made of timelines, which the default method no longer asks for."""
_OF_MEMORIES = ("retrieved", "retrieval", "samples", "shuffle")
"""Those that have always needed ``search=memories``."""
_OF_LOG = ("search", "timelines", "min_relevance")
"""Those that recall from timelines alone has no use for."""
_SHARED: Mapping[str, Any] = {
    "reply_prompt": "chat",
    "temperature": None,
    "query_turns": 6,
    "query_names": False,
    "budget": 600,
}
"""Former defaults of settings that both methods have."""


def current_settings(
    settings: Mapping[str, Any], *, warn: bool = True
) -> tuple[str, dict[str, Any]]:
    """Return the id of the method that settings of Theanine mean now, and its settings.

    ``search=memories`` and all that only the paper or its ablations need is Theanine as published,
    with the former defaults of what is not set; ``paper`` is that with the paper's values. A
    setting of the default method's former modes gives a FutureWarning; ``warn=False`` is for
    settings read from old data. Raises SettingsError for settings that exclude each other.
    """
    given = dict(settings)
    if not _is_false(given.get("paper", False)):
        return PAPER, _of_paper(given)
    given.pop("paper", None)
    modes = {name: given[name] for name in MODES if name in given}
    if not modes:
        return DEFAULT, given
    search = str(modes.pop("search", "log"))
    if search not in ("log", "memories"):
        raise SettingsError(f"search must be log or memories, not {search!r}")
    if search == "memories":
        _warn(warn, "search=memories", f"use the method {PAPER}")
        return PAPER, _of_paper({**MODES, **_SHARED, **given})
    changed = [
        name
        for name, value in modes.items()
        if name not in _OF_ACCOUNTS and not _is_same(value, MODES[name])
    ]
    if not changed:
        names = ", ".join(name for name in MODES if name in given)
        _warn(warn, names, "leave it out: nothing changes")
        return DEFAULT, {name: value for name, value in given.items() if name not in MODES}
    if "search" in given or not {*_OF_MEMORIES}.isdisjoint(changed):
        raise SettingsError(
            f"the method {DEFAULT}, which searches the log, has no setting {changed[0]}; "
            f"the method {PAPER} has it"
        )
    _warn(
        warn,
        ", ".join(changed),
        f"it means the method {PAPER}, which recalls from timelines alone: name that one",
    )
    return PAPER, _of_paper({**MODES, **_SHARED, **given})


def _of_paper(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in _OF_LOG}


def _warn(warn: bool, names: str, advice: str) -> None:
    if warn:
        warnings.warn(
            f"the method {DEFAULT} no longer has {names}; {advice}", FutureWarning, stacklevel=5
        )


def _is_false(value: object) -> bool:
    return _is_same(value, False)


def _is_same(value: object, default: object) -> bool:
    """Whether a value, which may be a string as on the command line, is the default."""
    from pydantic import TypeAdapter, ValidationError  # takes long to load

    try:
        return TypeAdapter(type(default)).validate_python(value) == default
    except ValidationError:
        return False
