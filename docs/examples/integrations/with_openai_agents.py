"""An agent of the OpenAI Agents SDK that remembers Ana: python with_openai_agents.py "Hello!" """

import sys
from uuid import uuid4

from agents import Agent, RunConfig, Runner, set_default_openai_api

import theanine
from theanine_adapters.openai_agents import TheanineSession

set_default_openai_api("chat_completions")
with theanine.open("memory.db") as client:
    session = TheanineSession(f"chat-{uuid4()}", client.user("ana"))
    config = RunConfig(call_model_input_filter=session.recall, tracing_disabled=True)
    agent = Agent(name="Assistant", model="gpt-4o-mini")
    print(Runner.run_sync(agent, sys.argv[1], session=session, run_config=config).final_output)
