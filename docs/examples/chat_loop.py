"""A talk with a memory: each run knows what the runs before it heard."""

import sys

import theanine

with theanine.open("memory.db") as agent:
    talk = agent.session(user="ana")
    for line in sys.stdin:
        talk.hear(line.strip())
        print(talk.reply())
    talk.end()
