"""A chat engine of LlamaIndex that remembers Ana: python with_llama_index.py "Shall we sail?" """

import sys
from uuid import uuid4

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM

import theanine
from theanine_adapters.llama_index import TheanineMemory

with theanine.open("memory.db") as client:
    memory = TheanineMemory.for_user(client.user("ana"), session_id=f"chat-{uuid4()}")
    engine = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=memory)  # or another LLM
    print(engine.chat(sys.argv[1]))
