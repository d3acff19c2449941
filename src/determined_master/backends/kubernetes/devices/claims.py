"""Creates the claim of a pod whose slots are devices."""

from __future__ import annotations

from determined_master.backends.kubernetes.client import (
    KubernetesApi,
    KubernetesRefused,
    KubernetesUnreachable,
)
from determined_master.backends.kubernetes.manifest.devices import GROUP
from determined_master.backends.kubernetes.manifest.objects import Objects


async def create_claim(api: KubernetesApi, parts: Objects, uid: str) -> None:
    """Create the claim of a pod, unless there is one, or none is needed.

    Args:
        api: calls the cluster.
        parts: the pod.
        uid: of the pod, with which Kubernetes deletes the claim.

    Raises:
        Unreachable: the API server does not answer, or serves another version by now.
        Refused: it does not take the claim.
    """
    if parts.claim is None:
        return
    version = parts.claim["apiVersion"].rpartition("/")[2]
    path = f"{GROUP}/{version}/namespaces/{parts.namespace}/resourceclaims"
    try:
        await api.call("POST", path, body=parts.owned(parts.claim, uid))
    except KubernetesRefused as error:
        if error.status == 404:
            raise KubernetesUnreachable(
                f"resource.k8s.io/{version} is not served: {error}"
            ) from error
        if error.reason != "AlreadyExists":
            raise
