"""Keys: what they open, and what they don't."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from server.conftest import START_LIMIT, Service, running
from theanine.clock import system_clock
from theanine.store.sql.api_keys import ApiKey
from theanine_server import ServerOptions
from theanine_server.keys import KNOWN_FOR, KNOWN_WITHOUT_STORE, KeyCache


def test_a_request_needs_a_valid_key(service: Service) -> None:
    expired = service.key(expires_at=system_clock() - timedelta(seconds=1))
    for token in ("", "nonsense", "theanine_00_00", expired, expired + "x"):
        with service.client(token) as http:
            answer = http.get("/v1/whoami")
            assert answer.status_code == 401
            assert answer.headers["WWW-Authenticate"] == "Bearer"
    with service.client() as http:
        assert http.get("/v1/whoami").json()["tenant"] == "default"
    headers = {"Theanine-Key": service.key(), "Authorization": "Bearer sk-of-a-provider"}
    with service.client("") as http:
        assert http.get("/v1/whoami", headers=headers).status_code == 200
        assert http.get("/health").status_code == http.get("/ready").status_code == 200


def test_blanks_around_a_header_are_no_part_of_it(service: Service) -> None:
    connection = HTTPConnection(urlsplit(service.url).netloc)
    headers = {"Authorization": f"  Bearer {service.key()} \t ", "X-Request-Id": " \tabc \t"}
    connection.request("GET", "/v1/whoami", headers=headers)
    answer = connection.getresponse()
    assert (answer.status, answer.headers["X-Request-Id"]) == (200, "abc")
    connection.close()


def test_the_store_has_no_secret(service: Service) -> None:
    token = service.key()
    files = Path(service.location).parent.glob("memory.db*")
    content = b"".join(file.read_bytes() for file in files if file.is_file())
    assert token.split("_", 2)[1].encode() in content
    assert token.split("_", 2)[2].encode() not in content


@pytest.mark.parametrize(
    ("rights", "statuses"),
    [
        (["read"], (200, 403, 403)),
        (["write"], (403, 201, 403)),
        (["administer"], (403, 403, 200)),
    ],
)
def test_a_key_allows_what_its_rights_say(
    service: Service, rights: list[str], statuses: tuple[int, ...]
) -> None:
    with service.client(rights=rights) as http:
        said = {"content": "I like tea."}
        assert statuses == (
            http.get("/v1/users/ana/turns").status_code,
            http.post("/v1/users/ana/threads/t/hear", json=said).status_code,
            http.get("/v1/keys").status_code,
        )


def test_a_key_of_a_user_opens_nobody_elses_data(service: Service) -> None:
    with service.client() as http:
        http.post("/v1/users/bo/threads/t/hear", json={"content": "I like tea."})
    with service.client(user="ana", agent="concierge") as http:
        assert http.get("/v1/users/ana/turns").status_code == 200
        seen = [
            http.get(path)
            for path in (
                "/v1/users/bo/turns",
                "/v1/users/nobody/turns",
                "/v1/users/ana/turns?agent=default",
            )
        ]
        assert {answer.status_code for answer in seen} == {403}
        assert len({answer.text for answer in seen}) == 1
        assert http.get("/v1/users").json()["items"] == []


def test_an_administrator_makes_and_revokes_keys_of_its_tenant(service: Service) -> None:
    with service.client(tenant="acme", rights=["read", "administer"]) as http:
        made = http.post("/v1/keys", json={"name": "app", "rights": ["read"]}).json()
        assert made["key"]["tenant"] == "acme"
        assert made["token"] not in http.get("/v1/keys").text
        with service.client(made["token"]) as other:
            assert other.get("/v1/users").status_code == 200
        assert http.delete(f"/v1/keys/{made['key']['id']}").json()["revoked_at"]
        assert http.delete("/v1/keys/nothing").status_code == 404
    with service.client(rights=["administer"]) as http:
        assert http.delete(f"/v1/keys/{made['key']['id']}").status_code == 404
        assert http.post("/v1/keys", json={"name": "x", "rights": ["all"]}).status_code == 422


@pytest.mark.parametrize("rights", [["administer"], ["read", "administer"]])
@pytest.mark.parametrize("rate", [None, 5])
@pytest.mark.parametrize("days", [None, 1])
def test_a_new_key_has_at_most_what_its_maker_has(
    rights: list[str], rate: int | None, days: int | None, service: Service
) -> None:
    end = None if days is None else system_clock() + timedelta(days=days)
    later = system_clock() + timedelta(days=9)
    with service.client(service.key(rights=rights, rate=rate, expires_at=end)) as http:
        key = http.post("/v1/keys", json={"name": "x"}).json()["key"]
        assert set(key["rights"]) <= set(rights) and key["rights"]
        assert key["rate"] == rate
        assert (key["expires_at"] is None) == (end is None)
        for more, refused in (
            ({"rights": ["write"]}, True),
            ({"rate": 6}, rate is not None),
            ({"expires_at": later.isoformat()}, end is not None),
        ):
            answer = http.post("/v1/keys", json={"name": "x", **more})
            assert answer.status_code == (403 if refused else 201)


def test_a_key_for_one_user_makes_no_key_for_others(service: Service) -> None:
    with service.client(user="ana", rights=["administer"]) as http:
        assert http.post("/v1/keys", json={"name": "x"}).json()["key"]["user"] == "ana"
        answer = http.post("/v1/keys", json={"name": "x", "user": "bo"})
        assert answer.status_code == 403


@pytest.mark.parametrize("bound", [{"user": "ana"}, {"agent": "concierge"}])
def test_a_bound_key_neither_lists_nor_revokes_wider_ones(
    service: Service, bound: dict[str, str]
) -> None:
    with service.client() as wide, service.client(rights=["administer"], **bound) as http:
        number = wide.get("/v1/whoami").json()["key"]
        own = http.post("/v1/keys", json={"name": "app", **bound}).json()["key"]["id"]
        listed = [key["id"] for key in http.get("/v1/keys").json()]
        assert own in listed and number not in listed
        assert http.delete(f"/v1/keys/{number}").status_code == 404
        assert wide.get("/v1/whoami").status_code == 200
        assert http.delete(f"/v1/keys/{own}").json()["revoked_at"]


def test_a_rate_is_kept(service: Service) -> None:
    with service.client(rate=3) as http:
        answers = [http.get("/v1/whoami") for _ in range(5)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
        assert 1 <= int(answers[-1].headers["Retry-After"]) <= 20


def test_tenants_have_the_same_names_and_nothing_in_common(service: Service) -> None:
    with service.client(tenant="a") as a, service.client(tenant="b") as b:
        a.post("/v1/users/ana/threads/t/hear", json={"content": "I like tea."})
        assert b.get("/v1/users/ana/turns").json()["items"] == []
        assert b.get("/v1/users").json()["items"] == []
        path = "/v1/users/ana/turns/1"
        assert b.get(path).status_code == b.get("/v1/users/nobody/turns/1").status_code == 404


def test_without_keys_only_this_machine_may_ask(dev_service: Service) -> None:
    with dev_service.client("") as http:
        assert http.get("/v1/users").status_code == 200
        assert http.get("/v1/users", headers={"Host": "memory.example"}).status_code == 401
        for site in ("cross-site", "same-site"):  # as of an image, which no-cors asks for
            answer = http.get("/v1/users", headers={"Sec-Fetch-Site": site})
            assert answer.status_code == 401
        for site in ("none", "same-origin"):
            assert http.get("/v1/users", headers={"Sec-Fetch-Site": site}).status_code == 200
        origin = {"Origin": "https://evil.example"}
        assert http.get("/v1/users", headers=origin).status_code == 401


def test_revoking_a_key_revokes_what_it_made(service: Service) -> None:
    root = service.client(rights=["read", "administer"])
    with root, service.client(rights=["read"]) as other:
        made: list[str] = []
        makers, tokens = [root], list[str]()
        with ExitStack() as opened:
            for rights in (["administer", "read"], ["administer", "read"], ["read"]):
                new = makers[-1].post("/v1/keys", json={"name": "x", "rights": rights}).json()
                made.append(new["key"]["id"])
                tokens.append(new["token"])
                makers.append(opened.enter_context(service.client(new["token"])))
            keys = {each["id"]: each for each in root.get("/v1/keys").json()}
            own = root.get("/v1/whoami").json()["key"]
            assert [keys[each]["maker"] for each in made] == [own, *made[:-1]]
            assert root.delete(f"/v1/keys/{made[0]}").json()["revoked_at"]
            revoked = {each["id"] for each in root.get("/v1/keys").json() if each["revoked_at"]}
            assert revoked == {*made}
        assert other.get("/v1/whoami").status_code == 200
    for token in tokens:  # read before: within five seconds
        with service.client(token) as http:
            deadline = time.monotonic() + START_LIMIT
            while http.get("/v1/whoami").status_code == 200:
                assert time.monotonic() < deadline


def test_a_cached_key_ends_however_the_clock_is_set() -> None:
    seconds = 100.0
    cache = KeyCache(lambda: seconds)
    key = ApiKey(id="a", name="x", created_at=system_clock())
    cache.put("token", key)
    assert cache.get("token") == key
    seconds += KNOWN_FOR
    assert cache.get("token") is None
    assert cache.get_without_store("token") == key
    cache.postpone("token")
    assert cache.get("token") == key
    seconds += KNOWN_WITHOUT_STORE
    assert cache.get_without_store("token") is None


@pytest.mark.parametrize("rights", [["read"], ["write"], ["read", "write"], ["administer"]])
def test_a_reply_at_the_operators_cost_needs_its_right(service: Service, rights: list[str]) -> None:
    with service.client(rights=rights) as http:
        for path in ("/v1/users/ana/reply", "/v1/users/ana/threads/t/reply"):
            answer = http.post(path, json={"dialogue": "Hello?"} if "threads" not in path else {})
            assert answer.status_code == 403
            assert "right to" in answer.json()["detail"]


def test_who_administers_has_replies_and_may_give_them(service: Service) -> None:
    with service.client(rights=["read", "write", "administer"]) as http:
        asked = {"dialogue": "Hello?"}
        assert http.post("/v1/users/ana/reply", json=asked).status_code == 200
        new = http.post("/v1/keys", json={"name": "x", "rights": ["read", "write", "reply"]})
        with service.client(new.json()["token"]) as other:
            assert other.post("/v1/users/ana/reply", json=asked).status_code == 200


def test_a_tenant_has_its_number_of_replies_a_day(options: ServerOptions) -> None:
    path, asked = "/v1/users/ana/reply", {"dialogue": "Hello?"}
    with (
        running(replace(options, max_replies=2)) as service,
        service.client(tenant="a") as http,
        service.client(tenant="b") as other,
    ):
        assert [http.post(path, json=asked).status_code for _ in range(3)] == [200, 200, 429]
        answer = http.post(path, json=asked)
        assert answer.json()["code"] == "budget_exceeded"
        assert 0 < int(answer.headers["Retry-After"]) <= 24 * 60 * 60
        assert other.post(path, json=asked).status_code == 200
