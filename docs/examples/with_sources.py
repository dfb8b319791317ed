"""Import a history, ask about it, and show the source of each part."""

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

with theanine.open("memory.db") as client:
    ana = client.user("ana")
    ana.log(history)
    ana.remember()
    recollection = ana.recall("Is Ana afraid of the ferry?")
    print(recollection.text)
    for turn in recollection.source_turns:
        print(f"  {turn.at:%d %b %Y}, {turn.speaker}: {turn.text}")
    for link in ana.links():
        print(f"  memory {link.older} → {link.newer}: {link.relation} ({link.explanation})")
