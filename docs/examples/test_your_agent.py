"""Try your agent with a scripted model that replies, and fails, as you say."""

import theanine
from theanine.testing import ScriptedServer, by_step, status

script = by_step({"respond": "Your boat? You sold it, because the engine died."})
with (
    ScriptedServer(script) as server,
    theanine.open("memory.db", model="openai:any", base_url=server.base_url) as client,
):
    ana = client.user("ana")
    with ana.session() as session:
        session.hear("I sold the boat because the engine died.")
    with ana.session() as session:
        session.hear("Where is my boat?")
        print(session.reply())
    print(f"{len(server.calls)} calls")

with (
    ScriptedServer(status(400)) as server,
    theanine.open("memory.db", model="openai:any", base_url=server.base_url) as client,
):
    session = client.user("ana").session()
    session.hear("I bought a horse.")
    try:
        session.end()
    except theanine.RememberingFailed as error:
        print(f"kept, and pending: {error}")
