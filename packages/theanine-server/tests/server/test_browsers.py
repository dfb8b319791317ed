"""Browsers of the page: the one-time link, the cookie, and who else can't use it."""

from __future__ import annotations

from dataclasses import replace

import httpx2
import pytest

from server.conftest import Service, running
from theanine_server import ServerOptions

PAGE = {"Theanine-Page": "1"}
LINK = "a-secret-of-43-letters"


def browser(service: Service, **headers: str) -> httpx2.Client:
    """Return a client with cookies, as the page asks."""
    return httpx2.Client(base_url=service.url, headers=PAGE | headers, timeout=30)


def test_a_link_signs_in_one_browser_once(options: ServerOptions) -> None:
    with running(replace(options, link=LINK)) as service, browser(service) as mine:
        assert mine.get("/v1/users").json()["code"] == "link_needed"
        signed_in = mine.post("/v1/session", json={"token": LINK})
        assert signed_in.json()["rights"] == ["read", "write", "reply", "administer"]
        cookie = signed_in.headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie and LINK not in cookie
        assert mine.get("/v1/users").status_code == 200
        assert mine.post("/v1/users/ana/messages", json=said("I like tea.")).status_code == 201
        with browser(service) as other:
            again = other.post("/v1/session", json={"token": LINK})
            assert (again.status_code, again.json()["code"]) == (401, "link_used")
            assert other.get("/v1/users").status_code == 401
        for wrong in ("", "a", LINK + "x", "é"):
            with browser(service) as other:
                assert other.post("/v1/session", json={"token": wrong}).status_code in (401, 422)


def test_other_names_of_this_machine_are_refused(options: ServerOptions) -> None:
    with running(replace(options, link=LINK)) as service, browser(service) as mine:
        mine.post("/v1/session", json={"token": LINK})
        for host in ("evil.example", "evil.example:8321", "127.0.0.1.evil.example", ""):
            for path in ("/", "/v1/users", "/v1/session"):
                assert mine.get(path, headers={"Host": host}).status_code == 400, (host, path)


@pytest.mark.parametrize("link", [None, LINK])
def test_a_cookie_counts_only_for_the_page_itself(options: ServerOptions, link: str | None) -> None:
    with running(replace(options, link=link)) as service:
        token = link or service.key()
        with browser(service) as mine:
            assert mine.post("/v1/session", json={"token": token}).status_code == 200
            assert mine.get("/v1/users").status_code == 200
            del mine.headers["Theanine-Page"]
            followed = {"Sec-Fetch-Site": "same-origin"}  # no script can set it
            assert mine.get("/v1/users", headers=followed).status_code == 200
            for site in ("cross-site", "same-site", "none"):
                assert mine.get("/v1/users", headers={"Sec-Fetch-Site": site}).status_code == 401
            sent = mine.post("/v1/users/ana/messages", json=said("hi"), headers=followed)
            assert sent.status_code == 401
            # a form, an image or a link of another site
            assert mine.get("/v1/users").status_code == 401
            assert mine.post("/v1/users/ana/messages", json=said("hi")).status_code == 401
            preflight = mine.options(
                "/v1/users",
                headers={
                    "Origin": "https://evil.example",
                    "Access-Control-Request-Method": "GET",
                    "Access-Control-Request-Headers": "theanine-page",
                },
            )
            assert preflight.status_code == 405
            assert not [name for name in preflight.headers if name.startswith("access-control")]


def test_a_key_signs_in_with_its_walls(service: Service) -> None:
    with service.client(tenant="mine") as http:
        http.post("/v1/users/ana/messages", json=said("I like tea."))
    key = service.key(tenant="mine", user="bo", rights=["read"])
    with browser(service) as mine:
        for wrong in ("theanine_0_0", "sk-1", LINK):
            assert mine.post("/v1/session", json={"token": wrong}).status_code == 401
        signed_in = mine.post("/v1/session", json={"token": key}).json()
        assert (signed_in["tenant"], signed_in["user"], signed_in["rights"]) == (
            "mine",
            "bo",
            ["read"],
        )
        assert mine.get("/v1/users/ana/graph").status_code == 403
        assert mine.get("/v1/users/bo/graph").json()["memories"] == []
        assert mine.delete("/v1/users/bo").status_code == 403
        assert mine.delete("/v1/session").status_code == 204
        assert mine.get("/v1/users/bo/graph").status_code == 401


def said(text: str) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": text}]}
