"""Namespaces of a cluster, and their limits on GPU requests.

The master labels a namespace with its cluster id when it creates it, and never later. A namespace
without this label belongs to others, whatever its name, and is never deleted. Source:
helm-and-kubernetes 16.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.client import (
    MERGE_PATCH,
    Json,
    KubernetesApi,
    KubernetesRefused,
    KubernetesUnreachable,
)
from determined_master.domain.errors import PermissionDenied, Unavailable
from determined_master.domain.pods.quantities import quantity
from determined_master.ports.kubernetes import Quota

GPU_REQUESTS = "requests.nvidia.com/gpu"
_T = TypeVar("_T")


class NamespaceCalls:
    """Implements `ports.Namespaces`."""

    def __init__(self, api: KubernetesApi, cluster_id: str) -> None:
        self._api = api
        self._owner = cluster_id

    async def has_namespace(self, name: str) -> bool:
        """Whether a namespace of that name exists and accepts objects."""

        async def ask() -> bool:
            namespace = await self._find(name)
            return namespace is not None and not _is_going(namespace)

        return await _call(ask)

    async def create_namespace(self, name: str) -> bool:
        """Create a namespace marked as this master's; an existing one stays unchanged.

        Its labels are `determined=<name>` and `determined.ai/cluster_id=<id>`.

        Returns:
            True if it is this master's: created now or before. False if it belongs to others.

        Raises:
            Unavailable: one of that name is being deleted, or the cluster does not answer.
            PermissionDenied: it refuses the master this.
        """
        labels = {names.ALLOCATION: name, names.CLUSTER: self._owner}
        body: Json = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": labels},
        }

        async def make() -> bool:
            try:
                await self._api.call("POST", "/api/v1/namespaces", body=body)
            except KubernetesRefused as error:
                if error.reason != "AlreadyExists":
                    raise
                namespace = await self._find(name)
                if namespace is None or _is_going(namespace):
                    raise Unavailable(
                        f"namespace {name!r} is being deleted by Kubernetes: retry once it "
                        "is deleted"
                    ) from error
                return self._is_own(namespace)
            return True

        return await _call(make)

    async def delete_namespace(self, name: str) -> bool:
        """Delete a namespace that this master has created, with everything in it.

        Returns:
            True if it is deleted or did not exist. False if it belongs to others, and stays.
        """

        async def delete() -> bool:
            namespace = await self._find(name)
            if namespace is None:
                return True
            if not self._is_own(namespace):
                return False
            same = {"preconditions": {"uid": namespace["metadata"]["uid"]}}
            body: Json = {"apiVersion": "v1", "kind": "DeleteOptions", **same}
            try:
                await self._api.call("DELETE", f"/api/v1/namespaces/{name}", body=body)
            except KubernetesRefused as error:
                # 404: deleted in the meantime; 409: it is being deleted, or another has its name
                # now
                if error.status not in (404, 409):
                    raise
            return True

        return await _call(delete)

    async def _find(self, name: str) -> Json | None:
        try:
            return await self._api.call("GET", f"/api/v1/namespaces/{name}")
        except KubernetesRefused as error:
            if error.status == 404:
                return None
            raise

    def _is_own(self, namespace: Json) -> bool:
        labels = namespace["metadata"].get("labels") or {}
        return bool(labels.get(names.CLUSTER) == self._owner)

    async def quotas(self, namespace: str) -> Sequence[Quota]:
        path = f"/api/v1/namespaces/{namespace}/resourcequotas"

        async def ask() -> Json:
            return await self._api.call("GET", path)

        quotas = []
        for item in (await _call(ask)).get("items") or ():
            hard = (item.get("spec") or {}).get("hard") or {}
            name = str(item["metadata"]["name"])
            if GPU_REQUESTS in hard:
                gpus = float(quantity(hard[GPU_REQUESTS]))
                quotas.append(Quota(name, gpus, is_own=name == _quota_name(namespace)))
        return sorted(quotas, key=lambda q: q.name)

    async def set_quota(self, namespace: str, gpus: int) -> None:
        path = f"/api/v1/namespaces/{namespace}/resourcequotas"
        name = _quota_name(namespace)
        spec = {"spec": {"hard": {GPU_REQUESTS: str(gpus)}}}
        meta = {"metadata": {"name": name, "labels": {names.ALLOCATION: namespace}}}

        async def put() -> None:
            body = {"apiVersion": "v1", "kind": "ResourceQuota", **meta, **spec}
            try:
                await self._api.call("POST", path, body=body)
            except KubernetesRefused as error:
                if error.reason != "AlreadyExists":
                    raise
                own = f"{path}/{name}"
                await self._api.call("PATCH", own, body=spec, content_type=MERGE_PATCH)

        await _call(put)


async def _call(work: Callable[[], Awaitable[_T]]) -> _T:
    """Run a call, with its errors converted for the services."""
    try:
        return await work()
    except KubernetesUnreachable as error:
        raise Unavailable(f"the Kubernetes cluster does not answer: {error}") from error
    except KubernetesRefused as error:
        if error.status == 403:
            raise PermissionDenied(
                f"Kubernetes refuses the master this: {error}; give its account the rights of "
                "docs/kubernetes-permissions.md"
            ) from error
        raise Unavailable(f"Kubernetes refuses: {error}") from error


def _is_going(namespace: Json) -> bool:
    """Kubernetes empties a namespace that is being deleted, and rejects new objects in it."""
    return bool(namespace["metadata"].get("deletionTimestamp"))


def _quota_name(namespace: str) -> str:
    return f"{namespace}-quota"
