"""Mail: threads, own words without quotes, HTML, odd encodings, and what is left out."""

from __future__ import annotations

from contextlib import suppress
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine.importers import read_histories
from theanine.importers.charsets import decode_charset
from theanine.importers.html_text import html_to_text
from theanine.importers.quotes import strip_quotes
from theanine.types import History

QUOTING = {
    "gmail": "\n\nOn Wed, May 8, 2024 at 1:56 PM Bo <bo@example.org> wrote:\n\n> Ferry?\n>\n> Bo\n",
    "folded": "\n\nOn Wed, May 8, 2024 at 1:56 PM Bo Horvat\n<bo@example.org> wrote:\n> Ferry?\n",
    "german": "\n\nAm 08.05.2024 um 13:56 schrieb Bo:\n> Ferry?\n",
    "french": "\n\nLe mer. 8 mai 2024 à 13:56, Bo <bo@example.org> a écrit :\n> Ferry?\n",
    "gnus": "\n\nBo Novak <bo@example.org> writes:\n\n > Ferry?\n",
    "outlook": "\n\n________________________________\nFrom: Bo\nSent: Monday\nTo: Ana\n\nFerry?\n",
    "original": "\n\n-----Original Message-----\nFrom: Bo\nFerry?\n",
    "signature": "\n-- \nAna Horvat\n+385 1 234\n",
}


LANGUAGES = {
    "nl": "Van: {}\nVerzonden: woensdag 8 mei 2024 10:00\nAan: Ana\nOnderwerp: x",
    "pl": "Od: {}\nWysłano: środa, 8 maja 2024 10:00\nDo: Ana\nTemat: x",
    "sv": "Från: {}\nSkickat: den 8 maj 2024 10:00\nTill: Ana\nÄmne: x",
    "fi": "Lähettäjä: {}\nLähetetty: keskiviikko 8. toukokuuta 2024 10.00\nAihe: x",
    "ru": "*От:* {}\n*Отправлено:* 8 мая 2024 г. 10:00\n*Кому:* Ana\n*Тема:* x",
    "es": "Enviado: miércoles, 8 de mayo de 2024 10:00\nDe: {}\nPara: Ana",
    "ko": "보낸 사람: {}\n보낸 날짜: 2024년 5월 8일 수요일 10:00\n받는 사람: Ana",
    "ar": "من: {}\nتاريخ الإرسال: 8 مايو 2024 10:00\nإلى: Ana\nالموضوع: x",
    "ja": "差出人: {}\n送信日時: 2024年5月8日 10:00\n宛先: Ana\n件名: x",
    "zh": "发件人：{}\n发送时间：2024年5月8日 10:00\n收件人：Ana",
    "yahoo": "On Wednesday, May 8, 2024, 10:00 AM, {} wrote:",
    "gmail-zh": "{} 于2024年5月8日周三 10:00写道：",
    "gmail-ja": "2024年5月8日(水) 10:00 {}:",
    "gmail-ru": "ср, 8 мая 2024 г. в 10:00, {}:",
    "gmail-tr": "{}, 8 May 2024 Çar, 10:00 tarihinde\nşunu yazdı:",
    "apple": "On 8 May 2024, at 10:00, {} wrote:",
    "yahoo-fr": "      De : {}\n À : Ana\n Envoyé le : Mercredi 8 mai 2024 10h00\n Objet : x",
    "yahoo-ja": "差出人： {}\n 宛先： Ana\n 送信日時： 2024年5月8日 10時00分\n 件名： x",
    "folded-pt": "Em 8 de maio de 2024 às 10:00:35, Bo Novak (\nbo@example.org) escreveu:",
    "brackets": "Bo Novak [mailto:bo@example.org] kirjoitti 8.5.2024 10.00:",
    "zoho": "---- On Wed, 08 May 2024 10:00:00 +0200 {} wrote ----",
    "wrapped": "ons. 8. mai 2024 kl. 10:00 skrev Bo <bo@example.org\n>:",
    "wrapped-within": "Le mer. 8 mai 2024 à 10:00, Bo <bo@exam\nple.org> a écrit :",
    "bare": "On Wed, May 8, 2024 at 10:00 AM, bo@example.org wrote:",
    "samsung": "-------- Pradinis laiškas --------\nNuo: {}\nData: 08.05.24 10:00\nKam: Ana",
    "fastmail": "Am Mi, 8. Mai 2024, um 10:00, schrieb {}:",
}


@pytest.mark.parametrize("mark", ["", "> "])
@pytest.mark.parametrize(
    "line", ["", "________________________________\n", "---- Переслано ----\n"]
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_quotations_are_known_by_their_form(language: str, line: str, mark: str) -> None:
    head = LANGUAGES[language].format("Bo Horvat <bo@example.org>")
    assert strip_quotes(f"Yes, gladly.\n\n{line}{head}\n\n{mark}Ferry?\n") == "Yes, gladly."


@pytest.mark.parametrize(
    "line",
    [
        *(
            "Sent from my iPhone",
            "Von meinem iPhone gesendet",
            "iPhoneから送信",
            "Inviato da iPhone",
        ),
        *(
            "iPhone'umdan gönderildi",
            "从我的 iPhone 发送",
            "Отправлено с iPhone",
            "Envoyé de mon iPhone",
        ),
        *("Inviato da iPhone", "Envoyé de mon iPhone"),
        *("Poslano s mojeg iPhonea", "Enviado do meu iPhone", "Skickat från min iPhone"),
        *("Sent from Yahoo Mail on Android", "Sent with Proton Mail secure email."),
        *("Get Outlook for iOS<https://aka.ms/o0ukef>", "Gesendet mit der GMX Mail App"),
    ],
)
def test_lines_that_apps_add(line: str) -> None:
    assert strip_quotes(f"Yes, gladly.\n\n{line}\n") == "Yes, gladly."


@pytest.mark.parametrize(
    "text",
    [
        "Hi,\n\nMy iPhone is broken.",
        "Hi,\n\nI lost my iPhone",
        "Hi,\n\nI sent it from my iPhone yesterday",
        "Hi,\n\nGet me an iPhone",
        "Name: Bo\nTel: 12 34\nMail: bo@example.org",
        "Trip:\nWhen: 8 May 2024 10:00\nWhere: Cres\nWho: Bo",
        "Berth: 12\nMail: office@marina.hr\nOpen: 08:00\nPhone: 12",
        "Hi,\n\nwrite to bo@example.org by 8 May 2024, and bring:\n\neggs\nmilk",
    ],
)
def test_own_words_that_look_like_quotations_stay(text: str) -> None:
    assert strip_quotes(text) == text


def test_what_outlook_quotes_in_html_is_left_out() -> None:
    html = (
        "<div>Yes, gladly.</div><div id='appendonsend'></div><hr><div id='divRplyFwdMsg'>"
        "<b>Från:</b> Bo</div><div>Ferry?</div>"
    )
    assert html_to_text(html, without_quotes=True) == "Yes, gladly."
    assert "Ferry?" in html_to_text(html[html.index("<hr>") :], without_quotes=True)


@pytest.mark.parametrize(
    "quotation",
    [
        '<p>On 2024-05-08 13:56, Bo wrote:</p><blockquote type="cite">x</blockquote>',
        '<div class="zmail_extra">---- On Wed Bo wrote ---<blockquote>x</blockquote></div>',
        '<div name="messageReplySection">On 8 May, Bo wrote:<blockquote>x</blockquote></div>',
    ],
)
def test_what_introduces_a_quotation_in_html_goes_with_it(quotation: str) -> None:
    html = f"<p>Yes.</p><blockquote>A poem</blockquote>{quotation}"
    assert strip_quotes(html_to_text(html, without_quotes=True)) == "Yes.\n\nA poem"


@pytest.mark.parametrize("client", QUOTING)
def test_quotes_and_signatures_are_stripped(client: str) -> None:
    assert strip_quotes(f"Yes, gladly.{QUOTING[client]}") == "Yes, gladly."


def test_answers_between_quotes_stay() -> None:
    text = "On 8 May 2024, bo@example.org wrote:\n> Ferry?\n\nYes.\n\n> When?\n\nNoon.\nTwo:\na\n"
    assert strip_quotes(text) == "Yes.\n\nNoon.\nTwo:\na"


@given(st.text(st.characters(categories=["L", "P", "Zs"], exclude_characters=">-_:"), max_size=60))
def test_words_that_quote_nothing_stay(text: str) -> None:
    assert strip_quotes(f"{text}\n{text}") == f"{text}\n{text}".strip()


def test_html_becomes_text() -> None:
    html = (
        "<html><head><title>No</title><style>p{}</style></head><body><p>Hello&nbsp;<b>Ana</b>,</p>"
        "<ul><li>one</li><li>two</li></ul>line<br>break<script>x()</script>"
        '<div class="gmail_quote">On Monday: <blockquote>old</blockquote></div></body></html>'
    )
    text = html_to_text(html, without_quotes=True)
    assert text.replace("\n\n", "\n") == "Hello Ana,\n- one\n- two\nline\nbreak\n>"
    assert "old" in html_to_text(html)


@given(st.text(max_size=80))
def test_any_html_is_read(html: str) -> None:
    assert isinstance(html_to_text(html, without_quotes=True), str)


def mail(number: int, text: str, **headers: str) -> EmailMessage:
    message = EmailMessage()
    fields = {
        "From": "Ana Horvat <ana@example.org>",
        "Date": f"Wed, 08 May 2024 13:{number:02}:00 +0200",
        "Message-ID": f"<{number}@example.org>",
        **headers,
    }
    for name, value in fields.items():
        message[name.replace("_", "-")] = value
    message.set_content(text)
    return message


def save_mailbox(path: Path, *mails: EmailMessage | bytes) -> Path:
    data = [each if isinstance(each, bytes) else each.as_bytes() for each in mails]
    path.write_bytes(b"".join(b"From x Wed May  8 2024\n" + each + b"\n" for each in data))
    return path


def said(history: History) -> list[tuple[str, str]]:
    return [(t.speaker, t.full_text.strip()) for s in history.transcripts for t in s.turns]


def test_a_mail_with_html_and_attachments(tmp_path: Path) -> None:
    message = mail(1, "unused", Subject="Ferry =?utf-8?q?to_Krk_=E2=9B=B4?=")
    message.clear_content()
    message.set_content("<p>See the <b>plan</b>.</p>", subtype="html")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="plan.pdf")
    file = tmp_path / "ferry.eml"
    file.write_bytes(message.as_bytes())
    reading = read_histories(file)
    (history,) = reading.histories
    assert reading.format == "mail"
    text = 'Subject: Ferry to Krk ⛴\n\nSee the plan. [shares the file "plan.pdf"]'
    assert said(history) == [("Ana Horvat", text)]


def test_a_mailbox_has_a_session_a_thread(tmp_path: Path) -> None:
    box = save_mailbox(
        tmp_path / "All mail.mbox",
        mail(3, "Third.\nFrom here on, calm.", References="<1@example.org> <2@example.org>"),
        mail(1, "First.", Delivered_To="ana@example.org"),
        mail(2, "> First.\n\nSecond.", In_Reply_To="<1@example.org>", From="bo@example.org"),
        mail(4, "Sale!", List_Unsubscribe="<mailto:no@example.org>"),
        mail(5, "Win!", X_Gmail_Labels="Spam"),
        mail(6, "Away.", Auto_Submitted="auto-replied"),
        mail(7, "> only a quote"),
    )
    reading = read_histories(box)
    (history,) = reading.histories
    assert history.name == "ana@example.org"
    assert [session.key for session in history.transcripts] == ["<1@example.org>"]
    assert said(history) == [
        ("Ana Horvat", "First."),
        ("bo@example.org", "Second."),
        ("Ana Horvat", "Third.\nFrom here on, calm."),
    ]
    assert history.notes == {
        "newsletters and automatic mails left out": 2,
        "mails in spam, trash or drafts left out": 1,
        "mails without own words left out": 1,
    }


def test_odd_encodings_are_read(tmp_path: Path) -> None:
    latin = (
        b"From: =?iso-8859-1?q?Andr=E9?= <a@b.org>\r\nDate: Wed, 8 May 2024 13:56:00 +0200\r\n"
        b"Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: 8bit\r\n\r\n"
        b"Caf\xe9 at noon?\r\n"
    )
    unknown = latin.replace(b"iso-8859-1\r\nContent", b"klingon\r\nContent")
    box = save_mailbox(tmp_path / "odd.mbox", latin, unknown)
    assert said(read_histories(box).histories[0]) == [("André", "Café at noon?")] * 2


@pytest.mark.parametrize(
    ("date", "right", "reason"),
    [
        (b"Date: Wed, 31 Feb 2024 25:61:00 +0200\n", "2024-05-08T12:00", 'the line "From "'),
        (b"", "2024-05-08T12:00", 'the line "From "'),
        (b"Date: 8. Mai 2024 um 13:56\n", "2024-05-08T13:56", "its date in other words"),
        (
            b"Received: by a.org; Wed, 8 May 2024 13:56:00 +0000\nDate: soon\n",
            "2024-05-08T13:56",
            "when it was received",
        ),
    ],
)
def test_impossible_dates_are_told_by_others(
    date: bytes, right: str, reason: str, tmp_path: Path
) -> None:
    odd = b"From: bo@example.org\nSubject: x\n" + date + b"\nHello.\n"
    reading = read_histories(save_mailbox(tmp_path / "odd.mbox", odd, mail(9, "Good.")))
    turns = [turn for s in reading.histories[0].transcripts for turn in s.turns]
    assert [f"{t.at:%FT%H:%M}" for t in turns if "Hello." in t.text] == [right]
    assert len(turns) == 2
    assert reading.notes == {f"mails with an impossible date, dated by {reason}": 1}


def test_a_mail_without_any_date_is_undated(tmp_path: Path) -> None:
    file = tmp_path / "a.eml"
    file.write_bytes(b"From: bo@example.org\nSubject: x\nDate: soon\n\nHello.\n")
    reading = read_histories(file)
    assert [session.dated for session in reading.histories[0].transcripts] == [False]
    assert reading.notes == {"mails without a date": 1}


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [
        *[("cp-850", "cp850"), ("x-sjis", "cp932"), ("ks_c_5601-1987", "cp949")],
        *[("win-1251", "cp1251"), ("iso-8859-8-i", "iso8859-8"), ("x-mac-roman", "mac-roman")],
        *[("unicode-1-1-utf-7", "utf-7"), ("gb2312", "gb18030"), ("ISO_8859-2", "iso8859-2")],
        *[("x-unknown", "utf-8"), ("klingon", "utf-8"), ("us-ascii", "utf-8")],
        *[("base64", "utf-8"), ("utf8", "utf-8"), ("IBM850", "cp850"), ("csShiftJIS", "cp932")],
    ],
)
def test_charsets_by_the_names_that_senders_use(charset: str, encoding: str) -> None:
    for words in ("Grün", "Čuvaj", "שלום", "Привет", "こんにちは", "안녕", "你好", "hello"):
        with suppress(UnicodeEncodeError):
            assert decode_charset(words.encode(encoding), charset) == words


WINDOWS_JP = b"\x1b$B-!HV$NA%$O-j%_%i\x1b(B 1\x1b(I67\x1b(B"


@pytest.mark.parametrize("charset", ["", "utf-8", "us-ascii", "iso-2022-jp", "shift_jis"])
@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("船は青い〜\n2 隻".encode("iso2022_jp"), "船は青い〜\n2 隻"),
        ("丂い".encode("iso2022_jp_ext"), "丂い"),  # JIS X 0212
        (WINDOWS_JP, "①番の船は㈱ミラ 1ｶｷ"),
        ("안녕 A\n".encode("iso2022_kr"), "안녕 A\n"),
        (b"\x1b$)A\x0e" + bytes(b & 127 for b in "你好".encode("gb2312")) + b"\x0f!", "你好!"),
        ("Grün".encode("utf-16"), "Grün"),
        ("Grün".encode("utf-8-sig"), "Grün"),
    ],
)
def test_charsets_that_name_themselves(data: bytes, words: str, charset: str) -> None:
    assert decode_charset(data, charset) == words


def test_chinese_in_hz_and_plain_ascii_that_looks_like_it() -> None:
    assert decode_charset("你好 A".encode("hz"), "") == "你好 A"
    assert decode_charset(b"a ~{ b ~} ~{x~}", "") == "a ~{ b ~} ~{x~}"


def test_a_subject_with_bare_escapes(tmp_path: Path) -> None:
    file = tmp_path / "a.eml"
    subject = "船".encode("iso2022_jp")
    file.write_bytes(b"From: bo@example.org\nSubject: " + subject + b"\nTo: a@b.c\n\nHi.\n")
    assert read_histories(file).histories[0].transcripts[0].metadata["title"] == "船"


def test_a_sentence_that_begins_with_from_ends_no_mail(tmp_path: Path) -> None:
    talk = "Hello.\n\nFrom here on, calm.\nFrom noon in 2024\n\nFrom Bo: a list\n\nBye.\n"
    reading = read_histories(save_mailbox(tmp_path / "b.mbox", mail(1, talk), mail(2, "Good.")))
    assert [text for _, text in said(reading.histories[0])] == [talk.strip(), "Good."]


def test_replies_that_name_only_the_mail_before_are_one_thread(tmp_path: Path) -> None:
    mails = [
        mail(1, "First."),
        mail(2, "Second.", In_Reply_To="<1@example.org>"),
        mail(3, "Third.", In_Reply_To="<2@example.org>"),
        mail(4, "Fourth.", References="<3@example.org>"),
    ]
    whole = ["First.", "Second.", "Third.", "Fourth."]
    reading = read_histories(save_mailbox(tmp_path / "box.mbox", *reversed(mails)))
    assert [text for _, text in said(reading.histories[0])] == whole
    assert len(reading.histories[0].transcripts) == 1


def test_a_thread_in_several_files_is_one_session(tmp_path: Path) -> None:
    boxes = tmp_path / "boxes"
    boxes.mkdir()
    first = mail(1, "First.", Delivered_To="ana@example.org")
    second = mail(2, "Second.", In_Reply_To="<1@example.org>")
    third = mail(3, "Third.", In_Reply_To="<2@example.org>")
    save_mailbox(boxes / "Inbox.mbox", third, first)
    save_mailbox(boxes / "Sent.mbox", second, first)
    singles = tmp_path / "singles"
    singles.mkdir()
    for number, each in enumerate((third, first, second)):
        (singles / f"{number}.eml").write_bytes(each.as_bytes())
    for folder in (boxes, singles):
        (history,) = read_histories(folder).histories
        assert history.name == "ana@example.org"
        assert [text for _, text in said(history)] == ["First.", "Second.", "Third."]
        assert len(history.transcripts) == 1


def test_mails_that_answer_each_other_are_read(tmp_path: Path) -> None:
    box = save_mailbox(
        tmp_path / "box.mbox",
        mail(1, "First.", In_Reply_To="<2@example.org>"),
        mail(2, "Second.", In_Reply_To="<1@example.org>"),
    )
    assert len(read_histories(box).histories[0].transcripts) == 1


@pytest.mark.parametrize("count", ["right", "wrong"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_apple_mail_keeps_round_a_mail_is_no_mail(
    count: str, end: str, tmp_path: Path
) -> None:
    lines = (
        "From: Ana <ana@example.org>",
        "Date: Mon, 13 May 2024 22:56:00 +0300",
        "",
        "It is ours.",
    )
    mail = "".join(f"{line}{end}" for line in lines)
    rest = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST">\n'
        '<plist version="1.0"><dict><key>flags</key><integer>1</integer></dict></plist>\n'
    )
    length = len(mail) if count == "right" else len(mail) // 2
    folder = tmp_path / "INBOX.mbox" / "Messages"
    folder.mkdir(parents=True)
    (folder / "41873.emlx").write_bytes(f"{length:<10}{end}{mail}{rest}".encode())
    for source in (folder / "41873.emlx", tmp_path):
        reading = read_histories(source)
        assert reading.format == "mail"
        turns = [t for h in reading.histories for s in h.transcripts for t in s.turns]
        assert [(t.speaker, t.text) for t in turns] == [("Ana", "It is ours.")]
