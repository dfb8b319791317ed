"""Mail: threads, own words without quotes, HTML, odd encodings, and what is left out."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine.importers import read_histories
from theanine.importers.html_text import html_to_text
from theanine.importers.quotes import strip_quotes
from theanine.types import History

QUOTING = {
    "gmail": "\n\nOn Wed, May 8, 2024 at 1:56 PM Bo <bo@example.org> wrote:\n\n> Ferry?\n>\n> Bo\n",
    "folded": "\n\nOn Wed, May 8, 2024 at 1:56 PM Bo Horvat\n<bo@example.org> wrote:\n> Ferry?\n",
    "german": "\n\nAm 08.05.2024 um 13:56 schrieb Bo:\n> Ferry?\n",
    "french": "\n\nLe mer. 8 mai 2024 à 13:56, Bo <bo@example.org> a écrit :\n> Ferry?\n",
    "outlook": "\n\n________________________________\nFrom: Bo\nSent: Monday\nTo: Ana\n\nFerry?\n",
    "original": "\n\n-----Original Message-----\nFrom: Bo\nFerry?\n",
    "signature": "\n-- \nAna Horvat\n+385 1 234\n",
}


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
    assert text.replace("\n\n", "\n") == "Hello Ana,\n- one\n- two\nline\nbreak"
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


def test_odd_encodings_are_read_and_malformed_mails_named(tmp_path: Path) -> None:
    latin = (
        b"From: =?iso-8859-1?q?Andr=E9?= <a@b.org>\r\nDate: Wed, 8 May 2024 13:56:00 +0200\r\n"
        b"Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: 8bit\r\n\r\n"
        b"Caf\xe9 at noon?\r\n"
    )
    unknown = latin.replace(b"iso-8859-1\r\nContent", b"klingon\r\nContent")
    undated = b"From: bo@example.org\nSubject: x\n\nHello.\n"
    box = save_mailbox(tmp_path / "odd.mbox", latin, unknown, undated)
    reading = read_histories(box, keep_going=True)
    assert said(reading.histories[0])[0] == ("André", "Café at noon?")
    assert len(said(reading.histories[0])) == 2
    assert [item.where for item in reading.rejected] == ["odd.mbox, mail 3"]
    assert "not the date of a mail" in reading.rejected[0].reason


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
