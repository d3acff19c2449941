"""The resources of a cluster in Compute Engine: the body of each, before anything is called."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, List

from determined_deploy.cloud.options import services_port
from determined_deploy.cloud.wheel import Keys
from determined_deploy.gcp import names
from determined_deploy.gcp.options import GcpOptions
from determined_deploy.gcp.resources import master_config
from determined_deploy.gcp.resources.boot import DISK, start_script
from determined_wire import google_rest

MASTER_DISK_GB = 40
SSH_PORT = 22
Body = Dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Resource:
    """A resource: its collection such as `global/networks`, and what `insert` takes."""

    collection: str
    body: Body

    @property
    def name(self) -> str:
        return str(self.body["name"])

    @property
    def path(self) -> str:
        """Its path below the project."""
        return f"{self.collection}/{self.name}"


@dataclasses.dataclass(frozen=True)
class Place:
    """Where machines are: facts that only the project knows.

    `subnetwork` is a path. `address` is the master's, empty before it is reserved. `keys` are
    where the files lie in the bucket.
    """

    project: str
    subnetwork: str
    address: str
    keys: Keys


def networking(options: GcpOptions, project: str) -> List[Resource]:
    """The network and its rules; none in a network that another project shares."""
    if options.host_project:
        return []
    return [network(options), *firewalls(options, project)]


def network(options: GcpOptions) -> Resource:
    """The network; GCP makes a subnetwork in each region."""
    body = {
        "name": options.network,
        "description": names.mark(options.cluster_id),
        "autoCreateSubnetworks": True,
        "routingConfig": {"routingMode": "REGIONAL"},
    }
    return Resource("global/networks", body)


def own_subnetwork(options: GcpOptions, project: str) -> str:
    """The path of the subnetwork that GCP makes with the network."""
    project = options.host_project or project
    return f"projects/{project}/regions/{options.region}/subnetworks/{options.network}"


def firewalls(options: GcpOptions, project: str) -> List[Resource]:
    """The rules of the network: sources, targets and ports."""
    master, agent = _tag(options, "master"), _tag(options, "agent")
    port, ssh, all_ports = str(options.port), str(SSH_PORT), "0-65535"
    outside = {"sourceRanges": [options.inbound_cidr]}
    to_master = [port, str(services_port(options.port)), ssh]
    return [
        _firewall(options, project, "to-master", [master], to_master, outside),
        _firewall(options, project, "to-agents", [agent], [ssh], outside),
        _firewall(options, project, "agents-to-master", [master], [port], {"sourceTags": [agent]}),
        # Ports of tasks, which the master forwards to, and of ranks, which talk to each other.
        _firewall(
            options, project, "in-cluster", [agent], [all_ports], {"sourceTags": [master, agent]}
        ),
    ]


def commands_of_host(options: GcpOptions, project: str) -> List[str]:
    """Commands for the administrators of the project that shares the network; none without one.

    The maker of a cluster seldom has rights there, so `up` makes neither rules nor the role.
    """
    host = options.host_project
    if not host:
        return []
    rules = [_rule(one.body, options) for one in firewalls(options, project)]
    member = f"serviceAccount:{names.email(options.cluster_id, 'master', project)}"
    role = (
        f"gcloud projects add-iam-policy-binding {host} --member {member} "
        f"--role {names.USES_NETWORK}"
    )
    return [role, *rules]


def address(options: GcpOptions) -> Resource:
    """An address that stays when the master's machine is started again."""
    body = {
        "name": names.of_cluster(options.cluster_id, "master"),
        "description": names.mark(options.cluster_id),
        "addressType": "EXTERNAL",
    }
    return Resource(f"regions/{options.region}/addresses", body)


def disk(options: GcpOptions, project: str) -> Resource:
    """A disk of the master's own: its PostgreSQL survives the instance."""
    body: Body = {
        "name": names.of_cluster(options.cluster_id, "database"),
        "description": names.mark(options.cluster_id),
        "sizeGb": str(options.database_size),
        "type": f"projects/{project}/zones/{options.zone}/diskTypes/{options.master_disk_type}",
        "labels": options.labels,
    }
    if options.database_snapshot:
        body["sourceSnapshot"] = snapshot_path(options.database_snapshot, project)
    return Resource(f"zones/{options.zone}/disks", body)


def snapshot_path(snapshot: str, project: str) -> str:
    """The path of a snapshot: a name alone is one of the project."""
    return snapshot if "/" in snapshot else f"projects/{project}/global/snapshots/{snapshot}"


def master(options: GcpOptions, place: Place) -> Resource:
    """The master's machine."""
    project, zone = place.project, f"projects/{place.project}/zones/{options.zone}"
    root = {
        "sourceImage": master_config.image_path(options.master_image, project),
        "diskSizeGb": str(MASTER_DISK_GB),
        "diskType": f"{zone}/diskTypes/{options.master_disk_type}",
        "labels": options.labels,
    }
    outside: Body = {"name": "External NAT", "type": "ONE_TO_ONE_NAT"}
    if place.address:
        outside["natIP"] = place.address
    body: Body = {
        "name": names.of_cluster(options.cluster_id, "master"),
        "description": names.mark(options.cluster_id),
        "machineType": f"{zone}/machineTypes/{options.master_instance_type}",
        "labels": options.labels,
        "tags": {"items": [_tag(options, "master")]},
        "disks": [
            {"boot": True, "autoDelete": True, "initializeParams": root},
            {
                "deviceName": DISK,
                "source": f"{zone}/disks/{names.of_cluster(options.cluster_id, 'database')}",
                "mode": "READ_WRITE",
                "autoDelete": False,
            },
        ],
        "networkInterfaces": [
            {
                "network": options.network_path(project),
                "subnetwork": place.subnetwork,
                "accessConfigs": [outside],
            }
        ],
        "serviceAccounts": [
            {
                "email": names.email(options.cluster_id, "master", project),
                "scopes": [google_rest.SCOPE],
            }
        ],
        "metadata": {"items": metadata_items(options, place)},
    }
    if options.master_platform:
        body["minCpuPlatform"] = options.master_platform
    return Resource(f"zones/{options.zone}/instances", body)


def metadata_items(options: GcpOptions, place: Place) -> List[Body]:
    """The metadata of the master's machine: its start script, and its port for `list`."""
    script = start_script(options, place.project, place.subnetwork, place.keys)
    return [
        {"key": "startup-script", "value": script},
        {"key": "determined-master-origin", "value": f"{options.scheme}://:{options.port}"},
    ]


def _tag(options: GcpOptions, role: str) -> str:
    return names.of_cluster(options.cluster_id, role)


def _firewall(
    options: GcpOptions,
    project: str,
    what: str,
    targets: List[str],
    ports: List[str],
    source: Body,
) -> Resource:
    body = {
        "name": names.of_cluster(options.cluster_id, what),
        "description": names.mark(options.cluster_id),
        "network": options.network_path(project),
        "direction": "INGRESS",
        "allowed": [{"IPProtocol": "tcp", "ports": ports}],
        "targetTags": targets,
        **source,
    }
    return Resource("global/firewalls", body)


def _rule(body: Dict[str, Any], options: GcpOptions) -> str:
    ports = ",".join(f"tcp:{port}" for port in body["allowed"][0]["ports"])
    sources = ",".join(body.get("sourceRanges") or body["sourceTags"])
    source = "ranges" if "sourceRanges" in body else "tags"
    return (
        f"gcloud compute firewall-rules create {body['name']} --project {options.host_project} "
        f"--network {options.network} --direction INGRESS --allow {ports} --target-tags "
        f"{','.join(body['targetTags'])} --source-{source} {sources}"
    )
