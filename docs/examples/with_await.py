"""Two users talk at the same time; each has a memory of their own."""

import asyncio

import theanine


async def talk(user: theanine.AsyncUserMemory, *texts: str) -> None:
    async with user.session() as session:
        for text in texts:
            await session.hear(text)


async def main() -> None:
    async with theanine.aopen("memory.db") as client:
        ana, bo = client.user("ana"), client.user("bo")
        await asyncio.gather(
            talk(ana, "I'm terrified of ships since the storm."),
            talk(bo, "I love ships, and I sail every summer."),
        )
        for user in (ana, bo):
            recollection = await user.recall("Shall we book a cruise on a ship?")
            print(f"{user.scope}: {recollection.text}")


asyncio.run(main())
