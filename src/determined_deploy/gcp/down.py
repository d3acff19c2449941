"""`det deploy gcp down`: delete a cluster, and print what stays."""

from __future__ import annotations

import argparse
import time
from typing import Any, Dict, List

from determined.cli import arguments, errors
from determined_deploy.cloud.options import warn_of_no_effect
from determined_deploy.gcp import names, options
from determined_deploy.gcp.account import GcpAccount
from determined_deploy.gcp.calls import Calls, Refused
from determined_deploy.gcp.resources.bucket import Bucket
from determined_deploy.gcp.resources.rights import Rights
from determined_deploy.gcp.resources.secret import GcpSecret

_OFF = ("TERMINATED", "STOPPED")


def down(args: argparse.Namespace) -> None:
    """Stop the master, end its machines, delete all but the data, and print what stays."""
    if not args.cluster_id:
        raise errors.CliError("give --cluster-id: det deploy gcp list shows the clusters")
    options.check_id(args.cluster_id)
    warn_of_no_effect(args, ("local_state_path", "tf_state_gcs_bucket_name"))
    calls = Calls(GcpAccount(args))
    remains = Remains(calls, args.cluster_id)
    if remains.are_gone():
        raise errors.CliError(
            f"--cluster-id {args.cluster_id}: the project {calls.project} has no such cluster; "
            f"det deploy gcp list --project-id {calls.project} shows all"
        )
    arguments.confirm(
        args,
        f"Delete the cluster {args.cluster_id}? Its tasks end. Its bucket, and a snapshot of its "
        "database, stay.",
    )
    print(f"Deleting the cluster {args.cluster_id} ...", flush=True)
    leftovers = remains.remove()
    print(f"The cluster {args.cluster_id} is gone.")
    if leftovers:
        print("These stay. The command after each removes or lists it:")
        for line in leftovers:
            print(f"  - {line}")


class Remains:
    """All that a cluster has, found by names, labels and marks."""

    def __init__(self, calls: Calls, cluster_id: str) -> None:
        self._calls = calls
        self._id = cluster_id
        condition = f'labels.{names.LABEL} = "{cluster_id}"'
        self._machines = self._all("instances", "master", condition)
        self._disks = self._all("disks", "database", condition)
        name = names.of_cluster(cluster_id, "master")
        self._addresses = self._all("addresses", "master", f'name = "{name}"')
        self._rules = [
            path
            for path in (
                f"global/firewalls/{names.of_cluster(cluster_id, r)}" for r in names.RULES
            )
            if self._is_ours(path)
        ]
        self._networks = self._own_networks()

    def are_gone(self) -> bool:
        """Whether there is nothing that costs or lets anybody in."""
        listed = (self._machines, self._disks, self._addresses, self._rules, self._networks)
        if any(listed):
            return False
        return not GcpSecret(self._calls, self._id).exists()

    def remove(self) -> List[str]:
        """Delete all but the data; what stays, each with the command for it. Raises CliError."""
        leftovers: List[str] = []
        for machine in self._machines:
            if machine["status"] not in _OFF:
                # First, so that it starts no other machines.
                print(f"  stopping the master {machine['name']}", flush=True)
                self._calls.change("POST", f"{_path(machine, 'instances')}/stop")
        self._end_agents()
        leftovers += [self._snapshot(disk) for disk in self._disks]
        shared = (_remains_in_host(one, self._id, self._calls.project) for one in self._machines)
        leftovers += [line for line in shared if line]
        for machine in self._machines:
            self._delete(_path(machine, "instances"))
        for disk in self._disks:
            self._delete(_path(disk, "disks"))
        for address in self._addresses:
            self._delete(_path(address, "addresses"))
        for rule in self._rules:
            self._delete(rule)
        leftovers += [line for line in map(self._delete_network, self._networks) if line]
        Rights(self._calls, self._id).revoke()
        GcpSecret(self._calls, self._id).delete()
        bucket = Bucket(self._calls, self._id)
        if bucket.exists():
            leftovers.append(
                f"the bucket {bucket.name} with checkpoints and TensorBoard files: gcloud storage "
                f"rm --recursive gs://{bucket.name}"
            )
        return leftovers

    def _all(self, kind: str, what: str, condition: str) -> List[Dict[str, Any]]:
        name = names.of_cluster(self._id, what)
        resources = [one for one in self._calls.aggregated(kind, condition) if one["name"] == name]
        if kind == "addresses":
            resources = [
                one for one in resources if one.get("description") == names.mark(self._id)
            ]
        return resources

    def _is_ours(self, path: str) -> bool:
        resource = self._calls.find_compute(path)
        return resource is not None and resource.get("description") == names.mark(self._id)

    def _own_networks(self) -> List[str]:
        query = {"filter": f'description = "{names.mark(self._id)}"'}
        networks = self._calls.compute("GET", "global/networks", query=query)
        return [
            f"global/networks/{one['name']}"
            for one in networks.get("items", ())
            if one.get("description") == names.mark(self._id)
        ]

    def _end_agents(self) -> None:
        """End all machines that the master has started, and wait for their ends together."""
        condition = f'labels.managed-by = "determined-{self._id}"'
        agents = list(self._calls.aggregated("instances", condition))
        if not agents:
            return
        print(f"  ending {len(agents)} machines of agents", flush=True)
        begun = []
        for agent in agents:
            try:
                begun.append((agent, self._calls.compute("DELETE", _path(agent, "instances"))))
            except Refused as error:
                if error.status != 404:
                    raise
        for agent, operation in begun:
            self._calls.finish(operation, f"the end of {agent['name']}")

    def _snapshot(self, disk: Dict[str, Any]) -> str:
        name = f"{disk['name']}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
        print(f"  snapshot {name}", flush=True)
        body = {
            "name": name,
            "description": names.mark(self._id),
            "labels": {names.LABEL: self._id},
        }
        self._calls.change("POST", f"{_path(disk, 'disks')}/createSnapshot", body)
        return (
            f"the snapshot {name} of the database's disk (for up --db-snapshot {name}): gcloud "
            f"compute snapshots delete {name} --project {self._calls.project}"
        )

    def _delete_network(self, path: str) -> str:
        """Delete a network of the cluster; a line about it if others use it."""
        try:
            self._delete(path)
        except Refused as error:
            if not error.is_of_use:
                raise
            name = names.last(path)
            return (
                f"the network {name}, since others use it: gcloud compute networks delete {name} "
                f"--project {self._calls.project}"
            )
        return ""

    def _delete(self, path: str) -> None:
        try:
            self._calls.change("DELETE", path)
        except Refused as error:
            if error.status != 404:
                raise
        print(f"  {path}: deleted", flush=True)


def _remains_in_host(machine: Dict[str, Any], cluster_id: str, project: str) -> str:
    """A line on what stays in the project that shares the network of a master; empty without."""
    host = names.project_of(names.network_of(machine))
    if host in ("", project):
        return ""
    rules = " ".join(names.of_cluster(cluster_id, rule) for rule in names.RULES)
    member = f"serviceAccount:{names.email(cluster_id, 'master', project)}"
    return (
        f"rules and a role in the project {host}, for its administrators: gcloud compute "
        f"firewall-rules delete {rules} --project {host}; gcloud projects "
        f"remove-iam-policy-binding {host} --member {member} --role {names.USES_NETWORK}"
    )


def _path(resource: Dict[str, Any], kind: str) -> str:
    """The path of a listed resource below the project."""
    for scope in ("zone", "region"):
        if resource.get(scope):
            return f"{scope}s/{names.last(str(resource[scope]))}/{kind}/{resource['name']}"
    return f"global/{kind}/{resource['name']}"
