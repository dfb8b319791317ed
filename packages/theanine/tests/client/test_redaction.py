"""Secrets and personal data that are replaced before anything is stored."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

import theanine
from theanine.client.redaction import KINDS, redaction
from theanine.errors import MissingExtra, SettingsError
from theanine.importers import read_histories
from theanine.testing import ScriptedServer

SAYINGS = [
    ("emails", "Write to ana.b+x@mail.example.org, please.", "Write to [email], please."),
    ("cards", "My card is 4111 1111 1111 1111.", "My card is [card]."),
    ("cards", "My order is 4111 1111 1111 1112.", "My order is 4111 1111 1111 1112."),
    ("ibans", "IBAN DE89 3704 0044 0532 0130 00, Ana", "IBAN [iban], Ana"),
    ("secrets", "Use sk-proj-abcdefghijklmnopqrstuv now.", "Use [secret] now."),
    ("secrets", "My password is hunter2.", "My password is [secret]."),
    ("secrets", "api_key: 'abc123'", "api_key: '[secret]'"),
    ("secrets", "I keep no secrets, and the token ring is old.", None),
    ("emails", "We met @ noon on 8 May 2023.", None),
    ("emails", "a" * 500_000 + " is no address.", None),
    ("secrets", "eyJaaaaaaaa-" * 20_000, None),
    ("ibans", "I was born in 1984, in BA22 1AA.", None),
]


@pytest.mark.parametrize(("kind", "text", "redacted"), SAYINGS)
def test_built_in_kinds(kind: str, text: str, redacted: str | None) -> None:
    apply = redaction(kind)
    assert apply is not None
    assert apply(text) == (text if redacted is None else redacted)


@pytest.mark.skipif(find_spec("phonenumbers") is None, reason="phonenumbers is not installed")
def test_phone_numbers() -> None:
    apply = redaction(["phones"])
    assert apply is not None
    assert apply("Call +385 91 234 5678 or (212) 555-0134.") == "Call [phone] or [phone]."
    assert apply("We were 1200 in 2023, at 10.30.") == "We were 1200 in 2023, at 10.30."


@pytest.mark.skipif(find_spec("phonenumbers") is not None, reason="phonenumbers is installed")
def test_phone_numbers_need_their_library() -> None:
    with pytest.raises(MissingExtra, match="redact"):
        redaction("phones")


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(SettingsError, match=r"redact has no kind 'names'.*emails"):
        redaction("emails,names")


def test_nothing_redacted_reaches_the_file_or_the_model(tmp_path: Path) -> None:
    path, secret = tmp_path / "memory.db", "ana@mail.example.org"
    said = f"My address is {secret}, write to me about ships."
    chat = tmp_path / "chat.txt"
    chat.write_text(f"Ana: My mail is {secret}.\nBo: Noted.\n", "utf-8")
    with (
        ScriptedServer() as server,
        theanine.open(
            str(path), model="openai:x", base_url=server.base_url, redact=["emails"]
        ) as client,
    ):
        ana = client.user("ana")
        ana.log(read_histories(chat).histories[0])
        ana.add([{"role": "user", "content": [{"type": "text", "text": said}, {"type": "x"}]}])
        with ana.session() as live:
            live.hear(said)
            live.reply()
        ana.correct(ana.memories()[0].id, f"Ana's address is {secret}.")
        ana.reply(f"Is {secret} right?")
        assert all(secret not in str(call.body) for call in server.calls)
        assert any("[email]" in turn.text for turn in ana.turns())
    for file in tmp_path.glob("memory.db*"):
        assert secret.encode() not in file.read_bytes()


def test_images_stay_and_what_only_begins_like_one_does_not(tmp_path: Path) -> None:
    url, data = "data:image/png;base64,QUJDQEQuZQ==", "QUtJQUFCQ0RFRkdISUpLTE1OT1A="
    parts = [
        {"type": "text", "text": "data: bo@mail.example.org"},
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        {"type": "odd", "source": {"type": "base64", "data": "bo@mail.example.org"}},
    ]
    with theanine.open(tmp_path / "m.db", redact=["emails", "secrets"]) as client:
        client.user("ana").add([{"role": "user", "content": parts}])
        [turn] = client.user("ana").turns(with_content=True)
    assert turn.text.startswith("data: [email]\n[image]")
    assert turn.content[0]["text"] == "data: [email]"
    assert str(turn.content).count(url) == str(turn.content).count(data) == 1
    assert "bo@" not in str(turn.content)


def test_a_function_may_redact(tmp_path: Path) -> None:
    with theanine.open(
        str(tmp_path / "m.db"), redact=lambda text: text.replace("Ana", "A")
    ) as client:
        client.user("u").session().hear("I am Ana.")
        assert client.user("u").turns()[0].text == "I am A."


def test_the_kinds_are_documented() -> None:
    assert all(f"``{kind}``" in (theanine.OpenOptions.__doc__ or "") for kind in KINDS)
