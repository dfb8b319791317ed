"""One model remembers, another recalls and replies, each with its own settings."""

from __future__ import annotations

from pathlib import Path

import pytest

import theanine
from theanine.errors import SettingsError
from theanine.testing import ScriptedModel, ScriptedServer, answer, step_of
from theanine.types import LOCAL_MODEL


def talk(client: theanine.Client) -> None:
    """Let Ana say two things and get a reply to each, in two sessions."""
    ana = client.user("ana")
    for text in ("I sold the boat because the engine died.", "I bought a new engine for the boat."):
        with ana.session() as session:
            session.hear(text)
            session.reply()


def test_each_model_gets_its_own_steps_and_settings(tmp_path: Path) -> None:
    with (
        ScriptedServer() as replying,
        ScriptedServer() as remembering,
        theanine.open(
            str(tmp_path / "memory.db"),
            model="large",
            base_url=replying.base_url,
            model_settings={"temperature": 0.8, "max_tokens": 300},
            memory_model="small",
            memory_base_url=remembering.base_url,
            memory_settings={"seed": 7},
        ) as client,
    ):
        talk(client)
        names = client.model_name, client.memory_model_name
        lines = client.costs()
    assert names == ("openai:large", "openai:small")
    assert {step_of(request) for request in remembering.requests} == {"summarize", "relate"}
    assert "respond" in {step_of(request) for request in replying.requests}
    assert not {"summarize", "relate"} & {step_of(request) for request in replying.requests}
    for request in replying.requests:
        assert (request["temperature"], request["max_tokens"]) == (0.8, 300)
    for request in remembering.requests:
        assert (request["temperature"], request["seed"]) == (0, 7)
    assert {line.model for line in lines if line.step == "summarize"} == {"openai:small"}


def test_the_bound_of_replies_does_not_bound_what_is_remembered(tmp_path: Path) -> None:
    with (
        ScriptedServer() as server,
        theanine.open(
            str(tmp_path / "memory.db"),
            model="small",
            base_url=server.base_url,
            model_settings={"temperature": 0.8, "max_tokens": 120},
        ) as client,
    ):
        talk(client)
    bounds = {step_of(request): request["max_tokens"] for request in server.requests}
    assert bounds["respond"] == 120
    assert bounds["summarize"] > 120 and bounds["relate"] > 120
    assert {request["temperature"] for request in server.requests} == {0.8}


def test_the_memory_model_is_at_the_same_server_by_default(tmp_path: Path) -> None:
    with (
        ScriptedServer() as server,
        theanine.open(
            str(tmp_path / "memory.db"),
            model="large",
            memory_model="small",
            base_url=server.base_url,
        ) as client,
    ):
        talk(client)
    models = {step_of(request): request["model"] for request in server.requests}
    assert (models["summarize"], models["respond"]) == ("small", "large")


def test_settings_alone_make_two_of_one_model(tmp_path: Path) -> None:
    with (
        ScriptedServer() as server,
        theanine.open(
            str(tmp_path / "memory.db"),
            model="large",
            base_url=server.base_url,
            model_settings={"temperature": 0.8},
            memory_settings={},
        ) as client,
    ):
        talk(client)
    by_step = {step_of(request): request["temperature"] for request in server.requests}
    assert (by_step["summarize"], by_step["respond"]) == (0, 0.8)


def test_one_model_does_both_with_its_settings(tmp_path: Path) -> None:
    with (
        ScriptedServer() as server,
        theanine.open(
            str(tmp_path / "memory.db"),
            model="large",
            base_url=server.base_url,
            model_settings={"temperature": 0.8},
        ) as client,
    ):
        talk(client)
    assert {request["temperature"] for request in server.requests} == {0.8}


def _request(prompt: str) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": prompt}]}


@pytest.mark.parametrize("remembers", [True, False])
def test_either_may_be_local(remembers: bool, tmp_path: Path) -> None:
    model = ScriptedModel(lambda prompt: answer(_request(prompt)))
    with theanine.open(
        str(tmp_path / "memory.db"),
        model=LOCAL_MODEL if remembers else model,
        memory_model=model if remembers else LOCAL_MODEL,
    ) as client:
        talk(client)
        made_by = {memory.made_by for memory in client.user("ana").memories()}
    assert made_by == {"scripted" if remembers else LOCAL_MODEL}
    steps = {step_of(_request(prompt)) for prompt in model.prompts}
    assert steps and steps <= ({"summarize", "relate"} if remembers else {"respond"})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"model_settings": {"heat": 1}}, "a model has no setting heat; it has: temperature"),
        ({"model_settings": {"temperature": -1}}, "the model's setting temperature"),
        ({"memory_settings": {"max_tokens": "many"}}, "the model's setting max_tokens"),
        ({"model": ScriptedModel("x"), "model_settings": {"seed": 1}}, "model is an object"),
        ({"memory_model": ScriptedModel("x"), "memory_base_url": "http://x"}, "memory_model is an"),
        ({"memory_model": 5}, "memory_model must be a string"),
        ({"memory_model": "nobody"}, "'nobody' is not the name of a model"),
    ],
)
def test_what_is_wrong_is_named(options: dict[str, object], says: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=says):
        theanine.open(str(tmp_path / "memory.db"), **options)  # pyright: ignore[reportArgumentType]
