"""Hollow nodes of a real Kubernetes cluster: they accept pods, and run nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.e2e.cluster_api import until
from tests.e2e.hollow_node import hollow_node
from tests.e2e.pods import HOLLOW, KUBECONFIG

from determined_master.backends.kubernetes.client import (
    MERGE_PATCH,
    KubernetesApi,
    KubernetesRefused,
)

Json = dict[str, Any]
LABEL = "determined.test/hollow"
JOIN_LIMIT_S = 300.0
AT_ONCE = 32


class Api:
    """Calls of the API server over one set of connections, for threads without a loop."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._api = KubernetesApi(KUBECONFIG)

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

    def phases(self, namespace: str) -> dict[str, str]:
        """The phase of each pod of a namespace, by uid."""
        items = self.call("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]
        return {i["metadata"]["uid"]: str(i["status"].get("phase")) for i in items}

    def delete_pods(self, namespace: str) -> None:
        """Remove all pods of a namespace at once, and wait until they are gone."""
        query = {"gracePeriodSeconds": "0"}
        self.call("DELETE", f"/api/v1/namespaces/{namespace}/pods", query=query)
        until(lambda: not self.phases(namespace), JOIN_LIMIT_S, "the removal of pods")

    def close(self) -> None:
        self._runner.run(self._api.close())
        self._runner.close()


@contextlib.contextmanager
def hollow_nodes(count: int, directory: Path) -> Iterator[Api]:
    """So many ready nodes with the label `LABEL`; their logs lie in the directory."""
    names = [f"hollow-{number}" for number in range(count)]
    api = Api()
    with contextlib.ExitStack() as stack:
        stack.callback(api.close)
        try:
            for name in names:
                stack.enter_context(hollow_node(HOLLOW, name, KUBECONFIG, directory))
            for name in names:
                _wait_for(api, name)
            yield api
        finally:
            for name in names:
                with contextlib.suppress(KubernetesRefused):
                    api.call("DELETE", f"/api/v1/nodes/{name}")


def _wait_for(api: Api, name: str) -> None:
    """Wait until a node is ready, and label it."""

    def is_ready() -> bool:
        try:
            found = api.call("GET", f"/api/v1/nodes/{name}")
        except KubernetesRefused:
            return False
        return _is_ready(found)

    until(is_ready, JOIN_LIMIT_S, f"node {name}")
    body = {"metadata": {"labels": {LABEL: "true"}}}
    api.call("PATCH", f"/api/v1/nodes/{name}", body=body, content_type=MERGE_PATCH)


def _is_ready(node: Mapping[str, Any]) -> bool:
    conditions = node["status"].get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
