"""The memory proxy between the official clients and a provider on loopback."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Any, cast

import anyio
import httpx2
import openai
import pytest
from anyio import to_thread

from server.conftest import Service, running
from server.providers import Answer, Json, Provider
from theanine.client import AsyncUserMemory
from theanine.client.deadline import Attempt, recall_in_time
from theanine.clock import system_clock
from theanine.demo import HARBOUR
from theanine.embeddings.base import Scores
from theanine.fences import REMEMBERED_HEADING
from theanine.importers import read_histories
from theanine.store import open_store
from theanine.testing import OverlapReranker
from theanine.tokenizer import count_tokens
from theanine.types import Recollection, Scope
from theanine_server import ServerOptions
from theanine_server.proxy.memory import ProxyMemory

ALLERGY = "I'm allergic to hazelnuts."
QUESTION = "Which cake may I eat, with hazelnuts or without?"
HEADERS = {"Theanine-User": "ana", "Theanine-Thread": "friday"}
PATHS = {
    "openai": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
}


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture
def options(options: ServerOptions, provider: Provider) -> ServerOptions:
    # Large, so that a slow machine doesn't leave memory out.
    return replace(
        options, openai_url=provider.url, anthropic_url=provider.url, memory_deadline=20.0
    )


@pytest.fixture
def http(service: Service) -> Generator[httpx2.Client]:
    """A client with a key, for a service that remembers what ana is allergic to."""
    with service.client() as http:
        http.post("/v1/users/ana/threads/monday/hear", json={"content": ALLERGY})
        http.post("/v1/users/ana/threads/monday/end", json={"remember": True})
        yield http


def request(dialect: str, *messages: Json, **fields: Any) -> Json:
    listed = "input" if dialect == "responses" else "messages"
    return {"model": "m", "max_tokens": 50, listed: [*messages], **fields}


def user(text: Any) -> Json:
    return {"role": "user", "content": text}


def assistant(text: str) -> Json:
    return {"role": "assistant", "content": text}


def turns(http: httpx2.Client, thread: str = "friday") -> list[tuple[str, str]]:
    found = http.get("/v1/users/ana/turns", params={"thread": thread}).json()["items"]
    return [(turn["role"], turn["text"]) for turn in found]


def newest_text(body: Json) -> str:
    messages: list[Json] = body["messages"] if "messages" in body else body["input"]
    content: Any = messages[-1]["content"]
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)


def test_the_profile_comes_first_if_it_is_asked_for(
    http: httpx2.Client, provider: Provider
) -> None:
    provider.script = lambda request: Answer("Fine.")
    body = request("openai", user("What does the Haskell compiler return?"))
    for asked, added in (("off", "0"), ("on", "1")):
        headers = {**HEADERS, "Theanine-Profile": asked}
        answer = http.post(PATHS["openai"], json=body, headers=headers)
        assert (answer.status_code, answer.headers["Theanine-Recalled"]) == (200, added)
    plain, known = map(newest_text, provider.requests)
    assert "Haskell" in plain and ALLERGY not in plain
    assert f"Health:\n  “{ALLERGY}”" in known
    wrong = http.post(PATHS["openai"], json=body, headers={**HEADERS, "Theanine-Profile": "yes"})
    assert wrong.status_code == 422 and "on or off" in wrong.text


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("stream", [False, True])
def test_what_is_remembered_is_in_the_newest_turn(
    http: httpx2.Client, provider: Provider, dialect: str, stream: bool
) -> None:
    provider.script = lambda request: Answer("Any without nuts.")
    body = request(dialect, user("Hello."), assistant("Hi."), user(QUESTION), stream=stream)
    answer = http.post(PATHS[dialect], json=body, headers=HEADERS)
    assert answer.status_code == 200
    assert (answer.headers["Theanine-Memory"], answer.headers["Theanine-Recalled"]) == ("on", "1")
    assert "nuts." in answer.text
    [sent] = provider.requests
    assert newest_text(sent).startswith(QUESTION)
    assert REMEMBERED_HEADING in newest_text(sent) and ALLERGY in newest_text(sent)
    listed = "input" if dialect == "responses" else "messages"
    assert sent[listed][:-1] == body[listed][:-1]
    assert {**sent, listed: 0} == {**body, listed: 0}
    expected = [
        ("user", "Hello."),
        ("assistant", "Hi."),
        ("user", QUESTION),
        ("assistant", "Any without nuts."),
    ]
    assert turns(http) == expected
    # A client that got no answer asks again.
    assert http.post(PATHS[dialect], json=body, headers=HEADERS).status_code == 200
    assert turns(http) == expected
    assert provider.bodies[0] == provider.bodies[1]


@pytest.mark.parametrize("dialect", PATHS)
def test_nothing_relevant_and_memory_off_leave_every_byte(
    http: httpx2.Client, provider: Provider, dialect: str
) -> None:
    odd = json.dumps(request(dialect, user("Zxqv?"), x=[1.50, 1e-7]), indent=3).encode()
    headers = {**HEADERS, "Content-Type": "application/json"}
    answer = http.post(PATHS[dialect], content=odd, headers=headers)
    assert answer.headers["Theanine-Recalled"] == "0"
    off = json.dumps(request(dialect, user(QUESTION)), indent=1).encode()
    headers["Theanine-Memory"] = "off"
    http.post(PATHS[dialect], content=off, headers=headers)
    assert provider.bodies == [odd, off]
    assert [text for _, text in turns(http)] == ["Zxqv?", "Noted."]


def test_memory_can_be_only_read_or_only_written(http: httpx2.Client, provider: Provider) -> None:
    body = request("openai", user(QUESTION))
    answer = http.post(PATHS["openai"], json=body, headers={**HEADERS, "Theanine-Memory": "read"})
    assert answer.headers["Theanine-Recalled"] == "1" and turns(http) == []
    answer = http.post(PATHS["openai"], json=body, headers={**HEADERS, "Theanine-Memory": "write"})
    assert answer.headers["Theanine-Recalled"] == "0" and len(turns(http)) == 2
    refused = http.post(PATHS["openai"], json=body, headers={**HEADERS, "Theanine-Memory": "maybe"})
    assert refused.status_code == 422
    assert http.post(PATHS["openai"], json=body).headers["Theanine-Memory"] == "no user"


def test_a_loop_of_tools_keeps_its_prompt(http: httpx2.Client, provider: Provider) -> None:
    provider.script = lambda body: (
        Answer("Cheesecake.")
        if body["messages"][-1]["role"] == "tool"
        else Answer(calls=[("find_cakes", {"nuts": False})])
    )
    first = request("openai", user(QUESTION))
    message = http.post(PATHS["openai"], json=first, headers=HEADERS).json()["choices"][0]
    result = {"role": "tool", "tool_call_id": "call-1", "content": "cheesecake"}
    second = request("openai", *first["messages"], message["message"], result)
    http.post(PATHS["openai"], json=second, headers=HEADERS)
    one, two = provider.requests
    assert two["messages"][0] == one["messages"][0]
    assert two["messages"][1:] == second["messages"][1:]
    assert [role for role, _ in turns(http)] == ["user", "tool", "tool", "assistant"]


@pytest.mark.parametrize("dialect", PATHS)
def test_of_a_broken_stream_what_came_is_logged(
    http: httpx2.Client, provider: Provider, dialect: str
) -> None:
    provider.script = lambda body: Answer("Any without nuts at all.", break_after=4)
    body = request(dialect, user(QUESTION), stream=True)
    with http.stream("POST", PATHS[dialect], json=body, headers=HEADERS) as answer:
        received = b"".join(answer.iter_raw())
    assert b"Any" in received
    said, replied = turns(http)
    assert said == ("user", QUESTION)
    assert replied[0] == "assistant" and "Any without nuts at all.".startswith(replied[1].strip())
    found = http.get("/v1/users/ana/turns", params={"thread": "friday"}).json()["items"]
    assert found[-1]["notes"] == {"finish": "broken_off"}


def test_a_providers_error_is_passed_on(http: httpx2.Client, provider: Provider) -> None:
    provider.script = lambda body: Answer(status=429)
    body = request("openai", user(QUESTION))
    answer = http.post(PATHS["openai"], json=body, headers=HEADERS)
    assert (answer.status_code, answer.json()["error"]["type"]) == (429, "scripted")
    provider.script = lambda body: Answer("Any.")
    assert http.post(PATHS["openai"], json=body, headers=HEADERS).status_code == 200
    assert turns(http) == [("user", QUESTION), ("assistant", "Any.")]


def test_a_conversation_goes_on_without_memory(options: ServerOptions, provider: Provider) -> None:
    with (
        running(replace(options, memory_deadline=0.0)) as service,
        service.client() as http,
    ):
        answer = http.post(PATHS["openai"], json=request("openai", user(QUESTION)), headers=HEADERS)
        assert (answer.status_code, answer.headers["Theanine-Memory"]) == (200, "late")
    with running(options) as service, service.client() as http:  # the first has ended its work
        assert turns(http) == [("user", QUESTION), ("assistant", "Noted.")]


class Slow:
    """A memory whose recall is not done before its deadline."""

    scope, name = Scope(user="ana"), "ana"

    async def recall(self, dialogue: object, *, deadline: float, **options: Any) -> Recollection:
        async def wait() -> Recollection:
            await anyio.sleep_forever()
            raise AssertionError

        return await recall_in_time([Attempt(recall=wait)], min(deadline, 0.1))


def test_a_recall_that_ran_out_of_time_is_late(tmp_path: Path) -> None:
    """It is no failure: a busy store is not asked to be looked at."""
    memory = ProxyMemory(open_store(str(tmp_path / "m.db")), system_clock, 60.0)
    said = [user(QUESTION)]
    exchange = anyio.run(memory.begin, cast("AsyncUserMemory", Slow()), "friday", said, "read")
    assert (exchange.status, exchange.block) == ("late", "")


class Stuck(OverlapReranker):
    """A reranker that gives no scores before the end of a test."""

    def __init__(self) -> None:
        self.let = Event()

    async def score(self, question: str, texts: Sequence[str]) -> Scores:
        """Like the base class, later."""
        await to_thread.run_sync(self.let.wait)
        return await super().score(question, texts)


def test_a_slow_part_of_memory_is_left_out(options: ServerOptions, provider: Provider) -> None:
    stuck = Stuck()
    client = replace(options.client, reranker=stuck)
    slow = replace(options, client=client, memory_deadline=4.0, recall_deadline=2.5)
    with running(slow) as service, service.client() as http:
        http.post("/v1/users/ana/threads/monday/hear", json={"content": ALLERGY})
        http.post("/v1/users/ana/threads/monday/end", json={"remember": True})
        body = request("openai", user(QUESTION))
        for _ in range(2):  # again, as in a loop of tools
            answer = http.post(PATHS["openai"], json=body, headers=HEADERS)
            assert (answer.status_code, answer.headers["Theanine-Memory"]) == (200, "partial")
            assert ALLERGY in newest_text(provider.requests[-1])
        for path, asked in (
            ("/v1/users/ana/recall", {"dialogue": QUESTION}),
            ("/v1/users/ana/threads/saturday/reply", {"deadline": 2.25}),
        ):
            http.post("/v1/users/ana/threads/saturday/hear", json={"content": QUESTION})
            found = http.post(path, json=asked).json()["recollection"]
            assert found["notes"][0].startswith("there was no time for a model within 2.")
        refused = http.post("/v1/users/ana/recall", json={"dialogue": QUESTION, "deadline": 0})
        assert refused.status_code == 422
        stuck.let.set()


def test_messages_that_memory_cannot_read_are_the_providers_matter(
    http: httpx2.Client, provider: Provider
) -> None:
    odd: list[Any] = [[{"role": "wizard", "content": 7}], "text", [1], [{"role": "user"}], {}]
    for messages in odd:
        body: Json = {"model": "m", "messages": messages}
        assert http.post(PATHS["openai"], json=body, headers=HEADERS).status_code == 200
        assert provider.requests[-1] == body


def test_a_provider_that_is_gone_is_an_error(options: ServerOptions) -> None:
    with (
        running(replace(options, openai_url="http://127.0.0.1:9/v1")) as service,
        service.client() as http,
    ):
        answer = http.post(PATHS["openai"], json=request("openai", user(QUESTION)), headers=HEADERS)
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, "provider_unreachable")


def test_keys_of_the_service_never_reach_the_provider(
    service: Service, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = service.key(user="ana")
    body = request("openai", user(QUESTION))
    with service.client("") as http:
        both = {"Authorization": "Bearer sk-mine", "Theanine-Key": token}
        assert http.post(PATHS["openai"], json=body, headers=both).status_code == 200
        monkeypatch.setitem(os.environ, "OPENAI_API_KEY", "sk-of-the-service")
        monkeypatch.setitem(os.environ, "ANTHROPIC_API_KEY", "ak-of-the-service")
        own = {"Authorization": f"Bearer {token}"}
        assert http.post(PATHS["openai"], json=body, headers=own).status_code == 200
        assert http.get("/v1/models", headers=own).json()["data"][0]["id"] == "m"
        own = {"x-api-key": token, "anthropic-version": "2023-06-01"}
        assert http.post(PATHS["anthropic"], json=body, headers=own).status_code == 200
        assert http.post(PATHS["openai"], json=body).status_code == 401
    sent = [headers.get("authorization") for headers in provider.headers]
    assert sent == ["Bearer sk-mine", *["Bearer sk-of-the-service"] * 2, None]
    assert provider.headers[-1]["x-api-key"] == "ak-of-the-service"
    assert token not in str(provider.headers)


def test_the_operators_key_is_lent_to_those_who_may_have_replies(
    options: ServerOptions, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = request("openai", user(QUESTION))
    monkeypatch.setitem(os.environ, "OPENAI_API_KEY", "sk-of-the-service")
    monkeypatch.setitem(os.environ, "ANTHROPIC_API_KEY", "ak-of-the-service")
    with running(replace(options, max_replies=2)) as service:
        with service.client(rights=["read", "write"]) as http:
            for path in PATHS.values():
                assert http.post(path, json=body).status_code == 403
            assert http.get("/v1/models").status_code == 403
            assert not provider.headers
            own = {"Theanine-Key": http.headers["Authorization"].split()[1]}
            own["Authorization"] = "Bearer sk-mine"
            assert http.post(PATHS["openai"], json=body, headers=own).status_code == 200
        with service.client() as http:
            answers = [http.post(path, json=body).status_code for path in PATHS.values()]
            assert answers == [200, 200, 429]


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "bearer {}"},
        {"Authorization": "BEARER  {}"},
        {"Theanine-Key": "{}", "X-Forwarded-Authorization": "Bearer {}"},
        {"Theanine-Key": "{}", "Cookie": "a=b; theanine_1={}"},
        {"Theanine-Key": "{}", "Cookie": "session=of-the-client"},
        {"Theanine-Key": "{}", "X-Odd": "token={}, b"},
        {"Theanine-Key": "{}", "Connection": "X-Hop, keep-alive", "X-Hop": "session=of-the-client"},
    ],
)
def test_no_header_takes_a_key_or_a_cookie_to_the_provider(
    headers: dict[str, str], service: Service, provider: Provider
) -> None:
    token = service.key(user="ana")
    filled = {name: value.format(token) for name, value in headers.items()}
    with service.client("") as http:
        body = request("openai", user(QUESTION))
        assert http.post(PATHS["openai"], json=body, headers=filled).status_code == 200
    assert token not in str(provider.headers)
    assert "of-the-client" not in str(provider.headers)


def test_a_providers_cookie_is_kept_from_other_tenants(
    service: Service, provider: Provider
) -> None:
    provider.cookie = "session=of-tenant-a"
    for tenant in ("a", "b"):
        with service.client(service.key(tenant=tenant)) as http:
            answer = http.post(PATHS["openai"], json=request("openai", user(QUESTION)))
            assert answer.status_code == 200
            of_the_providers_host = {"set-cookie", "strict-transport-security", "alt-svc"}
            assert not of_the_providers_host & {*answer.headers}
    assert "of-tenant-a" not in str(provider.headers)


def test_the_official_client_of_openai(service: Service, http: httpx2.Client) -> None:
    with openai.OpenAI(
        base_url=f"{service.url}/v1", api_key=service.key(), default_headers=HEADERS
    ) as client:
        said: list[Any] = [user("Hello.")]
        with client.chat.completions.create(model="m", messages=said, stream=True) as stream:
            text = "".join(
                chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices
            )
        assert text == "Noted."
        assert client.responses.create(model="m", input="How are you?").output_text == "Noted."
        assert [model.id for model in client.models.list()] == ["m"]
    assert [text for _, text in turns(http)] == ["Hello.", "Noted.", "How are you?", "Noted."]


def test_the_official_client_of_anthropic(service: Service, http: httpx2.Client) -> None:
    anthropic = pytest.importorskip("anthropic")
    with anthropic.Anthropic(
        base_url=service.url, api_key=service.key(), default_headers=HEADERS
    ) as client:
        said = [user("Hello.")]
        with client.messages.stream(model="m", max_tokens=9, messages=said) as stream:
            assert "".join(stream.text_stream) == "Noted."
    assert [text for _, text in turns(http)] == ["Hello.", "Noted."]


def test_a_providers_cache_keeps_all_but_the_newest_turn(
    http: httpx2.Client, provider: Provider
) -> None:
    provider.script = lambda body: Answer(f"Answer {len(body['messages'])}, without hazelnuts.")
    messages: list[Json] = [{"role": "system", "content": "You are a baker."}]
    for number in range(20):
        messages.append(user(f"Question {number}: may I eat hazelnut cake number {number}?"))
        body = request("openai", *messages)
        answer = http.post(PATHS["openai"], json=body, headers=HEADERS).json()
        messages.append(answer["choices"][0]["message"])
    total = with_memory = without = newest = 0
    for before, after in pairwise(provider.requests):
        earlier, later = (texts(body["messages"]) for body in (before, after))
        common = [one for one, other in zip(earlier, later, strict=False) if one == other]
        assert common == earlier[:-1]  # to the byte
        assert REMEMBERED_HEADING in later[-1]
        plain = texts(messages[: len(earlier)])  # what a client without memory sends
        total += tokens(later)
        with_memory += tokens(common)
        without += tokens(plain)
        newest += tokens(plain[-1:])
    assert with_memory == without - newest
    assert with_memory > 0.5 * total


def test_in_a_long_thread_nearly_all_of_a_prompt_is_shared_with_the_next(
    http: httpx2.Client, provider: Provider
) -> None:
    [history] = read_histories(HARBOUR).histories
    lived = [turn for each in history.transcripts for turn in each.turns]
    for each in history.transcripts[:4]:
        said_then = [{"role": turn.role, "content": turn.text} for turn in each.turns]
        http.post("/v1/users/ana/messages", json={"messages": said_then})
    asked = [turn.text for turn in lived if turn.role == "user"][-40:]
    answer = "I see; tell me more of it, and what you would like me to do for you next. " * 6
    provider.script = lambda body: Answer(answer)
    messages: list[Json] = []
    for text in asked:  # about 130 tokens an exchange
        messages.append(user(text))
        http.post(PATHS["openai"], json=request("openai", *messages), headers=HEADERS)
        messages.append(assistant(answer))
    prompts = ["\n".join(texts(body["messages"])) for body in provider.requests]
    assert sum(REMEMBERED_HEADING in prompt for prompt in prompts) > len(prompts) / 2
    shares = [
        count_tokens(shared_beginning(before, after)) / count_tokens(before)
        for before, after in pairwise(prompts[20:])
    ]
    assert sum(shares) / len(shares) >= 0.9, shares


def shared_beginning(one: str, other: str) -> str:
    pairs = enumerate(zip(one, other, strict=False))
    return one[: next((at for at, (a, b) in pairs if a != b), len(one))]


def texts(messages: list[Json]) -> list[str]:
    return [message["content"] for message in messages]


def tokens(texts: list[str]) -> int:
    return sum(map(count_tokens, texts))
