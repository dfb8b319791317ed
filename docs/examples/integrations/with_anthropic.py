"""Claude keeps notes on Ana in her memory: python with_anthropic.py "Shall we sail?" """

import sys

from anthropic import Anthropic

import theanine
from theanine_adapters.anthropic import TheanineMemoryTool

with theanine.open("memory.db") as client:
    runner = Anthropic().beta.messages.tool_runner(
        model="claude-sonnet-5-5",
        max_tokens=1_000,
        messages=[{"role": "user", "content": sys.argv[1]}],
        tools=[TheanineMemoryTool(client.user("ana"))],
    )
    print(runner.until_done().content[0].text)
