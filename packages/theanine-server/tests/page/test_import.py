"""Import: a file is previewed, confirmed, and watched while it is remembered."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Page, expect

import theanine
from page.conftest import DESKTOP, PHONE, OpenPage
from support.browser import needs_browser
from theanine.demo import HARBOUR
from theanine.testing import ScriptedServer, status

pytestmark = [pytest.mark.browser, needs_browser]
Serve = Callable[..., OpenPage]
SIZES = pytest.mark.parametrize(
    ("size", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone"]
)


def facts(page: Page) -> dict[str, str]:
    """Return what the preview says of a history."""
    names, values = (page.locator(f".facts {tag}").all_inner_texts() for tag in ("dt", "dd"))
    return dict(zip(names, values, strict=True))


def chats(conversations: int) -> FilePayload:
    """Return an export of ChatGPT."""

    def message(number: int) -> dict[str, Any]:
        return {
            "id": f"m{number}",
            "parent": None,
            "children": list[str](),
            "message": {
                "id": f"m{number}",
                "author": {"role": "user"},
                "create_time": 1_700_000_000 + 86_400 * number,
                "content": {"content_type": "text", "parts": [f"I saw bird number {number}."]},
            },
        }

    export = [
        {
            "title": f"Birds {number}",
            "create_time": 1_700_000_000 + 86_400 * number,
            "mapping": {f"m{number}": message(number)},
            "current_node": f"m{number}",
            "conversation_id": f"c{number}",
        }
        for number in range(conversations)
    ]
    return {
        "name": "conversations.json",
        "mimeType": "application/json",
        "buffer": json.dumps(export).encode(),
    }


@SIZES
def test_a_file_is_previewed_imported_and_remembered(
    serve_page: Serve, tmp_path: Path, size: tuple[int, int], scheme: str
) -> None:
    location = tmp_path / "memory.db"
    page = serve_page(location)("import", size=size, scheme=scheme)
    page.get_by_label("Whose memory is it?").fill("ana")
    page.keyboard.press("Enter")
    page.get_by_label("Drop a file here").set_input_files(HARBOUR)
    expect(page.get_by_text("Read as jsonl. Nothing is stored yet.")).to_be_visible()
    assert facts(page) == {
        "Conversations": "10",
        "Messages": "130",
        "Dates": "Mar 9, 2024 – Feb 8, 2025",
        "People": "Ana (65), Theo (65)",
    }
    expect(page.get_by_text("My name is Ana Marin")).to_be_visible()
    with theanine.open(str(location)) as client:
        assert client.user("ana").turns() == []
    page.get_by_role("button", name="Import for ana").click()
    expect(page.get_by_text("130 new messages in 10 conversations.")).to_be_visible()
    expect(page.get_by_role("heading", name="Remembered", exact=True)).to_be_visible()
    expect(page.get_by_text("73 new memories")).to_be_visible()
    expect(page).to_have_url(re.compile("operation="))
    page.reload()
    expect(page.get_by_text("73 new memories")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Import another file").click()
    page.get_by_label("Drop a file here").set_input_files(HARBOUR)
    expect(page.get_by_text("10, 10 of them known")).to_be_visible()
    page.get_by_role("button", name="Import for ana").click()
    expect(page.get_by_text("All of it was there already.")).to_be_visible()
    page.get_by_role("link", name="See the timelines").click()
    expect(page.get_by_text("73 memories from 10 conversations")).to_be_visible()


def test_a_large_export_is_dropped_and_watched(serve_page: Serve, tmp_path: Path) -> None:
    location = tmp_path / "memory.db"
    page = serve_page(location)("import?user=ana")
    file = chats(200)
    page.evaluate(
        """([name, text]) => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([text], name));
            const target = document.querySelector(".drop");
            target.dispatchEvent(new DragEvent("dragover", { dataTransfer, bubbles: true }));
            target.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true }));
        }""",
        [file["name"], file["buffer"].decode()],
    )
    expect(page.get_by_text("Read as chatgpt")).to_be_visible()
    assert facts(page)["Conversations"] == "200"
    page.get_by_role("button", name="Import for ana").click()
    expect(page.get_by_role("progressbar", name="Conversations remembered")).to_be_visible()
    expect(page.get_by_role("heading", name="Remembered", exact=True)).to_be_visible()
    with theanine.open(str(location)) as client:
        assert len(client.user("ana").memories()) == 200


def test_a_data_set_of_several_people_needs_a_choice(serve_page: Serve, tmp_path: Path) -> None:
    lines = [
        {"user": user, "session": "s1", "speaker": user, "text": f"I am {user}.", "at": at}
        for user, at in (("ana", "2026-03-01T09:00:00+00:00"), ("bo", "2026-03-02T09:00:00+00:00"))
    ]
    text = "".join(f"{json.dumps(line)}\n" for line in lines) + '{"user": "ana"}\n'
    file = tmp_path / "talks.jsonl"
    file.write_text(text, "utf-8")
    location = tmp_path / "memory.db"
    page = serve_page(location)("import?user=bo", language="de-DE")
    page.get_by_label("Zieh eine Datei hierher").set_input_files(file)
    importing = page.get_by_role("button", name="Für bo importieren")
    expect(importing).to_be_disabled()
    expect(page.get_by_text("Ausgelassen: talks.jsonl, line 3")).to_be_visible()
    page.get_by_label("Wessen Verlauf").select_option("bo")
    expect(page.get_by_text("I am bo.")).to_be_visible()
    importing.click()
    expect(page.get_by_role("heading", name="Gemerkt")).to_be_visible()
    with theanine.open(str(location)) as client:
        assert [turn.text for turn in client.user("bo").turns()] == ["I am bo."]


def test_what_fails_is_said_and_a_file_that_is_none(serve_page: Serve, tmp_path: Path) -> None:
    with ScriptedServer(status(401)) as server:
        location = tmp_path / "memory.db"
        limits = theanine.Limits(retries=0)
        page = serve_page(location, model="openai:x", base_url=server.base_url, limits=limits)(
            "import?user=ana"
        )
        nothing: FilePayload = {
            "name": "x.json",
            "mimeType": "application/json",
            "buffer": b'{"a": 1}',
        }
        page.get_by_label("Drop a file here").set_input_files(nothing)
        expect(page.get_by_role("alert")).to_contain_text("x.json")
        page.get_by_role("button", name="Cancel").click()
        page.get_by_label("Drop a file here").set_input_files(chats(1))
        page.get_by_role("button", name="Import for ana").click()
        expect(page.get_by_role("heading", name="Not everything could be")).to_be_visible()
        expect(page.get_by_role("alert")).to_contain_text("status 401")
    with theanine.open(str(location)) as client:
        [pending] = client.user("ana").pending()
        assert pending.session == 1
