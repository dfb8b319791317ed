"""Whose path it is: the service's own, or one of a provider behind the proxy."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

from starlette.types import Scope

Provider = Literal["openai", "anthropic"]

BASE = "/v1"
"""Path below which both providers' APIs are, and the service's own."""
_OF_ANTHROPIC = ("messages", "complete")
"""First names of the paths that only Anthropic has."""
_OF_OPENAI = frozenset(
    "audio batches chat completions embeddings files images models moderations responses".split()
)
"""First names of OpenAI's paths that are understood without ``/v1``, too."""


class ProviderPaths:
    """The paths of providers: all below ``/v1`` that are not the service's own.

    Args:
        own: the service's paths.
        with_memory: those whose POST requests have memory; all others are passed on unread.
    """

    def __init__(self, *, own: Collection[str], with_memory: Collection[str]) -> None:
        self._own = frozenset(_first(path) for path in own if path.startswith(f"{BASE}/"))
        self._with_memory = frozenset(with_memory)

    def find(self, scope: Scope) -> None:
        """Note in a request's state whose it is, which decides the shape of its errors, too.

        A path of OpenAI's without ``/v1``, from a client whose base URL lacks it, gets it. Paths
        that both providers have, such as ``/v1/files``, are Anthropic's for requests with the
        header that it requires, ``anthropic-version``.
        """
        path: str = scope["path"]
        if path.split("/", 2)[1] in _OF_OPENAI:
            path = scope["path"] = BASE + path
            scope["raw_path"] = BASE.encode() + scope["raw_path"]
        if not path.startswith(f"{BASE}/") or _first(path) in self._own:
            return
        names = (name for name, _ in scope["headers"])
        is_anthropic = _first(path) in _OF_ANTHROPIC or b"anthropic-version" in names
        scope.setdefault("state", {}).update(
            provider="anthropic" if is_anthropic else "openai",
            passed_on=scope["method"] != "POST" or path not in self._with_memory,
        )


def provider_of(scope: Mapping[str, Any]) -> Provider | None:
    """Return the provider that a request is for; None for one to the service itself."""
    return scope.get("state", {}).get("provider")


def is_passed_on(scope: Mapping[str, Any]) -> bool:
    """Return whether a request is passed on to its provider unread."""
    return scope.get("state", {}).get("passed_on", False)


def _first(path: str) -> str:
    return path.split("/", 3)[2]
