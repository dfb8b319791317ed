"""Logs of programs: text messages and Adium's in XML, IRC, Pidgin, and what services put beside."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.chat_exports import WRITERS, Said, save_zip
from support.history_samples import Json, save
from theanine.importers import ImportedHistories, read_histories


def said(reading: ImportedHistories) -> list[tuple[str, str, str]]:
    """Return time, speaker and words of all turns."""
    return [
        (f"{turn.at.astimezone(UTC):%F %H:%M}", turn.speaker, turn.full_text.strip())
        for history in reading.histories
        for session in history.transcripts
        for turn in session.turns
    ]


SMS = """<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>
<smses count="4" type="full">
  <sms address="+385911" contact_name="Bo" date="1715597760000" type="1"
    body="Full sail &#55357;&#56834;" />
  <sms address="+385911" date="1715597770000" type="3" body="Not sent yet" contact_name="Bo" />
  <sms address="+385922" date="1715597780000" type="1" body="Hello?" contact_name="(Unknown)" />
  <mms date="1715597880000" msg_box="1" address="+385911~+385933" sub="Boats" contact_name="Bo, Cy">
    <parts>
      <part seq="-1" ct="application/smil" text="&lt;smil&gt;&lt;par dur='5'/&gt;&lt;/smil&gt;" />
      <part seq="0" ct="text/plain" cl="text0.txt" text="See the hull." />
      <part seq="1" ct="image/jpeg" cl="hull.jpg" text="null" data="QUJD" />
    </parts>
    <addrs>
      <addr address="+385911" type="137" />
      <addr address="+385900" type="151" />
    </addrs>
  </mms>
  <mms date="1715597890000" msg_box="2" address="+385911" contact_name="Bo">
    <parts><part seq="0" ct="text/plain" text="Lovely." /></parts>
    <addrs><addr address="insert-address-token" type="137" /></addrs>
  </mms>
"""


def test_text_messages_of_android(tmp_path: Path) -> None:
    reading = read_histories(save(tmp_path, "backup.xml", f"{SMS}</smses>\n"), speaker="Ana")
    assert reading.format == "sms"
    assert sorted(said(reading)) == [
        ("2024-05-13 10:56", "+385922", "Hello?"),
        ("2024-05-13 10:56", "Bo", "Full sail \N{FACE WITH TEARS OF JOY}"),
        ("2024-05-13 10:58", "Ana", "Lovely."),
        ("2024-05-13 10:58", "Bo", 'Boats\nSee the hull. [shares the file "hull.jpg"]'),
    ]
    assert reading.notes == {"drafts left out": 1}


def test_a_cut_backup_is_read_up_to_the_cut(tmp_path: Path) -> None:
    reading = read_histories(save(tmp_path, "sms-1.xml", SMS))
    assert len(said(reading)) == 4
    assert "broken XML" in reading.rejected[0].reason


def test_rows_of_sms_import_export(tmp_path: Path) -> None:
    rows: list[Json] = [
        {
            "_id": "1",
            "thread_id": "3",
            "address": "+385911",
            "date": "1715597760000",
            "type": "1",
            "body": "Full sail",
            "__display_name": "Bo",
        },
        {
            "_id": "2",
            "date": "1715597880",
            "msg_box": "1",
            "__sender_address": {"address": "+385911", "type": "137", "__display_name": "Bo"},
            "__parts": [
                {"ct": "application/smil", "text": "<smil/>"},
                {"ct": "text/plain", "text": "See the hull."},
            ],
        },
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    reading = read_histories(save_zip(tmp_path / "sms.zip", {"messages.ndjson": text}))
    assert reading.format == "sms"
    assert said(reading) == [
        ("2024-05-13 10:56", "Bo", "Full sail"),
        ("2024-05-13 10:58", "Bo", "See the hull."),
    ]


def test_a_log_of_adium_has_no_events(tmp_path: Path) -> None:
    log = """<?xml version="1.0" encoding="UTF-8" ?>
<chat xmlns="http://purl.org/net/ulf/ns/0.4-02" account="ana" service="Jabber">
<event type="windowOpened" sender="ana" time="2024-05-13T12:55:00+02:00"></event>
<message sender="ana" time="2024-05-13T12:56:00+02:00">
<div><span style="a">Up &amp; away</span></div></message>
<status type="away" sender="bo" time="2024-05-13T12:57:00+02:00">
<div>lunch</div></status>
<message sender="bo@j.org" alias="Bo" time="2024-05-13T12:58:00+02:00">
<div>At<br/>last</div></message>
</chat>"""
    name = "bo (2024-05-13T12.55.00+0200)"
    folder = save(tmp_path, f"Logs/{name}.chatlog/{name}.xml", log).parents[1]
    reading = read_histories(folder)
    assert reading.format == "adium"
    assert said(reading) == [
        ("2024-05-13 10:56", "ana", "Up & away"),
        ("2024-05-13 10:58", "Bo", "At\nlast"),
    ]


IRC = {
    "irssi": (
        "boats.log",
        "--- Log opened Mon May 13 12:50:11 2024\n"
        "12:50 -!- ana [~ana@example.net] has joined #boats\n"
        "12:56 <@ana> The mast is up.\n"
        "12:57  * bo waves\n"
        "12:58 -!- mode/#boats [+o bo] by ana\n"
        "--- Day changed Tue May 14 2024\n"
        "00:10 < bo> Good night.\n"
        "--- Log closed Tue May 14 00:30:00 2024\n",
    ),
    "weechat": (
        "irc.libera.#boats.weechatlog",
        "2024-05-13 12:50:00\t-->\tana (~ana@example.net) has joined #boats\n"
        "2024-05-13 12:56:00\t@ana\tThe mast is up.\n"
        "2024-05-13 12:57:00\t *\tbo waves\n"
        "2024-05-13 12:58:00\t--\tMode #boats [+o bo] by ana\n"
        "2024-05-14 00:10:00\tbo\tGood night.\n"
        "2024-05-14 00:11:00\t<--\tbo (~bo@example.net) has quit (Quit: leaving)\n",
    ),
    "mIRC": (
        "#boats.log",
        "\nSession Start: Mon May 13 12:50:11 2024\nSession Ident: #boats\n"
        "[12:50] * Now talking in #boats\n"
        "[12:50] * ana (~ana@example.net) has joined #boats\n"
        "[12:56] <@ana> The \x0304mast\x03 is up.\n"
        "[12:57] * bo waves\n"
        "[12:58] * ana sets mode: +o bo\n"
        "[00:10] <bo> Good night.\n"
        "Session Close: Tue May 14 00:30:00 2024\n",
    ),
    "HexChat": (
        "boats.log",
        "**** BEGIN LOGGING AT Mon May 13 12:50:11 2024\n\n"
        "May 13 12:50:11 *\tana (~ana@example.net) has joined\n"
        "May 13 12:56:00 <ana>\tThe mast is up.\n"
        "May 13 12:57:00 *\tbo waves\n"
        "May 14 00:10:00 <bo>\tGood night.\n"
        "**** ENDING LOGGING AT Tue May 14 00:30:00 2024\n",
    ),
    "ZNC": (
        "libera/#boats/2024-05-13.log",
        "[12:50:00] *** Joins: ana (~ana@example.net)\n"
        "[12:56:00] <ana> The mast is up.\n"
        "[12:57:00] * bo waves\n"
        "[12:58:00] *** ChanServ sets mode: +o bo\n"
        "[12:59:00] -ChanServ- Welcome\n"
        "[00:10:00] <bo> Good night.\n",
    ),
}


@pytest.mark.parametrize("program", IRC)
@pytest.mark.parametrize("whole", [True, False])
def test_logs_of_irc(program: str, whole: bool, tmp_path: Path) -> None:
    name, text = IRC[program]
    file = save(tmp_path, f"logs/{name}", text)
    reading = read_histories(tmp_path / "logs" if whole else file)
    assert reading.format == "irc"
    assert said(reading) == [
        ("2024-05-13 12:56", "ana", "The mast is up."),
        ("2024-05-13 12:57", "bo", "waves"),
        ("2024-05-14 00:10", "bo", "Good night."),
    ]


nicks = st.from_regex(r"[A-Za-z_\[\]\\`^{}|][A-Za-z0-9_\[\]\\`^{}|-]{0,12}", fullmatch=True)


@given(
    st.lists(st.tuples(nicks, st.sampled_from("@+% "), st.integers(0, 59)), min_size=1, max_size=6)
)
def test_any_nick_of_irc_speaks_and_joins_are_no_words(
    lines: list[tuple[str, str, int]],
) -> None:
    start = datetime(2024, 5, 13, 12, tzinfo=UTC)
    text = [f"--- Log opened {start:%a %b %d %H:%M:%S %Y}"]
    expected: list[tuple[str, str, str]] = []
    for hour, (nick, mark, minute) in enumerate(lines):
        at = start + timedelta(hours=hour, minutes=minute)
        text += [
            f"{at:%H:%M} -!- {nick} [~{nick}@example.net] has joined #boats",
            f"{at:%H:%M} <{mark}{nick}> Good day.",
        ]
        expected.append((f"{at:%F %H:%M}", nick, "Good day."))
    with tempfile.TemporaryDirectory() as folder:
        file = save(Path(folder), "boats.log", "\n".join([*text, ""]))
        assert said(read_histories(file)) == expected


GAMES = [
    "[{0}] [Render thread/INFO]: [CHAT] {1}",
    "[{0}] [Server thread/INFO]: {1}",
    "[{0}] [Async Chat Thread - #2/INFO]: [Not Secure] {1}",
    "[{0} INFO]: {1}",
    "2024-05-13 {0}: ACTION[Server]: CHAT: {1}",
    "2024-05-13 {0} [CHAT] {1}",
]


@pytest.mark.parametrize("line", GAMES)
def test_chats_in_the_log_of_a_game(line: str, tmp_path: Path) -> None:
    own = ("Loading world", "oldfox joined the game", "[System] was slain by Zombie", "3 < 4 > 2")
    start = [line.format(f"20:{i:02}:00", own[i % len(own)]) for i in range(60)]
    chat = ["<oldfox> the chest is under the mill", "<Kiki_77> thx > all", "* Kiki_77 waves"]
    lines = [line.format(f"21:{i:02}:00", text) for i, text in enumerate(chat)]
    lines.append(line.format("22:00:00", own[1]))
    file = save(tmp_path, "logs/2024-05-13-1.log", "\n".join([*start, *lines, ""]))
    reading = read_histories(file)
    assert reading.format == "irc"
    assert said(reading) == [
        ("2024-05-13 21:00", "oldfox", "the chest is under the mill"),
        ("2024-05-13 21:01", "Kiki_77", "thx > all"),
        ("2024-05-13 21:02", "Kiki_77", "waves"),
    ]
    assert reading.notes["system lines left out"] == len(start) + 1


PIDGIN = """<html><head><title>Conversation with bo at Mon 13 May 2024</title></head><body>
<h3>Conversation with bo at Mon 13 May 2024 12:50:00 PM CEST on ana (jabber)</h3>
<font color="#16569E"><font size="2">(12:56:00 PM)</font> <b>ana:</b></font> Up &amp; away<br/>
<font size="2">(12:57:00 PM)</font><b> bo has signed off.</b><br/>
<font color="#A82F2F"><font size="2">(01:10:00 PM)</font> <b>Bo N.:</b></font> At last<br/>
</body></html>
"""


def test_a_page_of_pidgin_is_in_the_zone_of_its_name(tmp_path: Path) -> None:
    reading = read_histories(save(tmp_path, "2024-05-13.125000+0200CEST.html", PIDGIN))
    assert reading.format == "pidgin"
    assert said(reading) == [
        ("2024-05-13 10:56", "ana", "Up & away"),
        ("2024-05-13 11:10", "Bo N.", "At last"),
    ]
    assert "dates without a zone" not in reading.notes


def test_the_package_of_discord_as_csv_in_another_language(tmp_path: Path) -> None:
    rows = (
        "ID,Timestamp,Contents,Attachments\n"
        '2,2024-05-13 11:02:30.118000+00:00,"Two\nlines, ""here""",\n'
        "1,2024-05-13 10:56:00+00:00,First.,https://cdn.discordapp.com/a/1/boat.png\n"
    )
    files: dict[str, object] = {
        "Konto/user.json": {"username": "ana_h"},
        "README.txt": "Welcome.",
        "Nachrichten/9/channel.json": {"id": "9", "name": "crew", "guild": {"name": "Boats"}},
        "Nachrichten/9/messages.csv": rows,
    }
    reading = read_histories(save_zip(tmp_path / "package.zip", files))
    assert reading.format == "discord"
    assert said(reading) == [
        ("2024-05-13 10:56", "ana_h", 'First. [shares the file "boat.png"]'),
        ("2024-05-13 11:02", "ana_h", 'Two\nlines, "here"'),
    ]


def test_the_owner_of_an_archive_of_mastodon_is_named_in_it(tmp_path: Path) -> None:
    outbox = WRITERS["mastodon"](tmp_path, [Said("Ahoy.")]).read_text("utf-8")
    boost = {"type": "Announce", "actor": "x", "published": "2024-05-08T10:00:00Z", "object": "y"}
    items: Json = json.loads(outbox)
    items["orderedItems"].append(boost)  # type: ignore[union-attr]
    files = {"outbox.json": items, "actor.json": {"preferredUsername": "ana", "name": "Ana H"}}
    reading = read_histories(save_zip(tmp_path / "archive.zip", files))
    assert [(speaker, text) for _, speaker, text in said(reading)] == [("Ana H", "Ahoy.")]
    assert reading.notes == {"boosts of others left out": 1}


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ({"mode": "snippet", "preview": "<b>sails</b>\n2 < 3"}, "<b>sails</b>\n2 < 3"),
        ({"mode": "space", "preview": "<p>Buy <b>sails</b></p>"}, "Buy sails"),
    ],
)
def test_words_in_files_of_slack(file: Json, words: str, tmp_path: Path) -> None:
    """A snippet is what was pasted, HTML as well; its colored copy is no words."""
    whole = {"title": "List", "preview_highlight": '<div class="CodeMirror">sails</div>', **file}
    message: Json = {"type": "message", "user": "U1", "text": "", "ts": "1715630160.0001"}
    files: dict[str, object] = {
        "users.json": [{"id": "U1", "name": "ana"}],
        "channels.json": [{"id": "C1", "name": "general"}],
        "general/2024-05-13.json": [{**message, "files": [whole]}],
    }
    reading = read_histories(save_zip(tmp_path / "export.zip", files))
    assert [text for *_, text in said(reading)] == [f'[shares the file "List" that says "{words}"]']


def test_every_journal_of_an_archive_is_told_by_its_content(tmp_path: Path) -> None:
    """Files of other names than a format knows, in a folder of which nothing else is known."""
    entry: Json = {"creationDate": "2024-05-13T10:56:00Z", "uuid": "A", "text": "Calm sea\\."}
    journal: Json = {"metadata": {"version": "1.0"}, "entries": [entry]}
    journals = {f"{name}.json": journal for name in ("Reise", "日記")}
    reading = read_histories(save_zip(tmp_path / "Export.zip", {**journals, "photos/a.jpeg": b"x"}))
    assert reading.format == "day-one"
    titles = {s.metadata["title"] for h in reading.histories for s in h.transcripts}
    assert titles == {"Reise", "日記"}
    assert {text for *_, text in said(reading)} == {"Calm sea."}
