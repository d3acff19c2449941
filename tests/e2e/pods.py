"""Kubernetes clusters for tests of whole experiments: ours in memory, and real ones."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tests.e2e.cluster_api import LAUNCH_RETRY_S, until
from tests.e2e.hollow_node import hollow_node
from tests.fake_kubernetes.running import RunningCluster

from determined_master.backends.kubernetes.client import MERGE_PATCH, KubernetesApi
from determined_master.entropy import new_uuid

KUBECONFIG = os.environ.get("DET_TEST_KUBECONFIG", "")
ADDRESS = os.environ.get("DET_TEST_KUBERNETES_ADDRESS", "")
IMAGE = os.environ.get("DET_TEST_KUBERNETES_IMAGE", "")
SHARED = os.environ.get("DET_TEST_KUBERNETES_SHARED", "")
"""A directory that the nodes have under the same path as this machine."""
HOLLOW = os.environ.get("DET_TEST_KUBEMARK", "")
"""The program of hollow nodes."""
WHY_NOT = "DET_TEST_KUBECONFIG and DET_TEST_KUBERNETES_SHARED name no cluster"

Json = dict[str, Any]
_T = TypeVar("_T")


class Pods(Protocol):
    """A cluster of Kubernetes with two nodes of 4 slots, or with one of at least 8."""

    image: str
    host: str
    """Where the master listens."""
    limit_s: float
    """How long anything may take."""
    is_real: bool
    namespace: str
    """Of the tasks."""
    shared: Path
    """A directory that pods have under the same path."""
    tuning: Mapping[str, Any]
    """Of the master, as `tuned.py` takes it."""

    def settings(self, port: int) -> Json:
        """Of a master at that port, but its pools."""

    def all(self) -> list[Json]:
        """All pods of tasks."""

    def objects(self, kind: str) -> list[Json]:
        """All objects of a kind, such as `secrets`, in the tasks' namespace."""

    def delete(self, pod: Json) -> None:
        """Delete a pod as a drain of its node does."""

    def label(self, node: str, labels: Mapping[str, str | None]) -> None:
        """Change labels of a node; None removes one."""

    def labels(self, node: str) -> Mapping[str, str]:
        """Those of a node."""

    def set_quota(self, hard: Mapping[str, str] | None) -> None:
        """Give the tasks' namespace the quota `few`; None removes it."""

    def add_node(self, name: str) -> AbstractContextManager[None]:
        """Have one more node of at least 4 slots, which need not run its pods."""


class PodsInMemory:
    """Ours: pods are processes of this machine."""

    image, host, limit_s, is_real = "any", "127.0.0.1", LAUNCH_RETRY_S, False
    namespace = "default"
    tuning: Mapping[str, Any] = {"pods": {"grace_s": 2}}
    """What is killed here is given up after so long: nobody tells of its end."""

    def __init__(self, running: RunningCluster, shared: Path) -> None:
        self.running = running
        self.shared = shared
        for name in ("node-a", "node-b"):
            running.do(running.kubelet.add_node(name, cpu=4))

    def settings(self, port: int) -> Json:
        return {"resource_manager": _manager(str(self.running.kubeconfig), "127.0.0.1", port, 1)}

    def all(self) -> list[Json]:
        return self.objects("pods")

    def objects(self, kind: str) -> list[Json]:
        async def found() -> list[Json]:
            return self.running.server.store.list(kind, None, {})

        return self.running.do(found())

    def delete(self, pod: Json) -> None:
        _in_its_own_loop(_deleted(str(self.running.kubeconfig), pod))

    def label(self, node: str, labels: Mapping[str, str | None]) -> None:
        given = {key: value for key, value in labels.items() if value is not None}
        self.running.do(self.running.kubelet.label(node, **given))

    def labels(self, node: str) -> Mapping[str, str]:
        async def found() -> Json:
            [one] = (
                n
                for n in self.running.server.store.list("nodes", None, {})
                if n["metadata"]["name"] == node
            )
            return one

        return _labels(self.running.do(found()))

    def set_quota(self, hard: Mapping[str, str] | None) -> None:
        _in_its_own_loop(_with_quota(str(self.running.kubeconfig), "default", hard))

    @contextmanager
    def add_node(self, name: str) -> Iterator[None]:
        self.running.do(self.running.kubelet.add_node(name, cpu=4))
        yield


class RealPods:
    """Those of a cluster that DET_TEST_KUBECONFIG reaches, in a namespace of its own."""

    image, host, limit_s, is_real = IMAGE, "0.0.0.0", 6 * LAUNCH_RETRY_S, True
    tuning: Mapping[str, Any] = {}

    def __init__(self, shared: Path) -> None:
        self.shared = shared
        self.namespace = f"det-e2e-{new_uuid().hex[:8]}"
        body = {"metadata": {"name": self.namespace}}
        self._call("POST", "/api/v1/namespaces", body=body)

    def settings(self, port: int) -> Json:
        manager = {
            **_manager(KUBECONFIG, ADDRESS, port, 0.2),
            "default_namespace": self.namespace,
        }
        mount = {"name": "shared", "mountPath": str(self.shared)}
        spec = {
            "containers": [{"name": "determined-container", "volumeMounts": [mount]}],
            "volumes": [{"name": "shared", "hostPath": {"path": str(self.shared)}}],
        }
        kinds = ("cpu_pod_spec", "gpu_pod_spec", "checkpoint_gc_pod_spec")
        defaults = {"image": IMAGE, **{kind: {"spec": spec} for kind in kinds}}
        return {"resource_manager": manager, "task_container_defaults": defaults}

    def all(self) -> list[Json]:
        return self.objects("pods")

    def objects(self, kind: str) -> list[Json]:
        found = self._call("GET", f"/api/v1/namespaces/{self.namespace}/{kind}")
        items: list[Json] = found["items"]
        return items

    def create(self, pod: Json) -> None:
        """Create a pod of no task."""
        self._call("POST", f"/api/v1/namespaces/{self.namespace}/pods", body=pod)

    def delete(self, pod: Json) -> None:
        _in_its_own_loop(_deleted(KUBECONFIG, pod))

    def label(self, node: str, labels: Mapping[str, str | None]) -> None:
        body = {"metadata": {"labels": dict(labels)}}
        self._call("PATCH", f"/api/v1/nodes/{node}", body=body, content_type=MERGE_PATCH)

    def labels(self, node: str) -> Mapping[str, str]:
        return _labels(self._call("GET", f"/api/v1/nodes/{node}"))

    def set_quota(self, hard: Mapping[str, str] | None) -> None:
        _in_its_own_loop(_with_quota(KUBECONFIG, self.namespace, hard))

    @contextmanager
    def add_node(self, name: str) -> Iterator[None]:
        """A hollow node: it says that pods run, and runs nothing."""
        try:
            with hollow_node(HOLLOW, name, KUBECONFIG, self.shared):
                yield
        finally:
            self._call("DELETE", f"/api/v1/nodes/{name}")

    def remove(self) -> None:
        """Leave nothing behind."""
        self._call("DELETE", f"/api/v1/namespaces/{self.namespace}")
        path = "/api/v1/namespaces"
        query = {"fieldSelector": f"metadata.name={self.namespace}"}
        until(lambda: not self._call("GET", path, query=query)["items"], self.limit_s, "removal")

    def _call(self, method: str, path: str, **more: Any) -> Json:
        return _in_its_own_loop(_called(KUBECONFIG, method, path, **more))


@contextmanager
def pods_in_memory(root: Path) -> Iterator[Pods]:
    """Our cluster, with its files below a directory."""
    with RunningCluster(root) as running:
        yield PodsInMemory(running, root)


@contextmanager
def real_pods() -> Iterator[RealPods]:
    """The real cluster."""
    shared = Path(tempfile.mkdtemp(prefix="det-e2e-", dir=SHARED))
    made = RealPods(shared)
    try:
        yield made
    finally:
        made.remove()
        shutil.rmtree(shared, ignore_errors=True)


def pods_of(kind: str, root: Path) -> AbstractContextManager[Pods]:
    """A cluster by the name of its kind: `real`, or any other for ours below `root`."""
    return real_pods() if kind == "real" else pods_in_memory(root)


def _manager(kubeconfig: str, host: str, port: int, cpu: float) -> Json:
    return {
        "type": "kubernetes",
        "kubeconfig_path": kubeconfig,
        "slot_type": "cpu",
        "slot_resource_requests": {"cpu": cpu},
        "max_slots_per_pod": 4,
        "determined_master_host": host,
        "determined_master_port": port,
    }


async def _called(kubeconfig: str, method: str, path: str, **more: Any) -> Json:
    api = KubernetesApi(kubeconfig)
    try:
        return await api.call(method, path, **more)
    finally:
        await api.close()


async def _deleted(kubeconfig: str, pod: Json) -> Json:
    meta = pod["metadata"]
    path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
    return await _called(kubeconfig, "DELETE", path)


async def _with_quota(kubeconfig: str, namespace: str, hard: Mapping[str, str] | None) -> None:
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    if hard is None:
        await _called(kubeconfig, "DELETE", f"{path}/few")
        return
    body = {"metadata": {"name": "few"}, "spec": {"hard": dict(hard)}}
    await _called(kubeconfig, "POST", path, body=body)


def _labels(node: Json) -> Mapping[str, str]:
    found: Mapping[str, str] = node["metadata"].get("labels") or {}
    return found


def _in_its_own_loop(work: Coroutine[Any, Any, _T]) -> _T:
    return asyncio.run(work)


def with_pools(settings: Json) -> str:
    """A master.yaml in which the urgent make others leave."""
    scheduler = {"type": "priority", "preemption": True}
    return json.dumps({**settings, "resource_pools": [
        {"pool_name": "default", "scheduler": scheduler},
    ]})  # fmt: skip
