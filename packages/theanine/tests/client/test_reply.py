"""A reply in a live session: the request that the model gets, streaming, tools, what is logged."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

import theanine
from theanine import Client, Turn
from theanine.errors import BadInput, ModelUnavailable, SettingsError, UnusableReply
from theanine.fences import REMEMBERED_HEADING
from theanine.llm.base import ToolCall
from theanine.llm.limits import Limits
from theanine.testing import Reply, ScriptedServer, by_step, drop, empty, status

LONG = "I found a vegan place at the harbor."
PAUSED = Reply(text=LONG, pause=0.02)
TOOL = {
    "type": "function",
    "function": {
        "name": "book",
        "description": "Book a table.",
        "parameters": {"type": "object", "properties": {"people": {"type": "integer"}}},
    },
}
CALL = ToolCall(id="call-1", name="book", arguments={"people": 2, "place": "Split"})
FAST = Limits(first_wait=0.01)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(by_step({"respond": LONG})) as server:
        yield server


@pytest.fixture
def client(server: ScriptedServer, tmp_path: Path) -> Iterator[Client]:
    location = str(tmp_path / "memory.db")
    with theanine.open(location, model="openai:x", base_url=server.base_url, limits=FAST) as client:
        yield client


def logged(client: Client) -> list[Turn]:
    return client.user("ana").turns()


def test_a_reply_is_asked_for_as_a_chat(client: Client, server: ScriptedServer) -> None:
    with client.user("ana").session() as earlier:
        earlier.hear("I'm terrified of ships since the storm.")
    live = client.user("ana").session()
    live.hear("Good morning.")
    live.reply(system="You are a concierge.", temperature=0.7, stop="\n\n", max_tokens=90)
    live.hear("Shall we book that cruise on a ship?")
    live.reply(system="You are a concierge.")
    first, second = server.requests[-2:]
    assert (first["temperature"], first["stop"]) == (0.7, ["\n\n"])
    assert 90 in (first.get("max_tokens"), first.get("max_completion_tokens"))
    system, hello, answer, newest = second["messages"]
    assert system["content"].startswith("You are a concierge.\n")
    assert (hello["content"], answer["content"]) == ("Good morning.", LONG)
    assert answer["role"] == "assistant"
    words, _, recalled = newest["content"].partition(f"\n\n{REMEMBERED_HEADING}\n")
    assert words == "Shall we book that cruise on a ship?"
    assert "terrified of ships since the storm" in recalled


def test_a_streamed_reply_is_logged_whole(client: Client, server: ScriptedServer) -> None:
    live = client.user("ana").session()
    live.hear("Book us a table.")
    stream = live.reply(stream=True)
    assert stream.reply is None
    assert list(stream) == [f"{word} " for word in LONG.split()[:-1]] + ["harbor."]
    assert stream.reply is not None
    assert stream.reply.text == LONG
    assert logged(client)[-1].text == LONG
    assert not logged(client)[-1].broken_off
    (line,) = client.costs()
    assert (line.calls, line.failed) == (1, 0)
    assert line.output_tokens > 0


def test_what_was_received_is_logged_when_the_reader_stops(
    client: Client, server: ScriptedServer
) -> None:
    server.script(PAUSED)
    live = client.user("ana").session()
    live.hear("Book us a table.")
    for piece in live.reply(stream=True):
        if piece == "vegan ":
            break
    turn = logged(client)[-1]
    assert (turn.text, turn.role, turn.broken_off) == ("I found a vegan", "assistant", True)
    (line,) = client.costs()
    assert (line.calls, line.failed) == (1, 1)
    live.hear("Go on.")
    assert live.reply().text == LONG


def test_what_was_received_is_logged_when_the_stream_breaks(
    client: Client, server: ScriptedServer
) -> None:
    server.script(Reply(text=LONG, break_after=3))
    live = client.user("ana").session()
    live.hear("Book us a table.")
    pieces: list[str] = []
    with pytest.raises(ModelUnavailable):
        pieces.extend(live.reply(stream=True))
    assert (logged(client)[-1].text, logged(client)[-1].broken_off) == ("I found a", True)
    assert len(server.calls) == 1


# The HTTP client's generator, left in the middle of a read, may be collected while it runs.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.anyio
async def test_what_was_received_is_logged_when_the_task_is_cancelled(tmp_path: Path) -> None:
    with ScriptedServer(PAUSED) as server:
        url = server.base_url
        async with theanine.aopen(str(tmp_path / "m.db"), model="x", base_url=url) as client:
            live = client.user("ana").session()
            await live.hear("Book us a table.")
            with anyio.CancelScope() as scope:
                async for piece in live.reply(stream=True):
                    if piece == "vegan ":
                        scope.cancel()
            turn = (await client.user("ana").turns())[-1]
            assert (turn.text, turn.broken_off) == ("I found a vegan", True)


@pytest.mark.anyio
async def test_hearing_the_user_breaks_a_reply_off(tmp_path: Path) -> None:
    with ScriptedServer(PAUSED) as server:
        url = server.base_url
        async with theanine.aopen(str(tmp_path / "m.db"), model="x", base_url=url) as client:
            live = client.user("ana").session()
            await live.hear("Book us a table.")
            stream = live.reply(stream=True)
            assert await anext(stream) == "I "
            await live.hear("For three!")
            assert [piece async for piece in stream] == []
            texts = [turn.text for turn in await client.user("ana").turns()]
            assert texts == ["Book us a table.", "I", "For three!"]


@pytest.mark.anyio
async def test_closing_the_client_breaks_a_reply_off(tmp_path: Path) -> None:
    path = str(tmp_path / "m.db")
    with ScriptedServer(PAUSED) as server:
        async with theanine.aopen(path, model="x", base_url=server.base_url) as client:
            live = client.user("ana").session()
            await live.hear("Book us a table.")
            stream = live.reply(stream=True)
            await anext(stream)
        async with theanine.aopen(path) as client:
            assert (await client.user("ana").turns())[-1].broken_off


def test_a_stream_that_never_began_is_tried_once_more(
    client: Client, server: ScriptedServer
) -> None:
    server.script([status(503), LONG])
    live = client.user("ana").session()
    live.hear("Book us a table.")
    assert "".join(live.reply(stream=True)) == LONG
    assert len(server.calls) == 2


@pytest.mark.parametrize("stream", [True, False])
def test_the_retries_of_a_reply_are_bounded(
    client: Client, server: ScriptedServer, stream: bool
) -> None:
    live = client.user("ana").session()
    live.hear("Book us a table.")
    for failure, error in ((drop(), ModelUnavailable), (empty(), UnusableReply)):
        before = len(server.calls)
        server.script(failure)
        with pytest.raises(error):
            list(live.reply(stream=True)) if stream else live.reply()
        assert len(server.calls) - before == 2
    assert len(logged(client)) == 1


@pytest.mark.parametrize("stream", [True, False])
def test_calls_of_tools_are_returned_and_logged_in_words(
    client: Client, server: ScriptedServer, stream: bool
) -> None:
    server.script(Reply(text="One moment.", tool_calls=(CALL,)))
    live = client.user("ana").session()
    live.hear("Book us a table.")
    if stream:
        pieces = live.reply(stream=True, tools=[TOOL])
        assert "".join(pieces) == "One moment."
        reply = pieces.reply
    else:
        reply = live.reply(tools=[TOOL])
    assert reply is not None
    assert (reply.text, reply.tool_calls, reply.finish) == ("One moment.", (CALL,), "tool_call")
    assert server.requests[-1]["tools"][0]["function"]["name"] == "book"
    said, call = logged(client)[-2:]
    assert (said.role, said.text) == ("assistant", "One moment.")
    assert (call.role, call.text) == ("tool", '[called book(people=2, place="Split")]')
    *_, message = live.messages()
    assert message["tool_calls"][0]["id"] == "call-1"
    live.add([{"role": "tool", "tool_call_id": "call-1", "content": "Table 4."}])
    server.script("You have table 4.")
    assert live.reply().text == "You have table 4."
    assert server.requests[-1]["messages"][-1]["content"].endswith("Table 4.")


@pytest.mark.parametrize("stream", [True, False])
def test_calls_of_tools_go_back_in_the_form_of_the_api(
    client: Client, server: ScriptedServer, stream: bool
) -> None:
    server.script(Reply(text="One moment.", tool_calls=(CALL,)))
    live = client.user("ana").session()
    live.hear("Book us a table.")
    live.reply(tools=[TOOL])
    live.add([{"role": "tool", "tool_call_id": "call-1", "content": "Table 4."}])
    server.script("You have table 4.")
    list(live.reply(stream=True, tools=[TOOL])) if stream else live.reply(tools=[TOOL])
    _, asked, called, result = server.requests[-1]["messages"]
    assert asked["content"].startswith("Book us a table.")
    assert called["content"] == "One moment."
    assert called["tool_calls"][0]["id"] == result["tool_call_id"] == "call-1"
    assert called["tool_calls"][0]["function"]["name"] == "book"
    assert (result["role"], result["content"]) == ("tool", "Table 4.")
    live.reply()
    assert "tool" not in {message["role"] for message in server.requests[-1]["messages"]}, (
        "models that are offered no tools may refuse them"
    )


def test_calls_without_a_result_are_put_in_words(client: Client, server: ScriptedServer) -> None:
    server.script(Reply(text="", tool_calls=(CALL,)))
    live = client.user("ana").session()
    live.hear("Book us a table.")
    live.reply(tools=[TOOL])
    server.script("Shall I go on?")
    live.reply(tools=[TOOL])
    _, _, called, _ = server.requests[-1]["messages"]
    assert called["content"].startswith("[called book(")
    assert "tool_calls" not in called


def test_there_is_one_system_message(client: Client, server: ScriptedServer) -> None:
    live = client.user("ana").session("thread-42", window=1)
    live.add(
        [
            {"role": "system", "content": "You are a concierge."},
            {"role": "user", "content": "Good evening."},
        ]
    )
    live.reply(system="Be brief.")
    live.hear("A table, please.")
    live.reply()
    for request, begin in zip(
        server.requests[-2:],
        ("Be brief.\n\nYou are a concierge.\n", "You are a concierge.\n"),
        strict=True,
    ):
        roles = [message["role"] for message in request["messages"]]
        assert roles == ["system", "user"]
        assert request["messages"][0]["content"].startswith(begin)


def test_a_dialogue_can_be_messages(client: Client, server: ScriptedServer) -> None:
    ana = client.user("ana")
    ana.add("I'm allergic to hazelnuts.")
    question = {"role": "user", "content": "What am I allergic to?"}
    assert "hazelnuts" in ana.recall([question]).text
    ana.reply([{"role": "assistant", "content": "Yes?"}, question])
    assert "What am I allergic to?" in server.requests[-1]["messages"][-1]["content"]
    with pytest.raises(BadInput, match="message 1: unknown role 'bot'"):
        ana.recall([{"role": "bot", "content": "x"}])


def test_a_reply_cut_at_the_limit_of_tokens_is_used_and_marked(
    client: Client, server: ScriptedServer
) -> None:
    server.script(Reply(text="I found one. It is at", finish="length"))
    live = client.user("ana").session()
    live.hear("Book us a table.")
    reply = live.reply()
    assert (reply.text, reply.finish) == ("I found one.", "length")
    assert logged(client)[-1].notes["finish"] == "length"


def test_the_same_reply_is_not_paid_for_twice(client: Client, server: ScriptedServer) -> None:
    server.script(Reply(text="One moment.", tool_calls=(CALL,)))
    ana = client.user("ana")
    ana.session().hear("Good morning.")
    first = ana.reply("Book us a table.", tools=[TOOL])
    assert ana.reply("Book us a table.", tools=[TOOL]) == first
    assert len(server.calls) == 1
    ana.reply("Book us a table.", tools=[TOOL], temperature=1.0)
    assert len(server.calls) == 2


def test_without_a_model_the_local_reply_streams_at_once(tmp_path: Path) -> None:
    with theanine.open(str(tmp_path / "m.db")) as client:
        live = client.user("ana").session()
        live.hear("I'm terrified of ships.")
        (piece,) = live.reply(stream=True)
        assert "No language model" in piece
        assert logged(client)[-1].text == piece


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 3}, "temperature must be from 0 to 2"),
        ({"max_tokens": 0}, "max_tokens must be at least 1"),
        ({"stop": [""]}, "stop must be"),
        ({"tools": [{"name": ""}]}, "a tool needs a name"),
        ({"system": None}, "system must be a string"),
        ({"prompt": "poem"}, "prompt must be"),
        ({"prompt": "transcript", "system": "Be kind."}, "system can't be used for a transcript"),
    ],
)
def test_wrong_options_are_refused_before_the_model_is_asked(
    client: Client, server: ScriptedServer, options: dict[str, object], message: str
) -> None:
    live = client.user("ana").session()
    live.hear("Book us a table.")
    with pytest.raises(SettingsError, match=message):
        live.reply(**options)  # type: ignore[arg-type]
    assert not server.calls


def test_settings_of_a_paper_reply_over_a_transcript(
    server: ScriptedServer, tmp_path: Path
) -> None:
    for method in ("recursive-summary", "memochat", "secom", "exchange"):
        with theanine.open(
            str(tmp_path / f"{method}.db"),
            method=method,
            config={"reply_prompt": "transcript"},
            model="openai:x",
            base_url=server.base_url,
        ) as client:
            client.user("ana").reply("Book us a table.")
        (message,) = server.requests[-1]["messages"]
        assert message["content"].startswith("Task: respond\n")


def test_the_log_of_the_library_has_no_words(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="theanine"):
        with client.user("ana").session() as live:
            live.hear("I'm terrified of ships.")
            live.reply()
        client.user("ana").recall("Which ships?")
    loggers = {record.name for record in caplog.records if record.name.startswith("theanine")}
    assert loggers >= {
        "theanine.client.recalling",
        "theanine.client.session",
        "theanine.llm.calls",
        "theanine.remembering.remember",
    }
    assert "ana: recalled parts=1 " in caplog.text
    assert "ana: session 1 remembered memories=" in caplog.text
    assert "ships" not in caplog.text
    assert "vegan" not in caplog.text
