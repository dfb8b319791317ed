"""Attacks planted in a user's memory by all that comes in, and checks of what a model gets."""

from __future__ import annotations

import json
import re
import unicodedata

import httpx2

from server.providers import Json
from support.hostile import attacks
from theanine.fences import REMEMBERED_HEADING, REMEMBERED_RULES

QUESTION = "Which hazelnut cake may I eat on Friday?"
ABOUT_IMPORTS = "When does the blue ferry sail?"
CANARY = re.compile(r"zq[a-z]+\d+x")
"""Marks what is planted: by the place where it is, and the number of the attack."""
ATTACKS = attacks()
EACH = 5
"""Attacks on one user."""
USERS = range(-(-len(ATTACKS) // EACH))
NAME_LIMIT = 60
LONGEST = 8_000


def plant(http: httpx2.Client, user: int) -> str:
    """Plant some of the attacks in a user's memory, have it remembered, and return the user."""
    path = f"/v1/users/u{user}"
    lines: list[str] = []
    messages: list[Json] = []
    for number in range(user * EACH, min((user + 1) * EACH, len(ATTACKS))):
        attack = ATTACKS[number][:LONGEST]

        def marked(place: str, attack: str = attack, number: int = number) -> str:
            return f"zq{place}{number}x {attack}"

        name = {place: marked(place)[:NAME_LIMIT] for place in ("named", "agent", "friend")}
        call = {"name": "bake", "arguments": json.dumps({"cake": marked("call")})}
        messages += [
            {
                "role": "user",
                "name": name["named"],
                "content": f"I like hazelnut cake, {marked('said')}",
            },
            {
                "role": "assistant",
                "name": name["agent"],
                "content": f"Your hazelnut cake is on Friday, {marked('replied')}",
            },
            {
                "role": "assistant",
                "tool_calls": [{"id": f"call-{number}", "type": "function", "function": call}],
            },
            {
                "role": "tool",
                "tool_call_id": f"call-{number}",
                "content": f"hazelnut cake: {marked('tool')}",
            },
        ]
        line = {
            "speaker": name["friend"],
            "text": f"The blue ferry sails at noon, {marked('imported')}",
            "at": f"2024-05-{number % 27 + 1:02}T12:00:00Z",
            "session": marked("session")[:NAME_LIMIT],
            "role": ("user", "assistant")[number % 2],
            "metadata": {"note": marked("note")},
        }
        lines.append(json.dumps(line))
    answer = http.post(f"{path}/threads/old/messages", json={"messages": messages})
    assert answer.status_code == 201, answer.text
    assert http.post(f"{path}/threads/old/end", json={"remember": True}).status_code == 200
    answer = http.post(
        f"{path}/import", content="\n".join(lines), params={"format": "jsonl", "name": "u.jsonl"}
    )
    assert answer.status_code == 200, answer.text
    return f"u{user}"


def check_block(block: str, rules: str = f"{REMEMBERED_RULES}\n") -> set[str]:
    """Check that a recollection is one whole fence; return the places of what is in it."""
    start = f"{REMEMBERED_HEADING}\n{rules}<<<remembered\n"
    assert block.startswith(start) and block.endswith("\n>>>"), block
    inside = block[len(start) : -len("\n>>>")]
    check_lines(inside)
    return places(inside)


def check_lines(inside: str) -> None:
    """Check that the text within a fence can't be taken for its end, nor hides anything."""
    lines = inside.split("\n")
    assert lines == inside.splitlines()
    assert all(line.startswith(("- ", "  ")) for line in lines), lines
    plain = unicodedata.normalize("NFKC", inside)
    assert "<<<" not in plain and ">>>" not in plain
    assert not any(0xE0000 <= ord(c) <= 0xE01EF or 0x202A <= ord(c) <= 0x202E for c in inside)


def check_prompt(prompt: str) -> set[str]:
    """Check that all that is planted in a prompt is in its fences; return the places of it."""
    opened, found = "", set[str]()
    for line in prompt.split("\n"):
        if line.startswith("<<<"):
            assert not opened and re.fullmatch(r"<<<[\w ]+", line), line
            opened = line
        elif line.startswith(">>>"):
            assert opened and line == ">>>", line
            opened = ""
        elif marks := places(line):
            assert opened, line
            found |= marks
            plain = unicodedata.normalize("NFKC", line)
            assert "<<<" not in plain and ">>>" not in plain and len(line.splitlines()) == 1
    assert not opened
    return found


def places(text: str) -> set[str]:
    """Return the places of all that is planted in a text."""
    return {found.rstrip("x").rstrip("0123456789")[2:] for found in CANARY.findall(text)}
