"""A credential that a server echoes reaches no message, log, journal, turn or export."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import theanine
from support.fuzzing import cases
from support.raw_http import RawAnswer, RawServer
from theanine.credentials import CREDENTIAL, redact_credentials
from theanine.errors import ModelError, RememberingFailed
from theanine.llm.limits import Limits

pytestmark = pytest.mark.fuzz


def _random(length: int) -> st.SearchStrategy[str]:
    """A text of letters and digits that occurs nowhere by chance."""
    texts = st.integers(0, 2**40).map(lambda seed: "z" + sha256(str(seed).encode()).hexdigest())
    return texts.map(lambda text: text[:length])


ENVIRONMENT = st.integers(8, 64).flatmap(_random)
"""Credentials of any form, which only the environment tells."""
SHAPED = st.one_of(
    st.builds("{}{}".format, st.sampled_from(["sk-", "sk-proj-", "sk-ant-api03-"]), _random(24)),
    st.builds("{}{}".format, st.sampled_from(["ghp_", "gho_", "hf_", "AIza"]), _random(36)),
    _random(16).map(lambda text: f"AKIA{text.upper()}"),
    st.builds("xoxb-{}".format, _random(12)),
    st.builds("eyJ{}.eyJ{}.{}".format, _random(12), _random(12), _random(12)),
)
"""Credentials that their form tells, also one of somebody else."""


@given(SHAPED, st.text(max_size=30), st.sampled_from(['"', "'", " ", "=", ":", "\n", "/", "?k="]))
@cases(50)
def test_every_form_is_found_in_any_text(key: str, words: str, before: str) -> None:
    text = f"{words}{before}{key} {words}"
    assert CREDENTIAL.search(text)
    assert key not in redact_credentials(text)


def _completion(content: str, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **more}
    choice = {"index": 0, "finish_reason": "stop", "message": message, "delta": message}
    return {"id": "a", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def _http(status: int, body: str, kind: str, header: str = "X: y") -> RawAnswer:
    data = body.encode()
    head = (
        f"HTTP/1.1 {status} Echo\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n"
        f"{header}\r\nConnection: close\r\n\r\n"
    )
    return RawAnswer([head.encode() + data])


def _errors(key: str) -> st.SearchStrategy[RawAnswer]:
    """Answers that are no reply and quote the key somewhere."""
    words = st.sampled_from(
        [
            f"Incorrect API key provided: {key}.",
            f"Authorization: Bearer {key}",
            "x" * 279 + f" {key}",
        ]
    )
    bodies = words.flatmap(
        lambda text: st.sampled_from(
            [
                (json.dumps({"error": {"message": text, "type": text, "code": text}}), "json"),
                (json.dumps({"detail": [{"msg": text, "input": {"headers": [text]}}]}), "json"),
                (json.dumps({"choices": text, "usage": text}), "json"),
                (json.dumps({"choices": [{"message": text, "finish_reason": text}]}), "json"),
                (json.dumps([text]), "json"),
                (f"<html><h1>{text}</h1></html>", "html"),
                (text, "plain"),
            ]
        )
    )
    statuses = st.sampled_from([200, 400, 401, 403, 404, 422, 429, 500, 503])

    def answer(body: tuple[str, str], status: int) -> RawAnswer:
        return _http(status, body[0], f"application/{body[1]}", f"X: {key}")

    return st.builds(answer, bodies, statuses)


def _replies(key: str) -> st.SearchStrategy[tuple[RawAnswer, bool]]:
    """Usable replies that quote the key, whole or streamed in pieces of any size."""
    text = f"Your key is {key}, keep it. {key}"
    call = {"id": "1", "type": "function", "index": 0}
    called = [{**call, "function": {"name": "log_in", "arguments": json.dumps({"key": key})}}]

    def stream(size: int) -> RawAnswer:
        pieces = [text[start : start + size] for start in range(0, len(text), size)]
        events = "".join(f"data: {json.dumps(_completion(piece))}\n\n" for piece in pieces)
        return _http(200, events + "data: [DONE]\n\n", "text/event-stream")

    return st.one_of(
        st.just((_http(200, json.dumps(_completion(text)), "application/json"), False)),
        st.just(
            (
                _http(200, json.dumps(_completion("", tool_calls=called)), "application/json"),
                False,
            )
        ),
        st.integers(1, len(text)).map(lambda size: (stream(size), True)),
    )


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    with RawServer(RawAnswer([])) as running:
        yield running


TOOL = {"type": "function", "function": {"name": "log_in", "parameters": {"type": "object"}}}
PATIENT = Limits(retries=0, reply_retries=0, repairs=0, timeout=10)


@pytest.mark.slow
@given(st.data(), st.booleans())
@cases(8)
def test_an_echoed_credential_is_kept_nowhere(
    server: RawServer,
    tmp_path_factory: pytest.TempPathFactory,
    caplog: pytest.LogCaptureFixture,
    data: st.DataObject,
    usable: bool,
) -> None:
    key = data.draw(ENVIRONMENT if usable else ENVIRONMENT | SHAPED)
    stream = False
    if usable:
        server.answer, stream = data.draw(_replies(key))
    else:
        server.answer = data.draw(_errors(key))
    folder: Path = tmp_path_factory.mktemp("store")
    shown: list[str] = []
    caplog.clear()
    with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.DEBUG, "theanine"):
        if CREDENTIAL.fullmatch(key) is None:
            patch.setenv("OPENAI_API_KEY", key)
        with theanine.open(
            folder / "memory.db", model="openai:m", base_url=server.base_url, limits=PATIENT
        ) as client:
            user = client.user("ana")
            with user.session("talk") as session:
                session.hear("Who am I?")
                try:
                    if stream:
                        shown += session.reply(stream=True)
                    else:
                        reply = session.reply(tools=[TOOL])
                        shown.append(f"{reply.text} {reply.tool_calls}")
                except ModelError as error:
                    shown += [str(error), "".join(traceback.format_exception(error))]
                try:
                    shown.append(str(session.end(remember="now")))
                except (ModelError, RememberingFailed) as error:
                    shown.append("".join(traceback.format_exception(error)))
            shown.append(json.dumps(list(client.export()), ensure_ascii=False))
    everything = "".join(shown)
    assert key not in everything
    assert key not in caplog.text
    assert all(
        key.encode() not in path.read_bytes() for path in folder.rglob("*") if path.is_file()
    )
    assert not usable or "[secret]" in everything
