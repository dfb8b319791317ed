"""``Idempotency-Key``: a request is carried out once, however often and by whomever it is sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

import theanine
from server.conftest import Service, running, write_to
from support import postgres
from support.fuzzing import cases
from support.proxy import Cut, CuttingProxy
from theanine.client import OpenOptions
from theanine.clock import system_clock
from theanine.errors import Stale, WriteUnconfirmed
from theanine.store.sql import schema as t
from theanine.store.sql.claims import Claim, record_changes
from theanine.types import Scope, Utterance
from theanine_server import ServerOptions, idempotency
from theanine_server.webhooks.guard import Guard

READING = re.compile("/(recall|search|explain|preview|profile)$")
"""Ends of the paths that change nothing although they have a body."""
RIGHTS = ("read", "write", "reply", "administer")
PATH = "/v1/users/ana/messages"
TEA: dict[str, Any] = {"messages": [{"role": "user", "content": "I like tea."}]}
COFFEE: dict[str, Any] = {"messages": [{"role": "user", "content": "I like coffee."}]}
KEY = {"Idempotency-Key": "k-1"}


WEBHOOK = {"name": "app", "url": "http://127.0.0.1:9/", "kinds": ["operation.ended"]}


@pytest.fixture
def options(options: ServerOptions) -> ServerOptions:
    """Options with which a webhook may be on this machine."""
    return replace(options, webhook_guard=Guard(["127.0.0.0/8"]))


@pytest.fixture
def http(service: Service) -> Iterator[httpx2.Client]:
    with service.client(rights=RIGHTS) as client:
        yield client


def texts(http: httpx2.Client, user: str = "ana") -> list[str]:
    return [turn["text"] for turn in http.get(f"/v1/users/{user}/turns").json()["items"]]


def code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_a_request_that_is_repeated_is_carried_out_once(http: httpx2.Client) -> None:
    first = http.post(PATH, json=TEA, headers=KEY)
    assert first.status_code == 201 and "Idempotency-Replayed" not in first.headers
    again = http.post(PATH, json=TEA, headers=KEY)
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.headers["Content-Type"] == first.headers["Content-Type"]
    assert texts(http) == ["I like tea."]
    assert code(http.post(PATH, json=COFFEE, headers=KEY)) == (422, "key_reused")
    assert code(http.post("/v1/users/bo/messages", json=TEA, headers=KEY)) == (422, "key_reused")
    assert http.post(PATH, json=TEA).status_code == 201
    assert texts(http) == ["I like tea."] * 2 and texts(http, "bo") == []
    assert http.post(PATH, json=TEA, headers={"Idempotency-Key": "k" * 256}).status_code == 422


def test_keys_of_others_are_others(service: Service, http: httpx2.Client) -> None:
    assert http.post(PATH, json=TEA, headers=KEY).status_code == 201
    with ExitStack() as stack:
        for bounds in ({"tenant": "other"}, {}, {"user": "bo"}):
            other = stack.enter_context(service.client(rights=RIGHTS, **bounds))
            user = bounds.get("user", "ana")
            answer = other.post(f"/v1/users/{user}/messages", json=COFFEE, headers=KEY)
            assert answer.status_code == 201 and "Idempotency-Replayed" not in answer.headers
            assert "I like coffee." in texts(other, user)


def test_a_request_that_changes_nothing_can_be_sent_again(http: httpx2.Client) -> None:
    """A refusal is no answer to keep: what was wrong may be right by then."""
    path = "/v1/users/ana/threads/t"
    assert http.delete(path, headers=KEY).status_code == 404
    http.post(f"{path}/hear", json={"content": "I like tea."})
    assert http.delete(path, headers=KEY).status_code == 200
    assert http.delete(path, headers=KEY).headers["Idempotency-Replayed"] == "true"
    assert http.delete(path).status_code == 404


def routes_that_write(http: httpx2.Client) -> list[tuple[str, str, dict[str, Any]]]:
    document = http.get("/openapi.json").json()
    return [
        (method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method != "get"
        and not READING.search(path)
        and not {"proxy", "service"} & {*operation["tags"]}
    ]


def test_every_route_that_writes_takes_a_key(http: httpx2.Client) -> None:
    found = routes_that_write(http)
    assert len(found) > 20
    for method, path, operation in found:
        headers = [each["name"] for each in operation["parameters"] if each["in"] == "header"]
        assert "Idempotency-Key" in headers, (method, path)
        assert "409" in operation["responses"], (method, path)


BODIES: dict[str, Any] = {
    "/v1/keys": {"name": "app"},
    "/v1/operations": {"kind": "expire"},
    "/v1/settings": {"retention": "P900D"},
    "/v1/evaluation/comparisons": {"user": "ana", "methods": ["nonsense"]},
    "/v1/webhooks": WEBHOOK,
    "/v1/webhooks/{webhook}": {"name": "other"},
    "/v1/users/{user}/messages": TEA,
    "/v1/users/{user}/threads/{thread}/messages": TEA,
    "/v1/users/{user}/threads/{thread}/hear": {"content": "I like tea."},
    "/v1/users/{user}/threads/{thread}/say": {"content": "Noted."},
    "/v1/users/{user}/memories/{number}/corrections": {"text": "Ana likes coffee."},
    "/v1/users/{user}/settings": {"time_zone": "Europe/Zagreb"},
    "/v1/users/{user}/reply": {"dialogue": "Do I like tea?"},
    "/v1/users/{user}/forgetting": {"everything": True, "pause": 3600},
    "/v1/users/{user}/histories": {"name": "ana", "transcripts": []},
}
REFUSED = {
    "/v1/operations/{operation}/retry": (409, "not_ended"),
    "/v1/users/{user}/pending/{session}/retry": (422, "bad_input"),
    "/v1/users/{user}/pending/{session}/cancel": (422, "bad_input"),
    "/v1/users/{user}/import": (422, "bad_input"),
    "/v1/evaluation/comparisons": (422, "bad_input"),
}
"""What can't be done here, which a repetition can't either."""
WITH_SECRET = ("/v1/keys", "/v1/webhooks", "/v1/webhooks/{webhook}/secret")
"""Answers that are not kept."""


def test_every_route_that_writes_answers_a_repetition_alike(
    service: Service, http: httpx2.Client
) -> None:
    for number, (method, path, _) in enumerate(routes_that_write(http)):
        user = f"user-{number}"
        base = f"/v1/users/{user}"
        http.post(f"{base}/threads/t/hear", json={"content": "I live in Lisbon."})
        http.post(f"{base}/threads/t/end", json={"remember": True})
        http.post(f"{base}/threads/t/hear", json={"content": "And cake, and coffee."})
        session = http.get(f"{base}/sessions").json()["items"][0]["id"]
        turn = http.get(f"{base}/turns").json()["items"][0]["id"]
        memory = http.get(f"{base}/memories").json()["items"][0]["id"]
        operation = http.post("/v1/operations", json={"kind": "expire"}).json()["id"]
        if "/forgetting/" in path:
            forgotten = {"everything": True, "pause": 3600}
            operation = http.post(f"{base}/forgetting", json=forgotten).json()["id"]
        webhook = delivery = ""
        if "{webhook}" in path:
            webhook = http.post("/v1/webhooks", json=WEBHOOK).json()["webhook"]["id"]
            delivery = http.post(f"/v1/webhooks/{webhook}/test").json()["id"]
        key = service.key(tenant="default").split("_")[1]
        filled = path.format(
            user=user,
            thread="t",
            session=session,
            turn=turn,
            number=memory,
            operation=operation,
            key=key,
            webhook=webhook,
            delivery=delivery,
        )
        if path == "/v1/users/{user}/turns":
            filled += f"?ids={turn}"
        headers = {"Idempotency-Key": f"every-{number}"}
        first = http.request(method, filled, json=BODIES.get(path, {}), headers=headers)
        again = http.request(method, filled, json=BODIES.get(path, {}), headers=headers)
        if path in REFUSED:
            assert code(first) == code(again) == REFUSED[path], (method, path)
        elif path in WITH_SECRET and method == "post":
            assert first.is_success and code(again) == (409, "answer_not_kept")
        else:
            assert first.is_success, (method, path, first.text)
            if path.endswith("/confirm") and again.status_code == 409:
                assert code(again) == (409, "answer_not_kept")  # erased with what was said
                continue
            assert (again.status_code, again.content) == (first.status_code, first.content), path
            assert again.headers["Idempotency-Replayed"] == "true", (method, path)


def test_a_stored_answer_holds_no_secret_and_nothing_that_was_erased(
    service: Service, http: httpx2.Client
) -> None:
    token = http.post("/v1/keys", json={"name": "app"}, headers=KEY).json()["token"]
    assert code(http.post("/v1/keys", json={"name": "app"}, headers=KEY)) == (
        409,
        "answer_not_kept",
    )
    said = {"content": "My password is cormorant-4417.", "id": "m1"}
    hearing = {"Idempotency-Key": "cormorant-key"}
    path = "/v1/users/ana/threads/t/hear"
    assert http.post(path, json=said, headers=hearing).status_code == 201
    assert b"cormorant-4417" in read_files(service)
    forgetting = {"Idempotency-Key": "forget"}
    receipt = http.delete("/v1/users/ana", headers=forgetting)
    assert receipt.json()["verified"]
    assert http.delete("/v1/users/ana", headers=forgetting).content == receipt.content
    assert code(http.post(path, json=said, headers=hearing)) == (409, "answer_not_kept")
    stored = read_files(service)
    for secret in (token.split("_", 2)[2], "cormorant-4417", "cormorant-key"):
        assert secret.encode() not in stored


def read_files(service: Service) -> bytes:
    files = Path(service.location).parent.rglob("memory.db*")
    return b"".join(file.read_bytes() for file in files if file.is_file())


# crashes and restarts


def test_answers_outlive_the_process(options: ServerOptions) -> None:
    with running(options) as service:
        token = service.key()
        with service.client(token) as http:
            first = http.post(PATH, json=TEA, headers=KEY)
    with running(options) as service, service.client(token) as http:
        assert http.post(PATH, json=TEA, headers=KEY).content == first.content
        assert texts(http) == ["I like tea."]


def begin(location: str, http: httpx2.Client, *, changed: bool, **values: Any) -> Claim:
    """Begin the request of TEA as another process would, and leave it there."""
    body = httpx2.Request("POST", "http://localhost", json=TEA).content
    name = sha256(KEY["Idempotency-Key"].encode())
    api_key = http.get("/v1/whoami").json()["key"]
    claim = Claim(tenant="default", api_key=api_key, name=name.hexdigest())
    fingerprint = idempotency.fingerprint_of(name.digest(), "POST", PATH, "", body)

    def work(db: sa.Connection) -> None:
        holder = "elsewhere@0-0:1:0/x"
        assert idempotency.claim_row(db, claim, holder, fingerprint, Scope("ana")) is None
        row = t.idempotent_request.update().where(claim.row)
        db.execute(row.values(changed=changed, **values))

    anyio.run(write_to, location, work)
    return claim


def test_a_request_that_runs_is_not_begun_again(service: Service, http: httpx2.Client) -> None:
    begin(service.location, http, changed=False)
    answer = http.post(PATH, json=TEA, headers=KEY)
    assert code(answer) == (409, "in_progress")
    assert 1 <= int(answer.headers["Retry-After"]) <= idempotency.LEASE.total_seconds()
    assert code(http.post(PATH, json=COFFEE, headers=KEY)) == (422, "key_reused")
    assert texts(http) == []


def test_a_request_whose_process_died_is_begun_again(service: Service, http: httpx2.Client) -> None:
    begin(service.location, http, changed=False, until=0)
    answer = http.post(PATH, json=TEA, headers=KEY)
    assert answer.status_code == 201
    assert http.post(PATH, json=TEA, headers=KEY).content == answer.content
    assert texts(http) == ["I like tea."]


def test_a_request_whose_process_died_after_a_change_is_not(
    service: Service, http: httpx2.Client
) -> None:
    begin(service.location, http, changed=True, until=0)
    assert code(http.post(PATH, json=TEA, headers=KEY)) == (409, "answer_not_kept")
    assert texts(http) == []
    with theanine.connect(service.url, key=http.headers["Authorization"].split()[1]) as client:
        with pytest.raises(WriteUnconfirmed, match="look at what is there"):
            raise_for(http.post(PATH, json=TEA, headers=KEY))
        assert client.users() == []


def raise_for(answer: httpx2.Response) -> None:
    from theanine.remote.transport import raise_problem

    raise_problem(answer.json())


def test_an_expired_answer_is_forgotten(service: Service, http: httpx2.Client) -> None:
    http.post(PATH, json=TEA, headers=KEY)

    def expire(db: sa.Connection) -> int:
        db.execute(t.idempotent_request.update().values(expires_at=0))
        idempotency.remove_expired(db)
        return db.execute(sa.select(sa.func.count()).select_from(t.idempotent_request)).scalar_one()

    assert anyio.run(write_to, service.location, expire) == 0
    assert http.post(PATH, json=COFFEE, headers=KEY).status_code == 201
    assert texts(http) == ["I like tea.", "I like coffee."]


def test_a_process_that_was_thought_dead_changes_nothing(
    service: Service, http: httpx2.Client
) -> None:
    late = begin(service.location, http, changed=False, until=0)
    assert http.post(PATH, json=TEA, headers=KEY).status_code == 201

    async def go_on() -> None:
        async with theanine.aopen(service.location) as client:
            record_changes(late)
            with pytest.raises(Stale, match="nothing was stored"):
                await client.user("ana").add("I like tea.")

    anyio.run(go_on)
    assert texts(http) == ["I like tea."]


# many at once


@pytest.mark.parametrize(
    "location",
    [
        "sqlite",
        pytest.param(
            "postgres",
            marks=[
                pytest.mark.slow,
                pytest.mark.skipif(bool(postgres.MISSING), reason=postgres.MISSING),
            ],
        ),
    ],
)
def test_two_processes_carry_a_request_out_once(location: str, tmp_path: Path) -> None:
    """Each service has its own connections; only the store keeps them apart."""
    url = str(tmp_path / "memory.db") if location == "sqlite" else postgres.database_url(tmp_path)
    options = ServerOptions(OpenOptions(url, remembering="later"))
    with ExitStack() as stack:
        services = [stack.enter_context(running(options)) for _ in range(2)]
        token = services[0].key()
        clients = [stack.enter_context(each.client(token)) for each in services]
        for http in clients:  # in one thread after the other: both applications share their routes
            http.get("/openapi.json")
        with ThreadPoolExecutor(16) as pool:
            for round_ in range(6):
                headers = {"Idempotency-Key": f"round-{round_}"}
                sending = [
                    pool.submit(http.post, PATH, json=TEA, headers=headers) for http in clients * 8
                ]
                answers = [each.result() for each in sending]
                done = {each.content for each in answers if each.status_code == 201}
                others = {code(each) for each in answers if each.status_code != 201}
                assert len(done) == 1 and others <= {(409, "in_progress")}
                for http in clients:
                    assert http.post(PATH, json=TEA, headers=headers).content in done
        assert texts(clients[1]) == ["I like tea."] * 6


@given(
    requests=st.lists(
        st.tuples(st.integers(0, 1), st.sampled_from("ab"), st.sampled_from([TEA, COFFEE])),
        max_size=8,
    )
)
@cases(15)
def test_any_requests_in_any_order(
    service: Service, requests: list[tuple[int, str, dict[str, Any]]]
) -> None:
    tenant = token_hex(4)
    with ExitStack() as stack:
        clients = [stack.enter_context(service.client(tenant=tenant)) for _ in range(2)]
        seen: dict[tuple[int, str], tuple[dict[str, Any], bytes]] = {}
        for owner, key, body in requests:
            answer = clients[owner].post(PATH, json=body, headers={"Idempotency-Key": key})
            first, content = seen.setdefault((owner, key), (body, answer.content))
            if body == first:
                assert (answer.status_code, answer.content) == (201, content)
            else:
                assert code(answer) == (422, "key_reused")
        logged = [body["messages"][0]["content"] for body, _ in seen.values()]
        assert texts(clients[0]) == logged


# the client


def test_the_client_repeats_what_lost_its_answer(service: Service) -> None:
    """Every other reply is lost, yet everything is done once."""
    count = 0

    def choose(data: bytes) -> Cut:
        nonlocal count
        if not data.startswith((b"POST", b"PUT", b"DELETE")):
            return ""
        count += 1
        return "reply" if count % 2 else ""

    port = int(urlsplit(service.url).port or 0)
    with (
        CuttingProxy(port, choose) as proxy,
        theanine.connect(
            f"http://127.0.0.1:{proxy.port}", key=service.key(rights=RIGHTS)
        ) as client,
    ):
        ana = client.user("ana")
        assert len(ana.add("I live in Lisbon.").turns) == 1
        said = [Utterance(text="I have a cat.", speaker="ana", at=system_clock())]
        assert len(ana.add(said).turns) == 1
        first = ana.memories()[0]
        corrected = ana.correct(first.id, "Ana lives in Porto.")
        assert ana.history(first.id) == [first, corrected]
        assert ana.pin(corrected.id)
        assert len(ana.turns()) == 3  # a correction is one, too
        assert ana.forget_all().turns == 3
        assert len(proxy.cuts) >= 5
