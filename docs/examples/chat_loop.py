"""A chat with a memory: each run knows what earlier runs heard."""

import sys

import theanine

with theanine.open("memory.db") as client, client.user("ana").session() as session:
    for line in sys.stdin:
        session.hear(line.strip())
        print(session.reply())
