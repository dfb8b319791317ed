"""Two users talk at the same time, each with a memory of their own."""

import asyncio

import theanine


async def talk_with(agent: theanine.AsyncClient, user: str, *said: str) -> None:
    async with agent.session(user=user) as talk:
        for line in said:
            await talk.hear(line)


async def main() -> None:
    async with theanine.aopen("memory.db") as agent:
        await asyncio.gather(
            talk_with(agent, "ana", "I'm terrified of ships since the storm."),
            talk_with(agent, "bo", "I love ships, and I sail every summer."),
        )
        for user in ("ana", "bo"):
            found = await agent.recall("Shall we book a cruise on a ship?", user=user)
            print(f"{user}: {found.text}")


asyncio.run(main())
