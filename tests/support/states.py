"""A user who moved twice, with the states that a model writes of both changes."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import theanine
from theanine.testing import ScriptedModel, answer
from theanine.testing.answers import blocks_of
from theanine.types import History, Transcript, Utterance

MOVES = (
    "I live in Leiden, in a flat above the bakery.",
    "The removal van has left, the keys hang here in Delft.",
    "Here in Utrecht I live on the third floor now.",
)
STATES = (
    "Ana lives in Delft since 8 March 2026; before that she lived in Leiden.",
    "Ana lives in Utrecht since 15 March 2026; before that she lived in Delft.",
)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def fill_with_states(location: str) -> None:
    """Remember a statement of ana a week; each but the first changes the one before.

    Their ids are 1, 2 and 4; the states of the changes are 3, of 1 and 2, and 5, of 2 and 4.
    """

    def write(prompt: str) -> str:
        if not prompt.startswith("Task: relate\n"):
            return answer({"messages": [{"role": "user", "content": prompt}]})
        if not (before := blocks_of(prompt)["earlier"].count("\nM")):
            return json.dumps({"links": []})
        link = {"a": f"M{before}", "b": "N1", "relation": "Changed", "why": "she moved"}
        return json.dumps({"links": [{**link, "now": STATES[before - 1]}]})

    with theanine.open(location, model=ScriptedModel(write)) as client:
        ana = client.user("ana")
        transcripts = [
            Transcript(key=f"s{week}", at=at, turns=[Utterance(text=text, speaker="Ana", at=at)])
            for week, text in enumerate(MOVES)
            for at in [START + timedelta(weeks=week)]
        ]
        ana.log(History(name="ana", transcripts=transcripts))
        ana.remember()
