"""One tenant's recalls and erasure while another one makes noise: `make noisy-neighbor`.

    python benchmarks/noisy_neighbor.py --seconds 30

The noise: 64 bodies and 64 imports that never end, each begun again when it is given up, and a
rebuild whose model never answers. Undisturbed and disturbed recalls are of the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import sys
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "packages" / "theanine-server" / "tests"))

import httpx2
from figures import percentile
from server.processes import serving

from support.running import Terminal

RATE = 20
HELD = 64
RIGHTS = [word for right in ("read", "write", "administer") for word in ("--right", right)]
QUESTION = {"dialogue": "Which ferry goes to Vis, and when?"}


@contextmanager
def hanging_model() -> Generator[str]:
    """Listen, and never answer."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


async def hold(port: int, path: str, token: str) -> None:
    """Send the beginning of a body, wait until it is given up, and begin again."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    )
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(head.encode())
            await writer.drain()
            await reader.read(1_000)
        finally:
            writer.close()
        await asyncio.sleep(0.5)


async def recall(http: httpx2.AsyncClient, seconds: float) -> tuple[list[float], Counter[int]]:
    """Recall at a fixed rate; return the times in ms and the statuses."""
    times, statuses = list[float](), Counter[int]()

    async def ask() -> None:
        started = time.perf_counter()
        answer = await http.post("/v1/users/bea/recall", json=QUESTION)
        times.append(1_000 * (time.perf_counter() - started))
        statuses[answer.status_code] += 1

    async with asyncio.TaskGroup() as tasks:
        for _ in range(round(RATE * seconds)):
            tasks.create_task(ask())
            await asyncio.sleep(1 / RATE)
    return times, statuses


async def erase(http: httpx2.AsyncClient) -> float:
    """Forget a conversation with a pause that is confirmed; return the seconds it took."""
    path = "/v1/users/bea"
    await http.post(f"{path}/threads/secret/hear", json={"content": "My locker is 4711."})
    sessions = (await http.get(f"{path}/sessions")).json()["items"]
    number = next(each["id"] for each in sessions if each["thread"] == "secret")
    begun = await http.post(f"{path}/forgetting", json={"session": number, "pause": 60})
    operation = begun.json()["id"]
    started = time.perf_counter()
    await http.post(f"{path}/forgetting/{operation}/confirm", json={})
    path = f"/v1/operations/{operation}"
    while (await http.get(path)).json()["state"] != "succeeded":  # noqa: ASYNC110  # of a service
        await asyncio.sleep(0.05)
    return time.perf_counter() - started


async def measure(url: str, noisy: str, quiet: str, seconds: float) -> bool:
    def client(token: str) -> httpx2.AsyncClient:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx2.AsyncClient(base_url=url, headers=headers, timeout=120)

    async with client(noisy) as a, client(quiet) as b:
        for number in range(40):
            said = {"content": f"The ferry {number} to Vis leaves at {number % 12} o'clock."}
            await b.post("/v1/users/bea/threads/t/hear", json=said)
            await a.post("/v1/users/al/threads/t/hear", json=said)
        for http, user in ((a, "al"), (b, "bea")):
            await http.post(f"/v1/users/{user}/threads/t/end", json={"remember": False})
        await recall(b, 2)
        before, _ = await recall(b, seconds)
        work = {"kind": "rebuild", "user": "al", "again": True}
        assert (await a.post("/v1/operations", json=work)).status_code == 202
        port = httpx2.URL(url).port or 0
        paths = ("/v1/users/al/recall", "/v1/users/al/import")
        noise = [
            asyncio.create_task(hold(port, path, noisy)) for path in paths for _ in range(HELD)
        ]
        await asyncio.sleep(3)
        during, statuses = await recall(b, seconds)
        seconds_to_erase = await erase(b)
        for each in noise:
            each.cancel()
    p95, disturbed = percentile(before, 95), percentile(during, 95)
    rows = (
        ("p95 of a recall, undisturbed", f"{p95:.1f} ms", ""),
        ("p95 of a recall, disturbed", f"{disturbed:.1f} ms", "at most twice as long"),
        ("recalls refused", f"{sum(statuses.values()) - statuses[200]}", "0"),
        ("erasure", f"{seconds_to_erase:.1f} s", "at most 5 s"),
    )
    for name, value, goal in rows:
        print(f"{name:<32}{value:>12}  {goal}")
    return disturbed <= 2 * p95 and statuses.keys() == {200} and seconds_to_erase <= 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    with TemporaryDirectory() as folder, hanging_model() as model:
        store, terminal = Path(folder) / "memory.db", Terminal(Path(folder))
        keys = [
            terminal.bare(
                "keys", "create", "--name", "x", "--tenant", tenant, *RIGHTS, "--store", str(store)
            ).out.strip()
            for tenant in ("noisy", "quiet")
        ]
        arguments = ("--model", "openai:x", "--base-url", model, "--remembering", "later")
        with serving(store, *arguments, environment={"OPENAI_API_KEY": "x"}) as service:
            met = asyncio.run(measure(service.url, keys[0], keys[1], options.seconds))
            service.process.kill()
    sys.exit(not met)


if __name__ == "__main__":
    main()
