"""Threads: a reply is in the session in which its thread began, however late it comes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import theanine
from support.chat_exports import save_zip
from support.history_samples import Json, save
from theanine.importers import read_histories

START = datetime(2024, 5, 13, 10, 56, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Post:
    """A message so many hours after the first one; ``root`` is what it replies to."""

    id: str
    hours: int
    root: str = ""

    @property
    def at(self) -> datetime:
        return START + timedelta(hours=self.hours)

    @property
    def iso(self) -> str:
        return self.at.isoformat().replace("+00:00", "Z")

    @property
    def ms(self) -> int:
        return int(self.at.timestamp() * 1000)

    @property
    def text(self) -> str:
        return f"Words of {self.id}."


def _slack(folder: Path, posts: Sequence[Post]) -> Path:
    ids = {post.id: f"{post.at.timestamp():.6f}" for post in posts}
    days: dict[str, object] = {}
    for post in posts:
        thread = {"thread_ts": ids[post.root]} if post.root else {}
        day: list[Json] = days.setdefault(f"general/{post.at:%F}.json", [])  # type: ignore[assignment]
        day.append(
            {"type": "message", "user": "U1", "text": post.text, "ts": ids[post.id], **thread}
        )
    people: list[Json] = [{"id": "U1", "name": "ana"}]
    lists = {"users.json": people, "channels.json": [{"id": "C1", "name": "general"}]}
    return save_zip(folder / "export.zip", {**lists, **days})


def _matrix(folder: Path, posts: Sequence[Post]) -> Path:
    events: list[Json] = []
    for post in posts:
        relation: Json = {"rel_type": "m.thread", "event_id": post.root}
        content: Json = {"msgtype": "m.text", "body": post.text}
        content |= {"m.relates_to": relation} if post.root else {}
        events.append(
            {
                "type": "m.room.message",
                "sender": "@ana:example.org",
                "event_id": post.id,
                "origin_server_ts": post.ms,
                "content": content,
            }
        )
    return save(folder, "export.json", {"room_name": "Crew", "messages": events})


def _google_chat(folder: Path, posts: Sequence[Post]) -> Path:
    messages: list[Json] = [
        {
            "creator": {"name": "Ana"},
            "created_date": f"{post.at:%A, %B %d, %Y at %I:%M:%S %p} UTC",
            "text": post.text,
            "topic_id": post.root or post.id,
            "message_id": f"space/{post.root or post.id}/{post.id}",
        }
        for post in posts
    ]
    return save(folder, "messages.json", {"messages": messages})


def _graph(post: Post) -> Json:
    return {
        "id": post.id,
        "replyToId": post.root or None,
        "messageType": "message",
        "createdDateTime": post.iso,
        "from": {"user": {"displayName": "Ana"}},
        "body": {"contentType": "text", "content": post.text},
    }


def _teams(folder: Path, posts: Sequence[Post]) -> Path:
    return save(folder, "messages.json", {"value": [_graph(post) for post in posts]})


def _teams_nested(folder: Path, posts: Sequence[Post]) -> Path:
    messages = [
        {**_graph(post), "replies": [{**_graph(p), "replyToId": None} for p in replies]}
        for post in posts
        if not post.root
        for replies in [[each for each in posts if each.root == post.id]]
    ]
    return save(folder, "messages.json", {"value": messages})


def _mattermost(folder: Path, posts: Sequence[Post]) -> Path:
    def said(post: Post) -> Json:
        return {"user": "ana", "message": post.text, "create_at": post.ms}

    lines: list[Json] = [{"type": "version", "version": 1, "info": {"generator": "server"}}]
    for post in posts:
        if not post.root:
            replies = [said(each) for each in posts if each.root == post.id]
            whole: Json = {"team": "t", "channel": "crew", **said(post), "replies": replies}
            lines.append({"type": "post", "post": whole})
    return save(folder, "import.jsonl", "".join(json.dumps(line) + "\n" for line in lines))


def _mattermost_api(folder: Path, posts: Sequence[Post]) -> Path:
    found: Json = {
        post.id: {
            "id": post.id,
            "user_id": "ana",
            "root_id": post.root,
            "message": post.text,
            "create_at": post.ms,
        }
        for post in posts
    }
    return save(folder, "posts.json", {"order": [*found][::-1], "posts": found})


def _rocket_chat(folder: Path, posts: Sequence[Post]) -> Path:
    messages: list[Json] = [
        {
            "_id": post.id,
            "rid": "GENERAL",
            "msg": post.text,
            "ts": post.iso,
            "u": {"username": "ana"},
            **({"tmid": post.root} if post.root else {}),
        }
        for post in posts
    ]
    return save(folder, "general.json", {"messages": messages[::-1]})


def _mastodon(folder: Path, posts: Sequence[Post]) -> Path:
    items: list[Json] = [
        {
            "type": "Create",
            "actor": "https://social.example/users/ana",
            "published": post.iso,
            "object": {
                "id": f"https://social.example/{post.id}",
                "conversation": f"tag:{post.root or post.id}",
                "content": f"<p>{post.text}</p>",
            },
        }
        for post in posts
    ]
    return save(folder, "outbox.json", {"type": "OrderedCollection", "orderedItems": items})


THREADED: Mapping[str, Callable[[Path, Sequence[Post]], Path]] = {
    "slack": _slack,
    "matrix": _matrix,
    "google-chat": _google_chat,
    "teams": _teams,
    "teams, nested": _teams_nested,
    "mattermost": _mattermost,
    "mattermost, API": _mattermost_api,
    "rocket-chat": _rocket_chat,
    "mastodon": _mastodon,
}


@pytest.mark.parametrize("name", THREADED)
@given(st.lists(st.integers(1, 400), min_size=1, max_size=5, unique=True))
def test_a_reply_is_in_the_session_of_its_thread(name: str, hours: list[int]) -> None:
    """Other messages are half an hour from each reply, in sessions of their own."""
    replies = [Post(f"reply{hour}", hour * 8, "root") for hour in sorted(hours)]
    others = [Post(f"other{hour}", hour * 8 + 4) for hour in sorted(hours)]
    posts = [
        Post("root", 0),
        *(each for pair in zip(replies, others, strict=True) for each in pair),
    ]
    with tempfile.TemporaryDirectory() as folder:
        (history,) = read_histories(THREADED[name](Path(folder), posts)).histories
    sessions = [[turn.text for turn in session.turns] for session in history.transcripts]
    assert sessions == [[p.text for p in posts if p not in others], *([p.text] for p in others)]


@pytest.mark.parametrize("name", THREADED)
def test_a_later_export_adds_the_new_reply_to_its_thread(name: str, tmp_path: Path) -> None:
    posts = [Post("root", 0), Post("other", 24), Post("reply1", 48, "root")]
    later = [*posts, Post("reply2", 96, "root")]
    with theanine.open(str(tmp_path / "memory.db")) as client:
        ana = client.user("ana")
        for number, (talk, new) in enumerate(((posts, 3), (later, 1), (later, 0))):
            (tmp_path / f"{number}").mkdir()
            file = THREADED[name](tmp_path / f"{number}", talk)
            (history,) = read_histories(file).histories
            assert ana.log(history).turns_new == new


@pytest.mark.parametrize("kind", ["GuildPublicThread", "GuildPrivateThread", 11])
def test_a_thread_of_discord_is_one_session(kind: object, tmp_path: Path) -> None:
    messages: list[Json] = [
        {
            "id": f"{hours}",
            "type": "Default",
            "timestamp": Post("", hours).iso,
            "content": "Still here.",
            "author": {"name": "ana"},
        }
        for hours in (0, 30, 100)
    ]
    channel: Json = {"id": "9", "type": kind, "category": "general", "name": "winter berth"}
    export: Json = {"guild": {"name": "Boats"}, "channel": channel, "messages": messages}
    (history,) = read_histories(save(tmp_path, "thread.json", export)).histories
    assert [len(session.turns) for session in history.transcripts] == [3]


def test_a_topic_of_zulip_is_one_session(tmp_path: Path) -> None:
    """A realm's own export has the names in another file."""
    realm: Json = {
        "zerver_userprofile": [{"id": 4, "full_name": "Ana"}, {"id": 5, "full_name": "Bo"}],
        "zerver_stream": [{"id": 2, "name": "boats"}],
        "zerver_recipient": [{"id": 7, "type": 2, "type_id": 2}],
    }
    messages: list[Json] = [
        {
            "id": hours,
            "sender": 4 + hours % 2,
            "recipient": 7,
            "subject": topic,
            "content": f"After {hours} hours.",
            "date_sent": Post("", hours).at.timestamp(),
        }
        for hours, topic in ((0, "winter"), (1, "keel"), (50, "winter"), (99, "winter"))
    ]
    files = {"realm.json": realm, "messages-000001.json": {"zerver_message": messages}}
    (history,) = read_histories(save_zip(tmp_path / "zulip.zip", files)).histories
    found = {s.metadata["title"]: [t.speaker for t in s.turns] for s in history.transcripts}
    assert found == {"boats > winter": ["Ana", "Ana", "Bo"], "boats > keel": ["Bo"]}
