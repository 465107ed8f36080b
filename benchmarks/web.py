"""Do people who look slow it down? 100,000 jobs stored, 50 pages open with live streams, 1,000 lists asked for."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measure import DUCKROW, duckrow, interleaved, own_duckrow, table
from benchmarks.ratios import note

STORED = int(os.environ.get("BENCH_QUEUE", "100000"))
VIEWERS = 50
REQUESTS = 1000
AT_ONCE = 2
JOBS = 2000
PORT = 18787
LISTS = (
    "",
    "?sort=-id&page={page}",
    "?status=queued&page={page}",
    "?status=succeeded&sort=-duration",
    "?project=p{project}&page=2",
    "?q=seed%20{page}",
    "?sort=name&per_page=100",
)


def main() -> None:
    with own_duckrow() as folder:
        duckrow("up", "--slots", "2")
        fill(folder)
        with page_server() as token:
            least = asyncio.run(ask_for(token, ["/healthz"]))
            taken = asyncio.run(ask_for(token, [f"/api/v1/jobs{each}" for each in LISTS]))
            print(f"\nA page of the list, of {STORED:,} jobs, with {VIEWERS} live streams, ms ({REQUESTS} requests)")
            print(f"  {'':<40}{'median':>9}{'95 %':>9}{'99 %':>9}")
            for address, times in taken.items():
                print(f"  {address:<40}{row(times)}")
            of_all = [time for times in taken.values() for time in times]
            print(f"  {'all of these':<40}{row(of_all)}")
            print(f"  {'/healthz':<40}{row(least['/healthz'])}", flush=True)
            ratio = percentile(of_all, 0.95) / percentile(least["/healthz"], 0.95)
            note(f"a list page, 95th percentile, {VIEWERS} viewers: duckrow web / its /healthz", ratio)
            rows = interleaved(
                {
                    "nobody looks": lambda: run_jobs(folder),
                    f"{VIEWERS} pages are open": lambda: with_viewers(token, folder),
                }
            )
            table(f"{JOBS} x `true` on 2 slots of the daemon", rows, "ms", 1000 / JOBS, "nobody looks")


def row(times: list[float]) -> str:
    return "".join(f"{percentile(times, place) * 1000:9.1f}" for place in (0.5, 0.95, 0.99))


def percentile(times: list[float], place: float) -> float:
    return sorted(times)[int(len(times) * place)]


def fill(folder: Path) -> None:
    """All that waits is held: what is measured has the slots to itself."""
    for project in range(5):
        file = folder / "commands"
        lines = (f"python train.py --lr {number} --seed {number % 1000}\n" for number in range(STORED // 5))
        file.write_text("".join(lines))
        duckrow("submit", "--hold", "--project", f"p{project}", "--file", str(file))
    run_jobs(folder)


def run_jobs(folder: Path) -> float:
    file = folder / "short"
    file.write_text("true\n" * JOBS)
    began = time.perf_counter()
    first, last = duckrow("submit", "--project", "short", "--file", str(file)).strip().split("-")
    duckrow("wait", f"{first}-{last}")
    return time.perf_counter() - began


@contextmanager
def page_server() -> Iterator[str]:
    server = subprocess.Popen([DUCKROW, "web", "--no-browser", "--port", str(PORT)], stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        server.stdout.readline()
        yield duckrow("web", "--token").strip()
    finally:
        server.terminate()
        server.wait()


def with_viewers(token: str, folder: Path) -> float:
    """The viewers have a process of their own, as browsers do."""
    viewers = subprocess.Popen([sys.executable, "-m", "benchmarks.web", token], stdout=subprocess.PIPE)
    try:
        assert viewers.stdout is not None
        viewers.stdout.readline()
        return run_jobs(folder)
    finally:
        viewers.terminate()
        viewers.wait()


# -- clients ------------------------------------------------------------------------------------------------------


async def ask_for(token: str, addresses: list[str]) -> dict[str, list[float]]:
    """How long each of many answers takes, by its address, while others have the page open."""
    watching = [asyncio.create_task(watch(token)) for _ in range(VIEWERS)]
    left = iter(range(REQUESTS))
    taken: dict[str, list[float]] = {address: [] for address in addresses}

    async def ask() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
        choice = random.Random(0)
        for number in left:
            address = addresses[number % len(addresses)]
            asked = address.format(page=choice.randint(1, 500), project=choice.randint(0, 4))
            began = time.perf_counter()
            await get(reader, writer, token, asked)
            taken[address].append(time.perf_counter() - began)
        writer.close()

    await asyncio.gather(*(ask() for _ in range(AT_ONCE)))
    for task in watching:
        task.cancel()
    return taken


async def watch(token: str) -> None:
    """What an open page does: it listens, and asks for its list again when something has changed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    async for change in changes(token):
        if change.get("jobs"):
            await get(reader, writer, token, "/api/v1/jobs")
            await get(reader, writer, token, "/api/v1/status")


async def changes(token: str) -> AsyncIterator[dict[str, object]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    await ask_on(writer, token, "/api/v1/events")
    while line := await reader.readline():
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


async def get(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str, path: str) -> bytes:
    await ask_on(writer, token, path)
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    return await reader.readexactly(int(length.split(b":")[1]))


async def ask_on(writer: asyncio.StreamWriter, token: str, path: str) -> None:
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    await writer.drain()


async def watch_for_ever(token: str) -> None:
    watching = [asyncio.create_task(watch(token)) for _ in range(VIEWERS)]
    await asyncio.sleep(1)
    print("watching", flush=True)
    await asyncio.gather(*watching)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(watch_for_ever(sys.argv[1]))
    else:
        main()
