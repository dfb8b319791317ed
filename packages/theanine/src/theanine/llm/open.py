"""Open chat models by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from theanine.errors import MissingExtra, SettingsError
from theanine.llm.base import ChatModel
from theanine.llm.settings import ModelSettings, resolve_settings
from theanine.types import LOCAL_MODEL

KNOWN = (
    "Give local (no language model, the built-in embedder), provider:model such as "
    "openai:gpt-4o-mini or openai:text-embedding-3-small, or a base URL with the model's own name"
)


def open_chat(
    name: str,
    *,
    base_url: str | None = None,
    settings: ModelSettings | Mapping[str, Any] | None = None,
) -> ChatModel | None:
    """Open a chat model; None for ``local``, with which all steps use their local versions.

    The arguments are those of :class:`theanine.llm.pydantic_ai.PydanticAIChatModel`; settings may
    also be given by name.

    Raises:
        SettingsError: the name or a setting is invalid.
        MissingExtra: the extra ``models`` is not installed.
    """
    settings = resolve_settings(settings)
    if name == LOCAL_MODEL and not base_url:
        return None
    check_model_name(name, base_url, "a language model")
    from theanine.llm.pydantic_ai import PydanticAIChatModel

    return PydanticAIChatModel(name, base_url, settings)


def open_chats(
    model: str | ChatModel,
    memory_model: str | ChatModel | None = None,
    *,
    base_url: str | None = None,
    memory_base_url: str | None = None,
    model_settings: ModelSettings | Mapping[str, Any] | None = None,
    memory_settings: ModelSettings | Mapping[str, Any] | None = None,
) -> tuple[ChatModel | None, ChatModel | None]:
    """Open the model that replies and the one that remembers; one object where they don't differ.

    Raises like :func:`open_chat`, and SettingsError for an address or settings of an object.
    """
    replying = _open_or_keep("model", model, base_url, model_settings)
    if memory_model is None and memory_base_url is None and memory_settings is None:
        settings = resolve_settings(model_settings)
        if not isinstance(model, str) or settings.max_tokens is None:
            return replying, replying
        # The bound is meant for what is said in a conversation: a summary would be cut off.
        memory_settings = replace(settings, max_tokens=None)
    if memory_base_url is None and memory_model != LOCAL_MODEL:
        memory_base_url = base_url if isinstance(memory_model or model, str) else None
    name = model if memory_model is None else memory_model
    return replying, _open_or_keep("memory_model", name, memory_base_url, memory_settings)


def _open_or_keep(
    option: str,
    model: str | ChatModel,
    base_url: str | None,
    settings: ModelSettings | Mapping[str, Any] | None,
) -> ChatModel | None:
    if isinstance(model, str):
        return open_chat(model, base_url=base_url, settings=settings)
    if base_url is not None or settings is not None:
        raise SettingsError(
            f"{option} is an object: an address and settings belong to a model's name"
        )
    return model


def check_model_name(name: str, base_url: str | None, purpose: str) -> None:
    """Raise SettingsError for an invalid name or URL, MissingExtra without the extra ``models``."""
    provider, colon, model = name.partition(":")
    if not name.strip() or (not base_url and not (provider and colon and model)):
        raise SettingsError(f"{name!r} is not the name of a model. {KNOWN}")
    if base_url is not None and not base_url.startswith(("http://", "https://")):
        raise SettingsError(f"the base URL {base_url!r} must begin with http:// or https://")
    if find_spec("pydantic_ai") is None or find_spec("openai") is None:
        raise MissingExtra("models", purpose)
