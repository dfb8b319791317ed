"""Every reply is bounded; one that ran on is cut and used, or asked for again with little of it."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import BaseModel

import theanine.methods
import theanine.summarization
import theanine_methods
from support.asking import ANA, BOX, GOOD, PLAIN, Box, chat, opened, over_http, serving
from theanine.errors import ModelRejected, UnusableReply
from theanine.llm.base import RawReply
from theanine.llm.bounds import ReplyBounds, number_list, one_of
from theanine.llm.open import open_chat
from theanine.llm.parsing import CUT_OFF, InvalidReply, parse_reply
from theanine.llm.prompt import PromptTemplate
from theanine.llm.schema import schema_of
from theanine.store import Store
from theanine.testing import ScriptedModel, status, truncate
from theanine.types import Usage

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(tmp_path) as store:
        yield store


def all_steps() -> Iterator[PromptTemplate[Any]]:
    """Yield the steps of all methods."""
    seen: set[str] = set()
    for package in (theanine.methods, theanine.summarization, theanine_methods):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, PromptTemplate) and value.label not in seen:
                    seen.add(value.label)
                    yield cast("PromptTemplate[Any]", value)


STEPS = list(all_steps())


def _unbounded(schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the paths of lists and strings that have no bound."""
    if schema.get("type") == "array":
        if "maxItems" not in schema:
            yield path
        yield from _unbounded(schema["items"], f"{path}[]")
    if schema.get("type") == "string" and not {"maxLength", "enum", "const"} & schema.keys():
        yield path
    for name, each in schema.get("properties", {}).items():
        yield from _unbounded(each, f"{path}.{name}")
    for each in schema.get("anyOf", ()):
        yield from _unbounded(each, path)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.label)
def test_every_step_is_bounded(step: PromptTemplate[Any]) -> None:
    assert 0 < step.bounds.tokens <= 4_000
    if schema := schema_of(step.result):
        assert not list(_unbounded(step.bounds.apply(schema)))


def test_bounds_of_fields_and_a_wrong_path() -> None:
    schema = schema_of(BOX.result)
    assert schema is not None
    bounded = ReplyBounds(
        50, {"things[]": one_of(["hat", "cat", "hat"]), "count": {"maximum": 9}}
    ).apply(schema)
    assert bounded["properties"]["things"]["items"] == {"type": "string", "enum": ["hat", "cat"]}
    assert bounded["properties"]["count"] == {"type": "integer", "maximum": 9}
    assert bounded["additionalProperties"] is False
    with pytest.raises(ValueError, match=r"things\[\]\.colour"):
        ReplyBounds(50, {"things[].colour": {}}).apply(schema)
    assert schema == schema_of(BOX.result)


class Node(BaseModel):
    """A schema that contains itself."""

    numbers: list[int]
    inner: list[Node]


def test_a_recursive_schema_ends() -> None:
    schema = schema_of(Node)
    assert schema is not None
    bounded = ReplyBounds(50, number_list("numbers", 1, 3, 2)).apply(schema)
    assert bounded["properties"]["numbers"]["items"]["maximum"] == 3


async def test_bounds_reach_the_server_and_not_the_key(store: Store) -> None:
    with serving([GOOD]) as server:
        caller = over_http(server, store).for_scope(ANA, 1)
        assert await caller.ask(BOX, words="a hat", bounds=ReplyBounds(77)) == json_box()
        assert await caller.ask(BOX, words="a hat", bounds=ReplyBounds(78)) == json_box()
    (request,) = server.requests
    assert request["max_tokens"] == 77
    assert request["response_format"]["json_schema"]["schema"]["properties"]["things"]["maxItems"]
    assert '"things": [text, …]' in request["messages"][0]["content"]
    assert caller.usage.replayed == 1


def json_box() -> Box:
    """Return the box that GOOD describes."""
    return Box(**json.loads(GOOD))


async def test_the_key_of_a_call_is_that_of_earlier_releases(store: Store, tmp_path: Path) -> None:
    await chat(ScriptedModel(GOOD), store).for_scope(ANA, 1).ask(BOX, words="a hat")
    with sqlite3.connect(tmp_path / "memory.db") as db:
        ((key,),) = db.execute("select key from journal").fetchall()
    assert key == "9cebf650f2af0f3c8e61e102f2afd76722bb545a9bbb8a8c54a391c87ac86e2b"
    model = open_chat("x", base_url="http://127.0.0.1:9/v1")
    assert model is not None
    assert dict(model.settings) == {
        "base_url": "http://127.0.0.1:9/v1/",
        "temperature": 0.0,
        "max_tokens": None,
        "structured": "prompt",
    }


async def test_a_server_without_schemas_is_found_out_once(store: Store) -> None:
    with serving(lambda request: status(400) if "response_format" in request else GOOD) as server:
        caller = over_http(server, store).for_scope(ANA, 1)
        await caller.ask(BOX, words="one")
        await caller.ask(BOX, words="two")
    assert ["response_format" in request for request in server.requests] == [True, False, False]
    assert caller.usage.failed == 0


NUMBERED = ReplyBounds(50, {"things": {"minItems": 3, "maxItems": 3}}, {"things": "number"})


class Thing(BaseModel):
    """An item of a numbered list."""

    name: str
    number: int


class Things(BaseModel):
    """A numbered list."""

    things: list[Thing]


THINGS = PromptTemplate("things", 1, "Task: things\n\n$words", Things, NUMBERED)
THREE = json.dumps({"things": [{"number": n, "name": "hat"} for n in (1, 2, 3)]})


async def test_numbers_of_items_are_forced(store: Store) -> None:
    with serving([THREE]) as server:
        await over_http(server, store).for_scope(ANA, 1).ask(THINGS, words="one")
    (request,) = server.requests
    things = request["response_format"]["json_schema"]["schema"]["properties"]["things"]
    assert [next(iter(each["properties"].items())) for each in things["prefixItems"]] == [
        ("number", {"const": number}) for number in (1, 2, 3)
    ]
    assert things["prefixItems"][0]["properties"]["name"]["maxLength"]
    assert things["prefixItems"][0]["required"] == ["name", "number"]
    assert "items" not in things


async def test_a_server_without_numbered_items_is_found_out_once(store: Store) -> None:
    with serving(
        lambda request: status(400) if "prefixItems" in json.dumps(request) else THREE
    ) as server:
        caller = over_http(server, store).for_scope(ANA, 1)
        await caller.ask(THINGS, words="one")
        await caller.ask(THINGS, words="two")
    assert ["prefixItems" in json.dumps(request) for request in server.requests] == [
        True,
        False,
        False,
    ]
    assert all("response_format" in request for request in server.requests)
    assert caller.usage.failed == 0


async def test_another_fault_of_the_request_is_not_hidden(store: Store) -> None:
    with serving(
        [status(400, message="no such model"), status(400, message="no such model"), GOOD]
    ) as server:
        caller = over_http(server, store).for_scope(ANA, 1)
        with pytest.raises(ModelRejected, match="no such model"):
            await caller.ask(BOX, words="one")
        await caller.ask(BOX, words="two")
    assert "response_format" in server.requests[-1]


JSON = '{"count": 2, "things": ["hat", "cat"]}'


async def test_a_cut_off_text_is_used_up_to_its_last_sentence(store: Store) -> None:
    with serving([truncate(27, "Hats are round. Cats are not so round.")]) as server:
        caller = over_http(server, store).for_scope(ANA)
        assert await caller.ask(PLAIN, words="hats") == "Hats are round."
        assert caller.usage.truncated == 1
        assert await caller.ask(PLAIN, words="hats") == "Hats are round."
    assert len(server.calls) == 1
    assert caller.usage.truncated == 2


async def test_a_cut_off_text_that_would_be_stored_is_asked_for_again(store: Store) -> None:
    cut = RawReply(text="Hats are round. Cats", finish="length")
    model = ScriptedModel([cut, "Hats are round."])
    caller = chat(model, store).for_scope(ANA, 1)
    assert await caller.ask(PLAIN, words="hats") == "Hats are round."
    assert f"may have {PLAIN.bounds.tokens} tokens at most" in model.prompts[1]


@pytest.mark.parametrize("session", [None, 1])
@pytest.mark.parametrize("length", range(1, len(JSON)))
async def test_cut_off_json_is_never_a_success(
    length: int, session: int | None, store: Store
) -> None:
    model = ScriptedModel(RawReply(text=JSON[:length], finish="length"))
    caller = chat(model, store).for_scope(ANA, session)
    with pytest.raises(UnusableReply, match="cut off at the model's token limit"):
        await caller.ask(BOX, words="things")
    assert caller.usage.truncated == 0


async def test_json_that_was_whole_before_its_reply_was_cut_off_is_used(store: Store) -> None:
    model = ScriptedModel([RawReply(text=f"{JSON} And so I have been asked", finish="length")])
    caller = chat(model, store).for_scope(ANA, 1)
    assert await caller.ask(BOX, words="things") == Box(things=["hat", "cat"], count=2)


async def test_little_of_a_runaway_reply_is_sent_back(store: Store) -> None:
    runaway = RawReply(text='{"things": "' + "hat " * 5_000, finish="length")
    model = ScriptedModel([runaway, GOOD])
    caller = chat(model, store).for_scope(ANA, 1)
    assert await caller.ask(BOX, words="things") == json_box()
    assert len(model.prompts[1]) < len(model.prompts[0]) + 700
    assert "Keep it shorter" in model.prompts[1]
    assert caller.usage == Usage(**{**_usage(caller.usage), "truncated": 0})


def _usage(usage: Usage) -> dict[str, Any]:
    return {name: getattr(usage, name) for name in Usage.__dataclass_fields__}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("One. Two! Thr", "One. Two!"),
        ('She said "no." And th', 'She said "no."'),
        ("First line\nsecond li", "First line"),
        ("一つ。二つ。三", "一つ。二つ。"),
        ("no sentence ends he", "no sentence ends"),
        ("It costs 3.50 and m", "It costs 3.50 and"),
        ("پہلا۔ دوسر", "پہلا۔"),
    ],
)
def test_a_cut_off_text(text: str, kept: str) -> None:
    assert parse_reply(text, str, cut_off=True) == kept


def test_a_single_cut_off_word_is_no_reply() -> None:
    with pytest.raises(InvalidReply, match=CUT_OFF):
        parse_reply("Ha", str, cut_off=True)


PROMPT = "Task: respond\n\nAnswer.\n\n<<<you\nAna\n>>>\n<<<conversation\nBen: Hello.\n>>>"


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ("Hello, Ben.\n>>>", "Hello, Ben."),
        ("Hello, Ben.\n\n<<<conversation\nBen: Hello.", "Hello, Ben."),
        ("<<<answer\nHello, Ben.\n>>>\n<<<answer\nHello", "Hello, Ben."),
        ("<<<\nHello, Ben.", "Hello, Ben."),
        ("I write a <<< b and c >>> d.", "I write a <<< b and c >>> d."),
    ],
)
def test_marks_of_blocks_are_removed(raw: str, kept: str) -> None:
    assert parse_reply(raw, str, prompt=PROMPT) == kept


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ("<<<you\nAna\n<<<conversation\nBen: Hello.", "repeats the block <<<you of the task"),
        (">>>\n", "empty but for the marks"),
        ("<<<answer\n\n>>>", "empty but for the marks"),
    ],
)
def test_a_reply_of_the_prompts_own_blocks_is_named(raw: str, says: str) -> None:
    with pytest.raises(InvalidReply, match=says):
        parse_reply(raw, str, prompt=PROMPT)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["<<<you\n", "<<< ", ">>>\n", "\n", ".", "a.", '."'])
def test_hostile_texts_are_read_at_once(unit: str) -> None:
    for cut_off in (False, True):
        with suppress(InvalidReply):
            assert parse_reply(unit * 50_000 + "x", str, prompt=PROMPT, cut_off=cut_off)


async def test_an_echo_is_asked_for_again_and_named_at_last(store: Store) -> None:
    step = PromptTemplate("respond", 1, PROMPT, str)
    model = ScriptedModel(["<<<you\nAna", "Hello, Ben."])
    assert await chat(model, store).for_scope(ANA, 1).ask(step) == "Hello, Ben."
    model = ScriptedModel("<<<conversation\nBen: Hello.")
    with pytest.raises(UnusableReply, match="repeats the block <<<conversation"):
        await chat(model, store).for_scope(ANA, 2).ask(PromptTemplate("say", 1, PROMPT, str))
