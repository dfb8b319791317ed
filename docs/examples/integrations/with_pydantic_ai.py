"""An agent of pydantic-ai that remembers Ana: python with_pydantic_ai.py "Shall we sail?" """

import sys

from pydantic_ai import Agent

import theanine
from theanine_adapters.pydantic_ai import TheanineMemory

with theanine.open("memory.db") as client:
    agent = Agent("openai-chat:gpt-4o-mini", capabilities=[TheanineMemory(client.user("ana"))])
    print(agent.run_sync(sys.argv[1]).output)
