"""What Claude's sessions say is recalled: python with_claude_agent_sdk.py "Shall we sail?" """

import sys
from uuid import uuid4

import anyio

import theanine
from theanine_adapters.claude_agent_sdk import TheanineSessionStore

with theanine.open("memory.db") as client:
    ana = client.user("ana")
    print(ana.recall(sys.argv[1]).text)
    store = TheanineSessionStore(ana)  # ClaudeAgentOptions(session_store=store) does what follows
    key = {"project_key": "trips", "session_id": str(uuid4())}
    entry = {"type": "user", "uuid": str(uuid4()), "message": {"role": "user"}}
    entry["message"]["content"] = sys.argv[1]
    anyio.run(store.append, key, [entry])
