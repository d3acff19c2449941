"""Calls of a Kubernetes API server by figures, which cost it little beside what is measured."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

from tests.e2e.cluster_api import until
from tests.e2e.pods import KUBECONFIG

from determined_master.backends.kubernetes.client import KubernetesApi

Json = dict[str, Any]
AT_ONCE = 32
REMOVAL_LIMIT_S = 600.0
IDLE_S = 600.0
CALL_S = 300.0
"""The removal of 1,000 pods is one call."""
FROM_CACHE = {"resourceVersion": "0"}
"""Of lists that are asked for repeatedly: without it, each of them reads all objects from etcd."""


class Api:
    """Calls over one set of connections, for threads without a loop."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._api = KubernetesApi(KUBECONFIG, call_s=CALL_S)

    def call(self, method: str, path: str, **more: Any) -> Json:
        """One call. Raises KubernetesRefused."""
        return self._runner.run(self._api.call(method, path, **more))

    def create_all(self, path: str, bodies: list[Json]) -> None:
        """Create objects, several at a time."""

        async def create() -> None:
            turns = asyncio.Semaphore(AT_ONCE)

            async def one(body: Json) -> None:
                async with turns:
                    await self._api.call("POST", path, body=body)

            async with asyncio.TaskGroup() as group:
                for body in bodies:
                    group.create_task(one(body))

        self._runner.run(create())

    def wait_for_pods(self, namespace: str, count: int, fields: str, limit_s: float) -> None:
        """Wait until so many pods of a namespace have had these fields.

        By a watch: a list of all pods, repeated, costs the server more than the pods.

        Args:
            namespace: of the pods.
            count: of them.
            fields: a selector, such as `status.phase!=Pending`.
            limit_s: how long that may take.

        Raises:
            TimeoutError: it takes longer.
        """

        async def wait() -> None:
            found: set[str] = set()
            path = f"/api/v1/namespaces/{namespace}/pods"
            query = {"watch": "true", "fieldSelector": fields}
            async with asyncio.timeout(limit_s):
                while len(found) < count:  # the server ends each watch after a while
                    await self._watch(path, query, found, count)

        self._runner.run(wait())

    def phases(self, namespace: str) -> dict[str, str]:
        """The phase of each pod of a namespace, by uid."""
        path = f"/api/v1/namespaces/{namespace}/pods"
        items = self.call("GET", path, query=FROM_CACHE)["items"]
        return {i["metadata"]["uid"]: str(i["status"].get("phase")) for i in items}

    def delete_pods(self, namespace: str) -> None:
        """Remove all pods of a namespace at once, and wait until they are gone."""
        path = f"/api/v1/namespaces/{namespace}/pods"
        self.call("DELETE", path, query={"gracePeriodSeconds": "0"})
        until(
            lambda: not self.call("GET", path, query={"limit": "1"})["items"],
            REMOVAL_LIMIT_S,
            "the removal of pods",
        )

    def close(self) -> None:
        self._runner.run(self._api.close())
        self._runner.close()

    async def _watch(self, path: str, query: dict[str, str], found: set[str], count: int) -> None:
        """Note the uids of objects until there are so many, or the server ends the watch."""
        rest = b""
        async with contextlib.aclosing(self._api.stream(path, query, idle_s=IDLE_S)) as pieces:
            async for piece in pieces:
                *lines, rest = (rest + piece).split(b"\n")
                found.update(json.loads(line)["object"]["metadata"]["uid"] for line in lines)
                if len(found) >= count:
                    return
