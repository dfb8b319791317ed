"""Compare methods that store the same history in different units, at the same token budget."""

import theanine
from theanine.demo import HARBOUR
from theanine.importers import read_histories

history = read_histories(HARBOUR).histories[0]
for method in ("theanine", "exchange", "session"):
    with theanine.open(f"{method}.db", method=method) as client:
        ana = client.user("ana")
        ana.log(history)
        ana.remember()
        recollection = ana.recall("Why did Ana leave the shipyard?", budget=400)
        turns = recollection.source_turns
        print(f"{method}: {len(recollection.parts)} parts from {len(turns)} turns")
