"""The chat models of a client."""

from __future__ import annotations

from functools import partial
from os import PathLike

from theanine.client.options import OpenOptions
from theanine.client.redaction import Redact, redact_document
from theanine.llm.base import ChatModel
from theanine.llm.chat import Chat
from theanine.llm.open import open_chats
from theanine.llm.prompt_folder import PromptFolder
from theanine.methods.base import Method
from theanine.methods.shared.config import find_temperature
from theanine.store.base import Store


def client_chats(
    options: OpenOptions, store: Store, redact: Redact | None
) -> tuple[Chat | None, Chat | None]:
    """Return the chat that replies and the one that remembers; one object where they don't differ.

    Raises SettingsError and MissingExtra.
    """
    replying, remembering = open_chats(
        options.model,
        options.memory_model,
        base_url=options.base_url,
        memory_base_url=options.memory_base_url,
        model_settings=options.model_settings,
        memory_settings=options.memory_settings,
    )
    prompts = options.prompts
    folder = PromptFolder.read(prompts) if isinstance(prompts, str | PathLike) else prompts

    def chat(model: ChatModel | None) -> Chat | None:
        if model is None:
            return None
        hide = partial(redact_document, redact=redact) if redact else None
        return Chat(model, store, options.clock, options.limits, redact=hide, prompts=folder)

    first = chat(replying)
    return first, first if remembering is replying else chat(remembering)


def use_method(chat: Chat, method: Method, options: OpenOptions) -> None:
    """Have a chat ask for a method. Raises SettingsError where both have a temperature."""
    chat.temperature = find_temperature(method, options.model_settings, options.memory_settings)
    chat.asker = method.name
