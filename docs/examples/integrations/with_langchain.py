"""A LangChain agent that remembers Ana: python with_langchain.py "Shall we book that cruise?" """

import sys

from langchain.agents import create_agent

import theanine
from theanine_adapters.langchain import TheanineMiddleware

with theanine.open("memory.db") as client:
    agent = create_agent("openai:gpt-4o-mini", middleware=[TheanineMiddleware(client.user("ana"))])
    result = agent.invoke({"messages": [{"role": "user", "content": sys.argv[1]}]})
    print(result["messages"][-1].content)
