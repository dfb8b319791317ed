"""A profile in front of a recollection is no answer, no evidence, and counts to no limit."""

from __future__ import annotations

from pathlib import Path

import pytest

import theanine
from theanine.methods.registry import names
from theanine.methods.shared.respond import NOTHING

TOLD = ["I have a dog called Bura.", "I live in Rijeka.", "My sister Mia sails every summer."]


def fill(client: theanine.Client) -> theanine.UserMemory:
    ana = client.user("ana")
    for text in TOLD:
        ana.add(text)
    return ana


@pytest.mark.parametrize("method", names())
def test_every_method_replies_with_a_profile(tmp_path: Path, method: str) -> None:
    with theanine.open(tmp_path / "memory.db", method=method) as client:
        ana = fill(client)
        found = ana.recall("Where do I live?", profile=True)
        assert found.parts[0].is_profile and "Rijeka" in found.parts[0].text
        assert not any(part.is_profile for part in found.parts[1:])
        assert ana.reply("Where do I live?", profile=True).text


def test_a_profile_answers_nothing(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        reply = fill(client).reply("What does the Haskell compiler return?", profile=True)
        assert reply.text.startswith(NOTHING)


@pytest.mark.parametrize("limit", [1, 2])
def test_a_limit_counts_the_parts_besides_it(tmp_path: Path, limit: int) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        fill(client)
        client.user("bo").add("We sail in June.")
        for shared in ([], ["bo"]):
            ana = client.user("ana", shared=shared)
            found = ana.recall("Who sails, and when?", profile=True, limit=limit)
            others = [part for part in found.parts if not part.is_profile]
            assert found.parts[0].is_profile and 0 < len(others) <= limit
