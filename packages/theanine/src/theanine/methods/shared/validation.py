"""What the numbers of a method's settings must be, said in the same words by every method."""

from __future__ import annotations

from theanine.errors import SettingsError

_NONE = {"query_turns": ", or None for the whole dialogue", "budget": " tokens, or None"}


def check_minimums(config: object, **least: int) -> None:
    """Raises SettingsError for a setting of the config below its bound; None is no number."""
    for name, bound in least.items():
        value = getattr(config, name)
        if value is not None and value < bound:
            raise SettingsError(
                f"{name} must be at least {bound}{_NONE.get(name, '')}, not {value}"
            )
