"""A cluster's resources in Compute Engine: made, changed and deleted, each after a look."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from determined_deploy.gcp import names
from determined_deploy.gcp.calls import Calls, Refused
from determined_deploy.gcp.options import GcpOptions
from determined_deploy.gcp.resources import plan
from determined_deploy.gcp.resources.plan import Place, Resource

_OFF = ("TERMINATED", "STOPPED")
_ANY_PLATFORM = "AUTOMATIC"


class Cluster:
    """One cluster in one project."""

    def __init__(self, calls: Calls, options: GcpOptions) -> None:
        self._calls = calls
        self._options = options

    def make_network(self) -> None:
        """Make network and firewalls; change the rules of firewalls that differ."""
        for resource in plan.networking(self._options, self._calls.project):
            network = self._make(resource)
            if network is not None and _rules(network) != _rules(resource.body):
                print(f"  {resource.path}: changed", flush=True)
                self._calls.change("PATCH", resource.path, _rules(resource.body))

    def reserve_address(self) -> str:
        """The master's address, which is reserved if it is missing."""
        resource = plan.address(self._options)
        self._make(resource)
        address = self._calls.find_compute(resource.path) or {}
        return str(address["address"])

    def make_disk(self) -> bool:
        """Make the database's disk; make a smaller one larger; true if it grew."""
        resource = plan.disk(self._options, self._calls.project)
        disk = self._make(resource)
        if disk is None:
            return False
        size, needed = int(disk["sizeGb"]), self._options.database_size
        if size >= needed:
            return False
        print(f"  {resource.path}: {needed} GB", flush=True)
        self._calls.change("POST", f"{resource.path}/resize", {"sizeGb": str(needed)})
        return True

    def make_master(self, place: Place, *, restarts: bool) -> None:
        """Make the master's machine, or change it: then it is stopped and started.

        Args:
            place: where it is.
            restarts: start it again even if it is as it should be.
        """
        resource = plan.master(self._options, place)
        machine = self._make(resource)
        if machine is None:
            return
        changes = _changes(machine, resource.body, place)
        if not (changes or restarts) and machine.get("status") not in _OFF:
            print(f"  {resource.path}: is as it should be", flush=True)
            return
        if machine.get("status") not in _OFF:
            print(f"  {resource.path}: stopping it", flush=True)
            self._calls.change("POST", f"{resource.path}/stop")
        for verb, body in changes.items():
            self._calls.change("POST", f"{resource.path}/{verb}", body)
        print(f"  {resource.path}: starting it", flush=True)
        self._calls.change("POST", f"{resource.path}/start")

    def _make(self, resource: Resource) -> Optional[Dict[str, Any]]:
        """Make a resource that is missing; the one that was there."""
        present = self._calls.find_compute(resource.path)
        if present is None:
            print(f"  {resource.path}", flush=True)
            try:
                self._calls.change("POST", resource.collection, resource.body)
            except Refused as error:
                if error.status != 409:  # another `up` was faster
                    raise
        return present


def _rules(body: Dict[str, Any]) -> Dict[str, Any]:
    """The parts of a firewall that the options decide."""
    keys = ("allowed", "sourceRanges", "sourceTags", "targetTags")
    return {key: body[key] for key in keys if body.get(key)}


def _changes(
    machine: Dict[str, Any], target: Dict[str, Any], place: Place
) -> Dict[str, Dict[str, Any]]:
    """The calls that make a stopped machine as it is wanted, by their verb."""
    changes: Dict[str, Dict[str, Any]] = {}
    metadata = machine.get("metadata", {})
    if _items(metadata) != _items(target["metadata"]):
        # Other items, such as keys for ssh, stay.
        items = {**_items(metadata), **_items(target["metadata"])}
        listed = [{"key": key, "value": value} for key, value in items.items()]
        if items != _items(metadata):
            changes["setMetadata"] = {
                "fingerprint": metadata.get("fingerprint", ""),
                "items": listed,
            }
    platform = target.get("minCpuPlatform") or _ANY_PLATFORM
    if (machine.get("minCpuPlatform") or _ANY_PLATFORM) != platform:
        changes["setMinCpuPlatform"] = {"minCpuPlatform": platform}
    if names.last(machine["machineType"]) != names.last(target["machineType"]):
        changes["setMachineType"] = {"machineType": target["machineType"]}
    if machine.get("labels") != target["labels"]:
        changes["setLabels"] = {
            "labelFingerprint": machine.get("labelFingerprint", ""),
            "labels": target["labels"],
        }
    return changes


def _items(metadata: Dict[str, Any]) -> Dict[str, str]:
    listed: List[Dict[str, str]] = metadata.get("items", [])
    return {one["key"]: one["value"] for one in listed}
