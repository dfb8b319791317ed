"""The API as an application uses it: hear, recall, say, read, correct, forget."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from server.conftest import Service


def test_a_conversation_is_heard_remembered_and_recalled(service: Service) -> None:
    with service.client() as http:
        said = {"content": "I live in Lisbon and I'm vegan.", "id": "m1"}
        first = http.post("/v1/users/ana/threads/monday/hear", json=said)
        assert first.status_code == 201
        assert http.post("/v1/users/ana/threads/monday/hear", json=said).json() == first.json()
        answer = {"content": "Noted."}
        assert http.post("/v1/users/ana/threads/monday/say", json=answer).status_code == 201
        [report] = http.post("/v1/users/ana/threads/monday/end", json={"remember": True}).json()
        assert report["failure"] is None
        http.post("/v1/users/ana/threads/friday/hear", json={"content": "What may I eat?"})
        found = http.post("/v1/users/ana/threads/friday/recall", json={"budget": 400}).json()
        assert "vegan" in found["text"]
        [message] = found["messages"]
        assert message["role"] == "user" and "vegan" in message["content"]
        shown = http.get("/v1/users/ana/threads/friday/messages").json()
        assert [each["content"] for each in shown] == ["What may I eat?"]


def test_nothing_relevant_gives_no_message(service: Service) -> None:
    with service.client() as http:
        found = http.post("/v1/users/bo/recall", json={"dialogue": "What may I eat?"}).json()
        assert (found["text"], found["messages"]) == ("", [])


def test_lists_come_in_pages_that_have_everything_once(service: Service) -> None:
    with service.client() as http:
        texts = [f"I saw bird number {number}." for number in range(7)]
        for text in texts:
            http.post("/v1/users/ana/threads/t/hear", json={"content": text})
        sizes, found, cursor = list[int](), list[str](), None
        while True:
            query = {"limit": 3} | ({"cursor": cursor} if cursor else {})
            page = http.get("/v1/users/ana/turns", params=query).json()
            sizes.append(len(page["items"]))
            found += [turn["text"] for turn in page["items"]]
            if (cursor := page["next"]) is None:
                break
        assert sizes == [3, 3, 1]
        assert found == texts
        query = {"where": '{"channel": "web"}'}
        assert http.get("/v1/users/ana/turns", params=query).json()["items"] == []
        for bad in ({"cursor": "!"}, {"where": "[]"}, {"where": "{"}, {"limit": 0}):
            assert http.get("/v1/users/ana/turns", params=bad).status_code == 422


def test_users_come_in_pages(service: Service) -> None:
    with service.client() as http:
        for user in ("ana", "bo", "cy"):
            http.post(f"/v1/users/{user}/messages", json={"messages": [said("I like tea.")]})
        first = http.get("/v1/users", params={"limit": 2}).json()
        last = http.get("/v1/users", params={"limit": 2, "cursor": first["next"]}).json()
        names = [scope["user"] for scope in first["items"] + last["items"]]
        assert (names, last["next"]) == (["ana", "bo", "cy"], None)


def test_a_memory_is_corrected_only_as_it_was_seen(service: Service) -> None:
    with service.client() as http:
        http.post("/v1/users/ana/messages", json={"messages": [said("I live in Lisbon.")]})
        http.post("/v1/users/ana/threads/t/end", json={"remember": True})
        http.post("/v1/users/ana/messages", json={"messages": [said("I have a cat.")]})
        seen = http.get("/v1/users/ana/memories/1")
        tag = {"If-Match": seen.headers["ETag"]}
        assert http.put("/v1/users/ana/memories/1/pin", headers=tag).json()["changed"]
        correction = {"text": "Ana lives in Porto."}
        path = "/v1/users/ana/memories/1/corrections"
        assert http.post(path, json=correction, headers=tag).status_code == 412
        tag = {"If-Match": http.get("/v1/users/ana/memories/1").headers["ETag"]}
        corrected = http.post(path, json=correction, headers=tag)
        assert corrected.status_code == 201
        number = corrected.json()["id"]
        versions = http.get(f"/v1/users/ana/memories/{number}/versions").json()
        assert [version["id"] for version in versions] == [1, number]
        assert "Porto" in versions[-1]["text"]


def test_of_those_who_have_seen_the_same_one_changes_it(service: Service) -> None:
    with service.client() as http, ThreadPoolExecutor(8) as pool:
        http.post("/v1/users/ana/messages", json={"messages": [said("I live in Lisbon.")]})
        http.post("/v1/users/ana/threads/t/end", json={"remember": True})
        path = "/v1/users/ana/memories/1"
        tag = {"If-Match": http.get(path).headers["ETag"]}

        def act(number: int) -> int:
            if number % 2:
                return http.put(f"{path}/pin", headers=tag).status_code
            correction = {"text": f"Ana lives in place {number}."}
            return http.post(f"{path}/corrections", json=correction, headers=tag).status_code

        statuses = sorted(pool.map(act, range(8)))
        assert statuses in ([200, *[412] * 7], [201, *[412] * 7])
        assert http.delete(path, headers=tag).status_code == 412
        assert http.delete("/v1/users/ana/memories/999", headers=tag).status_code == 404
        tag = {"If-Match": f'"other", {http.get(path).headers["ETag"]}'}
        assert http.delete(path, headers=tag).status_code == 200
        assert http.delete(path, headers={"If-Match": "*"}).status_code == 404


def test_a_user_is_forgotten_with_a_receipt(service: Service) -> None:
    with service.client() as http:
        http.post("/v1/users/ana/messages", json={"messages": [said("I live in Lisbon.")]})
        receipt = http.delete("/v1/users/ana").json()
        assert receipt["verified"] and receipt["turns"] == 1
        assert http.get("/v1/users/ana/turns").json()["items"] == []
        assert http.delete("/v1/users/ana").status_code == 404


def test_settings_change_only_what_is_named(service: Service) -> None:
    with service.client() as http:
        path = "/v1/users/ana/settings"
        http.patch(path, json={"time_zone": "Europe/Zagreb"})
        changed = http.patch(path, json={"retention": "P30D"}).json()
        assert changed == {"time_zone": "Europe/Zagreb", "retention": "P30D"}
        assert http.patch(path, json={"time_zone": "Nowhere/City"}).status_code == 422
        assert http.patch(path, json={"retention": None}).json()["retention"] is None


def test_a_tenants_retention_is_its_own(service: Service) -> None:
    administer = ["read", "administer"]
    with (
        service.client(tenant="acme", rights=administer) as acme,
        service.client(tenant="other", rights=administer) as other,
        service.client(tenant="acme", user="ana", rights=administer) as ana,
    ):
        assert acme.get("/v1/settings").json() == {"retention": None}
        changed = acme.patch("/v1/settings", json={"retention": "P30D"})
        assert changed.json() == acme.get("/v1/settings").json() == {"retention": "P30D"}
        assert acme.patch("/v1/settings", json={}).json() == {"retention": "P30D"}
        assert other.get("/v1/settings").json() == {"retention": None}
        assert ana.patch("/v1/settings", json={"retention": None}).status_code == 403
        assert acme.patch("/v1/settings", json={"retention": "PT1S"}).status_code == 422
        assert acme.patch("/v1/settings", json={"retention": None}).json() == {"retention": None}


def test_errors_are_problem_details(service: Service) -> None:
    with service.client() as http:
        for response, status, code in (
            (http.get("/nowhere"), 404, "not_found"),
            (http.put("/v1/users"), 405, "method_not_allowed"),
            (http.get("/v1/users/ana/memories/7"), 404, "not_found"),
            (http.post("/v1/users/ana/recall", json={"dialogue": " "}), 422, "bad_input"),
            (http.post("/v1/users/ana/recall", content=b"{"), 422, "bad_input"),
            (http.post("/v1/users/ana/recall", json={"dialogue": "a", "x": 1}), 422, "bad_input"),
        ):
            assert response.status_code == status, response.text
            assert response.headers["Content-Type"] == "application/problem+json"
            problem = response.json()
            assert (problem["status"], problem["code"]) == (status, code)
            assert problem["detail"]
        assert "/openapi.json" in http.get("/nowhere").json()["detail"]
        assert "GET" in http.put("/v1/users").json()["detail"]


def test_the_document_names_every_schema_that_it_refers_to(service: Service) -> None:
    with service.client("") as http:
        document = http.get("/openapi.json")
    assert document.json()["openapi"].startswith("3.1")
    schemas = document.json()["components"]["schemas"]
    named = {part.split('"')[0] for part in document.text.split("#/components/schemas/")[1:]}
    assert named <= set(schemas)


def said(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}
