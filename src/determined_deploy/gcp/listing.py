"""`det deploy gcp list`: the clusters of a project, by the labels of their resources."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List

from determined.cli.output import show
from determined_deploy.cloud.options import warn_of_no_effect
from determined_deploy.gcp import names
from determined_deploy.gcp.account import GcpAccount
from determined_deploy.gcp.calls import Calls

INCOMPLETE = "INCOMPLETE"
"""The status of a cluster without a master: an `up` or a `down` of it did not end."""


def list_clusters(args: argparse.Namespace) -> None:
    """Print the clusters of a project."""
    warn_of_no_effect(args, ("tf_state_gcs_bucket_name",))
    entries = clusters(Calls(GcpAccount(args)))
    if args.json:
        show.as_json(entries)
    elif args.yaml:
        show.as_yaml(entries)
    else:
        heads = {
            "Cluster ID": "clusterId",
            "Zone": "zone",
            "Status": "status",
            "Master": "master",
            "Created": "created",
        }
        rows = [[one[key] for key in heads.values()] for one in entries]
        show.table(list(heads), rows)


def clusters(calls: Calls) -> List[Dict[str, str]]:
    """All clusters, by name. Raises CliError."""
    by_cluster: Dict[str, Dict[str, str]] = {}
    for disk in calls.aggregated("disks", f"labels.{names.LABEL}:*"):
        cluster = str(disk["labels"][names.LABEL])
        if disk["name"] == names.of_cluster(cluster, "database"):
            by_cluster[cluster] = _row(cluster, disk, INCOMPLETE, "")
    for machine in calls.aggregated("instances", f"labels.{names.LABEL}:*"):
        cluster = str(machine["labels"][names.LABEL])
        if machine["name"] == names.of_cluster(cluster, "master"):
            by_cluster[cluster] = _row(
                cluster, machine, str(machine["status"]), address_of(machine)
            )
    return [by_cluster[cluster] for cluster in sorted(by_cluster)]


def address_of(machine: Dict[str, Any]) -> str:
    """The URL of a master by its machine; empty if the machine has no address."""
    items = {one["key"]: one["value"] for one in machine.get("metadata", {}).get("items", ())}
    scheme, _, port = items.get("determined-master-origin", "http://:8080").partition("://:")
    ways = machine["networkInterfaces"][0].get("accessConfigs") or [{}]
    address = str(ways[0].get("natIP", ""))
    return f"{scheme}://{address}:{port}" if address else ""


def _row(cluster: str, resource: Dict[str, Any], status: str, master: str) -> Dict[str, str]:
    return {
        "clusterId": cluster,
        "zone": names.last(str(resource.get("zone", ""))),
        "status": status,
        "master": master,
        "created": str(resource.get("creationTimestamp", ""))[:19],
    }
