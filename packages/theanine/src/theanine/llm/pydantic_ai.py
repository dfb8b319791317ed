"""Chat models of any provider, through pydantic-ai. Imported only when configured."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal

from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from theanine.llm.base import DEFAULT_REQUEST, Message, RawReply, RequestOptions, Tool, ToolCall
from theanine.llm.provider import (
    call_provider_factory,
    openai_name,
    openai_provider,
    redact_secrets,
    translate_errors,
)
from theanine.llm.schema import schema_hint

Structured = Literal["prompt", "schema"]
"""How JSON replies are requested: in the prompt, or by the provider's JSON schema mode."""

_STREAMS_END = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
"""Without it, a stream whose connection closes too early would look whole."""


class PydanticAIChatModel:
    """A chat model by name, such as ``openai:gpt-4o-mini``.

    ``openai:`` means the chat completions API, which Ollama, vLLM and LM Studio offer as well: give
    their address as ``base_url``. Keys come from the environment; with a base URL none is needed.

    Args:
        name: ``provider:model``; with a base URL the model's name is enough.
        base_url: address of an OpenAI-compatible server.
        temperature: None for the provider's default.
        max_tokens: maximum length of a reply; None for the provider's default.
        structured: ``prompt`` works everywhere; ``schema`` needs a provider with JSON schemas.

    Raises SettingsError for a wrong or missing name, key or package.
    """

    def __init__(
        self,
        name: str,
        base_url: str | None = None,
        *,
        temperature: float | None = 0.0,
        max_tokens: int | None = None,
        structured: Structured = "prompt",
    ) -> None:
        model_name = openai_name(name, base_url)
        self._model: Model[Any]
        if model_name is None:
            self._model = call_provider_factory(lambda: infer_model(name), name)
        else:
            self._model = OpenAIChatModel(
                model_name, provider=openai_provider(base_url), profile=_STREAMS_END
            )
        self._name = name if model_name is None else f"openai:{model_name}"
        self._address = redact_secrets(self._model.base_url or "")
        self._structured = structured
        self._settings: dict[str, Any] = {
            "base_url": self._address,
            "temperature": temperature,
            "max_tokens": max_tokens,
            "structured": structured,
        }
        self._model_settings = ModelSettings(max_retries=0)
        if temperature is not None:
            self._model_settings["temperature"] = temperature
        if max_tokens is not None:
            self._model_settings["max_tokens"] = max_tokens

    @property
    def name(self) -> str:
        """The full name, always with its provider."""
        return self._name

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that changes its replies; part of the journal key."""
        return self._settings

    async def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        options: RequestOptions = DEFAULT_REQUEST,
    ) -> RawReply:
        """Send one request, without retries."""
        parameters = ModelRequestParameters(function_tools=[*map(_tool, options.tools)])
        if schema is not None and self._structured == "schema":
            parameters.output_mode = "native"
            parameters.output_object = OutputObjectDefinition(
                json_schema=dict(schema), name="answer"
            )
        elif schema is not None:
            messages = _append_schema(messages, schema)
        with translate_errors(self._name, self._address):
            response = await model_request(
                self._model,
                [_to_pydantic_ai(message) for message in messages],
                model_settings=self._settings_for(options),
                model_request_parameters=parameters,
            )
        return _raw_reply(response)

    async def stream(
        self, messages: Sequence[Message], options: RequestOptions = DEFAULT_REQUEST
    ) -> AsyncGenerator[str | RawReply]:
        """Send one request, without retries; yield the text as it arrives, then the whole reply."""
        request = model_request_stream(
            self._model,
            [_to_pydantic_ai(message) for message in messages],
            model_settings=self._settings_for(options),
            model_request_parameters=ModelRequestParameters(
                function_tools=[*map(_tool, options.tools)]
            ),
        )
        with translate_errors(self._name, self._address):
            async with request as response:
                async for event in response:
                    if text := _text(event):
                        yield text
                yield _raw_reply(response.get())

    def _settings_for(self, options: RequestOptions) -> ModelSettings:
        settings = self._model_settings.copy()
        if options.temperature is not None:
            settings["temperature"] = options.temperature
        if options.max_tokens is not None:
            settings["max_tokens"] = options.max_tokens
        if options.stop:
            settings["stop_sequences"] = [*options.stop]
        return settings

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """Return the price of so many tokens in US dollars; None if it is unknown."""
        model = self._model
        return _cost(
            ModelResponse(
                parts=[],
                usage=RequestUsage(input_tokens=input_tokens, output_tokens=output_tokens),
                model_name=model.model_name,
                provider_name=model.system,
                provider_url=model.base_url,
            )
        )

    async def close(self) -> None:
        """Close the HTTP connections."""
        async with self._model:
            pass  # leaving the context closes them


def _append_schema(messages: Sequence[Message], schema: Mapping[str, Any]) -> Sequence[Message]:
    first, *rest = messages
    text = f"{first.text}\n\nAnswer with one JSON object, nothing else:\n{schema_hint(schema)}"
    return [Message(first.role, text), *rest]


def _to_pydantic_ai(message: Message) -> ModelMessage:
    if message.role == "assistant":
        return ModelResponse(parts=[TextPart(message.text)])
    part = SystemPromptPart if message.role == "system" else UserPromptPart
    return ModelRequest(parts=[part(message.text)])


def _tool(tool: Tool) -> ToolDefinition:
    return ToolDefinition(
        name=tool.name,
        description=tool.description,
        parameters_json_schema=dict(tool.parameters),
    )


def _text(event: object) -> str:
    """Return the new text of an event of a stream."""
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _raw_reply(response: ModelResponse) -> RawReply:
    refusal = (response.provider_details or {}).get("refusal")
    return RawReply(
        text=refusal or response.text or "",
        input_tokens=response.usage.input_tokens,
        output_tokens=response.usage.output_tokens,
        cost=_cost(response),
        finish="refusal" if refusal else response.finish_reason or "stop",
        tool_calls=tuple(
            ToolCall(id=call.tool_call_id, name=call.tool_name, arguments=call.args_as_dict())
            for call in response.tool_calls
        ),
    )


def _cost(response: ModelResponse) -> float | None:
    """Return US dollars by the price list installed with pydantic-ai; None if it has no price."""
    if not response.model_name or not response.usage.has_values():
        return None
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError):
        return None
