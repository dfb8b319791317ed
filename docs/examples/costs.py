"""What a model was asked and what it took, and a budget that stops it in time."""

import theanine
from theanine.testing import ScriptedServer

limits = theanine.Limits(tokens_per_scope=1_500)
with (
    ScriptedServer() as server,  # stands for any OpenAI-compatible server
    theanine.open(
        "memory.db", model="openai:any", base_url=server.base_url, limits=limits
    ) as agent,
):
    for number in range(9):
        talk = agent.session(user="ana")
        talk.hear(f"I want to sail to island number {number} next summer.")
        try:
            talk.end()
        except theanine.RememberingFailed as error:
            print(f"stopped, with every turn kept: {error}")
            break
    for line in agent.costs():
        print(f"{line.step}: {line.calls} calls, {line.input_tokens} tokens in")
