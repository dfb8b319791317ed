"""What operators see: traces, metrics, logs and the audit log, and no words of users in them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from server.conftest import START_LIMIT, Service, running
from server.processes import serving
from server.providers import Provider
from support.debian_postgres import free_port
from support.running import Terminal
from theanine.store.sql.tracing import summarize
from theanine.testing.scripted import ScriptedModel
from theanine_server import ServerOptions

USER, WORD, REPLY = "anastasia", "cormorant-4417", "kingfisher-8812"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
RIGHTS = ("read", "write", "reply", "administer")


@cache
def exporters() -> tuple[InMemorySpanExporter, InMemoryMetricReader]:
    """Set OpenTelemetry up, once for all tests of this process: it can't be undone."""
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(tracers)
    metrics.set_meter_provider(MeterProvider([reader]))
    return spans, reader


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter, _ = exporters()
    exporter.clear()
    yield exporter
    exporter.clear()


@pytest.fixture
def options(options: ServerOptions) -> ServerOptions:
    model = ScriptedModel(f"I'd call it {REPLY}.", name="openai:scripted")
    return replace(options, client=replace(options.client, model=model))


def talk(http: httpx2.Client) -> None:
    """Log, recall, reply, remember, correct and forget."""
    path = f"/v1/users/{USER}/threads/monday"
    http.post(f"{path}/hear", json={"content": f"My password is {WORD}.", "id": WORD})
    http.post(f"{path}/reply", json={})
    http.post(f"{path}/end", json={"remember": True})
    http.post(f"/v1/users/{USER}/recall", json={"dialogue": f"What is {WORD}?"})
    http.post(f"/v1/users/{USER}/memories/1/corrections", json={"text": f"{WORD} is old."})
    http.get(f"/v1/users/{USER}/turns", params={"search": WORD})
    http.delete(f"/v1/users/{USER}")


def finished(exporter: InMemorySpanExporter, name: str) -> tuple[ReadableSpan, ...]:
    """Return all spans once one of this name has ended, which may be after its answer has come."""
    deadline = time.monotonic() + START_LIMIT
    while name not in names(exporter.get_finished_spans()):
        assert time.monotonic() < deadline, names(exporter.get_finished_spans())
        time.sleep(0.01)
    return exporter.get_finished_spans()


def names(found: tuple[ReadableSpan, ...]) -> list[str]:
    return [span.name for span in sorted(found, key=lambda span: span.start_time or 0)]


def test_one_trace_leads_from_the_request_to_the_statements(
    spans: InMemorySpanExporter, service: Service
) -> None:
    with service.client() as http:
        http.post(f"/v1/users/{USER}/threads/t/hear", json={"content": "I live in Lisbon."})
        finished(spans, "POST /v1/users/{user}/threads/{thread}/hear")
        spans.clear()
        http.headers["traceparent"] = f"00-{TRACE}-00f067aa0ba902b7-01"
        http.headers["X-Request-Id"] = "r-1"
        answer = http.post(f"/v1/users/{USER}/recall", json={"dialogue": "Where do I live?"})
    assert answer.headers["X-Request-Id"] == "r-1"
    found = finished(spans, "POST /v1/users/{user}/recall")
    assert {f"{span.context.trace_id:032x}" for span in found if span.context} == {TRACE}
    request, search, *rest = sorted(found, key=lambda span: span.start_time or 0)
    if search.name != "search_memory":  # the key is read first
        search = next(span for span in rest if span.name == "search_memory")
    assert request.name == "POST /v1/users/{user}/recall"
    assert request.kind is trace.SpanKind.SERVER
    assert request.attributes and search.attributes and request.context
    assert request.attributes["http.response.status_code"] == 200
    assert request.attributes["theanine.request_id"] == "r-1"
    assert search.parent and search.parent.span_id == request.context.span_id
    assert search.attributes["gen_ai.operation.name"] == "search_memory"
    assert search.attributes["gen_ai.memory.record.count"] == 1
    assert search.attributes["gen_ai.memory.store.id"] == "1"
    inside = [
        span for span in found if span.parent and search.context
        and span.parent.span_id == search.context.span_id
    ]  # fmt: skip
    assert {"SELECT turn"} <= set(names(tuple(inside)))
    assert all(span.attributes for span in inside)
    assert all(span.attributes["db.system.name"] == "sqlite" for span in inside if span.attributes)


def test_a_reply_has_the_call_of_the_model_in_its_trace(
    spans: InMemorySpanExporter, service: Service
) -> None:
    with service.client() as http:
        thread = f"/v1/users/{USER}/threads/t"
        http.post(f"{thread}/hear", json={"content": "Good morning."})
        assert http.post(f"{thread}/reply", json={}).status_code == 200
        streamed = http.post(f"{thread}/reply", json={"stream": True})
        assert streamed.text.startswith("data:")
    found = finished(spans, "POST /v1/users/{user}/threads/{thread}/reply")
    calls = [span for span in found if span.name == "chat scripted"]
    assert len(calls) == 2
    for call in calls:
        assert call.attributes and call.parent
        assert call.attributes["gen_ai.provider.name"] == "openai"
        assert call.attributes["gen_ai.request.model"] == "scripted"
        assert int(str(call.attributes["gen_ai.usage.input_tokens"])) > 0
        assert call.kind is trace.SpanKind.CLIENT


def test_traces_hold_neither_words_nor_names(spans: InMemorySpanExporter, service: Service) -> None:
    with service.client(rights=RIGHTS) as http:
        talk(http)
    found = finished(spans, "DELETE /v1/users/{user}")
    operations = {
        "create_memory", "search_memory", "upsert_memory", "update_memory", "delete_memory_store",
    }  # fmt: skip
    assert operations <= set(names(found))
    for span in found:
        text = span.to_json()
        assert not any(secret in text for secret in (USER, WORD, REPLY)), text


def test_a_failure_is_seen_by_its_type_alone(spans: InMemorySpanExporter, service: Service) -> None:
    with service.client() as http:
        assert http.delete(f"/v1/users/{WORD}").status_code == 404
    found = finished(spans, "DELETE /v1/users/{user}")
    request, failed = [
        next(span for span in found if span.name == name)
        for name in ("DELETE /v1/users/{user}", "delete_memory_store")
    ]
    assert failed.attributes and failed.attributes["error.type"] == "NotFound"
    assert not failed.status.is_ok and failed.status.description is None
    assert not failed.events  # an exception's message and trace would be one
    assert request.status.is_unset


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT a, b FROM turn WHERE scope = ?", ("SELECT", "turn")),
        ('INSERT INTO "session" (id) VALUES (?)', ("INSERT", "session")),
        ("UPDATE memory SET text = 'x FROM y'", ("UPDATE", "memory")),
        (
            "SELECT set_config('theanine.tenant', E'it''s FROM \\'here\\'', true); "
            "SELECT id FROM scope WHERE tenant = E'FROM x'",
            ("SELECT", "scope"),
        ),
        ("BEGIN IMMEDIATE", ("BEGIN", "")),
        ("", ("", "")),
    ],
)
def test_a_statement_is_named_by_its_verb_and_table(
    statement: str, expected: tuple[str, str]
) -> None:
    assert summarize(statement) == expected


def test_metrics_follow_the_conventions(spans: InMemorySpanExporter, service: Service) -> None:
    _, reader = exporters()
    with service.client(rights=RIGHTS) as http:
        talk(http)
    finished(spans, "DELETE /v1/users/{user}")
    data = reader.get_metrics_data()
    assert data
    found: dict[str, Any] = {
        metric.name: metric
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    durations = found["gen_ai.client.operation.duration"]
    operations = {point.attributes["gen_ai.operation.name"] for point in durations.data.data_points}
    assert {"search_memory", "create_memory", "chat"} <= operations
    assert "http.server.request.duration" in found
    kinds = {
        point.attributes["gen_ai.token.type"]
        for point in found["gen_ai.client.token.usage"].data.data_points
    }
    assert kinds == {"input", "output"}
    assert USER not in data.to_json() and WORD not in data.to_json()


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_prometheus_reads_the_requests_of_all_processes(tmp_path: Path, processes: int) -> None:
    metrics_port = free_port()
    arguments = ("--dev", "--metrics-port", str(metrics_port), "--processes", str(processes))
    with serving(tmp_path / "memory.db", *arguments) as service:
        for _ in range(20):
            with service.client() as http:  # each on a connection of its own
                path = f"/v1/users/{USER}/recall"
                assert http.post(path, json={"dialogue": WORD}).status_code == 200
        text = httpx2.get(f"http://127.0.0.1:{metrics_port}/metrics").text
    count = re.search(r'theanine_request_seconds_count\{.*recall.*status="200"\} ([\d.]+)', text)
    assert count and float(count[1]) == 20
    assert re.search(r'theanine_operation_seconds_count\{.*operation="search_memory"\} 20', text)
    assert USER not in text and WORD not in text


@pytest.mark.server
@pytest.mark.slow
def test_the_log_is_json_without_words_and_names(tmp_path: Path) -> None:
    with (
        Provider() as provider,
        serving(
            tmp_path / "memory.db",
            *("--dev", "--log-format", "json", "--log-level", "debug"),
            *("--openai-url", "http://127.0.0.1:9", "--anthropic-url", provider.url),
        ) as service,
        service.client() as http,
    ):
        talk(http)
        said = {"model": "m", "messages": [{"role": "user", "content": WORD}]}
        named = {"Theanine-User": USER, "X-Request-Id": "r-7"}
        assert http.post("/v1/chat/completions", json=said, headers=named).status_code == 502
        assert http.post("/v1/messages", json=said, headers=named).status_code == 200
        http.post(f"/v1/users/{USER}/recall", content=f'{{"{WORD}'.encode())
    text = "".join(service.errors)
    assert USER not in text and WORD not in text
    requests = [line for line in service.log if line["logger"] == "theanine_server.observe"]
    assert {"POST", "DELETE"} <= {line["method"] for line in requests}
    heard = requests[0]
    assert heard["route"] == "/v1/users/{user}/threads/{thread}/hear"
    assert heard["status"] == 201 and heard["ms"] > 0 and heard["tenant"] == "default"
    users = {line["user"] for line in requests if "user" in line}
    assert len(users) == 1 and re.fullmatch("[0-9a-f]{16}", users.pop())
    assert any(line["request_id"] == "r-7" for line in requests)


def test_the_audit_log_says_who_read_changed_and_erased(service: Service) -> None:
    with service.client(rights=RIGHTS) as http, service.client(rights=["read"]) as other:
        talk(http)
        other.delete("/v1/users/bo")  # refused
        entries = http.get("/v1/audit").json()["items"]
        newest, *_ = [entry for entry in entries if entry["action"] == "erase"]
        assert newest["status"] == 403
        ours = [entry for entry in entries if entry["key"] != newest["key"]]
        assert [entry["action"] for entry in ours] == [
            "erase", "read", "change", "read", "change", "change", "change",
        ]  # fmt: skip
        assert ours[0]["request"] == "DELETE /v1/users/{user}" and ours[0]["status"] == 200
        assert len({entry["user"] for entry in ours}) == 1
        # Whoever knows the name still finds what was done.
        of_user = http.get("/v1/audit", params={"user": USER, "action": "erase"}).json()["items"]
        assert [entry["id"] for entry in of_user] == [ours[0]["id"]]
        page = http.get("/v1/audit", params={"limit": 3}).json()
        rest = http.get("/v1/audit", params={"limit": 100, "cursor": page["next"]}).json()["items"]
        assert page["items"][-1]["id"] > rest[0]["id"]
        assert other.get("/v1/audit").status_code == 403
    content = b"".join(
        file.read_bytes() for file in Path(service.location).parent.glob("memory.db*")
    )
    assert WORD.encode() not in content and USER.encode() not in content
    ran = Terminal(Path(service.location))("audit", "--user", USER, "--tenant", "default", "--json")
    assert {entry["user"] for entry in ran.json} == {ours[0]["user"]}
    assert USER not in ran.out


def test_an_erasure_is_in_the_audit_log_before_it_is_answered(service: Service) -> None:
    with service.client(rights=RIGHTS) as http:
        http.post(f"/v1/users/{USER}/messages", json={"messages": []})
        http.delete(f"/v1/users/{USER}")
        ran = Terminal(Path(service.location))("audit", "--action", "erase", "--json")
    assert [entry["request"] for entry in ran.json] == ["DELETE /v1/users/{user}"]


def test_the_audit_log_of_a_tenant_is_its_own(service: Service) -> None:
    with (
        service.client(rights=RIGHTS, tenant="mine") as mine,
        service.client(rights=RIGHTS, tenant="other") as other,
        service.client(rights=RIGHTS, tenant="mine", user="bo") as bo,
    ):
        mine.get(f"/v1/users/{USER}/turns")
        assert len(mine.get("/v1/audit").json()["items"]) == 1
        assert other.get("/v1/audit", params={"user": USER}).json()["items"] == []
        assert bo.get("/v1/audit").json()["items"] == []
        assert bo.get("/v1/audit", params={"user": USER}).status_code == 403


def test_old_entries_go_and_a_service_may_keep_none(options: ServerOptions) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    clock = [now - timedelta(days=40)]
    timed = replace(options, client=replace(options.client, clock=lambda: clock[0]))
    with running(timed) as service, service.client(rights=RIGHTS) as http:
        http.delete("/v1/users/ana")
        clock[0] = now
        http.delete("/v1/users/bo")
        wait_for_entries(http, 1)
    with running(replace(timed, audit=None)) as service, service.client(rights=RIGHTS) as http:
        before = len(http.get("/v1/audit").json()["items"])
        http.delete("/v1/users/ana")
        assert len(http.get("/v1/audit").json()["items"]) == before


def wait_for_entries(http: httpx2.Client, count: int) -> None:
    """Wait until so many erasures are left in the audit log."""
    for _ in range(600):
        found = http.get("/v1/audit", params={"action": "erase"}).json()["items"]
        if len(found) == count:
            return
        time.sleep(0.05)
    raise AssertionError("the old entries stay")
