"""Take in a history, ask about it, and show where each piece comes from."""

from datetime import UTC, datetime

import theanine
from theanine import History, Transcript, Utterance

monday = datetime(2024, 5, 6, 18, tzinfo=UTC)
friday = datetime(2024, 5, 10, 18, tzinfo=UTC)
history = History(
    name="ana",
    transcripts=[
        Transcript(
            key="monday",
            at=monday,
            turns=[Utterance(text="I am so afraid of the ferry.", speaker="Ana", at=monday)],
        ),
        Transcript(
            key="friday",
            at=friday,
            turns=[Utterance(text="I no longer fear the ferry.", speaker="Ana", at=friday)],
        ),
    ],
)

with theanine.open("memory.db") as agent:
    agent.log(history)
    agent.remember("ana")
    found = agent.recall("Is Ana afraid of the ferry?", user="ana")
    print(found.text)
    for turn in found.source_turns:
        print(f"  {turn.at:%d %b %Y}, {turn.speaker}: {turn.text}")
    for link in agent.links("ana"):
        print(f"  memory {link.older} → {link.newer}: {link.relation} ({link.explanation})")
