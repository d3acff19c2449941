"""Seldom work on a cluster: its default namespace is looked for, unused PriorityClasses go."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

from determined_master import clock
from determined_master.backends.kubernetes.client import KubernetesApi, KubernetesRefused
from determined_master.backends.kubernetes.priority_classes import PriorityClasses
from determined_master.ports.kubernetes import ClusterTrouble

log = logging.getLogger(__name__)


class ClusterMaintenance:
    """One cluster's, while its master leads."""

    def __init__(
        self,
        cluster: str,
        api: KubernetesApi,
        namespace: str,
        classes: PriorityClasses,
        used_classes: Callable[[], Collection[str]],
    ) -> None:
        """
        Args:
            cluster: its name in messages.
            api: calls it.
            namespace: of tasks whose workspace has no binding.
            classes: of its pods.
            used_classes: names of the classes that pods have at present.
        """
        self.cluster = cluster
        self.trouble: ClusterTrouble | None = None
        """A default namespace that does not exist."""
        self._api = api
        self._namespace = namespace
        self._classes = classes
        self._used_classes = used_classes

    async def run(self) -> None:
        """Do all of it once. Raises Unreachable."""
        await self._look_for_namespace()
        await self._classes.remove_unused(self._used_classes())

    async def _look_for_namespace(self) -> None:
        try:
            await self._api.call("GET", f"/api/v1/namespaces/{self._namespace}")
        except KubernetesRefused as error:
            if error.status != 404:
                return  # the account may not look
            if self.trouble is None:
                text = (
                    f"namespace {self._namespace!r} does not exist in {self.cluster}: create it, "
                    "or set resource_manager.default_namespace to one that exists; missing"
                )
                log.error("%s", text.removesuffix("; missing"))
                self.trouble = ClusterTrouble(text, clock.now())
        else:
            self.trouble = None
