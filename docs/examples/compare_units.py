"""The same history under three ways to keep it, within the same number of tokens."""

import theanine
from theanine.demo import HARBOUR
from theanine.importers import read_histories

history = read_histories(HARBOUR).histories[0]
for method in ("theanine", "exchange", "session"):
    with theanine.open(f"{method}.db", method=method) as agent:
        agent.log(history)
        agent.remember("ana")
        found = agent.recall("Why did Ana leave the shipyard?", user="ana", budget=400)
        print(f"{method}: {len(found.parts)} parts from {len(found.source_turns)} turns")
