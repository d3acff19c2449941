"""Namespaces of a cluster, and how many GPUs each may request.

Source: helm-and-kubernetes 16.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.client import (
    MERGE_PATCH,
    Json,
    KubernetesApi,
    Refused,
    Unreachable,
)
from determined_master.backends.kubernetes.nodes import quantity
from determined_master.domain.errors import PermissionDenied, Unavailable
from determined_master.ports import Quota

GPU_REQUESTS = "requests.nvidia.com/gpu"
_T = TypeVar("_T")


class NamespaceCalls:
    """Implements `ports.Namespaces`."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api

    async def has_namespace(self, name: str) -> bool:
        """Whether there is a namespace of that name."""

        async def ask() -> bool:
            try:
                await self._api.call("GET", f"/api/v1/namespaces/{name}")
            except Refused as error:
                if error.status == 404:
                    return False
                raise
            return True

        return await _told(ask)

    async def create_namespace(self, name: str) -> None:
        """Make a namespace labelled `determined=<name>`; one that is there is labelled."""
        meta: Json = {"metadata": {"name": name, "labels": {names.ALLOCATION: name}}}

        async def make() -> None:
            try:
                await self._api.call(
                    "POST",
                    "/api/v1/namespaces",
                    body={"apiVersion": "v1", "kind": "Namespace", **meta},
                )
            except Refused as error:
                if error.reason != "AlreadyExists":
                    raise
                path = f"/api/v1/namespaces/{name}"
                await self._api.call("PATCH", path, body=meta, content_type=MERGE_PATCH)

        await _told(make)

    async def delete_namespace(self, name: str) -> None:
        """Delete a namespace with all that is in it; nothing when it is not there."""

        async def delete() -> None:
            try:
                await self._api.call("DELETE", f"/api/v1/namespaces/{name}")
            except Refused as error:
                if error.status != 404:
                    raise

        await _told(delete)

    async def quotas(self, namespace: str) -> Sequence[Quota]:
        """Its quotas of GPUs (`requests.nvidia.com/gpu`), by name."""
        path = f"/api/v1/namespaces/{namespace}/resourcequotas"

        async def ask() -> Json:
            return await self._api.call("GET", path)

        found = []
        for item in (await _told(ask)).get("items") or ():
            hard = (item.get("spec") or {}).get("hard") or {}
            name = str(item["metadata"]["name"])
            if GPU_REQUESTS in hard:
                gpus = float(quantity(hard[GPU_REQUESTS]))
                found.append(Quota(name, gpus, is_own=name == _quota_name(namespace)))
        return sorted(found, key=lambda q: q.name)

    async def set_quota(self, namespace: str, gpus: int) -> None:
        """Make or change the quota `<namespace>-quota`."""
        path = f"/api/v1/namespaces/{namespace}/resourcequotas"
        name = _quota_name(namespace)
        spec = {"spec": {"hard": {GPU_REQUESTS: str(gpus)}}}
        meta = {"metadata": {"name": name, "labels": {names.ALLOCATION: namespace}}}

        async def put() -> None:
            body = {"apiVersion": "v1", "kind": "ResourceQuota", **meta, **spec}
            try:
                await self._api.call("POST", path, body=body)
            except Refused as error:
                if error.reason != "AlreadyExists":
                    raise
                own = f"{path}/{name}"
                await self._api.call("PATCH", own, body=spec, content_type=MERGE_PATCH)

        await _told(put)


async def _told(work: Callable[[], Awaitable[_T]]) -> _T:
    """Do it; what goes wrong is told as the services know it."""
    try:
        return await work()
    except Unreachable as error:
        raise Unavailable(f"the Kubernetes cluster does not answer: {error}") from error
    except Refused as error:
        if error.status == 403:
            raise PermissionDenied(
                f"Kubernetes refuses the master this: {error}; give its account the rights of "
                "docs/kubernetes.md"
            ) from error
        raise Unavailable(f"Kubernetes refuses: {error}") from error


def _quota_name(namespace: str) -> str:
    return f"{namespace}-quota"
