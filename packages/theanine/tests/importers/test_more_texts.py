"""Text of chats and meetings, chats in several files, and tables with columns of their own."""

from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.chat_exports import save_zip
from support.history_samples import Json, save
from theanine.errors import BadInput
from theanine.importers import ImportedHistories, read_histories
from theanine.importers.charsets import decode_charset


def said(reading: ImportedHistories) -> list[tuple[str, str, str]]:
    """Return time, speaker and words of all turns."""
    return [
        (f"{turn.at.astimezone(UTC):%F %H:%M}", turn.speaker, turn.full_text.strip())
        for history in reading.histories
        for session in history.transcripts
        for turn in session.turns
    ]


ENGLISH = """KakaoTalk Chats with Bo
Date Saved : May 20, 2024 at 12:30\u202fPM


May 8, 2024 at 1:55\u202fPM
May 8, 2024 at 1:56\u202fPM, Ana : The mast
is : up.
May 9, 2024 at 11:40\u202fAM
May 9, 2024 at 11:40\u202fAM, Bo left.
May 9, 2024 at 11:41\u202fAM, Ana : Photo
"""
KOREAN = """보 님과 카카오톡 대화
저장한 날짜 : 2024년 5월 20일 오후 12:30

2024년 5월 8일 오후 1:55
2024년 5월 8일 오후 1:56, Ana : The mast
is : up.
2024년 5월 9일 오전 11:40
2024년 5월 9일 오전 11:40, Bo님이 나갔습니다.
2024년 5월 9일 오전 11:41, Ana : 사진
"""


@pytest.mark.parametrize("chat", [ENGLISH, KOREAN])
def test_kakaotalk_of_a_phone(chat: str, tmp_path: Path) -> None:
    reading = read_histories(save(tmp_path, "KakaoTalkChats.txt", chat))
    assert reading.format == "kakaotalk"
    assert said(reading) == [
        ("2024-05-08 13:56", "Ana", "The mast\nis : up."),
        ("2024-05-09 11:41", "Ana", "[shares a picture]"),
    ]
    assert reading.notes["system lines left out"] == 1


def test_a_chat_of_zoom_with_dates(tmp_path: Path) -> None:
    chat = (
        "2024-05-08 13:56:00 From Ana to Everyone:\n\tThe mast is eleven meters.\n"
        '2024-05-08 13:57:00 Von Bo an Alle:\n\tReplying to "The mast is ele..."\n\t\n\tToo long.\n'
        "2024-05-09 13:58:00 From Ana to Bo(Direct Message):\n"
        '\tReacted to "Too long." with \U0001f44d\n'
        "2024-05-09 13:59:00 From Ana to Bo(Direct Message):\n\tRent one.\n\tOr two.\n"
    )
    reading = read_histories(save(tmp_path, "meeting_saved_chat.txt", chat))
    assert said(reading) == [
        ("2024-05-08 13:56", "Ana", "The mast is eleven meters."),
        ("2024-05-08 13:57", "Bo", "Too long."),
        ("2024-05-09 13:59", "Ana", "Rent one.\nOr two."),
    ]


MEET = """\ufeffHarbor (2024-05-08 13:56 GMT+2) - Transcript
Attendees
Ana, Bo
Transcript
00:00:00

Ana: The mast is up.
It is red.
Bo: Good: at last.

00:05:00

Ana: Yes.
Meeting ended after 00:06:12 \N{WAVING HAND SIGN}
This editable transcript was computer generated and might contain errors.
"""


def test_a_transcript_of_meet_as_text(tmp_path: Path) -> None:
    name = "Harbor (2024-05-08 13_56 GMT+2) - Transcript.txt"
    assert said(read_histories(save(tmp_path, name, MEET))) == [
        ("2024-05-08 11:56", "Ana", "The mast is up.\nIt is red."),
        ("2024-05-08 11:56", "Bo", "Good: at last."),
        ("2024-05-08 12:01", "Ana", "Yes."),
    ]


@pytest.mark.parametrize("head", ["Ana  0:{}  ", "Ana 00:{}", "Ana (00:{}):"])
def test_transcripts_with_a_name_and_a_time_above_the_words(head: str, tmp_path: Path) -> None:
    heads = (head.format(second) for second in ("02", "11", "31"))
    parts = [f"{line}\nThe mast is up.\nIt is {i}." for i, line in enumerate(heads)]
    text = "\n\n".join([*parts, "Transcribed by https://otter.ai", ""])
    reading = read_histories(save(tmp_path, "talk.txt", text))
    assert [words for _, _, words in said(reading)] == [
        f"The mast is up.\nIt is {i}." for i in range(3)
    ]
    assert {name for _, name, _ in said(reading)} == {"Ana"}


def test_a_timetable_is_no_transcript(tmp_path: Path) -> None:
    text = "# 2024-05-08\n\nLunch 12:30\nSoup.\n\nDinner 18:00\nFish.\n"
    assert read_histories(save(tmp_path, "day.md", text)).format == "notes"


def test_a_chat_of_messenger_in_two_files_is_one(tmp_path: Path) -> None:
    def part(*messages: tuple[str, int], title: str = "Bo") -> Json:
        rows = [{"sender_name": "Bo", "content": text, "timestamp_ms": at} for text, at in messages]
        people = [{"name": "Bo"}, {"name": "Ana"}]
        return {
            "participants": people,
            "messages": rows,
            "thread_path": title,
            "title": title,
        }

    start = 1715176560000
    files: dict[str, object] = {
        "inbox/bo_1/message_1.json": part(("four", start + 3000), ("three", start + 2000)),
        "inbox/bo_1/message_2.json": part(("two", start + 1000), ("one", start)),
        "inbox/cy_2/message_1.json": part(("other", start), title="Cy"),
    }
    reading = read_histories(save_zip(tmp_path / "facebook.zip", files))
    sessions = [s for h in reading.histories for s in h.transcripts]
    assert sorted([t.text for t in s.turns] for s in sessions) == [
        ["one", "two", "three", "four"],
        ["other"],
    ]
    files["inbox/bo_1/message_2.json"] = b'{"messages": ['
    reading = read_histories(save_zip(tmp_path / "broken.zip", files))
    assert sorted(words for _, _, words in said(reading)) == ["four", "other", "three"]
    assert [each.where for each in reading.rejected] == ["inbox/bo_1/message_2.json"]


def test_a_link_shared_without_words_is_told_by_its_address(tmp_path: Path) -> None:
    url = "https://example.org/sloop"
    rows: list[Json] = [
        {"sender_name": "Bo", "timestamp_ms": 1715176560000, "share": {"link": url}},
        {
            "sender_name": "Bo",
            "timestamp_ms": 1715176570000,
            "content": f"See {url}",
            "share": {"link": url},
        },
    ]
    chat: Json = {"participants": [{"name": "Bo"}], "messages": rows}
    reading = read_histories(save(tmp_path, "message_1.json", chat))
    assert [words for _, _, words in said(reading)] == [
        f"[shares a link to {url}]",
        f"See {url} [shares a link]",
    ]


def test_a_forwarded_message_of_teams_has_its_words_and_writer(tmp_path: Path) -> None:
    held = {
        "originalMessageContent": "<p>The lock closes&nbsp;early.</p>",
        "originalConversationId": "19:x",
        "originalMessageSender": {"user": {"displayName": "Harbor Office"}},
    }
    kind = "forwardedMessageReference"
    message: Json = {
        "messageType": "message",
        "createdDateTime": "2024-05-08T13:56:00Z",
        "from": {"user": {"displayName": "Bo"}},
        "body": {"contentType": "html", "content": '<attachment id="1"></attachment>'},
        "attachments": [{"id": "1", "contentType": kind, "content": json.dumps(held)}],
    }
    reading = read_histories(save(tmp_path, "m.json", {"value": [message]}))
    words = 'a message that says "Harbor Office: The lock closes early."'
    assert said(reading) == [("2024-05-08 13:56", "Bo", f"[shares {words}]")]


PAGES = {
    "en": ("From:\tBo <bo@example.org>\nSent:\tWednesday, May 8, 2024 1:56 PM\nTo:\tAna\nCc:\tCy\n"
           "Subject:\tBerth\nAttachments:\tprices.pdf; plan.txt\n\n"),
    "de": ("Von:\tBo <bo@example.org>\nGesendet:\tMittwoch, 8. Mai 2024 13:56\nAn:\tAna\n"
           "Betreff:\tBerth\nAnlagen:\tprices.pdf; plan.txt\n\n"),
    "fr": ("De :\tBo <bo@example.org>\nEnvoyé :\tmercredi 8 mai 2024 13:56\nÀ :\tAna\n"
           "Objet :\tBerth\nPièces jointes :\tprices.pdf; plan.txt\n\n"),
}  # fmt: skip


@pytest.mark.parametrize("charset", ["utf-8", "cp1252", "utf-16"])
@pytest.mark.parametrize("language", PAGES)
def test_a_mail_that_outlook_saved_as_text(language: str, charset: str, tmp_path: Path) -> None:
    file = tmp_path / "Berth.txt"
    text = f"{PAGES[language]}The berth is free.\n\n{PAGES[language]}Is it free?\n"
    file.write_bytes(text.replace("\n", "\r\n").encode(charset))
    reading = read_histories(file)
    assert reading.format == "mail"
    shared = '[shares the file "prices.pdf", the file "plan.txt"]'
    words = f"Subject: Berth\n\nThe berth is free. {shared}"
    assert said(reading) == [("2024-05-08 13:56", "Bo", words)]


@pytest.mark.parametrize("charset", ["utf-8", "cp1252"])
def test_fields_of_a_mail_that_are_not_encoded(charset: str, tmp_path: Path) -> None:
    file = tmp_path / "x.eml"
    head = "From: Núria Peña <n@example.org>\nSubject: Mañana\nDate: Wed, 8 May 2024 13:56:00 +0000"
    file.write_bytes(f"{head}\n\nHasta mañana.\n".encode(charset))
    assert said(read_histories(file)) == [
        ("2024-05-08 13:56", "Núria Peña", "Subject: Mañana\n\nHasta mañana.")
    ]


OTHER_NAMES = {"iso-8859-2": "cp1250", "iso-8859-5": "cp1251", "iso-8859-7": "cp1253",
               "iso-8859-13": "cp1257", "iso-8859-15": "cp1252"}  # fmt: skip


@pytest.mark.parametrize("name", OTHER_NAMES)
@given(data=st.data())
def test_windows_charsets_under_a_standard_name(name: str, data: st.DataObject) -> None:
    charset = OTHER_NAMES[name]
    letters = [bytes([b]).decode(charset, "ignore") for b in range(0x80, 0x100)]
    words = data.draw(
        st.text(st.sampled_from([*filter(str.isalpha, letters), "a", " "]), max_size=20)
    )
    sent = f"“{words}” – x".encode(charset)
    assert decode_charset(sent, name) == sent.decode(charset)


@given(st.text(st.characters(min_codepoint=0xA0, max_codepoint=0x2FFF), min_size=1))
def test_utf_8_under_the_name_of_a_charset_of_one_byte(words: str) -> None:
    for name in ("iso-8859-1", "windows-1252", "iso-8859-2", "koi8-r"):
        assert decode_charset(words.encode(), name) == words


WECHAT = (
    "localId,TalkerId,Type,SubType,IsSender,CreateTime,Status,StrContent,StrTime,Remark,NickName,Sender\n"
    "1,3,10000,0,0,1715176500,,You have added Bo,2024-05-08 13:55:00,Bo,Nana,wxid_2\n"
    "2,3,1,0,0,1715176560,,The mast is up.,2024-05-08 13:56:00,Bo,Nana,wxid_2\n"
    '3,3,1,0,1,1715176620,,"Good,\nat last.",2024-05-08 13:57:00,Bo,Nana,wxid_1\n'
    '4,3,3,0,0,1715176680,,"<?xml version=""1.0""?><msg><img key=""9c""/></msg>",x,Bo,Nana,wxid\n'
    '5,3,49,5,0,1715176740,,"<msg><title>Tar</title><des>How to</des></msg>",x,Bo,Nana,wxid_2\n'
)


def test_a_table_of_wechat(tmp_path: Path) -> None:
    file = tmp_path / "messages.csv"
    file.write_text(WECHAT, "utf-8")
    reading = read_histories(file, speaker="Ana")
    assert said(reading) == [
        ("2024-05-08 13:56", "Bo", "The mast is up."),
        ("2024-05-08 13:57", "Ana", "Good,\nat last."),
        ("2024-05-08 13:58", "Bo", "[shares a picture]"),
        ("2024-05-08 13:59", "Bo", "Tar: How to"),
    ]
    assert reading.notes["service messages left out"] == 1


def test_text_of_wechat_and_a_log_that_looks_like_it(tmp_path: Path) -> None:
    text = "2024-05-08 13:56:00 Bo\nThe mast is up.\n\n2024-05-08 13:57:00 Ana\nGood.\n"
    assert said(read_histories(save(tmp_path, "Bo.txt", text))) == [
        ("2024-05-08 13:56", "Bo", "The mast is up."),
        ("2024-05-08 13:57", "Ana", "Good."),
    ]
    log = "2024-05-08 13:56:00 INFO started\n2024-05-08 13:57:00 INFO done\n"
    with pytest.raises(BadInput, match="unknown format"):
        read_histories(save(tmp_path, "run.txt", log))


def test_a_table_with_date_and_time_in_two_columns(tmp_path: Path) -> None:
    text = "Date,Time,Sender name,Message text\n08/05/2024,13:56:00,Ana,The mast is up.\n"
    assert said(read_histories(save(tmp_path, "v.csv", text))) == [
        ("2024-05-08 13:56", "Ana", "The mast is up.")
    ]
    text = (
        "date,is_from_me,contact,text\n2024-05-08 13:56:00,1,Bo,Up.\n2024-05-08 13:57:00,0,Bo,Ok.\n"
    )
    reading = read_histories(save(tmp_path, "i.csv", text), speaker="Ana")
    assert [(name, words) for _, name, words in said(reading)] == [("Ana", "Up."), ("Bo", "Ok.")]


def test_hangouts(tmp_path: Path) -> None:
    def event(number: int, content: object, kind: str = "REGULAR_CHAT_MESSAGE") -> Json:
        return {
            "sender_id": {"gaia_id": "1", "chat_id": "1"},
            "timestamp": f"{1715176560000000 + number}",
            "event_id": f"e{number}",
            "event_type": kind,
            "chat_message": {"message_content": content},
        }

    segments = [
        {"type": "TEXT", "text": "Up"},
        {"type": "LINE_BREAK"},
        {"type": "TEXT", "text": "!"},
    ]
    photo = {
        "embed_item": {"type": ["PLUS_PHOTO", "THING"], "plus_photo": {"url": "https://x.org"}}
    }
    events = [
        event(1, {"segment": segments}),
        event(2, {"attachment": [photo]}),
        event(3, None, "HANGOUT_EVENT"),
    ]
    people = [{"id": {"gaia_id": "1", "chat_id": "1"}, "fallback_name": "Ana"}]
    about: Json = {"id": {"id": "c"}, "participant_data": people}
    new: Json = {"conversation": {"conversation": about}, "events": events}
    old: Json = {"conversation_state": {"conversation": about, "event": events}}
    for export in ({"conversations": [new]}, {"conversation_state": [old]}):
        reading = read_histories(save(tmp_path, "Hangouts.json", export))
        assert said(reading) == [
            ("2024-05-08 13:56", "Ana", "Up\n!"),
            ("2024-05-08 13:56", "Ana", "[shares a picture]"),
        ]
        assert reading.notes["service messages left out"] == 1


PERPLEXITY = """<img src="https://r2cdn.perplexity.ai/logo.png" style="height:64px"/>

# Which oil?

Tung oil.[^1_1][^1_2]

## Why

<span style="display:none">[^1_3]</span>

<div align="center">⁂</div>

[^1_1]: https://example.org/oil

---

# Two coats?

Yes.
"""


def test_a_thread_of_perplexity_as_markdown(tmp_path: Path) -> None:
    reading = read_histories(save(tmp_path, "oil.md", PERPLEXITY))
    turns = [t for h in reading.histories for s in h.transcripts for t in s.turns]
    assert [(t.role, t.text) for t in turns] == [
        ("user", "Which oil?"),
        ("assistant", "Tung oil.\n\n## Why"),
        ("user", "Two coats?"),
        ("assistant", "Yes."),
    ]
