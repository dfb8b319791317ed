"""Web pages, captions, and files of unknown formats: told by their structure, in any language."""

# ruff: noqa: E501, W291 (pages are as services write them)
from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.history_samples import save
from theanine.errors import BadInput, SettingsError
from theanine.importers import ImportedHistories, UnknownFormat, read_histories


def said(reading: ImportedHistories) -> list[tuple[str, str]]:
    turns = (t for h in reading.histories for s in h.transcripts for t in s.turns)
    return [(turn.speaker, turn.full_text.strip()) for turn in turns]


TELEGRAM = """<!DOCTYPE html>
<html><head><meta charset="utf-8"/><title>Exported Data</title></head><body>
<div class="page_wrap"><div class="page_header"><div class="content">
<div class="text bold">Bo</div></div></div><div class="page_body chat_page"><div class="history">
<div class="message service" id="message-1"><div class="body details">13 May 2024</div></div>
<div class="message default clearfix" id="message1"><div class="pull_left userpic_wrap">
<div class="userpic userpic1"><div class="initials">A</div></div></div>
<div class="body">
<div class="pull_right date details" title="13.05.2024 21:56:00 UTC+02:00">21:56</div>
<div class="from_name">Ana</div>
<div class="text">I booked <strong>the ferry</strong>.<br>Two seats.</div></div></div>
<div class="message default clearfix joined" id="message2">
<div class="body">
<div class="pull_right date details" title="13.05.2024 21:57:00 UTC+02:00">21:57</div>
<div class="reply_to details">In reply to <a href="#go_to_message1">this message</a></div>
<div class="text">At six.</div></div></div>
<div class="message default clearfix" id="message3">
<div class="body">
<div class="pull_right date details" title="13.05.2024 21:58:00 UTC+02:00">21:58</div>
<div class="from_name">Bo</div>
<div class="media_wrap clearfix">
<a class="photo_wrap clearfix pull_left" href="photos/p.jpg">
<img class="photo" src="p_thumb.jpg"/></a></div></div></div>
<div class="message default clearfix" id="message4">
<div class="body">
<div class="pull_right date details" title="13.05.2024 21:59:00 UTC+02:00">21:59</div>
<div class="from_name">Bo</div><div class="pull_left forwarded userpic_wrap"></div>
<div class="forwarded body">
<div class="from_name">Klara 
<span class="date details" title="12.05.2024 10:00:00"> 12.05.2024</span></div>
<div class="text">The lock closes at 22:30.</div></div></div></div>
<div class="message default clearfix" id="message5">
<div class="body">
<div class="pull_right date details" title="13.05.2024 22:00:00 UTC+02:00">22:00</div>
<div class="from_name">Ana</div>
<div class="media_wrap clearfix">
<div class="media_poll">
<div class="question bold">Where shall we eat?</div><div class="details">Anonymous poll</div>
<div class="answer">- Roma</div><div class="answer">- Deck</div></div></div></div></div>
<div class="message default clearfix" id="message6">
<div class="body">
<div class="pull_right date details" title="13.05.2024 22:01:00 UTC+02:00">22:01</div>
<div class="from_name">Ana</div>
<div class="media_wrap clearfix">
<div class="media clearfix pull_left media_contact"><div class="fill pull_left"></div>
<div class="body"><div class="title bold">Klara Novak</div>
<div class="status details">+385 91 123</div></div></div></div></div></div>
</div></div></div></body></html>
"""
DISCORD = """<!DOCTYPE html><html lang="en"><head><title>Boats - harbor</title></head><body>
<div class="preamble">
<div class="preamble__guild-icon-container"></div>
<div class="preamble__entries-container">
<div class="preamble__entry">Boats</div>
<div class="preamble__entry">harbor</div></div></div>
<div class="chatlog">
<div class="chatlog__message-group">
<div id="chatlog__message-container-1" class="chatlog__message-container" data-message-id="1">
<div class="chatlog__message">
<div class="chatlog__message-aside"></div>
<div class="chatlog__message-primary">
<div class="chatlog__header">
<span class="chatlog__author" title="ana_h" data-user-id="5">Ana</span> 
<span class="chatlog__timestamp" title="Monday, May 13, 2024 9:01 PM">
<a href="#">5/13/2024 9:01 PM</a></span></div>
<div class="chatlog__content chatlog__markdown">
<span class="chatlog__markdown-preserve">Berth is free.</span></div></div></div></div>
<div id="chatlog__message-container-2" class="chatlog__message-container" data-message-id="2">
<div class="chatlog__message">
<div class="chatlog__message-aside">
<div class="chatlog__short-timestamp" title="Monday, May 13, 2024 9:02 PM">9:02 PM</div></div>
<div class="chatlog__message-primary">
<div class="chatlog__content chatlog__markdown">
<span class="chatlog__markdown-preserve">Take it.</span></div></div></div></div></div></div>
</body></html>
"""
MESSENGER = """<html><head><title>Bo Novak</title></head><body class="_5vb_">
<div class="clearfix _ikh"><div role="main">
<div class="pam _3-95 _2ph- _a6-g uiBoxWhite noborder">
<div class="_2ph_ _a6-h">Teilnehmer: Ana und Bo</div></div>
<div class="pam _3-95 _2ph- _a6-g uiBoxWhite noborder">
<div class="_2ph_ _a6-h">Bo Novak</div>
<div class="_2ph_ _a6-p"><div><div></div><div>Ça va 😀</div><div></div><div></div></div></div>
<div class="_3-94 _a6-o">13. Mai 2024 21:57</div></div>
<div class="pam _3-95 _2ph- _a6-g uiBoxWhite noborder">
<div class="_2ph_ _a6-h">Ana Horvat</div>
<div class="_2ph_ _a6-p"><div><div></div><div>Čuvaj se.</div></div></div>
<div class="_3-94 _a6-o">13. Mai 2024 21:56</div></div></div></div></body></html>
"""
CHATGPT = """<html><head><title>ChatGPT Data Export</title></head><body><script>
var jsonData = [{"title":"T","create_time":1715630100.0,
"mapping":{"r":{"id":"r","message":null,"parent":null,"children":["x"]},
"x":{"id":"x","parent":"r","children":[],"message":{"id":"x","author":{"role":"user"},"create_time":1715630160.0,
"content":{"content_type":"text","parts":["Hello </b> there"]}}}},"current_node":"x","id":"c"}];
var assets = {};
</script></body></html>
"""
TAKEOUT = """<html><head><title>Mein Aktivitätsverlauf</title><style>.x{}</style></head><body>
<div class="mdl-grid">
<div class="outer-cell mdl-cell mdl-cell--12-col mdl-shadow--2dp"><div class="mdl-grid">
<div class="header-cell mdl-cell mdl-cell--12-col">
<p class="mdl-typography--title">Gemini-Apps<br></p></div>
<div class="content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1">Eingegebener Prompt: Wie lackiere ich ein Boot?<br>02.03.2026, 10:15:00 MEZ<br><p>Erst <b>schleifen</b>.</p><ul><li>warten</li></ul></div>
<div class="content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1 mdl-typography--text-right"></div>
<div class="content-cell mdl-cell mdl-cell--12-col mdl-typography--caption"><b>Produkte:</b>
<br>&emsp;Gemini-Apps<br></div></div></div>
<div class="outer-cell mdl-cell mdl-cell--12-col mdl-shadow--2dp"><div class="mdl-grid">
<div class="header-cell mdl-cell mdl-cell--12-col">
<p class="mdl-typography--title">Gemini-Apps<br></p></div>
<div class="content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1">Eingegebener Prompt:&nbsp;Und der Mast?<br>02.03.2026, 10:10:00 MEZ<br><p>Drei Schichten.</p></div></div></div>
</div></body></html>
"""

ASSISTANT = """<html><head><title>My Activity History</title></head><body>
<div class="outer-cell mdl-cell"><div class="mdl-grid"><div class="header-cell">
<p class="mdl-typography--title">Assistant<br></p></div><div class="content-cell">Used Assistant<br>
May 13, 2024, 10:01:00&#8239;PM CEST<br></div></div></div>
<div class="outer-cell mdl-cell"><div class="mdl-grid"><div class="header-cell">
<p class="mdl-typography--title">Assistant<br></p></div>
<div class="content-cell">Said <a href="https://www.google.com/search?q=water+the+orchids">water the orchids</a>
<br>OK, on Saturday.<br>At eight.<br>May 13, 2024, 9:56:00&#8239;PM CEST<br></div>
<div class="content-cell mdl-typography--caption"><b>Products:</b><br>&emsp;Assistant<br>
<b>Locations:</b><br>&emsp;At this general area</div></div></div></body></html>
"""
VOICE = """<?xml version="1.0" ?>
<!DOCTYPE html><html><head><title>Conversation de groupe</title><style>.hChatLog {}</style></head>
<body><div class="hChatLog hfeed"><div class="participants">Avec&nbsp;:
<cite class="sender vcard"><a class="tel" href="tel:+1"><span class="fn">Bo</span></a></cite>,
<cite class="sender vcard"><a class="tel" href="tel:+385"><span class="fn"></span></a></cite></div>
<div class="message"><abbr class="dt" title="2024-05-13T19:56:00.451-07:00">13 mai</abbr>:
<cite class="sender vcard"><a class="tel" href="tel:+1"><span class="fn">Bo</span></a></cite>:
<q>It&#39;s at 6,<br>bring Gus &amp; me</q></div>
<div class="message"><abbr class="dt" title="2024-05-13T20:04:11-07:00">13 mai</abbr>:
<cite class="sender vcard"><a class="tel" href="tel:+2"><abbr class="fn" title="">Moi</abbr></a></cite>:
<q></q><div><img src="hull-1" alt="Image MMS" /></div></div>
<div class="message"><abbr class="dt" title="2024-05-13T20:05:11-07:00">13 mai</abbr>:
<cite class="sender vcard"><a class="tel" href="tel:+385"><span class="fn"></span></a></cite>:
<q>Fine.</q></div></div><div class="tags">Labels: <a rel="tag">Text</a></div></body></html>
"""

PAGES: Mapping[str, tuple[str, str, list[tuple[str, str]]]] = {
    "telegram": (
        "messages.html",
        TELEGRAM,
        [
            ("Ana", "I booked the ferry.\nTwo seats."),
            ("Ana", "At six."),
            ("Bo", "[shares a picture]"),
            ("Bo", "The lock closes at 22:30. [shares a message forwarded from Klara]"),
            ("Ana", '[shares a poll that says "Where shall we eat?; Roma; Deck"]'),
            ("Ana", '[shares a contact that says "Klara Novak; +385 91 123"]'),
        ],
    ),
    "discord": ("harbor.html", DISCORD, [("Ana", "Berth is free."), ("Ana", "Take it.")]),
    "messenger": (
        "message_1.html",
        MESSENGER,
        [("Ana Horvat", "Čuvaj se."), ("Bo Novak", "Ça va 😀")],
    ),
    "chatgpt": ("chat.html", CHATGPT, [("User", "Hello </b> there")]),
    "gemini": (
        "MeineAktivitäten.html",
        TAKEOUT,
        [
            ("User", "Und der Mast?"),
            ("Assistant", "Drei Schichten."),
            ("User", "Wie lackiere ich ein Boot?"),
            ("Assistant", "Erst schleifen.\n\n- warten"),
        ],
    ),
    "google-assistant": (
        "MyActivity.html",
        ASSISTANT,
        [("User", "water the orchids"), ("Assistant", "OK, on Saturday.\nAt eight.")],
    ),
    "google-voice": (
        "Group Conversation - 2024-05-14T02_56_00Z.html",
        VOICE,
        [
            ("Bo", "It's at 6,\nbring Gus & me"),
            ("User", "[shares a picture]"),
            ("+385", "Fine."),
        ],
    ),
}


@pytest.mark.parametrize("name", PAGES)
def test_web_pages_of_chats(name: str, tmp_path: Path) -> None:
    file, page, expected = PAGES[name]
    reading = read_histories(save(tmp_path, file, page))
    assert (reading.format, said(reading)) == (name, expected)


TEAMS = """WEBVTT

d3e5-aa/15-0
00:00:02.000 --> 00:00:05.000
<v Ana Horvat>The mast is
eleven meters</v>

d3e5-aa/15-1
00:00:05.000 --> 00:00:07.000
<v Ana Horvat>and heavy.</v>

d3e5-aa/16-0
00:00:08.000 --> 00:00:09.000
<v Bo Novak>Then the truck is too short.</v>
"""
SRT = """1
00:00:02,000 --> 00:00:05,000
Ana Horvat: The mast is eleven meters

2
00:00:05,500 --> 00:00:07,000
and heavy.

3
00:00:08,000 --> 00:00:09,000
Bo Novak: Then the truck is too short.
"""
SBV = """0:00:02.000,0:00:05.000
Ana Horvat: The mast is eleven meters and heavy.

0:00:08.000,0:00:09.000
Bo Novak: Then the truck is too short.
"""


@pytest.mark.parametrize("file", ["m.vtt", "m.srt", "m.sbv", "2024-05-13 19.56 meeting.vtt"])
def test_captions_of_a_meeting(file: str, tmp_path: Path) -> None:
    content = {".vtt": TEAMS, ".srt": SRT, ".sbv": SBV}[Path(file).suffix]
    reading = read_histories(save(tmp_path, file, content))
    assert reading.format == "captions"
    assert said(reading) == [
        ("Ana Horvat", "The mast is eleven meters and heavy."),
        ("Bo Novak", "Then the truck is too short."),
    ]
    (session,) = reading.histories[0].transcripts
    assert session.dated is ("2024" in file)
    assert (session.turns[1].at - session.turns[0].at).seconds == 6
    if session.dated:
        assert session.at == datetime(2024, 5, 13, 19, 56, tzinfo=UTC)


ODD = {
    "export": {
        "threads": [
            {
                "topic": "Boat",
                "posts": [
                    {"who": "me", "said": "My boat is called Mira.", "when": "2024-05-13 19:56"},
                    {"who": "bot", "said": "A fine name.", "when": "2024-05-13 19:57"},
                ],
            },
            {
                "topic": "Sail",
                "posts": [{"who": "me", "said": "I sail on Sundays.", "when": "2024-05-14 19:56"}],
            },
        ]
    }
}
UNKNOWN: Mapping[str, tuple[str, list[tuple[str, str]]]] = {
    "odd.json": (
        json.dumps(ODD),
        [
            ("User", "My boat is called Mira."),
            ("Assistant", "A fine name."),
            ("User", "I sail on Sundays."),
        ],
    ),
    "odd.jsonl": (
        "".join(json.dumps(post) + "\n" for post in ODD["export"]["threads"][0]["posts"]),
        [("User", "My boat is called Mira."), ("Assistant", "A fine name.")],
    ),
    "odd.csv": (
        "Zeit;Wer;Nachricht;Raum\n"
        "13.05.2024 19:56;Ana;Mein Boot heißt Mira.;Hafen\n"
        '13.05.2024 19:57;Bo;"Ein schöner Name;\nmit Klang.";Hafen\n',
        [("Ana", "Mein Boot heißt Mira."), ("Bo", "Ein schöner Name;\nmit Klang.")],
    ),
}


@pytest.mark.parametrize("file", UNKNOWN)
def test_an_unknown_file_is_read_by_the_mapping_that_it_proposes(file: str, tmp_path: Path) -> None:
    content, expected = UNKNOWN[file]
    path = save(tmp_path, file, content)
    with pytest.raises(UnknownFormat, match="--map FILE") as caught:
        read_histories(path)
    assert caught.value.layout is not None
    assert said(read_histories(path, layout=caught.value.layout)) == expected


@pytest.mark.parametrize("markup", ["html", "entities", ""])
def test_a_mapping_says_what_words_are_written_in(markup: str, tmp_path: Path) -> None:
    rows = [{"who": "Ana", "said": f"<b>R&amp;D</b> & {i}&nbsp;boats", "at": i} for i in (1, 2)]
    file = save(tmp_path, "odd.json", rows)
    mapping = {"words": "said", "name": "who", "time": "at", "markup": markup}
    turns = said(read_histories(file, layout=mapping))
    words = {"html": "R&D & 1 boats", "entities": "<b>R&D</b> & 1\xa0boats"}
    assert turns[0] == ("Ana", words.get(markup, rows[0]["said"]))


def test_a_wrong_mapping_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path, "odd.json", ODD)
    for mapping, reason in (
        ({"wordz": "said"}, "unknown fields in the mapping: wordz"),
        ({"time": "when"}, 'has no "words"'),
        ({"words": "said", "roles": {"me": "owner"}}, "user, assistant, system or tool"),
    ):
        with pytest.raises(SettingsError, match=reason):
            read_histories(path, layout=mapping)
    with pytest.raises(BadInput, match="no conversation in it"):
        read_histories(path, layout={"words": "said", "messages": "nowhere"})


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_csv_with_plain_columns_needs_no_mapping(delimiter: str, tmp_path: Path) -> None:
    rows = [("Timestamp", "Sender", "Message"), ("2024-05-13T19:56:00Z", "Ana", "Hello.")]
    text = "\n".join(delimiter.join(row) for row in rows)
    reading = read_histories(save(tmp_path, "chat.csv", text))
    assert (reading.format, said(reading)) == ("csv", [("Ana", "Hello.")])


MEETINGS = {
    "meeting_saved_chat.txt": """10:01:00\t From Ana Horvat to Everyone:
\tThe mast is eleven meters.
10:02:00\t From Bo (he/him) to Everyone:
\tReplying to "The mast is eleven..."
\t
\tThen the truck is too short.
10:03:00\t From Ana Horvat to Bo (he/him)(Direct Message):
\tReacted to "Then the truck is..." with 👍
""",
    "inline.txt": """10:01:00 From Ana Horvat to Everyone: The mast is eleven meters.
10:02:00 From Bo (he/him) to Everyone: Replying to "The mast is eleven..." Then the truck is too short.
10:03:00 From Ana Horvat to Everyone: Removed a 👍 reaction from "Then the truck is..."
""",
    "german.txt": """10:01:00\t Von Ana Horvat an Alle:
\tThe mast is eleven meters.
10:02:00\t Von Bo (he/him) an Alle:
\tAntwort auf "The mast is eleven..."

\tThen the truck is too short.
10:03:00\t Von Ana Horvat an Alle:
\tHat auf "The mast is..." mit ❤ reagiert
""",
    "spanish.txt": """10:01:00\t De Ana Horvat a Todos:
\tThe mast is eleven meters.
10:02:00\t De Bo (he/him) a Todos:
\tThen the truck is too short.
""",
    "GMT20240513-100000_Recording.txt": """00:01:00\tAna Horvat:\tThe mast is eleven meters.
00:02:00\tBo (he/him):\tThen the truck is too short.
""",
    "teams.txt": """[10:01 AM] Ana Horvat: The mast is eleven meters.
[10:02 AM] Bo (he/him)
Then the truck is too short.
""",
    "2024-05-13 10.00 teams transcript.txt": """Ana Horvat   1:00
The mast is eleven meters.

Bo (he/him)   2:00
Then the truck is too short.
""",
    "closed_caption.txt": """[Ana Horvat] 10:01:00
The mast is eleven meters.

[Bo (he/him)] 10:02:00
Then the truck is too short.
""",
    "meet 2024-05-13 10.01 chat.txt": """0:00:00.000,0:00:03.000
Ana Horvat: The mast is eleven meters.

0:01:00.000,0:01:03.000
Bo (he/him): Then the truck is too short.
""",
}


@pytest.mark.parametrize("file", MEETINGS)
def test_chats_of_meetings(file: str, tmp_path: Path) -> None:
    path = save(tmp_path / "2024-05-13 10.00.00 Boats", file, MEETINGS[file])
    reading = read_histories(path)
    assert (reading.format, said(reading)) == (
        "captions",
        [
            ("Ana Horvat", "The mast is eleven meters."),
            ("Bo (he/him)", "Then the truck is too short."),
        ],
    )
    (session,) = reading.histories[0].transcripts
    assert [f"{turn.at:%F %T}" for turn in session.turns] == [
        "2024-05-13 10:01:00",
        "2024-05-13 10:02:00",
    ]
    left_out = {"reactions left out", "quotes of other messages left out"}
    assert reading.notes.keys() >= (left_out if '"' in MEETINGS[file] else set())


def test_a_meeting_without_a_date_is_undated_and_goes_past_midnight(tmp_path: Path) -> None:
    text = '23:59:00 From Ana to Everyone: I say "yes" with 👍\n00:01:00 From Bo to Everyone: No.\n'
    path = save(tmp_path, "chat.txt", text)
    (session,) = read_histories(path).histories[0].transcripts
    assert not session.dated
    assert [turn.text for turn in session.turns] == ['I say "yes" with 👍', "No."]
    assert (session.turns[1].at - session.turns[0].at).seconds == 120
    start = datetime(2024, 5, 13, 9, tzinfo=UTC)
    (session,) = read_histories(path, start=start).histories[0].transcripts
    assert (session.dated, f"{session.at:%F %H:%M}") == (True, "2024-05-13 23:59")


@pytest.mark.parametrize(
    "text",
    [
        "# Day\n\nLunch   12:30\nDinner   19:00\n",
        "Ana: 10:00\tBo: soon\nBo: Yes.\n",
        "2024-05-08: 10:00 start\nAna: Hello.\n",
    ],
)
def test_times_in_other_texts_make_no_chat_of_a_meeting(text: str, tmp_path: Path) -> None:
    with suppress(BadInput):
        assert read_histories(save(tmp_path, "day.md", text)).format in ("notes", "text")


IMAZING = (
    "Chat Session,Message Date,Sent Date,Type,Sender ID,Sender Name,Text,Attachment,Replying to"
)
DIRECTIONS = {
    "imazing.csv": f"""{IMAZING}
Bo Novak,2024-05-13 21:50:00,,Notification,,,Messages are now secured,,
Bo Novak,2024-05-13 21:56:00,2024-05-13 21:56:00,Outgoing,,,The mast is up.,,
Bo Novak,2024-05-13 21:57:00,,Incoming,385911,Bo Novak,,mast one.jpg,"You, The mast is up."
Bo Novak,2024-05-13 21:58:00,,Incoming,385911,Bo Novak,,,
""",
    "phoneview.csv": """"direction","timestamp","name","number","content","type","file"
Sent,"May 13, 2024 9:56:00 PM",Bo Novak,+385911,The mast is up.,SMS,
Received,"May 13, 2024 9:57:00 PM",Bo Novak,+385911,,SMS,mast one.jpg
""",
}


@pytest.mark.parametrize("speaker", [None, "Ana"])
@pytest.mark.parametrize("name", DIRECTIONS)
def test_a_csv_that_says_what_was_sent(name: str, speaker: str | None, tmp_path: Path) -> None:
    reading = read_histories(save(tmp_path, name, DIRECTIONS[name]), speaker=speaker, zone=UTC)
    turns = [turn for session in reading.histories[0].transcripts for turn in session.turns]
    assert [(turn.speaker, turn.full_text) for turn in turns] == [
        (speaker or "User", "The mast is up."),
        ("Bo Novak", ' [shares the file "mast one.jpg"]'),
    ]
    notes = {"service messages left out": 1, "quotes of other messages left out": 1}
    notes |= {"empty messages left out": 1}
    assert reading.notes == (notes if name == "imazing.csv" else {})


@pytest.mark.parametrize(
    ("above", "files"),
    [
        ("Attached 1 file.", ["a.pdf"]),
        ("2 Dateien angehängt.", ["a.pdf", "Plan B"]),
        ("2 fichiers joints.", ["a.pdf", "b.png"]),
        ("2 個のファイルを添付しました。", ["a.pdf", "b.png"]),
    ],
)
def test_files_in_geminis_page(above: str, files: list[str], tmp_path: Path) -> None:
    def cell(prompt: str, day: int) -> str:
        return (
            '<div class="outer-cell"><div class="header-cell">Gemini Apps</div>'
            f'<div class="content-cell">Prompt: {prompt}<br>{day}.05.2026, 10:15:00 MESZ<br>'
            "<p>Yes.</p></div></div>"
        )

    listed = "".join(f'<br>-&nbsp;<a href="x">{name}</a>' for name in files)
    cells = [cell(f"What is it?<br>- a mast.txt<br>{above}{listed}", 13), cell("Is it?", 12)]
    page = f"<html><body>{''.join(cells)}{cell('Who is it?', 11)}</body></html>"
    reading = read_histories(save(tmp_path, "MyActivity.html", page))
    turns = [turn for session in reading.histories[0].transcripts for turn in session.turns]
    assert [turn.text for turn in turns][::2] == [
        "Who is it?",
        "Is it?",
        "What is it?\n- a mast.txt",
    ]
    assert turns[-2].attachment == ", ".join(f'the file "{name}"' for name in files)
