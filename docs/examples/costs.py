"""Show what the model calls cost, and stop at a token budget."""

import theanine
from theanine.testing import ScriptedServer

limits = theanine.Limits(tokens_per_scope=1_500)
with (
    ScriptedServer() as server,  # stands for any OpenAI-compatible server
    theanine.open(
        "memory.db", model="openai:any", base_url=server.base_url, limits=limits
    ) as client,
):
    for number in range(9):
        session = client.user("ana").session()
        session.hear(f"I want to sail to island number {number} next summer.")
        try:
            session.end()
        except theanine.RememberingFailed as error:
            print(f"stopped, with every turn kept: {error}")
            break
    for line in client.costs():
        print(f"{line.step}: {line.calls} calls, {line.input_tokens} tokens in")
