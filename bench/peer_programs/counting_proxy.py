"""Passes requests to an API server of Kubernetes, and counts those that are no watches.

    TOKEN=… python counting_proxy.py URL

Prints its port. `GET /counted` tells how many requests of each kind there were.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import os
import re
import sys

import aiohttp
from aiohttp import web

URL, TOKEN = sys.argv[1], os.environ["TOKEN"]
COUNTED: collections.Counter[str] = collections.Counter()
SESSION = web.AppKey("SESSION", aiohttp.ClientSession)
GONE = frozenset({"host", "connection", "transfer-encoding", "content-length", "authorization"})


async def pass_on(request: web.Request) -> web.StreamResponse:
    """One request, and its answer piece by piece."""
    if request.path == "/counted":
        return web.json_response(dict(COUNTED))
    if request.query.get("watch") not in ("true", "1"):
        COUNTED[f"{request.method} {kind_of(request.path)}"] += 1
    headers = {k: v for k, v in request.headers.items() if k.lower() not in GONE}
    headers["Authorization"] = f"Bearer {TOKEN}"
    async with request.app[SESSION].request(
        request.method,
        URL + request.path_qs,
        data=await request.read(),
        headers=headers,
        ssl=False,
        timeout=aiohttp.ClientTimeout(total=None),
    ) as found:
        kept = {k: v for k, v in found.headers.items() if k.lower() not in GONE}
        kept.pop("Content-Encoding", None)
        answer = web.StreamResponse(status=found.status, headers=kept)
        await answer.prepare(request)
        with contextlib.suppress(ConnectionResetError):  # a watch that its client has closed
            async for piece in found.content.iter_any():
                await answer.write(piece)
        return answer


def kind_of(path: str) -> str:
    """The path without names: pods, pods/log, nodes."""
    found = re.search(r"/(?:namespaces/[^/]+/)?([a-z]+)(?:/[^/]+(?:/([a-z]+))?)?$", path)
    return "/".join(part for part in found.groups() if part) if found else path


async def main() -> None:
    """Serve until it is ended."""
    app = web.Application(client_max_size=16 * 1024 * 1024)
    app[SESSION] = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
    app.router.add_route("*", "/{path:.*}", pass_on)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
