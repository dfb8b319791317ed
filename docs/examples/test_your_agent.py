"""Try your agent against a model that answers by a script, and fails when you say so."""

import theanine
from theanine.testing import ScriptedServer, by_step, status

script = by_step({"respond": "Your boat? You sold it, because the engine died."})
with (
    ScriptedServer(script) as server,
    theanine.open("memory.db", model="openai:any", base_url=server.base_url) as agent,
):
    with agent.session(user="ana") as talk:
        talk.hear("I sold the boat because the engine died.")
    with agent.session(user="ana") as talk:
        talk.hear("Where is my boat?")
        print(talk.reply())
    print(f"{len(server.calls)} calls")

with (
    ScriptedServer(status(400)) as server,
    theanine.open("memory.db", model="openai:any", base_url=server.base_url) as agent,
):
    talk = agent.session(user="ana")
    talk.hear("I bought a horse.")
    try:
        talk.end()
    except theanine.RememberingFailed as error:
        print(f"kept, and waiting: {error}")
