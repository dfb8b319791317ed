"""The example of a web service, run by uvicorn with four workers over HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError

import pytest

import theanine
from support.serving import post, serve
from theanine.testing import ScriptedServer

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "chat_service"
CLIENTS, TURNS = 12, 4

pytestmark = pytest.mark.slow


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "memory.db")


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer(lambda request: f"I heard {len(request['messages'])} messages.") as server:
        yield server


@pytest.fixture
def url(store: str, model: ScriptedServer) -> Iterator[str]:
    environment = {
        "THEANINE_STORE": store,
        "OPENAI_BASE_URL": model.base_url,
        "OPENAI_API_KEY": "none",
    }
    with serve(EXAMPLE, workers=4, environment=environment) as url:
        yield url


def test_no_turn_is_lost_and_no_session_doubled(url: str, store: str) -> None:
    def talk(client: int) -> None:
        # Each has a conversation of its own, and a part in one that they share.
        for number in range(TURNS):
            said = {"text": f"Turn {number} of client {client}."}
            assert post(f"{url}/users/user-{client}/threads/own/turns", said)["text"]
            assert post(f"{url}/users/all/threads/shared/turns", said)["text"]

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(talk, range(CLIENTS)))
    with theanine.open(store) as client:
        sessions = {
            (scope.user, session.thread): session.turn_count
            for scope in client.users()
            for session in client.user(scope.user).sessions()
        }
        assert sessions == {
            ("all", "shared"): 2 * CLIENTS * TURNS,
            **{(f"user-{n}", "own"): 2 * TURNS for n in range(CLIENTS)},
        }
        heard = Counter(t.text for t in client.user("all").turns() if t.role == "user")
        assert heard == Counter(
            f"Turn {number} of client {n}." for n in range(CLIENTS) for number in range(TURNS)
        )


def test_it_remembers_across_threads_and_forgets(
    url: str, store: str, model: ScriptedServer
) -> None:
    ana = f"{url}/users/ana"
    post(f"{ana}/threads/monday/turns", {"text": "I'm allergic to hazelnuts."})
    post(f"{ana}/threads/monday/end")
    answer = post(f"{ana}/threads/friday/turns", {"text": "Which cake may I eat, no hazelnuts?"})
    assert "allergic to hazelnuts" in str(answer["remembered"])
    messages = model.requests[-1]["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "user"]
    assert "allergic to hazelnuts" in messages[-1]["content"]
    with theanine.open(store) as client:
        assert [report.failure for report in client.remember()] == [None]
        assert [memory.source_turns for memory in client.user("ana").memories()]
    assert post(ana, method="DELETE") == 4
    again = post(f"{ana}/threads/friday/turns", {"text": "Am I allergic to hazelnuts?"})
    assert again["remembered"] == []
    repeated = {"text": "Good night.", "id": "m1"}
    answers = [post(f"{ana}/threads/sunday/turns", repeated)["text"] for _ in range(2)]
    assert answers[0] == answers[1]
    with theanine.open(store) as client:
        turns = client.user("ana").turns(thread="sunday")
        assert [turn.text for turn in turns] == ["Good night.", answers[0]]
    with pytest.raises(HTTPError, match="422"):
        post(f"{ana}/threads/friday/turns", {"text": " "})
