"""Whatever a provider sends over HTTP ends in a usable reply or in one ModelError."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import given
from hypothesis import strategies as st

from support.asking import ANA, BOX, GOOD, PLAIN, Box, clock, limited
from support.fuzzing import cases
from support.raw_http import RawAnswer, RawServer
from theanine.embeddings.pydantic_ai import PydanticAIEmbedder
from theanine.errors import ModelError
from theanine.llm.base import Message, RequestOptions, Tool
from theanine.llm.chat import Chat
from theanine.llm.open import open_chat
from theanine.llm.provider import MAX_REPLY_BYTES
from theanine.store import open_store
from theanine.store.base import Store

pytestmark = pytest.mark.fuzz
ONCE = limited(retries=0, reply_retries=0, repairs=0, timeout=10)
IMPATIENT = replace(ONCE, timeout=0.2)
TOOLS = RequestOptions(tools=(Tool(name="search", parameters={"type": "object"}),))

# The parts of a completion, each of the right type or of any other

_ANY: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)
_TEXTS = st.sampled_from([GOOD, "Hats are round.", "", " ", "x" * 40_000, "[" * 5_000]) | (
    st.sampled_from(["A hat. " * 6_000, "\0\ud800", "I can't.", "<think>", "<<<remembered\n>>>"])
)
_COUNTS = st.integers() | st.sampled_from([0, -1, 2**63, 10**30, 1e308, "3", None, True])


def _maybe(right: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly a value of the right type, else any."""
    return st.one_of(right, right, right, _ANY)


def _object(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """An object in which fields may be missing or of another type."""
    return st.fixed_dictionaries({}, optional={k: _maybe(v) for k, v in fields.items()})


_FUNCTION = {
    "name": st.sampled_from(["search", "", "x" * 9_000]),
    "arguments": st.sampled_from(["{}", "", "{", "[]", "[" * 5_000, '{"a": NaN}', "null", "{}{}"]),
}
_CALL = {
    "id": st.text(max_size=3),
    "index": st.integers(-1, 2),
    "type": st.sampled_from(["function", "custom"]),
    "function": _object(_FUNCTION),
}
_MESSAGE = {
    "role": st.sampled_from(["assistant", "user", "", "developer"]),
    "content": _TEXTS,
    "refusal": st.none() | st.text(max_size=5),
    "reasoning_content": _TEXTS,
    "tool_calls": st.none() | st.lists(_object(_CALL), max_size=2),
}
_FINISHES = st.sampled_from(["stop", "length", "tool_calls", "content_filter", "error", "", None])
_CHOICE = {
    "index": st.integers(-1, 3),
    "finish_reason": _FINISHES,
    "message": _object(_MESSAGE),
    "delta": _object(_MESSAGE),
    "logprobs": st.none(),
}
_USAGE = {
    "prompt_tokens": _COUNTS,
    "completion_tokens": _COUNTS,
    "total_tokens": _COUNTS,
    "completion_tokens_details": _object({"reasoning_tokens": _COUNTS}),
}
_COMPLETION = {
    "id": st.sampled_from(["a", "", None]),
    "object": st.sampled_from(["chat.completion", "chat.completion.chunk", "list", "error"]),
    "created": st.sampled_from([1_700_000_000, 0, -1, 10**18, None, 1e308]),
    "model": st.sampled_from(["gpt-4o-mini", "", None]),
    "choices": st.lists(_object(_CHOICE), max_size=2),
    "usage": _object(_USAGE),
    "error": _object({"message": st.text(max_size=5), "code": st.sampled_from([429, "x"])}),
}
_WHOLE: dict[str, Any] = {
    "id": "a",
    "object": "chat.completion",
    "created": 1_700_000_000,
    "model": "gpt-4o-mini",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": GOOD},
            "delta": {"role": "assistant", "content": GOOD},
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6},
}


def _damaged(changes: dict[str, Any]) -> dict[str, Any]:
    """A good completion but for two fields at most."""
    return {**_WHOLE, **dict([*changes.items()][:2])}


def _chosen(changes: dict[str, Any]) -> dict[str, Any]:
    return {**_WHOLE, "choices": [{**_WHOLE["choices"][0], **changes}]}


_COMPLETIONS: st.SearchStrategy[Any] = st.one_of(
    _object(_COMPLETION),
    _object(_COMPLETION).map(_damaged),
    _object(_CHOICE).map(_chosen),
    st.just(_WHOLE),
    _ANY,
)
_NOT_JSON = st.sampled_from(
    [b"", b"null", b"<html>502</html>", b"[" * 100_000, b"\xff\xfe{", b'{"choices"', b"9" * 5_000]
)


@dataclass(frozen=True, slots=True)
class Wire:
    """How a body is sent."""

    status: int
    reason: str
    kind: str
    coding: str
    framing: str
    cut: float
    pause: float
    reset: bool
    more: tuple[str, str]


_WIRES = st.builds(
    Wire,
    status=st.just(200) | st.sampled_from([100, 201, 204, 301, 304, 400, 401, 404, 429, 503, 999]),
    reason=st.sampled_from(["OK", "", "\x01", "é"]),
    kind=st.sampled_from(["application/json", "text/event-stream", "text/html", "x; charset=no"]),
    coding=st.sampled_from(["identity"] * 4 + ["gzip", "deflate", "broken", "bomb", "nonsense"]),
    framing=st.just("length")
    | st.sampled_from(["chunked", "short", "long", "negative", "none", "bad chunk"]),
    cut=st.sampled_from([1.0] * 6 + [0.0, 0.3, 0.99]),
    pause=st.sampled_from([0.0] * 20 + [0.01, 1.0]),
    reset=st.sampled_from([False] * 5 + [True]),
    more=st.sampled_from(
        [("X", "y")] * 6
        + [("Retry-After", "-1"), ("Retry-After", "9" * 400), ("Retry-After", "nan")]
        + [("Retry-After-Ms", "1e400"), ("Retry-After", "Thu, 99 Foo"), ("Location", "/v1/again")]
        + [("Location", "http://["), ("X", "z" * 200_000), ("X\x00", "y"), ("Set-Cookie", "=;=")]
    ),
)
_BOMB = gzip.compress(b" " * (MAX_REPLY_BYTES + 1_000_000))


def _encoded(body: bytes, coding: str) -> tuple[str, bytes]:
    match coding:
        case "gzip":
            return "gzip", gzip.compress(body)
        case "deflate":
            return "deflate", zlib.compress(body)
        case "broken":
            return "gzip", gzip.compress(body)[:-9] + b"no"
        case "bomb":
            return "gzip", _BOMB
        case _:
            return coding, body


def _framed(body: bytes, framing: str) -> tuple[str, bytes]:
    match framing:
        case "chunked":
            return "Transfer-Encoding: chunked", b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        case "bad chunk":
            return "Transfer-Encoding: chunked", b"zz\r\n" + body
        case "short":
            return f"Content-Length: {len(body) // 2}", body
        case "long":
            return f"Content-Length: {len(body) + 9}", body
        case "negative":
            return "Content-Length: -1", body
        case "none":
            return "X-No: length", body
        case _:
            return f"Content-Length: {len(body)}", body


def _answer(body: bytes, wire: Wire) -> RawAnswer:
    coding, body = _encoded(body, wire.coding)
    length, body = _framed(body, wire.framing)
    name, value = wire.more
    head = (
        f"HTTP/1.1 {wire.status} {wire.reason}\r\nContent-Type: {wire.kind}\r\n"
        f"Content-Encoding: {coding}\r\n{length}\r\n{name}: {value}\r\nConnection: close\r\n\r\n"
    )
    data = head.encode("latin-1") + body
    data = data[: int(len(data) * wire.cut)]
    middle = len(data) // 2
    pieces = [data[:middle], data[middle:]] if wire.pause else [data]
    return RawAnswer(pieces, wire.pause, wire.reset)


def _json_bytes(value: object) -> bytes:
    return json.dumps(value).encode()


class Client:
    """Everything that reads a provider's replies, in one event loop, over one store."""

    def __init__(self, portal: BlockingPortal, server: RawServer, store: Store) -> None:
        model = open_chat("openai:gpt-4o-mini", base_url=server.base_url)
        assert model is not None
        self._chat = Chat(model, store, clock, ONCE)
        self._embedder = PydanticAIEmbedder("openai:e", server.base_url, limits=ONCE)
        self._store = store
        self._server = server
        self._portal = portal
        self._calls = 0

    def ask(self, answer: RawAnswer) -> Box | ModelError:
        """Ask a typed step."""
        return self._call(self._ask, answer)

    def converse(self, answer: RawAnswer, stream: bool, tools: bool) -> str | ModelError:
        """Ask for the next message."""
        return self._call(self._converse, answer, stream, tools)

    def embed(self, answer: RawAnswer) -> object:
        """Embed two texts."""
        return self._call(self._embed, answer)

    def close(self) -> None:
        self._portal.call(self._chat.close)
        self._portal.call(self._embedder.close)

    def _call(self, function: Any, answer: RawAnswer, *arguments: object) -> Any:
        self._server.answer = answer
        self._chat.limits = IMPATIENT if answer.pause > IMPATIENT.timeout else ONCE
        self._calls += 1
        try:
            return self._portal.call(function, *arguments)
        except ModelError as raised:
            error = raised
        assert "\n" not in str(error)
        assert len(str(error)) < 1_000
        return error

    async def _ask(self) -> Box:
        return await self._chat.for_scope(ANA).ask(BOX, words=f"number {self._calls}")

    async def _converse(self, stream: bool, tools: bool) -> str:
        messages = [Message("user", f"number {self._calls}")]
        options = TOOLS if tools else RequestOptions()
        chat = self._chat.for_scope(ANA)
        whole = [piece async for piece in chat.converse(PLAIN, messages, options, stream=stream)]
        reply = whole[-1]
        assert not isinstance(reply, str)
        return reply.text

    async def _embed(self) -> object:
        return await self._embedder.embed(["a hat", "a cat"])


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder: Path = tmp_path_factory.mktemp("replies")
    store = open_store(str(folder / "memory.db"))
    with start_blocking_portal() as portal, RawServer(RawAnswer([])) as server:
        portal.call(store.open)
        portal.call(store.start_session, ANA, clock())
        client = Client(portal, server, store)
        yield client
        client.close()
        portal.call(store.close)


PLAINLY = Wire(200, "OK", "application/json", "identity", "length", 1.0, 0.0, False, ("X", "y"))


@pytest.mark.slow
@given(_COMPLETIONS.map(_json_bytes) | _NOT_JSON, st.booleans())
@cases(30)
def test_every_shape_of_a_completion(client: Client, body: bytes, tools: bool) -> None:
    client.ask(_answer(body, PLAINLY))
    text = client.converse(_answer(body, PLAINLY), False, tools)
    assert isinstance(text, ModelError) or len(text) <= PLAIN.bounds.tokens * 10


@pytest.mark.slow
@given(
    st.lists(_COMPLETIONS.map(_json_bytes) | _NOT_JSON, max_size=4),
    st.sampled_from(
        [b"data: [DONE]\n\n", b"", b"data: [DONE]", b"event: error\n\n", b": ping\n\n"]
    ),
    st.booleans(),
)
@cases(20)
def test_every_shape_of_a_stream(
    client: Client, chunks: list[bytes], end: bytes, tools: bool
) -> None:
    body = b"".join(b"data: %b\n\n" % chunk for chunk in chunks) + end
    answer = _answer(body, replace(PLAINLY, kind="text/event-stream"))
    text = client.converse(answer, True, tools)
    assert isinstance(text, ModelError) or len(text) <= PLAIN.bounds.tokens * 10


@pytest.mark.slow
@given(_WIRES, st.sampled_from(["ask", "stream", "embed"]))
@cases(30)
def test_every_way_to_send_it(client: Client, wire: Wire, call: str) -> None:
    if call == "ask":
        client.ask(_answer(_json_bytes(_WHOLE), wire))
    elif call == "stream":
        body = b"data: %b\n\ndata: [DONE]\n\n" % _json_bytes(_WHOLE)
        client.converse(_answer(body, wire), True, False)
    else:
        row = {"object": "embedding", "embedding": [1.0, 0.0]}
        data = [{**row, "index": 0}, {**row, "index": 1}]
        client.embed(_answer(_json_bytes({"object": "list", "model": "e", "data": data}), wire))


_ROW = {
    "index": st.integers(-1, 3),
    "object": st.just("embedding"),
    "embedding": st.lists(st.floats(width=32), max_size=3)
    | st.sampled_from(["AACAPwAAAAA=", "?", "", [[1.0]], [1e308, 1.0], ["1", "x"], [10**400]]),
}


@given(_object({"data": st.lists(_object(_ROW), max_size=3), "usage": _object(_USAGE)}))
@cases(30)
def test_every_shape_of_embeddings(client: Client, body: object) -> None:
    client.embed(_answer(_json_bytes(body), PLAINLY))


@pytest.mark.parametrize("coding", ["identity", "bomb"])
def test_a_reply_of_any_size_is_not_read_to_its_end(client: Client, coding: str) -> None:
    body = b" " * (MAX_REPLY_BYTES + 1) if coding == "identity" else b""
    for status in (200, 500):
        wire = replace(PLAINLY, coding=coding, status=status)
        error = client.ask(_answer(body, wire))
        assert "larger than 16,000,000 bytes" in str(error)


def test_no_choices_is_one_clear_error(client: Client) -> None:
    answer = _answer(_json_bytes({**_WHOLE, "choices": []}), PLAINLY)
    assert "sent an unknown reply" in str(client.ask(answer))


@pytest.mark.parametrize("stream", [True, False])
def test_a_long_message_is_cut_off(client: Client, stream: bool) -> None:
    text = "A hat is round. " * 2_500
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "finish_reason": "stop", "message": message, "delta": message}
    body = _json_bytes({**_WHOLE, "choices": [choice]})
    wire = PLAINLY
    if stream:
        wire = replace(wire, kind="text/event-stream")
        body = b"data: %b\n\ndata: [DONE]\n\n" % body
    reply = client.converse(_answer(body, wire), stream, False)
    assert isinstance(reply, str)
    assert 14_900 < len(reply) <= 15_000
