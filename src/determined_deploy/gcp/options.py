"""Options of `det deploy gcp up`, checked before anything is called."""

from __future__ import annotations

import argparse
import dataclasses
import re
from typing import Dict, Tuple

from determined.cli import errors
from determined_deploy.cloud.options import ClusterOptions, common, period
from determined_deploy.gcp import series
from determined_deploy.gcp.names import LABEL, of_cluster

PLATFORM_AGENT, PLATFORM_MASTER = "Intel Broadwell", "Intel Skylake"
MAX_ID = 30
_CLUSTER_ID = re.compile(rf"[a-z](?:[-a-z0-9]{{0,{MAX_ID - 2}}}[a-z0-9])?")
_NAME = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?")
_LABEL_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
_FILES = re.compile(r"[A-Za-z0-9.-]+:/[A-Za-z0-9._/-]+")
_IMAGE = re.compile(r"(?:projects/[a-z0-9.:-]+/global/images/(?:family/)?)?[a-z0-9-]+")
_WORD = re.compile(r"[a-z0-9-]+")
_SNAPSHOT = re.compile(r"(?:projects/[a-z0-9.:-]+/global/snapshots/)?[a-z0-9-]+")
_PROJECT = re.compile(r"(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{3,28}[a-z0-9]")
_NETWORK = re.compile(rf"(?:projects/({_PROJECT.pattern})/global/networks/)?({_NAME.pattern})")
UBUNTU = {
    "x86_64": "projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-amd64",
    "arm64": "projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-arm64",
}
"""Canonical's images, by processors."""
WITH_DRIVERS = (
    "projects/deeplearning-platform-release/global/images/family/"
    "common-cu129-ubuntu-2404-nvidia-580"
)
"""Google's image of Ubuntu with NVIDIA's driver, Docker and its toolkit, for x86_64."""
_TAKE_GPUS = ("n1-", "custom-")
_WITH_GPUS = ("a2-", "a3-", "a4-", "a4x-", "g2-", "g4-")


@dataclasses.dataclass(frozen=True)
class GcpOptions(ClusterOptions):
    """A cluster; sizes in GB, periods as the master's settings take them."""

    region: str
    zone: str
    network: str
    """Its name."""
    host_project: str
    """The project that shares the network; empty for one of the cluster's project."""
    filestore: str
    agent_disk_size: int
    agent_disk_type: str
    """Empty for the default of each machine type."""
    environment_image: str
    preemptible: bool
    operation_timeout: str
    gpu_type: str
    gpu_num: int
    master_platform: str
    cloud_logging: bool
    """Whether journals and load go to Cloud Logging and Cloud Monitoring."""

    @property
    def labels(self) -> Dict[str, str]:
        """The labels of all resources that have some."""
        return {**self.tags, LABEL: self.cluster_id}

    def network_path(self, project: str) -> str:
        """The path of the network of a cluster in a project."""
        return f"projects/{self.host_project or project}/global/networks/{self.network}"

    @property
    def has_gpus(self) -> bool:
        """Whether agents with slots have GPUs; else all their processors are one slot."""
        return self.gpu_num > 0

    @property
    def attaches_gpus(self) -> bool:
        """Whether GPUs are attached; some machine types come with theirs."""
        return self.has_gpus and not self.compute_instance_type.startswith(_WITH_GPUS)

    @property
    def master_disk_type(self) -> str:
        """The type of the disks of the master and its database."""
        return series.of(self.master_instance_type).master_disk

    @property
    def compute_image(self) -> str:
        """The machine image of agents with slots."""
        if self.environment_image or not self.has_gpus:
            return self.environment_image or _ubuntu_for(self.compute_instance_type)
        return WITH_DRIVERS

    @property
    def aux_image(self) -> str:
        """The machine image of agents without slots."""
        return _ubuntu_for(self.aux_instance_type)

    @property
    def master_image(self) -> str:
        """The machine image of the master."""
        return _ubuntu_for(self.master_instance_type)


def read(args: argparse.Namespace) -> GcpOptions:
    """The options of a command line.

    Raises:
        CliError: a value cannot be used; the text names it and the remedy.
    """
    _check(args)
    host, network = _network_of(args)
    cluster = GcpOptions(
        **common(args, args.port, "--add-label"),
        region=args.region,
        zone=args.zone or f"{args.region}-b",
        network=network,
        host_project=host,
        filestore="" if args.no_filestore else args.filestore_address,
        agent_disk_size=args.disk_size,
        agent_disk_type=args.disk_type or "",
        environment_image=args.environment_image or "",
        preemptible=args.preemptible == "true",
        operation_timeout=period("--operation-timeout-period", args.operation_timeout_period),
        gpu_type=args.gpu_type if args.gpu_num else "",
        gpu_num=args.gpu_num if args.gpu_type else 0,
        master_platform=_master_platform(args),
        cloud_logging=args.cloud_logging,
    )
    for key, value in cluster.tags.items():
        if key == LABEL or not _LABEL_KEY.fullmatch(key) or not _LABEL_VALUE.fullmatch(value):
            raise errors.CliError(
                f"--add-label {key}={value}: keys and values have at most 63 lower-case letters, "
                f"digits, dashes and underscores, a key begins with a letter and is not {LABEL}"
            )
    return cluster


def _ubuntu_for(machine_type: str) -> str:
    return UBUNTU[series.of(machine_type).architecture]


def check_project(project: str) -> None:
    """Check the id of a project. Raises CliError."""
    if not _PROJECT.fullmatch(project):
        raise errors.CliError(
            f"--project-id {project!r} is not the id of a project: it has at most 30 lower-case "
            "letters, digits and hyphens; gcloud projects list shows yours"
        )


def check_id(cluster_id: str) -> None:
    """Check the name of a cluster. Raises CliError."""
    if not _CLUSTER_ID.fullmatch(cluster_id):
        raise errors.CliError(
            f"--cluster-id {cluster_id!r} must have at most {MAX_ID} lower-case letters, digits "
            "and hyphens, start with a letter and not end with a hyphen"
        )


def _check(args: argparse.Namespace) -> None:
    check_id(args.cluster_id)
    for option, value in (("--region", args.region), ("--zone", args.zone)):
        if value and not _NAME.fullmatch(value):
            raise errors.CliError(f"{option} {value!r} is not the name of a {option[2:]} of GCP")
    if args.zone and args.zone.rpartition("-")[0] != args.region:
        raise errors.CliError(
            f"--zone {args.zone} is not in --region {args.region}: give --region "
            f"{args.zone.rpartition('-')[0] or 'of that zone'}, or another zone"
        )
    if args.network and not _NETWORK.fullmatch(args.network):
        raise errors.CliError(
            f"--network {args.network!r} is not a name of a network: give the name alone, of at "
            "most 63 lower-case letters, digits and hyphens, or for a network that another "
            "project shares projects/PROJECT/global/networks/NAME"
        )
    if args.no_filestore and args.filestore_address:
        raise errors.CliError("--filestore-address and --no-filestore exclude each other")
    if args.filestore_address and not _FILES.fullmatch(args.filestore_address):
        raise errors.CliError(
            f"--filestore-address {args.filestore_address!r} is not ADDRESS:/SHARE, such as "
            "10.0.0.2:/share"
        )
    if args.environment_image and not _IMAGE.fullmatch(args.environment_image):
        raise errors.CliError(
            f"--environment-image {args.environment_image!r} is not an image: give "
            "projects/PROJECT/global/images/NAME, or the name of an image of --project-id"
        )
    _check_words(args)
    _check_machines(args)
    if args.port is not None and not 0 < args.port < 65536:
        raise errors.CliError(f"--port {args.port} is not between 1 and 65535")


def _check_machines(args: argparse.Namespace) -> None:
    """Machine types of agents, and what they take."""
    kind, gpus = args.compute_agent_instance_type, args.gpu_num and args.gpu_type
    if gpus and not kind.startswith((*_WITH_GPUS, *_TAKE_GPUS)):
        raise errors.CliError(
            f"--compute-agent-instance-type {kind}: only machines of the family n1 take GPUs such "
            f"as {gpus}; give --gpu-num 0, or an n1 type, or one that comes with GPUs (g2, a2)"
        )
    if gpus and series.of(kind).architecture != "x86_64" and not args.environment_image:
        raise errors.CliError(
            f"--compute-agent-instance-type {kind} has ARM processors, and Google has no image "
            "with NVIDIA's driver for them that is known here: give --environment-image"
        )
    if args.disk_type:
        for machine_type in (kind, args.aux_agent_instance_type):
            series.check_disk("--disk-type", machine_type, args.disk_type)


def _network_of(args: argparse.Namespace) -> Tuple[str, str]:
    """The project that shares the network, or nothing, and its name."""
    parts = _NETWORK.fullmatch(args.network or "")
    if parts is None:
        return "", of_cluster(args.cluster_id)
    host = parts[1] or ""
    return "" if host == args.project_id else host, parts[2]


def _check_words(args: argparse.Namespace) -> None:
    """Names that stand in addresses and in the master's configuration."""
    rules = {
        "--master-instance-type": (args.master_instance_type, _WORD),
        "--compute-agent-instance-type": (args.compute_agent_instance_type, _WORD),
        "--aux-agent-instance-type": (args.aux_agent_instance_type, _WORD),
        "--gpu-type": (args.gpu_type, _WORD),
        "--disk-type": (args.disk_type, _WORD),
        "--db-snapshot": (args.db_snapshot, _SNAPSHOT),
    }
    for option, (value, pattern) in rules.items():
        if value and not pattern.fullmatch(value):
            raise errors.CliError(
                f"{option} {value!r} is not a name of GCP's: give lower-case letters, digits and "
                "hyphens"
            )
    check_project(args.project_id)


def _master_platform(args: argparse.Namespace) -> str:
    """The oldest processors of the master; by default only where GCP takes one."""
    if args.min_cpu_platform_master:
        return str(args.min_cpu_platform_master)
    return PLATFORM_MASTER if args.master_instance_type.startswith("n1-") else ""
