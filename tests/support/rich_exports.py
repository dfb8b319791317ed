"""Exports with words in unusual fields, as services write them; each word in them is somebody's.

An export is a value of JSON, or a list of lines of JSON. ``WORDS`` of it are what people said and
shared, each of which must come in, whatever else of the file is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from support.history_samples import Json


@dataclass(frozen=True, slots=True)
class Rich:
    """An export: the name of its file, its value, and whether that is one of lines."""

    file: str
    value: Json | list[Json]
    lines: bool = False


def _node(id: str, parent: str | None, message: object, *children: str) -> Json:
    return {"id": id, "parent": parent, "children": list(children), "message": message}


def _gpt(role: str, at: float, content: Json, **fields: object) -> Json:
    author: Json = {"role": role, "name": None, "metadata": {}}
    return {
        "author": author,
        "create_time": at,
        "content": content,
        "status": "finished",
        "recipient": "all",
        "metadata": {"model_slug": "gpt-5"},
        **fields,
    }


_CHATGPT: list[Json] = [
    {
        "title": "Winter berth",
        "create_time": 1715630100.0,
        "update_time": 1715630900.0,
        "conversation_id": "c-1",
        "current_node": "n6",
        "mapping": {
            "root": _node("root", None, None, "n1"),
            "n1": _node(
                "n1",
                "root",
                _gpt(
                    "user",
                    1715630160.5,
                    {
                        "content_type": "multimodal_text",
                        "parts": [
                            "Plan the winter berth.",
                            {
                                "content_type": "audio_transcription",
                                "text": "Said aloud: near Brestova.",
                                "direction": "in",
                            },
                        ],
                    },
                    metadata={
                        "attachments": [{"name": "berth plan.pdf", "mime_type": "application/pdf"}]
                    },
                ),
                "n2",
            ),
            "n2": _node(
                "n2",
                "n1",
                _gpt(
                    "assistant",
                    1715630161.0,
                    {
                        "content_type": "code",
                        "language": "json",
                        "text": '{"name": "berths", "content": "Berth twelve is free."}',
                    },
                    recipient="canmore.create_textdoc",
                ),
                "n3",
            ),
            "n3": _node(
                "n3",
                "n2",
                _gpt(
                    "assistant",
                    1715630162.0,
                    {"content_type": "code", "language": "bash", "text": "rsync -a boat disk"},
                ),
                "n4",
            ),
            "n4": _node(
                "n4",
                "n3",
                _gpt(
                    "tool",
                    1715630163.0,
                    {"content_type": "text", "parts": []},
                    metadata={
                        "chatgpt_sdk": {
                            "widget_state": '{"report_message": '
                            '{"content": {"parts": ["The report on harbors."]}}}'
                        }
                    },
                ),
                "n5",
            ),
            "n5": _node(
                "n5",
                "n4",
                _gpt(
                    "user",
                    1715630164.0,
                    {"content_type": "text", "parts": ["Which one is cheaper?"]},
                ),
                "n6",
            ),
            "n6": _node(
                "n6",
                "n5",
                _gpt(
                    "assistant",
                    1715630165.0,
                    {"content_type": "text", "parts": ["The one in Cres."]},
                ),
            ),
        },
    },
    {
        "title": "Sails",
        "create_time": 1715640100.0,
        "conversation_id": "c-2",
        "current_node": "s1",
        "mapping": {
            "root": _node("root", None, None, "s1"),
            "s1": _node(
                "s1",
                "root",
                _gpt(
                    "user", 1715640100.5, {"content_type": "text", "parts": ["I sail on Sundays."]}
                ),
            ),
        },
    },
]

_CLAUDE: list[Json] = [
    {
        "uuid": "c-1",
        "name": "Speech",
        "summary": "",
        "created_at": "2024-05-13T19:50:00Z",
        "chat_messages": [
            {
                "uuid": "m-1",
                "sender": "human",
                "created_at": "2024-05-13T19:56:00Z",
                "parent_message_uuid": "00000000-0000-4000-8000-000000000000",
                "text": "Write the speech for Iva.",
                "content": [{"type": "text", "text": "Write the speech for Iva."}],
                "attachments": [
                    {"file_name": "notes.txt", "extracted_content": "She taught me to sail."}
                ],
                "files": [{"file_name": "iva photo.png"}],
            },
            {
                "uuid": "m-2",
                "sender": "assistant",
                "created_at": "2024-05-13T19:57:00Z",
                "parent_message_uuid": "m-1",
                "text": "Here it is.",
                "content": [
                    {"type": "text", "text": "Here it is."},
                    {
                        "type": "tool_use",
                        "name": "artifacts",
                        "input": {
                            "command": "create",
                            "title": "Wedding speech",
                            "content": "Dear Iva, you were nine.",
                        },
                    },
                ],
                "attachments": [],
                "files": [],
            },
            {
                "uuid": "m-3",
                "sender": "human",
                "created_at": "2024-05-13T19:58:00Z",
                "parent_message_uuid": "m-2",
                "text": "Shorter, please.",
                "content": [],
                "attachments": [],
                "files": [],
            },
        ],
    },
]

_DISCORD: Json = {
    "guild": {"id": "1", "name": "Boats"},
    "channel": {"id": "9", "type": "GuildTextChat", "name": "harbor"},
    "messages": [
        {
            "id": "1",
            "type": "Default",
            "timestamp": "2024-05-13T21:01:00+02:00",
            "content": "",
            "author": {"id": "5", "name": "ana_h", "nickname": "Ana", "isBot": False},
            "attachments": [],
            "embeds": [
                {
                    "title": "Harbor news",
                    "description": "Berth twelve is free.",
                    "fields": [{"name": "Monthly price", "value": "310 euros"}],
                }
            ],
        },
        {
            "id": "2",
            "type": "Default",
            "timestamp": "2024-05-13T21:02:00+02:00",
            "content": "",
            "author": {"id": "6", "name": "bo", "nickname": "Bo", "isBot": False},
            "forwardedMessage": {"content": "The lock closes early.", "attachments": []},
        },
        {
            "id": "3",
            "type": "Reply",
            "timestamp": "2024-05-13T21:03:00+02:00",
            "content": "Good to know.",
            "author": {"id": "5", "name": "ana_h", "nickname": "Ana"},
            "attachments": [{"id": "7", "fileName": "lock times.png"}],
        },
    ],
}

_TELEGRAM: Json = {
    "name": "Harbor crew",
    "type": "private_group",
    "id": 7,
    "messages": [
        {
            "id": 1,
            "type": "message",
            "date": "2024-05-13T21:56:00",
            "date_unixtime": "1715630160",
            "from": "Ana",
            "from_id": "user1",
            "text": ["Ask ", {"type": "bold", "text": "Klara first"}],
        },
        {
            "id": 2,
            "type": "message",
            "date": "2024-05-13T21:57:00",
            "date_unixtime": "1715630220",
            "from": "Bo",
            "from_id": "user2",
            "text": "",
            "poll": {
                "question": "Where shall we eat?",
                "closed": False,
                "answers": [{"text": "Pizzeria Roma", "voters": 1}, {"text": "On deck"}],
            },
        },
        {
            "id": 3,
            "type": "message",
            "date": "2024-05-13T21:58:00",
            "date_unixtime": "1715630280",
            "from": "Ana",
            "from_id": "user1",
            "text": "",
            "contact_information": {
                "first_name": "Klara",
                "last_name": "Novak",
                "phone_number": "+385 91 123",
            },
        },
        {
            "id": 4,
            "type": "message",
            "date": "2024-05-13T21:59:00",
            "date_unixtime": "1715630340",
            "from": "Bo",
            "from_id": "user2",
            "text": "",
            "location_information": {"latitude": 45.3271, "longitude": 14.4422},
            "place_name": "Cafe Galija",
            "address": "Obala five",
        },
        {
            "id": 5,
            "type": "message",
            "date": "2024-05-13T22:00:00",
            "date_unixtime": "1715630400",
            "from": "Bo",
            "from_id": "user2",
            "text": "",
            "todo_list": {
                "title": "Before we sail",
                "items": [{"id": 1, "text": "Buy fresh rope"}],
            },
        },
    ],
}

_SIGNAL: list[Json] = [
    {"account": {"givenName": "Ana"}},
    {"recipient": {"id": "1", "self": {}}},
    {"recipient": {"id": "2", "contact": {"profileGivenName": "Bo"}}},
    {"chat": {"id": "7", "recipientId": "2"}},
    {
        "chatItem": {
            "chatId": "7",
            "authorId": "2",
            "dateSent": "1715630160000",
            "contactMessage": {"contact": {"name": {"givenName": "Klara", "familyName": "Novak"}}},
        }
    },
    {
        "chatItem": {
            "chatId": "7",
            "authorId": "2",
            "dateSent": "1715630170000",
            "directStoryReplyMessage": {"textReply": {"text": {"body": "Lovely red sails!"}}},
        }
    },
    {
        "chatItem": {
            "chatId": "7",
            "authorId": "1",
            "dateSent": "1715630180000",
            "standardMessage": {
                "text": {"body": "Thank you, Bo."},
                "linkPreview": [{"url": "https://a.example", "title": "How to dye sails"}],
            },
        }
    },
    {
        "chatItem": {
            "chatId": "7",
            "authorId": "1",
            "dateSent": "1715630190000",
            "poll": {"question": "Who comes along?", "options": [{"option": "Only Bo comes"}]},
        }
    },
]

_DEEPSEEK: list[Json] = [
    {
        "id": "d-1",
        "title": "Boat names",
        "inserted_at": "2025-02-01T10:00:00+08:00",
        "mapping": {
            "root": _node("root", None, None, "1"),
            "1": _node(
                "1",
                "root",
                {
                    "model": "deepseek-chat",
                    "inserted_at": "2025-02-01T10:00:01+08:00",
                    "files": [{"file_name": "names list.txt"}],
                    "fragments": [{"type": "REQUEST", "content": "My boat is called Mira."}],
                },
                "2",
            ),
            "2": _node(
                "2",
                "1",
                {
                    "model": "deepseek-chat",
                    "inserted_at": "2025-02-01T10:00:09+08:00",
                    "files": [],
                    "fragments": [{"type": "RESPONSE", "content": "A fine name."}],
                },
            ),
        },
    },
]

_GROK: Json = {
    "conversations": [
        {
            "conversation": {"id": "g-1", "title": "Boat", "create_time": "2025-02-01T10:00:00Z"},
            "responses": [
                {
                    "response": {
                        "_id": "r-1",
                        "message": "My boat is called Mira.",
                        "sender": "human",
                        "create_time": {"$date": {"$numberLong": "1738404000000"}},
                    }
                },
                {
                    "response": {
                        "_id": "r-2",
                        "message": "A fine name.",
                        "sender": "assistant",
                        "create_time": {"$date": {"$numberLong": "1738404009000"}},
                    }
                },
            ],
        },
        {
            "conversation": {"id": "g-2", "title": "Sail", "create_time": "2025-02-02T10:00:00Z"},
            "responses": [
                {
                    "response": {
                        "_id": "r-3",
                        "message": "I sail on Sundays.",
                        "sender": "human",
                        "create_time": {"$date": {"$numberLong": "1738490400000"}},
                    }
                }
            ],
        },
    ],
    "projects": [],
}

_OPEN_WEBUI: list[Json] = [
    {
        "id": "w-1",
        "user_id": "u",
        "title": "Boat",
        "created_at": 1738404000,
        "chat": {
            "title": "Boat",
            "models": ["llama3"],
            "history": {
                "currentId": "m4",
                "messages": {
                    "m1": {
                        "id": "m1",
                        "parentId": None,
                        "childrenIds": ["m3"],
                        "role": "user",
                        "content": "My boat is called Mira.",
                        "timestamp": 1738404000,
                    },
                    "m3": {
                        "id": "m3",
                        "parentId": "m1",
                        "childrenIds": ["m4"],
                        "role": "assistant",
                        "content": "A fine name.",
                        "timestamp": 1738404009,
                    },
                    "m4": {
                        "id": "m4",
                        "parentId": "m3",
                        "childrenIds": [],
                        "role": "user",
                        "content": "It was my aunt's.",
                        "timestamp": 1738404019,
                    },
                },
            },
        },
    },
]

_LIBRECHAT: Json = {
    "conversationId": "l-1",
    "endpoint": "anthropic",
    "title": "Boat",
    "exportAt": "Sat Feb 01 2025 11:02:00 GMT+0100 (Central European Standard Time)",
    "branches": True,
    "recursive": False,
    "messages": [
        {
            "messageId": "m-1",
            "parentMessageId": "00000000-0000-0000-0000-000000000000",
            "isCreatedByUser": True,
            "sender": "User",
            "text": "My boat is called Mira.",
            "createdAt": "2025-02-01T10:00:00Z",
        },
        {
            "messageId": "m-2",
            "parentMessageId": "m-1",
            "isCreatedByUser": False,
            "sender": "Claude",
            "text": "",
            "content": [{"type": "text", "text": {"value": "A fine name."}}],
            "createdAt": "2025-02-01T10:00:09Z",
        },
        {
            "messageId": "m-3",
            "parentMessageId": "m-2",
            "isCreatedByUser": True,
            "sender": "User",
            "text": "It was my aunt's.",
            "createdAt": "2025-02-01T10:01:00Z",
        },
    ],
}

_LMSTUDIO: Json = {
    "name": "Boat",
    "createdAt": 1738404000000,
    "messages": [
        {
            "currentlySelected": 0,
            "versions": [
                {
                    "type": "singleStep",
                    "role": "user",
                    "content": [{"type": "text", "text": "My boat is called Mira."}],
                }
            ],
        },
        {
            "currentlySelected": 0,
            "versions": [
                {
                    "type": "multiStep",
                    "role": "assistant",
                    "steps": [
                        {
                            "type": "contentBlock",
                            "content": [{"type": "text", "text": "A fine name."}],
                        }
                    ],
                }
            ],
        },
    ],
}

_JAN: list[Json] = [
    {
        "id": "m1",
        "object": "thread.message",
        "thread_id": "t",
        "role": "user",
        "content": [
            {"type": "text", "text": {"value": "My boat is called Mira.", "annotations": []}}
        ],
        "created_at": 1738404000000,
    },
    {
        "id": "m2",
        "object": "thread.message",
        "thread_id": "t",
        "role": "assistant",
        "content": [{"type": "text", "text": {"value": "A fine name.", "annotations": []}}],
        "created_at": 1738404009000,
    },
]

_GOOGLE_CHAT: Json = {
    "messages": [
        {
            "creator": {"name": "Bo", "email": "bo@example.org", "user_type": "Human"},
            "created_date": "Tuesday, September 10, 2024 at 8:44:40 PM UTC",
            "text": "The berth is paid.",
            "topic_id": "t1",
            "message_id": "m1",
        },
        {
            "creator": {"name": "Ana", "email": "ana@example.org", "user_type": "Human"},
            "created_date": "Tuesday, September 10, 2024 at 8:45:40 PM UTC",
            "attached_files": [
                {"original_name": "the receipt.pdf", "export_name": "File-receipt.pdf"}
            ],
            "topic_id": "t1",
            "message_id": "m2",
        },
    ],
}

_MESSENGER: Json = {
    "participants": [{"name": "Ana"}, {"name": "Bo"}],
    "messages": [
        {
            "sender_name": "Bo",
            "timestamp_ms": 1715630220000,
            "share": {"link": "https://a.example", "share_text": "Harbor prices rise."},
        },
        {"sender_name": "Ana", "timestamp_ms": 1715630160000, "content": "Dinner is at eight."},
    ],
    "title": "Bo",
    "thread_path": "inbox/bo_1",
}

_CHARACTER: Json = {
    "turns": [
        {
            "turn_key": {"chat_id": "c", "turn_id": "t-2"},
            "create_time": "2024-05-08T13:57:00Z",
            "author": {"name": "Mira"},
            "primary_candidate_id": "a",
            "candidates": [{"candidate_id": "a", "raw_content": "Welcome aboard."}],
        },
        {
            "turn_key": {"chat_id": "c", "turn_id": "t-1"},
            "create_time": "2024-05-08T13:56:00Z",
            "author": {"name": "Ana", "is_human": True},
            "primary_candidate_id": "b",
            "candidates": [{"candidate_id": "b", "raw_content": "May I come aboard?"}],
        },
    ],
}

_SILLYTAVERN: list[Json] = [
    {"user_name": "Ana", "character_name": "Mira", "create_date": "2024-4-26@06h06m10s"},
    {
        "name": "Mira",
        "is_user": False,
        "send_date": "April 26, 2024 6:06am",
        "mes": "Welcome aboard.",
        "extra": {},
    },
    {"name": "Ana", "is_user": True, "send_date": 1714111700000, "mes": "I brought figs."},
]

_MESSAGES: list[Json] = [
    {
        "id": "c-1",
        "messages": [
            {
                "role": "user",
                "content": "My boat is called Mira.",
                "created_at": "2025-02-01T10:00:00Z",
            },
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "A fine name."}],
                "created_at": "2025-02-01T10:00:09Z",
            },
            {
                "role": "user",
                "content": [{"type": "file", "file": {"filename": "deed of sale.pdf"}}],
                "created_at": "2025-02-01T10:01:09Z",
            },
        ],
    },
    {"id": "c-2", "messages": [{"role": "user", "content": "I sail on Sundays."}]},
]

_GEMINI: list[Json] = [
    {
        "header": "Gemini Apps",
        "title": "Prompted How do I varnish?",
        "time": "2026-03-02T09:15:00Z",
        "products": ["Gemini Apps"],
        "safeHtmlItem": [{"html": "<p>Sand it first.</p>"}],
        "attachedFiles": ["hull.png"],
    },
    {
        "header": "Gemini Apps",
        "title": "Prompted And the mast?",
        "time": "2026-03-02T09:10:00Z",
        "products": ["Gemini Apps"],
        "safeHtmlItem": [{"html": "<p>Three thin coats.</p>"}],
    },
]

_SKYPE: Json = {
    "userId": "8:ana",
    "conversations": [
        {
            "id": "8:bo",
            "displayName": "Bo",
            "MessageList": [
                {
                    "id": "2",
                    "originalarrivaltime": "2024-05-13T19:57:00Z",
                    "messagetype": "RichText",
                    "displayName": "Bo",
                    "content": "<b>Eleven</b> meters long.",
                },
                {
                    "id": "1",
                    "originalarrivaltime": "2024-05-13T19:56:00Z",
                    "messagetype": "Text",
                    "displayName": "Ana",
                    "content": "How long is it?",
                },
            ],
        },
    ],
}

_MATTERMOST: list[Json] = [
    {"type": "version", "version": 1, "info": {"generator": "mattermost-server"}},
    {"type": "channel", "channel": {"team": "boats", "name": "crew", "display_name": "Crew"}},
    {
        "type": "post",
        "post": {
            "team": "boats",
            "channel": "crew",
            "user": "ana",
            "message": "Who has the key of the shed?",
            "create_at": 1715630160000,
            "replies": [
                {"user": "bo", "message": "Under the doormat.", "create_at": 1715830160000},
                {"user": "ana", "message": "Found it, thanks.", "create_at": 1716030160000},
            ],
        },
    },
    {
        "type": "post",
        "post": {
            "team": "boats",
            "channel": "crew",
            "user": "bo",
            "message": "The sail is mended.",
            "create_at": 1715730160000,
        },
    },
    {
        "type": "direct_post",
        "direct_post": {
            "channel_members": ["ana", "bo"],
            "user": "ana",
            "message": "Dinner at seven?",
            "create_at": 1715740160000,
        },
    },
]

_ROCKET_CHAT: Json = {
    "messages": [
        {
            "_id": "m2",
            "rid": "GENERAL",
            "tmid": "m1",
            "msg": "Take the blue rope.",
            "ts": "2024-05-16T10:56:00.000Z",
            "u": {"_id": "u2", "username": "bo", "name": "Bo"},
        },
        {
            "_id": "m1",
            "rid": "GENERAL",
            "msg": "Which rope is for mooring?",
            "ts": "2024-05-13T10:56:00.000Z",
            "u": {"_id": "u1", "username": "ana", "name": "Ana"},
            "attachments": [{"title": "ropes of the boat.jpg", "type": "file"}],
        },
    ],
}

_ZULIP: Json = {
    "messages": [
        {
            "id": 1,
            "sender_full_name": "Ana",
            "display_recipient": "boats",
            "subject": "winter",
            "content": "<p>We need a <em>dry</em> berth.</p>",
            "content_type": "text/html",
            "timestamp": 1715630160,
        },
        {
            "id": 2,
            "sender_full_name": "Bo",
            "display_recipient": [{"full_name": "Ana"}, {"full_name": "Bo"}],
            "subject": "",
            "content": "<p>Call the harbor,<br>then ask.</p>",
            "content_type": "text/html",
            "timestamp": 1715630260,
        },
    ],
}

_MASTODON: Json = {
    "type": "OrderedCollection",
    "orderedItems": [
        {
            "type": "Create",
            "actor": "https://social.example/users/ana",
            "published": "2024-05-13T10:56:00Z",
            "object": {
                "id": "https://social.example/statuses/1",
                "type": "Note",
                "summary": "About boats",
                "content": "<p>The yard opens &amp; takes cards.</p><p>Bring varnish.</p>",
                "attachment": [{"mediaType": "image/jpeg", "name": "A red hull in dock"}],
            },
        },
        {
            "type": "Create",
            "actor": "https://social.example/users/ana",
            "published": "2024-05-13T11:56:00Z",
            "object": {
                "id": "https://social.example/statuses/2",
                "type": "Question",
                "content": "<p>Which color suits?</p>",
                "oneOf": [
                    {"type": "Note", "name": "Falu red"},
                    {"type": "Note", "name": "Sea green"},
                ],
            },
        },
    ],
}

_DAY_ONE: Json = {
    "metadata": {"version": "1.0"},
    "entries": [
        {
            "uuid": "A",
            "creationDate": "2024-05-13T10:56:00Z",
            "text": "# To the island\n\nThree porpoises\\.\n\n![](dayone-moment://9A8B)\n",
            "photos": [{"identifier": "9A8B", "type": "jpeg", "filename": "three porpoises.heic"}],
            "location": {"placeName": "Old harbor", "country": "Denmark"},
        },
        {
            "uuid": "B",
            "creationDate": "2024-05-14T10:56:00Z",
            "richText": '{"contents": [{"text": "Anna tied a bowline."}], "meta": {"version": 1}}',
            "audios": [{"title": "evening notes", "transcription": "Wind from the north."}],
        },
    ],
}

_ASSISTANT: list[Json] = [
    {
        "header": "Assistant",
        "title": "Said remind me of the orchids",
        "titleUrl": "https://www.google.com/search?q=remind+me+of+the+orchids",
        "time": "2024-05-13T19:56:00.512Z",
        "products": ["Assistant"],
        "subtitles": [{"name": "I will remind you."}, {"name": "On Saturday morning."}],
    },
    {
        "header": "Assistant",
        "title": "Said when does the ferry leave",
        "time": "2024-05-13T19:50:00.512Z",
        "products": ["Assistant"],
        "subtitles": [{"name": "The next one at noon."}],
    },
]

_INTERCOM: Json = {
    "type": "conversation",
    "id": "2150",
    "created_at": 1715630160,
    "title": "A lost parcel",
    "source": {
        "type": "conversation",
        "id": "9",
        "body": "<p>My parcel isn&#39;t here.</p>",
        "author": {"type": "user", "id": "u9", "name": "Olu Adeyemi"},
    },
    "conversation_parts": {
        "type": "conversation_part.list",
        "conversation_parts": [
            {
                "type": "conversation_part",
                "id": "2",
                "part_type": "comment",
                "body": "<p>Sorry!</p>\n<p>The driver left it at <b>number fourteen</b>.</p>",
                "created_at": 1715630650,
                "author": {"type": "admin", "id": "a1", "name": "Marta Ruiz"},
                "attachments": [{"type": "upload", "name": "door photo.jpg"}],
            },
            {
                "type": "conversation_part",
                "id": "3",
                "part_type": "comment",
                "body": "<p>Found it, thanks.</p>",
                "created_at": 1715631300,
                "author": {"type": "user", "id": "u9", "name": "Olu Adeyemi"},
            },
        ],
    },
}

_ZENDESK: Json = {
    "id": 35,
    "subject": "Lost parcel again",
    "requester": {"id": 1, "name": "Olu Adeyemi"},
    "assignee": {"id": 2, "name": "Marta Ruiz"},
    "comments": [
        {
            "id": 101,
            "author_id": 1,
            "body": "My parcel isn't here.",
            "html_body": "<div>My parcel isn&#39;t here.</div>",
            "plain_body": "My parcel isn't here.",
            "created_at": "2024-05-13T19:56:00Z",
            "attachments": [{"file_name": "empty porch.jpg"}],
        },
        {
            "id": 102,
            "author_id": 2,
            "body": "It is at number fourteen.",
            "html_body": "<div>It is at number fourteen.</div>",
            "public": False,
            "created_at": "2024-05-13T20:56:00Z",
        },
    ],
}

_FRESHDESK: Json = {
    "id": 20,
    "subject": "Lost parcel again",
    "description": "<div>My parcel isn&#39;t here.</div>",
    "description_text": "My parcel isn't here.",
    "requester_id": 1,
    "requester": {"id": 1, "name": "Olu Adeyemi"},
    "created_at": "2024-05-13T19:56:00Z",
    "attachments": [{"id": 7, "name": "empty porch.jpg"}],
    "conversations": [
        {
            "id": 3,
            "body": "<div>It is at number fourteen.</div>",
            "body_text": "It is at number fourteen.",
            "incoming": False,
            "user_id": 2,
            "from_email": "Harbor Shop <help@example.org>",
            "created_at": "2024-05-13T20:56:00Z",
        },
        {
            "id": 4,
            "body": "<div>Found it, thanks.</div>",
            "body_text": "Found it, thanks.",
            "incoming": True,
            "user_id": 1,
            "created_at": "2024-05-13T21:56:00Z",
        },
    ],
}

_HELP_SCOUT: Json = {
    "id": 20,
    "subject": "Lost parcel again",
    "primaryCustomer": {"id": 1, "first": "Olu", "last": "Adeyemi"},
    "createdAt": "2024-05-13T19:56:00Z",
    "_embedded": {
        "threads": [
            {
                "id": 3,
                "type": "message",
                "body": "It is at <b>number</b> fourteen.",
                "createdBy": {"id": 2, "type": "user", "first": "Marta", "last": "Ruiz"},
                "createdAt": "2024-05-13T20:56:00Z",
            },
            {
                "id": 2,
                "type": "customer",
                "body": "My parcel isn&#39;t here.",
                "createdBy": {"id": 1, "type": "customer", "first": "Olu", "last": "Adeyemi"},
                "createdAt": "2024-05-13T19:56:00Z",
            },
        ]
    },
}

RICH: Mapping[str, Rich] = {
    "chatgpt": Rich("conversations.json", _CHATGPT),
    "claude": Rich("conversations.json", _CLAUDE),
    "discord": Rich("harbor.json", _DISCORD),
    "telegram": Rich("result.json", _TELEGRAM),
    "signal": Rich("main.jsonl", _SIGNAL, lines=True),
    "deepseek": Rich("conversations.json", _DEEPSEEK),
    "grok": Rich("prod-grok-backend.json", _GROK),
    "open-webui": Rich("chat-export-1.json", _OPEN_WEBUI),
    "librechat": Rich("Boat.json", _LIBRECHAT),
    "lmstudio": Rich("1738404000000.conversation.json", _LMSTUDIO),
    "jan": Rich("messages.jsonl", _JAN, lines=True),
    "google-chat": Rich("messages.json", _GOOGLE_CHAT),
    "messenger": Rich("message_1.json", _MESSENGER),
    "character-ai": Rich("chat.json", _CHARACTER),
    "sillytavern": Rich("Mira.jsonl", _SILLYTAVERN, lines=True),
    "messages": Rich("talks.json", _MESSAGES),
    "gemini": Rich("MyActivity.json", _GEMINI),
    "skype": Rich("skype.json", _SKYPE),
    "google-assistant": Rich("MyActivity.json", _ASSISTANT),
    "intercom": Rich("conversation.json", _INTERCOM),
    "zendesk": Rich("ticket.json", _ZENDESK),
    "freshdesk": Rich("ticket.json", _FRESHDESK),
    "help-scout": Rich("conversation.json", _HELP_SCOUT),
    "mattermost": Rich("import.jsonl", _MATTERMOST, lines=True),
    "rocket-chat": Rich("general.json", _ROCKET_CHAT),
    "zulip": Rich("zulip.json", _ZULIP),
    "mastodon": Rich("outbox.json", _MASTODON),
    "day-one": Rich("Journal.json", _DAY_ONE),
}
"""An export of each format that is one file of JSON."""
