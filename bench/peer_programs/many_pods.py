"""An API server of Kubernetes with many nodes and pods of others, which change without end.

    python many_pods.py NODES PODS CHANGES_A_SECOND

Prints its port. It answers lists in pages and watches with changes; nothing else.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from aiohttp import web

NODES, PODS, RATE = (int(word) for word in sys.argv[1:4])
CONDITIONS = [
    {"type": name, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    for name in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
]


def node(number: int) -> dict[str, Any]:
    """A node of 32 CPUs."""
    offered = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "500Gi"}
    return {
        "metadata": {
            "name": f"node-{number}",
            "uid": f"node-uid-{number}",
            "labels": {f"example.com/label-{n}": "x" * 20 for n in range(15)},
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {},
        "status": {
            "allocatable": offered,
            "capacity": offered,
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [
                {"type": "InternalIP", "address": f"10.0.{number // 256}.{number % 256}"}
            ],
            "nodeInfo": {"kubeletVersion": "v1.30.0"},
            "images": [{"names": [f"registry/image-{n}@sha256:{'0' * 64}"]} for n in range(50)],
        },
    }


def pod(number: int, version: int = 1) -> dict[str, Any]:
    """A pod of somebody else, about as long as real ones are."""
    container = {
        "name": "main",
        "image": "registry/image:1",
        "env": [{"name": f"NAME_{n}", "value": "x" * 40} for n in range(20)],
        "resources": {"requests": {"cpu": f"{100 + version % 7}m", "memory": "256Mi"}},
        "volumeMounts": [{"name": f"v{n}", "mountPath": f"/mnt/{n}"} for n in range(4)],
    }
    return {
        "metadata": {
            "name": f"pod-{number}",
            "namespace": f"team-{number % 20}",
            "uid": f"uid-{number}",
            "labels": {f"label-{n}": "x" * 20 for n in range(6)},
            "resourceVersion": str(version),
        },
        "spec": {"nodeName": f"node-{number % NODES}", "containers": [container, container]},
        "status": {"phase": "Running", "conditions": CONDITIONS, "podIP": "10.1.2.3"},
    }


async def listed(request: web.Request) -> web.StreamResponse:
    """A list or a watch."""
    kind, query = request.match_info["kind"], request.query
    is_foreign = kind == "pods" and "!=" in query.get("labelSelector", "")
    if query.get("watch") == "true":
        return await watched(request, is_foreign=is_foreign)
    made = {"nodes": node, "pods": pod}.get(kind)
    count = NODES if kind == "nodes" else PODS if is_foreign else 0
    first, most = int(query.get("continue") or 0), int(query.get("limit") or count)
    last = min(count, first + most)
    meta = {"resourceVersion": "1", "continue": str(last) if last < count else ""}
    items = [made(n) for n in range(first, last)] if made else []
    return web.json_response({"kind": "List", "metadata": meta, "items": items})


async def watched(request: web.Request, *, is_foreign: bool) -> web.StreamResponse:
    """Changes, `RATE` a second for pods of others and none for anything else."""
    response = web.StreamResponse()
    await response.prepare(request)
    number = 0
    while True:
        await asyncio.sleep(0.1)
        if not is_foreign:
            continue
        for _ in range(RATE // 10):
            number += 1
            item = pod(number * 7919 % PODS, number)
            line = json.dumps({"type": "MODIFIED", "object": item}).encode() + b"\n"
            await response.write(line)


async def main() -> None:
    """Serve until it is ended."""
    app = web.Application()
    app.router.add_get("/api/v1/{kind}", listed)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
