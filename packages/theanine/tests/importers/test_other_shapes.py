"""Exports in other shapes than the usual one: wrapped, damaged, with what nobody said."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.chat_exports import WRITERS, Said, chatgpt_conversation, save_zip
from support.history_samples import save
from theanine.errors import BadInput
from theanine.importers import ImportedHistories, read_histories

BOAT, NAME = "My boat is called Mira.", "A fine name."
TALK = [Said(BOAT), Said(NAME, "assistant", 1)]
LIST = [{"role": "user", "content": BOAT}, {"role": "assistant", "content": NAME}]
CHAT = chatgpt_conversation("c1", [BOAT, NAME])


def said(reading: ImportedHistories) -> list[tuple[str, str]]:
    turns = [t for h in reading.histories for s in h.transcripts for t in s.turns]
    return [(turn.role, turn.text) for turn in turns]


BOTH = [("user", BOAT), ("assistant", NAME)]


@pytest.mark.parametrize("name", ["chatgpt", "claude", "grok", "messages", "gemini", "perplexity"])
@pytest.mark.parametrize("keys", [["data"], ["conversations"], ["results", "chats"]])
def test_a_wrapped_export_is_found(name: str, keys: Sequence[str], tmp_path: Path) -> None:
    path = WRITERS[name](tmp_path, TALK)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            member = next(each for each in archive.namelist() if "user" not in each)
            document: Any = json.loads(archive.read(member))
    else:
        document = json.loads(path.read_text("utf-8"))
    for key in reversed(keys):
        document = {key: document}
    document["remark"] = "Saved by a program."
    reading = read_histories(save(tmp_path, "wrapped.json", document))
    assert reading.format == name
    assert said(reading) == BOTH
    assert reading.notes['words in other fields left out: "remark"'] == 1
    assert said(read_histories(tmp_path / "wrapped.json", format=name)) == BOTH


SHAPES: dict[str, Any] = {
    "item": [{"conversation": CHAT}],
    "two lists": {"chats": [{"messages": LIST[:1]}], "archived": [{"messages": LIST[1:]}]},
    "chatbox": {
        "settings": {},
        "session:a": {
            "id": "a",
            "messages": [
                {"role": each["role"], "contentParts": [{"type": "text", "text": each["content"]}]}
                for each in LIST
            ],
        },
    },
    "big-agi": {
        "conversations": [
            {
                "systemPurposeId": "Generic",
                "messages": [
                    {
                        "role": each["role"],
                        "fragments": [
                            {"part": {"pt": "ma", "aType": "reasoning", "aText": "So it is."}},
                            {"ft": "content", "part": {"pt": "text", "text": each["content"]}},
                        ],
                    }
                    for each in LIST
                ],
            }
        ]
    },
    "huggingchat": {"messages": [{"from": m["role"], "content": m["content"]} for m in LIST]},
    "sharegpt": {
        "conversations": [{"from": "human", "value": BOAT}, {"from": "gpt", "value": NAME}]
    },
    "zep": {
        "messages": [
            {"role": "ana", "role_type": "user", "content": BOAT},
            {"role": "sales_agent", "role_type": "assistant", "content": NAME},
        ]
    },
    "langchain": [
        {"type": "system", "data": {"content": "Be brief.", "type": "system"}},
        {"type": "human", "data": {"content": BOAT, "type": "human"}},
        {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "look", "args": {}}]}},
        {"type": "tool", "data": {"content": "It means wonderful."}},
        {"type": "ai", "data": {"content": [{"type": "text", "text": NAME}]}},
    ],
    "langchain constructors": [
        {"lc": 1, "type": "constructor", "id": ["a", "HumanMessage"], "kwargs": {"content": BOAT}},
        {"lc": 1, "type": "constructor", "id": ["a", "AIMessage"], "kwargs": {"content": NAME}},
    ],
    "responses, newest first": {
        "object": "list",
        "data": [
            {"type": "message", "role": "assistant", "content": NAME},
            {"type": "function_call_output", "call_id": "c", "output": "It means wonderful."},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "So it is."}]},
            {"type": "message", "role": "user", "content": BOAT},
        ],
        "last_id": "m1",
    },
    "responses, logged": {"input": BOAT, "output": LIST[1:]},
    "reminders": [
        {"role": "user", "content": f"<system-reminder>\nBe brief.\n</system-reminder>\n{BOAT}"},
        {"role": "user", "content": "<environment_context>It rains.</environment_context>"},
        LIST[1],
    ],
    "perplexity": {
        "metadata": {"thread_title": "Boat"},
        "conversations": [{"query": BOAT, "answer": NAME, "related_queries": ["What is it?"]}],
    },
    "openrouter": {
        "version": "orpg.1.0",
        "characters": {},
        "messages": {
            "m1": {"type": "user", "content": BOAT},
            "m2": {"type": "assistant", "content": NAME, "reasoning": "He says so."},
        },
    },
    "aistudio": {
        "chunkedPrompt": {
            "chunks": [
                {"role": "user", "text": BOAT},
                {"role": "model", "text": "So it is.", "isThought": True},
                {"role": "model", "text": NAME},
                {"role": "model", "errorMessage": "An internal error occurred."},
            ]
        }
    },
}


@pytest.mark.parametrize("name", SHAPES)
def test_only_what_was_said_is_read(name: str, tmp_path: Path) -> None:
    assert said(read_histories(save(tmp_path, "chat.json", SHAPES[name]))) == BOTH


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ('"a\\x0Bb \\\\ \\" c"', 'a\x0bb \\ " c'),
        ('"a \\q \\\\x0B"', "a \\q \\x0B"),
        ('"a\x1bb"', "a\x1bb"),
        ("video files/a (2).webm", "video files/a (2).webm"),
        ("NaN", "NaN"),
    ],
)
def test_json_that_is_wrong_in_known_ways_is_put_right(
    wrong: str, right: str, tmp_path: Path
) -> None:
    text = json.dumps([{"role": "user", "content": "?"}, LIST[1]], indent=1).replace('"?"', wrong)
    path = save(tmp_path, "chat.json", text)
    reading = read_histories(path)
    assert said(reading) == [("user", right), ("assistant", NAME)]
    assert reading.notes["files whose JSON was put right"] == 1
    with pytest.raises(BadInput, match="broken JSON"):
        read_histories(path, strict=True)


def test_a_document_in_a_text_is_unpacked(tmp_path: Path) -> None:
    path = save(tmp_path, "chat.json", json.dumps(json.dumps(LIST, indent=1)))
    assert said(read_histories(path)) == BOTH


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "Call", "content": "Ana called you.", "call_duration": 7},
        {"content": "The video chat ended.", "call_duration": 0},
        {"content": "Bo left the group.", "users": [{"name": "Bo"}]},
        {"content": "Ana changed the theme to Sea."},
        {"content": "You missed a call from Bo."},
        {"content": "Reacted 😍 to your message "},
        {"content": "Liked a message"},
        {"content": "Ana je poslala privitak.", "share": {"link": "https://example.com"}},
    ],
)
def test_what_messenger_says_itself_is_left_out(fields: dict[str, Any], tmp_path: Path) -> None:
    message = {"sender_name": "Ana", "timestamp_ms": 1715630160000}
    messages = [{**message, "content": "I called you."}, {**message, **fields}]
    document = {"participants": [{"name": "Ana"}], "messages": messages}
    reading = read_histories(save(tmp_path, "message_1.json", document))
    assert [text for _, text in said(reading) if text] == ["I called you."]
    assert {"service messages left out", "reactions left out"} & reading.notes.keys()


def test_marks_of_discord_are_written_out(tmp_path: Path) -> None:
    message = {
        "id": "1",
        "timestamp": "2024-05-13T21:01:00+02:00",
        "content": "<@5> <@!5> <@&7> <#9> <a:wave:98765> </play:12> <t:1715630400:F> <b>",
        "author": {"name": "bo", "roles": [{"id": "7", "name": "Crew"}]},
        "mentions": [{"id": "5", "name": "ana", "nickname": "Ana"}],
    }
    document = {"guild": {"name": "Boats"}, "channel": {"id": "9"}, "messages": [message]}
    ((_, text),) = said(read_histories(save(tmp_path, "channel.json", document)))
    assert text == "@Ana @Ana @Crew #9 :wave: /play 2024-05-13 20:00 UTC <b>"


def test_slack_names_people_who_are_listed_no_more(tmp_path: Path) -> None:
    profile = {"display_name": "", "real_name": "Klara"}
    messages = [
        {"type": "message", "user": "U1", "ts": "1715630100.0", "text": "Hi <@U9>!"},
        {"type": "message", "user": "U9", "ts": "1715630110.0", "text": "Yes?"}
        | {"user_profile": profile},
    ]
    files = {
        "users.json": [{"id": "U1", "name": "ana"}],
        "channels.json": [{"id": "C1", "name": "boats"}],
        "boats/2024-05-13.json": messages,
    }
    assert said(read_histories(save_zip(tmp_path / "slack.zip", files)))[0] == (
        "user",
        "Hi @Klara!",
    )


def test_an_invoice_of_telegram_is_words(tmp_path: Path) -> None:
    invoice = {"title": "Berth", "description": "With water", "amount": 31000, "currency": "EUR"}
    message = {"id": 1, "type": "message", "date_unixtime": "1715630160", "from": "Bo", "text": ""}
    message["invoice_information"] = json.dumps(invoice)
    chat = {"name": "Bo", "type": "personal_chat", "id": 7, "messages": [message]}
    reading = read_histories(save(tmp_path, "result.json", chat))
    assert reading.histories[0].transcripts[0].turns[0].attachment == (
        'the invoice "Berth" that says "With water"'
    )


def test_teams_has_subjects_cards_and_replies(tmp_path: Path) -> None:
    card = json.dumps({"body": [{"type": "TextBlock", "text": "Bring the mast."}]})
    message: dict[str, Any] = {
        "id": "1",
        "messageType": "message",
        "createdDateTime": "2024-05-13T19:56:00Z",
        "subject": "Mast",
        "from": {"user": {"displayName": "Ana"}},
        "body": {"contentType": "html", "content": "<p>Hi <b>all</b> &amp; Bo</p>"},
        "attachments": [
            {"contentType": "messageReference", "content": '{"messagePreview": "Old words."}'},
            {"contentType": "application/vnd.microsoft.card.adaptive", "content": card},
        ],
    }
    reply: dict[str, Any] = {
        **message,
        "id": "2",
        "subject": None,
        "attachments": [],
        "replyToId": "1",
    }
    message["replies"] = [{**reply, "body": {"contentType": "text", "content": "At last."}}]
    gone: dict[str, Any] = {**reply, "id": "3", "deletedDateTime": "2024-05-14T00:00:00Z"}
    reading = read_histories(save(tmp_path, "teams.json", {"value": [gone, message]}))
    (session,) = reading.histories[0].transcripts
    assert [turn.full_text for turn in session.turns] == [
        'Mast\nHi all & Bo [shares a file that says "Bring the mast."]',
        "At last.",
    ]
    assert reading.notes == {"deleted messages left out": 1, "quotes of other messages left out": 1}


def test_what_skype_says_itself_is_left_out(tmp_path: Path) -> None:
    file = (
        '<URIObject type="Picture.1" uri="x">To view this shared photo, go to: <a href="x">x</a>'
        '<OriginalName v="a &amp; b.jpg"></OriginalName></URIObject>'
    )
    contents = [
        ("RichText/UriObject", file),
        ("RichText/Contacts", '<contacts><c t="s" s="live:k" f="Klara Novak"></c></contacts>'),
        ("PopCard", '[{"content": {"title": "Free calls"}}]'),
        ("RichText/Media_CallRecording", file),
        ("Text", "Hi."),
    ]
    messages = [
        {"originalarrivaltime": f"2024-05-13T20:0{i}:00Z", "messagetype": kind, "from": "8:bo"}
        | {"id": str(i), "content": content, "displayName": "Bo"}
        for i, (kind, content) in enumerate(contents)
    ]
    document = {"conversations": [{"id": "8:bo", "MessageList": messages}]}
    reading = read_histories(save(tmp_path, "messages.json", document))
    (session,) = reading.histories[0].transcripts
    assert [turn.full_text.strip() for turn in session.turns] == [
        '[shares the file "a & b.jpg"]',
        '[shares a contact that says "Klara Novak"]',
        "Hi.",
    ]
    assert reading.notes == {"service messages left out": 2}


def test_json_values_on_one_line_are_read_one_by_one(tmp_path: Path) -> None:
    entity = {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["Sails"]}
    first, second = (json.dumps(entity | {"name": name}) for name in ("Ana", "Bo"))
    path = save(tmp_path, "memory.jsonl", f"{first}{second} {{\n{first.replace('Ana', 'Klara')}\n")
    reading = read_histories(path)
    assert [text for _, text in said(reading)] == ["Ana: Sails", "Bo: Sails", "Klara: Sails"]
    assert reading.notes["JSON values on the line of another"] == 1
    assert [each.where for each in reading.rejected] == ["memory.jsonl, line 1"]
    with pytest.raises(BadInput, match="on the line of another"):
        read_histories(path, strict=True)


def turns_of(reading: ImportedHistories) -> list[tuple[str, str]]:
    turns = [t for h in reading.histories for s in h.transcripts for t in s.turns]
    return [(turn.speaker, turn.full_text) for turn in turns]


def test_a_room_of_matrix_has_names_answers_and_last_wordings(tmp_path: Path) -> None:
    def event(id: str, content: dict[str, Any], type: str = "m.room.message") -> dict[str, Any]:
        more = {"state_key": "@ana:e.org"} if type == "m.room.member" else {}
        about = {"type": type, "sender": "@ana:e.org", "event_id": id, **more}
        return {**about, "origin_server_ts": 1715630160000, "content": content}

    new = {"msgtype": "m.text", "body": "The mast is up."}
    answer = {"m.relates_to": {"m.in_reply_to": {"event_id": "$2"}}, "format": "html"}
    events = [
        event("$1", {"membership": "join", "displayname": "Ana"}, "m.room.member"),
        event("$2", {"msgtype": "m.text", "body": "The mats is up."}),
        event(
            "$3",
            {
                "body": "* The mast is up.",
                "m.new_content": new,
                "m.relates_to": {"rel_type": "m.replace", "event_id": "$2"},
            },
        ),
        event("$4", {**answer, "body": "> <@bo:e.org> The mast is up.\n\nAt last.",
                     "formatted_body": "In reply to Bo: At <b>last</b>."}),
        event("$5", {"msgtype": "m.image", "body": "Our berth", "filename": "a.jpg"}),
        event("$6", {"algorithm": "m.megolm"}, "m.room.encrypted"),
        {**event("$7", {}), "unsigned": {"redacted_because": {"type": "m.room.redaction"}}},
    ]  # fmt: skip
    reading = read_histories(save(tmp_path, "room.json", {"room_name": "Crew", "messages": events}))
    assert turns_of(reading) == [
        ("Ana", "The mast is up."),
        ("Ana", "At last."),
        ("Ana", 'Our berth [shares the file "a.jpg"]'),
    ]
    assert reading.notes == {
        "deleted messages left out": 1,
        "earlier wordings left out": 1,
        "encrypted messages left out": 1,
        "quotes of other messages left out": 1,
        "service messages left out": 1,
    }


def test_a_list_a_friend_is_a_conversation_a_friend(tmp_path: Path) -> None:
    row = {"Media Type": "TEXT", "Created": "2024-05-13 19:56:00 UTC", "From": "ana_h"}
    chats = {
        "bo.n99": [{**row, "Content": "The mast is up."}, {**row, "Media Type": "MEDIA"}],
        "klara.x": [{**row, "Content": "Are you in Rab?"}, {**row, "Media Type": "STATUSERASED"}],
    }
    reading = read_histories(save(tmp_path, "chat_history.json", chats))
    assert [text for _, text in turns_of(reading)] == [
        "The mast is up.",
        " [shares a picture or a video]",
        "Are you in Rab?",
    ]
    assert [s.key[:8] for h in reading.histories for s in h.transcripts] == ["bo.n99/2", "klara.x/"]


def test_direct_messages_of_x_have_a_name_and_whole_links(tmp_path: Path) -> None:
    link = {"url": "https://t.co/abc", "expanded": "https://example.org/mast"}
    said_ = {"senderId": "5", "text": "See https://t.co/abc", "urls": [link]}
    messages = [
        {"conversationNameUpdate": {"name": "Boat crew", "initiatingUserId": "6"}},
        {"messageCreate": {**said_, "createdAt": "2024-05-13T19:56:00Z", "mediaUrls": ["u"]}},
    ]
    talk = {"dmConversation": {"conversationId": "5-6", "messages": messages}}
    account = {"account": {"accountId": "5", "accountDisplayName": "Ana"}}
    files = {
        "data/account.js": f"window.YTD.account.part0 = {json.dumps([account])}",
        "data/direct-messages-group.js": f"window.YTD.part0 = {json.dumps([talk])};\n",
    }
    reading = read_histories(save_zip(tmp_path / "twitter.zip", files))
    assert turns_of(reading) == [("Ana", "See https://example.org/mast [shares a picture]")]
    (history,) = reading.histories
    assert history.transcripts[0].key.startswith("Boat crew/")


@pytest.mark.parametrize(
    "text",
    [
        "Ana, [13.05.2024 21:56]\nThe mast is up.\n\nBo, [13.05.2024 21:57]\n[Photo]\n",
        "Ana, [5/13/24 9:56 PM]\nThe mast is up.\n\nBo, [5/13/24 9:57 PM]\n[Photo]\n",
        "Ana — 05/13/2024 9:56 PM\nThe mast is up.\nBo — 05/13/2024 9:57 PM\n[Photo]\n",
        "=" * 62 + "\nGuild: Boats\n" + "=" * 62 + "\n\n[13/05/2024 21:56] Ana\nThe mast is up.\n\n"
        "{Reactions}\n👍 (2)\n\n[13/05/2024 21:57] Bo (pinned)\n\n{Attachments}\nhttps://e.org/a.jpg?x=1"
        "\n\n" + "=" * 62 + "\nExported 2 message(s)\n" + "=" * 62 + "\n",
    ],
)  # fmt: skip
def test_times_and_names_above_messages(text: str, tmp_path: Path) -> None:
    reading = read_histories(save(tmp_path, "chat.txt", text))
    assert reading.format == "chat-text"
    what = 'the file "a.jpg"' if "Guild" in text else "a picture"
    assert turns_of(reading) == [("Ana", "The mast is up."), ("Bo", f" [shares {what}]")]
    turns = reading.histories[0].transcripts[0].turns
    assert [f"{turn.at:%F %R}" for turn in turns] == ["2024-05-13 21:56", "2024-05-13 21:57"]


def test_threads_of_facebook_until_2018(tmp_path: Path) -> None:
    def message(name: str, at: str, text: str) -> str:
        head = f"<span class='user'>{name}</span><span class='meta'>{at}</span>".replace("'", '"')
        return f'<div class="message"><div class="message_header">{head}</div></div><p>{text}</p>'

    page = "".join(
        (
            '<html><body><div class="thread">Ana, Bo',
            message("Bo", "31. heinäkuuta 2016 kello 21:07 UTC+03", "At last &amp; thanks."),
            message("Ana", "31. heinäkuuta 2016 kello 21:05 UTC+03", "The mast is up."),
            "</div></body></html>",
        )
    )
    reading = read_histories(save(tmp_path, "messages.htm", page))
    assert turns_of(reading) == [("Ana", "The mast is up."), ("Bo", "At last & thanks.")]
    assert f"{reading.histories[0].transcripts[0].turns[0].at:%F %R %Z}" == (
        "2016-07-31 21:05 UTC+03:00"
    )


def test_drafts_and_other_tables_of_linkedin_are_no_messages(tmp_path: Path) -> None:
    rows = """CONVERSATION ID,FROM,TO,DATE,SUBJECT,CONTENT,IS MESSAGE DRAFT
2-M,Ana,Bo Novak,2024-06-02 09:00:00 UTC,,I would rather not say this yet.,Yes
2-M,Ana,Bo Novak,2024-06-01 09:00:00 UTC,A mast,It is up.,No
"""
    files = {"messages.csv": rows, "Connections.csv": "First Name,Position\nBo,Rigger of masts\n"}
    reading = read_histories(save_zip(tmp_path / "linkedin.zip", files))
    assert turns_of(reading) == [("Ana", "A mast\nIt is up.")]
    assert reading.notes == {"drafts left out": 1, "names of others left out": 1}


def test_drafts_and_questions_of_claude_are_words(tmp_path: Path) -> None:
    inputs = {
        "message_compose_v1": {"variants": [{"label": "Bold", "body": "Could it stay?"}]},
        "ask_user_input_v0": {"questions": [{"question": "Which berth?", "options": ["12"]}]},
    }
    blocks = [{"type": "tool_use", "name": n, "input": each} for n, each in inputs.items()]
    message = {"sender": "assistant", "created_at": "2024-05-13T19:56:00Z", "content": blocks}
    reading = read_histories(save(tmp_path, "c.json", [{"uuid": "c", "chat_messages": [message]}]))
    assert said(reading) == [("assistant", "Bold\nCould it stay?\nWhich berth?\n12")]
