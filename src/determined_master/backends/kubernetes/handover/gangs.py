"""Makes the pods of an allocation one gang of the program that places them."""

from __future__ import annotations

import logging
from typing import Any

from determined_master.backends.kubernetes.client import KubernetesApi, KubernetesRefused
from determined_master.backends.kubernetes.manifest.handover import GROUPS, MANAGED, QUEUE_NAME
from determined_master.backends.kubernetes.manifest.objects import Objects

log = logging.getLogger(__name__)


class Gangs:
    """Those of one cluster."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api
        self._has_warned = False

    async def create_group(self, parts: Objects, uid: str) -> None:
        """Create the PodGroup of a pod, unless there is one, or none is needed.

        Where the cluster has no PodGroups, older schedulers read the labels of the pods.

        Args:
            parts: the pod.
            uid: of the pod, with which the group is deleted.

        Raises:
            Unreachable: the API server does not answer.
        """
        if parts.group is None:
            return
        path = f"{GROUPS}/namespaces/{parts.namespace}/podgroups"
        try:
            await self._api.call("POST", path, body=parts.owned(parts.group, uid))
        except KubernetesRefused as error:
            if error.reason != "AlreadyExists" and not self._has_warned:
                self._has_warned = True
                log.warning("PodGroups are not created, and labels stand for them: %s", error)


def check_managed(parts: Objects, pod: dict[str, Any]) -> None:
    """Check that kueue has taken a pod that was sent to a queue of it.

    Args:
        parts: the pod, as it was sent.
        pod: the pod, as it is stored.

    Raises:
        Refused: it has not, so that the pod would start without quota.
    """
    labels = pod["metadata"].get("labels") or {}
    if QUEUE_NAME in parts.pod["metadata"]["labels"] and labels.get(MANAGED) != "true":
        raise KubernetesRefused(
            422,
            "NotManaged",
            f"kueue does not manage pods of namespace {parts.namespace}: add pod to its "
            "integrations.frameworks and select the namespace there, or choose another "
            "scheduler for the pool",
        )
