"""Custom resources on a real cluster, for as long as a test needs them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from determined_master.backends.kubernetes.client import KubernetesApi, KubernetesRefused

Json = dict[str, Any]
PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LIMIT_S = 60


@contextlib.asynccontextmanager
async def resources_installed(kubeconfig: str, *definitions: Json) -> AsyncIterator[None]:
    """Have these definitions served, and remove those at the end that the test has made."""
    api = KubernetesApi(kubeconfig)
    made: list[Json] = []
    try:
        for definition in definitions:
            if await _is_created(api, definition):
                made.append(definition)
        for definition in definitions:
            await _becomes(api, definition, is_served=True)
        yield
    finally:
        for definition in made:
            await api.call("DELETE", f"{PATH}/{definition['metadata']['name']}")
        for definition in made:
            await _becomes(api, definition, is_served=False)
        await api.close()


def definition(group: str, version: str, kind: str, spec: Json) -> Json:
    """The definition of a resource with this schema of its `spec`.

    Groups of Kubernetes itself need the annotation.
    """
    plural = f"{kind.lower()}s"
    whole = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": spec, "status": whole}}
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"kind": kind, "plural": plural, "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [served]},
    }


async def _is_created(api: KubernetesApi, definition: Json) -> bool:
    try:
        await api.call("POST", PATH, body=definition)
    except KubernetesRefused as error:
        if error.reason != "AlreadyExists":
            raise
        return False
    return True


async def _becomes(api: KubernetesApi, definition: Json, *, is_served: bool) -> None:
    async with asyncio.timeout(LIMIT_S):
        while await _is_served(api, definition) is not is_served:  # noqa: ASYNC110
            await asyncio.sleep(0.2)


async def _is_served(api: KubernetesApi, definition: Json) -> bool:
    spec = definition["spec"]
    version = spec["versions"][0]["name"]
    try:
        await api.call("GET", f"/apis/{spec['group']}/{version}/{spec['names']['plural']}")
    except KubernetesRefused as error:
        if error.status != 404:
            raise
        return False
    return True
