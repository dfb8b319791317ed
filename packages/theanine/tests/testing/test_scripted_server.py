"""The scripted server that we ship: the API, the scripts, the default answers to our prompts."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from theanine.errors import ModelRejected
from theanine.llm.base import Message, ToolCall
from theanine.llm.chat import Chat
from theanine.llm.limits import Limits
from theanine.llm.open import open_chat
from theanine.methods.theanine.relate import RELATE, RELATE_PAIR
from theanine.store import open_store
from theanine.summarization import summarize
from theanine.testing import (
    Reply,
    ScriptedModel,
    ScriptedServer,
    answer,
    by_step,
    delay,
    drop,
    status,
    step_of,
    truncate,
)
from theanine.types import LOCAL_MODEL, Scope, Turn

pytestmark = pytest.mark.anyio
DAY = datetime(2024, 3, 1, tzinfo=UTC)


def post(server: ScriptedServer, text: str, path: str = "/chat/completions") -> dict[str, Any]:
    body = {"model": "m", "messages": [{"role": "user", "content": text}], "input": [text]}
    request = urllib.request.Request(
        server.base_url + path,
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=5) as response:
        return json.load(response)


def said(server: ScriptedServer, text: str) -> str:
    return post(server, text)["choices"][0]["message"]["content"]


def test_after_a_list_the_default_answers_follow() -> None:
    with ScriptedServer(["one", "two"]) as server:
        heard = [said(server, "Task: respond\n\n<<<remembered\n- Tea.\n>>>") for _ in range(3)]
    assert heard == ["one", "two", "I know: Tea."]
    assert [call.outcome for call in server.calls] == ["answered"] * 3


def test_steps_have_their_own_scripts() -> None:
    script = by_step({"refine": lambda request: f"refined for {request['model']}"}, "other")
    with ScriptedServer(script) as server:
        assert said(server, "Task: refine\n\nx") == "refined for m"
        assert said(server, "Task: respond\n\nx") == "other"
    assert [step_of(request) for request in server.requests] == ["refine", "respond"]


def test_a_dictionary_is_a_script_by_step() -> None:
    with ScriptedServer({"refine": truncate(3, "abcdef")}) as server:
        reply = post(server, "Task: refine")["choices"][0]
    assert (reply["message"]["content"], reply["finish_reason"]) == ("abc", "length")


def test_faults_reach_the_client_and_are_counted() -> None:
    with ScriptedServer([status(429, retry_after=1.5), drop(), delay(0.05, "late")]) as server:
        with pytest.raises(HTTPError) as caught:
            said(server, "x")
        caught.value.close()
        assert caught.value.headers["Retry-After"] == "2"
        with pytest.raises(OSError):
            said(server, "x")
        assert said(server, "x") == "late"
    assert [call.outcome for call in server.calls] == ["status 429", "dropped", "answered"]
    assert len(server.answered) == 1


def test_usage_models_embeddings_and_unknown_paths() -> None:
    with ScriptedServer("hello world", dimension=16) as server:
        assert post(server, "hello")["usage"]["completion_tokens"] == 2
        assert len(post(server, "x", "/embeddings")["data"][0]["embedding"]) == 16
        with urllib.request.urlopen(server.base_url + "/models", timeout=5) as response:
            assert json.load(response)["data"][0]["id"] == "scripted"
        with pytest.raises(HTTPError, match="404") as refused:
            post(server, "x", "/nothing")
        refused.value.close()


def events_of(server: ScriptedServer, text: str) -> list[dict[str, Any]]:
    """Return the events of a streamed message of Anthropic's API."""
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": text}]}
    url = f"{server.base_url}/messages?beta=true"
    with urllib.request.urlopen(url, json.dumps(body).encode(), timeout=5) as response:
        named = [event.split("\n") for event in response.read().decode().strip().split("\n\n")]
    events = [json.loads(data.removeprefix("data: ")) for _, data in named]
    assert [name.removeprefix("event: ") for name, _ in named] == [e["type"] for e in events]
    return events


def test_it_speaks_the_api_of_anthropic() -> None:
    call = ToolCall(id="t1", name="look", arguments={"at": "ships"})
    script = ["hello world", "hello world", Reply(tool_calls=(call,)), status(429, retry_after=1)]
    with ScriptedServer(script) as server:
        whole = post(server, "hello", "/messages")
        assert whole["content"] == [{"type": "text", "text": "hello world"}]
        assert (whole["stop_reason"], whole["usage"]["output_tokens"]) == ("end_turn", 2)
        streamed = events_of(server, "hello")
        deltas = [e["delta"] for e in streamed if e["type"] == "content_block_delta"]
        assert "".join(delta["text"] for delta in deltas) == "hello world"
        assert [streamed[0]["type"], streamed[-1]["type"]] == ["message_start", "message_stop"]
        used = {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "ships"}}
        asked = post(server, "hello", "/messages")
        assert (asked["content"], asked["stop_reason"]) == ([used], "tool_use")
        with pytest.raises(HTTPError) as caught:
            post(server, "hello", "/messages")
        assert json.load(caught.value)["error"]["type"] == "rate_limit_error"
        caught.value.close()
    assert len(server.calls) == 4


def test_a_stream_of_either_api_breaks_after_so_many_words() -> None:
    with ScriptedServer(Reply(text="one two three", break_after=2)) as server:
        for path in ("/chat/completions", "/messages"):
            body = {"stream": True, "messages": [{"role": "user", "content": "x"}]}
            url, data = server.base_url + path, json.dumps(body).encode()
            with urllib.request.urlopen(url, data, timeout=5) as response:
                received = response.read().decode()
            assert "two" in received and "three" not in received
    assert [call.outcome for call in server.calls] == ["dropped"] * 2


def test_it_runs_by_itself() -> None:
    command = [sys.executable, "-m", "theanine.testing", "--latency", "0.01"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        try:
            assert run.stdout is not None
            url = run.stdout.readline().strip()
            with urllib.request.urlopen(f"{url}/models", timeout=5) as response:
                assert response.status == 200
        finally:
            run.kill()


async def test_the_default_answers_fit_our_own_steps(tmp_path: Path) -> None:
    words = ["I moved to Lisbon because of work.", "Nice.", "My sister is afraid of ships."]
    turns = [
        Turn(id=i, session=1, text=text, speaker="Ana", at=DAY + timedelta(minutes=i))
        for i, text in enumerate(words, 1)
    ]
    store = open_store(str(tmp_path / "memory.db"))
    await store.open()
    with ScriptedServer() as server:
        model = open_chat("m", base_url=server.base_url)
        assert model is not None
        chat = Chat(model, store, lambda: DAY, Limits(repairs=0))
        caller = chat.for_scope(Scope("ana"))
        made = await summarize(turns, caller)
        assert [memory.source_turns for memory in made] == [(1,), (3,)]
        assert made[0].made_by == model.name != LOCAL_MODEL
        judged = await caller.ask(
            RELATE,
            earlier="M1 2024: Ana likes Lisbon [1]\n[1] Ana (user): Lisbon is fine",
            session="x",
            new="N1 2024: Ana moved to Lisbon now\nN2 2024: Tea",
            pairs="1: M1 N1\n2: M1 N2",
        )
        assert [judgement.relation for judgement in judged.judgements] == ["Changed", "None"]
        pair = await caller.ask(
            RELATE_PAIR, older_session="x", newer_session="y", older="Lisbon", newer="Lisbon"
        )
        assert pair.relation == "SameTopic"
        await chat.close()
    await store.close()


def test_a_fault_in_a_script_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    script = by_step({"box": lambda request: str(request["no such field"])})
    with ScriptedServer(script) as server, pytest.raises(OSError):
        said(server, "Task: box")
    assert "no such field" in capfd.readouterr().err


def test_an_unknown_prompt_gets_an_honest_answer() -> None:
    assert "scripted" in answer({"messages": [{"role": "user", "content": "What's up?"}]})
    assert "scripted" in answer({})


async def test_the_scripted_model_answers_by_step_and_keeps_its_prompts() -> None:
    model = ScriptedModel({"refine": "refined", "respond": lambda prompt: prompt[-5:]})
    reply = await model.complete([Message("user", "Task: respond\n\nhello")], None)
    assert (reply.text, reply.cost) == ("hello", 0.0)
    assert model.prompts == ["Task: respond\n\nhello"]


@pytest.mark.parametrize("steps", [None, {"my-other-step": "fine"}])
def test_a_step_that_is_not_known_is_refused_by_its_name(steps: dict[str, str] | None) -> None:
    prompt = "Task: my-step\n\nWrite."
    with ScriptedServer(steps) as server:
        with pytest.raises(HTTPError) as refused:
            post(server, prompt)
        assert "no scripted answer to the step my-step" in refused.value.read().decode()
        post(server, "Hello.")
        assert [call.outcome for call in server.calls] == ["status 400", "answered"]
    with pytest.raises(ModelRejected, match="my-step"):
        answer({"messages": [{"role": "user", "content": prompt}]})
