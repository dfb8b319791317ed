"""A profile that the service's model writes: asked for by POST, counted as a reply."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

import theanine
from server.conftest import running
from theanine.client import OpenOptions
from theanine.errors import ModelError, SettingsError
from theanine.testing import ScriptedModel
from theanine_server import ServerOptions

PATH = "/v1/users/ana/profile"
AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
LINE = {"area": "home", "text": "Lives in Rijeka", "passages": [1]}


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel({"profile": json.dumps({"lines": [LINE]})})


def writing(options: ServerOptions, model: Any, **settings: Any) -> ServerOptions:
    client = OpenOptions(options.client.location, model=model, memory_model="local")
    return replace(options, client=client, **settings)


def test_a_profile_with_a_model_has_its_sources(
    options: ServerOptions, model: ScriptedModel
) -> None:
    with (
        running(writing(options, model)) as service,
        theanine.connect(service.url, key=service.key()) as client,
        service.client() as http,
    ):
        ana = client.user("ana", name="Ana Kovač")
        [turn] = ana.add("I live in Rijeka.", at=AT).turns
        client.user("bo").add("I live in Split.", at=AT)
        [plain] = http.get(PATH).json()["lines"]
        assert (plain["text"], plain["made_by"]) == ("I live in Rijeka.", "local")
        assert not model.prompts
        profile = ana.profile(with_model=True)
        [line] = profile.lines
        assert (line.text, line.made_by) == ("Lives in Rijeka", "scripted")
        assert (line.source_turns, line.since) == ((turn.id,), AT)
        [prompt] = model.prompts
        assert "[1] I live in Rijeka." in prompt and "Split" not in prompt
        assert ana.profile(with_model=True) == profile and len(model.prompts) == 1
        asked = {"as_of": "2026-02-28T00:00:00Z", "name": "Ana Kovač"}
        assert not http.post(PATH, json=asked).json()["lines"]
        assert http.post(PATH, json={"with_model": True}).status_code == 422
        costs = [(cost.step, cost.calls) for cost in ana.costs()]
        assert costs == [("profile", 1)]


def test_it_takes_the_right_to_replies_and_counts_as_one(
    options: ServerOptions, model: ScriptedModel
) -> None:
    with (
        running(writing(options, model, max_replies=1)) as service,
        service.client() as http,
        service.client(rights=("read", "write")) as reader,
    ):
        http.post("/v1/users/ana/messages", json={"messages": "I live in Rijeka."})
        assert reader.post(PATH, json={}).status_code == 403
        assert reader.get(PATH).status_code == 200
        assert not model.prompts
        assert [http.post(PATH, json={}).status_code for _ in range(2)] == [200, 429]


def test_without_a_model_or_its_reply_there_is_no_profile(options: ServerOptions) -> None:
    for model, error in (("local", SettingsError), (ScriptedModel("Sorry."), ModelError)):
        with (
            running(writing(options, model)) as service,
            theanine.connect(service.url, key=service.key()) as client,
        ):
            ana = client.user("ana")
            ana.add("I live in Rijeka.", at=AT)
            with pytest.raises(error):
                ana.profile(with_model=True)
