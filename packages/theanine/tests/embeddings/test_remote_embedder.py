"""An embedder behind an API: batches, retries, and answers that are no vectors."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from theanine.embeddings.base import Vectors
from theanine.embeddings.open import open_embedder
from theanine.errors import ModelRejected, ModelUnavailable
from theanine.llm.base import Closable
from theanine.llm.limits import Limits
from theanine.testing import ScriptedServer

pytestmark = pytest.mark.anyio
QUICK = Limits(first_wait=0.01, retries=1, timeout=30)


@contextmanager
def answering(status: int, body: Any) -> Generator[str]:
    """A server that gives one answer to everything."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def vectors(*rows: list[float]) -> dict[str, Any]:
    """An answer as the API gives it."""
    data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "model": "m", "data": data, "usage": usage}


async def embed(url: str, texts: list[str]) -> Vectors:
    """What a fresh embedder at that address makes of the texts."""
    embedder = open_embedder("m", base_url=url, limits=QUICK)
    assert isinstance(embedder, Closable)
    try:
        return await embedder.embed(texts)
    finally:
        await embedder.close()


async def test_texts_go_out_in_batches_and_blank_ones_stay_here() -> None:
    with ScriptedServer() as server:
        await embed(server.base_url, ["a", " ", "a", *(f"b{number}" for number in range(300))])
    sizes = [len(call.body["input"]) for call in server.embedding_calls]
    assert sizes == [256, 45]


async def test_a_long_text_is_cut_before_it_is_sent() -> None:
    with ScriptedServer() as server:
        await embed(server.base_url, ["word " * 100_000])
    assert len(server.embedding_calls[0].body["input"][0]) == 8_000


async def test_a_failing_server_is_tried_again_then_named() -> None:
    busy = {"error": {"message": "busy"}}
    with answering(503, busy) as url, pytest.raises(ModelUnavailable, match="after 2 attempts"):
        await embed(url, ["a"])


@pytest.mark.parametrize(
    "body",
    [vectors([1.0, 2.0]), vectors([1.0], [1.0, 2.0]), vectors([1.0, 0.0], [float("nan"), 0.0])],
    ids=["too few", "unequal", "not a number"],
)
async def test_what_is_no_vector_for_each_text_is_refused(body: Any) -> None:
    with answering(200, body) as url, pytest.raises(ModelRejected, match="vectors"):
        await embed(url, ["a", "b"])


async def test_a_chat_model_is_no_embedder() -> None:
    missing = {"error": {"message": "no such model"}}
    with answering(404, missing) as url, pytest.raises(ModelRejected, match="model's name"):
        await embed(url, ["a"])
