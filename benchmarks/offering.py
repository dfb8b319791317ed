"""Processes of an application that recall and hear for many users: at fixed times, or all they can.

Arrivals are fixed beforehand, and a latency counts from when its request was due, whether or not
earlier ones were answered (an open loop).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Literal, cast

import theanine
from theanine.client.client import AsyncClient
from theanine.client.engine import Engine
from theanine.errors import StoreUnavailable, TheanineError
from theanine.types import Scope

BUDGET = 1_000
"""Tokens of a recollection."""


@dataclass(frozen=True, slots=True)
class Request:
    """One call for a user; ``due`` in seconds of ``perf_counter``, 0 for as soon as possible."""

    user: str
    text: str
    due: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A request's outcome.

    Attributes:
        seconds: from when it was due, or began if it was not, until it was done.
        cold: the process had nothing of the user in its cache.
        error: the error's class and text; empty without one.
        pressed: the error asks to try again later.
    """

    seconds: float
    cold: bool = False
    error: str = ""
    pressed: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """Requests for one process, ``callers`` at a time.

    Those without a due time are repeated for so many ``seconds``; 0 is once.
    """

    kind: Literal["recall", "hear"]
    requests: Sequence[Request]
    callers: int
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What one or more processes did.

    Attributes:
        seconds: from the start of the job until the last answer.
        cpu: seconds of CPU time of the processes.
        resident: bytes of their main memory at the end.
    """

    answers: list[Answer]
    seconds: float
    cpu: float
    resident: int

    @property
    def good(self) -> list[Answer]:
        return [answer for answer in self.answers if not answer.error]

    @property
    def errors(self) -> list[str]:
        """The errors that are more than a request to try again later."""
        return [answer.error for answer in self.answers if answer.error and not answer.pressed]

    @property
    def rate(self) -> float:
        """Answers in a second."""
        return len(self.good) / self.seconds


class Processes:
    """Processes, each with a client of its own for the same store."""

    def __init__(self, pipes: Sequence[Connection]) -> None:
        self._pipes = pipes

    def __len__(self) -> int:
        return len(self._pipes)

    def run(self, jobs: Sequence[Job]) -> Done:
        """Give each of the first processes a job, and wait for all."""
        pipes = self._pipes[: len(jobs)]
        for pipe, job in zip(pipes, jobs, strict=True):
            pipe.send(job)
        done = [cast("Done", pipe.recv()) for pipe in pipes]
        return Done(
            answers=[answer for each in done for answer in each.answers],
            seconds=max(each.seconds for each in done),
            cpu=sum(each.cpu for each in done),
            resident=sum(each.resident for each in done),
        )

    def spread(
        self, kind: Literal["recall", "hear"], requests: Sequence[Request], callers: int,
        seconds: float = 0.0,
    ) -> Done:  # fmt: skip
        """Deal requests out to all processes in turn, whoever the user is."""
        n = len(self)
        return self.run([Job(kind, requests[at::n], callers // n, seconds) for at in range(n)])


@contextmanager
def start_processes(location: str, count: int) -> Generator[Processes]:
    """Start processes that share a store, and end them."""
    context = get_context("spawn")
    pairs = [context.Pipe() for _ in range(count)]
    running = [context.Process(target=_work, args=(theirs, location)) for _, theirs in pairs]
    for process in running:
        process.start()
    ours = [pipe for pipe, _ in pairs]
    try:
        for pipe in ours:
            pipe.recv()
        yield Processes(ours)
    finally:
        for pipe in ours:
            pipe.send(None)
        for process in running:
            process.join()


def _work(pipe: Connection, location: str) -> None:
    client = theanine.aopen(location)
    with asyncio.Runner() as runner:
        runner.run(client.__aenter__())
        pipe.send("ready")
        while (job := pipe.recv()) is not None:
            pipe.send(runner.run(_do(client, job)))
        runner.run(client.close())


async def _do(client: AsyncClient, job: Job) -> Done:
    answers: list[Answer] = []
    started, used = time.perf_counter(), time.process_time()
    turns = asyncio.Semaphore(job.callers)
    engine = cast("Engine", vars(client)["_engine"])

    async def serve(request: Request) -> None:
        async with turns:
            began = request.due or time.perf_counter()
            cold = Scope(request.user) not in engine.indexes
            answers.append(await _call(client, job.kind, request, began, cold))

    if job.seconds:
        following = cycle(job.requests)

        async def repeat() -> None:
            while time.perf_counter() < started + job.seconds:
                await serve(next(following))

        await asyncio.gather(*(repeat() for _ in range(job.callers)))
    else:
        tasks: list[asyncio.Task[None]] = []
        for request in job.requests:
            await asyncio.sleep(max(0.0, request.due - time.perf_counter()))
            tasks.append(asyncio.create_task(serve(request)))
        await asyncio.gather(*tasks)
    return Done(
        answers=answers,
        seconds=time.perf_counter() - started,
        cpu=time.process_time() - used,
        resident=_resident(),
    )


async def _call(
    client: AsyncClient, kind: str, request: Request, began: float, cold: bool
) -> Answer:
    user = client.user(request.user)
    try:
        if kind == "recall":
            await user.recall(request.text, budget=BUDGET)
        else:
            await user.session(f"thread of {request.user}").hear(request.text)
    except TheanineError as error:
        text = f"{type(error).__name__}: {error}"
        pressed = isinstance(error, StoreUnavailable)
        return Answer(time.perf_counter() - began, cold, text, pressed)
    return Answer(time.perf_counter() - began, cold)


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
