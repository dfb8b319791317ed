"""What the conformance suite of MCP asks a server for by name, beside theanine's own tools.

See the "Server Implementation Requirements" of @modelcontextprotocol/conformance.
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from base64 import b64decode
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import Prompt, UserMessage
from mcp.shared.exceptions import MCPError
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    Completion,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel, Field

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "YPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="


def _text_resource(uri: str, text: str, mime_type: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(
        type="resource", resource=TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    )


IMAGE = ImageContent(type="image", data=PIXEL, mime_type="image/png")


def test_simple_text() -> str:
    """A text"""
    return "This is a simple text response for testing."


def test_image_content() -> list[ImageContent]:
    """An image"""
    return [IMAGE]


def test_audio_content() -> list[AudioContent]:
    """A sound"""
    return [AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")]


def test_embedded_resource() -> list[EmbeddedResource]:
    """A resource"""
    return [_text_resource("test://embedded-resource", "This is an embedded resource content.")]


def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    """A text, an image and a resource"""
    data = '{"test":"data","value":123}'
    return [
        TextContent(type="text", text="Multiple content types test:"),
        IMAGE,
        _text_resource("test://mixed-content-resource", data, "application/json"),
    ]


def test_error_handling() -> str:
    """An error"""
    raise RuntimeError("This tool intentionally returns an error for testing")


Region = Annotated[str, Field(default="none", json_schema_extra={"x-mcp-header": "Region"})]


def test_x_mcp_header(region: Region) -> str:
    """An argument that a header repeats"""
    return region


def json_schema_2020_12_tool() -> str:
    """A schema with keywords of the draft 2020-12"""
    return "done"


SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


class _Answer(BaseModel):
    username: str
    email: str


class _Defaults(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: str = Field("active", json_schema_extra={"enum": ["active", "inactive", "pending"]})
    verified: bool = True


def _choices(values: dict[str, str]) -> list[dict[str, str]]:
    return [{"const": value, "title": title} for value, title in values.items()]


_OPTIONS = ["option1", "option2", "option3"]
_TITLES = {"value1": "First Option", "value2": "Second Option", "value3": "Third Option"}
_NAMES = {"opt1": "Option One", "opt2": "Option Two", "opt3": "Option Three"}


class _Enums(BaseModel):
    untitledSingle: str = Field(json_schema_extra={"enum": list[Any](_OPTIONS)})  # noqa: N815
    titledSingle: str = Field(json_schema_extra={"oneOf": list[Any](_choices(_TITLES))})  # noqa: N815
    legacyEnum: str = Field(  # noqa: N815
        json_schema_extra={"enum": list[Any](_NAMES), "enumNames": list[Any](_NAMES.values())}
    )
    untitledMulti: list[str] = Field(  # noqa: N815
        json_schema_extra={"items": {"type": "string", "enum": list[Any](_OPTIONS)}}
    )
    titledMulti: list[str] = Field(  # noqa: N815
        json_schema_extra={"items": {"anyOf": list[Any](_choices(_TITLES))}}
    )


async def test_tool_with_logging(ctx: Context) -> str:
    """Three log messages"""
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.info(words)
    return "logged"


async def test_tool_with_progress(ctx: Context) -> str:
    """Three reports of progress"""
    for progress in (0, 50, 100):
        await ctx.report_progress(progress, 100)
    return "done"


async def test_sampling(prompt: str, ctx: Context) -> str:
    """A completion by the client's model"""
    message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    result = await ctx.session.create_message(
        messages=[message], max_tokens=100, related_request_id=ctx.request_id
    )
    return f"LLM response: {getattr(result.content, 'text', '')}"


async def test_elicitation(message: str, ctx: Context) -> str:
    """A question to the user"""
    return await _elicit(ctx, message, _Answer)


async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """A form with defaults"""
    return await _elicit(ctx, "Please review and update", _Defaults)


async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """A form with choices"""
    return await _elicit(ctx, "Please select options", _Enums)


async def test_missing_capability(ctx: Context) -> str:
    """Needs the capability to sample"""
    capabilities = ctx.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        raise MCPError(
            code=MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="the client must declare sampling",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return "declared"


async def test_reconnection(ctx: Context) -> str:
    """Closes its stream before it ends"""
    await ctx.close_sse_stream()
    return "reconnected"


async def _elicit(ctx: Context, message: str, schema: type[BaseModel]) -> str:
    result = await ctx.elicit(message, schema)
    content = result.data.model_dump_json() if result.action == "accept" else "{}"
    return f"User response: action={result.action}, content={content}"


def _ask(message: str, name: str, kind: str = "string") -> ElicitRequest:
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def _complete(prompt: str) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    return CreateMessageRequest(
        params=CreateMessageRequestParams(messages=[message], max_tokens=100)
    )


def _given(ctx: Context, *names: str) -> dict[str, Any] | None:
    """Return the client's answers if all are there."""
    answers = {
        name: answer for name, answer in (ctx.input_responses or {}).items() if name in names
    }
    return answers if len(answers) == len(names) else None


async def test_input_required_result_elicitation(ctx: Context) -> str | InputRequiredResult:
    """Asks for a name"""
    given = _given(ctx, "user_name")
    if given and (content := getattr(given["user_name"], "content", None)):
        return f"Hello, {content.get('name')}!"
    return InputRequiredResult(input_requests={"user_name": _ask("What is your name?", "name")})


async def test_input_required_result_sampling(ctx: Context) -> str | InputRequiredResult:
    """Asks the client's model"""
    if given := _given(ctx, "capital_question"):
        return f"The model said: {getattr(given['capital_question'].content, 'text', '')}"
    question = _complete("What is the capital of France?")
    return InputRequiredResult(input_requests={"capital_question": question})


async def test_input_required_result_list_roots(ctx: Context) -> str | InputRequiredResult:
    """Asks for the client's folders"""
    if given := _given(ctx, "client_roots"):
        return f"Roots: {', '.join(str(root.uri) for root in given['client_roots'].roots)}"
    return InputRequiredResult(input_requests={"client_roots": ListRootsRequest()})


async def test_input_required_result_request_state(ctx: Context) -> str | InputRequiredResult:
    """Has its state returned"""
    if _given(ctx, "confirm") and ctx.request_state == "waiting":
        return "state-ok"
    confirm = _ask("Please confirm", "ok", "boolean")
    return InputRequiredResult(input_requests={"confirm": confirm}, request_state="waiting")


async def test_input_required_result_tampered_state(ctx: Context) -> str | InputRequiredResult:
    """Has its state returned, unchanged"""
    if ctx.request_state:
        return "state-ok"
    confirm = _ask("Please confirm", "ok", "boolean")
    return InputRequiredResult(input_requests={"confirm": confirm}, request_state="sealed")


async def test_input_required_result_multiple_inputs(ctx: Context) -> str | InputRequiredResult:
    """Asks for three things at once"""
    if _given(ctx, "user_name", "greeting", "client_roots"):
        return "All three are there."
    requests: dict[str, InputRequest] = {
        "user_name": _ask("What is your name?", "name"),
        "greeting": _complete("Generate a greeting"),
        "client_roots": ListRootsRequest(),
    }
    return InputRequiredResult(input_requests=requests, request_state="three")


async def test_input_required_result_multi_round(ctx: Context) -> str | InputRequiredResult:
    """Asks twice"""
    if ctx.request_state == "second" and _given(ctx, "step2"):
        return "Both rounds are done."
    if ctx.request_state == "first" and _given(ctx, "step1"):
        color = _ask("Step 2: What is your favorite color?", "color")
        return InputRequiredResult(input_requests={"step2": color}, request_state="second")
    name = _ask("Step 1: What is your name?", "name")
    return InputRequiredResult(input_requests={"step1": name}, request_state="first")


async def test_input_required_result_capabilities(ctx: Context) -> InputRequiredResult:
    """Asks for what the client can do"""
    capabilities = ctx.client_capabilities
    requests: dict[str, InputRequest] = {}
    if capabilities is None or capabilities.sampling is not None:
        requests["greeting"] = _complete("Say hello")
    if capabilities is None or capabilities.elicitation is not None:
        requests["user_name"] = _ask("What is your name?", "name")
    return InputRequiredResult(input_requests=requests, request_state="able")


def dynamic() -> str:
    """Added and removed"""
    return "dynamic"


async def test_trigger_tool_change(ctx: Context) -> str:
    """Changes the list of tools"""
    ctx.mcp_server.add_tool(dynamic, name="test_dynamic_tool")
    ctx.mcp_server.remove_tool("test_dynamic_tool")
    await ctx.notify_tools_changed()
    return "changed"


async def test_trigger_prompt_change(ctx: Context) -> str:
    """Changes the list of prompts"""
    ctx.mcp_server.add_prompt(Prompt.from_function(dynamic, name="test_dynamic_prompt"))
    ctx.mcp_server.remove_prompt("test_dynamic_prompt")
    await ctx.notify_prompts_changed()
    return "changed"


def _add_resources(server: MCPServer[Any]) -> None:
    @server.resource("test://static-text")
    def static_text() -> str:
        """A text"""
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        """An image"""
        return b64decode(PIXEL)

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:
        """The data of an id"""
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @server.resource("test://watched-resource")
    def watched() -> str:
        """A text that may change"""
        return "Watched resource content"


def _add_prompts(server: MCPServer[Any]) -> None:
    def said(text: str) -> UserMessage:
        return UserMessage(content=TextContent(type="text", text=text))

    @server.prompt()
    def test_simple_prompt() -> list[UserMessage]:
        """A prompt"""
        return [said("This is a simple prompt for testing.")]

    @server.prompt()
    def test_prompt_with_arguments(arg1: str, arg2: str) -> list[UserMessage]:
        """A prompt with arguments"""
        return [said(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")]

    @server.prompt()
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803
        """A prompt with a resource"""
        resource = _text_resource(resourceUri, "Embedded resource content for testing.")
        return [UserMessage(content=resource), said("Please process the embedded resource above.")]

    @server.prompt()
    def test_prompt_with_image() -> list[UserMessage]:
        """A prompt with an image"""
        return [UserMessage(content=IMAGE), said("Please analyze the image above.")]

    @server.prompt()
    async def test_input_required_result_prompt(
        ctx: Context,
    ) -> list[UserMessage] | InputRequiredResult:
        """A prompt that needs input"""
        if given := _given(ctx, "user_context"):
            return [said(f"Context: {given['user_context'].content}")]
        question = _ask("What context should the prompt use?", "context")
        return InputRequiredResult(input_requests={"user_context": question})


def _add_handlers(server: MCPServer[Any]) -> None:
    """Add what clients before revision 2026-07-28 may send."""

    @server.completion()
    async def complete(ref: Any, argument: Any, context: Any) -> Completion:
        return Completion(values=["paris", "park"], total=2, has_more=False)

    async def accept(ctx: Any, params: Any) -> EmptyResult:
        return EmptyResult()

    kinds: dict[str, type[Any]] = {
        "logging/setLevel": SetLevelRequestParams,
        "resources/subscribe": SubscribeRequestParams,
        "resources/unsubscribe": UnsubscribeRequestParams,
    }
    for method, kind in kinds.items():
        server._lowlevel_server.add_request_handler(method, kind, accept)  # no public way


TOOLS = (
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_error_handling,
    test_x_mcp_header,
    json_schema_2020_12_tool,
    test_tool_with_logging,
    test_tool_with_progress,
    test_sampling,
    test_elicitation,
    test_elicitation_sep1034_defaults,
    test_elicitation_sep1330_enums,
    test_missing_capability,
    test_reconnection,
    test_input_required_result_elicitation,
    test_input_required_result_sampling,
    test_input_required_result_list_roots,
    test_input_required_result_request_state,
    test_input_required_result_tampered_state,
    test_input_required_result_multiple_inputs,
    test_input_required_result_multi_round,
    test_input_required_result_capabilities,
    test_trigger_tool_change,
    test_trigger_prompt_change,
)


def add_fixtures(server: MCPServer[Any]) -> None:
    """Add all tools, resources, prompts and handlers that the suite asks for."""
    for tool in TOOLS:
        server.add_tool(tool)
    # There is no public way to set a schema.
    server._tool_manager._tools["json_schema_2020_12_tool"].parameters = SCHEMA
    _add_resources(server)
    _add_prompts(server)
    _add_handlers(server)
