"""Text of chats and meetings, chats in several files, and tables with columns of their own."""

from __future__ import annotations

import json
import time
import unicodedata
from collections.abc import Sequence
from datetime import UTC
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.chat_exports import save_zip
from support.history_samples import Json, save
from theanine.errors import BadInput
from theanine.importers import ImportedHistories, read_histories
from theanine.importers.charsets import decode_charset
from theanine.importers.wording import wording
from theanine.importers.words import notice_in


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


def read_text(folder: Path, name: str, text: str, charset: str = "utf-8") -> ImportedHistories:
    file = folder / name
    file.write_bytes(text.encode(charset))
    return read_histories(file)


TABLES = {
    "de": ("Datum;Uhrzeit;Absender;Nachricht", "13.05.2024;21:56", "Jörg", "Schön, 20 €"),
    "es": ("Fecha;Hora;Remitente;Mensaje", "13/05/2024;21:56", "Íñigo", "¿Mañana?"),
    "fr": ("Date;Heure;Expéditeur;Message", "13/05/2024;21:56", "Zoé", "C’est prêt"),
    "it": ("Data;Ora;Mittente;Messaggio", "13/05/2024;21:56", "Niccolò", "Perché no"),
    "pt": ("Data;Hora;Remetente;Mensagem", "13/05/2024;21:56", "João", "Amanhã não"),
    "hr": ("Datum;Vrijeme;Pošiljatelj;Poruka", "13.05.2024.;21:56", "Željko", "Već šaljem"),
    "ru": ("Дата;Время;Отправитель;Сообщение", "13.05.2024;21:56", "Анна", "Паруса сухие"),
    "ar": ("التاريخ;الوقت;المرسل;الرسالة", "13/05/2024;21:56", "آنا", "الأشرعة جافة"),
    "hi": ("दिनांक;समय;प्रेषक;संदेश", "13/05/2024;21:56", "आना", "पाल सूखे हैं"),
    "tr": ("Tarih;Saat;Gönderen;Mesaj", "13.05.2024;21:56", "Ayşe", "Yarın gelirim"),
    "ko": ("날짜;시간;보낸 사람;메시지", "2024-05-13;오후 9:56", "아나", "돛이 말랐어요"),
    "zh": ("日期;時間;傳送者;內容", "2024/5/13;下午 9:56", "安娜", "帆已經乾了"),
    "ja": ("日付;時刻;送信者;メッセージ", "2024/5/13;21:56", "アナ", "帆は乾いたよ"),
    "en": ("Date;Time;Sender;Message", "5/13/2024;9:56 PM", "Zoë", "It’s dry"),
}


@pytest.mark.parametrize("excel", [True, False])
@pytest.mark.parametrize("language", TABLES)
def test_a_table_in_the_language_and_charset_of_its_program(
    language: str, excel: bool, tmp_path: Path
) -> None:
    heading, time, name, words = TABLES[language]
    charset = wording("columns")[language]["charsets"][-1] if excel else "utf-8"
    text = f"{heading}\r\n{time};{name};{words}\r\n"
    reading = read_text(tmp_path, "chat.csv", text, charset)
    assert said(reading) == [("2024-05-13 21:56", name, words)]


def test_a_table_with_the_line_ends_of_macintosh(tmp_path: Path) -> None:
    text = "Datum,Absender,Nachricht\r13.05.2024 21:56,Bo,Gut\r"
    assert said(read_text(tmp_path, "chat.csv", text)) == [("2024-05-13 21:56", "Bo", "Gut")]


def test_a_damaged_table_in_utf_8_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "chat.csv"
    text = "Datum;Absender;Nachricht\n13.05.2024;Jörg;Schöne Grüße, Änne\n".encode()
    file.write_bytes(text.replace("ü".encode(), b"\xfc"))
    with pytest.raises(BadInput, match="not CSV in UTF-8"):
        read_histories(file)


@pytest.mark.parametrize("nothing", ["NULL", r"\N", "(null)", "<null>", "[NULL]"])
def test_a_cell_without_a_value_has_no_words(nothing: str, tmp_path: Path) -> None:
    rows = ["sender\tbody\tsent_at", f"Ana\t{nothing}\t2024-05-13 21:56:00"]
    rows.append("Bo\tNULL is a word.\t2024-05-13 21:57:00")
    reading = read_text(tmp_path, "messages.tsv", "\n".join(rows))
    assert said(reading) == [("2024-05-13 21:57", "Bo", "NULL is a word.")]
    assert reading.notes["empty messages left out"] == 1


def test_the_dates_of_a_table_tell_whether_the_month_comes_first(tmp_path: Path) -> None:
    rows = ["sep=,", "Date,Time,From,Message", "04/05/2024,21:56,Ana,One", "04/25/2024,8:05,Bo,Two"]
    reading = read_text(tmp_path, "chat.csv", "\r\n".join(rows))
    assert [at for at, _, _ in said(reading)] == ["2024-04-05 21:56", "2024-04-25 08:05"]


@pytest.mark.parametrize("year", ["2024", "24"])
@pytest.mark.parametrize("sign", "/.-")
@pytest.mark.parametrize("clock", ["", " 21:56", " 9:56 PM"])
@pytest.mark.parametrize("month_first", [True, False])
def test_the_dates_of_a_table_tell_their_order(
    month_first: bool, clock: str, sign: str, year: str, tmp_path: Path
) -> None:
    days = ((5, 8), (5, 13))
    dates = (sign.join(map(str, (*day[:: 1 if month_first else -1], year))) for day in days)
    rows = ["Date,From,Message", *(f"{date}{clock},Ana,Hi {date}" for date in dates)]
    reading = read_text(tmp_path, "chat.csv", "\n".join(rows))
    assert [at[:10] for at, _, _ in said(reading)] == ["2024-05-08", "2024-05-13"]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("words", ["İçerik", "İleti", "MESAJ", "İÇERİK"])
@pytest.mark.parametrize("name", ["İsim", "Gönderen", "KİŞİ", "YAZAN", "Kullanıcı Adı"])
def test_turkish_headings_with_capitals(name: str, words: str, form: str, tmp_path: Path) -> None:
    heading = unicodedata.normalize(cast("Any", form), f"Tarih;{name};{words}")
    reading = read_text(tmp_path, "chat.csv", f"{heading}\n13.05.2024 21:56;Ana;Merhaba\n")
    assert said(reading) == [("2024-05-13 21:56", "Ana", "Merhaba")]


NOTICES = [
    "This message was deleted",
    "This message has been deleted.",
    "Message deleted by Bo",
    "unsent a message.",
    "Bo unsent a message.",
    "Diese Nachricht wurde gelöscht.",
    "Bo hat eine Nachricht gelöscht",
    "Se eliminó este mensaje.",
    "Mensaje eliminado",
    "Ce message a été supprimé.",
    "Questo messaggio è stato eliminato",
    "Esta mensagem foi apagada.",
    "Ova poruka je izbrisana.",
    "Сообщение удалено",
    "Данное сообщение удалено.",
    "تم حذف هذه الرسالة",
    "यह मैसेज डिलीट किया गया",
    "Bu mesaj silindi.",
    "삭제된 메시지입니다.",
    "이 메시지가 삭제되었습니다.",
    "此消息已删除",
    "你撤回了一条消息",
    "Bo已收回訊息",
    "このメッセージは削除されました",
    "Boがメッセージの送信を取り消しました",
    "** Unable to decrypt: no keys, yet. **",
    "I sent you an OMEMO encrypted message but your client doesn’t support that.",
]
WORDS = [
    "I deleted a message",
    "Delete the message!",
    "The message was about deleted files.",
    "Ich habe eine Nachricht gelöscht",
    "我撤回了一条消息",
    "Can you decrypt it?",
    "Waiting",
    "He says that this message was deleted by mistake, but I saw it.",
    "This was removed from the menu.",
    "This was recalled by the manufacturer",
    "Unable to decrypt my old drive, any idea?",
    "This message is PGP encrypted with my new key.",
    "I sent you a PGP encrypted message, did it arrive?",
    "Message could not be decrypted here, could you send it again?",
    "Удалила сообщение",
    "Apagou uma mensagem",
    "मैसेज डिलीट कर दिया",
    "消息撤回",
    "已删除消息",
]


@pytest.mark.parametrize("words", NOTICES)
def test_a_notice_in_place_of_a_message_is_left_out(words: str, tmp_path: Path) -> None:
    lines = [
        "--------------- Monday, May 13, 2024 ---------------",
        "[Ana] [9:56 PM] The mast is up.",
    ]
    reading = read_text(tmp_path, "chat.txt", "\n".join([*lines, f"[Bo] [9:57 PM] {words}"]))
    assert [text for _, _, text in said(reading)] == ["The mast is up."]
    assert sum(n for note, n in reading.notes.items() if note.endswith("messages left out")) == 1


@pytest.mark.parametrize("words", WORDS)
def test_words_about_messages_are_no_notice(words: str) -> None:
    assert notice_in(words) == ""


TAKEN_BACK = [
    ("{} deleted a message", "My sister", "Sorry, I accidentally", "Somebody"),
    ("{} unsent this message", "My boss", "Yesterday Cy"),
    ("{} hat eine Nachricht gelöscht.", "Meine Schwester", "Jemand"),
    ("{} eliminó un mensaje", "Mi hermana", "Ayer Cy"),
    ("{} a supprimé un message", "Ma sœur", "Elle"),
    ("{} ha eliminato un messaggio", "Mia sorella", "Lei"),
    ("{} apagou uma mensagem", "A minha irmã", "Ela"),
    ("{} obrisala poruku", "slučajno sam", "Moja sestra je", "Nije"),
    ("{} удалила сообщение", "случайно", "Моя сестра"),
    ("لقد قام {} بحذف رسالة", "أخي", "المدير"),
    ("{} ने एक मैसेज डिलीट किया", "मेरी बहन", "उस"),
    ("{} bir mesaj sildi", "yanlışlıkla", "Kız kardeşim"),
    ("{}删除了消息", "不小心", "我妹妹"),
    ("{}撤回了一条消息", "刚才", "她"),
    ("{}がメッセージを削除しました", "妹", "間違えて友達"),
    ("{} 메시지를 삭제했습니다", "실수로", "제 동생이"),
]


@pytest.mark.parametrize("notice", TAKEN_BACK)
def test_a_notice_names_who_wrote_the_message(notice: Sequence[str], tmp_path: Path) -> None:
    pattern, *others = notice
    told = [pattern.format(who) for who in (*others, "Bo")]
    head = "--------------- Monday, May 13, 2024 ---------------"
    lines = [f"[Ana] [9:57 PM] {words}" for words in (*told, pattern.format("Ana"))]
    reading = read_text(tmp_path, "chat.txt", "\n".join([head, "[Bo] [9:56 PM] Hi.", *lines]))
    assert [text for _, _, text in said(reading)] == ["Hi.", *told]
    assert reading.notes["deleted messages left out"] == 1


@pytest.mark.parametrize("by", ["Bo", "Ana", "admin Bo", "an admin", "the sender"])
@pytest.mark.parametrize("what", ["This message was deleted", "Message recalled"])
def test_a_notice_says_who_of_the_chat_deleted_a_message(what: str, by: str) -> None:
    assert notice_in(f"{what} by {by}.", "Ana Horvat", {"Bo"})
    for other in ("the manufacturer", "my sister", "admin mistake", "Cy"):
        assert notice_in(f"{what} by {other}.", "Ana Horvat", {"Bo"}) == ""


LEFT = "\u200e"
MARKED = {
    f"{LEFT}<attached: 03-PHOTO-2024.jpg>": ("", "a picture"),
    f"It is up, in v1.2 {LEFT}<attached: 03-PHOTO-2024.jpg>": ("It is up, in v1.2", "a picture"),
    f"It\nis up {LEFT}<Anhang: 03-PHOTO-2024.jpg>": ("It\nis up", "a picture"),
    f"上がった {LEFT}<添付ファイル：03-PHOTO-2024.jpg>": ("上がった", "a picture"),
    f"Plan.pdf • {LEFT}3 pages {LEFT}<attached: 04-Plan.pdf>": ("", 'the file "04-Plan.pdf"'),
    f"It is up {LEFT}image omitted": ("It is up", "a picture"),
    f"see x.com\nfor it {LEFT}video omitted": ("see x.com\nfor it", "a video"),
    f"plan.pdf • {LEFT}2 pages {LEFT}document omitted": ("", 'the file "plan.pdf"'),
    "It is up <attached: 03-PHOTO-2024.jpg>": ("It is up", "a picture"),
    **{
        words: (words, "")
        for words in (
            "if a <b c: d> e",
            "Look at <https://example.com> please",
            "Look at <there: https://example.com> please",
            "<mailto:ana@x.org>",
            "<mail: ana@x.org>",
            "<see:plan.pdf>",
        )
    },
}


@pytest.mark.parametrize("written", MARKED)
def test_what_is_said_of_a_picture_on_an_iphone(written: str, tmp_path: Path) -> None:
    text = f"[13.05.24, 21:55:00] Bo: Is it up?\r\n[13.05.24, 21:56:00] Ana: {written}\r\n"
    (history,) = read_text(tmp_path, "_chat.txt", text).histories
    turn = history.transcripts[0].turns[-1]
    assert (turn.text, turn.attachment) == MARKED[written]


def test_markdown_of_signal_export(tmp_path: Path) -> None:
    text = (
        "[2024-05-13 21:56:00] Bo: Washed?\n\n[2024-05-13 21:57:00] Me: \n> Washed?\n\nTwice.\n"
        "All three.\n(- Bo: ❤️, Klara: 👍 -)\n\n"
        "[2024-05-13 21:58:00] Bo: (This message was deleted)\n\n"
        "[2024-05-13 21:59:00] Bo: See ![a.jpg](./media/1_a.jpg)  "
        "[b (1).pdf](./media/b (1).pdf)  \n\n"
        "[2024-05-13 22:00:00] Me: \n(( 🐱 ))\n"
    )
    reading = read_text(tmp_path, "chat.md", text)
    (history,) = reading.histories
    assert [(t.speaker, t.text, t.attachment) for t in history.transcripts[0].turns] == [
        ("Bo", "Washed?", ""),
        ("Me", "Twice.\nAll three.", ""),
        ("Bo", "See", 'the file "a.jpg", the file "b (1).pdf"'),
        ("Me", "", "the sticker 🐱"),
    ]
    assert reading.notes["reactions left out"] == reading.notes["deleted messages left out"] == 1


@pytest.mark.parametrize("words", ["> 50 people came", ">:( no", "> 50 came\n> and went", ">"])
def test_words_with_the_sign_of_a_quote_in_signal_export(words: str, tmp_path: Path) -> None:
    reading = read_text(tmp_path, "chat.md", f"[2024-05-13 21:57] Bo: {words}\n")
    assert [text for _, _, text in said(reading)] == [words]
    assert "quotes of other messages left out" not in reading.notes


SIDES = {
    "**User**": "**Cursor**",
    "_**User (2024-05-13 21:56Z)**_": "_**Agent (model x, mode Agent)**_",
    "### User Input": "### Planner Response",
    "##### Du hast gesagt:": "###### ChatGPT hat gesagt:",
    "##### Vous avez dit :": "###### ChatGPT a dit :",
    "**Usuario:**": "**Asistente:**",
    "## Utente": "## Assistente",
    "## Você": "## ChatGPT",
    "## Korisnik": "## Asistent",
    "## Пользователь": "## Ассистент",
    "## المستخدم": "## المساعد",
    "## उपयोगकर्ता": "## सहायक",
    "## Kullanıcı": "## Asistan",
    "## 사용자": "## 어시스턴트",
    "**用户**": "**助手**",
    "**ユーザー**": "**アシスタント**",
}


@pytest.mark.parametrize("user", SIDES)
def test_both_sides_of_a_chat_in_markdown(user: str, tmp_path: Path) -> None:
    sides = [user, "Is it wrong?", SIDES[user], "Yes:\n\n---\n\n> **User:** is a word here.", user]
    text = "\n\n".join(["# Price\n_Exported on 5/13/2024 at 21:56_\n\n---", *sides, "Fix it."])
    reading = read_text(tmp_path, "price.md", text)
    turns = [t for h in reading.histories for s in h.transcripts for t in s.turns]
    assert [(t.role, t.text.split("\n")[0]) for t in turns] == [
        ("user", "Is it wrong?"),
        ("assistant", "Yes:"),
        ("user", "Fix it."),
    ]
    assert {f"{t.at:%Y-%m-%d}" for t in turns} == {"2024-05-13"}


FORMS = ("## {}", "**{}:**", "**{}**")


@pytest.mark.parametrize("user", FORMS)
@pytest.mark.parametrize("assistant", FORMS)
def test_sides_of_a_chat_in_markdown_in_any_forms(
    user: str, assistant: str, tmp_path: Path
) -> None:
    sides = [user.format("You"), "Is it?", assistant.format("ChatGPT"), "It is."]
    reading = read_text(tmp_path, "boat.md", "\n\n".join([*sides, *sides]))
    assert reading.format == "markdown"
    assert [text for _, _, text in said(reading)] == ["Is it?", "It is."] * 2


ABOVE = {
    "# The attack of 11 September 2001": None,
    "## 2001-09-11": None,
    "We talk of what happened on 11 September 2001 here.": None,
    "Deadline: 2001-09-11": None,
    "Created: 2024-05-13": "2024-05-13",
    "**Date:** Monday, May 13, 2024": "2024-05-13",
    "*13. Mai 2024, 21:56*": "2024-05-13",
    "> 2024-05-13 9:56 PM": "2024-05-13",
    "Exported from ChatGPT on 13 May 2024": "2024-05-13",
    "Gespeichert am 13.05.2024 um 21:56": "2024-05-13",
    "Fecha: 13 de mayo de 2024": "2024-05-13",
}


@pytest.mark.parametrize("line", ABOVE)
@pytest.mark.parametrize("first", ["", "# The attack of 11 September 2001\n\n"])
def test_lines_with_dates_above_a_chat_in_markdown(first: str, line: str, tmp_path: Path) -> None:
    chat = f"{first}{line}\n\n## You\n\nHi.\n\n## ChatGPT\n\nHello.\n"
    reading = read_text(tmp_path, "chat.md", chat)
    dated = {day for day, _, _ in said(reading)}
    assert {day[:10] for day in dated} == {ABOVE[line] or "2000-01-01"}


@pytest.mark.parametrize("field", ["topicId", "session_id", "conversationId", "thread_id"])
@pytest.mark.parametrize("wrapped", [True, False])
def test_messages_of_several_conversations_in_one_list(
    field: str, wrapped: bool, tmp_path: Path
) -> None:
    messages: list[Json] = [
        {"role": role, "content": f"{text} {talk}.", "createdAt": 1_715_630_000_000, field: talk}
        for role, text in (("user", "Hello"), ("assistant", "Hi"))
        for talk in ("a", "b")
    ]
    whole = {"exportType": "all", "state": {"messages": messages}} if wrapped else messages
    (history,) = read_histories(save(tmp_path, "chats.json", whole)).histories
    assert {each.key: [t.text for t in each.turns] for each in history.transcripts} == {
        talk: [f"Hello {talk}.", f"Hi {talk}."] for talk in ("a", "b")
    }


@pytest.mark.parametrize(
    ("room", "message"),
    [
        ("room_id", {"type": "m.room.message", "sender": "@a:x", "content": {"body": "Hi."}}),
        ("rid", {"_id": "1", "msg": "Hi.", "u": {"username": "ana"}, "ts": "2024-05-13T21:56:00Z"}),
        ("thread_id", {"object": "thread.message", "role": "user", "content": "Hi."}),
    ],
)
def test_a_message_without_the_services_own_id_parts_no_others(
    room: str, message: Json, tmp_path: Path
) -> None:
    if room == "room_id":
        message = {**message, "event_id": "$1", "origin_server_ts": 1_715_630_000_000}
    records = [{**message, **ids} for ids in ({room: "a"}, {}, {room: "b"}, {room: "a"})]
    lines = "\n".join(json.dumps(each) for each in records)
    (history,) = read_text(tmp_path, "chat.jsonl", lines).histories
    assert sorted(len(each.turns) for each in history.transcripts) == [1, 1, 2]


def test_messages_of_which_some_name_no_conversation_are_one(tmp_path: Path) -> None:
    ids: list[Json] = [{"session_id": "a"}, {}, {"session_id": "b"}]
    messages = [{"role": "user", "content": "Hello.", **each} for each in ids]
    (history,) = read_histories(save(tmp_path, "chat.json", messages)).histories
    assert [len(each.turns) for each in history.transcripts] == [3]


@pytest.mark.parametrize("service", ["ChatGPT", "Claude", "Gemini"])
@pytest.mark.parametrize("timed", [True, False])
def test_a_chat_that_an_extension_saved(timed: bool, service: str, tmp_path: Path) -> None:
    talk = [("Prompt", "My boat is Mira."), ("Response", "A fine name.")]
    at = {"time": "5/8/2024 21:55:00"} if timed else {}
    whole = {
        "metadata": {
            "title": "Boat",
            "user": {"name": "Ana", "email": "ana@example.org"},
            "dates": {"created": "5/8/2024 21:55:00", "exported": "5/20/2024 9:00:00"},
            "powered_by": f"{service} Exporter (https://www.example.org)",
        },
        "messages": [{"role": role, "say": words, **at} for role, words in talk],
    }
    reading = read_histories(save(tmp_path, f"{service}-Boat.json", whole))
    turns = [turn for session in reading.histories[0].transcripts for turn in session.turns]
    assert [(turn.role, turn.text) for turn in turns] == [
        ("user", talk[0][1]),
        ("assistant", talk[1][1]),
    ]
    assert {f"{turn.at:%F %R}" for turn in turns} == {"2024-05-08 21:55"}
    assert reading.histories[0].transcripts[0].metadata["title"] == "Boat"
    assert not [note for note in reading.notes if "left out" in note]


def test_a_backup_of_chatbox_has_earlier_threads(tmp_path: Path) -> None:
    def thread(id: str, words: str, millis: int) -> Json:
        message = {"id": id, "role": "user", "content": words, "timestamp": millis}
        return {"id": f"t{id}", "name": words, "messages": [message]}

    session = {**thread("2", "Second.", 1_715_630_600_000), "type": "chat"}
    session["threads"] = [thread("1", "First.", 1_715_630_000_000)]
    older: Json = {"settings": {"key": "a secret of mine"}, "chat-sessions": [session]}
    backup: Json = {"chat-sessions-list": None, "session:x": session}
    for whole in (older, backup):
        reading = read_histories(save(tmp_path, "chatbox.json", whole))
        assert reading.format == "chatbox"
        assert [text for _, _, text in said(reading)] == ["First.", "Second."]


def test_many_blanks_before_words_cost_no_time(tmp_path: Path) -> None:
    blanks = b" " * 65_000
    files: dict[str, object] = {"a.json": blanks + b"[1", "b.json": blanks + b"[ ]"}
    files["c.json"] = [{"role": "user", "content": "Hi."}]
    began = time.process_time()
    reading = read_histories(save_zip(tmp_path / "export.zip", files), keep_going=True)
    assert time.process_time() - began < 1
    assert [words for _, _, words in said(reading)] == ["Hi."]


def test_json_after_a_byte_order_mark(tmp_path: Path) -> None:
    message = {"uuid": "m", "text": "Hello.", "sender": "human", "created_at": "2024-05-13T19:56Z"}
    talks: list[Json] = [{"uuid": "a", "chat_messages": None}, {"uuid": "c"}]
    talks.append({"uuid": "b", "chat_messages": [message]})
    text = "\ufeff" + json.dumps(talks, indent=1)
    assert [words for _, _, words in said(read_text(tmp_path, "claude.json", text))] == ["Hello."]


def page_of_facebook(name: str, words: str, time: str, more: str = "") -> str:
    said = f'<div class="_a6-p"><div><div></div><div>{words}</div><div>{more}</div></div></div>'
    head, foot = f'<h2 class="_a6-h">{name}</h2>', f'<footer class="_a6-o">{time}</footer>'
    return f'<section class="_a6-g">{head}{said}{foot}</section>'


@pytest.mark.parametrize(
    "time", ["May 13, 2024 9:56 PM", "13. Mai 2024, 21:56", "2024年5月13日 21:56"]
)
def test_pages_of_facebook(time: str, tmp_path: Path) -> None:
    liked = '<ul class="_tqp"><li>❤Ana</li></ul>'
    blocks = page_of_facebook("Bo", "Figs &amp; bread.", time, liked)
    blocks += page_of_facebook("Ana", "", time, '<img src="photos/1.jpg"/>')
    text = f"<html><head><title>Bo</title></head><body>{blocks}</body></html>"
    reading = read_text(tmp_path, "message_1.html", text)
    turns = [t for h in reading.histories for s in h.transcripts for t in s.turns]
    assert {(f"{t.at:%F %H:%M}", t.speaker, t.text, t.attachment) for t in turns} == {
        ("2024-05-13 21:56", "Bo", "Figs & bread.", ""),
        ("2024-05-13 21:56", "Ana", "", "a picture"),
    }
