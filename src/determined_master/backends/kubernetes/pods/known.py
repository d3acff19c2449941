"""The known state of each pod of this master, to be read."""

from __future__ import annotations

from determined_master.backends.kubernetes.pods.by_node import PodsByNode
from determined_master.backends.kubernetes.pods.state import Observed
from determined_master.backends.kubernetes.pods.status import Json
from determined_master.backends.kubernetes.pods.steps import PodEntry
from determined_wire.agent_link import ContainerReport


class KnownPods:
    """Pods by container, and by node. `PodCache` changes them."""

    def __init__(self) -> None:
        self._entries: dict[str, PodEntry] = {}
        self.by_node = PodsByNode()

    def __contains__(self, container_id: str) -> bool:
        return container_id in self._entries

    def find(self, container_id: str) -> Observed | None:
        entry = self._entries.get(container_id)
        return None if entry is None or entry.is_gone else entry.seen

    def has_begun(self, container_id: str) -> bool:
        """Whether a container has been started, or has ended."""
        entry = self._entries.get(container_id)
        if entry is None:
            return False
        return entry.is_gone or entry.seen.has_output or entry.report.state == "TERMINATED"

    def find_uid(self, uid: str) -> Observed | None:
        return next((e.seen for e in self._entries.values() if e.seen.uid == uid), None)

    def uids(self) -> set[str]:
        """Of all pods, including deleted ones that are not forgotten."""
        return {e.seen.uid for e in self._entries.values()}

    def priority_classes(self) -> set[str]:
        """The names of the PriorityClasses that pods have."""
        specs = (e.raw.get("spec") or {} for e in self._entries.values())
        return {str(spec.get("priorityClassName") or "") for spec in specs} - {""}

    def with_gateway_ports(self) -> list[Observed]:
        """The existing pods to which ports of the Gateway lead."""
        pods = (e.seen for e in self._entries.values() if not e.is_gone)
        return [one for one in pods if one.gateway_ports]

    def reports_on(self, node: str) -> tuple[ContainerReport, ...]:
        """The known containers that were planned for a node."""
        return tuple(e.report for e in self._entries.values() if e.seen.node == node)

    def own_slots(self) -> dict[str, set[int]]:
        """The slots of pods that have not ended, by node."""
        slots_by_node = {node: self.by_node.own_slots(node) for node in self.by_node.nodes()}
        return {node: slots for node, slots in slots_by_node.items() if slots is not None}

    def holding_slots(self) -> list[Observed]:
        """The pods with slots that have not ended."""
        pods = (e.seen for e in self._entries.values() if e.report.state != "TERMINATED")
        return [one for one in pods if one.slot_ids]

    def leftover_slots(self) -> dict[str, set[int]]:
        """The slots of pods that nobody waits for and that may still run, by node."""
        slots_by_node = {node: self.by_node.leftover_slots(node) for node in self.by_node.nodes()}
        return {node: slots for node, slots in slots_by_node.items() if slots is not None}

    def awaited_nodes(self) -> set[str]:
        """The nodes that were planned for pods which Kubernetes' scheduler has not placed yet."""
        return {
            e.seen.node
            for e in self._entries.values()
            if not (e.is_gone or e.seen.is_scheduled or e.seen.is_handed_over)
            and e.report.state != "TERMINATED"
        }

    def unplaced(self) -> list[Json]:
        """The handed-over pods that Kubernetes' scheduler has found to fit nowhere now."""
        return [
            e.raw
            for e in self._entries.values()
            if e.raw and e.seen.is_handed_over and e.seen.is_unschedulable and not e.is_gone
        ]

    def was_killed(self, container_id: str) -> bool:
        """Whether Kubernetes has accepted a kill signal for it."""
        entry = self._entries.get(container_id)
        return entry is not None and entry.was_killed

    def handed_over(self) -> list[Observed]:
        """The pods that the cluster places itself and that have not ended."""
        return [
            e.seen
            for e in self._entries.values()
            if e.seen.is_handed_over and not e.is_gone and e.report.state != "TERMINATED"
        ]
