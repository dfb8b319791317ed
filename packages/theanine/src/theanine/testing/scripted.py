"""A chat model that follows a script: deterministic, in this process, without a network."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, cast

from theanine.errors import ModelRejected
from theanine.llm.base import DEFAULT_REQUEST, Message, RawReply, RequestOptions
from theanine.tokenizer import count_tokens

Answer = str | RawReply | Exception
"""An answer of a script: text, a whole reply, or an error to raise."""
Writer = Callable[[str], Answer]
"""Returns the answer to a prompt."""
Script = Answer | Writer | Mapping[str, Answer | Writer] | Sequence[Answer]
"""One answer for all prompts, a function, answers by step name, or a sequence of answers."""

_TASK = re.compile(r"\s*Task: *(\S+)")
_CHAT = "what you remember of earlier conversations, between <<<remembered and >>>"
"""Words of the system message of a reply as a chat."""


def task_of(prompt: str) -> str | None:
    """Return the step of one of theanine's prompts.

    Their first line is ``Task: <step>``; a system message of a reply as a chat is ``respond``.
    """
    match = _TASK.match(prompt)
    if match is None and _CHAT in prompt:
        return "respond"
    return match[1] if match else None


class ScriptedModel:
    """Answers by a script, and counts tokens with the bundled tokenizer; it costs nothing.

    Args:
        reply: the script. A function gets the whole prompt: all messages of the request, separated
            by blank lines.
        name: the model's name.

    Attributes:
        prompts: every prompt so far, in order.

    A request for which the script has no answer raises ModelRejected.
    """

    def __init__(self, reply: Script, name: str = "scripted") -> None:
        self.prompts: list[str] = []
        self._name = name
        self._write = _writer(reply)
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    @property
    def settings(self) -> Mapping[str, Any]:
        """Empty: only the script changes its answers."""
        return {}

    async def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        options: RequestOptions = DEFAULT_REQUEST,
    ) -> RawReply:
        """Return the script's answer; ``schema`` is ignored."""
        prompt = "\n\n".join(message.text for message in messages)
        with self._lock:
            self.prompts.append(prompt)
            answer = self._write(prompt)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, RawReply):
            return answer
        return RawReply(
            text=answer,
            input_tokens=count_tokens(prompt),
            output_tokens=count_tokens(answer),
            cost=0.0,
        )


def _writer(script: Script) -> Writer:
    if isinstance(script, (str, RawReply, Exception)):
        return lambda _: script
    if isinstance(script, Mapping):
        steps = cast("Mapping[str, Answer | Writer]", script)
        return lambda prompt: _writer(steps.get(task_of(prompt) or "", _no_answer(prompt)))(prompt)
    if isinstance(script, Sequence):
        rest = iter(cast("Sequence[Answer]", script))
        return lambda prompt: next(rest, _no_answer(prompt))
    return script


def _no_answer(prompt: str) -> ModelRejected:
    return ModelRejected(f"the script has no answer for: {prompt[:80]!r}")
