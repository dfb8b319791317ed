"""The official clients of OpenAI and Anthropic through the proxy: at once, again, with parts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import openai
import pytest

from server.conftest import Service, running
from server.providers import Answer, Json, Provider
from theanine.fences import REMEMBERED_HEADING
from theanine_server import ServerOptions

anthropic: Any = pytest.importorskip("anthropic")

HEADERS = {"Theanine-User": "ana", "Theanine-Thread": "friday"}
DIALECTS = ("openai", "responses", "anthropic")
CALLS: list[tuple[str, Json]] = [("find", {"cake": "plum"}), ("price", {"cake": "plum", "n": 2})]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
URL = "https://example.org/cake.png"
Asking = Callable[..., Any]
"""Sends messages, or items, by an official client, whole or as a stream; returns what came."""


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture
def service(options: ServerOptions, provider: Provider) -> Generator[Service]:
    urls = {"openai_url": provider.url, "anthropic_url": provider.url}
    with running(replace(options, **urls, memory_deadline=60.0)) as service:
        yield service


@pytest.fixture
def http(service: Service) -> Generator[httpx2.Client]:
    with service.client() as http:
        yield http


def turns(http: httpx2.Client) -> list[Json]:
    asked = {"thread": "friday", "with_content": True}
    return http.get("/v1/users/ana/turns", params=asked).json()["items"]


def texts(http: httpx2.Client) -> list[tuple[str, str]]:
    return [(turn["role"], turn["text"]) for turn in turns(http)]


@pytest.fixture
def ask(service: Service, request: pytest.FixtureRequest) -> Iterator[Asking]:
    """A function of the dialect's official client; it repeats what failed twice."""
    dialect, key = request.getfixturevalue("dialect"), service.key()
    bounds: Any = {"api_key": key, "default_headers": HEADERS, "max_retries": 2, "timeout": 120}
    if dialect == "anthropic":
        with anthropic.Anthropic(base_url=service.url, **bounds) as client:

            def send(messages: list[Any], stream: bool) -> Any:
                asked = {"model": "m", "max_tokens": 9, "messages": messages}
                if not stream:
                    return client.messages.create(**asked).model_dump(exclude_none=True)["content"]
                with client.messages.stream(**asked) as events:
                    return events.get_final_message().model_dump(exclude_none=True)["content"]

            yield send
        return
    with openai.OpenAI(base_url=f"{service.url}/v1", **bounds) as client:

        def send_chat(messages: list[Any], stream: bool) -> Any:
            if not stream:
                answer = client.chat.completions.create(model="m", messages=messages)
                return answer.choices[0].message.model_dump(exclude_none=True)
            with client.chat.completions.stream(
                model="m", messages=messages, stream_options={"include_usage": True}
            ) as events:
                final = events.get_final_completion()
            assert final.usage and final.usage.total_tokens == 4
            message = final.choices[0].message.model_dump(exclude_none=True)
            for call in message.get("tool_calls", ()):
                call["function"].pop("parsed_arguments", None)
                call.pop("index", None)
            return message

        def send_items(items: list[Any], stream: bool) -> Any:
            if not stream:
                output = client.responses.create(model="m", input=items).output
                return [item.model_dump(exclude_none=True) for item in output]
            with client.responses.create(model="m", input=items, stream=True) as events:
                *_, last = events
            assert last.type == "response.completed"
            return [item.model_dump(exclude_none=True) for item in last.response.output]

        yield send_chat if dialect == "openai" else send_items


def user(content: Any) -> Json:
    return {"role": "user", "content": content}


def results(dialect: str, answer: Any) -> list[Json]:
    """Return the assistant's message with its calls, and a result for each."""
    if dialect == "openai":
        called = [call["id"] for call in answer["tool_calls"]]
        rows = [{"role": "tool", "tool_call_id": id, "content": f"of {id}"} for id in called]
        return [answer, *rows]
    if dialect == "responses":
        rows = [
            {
                "type": "function_call_output",
                "call_id": item["call_id"],
                "output": f"of {item['call_id']}",
            }
            for item in answer
        ]
        return [*answer, *rows]
    blocks = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": f"of {block['id']}"}
        for block in answer
    ]
    return [{"role": "assistant", "content": answer}, user(blocks)]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_parallel_calls_and_replayed_rows_are_stored_once(
    http: httpx2.Client, provider: Provider, ask: Asking, dialect: str, stream: bool
) -> None:
    provider.script = lambda request: Answer("It is 4.") if "of " in str(request) else calls
    calls = Answer(calls=CALLS)
    said: list[Json] = [user("What are two plum cakes?")]
    said += results(dialect, ask(said, stream))
    for _ in range(2):  # the rows come again, as does the reply to them
        ask(said, stream)
    listed = "input" if dialect == "responses" else "messages"
    assert provider.requests[-1][listed][1:] == said[1:]
    found = texts(http)
    assert [role for role, _ in found] == ["user", *["tool"] * (len(found) - 2), "assistant"]
    words = "\n".join(text for _, text in found)
    for expected in ("[called find(cake=", "[called price(cake=", "of call-1", "of call-2"):
        shown = expected.replace("call-", "toolu-") if dialect == "anthropic" else expected
        assert words.count(shown) == 1, (shown, words)
    assert words.count("It is 4.") == 1


def pictures(dialect: str) -> list[Json]:
    data = f"data:image/png;base64,{PNG}"
    text = {"type": "input_text" if dialect == "responses" else "text", "text": "What cake is it?"}
    if dialect == "openai":
        images = [{"type": "image_url", "image_url": {"url": url}} for url in (data, URL)]
    elif dialect == "responses":
        images = [
            {"type": "input_image", "detail": "auto", "image_url": url} for url in (data, URL)
        ]
    else:
        of_data = {"type": "base64", "media_type": "image/png", "data": PNG}
        of_url = {"type": "url", "url": URL}
        images = [{"type": "image", "source": source} for source in (of_data, of_url)]
    return [text, *images]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_images_reach_the_provider_and_the_log_as_they_are(
    http: httpx2.Client, provider: Provider, ask: Asking, dialect: str
) -> None:
    http.post("/v1/users/ana/messages", json={"messages": [user("My cake is a plum cake.")]})
    ask([user(pictures(dialect))], False)
    listed = "input" if dialect == "responses" else "messages"
    [message] = provider.requests[-1][listed]
    *parts, recalled = message["content"]
    assert parts == pictures(dialect) and REMEMBERED_HEADING in recalled["text"]
    said, _ = turns(http)
    assert said["text"] == "What cake is it?\n[image]\n[image]"
    assert said["content"] == pictures(dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_a_client_repeats_is_stored_once(
    http: httpx2.Client, provider: Provider, ask: Asking, dialect: str
) -> None:
    provider.script = lambda request: Answer(status=500 if len(provider.bodies) < 3 else 200)
    ask([user("Hello.")], False)
    counts = [headers.get("x-stainless-retry-count") for headers in provider.headers]
    assert counts == ["0", "1", "2"]
    assert texts(http) == [("user", "Hello."), ("assistant", "Noted.")]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_after_a_stream_that_broke_the_whole_reply_is_stored(
    http: httpx2.Client, provider: Provider, ask: Asking, dialect: str
) -> None:
    whole = Answer("Plum cake it is.")
    broken = replace(whole, break_after=3, inside=True)
    provider.script = lambda request: broken if len(provider.bodies) < 3 else whole
    for _ in range(2):
        with suppress(Exception):  # each client has its own, and some take what came for the whole
            ask([user("Which?")], True)
    ask([user("Which?")], True)
    ask([user("Which?")], True)
    said, part, reply = turns(http)
    assert (said["text"], reply["text"]) == ("Which?", whole.text)
    assert part["notes"] == {"finish": "broken_off"} and not reply["notes"]
    assert whole.text.startswith(part["text"].strip())


def test_the_same_words_later_or_after_something_else_are_new(
    options: ServerOptions, provider: Provider
) -> None:
    now = [datetime(2026, 3, 1, 12, 9, tzinfo=UTC)]
    client = replace(options.client, clock=lambda: now[0], pause=timedelta(hours=2))
    served = replace(options, client=client, openai_url=provider.url, memory_deadline=60.0)
    with running(served) as service, service.client() as http:

        def say(**fields: str) -> int:
            asked = {"model": "m", "input": "Yes.", **fields}
            answer = http.post("/v1/responses", json=asked, headers=HEADERS)
            assert answer.headers["Theanine-Memory"] == "on"
            return len(turns(http))

        assert [say(), say()] == [2, 2]
        now[0] += timedelta(minutes=3)  # in the next period of ten minutes
        assert say() == 2
        assert [say(previous_response_id="1"), say(previous_response_id="2")] == [4, 6]
        now[0] += timedelta(minutes=25)
        assert [say(), say()] == [8, 8]
        assert texts(http) == 4 * [("user", "Yes."), ("assistant", "Noted.")]


@pytest.mark.parametrize("same_thread", [True, False])
def test_requests_of_one_user_at_once_are_each_stored_once(
    service: Service, http: httpx2.Client, provider: Provider, same_thread: bool
) -> None:
    provider.script = lambda request: Answer(f"To: {request['messages'][-1]['content'][:12]}")
    key, numbers = service.key(), range(10, 20)

    async def ask_all() -> None:
        async with (
            openai.AsyncOpenAI(base_url=f"{service.url}/v1", api_key=key, timeout=120) as one,
            anthropic.AsyncAnthropic(base_url=service.url, api_key=key, timeout=120) as other,
        ):

            async def ask(number: int) -> None:
                thread = "friday" if same_thread else f"thread-{number}"
                asked: Any = {
                    "model": "m",
                    "messages": [user(f"Question {number}.")],
                    "extra_headers": {"Theanine-User": "ana", "Theanine-Thread": thread},
                }
                if number % 2:
                    await one.chat.completions.create(**asked)
                else:
                    await other.messages.create(max_tokens=9, **asked)

            # Each twice: a client that gave up and asks again may be ahead of itself.
            await asyncio.gather(*(ask(number) for number in numbers for _ in range(2)))

    asyncio.run(ask_all())
    found = http.get("/v1/users/ana/turns", params={"limit": 500}).json()["items"]
    assert len(found) == 2 * len(numbers)
    order = [(turn["role"], turn["text"]) for turn in found]
    for number in numbers:
        question = ("user", f"Question {number}.")
        reply = ("assistant", f"To: Question {number}.")
        assert order.count(question) == order.count(reply) == 1
        assert order.index(question) < order.index(reply)
    ats = [turn["at"] for turn in found if turn["session"] == found[0]["session"]]
    assert ats == sorted(ats)
