"""The options of a reply: the application's own words, the model's settings, tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast

from theanine.client.options import RecallArguments
from theanine.errors import SettingsError
from theanine.llm.base import ReplyPrompt, RequestOptions, Tool

if TYPE_CHECKING:
    from theanine.methods.base import ReplyOptions


class ReplyArguments(RecallArguments, total=False):
    """Arguments of every reply; see :meth:`AsyncLiveSession.reply`."""

    system: str
    persona: str
    temperature: float | None
    max_tokens: int | None
    stop: str | Sequence[str]
    tools: Sequence[Mapping[str, Any]]
    prompt: ReplyPrompt | None


def reply_options(
    stream: bool,
    *,
    system: str = "",
    persona: str = "",
    temperature: float | None = None,
    max_tokens: int | None = None,
    stop: str | Sequence[str] = (),
    tools: Sequence[Mapping[str, Any]] = (),
    prompt: ReplyPrompt | None = None,
    **recall: Unpack[RecallArguments],
) -> tuple[RecallArguments, ReplyOptions]:
    """Return the arguments of the recall, and the options of the reply.

    Raises SettingsError for a value out of range, and for a tool that is not one.
    """
    from theanine.methods.base import ReplyOptions

    if temperature is not None and not 0 <= temperature <= 2:
        raise SettingsError(f"temperature must be from 0 to 2, not {temperature!r}")
    if max_tokens is not None and max_tokens < 1:
        raise SettingsError(f"max_tokens must be at least 1, not {max_tokens!r}")
    stops = (stop,) if isinstance(stop, str) else tuple(stop)
    if not all(stops):
        raise SettingsError(f"stop must be one or more texts, not {stop!r}")
    request = RequestOptions(
        temperature=temperature,
        max_tokens=max_tokens,
        stop=stops,
        tools=tuple(map(parse_tool, tools)),
    )
    replying = ReplyOptions(
        prompt=prompt, stream=stream, system=system, persona=persona, request=request
    )
    return recall, replying


def parse_tool(tool: Mapping[str, Any]) -> Tool:
    """Return a tool in the form of OpenAI's or of Anthropic's API. Raises SettingsError."""
    function = tool.get("function", tool)
    name = function.get("name")
    parameters = function.get("parameters", function.get("input_schema", {"type": "object"}))
    if not isinstance(name, str) or not name or not isinstance(parameters, Mapping):
        raise SettingsError(
            "a tool needs a name and the JSON schema of its parameters, such as "
            '{"type": "function", "function": {"name": "weather", "parameters": '
            f'{{"type": "object", "properties": {{}}}}}}}}, not {tool!r}'
        )
    return Tool(
        name=name,
        description=str(function.get("description") or ""),
        parameters=cast("Mapping[str, Any]", parameters),
    )
