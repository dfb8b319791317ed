"""The memory of an agent of Google ADK: python with_google_adk.py "Shall we sail?" """

import asyncio
import sys

from google.adk.events import Event
from google.genai.types import UserContent

import theanine
from theanine_adapters.google_adk import TheanineMemoryService

with theanine.open("memory.db") as client:  # Runner(…, memory_service=service) does what follows
    service = TheanineMemoryService(lambda app, user: client.user(user, agent=app))
    who = {"app_name": "trips", "user_id": "ana"}
    print(asyncio.run(service.search_memory(**who, query=sys.argv[1])).memories)
    event = Event(author="user", content=UserContent(sys.argv[1]))
    asyncio.run(service.add_events_to_memory(**who, events=[event]))
