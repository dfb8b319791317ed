"""A graph of LangGraph that keeps notes on Ana: python with_langgraph.py "Shall we sail?" """

import sys

from langgraph.graph import MessagesState, StateGraph
from langgraph.runtime import Runtime

import theanine
from theanine_adapters.langgraph import TheanineStore


def note(state: MessagesState, runtime: Runtime) -> None:
    words = str(state["messages"][-1].content)
    print([item.value for item in runtime.store.search(("notes",), query=words)])
    runtime.store.put(("notes",), words, {"text": words})


with theanine.open("memory.db") as client:
    graph = StateGraph(MessagesState).add_node(note).add_edge("__start__", "note")
    graph.compile(store=TheanineStore(client.user("ana"))).invoke({"messages": [sys.argv[1]]})
