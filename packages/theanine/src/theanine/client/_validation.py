"""What a caller hands in, checked at the door, where the fault can still be named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from theanine.errors import BadInput, SettingsError
from theanine.store.validate import check_scope
from theanine.types import Scope, Utterance


def scope_of(user: str, agent: str, tenant: str) -> Scope:
    """Whose memory it is. Raises BadInput for a name that is empty or no text."""
    scope = Scope(user, agent, tenant)
    check_scope(scope)
    return scope


def check_dialogue(dialogue: object) -> None:
    """Raises BadInput for what is neither words nor utterances, and for a question without words.

    A dialogue may be empty: some methods know what to recall before anything is said.
    """
    if isinstance(dialogue, str):
        if not dialogue.strip():
            raise BadInput("the question is empty: say what to recall something for")
    elif not _is_said(dialogue):
        raise BadInput(
            "the dialogue must be a question's words or a list of utterances, not "
            f"{type(dialogue).__name__}"
        )


def _is_said(dialogue: object) -> bool:
    listed = isinstance(dialogue, Sequence)
    return listed and all(isinstance(one, Utterance) for one in cast("Sequence[object]", dialogue))


def check_budget(budget: object) -> None:
    """Raises SettingsError for what is no number of tokens; None is no budget."""
    if budget is not None and (type(budget) is not int or budget < 0):
        raise SettingsError(f"the budget must be 0 or more whole tokens, not {budget!r}")


def check_names(**given: object) -> None:
    """Raises SettingsError for an argument that is no text, naming it."""
    for argument, value in given.items():
        if not isinstance(value, str):
            raise SettingsError(f"{argument} must be a string, not {type(value).__name__}")
