"""Applications with their own loop: adding messages, sessions by key, remembering later."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import dedent
from threading import Thread

import anyio
import pytest

import theanine
from theanine.client.dialogues import KEPT
from theanine.errors import BadInput, RememberingFailed, SettingsError
from theanine.testing import ScriptedServer, answer, status
from theanine.types import Message
from theanine_methods.units.method import Utterances

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "memory.db")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(path: str, clock: Clock) -> Iterator[theanine.Client]:
    with theanine.open(path, clock=clock) as opened:
        yield opened


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


# add


def test_a_text_is_a_session_of_its_own_and_remembered(client: theanine.Client) -> None:
    ana = client.user("ana")
    report = ana.add("I'm vegan, and I live in Lisbon.")
    [session] = ana.sessions()
    assert (session.id, session.thread, session.ended_at) == (report.session, None, START)
    assert session.remembered_at is not None
    assert "vegan" in ana.recall("What may she eat?").text


def test_messages_with_a_key_continue_a_session(client: theanine.Client) -> None:
    ana = client.user("ana")
    messages: list[Message] = [
        {"role": "user", "content": "I'm vegan."},
        {"role": "assistant", "content": "Noted."},
    ]
    first = ana.add(messages, session="thread-42", metadata={"channel": "web"})
    assert [turn.metadata for turn in first.turns] == [{"channel": "web"}] * 2
    again = ana.add([*messages, {"role": "user", "content": "Book a table."}], session="thread-42")
    assert ([turn.text for turn in again.turns], again.known) == (["Book a table."], 2)
    assert ana.add({"role": "user", "content": "Book a table."}, session="thread-42").known == 0
    [session] = ana.sessions()
    assert (session.thread, session.ended_at, session.turn_count) == ("thread-42", None, 4)


def test_nothing_to_add_starts_no_session(client: theanine.Client) -> None:
    ana = client.user("ana")
    for key in (None, "thread-42"):
        report = ana.add([{"role": "assistant", "content": ""}], session=key)
        assert (report.session, report.turns) == (None, ())
    with pytest.raises(BadInput, match="empty"):
        ana.session("thread-42").hear(" ")
    with pytest.raises(BadInput, match="the session's key is empty"):
        ana.session(" ")
    assert client.users() == []


def test_a_failure_to_remember_keeps_what_was_added(path: str) -> None:
    with (
        ScriptedServer(status(400)) as server,
        theanine.open(path, model="openai:any", base_url=server.base_url) as client,
    ):
        ana = client.user("ana")
        with pytest.raises(RememberingFailed, match="safe in the log"):
            ana.add("I bought a horse.")
        assert [turn.text for turn in ana.turns()] == ["I bought a horse."]
        server.script(answer)
        assert [report.failure for report in client.remember()] == [None]


def test_what_came_out_in_another_format_adds_nothing(client: theanine.Client) -> None:
    ana = client.user("ana")
    conversation: list[Message] = [
        {"role": "user", "content": [{"type": "text", "text": "Look."}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "One moment."},
                {"type": "tool_use", "id": "a", "name": "look", "input": {"b": 1, "a": 2}},
                {"type": "tool_use", "id": "b", "name": "look", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "Rain. " * 2_000},
                {"type": "tool_result", "tool_use_id": "b", "content": "Sun."},
            ],
        },
        {"role": "assistant", "content": "Rain and sun."},
    ]
    ana.add(conversation, session="thread-42")
    live = ana.session("thread-42")
    for messages in (live.messages(), live.messages("responses"), live.messages("anthropic")):
        assert live.add(messages).turns == ()
        own = ana.session()
        own.add(conversation)
        assert own.add(messages).turns == ()
    [new] = live.add([*live.messages(), {"role": "user", "content": "Thanks."}]).turns
    assert new.text == "Thanks."


@pytest.mark.parametrize("key", [None, "thread-42"])
def test_a_list_can_be_all_new(client: theanine.Client, key: str | None) -> None:
    live = client.user("ana").session(key)
    request: list[Message] = [
        {"role": "user", "content": "Yes."},
        {"role": "assistant", "content": "Next?"},
    ]
    for _ in range(3):
        assert len(live.add(request, resent=False).turns) == 2
    assert len(live.turns()) == 6
    if key:
        assert len(client.user("ana").add(request[1:], session=key, resent=False).turns) == 1


@pytest.mark.parametrize("key", [None, "thread-42"])
def test_a_repeated_request_logs_a_message_once(client: theanine.Client, key: str | None) -> None:
    live = client.user("ana").session(key)
    heard, said = live.hear("Yes.", id="m1"), live.say("Next?", id="m1-answer")
    assert live.hear("Yes.", id="m1") == heard
    edited = live.hear("No.", id="m1")
    assert (edited.id, edited.text) == (3, "No."), "other words under a known id are an edit"
    assert live.hear("No.", id="m1") == edited
    assert live.say("Next?", id="m1-answer") == said
    assert (heard.id, heard.text, said.id, said.key) == (1, "Yes.", 2, "m1-answer")
    assert live.hear("Yes.", id="m2").id == 4
    with pytest.raises(BadInput, match="the message's id is empty"):
        live.hear("Yes.", id="")
    if key:
        live.end()
        assert live.hear("Yes.", id="m1") == heard, "also of an earlier session"
        client.user("ana").forget(turn=1)
        with pytest.raises(BadInput, match="'m1' was forgotten"):
            live.hear("Yes.", id="m1")


# sessions by key


def test_a_session_is_resumed_by_its_key(client: theanine.Client) -> None:
    ana = client.user("ana")
    ana.session("thread-42").hear("I'm vegan.")
    live = ana.session("thread-42")
    live.say("Noted.")
    live.hear("Book us a table.")
    assert [turn.role for turn in live.turns()] == ["user", "assistant", "user"]
    assert live.messages(last=2) == [
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "Book us a table."},
    ]
    ana.session("thread-42").end()
    assert live.turns() == []
    [session] = ana.sessions()
    assert session.remembered_at is not None
    live.hear("One more thing.")
    assert [(s.thread, s.turn_count) for s in ana.sessions()] == [
        ("thread-42", 3),
        ("thread-42", 1),
    ]


def test_the_model_is_told_what_was_recalled_and_who_speaks(client: theanine.Client) -> None:
    bo = client.user("bo", agent="guide")
    bo.add(
        [
            {"role": "user", "content": "My sister Ana sold the red boat.", "name": "theo"},
            {"role": "assistant", "content": "Selling the red boat was wise."},
        ]
    )
    [message] = bo.recall("What of the red boat?").messages()
    assert "\n<<<remembered\n- bo is the user. What guide said, you said.\n- " in message["content"]
    assert bo.add([message], session="thread").turns == ()


@pytest.mark.parametrize("key", [None, "thread-42"])
def test_metadata_of_a_session_is_that_of_its_turns(
    client: theanine.Client, key: str | None
) -> None:
    ana = client.user("ana")
    live = ana.session(key, metadata={"channel": "web", "lang": "en"})
    live.hear("I sold the boat.", metadata={"lang": "de"})
    live.add({"role": "assistant", "content": "Well done."})
    live.reply()
    assert [turn.metadata for turn in ana.turns()] == [
        {"channel": "web", "lang": "de"},
        *2 * ({"channel": "web", "lang": "en"},),
    ]
    assert [found.id for found in ana.sessions(where={"channel": "web"})] == [1]


def test_leaving_a_with_block_leaves_a_keyed_session_open(client: theanine.Client) -> None:
    with client.user("ana").session("thread-42") as live:
        live.hear("I'm vegan.")
    assert [session.ended_at for session in client.user("ana").sessions()] == [None]


def test_a_recall_knows_the_whole_session(client: theanine.Client) -> None:
    ana = client.user("ana")
    ana.add("I'm vegan, and allergic to hazelnuts.")
    ana.session("thread-42").hear("We want to eat out on Friday.")
    live = ana.session("thread-42")
    live.hear("What may I order, as a vegan with an allergy?")
    found = live.recall()
    assert "hazelnuts" in found.text
    assert "Friday" not in found.text, "it is in the conversation anyway"
    [message] = found.messages()
    assert message["role"] == "user" and "hazelnuts" in message["content"]
    turn = live.say("Anything without hazelnuts.")
    assert turn.recalled == tuple(memory.id for memory in found.memories) != ()
    assert live.say("And no dairy.").recalled == ()


def test_the_loop_loses_nothing_of_an_open_thread(client: theanine.Client) -> None:
    live = client.user("ana").session("terminal")
    live.hear("I'm allergic to hazelnuts.")
    live.say("Noted.")
    for number in range(17):
        live.hear(f"Tell me fact {number} about volcanoes.")
        live.say(f"Fact {number}: volcanoes are hot.")
    live.hear("What am I allergic to?")
    shown, found = live.messages(), live.recall()
    assert len(shown) == 27, "20, and what is left of a step of 10"
    assert "hazelnuts" not in str(shown)
    assert "hazelnuts" in found.text
    assert {turn.id for turn in found.source_turns}.isdisjoint(range(11, 38)), "they are shown"
    assert not live.recall(last=37), "all of it is shown"
    assert live.messages(last=37)[0] == {"role": "user", "content": "I'm allergic to hazelnuts."}
    wide = client.user("ana").session("terminal", window=None)
    assert len(wide.messages()) == 37
    for wrong in (0, -1, True, "3"):
        with pytest.raises(SettingsError, match=r"must be (at least 1 turn|a whole number)"):
            live.messages(last=wrong)  # pyright: ignore[reportArgumentType]
        with pytest.raises(SettingsError, match=r"must be (at least 1 turn|a whole number)"):
            client.user("ana").session(window=wrong)  # pyright: ignore[reportArgumentType]


def test_a_window_moves_in_steps_so_that_prompts_begin_alike(path: str) -> None:
    with theanine.open(path) as client, theanine.open(path) as other:
        mine = client.user("ana").session("terminal", window=4)
        sizes: list[int] = []
        firsts: list[str] = []
        for number in range(1, 13):
            mine.hear(f"Turn {number}.")
            shown = mine.messages()
            assert other.user("ana").session("terminal", window=4).messages() == shown
            sizes.append(len(shown))
            firsts.append(shown[0]["content"])
        assert sizes == [1, 2, 3, 4, 5, 4, 5, 4, 5, 4, 5, 4]
        assert firsts[4:8] == ["Turn 1.", "Turn 3.", "Turn 3.", "Turn 5."]
        assert [len(mine.messages(last=4)), len(mine.messages(last=40))] == [4, 12]


@pytest.mark.parametrize("method", ["theanine", "exchange", "full-history"])
def test_a_pause_does_not_change_what_the_model_sees(path: str, clock: Clock, method: str) -> None:
    with theanine.open(path, clock=clock, method=method) as client:
        ana = client.user("ana")
        live = ana.session("terminal", window=2)
        live.hear("I'm allergic to hazelnuts.")
        live.say("I'll remember the hazelnuts.")
        live.hear("My allergy to hazelnuts began in Lisbon.")
        clock.now += timedelta(minutes=31)
        live.hear("Where did my allergy to hazelnuts begin?")
        client.remember()  # the session that has paused
        assert [turn.text for turn in live.turns()] == ["Where did my allergy to hazelnuts begin?"]
        assert [message["content"] for message in live.messages()] == [
            "My allergy to hazelnuts began in Lisbon.",
            "Where did my allergy to hazelnuts begin?",
        ]
        found = live.recall()
        assert {turn.id for turn in found.source_turns} <= {1, 2} != set()
        assert "Lisbon" not in found.text
        assert [session.id for session in ana.sessions(thread="terminal")] == [1, 2]
        assert len(ana.turns(thread="terminal")) == len(ana.turns(thread="terminal", limit=9)) == 4
        assert ana.sessions(thread="other") == ana.turns(thread="other") == []


def test_another_process_sees_the_same_window(path: str) -> None:
    with theanine.open(path) as client, theanine.open(path) as other:
        mine = client.user("ana").session("terminal", window=3)
        others = other.user("ana").session("terminal", window=3)
        for number in range(5):
            (mine, others)[number % 2].hear(f"Turn {number}.")
            assert mine.messages() == others.messages()
        mine.end()
        others.hear("Turn 5.")
        assert mine.messages() == others.messages()
        assert [message["content"] for message in mine.messages()] == [
            f"Turn {number}." for number in (3, 4, 5)
        ]
        client.user("ana").forget(turn=5)
        assert [message["content"] for message in others.messages()] == [
            f"Turn {number}." for number in (2, 3, 5)
        ]


def call(*ids: str) -> Message:
    function = {"name": "look", "arguments": "{}"}
    calls = [{"id": id_, "type": "function", "function": function} for id_ in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(id_: str) -> Message:
    return {"role": "tool", "tool_call_id": id_, "content": f"Result {id_}."}


def test_calls_of_tools_and_results_are_shown_in_pairs(client: theanine.Client) -> None:
    live = client.user("ana").session("thread-42")
    done: Message = {"role": "assistant", "content": "Done."}
    live.add([{"role": "user", "content": "Look."}, call("a", "b"), result("a"), result("b"), done])
    for last in (2, 3, 4):
        assert live.messages(last=last) == [call("a", "b"), result("a"), result("b"), done]
    assert live.messages(last=1) == [done]
    assert live.messages("anthropic", last=2)[0]["content"][0]["type"] == "tool_use"
    live.add([call("c")])
    assert live.messages(last=1) == [call("c")], "its result may follow"
    live.hear("Never mind.")
    assert live.messages(last=2) == [{"role": "user", "content": "Never mind."}]
    client.user("ana").forget(turn=2)  # the calls a and b
    assert [message["role"] for message in live.messages()] == ["user", "assistant", "user"]


def test_the_system_prompt_comes_first_or_apart(client: theanine.Client) -> None:
    live = client.user("ana").session("thread-42", window=2)
    assert live.system() == ""
    prompt: Message = {"role": "system", "content": "You are a concierge."}
    live.add([prompt, {"role": "user", "content": "Hello."}])
    live.say("Good evening.")
    live.hear("A table, please.")
    said: list[Message] = [
        {"role": "assistant", "content": "Good evening."},
        {"role": "user", "content": "A table, please."},
    ]
    again = client.user("ana").session("thread-42")
    for session in (live, again):
        assert session.messages(last=2) == [prompt, *said]
        assert session.messages("anthropic", last=2) == said
        assert session.system() == "You are a concierge."


def test_a_pause_starts_a_new_session(client: theanine.Client, clock: Clock) -> None:
    ana = client.user("ana")
    live = ana.session("thread-42")
    live.hear("I'm vegan.")
    clock.now += timedelta(minutes=31)
    assert live.turns() == []
    assert not live.recall()
    live.hear("Hello again.")
    assert [session.turn_count for session in ana.sessions()] == [1, 1]
    assert [turn.text for turn in live.turns()] == ["Hello again."]
    assert [report.session for report in client.remember()] == [1]
    clock.now += timedelta(minutes=31)
    assert [report.session for report in client.remember()] == [2]


def test_the_pause_is_a_setting(path: str, clock: Clock) -> None:
    with theanine.open(path, clock=clock, pause=None) as client:
        live = client.user("ana").session("thread-42")
        live.hear("I'm vegan.")
        clock.now += timedelta(days=900)
        live.hear("Still vegan.")
        assert [session.turn_count for session in client.user("ana").sessions()] == [2]
    with pytest.raises(SettingsError, match="longer than 0"):
        theanine.open(path, pause=timedelta(0))


def test_replies_know_what_other_processes_logged(path: str) -> None:
    with (
        ScriptedServer(answer) as server,
        theanine.open(path, model="openai:any", base_url=server.base_url) as client,
        theanine.open(path) as other,
    ):
        live = client.user("ana").session("thread-42")
        live.hear("My dog is called Bura.")
        other.user("ana").session("thread-42").hear("She is six.")
        live.reply()
        assert "She is six." in str(server.requests[-1])
        assert [turn.role for turn in live.turns()] == ["user", "user", "assistant"]


@pytest.mark.slow
def test_processes_continue_one_session(path: str) -> None:
    program = f"""
        import sys, theanine
        with theanine.open({path!r}) as client:
            live = client.user("ana").session("thread-42")
            for number in range(10):
                live.hear(f"Turn {{number}} of process {{sys.argv[1]}}.")
        """
    theanine.open(path).close()
    processes = [
        subprocess.Popen([sys.executable, "-c", dedent(program), str(n)]) for n in range(4)
    ]
    assert [process.wait(60) for process in processes] == [0] * 4
    with theanine.open(path) as client:
        ana = client.user("ana")
        assert [session.turn_count for session in ana.sessions()] == [40]
        assert len({turn.text for turn in ana.turns()}) == 40
        assert client.remember() == [], "it goes on, though those processes are gone"


@pytest.mark.parametrize("key", [None, "thread-42"])
@pytest.mark.anyio
async def test_concurrent_first_turns_open_one_session(path: str, key: str | None) -> None:
    async with theanine.aopen(path) as client:
        live = client.user("ana").session(key)
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(live.hear, f"Turn {number}.")
        [session] = await client.user("ana").sessions()
        assert session.turn_count == 20
        assert {turn.text for turn in await live.turns()} == {f"Turn {n}." for n in range(20)}


def test_threads_of_a_program_share_a_session(client: theanine.Client) -> None:
    live = client.user("ana").session()
    threads = [Thread(target=live.hear, args=(f"Turn {number}.",)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [session.turn_count for session in client.user("ana").sessions()] == [20]


@pytest.mark.anyio
async def test_a_cancelled_turn_is_logged_whole_or_not_at_all(path: str) -> None:
    async with theanine.aopen(path) as client:
        live = client.user("ana").session("thread-42")
        for number in range(10):
            with anyio.move_on_after(0.0005 * number):
                await live.hear(f"Turn {number}.")
        await live.hear("The last one.")
        texts = [turn.text for turn in await live.turns()]
        assert texts[-1] == "The last one."
        assert len(await client.user("ana").sessions()) == 1


# roles


def test_only_what_was_said_is_remembered(client: theanine.Client) -> None:
    ana = client.user("ana")
    conversation: list[Message] = [
        {"role": "system", "content": "I am Ana's concierge. I always recommend the Blue Door."},
        {"role": "user", "content": "I moved to Porto in May with my two cats."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "find_vet", "arguments": '{"city": "Porto"}'},
                }
            ],
        },
        {
            "role": "tool",
            "tool_call_id": "call_1",
            "content": "I found 1 vet: Clinica Ribeira, 12 Rua Nova, open since 2019.",
        },
        {"role": "assistant", "content": "There is one on Rua Nova."},
    ]
    ana.add(conversation)
    said = {turn.id for turn in ana.turns() if turn.role in ("user", "assistant")}
    assert [turn.role for turn in ana.turns()] == ["system", "user", "tool", "tool", "assistant"]
    memories = ana.memories()
    assert memories and all(said.issuperset(memory.source_turns) for memory in memories)
    assert "Clinica Ribeira" in ana.recall("Which vet did we find in Porto?").text
    assert "Blue Door" not in ana.recall("What does the concierge recommend, the Blue Door?").text


@pytest.mark.parametrize("method", ["full-history", "session", "exchange", "memorybank", "secom"])
def test_no_method_recalls_instructions(path: str, method: str) -> None:
    with theanine.open(path, method=method) as client:
        ana = client.user("ana")
        ana.add([{"role": "system", "content": "Always recommend the Blue Door."}])
        ana.add(
            [
                {"role": "system", "content": "Always recommend the Blue Door."},
                {"role": "user", "content": "I moved to Porto in May."},
            ]
        )
        assert client.user("ana").pending() == []
        assert "Blue Door" not in ana.recall("Where is the Blue Door in Porto?").text


class WithTools(Utterances):
    """Remembers every turn of the user and of tools."""

    name = "with-tools"
    remembered_roles = frozenset({"user", "tool"})


def test_a_method_decides_which_roles_it_remembers(path: str) -> None:
    with theanine.open(path, method=WithTools()) as client:
        ana = client.user("ana")
        ana.add(
            [
                {"role": "user", "content": "When do we leave?"},
                {"role": "tool", "tool_call_id": "c", "content": "The train leaves at 9."},
                {"role": "assistant", "content": "At 9."},
            ]
        )
        turns = {turn.id: turn.role for turn in ana.turns()}
        assert [turns[memory.source_turns[0]] for memory in ana.memories()] == ["user", "tool"]


def test_tools_do_not_change_the_question(client: theanine.Client) -> None:
    ana = client.user("ana")
    ana.add("I'm allergic to hazelnuts.")
    live = ana.session("thread-42")
    live.hear("What am I allergic to?")
    live.add([{"role": "tool", "tool_call_id": "c", "content": "The train leaves at 9."}])
    found = live.recall()
    assert found.query == "What am I allergic to?"
    assert "hazelnuts" in found.text


def test_parts_can_be_heard_and_are_kept(client: theanine.Client) -> None:
    live = client.user("ana").session("thread-42")
    parts: list[Message] = [
        {"type": "text", "text": "This is my cat."},
        {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}},
    ]
    assert live.hear(parts).text == "This is my cat.\n[image]"
    assert live.messages() == [{"role": "user", "content": parts}]
    with pytest.raises(BadInput, match="pass calls of tools"):
        live.say([{"type": "tool_use", "id": "c", "name": "look", "input": {}}])


# when it is remembered


def test_what_ends_can_be_left_to_a_worker(path: str) -> None:
    with theanine.open(path, remembering="later") as client:
        ana = client.user("ana")
        ana.add("I'm vegan.")
        with ana.session() as live:
            live.hear("I live in Lisbon.")
        assert len(ana.pending()) == 2
        assert [report.failure for report in client.remember()] == [None, None]
    with pytest.raises(SettingsError, match="remembering must be 'now', 'background' or 'later'"):
        theanine.open(path, remembering="never")  # pyright: ignore[reportArgumentType]


def test_what_ends_is_remembered_in_the_background(path: str) -> None:
    reports: list[theanine.RememberReport] = []
    with theanine.open(path, remembering="background", on_remembered=reports.append) as client:
        ana = client.user("ana")
        ana.add("I'm vegan.")
        live = ana.session("thread-42")
        live.hear("I live in Lisbon.")
        assert live.end() == []
    assert sorted(report.session for report in reports) == [1, 2], "closing waits for them"
    with theanine.open(path) as client:
        assert client.user("ana").pending() == []


def test_what_a_pause_ends_is_remembered_in_the_background(path: str, clock: Clock) -> None:
    reports: list[theanine.RememberReport] = []
    with theanine.open(
        path, clock=clock, remembering="background", on_remembered=reports.append
    ) as client:
        live = client.user("ana").session("thread-42")
        live.hear("I'm vegan.")
        clock.now += timedelta(hours=1)
        live.hear("Hello again.")
    assert [report.session for report in reports] == [1]


def test_remembering_in_the_background_can_be_awaited(path: str) -> None:
    with theanine.open(path, remembering="later") as client:
        ana = client.user("ana")
        ana.add("I'm vegan.")
        seen: list[theanine.RememberReport] = []
        remembering = ana.start_remembering(seen.append)
        assert remembering.result(timeout=30) == seen != []
        assert remembering.done

    async def awaited() -> list[theanine.RememberReport]:
        async with theanine.aopen(path, remembering="later") as client:
            await client.user("ana").add("I live in Lisbon.")
            return await client.start_remembering()

    assert [report.session for report in asyncio.run(awaited())] == [2]


@pytest.mark.slow
def test_a_failure_in_the_background_reaches_the_callback(path: str) -> None:
    failures: list[str | None] = []
    with (
        ScriptedServer(status(400)) as server,
        theanine.open(
            path,
            model="openai:any",
            base_url=server.base_url,
            remembering="background",
            on_remembered=lambda report: failures.append(report.failure),
        ) as client,
    ):
        client.user("ana").add("I bought a horse.")
    assert len(failures) == 1 and failures[0]


@pytest.mark.parametrize("key", [None, "thread-42"])
def test_a_live_session_forgets_as_well(client: theanine.Client, key: str | None) -> None:
    ana = client.user("ana")
    live = ana.session(key)
    live.hear("The code is 4417.")
    secret = live.hear("And the safe is behind the clock.")
    live.hear("Good night.")
    assert ana.forget(turn=secret.id).turns == 1
    assert [turn.text for turn in live.turns()] == ["The code is 4417.", "Good night."]
    live.hear("Good morning.")
    assert "safe" not in str(live.messages())


def test_another_process_forgets_the_user_of_a_thread(client: theanine.Client, path: str) -> None:
    with theanine.open(path) as other:
        here, there = (opened.user("ana").session("chat") for opened in (client, other))
        client.user("ana").session("earlier").hear("Good day.")  # so that numbers begin anew
        here.hear("I'm allergic to hazelnuts.")
        here.say("Noted.")
        assert "hazelnuts" in str(there.messages())
        client.user("ana").forget_all()
        here.hear("Am I allergic to hazelnuts?")
        assert there.recall().parts == ()
        assert [message["content"] for message in there.messages()] == [
            "Am I allergic to hazelnuts?"
        ]


def test_added_replies_know_what_they_were_written_with(client: theanine.Client) -> None:
    ana = client.user("ana")
    with ana.session() as session:
        session.hear("I'm terrified of ships since the storm.")
    live = ana.session("chat")
    question = {"role": "user", "content": "Shall we book that cruise on a ship?"}
    live.add([question])
    recollection = live.recall()
    history = [question, {"role": "assistant", "content": "Ships frighten you since the storm."}]
    [reply] = live.add(history).turns
    live.add([*history, {"role": "user", "content": "Right."}])
    later = {"role": "assistant", "content": "So the train."}
    [named] = live.add(later, recalled=recollection).turns
    memories = tuple(memory.id for memory in recollection.memories)
    assert memories and reply.recalled == named.recalled == memories
    [unaware] = live.add({"role": "assistant", "content": "At nine."}).turns
    assert unaware.recalled == ()


def test_any_number_of_the_newest_turns_of_a_long_thread_is_shown(path: str) -> None:
    asked = {KEPT + 20: 50, KEPT + 40: KEPT + 10, KEPT + 60: KEPT, 2 * KEPT: 10 * KEPT}
    with theanine.open(path) as client, client.user("ana").session("long") as live:
        said: list[str] = []
        for number in range(1, 2 * KEPT + 1):
            said.append(live.hear(f"Number {number}.").text)
            if last := asked.get(number):
                texts = [message["content"] for message in live.messages(last=last)]
                assert texts == said[-last:]
