"""Options of `det deploy aws up`, checked before anything is called."""

from __future__ import annotations

import argparse
import dataclasses
import ipaddress
import pathlib
import re
from typing import Dict, Optional

from determined.cli import errors

TYPES = ("simple", "simple-rds", "vpc", "efs")
ELSEWHERE = {
    "secure": "use vpc with --inbound-cidr for the networks that may reach the master",
    "fsx": "use efs, or bind-mount a file system of your own with --master-config-template-path",
    "govcloud": "use vpc with --region and a profile of that partition",
    "genai": "that product is not part of this version",
}
"""Types of 0.38.1 that are not built, and what to use."""
_CLUSTER_ID = re.compile(r"[a-zA-Z][a-zA-Z0-9-]{0,49}")


@dataclasses.dataclass(frozen=True)
class Options:
    """A cluster; sizes in GB, periods as the master's settings take them."""

    cluster_id: str
    keypair: str
    deployment_type: str
    inbound_cidr: str
    master_instance_type: str
    compute_instance_type: str
    aux_instance_type: str
    agent_subnet_id: str
    min_agents: int
    max_agents: int
    max_aux_containers: int
    max_idle_period: str
    max_starting_period: str
    spot: bool
    spot_max_price: Optional[str]
    scheduler_type: Optional[str]
    preemption: bool
    cpu_image: Optional[str]
    gpu_image: Optional[str]
    database_size: int
    database_type: str
    database_snapshot: str
    efs_id: str
    notebook_timeout: Optional[int]
    shuts_down_lost_agents: bool
    reconnect_attempts: int
    reconnect_backoff: int
    enable_cors: bool
    tls_cert: str
    tls_key: str
    tls_name: str
    config_template: str
    tags: Dict[str, str]

    @property
    def stack(self) -> str:
        """The name of its stack."""
        return self.cluster_id

    @property
    def has_own_network(self) -> bool:
        """Whether the stack has a network of its own; else it lies in the default one."""
        return self.deployment_type in ("vpc", "efs")

    @property
    def has_rds(self) -> bool:
        """Whether RDS runs the database; else the master does, on a disk of its own."""
        return self.deployment_type != "simple"

    @property
    def has_efs(self) -> bool:
        """Whether agents mount a file system that they share."""
        return self.deployment_type == "efs"

    @property
    def scheme(self) -> str:
        """How the master is reached."""
        return "https" if self.tls_cert else "http"

    @property
    def port(self) -> int:
        """Where the master listens."""
        return 8443 if self.tls_cert else 8080

    @property
    def tag_value(self) -> str:
        """The tag `managed_by` of the agents' machines."""
        return f"determined-{self.cluster_id}"


def read(args: argparse.Namespace) -> Options:
    """The options of a command line.

    Raises:
        CliError: a value cannot be used; the text names it and the remedy.
    """
    _check(args)
    return Options(
        cluster_id=args.cluster_id,
        keypair=args.keypair,
        deployment_type=args.deployment_type,
        inbound_cidr=_network(args.inbound_cidr),
        master_instance_type=args.master_instance_type,
        compute_instance_type=args.compute_agent_instance_type,
        aux_instance_type=args.aux_agent_instance_type,
        agent_subnet_id=args.agent_subnet_id or "",
        min_agents=args.min_dynamic_agents,
        max_agents=args.max_dynamic_agents,
        max_aux_containers=args.max_aux_containers_per_agent,
        max_idle_period=args.max_idle_agent_period,
        max_starting_period=args.max_agent_starting_period,
        spot=args.spot,
        spot_max_price=args.spot_max_price,
        scheduler_type=args.scheduler_type,
        preemption=args.preemption_enabled == "true",
        cpu_image=args.cpu_env_image,
        gpu_image=args.gpu_env_image,
        database_size=args.db_size,
        database_type=args.db_instance_type,
        database_snapshot=args.db_snapshot,
        efs_id=args.efs_id or "",
        notebook_timeout=args.notebook_timeout,
        shuts_down_lost_agents=args.shut_down_agents_on_connection_loss,
        reconnect_attempts=args.agent_reconnect_attempts,
        reconnect_backoff=args.agent_reconnect_backoff,
        enable_cors=args.enable_cors,
        tls_cert=_content("--master-tls-cert", args.master_tls_cert),
        tls_key=_content("--master-tls-key", args.master_tls_key),
        tls_name=args.master_cert_name or "",
        config_template=_content(
            "--master-config-template-path", args.master_config_template_path
        ),
        tags=_tags(args.add_tag),
    )


def _check(args: argparse.Namespace) -> None:
    if args.deployment_type in ELSEWHERE:
        raise errors.CliError(
            f"--deployment-type {args.deployment_type} does not exist in this version: "
            f"{ELSEWHERE[args.deployment_type]}"
        )
    if not _CLUSTER_ID.fullmatch(args.cluster_id):
        raise errors.CliError(
            f"--cluster-id {args.cluster_id!r} must start with a letter and have at most 50 "
            "letters, digits and hyphens"
        )
    if args.agent_subnet_id and args.deployment_type in ("vpc", "efs"):
        raise errors.CliError(
            f"--agent-subnet-id {args.agent_subnet_id}: {args.deployment_type} makes subnets of "
            "its own; use --deployment-type simple or simple-rds"
        )
    if args.efs_id and args.deployment_type != "efs":
        raise errors.CliError(f"--efs-id {args.efs_id} needs --deployment-type efs")
    if args.min_dynamic_agents > args.max_dynamic_agents:
        raise errors.CliError(
            f"--min-dynamic-agents {args.min_dynamic_agents} is above --max-dynamic-agents "
            f"{args.max_dynamic_agents}"
        )
    if bool(args.master_tls_cert) != bool(args.master_tls_key):
        raise errors.CliError("--master-tls-cert and --master-tls-key need each other")


def _network(text: str) -> str:
    try:
        return str(ipaddress.IPv4Network(text))
    except ValueError as error:
        raise errors.CliError(
            f"--inbound-cidr {text!r} is not an IPv4 network such as 203.0.113.0/24: {error}"
        ) from None


def _content(option: str, path: Optional[str]) -> str:
    if not path:
        return ""
    try:
        return pathlib.Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise errors.CliError(f"{option} {path}: {errors.in_words(error)}") from None


def _tags(pairs: Optional[list[str]]) -> Dict[str, str]:
    tags = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise errors.CliError(f"--add-tag {pair!r} is not KEY=VALUE")
        tags[key] = value
    return tags
