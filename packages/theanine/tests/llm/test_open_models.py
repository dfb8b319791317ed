"""Models and embedders by name; what is wrong or missing is said with what to do."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.asking import BOX, GOOD
from theanine.embeddings.encoder import EncoderEmbedder
from theanine.embeddings.open import open_embedder
from theanine.embeddings.static import StaticEmbedder
from theanine.errors import ModelUnavailable, SettingsError
from theanine.llm.base import (
    Closable,
    Message,
    RawReply,
    RequestOptions,
    StreamingModel,
    Tool,
    ToolCall,
)
from theanine.llm.open import open_chat
from theanine.llm.schema import schema_of
from theanine.testing import HashEmbedder, Reply, ScriptedServer

pytestmark = pytest.mark.anyio


async def closed(model: object) -> None:
    """Close what holds connections, as it must say of itself."""
    assert isinstance(model, Closable)
    await model.close()


def test_local_is_no_model_and_the_built_in_embedder() -> None:
    assert open_chat("local") is None
    assert isinstance(open_embedder("local"), EncoderEmbedder)
    assert isinstance(open_embedder("wordllama"), StaticEmbedder)
    assert isinstance(open_embedder("wordllama:l2_supercat_256"), StaticEmbedder)
    assert isinstance(open_embedder("hash:32"), HashEmbedder)


@pytest.mark.parametrize("name", ["", " ", "gpt-4o-mini", "openai:", ":x", "nobody:x"])
def test_an_unknown_name_says_what_can_be_given(name: str) -> None:
    with pytest.raises(SettingsError, match=r"openai:gpt-4o-mini|can't be set up"):
        open_chat(name)
    with pytest.raises(SettingsError):
        open_embedder(name)


@pytest.mark.parametrize("name", ["wordllama:other", "hash:", "hash:0", "hash:many"])
def test_an_unreachable_embedder(name: str) -> None:
    with pytest.raises(SettingsError):
        open_embedder(name)


def test_a_base_url_must_be_a_url() -> None:
    with pytest.raises(SettingsError, match="http"):
        open_chat("openai:x", base_url="localhost:11434")


@pytest.mark.slow
def test_a_missing_key_is_named() -> None:
    code = (
        "from theanine.embeddings.open import open_embedder\n"
        "from theanine.llm.open import open_chat\n"
        "from theanine.errors import SettingsError\n"
        "for build in (open_chat, open_embedder):\n"
        "    try: build('openai:gpt-4o-mini')\n"
        "    except SettingsError as error: print(error)\n"
    )
    bare = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI_")}
    run = subprocess.run(
        [sys.executable, "-c", code], env=bare, capture_output=True, text=True, check=True
    )
    assert run.stdout.count("set the environment variable OPENAI_API_KEY") == 2


def test_the_provider_library_is_loaded_only_for_a_model() -> None:
    code = (
        "import sys\n"
        "from theanine.embeddings.open import open_embedder\n"
        "from theanine.llm.open import open_chat\n"
        "open_chat('local'); open_embedder('local')\n"
        "assert 'pydantic_ai' not in sys.modules and 'openai' not in sys.modules\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("name", ["openai:llama3:8b", "llama3:8b"])
async def test_with_a_base_url_the_bare_name_is_enough(name: str) -> None:
    with ScriptedServer("Hello.") as server:
        model = open_chat(name, base_url=server.base_url)
        assert model is not None
        reply = await model.complete([Message("system", "Be brief."), Message("user", "Hi")], None)
        await closed(model)
    assert model.name == "openai:llama3:8b"
    assert (reply.text, reply.finish, reply.cost) == ("Hello.", "stop", None)
    (request,) = server.requests
    assert request["model"] == "llama3:8b"
    assert [m["role"] for m in request["messages"]] == ["system", "user"]
    assert request["temperature"] == 0
    assert "response_format" not in request


async def test_settings_reach_the_provider_and_tell_models_apart() -> None:
    with ScriptedServer("Hello.") as server:
        url = server.base_url
        model = open_chat("x", base_url=url, settings={"temperature": 0.7, "max_tokens": 99})
        assert model is not None
        await model.complete([Message("user", "Hi")], None)
        await closed(model)
    (request,) = server.requests
    assert request["temperature"] == 0.7
    assert 99 in (request.get("max_tokens"), request.get("max_completion_tokens"))
    assert model.settings["temperature"] == 0.7
    assert model.settings["base_url"].startswith("http://127.0.0.1")


def test_secrets_in_a_base_url_are_not_kept() -> None:
    model = open_chat("x", base_url="http://me:hush@127.0.0.1:9/v1?key=hush")
    assert model is not None
    assert "hush" not in str(model.settings)


async def test_the_schema_is_requested_in_the_prompt_or_natively() -> None:
    with ScriptedServer(GOOD) as server:
        for structured in ("prompt", "schema"):
            model = open_chat("x", base_url=server.base_url, settings={"structured": structured})
            assert model is not None
            await model.complete([Message("user", "Task: box")], schema_of(BOX.result))
            await closed(model)
    in_words, natively = server.requests
    assert '"things"' in in_words["messages"][0]["content"]
    assert in_words["messages"][0]["content"].startswith("Task: box")
    assert natively["messages"][0]["content"] == "Task: box"
    assert "things" in natively["response_format"]["json_schema"]["schema"]["properties"]


WEATHER = Tool(
    name="weather",
    description="The weather of a place.",
    parameters={"type": "object", "properties": {"place": {"type": "string"}}},
)
CALL = ToolCall(id="call-1", name="weather", arguments={"place": "Split"})


async def test_the_options_of_a_request_reach_the_provider() -> None:
    options = RequestOptions(temperature=0.9, max_tokens=50, stop=("\n\n",), tools=(WEATHER,))
    with ScriptedServer(Reply(tool_calls=(CALL,))) as server:
        model = open_chat("x", base_url=server.base_url)
        assert model is not None
        reply = await model.complete([Message("user", "Hi")], None, options)
        await closed(model)
    (request,) = server.requests
    assert (request["temperature"], request["stop"]) == (0.9, ["\n\n"])
    assert 50 in (request.get("max_tokens"), request.get("max_completion_tokens"))
    assert request["tools"][0]["function"]["parameters"]["properties"]["place"]
    assert (reply.text, reply.finish, reply.tool_calls) == ("", "tool_call", (CALL,))


async def test_a_reply_is_streamed_piece_by_piece() -> None:
    with ScriptedServer(Reply(text="Off to sea.", tool_calls=(CALL,))) as server:
        model = open_chat("x", base_url=server.base_url)
        assert isinstance(model, StreamingModel)
        options = RequestOptions(tools=(WEATHER,))
        *pieces, last = [each async for each in model.stream([Message("user", "Hi")], options)]
        await closed(model)
    assert pieces == ["Off ", "to ", "sea."]
    assert isinstance(last, RawReply)
    assert (last.text, last.tool_calls) == ("Off to sea.", (CALL,))
    assert last.input_tokens > 0


async def test_a_stream_that_breaks_is_a_failure_after_its_pieces() -> None:
    with ScriptedServer(Reply(text="Off to sea.", break_after=2)) as server:
        model = open_chat("x", base_url=server.base_url)
        assert isinstance(model, StreamingModel)
        stream = model.stream([Message("user", "Hi")])
        pieces = [await anext(stream), await anext(stream)]
        with pytest.raises(ModelUnavailable, match="ended without"):
            await anext(stream)
        await closed(model)
    assert pieces == ["Off ", "to "]
