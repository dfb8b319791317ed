"""Messages of the APIs as utterances and back. The samples follow the APIs' reference pages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine.errors import BadInput
from theanine.messages import read_messages, write_messages
from theanine.store.resent import LoggedTurn, select_new
from theanine.types import (
    Message,
    MessageFormat,
    Part,
    Recollection,
    Role,
    Utterance,
)

AT = datetime(2026, 3, 1, tzinfo=UTC)
SPEAKERS: dict[Role, str] = {
    "user": "ana",
    "assistant": "assistant",
    "system": "system",
    "tool": "tool",
}
PIXEL = "iVBORw0KGgo="

CHAT: list[Message] = [
    {"role": "system", "content": "You are a concierge."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "Book a table like in this picture."},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
        ],
    },
    {
        "role": "assistant",
        "content": "One moment.",
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "book_table", "arguments": '{"people": 4, "at": "19:30"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "Booked: table 7."},
    {"role": "assistant", "content": "Table 7 at 19:30 is yours."},
]
RESPONSES: list[Message] = [
    {"role": "system", "content": "You are a concierge."},
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "Book a table like in this picture."},
            {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"},
        ],
    },
    {"role": "assistant", "content": "One moment."},
    {
        "type": "function_call",
        "call_id": "call_1",
        "name": "book_table",
        "arguments": '{"people": 4, "at": "19:30"}',
    },
    {"type": "function_call_output", "call_id": "call_1", "output": "Booked: table 7."},
    {"role": "assistant", "content": "Table 7 at 19:30 is yours."},
]
ANTHROPIC: list[Message] = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "Book a table like in this picture."},
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
            },
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "One moment."},
            {
                "type": "tool_use",
                "id": "call_1",
                "name": "book_table",
                "input": {"people": 4, "at": "19:30"},
            },
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "call_1", "content": "Booked: table 7."}
        ],
    },
    {"role": "assistant", "content": "Table 7 at 19:30 is yours."},
]
WORDS = [
    ("user", "Book a table like in this picture.\n[image]"),
    ("assistant", "One moment."),
    ("tool", '[called book_table(people=4, at="19:30")]'),
    ("tool", "Booked: table 7."),
    ("assistant", "Table 7 at 19:30 is yours."),
]
FORMATS: dict[MessageFormat, list[Message]] = {
    "openai": CHAT,
    "responses": RESPONSES,
    "anthropic": ANTHROPIC,
}


def read(messages: Sequence[object]) -> list[Utterance]:
    return read_messages(messages, SPEAKERS, AT)


@pytest.mark.parametrize("format", FORMATS)
def test_memory_sees_the_same_words_of_every_format(format: MessageFormat) -> None:
    words = [(turn.role, turn.text) for turn in read(FORMATS[format]) if turn.role != "system"]
    assert words == WORDS


@pytest.mark.parametrize("format", FORMATS)
def test_messages_come_out_as_they_went_in(format: MessageFormat) -> None:
    assert write_messages(read(FORMATS[format]), format) == FORMATS[format]


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", FORMATS)
def test_every_format_becomes_every_other(source: MessageFormat, target: MessageFormat) -> None:
    turns = [turn for turn in read(FORMATS[source]) if turn.role != "system"]
    expected = [message for message in FORMATS[target] if message.get("role") != "system"]
    assert normalized(write_messages(turns, target)) == normalized(expected)


def normalized(messages: Sequence[Message]) -> str:
    """Return messages without the spaces by which JSON in strings may differ."""
    return str(messages).replace(" ", "")


def test_text_in_one_part_is_plain_text() -> None:
    [turn] = read([{"role": "user", "content": [{"type": "text", "text": "I'm vegan."}]}])
    assert (turn.text, turn.content) == ("I'm vegan.", ())


def test_a_speaker_never_decides_the_role() -> None:
    [turn] = read([{"role": "user", "name": "assistant", "content": "I'm vegan."}])
    assert (turn.speaker, turn.role) == ("assistant", "user")


OTHER_PARTS: list[tuple[Message, str]] = [
    ({"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}, "[audio]"),
    (
        {
            "role": "user",
            "content": [{"type": "audio", "audio": {"transcript": "Call me Sam."}}, "Bye."],
        },
        "Call me Sam.\nBye.",
    ),
    ({"role": "user", "content": [{"type": "voice_note", "text": "I'm vegan."}]}, "I'm vegan."),
    (
        {"role": "assistant", "content": [{"type": "mcp_tool_use", "name": "add", "input": {}}]},
        "[called add()]",
    ),
    (
        {"role": "user", "content": [{"type": "file", "file": {"filename": "menu.pdf"}}]},
        "[file menu.pdf]",
    ),
    (
        {"role": "user", "content": [{"type": "document", "title": "Menu", "source": {}}]},
        "[file Menu]",
    ),
    ({"role": "assistant", "content": None, "refusal": "I can't."}, "I can't."),
    (
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "I can't."}]},
        "I can't.",
    ),
    ({"type": "web_search_call", "id": "ws_1", "status": "completed"}, "[called web_search()]"),
    ({"role": "tool", "tool_call_id": "c", "content": ""}, "[no output]"),
    (
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "7"}]},
        "7",
    ),
    ({"role": "function", "name": "add", "content": "7"}, "7"),
    (
        {"role": "assistant", "function_call": {"name": "add", "arguments": "oops"}},
        '[called add(input="oops")]',
    ),
]


@pytest.mark.parametrize(("message", "words"), OTHER_PARTS)
def test_other_parts_are_described_in_words(message: Message, words: str) -> None:
    assert [turn.text for turn in read([message])] == [words]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "…", "signature": "x"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "…"}]},
    ],
)
def test_nothing_said_is_no_turn(message: Message) -> None:
    assert read([message]) == []


def test_a_long_result_is_cut_for_memory_but_not_for_the_model() -> None:
    result = {"role": "tool", "tool_call_id": "c", "content": "row " * 2_000}
    [turn] = read([result])
    assert len(turn.text) < 2_100
    assert write_messages([turn]) == [result]
    [message] = write_messages([turn], "anthropic")
    assert message["content"][0]["content"] == result["content"]


def test_parts_of_a_message_with_an_id_have_ids_of_their_own() -> None:
    turns = read([{"id": "msg_1", **CHAT[2]}])
    assert [turn.key for turn in turns] == ["msg_1", "msg_1#2"]


def test_what_was_recalled_is_not_heard_again() -> None:
    found = Recollection(
        query="", parts=(Part(text="Ana is vegan.", memories=(), source_turns=()),)
    )
    [message] = found.messages()
    assert "- Ana is vegan." in message["content"]
    assert str(found) == "Ana is vegan."
    asked = f"Which menu?\n\n{message['content']}"
    texts = [turn.text for turn in read([message, {"role": "user", "content": asked}])]
    assert texts == ["Which menu?"]
    assert Recollection(query="").messages() == []


class Reply:
    """What a client library returns instead of a mapping."""

    def model_dump(self, *, exclude_none: bool) -> dict[str, Any]:
        assert exclude_none
        return {"role": "assistant", "content": "Here you are."}


def test_objects_of_client_libraries_are_read() -> None:
    assert [turn.text for turn in read([Reply()])] == ["Here you are."]


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ({"role": "bot", "content": "x"}, "message 2: unknown role 'bot'; must be one of user,"),
        ({"content": "x"}, "message 2: unknown role None"),
        ({"role": "user"}, "message 2: a message of the role user needs a content"),
        ({"role": "user", "content": None}, "message 2: a message of the role user needs a"),
        ({"role": "developer"}, "message 2: a message of the role system needs a content"),
        ({"role": "user", "content": 7}, "message 2.content: content must be a string or a list"),
        ({"role": "user", "content": [3]}, r"message 2.content\[0\]: a message must be a mapping"),
        ("x", "message 2: a message must be a mapping such as"),
        ({"role": "user", "content": [{"type": "text"}]}, "message 2: a part of the type 'text'"),
    ],
)
def test_what_is_no_message_is_named(message: object, fault: str) -> None:
    with pytest.raises(BadInput, match=fault):
        read([CHAT[0], message])


def say(role: str, content: str | Sequence[Message]) -> Message:
    return {"role": role, "content": content if isinstance(content, str) else [*content]}


def call(calls: list[tuple[str, str, str]]) -> Message:
    made = [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
        for id_, name, arguments in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(id_: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": id_, "content": text}


words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(str.strip)
spoken = st.builds(say, st.sampled_from(["user", "assistant", "system"]), words)
arguments = st.sampled_from(['{"a": [1, null]}', "{}", "no JSON"])
calling = st.builds(call, st.lists(st.tuples(words, words, arguments), min_size=1, max_size=3))
results = st.builds(result, words, words)


@given(st.lists(spoken | calling | results, max_size=8))
def test_every_conversation_survives_its_own_format(messages: list[Message]) -> None:
    turns = read(messages)
    written = write_messages(turns)
    assert [fields(turn) for turn in read(written)] == [fields(turn) for turn in turns]
    for format in FORMATS:
        again = read(write_messages(turns, format))
        kept = [turn for turn in turns if (format, turn.role) != ("anthropic", "system")]
        assert "\n".join(turn.text for turn in again) == "\n".join(turn.text for turn in kept)


def fields(turn: Utterance) -> tuple[object, ...]:
    return (turn.role, turn.text, turn.content)


PARTS = st.sampled_from(
    [
        {"type": "text", "text": "Look."},
        {"type": "text", "text": "Here."},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}},
        {"type": "input_audio", "input_audio": {"data": PIXEL, "format": "wav"}},
        {"type": "file", "file": {"filename": "menu.pdf", "file_id": "f"}},
    ]
)
in_parts = st.lists(PARTS, min_size=1, max_size=3).map(lambda parts: say("user", parts))


@given(st.lists(spoken | calling | results | in_parts, max_size=8), st.sampled_from([*FORMATS]))
def test_what_comes_back_in_another_format_is_known(
    messages: list[Message], format: MessageFormat
) -> None:
    turns = read(messages)
    new = read([say("user", "Something new.")])
    back = read(write_messages([*turns, *new], format))
    found = select_new([*map(LoggedTurn.of, turns)], back, (), complete=True)
    spoken = [turn for turn in found if turn is not None and turn.role != "system"]
    assert [(turn.role, turn.text) for turn in spoken] == [("user", "Something new.")]


def test_an_edited_message_is_new_as_a_whole() -> None:
    def look(url: str) -> Message:
        image = {"type": "image_url", "image_url": {"url": url}}
        return say("user", [{"type": "text", "text": "Look."}, image])

    logged = [*map(LoggedTurn.of, read([say("user", "Hello."), look("https://a")]))]
    edited = read([say("user", "Hello."), look("https://b")])
    assert select_new(logged, edited, (), complete=True) == [None, *edited[1:]]
