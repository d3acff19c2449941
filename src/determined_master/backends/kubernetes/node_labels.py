"""Labels of disabled nodes: administrators and their scripts see them with `kubectl`.

A label that a script has set counts as a cordon. Source: helm-and-kubernetes 19.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from determined_master.backends.kubernetes.client import (
    MERGE_PATCH,
    KubernetesApi,
    KubernetesRefused,
)
from determined_master.backends.kubernetes.nodes import disabling_label
from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.domain.machines.agent_switches import ALL_ON, Switches

log = logging.getLogger(__name__)


class NodeLabels:
    """Those of one cluster."""

    def __init__(
        self,
        options: ClusterOptions,
        api: KubernetesApi,
        labels: Callable[[], Mapping[str, Mapping[str, Any]]],
    ) -> None:
        """
        Args:
            options: of the cluster.
            api: calls it.
            labels: of all nodes, by name.
        """
        self._options = options
        self._api = api
        self._labels = labels
        self._key = disabling_label(options.cluster_id)
        self._switches: Mapping[str, Switches] = {}
        self._enabled: set[str] = set()
        """Nodes that were enabled since, and may have the label still."""
        self._is_forbidden = False

    def set_switches(self, switches: Mapping[str, Switches]) -> None:
        """Disabled agents from now on; all others are enabled.

        One that is given with everything on was enabled just now, by whoever it was disabled.
        """
        before = {id for id, own in self._switches.items() if _value(own) is not None}
        self._enabled |= before - switches.keys()
        self._enabled |= {id for id, own in switches.items() if _value(own) is None}
        self._switches = dict(switches)

    async def reconcile(self) -> None:
        """Set missing labels, and remove those of nodes that were enabled.

        Raises:
            Unreachable: the API server does not answer.
        """
        if self._is_forbidden or not (self._switches or self._enabled):
            return
        for name, labels in self._labels().items():
            agent_id = f"{self._options.node_prefix}{name}"
            label = _value(self._switches.get(agent_id, ALL_ON))
            if label is None and agent_id not in self._enabled:
                continue
            if labels.get(self._key) != label:
                await self._set(name, label)
                if self._is_forbidden:
                    return
            self._enabled.discard(agent_id)

    async def _set(self, name: str, value: str | None) -> None:
        body = {"metadata": {"labels": {self._key: value}}}
        path = f"/api/v1/nodes/{name}"
        try:
            await self._api.call("PATCH", path, body=body, content_type=MERGE_PATCH)
        except KubernetesRefused as error:
            if error.status == 403:
                self._is_forbidden = True
                log.warning("disabled nodes get no label: %s", error)
            elif error.status != 404:
                raise


def _value(switches: Switches) -> str | None:
    if not switches.is_enabled:
        return "no-execute"
    return "no-schedule" if switches.is_draining else None
