"""Messengers and Gemini: layouts and languages, who speaks, and what is left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from support.chat_exports import WRITERS, Said, save_zip
from support.history_samples import Json, save
from theanine.errors import BadInput
from theanine.importers import read_histories
from theanine.types import History, Utterance

ZAGREB = ZoneInfo("Europe/Zagreb")


def only(path: Path, **options: Any) -> History:
    (history,) = read_histories(path, **options).histories
    return history


def turns(history: History) -> list[Utterance]:
    return [turn for session in history.transcripts for turn in session.turns]


def said(history: History) -> list[tuple[str, str]]:
    return [(turn.speaker, turn.full_text.strip()) for turn in turns(history)]


NIGHT = datetime(2024, 5, 13, 21, 56, tzinfo=ZAGREB)


@pytest.mark.parametrize(
    "header",
    [
        "13/05/2024, 21:56 - ",
        "13/05/24, 9:56 pm - ",
        "5/13/24, 9:56\u202fPM - ",
        "13.05.24, 21:56 - ",
        "2024-05-13, 21:56 - ",
        "13-05-2024 21:56 - ",
        "2024/5/13 下午9:56 - ",
        "2024. 5. 13. 오후 9:56 - ",
        "13/5/2024, 9:56 p.\u00a0m. - ",
        "2024. 05. 13. 21:56 - ",
        "13/5/2567, 21:56 - ",
        "[13/05/2024, 21:56:00] ",
        "[13.05.24, 21:56:00] ",
        "[13.5.2024 klo 21.56.00] ",
        "[5/13/24, 9:56:00\u202fPM] ",
        "[2024/05/13 21:56:00] ",
        "\u200e[13/05/2024, 9:56:00\u202fpm] ",
        "\u200f١٣/٠٥/٢٠٢٤، ٩:٥٦ م - ",
        "[13/05/2024 à 21:56:00] ",
    ],
)
def test_layouts_and_languages_of_whatsapp(header: str, tmp_path: Path) -> None:
    chat = f"{header}Ana: The ferry: at noon?\nOr later.\n\nTell me.\n{header}Bo: Noon.\n"
    reading = read_histories(save(tmp_path, "WhatsApp-Chat mit Bo.txt", chat), zone=ZAGREB)
    (history,) = reading.histories
    assert reading.format == "whatsapp"
    assert history.name == "Ana"
    assert said(history) == [("Ana", "The ferry: at noon?\nOr later.\n\nTell me."), ("Bo", "Noon.")]
    assert [turn.at for turn in turns(history)] == [NIGHT, NIGHT]
    assert history.transcripts[0].metadata == {"source": "whatsapp", "title": "Bo"}


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        (["01/02/2024", "13/02/2024"], ["2024-02-01", "2024-02-13"]),
        (["01/02/2024", "02/13/2024"], ["2024-01-02", "2024-02-13"]),
        (["11/01/2024", "12/01/2024", "01/02/2024"], ["2024-01-11", "2024-01-12", "2024-02-01"]),
        (["01/11/2024", "01/12/2024", "02/01/2024"], ["2024-01-11", "2024-01-12", "2024-02-01"]),
    ],
)
def test_day_and_month_are_told_apart_over_the_whole_file(
    dates: list[str], expected: list[str], tmp_path: Path
) -> None:
    chat = "".join(f"{date}, 12:00 - Ana: Hello.\n" for date in dates)
    history = only(save(tmp_path, "WhatsApp Chat with Bo.txt", chat), zone=ZAGREB)
    assert [f"{turn.at:%F}" for turn in turns(history)] == expected
    assert history.notes == {}


def test_dates_that_cannot_be_told_apart_are_noted(tmp_path: Path) -> None:
    chat = "01/02/2024, 12:00 - Ana: Hello.\n"
    history = only(save(tmp_path, "WhatsApp Chat with Bo.txt", chat), zone=ZAGREB)
    assert f"{turns(history)[0].at:%F}" == "2024-02-01"
    assert "files whose dates could also have month and day the other way round" in history.notes


def test_media_deleted_and_system_lines_of_whatsapp(tmp_path: Path) -> None:
    lines = [
        "13/05/2024, 21:50 - Messages and calls are end-to-end encrypted.",
        '13/05/2024, 21:50 - Ana changed the group name from "a: b" to "c: d"',
        "13/05/2024, 21:51 - Ana: <Media omitted>",
        "13/05/2024, 21:52 - Ana: IMG-20240513-WA0001.jpg (file attached)",
        "The harbor.",
        "13/05/2024, 21:53 - Bo: This message was deleted",
        "13/05/2024, 21:54 - Bo: Nice! <This message was edited>",
        "13/05/2024, 21:54 - Bo: Lisbon! <Diese Nachricht wurde bearbeitet.>",
        "13/05/2024, 21:55 - Bo: I mean <3 and a < b > c",
        "13/05/2024, 21:56 - Bo: <hugs you>",
        "13/05/2024, 21:57 - Bo: <Medien ausgeschlossen>",
    ]
    history = only(save(tmp_path, "WhatsApp Chat with Boats.txt", "\n".join(lines)), zone=ZAGREB)
    assert said(history) == [
        ("Ana", "[shares a picture, a video or a recording]"),
        ("Ana", "The harbor. [shares a picture]"),
        ("Bo", "Nice!"),
        ("Bo", "Lisbon!"),
        ("Bo", "I mean <3 and a < b > c"),
        ("Bo", "<hugs you>"),
        ("Bo", "[shares a picture, a video or a recording]"),
    ]
    assert history.notes == {
        "system lines left out": 2,
        "deleted and system messages left out": 1,
    }


def test_media_and_notes_of_whatsapp_on_ios(tmp_path: Path) -> None:
    chat = "\r\n".join(
        [
            "[13.05.24, 21:50:00] Boats: \u200eMessages and calls are end-to-end encrypted.",
            "\u200e[13.05.24, 21:51:00] Ana: \u200eimage omitted",
            "\u200e[13.05.24, 21:52:00] Ana: \u200e<attached: 00000012-AUDIO-2024-05-13.opus>",
            "[13.05.24, 21:53:00] ~\u202fCy: Who is this?",
            "\u200e[13.05.24, 21:54:00] Bo: plan.pdf • \u200e2 pages \u200edocument omitted",
            "\u200e[13.05.24, 21:55:00] Bo: \u200eMissed voice call",
        ]
    )
    export = save_zip(tmp_path / "WhatsApp Chat - Boats.zip", {"_chat.txt": chat})
    history = only(export, zone=ZAGREB)
    assert said(history) == [
        ("Ana", "[shares a picture]"),
        ("Ana", "[shares a recording]"),
        ("Cy", "Who is this?"),
        ("Bo", '[shares the file "plan.pdf"]'),
    ]
    assert (history.name, history.transcripts[0].metadata["title"]) == ("whatsapp", "Boats")


def test_a_pause_starts_a_session_and_a_later_export_continues_it(tmp_path: Path) -> None:
    talk = [Said(f"Text {i}.", ("user", "assistant")[i % 2], m) for i, m in enumerate([0, 9, 300])]
    later = [*talk, Said("More.", "user", 310), Said("Bye.", "assistant", 900)]
    first, second = (
        only(WRITERS["whatsapp"](tmp_path, each)).transcripts for each in (talk, later)
    )
    assert [len(session.turns) for session in first] == [2, 1]
    assert [len(session.turns) for session in second] == [2, 2, 1]
    assert [s.key for s in second][:2] == [s.key for s in first]
    assert second[1].turns[0] == first[1].turns[0]


def test_a_chat_without_pauses_is_cut(tmp_path: Path) -> None:
    talk = [Said(f"Text {i}.", ("user", "assistant")[i % 2], i) for i in range(1_100)]
    history = only(WRITERS["telegram"](tmp_path, talk))
    assert [len(session.turns) for session in history.transcripts] == [500, 500, 100]
    assert len({session.key for session in history.transcripts}) == 3


def test_an_unknown_speaker_is_an_error(tmp_path: Path) -> None:
    file = WRITERS["telegram"](tmp_path, [Said("Hello.")])
    assert only(file, speaker="Ana H").name == "Ana H"
    with pytest.raises(BadInput, match='no turn by "Anna"; the speakers are Ana H'):
        read_histories(file, speaker="Anna")


def telegram(id: int, **fields: object) -> Json:
    at = {"date": "2024-05-13T21:56:00", "date_unixtime": str(1_715_630_160 + id)}
    return {"id": id, "type": "message", "from": "Bo", **at, "text": "", **fields}


def test_one_chat_of_telegram_with_media_and_services(tmp_path: Path) -> None:
    messages = [
        telegram(1, type="service", action="pin_message"),
        telegram(2, text=["See ", {"type": "link", "text": "https://cres.hr"}, "!"]),
        telegram(3, photo="(File not included.)"),
        telegram(4, media_type="voice_message", file="x"),
        telegram(5, media_type="sticker", sticker_emoji="😏", file="x"),
        telegram(6, file="x", file_name="plan.pdf", text="The plan."),
        telegram(7, text="Old news.", forwarded_from="Cy"),
        telegram(8, text="Hi.", **{"from": None}),
    ]
    chat: Json = {"name": "Bo", "type": "personal_chat", "id": 1, "messages": messages}
    reading = read_histories(save(tmp_path, "result.json", chat))
    (history,) = reading.histories
    assert (reading.format, history.name) == ("telegram", "telegram")
    assert said(history) == [
        ("Bo", "See https://cres.hr!"),
        ("Bo", "[shares a picture]"),
        ("Bo", "[shares a recording]"),
        ("Bo", "[shares a sticker 😏]"),
        ("Bo", 'The plan. [shares the file "plan.pdf"]'),
        ("Bo", "Old news. [shares a message forwarded from Cy]"),
        ("Deleted account", "Hi."),
    ]
    assert history.notes == {"service messages left out": 1}


def test_all_chats_of_a_telegram_account(tmp_path: Path) -> None:
    chats: list[Json] = [
        {"name": name, "type": "personal_chat", "id": i, "messages": [telegram(i, text="Hi.")]}
        for i, name in enumerate(["Bo", None, "Cy"], 1)
    ]
    owner: Json = {"first_name": "Ana", "last_name": "H"}
    account: Json = {"personal_information": owner, "chats": {"list": chats}}
    history = only(save(tmp_path, "result.json", account))
    assert history.name == "Ana H"
    assert [s.metadata["title"] for s in history.transcripts] == ["Bo", "chat 2", "Cy"]


def test_slack_mentions_links_threads_and_apps(tmp_path: Path) -> None:
    users: list[Json] = [{"id": "U1", "name": "ana", "profile": {"display_name": "Ana"}}]
    common: Json = {"type": "message", "user": "U1"}
    day: list[Json] = [
        {**common, "ts": "1715630160.0001", "subtype": "channel_join", "text": "joined"},
        {**common, "ts": "1715630161.0001", "text": "<@U1> &amp; <#C1|boats>: <http://a.b|here>"},
        {**common, "ts": "1715630162.0001", "subtype": "bot_message", "text": "beep"},
        {**common, "ts": "1715630163.0001", "thread_ts": "1715630161.0001", "text": "In a thread."},
        {**common, "ts": "1715630164.0001", "text": "", "files": [{"name": "plan.pdf"}]},
        {**common, "ts": "1715630165.0001", "user": "U9", "user_profile": {"real_name": "Cy"},
         "text": "Guest."},
    ]  # fmt: skip
    dm: list[Json] = [{**common, "ts": "1715630166.0001", "text": "Only us."}]
    export = save_zip(
        tmp_path / "export.zip",
        {
            "workspace/users.json": users,
            "workspace/channels.json": [{"id": "C1", "name": "boats"}],
            "workspace/dms.json": [{"id": "D1", "members": ["U1", "U2"]}],
            "workspace/boats/2024-05-13.json": day,
            "workspace/boats/canvas_in_the_conversation.json": {"no": "messages"},
            "workspace/D1/2024-05-13.json": dm,
        },
    )
    reading = read_histories(export, speaker="Ana")
    (history,) = reading.histories
    assert (reading.format, history.name) == ("slack", "Ana")
    assert said(history) == [
        ("Ana", "@Ana & #boats: here"),
        ("Ana", "In a thread."),
        ("Ana", '[shares the file "plan.pdf"]'),
        ("Cy", "Guest."),
        ("Ana", "Only us."),
    ]
    titles = [session.metadata["title"] for session in history.transcripts]
    assert titles == ["#boats", "Ana and U2"]
    assert history.notes == {"service messages left out": 1, "messages of apps left out": 1}


SILENT: dict[str, dict[str, object]] = {
    "slack": {
        "users.json": [{"id": f"U{n}", "name": name} for n, name in enumerate(("Ana", "Bo"))],
        "channels.json": [{"id": "C1", "name": "boats"}],
        "boats/2024-05-13.json": [
            {"type": "message", "user": "U9", "ts": "1715630160.0001", "text": "Guest.",
             "user_profile": {"real_name": "Cy"}},
            {"type": "message", "user": "U1", "ts": "1715630161.0001", "text": "Hi."},
        ],
    },
    "messenger": {
        "messages/inbox/boats_1/message_1.json": {
            "participants": [{"name": name} for name in ("Ana", "Bo", "Cy")],
            "title": "Boats",
            "messages": [{"sender_name": name, "timestamp_ms": 1715630160000 + n, "content": words}
                         for n, (name, words) in enumerate((("Cy", "Guest."), ("Bo", "Hi.")))],
        },
    },
    "signal": {
        "main.jsonl": "\n".join(map(json.dumps, [
            {"account": {"givenName": "Ana", "familyName": ""}},
            {"recipient": {"id": "1", "self": Json()}},
            {"recipient": {"id": "2", "contact": {"profileGivenName": "Bo"}}},
            {"recipient": {"id": "3", "contact": {"profileGivenName": "Cy"}}},
            {"recipient": {"id": "4", "group": Json()}},
            {"chat": {"id": "1", "recipientId": "4"}},
            *({"chatItem": {"chatId": "1", "authorId": id, "dateSent": str(1715630160000 + n),
                            "incoming": Json(), "standardMessage": {"text": {"body": words}}}}
              for n, (id, words) in enumerate((("3", "Guest."), ("2", "Hi.")))),
        ])),
    },
}  # fmt: skip


@pytest.mark.parametrize("service", SILENT)
@pytest.mark.parametrize("speaker", ["Ana", "Bo", "Cy"])
def test_the_user_may_have_said_nothing(service: str, speaker: str, tmp_path: Path) -> None:
    export = save_zip(tmp_path / "export.zip", SILENT[service])
    reading = read_histories(export, speaker=speaker)
    (history,) = reading.histories
    assert (reading.format, history.name) == (service, speaker)
    assert said(history) == [("Cy", "Guest."), ("Bo", "Hi.")]
    if service != "signal":  # whose own speaker has the name that is given
        with pytest.raises(BadInput, match="no turn by"):
            read_histories(export, speaker="Dan")


def test_a_part_of_a_slack_export_alone_is_an_error(tmp_path: Path) -> None:
    file = save(tmp_path, "users.json", json.dumps([{"id": "U1"}]))
    with pytest.raises(BadInput, match="zip archive or a folder"):
        read_histories(file, format="slack")


def discord(id: int, content: str, **fields: object) -> Json:
    author: Json = {"name": "ana_h", "nickname": "Ana", "isBot": False}
    at = f"2024-05-13T21:{id:02}:00+02:00"
    return {"id": str(id), "type": "Default", "timestamp": at, "content": content,
            "author": author, "attachments": list[Json](), **fields}  # fmt: skip


def test_a_channel_of_discord(tmp_path: Path) -> None:
    export: Json = {
        "guild": {"id": "0", "name": "Direct Messages"},
        "channel": {"id": "9", "name": "Bo"},
        "messages": [
            discord(1, "Hello."),
            discord(2, "Look.", type="Reply", attachments=[{"fileName": "boat.png"}]),
            discord(3, "Pinned a message.", type="ChannelPinnedMessage"),
            discord(4, "beep", author={"name": "bot", "isBot": True}),
        ],
    }
    history = only(save(tmp_path, "channel.json", export))
    assert said(history) == [("Ana", "Hello."), ("Ana", 'Look. [shares the file "boat.png"]')]
    assert history.transcripts[0].metadata["title"] == "Bo"
    assert history.notes == {"service messages left out": 1, "messages of apps left out": 1}


def test_the_package_of_discord_newest_first(tmp_path: Path) -> None:
    def own(id: int, text: str) -> Json:
        at = f"2024-05-13 21:{id:02}:00"
        return {"ID": id, "Timestamp": at, "Contents": text, "Attachments": ""}

    link = "https://cdn.discordapp.com/attachments/1/2/boat.png"
    files: dict[str, object] = {
        "account/user.json": {"username": "ana_h", "global_name": "Ana"},
        "messages/index.json": {"9": "general in Boats"},
        "messages/c9/channel.json": {"id": "9", "name": "general", "guild": {"name": "Boats"}},
        "messages/c9/messages.json": [own(2, "Later."), {**own(1, ""), "Attachments": link}],
        "messages/c8/channel.json": {"id": "8", "type": 1},
        "messages/c8/messages.json": [own(3, "To Bo.")],
    }
    reading = read_histories(save_zip(tmp_path / "package.zip", files))
    (history,) = reading.histories
    assert (reading.format, history.name) == ("discord", "Ana")
    assert said(history) == [
        ("Ana", '[shares the file "boat.png"]'),
        ("Ana", "Later."),
        ("Ana", "To Bo."),
    ]
    assert [s.metadata["title"] for s in history.transcripts] == ["Boats #general", "8"]


def test_signal_interleaves_chats(tmp_path: Path) -> None:
    def item(chat: str, author: str, minute: int, **fields: object) -> Json:
        sent = 1_715_630_160_000 + 60_000 * minute
        return {"chatItem": {"chatId": chat, "authorId": author, "dateSent": str(sent), **fields}}

    picture = {"pointer": {"contentType": "image/jpeg"}}
    title: Json = {"title": {"title": "Boats"}}
    frames: list[Json] = [
        {"account": {"givenName": "Ana"}},
        {"recipient": {"id": "1", "self": {}}},
        {"recipient": {"id": "2", "contact": {"systemGivenName": "Bo"}}},
        {"recipient": {"id": "3", "group": {"snapshot": title}}},
        {"chat": {"id": "7", "recipientId": "2"}},
        {"chat": {"id": "8", "recipientId": "3"}},
        item("7", "2", 0, standardMessage={"text": {"body": "Ferry?"}}),
        item("8", "2", 1, standardMessage={"text": {"body": "All aboard."}}),
        item("7", "1", 2, standardMessage={"attachments": [picture]}),
        item("7", "2", 3, remoteDeletedMessage={}),
    ]
    text = "".join(json.dumps(frame) + "\n" for frame in frames)
    history = only(save(tmp_path, "main.jsonl", text))
    sessions = {s.metadata["title"]: [t.speaker for t in s.turns] for s in history.transcripts}
    assert (history.name, sessions) == ("Ana", {"Bo": ["Bo", "Ana"], "Boats": ["Bo"]})
    assert history.notes == {"service messages left out": 1}


def test_the_files_of_signal_export(tmp_path: Path) -> None:
    common: Json = {"quote": "", "sticker": "", "reactions": [], "attachments": list[Json]()}
    lines: list[Json] = [
        {**common, "date": "2024-05-13T21:56:00", "sender": "Me", "body": "Ferry?  "},
        {**common, "date": "2024-05-13T21:57:00", "sender": "Bo", "body": "", "deleted": True},
        {**common, "date": "2024-05-13T21:58:00", "sender": "Bo", "body": "Noon.",
         "attachments": [{"name": "plan.pdf", "path": "x"}]},
    ]  # fmt: skip
    save(tmp_path, "Bo/data.json", "".join(json.dumps(line) + "\n" for line in lines))
    history = only(tmp_path, speaker="Ana", zone=ZAGREB)
    assert said(history) == [("Ana", "Ferry?"), ("Bo", 'Noon. [shares the file "plan.pdf"]')]
    assert history.transcripts[0].metadata == {"source": "signal", "title": "Bo"}


def test_gemini_groups_prompts_by_conversation(tmp_path: Path) -> None:
    def entry(minute: int, title: str, answer: str = "", id: str = "") -> Json:
        link: list[Json] = [{"url": f"https://gemini.google.com/app/{id}"}]
        return {
            "header": "Gemini Apps",
            "title": title,
            "time": f"2026-03-04T05:{minute:02}:07.008Z",
            "safeHtmlItem": [{"html": answer}] if answer else [],
            "details": link if id else None,
        }

    activity = [
        entry(9, "Prompted And the bus?", "<p>At <b>noon</b>.</p>", "aa1"),
        entry(8, "Created a Gem"),
        entry(7, "Prompted Which ferry?", "<ul><li>Jadrolinija</li></ul>", "aa1"),
        entry(5, "Prompted Hello", "Hi.", "bb2"),
    ]
    file = save(tmp_path, "MyActivity.json", activity)
    reading = read_histories(file)
    (history,) = reading.histories
    assert reading.format == "gemini"
    assert [[t.text for t in s.turns] for s in history.transcripts] == [
        ["Hello", "Hi."],
        ["Which ferry?", "- Jadrolinija", "And the bus?", "At noon."],
    ]
    assert [t.role for t in turns(history)] == ["user", "assistant"] * 3
    assert history.notes == {"activities that are no prompts left out": 1}


def whatsapp(tmp_path: Path, *lines: str, name: str = "WhatsApp Chat with Bo.txt") -> History:
    return only(save(tmp_path, name, "\n".join(lines)), zone=ZAGREB)


@pytest.mark.parametrize(
    ("dates", "right"),
    [
        (["28/12/2023", "31/12", "02/01"], ["2023-12-28", "2023-12-31", "2024-01-02"]),
        (["30 Dec", "2 Jan", "03/01/2024"], ["2023-12-30", "2024-01-02", "2024-01-03"]),
        (["Dec 30", "Jan 2", "2024-01-03"], ["2023-12-30", "2024-01-02", "2024-01-03"]),
        (["24/2/3", "24/5/13"], ["2024-02-03", "2024-05-13"]),
        (["24. 5. 13.", "24. 6. 1."], ["2024-05-13", "2024-06-01"]),
    ],
)
def test_years_of_whatsapp(dates: list[str], right: list[str], tmp_path: Path) -> None:
    history = whatsapp(tmp_path, *(f"{date}, 12:00 - Ana: Hello." for date in dates))
    assert [f"{turn.at:%F}" for turn in turns(history)] == right


def test_a_chat_without_years_is_of_the_year_of_its_file(tmp_path: Path) -> None:
    export = save_zip(
        tmp_path / "chat.zip",  # whose files are of 1980
        {"_chat.txt": "[30/12, 12:00] Ana: Old.\n[02/01, 12:00] Bo: New.\n"},
    )
    history = only(export, zone=ZAGREB)
    assert [f"{turn.at:%m-%d}" for turn in turns(history)] == ["12-30", "01-02"]
    assert turns(history)[0].at.year + 1 == turns(history)[1].at.year
    assert history.notes["files without years, dated by their last change"] == 1


@pytest.mark.parametrize("quoted", ["[12/05/24, 21:50:00] Cy: Sold!", "[21:50, 12/05/2024] Cy: S"])
def test_a_chat_pasted_into_a_message_stays_in_it(quoted: str, tmp_path: Path) -> None:
    history = whatsapp(
        tmp_path,
        "13/05/2024, 21:50 - Ana: Look:",
        quoted,
        "13/05/2024, 21:51 - Bo: No!",
    )
    assert said(history) == [("Ana", f"Look:\n{quoted}"), ("Bo", "No!")]


def test_two_exports_in_one_file_stay_apart(tmp_path: Path) -> None:
    history = whatsapp(
        tmp_path, "13/05/2024, 21:50 - Ana: Old phone.", "[14/05/24, 21:50:00] Ana: New phone."
    )
    assert said(history) == [("Ana", "Old phone."), ("Ana", "New phone.")]


@pytest.mark.parametrize(
    "name",
    [
        'Luc "Doc" Martin',
        "Mum ❤️",
        "🐻",
        "„Opa“ Franz",
        "Dr. O'Neil-Šarić (work)",
        "+385 91 1",
        "王 伟",
    ],
)
def test_names_with_odd_characters(name: str, tmp_path: Path) -> None:
    history = whatsapp(tmp_path, f"13/05/2024, 21:50 - {name}: Hello: you.")
    assert said(history) == [(name, "Hello: you.")]


@pytest.mark.parametrize(
    "name",
    ["Chat de WhatsApp con Bo.txt", "与Bo的WhatsApp对话.txt", "Bo ile WhatsApp Sohbeti.txt"],
)
def test_whom_a_chat_is_with_is_found_in_its_name(name: str, tmp_path: Path) -> None:
    talk = ["13/05/2024, 21:50 - Ana: Hi.", "13/05/2024, 21:51 - Bo: Hi."]
    history = whatsapp(tmp_path, *talk, name=name)
    assert (history.name, history.transcripts[0].metadata["title"]) == ("Ana", "Bo")


def test_a_name_that_begins_like_another_stays(tmp_path: Path) -> None:
    names = ["Ana", "Ana Maria Horvat Novak", 'Jean "JJ', 'Jean "JJ']
    history = whatsapp(tmp_path, *(f"13/05/2024, 21:50 - {name}: Hi." for name in names))
    assert [speaker for speaker, _ in said(history)] == names


@pytest.mark.parametrize(
    "line",
    [
        "Ana changed the subject from Trip: Rome to Trip: Naples",
        'Cy changed the group name from "Trip: Rome" to "Trip"',
        "Cy hat den Betreff der Gruppe von Reise: Rom zu Reise: Wien geändert",
    ],
)
def test_lines_of_whatsapp_with_a_colon_are_named(line: str, tmp_path: Path) -> None:
    talk = ["13/05/2024, 21:50 - Ana: Hi.", f"13/05/2024, 21:51 - {line}"]
    history = whatsapp(tmp_path, *talk)
    assert said(history) == [("Ana", "Hi.")]
    assert history.notes["system lines left out"] == 1
    assert '"' in line or f'"{line}" read as a line by WhatsApp' in history.notes


@pytest.mark.parametrize(
    "note",
    ["Esta mensagem foi apagada", "Bu mesaj silindi", "Данное сообщение удалено", "此訊息已刪除",
     "Ova poruka je izbrisana", "このメッセージは削除されました", "Čeka se poruka",
     "Propušten glasovni poziv", "Pesan ini telah dihapus", "تم حذف هذه الرسالة"],
)  # fmt: skip
def test_notes_in_other_languages_are_left_out_and_named(note: str, tmp_path: Path) -> None:
    talk = [f"13/05/2024, 21:50 - Ana: {note}", "13/05/2024, 21:51 - Bo: So?"]
    history = whatsapp(tmp_path, *talk)
    assert said(history) == [("Bo", "So?")]
    assert history.notes["deleted and system messages left out"] == 1


@pytest.mark.parametrize(
    "words",
    ["I deleted your message, sorry", "did you delete the message?", "Ich lösche die Nachricht",
     "Ich habe die Nachricht gelöscht", "read <The Great Gatsby>", "press <Enter>", "<3",
     "<b>bold</b>", "missed you all day", "My sister deleted a message", "Missed your call",
     "Meine Schwester hat eine Nachricht gelöscht.", "Mi hermana eliminó un mensaje",
     "Slučajno sam obrisala ovu poruku", "Случайно удалила сообщение", "Čekam tvoju poruku",
     "Yanlışlıkla bir mesaj sildi", "不小心删除了消息", "間違えてメッセージを削除しました",
     "실수로 메시지를 삭제했습니다", "Warte noch auf eine Nachricht",
     "This was removed from the menu.",
     "Look at <https://example.com> please", "See example.com (it is great)",
     "I read notes.txt (the old one)", "<mailto:ana@x.org>"],
)  # fmt: skip
def test_words_that_look_like_notes_stay(words: str, tmp_path: Path) -> None:
    assert said(whatsapp(tmp_path, f"13/05/2024, 21:50 - Ana: {words}")) == [("Ana", words)]


@pytest.mark.parametrize("marks", ["\u202a\u202c", "\u2066\u2069", "\u2068\u2069", "\u200e\u200e"])
@pytest.mark.parametrize("name", ["+385 91 123 4567", "Ana", "~Ana"])
@pytest.mark.parametrize("tight", [True, False])
def test_marks_of_direction_around_names(
    name: str, marks: str, tight: bool, tmp_path: Path
) -> None:
    before, after = marks
    marked, colon = f"{before}{name}{after}", ":" if tight else ": "
    history = whatsapp(
        tmp_path,
        f"[13.05.24, 21:50:00] {marked}{colon}Hi {marked}.",
        f"[13.05.24, 21:51:00] {name}: Again.",
        "[13.05.24, 21:52:00] Bo: Good.",
    )
    plain = name.strip("~")
    assert said(history) == [(plain, f"Hi {name}."), (plain, "Again."), ("Bo", "Good.")]


@pytest.mark.parametrize(
    "said_of", ["file attached", "Datei angehängt", "archivo adjunto", "添付ファイル"]
)
@pytest.mark.parametrize("mark", ["", "\u200e"])
def test_files_that_android_attached(mark: str, said_of: str, tmp_path: Path) -> None:
    history = whatsapp(tmp_path, f"13/05/2024, 21:50 - Ana: {mark}My plan.pdf ({said_of})")
    assert said(history) == [("Ana", '[shares the file "My plan.pdf"]')]


def test_contacts_places_and_polls_keep_their_words(tmp_path: Path) -> None:
    history = whatsapp(
        tmp_path,
        "[13.05.24, 21:50:00] Ana: \u200eUbicación: https://maps.google.com/?q=45.3,14.4",
        "[13.05.24, 21:51:00] Bo: \u200eKlara Novak.vcf \u200econtact card omitted",
        "[13.05.24, 21:52:00] Bo: \u200e<attached: 00000012-Klara Novak.vcf>",
        "[13.05.24, 21:53:00] Ana: \u200eENCUESTA:\nWhere?\n\u200eOPCIÓN: Roma (\u200e3 votos)",
        "[13.05.24, 21:54:00] Ana: @\u2068Klara Novak\u2069 knows.",
    )
    assert said(history) == [
        ("Ana", "Ubicación: https://maps.google.com/?q=45.3,14.4"),
        ("Bo", '[shares the contact "Klara Novak"]'),
        ("Bo", '[shares the contact "00000012-Klara Novak"]'),
        ("Ana", "ENCUESTA:\nWhere?\nOPCIÓN: Roma (3 votos)"),
        ("Ana", "@Klara Novak knows."),
    ]


def test_imessage_as_text(tmp_path: Path) -> None:
    chat = """May 17, 2024  5:29:42 PM (Read by you after 1 hour, 2 minutes)
Me
Did you wash the sails?

All of them?
Tapbacks:
    Loved by Bo
    May 17, 2024  5:31:10 PM
    Bo
    A reply.

May 17, 2024  5:30:10 PM
Bo
attachments/2024/IMG 1.heic
Yes, twice: they are clean.
Sent with Confetti

May 17, 2024  5:30:30 PM You named the conversation Boats

May 17, 2024  5:31:00 PM
Me
May 17, 2024  5:31:00 PM Thank you.
Edited 10 seconds later: Thank you!

May 17, 2024  5:31:10 PM
Bo
A reply.
This message responded to an earlier message.
"""
    reading = read_histories(save(tmp_path, "Bo.txt", chat), zone=ZAGREB)
    (history,) = reading.histories
    assert reading.format == "imessage"
    assert said(history) == [
        ("Me", "Did you wash the sails?\n\nAll of them?"),
        ("Bo", 'Yes, twice: they are clean. [shares the file "IMG 1.heic"]'),
        ("Me", "Thank you!"),
        ("Bo", "A reply."),
    ]
    assert turns(history)[0].at == datetime(2024, 5, 17, 17, 29, 42, tzinfo=ZAGREB)
    assert history.notes == {
        "tapbacks left out": 1,
        "copies of replies left out": 1,
        "service messages left out": 1,
    }


def test_slack_conversations_missing_from_its_lists_are_in_their_order(tmp_path: Path) -> None:
    names = [f"boats-{i}" for i in range(8)]
    day: list[Json] = [{"type": "message", "user": "U1", "ts": "1715630161.0001", "text": "Hi."}]
    files: dict[str, object] = {f"{name}/2024-05-13.json": day for name in reversed(names)}
    files |= {"users.json": [{"id": "U1", "name": "ana"}], "2024-05-13.json": day}
    files["channels.json"] = [{"id": "C1", "name": "boats-5"}]
    history = only(save_zip(tmp_path / "export.zip", files))
    titles = [session.metadata["title"] for session in history.transcripts]
    assert titles == ["#boats-5", *(f"#{name}" for name in names if name != "boats-5")]
    assert history.notes == {"days outside of a conversation's folder left out": 1}


def turns_of(file: Path, **options: Any) -> tuple[list[tuple[str, str, str]], Mapping[str, int]]:
    reading = read_histories(file, zone=UTC, **options)
    sessions = [session for history in reading.histories for session in history.transcripts]
    turns = [turn for session in sessions for turn in session.turns]
    return [(f"{turn.at:%F %H:%M}", turn.speaker, turn.full_text) for turn in turns], reading.notes


LINE_CHATS = {
    "Japanese": """[LINE] Crewのトーク履歴
保存日時：2024/05/15 09:00

2024/05/13(月)
21:56\tAna Horvat\t"Up.
It leans."
21:57\tBo\t[写真]
21:58\tKlaraがグループに参加しました。
21:59\tBo\t☎ 通話時間 0:32
2024/05/14(火)
8:05\tBo\tGood: at nine.
""",
    "Thai, in its calendar": """[LINE] ประวัติการแชทใน Crew
บันทึกเมื่อ: 2567/05/15 09:00

2567.05.13 วันจันทร์
21:56\tAna Horvat\t"Up.
It leans."
21:57\tBo\t[รูป]
21:58\t\tKlara เข้าร่วมกลุ่ม
21:59\tBo\t☎ สายที่ไม่ได้รับ
2567.05.14 วันอังคาร
08:05\tBo\tGood: at nine.
""",
    "Chinese, by halves of the day": """[LINE] 與Crew的聊天記錄
儲存日期：2024/05/15 09:00

2024/05/13（一）
下午09:56\tAna Horvat\t"Up.
It leans."
下午09:57\tBo\t[照片]
下午09:58\tKlara已加入群組
下午09:59\tBo\t☎ 未接來電
2024/05/14（二）
上午08:05\tBo\tGood: at nine.
""",
    "American, with the month first": """[LINE] Chat history in Crew
Saved on: 05/15/2024, 09:00

Mon, 05/13/2024
09:56PM\tAna Horvat\t"Up.
It leans."
09:57PM\tBo\t[Photo]
09:58PM\tKlara joined the group.
09:59PM\tBo\t☎ Missed call
Tue, 05/14/2024
08:05AM\tBo\tGood: at nine.
""",
    "KakaoTalk": """Crew 님과 카카오톡 대화
저장한 날짜 : 2024-05-15 09:00:00

--------------- 2024년 5월 13일 월요일 ---------------
[Ana Horvat] [오후 9:56] Up.
It leans.
[Bo] [오후 9:57] [사진]
--------------- 2024년 5월 14일 화요일 ---------------
[Bo] [오전 8:05] Good: at nine.
""",
}


@pytest.mark.parametrize("language", LINE_CHATS)
def test_chats_with_days_above_their_messages(language: str, tmp_path: Path) -> None:
    turns, notes = turns_of(save(tmp_path, "[LINE] Crew.txt", LINE_CHATS[language]))
    assert turns == [
        ("2024-05-13 21:56", "Ana Horvat", "Up.\nIt leans."),
        ("2024-05-13 21:57", "Bo", " [shares a picture]"),
        ("2024-05-14 08:05", "Bo", "Good: at nine."),
    ]
    left_out = {"lines before the first message left out": 2}
    if language != "KakaoTalk":
        left_out |= {"system lines left out": 1, "calls left out": 1}
    assert notes == left_out


def test_line_without_tabs_knows_names_by_the_title_and_by_repetition(tmp_path: Path) -> None:
    said = [f"21:{50 + i} Bo Novak {word}" for i, word in enumerate("Good Yes We Then".split())]
    lines = [
        "[LINE] Ana Horvatとのトーク履歴",
        "2024.05.13 月曜日",
        *said,
        "21:56 Ana Horvat Two [1]",
    ]
    turns, _ = turns_of(save(tmp_path, "chat.txt", "\n".join(lines)))
    assert [turn[1:] for turn in turns[-2:]] == [("Bo Novak", "Then"), ("Ana Horvat", "Two [1]")]


@pytest.mark.parametrize(
    ("days", "first"),
    [
        (["Tue, 06/01/2026"], "2026-01-06"),
        (["Mon, 06/01/2026"], "2026-06-01"),
        (["12/01/2026", "05/02/2026"], "2026-01-12"),
        (["01/12/2026", "02/05/2026"], "2026-01-12"),
    ],
)
def test_days_are_told_by_weekdays_and_order(days: list[str], first: str, tmp_path: Path) -> None:
    lines = [line for day in days for line in (day, "21:56\tBo\tYes.")]
    turns, _ = turns_of(save(tmp_path, "a.txt", "\n".join(["[LINE] Bo", *lines])))
    assert turns[0][0].startswith(first)


SIGTOP = """Conversation: Crew

From: Bo (+38591123)
Type: incoming
Sent: Mon, 13 May 2024 21:56:00 +0200
Received: Mon, 13 May 2024 21:56:02 +0200
Attachment: mast.jpg (image/jpeg, 123 bytes)
Reaction: 👍 from Ana (+38591124)

From: the mast.

> mine

Type: keychange
Sent: Mon, 13 May 2024 21:56:30 +0200
Received: Mon, 13 May 2024 21:56:30 +0200

From: You
Type: outgoing
Sent: Mon, 13 May 2024 21:57:00 +0200
Edited: 2 versions

| Version: 2
| Sent: Mon, 13 May 2024 21:58:00 +0200
|
| > From: Bo (+38591123)
| > Sent: Mon, 13 May 2024 21:56:00 +0200
| >
| > From: the mast.
|
| Thank you.
| Really.
|
| Version: 1
| Sent: Mon, 13 May 2024 21:57:00 +0200
|
| Thank yu.

"""


def test_signal_as_text_by_sigtop(tmp_path: Path) -> None:
    turns, notes = turns_of(save(tmp_path, "Crew.txt", SIGTOP), speaker="Ana")
    assert turns == [
        ("2024-05-13 21:56", "Bo", 'From: the mast.\n\n> mine [shares the file "mast.jpg"]'),
        ("2024-05-13 21:57", "Ana", "Thank you.\nReally."),
    ]
    assert notes == {
        "service messages left out": 1,
        "earlier versions left out": 1,
        "quotes of other messages left out": 1,
        "reactions left out": 1,
    }


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Bo:Up", ("Bo", "Up")),  # a name of other lines
        ("Bo：Up", ("Bo", "Up")),
        ("Cy:Up", ("Cy", "Up")),  # a name of two such lines
        ("Settings:all", None),
        ("See https://example.org", None),
    ],
)
def test_no_space_after_a_name(line: str, said: tuple[str, str] | None, tmp_path: Path) -> None:
    lines = ["Ana: Is it up?", line, "Bo: Yes", "Cy:Good"]
    lines = [f"[2026/7/13 02:2{i}:00] {line}" for i, line in enumerate(lines)]
    turns, _ = turns_of(save(tmp_path, "_chat.txt", "\n".join(lines)))
    assert [turn[1:] for turn in turns if turn[0].endswith("21")] == ([said] if said else [])


@pytest.mark.parametrize(
    ("content", "words", "quotes"),
    [
        ("<quote><legacyquote>[1] Bo: </legacyquote>At ten.</quote>Yes", "Yes", 1),
        ("<quote>A<quote>B</quote></quote>Yes<quote>C</quote>No", "YesNo", 3),
        ('<blockquote itemtype="http://schema.skype.com/Reply">At ten.</blockquote>Yes', "Yes", 1),
        ("<blockquote>Mine</blockquote>Yes", "Mine\nYes", 0),
        ("[10:01:00 PM] Bo: At ten.\n\n&lt;&lt;&lt; Yes", "Yes", 1),
        ("<quote><legacyquote>[1] Bo: </legacyquote>At ten.</quote>", "At ten.", 0),
    ],
)
def test_what_a_reply_in_skype_quotes(
    content: str, words: str, quotes: int, tmp_path: Path
) -> None:
    message = {"id": "1", "originalarrivaltime": "2024-05-13T19:57:00Z", "from": "8:live:ana"}
    talk = {"id": "8:bo", "MessageList": [{**message, "content": content}]}
    turns, notes = turns_of(save(tmp_path, "messages.json", {"conversations": [talk]}))
    assert turns[0][2] == words
    assert notes.get("quotes of other messages left out", 0) == quotes


ANNOUNCED = (
    "You named the conversation Boats", "Bo left the conversation.",
    "You added Cy to the conversation.", "Bo removed Cy from the conversation.",
    "Bo changed the group photo.", "You unsent a message!", "Cy started sharing location with you.",
    "Bo kept an audio message.",
)  # fmt: skip


@pytest.mark.parametrize("between", ["\n", "\n\n"])
@pytest.mark.parametrize("date", ["Jul  3, 2024", "Jul 03, 2024", "Jul 3, 2024"])
@pytest.mark.parametrize("count", [1, len(ANNOUNCED)])
def test_imessage_begins_with_what_the_app_announces(
    count: int, date: str, between: str, tmp_path: Path
) -> None:
    announced = "".join(f"{date}  9:05:00 AM {each}{between}" for each in ANNOUNCED[:count])
    reply = [f"{date}  9:41:03 AM", "Bo", "Only the last week."]
    copy = "\n".join(f"    {line}" for line in reply)
    first = f"{date}  9:05:42 AM (Read by them after 12 minutes)\nMe\nIs it free?\n{copy}\n"
    last = "\n".join([*reply, "This message responded to an earlier message."])
    turns, notes = turns_of(save(tmp_path, "Boats.txt", f"{announced}{first}\n{last}\n"))
    assert [turn[1:] for turn in turns] == [("Me", "Is it free?"), ("Bo", "Only the last week.")]
    assert notes["service messages left out"] == count
    assert notes["copies of replies left out"] == 1


@pytest.mark.parametrize("file", ["channels.json", "groups.json", "mpims.json"])
@pytest.mark.parametrize(
    "message",
    [
        {"text": "In <#C2>"},
        {"text": "In <#C2|>"},
        {"text": "", "blocks": [{"type": "mrkdwn", "text": "In <#C2|>"}]},
        {"text": "", "attachments": [{"text": "In <#C2|>"}]},
        {
            "text": "",
            "blocks": [
                {
                    "type": "rich_text_section",
                    "elements": [
                        {"type": "text", "text": "In "},
                        {"type": "channel", "channel_id": "C2"},
                    ],
                }
            ],
        },
    ],
)
def test_slack_channels_without_a_label_are_called_by_their_names(
    message: Json, file: str, tmp_path: Path
) -> None:
    message = {"type": "message", "user": "U1", "ts": "1715630100.0", **message}
    lists: dict[str, list[Json]] = {"channels.json": [{"id": "C1", "name": "boats"}]}
    lists[file] = [*lists.get(file, ()), {"id": "C2", "name": "attic"}]
    users = [{"id": "U1", "name": "ana"}]
    files = {"users.json": users, **lists, "boats/2024-05-13.json": [message]}
    reading = read_histories(save_zip(tmp_path / "slack.zip", files), speaker="ana")
    (turn,) = reading.histories[0].transcripts[0].turns
    assert "In #attic" in turn.full_text


@pytest.mark.parametrize("indent", ["", "    "])
def test_tapbacks_of_all_versions_of_imessage_exporter(indent: str, tmp_path: Path) -> None:
    text = (
        f"May 17, 2024  5:40:00 PM\nBo\nNot me.\nReactions:\n{indent}Laughed by Me\n\nStill not.\n"
    )
    turns, notes = turns_of(save(tmp_path, "Crew.txt", text))
    assert turns[0][2].split() == ["Not", "me.", "Still", "not."]
    assert notes == {"tapbacks left out": 1}
