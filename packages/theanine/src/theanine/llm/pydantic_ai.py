"""Chat models of any provider, through pydantic-ai. Imported only when configured."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles.openai import OpenAIModelProfile, openai_model_profile
from pydantic_ai.settings import ModelSettings as PydanticAISettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from theanine.credentials import redact_environment, redact_stream
from theanine.llm.base import DEFAULT_REQUEST, Message, RawReply, RequestOptions, Tool, ToolCall
from theanine.llm.bounds import ReplyBounds
from theanine.llm.provider import (
    bound_bytes,
    call_provider_factory,
    openai_name,
    openai_provider,
    redact_secrets,
    translate_errors,
)
from theanine.llm.schema import schema_prompt
from theanine.llm.settings import ModelSettings

REASONING_TOKENS = 16_000
"""Added to the bound of a model that reasons before it replies, since that counts as output."""
_MAX_TOKENS = 1_000_000_000
"""Maximum tokens of one call; a larger count is an error of the server."""
_OPENAI = "//api.openai.com"
_NO_SCHEMAS = (400, 404, 415, 422, 501)
"""Statuses with which servers reject a JSON schema that they can't enforce."""
_STREAMS_END = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
"""Without it, a stream whose connection closes too early would look whole."""


class PydanticAIChatModel:
    """A chat model by name, such as ``openai:gpt-4o-mini``.

    ``openai:`` means the chat completions API, which Ollama, vLLM and LM Studio offer as well: give
    their address as ``base_url``. Keys come from the environment; with a base URL none is needed.

    Which JSON schemas the server takes and whether the model reasons is found out with the first
    calls, and remembered.

    Args:
        name: ``provider:model``; with a base URL the model's name is enough.
        base_url: address of an OpenAI-compatible server.
        settings: how it writes.

    Raises SettingsError for a wrong or missing name, key or package.
    """

    def __init__(
        self, name: str, base_url: str | None = None, settings: ModelSettings | None = None
    ) -> None:
        settings = settings or ModelSettings()
        model_name = openai_name(name, base_url)
        self._model: Model[Any]
        if model_name is None:
            self._model = call_provider_factory(lambda: infer_model(name), name)
        else:
            provider = openai_provider(base_url)
            own = _STREAMS_END.copy()
            if _OPENAI not in provider.base_url and not _may_reason(model_name):
                own["openai_chat_supports_max_completion_tokens"] = False  # a newer name for it
            self._model = OpenAIChatModel(model_name, provider=provider, profile=own)
        bound_bytes(self._model.provider)
        self._name = name if model_name is None else f"openai:{model_name}"
        self._address = redact_secrets(self._model.base_url or "")
        self._in_prompt = settings.structured != "schema"
        profile = self._model.profile
        self._takes_schemas = settings.structured != "prompt" and (
            not self._in_prompt or profile.get("supports_json_schema_output", False)
        )
        self._reasons = profile.get("thinking_always_enabled", False)
        # Other servers know no strict mode, without which OpenAI enforces nothing, and in which
        # pydantic-ai leaves out the bounds of lists and strings.
        self._compatible = model_name is not None and _OPENAI not in self._address
        self._numbers_items = self._compatible
        self._max_tokens = settings.max_tokens
        self._settings: dict[str, Any] = {
            "base_url": self._address,
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
            # The schema of `auto` only keeps a reply to the form that its prompt describes.
            "structured": "prompt" if settings.structured == "auto" else settings.structured,
        }
        optional = {
            "top_p": settings.top_p,
            "frequency_penalty": settings.frequency_penalty,
            "presence_penalty": settings.presence_penalty,
            "seed": settings.seed,
        }
        chosen = {key: value for key, value in optional.items() if value is not None}
        self._settings |= chosen  # absent where unset, so that older journal keys stay as they are
        self._model_settings = cast("PydanticAISettings", {"max_retries": 0, **chosen})
        if settings.temperature is not None:
            self._model_settings["temperature"] = settings.temperature

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
        """Send one request, without retries.

        It is sent again without the schema if the server rejects it with one, and with more tokens
        if the model spent all of them on reasoning.
        """
        bounds = options.bounds or ReplyBounds()
        if schema is not None and self._in_prompt:
            messages = _append_schema(messages, schema)
        schemas: list[Mapping[str, Any]] = []
        if schema is not None and self._takes_schemas:
            schemas.append(bounds.apply(schema))
            if bounds.numbered and self._numbers_items:
                schemas.insert(0, bounds.apply(schema, number_items=True))
        with translate_errors(self._name, self._address):
            response = await self._request(messages, schemas, options)
            spent = response.usage
            bounded = options.bounds and not (options.max_tokens or self._max_tokens)
            if not self._reasons and _only_reasoned(response):
                self._reasons = True
                if bounded:
                    response = await self._request(messages, schemas, options)
                    response.usage += spent
            return _raw_reply(response)

    async def _request(
        self,
        messages: Sequence[Message],
        schemas: Sequence[Mapping[str, Any]],
        options: RequestOptions,
    ) -> ModelResponse:
        """Send one request with the first of the schemas that the server takes, or with none."""
        tools = [*map(_tool, options.tools)]
        send = partial(
            model_request,
            self._model,
            _history(messages),
            model_settings=self._settings_for(options),
        )
        plain = ModelRequestParameters(function_tools=tools)
        strict = None if self._compatible else True
        for schema in schemas:
            output = OutputObjectDefinition(json_schema={**schema}, name="answer", strict=strict)
            parameters = replace(plain, output_mode="native", output_object=output)
            try:
                response = await send(model_request_parameters=parameters)
            except ModelHTTPError as error:
                last = schema is schemas[-1] and not self._in_prompt
                if last or error.status_code not in _NO_SCHEMAS:
                    raise
            else:
                self._numbers_items &= schema is schemas[0]
                return response
        # Another fault of the request fails again without a schema.
        response = await send(model_request_parameters=plain)
        self._takes_schemas &= not schemas
        return response

    def stream(
        self, messages: Sequence[Message], options: RequestOptions = DEFAULT_REQUEST
    ) -> AsyncGenerator[str | RawReply]:
        """Send one request, without retries; yield the text as it arrives, then the whole reply."""
        return redact_stream(self._stream(messages, options))

    async def _stream(
        self, messages: Sequence[Message], options: RequestOptions
    ) -> AsyncGenerator[str | RawReply]:
        request = model_request_stream(
            self._model,
            _history(messages),
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

    def _settings_for(self, options: RequestOptions) -> PydanticAISettings:
        settings = self._model_settings.copy()
        if options.temperature is not None:
            settings["temperature"] = options.temperature
        if options.stop:
            settings["stop_sequences"] = [*options.stop]
        if tokens := self.max_output(options):
            settings["max_tokens"] = tokens
        return settings

    def max_output(self, options: RequestOptions) -> int | None:
        """Return the maximum tokens of a reply, with those of its reasoning as far as is known."""
        tokens = options.max_tokens or self._max_tokens
        if tokens or options.bounds is None:
            return tokens
        return options.bounds.tokens + (REASONING_TOKENS if self._reasons else 0)

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
    return [Message(first.role, f"{first.text}\n\n{schema_prompt(schema)}"), *rest]


def _may_reason(model_name: str) -> bool:
    return openai_model_profile(model_name).get("supports_thinking", False)


def _only_reasoned(response: ModelResponse) -> bool:
    """Whether the bound was reached while, or soon after, the model reasoned."""
    reasoned = any(isinstance(part, ThinkingPart) for part in response.parts)
    reasoned = reasoned or response.usage.details.get("reasoning_tokens", 0) > 0
    return reasoned and response.finish_reason == "length"


def _history(messages: Sequence[Message]) -> list[ModelMessage]:
    """Return messages; the results of tools that follow each other are in one request."""
    history: list[ModelMessage] = []
    for before, message in zip([None, *messages], messages, strict=False):
        if message.role == "assistant":
            text = [TextPart(message.text)] if message.text or not message.tool_calls else []
            calls = [ToolCallPart(c.name, dict(c.arguments), c.id) for c in message.tool_calls]
            history.append(ModelResponse(parts=[*text, *calls]))
            continue
        part = _request_part(message)
        last = history[-1] if history else None
        if before and before.role == message.role == "tool" and isinstance(last, ModelRequest):
            history[-1] = ModelRequest(parts=[*last.parts, part])
        else:
            history.append(ModelRequest(parts=[part]))
    return history


def _request_part(message: Message) -> ModelRequestPart:
    if message.result_of:
        return ToolReturnPart(message.result_of.name, message.text, message.result_of.id)
    part = SystemPromptPart if message.role == "system" else UserPromptPart
    return part(message.text)


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
    """Return the reply. Raises ValueError for what no provider can mean."""
    used = response.usage
    if not all(0 <= tokens <= _MAX_TOKENS for tokens in (used.input_tokens, used.output_tokens)):
        raise ValueError(f"it counts {used.input_tokens} + {used.output_tokens} tokens")
    refusal = (response.provider_details or {}).get("refusal")
    return RawReply(
        text=redact_environment(refusal or response.text or ""),
        input_tokens=response.usage.input_tokens,
        output_tokens=response.usage.output_tokens,
        cost=_cost(response),
        finish="refusal" if refusal else response.finish_reason or "stop",
        tool_calls=tuple(
            ToolCall(
                id=call.tool_call_id,
                name=call.tool_name,
                arguments=json.loads(redact_environment(json.dumps(call.args_as_dict()))),
            )
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
