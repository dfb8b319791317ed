"""What other systems remember: their shapes, dates, changes and users."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

import theanine
from support.chat_exports import save_zip
from support.damaging import places
from support.history_samples import Json, save
from support.planting import log_of, lost_words
from theanine.importers import ImportedHistories, read_histories
from theanine.types import History, Relation

DAY = "2024-05-13T19:56:00.000000+00:00"
ITEM = {"id": "m1", "hash": "h", "user_id": "ana", "created_at": DAY, "updated_at": None}
EDGE = {"uuid": "e1", "name": "WORKS_AT", "created_at": DAY, "expired_at": None}
SAILS = "Sails on Sundays"
SHAPES: dict[str, tuple[str, object]] = {
    "mem0 get_all": ("mem0", {"results": [{**ITEM, "memory": "Sails on Sundays"}]}),
    "mem0 list": ("mem0", [{**ITEM, "memory": "Sails on Sundays", "categories": ["hobby"]}]),
    "mem0 page": ("mem0", {"count": 1, "results": [{**ITEM, "memory": "Sails on Sundays"}]}),
    "mem0 payload": ("mem0", [{"id": "m1", "payload": {**ITEM, "data": "Sails on Sundays"}}]),
    "Zep edges": ("Zep", [{**EDGE, "fact": "Sails on Sundays", "valid_at": DAY}]),
    "Zep graph": (
        "Zep",
        {
            "edges": [{**EDGE, "fact": "Sails on Sundays", "valid_at": DAY, "invalid_at": None}],
            "nodes": [{"uuid": "n1", "name": "Ana", "summary": "", "created_at": DAY}],
        },
    ),
    "Zep facts": ("Zep", {"facts": [{"uuid": "f", "fact": "Sails on Sundays", "created_at": DAY}]}),
    "Letta": (
        "Letta",
        {
            "agents": [{"id": "agent-0", "name": "sam", "messages": list[Json]()}],
            "blocks": [
                {"id": "block-0", "label": "human", "limit": 5, "value": "Sails on Sundays"}
            ],
        },
    ),
    "Letta 1": (
        "Letta",
        {
            "agent_type": "memgpt_agent",
            "core_memory": [
                {"label": "human", "value": "Sails on Sundays", "limit": 5, "updated_at": DAY}
            ],
        },
    ),
    "Hindsight": (
        "Hindsight",
        {"items": [{"id": "a", "text": "Sails on Sundays", "fact_type": "world", "date": DAY}]},
    ),
    "Hindsight recall": (
        "Hindsight",
        {
            "results": [
                {"id": "a", "text": "Sails on Sundays", "type": "world", "mentioned_at": DAY}
            ]
        },
    ),
    "LangGraph": (
        "LangGraph",
        [
            {
                "namespace": ["memories", "ana"],
                "key": "k",
                "value": {"kind": "Memory", "content": {"content": "Sails on Sundays"}},
                "created_at": DAY,
                "updated_at": DAY,
            }
        ],
    ),
    "Letta passages": ("Letta", [{"text": SAILS, "archive_id": "a", "created_at": DAY}]),
    "OpenMemory": ("mem0", {"memories": [{"content": SAILS, "app_id": "a", "state": "active"}]}),
    "Redis": ("Redis", {"memories": [{"text": SAILS, "memory_type": "semantic", "topics": ["x"]}]}),
    "MemOS": ("MemOS", {"memory_detail_list": [{"memory_key": "Sails", "memory_value": SAILS}]}),
    "Memobase": ("Memobase", {"profiles": [{"content": SAILS, "attributes": {"topic": "x"}}]}),
    "Vertex AI": ("Vertex AI", {"memories": [{"fact": SAILS, "createTime": DAY}]}),
    "AgentCore": (
        "AgentCore",
        {"memoryRecordSummaries": [{"memoryRecordId": "m", "content": {"text": SAILS}}]},
    ),
    "Supermemory": ("Supermemory", {"memories": [{"content": SAILS, "containerTags": ["ana"]}]}),
    "Open WebUI": (
        "Open WebUI",
        [{"content": SAILS, "user_id": "u", "updated_at": DAY, "created_at": DAY}],
    ),
    "Claude": (
        "Claude",
        [{"conversations_memory": "**Personal**\n\n- Sails on Sundays", "account_uuid": "u"}],
    ),
    "ChatGPT": (
        "ChatGPT",
        {"memories": [{"id": "x", "content": "Sails on Sundays", "updated_at": DAY}], "max": 5},
    ),
}


def said(history: History) -> list[tuple[str, str, str]]:
    return [
        (turn.speaker, turn.text, f"{turn.at:%F}" if session.dated else "")
        for session in history.transcripts
        for turn in session.turns
    ]


@pytest.mark.parametrize("name", SHAPES)
def test_statements_of_other_systems(name: str, tmp_path: Path) -> None:
    system, document = SHAPES[name]
    reading = read_histories(save(tmp_path, "export.json", json.dumps(document)))
    (history,) = reading.histories
    assert reading.format == "other-memories"
    dated = "2024-05-13" if DAY in json.dumps(document) else ""
    assert said(history) in (
        [(system, "Sails on Sundays", dated)],
        [(system, "Sails on Sundays", "")],
    )
    (session,) = history.transcripts
    assert session.metadata["source"] == system
    assert [memory.text for memory in session.memories] == ["Sails on Sundays"]
    assert session.memories[0].source_keys == (session.turns[0].key,)
    assert session.turns[0].metadata["imported"] is True


@pytest.mark.parametrize("gone", [{"is_deleted": True}, {"state": "deleted"}, {"deleted_at": DAY}])
def test_what_was_deleted_is_left_out(gone: Json, tmp_path: Path) -> None:
    rows = [{**ITEM, "memory": SAILS}, {**ITEM, "id": "m2", "memory": "Lives in Split", **gone}]
    reading = read_histories(save(tmp_path, "export.json", rows))
    assert said(reading.histories[0]) == [("mem0", SAILS, "2024-05-13")]
    assert reading.notes == {"deleted memories left out": 1}


@pytest.mark.parametrize("name", SHAPES)
def test_a_word_in_any_field_is_logged_or_noted(name: str, tmp_path: Path) -> None:
    document = copy.deepcopy(SHAPES[name][1])

    def read() -> ImportedHistories:
        return read_histories(save(tmp_path, "export.json", json.dumps(document)))

    assert list(lost_words(document, read)) == []


def items_of(document: object) -> list[Json]:
    """Return the innermost list that has the statement among its items; empty if none has."""
    lists = [h[k] for h, k in places([document]) if isinstance(h[k], list) and SAILS in str(h[k])]
    return lists[-1] if lists else []


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_a_missing_field_costs_one_statement(name: str, null: bool, tmp_path: Path) -> None:
    text = json.dumps(SHAPES[name][1])
    for number in range(len(list(places(items_of(json.loads(text))[0])))):
        document = json.loads(text)
        items = items_of(document)
        item = json.dumps(items[0])
        items += [json.loads(item.replace("Sails", f"{count} sails")) for count in (1, 2)]
        holder, key = list(places(items[0]))[number]
        if null:
            holder[key] = None
        else:
            del holder[key]
        log = log_of(read_histories(save(tmp_path, "export.json", document)))
        assert "1 sails" in log and "2 sails" in log, (holder, key)


def test_the_graph_of_server_memory(tmp_path: Path) -> None:
    graph: list[Json] = [
        {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["Sails."]},
        {"type": "relation", "from": "Ana", "to": "Mira", "relationType": "owns_boat"},
    ]
    lines = save(tmp_path, "memory.jsonl", "\n".join(map(json.dumps, graph)))
    whole = save(tmp_path, "graph.json", {"entities": graph[:1], "relations": graph[1:]})
    for file in (lines, whole):
        (history,) = read_histories(file).histories
        assert said(history) == [
            ("server-memory", "Ana: Sails.", ""),
            ("server-memory", "Ana owns boat Mira", ""),
        ]
        assert history.notes["memories without a date"] == 2


def test_users_of_mem0_are_apart(tmp_path: Path) -> None:
    items = [{**ITEM, "memory": f"{user} sails", "user_id": user} for user in ("ana", "bo")]
    reading = read_histories(save(tmp_path, "export.json", items))
    assert [history.name for history in reading.histories] == ["ana", "bo"]


def test_a_statement_that_changed_since_is_another(tmp_path: Path) -> None:
    first = read_histories(save(tmp_path, "a.json", [{**ITEM, "memory": "Has one boat"}]))
    changed = {**ITEM, "memory": "Has two boats", "updated_at": "2024-06-01T10:00:00Z"}
    second = read_histories(save(tmp_path, "b.json", [changed]))
    with theanine.open(tmp_path / "memory.db") as client:
        ana = client.user("ana")
        assert [ana.log(r.histories[0]).turns_new for r in (first, second, second)] == [1, 1, 0]


def test_a_fact_that_is_no_longer_valid_is_a_change(tmp_path: Path) -> None:
    edges = [
        {
            **EDGE,
            "fact": "Ana works at the harbor clinic.",
            "valid_at": "2023-01-01T00:00:00Z",
            "invalid_at": "2024-05-13T00:00:00Z",
        },
    ]
    (history,) = read_histories(save(tmp_path, "edges.json", edges)).histories
    assert said(history) == [
        ("Zep", "Ana works at the harbor clinic.", "2023-01-01"),
        ("Zep", "Ana works at the harbor clinic: this is no longer so.", "2024-05-13"),
    ]
    with theanine.open(tmp_path / "memory.db") as client:
        ana = client.user("ana")
        ana.log(history)
        ana.remember()
        old, new = ana.memories()
        assert {memory.made_by for memory in (old, new)} == {"given"}
        found = ana.recall("Where does Ana work?")
        assert "no longer so" in found.text
        (link,) = ana.links()
        assert (link.older, link.newer, link.relation) == (old.id, new.id, Relation.CHANGED)


def test_what_names_no_user_is_the_only_users(tmp_path: Path) -> None:
    relation = {"source": "ana", "relationship": "lives_in", "target": "Rijeka"}
    document = {"results": [{**ITEM, "memory": "Sails"}], "relations": [relation]}
    (history,) = read_histories(save(tmp_path, "export.json", document)).histories
    assert history.name == "ana"
    assert sorted(text for _, text, _ in said(history)) == ["Sails", "ana lives in Rijeka"]


def test_episodes_of_a_graph_are_its_conversation(tmp_path: Path) -> None:
    episodes: list[Json] = [
        {"uuid": "p", "content": "Ana: I sail.", "source": "message", "valid_at": DAY},
        {"uuid": "q", "content": "Nice.", "role": "Theo", "role_type": "assistant",
         "created_at": "2024-05-13T19:57:00Z"},
    ]  # fmt: skip
    graph: Json = {"edges": [{**EDGE, "fact": "Ana sails", "valid_at": DAY}], "episodes": episodes}
    (history,) = read_histories(save(tmp_path, "graph.json", graph)).histories
    turns = [turn for session in history.transcripts for turn in session.turns]
    assert {(turn.speaker, turn.text, turn.role) for turn in turns} == {
        ("Ana", "I sail.", "user"),
        ("Theo", "Nice.", "assistant"),
        ("Zep", "Ana sails", "assistant"),
    }


def test_the_conversation_in_an_agent_file(tmp_path: Path) -> None:
    call = {"name": "send_message", "arguments": json.dumps({"message": "Ahoy!"})}
    packed = json.dumps({"type": "user_message", "message": "Hello", "time": DAY})
    beat = json.dumps({"type": "heartbeat", "reason": "x"})
    messages: list[Json] = [
        {"role": "system", "content": [{"type": "text", "text": "You are Sam."}]},
        {"role": "user", "content": [{"type": "text", "text": packed}], "created_at": DAY},
        {"role": "assistant", "content": [], "tool_calls": [{"function": call}]},
        {"role": "user", "content": [{"type": "text", "text": beat}], "created_at": DAY},
    ]
    blocks = [{"id": "b", "label": "human", "value": "Sails.\n\nHas a boat."}]
    agent = {**agent_file(*messages), "blocks": blocks}
    reading = read_histories(save(tmp_path, "sam.af", json.dumps(agent)))
    (history,) = reading.histories
    assert said(history) == [
        ("User", "Hello", "2024-05-13"),
        ("Sam", "Ahoy!", "2024-05-13"),
        ("Letta", "Sails.", ""),
        ("Letta", "Has a boat.", ""),
    ]


def test_what_claude_remembers_comes_with_its_conversations(tmp_path: Path) -> None:
    message = {"uuid": "m", "sender": "human", "text": "Hello.", "created_at": DAY}
    chat = {"uuid": "c", "name": "", "created_at": DAY, "chat_messages": [message]}
    memory = {"conversations_memory": "Ana is a nurse.", "project_memories": {"p": "Has a boat."}}
    export = save_zip(
        tmp_path / "data.zip",
        {
            "conversations.json": [chat],
            "users.json": [{"uuid": "u", "full_name": "Ana Horvat"}],
            "memories.json": [memory],
        },
    )
    (history,) = read_histories(export).histories
    assert history.name == "Ana Horvat"
    assert sorted(speaker for speaker, _, _ in said(history)) == ["Ana Horvat", "Claude", "Claude"]


@pytest.mark.parametrize("dash", [" - ", ": ", " – "])
def test_memories_as_assistants_list_them(dash: str, tmp_path: Path) -> None:
    text = (
        f"Memories:\n[2024-05-13]{dash}Likes tea\n- [May 14, 2024]{dash}Sails\n[unknown]{dash}Rows"
    )
    reading = read_histories(save(tmp_path, "memories.txt", text))
    assert said(reading.histories[0]) == [
        ("ChatGPT", "Likes tea", "2024-05-13"),
        ("ChatGPT", "Sails", "2024-05-14"),
        ("ChatGPT", "Rows", ""),
    ]
    assert reading.notes["lines that are no memories left out"] == 1


def agent_file(*messages: Json) -> Json:
    agents: list[Json] = [{"id": "a", "name": "Sam", "messages": list(messages)}]
    return {"agents": agents, "blocks": list[Json]()}


def sends(*arguments: object, content: object = "") -> Json:
    calls = [{"function": {"name": "send_message", "arguments": each}} for each in arguments]
    return {"role": "assistant", "content": content, "created_at": DAY, "tool_calls": calls}


AHOY: Json = {"message": "Ahoy there, Ana!"}
PACKED: Json = {"type": "user_message", "message": "Where is the blue boat?", "time": DAY}


@pytest.mark.parametrize(
    ("message", "text", "notes"),
    [
        (sends(json.dumps(AHOY)), "Ahoy there, Ana!", {}),
        (sends(AHOY), "Ahoy there, Ana!", {}),
        (sends(AHOY, json.dumps({"message": "Bye."})), "Ahoy there, Ana!\nBye.", {}),
        (sends(AHOY, {"message": ""}, "{"), "Ahoy there, Ana!", {}),
        (sends({**AHOY, "inner_thoughts": "She is back."}), AHOY["message"], {"thoughts": 1}),
        (sends("{broken and cut", content="Hello again."), "Hello again.", {"instructions": 1}),
        (sends({}, "[]", None, content="Hello again."), "Hello again.", {}),
        ({"role": "user", "content": json.dumps(PACKED)}, PACKED["message"], {}),
        ({"role": "user", "content": [{"type": "text", "text": json.dumps(PACKED)}]},
         PACKED["message"], {}),
        ({"role": "user", "content": '{"boat": "blue one"}'}, '{"boat": "blue one"}', {}),
    ],
)  # fmt: skip
def test_what_letta_packs_is_unpacked_and_nothing_else_is_lost(
    message: Json, text: str, notes: dict[str, int], tmp_path: Path
) -> None:
    message = {**message, "created_at": DAY}
    (history,) = read_histories(save(tmp_path, "sam.af", json.dumps(agent_file(message)))).histories
    assert [words for _, words, _ in said(history)] == [text]
    noted = {note.split()[0]: count for note, count in history.notes.items()}
    noted.pop("items", None)
    assert noted == notes
